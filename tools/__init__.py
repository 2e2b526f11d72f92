"""Tools for people who change Rushlight; nothing here is installed with it."""
