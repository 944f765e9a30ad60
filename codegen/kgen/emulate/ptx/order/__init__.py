"""Happens-before: vector clocks, fences, synchronisation through memory."""
