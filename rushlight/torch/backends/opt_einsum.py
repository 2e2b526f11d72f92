"""`torch.backends.opt_einsum`: the order of contractions in `einsum` by the package opt_einsum, which is not used."""

enabled = False
strategy = None


def is_available() -> bool:
    """Whether opt_einsum chooses the order: False."""
    return False


def get_opt_einsum() -> None:
    """The module opt_einsum: None, it is not used."""
