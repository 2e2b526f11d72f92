"""Adding to places that an index names: what independent points of a loop cannot do.

index_add(source, index) -> out        out[index[m], ...] += source[m, ...] for m = 0, 1, ... in this order
    Shape: source (M, *), index (M,) -> out (V, *); an embedding's gradient has M = number of tokens
scatter_add(source, index) -> out      out[..., index[a, m, b], ...] += source[a, m, b] along the axis `axis`
scatter_put(source, index) -> out      out[..., index[a, m, b], ...] = source[a, m, b], for the last m of equal indices
    Shape: source and index the same (*, M, +) -> out (*, V, +)

out starts as zeros, or, with `onto`, as that value. option of index_add: skip, an index whose rows are left out. Sums are of
float32 and float64, what is put of any type, with an int64 or int32 index. Threads share out the rows of `out`, or the lines along `axis`, so that sums are
always made in the order of m. An index outside of `out` adds nothing: who reads by it has complained before.
"""

from __future__ import annotations

from math import prod

from ....core.locks import made_once
from ...ir.graph import Extern, Ref, same_strides
from ..llvm.ir import Builder, Val, number
from . import kernels
from .binder import Probe
from .kernels import element

__all__ = ["bind_index_add", "bind_scatter"]

_FLOATS = {"float32": "float", "float64": "double"}
_BYTES = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}
_INDICES = {"int64": "i64", "int32": "i32"}
_ONE_THREAD_ADDITIONS = 20_000


def bind_index_add(extern: Extern, binder: Probe) -> bool:
    """Emit an addition of rows; False where it cannot be served."""
    (source, index), (out,), (onto,) = extern.operands, extern.results, extern.onto
    if not _fits(source, index, out, onto) or index.ndim != 1 or not out.is_row_major():
        return False
    rows = source.reshape((source.shape[0], prod(source.shape[1:])))
    if rows is None or (rows.strides[1] != 1 and rows.shape[1] != 1):
        return False
    if onto is not None:
        binder.copy(binder.pointer(out), binder.pointer(onto.ref()), onto.nbytes)
    function = kernels.native(_index_add(_FLOATS[out.dtype.name], _INDICES[index.dtype.name]), 3, 5)
    skip = extern.options.get("skip", -1)
    binder.launch(
        function,
        out.shape[0],
        tuple(map(binder.pointer, (out, source, index))),
        index.shape[0],
        rows.shape[1],
        rows.strides[0],
        index.strides[0],
        (-1 if skip is None else skip) << 1 | (onto is None),
        threads=1 if source.size + (onto is None) * out.size < _ONE_THREAD_ADDITIONS else 0,
    )
    return True


def bind_scatter(extern: Extern, binder: Probe) -> bool:
    """Emit an addition, or a placing, along an axis; False where it cannot be served."""
    (source, index), (out,), (onto,) = extern.operands, extern.results, extern.onto
    axis, adds = extern.options["axis"], extern.kind == "scatter_add"
    if not _fits(source, index, out, onto, adds) or index.shape != source.shape:
        return False
    if (
        not out.is_row_major()
        or source.shape[:axis] + source.shape[axis + 1 :] != out.shape[:axis] + out.shape[axis + 1 :]
    ):
        return False
    three = [r.reshape((prod(r.shape[:axis]), r.shape[axis], prod(r.shape[axis + 1 :]))) for r in (source, index, out)]
    x, places, target = three
    if x is None or places is None or target is None:
        return False
    if onto is not None:
        binder.copy(binder.pointer(out), binder.pointer(onto.ref()), onto.nbytes)
    elem = _FLOATS[out.dtype.name] if adds else _BYTES[out.dtype.itemsize]
    function = kernels.native(_scatter(elem, _INDICES[index.dtype.name], adds), 3, 10)
    binder.launch(
        function,
        x.shape[0] * x.shape[2],
        tuple(map(binder.pointer, (out, source, index))),
        x.shape[1],
        x.shape[2],
        target.shape[1],
        int(onto is None),
        *x.strides,
        *places.strides,
        threads=1 if source.size + out.size < _ONE_THREAD_ADDITIONS else 0,
    )
    return True


def _fits(source: Ref, index: Ref, out: Ref, onto, adds: bool = True) -> bool:
    known = out.dtype.name in _FLOATS if adds else out.dtype.itemsize in _BYTES
    if source.dtype != out.dtype or not known or index.dtype.name not in _INDICES:
        return False
    if not (source.size and kernels.available()):
        return False
    return out.covers() and (onto is None or same_strides(out.shape, onto.strides, out.strides))


# -- the functions -----------------------------------------------------------------------------------------------------
@made_once
def _index_add(elem: str, index_elem: str):
    """The body of the first sum for a type of numbers and of indices."""
    size = 4 if elem == "float" else 8
    n = 4 * kernels.lanes() // size

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        out, source, index, count, width, source_step, index_step, packed = parameters
        whole, zero = b.op("and", width, -n), number(0, "i64")
        fresh, skip = b.compare("icmp ne", b.op("and", packed, 1), 0), b.op("ashr", packed, 1)
        with b.when(fresh):
            start, stop = b.op("mul", low, width), b.op("mul", high, width)
            middle = b.op("add", start, b.op("and", b.op("sub", stop, start), -n))
            with b.loop(start, middle, n) as j:
                b.store(b.splat(number(0, elem), n), element(b, out, j, elem), size)
            with b.loop(middle, stop) as j:
                b.store(number(0, elem), element(b, out, j, elem), size)
        with b.loop(zero, count) as m:
            i = _index_at(b, index, b.op("mul", m, index_step), index_elem)
            mine = b.op("and", b.compare("icmp sge", i, low), b.compare("icmp slt", i, high))
            with b.when(b.op("and", mine, b.compare("icmp ne", i, skip))):
                to, of = b.op("mul", i, width), b.op("mul", m, source_step)
                for begin, end, vector in ((zero, whole, n), (whole, width, 0)):
                    with b.loop(begin, end, vector or 1) as j:
                        at = element(b, out, b.op("add", to, j), elem)
                        more = b.load(elem, vector, element(b, source, b.op("add", of, j), elem), size)
                        b.store(b.op("fadd", b.load(elem, vector, at, size), more), at, size)

    return emit


@made_once
def _scatter(elem: str, index_elem: str, adds: bool):
    """The body of the other two for a type of numbers and of indices."""
    size = {"float": 4, "double": 8}.get(elem) or int(elem[1:]) // 8

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        out, source, index, count, inner, length, fresh, *steps = parameters
        zero = number(0, "i64")
        with b.loop(low, high) as line:
            a, c = b.op("sdiv", line, inner), b.op("srem", line, inner)
            start = b.op("add", b.op("mul", b.op("mul", a, length), inner), c)
            of, by = (b.op("add", b.op("mul", a, s[0]), b.op("mul", c, s[2])) for s in (steps[:3], steps[3:]))
            with b.when(b.compare("icmp ne", fresh, 0)), b.loop(zero, length) as v:
                b.store(number(0, elem), element(b, out, b.op("add", start, b.op("mul", v, inner)), elem), size)
            with b.loop(zero, count) as m:
                i = _index_at(b, index, b.op("add", by, b.op("mul", m, steps[4])), index_elem)
                inside = b.op("and", b.compare("icmp sge", i, 0), b.compare("icmp slt", i, length))
                with b.when(inside):
                    at = element(b, out, b.op("add", start, b.op("mul", i, inner)), elem)
                    more = b.load(elem, 0, element(b, source, b.op("add", of, b.op("mul", m, steps[1])), elem), size)
                    b.store(b.op("fadd", b.load(elem, 0, at, size), more) if adds else more, at, size)

    return emit


def _index_at(b: Builder, index: Val, at: Val, elem: str) -> Val:
    i = b.load(elem, 0, element(b, index, at, elem), 4 if elem == "i32" else 8)
    return i if elem == "i64" else b.convert("sext", i, "i64")
