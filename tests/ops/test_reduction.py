"""Reductions, extremes and running sums against NumPy; their gradients against central differences."""

import math

import numpy as np
import pytest

import rushlight as rl

from .central_difference import check_gradients

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 5))
DIMS = [None, 0, -1, (0, 2), [1], (-1, -2)]


def as_axis(dim):
    return tuple(dim) if isinstance(dim, list) else dim


def log_sum_exp(x, axis, keepdims=False):
    return np.log(np.exp(x).sum(axis, keepdims=keepdims))


SEVERAL = [
    ("sum", np.sum), ("mean", np.mean), ("nansum", np.nansum), ("nanmean", np.nanmean), ("amax", np.max),
    ("amin", np.min), ("var", lambda x, a, keepdims=False: x.var(a, ddof=1, keepdims=keepdims)),
    ("std", lambda x, a, keepdims=False: x.std(a, ddof=1, keepdims=keepdims)),
    ("norm", lambda x, a, keepdims=False: np.sqrt((x * x).sum(a, keepdims=keepdims))),
]  # fmt: skip


@pytest.mark.parametrize("dim", DIMS, ids=str)
@pytest.mark.parametrize(("name", "oracle"), SEVERAL, ids=[row[0] for row in SEVERAL])
class TestOverDimensions:
    def call(self, name, x, dim, keepdim):
        f = getattr(rl, name)
        if dim is None:
            options = {"p": 2} if name == "norm" else {}  # the default, "fro", takes two dimensions at most
            return f(x) if not keepdim else f(x, dim=(0, 1, 2), keepdim=True, **options)
        return f(x, dim=dim, keepdim=keepdim)

    @pytest.mark.parametrize("keepdim", [False, True])
    def test_values(self, name, oracle, dim, keepdim):
        got = self.call(name, rl.tensor(X), dim, keepdim)
        expected = oracle(X, as_axis(dim), keepdims=keepdim)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-13)

    @pytest.mark.parametrize("keepdim", [False, True])
    def test_gradient(self, name, oracle, dim, keepdim):
        check_gradients(lambda x: self.call(name, x, dim, keepdim), X[:2, :3, :2])

    def test_not_contiguous(self, name, oracle, dim):
        got = self.call(name, rl.tensor(X).permute(2, 0, 1), dim, False)
        np.testing.assert_allclose(got.numpy(), oracle(X.transpose(2, 0, 1), as_axis(dim)), rtol=1e-13)


class TestTypesOfSums:
    TABLE = [
        (lambda: rl.tensor([True, True]).sum(), rl.int64, 2),
        (lambda: rl.tensor([100, 100], dtype=rl.uint8).sum(), rl.int64, 200),
        (lambda: rl.tensor([1, 2], dtype=rl.int32).sum(dtype=rl.int32), rl.int32, 3),
        (lambda: rl.tensor([1.5, 2.5]).sum(dtype=rl.int64), rl.int64, 3),
        (lambda: rl.tensor([2, 3], dtype=rl.int8).prod(), rl.int64, 6),
        (lambda: rl.ones(5000).half().sum(), rl.float16, 5000),
        (lambda: rl.ones(5000).bfloat16().mean(), rl.bfloat16, 1),
        (lambda: rl.tensor([1, 2]).cumsum(0)[-1], rl.int64, 3),
        (lambda: rl.tensor([0.0, 2.0]).count_nonzero(), rl.int64, 1),
        (lambda: rl.tensor([1, 1], dtype=rl.uint8).all(), rl.uint8, 1),
    ]

    @pytest.mark.parametrize(("call", "dtype", "value"), TABLE, ids=range(len(TABLE)))
    def test_result(self, call, dtype, value):
        got = call()
        assert got.dtype is dtype and got.item() == value


class TestEmptyAndScalar:
    def test_empty(self):
        assert rl.zeros(0).sum().item() == 0 and rl.zeros(0).prod().item() == 1
        assert math.isnan(rl.zeros(0).mean().item())
        assert rl.zeros(0, 3).sum(0).tolist() == [0.0, 0.0, 0.0]
        assert rl.zeros(0, 3).mean(1).shape == (0,)
        assert rl.zeros(0).all().item() is True and rl.zeros(0).any().item() is False

    def test_scalar_takes_dimension_0(self):
        t = rl.tensor(3.0, requires_grad=True)
        results = (t.sum(0), t.mean(-1), t.prod(0), t.max(0).values, t.cumsum(0), t.amax(0), t.logsumexp(0))
        for r in results:
            assert r.shape == () and r.item() == pytest.approx(3.0)
        sum(results).backward()
        assert t.grad.item() == pytest.approx(len(results))

    def test_no_dimensions(self):
        assert rl.ones(2, 2).sum(dim=[]).item() == 4
        assert rl.ones(1, 2).all(dim=[]).shape == (1, 2)


class TestProduct:
    @pytest.mark.parametrize("zeros", [0, 1, 2])
    def test_gradient_with_zeros(self, zeros):
        x = RNG.normal(size=(2, 4))
        x[0, :zeros] = 0
        check_gradients(lambda t: t.prod(), x)
        check_gradients(lambda t: t.prod(1), x)
        check_gradients(lambda t: t.prod(0, keepdim=True), x)
        check_gradients(lambda t: t.cumprod(1), x)


class TestExtremes:
    def test_along_a_dimension(self):
        for name, arg in (("max", np.argmax), ("min", np.argmin)):
            values, indices = getattr(rl.tensor(X), name)(1)
            np.testing.assert_array_equal(indices.numpy(), arg(X, 1))
            np.testing.assert_array_equal(values.numpy(), getattr(X, name)(1))
            check_gradients(lambda x, name=name: getattr(x, name)(1)[0], X[:2, :3, :2])
            check_gradients(lambda x, name=name: getattr(x, name)(), X[:2, :3, :2])

    def test_named_result(self):
        result = rl.tensor([1.0, 3.0]).max(0)
        assert repr(result) == "torch.return_types.max(\nvalues=tensor(3.),\nindices=tensor(1))"
        assert result.values is result[0] and isinstance(result, tuple)

    def test_ties(self):
        x = rl.tensor([2.0, 2.0, 1.0], requires_grad=True)
        for call, grad in ((rl.amax, [0.5, 0.5, 0]), (rl.max, [0.5, 0.5, 0]), (lambda t: t.max(0)[0], [1, 0, 0])):
            x.grad = None
            call(x).backward()
            assert x.grad.tolist() == grad

    def test_nan_wins(self):
        x = rl.tensor([1.0, math.nan, 3.0])
        assert math.isnan(x.max().item()) and x.argmax().item() == 1 and x.min(0).indices.item() == 1

    def test_running(self):
        x = rl.tensor([1.0, 3.0, 3.0, 2.0])
        assert x.cummax(0).values.tolist() == [1, 3, 3, 3] and x.cummax(0).indices.tolist() == [0, 1, 2, 2]
        assert x.cummin(0).indices.tolist() == [0, 0, 0, 0]
        check_gradients(lambda t: t.cummax(1)[0], X[0])
        low, high = rl.aminmax(x)
        assert (low.item(), high.item()) == (1.0, 3.0)

    def test_places(self):
        t = rl.tensor(X)
        assert t.argmax().item() == X.argmax()
        np.testing.assert_array_equal(t.argmin(2, keepdim=True).numpy(), X.argmin(2, keepdims=True))


class TestMoments:
    @pytest.mark.parametrize(("options", "ddof"), [({}, 1), ({"correction": 0}, 0), ({"unbiased": False}, 0)])
    def test_corrections(self, options, ddof):
        np.testing.assert_allclose(rl.tensor(X).var(1, **options).numpy(), X.var(1, ddof=ddof), rtol=1e-13)
        check_gradients(lambda x: x.std(0, **options), X[:3, :2, 0])

    def test_with_means(self):
        spread, mean = rl.std_mean(rl.tensor(X), 0)
        np.testing.assert_allclose(spread.numpy(), X.std(0, ddof=1), rtol=1e-13)
        np.testing.assert_allclose(mean.numpy(), X.mean(0), rtol=1e-13)
        check_gradients(lambda x: rl.var_mean(x, 0)[0] + rl.var_mean(x, 0)[1], X[0])

    @pytest.mark.parametrize("dim", [None, 0, 1, 2, (0, 2), (1, 2), (0, 1, 2)], ids=str)
    @pytest.mark.parametrize("shape", [(3, 4, 5), (1, 6, 1), (7, 60, 50), (50, 3, 400)], ids=str)
    def test_single_precision_is_rounded_at_the_end(self, shape, dim):
        x = (np.random.default_rng(1).normal(size=shape) * 3 + 40).astype(np.float32)
        for a in (x, np.asfortranarray(x), np.sort(x, None).reshape(shape)):
            for keepdim in (False, True):
                exact = a.astype(np.float64).var(dim, keepdims=keepdim)
                got = rl.from_numpy(a).var(dim, correction=0, keepdim=keepdim).numpy()
                assert got.shape == exact.shape
                np.testing.assert_array_max_ulp(got, exact.astype(np.float32), 2)
                got = rl.from_numpy(a).std(dim, correction=0, keepdim=keepdim).numpy()
                np.testing.assert_array_max_ulp(got, np.sqrt(exact).astype(np.float32), 2)

    @pytest.mark.parametrize("shape", [(6,), (2, 3), (130, 257)])
    def test_what_has_no_variance(self, shape):
        x = np.zeros(shape, np.float32)
        assert not rl.from_numpy(x + np.float32(0.1)).var().item()
        for value in (np.nan, np.inf):
            x.flat[-1] = value
            assert math.isnan(rl.from_numpy(x).var().item()) and math.isnan(rl.from_numpy(x).var(-1).sum().item())

    def test_too_few_samples(self):
        with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
            assert math.isnan(rl.tensor([1.0]).var().item())


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, math.inf, -math.inf])
def test_norms(p):
    x = X[0]
    size = np.abs(x)
    expected = {0: (x != 0).sum(1), math.inf: size.max(1), -math.inf: size.min(1)}.get(p)
    if expected is None:
        expected = (size**p).sum(1) ** (1 / p)
    np.testing.assert_allclose(rl.norm(rl.tensor(x), p, 1).numpy(), expected, rtol=1e-13)
    if p:
        check_gradients(lambda t: t.norm(p, 1), x)
        check_gradients(lambda t: t.norm(p), x)


def test_norm_of_zeros_has_gradient_zero():
    x = rl.zeros(3, requires_grad=True)
    x.norm().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


class TestLogarithmicSums:
    def test_values(self):
        np.testing.assert_allclose(rl.tensor(X).logsumexp(1).numpy(), log_sum_exp(X, 1), rtol=1e-13)
        np.testing.assert_allclose(rl.tensor(X).logsumexp((0, 2)).numpy(), log_sum_exp(X, (0, 2)), rtol=1e-13)
        running = np.log(np.cumsum(np.exp(X), 2))
        np.testing.assert_allclose(rl.tensor(X).logcumsumexp(2).numpy(), running, rtol=1e-12)

    def test_gradients(self):
        check_gradients(lambda x: x.logsumexp(1), X[0])
        check_gradients(lambda x: x.logcumsumexp(1), X[0])

    def test_infinities(self):
        x = rl.tensor([-math.inf, -math.inf], requires_grad=True)
        assert x.logsumexp(0).item() == -math.inf
        assert rl.tensor([1e4, 1e4]).logsumexp(0).item() == pytest.approx(1e4 + math.log(2))


def test_running_sums_and_differences():
    np.testing.assert_allclose(rl.tensor(X).cumsum(1).numpy(), X.cumsum(1))
    np.testing.assert_allclose(rl.tensor(X).diff(n=2, dim=1).numpy(), np.diff(X, 2, 1))
    np.testing.assert_allclose(rl.trapezoid(rl.tensor(X), dim=2).numpy(), np.trapezoid(X, axis=2))
    for f in (lambda x: x.cumsum(0), lambda x: x.diff(), lambda x: rl.cumulative_trapezoid(x, dx=0.5)):
        check_gradients(f, X[0])


ERRORS = [
    (lambda: rl.ones(1).sum(2), IndexError, "Dimension out of range"),
    (lambda: rl.ones(1).sum((0, 0)), RuntimeError, "appears multiple times in the list of dims"),
    (lambda: rl.tensor([1]).mean(), RuntimeError, "could not infer output dtype"),
    (lambda: rl.zeros(0).max(), RuntimeError, "Expected reduction dim to be specified"),
    (lambda: rl.zeros(0, 3).max(0), IndexError, "Expected reduction dim 0 to have non-zero size"),
    (lambda: rl.tensor([True]).argmax(), RuntimeError, "does not support bool input"),
    (lambda: rl.tensor([1]).var(), RuntimeError, "only support floating point"),
    (lambda: rl.tensor([1]).norm(), RuntimeError, "Expected a floating point or complex tensor"),
    (lambda: rl.dist(rl.ones(1), 2), TypeError, "must be Tensor, not int"),
]


@pytest.mark.parametrize(("call", "error", "words"), ERRORS, ids=[row[2][:25] for row in ERRORS])
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    "sums", [lambda x: x.sum(0), lambda x: x.mean(0) * len(x), lambda x: x.sum(0, keepdim=True)[0]]
)
def test_sums_over_many_rows_keep_their_digits(sums):
    x = rl.rand(70_001, 5, generator=rl.Generator().manual_seed(1))
    exact = x.double().sum(0)
    assert ((sums(x).double() - exact) / exact).abs().max() < 1e-6
    few, exact = x[:640], x[:640].double().sum(0)
    assert ((sums(few).double() - exact) / exact).abs().max() < 2e-7  # row after row: 4e-7


@pytest.mark.parametrize(("dtype", "total"), [(rl.float32, 10000.0), (rl.float64, 10000.0), (rl.bfloat16, 9984.0)])
def test_running_sums_keep_their_digits(dtype, total):
    """torch adds float32 up in float64, 16-bit floats in float32; row after row in float32 gives 9998.56."""
    assert rl.full((100_000,), 0.1, dtype=dtype).cumsum(0)[-1].item() == pytest.approx(total, rel=1e-7)
    assert rl.full((500,), 1.01, dtype=rl.float32).cumprod(0)[-1].item() == 144.7720947265625


def test_a_bias_of_many_rows_keeps_its_digits():
    bias = rl.zeros(3, requires_grad=True)
    g = rl.rand(70_001, 3, generator=rl.Generator().manual_seed(2))
    rl.nn.functional.linear(rl.zeros(70_001, 2), rl.zeros(3, 2), bias).backward(g)
    assert ((bias.grad.double() - g.double().sum(0)) / g.double().sum(0)).abs().max() < 1e-6


@pytest.mark.parametrize(
    "name",
    [
        "sum",
        "mean",
        "prod",
        "var",
        "std",
        "amax",
        "amin",
        "max",
        "min",
        "median",
        "any",
        "all",
        "logsumexp",
        "nansum",
        "norm",
        "count_nonzero",
        "argmax",
    ],
)
def test_results_over_permuted_memory_lie_in_rows(name):
    x = rl.rand(2, 3, 4, 5).permute(3, 1, 0, 2)
    for dim in (0, 1, -1):
        r = getattr(x > 0.5 if name in ("any", "all") else x, name)(dim=dim)
        (r[0] if isinstance(r, tuple) else r).view(-1)


@pytest.mark.parametrize(
    ("f", "correction", "expected"),
    [
        ("std", 0, [-1.0690, -0.2673, 1.3363]),
        ("var", 0, [-2.6667, -0.6667, 3.3333]),
        ("std", 1, [-math.inf, -math.inf, math.inf]),
        ("var", 3, [1.3333, 0.3333, -1.6667]),
    ],
)
@pytest.mark.parametrize("dim", [(), []])
@pytest.mark.filterwarnings("ignore:(std|var).*degrees of freedom")
def test_gradient_of_variances_over_an_empty_list_of_dimensions(f, correction, expected, dim):
    """torch reduces all elements, and counts one in the gradient."""
    x = rl.tensor([1.0, 2.0, 4.0], requires_grad=True)
    getattr(rl, f)(x, dim=dim, correction=correction).backward()
    assert x.grad.tolist() == pytest.approx(expected, abs=1e-4)


def test_gradient_of_variances_without_degrees_of_freedom():
    for dim in (None, 0):
        x = rl.tensor([2.0], requires_grad=True)
        with pytest.warns(UserWarning, match="degrees of freedom"):
            rl.var(x, dim=dim, correction=1).backward()
        assert math.isnan(x.grad.item())
    x = rl.tensor([1.0, 2.0, 4.0], requires_grad=True)
    with pytest.warns(UserWarning, match="degrees of freedom"):
        rl.var(x, dim=0, correction=5).backward()
    assert x.grad.tolist() == pytest.approx([1.3333, 0.3333, -1.6667], abs=1e-4)


class TestDerivativesWhereTheyAreSingular:
    """What torch 2.13 gives at zero vectors, infinities and kinks."""

    @staticmethod
    def second(f, *values):
        x = rl.tensor(values, requires_grad=True)
        (g,) = rl.autograd.grad(f(x).sum(), x, create_graph=True)
        return g.tolist(), rl.autograd.grad(g.sum(), x)[0].tolist() if g.requires_grad else None

    def test_norm_of_zeros(self):
        first, second = self.second(lambda x: x.norm(), 0.0, 0.0)
        assert first == [0.0, 0.0] and np.isnan(second).all()

    def test_largest_element_that_is_nan(self):
        assert self.second(lambda x: rl.linalg.vector_norm(x, float("inf")), float("nan"), 1.0)[0] == [0.0, 0.0]

    def test_product_of_one_element(self):
        assert self.second(lambda x: x.prod(), 0.0) == self.second(lambda x: x.cumprod(0), 0.0) == ([1.0], None)

    def test_running_logarithmic_sums_with_infinities(self):
        x = rl.tensor([1.0, float("nan"), 2.0], requires_grad=True)
        (g,) = rl.autograd.grad(x.logcumsumexp(0).sum(), x)
        assert g.isnan().all()
        x = rl.tensor([1.0, 2.0, 3.0])
        _, slope = rl.func.jvp(lambda x: x.logcumsumexp(0), (x,), (rl.ones(3),))
        assert rl.allclose(slope, rl.ones(3)) and not slope.requires_grad

    def test_powers_of_integers_overflow(self):
        x = rl.ones(3, requires_grad=True)
        (g,) = rl.autograd.grad(rl.ldexp(x, rl.tensor([1, 2, 100], dtype=rl.int32)).sum(), x)
        assert g.tolist() == [2.0, 4.0, 0.0]


def test_sums_in_a_given_type_have_it():
    x = rl.tensor([1, 2])
    assert rl.nansum(x, dtype=rl.bool).dtype is rl.bool
    assert rl.zeros(0, dtype=rl.int8).median().item() == 0


def test_unique_slices_need_elements():
    for shape, dim in (((2, 0), 0), ((0, 2), 1)):
        for f in (rl.unique, rl.unique_consecutive):
            with pytest.raises(RuntimeError, match="0 sized dimensions"):
                f(rl.zeros(shape), dim=dim)


@pytest.mark.parametrize("keepdim", [False, True])
def test_of_equal_zeros_the_first_has_its_sign(keepdim):
    x = rl.tensor([[0.0, -0.0, -2.0], [-0.0, 0.0, -2.0], [-2.0, -0.0, 0.0], [1.0, 2.0, 2.0]])
    values, places = x.max(1, keepdim)
    assert (1 / values).flatten().tolist() == [math.inf, -math.inf, -math.inf, 0.5]
    assert places.flatten().tolist() == [0, 0, 1, 1] and values.shape == ((4, 1) if keepdim else (4,))
    values, places = (-x.T).min(0, keepdim)
    assert (1 / values).flatten().tolist() == [-math.inf, math.inf, math.inf, -0.5]
    assert places.flatten().tolist() == [0, 0, 1, 1]
