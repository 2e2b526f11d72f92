"""Operators that take many elements into few, or into order: sums, extremes, variances, running sums, sorting, counting."""
