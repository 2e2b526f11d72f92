"""oneDNN's kernels against plain NumPy, written here in double precision."""

import ctypes
import itertools
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from rushlight.backend import isa, onednn
from rushlight.backend.onednn import blas, calls, library, primitives
from rushlight.backend.onednn.primitives import primitive_desc
from rushlight.backend.onednn.register import install, prefer
from rushlight.core.tensor import shared_memory as sharing
from rushlight.core.tensor.tensor import wrap

needs_onednn = pytest.mark.skipif(not onednn.available(), reason=onednn.reason_unavailable() or "oneDNN")


def random(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


# -- the reference -----------------------------------------------------------------------------------------------------
def pairs(padding):
    return [pad if isinstance(pad, tuple) else (pad, pad) for pad in padding]


def taps(padded, kernel, stride, dilation, outs):
    """For each place in the kernel: the place, and the index of the elements that meet it."""
    for place in itertools.product(*map(range, kernel)):
        yield (
            place,
            (
                ...,
                *(
                    slice(i * d, i * d + s * (o - 1) + 1, s)
                    for i, d, s, o in zip(place, dilation, stride, outs, strict=True)
                ),
            ),
        )


def out_sizes(padded, kernel, stride, dilation):
    return [
        (n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(padded.shape[2:], kernel, stride, dilation, strict=True)
    ]


def pad_zeros(x, padding):
    return np.pad(x.astype(np.float64), [(0, 0), (0, 0), *pairs(padding)])


def conv_parts(x_shape, weight_shape, groups):
    """(channels of x, of weight and out) of each group."""
    inside, outside = x_shape[1] // groups, weight_shape[0] // groups
    for i in range(groups):
        yield slice(i * inside, (i + 1) * inside), slice(i * outside, (i + 1) * outside)


def reference_conv(x, weight, bias, stride, padding, dilation, groups):
    padded, weight = pad_zeros(x, padding), weight.astype(np.float64)
    outs = out_sizes(padded, weight.shape[2:], stride, dilation)
    out = np.zeros((x.shape[0], weight.shape[0], *outs))
    for place, elements in taps(padded, weight.shape[2:], stride, dilation, outs):
        for ins, ks in conv_parts(x.shape, weight.shape, groups):
            out[:, ks] += np.einsum("nc...,kc->nk...", padded[:, ins][elements], weight[(ks, slice(None), *place)])
    return out if bias is None else out + bias.reshape(-1, *[1] * len(outs))


def reference_conv_backward(g, x, weight, stride, padding, dilation, groups):
    """(gradient of x, of weight, of bias)."""
    padded, weight, g = pad_zeros(x, padding), weight.astype(np.float64), g.astype(np.float64)
    gx, gw = np.zeros_like(padded), np.zeros_like(weight)
    for place, elements in taps(padded, weight.shape[2:], stride, dilation, g.shape[2:]):
        for ins, ks in conv_parts(x.shape, weight.shape, groups):
            tap = (ks, slice(None), *place)
            gx[:, ins][elements] += np.einsum("nk...,kc->nc...", g[:, ks], weight[tap])
            gw[tap] = np.tensordot(g[:, ks], padded[:, ins][elements], [[0, *range(2, g.ndim)]] * 2)
    inner = tuple(slice(a, a + n) for (a, _), n in zip(pairs(padding), x.shape[2:], strict=True))
    return gx[(..., *inner)], gw, g.sum(axis=(0, *range(2, g.ndim)))


def close(actual, expected):
    assert actual.dtype == np.float32 and actual.flags.c_contiguous and actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5 * max(1.0, np.abs(expected).max()))


# -- convolution -------------------------------------------------------------------------------------------------------
CONVOLUTIONS = {  # x, weight, stride, padding, dilation, groups
    "lenet first": ((4, 3, 32, 32), (6, 3, 5, 5), (1, 1), (0, 0), (1, 1), 1),
    "lenet second": ((4, 6, 14, 14), (16, 6, 5, 5), (1, 1), (0, 0), (1, 1), 1),
    "grey": ((2, 1, 12, 12), (8, 1, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "many channels": ((2, 32, 10, 9), (48, 32, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "odd channels": ((2, 19, 7, 7), (13, 19, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "on all threads": ((8, 24, 28, 28), (20, 24, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "strided": ((2, 8, 15, 16), (12, 8, 3, 3), (2, 3), (1, 2), (1, 1), 1),
    "dilated": ((2, 5, 16, 17), (4, 5, 3, 3), (1, 1), (2, 3), (2, 3), 1),
    "one by one": ((3, 16, 6, 6), (32, 16, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "one by one, strided": ((3, 16, 7, 7), (32, 16, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    "groups": ((2, 12, 9, 9), (8, 6, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    "depthwise": ((2, 16, 9, 9), (16, 1, 3, 3), (1, 1), (1, 1), (1, 1), 16),
    "depthwise, two each": ((2, 6, 9, 9), (12, 1, 3, 3), (1, 1), (1, 1), (1, 1), 6),
    "asymmetric padding": ((2, 4, 8, 9), (5, 4, 3, 2), (1, 2), ((0, 2), (1, 0)), (1, 1), 1),
    "large kernel": ((1, 3, 40, 40), (16, 3, 7, 7), (2, 2), (3, 3), (1, 1), 1),
    "whole image": ((5, 4, 6, 6), (7, 4, 6, 6), (1, 1), (0, 0), (1, 1), 1),
    "1-d": ((3, 5, 40), (7, 5, 3), (2,), (1,), (1,), 1),
    "1-d, grouped, dilated": ((3, 6, 40), (9, 2, 3), (1,), (4,), (4,), 3),
    "3-d": ((2, 3, 6, 8, 7), (5, 3, 3, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 1), 1),
    "3-d, grouped": ((1, 8, 5, 6, 7), (16, 4, 3, 1, 3), (1, 1, 2), (1, 0, 0), (2, 1, 1), 2),
}
convolutions = pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)


@needs_onednn
@convolutions
@pytest.mark.parametrize("with_bias", [True, False])
def test_convolution_forward(case, with_bias):
    x_shape, weight_shape, *steps = case
    x, weight = random(*x_shape), random(*weight_shape)
    bias = random(weight_shape[0]) if with_bias else None
    for _ in range(2):  # the second call uses what the first one made
        close(onednn.conv_forward(x, weight, bias, *steps), reference_conv(x, weight, bias, *steps))


@needs_onednn
@convolutions
def test_convolution_backward(case):
    x_shape, weight_shape, *steps = case
    x, weight = random(*x_shape), random(*weight_shape)
    g = random(*reference_conv(x, weight, None, *steps).shape)
    gx, gw, gb = reference_conv_backward(g, x, weight, *steps)
    for _ in range(2):
        close(onednn.conv_backward_input(g, weight, x_shape, *steps), gx)
        close(onednn.conv_backward_weight(g, x, weight_shape, *steps, False), gw)
        both = onednn.conv_backward_weight(g, x, weight_shape, *steps, True)
        close(both[0], gw)
        close(both[1], gb)


@needs_onednn
def test_results_belong_to_the_caller():
    x, weight, steps = random(2, 3, 8, 8), random(4, 3, 3, 3), ((1, 1), (0, 0), (1, 1), 1)
    first = onednn.conv_forward(x, weight, None, *steps)
    kept = first.copy()
    second = onednn.conv_forward(-x, weight, None, *steps)
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(second, -kept)


@needs_onednn
def test_views_are_read_by_their_strides():
    x, weight, steps = random(2, 3, 8, 9), random(4, 3, 3, 3), ((1, 1), (0, 0), (1, 1), 1)
    expected = reference_conv(x, weight, None, *steps)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    padded = np.zeros((2, 3, 8, 20), np.float32)
    padded[..., 1:19:2] = x
    turned = np.ascontiguousarray(weight[:, :, ::-1, ::-1])[:, :, ::-1, ::-1]
    for view in (last, padded[..., 1:19:2], np.frombuffer(x.tobytes(), np.float32).reshape(x.shape)):
        close(onednn.conv_forward(view, turned, None, *steps), expected)
    g = np.broadcast_to(np.float32(1), expected.shape)
    gx, gw, _ = reference_conv_backward(g, x, weight, *steps)
    close(onednn.conv_backward_input(g, weight, x.shape, *steps), gx)
    close(onednn.conv_backward_weight(g, last, weight.shape, *steps, True)[0], gw)


@needs_onednn
def test_an_equal_dtype_object_is_served():
    import pickle

    x, weight = pickle.loads(pickle.dumps(random(1, 2, 5, 5))), random(3, 2, 3, 3)
    assert x.dtype is not np.dtype(np.float32)
    steps = ((1, 1), (0, 0), (1, 1), 1)
    close(onednn.conv_forward(x, weight, None, *steps), reference_conv(x, weight, None, *steps))


REFUSED = {  # changes to a good call
    "double": {"x": np.zeros((2, 3, 8, 8))},
    "half weight": {"weight": np.zeros((4, 3, 3, 3), np.float16)},
    "double bias": {"bias": np.zeros(4)},
    "other byte order": {"x": np.zeros((2, 3, 8, 8), np.dtype(np.float32).newbyteorder())},
    "no images": {"x": np.zeros((0, 3, 8, 8), np.float32)},
    "no filters": {"weight": np.zeros((0, 3, 3, 3), np.float32), "bias": None},
    "kernel too large": {"weight": np.zeros((4, 3, 9, 9), np.float32)},
    "channels differ": {"weight": np.zeros((4, 2, 3, 3), np.float32)},
    "bias too short": {"bias": np.zeros(3, np.float32)},
    "groups do not divide": {"groups": 3},
}


@needs_onednn
@pytest.mark.parametrize("changes", REFUSED.values(), ids=REFUSED)
def test_what_it_cannot_serve_is_left_to_the_reference(changes):
    call = {"x": random(2, 3, 8, 8), "weight": random(4, 3, 3, 3), "bias": random(4), "groups": 1} | changes
    result = onednn.conv_forward(call["x"], call["weight"], call["bias"], (1, 1), (0, 0), (1, 1), call["groups"])
    assert result is NotImplemented


@needs_onednn
def test_a_gradient_of_the_wrong_shape_is_refused():
    steps = ((1, 1), (0, 0), (1, 1), 1)
    g = random(2, 4, 7, 7)
    assert onednn.conv_backward_input(g, random(4, 3, 3, 3), (2, 3, 8, 8), *steps) is NotImplemented
    assert onednn.conv_backward_weight(g, random(2, 3, 8, 8), (4, 3, 3, 3), *steps, True) is NotImplemented


# -- pooling -----------------------------------------------------------------------------------------------------------
POOLS = {  # x, kernel, stride, padding, ceil_mode
    "two by two": ((4, 6, 28, 28), (2, 2), (2, 2), (0, 0), False),
    "odd sizes": ((2, 3, 5, 7), (2, 2), (2, 2), (0, 0), False),
    "overlapping": ((2, 16, 9, 9), (3, 3), (2, 2), (1, 1), False),
    "uneven": ((2, 5, 9, 11), (3, 2), (1, 3), (1, 0), False),
    "ceil": ((2, 3, 8, 8), (3, 3), (2, 2), (0, 0), True),
    "ceil, padded": ((2, 3, 7, 7), (3, 3), (3, 3), (1, 1), True),
    "ceil, hanging over the padding": ((2, 3, 8, 8), (3, 3), (2, 2), (1, 1), True),
    "ceil, window in the padding": ((1, 2, 5, 5), (2, 2), (3, 3), (1, 1), True),
    "on all threads": ((16, 32, 28, 28), (3, 3), (2, 2), (1, 1), False),
    "one window": ((2, 3, 20, 20), (20, 20), (20, 20), (0, 0), False),
    "1-d": ((2, 3, 17), (3,), (2,), (1,), False),
    "3-d": ((2, 3, 6, 7, 8), (2, 3, 2), (2, 2, 2), (1, 1, 0), False),
}
pools = pytest.mark.parametrize("case", POOLS.values(), ids=POOLS)


def windows(case, dilation):
    """(out, flat indices of the window's elements) for each window; the padding is left out."""
    x_shape, kernel, stride, padding, ceil_mode = case
    sizes, axes = x_shape[2:], []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        last = n + 2 * p - d * (k - 1) - 1
        starts = list(range(-p, last - p + 1, s))
        if ceil_mode and last % s and starts[-1] + s < n:
            starts.append(starts[-1] + s)
        axes.append([[i for i in range(start, start + d * k, d) if 0 <= i < n] for start in starts])
    flat = np.arange(np.prod(sizes)).reshape(sizes)
    outs = tuple(map(len, axes))
    return outs, [flat[np.ix_(*window)].ravel() for window in itertools.product(*axes)]


def reference_max_pool(x, case, dilation):
    """(maxima, flat indices)."""
    outs, places = windows(case, dilation)
    rows = x.reshape(*x.shape[:2], -1)
    indices = np.stack([window[rows[..., window].argmax(-1)] for window in places], -1)
    values = np.take_along_axis(rows, indices, -1)
    return values.reshape(*x.shape[:2], *outs), indices.reshape(*x.shape[:2], *outs)


def reference_avg_pool(x, case, count_include_pad):
    """(means, the matrix from input to output elements)."""
    x_shape, kernel, stride, padding, _ = case
    outs, places = windows(case, (1,) * len(kernel))
    matrix = np.zeros((len(places), np.prod(x_shape[2:])))
    for row, window in enumerate(places):
        start = np.unravel_index(row, outs)
        counts = [  # torch counts the padding, but not what hangs over it
            min(i * s - p + k, n + p) - (i * s - p)
            for i, k, s, p, n in zip(start, kernel, stride, padding, x_shape[2:], strict=True)
        ]
        matrix[row, window] = 1 / (np.prod(counts) if count_include_pad else len(window))
    return (x.reshape(*x.shape[:2], -1) @ matrix.T).reshape(*x.shape[:2], *outs), matrix


@needs_onednn
@pools
@pytest.mark.parametrize("rounded", [False, True], ids=["distinct", "ties"])
def test_max_pool(case, rounded):
    x_shape, kernel, stride, padding, ceil_mode = case
    dilation = (1,) * len(kernel)
    x = random(*x_shape)
    x = np.round(x) if rounded else x
    y, workspace = onednn.max_pool_forward(x, kernel, stride, padding, dilation, ceil_mode)
    values, indices = reference_max_pool(x, case, dilation)
    close(y, values)
    found = onednn.max_pool_indices(workspace, x_shape, kernel, stride, padding, dilation)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, indices)

    g = random(*y.shape, seed=1)
    expected = np.zeros((*x_shape[:2], np.prod(x_shape[2:])))
    for n, c in np.ndindex(x_shape[:2]):
        np.add.at(expected[n, c], indices[n, c], g[n, c])
    close(
        onednn.max_pool_backward(g, workspace, x_shape, kernel, stride, padding, dilation, ceil_mode),
        expected.reshape(x_shape),
    )


@needs_onednn
def test_dilated_max_pool():
    case, dilation = ((2, 3, 11, 12), (3, 2), (2, 1), (1, 1), False), (2, 3)
    x = random(*case[0])
    result = onednn.max_pool_forward(x, *case[1:4], dilation)
    if result is NotImplemented:  # oneDNN 3.2 has its slow reference implementation only, which is not used
        return
    values, indices = reference_max_pool(x, case, dilation)
    close(result[0], values)
    np.testing.assert_array_equal(onednn.max_pool_indices(result[1], x.shape, *case[1:4], dilation), indices)


@needs_onednn
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_max_pool_leaves_nan_and_minus_infinity_to_the_reference(value):
    x = random(2, 3, 8, 8)
    x[1, 2, 3, 4] = value
    assert onednn.max_pool_forward(x, (2, 2), (2, 2), (0, 0), (1, 1)) is NotImplemented


@needs_onednn
@pools
@pytest.mark.parametrize("count_include_pad", [True, False])
def test_avg_pool(case, count_include_pad):
    x_shape, *steps = case
    x = random(*x_shape)
    y = onednn.avg_pool_forward(x, *steps, count_include_pad)
    values, matrix = reference_avg_pool(x, case, count_include_pad)
    if y is NotImplemented:
        assert steps[3] and count_include_pad and any(steps[2])  # ceil mode over counted padding: only there
        return
    close(y, values)
    g = random(*y.shape, seed=1)
    expected = (g.reshape(*x_shape[:2], -1) @ matrix).reshape(x_shape)
    close(onednn.avg_pool_backward(g, x_shape, *steps, count_include_pad), expected)


# -- matrix product ----------------------------------------------------------------------------------------------------
@needs_onednn
def test_matmul():
    x, y = random(128, 200), random(200, 130)
    expected = x.astype(np.float64) @ y
    turned = np.ascontiguousarray(y.T).T
    spread = np.zeros((128, 400), np.float32)
    spread[:, ::2] = x
    for left, right in ((x, y), (x, turned), (spread[:, ::2], y), (np.ascontiguousarray(x.T).T, turned)):
        close(onednn.matmul(left, right), expected)
    row, wide = random(7, 3000)[::-3][1:2], random(3000, 1000)  # a single row may have any stride
    close(onednn.matmul(row, wide), row.astype(np.float64) @ wide)
    close(onednn.matmul(wide.T, row.T), wide.T.astype(np.float64) @ row.T)
    assert onednn.matmul(x[:4], y) is NotImplemented  # OpenBLAS is faster
    assert onednn.matmul(x.astype(np.float64), y) is NotImplemented
    assert onednn.matmul(x, x) is NotImplemented


# -- threads and processes ---------------------------------------------------------------------------------------------
BIG = CONVOLUTIONS["on all threads"]


def big_convolution():
    return onednn.conv_forward(random(*BIG[0]), random(*BIG[1]), None, *BIG[2:])


@needs_onednn
@needs_onednn
@pytest.mark.parametrize(("rows", "wide"), [(28, True), (28, False), (65, True), (4, True)])
def test_products_by_a_transposed_weight_are_onednns_with_avx512_unless_they_are_small(rows, wide):
    x, w, bias = random(rows, 128), random(256 if wide else 8, 128), random(256 if wide else 8)
    expected = x.astype(float) @ w.T.astype(float)
    served = isa.has_avx512() and rows > 4 and wide
    for r, reference in ((onednn.matmul(x, w.T), expected), (onednn.matmul(x, w.T, bias), expected + bias)):
        assert (r is not NotImplemented) is served
        if served:
            np.testing.assert_allclose(r, reference, rtol=1e-4, atol=1e-4)
    assert onednn.matmul(x, np.ascontiguousarray(w.T)) is NotImplemented  # OpenBLAS is as fast


def test_python_threads_have_calls_of_their_own():
    steps, weight = ((1, 1), (1, 1), (1, 1), 1), random(8, 4, 3, 3)
    inputs = [random(4, 4, 12, 12, seed=i) for i in range(4)]
    expected = [reference_conv(x, weight, None, *steps) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda x: [onednn.conv_forward(x, weight, None, *steps) for _ in range(200)], inputs)
    for ours, answer in zip(results, expected, strict=True):
        for result in ours:
            close(result, answer)


@needs_onednn
def test_number_of_threads():
    before = onednn.get_num_threads()
    expected = big_convolution()
    try:
        for n in (1, 2, 3):
            onednn.set_num_threads(n)
            assert onednn.get_num_threads() == n
            np.testing.assert_allclose(big_convolution(), expected, rtol=1e-4, atol=1e-4)
            assert library.load().omp_get_max_threads() == n
        small = onednn.conv_forward(random(1, 1, 4, 4), random(1, 1, 3, 3), None, (1, 1), (0, 0), (1, 1), 1)
        assert small.shape == (1, 1, 2, 2)
        assert library.load().omp_get_max_threads() == 3  # a small call runs alone and puts the number back
    finally:
        onednn.set_num_threads(before)
    with pytest.raises(RuntimeError, match="positive"):
        onednn.set_num_threads(0)


@needs_onednn
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_computes():
    """The parent's OpenMP threads do not exist in the child: without care its first parallel loop waits for ever."""
    before = onednn.get_num_threads()
    onednn.set_num_threads(2)
    try:
        expected = big_convolution()
        for _ in range(3):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 and later: forking with threads about
                child = os.fork()
            if child == 0:
                import signal

                signal.alarm(20)  # a child that waits for ever dies by this
                same = np.array_equal(big_convolution(), expected)
                onednn.set_num_threads(1)
                near = np.allclose(big_convolution(), expected, rtol=1e-4, atol=1e-4)
                os._exit(0 if same and near else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            np.testing.assert_array_equal(big_convolution(), expected)
    finally:
        onednn.set_num_threads(before)


@needs_onednn
def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(calls, "_CAPACITY", 3)
    calls.start_over(onednn.get_num_threads())
    weight, steps = random(2, 2, 3, 3), ((1, 1), (0, 0), (1, 1), 1)
    for n in (*range(4, 16), *range(4, 16)):
        x = random(1, 2, n, n)
        close(onednn.conv_forward(x, weight, None, *steps), reference_conv(x, weight, None, *steps))
        assert len(calls.thread.calls) <= 3


def test_prefer_falls_back_to_the_reference_kernel():
    from rushlight.core.dispatch.op import primitive

    @primitive(public=False)
    def doubled(input, /, offset=0):
        return 2 * input + offset

    def for_two_rows(input, offset=0):
        return input + input + offset + 100 if len(input) == 2 else NotImplemented

    prefer(doubled, for_two_rows)
    assert doubled(wrap(np.ones(2, np.float32)), 1).tolist() == [103, 103]
    assert doubled(wrap(np.ones(3, np.float32)), offset=1).tolist() == [3, 3, 3]
    assert doubled.record.reference(1) == 2


@pytest.fixture
def installed():
    install()
    return import_module("rushlight.ops.spatial.conv"), import_module(
        "rushlight.ops.product.matmul"
    )  # functions hide the latter


def kernels_agree(operator, *arguments):
    """The override gives what the reference kernel gives."""
    ours, expected = operator.record.kernel(*arguments), operator.record.reference(*arguments)
    if not isinstance(expected, tuple):
        ours, expected = (ours,), (expected,)
    for pair in zip(ours, expected, strict=True):
        results_agree(*pair)


def results_agree(ours, expected):
    assert ours.dtype == expected.dtype and ours.shape == expected.shape
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4 * max(1.0, np.abs(expected).max(initial=0)))


@convolutions
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_convolution_operators(installed, case, dtype):
    conv, _ = installed
    x_shape, weight_shape, *steps = case
    x, weight, bias = (random(*s).astype(dtype) for s in (x_shape, weight_shape, weight_shape[:1]))
    g = random(*reference_conv(x, weight, None, *steps).shape).astype(dtype)
    for_input = random(x_shape[1]).astype(dtype)
    for with_bias in (True, False):
        kernels_agree(conv.convolution, x, weight, bias if with_bias else None, *steps)
        kernels_agree(conv.convolution_input, g, weight, for_input if with_bias else None, x_shape, *steps)
    kernels_agree(conv.convolution_weight, g, x, weight_shape, *steps)
    kernels_agree(conv.convolution_weight_and_bias, g, x, weight_shape, *steps)


@pytest.mark.parametrize("rows", [(4,), (128,), (8, 16), (0,)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_product_operators(installed, rows, dtype):
    _, products = installed
    x, weight, bias = (random(*s).astype(dtype) for s in ((*rows, 200), (130, 200), (130,)))
    g = random(*rows, 130).astype(dtype)
    kernels_agree(products.gram, g, x)
    flat = len(rows) == 1
    kernels_agree(products._linear if flat else products._linear_nd, x, weight, bias)
    kernels_agree(products.linear_plain if flat else products._linear_nd_plain, x, weight)
    if flat:
        kernels_agree(products.mm, x, weight.T)


def test_wrong_shapes_raise_as_the_reference_does(installed):
    _, products = installed
    for operator, arguments in (
        (products.mm, (random(200, 200), random(201, 200))),
        (products._linear, (random(200, 200), random(200, 200), random(7))),
        (products.linear_plain, (random(200, 200), random(200, 201))),
    ):
        with pytest.raises(RuntimeError):
            operator.record.kernel(*arguments)


def test_limit_blas_threads():
    before = onednn.limit_blas_threads(1)
    if before is None:
        pytest.skip("NumPy's BLAS is not OpenBLAS")
    assert onednn.limit_blas_threads(before) == 1
    assert blas.limit_blas_threads(before) == before


# -- finding the library -----------------------------------------------------------------------------------------------
def python(program, **environment):
    answer = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return answer.stdout.split()


def test_importing_loads_nothing():
    program = "from rushlight.backend.onednn import library; print(library._open.cache_info().currsize)"
    assert python(program) == ["0"]


def test_the_environment_turns_it_off():
    program = """
import numpy as np
from rushlight.backend import isa, onednn
x = np.ones((1, 1, 4, 4), np.float32)
print(onednn.available(), "RUSHLIGHT_ONEDNN=0" in onednn.reason_unavailable(), onednn.get_num_threads())
print(onednn.conv_forward(x, x, None, (1, 1), (0, 0), (1, 1), 1))
print(onednn.max_pool_forward(x, (2, 2), (2, 2), (0, 0), (1, 1)))
onednn.set_num_threads(3)
print(onednn.get_num_threads())
"""
    assert python(program, RUSHLIGHT_ONEDNN="0") == ["False", "True", "1", "NotImplemented", "NotImplemented", "3"]


def refuse_with(message):
    def refuse(path):
        raise OSError(message)

    return refuse


def test_a_missing_libgomp_is_reported_once(monkeypatch):
    monkeypatch.setattr(library.ctypes, "CDLL", refuse_with("libgomp.so.1: cannot open shared object file"))
    monkeypatch.delenv("RUSHLIGHT_ONEDNN", raising=False)
    with pytest.warns(RuntimeWarning, match="needs libgomp"):
        found, reason = library._open.__wrapped__()
    assert found is None and "apt install libgomp1" in reason


def test_a_file_of_another_package_is_reported_once(monkeypatch):
    monkeypatch.setattr(library, "_candidates", lambda: iter([__file__]))
    monkeypatch.setattr(library.ctypes, "CDLL", refuse_with("libtbb.so.12: cannot open shared object file"))
    monkeypatch.delenv("RUSHLIGHT_ONEDNN", raising=False)
    with pytest.warns(RuntimeWarning, match="does not load: libtbb"):
        found, reason = library._open.__wrapped__()
    assert found is None and "--force-reinstall onednn-cpu-gomp" in reason


def test_another_threading_runtime_is_reported_once(monkeypatch):
    version = library._Version(3, 13, 2, b"", 512, 512)  # that of onednn 2026.1
    monkeypatch.setattr(library, "_candidates", lambda: iter([__file__]))
    other = SimpleNamespace(dnnl_version=lambda: ctypes.pointer(version))
    monkeypatch.setattr(library.ctypes, "CDLL", lambda path: other)
    monkeypatch.delenv("RUSHLIGHT_ONEDNN", raising=False)
    with pytest.warns(RuntimeWarning, match="another threading runtime"):
        found, _ = library._open.__wrapped__()
    assert found is None


def test_a_missing_library_is_no_cause_for_a_warning(monkeypatch):
    monkeypatch.setattr(library.ctypes, "CDLL", refuse_with("no such file"))
    monkeypatch.delenv("RUSHLIGHT_ONEDNN", raising=False)
    found, reason = library._open.__wrapped__()
    assert found is None and "onednn-cpu-gomp" in reason


@needs_onednn
def test_failures_name_the_call():
    with pytest.raises(onednn.OneDNNError, match="dnnl_x returned runtime_error"):
        library.check(5, "dnnl_x")
    assert primitive_desc("matmul", None, None, None, None) is None


@needs_onednn
def test_objects_are_destroyed_when_the_next_one_is_made():
    """And not within `__del__`, in which Python swallows a KeyboardInterrupt."""
    first = primitives.plain((2, 3))
    (handle,) = [known for known in primitives._handles if known() is first]
    destroyed = []
    handle.destroy = lambda value, destroy=handle.destroy: destroyed.append(destroy(value))
    assert not hasattr(primitives.Owned, "__del__") and not hasattr(sharing.Block, "__del__")
    del first
    assert not destroyed and handle in primitives._dead
    primitives.plain((2, 3))
    assert destroyed == [0] and handle not in primitives._handles


@needs_onednn
@pytest.mark.parametrize("threads, size, kernel, taken", [
    (1, 32, 2, False), (8, 32, 2, False), (9, 32, 2, True), (1, 4, 2, True), (2, 32, 3, False), (3, 32, 3, True),
])  # fmt: skip
def test_large_max_pooling_is_numpys_where_few_threads_share_it(threads, size, kernel, taken, monkeypatch):
    from rushlight.backend.onednn import register

    monkeypatch.setattr(register, "get_num_threads", lambda: threads)
    x = np.random.default_rng(0).standard_normal((8, size, size, size)).astype(np.float32)
    result = register._max_pool(x, (kernel, kernel), (2, 2), (0, 0), (1, 1), False)
    # with AVX2 alone, pairs are NumPy's in any case
    assert (result is not NotImplemented) is (taken and (kernel != 2 or isa.has_avx512()))
