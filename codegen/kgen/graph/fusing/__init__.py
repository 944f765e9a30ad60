"""Which values are computed together: formulas, epilogues, and the views between them."""
