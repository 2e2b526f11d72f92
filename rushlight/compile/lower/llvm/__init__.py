"""Fused loops as native code, through llvmlite, and the sequence of all launches as one native call."""
