"""Attention by scaled dot products, a block of scores at a time.

attention_forward(q, k, v) -> out, lse
    out = softmax(scale q k^T) v; lse the logarithm of each query's sum of exponentials, which backward needs
attention_backward(g, q, k, v, out, lse) -> dq, dk, dv
    Shape: q, dq (*, L, E), k, dk (*, S, E), v, dv (*, S, V), out, g (*, L, V), lse (*, L, 1); float32
    options: scale; causal: query i sees the keys up to i (L >= S)

A block is a few heads times a few queries against all keys that these see, so that its scores stay in the second-level
cache and no T x T matrix exists: oneDNN's batched products around one native function over the rows of scores. Source:
Dao et al. 2022 (FlashAttention), with whole rows instead of running maxima.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as places
from math import prod
from typing import NamedTuple

import numpy as np

from ....backend.onednn.library import available
from ....backend.onednn.primitives import DST, SRC, WEIGHTS, Owned
from ...ir.graph import Extern, Ref
from ..llvm.ir import Builder, Val, number
from . import kernels
from .binder import Probe, threads_for
from .descriptors import Operation, layout, primitive_desc, strided
from .kernels import element

__all__ = ["bind_backward", "bind_forward"]

_F32 = np.dtype(np.float32)
_BLOCK = 1 << 17  # scores, in elements: 512 KiB
_FEWEST_ROWS = 64
_ALL = 1 << 40


class _Block(NamedTuple):
    """Heads and queries, and how many keys these see. at: which entry of the batch axes before the heads."""

    at: tuple[int, ...]
    heads: slice
    rows: slice
    seen: int


def _blocks(batch: tuple[int, ...], rows: int, columns: int, causal: bool) -> Iterator[_Block]:
    """All blocks; of the same heads the ones with the last queries, which see the most keys, come first."""
    *outer, heads = batch
    height = min(rows, max(_BLOCK // columns, _FEWEST_ROWS))
    if causal:
        height = min(height, max(_FEWEST_ROWS, rows // 8))
    width = min(heads, max(_BLOCK // (height * columns), 1))
    starts = range(0, rows, height)
    for at in places(*map(range, outer)):
        for h in range(0, heads, width):
            for i in reversed(starts):
                end = min(i + height, rows)
                seen = min(end, columns) if causal else columns
                yield _Block(at, slice(h, min(h + width, heads)), slice(i, end), seen)


def bind_forward(extern: Extern, binder: Probe) -> bool:
    """Emit out and lse; False where they cannot be served."""
    refs = _flattened((*extern.operands, *extern.results))
    if refs is None or not _fits(extern, refs):
        return False
    q, k, v, out, lse = refs
    scale, causal = kernels.bits(extern.options["scale"]), extern.options["causal"]
    if not lse.is_row_major():
        return False
    function = kernels.native(_softmax_rows, 2, 5)
    scores = _Room(binder, q, k, causal)
    with threads_for(q.size * k.shape[-2]) as threads:
        for block in _blocks(q.shape[:-2], q.shape[-2], k.shape[-2], causal):
            queries, keys, values, sums = (_cut(r, block, rows) for r, rows in ((q, True), (k, False), (v, False), (lse, True)))  # fmt: skip
            desc, at = scores.desc(block)
            products = _Products(binder, threads)
            if not products.emit(_matrix(queries), _matrix(keys, turned=True), (desc, at)):
                return False
            count, height = _counts(block)
            first = block.rows.start if causal else _ALL
            binder.launch(
                function,
                count * height,
                (at, binder.pointer(sums)),
                height,
                block.seen,
                scores.row,
                first,
                scale | lse.shape[-2] << 32,
                threads=threads,
            )
            if not products.emit((desc, at), _matrix(values), _matrix(_cut(out, block, True))):
                return False
    return True


def bind_backward(extern: Extern, binder: Probe) -> bool:
    """Emit the three gradients; False where they cannot be served."""
    refs = _flattened((*extern.operands, *extern.results))
    if refs is None or not _fits(extern, refs):
        return False
    g, q, k, v, out, lse, dq, dk, dv = refs
    scale, causal = kernels.bits(extern.options["scale"]), extern.options["causal"]
    if not lse.is_row_major() or g.strides[-1] != 1 or out.strides[-1] != 1:
        return False
    function = kernels.native(_softmax_backward_rows, 5, 10)
    weights, slopes = _Room(binder, q, k, causal), _Room(binder, q, k, causal)
    with threads_for(q.size * k.shape[-2]) as threads:
        for block in _blocks(q.shape[:-2], q.shape[-2], k.shape[-2], causal):
            queries, gradients, results, sums, to_queries = (_cut(r, block, True) for r in (q, g, out, lse, dq))
            keys, values, to_keys, to_values = (_cut(r, block, False) for r in (k, v, dk, dv))
            p, d = weights.desc(block), slopes.desc(block)
            products = _Products(binder, threads)
            done = products.emit(_matrix(queries), _matrix(keys, turned=True), p)
            done = done and products.emit(_matrix(gradients), _matrix(values, turned=True), d)
            count, height = _counts(block)
            first = block.rows.start if causal else _ALL
            binder.launch(
                function,
                count * height,
                (p[1], d[1], *map(binder.pointer, (sums, gradients, results))),
                height,
                block.seen,
                weights.row,
                first,
                scale | lse.shape[-2] << 32,
                g.shape[-1],
                *g.strides[-3:-1],
                *out.strides[-3:-1],
                threads=threads,
            )
            add = () if block.rows.stop == q.shape[-2] else (("sum",),)
            turned_p, turned_d = (weights.desc(block, turned=True), slopes.desc(block, turned=True))
            done = done and products.emit(d, _matrix(keys), _matrix(to_queries))
            done = done and products.emit(turned_d, _matrix(queries), _matrix(to_keys), add)
            done = done and products.emit(turned_p, _matrix(gradients), _matrix(to_values), add)
            if not done:
                return False
    return True


# -- operands ----------------------------------------------------------------------------------------------------------
def _flattened(refs: tuple[Ref, ...]) -> tuple[Ref, ...] | None:
    """The refs with the fewest batch axes that their strides allow: (heads, L, E), or as they are."""
    if any(r is None or r.ndim < 2 or not r.size or r.dtype != _F32 for r in refs):
        return None
    if len({r.shape[:-2] for r in refs}) != 1:
        return None
    flat = tuple(r.reshape((prod(r.shape[:-2]), *r.shape[-2:])) for r in refs)
    return refs if None in flat else flat  # type: ignore[return-value]


def _fits(extern: Extern, refs: tuple[Ref, ...]) -> bool:
    rows, columns = extern.operands[0].shape[-2], extern.operands[-1 if len(refs) == 5 else 2].shape[-2]
    return (
        available()
        and kernels.available()
        and not any(extern.onto)
        and not (extern.options["causal"] and rows < columns)
    )


def _counts(block: _Block) -> tuple[int, int]:
    return block.heads.stop - block.heads.start, block.rows.stop - block.rows.start


def _cut(ref: Ref, block: _Block, by_rows: bool) -> Ref:
    """The part of a ref that a block touches: its queries, or the keys that it sees."""
    *outer, head, row, column = ref.strides
    start, stop = (block.rows.start, block.rows.stop) if by_rows else (0, block.seen)
    offset = ref.offset + sum(i * s for i, s in zip(block.at, outer, strict=True))
    offset += block.heads.start * head + start * row
    shape = (block.heads.stop - block.heads.start, stop - start, ref.shape[-1])
    return Ref(ref.value, shape, (head, row, column), offset)


def _matrix(ref: Ref, turned: bool = False) -> Ref:
    return ref.permute((0, 2, 1)) if turned else ref


class _Room:
    """Memory for a block's scores: rows that are whole vectors long, one after the other."""

    def __init__(self, binder: Probe, q: Ref, k: Ref, causal: bool):
        self.row = -(-k.shape[-2] // kernels.lanes()) * kernels.lanes()
        largest = max(prod(_counts(block)) for block in _blocks(q.shape[:-2], q.shape[-2], k.shape[-2], causal))
        self.at = binder.room(4 * largest * self.row)

    def desc(self, block: _Block, turned: bool = False) -> tuple[Owned, int]:
        """(descriptor of the block's matrices, address)."""
        heads, rows = _counts(block)
        shape, strides = (heads, rows, block.seen), (rows * self.row, self.row, 1)
        if turned:
            shape, strides = (heads, block.seen, rows), (rows * self.row, 1, self.row)
        return strided(shape, strides, _F32), self.at


_Side = Ref | tuple[Owned, int]  # an operand, or scores: their descriptor and address


class _Products:
    """Emits batched products between refs and blocks of scores."""

    def __init__(self, binder: Probe, threads: int):
        self.binder, self.threads = binder, threads

    def emit(self, x: _Side, y: _Side, out: _Side, operations: tuple[Operation, ...] = ()) -> bool:
        """out = x y, or with ("sum",) added to it; False where oneDNN refuses."""
        descs = [layout(side) if isinstance(side, Ref) else side[0] for side in (x, y, out)]
        if None in descs:
            return False
        desc = primitive_desc("matmul", descs[0], descs[1], None, descs[2], operations=operations)
        if desc is None:
            return False
        memories = [self._memory(d, side) for d, side in zip(descs, (x, y, out), strict=True) if d is not None]
        self.binder.execute(desc, list(zip((SRC, WEIGHTS, DST), memories, strict=True)), self.threads)
        return True

    def _memory(self, desc: Owned, side: _Side) -> int:
        return self.binder.memory(side, desc) if isinstance(side, Ref) else self.binder.memory_at(desc, side[1])


# -- the rows of scores --------------------------------------------------------------------------------------------------
def _row(b: Builder, r: Val, rows: Val, columns: Val, first: Val, packed: Val, lse: Val):
    """(head, row, number of keys seen, scale, address of the row's lse)."""
    head, i = b.op("sdiv", r, rows), b.op("srem", r, rows)
    seen = b.op("add", b.op("add", first, i), 1)
    seen = b.select(b.compare("icmp slt", seen, columns), seen, columns)
    total = b.op("lshr", packed, 32)
    return head, i, seen, kernels.float_at(b, packed), element(b, lse, b.op("add", b.op("mul", head, total), i))


def _visible(b: Builder, x: Val, j: Val, seen: Val, otherwise: float) -> Val:
    here = kernels.positions(b, j, x.lanes)
    return b.select(
        b.compare("icmp slt", here, b.splat(seen, x.lanes)), x, b.splat(number(otherwise, "float"), x.lanes)
    )


def _softmax_rows(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
    """Scores to weights in place, and lse. Keys that are not seen get weight 0."""
    scores, lse, rows, columns, length, first, packed = parameters
    n, zero = kernels.lanes(), number(0, "i64")
    top_slot, sum_slot = b.alloca("float", n), b.alloca("float", n)
    with b.loop(low, high) as r:
        *_, seen, scale, lse_at = _row(b, r, rows, columns, first, packed, lse)
        row = b.op("add", scores, b.op("mul", b.op("mul", r, length), 4))
        b.put(top_slot, b.splat(number(float("-inf"), "float"), n))
        with b.loop(zero, seen, n) as j:
            x = b.op("fmul", b.load("float", n, element(b, row, j), 4), scale)
            x = _visible(b, x, j, seen, float("-inf"))
            top = b.get(top_slot, "float", n)
            b.put(top_slot, b.select(b.compare("fcmp ogt", x, top), x, top))
        top = kernels.lanes_max(b, b.get(top_slot, "float", n))
        b.put(sum_slot, b.splat(number(0, "float"), n))
        with b.loop(zero, seen, n) as j:
            at = element(b, row, j)
            x = b.op("fsub", b.op("fmul", b.load("float", n, at, 4), scale), top)
            e = _visible(b, kernels.exponential(b, x), j, seen, 0.0)
            b.store(e, at, 4)
            b.put(sum_slot, b.op("fadd", b.get(sum_slot, "float", n), e))
        total = kernels.lanes_sum(b, b.get(sum_slot, "float", n))
        factor = b.op("fdiv", number(1, "float"), total)
        with b.loop(zero, seen, n) as j:
            at = element(b, row, j)
            b.store(b.op("fmul", b.load("float", n, at, 4), factor), at, 4)
        kernels.zero_rest(b, row, kernels.whole_vectors(b, seen, n), columns, n)
        b.store(b.op("fadd", top, kernels.logarithm(b, total)), lse_at, 4)


def _softmax_backward_rows(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
    """Scores to weights, and the gradients of weights to those of scores, in place."""
    scores, slopes, lse, g, out, rows, columns, length, first, packed, width, *strides = parameters
    n, zero = kernels.lanes(), number(0, "i64")
    with b.loop(low, high) as r:
        head, i, seen, scale, lse_at = _row(b, r, rows, columns, first, packed, lse)
        offset = b.op("mul", b.op("mul", r, length), 4)
        row, slope = b.op("add", scores, offset), b.op("add", slopes, offset)
        starts = [b.op("add", b.op("mul", head, s), b.op("mul", i, t)) for s, t in (strides[:2], strides[2:])]
        mean = _dot(b, (g, starts[0]), (out, starts[1]), width, n)
        shift = b.load("float", 0, lse_at, 4)
        with b.loop(zero, seen, n) as j:
            p_at, d_at = element(b, row, j), element(b, slope, j)
            x = b.op("fsub", b.op("fmul", b.load("float", n, p_at, 4), scale), shift)
            p = _visible(b, kernels.exponential(b, x), j, seen, 0.0)
            d = b.op("fmul", b.op("fmul", b.op("fsub", b.load("float", n, d_at, 4), mean), scale), p)
            b.store(p, p_at, 4)
            b.store(_visible(b, d, j, seen, 0.0), d_at, 4)
        for start in (row, slope):
            kernels.zero_rest(b, start, kernels.whole_vectors(b, seen, n), columns, n)


def _dot(b: Builder, x: tuple[Val, Val], y: tuple[Val, Val], count: Val, n: int) -> Val:
    """The sum of products of two runs of `count` floats, each an address and an offset in elements."""
    many, one = b.alloca("float", n), b.alloca("float")
    b.put(many, b.splat(number(0, "float"), n))
    whole = b.op("and", count, -n)
    with b.loop(number(0, "i64"), whole, n) as j:
        left, right = (b.load("float", n, element(b, a, b.op("add", start, j)), 4) for a, start in (x, y))
        b.put(many, b.fma(left, right, b.get(many, "float", n)))
    b.put(one, kernels.lanes_sum(b, b.get(many, "float", n)))
    with b.loop(whole, count) as j:
        left, right = (b.load("float", 0, element(b, a, b.op("add", start, j)), 4) for a, start in (x, y))
        b.put(one, b.fma(left, right, b.get(one, "float")))
    return b.get(one, "float")
