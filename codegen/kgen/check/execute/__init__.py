"""Execution of one kernel for verification: on a device, under qemu, or in an emulator."""
