"""Systems of linear equations and inverses of square matrices."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.op import composite, primitive
from ...core.dispatch.return_types import named
from ...core.dispatch.scalars import check_flag
from ...core.tensor.strides import in_columns
from ..pointwise.checks import word
from .lu import FACTORED_AS_TORCH, check_system, lu_arrays, lu_solve_arrays, substitute
from .matrices import (
    LinAlgError,
    adjoint,
    check_floating,
    check_kernel,
    check_same_type,
    check_square,
    first_failure,
    fresh,
)

# ---------------------------------------------------------------------------------------------- solve


def is_vector(a_shape, b_shape) -> bool:
    """Whether B holds one right-hand side for each matrix: a vector, or a batch of vectors of A's batch shape."""
    return len(b_shape) == 1 or (len(a_shape) - 1 == len(b_shape) and tuple(b_shape) == tuple(a_shape[:-1]))


def _solve_arrays(a, b):
    """(x, info) with a x = b; where a matrix is singular, infinities and nans, and its zero pivot's place in info."""
    try:
        x = np.linalg.solve(a, b)
        if not _is_ill_conditioned(a, x, b):
            return x, np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        x = None
    lu, pivots, info = lu_arrays(a)
    return (lu_solve_arrays(lu, pivots, b) if x is None or a.shape[-1] <= FACTORED_AS_TORCH or info.any() else x), info


def _is_ill_conditioned(a, x, b) -> bool:
    """Whether rounding changes the last pivot by a part in a thousand, as a solution x of a x = b (identity) suggests.

    NumPy's LAPACK and that of `lu_arrays`, which is torch's, round differently: one may find a pivot of 0 where the other
    finds none, and det(a) inv(a), where the last pivot cancels, is right only with the same factors (kornia's cofactors).
    """
    if not x.size:
        return False
    size = np.abs(x).max() * np.abs(a).max()
    return not size < 1e-3 / np.finfo(x.dtype).eps * (1 if b is None else np.abs(b).max())


@primitive(
    name="linalg_solve_ex",
    public=False,
    outputs=1,
    returns=named("linalg_solve_ex", "result", "info"),
    keeps={"A": None},
)
def _solve(A, B, /, left, check_errors, name):
    check_floating(A, "linalg.solve", low=True)
    check_same_type(A, B, "linalg.solve")
    check_square(A, "linalg.solve")
    vector = is_vector(A.shape, B.shape)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    b = B[..., None] if vector else B
    check_system(A, b, left, "linalg.solve")
    check_kernel(A, "lu_cpu")
    x, info = _solve_arrays(A, b) if left else _solve_arrays(A.swapaxes(-2, -1), b.swapaxes(-2, -1))
    if check_errors and info.any():
        raise LinAlgError(
            f"torch.linalg.{name}: {first_failure(info)[0]}The solver failed because the input matrix is singular."
        )
    if left:
        return in_columns(fresh(x[..., 0] if vector else x, A.dtype)), info
    return fresh(x.swapaxes(-2, -1), A.dtype), info


@_solve.vjp
def _(g, A, out0, B_shape, left, needs):
    """g_B = A^-H g, g_A = -g_B X^H."""
    vector = is_vector(A.shape, B_shape)
    g, x = (g[0].unsqueeze(-1), out0.unsqueeze(-1)) if vector else (g[0], out0)
    g_b = _solve(A.mH, g, left, False, "")[0]
    g_a = None
    if needs[0]:
        g_a = -(g_b @ x.mH if left else x.mH @ g_b)
    return g_a, g_b.squeeze(-1) if vector else g_b


@composite(name="linalg_solve_ex", function=False, out=True)
def solve_ex(A, B, *, left=True, check_errors=False):
    """As `solve`, with info: the first zero pivot, counted from 1, or 0.

    Args:
        left: False for X A = B.
        check_errors: whether to raise where info is not 0.
        out: the two tensors to write the results to.
    Shape: (*, n, n), (*, n, k) -> (*, n, k), (*) int32
    Raises:
        linalg.LinAlgError: A is singular, as in `solve_ex(zeros(2, 2), ones(2), check_errors=True)`.

    >>> solve_ex(2 * eye(2), ones(2)).info
    tensor(0, dtype=torch.int32)
    """
    return _solve(A, B, left, check_errors, "solve_ex")


@composite(name="linalg_solve", function=False, out=True)
def solve(A, B, *, left=True):
    """X with A X = B.

    Args:
        B: a matrix, or a vector of A's batch shape for one right-hand side.
        left: False for X A = B.
        out: the tensor to write the result to.
    Shape: (*, n, n), (*, n, k) -> (*, n, k); (*, n, n), (*, n) -> (*, n)
    Raises:
        linalg.LinAlgError: A is singular, as in `solve(zeros(2, 2), ones(2))`.
        RuntimeError: A is not square, as in `solve(ones(2, 3), ones(2))`.

    >>> solve(tensor([[2.0, 0.0], [0.0, 4.0]]), tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    check_flag("linalg_solve", "left", left)
    return _solve(A, B, left, True, "solve")[0]


# ---------------------------------------------------------------------------------------------- inverse


def _inverse_arrays(a):
    try:
        x = np.linalg.inv(a)
        if not _is_ill_conditioned(a, x, None):
            return x, np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        x = None
    lu, pivots, info = lu_arrays(a)
    if x is None or a.shape[-1] <= FACTORED_AS_TORCH or info.any():
        x = lu_solve_arrays(lu, pivots, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))
    return x, info


def singular(name, info):
    where, i = first_failure(info)
    return LinAlgError(
        f"{name}: {where}The diagonal element {i} is zero, the inversion could not be completed because the input matrix "
        "is singular."
    )


@primitive(
    name="linalg_inv_ex", public=False, outputs=1, columns=(0,), returns=named("linalg_inv_ex", "inverse", "info")
)
def _invert(A, /, check_errors, name):
    check_square(A, "linalg.inv")
    check_floating(A, "linalg.inv")
    x, info = _inverse_arrays(A)
    if check_errors and info.any():
        raise singular(name, info)
    return x, info


@_invert.vjp
def _(g, out0):
    return -(out0.mH @ (g[0] @ out0.mH))


@composite(name="linalg_inv_ex", function=False, out=True)
def inv_ex(A, *, check_errors=False):
    """The inverse of square matrices, and info: the first zero pivot, counted from 1, or 0.

    Args:
        check_errors: whether to raise where info is not 0.
        out: the two tensors to write the results to.
    Shape: (*, n, n) -> (*, n, n), (*) int32
    Raises:
        linalg.LinAlgError: one is singular, as in `inv_ex(zeros(2, 2), check_errors=True)`.

    >>> inv_ex(zeros(2, 2)).info
    tensor(1, dtype=torch.int32)
    """
    return _invert(A, check_errors, "linalg.inv_ex")


@composite(name="linalg_inv", function=False, out=True)
def inv(A):
    """The inverse of square matrices.

    Args:
        out: the tensor to write the result to.
    Shape: (*, n, n) -> (*, n, n)
    Raises:
        linalg.LinAlgError: one is singular, as in `inv(zeros(2, 2))`.
        RuntimeError: they are not square, as in `inv(ones(2, 3))`.

    >>> inv(tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return _invert(A, True, "linalg.inv")[0]


@composite(name="inverse", method=True, out=True)
def inverse(input):
    """The inverse of square matrices: `linalg.inv`.

    Args:
        out: the tensor to write the result to.
    Shape: (*, n, n) -> (*, n, n)
    Raises:
        linalg.LinAlgError: one is singular, as in `inverse(zeros(2, 2))`.

    >>> inverse(2 * eye(2))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """
    return _invert(input, True, "linalg.inv")[0]


# ---------------------------------------------------------------------------------------------- by Cholesky factors


def _check_cholesky_solve(b, a):
    for x, name in ((b, "b"), (a, "u")):
        if x.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    check_square(a, "")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {a.shape[-1]} by {a.shape[-1]} but each b "
            f"matrix is {b.shape[-2]} by {b.shape[-1]}"
        )
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {word(b)} and A of type {word(a)} instead."
        )
    check_kernel(a, "cholesky_solve_cpu")


@primitive(method=True, out=True, columns=(0,))
def cholesky_solve(input, input2, /, upper=False):
    """X with A X = input, where A = L L^H for L = input2, or with `upper` U^H U for U = input2.

    Args:
        input2: the factor.
        out: the tensor to write the result to.
    Shape: (*, n, k), (*, n, n) -> (*, n, k)
    Raises:
        RuntimeError: the numbers of rows differ, as in `cholesky_solve(ones(3, 1), eye(2))`.

    >>> cholesky_solve(ones(2, 1), 2 * eye(2))
    tensor([[0.2500],
            [0.2500]])
    """
    _check_cholesky_solve(input, input2)
    low = adjoint(input2) if upper else input2
    return np.ascontiguousarray(substitute(adjoint(low), substitute(low, input, False), True))


@cholesky_solve.vjp
def _(g, input2, out, upper, needs):
    """Through A: g_A = -A^-1 g X^H, made symmetric, and g_L = g_A L; torch fills the triangle that is not read too."""
    g_b = cholesky_solve(g, input2, upper)
    common = g_b @ out.mH
    common = common + common.mH
    return g_b, -(input2 @ common if upper else common @ input2) if needs[1] else None


@primitive(method=True, out=True, columns=(0,))
def cholesky_inverse(input, /, upper=False):
    """The inverse of A, where A = L L^H, or U^H U with `upper`.

    Args:
        input: the factor L, or U.
        out: the tensor to write the result to.
    Shape: (*, n, n) -> (*, n, n)
    Raises:
        RuntimeError: the matrices are not square, as in `cholesky_inverse(ones(2, 3))`.

    >>> cholesky_inverse(2 * eye(2))
    tensor([[0.2500, 0.0000],
            [0.0000, 0.2500]])
    """
    check_square(input, "cholesky_inverse")
    check_kernel(input, "cholesky_inverse_out_cpu")
    zero = input.diagonal(0, -2, -1) == 0
    if zero.any():
        raise singular("cholesky_inverse", np.where(zero.any(-1), zero.argmax(-1) + 1, 0))
    one = np.eye(input.shape[-1], dtype=input.dtype)
    half = substitute(adjoint(input) if upper else input, one, False)
    return np.ascontiguousarray(adjoint(half) @ half)


@cholesky_inverse.vjp
def _(g, input, out, upper):
    common = out @ (g + g.mH) @ out
    return -(input @ common if upper else common @ input)
