"""LU factors with partial pivoting and triangular systems.

NumPy offers LAPACK's solvers but neither its LU factors nor its substitution. They are those of the OpenBLAS that NumPy's
wheels bring; where it is missing, and for many small matrices, factors are computed here, a panel of columns at a time, the
rest by matrix products, all matrices of a batch together; and triangular systems are solved by NumPy's general solver.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ...core.dispatch.op import composite, primitive
from ...core.dispatch.return_types import named
from ...core.dispatch.scalars import check_flag
from ...core.dispatch.slow_path import write_out
from ...core.foreign import HAS_CTYPES, ctypes
from ...core.locks import made_once
from ...core.tensor.layout import contiguous_format
from ...core.tensor.strides import in_columns
from ...core.warn import warn_once
from ..creation.filled import eye
from ..shape.concatenate import cat
from ..shape.resize import pad
from .matrices import (
    check_floating,
    check_kernel,
    check_matrix,
    check_same_type,
    check_square,
    first_failure,
)

# ---------------------------------------------------------------------------------------------- factors of raw arrays

_LETTERS = {np.dtype(kind): letter for kind, letter in (("f4", "s"), ("f8", "d"), ("c8", "c"), ("c16", "z"))}
_MATRICES_A_COLUMN = (
    4  # of a batch: for more, NumPy's steps over all matrices together are quicker than a call for each
)
# What torch's LAPACK (MKL) does with a matrix of at most 16 rows and columns, found from its numbers, which come out the
# same bit for bit: columns in turn, scaled by the pivot's reciprocal, but the last of a square of up to four by division.
FACTORED_AS_TORCH = 16
_PANEL = 32  # columns that are factored before the rest of the matrix is brought up to date


def lu_arrays(a):
    """(LU, pivots, info) of matrices (*, m, n), as LAPACK's getrf gives them: row i was swapped with pivots[i] - 1."""
    *batch, m, n = a.shape
    k = min(m, n)
    one_by_one = max(m, n) <= FACTORED_AS_TORCH and a.dtype.kind == "f"
    if one_by_one and type(a) is np.ndarray and _count(batch) == 1:
        lu, pivots, info = _small(a.reshape(m, n))
        return lu.reshape(a.shape), pivots.reshape(*batch, k), info.reshape(batch)
    on_host = not one_by_one and hasattr(a, "__array_interface__")  # NumPy's arrays have it, a device's do not
    found = _getrf(a.reshape(_count(batch), m, n)) if on_host else None
    if found is not None:
        lu, pivots, info = found
        return np.ascontiguousarray(lu).reshape(a.shape), pivots.reshape(*batch, k), info.reshape(batch)
    lu = np.array(a, order="C").reshape(-1, m, n) if a.size else np.array(a).reshape(_count(batch), m, n)
    pivots = np.empty((len(lu), k), np.int32)
    info = np.zeros(len(lu), np.int32)
    for start in range(0, k, _PANEL):
        stop = min(start + _PANEL, k)
        _factor_panel(lu, start, stop, pivots, info, one_by_one)
        if stop < n:
            for j in range(start, stop):
                lu[:, j + 1 : stop, stop:] -= lu[:, j + 1 : stop, j, None] * lu[:, None, j, stop:]
            lu[:, stop:, stop:] -= lu[:, stop:, start:stop] @ lu[:, start:stop, stop:]
    return lu.reshape(a.shape), pivots.reshape(*batch, k), info.reshape(batch)


def _small(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What `_factor_panel` computes for the columns of one small matrix, in half its time. Shape: (m, n)"""
    lu, (m, n) = a.copy("C"), a.shape
    pivots, info = np.empty(min(m, n), np.int32), np.zeros((), np.int32)
    for j in range(min(m, n)):
        p = int(np.abs(lu[j:, j]).argmax()) + j
        pivots[j] = p + 1
        if p != j:
            row = lu[p].copy()
            lu[p] = lu[j]
            lu[j] = row
        d = lu[j, j]
        if d == 0:
            info[...] = info or j + 1
        elif j + 1 < m:
            below = lu[j + 1 :, j]
            if m == n == j + 2 <= 4:
                below /= d
            else:
                below *= 1 / d
            if j + 1 < n:
                lu[j + 1 :, j + 1 :] -= below[:, None] * lu[j, j + 1 :]
    return lu, pivots, info


def _getrf(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(LU, pivots, info) of matrices (batch, m, n), each stored column by column; None where NumPy has another BLAS.

    Shape: (b, m, n) -> (b, m, n), (b, min(m, n)) int32, (b,) int32
    """
    b, m, n = a.shape
    if not a.size or b > _MATRICES_A_COLUMN * min(m, n):
        return None
    function = _function(a.dtype, "getrf", 6)
    if function is None:
        return None
    columns = np.array(a.swapaxes(1, 2), order="C")
    pivots, info = np.empty((b, min(m, n)), np.int64), np.empty(b, np.int64)
    rows, width = ctypes.c_int64(m), ctypes.c_int64(n)
    for matrix, places, status in zip(columns, pivots, range(b), strict=True):
        function(
            ctypes.byref(rows), ctypes.byref(width), matrix.ctypes.data, ctypes.byref(rows), places.ctypes.data,
            info[status:].ctypes.data,
        )  # fmt: skip
    return columns.swapaxes(1, 2), pivots.astype(np.int32), info.astype(np.int32)


@made_once
def _function(dtype: np.dtype, name: str, arguments: int) -> Any:
    """BLAS's or LAPACK's function for a type, with integers of 64 bits, found through the extension of NumPy's that is linked with it."""
    if not HAS_CTYPES:
        return None
    letter = _LETTERS.get(dtype)
    library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
    name = f"scipy_{letter}{name}_64_"
    if letter is None or not hasattr(library, name):
        return None
    function = getattr(library, name)
    function.argtypes = [ctypes.c_void_p] * arguments
    function.restype = None
    return function


def _count(shape):
    n = 1
    for size in shape:
        n *= size
    return n


def _factor_panel(lu, start, stop, pivots, info, by_reciprocal):
    rows = np.arange(len(lu))
    for j in range(start, stop):
        column = lu[:, j:, j]
        size = np.abs(column.real) + np.abs(column.imag) if lu.dtype.kind == "c" else np.abs(column)
        p = size.argmax(1) + j
        pivots[:, j] = p + 1
        if (p != j).any():
            lower = lu[rows, p]
            lu[rows, p] = lu[:, j]
            lu[:, j] = lower
        d = lu[:, j, j]
        zero = d == 0
        if zero.any():
            info[zero & (info == 0)] = j + 1
            d = np.where(zero, d.dtype.type(1), d)
        if by_reciprocal and not (lu.shape[1] == lu.shape[2] == j + 2 <= 4):
            lu[:, j + 1 :, j] *= 1 / d[:, None]
        else:
            lu[:, j + 1 :, j] /= d[:, None]
        lu[:, j + 1 :, j + 1 : stop] -= lu[:, j + 1 :, j, None] * lu[:, None, j, j + 1 : stop]


def permutation(pivots, m):
    """The order of rows that LAPACK's swaps lead to: (P^T A)[i] = A[order[i]]. Shape: (*, k) -> (*, m)"""
    *batch, k = pivots.shape
    swaps = pivots.reshape(_count(batch), k).astype(np.intp) - 1
    order = np.tile(np.arange(m), (len(swaps), 1))
    rows = np.arange(len(swaps))
    for i in range(k):
        p = swaps[:, i]
        moved = order[rows, p]
        order[rows, p] = order[:, i]
        order[:, i] = moved
    return order.reshape(*batch, m)


def triangle_arrays(lu):
    """(L, U) of packed factors."""
    k = min(lu.shape[-2:])
    low = np.tril(lu[..., :k], -1)
    low[..., range(k), range(k)] = 1
    return low, np.triu(lu[..., :k, :])


def permutation_matrix(pivots, m, dtype):
    """P with A = P L U, as an array."""
    order = permutation(pivots, m)
    return (np.arange(m)[:, None] == order[..., None, :]).astype(dtype)


# ---------------------------------------------------------------------------------------------- triangular systems


def substitute(a, b, upper, unit=False):
    """x with a x = b for triangular matrices a, of which only one triangle is read. Raw arrays, batches are broadcast.

    A zero on the diagonal gives infinities and nans, as in LAPACK's trtrs.
    """
    on_host = hasattr(a, "__array_interface__") and hasattr(b, "__array_interface__")
    x = _by_blas(a, b, upper, unit) if on_host else None
    if x is not None:
        return x
    a = np.triu(a) if upper else np.tril(a)
    n = a.shape[-1]
    if unit:
        a[..., range(n), range(n)] = 1
    # LAPACK's general solver leaves an upper triangular matrix as it is, and then does just the substitution
    if np.isfinite(a).all() and a.diagonal(0, -2, -1).all():
        if upper:
            return np.linalg.solve(a, b)
        return np.linalg.solve(a[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :]
    return _substitute_by_rows(a, b, upper)


def _by_blas(a, b, upper, unit):
    """The same by BLAS's trsm, in a copy of b; None where there is none, and for what it does not give as LAPACK does."""
    if a.dtype is not b.dtype or not a.size:
        return None
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n, k = b.shape[-2:]
    if not b.size or _count(batch) > _MATRICES_A_COLUMN * n or not np.isfinite(a).all():
        return None
    function = _function(a.dtype, "trsm", 11)
    if function is None or not (unit or a.diagonal(0, -2, -1).all()):
        return None
    x = np.array(b if b.shape[:-2] == batch else np.broadcast_to(b, (*batch, n, k)), order="C")
    stride = a.strides[-2:]
    is_transposed = n > 1 and stride[0] == a.itemsize and stride[1] >= n * a.itemsize and not stride[1] % a.itemsize
    if not is_transposed and (stride[1] != a.itemsize or stride[0] < n * a.itemsize or stride[0] % a.itemsize):
        a = np.ascontiguousarray(a)
        stride = a.strides[-2:]
    # Row by row in memory these are the transposes: x^T a^T = b^T, where a^T has its elements below, if a's are above.
    where = b"U" if upper == is_transposed else b"L"
    sizes = [ctypes.c_int64(s) for s in (k, n, max(stride[is_transposed] // a.itemsize, n), k)]
    columns, rows, step_a, step_x = map(ctypes.byref, sizes)
    one = np.ones((), a.dtype)
    fixed = b"R", where, b"T" if is_transposed else b"N", b"U" if unit else b"N", columns, rows, one.ctypes.data
    whole = a if a.shape[:-2] == batch else np.broadcast_to(a, (*batch, n, n))
    for i in np.ndindex(batch):
        function(*fixed, whole[i].ctypes.data, step_a, x[i].ctypes.data, step_x)
    return x


def _substitute_by_rows(a, b, upper):
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    n = a.shape[-1]
    for i in reversed(range(n)) if upper else range(n):
        done = slice(i + 1, None) if upper else slice(0, i)
        row = x[..., i, :] - (a[..., i : i + 1, done] @ x[..., done, :])[..., 0, :]
        x[..., i, :] = row / a[..., i, i, None]
    return x


def lu_solve_arrays(lu, pivots, b):
    """x with P L U x = b."""
    order = permutation(pivots, lu.shape[-1])
    batch = np.broadcast_shapes(order.shape[:-1], b.shape[:-2])
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    order = np.broadcast_to(order, (*batch, order.shape[-1]))
    b = np.take_along_axis(b, order[..., None], -2)
    return substitute(lu, substitute(lu, b, False, True), True)


def check_system(A, B, left, name):
    """Raise where A X = B (or X A = B) has no sense."""
    check_square(A, name)
    check_matrix(B, name, "B")
    if A.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )


@primitive(name="linalg_solve_triangular", public=False, out=True, columns=(0,))
def solve_triangular(input, B, /, *, upper, left=True, unitriangular=False):
    """X with A X = B for triangular A = input; the other triangle is not read. A zero on the diagonal gives infinities and nans.

    Args:
        upper: which triangle.
        left: False for X A = B.
        unitriangular: whether the diagonal counts as ones.
        out: the tensor to write the result to.
    Shape: (*, n, n), (*, n, k) -> (*, n, k); right: (*, n, n), (*, k, n) -> (*, k, n)
    Raises:
        RuntimeError: `input` is not square, as in `solve_triangular(ones(2, 3), ones(2, 1), upper=True)`.

    >>> solve_triangular(tensor([[2.0, 0.0], [4.0, 4.0]]), tensor([[2.0], [8.0]]), upper=False)
    tensor([[1.],
            [1.]])
    """
    check_system(input, B, left, "linalg.solve_triangular")
    check_kernel(input, "triangular_solve_cpu")
    check_same_type(input, B, "linalg.solve_triangular")
    if left:
        return np.ascontiguousarray(substitute(input, B, upper, unitriangular))
    x = substitute(input.swapaxes(-2, -1), B.swapaxes(-2, -1), not upper, unitriangular)
    return np.ascontiguousarray(x.swapaxes(-2, -1))


@solve_triangular.vjp
def _(g, input, out, upper, left, unitriangular, needs):
    g_b = solve_triangular(input.mH, g, upper=not upper, left=left, unitriangular=unitriangular)
    if not needs[0]:
        return None, g_b
    g_a = -(g_b @ out.mH if left else out.mH @ g_b)
    return g_a.triu(int(unitriangular)) if upper else g_a.tril(-int(unitriangular)), g_b


_TRIANGULAR = named("triangular_solve", "solution", "cloned_coefficient")


_TRIANGULAR_DEPRECATED = (
    "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future "
    "PyTorch release.\n"
    "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\n"
    "X = torch.triangular_solve(B, A).solution\n"
    "should be replaced with\n"
    "X = torch.linalg.solve_triangular(A, B)."
)


@composite(method=True, out=True)
def triangular_solve(input, A, upper=True, transpose=False, unitriangular=False):
    """x with A x = input for triangular A, and a copy of A. Deprecated: use `linalg.solve_triangular`.

    Args:
        upper: which triangle.
        transpose: whether A^T takes the place of A.
        unitriangular: whether the diagonal counts as ones.
        out: the two tensors to write the results to.
    Shape: (*, n, k), (*, n, n) -> (*, n, k), (*, n, n)
    Raises:
        RuntimeError: A is not square, as in `triangular_solve(ones(2, 1), ones(2, 3))`.
    """
    check_square(A._array, "")
    check_kernel(A._array, "triangular_solve_cpu")
    if A._array.shape[-1] != input._array.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each b "
            f"matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    warn_once(_TRIANGULAR_DEPRECATED)
    a = A.mT if transpose else A
    x = solve_triangular(a, input, upper=upper != transpose, unitriangular=unitriangular)
    return _TRIANGULAR(x, A.expand(*x.shape[:-2], *A.shape[-2:]).mT.clone(memory_format=contiguous_format).mT)


# ---------------------------------------------------------------------------------------------- factors of tensors


def _factor(A, /, pivot, check_errors, name):
    if A.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    check_kernel(A, "lu_cpu")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    lu, pivots, info = lu_arrays(A)
    if check_errors and info.any():
        where, i = first_failure(info)
        raise RuntimeError(
            f"torch.{name}: {where}U[{i},{i}] is zero and using it on lu_solve would result in a division by zero. If "
            "you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )
    return lu, pivots, info


def _eye(t, *shape):
    return eye(*shape, dtype=t.dtype, device=t.device)


def triangles(lu):
    """(L, U) of tensors in LAPACK's common storage. Shape: (*, m, n) -> (*, m, k), (*, k, n)"""
    m, n = lu.shape[-2:]
    k = min(m, n)
    return lu.narrow(-1, 0, k).tril(-1) + _eye(lu, m, k), lu.narrow(-2, 0, k).triu()


def _lu_backward(p, low, up, g_l, g_u):
    """The gradient of A from those of L and U, where A = P L U."""
    m, n = low.shape[-2], up.shape[-1]
    if g_l is None and g_u is None:
        return None
    if m == n:
        lower = 0 if g_l is None else (low.mH @ g_l).tril(-1)
        upper = 0 if g_u is None else (g_u @ up.mH).triu()
        inner = solve_triangular(up.mH, lower + upper, upper=False, left=False)
        return p @ solve_triangular(low.mH, inner, upper=True, unitriangular=True)
    return p @ (_lu_wide(low, up, g_l, g_u) if m < n else _lu_tall(low, up, g_l, g_u))


def _lu_wide(low, up, g_l, g_u):
    m, n = low.shape[-2], up.shape[-1]
    up1, up2 = up.narrow(-1, 0, m), up.narrow(-1, m, n - m)
    inner = 0
    if g_u is not None:
        inner = (g_u.narrow(-1, 0, m) @ up1.mH).triu() - (g_u.narrow(-1, m, n - m) @ up2.mH).tril(-1)
    if g_l is not None:
        inner = inner + (low.mH @ g_l).tril(-1)
    g1 = solve_triangular(up1.mH, inner, upper=False, left=False)
    g2 = g1.new_zeros((*g1.shape[:-1], n - m)) if g_u is None else g_u.narrow(-1, m, n - m)
    return solve_triangular(low.mH, cat([g1, g2], -1), upper=True, unitriangular=True)


def _lu_tall(low, up, g_l, g_u):
    m, n = low.shape[-2], up.shape[-1]
    low1, low2 = low.narrow(-2, 0, n), low.narrow(-2, n, m - n)
    inner = 0
    if g_l is not None:
        inner = (low1.mH @ g_l.narrow(-2, 0, n)).tril(-1) - (low2.mH @ g_l.narrow(-2, n, m - n)).triu()
    if g_u is not None:
        inner = inner + (g_u @ up.mH).triu()
    g1 = solve_triangular(low1.mH, inner, upper=True, unitriangular=True)
    g2 = g1.new_zeros((*g1.shape[:-2], m - n, n)) if g_l is None else g_l.narrow(-2, n, m - n)
    return solve_triangular(up.mH, cat([g1, g2], -2), upper=False, left=False)


_packed = primitive(
    name="linalg_lu_factor_ex",
    public=False,
    outputs=1,
    columns=(0,),
    returns=named("linalg_lu_factor_ex", "LU", "pivots", "info"),
)(_factor)


@_packed.vjp
def _(g, out0, out1):
    low, up = triangles(out0)
    m, n = out0.shape[-2:]
    k = min(m, n)
    g_l, g_u = g[0].narrow(-1, 0, k).tril(-1), g[0].narrow(-2, 0, k).triu()
    return _lu_backward(_permutation(out0, out1), low, up, g_l, g_u)


@composite(name="linalg_lu_factor_ex", function=False, out=True)
def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """As `lu_factor`, with info: the first pivot that is zero, counted from 1, or 0.

    Args:
        check_errors: whether to raise where info is not 0.
        out: the three tensors to write the results to.
    Shape: (*, m, n) -> (*, m, n), (*, min(m, n)) int32, (*) int32
    Raises:
        RuntimeError: a pivot is zero, as in `lu_factor_ex(zeros(2, 2), check_errors=True)`.

    >>> lu_factor_ex(zeros(2, 2)).info
    tensor(1, dtype=torch.int32)
    """
    return _packed(A, pivot, check_errors, "linalg.lu_factor_ex")


_LU_FACTOR = named("linalg_lu_factor", "LU", "pivots")


@composite(name="linalg_lu_factor", function=False, out=True)
def lu_factor(A, *, pivot=True):
    """L and U in one matrix, and the row swaps (counted from 1): what `lu_solve` takes.

    Args:
        out: the two tensors to write the results to.
    Shape: (*, m, n) -> (*, m, n), (*, min(m, n)) int32
    Raises:
        RuntimeError: a pivot is zero, as in `lu_factor(zeros(2, 2))`.

    >>> lu_factor(tensor([[2.0, 4.0], [1.0, 5.0]])).LU
    tensor([[2.0000, 4.0000],
            [0.5000, 3.0000]])
    """
    return _LU_FACTOR(*_packed(A, pivot, True, "linalg.lu_factor")[:2])


_PLU = named("linalg_lu", "P", "L", "U")


@primitive(
    name="linalg_lu", public=False, outputs=2, out=True, returns=lambda low, up, p: _PLU(p, low, up)
)  # fmt: skip
def lu(A, /, *, pivot=True):
    """A = P L U: a permutation, a lower triangle with unit diagonal, an upper triangle.

    Args:
        out: the three tensors to write the results to.
    Shape: (*, m, n) -> (*, m, m), (*, m, k), (*, k, n); k = min(m, n)
    Raises:
        RuntimeError: A has less than two dimensions, as in `lu(ones(2))`.

    >>> lu(tensor([[2.0, 4.0], [1.0, 5.0]])).U
    tensor([[2., 4.],
            [0., 3.]])
    """
    factors, pivots, _ = _factor(A, pivot, False, "linalg.lu")
    return (*triangle_arrays(factors), permutation_matrix(pivots, A.shape[-2], A.dtype))


@lu.vjp
def _(g, out0, out1, out2):
    return _lu_backward(out2, out0, out1, *g)


_LU_INFO = named("_lu_with_info", "LU", "pivots", "info")


_LU_DEPRECATED = (
    "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a "
    "future PyTorch release.\n"
    "LU, pivots = torch.lu(A, compute_pivots)\n"
    "should be replaced with\n"
    "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\n"
    "and\n"
    "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\n"
    "should be replaced with\n"
    "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
)
_LU_SOLVE_DEPRECATED = (
    "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\n"
    "Note that torch.linalg.lu_solve has its arguments reversed.\n"
    "X = torch.lu_solve(B, LU, pivots)\n"
    "should be replaced with\n"
    "X = torch.linalg.lu_solve(LU, pivots, B)"
)


@composite(name="lu", method=True)
def legacy_lu(A, pivot=True, get_infos=False, out=None):
    """The packed factors that `lu_unpack` and `lu_solve` take: (LU, pivots).

    Args:
        get_infos: also give info: the first pivot that is zero, counted from 1, or 0.
        out: the tensors to write the results to.
    Shape: (*, m, n) -> (*, m, n), (*, min(m, n)) int32
    Raises:
        RuntimeError: A has less than two dimensions, as in `lu(ones(2))`.

    >>> lu(2 * eye(2))[1]
    tensor([1, 2], dtype=torch.int32)
    """
    warn_once(_LU_DEPRECATED)
    check_flag("_lu_with_info", "pivot", pivot)
    result = _packed(A, pivot, False, "linalg.lu_factor")
    result = _LU_INFO(*result) if get_infos else tuple(result[:2])
    if out is None:
        return result
    return write_out("lu", (A,), result, out)


_UNPACKED = named("lu_unpack", "P", "L", "U")


@primitive(name="lu_unpack", public=False, outputs=2, returns=lambda low, up, p: _UNPACKED(p, low, up))
def _unpack(LU, pivots, /, unpack_data, unpack_pivots):
    nothing = np.empty(0, LU.dtype)
    p = permutation_matrix(pivots, LU.shape[-2], LU.dtype) if unpack_pivots else nothing
    return (*triangle_arrays(LU), p) if unpack_data else (nothing, nothing, p)


@_unpack.vjp("LU")
def _(g, LU_shape, unpack_data):
    m, n = LU_shape[-2:]
    k = min(m, n)
    g_l, g_u = (None if x is None or not unpack_data else x for x in g)
    lower = None if g_l is None else pad(g_l.tril(-1), (0, n - k))
    upper = None if g_u is None else pad(g_u.triu(), (0, 0, 0, m - k))
    return lower if upper is None else upper if lower is None else lower + upper


def _permutation(lu, pivots):
    """P with A = P L U, as a tensor."""
    return _unpack(lu, pivots, False, True)[0]


@composite(out=True)
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """(P, L, U) of packed factors.

    Args:
        LU_data, LU_pivots: what `lu` or `linalg.lu_factor` gives.
        unpack_data: False leaves L and U empty.
        unpack_pivots: False leaves P empty.
        out: the three tensors to write the results to.
    Shape: (*, m, n), (*, k) -> (*, m, m), (*, m, k), (*, k, n); k = min(m, n)
    Raises:
        RuntimeError: the pivots are not int32, as in `lu_unpack(eye(2), ones(2))`.

    >>> lu_unpack(*linalg.lu_factor(2 * eye(2))).U
    tensor([[2., 0.],
            [0., 2.]])
    """
    if unpack_pivots and LU_pivots._array.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: this function "
            "is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    return _unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)


# ---------------------------------------------------------------------------------------------- systems by factors


def _check_lu_solve(lu, pivots, b, left):
    name = "linalg.lu_solve"
    check_floating(lu, name, low=True)
    check_same_type(lu, b, name, "LU")
    if pivots.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    check_square(lu, "torch.linalg.lu_solve")
    check_system(lu, b, left, name)
    if pivots.shape[-1] != lu.shape[-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if pivots.shape[:-1] != lu.shape[:-2]:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape {list(pivots.shape)} instead"
        )
    check_kernel(lu, "lu_solve_cpu")


@primitive(name="linalg_lu_solve", public=False, out=True)
def lu_solve(LU, pivots, B, /, *, left=True, adjoint=False):
    """X with A X = B from A's packed factors.

    Args:
        LU, pivots: what `lu_factor` gives.
        left: False for X A = B.
        adjoint: whether A^H takes the place of A.
        out: the tensor to write the result to.
    Shape: (*, n, n), (*, n), (*, n, k) -> (*, n, k)
    Raises:
        RuntimeError: the pivots are not int32, as in `lu_solve(eye(2), ones(2), ones(2, 1))`.

    >>> lu_solve(*linalg.lu_factor(2 * eye(2)), ones(2, 1))
    tensor([[0.5000],
            [0.5000]])
    """
    _check_lu_solve(LU, pivots, B, left)
    b = B if left else B.swapaxes(-2, -1)  # X A = B is A^T X^T = B^T
    a = LU.conj() if adjoint else LU
    x = lu_solve_arrays(a, pivots, b) if left != adjoint else _lu_solve_transposed(a, pivots, b)
    return in_columns(x) if left else np.ascontiguousarray(x.swapaxes(-2, -1))


def _lu_solve_transposed(lu, pivots, b):
    """x with (P L U)^T x = b."""
    lu_t = lu.swapaxes(-2, -1)
    x = substitute(lu_t, substitute(lu_t, b, False), True, True)
    return permutation_matrix(pivots, lu.shape[-1], lu.dtype) @ x


@lu_solve.vjp
def _(g, LU, pivots, out, left, adjoint, needs):
    """Through A = P L U: g_A = -g_B X^H and so on, g_L = P^T g_A U^H, g_U = (P L)^H g_A."""
    g_b = lu_solve(LU, pivots, g, left=left, adjoint=not adjoint)
    if not needs[0]:
        return None, None, g_b
    if adjoint:
        g_a = -(out @ g_b.mH if left else g_b.mH @ out)
    else:
        g_a = -(g_b @ out.mH if left else out.mH @ g_b)
    low, up = triangles(LU)
    g_a = _permutation(LU, pivots).mT @ g_a
    return (g_a @ up.mH).tril(-1) + (low.mH @ g_a).triu(), None, g_b


@composite(name="lu_solve", method=True, out=True)
def legacy_lu_solve(input, LU_data, LU_pivots):
    """X with A X = input from A's packed factors: `linalg.lu_solve`, with the right-hand side first.

    Args:
        LU_data, LU_pivots: what `lu` or `linalg.lu_factor` gives.
        out: the tensor to write the result to.
    Shape: (*, n, k), (*, n, n), (*, n) -> (*, n, k)
    Raises:
        RuntimeError: the pivots are not int32, as in `lu_solve(ones(2, 1), eye(2), ones(2))`.

    >>> lu_solve(ones(2, 1), *linalg.lu_factor(2 * eye(2)))
    tensor([[0.5000],
            [0.5000]])
    """
    warn_once(_LU_SOLVE_DEPRECATED)
    return lu_solve(LU_data, LU_pivots, input)
