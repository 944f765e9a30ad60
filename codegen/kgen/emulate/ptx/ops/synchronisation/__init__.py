"""Control flow, barriers, clusters, and warp-level communication (PTX ISA 9.7.12, 9.7.13)."""
