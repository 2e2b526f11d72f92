"""Poolings against loops over their windows, and their gradients against central differences."""

import itertools
import math

import numpy as np
import pytest

import rushlight as rl
from rushlight import ops

from .central_difference import check_gradients
from .second_gradient import check_second_gradients

rng = np.random.default_rng(0)
MAX = {1: ops.max_pool1d, 2: ops.max_pool2d, 3: ops.max_pool3d}
MEAN = {1: ops.avg_pool1d, 2: ops.avg_pool2d, 3: ops.avg_pool3d}
UNPOOL = {1: ops.max_unpool1d, 2: ops.max_unpool2d, 3: ops.max_unpool3d}

CASES = [
    # sizes, kernel, stride, padding, dilation
    ((8,), (2,), (2,), (0,), (1,)),
    ((7,), (3,), (2,), (1,), (2,)),
    ((6, 8), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((7, 6), (3, 2), (2, 1), (1, 1), (1, 1)),
    ((7, 6), (2, 3), (3, 2), (0, 1), (2, 1)),
    ((8, 8), (6, 6), (1, 2), (3, 3), (1, 1)),
    ((4, 5, 6), (2, 3, 2), (2, 1, 2), (0, 1, 1), (1, 1, 2)),
    ((6, 8), (2, 2), (2, 2), (0, 0), (2, 2)),
]


def window_lists(sizes, kernel, stride, padding, dilation, ceil_mode):
    """For each axis: for each window the list of its places, those in the padding too."""
    lists = []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        room = (n + 2 * p - d * (k - 1) - 1) / s
        out = (math.ceil(room) if ceil_mode else math.floor(room)) + 1
        if ceil_mode and (out - 1) * s >= n + p:
            out -= 1
        lists.append([[o * s - p + r * d for r in range(k)] for o in range(out)])
    return lists


def pooled_maxima(x, n, lists):
    sizes = x.shape[-n:]
    outs = tuple(map(len, lists))
    y, at = np.empty((*x.shape[:-n], *outs)), np.empty((*x.shape[:-n], *outs), np.int64)
    for lead in np.ndindex(*x.shape[:-n]):
        for cell in np.ndindex(*outs):
            best = None
            for place in itertools.product(*(lists[i][j] for i, j in enumerate(cell))):
                if all(0 <= p < s for p, s in zip(place, sizes, strict=True)):
                    value = x[(*lead, *place)]
                    if best is None or value > best or np.isnan(value):
                        best, where = value, np.ravel_multi_index(place, sizes)
            y[(*lead, *cell)], at[(*lead, *cell)] = best, where
    return y, at


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("sizes", "kernel", "stride", "padding", "dilation"), CASES)
@pytest.mark.parametrize("values", ["normal", "ties", "nan", "lowest"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_maxima_and_their_places(sizes, kernel, stride, padding, dilation, ceil_mode, values, kind):
    n = len(sizes)
    x = rng.normal(size=(2, 3, *sizes))
    x = {"ties": np.round(x), "lowest": np.full_like(x, -np.inf)}.get(values, x)
    if values == "nan":
        x[..., 2] = np.nan
    x = x.astype(kind)
    y, at = pooled_maxima(x, n, window_lists(sizes, kernel, stride, padding, dilation, ceil_mode))
    arguments = (kernel, stride, padding, dilation, ceil_mode)
    for requires_grad in (False, True):
        t = rl.tensor(x, requires_grad=requires_grad)
        np.testing.assert_array_equal(MAX[n](t, *arguments).detach().numpy(), y.astype(kind))
    out, places = MAX[n](t, *arguments, return_indices=True)
    np.testing.assert_array_equal(out.detach().numpy(), y.astype(kind))
    np.testing.assert_array_equal(places.numpy(), at)
    expected = np.zeros((6, math.prod(sizes)))
    np.add.at(expected, (np.arange(6)[:, None], at.reshape(6, -1)), 1)
    out.backward(rl.ones_like(out))
    np.testing.assert_allclose(t.grad.numpy(), expected.reshape(x.shape))


@pytest.mark.parametrize(("sizes", "kernel", "stride", "padding", "dilation"), CASES[:5])
def test_gradients_of_maxima(sizes, kernel, stride, padding, dilation):
    x = rng.permutation(2 * math.prod(sizes)).reshape(1, 2, *sizes) / 7

    def f(x):
        return MAX[len(sizes)](x, kernel, stride, padding, dilation)

    check_gradients(f, x)
    check_second_gradients(lambda x: f(x).square(), x)


def test_ties_go_to_the_first_of_the_window():
    x = rl.zeros(1, 1, 2, 2, requires_grad=True)
    ops.max_pool2d(x, 2).sum().backward()
    assert x.grad.tolist() == [[[[1, 0], [0, 0]]]]


def test_node_and_integers():
    x = rl.randn(1, 1, 4, 4, requires_grad=True)
    assert ops.max_pool2d(x, 2).grad_fn.name() == "MaxPool2DWithIndicesBackward0"
    assert ops.avg_pool2d(x, 2).grad_fn.name() == "AvgPool2DBackward0"
    whole = rl.arange(16).reshape(1, 4, 4)
    assert ops.max_pool2d(whole, 2).tolist() == [[[5, 7], [13, 15]]]
    assert ops.avg_pool2d(whole, 2).tolist() == [[[2, 4], [10, 12]]]
    with pytest.raises(NotImplementedError, match="Bool"):
        ops.max_pool2d(whole > 3, 2)


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("count_include_pad", [False, True])
@pytest.mark.parametrize(("sizes", "kernel", "stride", "padding"), [c[:4] for c in CASES])
def test_means(sizes, kernel, stride, padding, ceil_mode, count_include_pad):
    n = len(sizes)
    x = rng.normal(size=(1, 2, *sizes))
    lists = window_lists(sizes, kernel, stride, padding, (1,) * n, ceil_mode)
    expected = np.empty((1, 2, *map(len, lists)))
    for cell in np.ndindex(*map(len, lists)):
        total, count = 0, 0
        for place in itertools.product(*(lists[i][j] for i, j in enumerate(cell))):
            inside = all(0 <= p < s for p, s in zip(place, sizes, strict=True))
            padded = all(p < s + q for p, s, q in zip(place, sizes, padding, strict=True))
            total = total + (x[(..., *place)] if inside else 0)
            count += inside or (count_include_pad and padded)
        expected[(..., *cell)] = total / count

    def f(x):
        return MEAN[n](x, kernel, stride, padding, ceil_mode, count_include_pad)

    np.testing.assert_allclose(f(rl.tensor(x)).numpy(), expected, atol=1e-12)
    single = f(rl.tensor(x.astype(np.float32))).numpy()
    np.testing.assert_allclose(single, expected, atol=1e-5)
    check_gradients(f, x)
    check_second_gradients(lambda x: f(x).square(), x)


def test_divisor_override():
    assert ops.avg_pool2d(rl.ones(1, 2, 2), 2, divisor_override=8).item() == 0.5
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        ops.avg_pool2d(rl.ones(1, 2, 2), 2, divisor_override=0)


ADAPTIVE = [
    ((8,), (3,)),
    ((8,), (1,)),
    ((6, 7), (3, 4)),
    ((6, 8), (3, 2)),
    ((5, 6), (1, 1)),
    ((3, 4), (5, 7)),
    ((4, 5, 6), (2, 2, 4)),
]


@pytest.mark.parametrize(("sizes", "out"), ADAPTIVE)
def test_adaptive(sizes, out):
    n = len(sizes)
    means = {1: ops.adaptive_avg_pool1d, 2: ops.adaptive_avg_pool2d, 3: ops.adaptive_avg_pool3d}[n]
    maxima = {1: ops.adaptive_max_pool1d, 2: ops.adaptive_max_pool2d, 3: ops.adaptive_max_pool3d}[n]
    x = rng.permutation(2 * math.prod(sizes)).reshape(1, 2, *sizes) / 7
    y, z = np.empty((1, 2, *out)), np.empty((1, 2, *out))
    for cell in np.ndindex(*out):
        box = tuple(slice(i * s // o, -(-(i + 1) * s // o)) for i, s, o in zip(cell, sizes, out, strict=True))
        window = x[(..., *box)].reshape(1, 2, -1)
        y[(..., *cell)], z[(..., *cell)] = window.mean(-1), window.max(-1)
    np.testing.assert_allclose(means(rl.tensor(x), out).numpy(), y)
    np.testing.assert_allclose(maxima(rl.tensor(x), out).numpy(), z)
    _, places = maxima(rl.tensor(x), out, return_indices=True)
    np.testing.assert_allclose(
        np.take_along_axis(x.reshape(1, 2, -1), places.numpy().reshape(1, 2, -1), 2), z.reshape(1, 2, -1)
    )
    for f in (means, maxima):
        check_gradients(lambda t, f=f: f(t, out), x)
        check_second_gradients(lambda t, f=f: f(t, out).square(), x)


def test_adaptive_sizes():
    x = rl.ones(2, 3, 5, 6)
    assert ops.adaptive_avg_pool2d(x, (None, 3)).shape == (2, 3, 5, 3)
    assert ops.adaptive_avg_pool2d(x, 1).shape == (2, 3, 1, 1)
    assert ops.adaptive_avg_pool2d(x, 0).shape == (2, 3, 0, 0)
    with pytest.raises(RuntimeError, match="greater than or equal to 0"):
        ops.adaptive_avg_pool2d(x, -1)
    with pytest.raises(RuntimeError, match="output_size must be 2"):
        ops.adaptive_avg_pool2d(x, (1, 2, 3))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_unpooling_puts_the_maxima_back(n):
    x = rng.normal(size=(2, 3, *(6,) * n))
    pooled, places = MAX[n](rl.tensor(x), 2, return_indices=True)
    back = UNPOOL[n](pooled, places, 2)
    assert tuple(back.shape) == x.shape
    kept = back.numpy() != 0
    assert kept.sum() == pooled.numel() and (back.numpy()[kept] == x[kept]).all()
    check_gradients(lambda p: UNPOOL[n](p, places, 2), pooled.numpy()[:2])


def test_unpooling_errors():
    pooled, places = ops.max_pool2d(rl.randn(1, 2, 6, 6), 2, return_indices=True)
    with pytest.raises(ValueError, match="dim 0 must be between 4 and 8"):
        ops.max_unpool2d(pooled, places, 2, output_size=(9, 9))
    with pytest.raises(RuntimeError, match="Found an invalid max index"):
        ops.max_unpool2d(pooled, places + 100, 2)
    with pytest.raises(RuntimeError, match="should be type int64"):
        ops.max_unpool2d(pooled, places.int(), 2)


def test_powers():
    x = np.abs(rng.normal(size=(2, 3, 6, 6)))
    windows = x.reshape(2, 3, 3, 2, 3, 2)
    np.testing.assert_allclose(ops.lp_pool2d(rl.tensor(x), 2, 2).numpy(), np.sqrt((windows**2).sum((3, 5))))
    np.testing.assert_allclose(ops.lp_pool2d(rl.tensor(x), math.inf, 2).numpy(), windows.max((3, 5)))
    check_gradients(lambda t: ops.lp_pool1d(t, 3, 2), x[0, :, 0])


def test_windows_at_random_places():
    x = rl.randn(2, 3, 7, 7, dtype=rl.float64)
    samples = rl.rand(2, 3, 2, dtype=rl.float64)
    y, places = ops.fractional_max_pool2d(x, 2, 3, return_indices=True, _random_samples=samples)
    assert y.shape == (2, 3, 3, 3)
    assert (x.reshape(2, 3, -1).gather(2, places.reshape(2, 3, -1)) == y.reshape(2, 3, -1)).all()
    check_gradients(lambda t: ops.fractional_max_pool2d(t, 2, 3, _random_samples=samples), x.numpy())


ERRORS = [
    ((6, 6), {}, "for input"),
    ((1, 1, 6, 6), {"kernel_size": 9}, "Output size is too small"),
    ((1, 1, 6, 6), {"kernel_size": 0}, "stride should not be zero"),
    ((1, 1, 6, 6), {"stride": 0}, "stride should not be zero"),
    ((1, 1, 6, 6), {"stride": -1}, "stride should be greater than zero, but got dH: -1 dW: -1"),
    ((1, 1, 6, 6), {"padding": 2}, "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2"),
    ((1, 1, 6, 6), {"padding": -1}, "pad must be non-negative, but got pad: -1"),
    ((1, 1, 6, 6), {"dilation": 0}, "dilation should be greater than zero"),
    ((1, 1, 6, 6), {"kernel_size": (2, 2, 2)}, "must either be a single int, or a tuple of two ints"),
    ((2, 3, 0, 6), {}, "optional 0 dim batch size for input"),
]


@pytest.mark.parametrize(("shape", "arguments", "words"), ERRORS)
def test_errors(shape, arguments, words):
    with pytest.raises(RuntimeError, match=words):
        ops.max_pool2d(rl.ones(*shape), **{"kernel_size": 2, **arguments})


def test_empty_batches_and_wrong_types():
    assert ops.max_pool2d(rl.ones(0, 3, 6, 6), 2).shape == (0, 3, 3, 3)
    assert ops.avg_pool2d(rl.ones(0, 3, 6, 6), 2).shape == (0, 3, 3, 3)
    with pytest.raises(TypeError, match="argument 'kernel_size'"):
        ops.max_pool2d(rl.ones(1, 4, 4), 2.5)
    with pytest.raises(TypeError, match="argument 'input'"):
        ops.max_pool2d(np.ones((1, 4, 4)), 2)
