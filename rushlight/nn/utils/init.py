"""Modules without initial values."""

from __future__ import annotations

from typing import Any

from rushlight.nn.modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters have undefined values, without a draw from the random stream.

    Args:
        module_cls: a class of modules whose constructor takes `device`.
    Shape: parameters (*) -> the same: (*), undefined
    Raises:
        RuntimeError: the class does not take `device`, as in `skip_init(nn.ReLU)`.

    >>> skip_init(nn.Linear, 3, 2).weight.shape
    torch.Size([2, 3])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    import inspect

    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
