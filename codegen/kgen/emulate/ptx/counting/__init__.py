"""What a profile counts: instructions by class, wavefronts, sectors."""
