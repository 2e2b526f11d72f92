"""Files: the archives of `torch.jit.save`, both ways."""
