"""Running an update over raw arrays where nothing could tell the difference, and saying so to the version counters.

Each algorithm writes its update once, in the tensor language, as a function over lists of tensors. A tensor's in-place
method costs some microseconds, most of them for history and for tensors of mixed types. A step over plain real tensors
that nothing records needs neither, so `run` gives the update `Dense` arrays instead: the same methods with the same
roundings, each a NumPy call or two. From the third time on one native call does the same (`compile/jit/optimizer.py`).
Afterwards every tensor that the update could write has one more version.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy import add, divide, multiply, sqrt, subtract

from rushlight.compile.jit import optimizer as native
from rushlight.core.dispatch.mode import State, emit_event, thread
from rushlight.core.dispatch.overlap import shares_places
from rushlight.core.tensor.placeholder import Placeholder
from rushlight.core.tensor.storage import describe, storage_of, tick, user_line
from rushlight.core.tensor.tensor import Tensor
from rushlight.ops.pointwise.multiply_add import multiply_add

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
# elements: what an update touches of a piece stays in the cache. Adam over 4 million: 22 ms whole, 15 ms in pieces
_PIECE = 65536
_LARGE = 1e30  # a step size is divided by a bias correction, of up to 1e-8
_PLAIN = frozenset((bool, int, float, type(None)))
_new = object.__new__


def run(update: Callable, params: list[Tensor], grads: list[Tensor], *state: list | None, **options: Any) -> None:
    """Call ``update(params, grads, *state, **options)``, over raw arrays if it is not recorded and all is plain."""
    if not params:
        return
    if any(hasattr(kind, "_part") for kind in set(map(type, params))):
        _run_on_parts(update, params, grads, state, options)
        return
    mode = thread.state
    before, mode.writer = mode.writer, _step_at(user_line(2))
    try:
        tensors = getattr(update, "on_tensors", False) or _needs_tensors(mode, options)
        if not tensors and mode.level <= 1 and native.step(update, (params, grads, *state), options):
            _note_writes((params, *state), mode.writer)
            return
        arrays = None if tensors else _arrays(params, grads, *state)
        if arrays is None:
            update(params, grads, *state, **options)
            return
        try:
            mode.run(_apply, update, arrays, options)
        finally:
            _note_writes((params, *state), mode.writer)
        if mode.level > 1:
            emit_event("updated", update, _apply, (params, grads, *state), options)
    finally:
        mode.writer = before


def _run_on_parts(update: Callable, params: list, grads: list, state: tuple, options: dict[str, Any]) -> None:
    """`run` on the parts that this process has of parameters that are spread over processes, and of the others."""
    if getattr(update, "on_tensors", False):  # more than elements: their class says what it can
        update(params, grads, *state, **options)
        return
    lists = [None if tensors is None else [_part_of(t) for t in tensors] for tensors in (params, grads, *state)]
    run(update, *lists, **options)  # type: ignore[arg-type]
    if state and state[-1] is not None:
        for i, (p, before, now) in enumerate(zip(params, state[-1], lists[-1], strict=True)):  # type: ignore[arg-type]
            if before is None and now is not None:
                state[-1][i] = p._part[1](now) if hasattr(type(p), "_part") else now


def _part_of(t: Any) -> Any:
    return t._part[0] if hasattr(type(t), "_part") else t


def _needs_tensors(mode: State, options: dict[str, Any]) -> bool:
    """Whether someone listens to every call, the step should be differentiable, or an option is a tensor or too large a number.

    The operators raise torch's error for a number that a parameter's type cannot hold.
    """
    if mode.grad or (mode.level > 1 and not hasattr(mode.listener, "updated")):
        return True
    values = options.values()
    if not _PLAIN.issuperset(map(type, values)) and any(isinstance(value, Tensor) for value in values):
        return True
    return options.get("lr", 0) > _LARGE or options.get("weight_decay", 0) > _LARGE


def _arrays(params: list[Tensor], *others: list | None) -> list | None:
    """The lists with an array for each tensor; None if some tensor is not a plain one of its parameter's dtype."""
    dtypes = []
    for p in params:
        a, s = p._array, p._storage
        if (
            isinstance(a, Placeholder)
            or a.dtype not in _FLOATS
            or not a.flags.forc
            and shares_places(a)
            or (s is not None and s.inference)
        ):
            return None
        dtypes.append(a.dtype)
    lists: list[list | None] = [[p._array for p in params]]
    for tensors in others:
        if tensors is None:
            lists.append(None)
            continue
        arrays = []
        for t, dtype in zip(tensors, dtypes, strict=True):
            if t is None or (t._array.dtype is not dtype and t._array.ndim):
                return None
            arrays.append(t._array)
        lists.append(arrays)
    return lists


def _apply(update: Callable, lists: list[Any], options: dict[str, Any]) -> None:
    """Call the update over all arrays, a large one's in pieces: it works elementwise, so it cannot tell."""
    large = [i for i, a in enumerate(lists[0]) if a.size > _PIECE]
    for i in large:
        _apply_in_pieces(update, [arrays and arrays[i] for arrays in lists], options)
    if not large:
        update(*[arrays and [_dense(a) for a in arrays] for arrays in lists], **options)
    elif len(large) < len(lists[0]):
        rest = [i for i in range(len(lists[0])) if i not in large]
        update(*[arrays and [_dense(arrays[i]) for i in rest] for arrays in lists], **options)


def _apply_in_pieces(update: Callable, arrays: list[Any], options: dict[str, Any]) -> None:
    """Update one parameter piece by piece; every piece starts from the same 0-d counters."""
    if not all(a is None or a.flags.c_contiguous for a in arrays):
        update(*[None if a is None else [_dense(a)] for a in arrays], **options)
        return
    flat = [a.reshape(-1) if a is not None and a.ndim else a for a in arrays]
    pieces: list[Any] = []
    for start in range(0, arrays[0].size, _PIECE):
        pieces = [f if f is None else [_dense(f[start : start + _PIECE] if f.ndim else f.copy())] for f in flat]
        update(*pieces, **options)
    for f, piece in zip(flat, pieces, strict=True):
        if f is not None and not f.ndim:
            f[()] = piece[0].a


def _note_writes(lists: tuple, writer: str) -> None:
    """Give every tensor one version more. The writes share a moment: no node can be recorded between them."""
    stamp = tick()
    entry = (stamp, writer)
    before = after = ()  # what only steps write to soon has the same writes everywhere
    for tensors in lists:
        for t in tensors or ():
            s = t._storage
            if s is None:
                s = storage_of(t)
            s.version += 1
            s.stamp = stamp
            if s.content is not None:
                s.content.stamp, s.content.writer = stamp, writer
            writes = s.writes
            if writes is not before or not after:
                before, after = writes, (*writes[-7:], entry)
            s.writes = after


@lru_cache(1024)
def _step_at(place: Any) -> str:
    """What the error about a stale saved value should call the writer."""
    return f"the optimizer's step at {describe(place)}"


@lru_cache(1024)
def _number(value: float, dtype: np.dtype) -> np.ndarray:
    """``value`` as a 0-d array: NumPy takes that 0.4 us sooner than a Python number. Equal keys have equal values."""
    a = np.array(value, dtype)
    a.setflags(write=False)
    return a


class Dense:
    """A dense real array with those methods of a tensor that updates call, each rounding as the tensor's does."""

    __slots__ = ("a",)
    a: np.ndarray
    requires_grad = False

    def is_complex(self) -> bool:
        return False

    def item(self) -> float:
        return self.a.item()

    def __iadd__(self, count: int) -> Self:
        """Count up a 0-d step counter."""
        self.a[()] = self.a.item() + count
        return self

    def __imul__(self, other: Any) -> Dense:
        return self.mul_(other)

    # ------------------------------------------------------------------------------------------------- in place

    def add_(self, other: Any, *, alpha: float = 1) -> Dense:
        a = self.a
        b = other.a if type(other) is Dense else _number(other, a.dtype)
        if alpha == 1:
            add(a, b, a)
        else:
            multiply_add(b, _number(alpha, a.dtype), a, a)
        return self

    def mul_(self, other: Any) -> Dense:
        a = self.a
        multiply(a, other.a if type(other) is Dense else _number(other, a.dtype), a)
        return self

    def div_(self, other: Any) -> Dense:
        a = self.a
        divide(a, _operand(other, a.dtype), a)
        return self

    def sqrt_(self) -> Dense:
        sqrt(self.a, self.a)
        return self

    def lerp_(self, end: Dense, weight: Any) -> Dense:
        a = self.a
        way = subtract(end.a, a)
        weight = _number(weight, a.dtype)
        if abs(weight) < 0.5:
            multiply_add(way, weight, a, a)
        else:
            multiply_add(way, weight - 1, end.a, a)
        return self

    def addcmul_(self, x: Dense, y: Dense, *, value: float = 1) -> Dense:
        a = self.a
        multiply_add(_scaled(x, value, a.dtype), y.a, a, a)
        return self

    def addcdiv_(self, x: Dense, y: Dense, *, value: float = 1) -> Dense:
        a = self.a
        quotient = _scaled(x, value, a.dtype)
        add(a, divide(quotient, y.a), a)
        return self

    def copy_(self, other: Dense) -> Dense:
        np.copyto(self.a, other.a)
        return self

    def fill_(self, value: float) -> Dense:
        self.a.fill(value)
        return self

    # ----------------------------------------------------------------------------------------------- new arrays

    def __neg__(self) -> Dense:
        return _result(np.negative(self.a))

    def add(self, other: Any, *, alpha: float = 1) -> Dense:
        a = self.a
        b = _operand(other, a.dtype)
        return _result(add(a, b) if alpha == 1 else multiply_add(b, _number(alpha, a.dtype), a))

    def sub(self, other: Dense) -> Dense:
        return _result(subtract(self.a, other.a))

    def mul(self, other: Any) -> Dense:
        return _result(multiply(self.a, _operand(other, self.a.dtype)))

    def div(self, other: Any) -> Dense:
        return _result(divide(self.a, _operand(other, self.a.dtype)))

    __mul__, __truediv__ = mul, div

    def __rtruediv__(self, number: float) -> Dense:
        d = self.a.dtype
        return _result(multiply(divide(_number(1.0, d), self.a), _number(number, d)))

    def addcmul(self, x: Dense, y: Dense, *, value: float = 1) -> Dense:
        return _result(multiply_add(_scaled(x, value, self.a.dtype), y.a, self.a))

    def clone(self) -> Dense:
        return _result(self.a.copy())

    def sqrt(self) -> Dense:
        return _result(sqrt(self.a))

    def abs(self) -> Dense:
        return _result(np.abs(self.a))

    def maximum(self, other: Dense) -> Dense:
        return _result(np.maximum(self.a, other.a))


def _dense(a: np.ndarray) -> Dense:
    d = _new(Dense)
    d.a = a
    return d


def _result(a: Any) -> Dense:
    """What a NumPy call gave: a NumPy number, if its inputs were 0-d."""
    return _dense(a if type(a) is np.ndarray else np.asarray(a))


def _operand(x: Any, dtype: np.dtype) -> np.ndarray:
    return x.a if type(x) is Dense else _number(x, dtype)


def _scaled(x: Any, factor: float, dtype: np.dtype) -> np.ndarray:
    x = _operand(x, dtype)
    return x if factor == 1 else multiply(x, _number(factor, dtype))
