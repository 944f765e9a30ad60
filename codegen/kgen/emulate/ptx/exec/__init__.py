"""Running a chunk of CTAs in lockstep: the machine and the scheduler."""
