"""The order in which packed operands lie, and how they get into it."""
