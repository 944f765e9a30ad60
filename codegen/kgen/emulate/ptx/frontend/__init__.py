"""Front end of PTX text: tokens, statements, operands, instructions decoded to closures."""
