"""Random programs beside torch: `python -m tests.differential --torch PYTHON` (see `__main__.py`)."""
