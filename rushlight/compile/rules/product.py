"""Matrix products: the library handles windows and strides, so transposes and batches cost nothing here."""

from __future__ import annotations

import numpy as np

from ...backend.onednn.matmul import is_worthwhile
from ...backend.onednn.precision import rounds
from ..ir.graph import Ref
from ..ir.lazy import Builder, Lazy, Untraceable
from .table import rule, through_float32

_SERVED = ("float32", "float64", "bfloat16", "float16")  # 16 bits by way of float32 where no library has them


def product(b: Builder, x: Lazy, y: Lazy, bias: Lazy | None = None) -> Lazy:
    """x @ y for 2-D or equally batched operands, plus a row vector."""
    if x.dtype.name not in _SERVED or y.dtype != x.dtype or not (x.size and y.size):
        raise Untraceable(f"a product of {x.dtype}")
    if x.shape[-1] == 1 and x.dtype.itemsize > 2:  # BLAS leaves out factors of 0, be the other one nan
        return x * y if bias is None else x * y + bias
    if bias is not None and x.dtype == np.float64:  # BLAS has none, and repeating it for every row is of float32
        return product(b, x, y) + bias
    shape = (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])
    operands: list[Ref | None] = [_operand(b, x), _operand(b, y)]
    if bias is not None:
        operands.append(bias.ref())
    options = {"rounded": True} if x.dtype == np.float32 and rounds() and _is_large(x, y) else {}
    return b.lazy(b.extern("matmul", tuple(operands), (shape, x.dtype), **options)[0])


def _is_large(x: Lazy, y: Lazy) -> bool:
    """Whether an eager call would be oneDNN's, which alone rounds factors."""
    return is_worthwhile(x.size + y.size, x.size * y.shape[-1])


def _operand(b: Builder, x: Lazy) -> Ref:
    """A window with one axis of unit stride, stored first where it is none."""
    ref = x.ref()
    if 1 in (ref.strides[-1], ref.strides[-2]) or 1 in ref.shape[-2:]:
        return ref
    return b.store(b.lazy(ref))


def rows(x: Lazy) -> Lazy:
    """x (*, k) as one matrix."""
    return x if x.ndim == 2 else x.reshape(x.size // x.shape[-1], x.shape[-1])


@rule("mm", "bmm")
def mm(b, input, mat2):
    return product(b, input, mat2)


@rule("gram")
def gram(b, x, y):
    return product(b, rows(x).T, rows(y))


@rule("matmul")
def matmul(b, input, other):
    if input.ndim < 2 or other.ndim < 2:
        raise Untraceable("a product with a vector")
    if other.ndim == 2:
        out = product(b, rows(input), other)
        return out.reshape(*input.shape[:-1], other.shape[-1])
    return product(b, input, other)


@rule("linear", "linear.plain", "linear.nd", "linear.nd_plain")
def affine(b, input, weight, bias=None):
    if input.ndim < 2 or (bias is not None and bias.shape != weight.shape[:1]):
        raise Untraceable("addmm of operands that broadcast or have other dtypes")
    out = product(b, rows(input), weight.T, bias)
    return out.reshape(*input.shape[:-1], weight.shape[0])


@rule("dot")
def dot(b, input, tensor):
    return (input * tensor).sum()


@rule("mv")
def mv(b, mat, vec):
    if mat.dtype.kind != "f" or mat.dtype.itemsize < 4:
        raise Untraceable(f"mv of {mat.dtype}: convert both operands with .float()")
    return (mat * vec).sum(1)


@rule("matmul.vector_matrix")
def vector_matrix(b, input, other):
    if other.dtype.kind != "f" or other.dtype.itemsize < 4:
        raise Untraceable("a vector times a matrix")
    return (input.reshape(-1, 1) * other).sum(0)


@rule("outer")
def outer(b, input, vec2):
    return input.reshape(-1, 1) * vec2


@rule("column_sums")
@through_float32()
def column_sums(b, x):
    return rows(x).sum(0)


@rule("channel_sums")
@through_float32()
def channel_sums(b, x):
    return x.sum((0, *range(2, x.ndim)))


@rule("addmm")
def addmm(b, input, mat1, mat2, beta=1, alpha=1):
    if mat1.dtype.itemsize == 2 and beta:
        if beta != 1 or alpha != 1 or input.shape != mat2.shape[1:]:
            raise Untraceable("a sum of 16-bit floats that is rounded once")
        return product(b, mat1, mat2, input)
    out = product(b, mat1, mat2)
    out = out if alpha == 1 else out * alpha
    return out if beta == 0 else out + (input if beta == 1 else input * beta)


@rule("_trilinear")
def trilinear(b, input1, weight, input2):
    k, n, m = weight.shape
    left = product(b, input1, weight.transpose(1, 0, 2).reshape(n, k * m)).reshape(input1.shape[0], k, m)
    return (left * input2.reshape(input2.shape[0], 1, m)).sum(2)


@rule("_euclidean_dist")
def euclidean_dist(b, x1, x2):
    if x1.dtype.kind != "f" or x1.dtype.itemsize < 4 or x1.ndim != x2.ndim or x1.shape[:-2] != x2.shape[:-2]:
        raise Untraceable("distances of batches that broadcast, or of 16-bit floats")
    kind, lead = x1.dtype.type, x1.shape[:-2]
    squares = product(b, x1, x2.swapaxes(-2, -1)) * kind(-2)
    squares = squares + (x1 * x1).sum(-1).reshape(*lead, x1.shape[-2], 1)
    squares = squares + (x2 * x2).sum(-1).reshape(*lead, 1, x2.shape[-2])
    return np.sqrt(np.maximum(squares, kind(0)))
