"""Products on AMX tiles: the plan, packing, scratch memory."""
