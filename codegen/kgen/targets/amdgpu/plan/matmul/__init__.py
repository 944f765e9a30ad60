"""A file for each main loop, and what they share: the walk along K, shares of it, the epilogue."""
