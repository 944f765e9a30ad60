"""From PTX text to closures: tokens, statements, operands, decoded instructions."""
