"""Measured schedules: one TOML file per CPU core or GPU, written by `kgen tune`."""
