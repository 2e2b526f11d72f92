"""Recording: what `torch.jit.trace` does while a function runs."""
