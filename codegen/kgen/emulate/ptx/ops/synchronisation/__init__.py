"""Control flow, barriers, clusters, and lanes that see each other (PTX ISA 9.7.12, 9.7.13)."""
