"""Matrix instructions and their fragments (PTX ISA 9.7.14 and 9.7.15)."""
