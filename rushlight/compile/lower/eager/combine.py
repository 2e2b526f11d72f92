"""Writes to places that may repeat, `out[where] = how(out[where], values)`: 1 to 3 ns an element, NumPy's `at` 10 to 100.

The index arrays are read where they are, with their strides, so that an index that is expanded over columns costs no
more than its own elements. One place after the other, in NumPy's order, so the results are NumPy's bits. Code is made
once for an operator, a type, and the numbers of index arrays and of their dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from ....backend.onednn.address import address, is_readable
from ....core.foreign import ctypes
from ....core.locks import made_once
from ..llvm import engine
from ..llvm.arithmetic import operate, register
from ..llvm.ir import Builder, Val, number

__all__ = ["combine"]

_TYPES = frozenset(map(np.dtype, (np.float32, np.float64, np.int64, np.int32)))
_INDICES = frozenset(map(np.dtype, (np.int64, np.int32)))
_MOST = 4  # index arrays, and dimensions of these
_OPERATORS = {
    "add": "add",
    "multiply": "mul",
    "maximum": "maximum",
    "minimum": "minimum",
}  # of ufuncs, in generated code
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
    first = where[0].dtype
    if (
        out.dtype not in _TYPES
        or first not in _INDICES
        or how not in _OPERATORS
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
    code = _function(how, out.dtype, first, len(where), len(shape), width == 1)
    code(address(out), address(values), address(words))
    if words[0] < 0:
        raise IndexError(f"index out of bounds for a dimension of size {out.shape[-1 - words[0]]}")
    return True


@made_once
def _function(how: str, dtype: np.dtype, place: np.dtype, arrays: int, dims: int, is_narrow: bool) -> Callable:
    types = [ctypes.c_void_p] * 3
    return engine.function(_assembly(how, dtype, place, arrays, dims, is_narrow), "combine", *types)


def _assembly(how: str, dtype: np.dtype, place_type: np.dtype, arrays: int, dims: int, is_narrow: bool) -> str:
    """void combine(out, values, table): the table's first word becomes -1 - p where the p-th index is out of range.

    is_narrow: a place is one element, not a row.
    """
    kind, index = register(dtype), register(place_type)
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
            found = b.load(index, 0, at(base.text, index, place), place_type.itemsize)
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
        if is_narrow:
            _combined(b, how, dtype, 0, to, source)
            return
        lanes = b.select(is_dense, b.op("and", width, -_LANES), number(0, "i64"))
        with b.loop(number(0, "i64"), lanes, _LANES) as j:
            _combined(b, how, dtype, _LANES, at(to, kind, j), at(source, kind, j))
        with b.loop(lanes, width) as j:
            _combined(b, how, dtype, 0, at(to, kind, j), at(source, kind, b.op("mul", j, within)))

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


def _combined(b: Builder, how: str, dtype: np.dtype, lanes: int, to: str, source: str) -> None:
    x, y = (b.load(register(dtype), lanes, place, dtype.itemsize) for place in (to, source))
    b.store(operate(b, _OPERATORS[how], [x, y], dtype, dtype), to, dtype.itemsize)
