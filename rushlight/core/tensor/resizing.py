"""Another shape for a tensor in place, on the memory that it shares with its views and its base.

torch keeps the place of the first element and takes the following ones, as many as the new shape has. Only where the
memory ends before is it replaced by a longer one, into which the base and all known views move.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .. import determinism
from ..device.backend import out_of_memory
from ..device.buffer import Buffer, outline_of
from ..device.conjugated import seen_as
from ..dispatch.mode import emit_event, thread
from ..live_objects import instances, tensors_and_modules
from .node import Leaf
from .storage import Storage, address_of, storage_of
from .tensor import Tensor

HOLDERS: list[type] = []  # classes of objects that are no tensors and show a tensor's memory: `_flat`, `moved(memory)`

__all__ = ["HOLDERS", "move", "resize", "views_of", "whole"]


def resize(t: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> None:
    """Give `t` the shape and the strides (in bytes; rows by default). New elements are undefined.

    Raises RuntimeError where a longer memory is needed and this one is not the tensor's own.
    """
    s, a = storage_of(t), t._array
    memory = whole(s.root)
    start = address_of(a) - address_of(memory) if memory.size else 0
    start = start if 0 <= start <= memory.size else 0
    n = prod(shape)
    fresh = not memory.size and not s.views
    if n and start + n * a.itemsize > memory.size:
        memory = _longer(s, t, memory, -(-start // a.itemsize) + n)
    outline = np.ndarray(shape, a.dtype, memory, start, strides)
    t._array = seen_as(a, outline)
    if fresh:
        s.root = outline
    if type(t._edge) is Leaf:
        t._edge.shape = shape
    if thread.state.level > 1:
        if fresh:
            emit_event("created", t, False)
        else:
            emit_event("resized", t)


def whole(root: np.ndarray) -> np.ndarray:
    """All the memory between an array's first and its last element, as bytes."""
    if not root.size:
        return np.empty(0, np.uint8)
    if not root.flags.c_contiguous:
        root = root[tuple([slice(None, None, -1 if stride < 0 else 1) for stride in root.strides])]
        span = sum((n - 1) * stride for n, stride in zip(root.shape, root.strides, strict=True)) // root.itemsize + 1
        root = np.lib.stride_tricks.as_strided(root, (span,), (root.itemsize,))
    return root.reshape(-1).view(np.uint8)


def _longer(s: Storage, t: Tensor, memory: np.ndarray, n: int) -> np.ndarray:
    """A memory of n elements of the type of `t` that begins with `memory`, as bytes; with what was there."""
    if not s.resizable:
        raise RuntimeError("Trying to resize storage that is not resizable")
    kind = t._array.dtype
    try:
        fresh = np.empty(n, kind)
    except MemoryError as error:
        raise out_of_memory(error) from None
    longer = fresh.view(np.uint8)
    longer[: memory.size] = memory
    determinism.fill(fresh[-(-memory.size // kind.itemsize) :])
    move(s, t, memory, fresh)
    return longer


def move(s: Storage, t: Tensor, old: np.ndarray, fresh: np.ndarray) -> None:
    """Let all that shows the memory `old` see `fresh` in its place: `t`, its base, the views of the record `s`, and aliases.

    There is no list of aliases (`detach()`, `.data`, `set_`, storages): they are looked for among all tensors.
    """
    tensors = _known(s, t)
    if s.aliased and old.size:
        known = set(map(id, tensors))
        tensors += [a for a in tensors_and_modules() if isinstance(a, Tensor) and id(a) not in known and _shows(a, old)]
        for holder in instances(*HOLDERS) if HOLDERS else ():
            if _lies_in(holder._flat, old):
                holder.moved(fresh)
    for known in tensors:
        a = known._array
        if a.size and old.size:
            place = address_of(a) - address_of(old)
            known._array = seen_as(a, np.ndarray(a.shape, a.dtype, fresh, place, a.strides))
        if known._storage is not None:
            known._storage.root = fresh
        if thread.state.level > 1:
            emit_event("rebound", known)
    s.root = fresh


def _shows(t: Tensor, memory: np.ndarray) -> bool:
    """Whether a tensor's elements are in a memory."""
    return not isinstance(t._array, Buffer) and _lies_in(t._array, memory)


def _lies_in(a: Any, memory: np.ndarray) -> bool:
    if not isinstance(outline_of(a), np.ndarray) or not outline_of(a).size:
        return False
    return 0 <= address_of(a) - address_of(memory) < memory.size


def views_of(s: Storage) -> list[Any]:
    """The living views of a memory."""
    views = (ref() for ref in s.views or ())
    return [view for view in views if view is not None and view._storage is s]


def _known(s: Storage, t: Tensor) -> list[Any]:
    tensors = [t, *views_of(s)]
    tensors += [base for view in tensors if (base := view._base) is not None]
    return [*{id(known): known for known in tensors if known._storage is s}.values()]
