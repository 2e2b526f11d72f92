"""Sorting, selection, quantiles, counting and searching against NumPy."""

import math

import numpy as np
import pytest

import rushlight as rl

from .central_difference import check_gradients

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 7))
TIED = RNG.integers(0, 4, (4, 9))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
class TestSort:
    def test_values_and_stable_indices(self, dim, descending):
        values, indices = rl.sort(rl.tensor(TIED), dim, descending)
        order = np.argsort(-TIED if descending else TIED, dim, kind="stable")
        np.testing.assert_array_equal(indices.numpy(), order)
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(TIED, order, dim))
        np.testing.assert_array_equal(rl.argsort(rl.tensor(TIED), dim, descending).numpy(), order)

    def test_gradient(self, dim, descending):
        check_gradients(lambda x: x.sort(dim, descending)[0], X)


def test_nan_is_the_largest():
    x = rl.tensor([1.0, math.nan, 0.0])
    assert x.sort().indices.tolist() == [2, 0, 1] and x.sort(descending=True).indices.tolist() == [1, 0, 2]
    assert x.topk(1).indices.tolist() == [1]


@pytest.mark.parametrize("n", [9, 5000])
@pytest.mark.parametrize("largest", [True, False])
def test_topk(n, largest):
    x = RNG.permutation(n * 2).reshape(2, n).astype("d")
    values, indices = rl.tensor(x).topk(4, largest=largest)
    expected = np.sort(x, 1)[:, ::-1][:, :4] if largest else np.sort(x, 1)[:, :4]
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(np.take_along_axis(x, indices.numpy(), 1), expected)
    if n < 100:
        check_gradients(lambda t: t.topk(4, 1, largest)[0], x)


def test_selection():
    values, indices = rl.tensor(X).kthvalue(3, 1)
    np.testing.assert_array_equal(values.numpy(), np.sort(X, 1)[:, 2])
    np.testing.assert_array_equal(np.take_along_axis(X, indices.numpy()[:, None], 1)[:, 0], values.numpy())
    np.testing.assert_array_equal(rl.tensor(X).median(1).values.numpy(), np.median(X, 1))
    assert rl.tensor([4.0, 1.0, 2.0, 3.0]).median().item() == 2
    assert math.isnan(rl.tensor([1.0, math.nan]).median().item())
    assert rl.tensor([1.0, math.nan, 2.0]).nanmedian().item() == 1
    mode = rl.tensor([[1, 2, 2, 1], [3, 3, 0, 1]]).mode(1)
    assert mode.values.tolist() == [1, 3] and mode.indices.tolist() == [3, 1]
    for f in (lambda x: x.kthvalue(3, 1)[0], lambda x: x.median(0)[0], lambda x: x.median(), lambda x: x.mode(1)[0]):
        check_gradients(f, X)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dim", [None, 0, 1])
class TestQuantile:
    def test_values(self, interpolation, dim):
        q = np.array([0.0, 0.31, 0.5, 0.77, 1.0])
        got = rl.quantile(rl.tensor(X), rl.tensor(q), dim, interpolation=interpolation).numpy()
        np.testing.assert_allclose(got, np.quantile(X, q, dim, method=interpolation), rtol=1e-12)
        kept = rl.quantile(rl.tensor(X), 0.31, dim, True, interpolation=interpolation)
        np.testing.assert_allclose(
            kept.numpy(), np.quantile(X, 0.31, dim, method=interpolation, keepdims=True), rtol=1e-12
        )

    def test_nan(self, interpolation, dim):
        x = X.copy()
        x[0, 2] = x[2, 0] = np.nan
        got = rl.nanquantile(rl.tensor(x), 0.4, dim, interpolation=interpolation).numpy()
        np.testing.assert_allclose(got, np.nanquantile(x, 0.4, dim, method=interpolation), rtol=1e-12)
        assert np.isnan(rl.quantile(rl.tensor(x), 0.4, 1, interpolation=interpolation).numpy()).tolist() == [
            True,
            False,
            True,
        ]

    def test_gradient(self, interpolation, dim):
        check_gradients(lambda x: rl.quantile(x, 0.37, dim, interpolation=interpolation), X)


class TestUnique:
    def test_elements(self):
        values, inverse, counts = rl.unique(rl.tensor(TIED), return_inverse=True, return_counts=True)
        assert values.tolist() == sorted(set(TIED.ravel().tolist()))
        np.testing.assert_array_equal(values.numpy()[inverse.numpy()], TIED)
        assert counts.sum().item() == TIED.size
        assert rl.tensor([3, 1, 3]).unique().tolist() == [1, 3]

    def test_rows(self):
        x = rl.tensor([[3, 1], [2, 1], [3, 1]])
        values, inverse, counts = x.unique(dim=0, return_inverse=True, return_counts=True)
        assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([[2, 1], [3, 1]], [1, 0, 1], [1, 2])

    def test_runs(self):
        x = rl.tensor([3, 3, 1, 2, 2, 1])
        values, inverse, counts = rl.unique_consecutive(x, return_inverse=True, return_counts=True)
        assert values.tolist() == [3, 1, 2, 1] and inverse.tolist() == [0, 0, 1, 2, 2, 3]
        assert counts.tolist() == [2, 1, 2, 1]


def test_counting():
    x = rl.tensor([1, 2, 2])
    assert x.bincount(minlength=5).tolist() == [0, 1, 2, 0, 0]
    assert x.bincount(rl.tensor([0.5, 1.0, 1.5])).tolist() == [0.0, 0.5, 2.5]
    assert rl.histc(rl.tensor([1.0, 2.0, 1.0]), 4, 0, 3).tolist() == [0.0, 2.0, 1.0, 0.0]
    x = (rl.arange(48) * 37 % 101 + 1) / 103  # some of which lie on an edge
    assert rl.histc(x, 4).tolist() == [13.0, 12.0, 11.0, 12.0]
    assert rl.histc(x, 10).tolist() == [5.0, 5.0, 5.0, 5.0, 5.0, 4.0, 4.0, 5.0, 5.0, 5.0]
    assert rl.equal(rl.histogram(x, 7).bin_edges, rl.linspace(x.min(), x.max(), 8))
    hist, edges = rl.histogram(rl.tensor([1.0, 2.0, 1.0]), 3, range=(0.0, 3.0), density=True)
    np.testing.assert_allclose(hist.numpy(), [0, 2 / 3, 1 / 3], rtol=1e-6)
    assert edges.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_searching():
    edges = rl.tensor([1.0, 3.0, 5.0])
    assert rl.searchsorted(edges, rl.tensor([3.0, 0.0, 9.0])).tolist() == [1, 0, 3]
    assert rl.searchsorted(edges, 3.0, right=True, out_int32=True).dtype is rl.int32
    rows = rl.searchsorted(rl.tensor([[1.0, 3.0], [2.0, 2.0]]), rl.tensor([[2.0], [2.0]]), side="right")
    assert rows.tolist() == [[1], [2]]
    assert rl.bucketize(rl.tensor([1, 9]), rl.tensor([1, 5])).tolist() == [0, 2]


def test_covariance():
    np.testing.assert_allclose(rl.cov(rl.tensor(X)).numpy(), np.cov(X), rtol=1e-12)
    np.testing.assert_allclose(rl.corrcoef(rl.tensor(X)).numpy(), np.corrcoef(X), rtol=1e-12)
    f, a = np.array([1, 2, 1, 3, 1, 1, 2]), RNG.random(7)
    got = rl.cov(rl.tensor(X), fweights=rl.tensor(f), aweights=rl.tensor(a))
    np.testing.assert_allclose(got.numpy(), np.cov(X, fweights=f, aweights=a), rtol=1e-12)
    check_gradients(lambda x: rl.cov(x), X)


ERRORS = [
    (lambda: rl.ones(3).topk(5), RuntimeError, "selected index k out of range"),
    (lambda: rl.ones(2).kthvalue(3), RuntimeError, "selected number k out of range for dimension 0"),
    (lambda: rl.ones(2).sort(dim=2), IndexError, "Dimension out of range"),
    (lambda: rl.tensor([1, 2]).quantile(0.5), RuntimeError, "must be either float or double dtype"),
    (lambda: rl.ones(2).quantile(1.5), RuntimeError, "must be in the range"),
    (lambda: rl.bincount(rl.tensor([-1])), RuntimeError, "only supports 1-d non-negative integral inputs"),
    (lambda: rl.cov(rl.ones(1, 1, 1)), RuntimeError, "two or fewer dimensions"),
]


@pytest.mark.parametrize(("call", "error", "words"), ERRORS, ids=[row[2][:25] for row in ERRORS])
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


def _random_case(rng):
    """An array of some type and layout, with ties, nan and both zeros, large enough for the quick ways."""
    kind = rng.choice(["f4", "f8", "f2", "i8", "i4", "i2", "u1"])
    shape = [int(rng.integers(1, 40)) for _ in range(rng.integers(1, 4))]
    a = (rng.standard_normal(shape) * rng.choice([3, 1000])).astype(kind)
    if kind == "i8" and rng.random() < 0.5:
        a = a * (1 << 40)  # no 32 bits hold it
    if kind[0] == "f" and rng.random() < 0.4:
        a = np.round(a)
        a[a == 0] *= -1
    if kind[0] == "f" and rng.random() < 0.4:
        a.flat[rng.integers(a.size)] = np.nan
    return np.asfortranarray(a) if rng.random() < 0.3 else a


@pytest.mark.parametrize("seed", range(60))
def test_order_is_that_of_stable_sorting(seed):
    rng = np.random.default_rng(seed)
    for _ in range(8):
        a = _random_case(rng)
        t, dim = rl.from_numpy(a), int(rng.integers(a.ndim))
        n = a.shape[dim]
        rising = a.argsort(dim, kind="stable")
        back = (*(slice(None),) * dim, slice(None, None, -1))
        falling = n - 1 - a[back].argsort(dim, kind="stable")[back]
        bad = np.isnan(a) if a.dtype.kind == "f" else np.zeros(a.shape, bool)
        for order, descending in ((rising, False), (falling, True)):
            values, indices = rl.sort(t, dim=dim, descending=descending, stable=True)
            assert np.array_equal(indices.numpy(), order)
            assert np.array_equal(values.numpy(), np.take_along_axis(a, order, dim), equal_nan=a.dtype.kind == "f")
            k = int(rng.integers(0, n + 1))
            best = np.take_along_axis(a, order.take(range(k), dim), dim)
            for is_sorted in (True, False):
                values, places = t.topk(k, dim, descending, is_sorted)
                assert np.array_equal(values.numpy(), np.take_along_axis(a, places.numpy(), dim), equal_nan=True)
                assert np.array_equal(np.sort(values.numpy(), dim), np.sort(best, dim), equal_nan=True)
            assert np.array_equal(t.topk(k, dim, descending).values.numpy(), best, equal_nan=True)
        k = int(rng.integers(1, n + 1))
        expected = np.take_along_axis(a, rising, dim).take(k - 1, dim)
        assert np.array_equal(t.kthvalue(k, dim).values.numpy(), expected, equal_nan=True)
        rank = np.where(bad.any(dim), n - bad.sum(dim), (n - 1) // 2)
        expected = np.take_along_axis(rising, np.expand_dims(rank, dim), dim).squeeze(dim)
        assert np.array_equal(t.median(dim).indices.numpy(), expected)
        whole = float("nan") if bad.any() else np.sort(a, axis=None)[(a.size - 1) // 2]
        assert np.array_equal(t.median().numpy(), whole, equal_nan=a.dtype.kind == "f")


def test_complex_scalars_are_not_sorted_either():
    for shape in ((), (2,)):
        with pytest.raises(RuntimeError, match="Sort does not support complex dtypes on CPU"):
            rl.sort(rl.zeros(shape, dtype=rl.complex64), stable=True)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("kind", ["any", "ties", "equal", "infinite", "nan"])
def test_topk_of_few_among_many_is_that_of_a_sort(kind, largest):
    rl.manual_seed(len(kind))
    x = rl.randn(3, 1003, 2)
    if kind == "ties":
        x = (3 * x).round()
    elif kind == "equal":
        x = rl.ones_like(x)
    elif kind == "infinite":
        x[:, ::50], x[:, 7::50], x[:, 3::90], x[:, 4::90] = float("inf"), -float("inf"), 0.0, -0.0
    elif kind == "nan":
        x[0, 5, 0] = float("nan")
    values, places = x.topk(15, 1, largest)
    ordered, order = x.sort(1, descending=largest, stable=True)
    assert rl.equal(places, order[:, :15]) or kind in ("ties", "equal", "infinite")
    assert rl.equal(values.nan_to_num(9.5), x.gather(1, places).nan_to_num(9.5))
    assert rl.equal(values.nan_to_num(9.5), ordered[:, :15].nan_to_num(9.5))


def test_unique_alone_and_with_what_it_counts():
    x = rl.randint(-5, 5, (7, 30))
    x = rl.cat([x.double(), rl.tensor([[float("nan")] * 30, [-0.0] * 30])])
    alone, (values, inverse, counts) = x.unique(), x.unique(return_inverse=True, return_counts=True)
    assert alone.shape == values.shape == (10 + 30,) and rl.equal(alone[:10], rl.arange(-5, 5).double())
    assert rl.equal(values[inverse][:7], x[:7]) and counts.sum() == x.numel()


NAN = float("nan")


def test_mode_and_unique_in_the_order_in_which_nans_leave_them():
    """Recorded from torch, which sorts by std::sort: a nan is before nothing, and equal to nothing."""
    found = [rl.mode(rl.tensor(x)) for x in ([NAN, 1.0, 1.0, NAN], [NAN, NAN, 1.0], [1.0, NAN], [3.0, 1.0, NAN])]
    assert [i.item() for _, i in found] == [2, 0, 0, 1]
    x = rl.tensor([[1.0, NAN], [NAN, 1.0], [1.0, NAN], [0.0, 2.0]])
    values, inverse, counts = rl.unique(x, dim=0, return_inverse=True, return_counts=True)
    np.testing.assert_equal(values.numpy(), [[0, 2], [1, NAN], [NAN, 1], [1, NAN]])
    assert inverse.tolist() == [1, 2, 3, 0]
    assert counts.tolist() == [1] * 4
    values = rl.unique(rl.tensor([[NAN, 1.0, 0.0, NAN], [NAN, 1.0, 0.0, NAN]]), dim=1)
    np.testing.assert_equal(values.numpy(), [[NAN, 0, 1, NAN]] * 2)


def test_long_rows_with_nans_are_partitioned():
    draws = rl.Generator().manual_seed(0)
    x = rl.randint(0, 3, (30, 2), generator=draws).float()
    x[rl.rand(30, 2, generator=draws) < 0.2] = NAN
    inverse = rl.unique(x, dim=0, return_inverse=True)[1]
    assert inverse.tolist() == [
        17, 8, 5, 6, 5, 21, 4, 7, 0, 16, 14, 13, 12, 7, 2, 5, 10, 1, 7, 11, 8, 6, 15, 3, 18, 7, 19, 9, 20, 22,
    ]  # fmt: skip
    assert rl.mode(x.flatten()).indices.item() == 51


MODE_OF_30, MODE_OF_17 = [8, 0], [2, 1]


def test_mode_of_ties_in_long_rows():
    """Recorded from torch: which of the equal elements is last after `std::sort`."""
    a = rl.tensor([(i * i * i + 3 * i) % 11 % 5 for i in range(60)]).reshape(2, 30)
    assert a.mode(1).indices.tolist() == MODE_OF_30
    assert a[:, :17].float().mode(1).indices.tolist() == MODE_OF_17
