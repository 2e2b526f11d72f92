"""A folder for the module search path of child processes: `import torch` finds Rushlight's alias in it."""
