"""Norms of vectors and matrices, and what the singular values say: rank and condition."""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import may_branch_on_data
from ...core.dispatch.op import composite
from ...core.dispatch.scalars import check_flag, check_parsed
from ...core.tensor.dtype import int64
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, type_word
from ..pointwise.choice import where
from ..reduce import norms
from .factor import eigvalsh, svdvals
from .matrices import check_floating, check_matrix, check_norm_type, real_type
from .solvers import inv_ex

# ---------------------------------------------------------------------------------------------- norms


def _dims(dim):
    return None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)


def _check_not_empty(x, ord, dims):
    """Raise where a norm without an identity is taken over no elements."""
    if x._array.size or not (ord < 0 or ord == math.inf):
        return
    word_of_ord = f"{ord:g}"
    if dims is None or len(dims) == 0:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {word_of_ord} norm on an empty tensor because the operation does not "
            "have an identity"
        )
    for d in dims:
        if x._array.shape[wrap_dim(d, x._array.ndim)] == 0:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {word_of_ord} norm on the dimension {d}because this dimension is "
                "empty and the operation does not have an identity"
            )


@composite(name="linalg_vector_norm", function=False, out=True)
def vector_norm(input, ord=2, dim=None, keepdim=False, *, dtype=None):
    """(sum |x|^ord)^(1/ord) over `dim`; inf and -inf: the largest and smallest |x|; 0: how many are not zero.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: the type to compute in; by default the input's.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        RuntimeError: `input` is of integers, as in `vector_norm(tensor([1, 2]))`.
        IndexError: `dim` is out of range, as in `vector_norm(ones(2), dim=1)`.

    >>> vector_norm(tensor([3.0, 4.0]))
    tensor(5.)
    """
    if isinstance(ord, str):
        raise type_error("linalg_vector_norm(): argument 'ord' (position 2) must be Number, not str")
    check_parsed(ord)
    check_floating(input._array, "linalg.vector_norm", low=True)
    check_norm_type(input, dtype, "linalg.vector_norm")
    dims = _dims(dim)
    _check_not_empty(input, ord, dims)
    return norms.vector_norm(input, float(ord), dims or None, keepdim, dtype)


def _matrix_dims(x, dim, name):
    dims = _dims(dim) or ()
    if len(dims) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {', '.join(str(d) for d in dims)}")
    n = x._array.ndim
    d1, d2 = wrap_dim(dims[0], n), wrap_dim(dims[1], n)
    if d1 == d2:
        raise RuntimeError(f"{name}: dims must be different. Got ({dims[0]}, {dims[1]})")
    return d1, d2


def _by_singular_values(x, ord, dims, keepdim):
    """The norms 'nuc', 2 and -2 of the matrices over `dims`."""
    check_floating(x._array, "linalg.matrix_norm")
    n = x._array.ndim
    rest = [d for d in range(n) if d not in dims]
    s = svdvals(x.permute([*rest, *dims]))
    if ord == "nuc":
        r = s.sum(-1)
    elif not s.shape[-1] and ord > 0:
        r = s.detach().sum(-1)  # torch fills these with zeros
    else:
        r = s.amax(-1) if ord > 0 else s.amin(-1)
    for d in sorted(dims) if keepdim else ():
        r = r.unsqueeze(d)
    return r


def _by_sums(x, ord, dims, keepdim):
    """The norms 1, -1 (largest and smallest sum of a column) and inf, -inf (of a row)."""
    d1, d2 = dims if abs(ord) == 1 else dims[::-1]
    if d1 < d2 and not keepdim:
        d2 -= 1
    sums = norms.vector_norm(x, 1.0, (d1,), keepdim, None)
    if not sums.shape[d2] and ord > 0:
        return sums.detach().sum(d2, keepdim=keepdim)
    return sums.amax(d2, keepdim) if ord > 0 else sums.amin(d2, keepdim)


def _is_order(ord) -> bool:
    return ord in ("fro", "nuc") if isinstance(ord, str) else abs(ord) in (1, 2, math.inf)


def _matrix_norm(A, ord, dim, keepdim, dtype):
    name = "linalg.matrix_norm"
    check_matrix(A._array, name)
    check_floating(A._array, name, low=True)
    check_parsed(ord)
    if not _is_order(ord):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    dims = _matrix_dims(A, dim, name)
    check_norm_type(A, dtype, name)
    if ord == "fro":
        return norms.vector_norm(A, 2.0, dims, keepdim, dtype)
    x = A if dtype is None else A.to(dtype)
    if isinstance(ord, str) or abs(ord) == 2:
        return _by_singular_values(x, ord, dims, keepdim)
    return _by_sums(x, ord, dims, keepdim)


@composite(name="linalg_matrix_norm", function=False, out=True)
def matrix_norm(input, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """A norm of the matrices over two dimensions.

    Args:
        ord: "fro" (root of the sum of squares), "nuc" (sum of singular values), 2 and -2 (largest, smallest singular
            value), 1 and -1 (largest, smallest sum of a column's absolute values), inf and -inf (of a row's).
        keepdim: whether the two dimensions stay, with size 1.
        dtype: the type to compute in; by default the input's.
        out: the tensor to write the result to.
    Shape: (*, m, n) -> (*)
    Raises:
        RuntimeError: `ord` is another text, as in `matrix_norm(eye(2), "x")`.
        RuntimeError: `input` has less than two dimensions, as in `matrix_norm(ones(2))`.

    >>> matrix_norm(tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    return _matrix_norm(input, ord, dim, keepdim, dtype)


@composite(name="linalg_norm", function=False, out=True)
def norm(input, ord=None, dim=None, keepdim=False, *, dtype=None):
    """`vector_norm` over one dimension or all, `matrix_norm` over two dimensions or, with an `ord`, of a matrix.

    Args:
        ord: as in `vector_norm` or `matrix_norm`; by default 2, or "fro" of matrices.
        dim: an int, or a tuple of two.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: the type to compute in; by default the input's.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        RuntimeError: `ord` is another text, as in `norm(eye(2), "x")`.
        IndexError: `dim` is out of range, as in `norm(ones(2), dim=1)`.

    >>> norm(tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc")
    tensor(7.)
    """
    n, dims = input._array.ndim, _dims(dim)
    count = n if dims is None else len(dims)
    if dims is not None and count not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ord is not None and (n > 2 or n == 0 and not isinstance(ord, str)):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {n}D.")
    if isinstance(ord, str) or ord is not None and count == 2:
        return _matrix_norm(input, ord, (-2, -1) if dims is None else dims, keepdim, dtype)
    return vector_norm(input, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


@composite(out=True)
def nuclear_norm(input, dim=(-2, -1), keepdim=False):
    """The sum of the singular values of matrices: `linalg.matrix_norm(input, "nuc")`.

    Args:
        keepdim: whether the two dimensions stay, with size 1.
        out: the tensor to write the result to.
    Shape: (*, m, n) -> (*)
    Raises:
        RuntimeError: there are less than two dimensions, as in `nuclear_norm(ones(2))`.

    >>> nuclear_norm(tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)
    """
    return _matrix_norm(input, "nuc", dim, keepdim, None)


@composite(out=True)
def frobenius_norm(input, dim, keepdim=False):
    """The root of the sum of squares over one or two dimensions.

    Args:
        dim: an int or a tuple; () for all dimensions.
        keepdim: whether reduced dimensions stay, with size 1.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `frobenius_norm(ones(2), 1)`.

    >>> frobenius_norm(tensor([3.0, 4.0]), 0)
    tensor(5.)
    """
    dims = _dims(dim) or ()
    if len(dims) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    return vector_norm(input, 2, dims or None, keepdim)


# ---------------------------------------------------------------------------------------------- condition


@composite(name="linalg_cond", function=False, out=True)
def cond(input, p=None):
    """How much solving with A = input may enlarge an error: norm(A) norm(A^-1), by default of the 2-norm; infinite where A is singular.

    Args:
        p: a norm as in `matrix_norm`; 2 by default.
        out: the tensor to write the result to.
    Shape: (*, n, n) -> (*); (*, m, n) for p of None, 2 and -2
    Raises:
        RuntimeError: `p` is another text, as in `cond(eye(2), "x")`.

    >>> cond(tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(2.)
    """
    a = input._array
    if a.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    check_parsed(p)
    if p is not None and not _is_order(p):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if a.shape[-1] == 0 or a.shape[-2] == 0:
        return input.new_zeros(a.shape[:-2], dtype=input.abs().dtype)
    if p is None or p in (2, -2):
        s = svdvals(input)
        top, low = s.select(-1, 0), s.select(-1, -1)
        return top / low if p is None or p > 0 else low / top
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} "
            "matrices"
        )
    if p == "nuc":
        return _matrix_norm(input, p, (-2, -1), False, None) * _matrix_norm(
            _inverse_or_inf(input), p, (-2, -1), False, None
        )
    r = matrix_norm(input, p) * matrix_norm(_inverse_or_inf(input), p)
    return where(r.isnan(), math.inf, r)  # 0 times infinity: the zero matrix


def _inverse_or_inf(A):
    inverse, info = inv_ex(A)
    if may_branch_on_data(info) and not info._array.any():
        return inverse
    return where((info == 0).unsqueeze(-1).unsqueeze(-1), inverse, math.inf)


# ---------------------------------------------------------------------------------------------- rank


def check_decimal(a):
    """Raise as torch does where it asks a type for its epsilon."""
    if a.dtype.kind in "biu" or a.dtype.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")


def tolerances(A, atol, rtol):
    """(atol, rtol), the default of rtol being max(m, n) eps, or 0 where a positive atol is given."""
    default = np.finfo(real_type(A._array.dtype)).eps * max(A.shape[-2:])
    if rtol is None:
        if isinstance(atol, Tensor):
            rtol = where(atol > 0, 0.0, float(default))
        else:
            rtol = 0.0 if atol is not None and atol > 0 else float(default)
    atol = 0.0 if atol is None else atol
    for t, name in ((atol, "atol"), (rtol, "rtol")):
        if isinstance(t, Tensor) and t.is_complex():
            raise RuntimeError(
                f"torch.linalg.matrix_rank: {name} tensor of complex type is not supported. Got {type_word(t.dtype)}"
            )
    return atol, rtol


def cutoff_of(top, atol, rtol):
    """max(atol, rtol * the largest singular value), for numbers and tensors."""
    relative = rtol * top
    if isinstance(atol, Tensor):
        return relative.maximum(atol.to(relative.dtype))
    return relative.clamp_min(atol)


@composite(name="linalg_matrix_rank", function=False, out=True)
def matrix_rank(input, tol=None, hermitian=False, *, atol=None, rtol=None):
    """The number of singular values above max(atol, rtol * the largest).

    Args:
        tol: the old name of `atol`.
        hermitian: whether the matrices are symmetric or Hermitian, which is faster.
        atol: 0 by default.
        rtol: max(m, n) times the type's epsilon by default, or 0 where a positive `atol` is given.
        out: the tensor to write the result to.
    Shape: (*, m, n) -> (*) int64
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `matrix_rank(ones(2))`.

    >>> matrix_rank(tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    if isinstance(tol, bool):
        tol, hermitian = None, tol
    check_flag("linalg_matrix_rank", "hermitian", hermitian)
    if tol is not None:
        atol, rtol = tol, 0.0
    check_matrix(input._array, "torch.linalg.matrix_rank", "input")
    check_decimal(input._array)
    atol, rtol = tolerances(input, atol, rtol)
    if not input._array.size:
        return input.new_zeros(input.shape[:-2], dtype=int64)
    s = eigvalsh(input).abs() if hermitian else svdvals(input)
    cutoff = cutoff_of(s.amax(-1), atol, rtol)
    return (s > cutoff.unsqueeze(-1)).sum(-1)
