"""Implementation of `kgen_runtime.manifest`: programs, and the reader and checks of a manifest."""
