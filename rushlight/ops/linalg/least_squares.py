"""Pseudo-inverses and least squares."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.errors import argument_type
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.return_types import named
from ...core.tensor.tensor import Tensor
from ..pointwise.checks import word
from .matrices import LinAlgError, adjoint, first_failure, is_low, real_type
from .matrix_norms import check_decimal, tolerances

# ---------------------------------------------------------------------------------------------- pseudo-inverse


def _cutoff(s, atol, rtol):
    """max(atol, rtol * the largest of s), with a last dimension of size 1; both are arrays or numbers."""
    top = np.maximum.reduce(s, -1, initial=0)
    return np.asarray(np.maximum(atol, rtol * top), s.dtype)[..., None]


@primitive(name="linalg_pinv", public=False)
def _pinv(A, /, atol, rtol, hermitian):
    if 0 in A.shape[-2:]:
        return np.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
    if hermitian:
        values, u = np.linalg.eigh(A)
        size, right = np.abs(values), u
    else:
        u, values, vh = np.linalg.svd(A, full_matrices=False)
        size, right = values, adjoint(vh)
    keep = size > _cutoff(size, atol, rtol)
    inverse = np.where(keep, 1 / np.where(keep, values, 1), 0).astype(values.dtype)
    out = (right * inverse[..., None, :]) @ adjoint(u)
    return out.astype(A.dtype, copy=False)


@_pinv.vjp
def _(g, A, out):
    return pinv_backward(g, A, out)


def pinv_backward(g, A, inverse):
    """The gradient of a pseudo-inverse of constant rank (Golub and Pereyra, 1973)."""
    m, n = A.shape[-2:]
    inverse_h, gh = inverse.mH, g.mH
    if m <= n:
        k = gh @ inverse
        kph = k @ inverse_h
        return -(inverse @ k).mH + kph - (A @ inverse) @ kph + (inverse_h @ inverse) @ (gh - k @ A)
    k = inverse @ gh
    phk = inverse_h @ k
    return -(k @ inverse).mH + (gh - A @ k) @ inverse @ inverse_h + phk - (phk @ inverse) @ A


@composite(name="linalg_pinv", function=False, out=True)
def pinv(input, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The pseudo-inverse (Moore-Penrose); singular values up to max(atol, rtol * the largest) count as zero.

    Args:
        rcond: the old name of `rtol`.
        hermitian: whether the matrices are symmetric or Hermitian, which is faster.
        atol: 0 by default.
        rtol: max(m, n) times the type's epsilon by default, or 0 where a positive `atol` is given.
        out: the tensor to write the result to.
    Shape: (*, m, n) -> (*, n, m)
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `pinv(ones(2))`.

    >>> pinv(tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    if isinstance(rcond, bool):
        rcond, hermitian = None, rcond
    a = input._array
    if a.ndim < 2 or a.dtype.kind in "biu" or is_low(a):
        raise RuntimeError(
            f"linalg.pinv({word(a)}{{{list(a.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types"
        )
    if rcond is not None:
        rtol = rcond
    atol, rtol = tolerances(input, atol, rtol)
    if hermitian and a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"linalg.eigh: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    return _pinv(input, _number(atol), _number(rtol), hermitian)


def _number(x):
    return x._array if isinstance(x, Tensor) else x


@composite(method=True)
def pinverse(input, rcond=1e-15):
    """The pseudo-inverse: `linalg.pinv`.

    Args:
        rcond: singular values up to rcond times the largest count as zero.
    Shape: (*, m, n) -> (*, n, m)
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `pinverse(ones(2))`.

    >>> pinverse(tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    if isinstance(rcond, Tensor):
        raise argument_type("pinverse", "rcond", 2, rcond, "float")
    return pinv(input, rcond)


# ---------------------------------------------------------------------------------------------- least squares

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _lstsq_arrays(a, b, rcond):
    """(x, squared residuals, rank, singular values) of matrices with the same batch shape."""
    *batch, m, n = a.shape
    k = b.shape[-1]
    x = np.zeros((*batch, n, k), a.dtype)
    residuals, rank = np.zeros((*batch, k), real_type(a.dtype)), np.zeros(batch, np.int64)
    s = np.zeros((*batch, min(m, n)), real_type(a.dtype))
    for i in np.ndindex(*batch) if a.size else ():
        x[i], _, rank[i], s[i] = np.linalg.lstsq(a[i], b[i], rcond)
        rest = a[i] @ x[i] - b[i]
        residuals[i] = (rest.real**2 + rest.imag**2).sum(0)
    return x, residuals, rank, s


def _check_lstsq(A, B, driver):
    name = "torch.linalg.lstsq"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if B.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {word(A)} and other's dtype "
            f"{word(B)}"
        )
    check_decimal(A)
    if A.ndim < B.ndim:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    if A.ndim - B.ndim > 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    if driver is not None and driver not in _DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")


def _check_full_rank(a, eps):
    """Raise torch's error where a diagonal element of a matrix's triangular factor is zero up to rounding."""
    m, n = a.shape[-2:]
    if not a.size:
        return
    factor = np.linalg.qr(a if m >= n else a.swapaxes(-1, -2), mode="r")
    diagonal = np.abs(np.diagonal(factor, axis1=-2, axis2=-1))
    largest = diagonal.max(-1, keepdims=True)
    zero = (diagonal <= eps * max(m, n) * largest) & (largest > 0)  # LAPACK solves a matrix of zeros by zeros
    if zero.any():
        where, order = first_failure(np.where(zero.any(-1), zero.argmax(-1) + 1, 0))
        raise LinAlgError(
            f"torch.linalg.lstsq: {where}The least squares solution could not be computed because the input matrix does not "
            f"have full rank (error code: {order})."
        )


def is_rhs_vector(A, B) -> bool:
    """Whether B holds vectors rather than matrices of right-hand sides."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def _of_given(values, batch, dims):
    """What was found of the broadcast matrices, for those that were given. Shape: (*broadcast, *) -> (*batch, *)"""
    first = tuple(slice(n) for n in (1,) * (dims - len(batch)) + batch)
    return np.reshape(values[first], (*batch, *values.shape[dims:]))


@primitive(
    name="linalg_lstsq", public=False, outputs=2, columns=(0,),
    returns=named("linalg_lstsq", "solution", "residuals", "rank", "singular_values"),
)  # fmt: skip
def _lstsq(A, B, /, rcond, driver):
    _check_lstsq(A, B, driver)
    vector = is_rhs_vector(A, B)
    b = B[..., None] if vector else B
    m, n = A.shape[-2:]
    if m != b.shape[-2]:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({'-1' if vector else '-2'})")
    batch = np.broadcast_shapes(A.shape[:-2], b.shape[:-2])
    a, b = np.broadcast_to(A, (*batch, m, n)), np.broadcast_to(b, (*batch, *b.shape[-2:]))
    eps = np.finfo(real_type(A.dtype)).eps
    if driver == "gels":
        _check_full_rank(a, eps)
        rcond = 0.0  # which this driver does not use
    x, residuals, rank, s = _lstsq_arrays(a, b, eps * max(m, n) if rcond is None else rcond)
    nothing = np.empty(0, real_type(A.dtype))
    if m <= n or driver == "gelsy" or not (driver == "gels" or (rank == n).all()):
        residuals = nothing
    if driver == "gels":
        rank = np.empty(0, np.int64)
    else:
        rank, s = (_of_given(v, A.shape[:-2], len(batch)) for v in (rank, s))
    return x[..., 0] if vector else x, residuals, rank, s if driver in ("gelsd", "gelss") else nothing


@_lstsq.vjp
def _(g, A, B, out0, rcond, driver, needs):
    """As of pinv(A) B; the residuals' part is 2 g (A X - B) for either input."""
    g_x, g_r = g
    vector = is_rhs_vector(A._array, B._array)
    b, x = (B.unsqueeze(-1), out0.unsqueeze(-1)) if vector else (B, out0)
    g_a = g_b = None
    if g_x is not None:
        g_x = g_x.unsqueeze(-1) if vector else g_x
        inverse = pinv(A)
        g_a = pinv_backward(g_x @ b.mH, A, inverse) if needs[0] else None
        g_b = inverse.mH @ g_x
    if g_r is not None and g_r._array.size:
        rest = 2 * (A @ x - b) * g_r.unsqueeze(-2)
        g_a = rest @ x.mH if g_a is None else g_a + rest @ x.mH
        g_b = -rest if g_b is None else g_b - rest
    return g_a, g_b.squeeze(-1) if vector and g_b is not None else g_b


@composite(name="linalg_lstsq", function=False, out=True)
def lstsq(input, b, rcond=None, *, driver=None):
    """X that makes |A X - b| smallest for A = input, of the smallest norm where there are many; also residuals, rank, singular values.

    Args:
        rcond: singular values up to rcond times the largest count as zero.
        driver: "gelsy" (default), "gels" (of full rank), "gelsd", "gelss": which of the other results are filled.
        out: the four tensors to write the results to.
    Shape: (*, m, n), (*, m, k) -> (*, n, k), residuals (*, k), rank (*), singular values (*, min(m, n))
    Raises:
        RuntimeError: `driver` is another text, as in `lstsq(ones(2, 1), ones(2, 1), driver="x")`.
        linalg.LinAlgError: a matrix is not of full rank, as in `lstsq(ones(2, 2), ones(2, 1), driver="gels")`.
        RuntimeError: the numbers of rows differ, as in `lstsq(ones(2, 1), ones(3, 1))`.

    >>> lstsq(tensor([[1.0], [1.0]]), tensor([[1.0], [3.0]])).solution.round(decimals=3)
    tensor([[2.]])
    """
    return _lstsq(input, b, rcond, "gelsy" if driver is None else driver)
