"""Writes to places that may repeat, `out[where] = how(out[where], values)`: 1 to 3 ns an element, NumPy's `at` 10 to 100.

The index arrays are read where they are, with their strides, so that an index that is expanded over columns costs no
more than its own elements. One place after the other, in NumPy's order, so the results are NumPy's bits. Code is made
once for an operator, a type, and the numbers of index arrays and of their dimensions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod

import numpy as np

from ....backend.onednn.address import address, is_readable
from ....core.locks import made_once
from ..llvm import engine
from ..llvm.ir import Builder, Val, number

__all__ = ["combine"]

_ELEMENTS = {
    np.dtype(t): e for t, e in ((np.float32, "float"), (np.float64, "double"), (np.int64, "i64"), (np.int32, "i32"))
}
_INDEX = {np.dtype(np.int64): "i64", np.dtype(np.int32): "i32"}
_MOST = 4  # index arrays, and dimensions of these
_BYTES = {"float": 4, "double": 8, "i64": 8, "i32": 4}
_LANES = 8


@made_once
def available() -> bool:
    """Whether code can be made here."""
    return engine.available() and is_readable()


def combine(how: str, out: np.ndarray, where: tuple[np.ndarray, ...], values: np.ndarray) -> bool:
    """Do it, and return True; False, and nothing is done, for what there is no code for.

    how: "add", "multiply", "maximum" or "minimum". Raises IndexError for places outside; part may be written then.
    Shape: out (N1, ..., Np, *rest) contiguous, where p arrays that broadcast to (*), values broadcasts to (*, *rest)
    """
    kind, first = _ELEMENTS.get(out.dtype), where[0].dtype
    if (
        kind is None
        or first not in _INDEX
        or how not in _HOW
        or not out.flags.c_contiguous
        or not out.size
        or not available()
    ):
        return False
    shape: tuple[int, ...] = where[0].shape
    if len(where) > 1:
        shape = np.broadcast(*where).shape
    if not 1 <= len(shape) <= _MOST or len(where) > _MOST or any(w.dtype is not first for w in where):
        return False
    rest = out.shape[len(where) :]
    if values.shape != shape + rest:
        values = np.broadcast_to(values, shape + rest)
    if not values.size:
        return True
    width = prod(rest)
    if len(rest) != 1:
        values = values.reshape(*shape, width)
    item, place = out.itemsize, first.itemsize
    table = [*shape, width, *[s // item for s in values.strides]]
    step = out.size
    for w, n in zip(where, out.shape, strict=False):
        step //= n
        strides = [s // place if size > 1 else 0 for s, size in zip(w.strides, w.shape, strict=True)]
        table += [address(w), n, step, *[0] * (len(shape) - w.ndim), *strides]
    words = np.array(table, np.int64)
    _function(how, kind, _INDEX[first], len(where), len(shape))(address(out), address(values), address(words))
    if words[0] < 0:
        raise IndexError(f"index out of bounds for a dimension of size {out.shape[-1 - words[0]]}")
    return True


@made_once
def _function(how: str, kind: str, index: str, arrays: int, dims: int) -> Callable:
    types = [ctypes.c_void_p] * 3
    return engine.function(_assembly(how, kind, index, arrays, dims), "combine", *types)


def _assembly(how: str, kind: str, index: str, arrays: int, dims: int) -> str:
    """void combine(out, values, table): the table's first word becomes -1 - p where the p-th index is out of range."""
    declarations: dict[str, str] = {}
    b = Builder(declarations)
    words = iter(range(1 << 10))

    def word() -> Val:
        place = b.emit(f"getelementptr i64, ptr %table, i64 {next(words)}", "ptr")
        return b.emit(f"load i64, ptr {place.text}, align 8", "i64")

    sizes = [word() for _ in range(dims)]
    width, strides = word(), [word() for _ in range(dims)]
    within = word()
    of = [(b.convert("inttoptr", word(), "ptr"), word(), word(), [word() for _ in range(dims)]) for _ in range(arrays)]
    is_dense = b.compare("icmp eq", within, 1)

    def at(base: str, element: str, place: Val) -> str:
        return b.emit(f"getelementptr {element}, ptr {base}, i64 {place.text}", "ptr").text

    def inner(places: list[Val]) -> None:
        row: Val = number(0, "i64")
        for p, (base, n, step, steps) in enumerate(of):
            place = number(0, "i64")
            for i, s in zip(places, steps, strict=True):
                place = b.op("add", place, b.op("mul", i, s))
            found = b.load(index, 0, at(base.text, index, place), _BYTES[index])
            found = found if index == "i64" else b.convert("sext", found, "i64")
            found = b.select(b.compare("icmp slt", found, 0), b.op("add", found, n), found)
            with b.when(b.compare("icmp uge", found, n), unlikely=True):
                b.line(f"store i64 {-1 - p}, ptr %table, align 8")
                b.line("ret void")
                b.block(b.fresh("never"))
            row = b.op("add", row, b.op("mul", found, step))
        start: Val = number(0, "i64")
        for i, s in zip(places, strides, strict=True):
            start = b.op("add", start, b.op("mul", i, s))
        to, source = at("%out", kind, row), at("%values", kind, start)
        lanes = b.select(is_dense, b.op("and", width, -_LANES), number(0, "i64"))
        with b.loop(number(0, "i64"), lanes, _LANES) as j:
            _combined(b, how, kind, _LANES, at(to, kind, j), at(source, kind, j))
        with b.loop(lanes, width) as j:
            _combined(b, how, kind, 0, at(to, kind, j), at(source, kind, b.op("mul", j, within)))

    def nest(places: list[Val]) -> None:
        if len(places) == dims:
            inner(places)
            return
        with b.loop(number(0, "i64"), sizes[len(places)]) as i:
            nest([*places, i])

    nest([])
    b.line("ret void")
    body = b.function("@combine", "ptr %out, ptr %values, ptr %table")
    return body + "\n".join(declarations.values()) + "\n" + engine.attributes()


def _combined(b: Builder, how: str, kind: str, lanes: int, to: str, source: str) -> None:
    x, y = b.load(kind, lanes, to, _BYTES[kind]), b.load(kind, lanes, source, _BYTES[kind])
    b.store(_HOW[how](b, x, y), to, _BYTES[kind])


def _of_numbers(real: str, integer: str) -> Callable[[Builder, Val, Val], Val]:
    return lambda b, x, y: b.op(real if x.elem in ("float", "double") else integer, x, y)


def _extreme(real: str, integer: str) -> Callable[[Builder, Val, Val], Val]:
    def larger(b: Builder, x: Val, y: Val) -> Val:
        """NumPy's: a nan stays, and of equal numbers the first."""
        if x.elem not in ("float", "double"):
            return b.intrinsic(integer, x, y)
        first = b.op("or", b.compare(f"fcmp {real}", x, y), b.compare("fcmp uno", x, x))
        return b.select(first, x, y)

    return larger


_HOW: dict[str, Callable[[Builder, Val, Val], Val]] = {
    "add": _of_numbers("fadd", "add"),
    "multiply": _of_numbers("fmul", "mul"),
    "maximum": _extreme("oge", "smax"),
    "minimum": _extreme("ole", "smin"),
}
