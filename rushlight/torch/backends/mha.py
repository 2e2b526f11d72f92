"""`torch.backends.mha`: the short way through attention layers in evaluation mode.

The switch holds what it is set to. Layers compute the same numbers either way; see `nn.MultiheadAttention`.
"""

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether the short way may be taken."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Allow or forbid the short way."""
    global _enabled
    _enabled = bool(value)
