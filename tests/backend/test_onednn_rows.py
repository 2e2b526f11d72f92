"""oneDNN's normalisation, softmax, functions of single elements, means and batches against the reference kernels."""

import os
import subprocess
import sys
import warnings
from importlib import import_module

import numpy as np
import pytest

from rushlight.backend import onednn
from rushlight.backend.onednn import elementwise, library, normalization, softmax
from rushlight.backend.onednn.calls import BFLOAT16
from rushlight.backend.onednn.matmul import batched_matmul
from rushlight.backend.onednn.register import install

needs_onednn = pytest.mark.skipif(not onednn.available(), reason=onednn.reason_unavailable() or "oneDNN")
install()
norms, scores, smooth, rectifiers, special, products, convolutions, means, adaptive = (
    import_module(f"rushlight.ops.{name}")  # functions of the same name hide some of these modules
    for name in [
        "nn.normalize",
        "nn.softmax",
        "nn.smooth",
        "nn.rectifiers",
        "special",
        "product.matmul",
        "spatial.conv",
        "spatial.avg_pool",
        "spatial.adaptive_pool",
    ]
)


def random(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


@pytest.fixture(autouse=True)
def silent():
    """Floating-point warnings are off where operators call kernels."""
    with np.errstate(all="ignore"):
        yield


def agree(operator, *arguments, exact=1e-5):
    """The override gives what the reference kernel gives in double precision, in the type that the latter gives."""
    kept = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    ours, kind = operator.record.kernel(*arguments), operator.record.reference(*arguments)
    expected = operator.record.reference(*[_double(a) for a in arguments])
    triples = zip(ours, kind, expected, strict=True) if isinstance(kind, tuple) else [(ours, kind, expected)]
    for a, b, c in triples:
        assert (a.dtype, a.shape, a.flags.c_contiguous) == (b.dtype, b.shape, b.flags.c_contiguous)
        np.testing.assert_allclose(a, c, rtol=exact, atol=exact * max(1.0, np.abs(c).max(initial=0)))
    for before, after in zip(kept, arguments, strict=True):
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(before, after)


def _double(a):
    return a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype == np.float32 else a


def spread(x):
    """x as a view that is not contiguous."""
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


FORMS = {
    "plain": lambda x: x,
    "spread": spread,
    "double": lambda x: x.astype(np.float64),
    "far from zero": lambda x: x + x.dtype.type(20),
}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)

# -- normalisation -----------------------------------------------------------------------------------------------------
IMAGES = [(16, 16, 8, 8), (4, 16, 8, 8), (3, 6, 1000), (2, 20, 3, 20, 30), (8, 300, 4, 4), (1, 1, 130, 130), (70, 64), (5, 9, 1, 1), (1, 1, 2),
          (0, 3, 5, 5)]  # fmt: skip
images = pytest.mark.parametrize("shape", IMAGES, ids=str)
parameters = pytest.mark.parametrize("parameters", ["both", "weight", "bias", "none"])


def affine(shape, which, form):
    dtype = form(random(1)).dtype
    weight, bias = random(*shape, seed=1, dtype=dtype), random(*shape, seed=2, dtype=dtype)
    return weight if which in ("both", "weight") else None, bias if which in ("both", "bias") else None


@images
@forms
@parameters
def test_batch_norm(shape, form, parameters):
    x, c = form(random(*shape)), shape[1:2]
    weight, bias = affine(c, parameters, form)
    mean, var = random(*c, seed=3, dtype=x.dtype), np.exp(random(*c, seed=4, dtype=x.dtype))
    exact = 1e-4 if np.abs(x).max(initial=0) > 15 else 1e-5
    agree(norms._batch_norm, x, weight, bias, None, None, True, 1e-5, exact=exact)
    agree(norms._batch_norm, x, weight, bias, mean, var, False, 1e-3)
    g = random(*shape, seed=5, dtype=x.dtype) + x.dtype.type(1)
    _, mean, rstd, _ = norms._batch_norm.record.reference(x, weight, bias, None, None, True, 1e-5)
    for training in (True, False):
        agree(norms._batch_norm_backward, g, x, mean, rstd, weight, training, exact=exact)


@images
@forms
@parameters
def test_group_norm(shape, form, parameters):
    x, g = form(random(*shape)), random(*shape, seed=5, dtype=form(random(1)).dtype)
    weight, bias = affine(shape[1:2], parameters, form)
    exact = 1e-4 if np.abs(x).max(initial=0) > 15 else 1e-5
    for groups in {1, 2, 3, shape[1]}:
        if shape[1] % groups or 0 in shape:
            continue
        agree(norms._group_norm, x, weight, bias, groups, 1e-5, exact=exact)
        _, mean, rstd = norms._group_norm.record.reference(x, weight, bias, groups, 1e-5)
        agree(norms._group_norm_backward, g, x, mean, rstd, weight, groups, exact=exact)


@pytest.mark.parametrize(
    "shape", [(20, 256), (8, 32, 64), (2, 5000), (4097, 1), (7, 3), (0, 8), (6, 1, 4, 300)], ids=str
)
@pytest.mark.parametrize("k", [1, 2])
@forms
@parameters
def test_layer_norm(shape, k, form, parameters):
    last = shape[-k:]
    x, g = form(random(*shape)), form(random(*shape, seed=5))
    weight, bias = affine(last, parameters, form)
    exact = 1e-4 if np.abs(x).max(initial=0) > 15 else 1e-5
    agree(norms._layer_norm, x, weight, bias, last, 1e-5, exact=exact)
    _, mean, rstd = norms._layer_norm.record.reference(x, weight, bias, last, 1e-5)
    if x.size:
        agree(norms._layer_norm_backward, g, x, mean, rstd, weight, last, 1e-5, exact=exact)


@needs_onednn
def test_normalisation_is_served():
    x, c = random(16, 16, 8, 8), random(16)
    _, mean, rstd, _ = normalization.batch_norm(x, c, c, None, None, True, 1e-5)
    assert normalization.batch_norm_backward(x, x, mean, rstd, c, True) is not NotImplemented
    _, mean, rstd = normalization.group_norm(x, c, c, 4, 1e-5)
    assert normalization.group_norm_backward(x, x, mean, rstd, c, 4) is not NotImplemented
    rows, w = x.reshape(256, 64), random(64)
    _, mean, rstd = normalization.layer_norm(rows, w, w, (64,), 1e-5)
    assert normalization.layer_norm_backward(rows, rows, mean, rstd, w, (64,), 1e-5) is not NotImplemented


@needs_onednn
def test_rows_far_from_zero_are_left_to_the_reference():
    """Its sums in single precision would show: 0.25 instead of 0 for rows of 5000 times 1000.1."""
    x = np.full((2, 4, 5000), 1000.1, np.float32)
    assert normalization.layer_norm(x, None, None, (5000,), 1e-5) is NotImplemented
    assert normalization.batch_norm(x, None, None, None, None, True, 1e-5) is NotImplemented
    assert normalization.group_norm(x, None, None, 2, 1e-5) is NotImplemented


@needs_onednn
@pytest.mark.parametrize("backward", ["batch", "group"])
def test_gradients_of_channels_far_from_zero_keep_their_digits(backward):
    x, g = random(16, 64, 8, 8) + np.float32(9), random(16, 64, 8, 8, seed=1)
    if backward == "batch":
        record, rest = norms._batch_norm_backward.record, (None, True)
        _, mean, rstd, _ = norms._batch_norm.record.reference(x, None, None, None, None, True, 1e-5)
    else:
        record, rest = norms._group_norm_backward.record, (None, 4)
        _, mean, rstd = norms._group_norm.record.reference(x, None, None, 4, 1e-5)
    exact = record.reference(*[_double(a) for a in (g, x, mean, rstd)], *rest)
    for ours, expected in zip(record.kernel(g, x, mean, rstd, *rest), exact, strict=True):
        assert np.linalg.norm(ours - expected) < 4e-7 * np.linalg.norm(expected)


@needs_onednn
def test_gradients_of_bfloat16_channels_far_from_zero_keep_their_digits():
    """x - mean rounded to bfloat16 would move the sum over 2,048 elements by 2."""
    x, g = (random(8, 16, 16, 16) + np.float32(5)).astype(BFLOAT16), np.ones((8, 16, 16, 16), BFLOAT16)
    _, mean, rstd, _ = norms._batch_norm.record.reference(x, None, None, None, None, True, 1e-5)
    _, for_weight, _ = norms._batch_norm_backward.record.kernel(g, x, mean, rstd, None, True)
    assert np.abs(for_weight).max() < 0.01


def test_gradients_of_norms_without_onednn(monkeypatch):
    """What the forward has computed before the library was gone is enough for the reference kernel."""
    monkeypatch.setattr(normalization, "available", lambda: False)
    x, g = random(8, 16, 16, 16) + np.float32(5), random(8, 16, 16, 16, seed=1)
    for record, mean, rstd, rest in (
        (
            norms._batch_norm_backward.record,
            *norms._batch_norm.record.kernel(x, None, None, None, None, True, 1e-5)[1:3],
            (None, True),
        ),
        (norms._group_norm_backward.record, *norms._group_norm.record.kernel(x, None, None, 4, 1e-5)[1:], (None, 4)),
    ):
        for ours, expected in zip(
            record.kernel(g, x, mean, rstd, *rest), record.reference(g, x, mean, rstd, *rest), strict=True
        ):
            assert np.array_equal(ours, expected)


WRONG = {
    "layer, weight": (norms._layer_norm, (random(64, 64), random(63), None, (64,), 1e-5)),
    "layer, shape": (norms._layer_norm, (random(64, 64), None, None, (63,), 1e-5)),
    "layer, no shape": (norms._layer_norm, (random(64, 64), None, None, (), 1e-5)),
    "layer, type": (norms._layer_norm, (random(64, 64), random(64, dtype=np.float64), None, (64,), 1e-5)),
    "batch, weight": (norms._batch_norm, (random(4, 16, 8, 8), random(15), None, None, None, True, 1e-5)),
    "batch, running": (norms._batch_norm, (random(4, 16, 8, 8), None, None, random(3), random(3), False, 1e-5)),
    "group, groups": (norms._group_norm, (random(4, 16, 8, 8), None, None, 3, 1e-5)),
    "group, no groups": (norms._group_norm, (random(4, 16, 8, 8), None, None, 0, 1e-5)),
    "group, bias": (norms._group_norm, (random(4, 16, 8, 8), None, random(4), 4, 1e-5)),
    "softmax, axis": (scores._softmax, (random(64, 64), 2, None)),
    "softmax, integers": (scores._softmax, (np.ones((64, 64), np.int64), 1, None)),
    "gelu": (smooth._gelu, (random(64, 64), "erf")),
    "bmm": (products.bmm, (random(64, 64, 64), random(64, 63, 64))),
    "matmul": (products._matmul, (random(64, 64, 64), random(63, 64))),
    "matmul, batches": (products._matmul, (random(64, 64, 64), random(32, 64, 64))),
}


@pytest.mark.parametrize(("operator", "arguments"), WRONG.values(), ids=WRONG)
def test_wrong_arguments_raise_as_the_reference_does(operator, arguments):
    with pytest.raises(Exception) as expected:
        operator.record.reference(*arguments)
    with pytest.raises(type(expected.value)) as ours:
        operator.record.kernel(*arguments)
    assert str(ours.value) == str(expected.value)


# -- softmax -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(64, 100), (5, 21, 16, 16), (8, 32, 70), (1, 5000), (5000, 1), (), (1,), (0, 4), (3, 0)],
                         ids=str)  # fmt: skip
@pytest.mark.parametrize(
    "form", [FORMS["plain"], FORMS["double"], lambda x: x.T], ids=["plain", "double", "transposed"]
)
def test_softmax(shape, form):
    x, g = form(random(*shape) * 3), form(random(*shape, seed=1))
    for dim in range(-x.ndim, max(x.ndim, 1)):
        for forward, backward in (
            (scores._softmax, scores._softmax_backward),
            (scores._log_softmax, scores._log_softmax_backward),
        ):
            agree(forward, x, dim, None)
            out = forward.record.reference(x, dim, None)
            agree(backward, g, out, dim)
            if x.ndim:
                agree(backward, np.broadcast_to(g[:1], x.shape) if len(x) else g, out, dim)


@needs_onednn
def test_softmax_of_infinities():
    x = random(64, 300)
    x[0, :50], x[1, 3], x[2] = -np.inf, np.nan, -np.inf
    assert softmax.softmax(x, -1) is NotImplemented  # oneDNN gives 0 for nan
    masked = np.where(random(64, 300, seed=2) > 0, x[0:1], -np.inf).astype(np.float32)
    infinite = random(64, 300)
    infinite[5, 7] = np.inf
    g = random(64, 300, seed=1)
    g[7, 7], g[8, 8] = np.nan, np.inf
    for forward, backward in (
        (scores._softmax, scores._softmax_backward),
        (scores._log_softmax, scores._log_softmax_backward),
    ):
        for scored in (x, masked, infinite):
            ours, expected = forward.record.kernel(scored, -1, None), forward.record.reference(scored, -1, None)
            np.testing.assert_allclose(ours, expected, rtol=1e-5)
            slope, answer = backward.record.kernel(g, expected, -1), backward.record.reference(g, expected, -1)
            np.testing.assert_allclose(slope, answer, rtol=1e-4, atol=1e-5)


def test_log_softmax_of_sure_rows_keeps_its_digits():
    x = random(512, 10)
    x[:, 3] += 12
    exact = scores._log_softmax.record.reference(_double(x), -1, None)
    assert np.abs(scores._log_softmax.record.kernel(x, -1, None) - exact)[:, 3].max() < 3e-7  # of 1e-4


# -- functions of single elements --------------------------------------------------------------------------------------
FUNCTIONS = {
    "gelu": (smooth._gelu, smooth._gelu_backward, ("none",)),
    "gelu, tanh": (smooth._gelu, smooth._gelu_backward, ("tanh",)),
    "silu": (smooth._silu, smooth._silu_backward, ()),
    "sigmoid": (special.sigmoid, None, ()),
    "leaky_relu": (rectifiers._leaky_relu, rectifiers._sloped, (0.2,)),
    "leaky_relu, steep": (rectifiers._leaky_relu, rectifiers._sloped, (1.5,)),
    "leaky_relu, negative": (rectifiers._leaky_relu, rectifiers._sloped, (-0.5,)),
}
functions = pytest.mark.parametrize(("forward", "backward", "rest"), FUNCTIONS.values(), ids=FUNCTIONS)


@functions
@pytest.mark.parametrize("shape", [(64, 65), (4, 3, 40, 40), (50000,), (5, 7), (1,), (), (0, 3)], ids=str)
@pytest.mark.parametrize("form", [FORMS["plain"], FORMS["double"], FORMS["spread"]], ids=["plain", "double", "spread"])
def test_functions(forward, backward, rest, shape, form):
    x, g = random(*shape) * 4, random(*shape, seed=1)
    if shape:
        x, g = form(x), form(g)
    agree(forward, x, *rest, exact=2e-6)
    if backward:
        agree(backward, g, x, *rest, exact=2e-6)


@needs_onednn
@functions
def test_functions_of_extreme_numbers(forward, backward, rest):
    """inf passes; gelu(-inf) is nan as in torch, and gelu(inf), as in torch, nan or inf by the instruction set.

    The slope of leaky_relu at nan is 1, for torch the negative slope.
    """
    numbers = [
        0.0,
        -0.0,
        1e-38,
        -1e-38,
        1e-45,
        1e-6,
        -8,
        -14,
        -20,
        -88,
        -104,
        20,
        88,
        104,
        1e30,
        -1e30,
        -np.inf,
        np.inf,
        np.nan,
    ]
    x = np.array(numbers, np.float32).repeat(900)
    sloped = backward is rectifiers._sloped
    for operator, inputs in ((forward, (x,)), (backward, (np.ones_like(x), x))):
        if operator is None:
            continue
        ours, expected = operator.record.kernel(*inputs, *rest), operator.record.reference(*inputs, *rest)
        same = ~np.isnan(x) if operator is backward and sloped else np.ones(x.shape, bool)
        if operator is smooth._gelu and rest == ("none",):
            above = ours[x == np.inf]
            assert np.isnan(above).all() or (operator is forward and (above == np.inf).all())
            assert np.isnan(ours[x == -np.inf]).all()
            same &= ~np.isinf(x)
        np.testing.assert_allclose(ours[same], expected[same], rtol=1e-5, atol=1e-6)


@needs_onednn
def test_elements_are_served():
    x = random(128, 128)
    assert elementwise.elementwise(elementwise.GELU, x) is not NotImplemented
    assert elementwise.elementwise_backward(elementwise.SWISH, x, x, 1.0) is not NotImplemented
    for other in (x[::2], x[:8], x.astype(np.float64)):
        assert elementwise.elementwise(elementwise.GELU, other) is NotImplemented
    for other in (x.T, x[::2], x[:8], x.astype(np.float64)):
        assert elementwise.elementwise_backward(elementwise.GELU, other, other) is NotImplemented
    assert elementwise.elementwise_backward(elementwise.GELU, x[:1], x) is NotImplemented


@needs_onednn
def test_elements_in_any_order_of_memory_are_served_in_it():
    x = random(128, 128)
    transposed = elementwise.elementwise(elementwise.GELU, x.T)
    assert transposed.strides == x.T.strides
    np.testing.assert_array_equal(transposed, elementwise.elementwise(elementwise.GELU, x).T)


# -- means of windows --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(2, 3, 12, 12), (3, 12, 12), (4, 6, 7, 9), (1, 1, 4, 4), (0, 2, 4, 4)], ids=str)
@pytest.mark.parametrize(
    "steps", [((2, 2), (2, 2), (0, 0)), ((3, 3), (2, 2), (1, 1)), ((4, 2), (1, 3), (2, 0))], ids=str
)
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("divisor", [None, 3])
def test_avg_pool_operators(shape, steps, ceil_mode, divisor):
    x = random(*shape)
    for counted in (True, False):
        rest = (*steps, ceil_mode, counted, divisor)
        agree(means.avg_pool_2d, x, *rest)
        g = random(*means.avg_pool_2d.record.reference(x, *rest).shape, seed=1)
        agree(means.avg_pool_backward, g, x, *rest)


@pytest.mark.parametrize("shape", [(2, 3, 12, 12), (3, 12, 12), (2, 3, 7, 9), (0, 2, 4, 4)], ids=str)
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (4, 12), (5, 7)], ids=str)
def test_adaptive_avg_pool_operators(shape, size):
    x, g = random(*shape), random(*shape[:-2], *size, seed=1)
    agree(adaptive._adaptive_avg_2d, x, size)
    agree(adaptive.adaptive_avg_backward, g, x, 2)


def test_adaptive_avg_pool_of_volumes():
    x = random(2, 3, 4, 6, 8)
    agree(adaptive._adaptive_avg_3d, x, (2, 3, 4))
    agree(adaptive.adaptive_avg_backward, random(2, 3, 2, 3, 4), x, 3)


# -- batches of matrices -----------------------------------------------------------------------------------------------
BATCHES = [((16, 64, 48), (16, 48, 64)), ((2, 8, 64, 32), (2, 8, 32, 128)), ((3, 4, 5), (3, 5, 2)), ((0, 4, 5), (0, 5, 2)),
           ((16, 64, 0), (16, 0, 64)), ((400, 1, 100), (400, 100, 100)), ((1, 100, 300), (1, 300, 100))]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), BATCHES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batched_products(left, right, dtype):
    x, y = random(*left, dtype=dtype), random(*right, seed=1, dtype=dtype)
    turned = [np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2) for a in (x, y)]
    for a, b in ((x, y), (turned[0], y), (x, turned[1]), turned, (spread(x) if x.size else x, y)):
        agree(products._matmul, a, b)
        if a.ndim == 3:
            agree(products.bmm, a, b)
    agree(products._matmul, x, y.reshape(-1, *y.shape[-2:])[0] if y.size else np.zeros(y.shape[-2:], dtype))


@needs_onednn
def test_batches_are_served():
    x, y = random(16, 64, 48), random(16, 48, 64)
    assert batched_matmul(x, y) is not NotImplemented
    assert batched_matmul(x[:1, :4], y[:1]) is NotImplemented
    assert batched_matmul(x, y[:1]) is NotImplemented


# -- transposed convolution beyond its stride --------------------------------------------------------------------------
BEYOND = {  # x, weight, stride, padding, output padding, groups, dilation
    "2-d": ((2, 6, 9, 9), (6, 8, 3, 3), (1, 1), (1, 1), (2, 1), 1, (3, 3)),
    "1-d, grouped": ((2, 6, 9), (6, 4, 3), (2,), (0,), (3,), 2, (4,)),
    "3-d": ((2, 4, 3, 4, 5), (4, 3, 2, 3, 2), (1, 1, 1), (1, 1, 1), (1, 0, 1), 1, (2, 2, 2)),
    "large": ((2, 32, 16, 16), (32, 16, 3, 3), (1, 1), (1, 1), (2, 2), 1, (3, 3)),
    "nothing reached but padding": ((1, 2, 2, 2), (2, 3, 1, 1), (1, 1), (2, 2), (4, 4), 1, (5, 5)),
}


@pytest.mark.parametrize("case", BEYOND.values(), ids=BEYOND)
def test_output_padding_at_or_above_the_stride(case):
    g_shape, weight_shape, stride, padding, more, groups, dilation = case
    sizes = [(n - 1) * s - 2 * p + d * (k - 1) + o + 1
             for n, s, p, d, k, o in zip(g_shape[2:], stride, padding, dilation, weight_shape[2:], more, strict=True)]  # fmt: skip
    shape = (g_shape[0], weight_shape[1] * groups, *sizes)
    g, x, weight = random(*g_shape), random(*shape, seed=1), random(*weight_shape, seed=2)
    steps = (stride, padding, dilation, groups)
    for bias in (None, random(shape[1])):
        agree(convolutions.convolution_input, g, weight, bias, shape, *steps)
    agree(convolutions.convolution_weight, g, x, weight_shape, *steps)
    agree(convolutions.convolution_weight_and_bias, g, x, weight_shape, *steps)


# -- processes and missing libraries -----------------------------------------------------------------------------------
def some_of_each():
    """Results of each family, of sizes that all threads share."""
    x, c = random(16, 32, 32, 32), random(32)
    rows = x.reshape(512, 1024)
    yield norms._batch_norm.record.kernel(x, c, c, None, None, True, 1e-5)[0]
    yield norms._layer_norm.record.kernel(rows, None, None, (1024,), 1e-5)[0]
    yield scores._softmax.record.kernel(rows, -1, None)
    yield smooth._gelu.record.kernel(x, "none")
    yield means.avg_pool_2d.record.kernel(x, (2, 2), (2, 2), (0, 0), False, True, None)
    yield products.bmm.record.kernel(x[:, 0], x[:, 1])


@needs_onednn
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_computes_the_same():
    before = onednn.get_num_threads()
    onednn.set_num_threads(2)
    try:
        expected = list(some_of_each())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 and later: forking with threads about
            child = os.fork()
        if child == 0:
            import signal

            signal.alarm(20)  # a child that waits for ever dies by this
            same = all(map(np.array_equal, some_of_each(), expected))
            os._exit(0 if same else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        for ours, answer in zip(some_of_each(), expected, strict=True):
            np.testing.assert_array_equal(ours, answer)
    finally:
        onednn.set_num_threads(before)


@needs_onednn
def test_one_thread_gives_the_same():
    before = onednn.get_num_threads()
    results = []
    try:
        for n in (2, 1):
            onednn.set_num_threads(n)
            results.append(list(some_of_each()))
    finally:
        onednn.set_num_threads(before)
    for two, one in zip(*results, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)


WHOLE_STEP = """
import warnings
import numpy as np
{before}
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import rushlight as torch
    from rushlight import nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.GELU(), nn.MaxPool2d(2), nn.AvgPool2d(3), nn.Flatten(),
                          nn.Linear(200, 32), nn.LayerNorm(32), nn.LeakyReLU(), nn.Linear(32, 10))
    loss = nn.functional.cross_entropy(model(torch.randn(16, 3, 32, 32)), torch.arange(16) % 10)
    loss.backward()
    torch.set_num_threads(2)
    total = sum(float((p.grad * p.grad).sum()) for p in model.parameters())
print(len(said), f"{{float(loss):.4f}}", f"{{total:.2f}}", torch.get_num_threads())
"""
REFUSE = """
import ctypes
class Refusing(ctypes.CDLL):
    def __init__(self, name, *rest, **options):
        if "libdnnl" in str(name):
            raise OSError({words!r})
        super().__init__(name, *rest, **options)
ctypes.CDLL = Refusing
"""
NO_WHEEL = """
from rushlight.backend.onednn import library
library._candidates = lambda: iter(["libdnnl.so.nowhere"])
"""
SYSTEMS = {  # what runs first, environment, number of messages
    "turned off": ("", {"RUSHLIGHT_ONEDNN": "0"}, 0),
    "no wheel": (NO_WHEEL, {}, int(library._is_required())),
    "no libgomp": (REFUSE.format(words="libgomp.so.1: cannot open shared object file"), {}, 1),
}


def run_step(before="", environment=None):
    command = [sys.executable, "-c", WHOLE_STEP.format(before=before)]
    answer = subprocess.run(command, env=os.environ | (environment or {}), capture_output=True, text=True, check=True)
    return answer.stdout.split()


@needs_onednn
@pytest.mark.parametrize(("before", "environment", "messages"), SYSTEMS.values(), ids=SYSTEMS)
def test_everything_runs_without_onednn(before, environment, messages):
    assert library.available()
    quiet, *expected = run_step()
    said, *numbers = run_step(before, environment)
    assert (quiet, said, numbers) == ("0", str(messages), expected)
