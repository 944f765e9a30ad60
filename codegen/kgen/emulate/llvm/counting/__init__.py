"""Counters of a profile: instructions by class, wavefronts, sectors."""
