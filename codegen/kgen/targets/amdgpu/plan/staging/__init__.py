"""From memory to LDS, through registers or straight: chunks, layouts and copies."""
