"""Running a chunk of CTAs in lockstep: the machine, the scheduler, barriers, warp collectives."""
