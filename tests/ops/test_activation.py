"""Activations against their formulas in NumPy, and their gradients against central differences."""

import math

import numpy as np
import pytest

import rushlight as rl
from rushlight import ops
from rushlight.core.jit_switch import jit

from .central_difference import check_gradients

X = np.array([-30.0, -4.0, -2.9, -1.3, -0.7, -0.2, 0.1, 0.4, 0.9, 2.1, 4.2, 6.5, 31.0]).reshape(13, 1) * [1.0, 0.97]
sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
softplus = lambda x: np.logaddexp(x, 0)  # noqa: E731
A, S = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

TABLE = [
    ("relu", {}, lambda x: np.maximum(x, 0)),
    ("relu6", {}, lambda x: np.clip(x, 0, 6)),
    ("leaky_relu", {"negative_slope": 0.2}, lambda x: np.where(x > 0, x, 0.2 * x)),
    ("elu", {"alpha": 1.5}, lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0)))),
    ("selu", {}, lambda x: S * np.where(x > 0, x, A * np.expm1(np.minimum(x, 0)))),
    ("celu", {"alpha": 2.0}, lambda x: np.maximum(x, 0) + np.minimum(0, 2 * np.expm1(np.minimum(x, 0) / 2))),
    ("gelu", {}, lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
    (
        "gelu",
        {"approximate": "tanh"},
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    ("silu", {}, lambda x: x * sigmoid(x)),
    ("mish", {}, lambda x: x * np.tanh(softplus(x))),
    ("softplus", {"beta": 2.0, "threshold": 50.0}, lambda x: softplus(2 * x) / 2),
    ("softplus", {"beta": 2.0, "threshold": 1.0}, lambda x: np.where(2 * x > 1, x, softplus(2 * x) / 2)),
    ("softsign", {}, lambda x: x / (1 + np.abs(x))),
    ("tanhshrink", {}, lambda x: x - np.tanh(x)),
    ("hardtanh", {"min_val": -0.5, "max_val": 2.0}, lambda x: np.clip(x, -0.5, 2)),
    ("hardswish", {}, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    ("hardshrink", {"lambd": 0.5}, lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    ("softshrink", {"lambd": 0.5}, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    ("threshold", {"threshold": 0.3, "value": -7.0}, lambda x: np.where(x > 0.3, x, -7)),
    ("logsigmoid", {}, lambda x: -softplus(-x)),
    ("sigmoid", {}, sigmoid),
    ("tanh", {}, np.tanh),
]
NAMES = [f"{name}-{'-'.join(map(str, options.values()))}" for name, options, _ in TABLE]


@pytest.mark.parametrize(("name", "options", "oracle"), TABLE, ids=NAMES)
class TestElementwise:
    def test_values(self, name, options, oracle):
        got = getattr(ops, name)(rl.tensor(X), **options)
        np.testing.assert_allclose(got.numpy(), oracle(X), rtol=1e-12, atol=1e-13)

    def test_float32_on_large_arrays(self, name, options, oracle):
        x = np.random.default_rng(3).normal(size=3000).astype("f")
        got = getattr(ops, name)(rl.tensor(x), **options)
        assert got.dtype is rl.float32
        np.testing.assert_allclose(got.numpy(), oracle(x.astype("d")), rtol=3e-6, atol=1e-6)

    def test_gradient(self, name, options, oracle):
        check_gradients(lambda x: getattr(ops, name)(x, **options), X)

    def test_second_gradient(self, name, options, oracle):
        def slope(x):
            x = x if x.requires_grad else x.requires_grad_()
            (g,) = rl.autograd.grad(getattr(ops, name)(x, **options).sum(), x, create_graph=True)
            return g

        x = np.array([-2.2, -0.6, 0.7, 1.9])
        leaf = rl.tensor(x, requires_grad=True)
        g = slope(leaf)
        if not g.requires_grad:
            return  # a piecewise linear function
        (second,) = rl.autograd.grad(g.sum(), leaf)
        step = 1e-6
        expected = (slope(rl.tensor(x + step)) - slope(rl.tensor(x - step))).detach().numpy() / (2 * step)
        np.testing.assert_allclose(second.numpy(), expected, rtol=1e-5, atol=1e-7)


INPLACE = ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardtanh", "hardswish", "hardsigmoid"]


@pytest.mark.parametrize("name", INPLACE)
def test_inplace_writes_into_the_input_with_its_gradient(name):
    f = getattr(ops, name)
    leaf = rl.tensor(X, requires_grad=True)
    y = leaf * 1
    assert f(y, inplace=True) is y
    np.testing.assert_array_equal(y.detach().numpy(), f(rl.tensor(X)).numpy())
    y.sum().backward()
    other = rl.tensor(X, requires_grad=True)
    f(other).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), other.grad.numpy(), rtol=1e-12)


@pytest.mark.parametrize("dim", [0, 1, -1])
class TestSoftmax:
    x = np.random.default_rng(0).normal(size=(4, 5)) * 3

    def oracle(self, x, dim):
        e = np.exp(x - x.max(dim, keepdims=True))
        return e / e.sum(dim, keepdims=True)

    def test_values(self, dim):
        t = rl.tensor(self.x)
        np.testing.assert_allclose(ops.softmax(t, dim).numpy(), self.oracle(self.x, dim), rtol=1e-13)
        np.testing.assert_allclose(t.log_softmax(dim).numpy(), np.log(self.oracle(self.x, dim)), rtol=1e-12)
        np.testing.assert_allclose(ops.softmin(t, dim).numpy(), self.oracle(-self.x, dim), rtol=1e-13)

    def test_gradients(self, dim):
        check_gradients(lambda x: ops.softmax(x, dim), self.x)
        check_gradients(lambda x: ops.log_softmax(x, dim), self.x)

    def test_large_values_do_not_overflow(self, dim):
        got = ops.log_softmax(rl.tensor(self.x * 1e4), dim)
        assert np.isfinite(got.numpy()).all()

    def test_dtype_argument(self, dim):
        t = rl.tensor(self.x.astype("f"))
        assert t.softmax(dim, dtype=rl.float64).dtype is rl.float64
        assert rl.softmax(t, dim, rl.float64).dtype is rl.float64


def test_glu_prelu_normalize():
    x = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_allclose(ops.glu(rl.tensor(x)).numpy(), x[:, :2] * sigmoid(x[:, 2:]), rtol=1e-13)
    check_gradients(ops.glu, x)
    w = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(ops.prelu(rl.tensor(x), rl.tensor(w)).numpy(), np.where(x > 0, x, x * w), rtol=1e-13)
    check_gradients(ops.prelu, x, w)
    np.testing.assert_allclose(
        ops.normalize(rl.tensor(x)).numpy(), x / np.sqrt((x * x).sum(1, keepdims=True)), rtol=1e-13
    )
    check_gradients(ops.normalize, x)


def test_random_slopes():
    rl.manual_seed(0)
    x = rl.linspace(-3, 3, 7)
    got = ops.rrelu(x, training=True).tolist()
    # torch 2.13: manual_seed(0); F.rrelu(linspace(-3, 3, 7), training=True)
    np.testing.assert_allclose(got, [-0.9813, -0.5449, -0.2207, 0, 1, 2, 3], atol=5e-5)
    assert ops.rrelu(x).tolist()[0] == pytest.approx(-3 * (1 / 8 + 1 / 3) / 2)


def test_gumbel_softmax_draws_as_torch():
    rl.manual_seed(0)
    got = ops.gumbel_softmax(rl.zeros(2, 3)).tolist()
    np.testing.assert_allclose(got, [[0.1047, 0.2984, 0.5969], [0.1974, 0.4831, 0.3195]], atol=5e-5)
    hard = ops.gumbel_softmax(rl.zeros(2, 3), hard=True)
    assert hard.sum(1).tolist() == [1.0, 1.0]


ERRORS = [
    (lambda: ops.softmax(rl.tensor([1, 2]), 0), NotImplementedError, "not implemented for 'Long'"),
    (lambda: rl.ones(2).softmax(3), IndexError, "Dimension out of range"),
    (lambda: ops.gelu(rl.ones(1), approximate="x"), RuntimeError, "must be either none or tanh"),
    (lambda: ops.glu(rl.ones(3)), RuntimeError, "Halving dimension must be even"),
    (lambda: ops.hardtanh(rl.ones(1), 2, 1), ValueError, "min_val cannot be greater"),
    (lambda: ops.relu(rl.tensor([True])), RuntimeError, "Boolean inputs not supported for relu"),
    (lambda: ops.prelu(rl.ones(2, 3), rl.ones(4)), RuntimeError, "Mismatch of parameter numbers"),
    (lambda: ops.softshrink(rl.ones(1), -1), RuntimeError, "lambda must be in range"),
    (lambda: ops.elu(rl.tensor([1])), NotImplementedError, "not implemented for 'Long'"),
]


@pytest.mark.parametrize(("call", "error", "words"), ERRORS, ids=[row[2][:25] for row in ERRORS])
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_implicit_dim_warns():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        rl.nn.functional.softmax(rl.ones(2, 3))
    for f in (rl.softmax, rl.log_softmax):
        with pytest.raises(TypeError, match='missing 1 required positional arguments: "dim"'):
            f(rl.ones(2, 3))


@pytest.mark.parametrize("dim", [0, 1])
def test_large_arrays_are_worked_on_in_pieces(dim):
    x = np.random.default_rng(5).normal(size=(401, 307)).astype("f")
    weights = np.random.default_rng(6).normal(size=x.shape).astype("f")
    e = np.exp(x.astype("d") - x.max(dim, keepdims=True))
    y = e / e.sum(dim, keepdims=True)
    leaf = rl.tensor(x, requires_grad=True)
    out = leaf.softmax(dim)
    (out * rl.tensor(weights)).sum().backward()
    np.testing.assert_allclose(out.detach().numpy(), y, rtol=1e-5)
    np.testing.assert_allclose(
        leaf.grad.numpy(), y * (weights - (weights * y).sum(dim, keepdims=True)), rtol=1e-4, atol=1e-8
    )
    np.testing.assert_allclose(rl.tensor(x).log_softmax(dim).numpy(), np.log(y), rtol=1e-5)
    for name in ("gelu", "silu", "mish", "elu", "softplus", "sigmoid", "relu", "logsigmoid"):
        f = getattr(ops, name)
        whole = f(rl.tensor(x)).numpy()
        np.testing.assert_allclose(whole[200], f(rl.tensor(x[200])).numpy(), rtol=1e-5, atol=1e-6)
        leaf, row = rl.tensor(x, requires_grad=True), rl.tensor(x[200], requires_grad=True)
        f(leaf).backward(rl.tensor(weights))
        f(row).backward(rl.tensor(weights[200]))
        np.testing.assert_allclose(leaf.grad[200].numpy(), row.grad.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [rl.float16, rl.bfloat16], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        ops.relu6,
        lambda x: ops.hardtanh(x, -0.3, 0.7),
        lambda x: ops.logit(x, 0.1),
        lambda x: ops.addcmul(x, x, x, value=0.3),
        lambda x: ops.addcdiv(x, x, x, value=0.3),
    ],
    ids=["relu6", "hardtanh", "logit", "addcmul", "addcdiv"],
)
def test_numbers_beside_16_bit_tensors_do_not_widen_them(call, kind):
    x = rl.tensor([0.25, 0.5, 0.75])
    out = call(x.to(kind))
    assert out.dtype is kind and rl.allclose(out.float(), call(x), atol=0.02)


@pytest.mark.parametrize(("dtype", "near"), [(rl.float16, 0.300048828125), (rl.bfloat16, 0.30078125)])
def test_bounds_of_short_floats(dtype, near):
    """`near` is 0.3 rounded. threshold and the slopes compare with 0.3 as float32 has it, hardshrink with `near`; so torch does."""

    def slope(f):
        x = rl.tensor([near, -near, 0.25], dtype=dtype, requires_grad=True)
        y = f(x)
        y.backward(rl.ones_like(y))
        return y.tolist(), x.grad.tolist()

    functional = rl.nn.functional
    assert slope(lambda x: functional.threshold(x, 0.3, 2.0)) == ([near, 2.0, 2.0], [1.0, 0.0, 0.0])
    assert slope(lambda x: functional.hardshrink(x, 0.3)) == ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert slope(lambda x: functional.hardtanh(x, -1.0, 0.3)) == ([near, -near, 0.25], [0.0, 1.0, 1.0])
    assert slope(lambda x: functional.softplus(x, 1.0, 0.3))[1][0] == 1.0
    x = rl.tensor([near, 0.25], dtype=dtype)
    compiled = rl.compile(lambda x: functional.threshold(x * 1, 0.3, 2.0))
    assert [compiled(x).tolist() for _ in range(3)] == [[near, 2.0]] * 3


def test_clamp_of_nan_has_no_slope():
    nan = float("nan")
    for low, high, want in [(-1, 1, [0, 1, 0]), (-1, None, [0, 1, 1]), (None, 1, [0, 1, 0]), (nan, None, [0, 0, 0])]:
        for limits in [(low, high), tuple(None if v is None else rl.tensor(float(v)) for v in (low, high))]:
            x = rl.tensor([nan, 0.5, 2.0], requires_grad=True)
            x.clamp(*limits).sum().backward()
            assert x.grad.tolist() == want


@pytest.mark.parametrize("size", [1, 4095, 4096, 32768, 32769, 100_001])
def test_relu_keeps_the_bits_of_numpys_maximum(size, monkeypatch):
    monkeypatch.setattr(jit, "on", False)
    x = np.random.default_rng(0).normal(size=size).astype(np.float32)
    special = np.float32([-0.0, 0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-42, -1e-42])
    x[: len(special)] = special[:size]
    x[-len(special) :] = special[:size]
    expected = np.maximum(np.zeros((), np.float32), x).view(np.int32)
    assert (ops.relu(rl.from_numpy(x)).numpy().view(np.int32) == expected).all()
    assert (ops.relu(rl.from_numpy(x).view(1, -1, 1)).numpy().view(np.int32).ravel() == expected).all()
    doubled = rl.from_numpy(np.repeat(x, 2))[::2]
    assert (ops.relu(doubled).numpy().view(np.int32) == expected).all()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("unit", "alpha", "expected"),
    [
        ("elu", float("inf"), [-float("inf"), 0.0, 0.0, 1.0]), ("elu", float("nan"), [float("nan"), 0.0, 0.0, 1.0]),
        ("elu", 0.0, [-0.0, -0.0, 0.0, 1.0]), ("celu", float("inf"), [float("nan"), 0.0, 0.0, 1.0]),
    ],
)  # fmt: skip
def test_exponential_units_of_no_finite_alpha(unit, alpha, expected, compiled):
    """Where the input is not below 0, alpha has no say."""
    f = getattr(rl.nn.functional, unit)
    step = rl.compile(lambda x: f(x, alpha)) if compiled else lambda x: f(x, alpha)
    for _ in range(4):
        got = step(rl.tensor([-2.0, -0.0, 0.0, 1.0])).numpy()
    np.testing.assert_array_equal(got, np.array(expected, np.float32))
    assert alpha != 0 or np.signbit(got).tolist() == [True, True, False, False]
