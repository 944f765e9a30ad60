"""Performance counters of a profile: instructions by class, shared memory wavefronts, sectors."""
