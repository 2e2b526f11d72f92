"""Running sums, products and linear recurrences: each point of a line needs the one before it, which no loop's points may.

running_sum(x) -> y            y[k] = y[k - 1] + x[k]
running_product(x) -> y        y[k] = y[k - 1] x[k]
recurrence(x, f) -> y          y[k] = x[k] + f[k] y[k - 1], the first x[0]
    Shape: x, f and y the same (*, T, +); option: axis, that of T

float32 and float64, sums and products also int64; sums and products of float32 are kept in double, as the kernels do. A
line is a scalar loop; where lines are adjacent in memory, a vector of them runs at once. Threads share out the lines.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ....core.locks import made_once
from ...ir.graph import Extern, Ref
from ..llvm.ir import Builder, Val, number
from . import kernels
from .binder import Probe
from .kernels import element

__all__ = ["bind"]

_TYPES = {"float32": "float", "float64": "double", "int64": "i64"}
_ONE_THREAD_ELEMENTS = 20_000


def bind(extern: Extern, binder: Probe) -> bool:
    """Emit a running sum, product or recurrence; False where it cannot be served."""
    operands, (out,), axis = extern.operands, extern.results, extern.options["axis"]
    if not _fits(extern, operands, out):
        return False
    lead, length, inner = prod(out.shape[:axis]), out.shape[axis], prod(out.shape[axis + 1 :])
    lines = [r.reshape((lead, length, inner)) for r in operands]
    if any(r is None for r in lines):
        return False
    lanes = kernels.lanes()
    together = inner // lanes if all(r is not None and r.strides[2] == 1 for r in lines) else 0
    function = kernels.native(_body(extern.kind, _TYPES[out.dtype.name]), 1 + len(operands), 3 + 3 * len(operands))
    binder.launch(
        function,
        lead * (together + inner - together * lanes),
        tuple(map(binder.pointer, (out, *operands))),
        length,
        inner,
        together,
        *(s for r in lines if r is not None for s in r.strides),
        threads=1 if out.size < _ONE_THREAD_ELEMENTS else 0,
    )
    return True


def _fits(extern: Extern, operands: tuple[Ref, ...], out: Ref) -> bool:
    if not kernels.available() or out.dtype.name not in _TYPES or any(v is not None for v in extern.onto):
        return False
    if extern.kind == "recurrence" and out.dtype == np.int64:
        return False
    alike = all(r.dtype == out.dtype and r.shape == out.shape for r in operands)
    return bool(alike and out.size and out.covers() and out.is_row_major())


@made_once
def _body(kind: str, elem: str):
    """The body for a kind and a type of numbers."""

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        count = 2 if kind == "recurrence" else 1
        out, *sources = parameters[: 1 + count]
        length, inner, together, *steps = parameters[1 + count :]
        n = kernels.lanes()
        per_lead = b.op("add", together, b.op("sub", inner, b.op("mul", together, n)))
        with b.loop(low, high) as row:
            a, c = b.op("sdiv", row, per_lead), b.op("srem", row, per_lead)
            wide = b.compare("icmp slt", c, together)
            for lanes, condition in ((n, wide), (0, b.op("xor", wide, True))):
                with b.when(condition):
                    column = b.op("mul", c, n) if lanes else b.op("add", c, b.op("mul", together, n - 1))
                    to = b.op("add", b.op("mul", b.op("mul", a, length), inner), column)
                    of = [
                        b.op("add", b.op("mul", a, steps[3 * i]), b.op("mul", column, steps[3 * i + 2]))
                        for i in range(count)
                    ]
                    _line(b, kind, elem, lanes, length, (out, to, inner), [*zip(sources, of, steps[1::3], strict=True)])

    return emit


def _line(b: Builder, kind: str, elem: str, lanes: int, length: Val, target: tuple, sources: list[tuple]) -> None:
    """One line, or `lanes` of them side by side. target and sources: (address, first element, step)."""
    size, floats = 4 if elem == "float" else 8, elem != "i64"
    inside = "double" if elem == "float" and kind != "recurrence" else elem
    neutral = 1 if kind == "running_product" else -0.0 if floats else 0  # -0.0 + x is x, whatever x
    slot, first = b.alloca(inside, lanes), number(neutral, inside)
    b.put(slot, b.splat(first, lanes) if lanes else first)
    with b.loop(number(0, "i64"), length) as k:
        values = []
        for address, start, step in sources:
            x = b.load(elem, lanes, element(b, address, b.op("add", start, b.op("mul", k, step)), elem), size)
            values.append(b.convert("fpext", x, inside) if inside != elem else x)
        before, add, times = b.get(slot, inside, lanes), "fadd" if floats else "add", "fmul" if floats else "mul"
        if kind == "recurrence":
            more = b.op(add, values[0], b.op(times, values[1], before))
            y = b.select(b.compare("icmp eq", k, 0), values[0], more)
        else:
            y = b.op(times if kind == "running_product" else add, before, values[0])
        b.put(slot, y)
        y = b.convert("fptrunc", y, elem) if inside != elem else y
        address, start, step = target
        b.store(y, element(b, address, b.op("add", start, b.op("mul", k, step)), elem), size)
