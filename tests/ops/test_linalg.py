"""Linear algebra: results by the equations that define them and NumPy, gradients by differences, torch's errors."""

import math
import re
import zlib

import numpy as np
import pytest

import rushlight as torch
from rushlight import linalg as L
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.core.warn import Once
from rushlight.ops.linalg import lu

RNG = np.random.default_rng(3)
TYPES = [np.float32, np.float64, np.complex64, np.complex128]
SHAPES = [(1, 1), (3, 3), (4, 2), (2, 4), (2, 3, 3), (2, 1, 5, 3), (0, 3), (3, 0), (0, 2, 2)]
SQUARES = [(0, 0), (1, 1), (4, 4), (2, 3, 3), (0, 2, 2), (40, 40)]


def _draw(shape, kind=np.float64):
    a = RNG.standard_normal(shape)
    if np.dtype(kind).kind == "c":
        a = a + 1j * RNG.standard_normal(shape)
    return a.astype(kind)


def _definite(shape, kind=np.float64):
    a = _draw(shape, kind)
    return (a @ _h(a) + shape[-1] * np.eye(shape[-1])).astype(kind)


def _h(a):
    return a.swapaxes(-2, -1).conj()


def _t(a):
    return torch.tensor(a)


def _near(actual, expected, kind=None):
    actual = actual.numpy() if isinstance(actual, torch.Tensor) else actual
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    loose = actual.dtype.itemsize <= (8 if actual.dtype.kind == "c" else 4)
    scale = max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(actual, expected, rtol=2e-4 if loose else 1e-9, atol=(1e-4 if loose else 1e-10) * scale)
    if kind is not None:
        assert actual.dtype == np.dtype(kind)


# ---------------------------------------------------------------------------------------------- decompositions


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rectangular_decompositions(shape, kind):
    a = _draw(shape, kind)
    m, n = shape[-2:]
    k = min(m, n)
    for mode, width in (("reduced", k), ("complete", m)):
        q, r = L.qr(_t(a), mode)
        assert q.shape == (*shape[:-1], width) and r.shape == (*shape[:-2], width, n)
        _near(q @ r, a, kind)
        _near(q.mH @ q, np.broadcast_to(np.eye(width), (*shape[:-2], width, width)))
        _near(r, np.triu(r.numpy()))
    _near(L.qr(_t(a), "r").R.abs(), np.abs(L.qr(_t(a)).R.numpy()))
    for full in (True, False):
        u, s, vh = L.svd(_t(a), full_matrices=full)
        assert u.shape[-1] == (m if full else k) and vh.shape[-2] == (n if full else k)
        _near((u[..., :k] * s.to(u.dtype).unsqueeze(-2)) @ vh[..., :k, :], a, kind)
        _near(u.mH @ u, np.broadcast_to(np.eye(u.shape[-1]), (*shape[:-2], u.shape[-1], u.shape[-1])))
    _near(L.svdvals(_t(a)), s.numpy())
    p, low, up = L.lu(_t(a))
    _near(p @ low @ up, a, kind)
    _near(low, np.tril(low.numpy(), -1) + np.eye(m, k))
    for x, y in zip(torch.lu_unpack(*L.lu_factor_ex(_t(a))[:2]), (p, low, up), strict=True):
        _near(x, y.numpy())


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_square_decompositions(shape, kind):
    a = _draw(shape, kind)
    spd = _definite(shape, kind)
    for upper in (False, True):
        low = L.cholesky(_t(spd), upper=upper)
        _near(low.mH @ low if upper else low @ low.mH, spd, kind)
        _near(torch.cholesky_inverse(low, upper) @ _t(spd), np.broadcast_to(np.eye(shape[-1]), shape))
        _near(_t(spd) @ torch.cholesky_solve(_t(a), low, upper), a)
    for triangle in "LU":
        read = np.tril(a) if triangle == "L" else np.triu(a)
        symmetric = read + _h(np.tril(a, -1) if triangle == "L" else np.triu(a, 1))
        i = range(shape[-1])
        symmetric[..., i, i] = symmetric[..., i, i].real
        values, v = L.eigh(_t(a), triangle)
        _near((v * values.to(v.dtype).unsqueeze(-2)) @ v.mH, symmetric, kind)
        _near(L.eigvalsh(_t(a), triangle), np.linalg.eigvalsh(symmetric))
    values, v = L.eig(_t(a))
    _near(_t(a).to(v.dtype) @ v, (v * values.unsqueeze(-2)).numpy())
    _near(L.eigvals(_t(a)).abs().sum(-1), values.abs().sum(-1).numpy())


def test_a_rank_one_update_of_many_panels():
    """Larger than the panel of the LU factorization, and with every row exchanged."""
    a = np.flip(np.eye(90), 0) * 3 + RNG.standard_normal((90, 90)) * 0.1
    p, low, up = L.lu(_t(a))
    _near(p @ low @ up, a)
    assert abs(low.numpy()).max() <= 1
    _near(L.det(_t(a)) / np.linalg.det(a), 1.0)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("kind", [np.float64, np.complex128])
def test_ldl(kind, hermitian):
    for n in (1, 2, 5, 9):
        a, b = _draw((3, n, n), kind), _draw((3, n, 2), kind)
        a = a + (_h(a) if hermitian else a.swapaxes(-2, -1))
        a[0][range(n), range(n)] = 0  # pivots of 2 x 2
        if n == 1:
            a[0] = 1
        ld, pivots = L.ldl_factor(_t(a), hermitian=hermitian)
        _near(_t(a) @ L.ldl_solve(ld, pivots, _t(b), hermitian=hermitian), b)
    assert (pivots < 0).any()
    assert L.ldl_factor_ex(torch.zeros(2, 2)).info.item() == 1


# ---------------------------------------------------------------------------------------------- numbers of a matrix


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", SQUARES[:5], ids=str)
def test_determinants(shape, kind):
    a = _draw(shape, kind)
    expected = np.linalg.det(a.astype(np.result_type(kind, np.float64)))
    _near(L.det(_t(a)), expected, kind)
    _near(torch.det(_t(a)), expected)
    sign, log = L.slogdet(_t(a))
    _near(sign * log.exp().to(sign.dtype), expected)
    if np.dtype(kind).kind != "c":
        _near(torch.logdet(_t(a)), np.where(expected > 0, np.log(np.abs(expected)), np.nan))


def test_determinants_of_small_integers_are_exact():
    assert L.det(torch.tensor([[1.0, 2], [3, 4]])).item() == -2
    assert L.det(torch.arange(1.0, 10).reshape(3, 3)).item() == 0
    assert torch.logdet(torch.tensor([[1.0, 2], [2, 4]])).item() == -math.inf
    assert math.isnan(torch.logdet(torch.tensor([[0.0, 1], [1, 0]])).item())


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
@pytest.mark.parametrize("dim", [(-2, -1), (0, 2), (2, 0)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_matrix_norms(ord, dim, keepdim):
    a = _draw((3, 4, 5))
    _near(L.matrix_norm(_t(a), ord, dim, keepdim), np.linalg.norm(a, ord, dim, keepdim))
    _near(L.norm(_t(a), ord, dim, keepdim), np.linalg.norm(a, ord, dim, keepdim))
    _near(L.norm(_t(a[0]), ord), np.linalg.norm(a[0], ord))


@pytest.mark.parametrize("ord", [0, 0.5, 1, 2, 3, -1, -2, math.inf, -math.inf])
def test_vector_norms(ord):
    a = _draw((3, 4))
    _near(L.vector_norm(_t(a), ord, dim=1), np.linalg.norm(a, ord, 1))
    _near(L.vector_norm(_t(a), ord), np.linalg.norm(a.reshape(-1), ord))
    _near(L.norm(_t(a[0]), ord), np.linalg.norm(a[0], ord))
    assert L.vector_norm(_t(a), ord, dtype=torch.float64).dtype == torch.float64


@pytest.mark.parametrize("p", [None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_condition(p):
    a = _draw((2, 3, 3))
    _near(L.cond(_t(a), p), np.linalg.cond(a, p))
    assert p is None or p in ("nuc", 2, -2) or L.cond(torch.tensor([[1.0, 2], [2, 4]]), p).isinf()


def test_rank():
    a = _draw((2, 4, 2)) @ _draw((2, 2, 5))
    assert L.matrix_rank(_t(a)).tolist() == [2, 2]
    assert L.matrix_rank(_t(a), atol=1e9).tolist() == [0, 0]
    assert L.matrix_rank(torch.diag(torch.tensor([4.0, 1.0, 0.1])), rtol=0.2).item() == 2
    assert L.matrix_rank(torch.eye(3), 0.5, hermitian=True).item() == 3
    assert L.matrix_rank(torch.eye(2), atol=torch.tensor([0.1, 10.0])).tolist() == [2, 0]
    assert L.matrix_rank(torch.zeros(2, 0, 3)).tolist() == [0, 0]


# ---------------------------------------------------------------------------------------------- systems

PAIRS = [
    ((3, 3), (3, 2)),
    ((3, 3), (3,)),
    ((2, 3, 3), (2, 3)),
    ((2, 3, 3), (3, 4)),
    ((3, 3), (4, 3, 2)),
    ((0, 0), (0, 2)),
]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("shape", "right"), PAIRS, ids=str)
def test_solve(shape, right, kind):
    a, b = _definite(shape, kind), _draw(right, kind)
    x = L.solve(_t(a), _t(b))
    vector = len(right) == 1 or right == shape[:-1]
    _near((_t(a) @ x.unsqueeze(-1)).squeeze(-1) if vector else _t(a) @ x, np.broadcast_to(b, x.shape), kind)
    if not vector:
        y = L.solve(_t(a), _t(_h(b).copy()), left=False)
        _near(y @ _t(a), np.broadcast_to(_h(b), y.shape), kind)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems(upper, unit, kind):
    a, b = _draw((2, 4, 4), kind), _draw((4, 3), kind)
    a[..., range(4), range(4)] += 3
    read = np.triu(a) if upper else np.tril(a)
    if unit:
        read[..., range(4), range(4)] = 1
    x = L.solve_triangular(_t(a), _t(b), upper=upper, unitriangular=unit)
    _near(_t(read) @ x, np.broadcast_to(b, x.shape), kind)
    y = L.solve_triangular(_t(a), _t(b.T.copy()), upper=upper, left=False, unitriangular=unit)
    _near(y @ _t(read), np.broadcast_to(b.T, y.shape), kind)
    z = torch.triangular_solve(_t(b), _t(a), upper, True, unit).solution
    _near(_t(read).mT @ z, np.broadcast_to(b, z.shape), kind)


def test_a_zero_on_the_diagonal_of_a_triangle():
    x = L.solve_triangular(torch.zeros(2, 2), torch.eye(2), upper=True)
    np.testing.assert_array_equal(x.numpy(), [[np.nan, np.nan], [np.nan, np.inf]])
    x = L.solve_triangular(torch.tensor([[2.0, 0], [1, 0]]), torch.ones(2, 1), upper=False)
    np.testing.assert_array_equal(x.numpy(), [[0.5], [np.inf]])


ORDERS = {
    "rows": lambda a: a,
    "columns": lambda a: np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2),
    "part of rows": lambda a: np.concatenate([a, a], -1)[..., : a.shape[-1]],
    "part of columns": lambda a: (
        np.concatenate([a, a], -2).swapaxes(-1, -2).copy().swapaxes(-1, -2)[..., : a.shape[-1], :]
    ),
    "each second": lambda a: np.repeat(np.repeat(a, 2, -1), 2, -2)[..., ::2, ::2],
    "backwards": lambda a: a[..., ::-1, ::-1].copy()[..., ::-1, ::-1],
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_triangular_systems_in_each_order_of_memory(kind, order, batch):
    """By BLAS's own substitution, which is told where the numbers lie, as by NumPy's general solver."""
    n = 9
    a, b = _draw((*batch, n, n), kind) / n, _draw((*batch, n, 3), kind)
    a[..., range(n), range(n)] += 2
    a = ORDERS[order](a)
    for upper in (False, True):
        for unit in (False, True):
            read = np.triu(a) if upper else np.tril(a)
            if unit:
                read[..., range(n), range(n)] = 1
            x = lu.substitute(a, b, upper, unit)
            _near(read @ x, b, kind)
            if (quick := lu._by_blas(a, b, upper, unit)) is not None:
                np.testing.assert_array_equal(quick, x)
    assert lu._by_blas(np.where(np.eye(n) > 0, 0, a).astype(kind), b, True, False) is None
    assert lu._by_blas(np.where(np.eye(n) > 0, np.nan, a).astype(kind), b, True, True) is None


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_systems_by_lu_factors(left, adjoint, kind):
    a, b = _draw((2, 5, 5), kind), _draw((5, 3) if left else (3, 5), kind)
    x = L.lu_solve(*L.lu_factor(_t(a)), _t(b), left=left, adjoint=adjoint)
    a = _t(_h(a).copy() if adjoint else a)
    _near(a @ x if left else x @ a, np.broadcast_to(b, x.shape), kind)


@pytest.mark.parametrize("kind", TYPES)
def test_inverses(kind):
    a = _draw((2, 4, 4), kind)
    for inverse in (L.inv, torch.inverse, lambda t: L.inv_ex(t).inverse, lambda t: L.matrix_power(t, -1), L.pinv):
        _near(_t(a) @ inverse(_t(a)), np.broadcast_to(np.eye(4), a.shape), kind)
    wide = _draw((2, 3, 5), kind)
    p = L.pinv(_t(wide))
    _near(_t(wide) @ p @ _t(wide), wide, kind)
    _near((p @ _t(wide)).mH.resolve_conj(), (p @ _t(wide)).numpy())
    _near(L.pinv(_t(a + _h(a)), hermitian=True), np.linalg.pinv(a + _h(a)), kind)
    assert L.pinv(torch.zeros(0, 3)).shape == (3, 0)
    t = _draw((2, 3, 6))
    _near(L.tensorinv(_t(t), ind=2), np.linalg.tensorinv(t, 2))
    _near(L.tensorsolve(_t(t), _t(t[..., 0].copy())), np.linalg.tensorsolve(t, t[..., 0]))


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
def test_least_squares(driver):
    for shape in ((5, 3), (3, 5), (2, 4, 4)):
        a, b = _draw(shape), _draw((*shape[:-1], 2))
        x, residuals, rank, s = L.lstsq(_t(a), _t(b), driver=driver)
        _near(x, np.linalg.pinv(a) @ b)
        full = shape == (5, 3) and driver not in (None, "gelsy")
        _near(residuals, ((a @ x.numpy() - b) ** 2).sum(-2) if full else np.empty(0))
        assert rank.shape == ((0,) if driver == "gels" else shape[:-2])
        assert s.shape == ((*shape[:-2], min(shape[-2:])) if driver in ("gelsd", "gelss") else (0,))
    _near(L.lstsq(_t(_draw((3, 2))), torch.zeros(3, dtype=torch.float64)).solution, np.zeros(2))


# ---------------------------------------------------------------------------------------------- functions and products


@pytest.mark.parametrize("kind", TYPES)
def test_matrix_exponential(kind):
    values, v = np.diag([0.1, -2.0, 30.0]).astype(kind), _draw((3, 3), kind)
    expected = v @ np.diag(np.exp([0.1, -2.0, 30.0])) @ np.linalg.inv(v)
    _near(torch.matrix_exp(_t(v @ values @ np.linalg.inv(v))), expected, kind)
    _near(torch.matrix_exp(_t(np.array([[0, 1], [0, 0]], kind))), [[1, 1], [0, 1]])
    assert torch.matrix_exp(torch.zeros(2, 0, 0)).shape == (2, 0, 0)


def test_products():
    a, b, c = _draw((4, 2)), _draw((2, 7)), _draw((7, 3))
    _near(L.multi_dot([_t(a), _t(b), _t(c)]), a @ b @ c)
    _near(L.multi_dot([_t(a[:, 0].copy()), _t(a), _t(b[:, 0].copy())]), a[:, 0] @ a @ b[:, 0])
    _near(L.matrix_power(_t(c[:3]), 5), np.linalg.matrix_power(c[:3], 5))
    assert L.matrix_power(torch.tensor([[1, 2], [3, 4]]), 2).tolist() == [[7, 10], [15, 22]]
    x, y = _draw((2, 3), np.complex128), _draw((3,), np.complex128)
    _near(L.vecdot(_t(x), _t(y)), (x.conj() * y).sum(-1))
    _near(L.cross(_t(a[:3].T.copy()), _t(a[1:].T.copy())), np.cross(a[:3].T, a[1:].T))
    _near(L.vander(_t(y), N=4), np.vander(y, 4, increasing=True))
    _near(L.diagonal(_t(c), offset=1), c.diagonal(1))


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (2, 4, 3)], ids=str)
def test_householder_products(shape, kind):
    a, b = _draw(shape, kind), _draw((*shape[:-1], 2), kind)
    h, tau = torch.geqrf(_t(a))
    q, full = L.qr(_t(a)).Q, L.qr(_t(a), "complete").Q
    _near(L.householder_product(h, tau), q.numpy())
    _near(torch.orgqr(h, tau) @ h[..., :3, :].triu(), a)
    _near(torch.ormqr(h, tau, _t(b)), (full @ _t(b)).numpy())
    _near(torch.ormqr(h, tau, _t(b), transpose=True), (full.mH @ _t(b)).numpy())
    _near(torch.ormqr(h, tau, _t(b).mT, left=False), (_t(b).mT @ full).numpy())


# ---------------------------------------------------------------------------------------------- gradients


def _symmetric(x):
    return x + x.mH


def _positive(x):
    return x @ x.mH + 3 * torch.eye(x.shape[-1], dtype=x.dtype)


def _of_svd(x):
    u, s, vh = L.svd(x, full_matrices=False)
    return (u * s.exp().to(u.dtype).unsqueeze(-2)) @ vh


def _of_eigh(x):
    values, v = L.eigh(_symmetric(x))
    return (v * values.exp().to(v.dtype).unsqueeze(-2)) @ v.mH


def _of_eig(x):
    values, v = L.eig(x)
    return (v * (values**3).unsqueeze(-2)) @ L.inv(v)


# (name, function, shapes): every rule, tall, wide and square
GRADIENTS = [
    ("qr", lambda x: tuple(L.qr(x)), [(3, 3)]), ("qr tall", lambda x: tuple(L.qr(x)), [(4, 2)]),
    ("qr wide", lambda x: tuple(L.qr(x)), [(2, 3, 4)]), ("qr complete", lambda x: L.qr(x, "complete").Q, [(2, 4)]),
    ("cholesky", lambda x: L.cholesky(_positive(x)), [(2, 3, 3)]),
    ("cholesky upper", lambda x: L.cholesky(_positive(x), upper=True), [(3, 3)]),
    ("svd", _of_svd, [(3, 3)]), ("svd tall", _of_svd, [(4, 2)]), ("svd wide", _of_svd, [(2, 2, 3)]),
    ("svdvals", L.svdvals, [(3, 2)]), ("eigh", _of_eigh, [(3, 3)]), ("eigvalsh", lambda x: L.eigvalsh(_symmetric(x)), [(2, 2, 2)]),
    ("eig", _of_eig, [(3, 3)]), ("eigvals", L.eigvals, [(2, 3, 3)]), ("det", L.det, [(2, 3, 3)]), ("slogdet", lambda x: L.slogdet(x)[1], [(3, 3)]),
    ("lu", lambda x: L.lu(x)[1:], [(3, 3)]), ("lu tall", lambda x: L.lu(x)[1:], [(4, 2)]), ("lu wide", lambda x: L.lu(x)[1:], [(2, 4)]),
    ("lu_factor", lambda x: L.lu_factor(x).LU, [(2, 3, 4)]), ("lu_unpack", lambda x: torch.lu_unpack(*L.lu_factor(x))[1:], [(3, 2)]),
    ("inv", L.inv, [(2, 2, 2)]), ("solve", L.solve, [(3, 3), (3, 2)]), ("solve vectors", L.solve, [(2, 3, 3), (2, 3)]),
    ("solve right", lambda a, b: L.solve(a, b, left=False), [(3, 3), (2, 2, 3)]),
    ("triangular", lambda a, b: L.solve_triangular(a, b, upper=True), [(3, 3), (2, 3, 2)]),
    ("triangular right", lambda a, b: L.solve_triangular(a, b, upper=False, left=False), [(3, 3), (2, 3)]),
    ("unitriangular", lambda a, b: L.solve_triangular(a, b, upper=False, unitriangular=True), [(3, 3), (3, 2)]),
    ("lu_solve", lambda a, b: L.lu_solve(*L.lu_factor(a), b), [(3, 3), (3, 2)]),
    ("lu_solve adjoint", lambda a, b: L.lu_solve(*L.lu_factor(a), b, adjoint=True), [(3, 3), (3, 2)]),
    ("lu_solve right", lambda a, b: L.lu_solve(*L.lu_factor(a), b, left=False), [(3, 3), (2, 3)]),
    ("lu_solve right adjoint", lambda a, b: L.lu_solve(*L.lu_factor(a), b, left=False, adjoint=True), [(3, 3), (2, 3)]),
    ("cholesky_solve", lambda a, b: torch.cholesky_solve(b, L.cholesky(_positive(a))), [(3, 3), (3, 2)]),
    ("cholesky_inverse", lambda a: torch.cholesky_inverse(L.cholesky(_positive(a), upper=True), True), [(3, 3)]),
    ("pinv", L.pinv, [(3, 2)]), ("pinv wide", L.pinv, [(2, 2, 3)]), ("lstsq", lambda a, b: L.lstsq(a, b)[0], [(4, 2), (4, 2)]),
    ("lstsq residuals", lambda a, b: L.lstsq(a, b, driver="gelsd")[1], [(4, 2), (4, 2)]),
    ("lstsq vectors", lambda a, b: L.lstsq(a, b)[0], [(2, 3, 3), (2, 3)]), ("exp", torch.matrix_exp, [(2, 2, 2)]),
    ("householder", L.householder_product, [(4, 3), (2,)]), ("ormqr", torch.ormqr, [(4, 2), (2,), (4, 2)]),
    ("ormqr right", lambda a, t, x: torch.ormqr(a, t, x, left=False, transpose=True), [(3, 2), (2,), (2, 3)]),
    ("nuclear", lambda x: L.matrix_norm(x, "nuc"), [(2, 3)]), ("cond", L.cond, [(3, 3)]), ("2-norm", lambda x: L.norm(x, 2), [(2, 3)]),
    ("tensorsolve", L.tensorsolve, [(2, 2, 4), (2, 2)]), ("multi_dot", lambda a, b: L.multi_dot([a, b, a]), [(2, 3), (3, 2)]),
]  # fmt: skip


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
@pytest.mark.parametrize(("f", "shapes"), [row[1:] for row in GRADIENTS], ids=[row[0] for row in GRADIENTS])
def test_gradients(f, shapes, kind):
    rng = np.random.default_rng(5)
    leaves = []
    for shape in shapes:
        a = rng.standard_normal(shape)
        if np.dtype(kind).kind == "c":
            a = a + 1j * rng.standard_normal(shape)
        leaves.append(torch.tensor(a, requires_grad=True))
    assert gradcheck(f, tuple(leaves))
    assert gradgradcheck(f, tuple(leaves))


def test_the_gradient_of_a_singular_determinant():
    x = torch.tensor([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(x.det(), x, create_graph=True)
    _near(g.detach(), [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]])
    x.det().backward()
    _near(x.grad, [[0, 0, 0]] * 3)  # torch 2.13 multiplies by the determinant
    y = torch.stack([x, x + torch.eye(3)])  # each matrix of a batch by itself
    (g,) = torch.autograd.grad(y.det().sum(), x, create_graph=True)
    _near(g.detach(), [[9, 8, -13], [10, -13, 4], [-9, 6, 1]])
    ones = torch.ones(3, 3, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(torch.stack([ones, ones + torch.eye(3)]).det().sum(), ones, create_graph=True)
    (h,) = torch.autograd.grad((g * torch.linspace(0.5, 1.5, 9).reshape(3, 3)).sum(), ones)
    _near(h, [[2.5, -0.875, -1.25], [-0.625, 2.0, -1.375], [-0.75, -1.125, 1.5]])
    one = torch.zeros(1, 1, requires_grad=True)
    one.det().backward()
    assert one.grad.item() == 1
    assert gradcheck(L.det, (torch.zeros(2, 2, dtype=torch.float64, requires_grad=True),))


def test_what_has_no_gradient_says_so():
    x = torch.ones(3, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="depends on Q, which is not computed when mode='r'"):
        L.qr(x, "r").R.sum().backward()
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete' and nrows > ncols"):
        L.qr(x, "complete").Q.sum().backward()
    z = torch.tensor(_draw((3, 3), np.complex128), requires_grad=True)
    with pytest.raises(RuntimeError, match="singular vectors in the complex case are specified up to multiplication"):
        L.svd(z).U.real.sum().backward()


def test_names_in_the_graph():
    x = torch.eye(2, requires_grad=True)
    names = {
        "LinalgQrBackward0": L.qr(x).Q, "LinalgSvdBackward0": L.svdvals(x), "LinalgEighBackward0": L.eigvalsh(x),
        "LinalgInvExBackward0": x.inverse(), "LinalgSolveExBackward0": L.solve(x, x), "LinalgDetBackward0": x.det(),
        "LinalgCholeskyExBackward0": L.cholesky(x), "LinalgSlogdetBackward0": x.slogdet()[1], "LinalgPinvBackward0": x.pinverse(),
        "LinalgLuFactorExBackward0": L.lu_factor(x)[0], "LinalgMatrixExpBackward0": x.matrix_exp(),
    }  # fmt: skip
    assert {k: t.grad_fn.name() for k, t in names.items()} == {k: k for k in names}


# ---------------------------------------------------------------------------------------------- torch's surface


def test_named_results():
    q, r = L.qr(torch.eye(2))
    result = L.qr(torch.eye(2))
    assert (
        repr(result).startswith("torch.return_types.linalg_qr(\nQ=tensor(")
        and (q == result.Q).all()
        and (r == result.R).all()
    )
    fields = {
        "U S Vh": L.svd(torch.eye(2)), "U S V": torch.svd(torch.eye(2)), "eigenvalues eigenvectors": L.eigh(torch.eye(2)),
        "L info": L.cholesky_ex(torch.eye(2)), "sign logabsdet": torch.slogdet(torch.eye(2)), "P L U": L.lu(torch.eye(2)),
        "LU pivots": L.lu_factor(torch.eye(2)), "solution residuals rank singular_values": L.lstsq(torch.eye(2), torch.eye(2)),
        "inverse info": L.inv_ex(torch.eye(2)), "result info": L.solve_ex(torch.eye(2), torch.eye(2)),
    }  # fmt: skip
    assert {k: " ".join(t._fields) for k, t in fields.items()} == {k: k for k in fields}


def test_out():
    a, out = _definite((3, 3)), torch.empty(3, 3, dtype=torch.float64)
    assert L.inv(_t(a), out=out) is out
    _near(out, np.linalg.inv(a))
    values, vectors = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
    result = L.eigh(_t(a), out=(values, vectors))
    assert result.eigenvalues is values
    _near(values, np.linalg.eigvalsh(a))


def test_the_partial_results_of_failed_factorizations():
    batch = torch.stack([torch.eye(2), torch.tensor([[1.0, 2], [2, 1]])])
    low, info = L.cholesky_ex(batch)
    assert info.tolist() == [0, 2] and info.dtype == torch.int32 and low[1].tolist() == [[1, 0], [2, -3]]
    inverse, info = L.inv_ex(torch.tensor([[1.0, 2], [2, 4]]))
    assert info.item() == 2 and inverse.isinf().all()
    assert L.solve_ex(torch.zeros(2, 2), torch.eye(2)).info.item() == 1
    assert L.lu_factor_ex(torch.zeros(2, 2)).info.item() == 1


EYE, WIDE, VECTOR, INTEGERS = torch.eye(2), torch.ones(2, 3), torch.ones(3), torch.ones(2, 2, dtype=torch.int64)
HALF, DOUBLE, SINGULAR = EYE.half(), EYE.double(), torch.tensor([[1.0, 2], [2, 4]])
INDEFINITE, NAN = torch.tensor([[1.0, 2], [2, 1]]), torch.full((2, 2), math.nan)
BATCH, PIVOTS = torch.stack([EYE, SINGULAR]), torch.tensor([1, 2], dtype=torch.int32)
FAILURES = [
    (L.cholesky, (INDEFINITE,), L.LinAlgError, "linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the leading minor of order 2 is not positive-definite)."),
    (L.cholesky, (torch.stack([EYE, INDEFINITE]),), L.LinAlgError, "linalg.cholesky: (Batch element 1): The factorization could not"),
    (L.cholesky, (NAN,), L.LinAlgError, "order 1 is not positive-definite"),
    (torch.cholesky, (WIDE,), RuntimeError, "cholesky: A must be batches of square matrices, but they are 2 by 3 matrices"),
    (L.cholesky, (HALF,), NotImplementedError, "\"cholesky_cpu\" not implemented for 'Half'"),
    (L.inv, (SINGULAR,), L.LinAlgError, "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular."),
    (L.inv, (BATCH,), L.LinAlgError, "linalg.inv: (Batch element 1): The diagonal element 2 is zero"),
    (L.inv, (INTEGERS,), RuntimeError, "linalg.inv: Expected a floating point or complex tensor as input. Got Long"),
    (L.inv, (HALF,), RuntimeError, "linalg.inv: Low precision dtypes not supported. Got Half"),
    (L.inv, (WIDE,), RuntimeError, "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices"),
    (L.inv, (VECTOR,), RuntimeError, "linalg.inv: The input tensor A must have at least 2 dimensions."),
    (torch.cholesky_inverse, (EYE * 0,), L.LinAlgError, "cholesky_inverse: The diagonal element 1 is zero"),
    (L.tensorinv, (SINGULAR, 1), L.LinAlgError, "inv: The diagonal element 2 is zero"),
    (L.solve, (SINGULAR, EYE), L.LinAlgError, "torch.linalg.solve: The solver failed because the input matrix is singular."),
    (L.solve, (BATCH, EYE), L.LinAlgError, "torch.linalg.solve: (Batch element 1): The solver failed"),
    (L.solve, (EYE, DOUBLE), RuntimeError, "linalg.solve: Expected A and B to have the same dtype, but found A of type Float and B of type Double instead"),
    (L.solve, (EYE, VECTOR), RuntimeError, "linalg.solve: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x1)"),
    (L.det, (VECTOR,), RuntimeError, "linalg.det: The input tensor A must have at least 2 dimensions."),
    (L.slogdet, (HALF,), RuntimeError, "linalg.slogdet: Low precision dtypes not supported. Got Half"),
    (torch.logdet, (INTEGERS,), RuntimeError, "logdet: Expected a floating point or complex tensor as input. Got Long"),
    (L.qr, (WIDE, "x"), RuntimeError, "qr received unrecognized mode 'x' but expected one of 'reduced' (default), 'r', or 'complete'"),
    (L.qr, (INTEGERS,), RuntimeError, "linalg.qr: Expected a floating point or complex tensor as input. Got Long"),
    (L.svd, (NAN,), L.LinAlgError, "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."),
    (L.eigh, (EYE, "X"), RuntimeError, "Expected UPLO argument to be 'L' or 'U', but got X"),
    (L.eigh, (INTEGERS,), NotImplementedError, "\"linalg_eigh_cpu\" not implemented for 'Long'"),
    (L.eig, (NAN,), RuntimeError, "torch.linalg.eig: input tensor should not contain infs or NaNs."),
    (torch.triangular_solve, (EYE, WIDE), RuntimeError, "A must be batches of square matrices, but they are 2 by 3 matrices"),
    (L.lstsq, (EYE, VECTOR), RuntimeError, "torch.linalg.lstsq: input.size(-2) should match other.size(-1)"),
    (L.pinv, (VECTOR,), RuntimeError, "linalg.pinv(Float{[3]}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types"),
    (L.matrix_exp, (WIDE,), RuntimeError, "linalg.matrix_exp: A must be batches of square matrices"),
    (L.multi_dot, ([WIDE],), RuntimeError, "multi_dot(): expected at least 2 tensors but got 1"),
    (L.cond, (EYE, 3), RuntimeError, "linalg.cond got an invalid norm type: 3"),
    (L.vecdot, (VECTOR, VECTOR.double()), RuntimeError, "linalg.vecdot: Expected x and y to have the same dtype"),
    (L.cross, (EYE, EYE), RuntimeError, "linalg.cross: inputs dimension -1 must have length 3. Got 2 and 2"),
    (lambda x, n: L.vander(x, N=n), (VECTOR, 0), RuntimeError, "N must be greater than 1."),
    (L.householder_product, (WIDE, torch.ones(2)), RuntimeError, "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"),
    (L.lu_factor, (BATCH,), RuntimeError, "torch.linalg.lu_factor: (Batch element 1): U[2,2] is zero and using it on lu_solve would result in a division by zero."),
    (torch.lu, (EYE, False), RuntimeError, "linalg.lu_factor: LU without pivoting is not implemented on the CPU"),
    (L.lu_solve, (EYE, PIVOTS.long(), EYE), RuntimeError, "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32"),
    (L.norm, (BATCH, 2), RuntimeError, "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got 3D."),
    (L.matrix_norm, (WIDE, 0), RuntimeError, "linalg.matrix_norm: Order 0 not supported."),
    (L.matrix_norm, (HALF, 2), RuntimeError, "linalg.matrix_norm: Low precision dtypes not supported. Got Half"),
    (L.vector_norm, (torch.ones(0), math.inf), RuntimeError, "linalg.vector_norm cannot compute the inf norm on an empty tensor because the operation does not have an identity"),
    (torch.geqrf, (VECTOR,), RuntimeError, "torch.geqrf: input must have at least 2 dimensions."),
    (torch.ormqr, (EYE, VECTOR, EYE), RuntimeError, "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "args", "error", "words"), FAILURES, ids=[row[3][:40] for row in FAILURES])
def test_errors(f, args, error, words):
    with pytest.raises(error, match=re.escape(words)):
        f(*args)


def test_linalg_error_is_a_runtime_error():
    assert issubclass(L.LinAlgError, RuntimeError) and torch.linalg is L


@pytest.mark.parametrize("p", ["fro", 1, -1, math.inf, -math.inf, 2, None])
def test_condition_of_zeros(p):
    batch = torch.stack([torch.zeros(2, 2), torch.eye(2)])
    assert torch.linalg.cond(torch.zeros(2, 2), p).item() == math.inf or p in (2, None)
    if p not in (2, None):
        assert torch.linalg.cond(batch, p)[0].item() == math.inf
    assert math.isfinite(torch.linalg.cond(batch, p)[1].item())


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (2, 40, 40), (33, 70), (70, 33), (300, 3, 3)])
def test_factors_of_lapack_and_of_numpys_steps(monkeypatch, shape, kind):
    rng = np.random.default_rng(0)
    a = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype("complex128")
    a = (a if kind[0] == "c" else a.real).astype(kind)
    a[..., 0] *= 0 if shape[-1] == 5 else 1  # singular
    found = lu.lu_arrays(a)
    monkeypatch.setattr(lu, "_getrf", lambda a: None)
    expected = lu.lu_arrays(a)
    tolerance = 1e-10 if kind in ("float64", "complex128") else 3e-4
    np.testing.assert_allclose(found[0], expected[0], tolerance, tolerance)
    assert found[0].flags.c_contiguous and found[0].dtype == a.dtype
    for x, y in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_array_equal(x, y)
        assert x.dtype == y.dtype == np.int32


def test_factors_of_one_matrix_are_lapacks():
    """3,900 us for 100 x 100 otherwise."""
    if lu._function(np.dtype(np.float32), "getrf", 6) is None:
        pytest.skip("NumPy has another BLAS")
    assert lu._getrf(np.ones((1, 9, 9), np.float32)) is not None
    assert lu._getrf(np.ones((100, 9, 9), np.float32)) is None and lu._getrf(np.ones((1, 9, 9), np.int64)) is None


# zlib.crc32 of the bytes of LU and pivots by torch 2.13 on a CPU, for the matrices of the test
LU_OF_SMALL = {
    ("float32", 2, 2): 1868021390,
    ("float32", 3, 3): 4177537310,
    ("float32", 4, 4): 4119670100,
    ("float32", 5, 5): 2223445033,
    ("float32", 9, 9): 4267966437,
    ("float32", 16, 16): 4164043481,
    ("float32", 3, 7): 1770952970,
    ("float32", 7, 3): 2411886251,
    ("float32", 16, 4): 1752375263,
    ("float64", 2, 2): 953788979,
    ("float64", 3, 3): 458672010,
    ("float64", 4, 4): 2833129542,
    ("float64", 5, 5): 3742790167,
    ("float64", 9, 9): 2822345810,
    ("float64", 16, 16): 2417041523,
    ("float64", 3, 7): 3408795369,
    ("float64", 7, 3): 493287934,
    ("float64", 16, 4): 1287837426,
}


@pytest.mark.parametrize("case", LU_OF_SMALL, ids=str)
def test_small_factors_are_torchs_bit_for_bit(case):
    kind, m, n = case
    i = torch.arange(m * n, dtype=torch.int64)
    a = (((i * i * 31 + i * 17 + 5 * m + n) % 101 - 50).to(getattr(torch, kind)) / 7).reshape(m, n)
    for matrices in (a, a.expand(300, m, n)):
        factors, pivots, _ = L.lu_factor_ex(matrices)
        factors, pivots = factors.reshape(-1, m, n)[-1], pivots.reshape(-1, min(m, n))[-1]
        assert zlib.crc32(factors.contiguous().numpy().tobytes() + pivots.numpy().tobytes()) == LU_OF_SMALL[case]


def test_singular_but_for_rounding():
    """torch's elimination ends in a zero here, where NumPy's ends in 1e-8; kornia's homographies depend on the opposite."""
    a = torch.tensor([[0.1, 0.2], [0.3, 0.6]])
    assert L.lu_factor_ex(a).info.item() == 2 and L.det(a).item() == 0
    for call in (lambda: L.inv(a), lambda: L.solve(a, torch.ones(2))):
        with pytest.raises(L.LinAlgError, match="is singular"):
            call()
    almost = torch.tensor([[0.3, 0.6, 0.9], [0.1, 0.2, 0.3], [1, 0, 2]])
    assert L.lu_factor_ex(almost).LU[2, 2].item() == 2.9802322387695312e-08


def test_cofactors_of_an_almost_singular_matrix():
    """det and inv have the last pivot, which is rounding here, from the same factors (kornia's essential matrices)."""
    values = [[0.2057, -3.8266, 3.1615], [4.5417, -1.0707, -2.2023], [-1.0975, 1.6386, -0.6590]]
    single, double = torch.tensor(values), torch.tensor(values, dtype=torch.float64)
    cofactors, exact = (L.det(a) * L.inv(a).mT for a in (single, double))
    assert torch.allclose(cofactors.double(), exact, rtol=2e-5)


def test_ranks_of_least_squares_are_those_of_the_matrices_that_were_given():
    a, b = torch.ones(1, 3, 2), torch.ones(2, 3, 1)
    found = torch.linalg.lstsq(a, b, driver="gelsd")
    assert found.solution.shape == (2, 2, 1) and found.rank.tolist() == [1] and found.singular_values.shape == (1, 2)


def test_older_factorisations_name_their_successors(monkeypatch):
    monkeypatch.setattr(Once, "given", set())
    calls = (torch.qr, torch.cholesky, torch.lu, lambda a: torch.triangular_solve(a, a))
    for call in (*calls, lambda a: torch.lu_solve(a, *torch.linalg.lu_factor(a))):
        with pytest.warns(UserWarning, match="is deprecated in favor of torch.linalg"):
            call(torch.eye(2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], r"lstsq: The least squares .* \(error code: 3\)"),
        ([[0.0, 0.0], [0.0, 1.0]], r"full rank \(error code: 1\)"),
        ([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], r"full rank \(error code: 2\)"),
        ([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], r"full rank \(error code: 2\)"),
        ([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], r"\(Batch element 1\): The .* \(error code: 2\)"),
    ],
)
def test_gels_takes_matrices_of_full_rank_alone(dtype, matrix, message):
    a = torch.tensor(matrix, dtype=dtype)
    with pytest.raises(L.LinAlgError, match=message):
        L.lstsq(a, torch.ones(*a.shape[:-1], 1, dtype=dtype), driver="gels")


def test_gels_has_no_cutoff():
    a, b = torch.tensor([[1.0, 1.0], [1.0, 1.001]]), torch.tensor([[1.0], [2.0]])
    solved = L.lstsq(a, b, rcond=0.5, driver="gels").solution
    assert torch.allclose(solved, torch.tensor([[-999.0], [1000.0]]), rtol=1e-2)
    assert L.lstsq(torch.zeros(2, 2), b, driver="gels").solution.tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("batch", [(), (2,)])
def test_ormqr_gives_columns(batch):
    reflections = torch.geqrf(torch.ones(*batch, 3, 3).tril())
    left = torch.ormqr(*reflections, torch.ones(*batch, 3, 2))
    right = torch.ormqr(*reflections, torch.ones(*batch, 2, 3), left=False)
    assert left.stride()[-2:] == (1, 3) and right.stride()[-2:] == (1, 2)
