"""Determinants of square matrices."""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.mode import is_grad_enabled, may_branch_on_data
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.return_types import named
from ...core.tensor.tensor import constant, wrap
from ..pointwise.choice import where
from .factor import svd
from .lu import lu_arrays, lu_factor_ex, lu_solve
from .matrices import check_floating, check_kernel, check_square, identity_times, real_type
from .solvers import solve, solve_ex


def _diagonal_and_sign(a):
    """(the diagonal of U, the sign of the row swaps) of A = P L U; like torch, of the transpose where A is contiguous."""
    if a.dtype.kind != "c" and a.flags.c_contiguous:
        a = a.swapaxes(-2, -1)
    lu, pivots, _ = lu_arrays(a)
    swaps = np.add.reduce(pivots != np.arange(1, a.shape[-1] + 1), -1)
    return lu.diagonal(0, -2, -1), (1 - 2 * (swaps % 2)).astype(a.dtype)


@primitive(name="linalg_det", public=False, out=True, keeps={"A": None})
def det(A, /):
    """The determinant.

    Args:
        out: the tensor to write the result to.
    Shape: (*, n, n) -> (*)
    Raises:
        RuntimeError: the matrices are not square, as in `det(ones(2, 3))`.

    >>> det(tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    check_square(A, "linalg.det")
    check_floating(A, "linalg.det", low=True)
    check_kernel(A, "lu_cpu")
    diagonal, sign = _diagonal_and_sign(A)
    return np.asarray(np.multiply.reduce(diagonal, -1) * sign)


@det.vjp
def _(g, A, out):
    """g conj(det) A^-H; where further gradients are wanted, in terms of singular values for a (nearly) singular A."""
    if A.shape[-1] == 1:
        return g.unsqueeze(-1).unsqueeze(-1)
    if not may_branch_on_data(A):
        return _adjugate(g, A)
    eps = float(np.finfo(real_type(A._array.dtype)).eps)
    if not is_grad_enabled():
        return _by_factors(g * out.conj_physical(), A, eps)
    singular = np.abs(out._array) <= 100 * eps
    if singular.all():
        return _adjugate(g, A)
    n = A.shape[-1]
    if not singular.any():
        return solve_ex(A.mH, identity_times(g * out.conj_physical(), n))[0]
    apart = wrap(singular).unsqueeze(-1).unsqueeze(-1)  # each way gets the matrices of its own, and harmless ones
    plain = constant(np.diag(np.arange(1, n + 1)).astype(A._array.dtype))
    regular = solve_ex(where(apart, plain, A).mH, identity_times(g * out.conj_physical(), n))[0]
    return where(apart, _adjugate(g, where(apart, A, plain)), regular)


def _by_factors(d, A, eps):
    """X with A^H X = d I by the factors that the determinant was computed of: its rounding cancels, and d = 0 gives zeros."""
    transposed = not A.is_complex() and A._array.flags.c_contiguous
    factors, pivots, _ = lu_factor_ex(A.mT if transposed else A)
    zero = factors.diagonal(0, -2, -1) == 0
    factors = factors + zero.to(A.dtype).mul(eps).diag_embed()
    x = lu_solve(factors, pivots, identity_times(d, A.shape[-1]), adjoint=not transposed)
    return x.mT.contiguous().mT  # by columns, as from solve_ex


def _adjugate(g, A):
    u, s, vh = svd(A)
    n = s.shape[-1]
    others = s.unsqueeze(-2).expand(*s.shape[:-1], n, n)
    own = s.new_ones(n).diag_embed()
    others = (others * (1 - own) + own).prod(-1)
    turn = (det(u) * det(vh)).conj_physical() * g
    return (((turn.unsqueeze(-1) * others).unsqueeze(-1) * vh).mT @ u.mT).mT  # by columns, as from solve_ex


@primitive(
    name="linalg_slogdet",
    public=False,
    outputs=2,
    out=True,
    returns=named("linalg_slogdet", "sign", "logabsdet"),
    keeps={"A": None},
)  # fmt: skip
def slogdet(A, /):
    """The determinant's sign (complex: its direction) and the logarithm of its absolute value.

    Args:
        out: the two tensors to write the results to.
    Shape: (*, n, n) -> (*), (*)
    Raises:
        RuntimeError: the matrices are not square, as in `slogdet(ones(2, 3))`.

    >>> slogdet(eye(2)).sign
    tensor(1.)
    """
    check_square(A, "linalg.slogdet")
    check_floating(A, "linalg.slogdet")
    diagonal, sign = _diagonal_and_sign(A)
    size = np.abs(diagonal)
    if A.dtype.kind == "c":
        turn = np.where(size == 0, 0, diagonal / np.where(size == 0, 1, size))
    else:
        turn = np.sign(diagonal)
    return np.asarray(sign * np.multiply.reduce(turn, -1)), np.asarray(np.add.reduce(np.log(size), -1))


@slogdet.vjp
def _(g, A, out0):
    g_sign, g_log = g
    g = A.new_zeros(out0.shape) if g_log is None else g_log.to(A.dtype)
    if A.is_complex() and g_sign is not None:  # the sign of a real determinant is flat
        g = g - (g_sign.conj_physical() * out0).imag * 1j
    if is_grad_enabled() and may_branch_on_data(A):  # as in torch, an error where A is singular
        return solve(A.mH, identity_times(g, A.shape[-1]))
    return solve_ex(A.mH, identity_times(g, A.shape[-1]))[0]


@composite(name="det", method=True)
def legacy_det(input):
    """The determinant: `linalg.det`.

    Shape: (*, n, n) -> (*)
    Raises:
        RuntimeError: the matrices are not square, as in `det(ones(2, 3))`.

    >>> det(tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    return det(input)


_SLOGDET = named("slogdet", "sign", "logabsdet")


@composite(name="slogdet", method=True, out=True)
def legacy_slogdet(input):
    """The determinant's sign and the logarithm of its absolute value: `linalg.slogdet`.

    Args:
        out: the two tensors to write the results to.
    Shape: (*, n, n) -> (*), (*)
    Raises:
        RuntimeError: the matrices are not square, as in `slogdet(ones(2, 3))`.

    >>> slogdet(eye(2)).sign
    tensor(1.)
    """
    return _SLOGDET(*slogdet(input))


@composite(method=True)
def logdet(input):
    """The logarithm of the determinant: nan where that is negative.

    Shape: (*, n, n) -> (*)
    Raises:
        RuntimeError: the matrices are not square, as in `logdet(ones(2, 3))`.

    >>> logdet(eye(2))
    tensor(0.)
    """
    check_square(input._array, "logdet")
    check_floating(input._array, "logdet", low=True)
    sign, log = slogdet(input)
    return sign.log() + log if input.is_complex() else where(sign == -1, math.nan, log)
