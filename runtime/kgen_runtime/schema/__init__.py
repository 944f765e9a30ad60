"""What stands behind `kgen_runtime.manifest`: programs, and reading and checking a manifest."""
