"""Determinants of square matrices."""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.mode import is_grad_enabled, may_branch_on_data
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.return_types import named
from ..pointwise.choice import where
from .factor import svd
from .lu import lu_arrays
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
    """g conj(det) A^-H, in terms of singular values where A is (nearly) singular."""
    if not may_branch_on_data(A):
        return _adjugate(g, A)
    eps = np.finfo(real_type(A._array.dtype)).eps
    size = np.abs(out._array)
    regular = size > 100 * eps if is_grad_enabled() else size != 0
    if regular.all():
        return solve_ex(A.mH, identity_times(g * out.conj_physical(), A.shape[-1]))[0]
    return _adjugate(g, A)


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
