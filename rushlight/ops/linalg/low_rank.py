"""Factors of low rank of large matrices, by random projections: svd_lowrank and pca_lowrank."""

from __future__ import annotations

from ...core.dispatch.op import OPS, composite
from ...core.tensor.layout import strided
from .factor import cholesky, eigh, qr, svd
from .lu import solve_triangular


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
def lobpcg(
    A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
    ortho_iparams=None, ortho_fparams=None, ortho_bparams=None,
):  # fmt: skip
    """The `k` largest (or smallest) eigenvalues of a symmetric matrix, and their eigenvectors: A x = lambda B x.

    torch iterates until `tol`; this is the direct solution, for which the start `X`, the preconditioner `iK` and the limits
    of the iteration (niter, tol, method, ortho_...) do not matter.

    Args:
        A: symmetric, dense or sparse.
        k: how many; by default as many as `X` has columns, or 1.
        B: symmetric and positive definite; the identity by default.
        X: a guess of the eigenvectors (*, m, n).
        n: how many columns a random guess would have.
        largest: True by default.
        tracker: not called.
    Shape: (*, m, m) -> (*, k), (*, m, k)
    Raises:
        ValueError: the matrix is smaller than 3 k, as in `lobpcg(eye(2), 1)`.
        NotImplementedError: there is a `tracker`.

    >>> lobpcg(diag(arange(1.0, 7.0)), 2)[0]
    tensor([6., 5.])
    """
    if tracker is not None:
        raise NotImplementedError("torch.lobpcg(tracker=) is not implemented: nothing iterates here")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"method must be 'basic' or 'ortho', but got {method!r}")
    A = A if A.layout is strided else A.to_dense()
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    if m < 3 * (k if n is None else n):
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested "
            f"eigenpairs (={k if n is None else n})"
        )
    if B is not None:
        low = cholesky(B if B.layout is strided else B.to_dense())
        half = solve_triangular(low, A, upper=False)
        A = solve_triangular(low, half.mT, upper=False)
    values, vectors = eigh(A)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    values, vectors = values[..., :k], vectors[..., :k]
    return values, vectors if B is None else solve_triangular(low.mT, vectors, upper=True)
