"""Operators on each element by itself: arithmetic, powers, comparison, bits, parts of complex numbers."""
