"""Measuring: kernels and peers timed side by side, and schedules tuned on this CPU."""
