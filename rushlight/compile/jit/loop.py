"""One loop over large arrays: what becomes of an element, its native code, and the tables that the code works on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.onednn.address import address, is_readable
from ..ir.expression import Expr, apply, cast, const, load
from ..ir.graph import Value
from ..lower.llvm.engine import available
from ..lower.update import Kernel
from .cache import Entry, Refused
from .loops import clock
from .native_update import NativeUpdate
from .update import Leaf, Role, Update

__all__ = ["Loop"]

_SIZES = 16  # for which a loop keeps its tables, made in 0.1 ms


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
    "filled": lambda x, value: value,  # of the array only the memory is used
}


class Loop(Entry):
    """The native code of a loop, with the tables for each size of its arrays; None while one is in use."""

    __slots__ = ("kernel", "tables")

    def __init__(self, name: str, dtype: np.dtype, place: int | None, arrays: int, numbers: int):
        if not available() or not is_readable():
            raise Refused(
                "native code cannot be generated on this processor or interpreter, or llvmlite is not installed"
            )
        values = [Value((), dtype, name=f"array{i}") for i in range(arrays + (place is None))]
        options = {f"number{i}": Value((), np.dtype(np.float64), name=f"number{i}") for i in range(numbers)}
        elements = [load(v.ref()) for v in values[:arrays]]
        element = _LOOPS[name](*elements, *(cast(load(v.ref()), dtype) for v in options.values()))
        leaf = Leaf({arrays if place is None else place: element})
        self.kernel = Kernel(Update(tuple([Role(v, False) for v in values]), options, (), leaf))
        self.tables: dict[int, Any] = {}
        super().__init__()

    def is_running(self) -> bool:
        return None in self.tables.values()

    def run(self, arrays: Sequence[np.ndarray], numbers: Sequence[Any]) -> bool:
        """Do it, and return True; or do nothing."""
        self.used = clock()
        size, tables = arrays[0].size, self.tables
        table = tables.pop(size, None)  # out of other threads' reach meanwhile
        tables[size] = None
        if table is None:
            table = NativeUpdate(self.kernel, [[a] for a in arrays])
        else:
            pointers = table.pointers
            for i, a in enumerate(arrays):
                pointers[i, 0] = address(a)
        done = table.set_numbers(numbers) and not self.kernel.call(address(table.block))
        if len(tables) > _SIZES:
            tables.clear()
        tables[size] = table
        return done
