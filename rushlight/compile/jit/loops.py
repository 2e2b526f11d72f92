"""Overrides of eager kernels of large arrays that NumPy takes several passes for (`rushlight/ops/pointwise/fused_loops.py`).

Each is the update (`lower/update.py`) of one array, made once its operator has worked on `_WORTHWHILE` elements without it.
Results are the same to the last bit, but for the sign of a nan, and for products and sums that the kernels do not round
right: one element in 5e8, near half-way between two numbers (`ops/pointwise/multiply_add.py`). `RUSHLIGHT_JIT=0` in the environment,
or a missing llvmlite, leaves all to the kernels.

Over 1e6 float32 on one thread: `add` with alpha 0.2 ms instead of 2.2, `lerp` by a tensor 0.7 instead of 23.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.onednn.address import address, is_readable
from ...core.determinism import mode
from ...core.jit_switch import jit
from ...core.locks import made_once
from ...ops.pointwise.fused_loops import FUSED_LOOPS, FusedLoop
from ..ir.expression import Expr, apply, cast, const, load
from .cache import Entry, Refused, Route
from .native_update import NativeUpdate

__all__ = ["fill", "install"]

# Elements: without the loop they take as long as making it does, 15 ms (with llvmlite's start 0.2 s, once).
_WORTHWHILE = 10_000_000
_SIZES = 16  # for which a loop keeps its tables, made in 0.1 ms
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _rounded_once(x: Expr, y: Expr, z: Expr) -> Expr:
    return apply("fma", x, y, z)


def _lerp(start: Expr, end: Expr, weight: Expr) -> Expr:
    small = apply("lt", apply("abs", weight), const(0.5, weight.dtype))
    part = apply("where", small, weight, apply("sub", weight, const(1, weight.dtype)))
    return apply("fma", apply("sub", end, start), part, apply("where", small, start, end))


def _sign(x: Expr) -> Expr:
    positive, negative = (cast(apply(op, x, const(0, x.dtype)), x.dtype) for op in ("gt", "lt"))
    return apply("sub", positive, negative)


# What becomes of an element, given those of the arrays and then the numbers.
_LOOPS: dict[str, Callable[..., Expr]] = {
    "multiply_add": _rounded_once,  # x, y, z
    "scaled": lambda x, z, alpha: apply("fma", x, alpha, z),
    "lerp": _lerp,
    "lerp_from": lambda start, end, part: apply("fma", apply("sub", end, start), part, start),
    "lerp_to": lambda start, end, part: apply("fma", apply("sub", end, start), part, end),
    "addcmul": lambda x, y, z, value: apply("fma", apply("mul", y, value), z, x),
    "addcdiv": lambda x, y, z, value: apply("add", x, apply("div", apply("mul", y, value), z)),
    "sign": _sign,
}

_route: Route[_Loop] = Route("loop", is_shared=True)  # by the loop's name, its type, and which array is written
_state = _route.state


@made_once
def install() -> None:
    """Override the kernels of large arrays."""
    for loop in FUSED_LOOPS.values():
        loop.override(_in_one_pass(loop))


def _in_one_pass(loop: FusedLoop) -> Callable[..., Any]:
    name, n, reference = loop.name, loop.arrays, loop.reference

    def kernel(*arguments: Any, out: np.ndarray | None = None) -> Any:
        result = fill(name, arguments[:n], arguments[n:], out)
        return reference(*arguments, out=out) if result is None else result

    return kernel


def fill(
    name: str, arrays: Sequence[np.ndarray], numbers: Sequence[Any], out: np.ndarray | None = None
) -> np.ndarray | None:
    """`out`, or a new array, filled by a loop; None if nothing was done. `out` may be one of the arrays."""
    first = arrays[0]
    if mode.on:
        return None
    for a in arrays:  # `all` of a generator takes 0.3 us more
        if not _fits(a, first):
            return None
    place = None
    if out is not None:
        if not out.flags.writeable or not _fits(out, first):
            return None
        for i, a in enumerate(arrays):
            if a is out and place is None:
                place = i
            elif np.may_share_memory(out, a):
                return None
    key = name, first.dtype, place
    loop = _state.programs.get(key)
    if loop is None:
        if not jit.on or not _route.is_due(key, first.size, _WORTHWHILE):
            return None
        loop = _route.make(key, lambda: _Loop(*key, len(arrays), len(numbers)), lambda: f"{name} of {first.dtype}")
        if loop is None:
            return None
    result = np.empty(first.shape, first.dtype) if out is None else out
    return result if loop.run(arrays if place is not None else (*arrays, result), numbers) else None


def _fits(a: Any, first: np.ndarray) -> bool:
    d = first.dtype
    return type(a) is np.ndarray and a.dtype is d and d in _FLOATS and a.shape == first.shape and a.flags.c_contiguous


class _Loop(Entry):
    """The native code of a loop, with the tables for each size of its arrays; None while one is in use."""

    __slots__ = ("kernel", "names", "tables")

    def __init__(self, name: str, dtype: np.dtype, place: int | None, arrays: int, numbers: int):
        from ..lower.llvm.engine import available

        if not available() or not is_readable():
            raise Refused(
                "native code cannot be generated on this processor or interpreter, or llvmlite is not installed"
            )
        from ..ir.graph import Value
        from ..lower.update import Kernel
        from .update import Leaf, Role, Update

        values = [Value((), dtype, name=f"array{i}") for i in range(arrays + (place is None))]
        options = {f"number{i}": Value((), np.dtype(np.float64), name=f"number{i}") for i in range(numbers)}
        elements = [load(v.ref()) for v in values[:arrays]]
        element = _LOOPS[name](*elements, *(cast(load(v.ref()), dtype) for v in options.values()))
        leaf = Leaf({arrays if place is None else place: element})
        self.kernel = Kernel(Update(tuple([Role(v, False) for v in values]), options, (), leaf))
        self.names = tuple(options)
        self.tables: dict[int, Any] = {}
        super().__init__()

    def is_running(self) -> bool:
        return None in self.tables.values()

    def run(self, arrays: Sequence[np.ndarray], numbers: Sequence[Any]) -> bool:
        """Do it, and return True; or do nothing."""
        self.used = _state.clock()
        size, tables = arrays[0].size, self.tables
        table = tables.pop(size, None)  # out of other threads' reach meanwhile
        tables[size] = None
        if table is None:
            table = NativeUpdate(self.kernel, [[a] for a in arrays])
        else:
            table.pointers[:, 0] = [address(a) for a in arrays]
        options = dict(zip(self.names, numbers, strict=True))
        done = table.set_options(options) and not self.kernel.call(address(table.block))
        if len(tables) > _SIZES:
            tables.clear()
        tables[size] = table
        return done
