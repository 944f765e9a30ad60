"""What the race detectors of both emulators remember of accesses to memory."""
