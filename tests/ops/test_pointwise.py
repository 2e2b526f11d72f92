"""Pointwise operators against NumPy and `math`, their gradients against central differences, and torch's rules of types."""

import math
import operator

import numpy as np
import pytest

import rushlight as rl

from .central_difference import check_gradients

RNG = np.random.default_rng(0)
ANY = RNG.normal(size=(3, 4))
POSITIVE = np.abs(ANY) + 0.3
INSIDE = ANY / (np.abs(ANY).max() + 0.1)
ABOVE_ONE = POSITIVE + 1
erf, erfc, lgamma = (np.vectorize(f) for f in (math.erf, math.erfc, math.lgamma))

UNARY = [
    ("neg", np.negative, ANY), ("abs", np.abs, ANY), ("sign", np.sign, ANY), ("sgn", np.sign, ANY),
    ("reciprocal", np.reciprocal, POSITIVE), ("square", np.square, ANY), ("sqrt", np.sqrt, POSITIVE),
    ("rsqrt", lambda x: x**-0.5, POSITIVE), ("exp", np.exp, ANY), ("exp2", np.exp2, ANY), ("expm1", np.expm1, ANY),
    ("log", np.log, POSITIVE), ("log2", np.log2, POSITIVE), ("log10", np.log10, POSITIVE), ("log1p", np.log1p, POSITIVE),
    ("sin", np.sin, ANY), ("cos", np.cos, ANY), ("tan", np.tan, INSIDE), ("asin", np.arcsin, INSIDE),
    ("acos", np.arccos, INSIDE), ("atan", np.arctan, ANY), ("sinh", np.sinh, ANY), ("cosh", np.cosh, ANY),
    ("tanh", np.tanh, ANY), ("asinh", np.arcsinh, ANY), ("acosh", np.arccosh, ABOVE_ONE), ("atanh", np.arctanh, INSIDE),
    ("deg2rad", np.deg2rad, ANY), ("rad2deg", np.rad2deg, ANY), ("floor", np.floor, ANY), ("ceil", np.ceil, ANY),
    ("round", np.rint, ANY), ("trunc", np.trunc, ANY), ("frac", lambda x: x - np.trunc(x), ANY),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), ANY), ("logit", lambda x: np.log(x / (1 - x)), np.abs(INSIDE) * 0.9 + 0.05),
    ("erf", erf, ANY), ("erfc", erfc, ANY), ("lgamma", lgamma, POSITIVE), ("sinc", np.sinc, ANY), ("i0", np.i0, ANY),
    ("nan_to_num", np.nan_to_num, ANY), ("angle", np.angle, ANY),
]  # fmt: skip

BINARY = [
    ("add", np.add, ANY, ANY.T.reshape(3, 4)), ("sub", np.subtract, ANY, POSITIVE), ("mul", np.multiply, ANY, POSITIVE),
    ("div", np.divide, ANY, POSITIVE), ("remainder", np.remainder, ANY, POSITIVE), ("fmod", np.fmod, ANY, POSITIVE),
    ("pow", np.power, POSITIVE, ANY), ("atan2", np.arctan2, ANY, POSITIVE), ("hypot", np.hypot, ANY, POSITIVE),
    ("logaddexp", np.logaddexp, ANY, POSITIVE), ("logaddexp2", np.logaddexp2, ANY, POSITIVE),
    ("maximum", np.maximum, ANY, POSITIVE - 0.8), ("minimum", np.minimum, ANY, POSITIVE - 0.8),
    ("fmax", np.fmax, ANY, POSITIVE - 0.8), ("fmin", np.fmin, ANY, POSITIVE - 0.8),
    ("xlogy", lambda x, y: x * np.log(y), ANY, POSITIVE), ("copysign", np.copysign, ANY, -POSITIVE),
    ("float_power", np.float_power, POSITIVE, ANY),
]  # fmt: skip


@pytest.mark.parametrize(("name", "oracle", "x"), UNARY, ids=[row[0] for row in UNARY])
class TestUnary:
    def test_values(self, name, oracle, x):
        got = getattr(rl, name)(rl.tensor(x))
        np.testing.assert_allclose(got.numpy(), oracle(x), rtol=1e-12, atol=1e-13)

    def test_float32_result_and_accuracy(self, name, oracle, x):
        got = getattr(rl.tensor(x.astype("f")), name)()
        assert got.dtype is rl.float32
        np.testing.assert_allclose(got.numpy(), oracle(x.astype("f").astype("d")), rtol=2e-6, atol=2e-6)

    def test_gradient(self, name, oracle, x):
        check_gradients(getattr(rl, name), x)

    def test_strides_empty_and_scalars(self, name, oracle, x):
        f = getattr(rl, name)
        np.testing.assert_allclose(f(rl.tensor(x).t()).numpy(), oracle(x).T, rtol=1e-12, atol=1e-13)
        assert f(rl.tensor(np.zeros((0, 3)))).shape == (0, 3)
        scalar = f(rl.tensor(x[0, 0]))
        assert scalar.shape == () and math.isclose(scalar.item(), oracle(x)[0, 0], rel_tol=1e-12)


@pytest.mark.parametrize(("name", "oracle", "x", "y"), BINARY, ids=[row[0] for row in BINARY])
class TestBinary:
    def test_values_and_broadcasting(self, name, oracle, x, y):
        f = getattr(rl, name)
        np.testing.assert_allclose(f(rl.tensor(x), rl.tensor(y)).numpy(), oracle(x, y), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(f(rl.tensor(x), rl.tensor(y[0])).numpy(), oracle(x, y[0]), rtol=1e-12, atol=1e-14)

    def test_gradient(self, name, oracle, x, y):
        check_gradients(getattr(rl, name), x, y)
        check_gradients(getattr(rl, name), x, y[:1])


@pytest.mark.parametrize("size", [5, 5000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_erf_is_exact_on_small_and_large_arrays(size, dtype):
    x = np.linspace(-6, 6, size).astype(dtype)
    got = rl.erf(rl.tensor(x)).numpy()
    np.testing.assert_allclose(got, erf(x.astype("d")), rtol=1e-6 if dtype is np.float32 else 1e-14)
    assert np.abs(got).max() <= 1


def test_inverse_functions():
    x = np.linspace(-0.9999, 0.9999, 301)
    np.testing.assert_allclose(rl.erf(rl.erfinv(rl.tensor(x))).numpy(), x, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(rl.digamma(rl.tensor([1.0, 2.0])).numpy(), [-0.5772157, 0.4227843], rtol=1e-6)
    np.testing.assert_allclose(rl.polygamma(1, rl.tensor([1.0])).numpy(), [math.pi**2 / 6], rtol=1e-6)


class TestTypes:
    TABLE = [
        ("int + float", lambda: rl.tensor([1, 2]) + 0.5, rl.float32),
        ("int / int", lambda: rl.tensor([1, 2]) / 2, rl.float32),
        ("int // int", lambda: rl.tensor([7]) // 2, rl.int64),
        ("float + 0-d double", lambda: rl.tensor([1.0]) + rl.tensor(1.0, dtype=rl.float64), rl.float32),
        ("int sin", lambda: rl.tensor([1]).sin(), rl.float32),
        ("uint8 + big int", lambda: rl.tensor([5], dtype=rl.uint8) + 300, rl.uint8),
        ("bool * 2", lambda: rl.tensor([True]) * 2, rl.int64),
        ("int clamp float", lambda: rl.tensor([1]).clamp(0.5), rl.float32),
        ("half / 3", lambda: rl.tensor([1.0]).half() / 3, rl.float16),
        ("bfloat16 exp", lambda: rl.tensor([1.0]).bfloat16().exp(), rl.bfloat16),
        ("float_power", lambda: rl.tensor([1.0]).float_power(2), rl.float64),
        ("compare", lambda: rl.tensor([1.0]) < 2, rl.bool),
    ]

    @pytest.mark.parametrize(("what", "call", "dtype"), TABLE, ids=[row[0] for row in TABLE])
    def test_result_type(self, what, call, dtype):
        assert call().dtype is dtype

    def test_integer_division_follows_the_signs_of_torch(self):
        x, y = rl.tensor([7, -7, 7, -7]), rl.tensor([2, 2, -2, -2])
        assert (x // y).tolist() == [3, -4, -4, 3]
        assert rl.div(x, y, rounding_mode="trunc").tolist() == [3, -3, -3, 3]
        assert (x % y).tolist() == [1, 1, -1, -1]
        assert rl.fmod(x, y).tolist() == [1, -1, 1, -1]
        assert rl.tensor([3.0]).floor_divide(0).tolist() == [math.inf]

    def test_numbers_beyond_a_narrow_type_wrap_around(self):
        x = rl.tensor([5, 44], dtype=rl.uint8)
        assert (x == 300).tolist() == [False, True]
        assert (x < 300).tolist() == [True, False]
        assert (x > -1).tolist() == [False, False]
        assert 300 in x
        with pytest.raises(OverflowError):
            x.lt(2**64)

    def test_numbers_that_are_written_have_to_fit(self):
        x = rl.tensor([5, 44], dtype=rl.uint8)
        for call in (
            lambda: rl.where(x > 5, x, 300),
            lambda: x**300,
            lambda: rl.ones(2).masked_fill(rl.tensor([True, False]), 1e300),
            lambda: rl.full((2,), 1e300, dtype=rl.bfloat16),
            lambda: float(rl.tensor(1j)),
        ):
            with pytest.raises(RuntimeError, match="without overflow"):
                call()

    def test_powers_of_integers(self):
        assert (rl.tensor([2, 1, -1]) ** rl.tensor([-1, -1, -3])).tolist() == [0, 1, -1]
        assert (2 ** rl.tensor([3, 0])).tolist() == [8, 1]


class TestErrors:
    TABLE = [
        (lambda: rl.tensor([1]) // 0, RuntimeError, "ZeroDivisionError"),
        (lambda: rl.tensor([1]) % rl.tensor([0]), RuntimeError, "ZeroDivisionError"),
        (lambda: rl.tensor([2]) ** -1, RuntimeError, "Integers to negative integer powers are not allowed"),
        (lambda: rl.tensor([True]) - rl.tensor([True]), RuntimeError, "with two bool tensors is not supported"),
        (lambda: 1 - rl.tensor([True]), RuntimeError, "with a bool tensor is not supported"),
        (lambda: -rl.tensor([True]), RuntimeError, "Negation, the `-` operator, on a bool tensor"),
        (lambda: rl.tensor([1, 2]).add(rl.tensor([1, 2]), alpha=0.5), RuntimeError, "For integral input tensors"),
        (lambda: rl.tensor([1]).add_(1.5), RuntimeError, "result type Float can't be cast"),
        (lambda: rl.tensor([1.0, 2.0]) + rl.tensor([1.0, 2.0, 3.0]), RuntimeError, "must match the size of tensor b"),
        (lambda: rl.div(rl.tensor([1.0]), 2, rounding_mode="x"), RuntimeError, "rounding_mode to be one of"),
        (lambda: ~rl.tensor([1.0]), TypeError, "only implemented on integer and Boolean-type tensors"),
        (lambda: rl.maximum(rl.tensor([1.0]), 2), TypeError, "must be Tensor, not int"),
        (
            lambda: rl.eq(5, rl.tensor([1.0])),
            TypeError,
            "received an invalid combination of arguments - got .int, Tensor",
        ),
        (lambda: rl.tensor([1.0]) + "a", TypeError, "unsupported operand"),
        (lambda: rl.where(rl.tensor([1, 0]), 1.0, 2.0), RuntimeError, "expected condition to be a boolean tensor"),
        (lambda: rl.tensor([1.0]).clamp(), RuntimeError, "At least one of 'min' or 'max' must not be None"),
        (lambda: rl.imag(rl.tensor([1.0])), RuntimeError, "imag is not implemented"),
        (lambda: rl.tensor([1]) & 1.5, NotImplementedError, "not implemented for 'Float'"),
    ]

    @pytest.mark.parametrize(("call", "error", "words"), TABLE, ids=[row[2][:30] for row in TABLE])
    def test_raises(self, call, error, words):
        with pytest.raises(error, match=words.replace("(", r"\(")):
            call()

    def test_floor_division_has_no_gradient(self):
        x = rl.tensor([3.0], requires_grad=True)
        y = x // 2
        assert y.requires_grad
        with pytest.raises(RuntimeError):
            y.sum().backward()


class TestKinks:
    """Subgradients where a function has none, as torch chooses them."""

    TABLE = [
        ("abs at 0", lambda x: x.abs(), [0.0], [0.0]),
        ("maximum at a tie", lambda x: rl.maximum(x, rl.zeros(2)), [0.0, 1.0], [0.5, 1.0]),
        ("clamp at its limits", lambda x: x.clamp(-1, 1), [-1.0, 1.0, 1.5], [1.0, 1.0, 0.0]),
        ("sqrt", lambda x: x.sqrt(), [4.0], [0.25]),
        ("pow 0", lambda x: x**0, [0.0, 2.0], [0.0, 0.0]),
        ("fmax with nan", lambda x: rl.fmax(x, rl.tensor([math.nan])), [3.0], [1.0]),
        ("where masks inf", lambda x: rl.where(x > 0, x.log(), rl.zeros(2)), [1.0, 2.0], [1.0, 0.5]),
    ]

    @pytest.mark.parametrize(("what", "f", "x", "grad"), TABLE, ids=[row[0] for row in TABLE])
    def test_gradient(self, what, f, x, grad):
        leaf = rl.tensor(x, requires_grad=True)
        f(leaf).sum().backward()
        assert leaf.grad.tolist() == grad


@pytest.mark.parametrize("size", [7, 5000])
def test_selection_by_bits_agrees_with_numpy(size):
    x, y = RNG.normal(size=size).astype("f"), RNG.normal(size=size).astype("f")
    x[::3], y[::4] = np.inf, np.nan
    mask = RNG.random(size) < 0.5
    got = rl.where(rl.tensor(mask), rl.tensor(x), rl.tensor(y)).numpy()
    np.testing.assert_array_equal(got, np.where(mask, x, y))


class TestInPlace:
    @pytest.mark.parametrize("shape", [(3, 4), (200, 300)])
    def test_optimizers_writes(self, shape):
        a, b, c = (RNG.random(shape).astype("f") + 0.5 for _ in range(3))
        b64, c64 = b.astype("d"), c.astype("d")
        cases = [
            (lambda t: t.add_(rl.tensor(b), alpha=0.3), a + 0.3 * b64),
            (lambda t: t.sub_(rl.tensor(b), alpha=2), a - 2 * b64),
            (lambda t: t.addcmul_(rl.tensor(b), rl.tensor(c), value=0.1), a + 0.1 * b64 * c64),
            (lambda t: t.addcdiv_(rl.tensor(b), rl.tensor(c), value=-0.1), a - 0.1 * b64 / c64),
            (lambda t: t.lerp_(rl.tensor(b), 0.1), a + 0.1 * (b64 - a)),
            (lambda t: t.lerp_(rl.tensor(b), 0.9), a + 0.9 * (b64 - a)),
            (lambda t: t.clamp_(0.6, 1.2), np.clip(a, 0.6, 1.2)),
            (lambda t: t.mul_(0.5).sqrt_(), np.sqrt(a * 0.5)),
        ]
        for write, expected in cases:
            t = rl.tensor(a)
            assert write(t) is t and t._version >= 1
            np.testing.assert_allclose(t.numpy(), expected, rtol=1e-5)

    def test_history_follows_the_write(self):
        x = rl.tensor([1.0, 2.0], requires_grad=True)
        y = x * 1
        y.add_(x, alpha=3).addcmul_(x, x, value=0.5)
        y.sum().backward()
        assert x.grad.tolist() == [5.0, 6.0]

    def test_a_leaf_refuses_and_no_grad_allows(self):
        x = rl.tensor([1.0], requires_grad=True)
        for write in (lambda: x.add_(1), lambda: x.mul_(2.0), lambda: x.sqrt_(), lambda: x.clamp_(0, 1)):
            with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
                write()
        with rl.no_grad():
            x.add_(rl.tensor([1.0]), alpha=2)
        assert x.tolist() == [3.0]

    def test_wrong_shapes_and_expanded_targets(self):
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            rl.zeros(2).add_(rl.zeros(1, 2))
        with pytest.raises(RuntimeError, match="single memory location"):
            rl.zeros(1).expand(3).add_(1)

    def test_a_saved_value_that_was_written_is_noticed(self):
        x = rl.tensor([1.0], requires_grad=True)
        y = x.exp()
        z = y * 2
        with rl.no_grad():
            y.mul_(3.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.backward()


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(name):
    x, y = rl.tensor([1.0, 2.0, math.nan]), rl.tensor([2.0, 2.0, 1.0])
    compare = getattr(operator, name)
    assert compare(x, y).tolist() == [compare(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert getattr(x, name)(2).tolist() == [compare(a, 2) for a in x.tolist()]


def test_bits():
    x, y = rl.tensor([12, -5, 7]), rl.tensor([10, 3, -1])
    for f in (operator.and_, operator.or_, operator.xor, operator.lshift):
        other = y if f is not operator.lshift else rl.tensor([1, 2, 3])
        assert f(x, other).tolist() == [f(a, b) for a, b in zip(x.tolist(), other.tolist(), strict=True)]
    assert (~x).tolist() == [~12, ~-5, ~7]
    assert (rl.tensor([-5]) >> 70).tolist() == [-1] and (rl.tensor([1]) << 70).tolist() == [0]
    assert rl.gcd(rl.tensor([12]), rl.tensor([18])).tolist() == [6]


def test_complex_parts():
    z = rl.tensor([3 + 4j, -1j])
    assert z.real.tolist() == [3.0, 0.0] and z.imag.tolist() == [4.0, -1.0]
    assert z.abs().tolist() == [5.0, 1.0] and z.conj().tolist() == [3 - 4j, 1j]
    z.real.zero_()
    assert z.tolist() == [4j, -1j]


def test_complex_powers_of_zero():
    """exp(y log(0)), as torch computes them; an exponent that is a number is another matter."""
    zero = rl.zeros(6, dtype=rl.complex64)
    r = (zero ** rl.tensor([0j, 1 + 0j, 0.5 - 0.5j, -1 + 1j, 1j, 2 + 0j])).numpy()
    np.testing.assert_equal(r.real, np.array([math.nan, 0, 0, math.inf, math.nan, 0], np.float32))
    np.testing.assert_equal(r.imag, np.array([math.nan, 0, 0, math.nan, math.nan, 0], np.float32))
    assert np.signbit(r.imag[[1, 2, 5]]).tolist() == [True, False, True]
    assert (zero**0).tolist() == [1] * 6
    assert (rl.tensor([0j, 1 + 0j, 2j]) ** rl.tensor(0j)).tolist()[1:] == [1, 1]


def test_ldexp_by_integers_is_exact_where_the_power_is_infinite():
    x, n = rl.tensor([1e-30, 1e30, 1.0, 1.3]), rl.tensor([150, -150, 2**40, -148])
    expected = [1427247697231872.0, 7.006492427054042e-16, 1.0, 4.203895392974451e-45]  # torch 2.13
    assert rl.ldexp(x, n).tolist() == x.clone().ldexp_(n).tolist() == expected
    assert rl.ldexp(x[:1].double(), rl.tensor([1100])).item() == pytest.approx(1.3582985333566549e301)
    assert rl.ldexp(rl.tensor([6e-8]).half(), rl.tensor([20])).item() == 0.0625
    assert rl.compile(rl.ldexp)(x, n).tolist() == expected


def test_ldexp_rounds_the_power_to_the_type_of_the_exponent():
    y = rl.ldexp(rl.ones(1, requires_grad=True), rl.tensor([16.0]).half())
    assert y.item() == math.inf and y.dtype is rl.float32 and type(y.grad_fn).__name__ == "LdexpBackward0"
    assert rl.ldexp(rl.tensor([3]), rl.tensor([2.5]).half()).tolist() == [16.96875]
    assert rl.ldexp(rl.ones(3, 2).t(), rl.ones(2, 3, dtype=rl.int64)).stride() == (1, 2)


def test_shifts_promote_as_other_operators():
    flags = rl.tensor([True, False])
    assert (2 << flags).tolist() == [4, 2]
    assert (2 << flags).dtype is rl.int64
    assert (8 >> flags).tolist() == [4, 8]
    assert (flags << 2).dtype is rl.int64
    for call in (lambda: flags << True, lambda: flags >> flags, lambda: flags.clone().__ilshift__(flags)):
        with pytest.raises(NotImplementedError, match="shift_cpu\" not implemented for 'Bool'"):
            call()
    with pytest.raises(NotImplementedError, match="\"lshift_cpu\" not implemented for 'Float'"):
        2.5 << rl.tensor([1, 2])
    with pytest.raises(NotImplementedError, match="\"rshift_cpu\" not implemented for 'ComplexFloat'"):
        rl.tensor([1, 2]) >> 2j


_INF = math.inf


def _parts(t):
    return [f"{v:g}" for v in rl.view_as_real(t.resolve_conj()).reshape(-1).tolist()]


@pytest.mark.parametrize("kind", [rl.complex64, rl.complex128])
def test_complex_sums_multiply_what_is_added_as_torch_does(kind):
    """torch computes input + (1 + 0j) other: an infinite part of `other` makes its other part nan."""
    x, y = rl.tensor([1 - 1j], dtype=kind), rl.tensor([complex(_INF, 2)], dtype=kind)
    assert _parts(x + y) == ["inf", "nan"] and _parts(y + x) == ["inf", "1"]
    assert _parts(x - y) == ["-inf", "nan"] and _parts(rl.rsub(y, x)) == ["-inf", "nan"]
    assert _parts(x.clone().add_(y)) == ["inf", "nan"] and _parts(rl.add(x, y, out=x.clone())) == ["inf", "nan"]
    assert _parts(x + complex(2, _INF)) == ["nan", "inf"] and _parts(1 - y) == ["-inf", "nan"]
    assert _parts(rl.add(x, y, alpha=2)) == ["inf", "nan"] and _parts(rl.sub(x, y, alpha=2j)) == ["nan", "-inf"]
    assert _parts(rl.addcmul(x, y, x)) == ["nan", "nan"] and _parts(rl.sgn(y)) == ["nan", "0"]
    assert _parts(rl.compile(lambda a, b: a + b)(x, y)) == ["inf", "nan"]
    rl.testing.assert_close(rl.add(x, x, alpha=2 - 1j), x * (3 - 1j))
    rl.testing.assert_close(rl.sub(x, 3, alpha=2), x - 6)


@pytest.mark.parametrize(("kind", "whole"), [(rl.complex64, 8), (rl.complex128, 4)])
def test_minus_a_complex_zero_has_no_sign_in_whole_vectors(kind, whole):
    """torch computes 0 - x there, and -x in what is left over: the sign decides on which side of a cut it is."""
    z = rl.ones(whole + 1, dtype=kind)
    assert (-z).sqrt().imag.tolist() == [1.0] * whole + [-1.0]
    assert rl.neg(z[1:]).log().imag.sign().tolist() == [1.0] * whole
    assert (-z[:-1].reshape(2, -1).t()).angle().sign().tolist() == [[1.0, 1.0]] * (whole // 2)
    rows = rl.ones(2, whole + 3, dtype=kind)[:, : whole + 1]
    assert (-rows).sqrt().imag.tolist() == [[1.0] * whole + [-1.0]] * 2
    assert (-rl.ones(whole + 1, dtype=kind).expand(2, whole + 1)).sqrt().imag.tolist() == [[1.0] * whole + [-1.0]] * 2
    assert (-rl.ones(2 * whole, dtype=kind)[::2]).sqrt().imag.tolist() == [-1.0] * whole


@pytest.mark.parametrize("alpha", [1j, 1 + 0j])
@pytest.mark.parametrize("name", ["add", "sub", "rsub", "add_", "sub_"])
def test_a_complex_factor_is_for_complex_numbers(name, alpha):
    def call(x, y):
        return getattr(x.clone(), name)(y, alpha=alpha) if name.endswith("_") else getattr(rl, name)(x, y, alpha=alpha)

    for x, y, kind in (
        (rl.ones(2), rl.ones(2), "non-complex"),
        (rl.tensor([1]), rl.tensor([1]), "integral"),
        (rl.ones(2), 1, "non-complex"),
    ):
        with pytest.raises(RuntimeError, match=f"For {kind} input tensors, argument alpha must not be"):
            call(x, y)
    z = rl.ones(2) * 1j
    assert call(z, z).tolist() == [{"a": 1j + alpha * 1j, "s": 1j - alpha * 1j, "r": 1j - alpha * 1j}[name[0]]] * 2
    with pytest.raises(RuntimeError, match="cannot be converted"):
        rl.addcdiv(rl.ones(2), rl.ones(2), rl.ones(2), value=1j)


def test_scaled_complex_sums_have_conjugate_gradients():
    x, y = (rl.tensor([v], requires_grad=True) for v in (1 + 2j, 3 - 1j))
    rl.add(x, y, alpha=2j).real.sum().backward()
    assert x.grad.item() == 1 and y.grad.item() == -2j
    y.grad = None
    rl.sub(x, y, alpha=1 - 2j).real.sum().backward()
    assert y.grad.item() == -1 - 2j


TYPES = (rl.bool, rl.uint8, rl.int64, rl.float16, rl.bfloat16, rl.float32, rl.float64, rl.complex64)


@pytest.mark.parametrize("name", ["add", "mul", "true_divide", "pow", "maximum", "eq", "remainder", "atan2"])
def test_two_types_are_brought_to_one(name):
    """The entry point for one type gives what it gives to tensors that are brought to it; gradients have their tensor's type."""
    operator_ = getattr(rl, name)
    small, scalar = rl.tensor([[1, 2, 3], [1, 1, 2]]), rl.tensor(2)
    for one in TYPES:
        for other in TYPES:
            for y in (small, scalar):
                a, b = small.to(one).t(), y.t().to(other) if y.ndim else y.to(other)
                common = rl.result_type(a, b)
                if one is other or (name in ("maximum", "remainder", "atan2") and common.is_complex):
                    continue
                if rl.bool in (one, other) and name == "pow" and common is rl.bool:
                    continue
                want = operator_(a.to(common), b.to(common))
                got = operator_(a, b)
                assert got.dtype is want.dtype and got.stride() == want.stride()
                rl.testing.assert_close(got, want, rtol=1e-2, atol=0, equal_nan=True)


def test_gradients_of_two_types():
    x = rl.tensor([1.0, 2.0], requires_grad=True)
    y = rl.tensor([3.0, 4.0], dtype=rl.float64, requires_grad=True)
    mask, count = rl.tensor([True, False]), rl.tensor(3)
    (x * y + x * mask - x / count).sum().backward()
    assert x.grad.dtype is rl.float32 and y.grad.dtype is rl.float64
    np.testing.assert_allclose(x.grad.numpy(), [3 + 1 - 1 / 3, 4 - 1 / 3], rtol=1e-6)
    assert y.grad.tolist() == [1.0, 2.0]
