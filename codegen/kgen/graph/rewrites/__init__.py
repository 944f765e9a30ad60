"""Graph rewrites of models: fusions, narrower types, cheaper forms."""
