"""Faster kernels on raw arrays, each an override of an operator's reference kernel."""
