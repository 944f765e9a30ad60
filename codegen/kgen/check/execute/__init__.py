"""Executing one kernel here: on a device, under qemu, or in an emulator of its text."""
