"""Counters of both emulators: executed instructions, shared memory banks, sectors."""
