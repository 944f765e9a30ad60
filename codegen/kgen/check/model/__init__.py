"""Programs against the models that they are made of."""
