"""Copies from global to shared memory: tiles, their swizzles, the copies of threads and of TMA."""
