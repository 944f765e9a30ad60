"""Front end for PTX text: lexer, parser, and decoder of instructions to closures."""
