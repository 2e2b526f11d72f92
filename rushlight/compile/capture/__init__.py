"""From a call of the user's function to a graph: what it computed, read, wrote and returned."""
