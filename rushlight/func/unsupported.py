"""What of `torch.func` has nothing to do here, or is not implemented."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """Raises: programs are not rewritten without in-place writes."""
    raise NotImplementedError("torch.func.functionalize is not implemented")


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The tensor itself: transforms here do not wrap tensors."""
    return tensor


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """Raises: the package einops has it, and works with these tensors."""
    raise NotImplementedError("torch.func.rearrange is not implemented; use einops.rearrange")
