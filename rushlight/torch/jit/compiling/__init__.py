"""Programs that are written: Python's source as graphs, with branches and loops."""
