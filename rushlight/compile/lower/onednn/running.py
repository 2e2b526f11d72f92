"""Running sums, products, extremes and linear recurrences: each point of a line needs the one before it, which no loop's points may.

running_sum(x) -> y            y[k] = y[k - 1] + x[k]
running_product(x) -> y        y[k] = y[k - 1] x[k]
recurrence(x, f) -> y          y[k] = x[k] + f[k] y[k - 1], the first x[0]
running_maximum(x) -> y, p     y[k] = max(y[k - 1], x[k]), p[k] the latest place of it; nan counts as the largest
running_minimum(x) -> y, p     the same of the smallest, where nan counts as the smallest
    Shape: x, f, y and p the same (*, T, +); option: axis, that of T

float32 and float64, all but recurrences also int64; sums and products of float32 are kept in double, as the kernels do. A
line is a scalar loop; where lines are adjacent in memory, a vector of them runs at once. Threads share out the lines.
"""

from __future__ import annotations

import math
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
_OUTS = {"running_maximum": 2, "running_minimum": 2}


def bind(extern: Extern, binder: Probe) -> bool:
    """Emit a running sum, product, extreme or recurrence; False where it cannot be served."""
    operands, results, axis = extern.operands, extern.results, extern.options["axis"]
    out = results[0]
    if not all(_fits(extern, operands, r) for r in results):
        return False
    lead, length, inner = prod(out.shape[:axis]), out.shape[axis], prod(out.shape[axis + 1 :])
    lines = [r.reshape((lead, length, inner)) for r in operands]
    if any(r is None for r in lines):
        return False
    lanes = kernels.lanes()
    together = inner // lanes if all(r is not None and r.strides[2] == 1 for r in lines) else 0
    function = kernels.native(
        _body(extern.kind, _TYPES[out.dtype.name]), len(results) + len(operands), 3 + 3 * len(operands)
    )
    binder.launch(
        function,
        lead * (together + inner - together * lanes),
        tuple(map(binder.pointer, (*results, *operands))),
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
    alike = all(r.dtype == extern.results[0].dtype and r.shape == out.shape for r in operands)
    return bool(alike and out.size and out.covers() and out.is_row_major())


@made_once
def _body(kind: str, elem: str):
    """The body for a kind and a type of numbers."""

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        count = 2 if kind == "recurrence" else 1
        outs = _OUTS.get(kind, 1)
        targets, sources = parameters[:outs], parameters[outs : outs + count]
        length, inner, together, *steps = parameters[outs + count :]
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
                    reads = [*zip(sources, of, steps[1::3], strict=True)]
                    if outs == 2:
                        _extreme_line(b, kind, elem, lanes, length, [(out, to, inner) for out in targets], reads[0])
                    else:
                        _line(b, kind, elem, lanes, length, (targets[0], to, inner), reads)

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


def _extreme_line(
    b: Builder, kind: str, elem: str, lanes: int, length: Val, targets: list[tuple], source: tuple
) -> None:
    """One line of a running extreme, or `lanes` of them side by side, with the places."""
    size, floats, largest = 4 if elem == "float" else 8, elem != "i64", kind == "running_maximum"
    comparison = f"fcmp o{'ge' if largest else 'le'}" if floats else f"icmp s{'ge' if largest else 'le'}"
    best, where = b.alloca(elem, lanes), b.alloca("i64", lanes)
    worst = (-math.inf if floats else -(2**63)) if largest else (math.inf if floats else 2**63 - 1)
    for slot, start in ((best, number(worst, elem)), (where, number(0, "i64"))):
        b.put(slot, b.splat(start, lanes) if lanes else start)
    address, start, step = source
    with b.loop(number(0, "i64"), length) as k:
        x = b.load(elem, lanes, element(b, address, b.op("add", start, b.op("mul", k, step)), elem), size)
        at = b.splat(k, lanes) if lanes else k
        before, place = b.get(best, elem, lanes), b.get(where, "i64", lanes)
        taken = b.compare(comparison, x, before)
        taken = b.op("or", taken, b.compare("fcmp uno", x, x)) if floats else taken
        for slot, new, old, kept, (to, first, stride) in (
            (best, x, before, elem, targets[0]),
            (where, at, place, "i64", targets[1]),
        ):
            y = b.select(taken, new, old)
            b.put(slot, y)
            width = 4 if kept == "float" else 8
            b.store(y, element(b, to, b.op("add", first, b.op("mul", k, stride)), kept), width)
