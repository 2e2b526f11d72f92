"""Modules of `torch.utils` that need what is above `rushlight.utils`."""
