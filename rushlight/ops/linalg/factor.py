"""Decompositions of matrices: QR, Cholesky, singular values, eigenvalues.

The gradients are those of Walter and Lehmann (QR, arXiv:1009.6112), Murray (Cholesky, arXiv:1602.07527), and Giles
(singular and eigenvalues, 2008), with torch's extension to complex matrices, where a result is fixed only up to a phase.
"""

from __future__ import annotations

import numpy as np

from ...core.dispatch.mode import is_grad_enabled
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.return_types import named
from ...core.tensor.tensor import Tensor
from ...core.warn import warn_once
from ..pointwise.checks import word
from ..shape.concatenate import cat
from .lu import solve_triangular
from .matrices import (
    LinAlgError,
    adjoint,
    check_floating,
    check_kernel,
    check_matrix,
    check_square,
    complex_type,
    first_failure,
    fresh,
    halve_diagonal,
    real_type,
)
from .solvers import solve

# ---------------------------------------------------------------------------------------------- QR


def _qr_kernel(A, mode):
    check_matrix(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_floating(A, "linalg.qr", low=True)
    check_kernel(A, "geqrf_cpu")
    if mode == "r":
        return np.empty(0, A.dtype), fresh(np.asarray(np.linalg.qr(A, "r")), A.dtype)
    q, r = np.linalg.qr(A, mode)
    return fresh(q, A.dtype), fresh(r, A.dtype)


@primitive(name="linalg_qr", public=False, outputs=2, columns=(0, 1), out=True, returns=named("linalg_qr", "Q", "R"))
def qr(A, /, mode="reduced"):
    """A = Q R with orthonormal columns in Q and an upper triangular R.

    Args:
        mode: "reduced", "complete" (a square Q), or "r" (Q is empty).
        out: the two tensors to write the results to.
    Shape: (*, m, n) -> (*, m, k), (*, k, n); k = min(m, n), or m where complete
    Raises:
        RuntimeError: `mode` is another text, as in `qr(eye(2), "x")`.
        RuntimeError: A has less than two dimensions, as in `qr(ones(2))`.

    >>> qr(eye(2)).R
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _qr_kernel(A, mode)


@qr.vjp
def _(g, out0, out1, A_shape, mode):
    g_q, g_r = g
    m, n = A_shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "torch.linalg.qr(A, mode='reduced') if you are going to require gradients"
        )
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    q, r = out0, out1
    return (_qr_tall if m >= n else _qr_wide)(q, r, g_q, g_r)


def _qr_tall(q, r, g_q, g_r):
    """(g_Q + Q sym(triu(g_R R^H - Q^H g_Q))) R^-H"""
    inner = _difference(None if g_r is None else g_r @ r.mH, None if g_q is None else q.mH @ g_q).triu()
    g = q @ halve_diagonal(inner + inner.mH)
    return solve_triangular(r.mH, g if g_q is None else g + g_q, upper=False, left=False)


def _qr_wide(q, r, g_q, g_r):
    """Q (pad(skew(Q^H g_Q - g_R R^H) R_1^-H) + g_R)"""
    m, n = r.shape[-2:]
    inner = _difference(None if g_q is None else q.mH @ g_q, None if g_r is None else g_r @ r.mH)
    skew = halve_diagonal((inner - inner.mH).tril())
    part = solve_triangular(r.narrow(-1, 0, m).mH, skew, upper=False, left=False)
    part = cat([part, part.new_zeros((*part.shape[:-1], n - m))], -1)
    return q @ (part if g_r is None else part + g_r)


def _difference(a, b):
    return -b if a is None else a if b is None else a - b


_QR = named("qr", "Q", "R")


_QR_DEPRECATED = (
    "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\n"
    "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
    "Q, R = torch.qr(A, some)\n"
    "should be replaced with\n"
    "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
)


@composite(name="qr", method=True, out=True)
def legacy_qr(input, some=True):
    """(Q, R) with input = Q R: `linalg.qr`.

    Args:
        some: True for the reduced form, False for the complete one.
        out: the two tensors to write the results to.
    Shape: (*, m, n) -> (*, m, k), (*, k, n); k = min(m, n), or m where complete
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `qr(ones(2))`.

    >>> qr(eye(2)).R
    tensor([[1., 0.],
            [0., 1.]])
    """
    warn_once(_QR_DEPRECATED)
    return _QR(*qr(input, "reduced" if some else "complete"))


# ---------------------------------------------------------------------------------------------- Cholesky


def _cholesky_batch(a, upper):
    """(L, info): the lower factors, and the order of the first minor that is not positive, 0 where all are."""
    if upper:
        a = adjoint(a)
    info = np.zeros(a.shape[:-2], np.int32)
    try:
        low = np.linalg.cholesky(a)
        if not np.isnan(low.diagonal(0, -2, -1)).any():
            return low, info
    except np.linalg.LinAlgError:
        low = np.empty(a.shape, a.dtype)
    for i in np.ndindex(info.shape):  # one of them fails: which, and where?
        try:
            low[i] = np.linalg.cholesky(a[i])
            failed = np.isnan(low[i].diagonal()).any()
        except np.linalg.LinAlgError:
            failed = True
        if failed:
            low[i], info[i] = _cholesky_until_failure(a[i])
    return low, info


def _cholesky_until_failure(a):
    """(the factor as far as it goes, the order of the minor that stops it)."""
    low = np.tril(a)
    for j in range(len(a)):
        pivot = (low[j, j] - np.vdot(low[j, :j], low[j, :j])).real
        if not pivot > 0:
            low[j, j] = pivot
            return low, j + 1
        low[j, j] = np.sqrt(pivot)
        low[j + 1 :, j] = (low[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j].conj()) / low[j, j]
    return low, 0


def _not_positive(name, info):
    where, order = first_failure(info)
    return LinAlgError(
        f"{name}: {where}The factorization could not be completed because the input is not positive-definite (the "
        f"leading minor of order {order} is not positive-definite)."
    )


@primitive(
    name="linalg_cholesky_ex", public=False, outputs=1, columns=(0,), returns=named("linalg_cholesky_ex", "L", "info")
)
def _cholesky(A, /, upper, check_errors, name):
    check_square(A, name)
    check_floating(A, name, low=True)
    check_kernel(A, "cholesky_cpu")
    low, info = _cholesky_batch(A, upper)
    if check_errors and info.any():
        raise _not_positive(name, info)
    return fresh(adjoint(low), A.dtype) if upper else low, info


@_cholesky.vjp
def _(g, out0, upper):
    """L^-H (P + tril(P, -1)^H) / 2 L^-1 with P = tril(L^H g); like torch, P's diagonal keeps its imaginary part."""
    low, g = (out0.mH, g[0].mH) if upper else (out0, g[0])
    phi = (low.mH @ g).tril()
    phi = (phi + phi.tril(-1).mH) * 0.5
    inner = solve_triangular(low, phi, upper=False, left=False)
    return solve_triangular(low.mH, inner, upper=True)


@composite(name="linalg_cholesky_ex", function=False, out=True)
def cholesky_ex(input, *, upper=False, check_errors=False):
    """L with A = L L^H for A = input, and info: the order of the first leading minor that is not positive, or 0.

    Args:
        upper: whether to give the upper triangle, with A = U^H U.
        check_errors: whether to raise where info is not 0.
        out: the two tensors to write the results to.
    Shape: (*, n, n) -> (*, n, n), (*) int32
    Raises:
        linalg.LinAlgError: `input` is not positive-definite, as in `cholesky_ex(-eye(2), check_errors=True)`.

    >>> cholesky_ex(-eye(2)).info
    tensor(1, dtype=torch.int32)
    """
    return _cholesky(input, upper, check_errors, "linalg.cholesky_ex")


@composite(name="linalg_cholesky", function=False, out=True)
def cholesky(input, *, upper=False):
    """The lower triangular L with A = L L^H for A = input, or with `upper` the upper one with A = U^H U.

    Args:
        out: the tensor to write the result to.
    Shape: (*, n, n) -> (*, n, n)
    Raises:
        linalg.LinAlgError: `input` is not positive-definite, as in `cholesky(-eye(2))`.
        RuntimeError: the matrices are not square, as in `cholesky(ones(2, 3))`.

    >>> cholesky(tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return _cholesky(input, upper, True, "linalg.cholesky")[0]


_CHOLESKY_DEPRECATED = (
    "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
    "L = torch.cholesky(A)\n"
    "should be replaced with\n"
    "L = torch.linalg.cholesky(A)\n"
    "and\n"
    "U = torch.cholesky(A, upper=True)\n"
    "should be replaced with\n"
    "U = torch.linalg.cholesky(A).mH\n"
    "This transform will produce equivalent results for all valid (symmetric positive definite) inputs."
)


@composite(name="cholesky", method=True, out=True)
def legacy_cholesky(input, upper=False):
    """The lower triangular L with A = L L^H, or with `upper` the upper one: `linalg.cholesky`.

    Args:
        out: the tensor to write the result to.
    Shape: (*, n, n) -> (*, n, n)
    Raises:
        linalg.LinAlgError: the matrix is not positive-definite, as in `cholesky(-eye(2))`.

    >>> cholesky(4 * eye(2))
    tensor([[2., 0.],
            [0., 2.]])
    """
    warn_once(_CHOLESKY_DEPRECATED)
    return _cholesky(input, upper, True, "cholesky")[0]


# ---------------------------------------------------------------------------------------------- singular values


def _svd_arrays(a, full_matrices, compute_uv):
    if 0 in a.shape[-2:]:
        return _svd_of_nothing(a, full_matrices)
    try:
        if compute_uv:
            return tuple(np.linalg.svd(a, full_matrices))
        return None, np.linalg.svd(a, compute_uv=False), None
    except np.linalg.LinAlgError:
        raise LinAlgError(_no_convergence("svd", a)) from None


def _svd_of_nothing(a, full_matrices):
    *batch, m, n = a.shape
    k, m, n = 0, m if full_matrices else 0, n if full_matrices else 0
    rows, columns = a.shape[-2:]
    u = np.broadcast_to(np.eye(rows, m, dtype=a.dtype), (*batch, rows, m))
    v = np.broadcast_to(np.eye(n, columns, dtype=a.dtype), (*batch, n, columns))
    return u.copy(), np.empty((*batch, k), real_type(a.dtype)), v.copy()


def _no_convergence(name, a):
    if not np.isfinite(a).all():
        return f"linalg.{name}: The algorithm failed to converge because the input matrix contained non-finite values."
    return (
        f"linalg.{name}: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
        "repeated singular values."
    )


@primitive(name="linalg_svd", public=False, outputs=3, columns=(0, 2), returns=named("linalg_svd", "U", "S", "Vh"))
def _svd(A, /, full_matrices, compute_uv):
    check_matrix(A, "linalg.svd")
    check_floating(A, "linalg.svd", low=True)
    check_kernel(A, "linalg_svd_cpu")
    u, s, vh = _svd_arrays(A, full_matrices, compute_uv)
    if not compute_uv:
        return np.empty(0, A.dtype), s, np.empty(0, A.dtype)
    return u, s, vh


@_svd.vjp
def _(g, out0, out1, out2, full_matrices, compute_uv):
    if not compute_uv:
        raise RuntimeError("svd_backward: cannot compute the gradient of singular values without their vectors")
    g_u, g_s, g_vh = g
    u, s, vh = out0, out1, out2
    k = s.shape[-1]
    if full_matrices:
        u, vh = u.narrow(-1, 0, k), vh.narrow(-2, 0, k)
        g_u = None if g_u is None else g_u.narrow(-1, 0, k)
        g_vh = None if g_vh is None else g_vh.narrow(-2, 0, k)
    return _svd_backward(u, s, vh, g_u, g_s, g_vh)


def _svd_backward(u, s, vh, g_u, g_s, g_vh):
    if g_u is None and g_vh is None:
        if u.shape[-2] >= vh.shape[-1]:
            return u @ (g_s.unsqueeze(-1) * vh)
        return (u * g_s.unsqueeze(-2)) @ vh
    inner = _svd_inner(u, s, vh, g_u, g_vh)
    if g_s is not None:
        inner = inner + g_s.diag_embed()
    m, n, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    if m > k and g_u is not None:
        scaled = g_u / s.unsqueeze(-2)
        return (u @ inner + scaled - u @ (u.mH @ scaled)) @ vh
    if n > k and g_vh is not None:
        scaled = g_vh / s.unsqueeze(-1)
        return u @ (inner @ vh + scaled - (scaled @ vh.mH) @ vh)
    return u @ (inner @ vh)


def _svd_inner(u, s, vh, g_u, g_vh):
    """(skew(U^H g_U) / E) S + S (skew(V^H g_V) / E), E the differences of squares of singular values."""
    squares = s * s
    gaps = _with_unit_diagonal(squares.unsqueeze(-2) - squares.unsqueeze(-1))
    inner = None
    if g_u is not None:
        turn = _skew(u.mH @ g_u)
        inner = (turn / gaps) * s.unsqueeze(-2)
        if u.is_complex():
            inner = inner + (turn.diagonal(0, -2, -1) / (2 * s)).diag_embed()
    if g_vh is not None:
        turn = _skew(vh @ g_vh.mH)
        part = s.unsqueeze(-1) * (turn / gaps)
        if u.is_complex():  # V turns with U's phase: what U already gave is not counted again
            _check_phase(turn if g_u is None else turn + _skew(u.mH @ g_u), "svd_backward")
        inner = part if inner is None else inner + part
    elif u.is_complex():
        _check_phase(_skew(u.mH @ g_u), "svd_backward")
    return inner


def _skew(t):
    return t - t.mH


def _with_unit_diagonal(t):
    n = t.shape[-1]
    return t + t.new_ones(n).diag_embed()


def _check_phase(turn, name):
    """Raise where a loss depends on the phase of complex vectors, which a decomposition leaves open."""
    d = turn._array.diagonal(0, -2, -1).imag
    if d.size and not np.all(np.abs(d) <= 1e-2):
        what = "singular vectors" if name == "svd_backward" else "eigenvectors"
        raise RuntimeError(
            f"{name}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. The specified "
            "loss function depends on this quantity, so it is ill-defined."
        )


@composite(name="linalg_svd", function=False, out=True)
def svd(A, full_matrices=True, *, driver=None):
    """A = U diag(S) V^H with orthonormal columns in U and V, S descending; V comes as its adjoint Vh.

    Args:
        full_matrices: whether U and V are square.
        driver: only for CUDA; raises here.
        out: the three tensors to write the results to.
    Shape: (*, m, n) -> (*, m, m), (*, k), (*, n, n); without `full_matrices` (*, m, k), (*, k), (*, k, n); k = min(m,
        n)
    Raises:
        RuntimeError: A has less than two dimensions, as in `svd(ones(2))`.
        linalg.LinAlgError: a value is not finite, as in `svd(tensor([[float("nan")]]))`.

    >>> svd(tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    _no_driver("svd", driver)
    return _svd(A, full_matrices, True)


def _no_driver(name, driver):
    if driver is not None:
        raise RuntimeError(
            f"torch.linalg.{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


def wants_gradient(t: Tensor) -> bool:
    """Whether what is computed from `t` now is recorded."""
    return t.requires_grad and is_grad_enabled()


@composite(name="linalg_svdvals", function=False, out=True)
def svdvals(A, *, driver=None):
    """The singular values, descending.

    Args:
        driver: only for CUDA; raises here.
        out: the tensor to write the result to.
    Shape: (*, m, n) -> (*, min(m, n))
    Raises:
        RuntimeError: A has less than two dimensions, as in `svdvals(ones(2))`.

    >>> svdvals(tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    _no_driver("svd", driver)
    return _svd(A, False, wants_gradient(A))[1]


_SVD = named("svd", "U", "S", "V")


@composite(name="svd", method=True, out=True)
def legacy_svd(input, some=True, compute_uv=True):
    """input = U diag(S) V^H: `linalg.svd`, with V itself.

    Args:
        some: True for the reduced form.
        compute_uv: False gives zeros for U and V.
        out: the three tensors to write the results to.
    Shape: (*, m, n) -> (*, m, k), (*, k), (*, n, k); k = min(m, n); without `some` square U and V
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `svd(ones(2))`.

    >>> svd(tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    if not compute_uv:
        s = _svd(input, False, False)[1]
        *batch, m, n = input.shape
        return _SVD(input.new_zeros((*batch, m, m)), s, input.new_zeros((*batch, n, n)))
    u, s, vh = _svd(input, not some, True)
    return _SVD(u, s, vh.mH.contiguous())


# ---------------------------------------------------------------------------------------------- symmetric matrices


@primitive(
    name="linalg_eigh", public=False, outputs=2, columns=(1,), returns=named("linalg_eigh", "eigenvalues", "eigenvectors")
)  # fmt: skip
def _eigh(A, /, UPLO, compute_v):
    check_square(A, "linalg.eigh")
    if str(UPLO).upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_kernel(A, "linalg_eigh_cpu")
    try:
        if compute_v:
            return tuple(np.linalg.eigh(A, UPLO))
        return np.linalg.eigvalsh(A, UPLO), np.empty(0, A.dtype)
    except np.linalg.LinAlgError:
        if not np.isfinite(A).all():  # as torch's LAPACK, which does not look
            nan = A.dtype.type(np.nan)
            return np.full(A.shape[:-1], nan.real, real_type(A.dtype)), np.full(A.shape, nan)
        raise LinAlgError(
            "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned or has too "
            "many repeated eigenvalues."
        ) from None


@_eigh.vjp
def _(g, out0, out1, compute_v):
    if not compute_v:
        raise RuntimeError("linalg_eigh_backward: cannot compute the gradient of eigenvalues without their vectors")
    (g_l, g_v), values, v = g, out0, out1
    if g_v is None:
        return (v * g_l.unsqueeze(-2).to(v.dtype)) @ v.mH
    turn = v.mH @ g_v
    if v.is_complex():
        _check_phase(turn, "linalg_eigh_backward")
    gaps = _with_unit_diagonal(values.unsqueeze(-2) - values.unsqueeze(-1))
    inner = _skew(turn) * 0.5 / gaps
    if g_l is not None:
        inner = inner + g_l.to(v.dtype).diag_embed()
    return v @ (inner @ v.mH)


@composite(name="linalg_eigh", function=False, out=True)
def eigh(input, UPLO="L"):
    """A = V diag(L) V^H of symmetric or Hermitian matrices, L ascending; only one triangle is read.

    Args:
        UPLO: "L" or "U": which triangle.
        out: the two tensors to write the results to.
    Shape: (*, n, n) -> (*, n), (*, n, n)
    Raises:
        RuntimeError: the matrices are not square, as in `eigh(ones(2, 3))`.
        RuntimeError: `UPLO` is another letter, as in `eigh(eye(2), "X")`.

    >>> eigh(tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return _eigh(input, UPLO, True)


@composite(name="linalg_eigvalsh", function=False, out=True)
def eigvalsh(input, UPLO="L"):
    """The eigenvalues of symmetric or Hermitian matrices, ascending.

    Args:
        UPLO: "L" or "U": which triangle is read.
        out: the tensor to write the result to.
    Shape: (*, n, n) -> (*, n)
    Raises:
        RuntimeError: the matrices are not square, as in `eigvalsh(ones(2, 3))`.

    >>> eigvalsh(tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    return _eigh(input, UPLO, wants_gradient(input))[0]


# ---------------------------------------------------------------------------------------------- any square matrix


def _check_eig(a):
    if a.dtype.kind in "biu":
        raise RuntimeError(f"Unknown Complex ScalarType for {word(a)}")
    check_square(a, "linalg.eig")
    check_kernel(a, "linalg_eig_out_cpu")
    if not np.isfinite(a).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


@primitive(
    name="linalg_eig", public=False, outputs=2, columns=(1,), out=True, returns=named("linalg_eig", "eigenvalues", "eigenvectors")
)  # fmt: skip
def eig(input, /):
    """A = V diag(L) V^-1, complex, in no particular order; the columns of V have norm 1.

    Args:
        out: the two tensors to write the results to.
    Shape: (*, n, n) -> (*, n), (*, n, n)
    Raises:
        RuntimeError: the matrices are not square, as in `eig(ones(2, 3))`.

    >>> eig(tensor([[2.0, 0.0], [0.0, 2.0]])).eigenvalues
    tensor([2.+0.j, 2.+0.j])
    """
    _check_eig(input)
    d = complex_type(input.dtype)
    try:
        values, vectors = np.linalg.eig(input)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.eig: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
            "repeated eigenvalues."
        ) from None
    return values.astype(d), vectors.astype(d)


@eig.vjp
def _(g, out0, out1, input_dtype):
    (g_l, g_v), values, v = g, out0, out1
    if g_v is None:
        inner = g_l.diag_embed()
    else:
        vhg = v.mH @ g_v
        d = vhg.diagonal(0, -2, -1)
        _check_phase(vhg, "linalg_eig_backward")
        inner = vhg - (v.mH @ v) * d.real.to(v.dtype).unsqueeze(-2)
        gaps = _with_unit_diagonal((values.unsqueeze(-2) - values.unsqueeze(-1)).conj_physical())
        inner = inner / gaps
        inner = inner - inner.diagonal(0, -2, -1).diag_embed()
        if g_l is not None:
            inner = inner + g_l.diag_embed()
    result = solve(v.mH, inner @ v.mH)
    return result if input_dtype.is_complex else result.real


@composite(name="linalg_eigvals", function=False, out=True)
def eigvals(input):
    """The eigenvalues, complex, in no particular order.

    Args:
        out: the tensor to write the result to.
    Shape: (*, n, n) -> (*, n)
    Raises:
        RuntimeError: the matrices are not square, as in `eigvals(ones(2, 3))`.

    >>> eigvals(2 * eye(2))
    tensor([2.+0.j, 2.+0.j])
    """
    if wants_gradient(input):
        return eig(input)[0]
    return _eigvals(input)


@primitive(name="linalg_eigvals", public=False, differentiable=False)
def _eigvals(A, /):
    _check_eig(A)
    return np.linalg.eigvals(A).astype(complex_type(A.dtype))
