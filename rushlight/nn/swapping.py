"""`torch.utils.swap_tensors`: two tensors that take each other's place."""

from __future__ import annotations

from typing import Any
from weakref import ref

from ..core.tensor.node import Leaf
from ..core.tensor.resizing import views_of
from ..core.tensor.storage import storage_of
from ..core.tensor.tensor import Tensor

__all__ = ["set_module", "swap_tensors"]

_SLOTS = ("_array", "_edge", "_grad", "_storage", "_view")


def set_module(obj: Any, mod: str) -> None:
    """Let an object name `mod` as its module."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange what two tensors are: class, values, gradient and attributes. Whoever holds one sees the other's content.

    RuntimeError for a tensor that has views, is one, or has other slots than the other tensor.
    """
    for name, t in (("t1", t1), ("t2", t2)):
        others = [view for view in views_of(storage_of(t)) if view is not t]
        if t._view is not None or others:
            raise RuntimeError(
                f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but it has views or is one; make "
                "sure you are not holding references to the tensor in other places."
            )
    if t1.__class__.__basicsize__ != t2.__class__.__basicsize__:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for slot in _SLOTS:
        first, second = getattr(t1, slot), getattr(t2, slot)
        setattr(t1, slot, second)
        setattr(t2, slot, first)
    for t in (t1, t2):
        if type(t._edge) is Leaf:
            t._edge.ref = ref(t)
