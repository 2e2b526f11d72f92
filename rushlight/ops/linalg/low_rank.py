"""Factors of low rank of large matrices, by random projections: svd_lowrank and pca_lowrank."""

from __future__ import annotations

from ...core.dispatch.op import OPS, composite
from .factor import qr, svd


def _range_basis(A, q, niter, M):
    """An orthonormal basis (m, q) of nearly all that A spans (Halko et al., 2009, algorithm 4.4)."""
    A = A if M is None else A - M
    start = OPS["randn"](A._array.shape[-1], q, dtype=A.dtype)
    Q = qr(A @ start)[0]
    for _ in range(niter):
        Q = qr(A.mH @ Q)[0]
        Q = qr(A @ Q)[0]
    return Q


@composite()
def svd_lowrank(A, q=6, niter=2, M=None):
    """The q largest singular values of A (minus M) with their vectors: (U, S, V). Random numbers are drawn.

    Args:
        q: how many.
        niter: how many times the random projection is refined.
        M: a matrix to subtract, broadcast.
    Shape: (*, m, n) -> (*, m, q), (*, q), (*, n, q)

    >>> svd_lowrank(ones(4, 3), q=2)[1].shape
    torch.Size([2])
    """
    m, n = A._array.shape[-2:]
    M = None if M is None else M.broadcast_to(A.shape)
    if m < n:
        A, M = A.mH, None if M is None else M.mH
    Q = _range_basis(A, q, niter, M)
    B = Q.mH @ (A if M is None else A - M)
    U, S, Vh = svd(B, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if m < n else (U, S, V)


@composite()
def pca_lowrank(A, q=None, center=True, niter=2):
    """The q largest principal components of the rows of A: (U, S, V) as of `svd_lowrank` of A. Random numbers are drawn.

    Args:
        q: min(6, m, n) by default.
        center: whether the columns' means are subtracted first.
        niter: how many times the random projection is refined.
    Shape: (*, m, n) -> (*, m, q), (*, q), (*, n, q)
    Raises:
        ValueError: `q` is too large, as in `pca_lowrank(ones(2, 2), q=3)`.

    >>> pca_lowrank(ones(4, 3), q=2)[1].shape
    torch.Size([2])
    """
    m, n = A._array.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not A.is_floating_point():
        raise ValueError(f"input must be a floating point tensor, but got {A.dtype}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


@composite()
def lobpcg(A, *args, **kwargs):
    """Not here: the iterative eigenvalue solver is not implemented.

    Raises:
        NotImplementedError: always, as in `lobpcg(eye(2))`.
    """
    raise NotImplementedError("torch.lobpcg is not implemented; use torch.linalg.eigh")
