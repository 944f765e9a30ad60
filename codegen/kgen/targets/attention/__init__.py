"""Parts of attention plans that GPU families share: heads, key limits, grid, units of scores."""
