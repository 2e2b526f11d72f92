"""Matrix products, single and batched, and what can follow them without another pass.

matmul(x, y[, bias]) -> out;  out = activation(scale x y + bias), or, with `onto`, onto + scale x y + bias
    Shape: x (*, n, k), y (*, k, m), bias broadcastable to (*, n, m) -> (*, n, m), C-contiguous if there is a bias; batch axes of length 1 are broadcast
    options: scale = 1.0; activation = None or "gelu_tanh" (None with onto). Others lose nan or infinities in oneDNN:
    relu makes 0 of nan, gelu_erf nan of infinity. rounded = False: whether factors may be rounded to bfloat16

What oneDNN cannot do in one primitive on this processor follows as a loop (`epilogue.py`).

float32 and bfloat16 by oneDNN, small float32 ones and float64 by OpenBLAS. One thread, us, oneDNN / OpenBLAS:
(4, 400) @ (400, 120) 10.6 / 4.5 with the second transposed, its gradients 4.6 / 3.9 and 9.0 / 6.7; (4, 84) @ (84, 10)
0.7 / 0.1; (64, 84) @ (84, 10) 1.9 / 1.5; (64, 120) @ (120, 84) 11.9 / 16; (64, 400) @ (400, 120) 51 / 72, and 37 with
both threads. Its inner product on plain weights takes 6.3, 12.4 and 55 for the forward ones of these.
"""

from __future__ import annotations

from itertools import product as places
from math import prod

import numpy as np

from ....backend import isa
from ....backend.onednn.library import available
from ....backend.onednn.matmul import SMALL_MULTIPLY_ADDS, has_small_kernel
from ....backend.onednn.primitives import BIAS, DST, SRC, WEIGHTS, equal, wanted_desc
from ...ir.graph import Extern, Ref, row_major, same_strides
from ..amx import product as parts
from . import blas
from .binder import Probe, threads_for
from .descriptors import Operation, free, layout, primitive_desc, strided
from .epilogue import emit_epilogue, fits

__all__ = ["bind"]

_MOST_BLAS_CALLS, _MOST_BLAS_CALLS_ALONE = 16, 1 << 10  # of a batch; where oneDNN has no product, or is missing
_POST_OP = 32768
_SRC_1 = 2
# Packing the second matrix costs a pass over it: 1024 x 256 @ 256 x 8192 gains 15 %, 64 x 512 @ 512 x 512 loses 20 %.
_FEWEST_ROWS_TO_PACK = 512
# One thread, (20, 256) @ (256, 1024) transposed: 112 us, packed 79, packing 80; a recurrent layer does it at every step.
_FEWEST_USES_TO_PACK = 4

# AVX2, two threads, Zen 4, GFLOP/s of oneDNN / OpenBLAS, x as it is (x transposed): 1024 x 8192 @ 8192 x 256 160 / 170 (80 / 155);
# 1024 x 1024 @ 1024 x 256 172 / 192 (82 / 176); 1024 x 256 @ 256 x 256 209 / 206 (83 / 182); 256 x 1024 @ 1024 x 1024 96 / 156 (88 / 142);
# 512 cubed 135 / 200 (93 / 150); but 700 x 256 @ 256 x 10000 189 / 170 (187 / 162), 128 x 64 @ 64 x 784 130 / 94 (124 / 87).
_LONG_SUM, _SHARED_SIDE = 512, 256
_SLOW_STRIDE = 1024  # of floats, whose columns all meet in the same lines of the first-level cache


def bind(extern: Extern, binder: Probe) -> bool:
    """Emit a product; False where it cannot be served."""
    x, y, *rest = extern.operands
    bias = rest[0] if rest else None
    (out,), (onto,) = extern.results, extern.onto
    options = extern.options
    scale, activation = options.get("scale", 1.0), options.get("activation")
    if not (out.size and x.size) or activation not in (None, "gelu_tanh") or (activation and onto is not None):
        return False
    if onto is not None:
        if not (out.is_whole() and same_strides(out.shape, onto.strides, out.value.strides)):
            return False
        binder.copy(binder.pointer(out), binder.pointer(onto.ref()), onto.nbytes)
    work = x.size * y.shape[-1] * max(prod(out.shape[:-2]) // max(prod(x.shape[:-2]), 1), 1)
    rounded = options.get("rounded", False)
    small = work < SMALL_MULTIPLY_ADDS or out.dtype == np.float64 or _is_quick_in_openblas(x, y)
    by_blas = small and not activation and not rounded and x.dtype == y.dtype == out.dtype
    if by_blas and (bias is None or (onto is None and _bias_fits(bias, out))):
        if bias is not None:
            blas.repeat(binder, bias, out)
        if _bind_blas(binder, x, y, out, scale, onto is not None or bias is not None):
            return True
    if _bind_onednn(binder, x, y, bias, out, scale, activation, onto is not None, work, rounded):
        return True
    if rest or activation or scale != 1 or onto is not None:
        return _bind_apart(extern, binder, activation, scale)
    return x.dtype == y.dtype == out.dtype and _bind_blas(binder, x, y, out, 1.0, False)


def _bind_apart(extern: Extern, binder: Probe, activation: str | None, scale: float) -> bool:
    """The product into memory of its own, then a loop for what follows it.

    oneDNN without AVX-512 has no product that adds a scaled one, or one with a bias, to what is there.
    """
    x, y, *rest = extern.operands
    (out,), (onto,) = extern.results, extern.onto
    bias = _lead(rest[0], out.ndim) if rest else None
    if not fits(bias, out):
        return False
    part = binder.scratch(out.shape, out.dtype)
    if not bind(Extern("matmul", (x, y), (part,), rounded=bool(extern.options.get("rounded"))), binder):
        return False
    emit_epilogue(binder, part, bias, out, scale, activation, onto is not None)
    return True


def _is_quick_in_openblas(x: Ref, y: Ref) -> bool:
    """Whether it is a product of few rows by a transposed weight that OpenBLAS has a kernel of its own for."""
    is_linear = x.ndim == y.ndim == 2 and x.strides[1] == 1 and y.strides[0] == 1 and x.dtype == np.float32
    return is_linear and has_small_kernel(x.shape[0], y.shape[1], y.shape[0])


def _bias_fits(bias: Ref, out: Ref) -> bool:
    """Whether a small product can start from its bias: one row for all, and both are C-contiguous."""
    one = prod(bias.shape[:-1]) == 1 and bias.shape[-1] == out.shape[-1] and bias.strides[-1] == 1
    return one and bias.dtype == out.dtype == np.float32 and out.is_row_major()


# -- OpenBLAS ----------------------------------------------------------------------------------------------------------
def _bind_blas(binder: Probe, x: Ref, y: Ref, out: Ref, scale: float, keep: bool) -> bool:
    if out.strides[-1] != 1 != out.shape[-1]:  # then it is the transposed result whose rows are contiguous: y^T x^T
        x, y, out = (r.permute((*range(r.ndim - 2), r.ndim - 1, r.ndim - 2)) for r in (y, x, out))
    batch = out.shape[:-2]
    if prod(batch) > (_MOST_BLAS_CALLS if out.dtype == np.float32 and available() else _MOST_BLAS_CALLS_ALONE):
        return False
    steps = [_batch_strides(r, len(batch)) for r in (x, y, out)]
    for at in places(*map(range, batch)):
        offsets = [sum(i * s for i, s in zip(at, step, strict=True)) for step in steps]
        if not blas.multiply(binder, x, y, out, scale, float(keep), (offsets[0], offsets[1], offsets[2])):
            return False
    return True


def _batch_strides(ref: Ref, n: int) -> list[int]:
    strides = [s if m > 1 else 0 for m, s in zip(ref.shape[:-2], ref.strides[:-2], strict=True)]
    return [0] * (n - len(strides)) + strides


# -- oneDNN ------------------------------------------------------------------------------------------------------------
def _bind_onednn(binder, x, y, bias, out, scale, activation, accumulate, work, rounded) -> bool:
    ndim = out.ndim
    x, y = _lead(x, ndim), _lead(y, ndim)
    bias = None if bias is None else _lead(bias, ndim)
    if out.strides[-1] != 1 != out.shape[-1]:  # then it is the transposed result that is C-contiguous: y^T x^T
        if bias is not None:  # oneDNN has none that differs from row to row
            return False
        order = (*range(ndim - 2), ndim - 1, ndim - 2)
        x, y, out = y.permute(order), x.permute(order), out.permute(order)
    merged = _merged(x, y, bias, out)
    if merged is not None:
        x, y, bias, out = merged
    dx, dy, dbias, dout = layout(x), layout(y), None if bias is None else layout(bias), layout(out)
    if dx is None or dy is None or dout is None or (bias is not None and dbias is None):
        return False
    if not (activation or rounded) and _bind_shared(binder, x, y, bias, out, scale, accumulate):
        return True
    layouts = dx, dy, dbias, dout
    plain = scale == 1 and not (activation or accumulate or rounded)
    if plain and _bind_parts(binder, x, y, bias, out, layouts):
        return True
    operations: list[Operation] = [("rounded",)] if rounded else []
    separate_bias = bias is not None and (scale != 1 or accumulate)
    if scale != 1:
        operations.append(("linear", float(scale)))
    if separate_bias:
        operations.append(("add", dbias))
    if activation:
        operations.append((activation,))
    if accumulate:
        operations.append(("sum",))
    with threads_for(work) as threads:
        pack = rounded or x.shape[-2] >= _FEWEST_ROWS_TO_PACK or binder.uses(y) >= _FEWEST_USES_TO_PACK
        desc = _choose(x, y, dx, dy, None if separate_bias else dbias, dout, tuple(operations), pack)
        if desc is None or not equal(wanted_desc(desc, DST), dout.value):
            return False
        arguments = [(SRC, binder.inside(desc, SRC, x, dx)), (WEIGHTS, binder.packed(desc, WEIGHTS, y, dy))]
        if bias is not None:
            kind = _POST_OP * (1 + (scale != 1)) | _SRC_1 if separate_bias else BIAS
            arguments.append((kind, binder.memory(bias, dbias)))
        binder.execute(desc, [*arguments, (DST, binder.memory(out, dout))], threads)
    return True


def _bind_shared(binder, x, y, bias, out, scale, accumulate) -> bool:
    """By OpenBLAS on all threads, where that is faster."""
    if out.ndim != 2 or not (x.dtype == y.dtype == out.dtype == np.float32) or not _is_faster_shared(x, y):
        return False
    if bias is not None:
        if accumulate or not _bias_fits(bias, out):
            return False
        blas.repeat(binder, bias, out)
    return blas.multiply_shared(binder, x, y, out, scale, float(accumulate or bias is not None))


def _is_faster_shared(x: Ref, y: Ref) -> bool:
    """Without AVX-512 oneDNN's products of long sums, or with the first matrix transposed, are OpenBLAS's on all threads."""
    if isa.has_avx512() or not blas.is_shareable():
        return False
    (m, k), n = x.shape, y.shape[1]
    if x.strides[0] != 1 or m == 1:
        return k >= _LONG_SUM and min(m, n) >= _SHARED_SIDE
    if max(m, n) < 2 * _SHARED_SIDE:  # one thread would do most of it
        return False
    return k >= _LONG_SUM or (x.strides[1] % _SLOW_STRIDE == 0 and n <= _LONG_SUM)


def _bind_parts(binder, x, y, bias, out, layouts) -> bool:
    """By the matrix unit, and once more by oneDNN where numbers are not for it; False where it is no such product."""
    if not parts.fits(x, y, bias, out):
        return False
    dx, dy, dbias, dout = layouts
    again = primitive_desc("matmul", dx, dy, dbias, dout)
    if again is None:
        return False
    flag = binder.block(0)
    binder.note("the matrix unit")
    parts.emit_product(binder, x, y, bias, out, flag)
    arguments = [(SRC, binder.memory(x, dx)), (WEIGHTS, binder.memory(y, dy)), (DST, binder.memory(out, dout))]
    if bias is not None:
        arguments.append((BIAS, binder.memory(bias, dbias)))
    with binder.only_if(flag):
        binder.execute(again, arguments)
    return True


def _choose(x, y, dx, dy, dbias, dout, operations, pack):
    """The primitive on the refs in their layout; on dense copies where there is none; on a packed y where that wins."""
    pack = pack and prod(y.shape[:-2]) == 1 and y.size > 1 << 16
    sides = [(dx, free(y.shape, y.dtype))] if pack else []
    sides.append((dx, dy))
    plain_x, plain_y = (strided(r.shape, row_major(r.shape), r.dtype) for r in (x, y))
    sides += [(plain_x, dy), (dx, plain_y), (plain_x, plain_y)]
    for first, second in sides:
        desc = primitive_desc("matmul", first, second, dbias, dout, operations=operations)
        if desc is not None:
            return desc
    return None


def _lead(ref: Ref, ndim: int) -> Ref:
    """The ref with axes of length 1 before its own, and broadcast axes as axes of length 1."""
    more = ndim - ref.ndim
    shape = tuple(1 if s == 0 and i < ref.ndim - 2 else n for i, (n, s) in enumerate(zip(ref.shape, ref.strides)))
    return Ref(ref.value, (1,) * more + shape, (0,) * more + ref.strides, ref.offset)


def _merged(x: Ref, y: Ref, bias: Ref | None, out: Ref) -> tuple[Ref, Ref, Ref | None, Ref] | None:
    """The same product with as few axes as the strides allow: one matrix where y is the same for the whole batch."""
    batch, tail = prod(out.shape[:-2]), out.shape[-2:]
    if out.ndim == 2:
        return None
    if prod(y.shape[:-2]) == 1 and prod(x.shape[:-2]) == batch and (bias is None or prod(bias.shape[:-1]) == 1):
        rows = x.reshape((batch * tail[0], x.shape[-1])), out.reshape((batch * tail[0], tail[1]))
        if rows[0] is not None and rows[1] is not None:
            flat = None if bias is None else Ref(bias.value, (1, bias.shape[-1]), (0, bias.strides[-1]), bias.offset)
            return rows[0], Ref(y.value, y.shape[-2:], y.strides[-2:], y.offset), flat, rows[1]
    if out.ndim == 3 or bias is not None:
        return None
    flat_x, flat_y, flat_out = (_one_batch(r, batch) for r in (x, y, out))
    return flat_x and flat_y and flat_out and (flat_x, flat_y, None, flat_out)


def _one_batch(ref: Ref, batch: int) -> Ref | None:
    """The ref with one batch axis, of length 1 or `batch`; None where its strides allow none."""
    n = prod(ref.shape[:-2])
    return ref.reshape((n, *ref.shape[-2:])) if n in (1, batch) else None
