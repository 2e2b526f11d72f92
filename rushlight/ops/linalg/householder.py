"""Products of Householder reflections H = 1 - tau v v^H, LAPACK's form of an orthogonal matrix."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.op import composite, primitive
from ...core.dispatch.return_types import named
from ..creation.filled import eye
from ..pointwise.checks import word
from ..shape.concatenate import cat, stack
from .matrices import check_kernel, check_matrix, fresh


@primitive(method=True, out=True, outputs=2, columns=(0,), returns=named("geqrf", "a", "tau"))
def geqrf(input, /):
    """The QR decomposition in LAPACK's form: R above the reflections' vectors, and their factors tau.

    Args:
        out: the two tensors to write the results to.
    Shape: (*, m, n) -> (*, m, n), (*, min(m, n))
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `geqrf(ones(2))`.

    >>> geqrf(eye(2)).tau
    tensor([0., 0.])
    """
    check_matrix(input, "torch.geqrf", "input") if input.ndim > 1 else _refuse_vector("torch.geqrf")
    check_kernel(input, "geqrf_cpu")
    if not input.size:
        return input.copy(), np.zeros((*input.shape[:-2], min(input.shape[-2:])), input.dtype)
    h, tau = np.linalg.qr(input, "raw")
    return fresh(h.swapaxes(-2, -1), input.dtype), tau.astype(input.dtype)


def _refuse_vector(name):
    raise RuntimeError(f"{name}: input must have at least 2 dimensions.")


def _check(a, tau, name):
    if a.ndim < 2:
        _refuse_vector(name)
    if tau.dtype != a.dtype:
        raise RuntimeError(f"{name}: tau dtype {word(tau)} does not match input dtype {word(a)}")
    if a.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
            f"input.ndim is equal to {a.ndim}"
        )
    if a.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )


def _reflect(a, tau, x, backward, conjugated=False):
    """The reflections' product times x: the last first, as Q x needs it, or the first first. Raw arrays."""
    x = np.array(x, a.dtype)
    k = tau.shape[-1]
    m = a.shape[-2]
    for i in range(k) if backward else reversed(range(k)):
        v = np.array(a[..., :, i, None])
        v[..., :i, :] = 0
        if i < m:
            v[..., i, :] = 1
        t = tau[..., i, None, None].conj() if conjugated else tau[..., i, None, None]
        x -= t * v * (np.conj(v).swapaxes(-2, -1) @ x)
    return x


@primitive(name="linalg_householder_product", public=False, out=True, columns=(0,))
def householder_product(A, tau, /):
    """The first n columns of H_1 H_2 ... H_k, whose vectors are below the diagonal of A.

    Args:
        tau: the factor of each reflection.
        out: the tensor to write the result to.
    Shape: (*, m, n), (*, k) -> (*, m, n); k <= n <= m
    Raises:
        RuntimeError: m < n, as in `householder_product(ones(2, 3), ones(2))`.

    >>> householder_product(zeros(2, 2), zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    name = "torch.linalg.householder_product"
    if A.ndim < 2:
        _refuse_vector(name)
    m, n = A.shape[-2:]
    if m < n:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if n < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    _check(A, tau, name)
    check_kernel(A, "orgqr_cpu")
    return _reflect(A, tau, np.broadcast_to(np.eye(m, n, dtype=A.dtype), A.shape), False)


@householder_product.vjp
def _(g, A, tau, out):
    return _reflections_backward(g, A, tau, out, False)


def _reflections_backward(g, A, tau, out, adjoint):
    """The gradients of A and tau for `out` = H_1 ... H_k x, or its adjoint's product with x, from what torch reads.

    With K_i = (what follows H_i) x g^H (what precedes it), d out = tr(K_i dH_i), and K_i comes from K_(i-1) by the inverse of
    H_i, a reflection, too, from the left and by H_(i-1) from the right. K_0 = out g^H.
    """
    k, m = tau.shape[-1], A.shape[-2]
    if not k or not A.numel():
        return A * 0, tau * 0
    vectors = A.narrow(-1, 0, k).tril(-1) + eye(m, k, dtype=A.dtype, device=A.device)
    factors = tau.conj_physical() if adjoint and tau.is_complex() else tau
    inverse = factors / (factors * (vectors.abs() ** 2).sum(-2) - 1)
    product = out @ g.mH
    g_vectors, g_factors = [], []
    for i in reversed(range(k)) if adjoint else range(k):
        v, t, s = vectors.narrow(-1, i, 1), *(x.narrow(-1, i, 1).unsqueeze(-1) for x in (factors, inverse))
        product = product - s * (v @ (v.mH @ product))
        row, column = v.mH @ product, product @ v
        g_vectors.append((-(t.conj_physical() * row.mH) - t * column).squeeze(-1))
        g_factors.append(-(row @ v).conj_physical().squeeze(-1).squeeze(-1))
        product = product - t * (column @ v.mH)
    if adjoint:
        g_vectors, g_factors = g_vectors[::-1], g_factors[::-1]
    g_a, g_tau = stack(g_vectors, -1).tril(-1), stack(g_factors, -1)
    if A.shape[-1] > k:
        g_a = cat([g_a, g_a.new_zeros((*g_a.shape[:-1], A.shape[-1] - k))], -1)
    return g_a, g_tau.conj_physical() if adjoint and tau.is_complex() else g_tau


@composite(method=True, out=True)
def orgqr(input, input2):
    """The product of Householder reflections: `linalg.householder_product`.

    Args:
        input2: the factor of each reflection.
        out: the tensor to write the result to.
    Shape: (*, m, n), (*, k) -> (*, m, n); k <= n <= m
    Raises:
        RuntimeError: m < n, as in `orgqr(ones(2, 3), ones(2))`.

    >>> orgqr(zeros(2, 2), zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return householder_product(input, input2)


@primitive(name="ormqr", public=False, columns=(0,))
def _ormqr(input, tau, other, /, transpose):
    return _reflect(input, tau, np.broadcast_to(other, (*input.shape[:-2], *other.shape[-2:])), transpose, transpose)


@_ormqr.vjp
def _(g, input, tau, out, transpose, needs):
    g_other = _ormqr(input, tau, g, not transpose) if needs[2] else None
    if not (needs[0] or needs[1]) or not input.numel() or not tau.numel():
        return None, None, g_other
    return *_reflections_backward(g, input, tau, out, transpose), g_other


@composite(method=True, out=True)
def ormqr(input, tau, other, left=True, transpose=False):
    """Q other, with Q the product of Householder reflections.

    Args:
        input, tau: the reflections, as `geqrf` gives them.
        left: False for other Q.
        transpose: whether Q^H takes the place of Q.
        out: the tensor to write the result to.
    Shape: (*, m, k), (*, k), (*, m, n) -> (*, m, n); right: other (*, n, m)

    >>> ormqr(*geqrf(eye(2)), ones(2, 1)).shape
    torch.Size([2, 1])
    """
    a, b = input._array, other._array
    _check(a, tau._array, "torch.ormqr")
    if b.ndim < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    side = -2 if left else -1
    if tau._array.shape[-1] != min(b.shape[side], a.shape[-1]):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if a.shape[-2] != b.shape[side]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"torch.ormqr: Expected input and other to have the same dtype, but input has dtype {word(a)} and other has "
            f"dtype {word(b)}"
        )
    check_kernel(a, "ormqr_cpu")
    if left:
        return _ormqr(input, tau, other, transpose)
    return _ormqr(input, tau, other.mH, not transpose).conj_physical().contiguous().mT
