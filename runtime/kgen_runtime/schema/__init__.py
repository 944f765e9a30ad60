"""Implementation of `kgen_runtime.manifest`: programs, reader, limits and checks of a manifest."""
