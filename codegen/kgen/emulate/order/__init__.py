"""Records of memory accesses, shared by the race detectors of both emulators."""
