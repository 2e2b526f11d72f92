"""Tensors whose elements come when a recorded graph runs: what a function sees while its calls become a graph.

A `Deferred` knows its shape and type from a fake tensor. Whatever asks for more, its memory, its history or its gradient,
lets the graph run first; from then on it is the ordinary tensor that the graph made. A tensor that the graph will write is
`Pending` in the same way until the graph has run, and then what it was.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any

from ...core.dispatch.torch_function import disabled_impl
from ...core.tensor.tensor import Tensor

__all__ = ["Deferred", "become", "hold", "make_deferred", "release"]

_SLOTS = ("_array", "_edge", "_grad", "_storage", "_view")
_new = object.__new__


def _after_running(name: str) -> Any:
    """The property of a slot of Tensor that lets the graph run before the slot is read or written."""
    return property(
        lambda self: getattr(_run(self), name), lambda self, value: setattr(_run(self), name, value), doc=name
    )


def _run(t: Any) -> Any:
    """The tensor after its graph has run: it is of an ordinary class then."""
    recorder = t.__dict__["_recorder"]
    recorder.run(f"memory, history or gradient of a {type(t).__name__} tensor is needed")
    return t


class Deferred(Tensor):
    """A tensor that the graph will make. `_shadow`: a fake tensor of its shape; `_recorder`: what makes the graph."""

    __torch_function__ = staticmethod(disabled_impl)  # type: ignore[assignment]

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it will be recorded for backward."""
        return self.__dict__["_requires_grad"]

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        _run(self).requires_grad = value

    @property
    def is_leaf(self) -> bool:
        """Whether it has no history: results of recorded operators have one if they require grad."""
        return self.__dict__.get("_is_leaf", not self.__dict__["_requires_grad"])


def _of_shadow(name: str) -> Any:
    """What the fake tensor says, a property or a method of no effect."""
    if isinstance(vars(Tensor).get(name), property):
        return property(lambda self: getattr(self.__dict__["_shadow"], name))

    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.__dict__["_shadow"], name)(*args, **kwargs)

    told.__name__ = name
    return told


_OF_SHADOW = [
    "shape",
    "size",
    "ndim",
    "dim",
    "ndimension",
    "numel",
    "nelement",
    "dtype",
    "itemsize",
    "element_size",
    "nbytes",
    "device",
    "is_meta",
    "is_cpu",
    "stride",
    "is_floating_point",
    "is_complex",
    "is_signed",
    "is_contiguous",
    "storage_offset",
]
for _name in _OF_SHADOW:
    setattr(Deferred, _name, _of_shadow(_name))
for _name in _SLOTS:
    setattr(Deferred, _name, _after_running(_name))


def make_deferred(recorder: Any, shadow: Tensor, requires_grad: bool) -> Deferred:
    """A tensor that the recorder's graph will make."""
    t = _new(Deferred)
    t.__dict__.update(_recorder=recorder, _shadow=shadow, _requires_grad=requires_grad)
    return t


def become(deferred: list[Deferred], made: Sequence[Tensor]) -> None:
    """Let the tensors be what their graph made: the same memory, history and class. Views stay views of each other."""
    replaced = {id(m): t for t, m in zip(deferred, made, strict=True)}
    for t, m in zip(deferred, made, strict=True):
        state, storage = m.__dict__, m._storage
        if storage is not None and storage.views:  # writes to the memory give views their history by these references
            storage.views = [weakref.ref(t) if r() is m else r for r in storage.views]
        for name in ("_recorder", "_shadow", "_requires_grad"):
            del t.__dict__[name]
        t.__class__ = type(m)  # pyright: ignore[reportAttributeAccessIssue]: both have the slots of Tensor
        for name in _SLOTS:
            setattr(t, name, getattr(m, name))
        t.__dict__.update(state)
    for t in deferred:
        view: Any = t
        while view._view is not None:
            base, *how = view._view
            view._view = (replaced.get(id(base), base), *how)
            view = view._view[0]


@cache
def _pending(kind: Any) -> type:
    """The class of a `kind` that the graph will write. It calls itself as `kind` does; its `.grad` is no part of it."""
    body: dict[str, Any] = {name: _after_running(name) for name in _SLOTS if name != "_grad"}
    body |= {name: vars(Deferred)[name] for name in (*_OF_SHADOW, "requires_grad", "is_leaf")}
    body |= {"__module__": __name__, "__torch_function__": staticmethod(disabled_impl)}
    return type(kind)(kind.__name__, (kind,), body)


def hold(t: Tensor, recorder: Any, shadow: Tensor) -> None:
    """Let the graph run before the memory of `t`, which it will write, is looked at."""
    if "_recorder" not in t.__dict__:
        known = {"_recorder": recorder, "_shadow": shadow, "_kind": type(t), "_requires_grad": t.requires_grad}
        t.__dict__.update(known, _is_leaf=t.is_leaf)
        t.__class__ = _pending(type(t))


def release(t: Tensor) -> None:
    """Let it be an ordinary tensor again."""
    kind = t.__dict__.pop("_kind", None)
    if kind is not None:
        t.__class__ = kind
        for name in ("_recorder", "_shadow", "_requires_grad", "_is_leaf"):
            del t.__dict__[name]
