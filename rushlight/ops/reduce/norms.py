"""Norms over dimensions, and the distance of two tensors."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import check_parsed
from ...core.dispatch.slow_path import write_out
from ...core.dispatch.torch_function import told_by_keyword
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import cast
from ...core.tensor.tensor import Tensor, type_word
from ..pointwise.building_blocks import F32, F64, MANY, add_reduce, dense, max_reduce, min_reduce, widened
from ..pointwise.choice import where
from .reduction import axes_of, keep_dims

_PIECE = 16384  # elements: 22 MB take 1.3 ms in products of pieces with themselves, 5 with an array of squares


def _is_plain(a):
    return type(a) is np.ndarray and (a.dtype is F32 or a.dtype is F64) and a.flags.c_contiguous


@widened
def _vector_norm(a, ord, axis, keepdims):
    if ord == 2 and a.size > _PIECE and (axis is None or a.ndim == 1) and not keepdims and _is_plain(a):
        flat = a.reshape(-1)
        pieces = (flat[i : i + _PIECE] for i in range(0, a.size, _PIECE))
        return np.sqrt(a.dtype.type(math.fsum(float(np.dot(x, x)) for x in pieces)))
    if ord == 2:
        squares = a.real**2 + a.imag**2 if a.dtype.kind == "c" else np.multiply(a, a)
        return dense(np.sqrt(add_reduce(squares, axis, None, None, keepdims)))
    size = np.abs(a)
    if ord == 1:
        return dense(add_reduce(size, axis, None, None, keepdims))
    if ord in (math.inf, -math.inf):
        return dense((max_reduce if ord > 0 else min_reduce)(size, axis, None, None, keepdims))
    if ord == 0:
        return dense(add_reduce(size != 0, axis, size.dtype, None, keepdims))
    return dense(add_reduce(size**ord, axis, None, None, keepdims) ** (1.0 / ord))


@primitive(public=False, name="linalg_vector_norm", jit_min_elements=MANY)
def vector_norm(input, /, ord, dim, keepdim, dtype):
    """(sum |x|**ord)**(1/ord) over `dim`."""
    if input.dtype.kind not in "fcV":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{type_word(dtypes.from_numpy(input.dtype))}"
        )
    if dtype is not None:
        if input.dtype.kind == "c" and not dtype.is_complex:
            raise RuntimeError(
                f"linalg.vector_norm: dtype should be complex for complex inputs, but got {type_word(dtype)}"
            )
        _check_dtype(dtypes.from_numpy(input.dtype), dtype)
        input = cast(input, dtype.numpy)
    if not input.size and (ord < 0 or ord == math.inf):
        _refuse_empty(input, ord, dim)
    return _vector_norm(input, ord, axes_of(dim, input.ndim), keepdim)


def _refuse_empty(a, ord, dim):
    """Raise where a norm that has no value for no elements is asked for."""
    dims = () if dim is None else (dim,) if isinstance(dim, int) else dim
    if not dims:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the operation does not have an "
            "identity"
        )
    for d in dims:
        if not a.shape[d]:
            raise RuntimeError(  # torch's own message has no space there
                f"linalg.vector_norm cannot compute the {ord:g} norm on the dimension {d}because this dimension is empty and "
                "the operation does not have an identity"
            )


@vector_norm.vjp
def _(g, input, out, ord, dim, keepdim, dtype):
    return norm_gradient(g, input if dtype is None else input.to(dtype), out, ord, dim, keepdim)


def _check_dtype(own, dtype):
    if dtype.category < 2:
        raise RuntimeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {type_word(dtype)}")
    if dtype.is_complex and not own.is_complex:
        raise RuntimeError(f"linalg.vector_norm: dtype should be real for real inputs, but got {type_word(dtype)}")
    if dtypes.promote_types(own, dtype) is not dtype:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({type_word(own)}) should be convertible without narrowing to the "
            f"specified dtype ({type_word(dtype)})"
        )


def norm_gradient(g, x, out, ord, dim, keepdim):
    """The gradient of the norm `out` of x for x; None where torch counts as if nothing depended on it."""
    if ord == 0:
        return None  # torch counts as if nothing depended on the elements
    if not keepdim and x.ndim:
        g, out = keep_dims(g, dim, x.ndim), keep_dims(out, dim, x.ndim)
    if ord == 1:
        return x.sgn() * g
    if ord == 2:
        return g * where(out == 0, 0.0, x / out)  # so torch's own derivative is nan where this is 0 / 0
    if ord in (math.inf, -math.inf):
        chosen = (x.abs() == out) | (x.isnan() & out.isnan())
        count = chosen.sum(dim, keepdim=True) if x.ndim else 1
        return x.sgn() * (chosen / count * g)
    if ord < 1:
        return (x.sgn() * x.abs().pow(ord - 1)).masked_fill(x == 0, 0) * (g * out.pow(1 - ord))
    if ord < 2:
        return x.sgn() * x.abs().pow(ord - 1) * (g / out.pow(ord - 1)).masked_fill(out == 0, 0)
    return x * x.abs().pow(ord - 2) * (g / out.pow(ord - 1)).masked_fill(out == 0, 0)


@told_by_keyword
@composite(method=True)
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of the elements over `dim`: (sum |x|^p)^(1/p).

    Args:
        p: a number or inf; "fro" is 2, "nuc" the sum of the singular values of a matrix.
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        out: the tensor to write the result to.
        dtype: the type to compute in; by default the input's.
    Shape: (*) -> (*) without `dim`
    Raises:
        RuntimeError: `p` is another text, as in `norm(ones(2), "x")`.
        IndexError: `dim` is out of range, as in `norm(ones(2), dim=1)`.

    >>> norm(tensor([3.0, 4.0]))
    tensor(5.)
    """
    if p == "nuc":
        from ..linalg.linalg import matrix_norm

        result = matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    elif p == "fro" or p is None:
        if p is not None and isinstance(dim, (tuple, list)) and len(dim) > 2:
            raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
        result = vector_norm(input, 2.0, dim, keepdim, dtype)
    elif isinstance(p, str):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    else:
        check_parsed(p)
        result = vector_norm(input, float(p), dim, keepdim, dtype)
    if out is None:
        return result
    return write_out("vector_norm", (input,), result, out, again=partial(norm, input, p, dim, keepdim, dtype=dtype))


@composite(method=True)
def dist(input, other, p=2):
    """The p-norm of input - other over all elements.

    Args:
        other: a tensor, broadcast against `input`.
        p: a number or inf.
    Shape: (*), (*) -> ()
    Raises:
        RuntimeError: the shapes do not broadcast, as in `dist(ones(2), ones(3))`.

    >>> dist(tensor([1.0, 2.0]), tensor([4.0, 6.0]))
    tensor(5.)
    """
    if not isinstance(other, Tensor):
        raise type_error(f"dist(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    check_parsed(p)
    if dtypes.bool_ in (input.dtype, other.dtype):
        return vector_norm(input - other, float(p), None, False, None)  # raises: bools have no difference
    kind = dtypes.promote_types(input.dtype, other.dtype)
    if kind.category < 2:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {type_word(kind)} instead."
        )
    return _dist(input, other, float(p))


@primitive(name="dist", public=False, promote="same")
def _dist(input, other, /, p):
    return vector_norm.record.reference(np.subtract(input, other), p, None, False, None)


@_dist.vjp
def _(g, input, other, out, p):
    part = norm_gradient(g, input - other, out, p, None, False)
    return part, None if part is None else -part
