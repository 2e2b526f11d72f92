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
def _(g, A, tau):
    m, n = A.shape[-2:]
    start = eye(m, n, dtype=A.dtype, device=A.device).expand(*A.shape[:-2], m, n)
    g_a, g_tau, _ = _reflect_backward(g, A, tau, start, False)
    return g_a, g_tau


def _vectors(A, k):
    """The reflections' vectors as columns: zeros above the diagonal, ones on it. Shape: (*, m, k)"""
    return A.narrow(-1, 0, k).tril(-1) + eye(A.shape[-2], k, dtype=A.dtype, device=A.device)


def _reflect_backward(g, A, tau, x, adjoint):
    """The gradients of A, tau and x in Q x (or Q^H x)."""
    k = tau.shape[-1]
    vectors = _vectors(A, k)
    factors = tau.conj_physical() if adjoint and tau.is_complex() else tau
    order = list(range(k)) if adjoint else list(reversed(range(k)))  # as they are applied to x
    parts = [(vectors.narrow(-1, i, 1), factors.narrow(-1, i, 1).unsqueeze(-1)) for i in order]
    inputs = []
    for v, t in parts:
        inputs.append(x)
        x = x - t * (v @ (v.mH @ x))
    g_vectors, g_factors = [None] * k, [None] * k
    for i, (v, t), x in reversed(list(zip(order, parts, inputs, strict=True))):
        along_x, along_g = v.mH @ x, v.mH @ g
        g_factors[i] = -(along_x.conj_physical() * along_g).sum(-1).squeeze(-1)
        g_vectors[i] = (-(t.conj_physical() * (g @ along_x.mH)) - t * (x @ along_g.mH)).squeeze(-1)
        g = g - t.conj_physical() * (v @ along_g)
    if not k:
        return A * 0, tau * 0, g
    g_v = stack(g_vectors, -1).tril(-1)
    g_tau = stack(g_factors, -1)
    rest = A.shape[-1] - k
    if rest:
        g_v = cat([g_v, g_v.new_zeros((*g_v.shape[:-1], rest))], -1)
    return g_v, g_tau.conj_physical() if adjoint and tau.is_complex() else g_tau, g


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


@primitive(name="ormqr", public=False)
def _ormqr(input, tau, other, /, transpose):
    return _reflect(input, tau, np.broadcast_to(other, (*input.shape[:-2], *other.shape[-2:])), transpose, transpose)


@_ormqr.vjp
def _(g, input, tau, other, transpose):
    if not input.numel() or not tau.numel():
        return None, None, _ormqr(input, tau, g, not transpose)
    return _reflect_backward(g, input, tau, other, transpose)


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
    return _ormqr(input, tau, other.mH, not transpose).mT.conj_physical()
