"""L D L^H factors of symmetric matrices that need not be definite, as Bunch and Kaufman pivot them (LAPACK's sytf2)."""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.op import composite, primitive
from ...core.dispatch.return_types import named
from .lu import check_system
from .matrices import LinAlgError, check_floating, check_kernel, check_same_type, check_square, first_failure

_ALPHA = (1 + math.sqrt(17)) / 8  # the share of the column's largest element that a 1 x 1 pivot must have


def _size(x):
    return np.abs(x.real) + np.abs(x.imag)


class _Factors:
    """One matrix being factored in place: the lower triangle holds L, and D's blocks of 1 x 1 and 2 x 2 on the diagonal."""

    def __init__(self, a, hermitian):
        self.a = np.tril(a)
        self.conj = np.conj if hermitian else np.asarray
        self.pivots = np.zeros(len(a), np.int32)
        self.info = 0
        k = 0
        while k < len(a):
            k += self._step(k)

    def _step(self, k):
        """Factor column k, or k and k + 1; how many."""
        a = self.a
        width, p = self._choose(k)
        if p is None:
            self.info = self.info or k + 1
            self.pivots[k] = k + 1
            return 1
        last = k + width - 1
        if p != last:
            self._exchange(k, last, p)
        below = a[k + width :, k : k + width].copy()
        if len(below):
            scaled = below @ np.linalg.inv(self.block(k, width))
            a[k + width :, k + width :] -= np.tril(scaled @ self.conj(below).T)
            a[k + width :, k : k + width] = scaled
        self.pivots[k : k + width] = p + 1 if width == 1 else -(p + 1)
        return width

    def _choose(self, k):
        """(size of the pivot's block, the row that takes part in it), the row None where the column is zero."""
        a = self.a
        own, column = _size(a[k, k]), _size(a[k + 1 :, k])
        top = column.max(initial=0)
        if max(own, top) == 0 or np.isnan(own):
            return 1, None
        if own >= _ALPHA * top:
            return 1, k
        i = k + 1 + int(column.argmax())
        row = max(_size(a[i, k:i]).max(initial=0), _size(a[i + 1 :, i]).max(initial=0))
        if own >= _ALPHA * top * (top / row):
            return 1, k
        return (1, i) if _size(a[i, i]) >= _ALPHA * row else (2, i)

    def _exchange(self, k, j, p):
        """Exchange rows and columns j < p of the part that is not factored yet."""
        a = self.a
        a[p + 1 :, [j, p]] = a[p + 1 :, [p, j]]
        a[j + 1 : p, j], a[p, j + 1 : p] = self.conj(a[p, j + 1 : p]).copy(), self.conj(a[j + 1 : p, j]).copy()
        a[p, j] = self.conj(a[p, j])
        a[j, j], a[p, p] = a[p, p], a[j, j]
        if j == k + 1:
            a[j, k], a[p, k] = a[p, k], a[j, k]

    def block(self, k, width):
        d = self.a[k : k + width, k : k + width].copy()
        if width == 2:
            d[0, 1] = self.conj(d[1, 0])
        return d


def _ldl(A, /, hermitian, check_errors, name):
    check_square(A, "torch.linalg.ldl_factor_ex")
    check_floating(A, "torch.linalg.ldl_factor_ex", low=True)
    check_kernel(A, "ldl_factor_cpu")
    ld, pivots = np.empty(A.shape, A.dtype), np.empty(A.shape[:-1], np.int32)
    info = np.zeros(A.shape[:-2], np.int32)
    for i in np.ndindex(info.shape):
        f = _Factors(A[i], hermitian)
        ld[i], pivots[i], info[i] = f.a, f.pivots, f.info
    if check_errors and info.any():
        where, column = first_failure(info)
        raise LinAlgError(
            f"torch.linalg.{name}: {where}D[{column},{column}] is zero, so the factors cannot solve a system."
        )
    return ld, pivots, info


_factored = primitive(
    name="linalg_ldl_factor_ex",
    columns=(0,),
    public=False,
    outputs=1,
    returns=named("linalg_ldl_factor_ex", "LD", "pivots", "info"),
)(_ldl)
_LDL = named("linalg_ldl_factor", "LD", "pivots")


@composite(name="linalg_ldl_factor_ex", function=False, out=True)
def ldl_factor_ex(A, *, hermitian=False, check_errors=False):
    """As `ldl_factor`, with info: the first block of D that is zero, counted from 1, or 0.

    Args:
        hermitian: whether A is Hermitian rather than symmetric: L^H for L^T.
        check_errors: whether to raise where info is not 0.
        out: the three tensors to write the results to.
    Shape: (*, n, n) -> (*, n, n), (*, n), (*) int32
    Raises:
        RuntimeError: the matrices are not square, as in `ldl_factor_ex(ones(2, 3))`.

    >>> ldl_factor_ex(zeros(2, 2)).info
    tensor(1, dtype=torch.int32)
    """
    return _factored(A, hermitian, check_errors, "ldl_factor_ex")


@composite(name="linalg_ldl_factor", function=False, out=True)
def ldl_factor(A, *, hermitian=False):
    """A = P L D L^T P^T with 1 x 1 and 2 x 2 blocks in D, packed as LAPACK does; and the row swaps.

    Args:
        hermitian: whether A is Hermitian rather than symmetric: L^H for L^T.
        out: the two tensors to write the results to.
    Shape: (*, n, n) -> (*, n, n), (*, n)
    Raises:
        RuntimeError: the matrices are not square, as in `ldl_factor(ones(2, 3))`.

    >>> ldl_factor(2 * eye(2)).LD
    tensor([[2., 0.],
            [0., 2.]])
    """
    return _LDL(*_factored(A, hermitian, True, "ldl_factor")[:2])


# ---------------------------------------------------------------------------------------------- systems


def _solve_one(a, pivots, b, hermitian):
    """x with P L D L^T P^T x = b, for one matrix."""
    conj = np.conj if hermitian else np.asarray
    b = b.copy()
    blocks, k = [], 0
    while k < len(a):
        width = 1 if pivots[k] > 0 else 2
        blocks.append((k, width, abs(int(pivots[k])) - 1))
        k += width
    for k, width, p in blocks:
        last, end = k + width - 1, k + width
        b[[last, p]] = b[[p, last]]
        b[end:] -= a[end:, k:end] @ b[k:end]
        d = a[k:end, k:end].copy()
        if width == 2:
            d[0, 1] = conj(d[1, 0])
            b[k:end] = np.linalg.solve(d, b[k:end])
        else:
            b[k] /= d[0, 0]
    for k, width, p in reversed(blocks):
        last, end = k + width - 1, k + width
        b[k:end] -= conj(a[end:, k:end]).T @ b[end:]
        b[[last, p]] = b[[p, last]]
    return b


@primitive(name="linalg_ldl_solve", public=False, out=True, columns=(0,))
def ldl_solve(LD, pivots, B, /, *, hermitian=False):
    """X with A X = B from A's packed factors, those of `ldl_factor`.

    Args:
        hermitian: as it was for `ldl_factor`.
        out: the tensor to write the result to.
    Shape: (*, n, n), (*, n), (*, n, k) -> (*, n, k)

    >>> ldl_solve(*linalg.ldl_factor(2 * eye(2)), ones(2, 1))
    tensor([[0.5000],
            [0.5000]])
    """
    name = "torch.linalg.ldl_solve"
    check_square(LD, name, "LD")
    check_system(LD, B, True, name)
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype}")
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    check_same_type(LD, B, name, "LD")
    check_kernel(LD, "ldl_solve_cpu")
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    a, b = np.broadcast_to(LD, (*batch, *LD.shape[-2:])), np.broadcast_to(B, (*batch, *B.shape[-2:]))
    pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    out = np.empty(b.shape, B.dtype)
    for i in np.ndindex(*batch):
        out[i] = _solve_one(a[i], pivots[i], b[i], hermitian)
    return out
