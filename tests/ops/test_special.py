"""Special functions against integrals, identities and NumPy's polynomials."""

import math

import numpy as np
import pytest
from numpy import polynomial as poly

import rushlight as rl
from rushlight.ops import OPS
from rushlight.ops.special import bessel, special_polynomials  # noqa: F401  (registers the names under "special.")

from .central_difference import check_gradients

X = np.linspace(0.05, 30, 200)
THETA = (np.arange(400) + 0.5) * math.pi / 400  # the midpoint rule is exact to double precision for periodic functions


def call(name, *args):
    return OPS["special." + name](*map(rl.tensor, args)).numpy()


def j(order, x):
    return np.cos(order * THETA - x[:, None] * np.sin(THETA)).mean(1)


def i(order, x):
    return (np.exp(x[:, None] * (np.cos(THETA) - 1)) * np.cos(order * THETA)).mean(1)


class TestBessel:
    def test_first_kind(self):
        for order in (0, 1):
            np.testing.assert_allclose(call(f"bessel_j{order}", X), j(order, X), atol=1e-14)
            np.testing.assert_allclose(call(f"i{order}e", X), i(order, X), rtol=1e-13)
        np.testing.assert_allclose(call("bessel_j1", -X), -j(1, X), atol=1e-14)

    def test_second_kind_by_wronskians(self):
        j0, j1, y0, y1 = (call("bessel_" + n, X) for n in ("j0", "j1", "y0", "y1"))
        np.testing.assert_allclose((j1 * y0 - j0 * y1) * X, 2 / math.pi, rtol=1e-13)
        k0, k1 = call("scaled_modified_bessel_k0", X), call("scaled_modified_bessel_k1", X)
        np.testing.assert_allclose((i(0, X) * k1 + i(1, X) * k0) * X, 1, rtol=1e-13)
        np.testing.assert_allclose(call("modified_bessel_k0", X), k0 * np.exp(-X), rtol=1e-13)

    def test_airy(self):
        x = np.linspace(-12, 12, 400)
        y = call("airy_ai", x)
        h = 1e-3
        second = (call("airy_ai", x + h) - 2 * y + call("airy_ai", x - h)) / h**2
        np.testing.assert_allclose(second, x * y, atol=2e-6 * (1 + np.abs(x)).max())  # its differential equation
        np.testing.assert_allclose(call("airy_ai", np.zeros(1)), 3 ** (-2 / 3) / math.gamma(2 / 3), rtol=1e-15)
        np.testing.assert_allclose(
            call("airy_ai", np.array([5.0, -5.0])), [1.0834442813607442e-04, 0.3507610090241143], rtol=1e-13
        )
        assert (
            np.isnan(call("airy_ai", np.array([np.inf, -np.inf, np.nan]))).all()
            and call("airy_ai", np.array([104.0]))[0] == 0
        )

    def test_limits(self):
        zero = np.zeros(1)
        assert call("bessel_y0", zero)[0] == -np.inf and call("modified_bessel_k1", zero)[0] == np.inf
        assert call("spherical_bessel_j0", zero)[0] == 1 and np.isnan(call("bessel_y1", zero - 1)[0])

    def test_gradients(self):
        for f in (rl.i0, OPS["special.i0e"], OPS["special.i1"], OPS["special.i1e"]):
            check_gradients(f, np.array([-3.0, -0.4, 0.2, 9.0]))


CLASSES = {
    "chebyshev_polynomial_t": poly.Chebyshev, "hermite_polynomial_h": poly.Hermite, "hermite_polynomial_he": poly.HermiteE,
    "laguerre_polynomial_l": poly.Laguerre, "legendre_polynomial_p": poly.Legendre,
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_polynomials(name):
    x, n = np.linspace(-1.5, 1.5, 9), np.arange(9.0)
    expected = [CLASSES[name].basis(int(k))(v) for v, k in zip(x, n, strict=True)]
    np.testing.assert_allclose(call(name, x, n), expected, rtol=1e-12)
    assert call(name, x, np.array([-1.0])).tolist() == [0.0] * 9


def test_chebyshev_polynomials_of_the_other_kinds():
    t = np.linspace(0.2, 2.9, 7)
    n = np.arange(7.0)
    expected = {
        "u": np.sin((n + 1) * t) / np.sin(t),
        "v": np.cos((n + 0.5) * t) / np.cos(t / 2),
        "w": np.sin((n + 0.5) * t) / np.sin(t / 2),
    }
    for kind, values in expected.items():
        np.testing.assert_allclose(call("chebyshev_polynomial_" + kind, np.cos(t), n), values, rtol=1e-11)
        moved = call("shifted_chebyshev_polynomial_" + kind, (np.cos(t) + 1) / 2, n)
        np.testing.assert_allclose(moved, values, rtol=1e-11)


class TestGammaFamily:
    def test_incomplete(self):
        ones, halves = np.ones_like(X), np.full_like(X, 0.5)
        np.testing.assert_allclose(call("gammainc", ones, X), -np.expm1(-X), rtol=1e-13)
        np.testing.assert_allclose(call("gammaincc", halves, X), np.vectorize(math.erfc)(np.sqrt(X)), rtol=1e-12)
        np.testing.assert_allclose(call("gammainc", X, X) + call("gammaincc", X, X), 1, rtol=1e-13)
        shape = rl.tensor([0.7, 3.0], dtype=rl.float64)
        check_gradients(lambda x: special_polynomials.igamma(shape, x), np.array([0.3, 4.0]))

    def test_derivatives_of_the_logarithm(self):
        np.testing.assert_allclose(call("digamma", X + 1) - call("digamma", X), 1 / X, rtol=1e-11)
        np.testing.assert_allclose(
            call("digamma", -X + 0.013) - call("digamma", X + 0.987), np.pi / np.tan(np.pi * (X + 0.987)), rtol=1e-8
        )
        for n in (1, 2, 3):
            low, high = (rl.polygamma(n, rl.tensor(v)).numpy() for v in (X, X + 1))
            np.testing.assert_allclose(high - low, (-1) ** n * math.factorial(n) / X ** (n + 1), rtol=1e-7, atol=1e-12)

    def test_zeta(self):
        np.testing.assert_allclose(
            call("zeta", np.array([2.0, 4.0]), np.ones(2)), [np.pi**2 / 6, np.pi**4 / 90], rtol=1e-14
        )


class TestNormalDistribution:
    def test_inverse(self):
        p = np.array([1e-300, 1e-20, 1e-3, 0.3, 0.5, 0.9, 1 - 1e-9])
        np.testing.assert_allclose(call("log_ndtr", call("ndtri", p)), np.log(p), rtol=1e-9)

    def test_logarithm_in_the_tail(self):
        x = np.array([-40.0, -5.0, 0.0, 3.0])
        expected = [
            -804.6084420137538,
            math.log(0.5 * math.erfc(5 / math.sqrt(2))),
            math.log(0.5),
            math.log1p(-0.5 * math.erfc(3 / math.sqrt(2))),
        ]
        np.testing.assert_allclose(call("log_ndtr", x), expected, rtol=1e-12)

    def test_gradients(self):
        for name in ("ndtr", "log_ndtr", "erfcx"):
            check_gradients(OPS["special." + name], np.array([-2.0, -0.3, 0.8]))
        check_gradients(OPS["special.ndtri"], np.array([0.1, 0.4, 0.8]))
        check_gradients(OPS["special.entr"], np.array([0.1, 0.4, 0.8]))


def test_erfinv_up_to_the_last_number_below_one():
    """torch's numbers: 0.85 is where one rational function hands over to the next, 1 - 1.4e-11 where the second does."""
    x = [0.3, -0.85, 0.8500001, 1 - 1e-10, 1 - 1e-12, 1 - 2**-52, 1 - 2**-53, 1.0, -1.0, 1.5]
    expected = [
        0.27246271472675434, -1.0179024648320278, 1.0179027145953181, 4.572824958544925, 5.042031898572696,
        5.805018683193453, 5.8635847487551676, math.inf, -math.inf, math.nan,
    ]  # fmt: skip
    y = rl.erfinv(rl.tensor(x, dtype=rl.float64)).tolist()
    assert y == pytest.approx(expected, rel=1e-13, nan_ok=True)


def test_trigamma_at_its_poles():
    """torch's numbers: the sine of -pi, -2 pi, -3 pi as it is rounded."""
    x = rl.tensor([-1.0, -2.0, -3.0], dtype=rl.float64)
    want = [6.580790147320947e32, 1.6451975368302367e32, 7.311989052578831e31]
    np.testing.assert_allclose(rl.polygamma(1, x).numpy(), want, rtol=1e-15)
    want = [1291369695936512.0, 322842423984128.0, 1.7351287771234304e16]
    np.testing.assert_allclose(rl.polygamma(1, x.float()).numpy(), want, rtol=1e-6)


def test_trigamma_is_as_precise_as_torchs():
    """By torch 2.13, whose short series is 2e-9 from the function's value at 7.25."""
    x = rl.tensor([0.001, 0.3, 0.7, 1.0, 2.5, 7.25, -0.5, -3.7, 30.0, 1e4], dtype=rl.float64)
    want = [
        1000001.6425331949, 12.245364544940365, 2.834049157861975, 1.6449340676383375, 0.4903577562398206,
        0.14787923316154666, 8.934802200117687, 14.842421864106473, 0.03389506035774027, 0.00010000500016666666,
    ]  # fmt: skip
    np.testing.assert_allclose(rl.polygamma(1, x).numpy(), want, rtol=5e-16)
    want = [
        1000001.5625, 12.245363235473633, 2.8340487480163574, 1.644934058189392, 0.49035775661468506,
        0.1478792428970337, 8.934802055358887, 14.84244155883789, 0.033895060420036316, 0.00010000499605666846,
    ]  # fmt: skip
    np.testing.assert_allclose(rl.polygamma(1, x.float()).numpy(), want, rtol=2.5e-7)


def test_bessel_functions_at_the_ends():
    x = rl.tensor([-0.0, math.inf, -math.inf, 1e-310], dtype=rl.float64)
    j1 = rl.special.bessel_j1(x).tolist()
    assert math.copysign(1, j1[0]) == -1
    assert [math.isnan(v) for v in j1] == [False, True, True, False]
    assert math.isnan(rl.special.bessel_j0(x)[1]) and math.isnan(rl.special.bessel_y0(x)[1])
    np.testing.assert_allclose(rl.special.modified_bessel_k0(x)[3].item(), 713.9173103438125, rtol=1e-15)
    np.testing.assert_allclose(rl.special.bessel_y0(x)[3].item(), -454.4938756003539, rtol=1e-15)
    assert rl.special.modified_bessel_k1(x)[3].item() == math.inf
    assert rl.special.bessel_y1(x)[3].item() == -math.inf


# Values with 40 digits, rounded (mpmath).
BESSEL = {
    "bessel_j0": [0.999999999975, 0.8812008886074053, -0.26005195490193345, 0.19436184484127825, 0.14751745404437766, 0.09626678327595811, -0.03329855487630567],
    "bessel_j1": [4.9999999999375e-06, 0.32899574154005895, 0.3390589585259365, 0.2191793999217512, 0.24760776698159287, -0.1253502495802899, -0.03188743137749995],
    "bessel_y0": [-7.40316028370197, -0.19066492933739512, 0.3768500100127904, 0.20652094814437577, 0.23809132870223482, -0.12724943226800614, -0.0318318897300034],
    "bessel_y1": [-63661.97727536548, -1.1032498719076334, 0.3246744247918, -0.18172107728057313, -0.13314879595249593, -0.09882996478323741, 0.03324554812131022],
    "modified_bessel_i0": [1.000000000025, 1.1263030183068092, 4.8807925858650245, 389.406283282158, 469.5006067101215, 5774560606.4663105, 4.475847367935052e+128],
    "modified_bessel_i1": [5.0000000000625004e-06, 0.37187967777700864, 3.9533702174026093, 363.8539440845084, 439.48430891035844, 5657865129.878701, 4.468381385036955e+128],
    "modified_bessel_k0": [11.628856980944363, 0.6605198599151016, 0.03473950438627925, 0.0001628676676876532, 0.00013173427864935836, 3.4641615622131143e-12, 3.7236948548891435e-132],
    "modified_bessel_k1": [99999.99993935571, 1.050283535312918, 0.040156431128194184, 0.00017288430649238984, 0.00013964122894503082, 3.5327780731999337e-12, 3.7298958583323724e-132],
    "scaled_modified_bessel_k0": [11.628973270095617, 1.3301236562420558, 0.6977615980438517, 0.4393000819002152, 0.4339943754308567, 0.2494366045755967, 0.0723300317396073],
    "scaled_modified_bessel_k1": [100000.99994435512, 2.1150113128480523, 0.8065634801287869, 0.4663177847368799, 0.4600435707528057, 0.25437732954208525, 0.07245048166725841],
    "i0e": [0.9999900000749996, 0.5593055265070683, 0.2430003541618254, 0.14436986414104191, 0.14251180948829528, 0.0801967735474367, 0.02304255841508546],
    "i1e": [4.999950000312499e-06, 0.18466998276274732, 0.19682671329730086, 0.13489649943989376, 0.13340068832583662, 0.07857611331929278, 0.02300412204026895],
}  # fmt: skip


@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions_in_float64(name):
    x = rl.tensor([1e-5, 0.7, 3.0, 7.9, 8.1, 25.0, 300.0], dtype=rl.float64)
    np.testing.assert_allclose(getattr(rl.special, name)(x).numpy(), BESSEL[name], rtol=2e-15, atol=1e-15)


@pytest.mark.parametrize("f", [rl.xlogy, rl.special.xlog1py])
def test_no_gradient_comes_of_none(f):
    x = rl.tensor([1.0, 0.0, 2.0], requires_grad=True)
    y = rl.tensor([-1.5, -1.5, 0.5])
    assert rl.autograd.grad(f(x, y), x, rl.zeros(3))[0].tolist() == [0.0, 0.0, 0.0]
