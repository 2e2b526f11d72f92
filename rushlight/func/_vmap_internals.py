"""`torch._vmap_internals`: the older names of `torch.vmap`, which libraries of optimizers import."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from . import vectorize


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0) -> Callable:
    """`torch.vmap`, with a warning."""
    warnings.warn(
        "Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", category=FutureWarning, stacklevel=2
    )
    return _vmap(func, in_dims, out_dims)


def _vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable:
    """`torch.vmap`; with `allow_none_pass_through` some of a tuple's may be None, if `out_dims` is a number."""
    if not allow_none_pass_through:
        return vectorize.vmap(func, in_dims, out_dims)

    @wraps(func)
    def call(*args: Any) -> Any:
        found: list[bool] = []

        def tensors(*inner: Any) -> Any:
            results = func(*inner)
            if not isinstance(results, tuple):
                return results
            found[:] = [result is not None for result in results]
            return tuple(result for result in results if result is not None)

        results = vectorize.vmap(tensors, in_dims, out_dims)(*args)
        if not found:
            return results
        left = iter(results)
        return tuple(next(left) if there else None for there in found)

    return call
