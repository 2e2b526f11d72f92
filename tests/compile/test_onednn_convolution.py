"""Convolutions and pools of compiled steps against the reference kernels in double precision."""

import ml_dtypes
import numpy as np
import pytest

from rushlight.backend.onednn import library
from rushlight.compile.lower.onednn import choose, kernels
from rushlight.compile.lower.onednn.direct import Run
from rushlight.ops.spatial import conv, pool

pytestmark = pytest.mark.skipif(not (library.available() and kernels.available()), reason="needs oneDNN and llvmlite")


def random(*shape):
    return np.random.default_rng([*shape]).standard_normal(shape).astype(np.float32)


def plain(a):
    return np.ascontiguousarray(a)


def last(a):
    """The same array with channels innermost in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)


def close(out, exact):
    np.testing.assert_allclose(out, exact, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(exact).max()))


# x, weight, stride, padding, dilation, groups
CASES = [
    ((4, 3, 16, 16), (6, 3, 5, 5), (1, 1), (0, 0), (1, 1), 1),
    ((4, 6, 14, 14), (16, 6, 5, 5), (1, 1), (0, 0), (1, 1), 1),
    ((2, 32, 8, 8), (48, 32, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 32, 9, 9), (64, 32, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((2, 32, 9, 9), (64, 32, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    ((2, 16, 9, 8), (32, 16, 3, 3), (2, 1), ((1, 2), (0, 1)), (1, 2), 1),
    ((2, 8, 9, 8), (12, 2, 3, 3), (1, 1), (1, 1), (1, 1), 4),
    ((2, 8, 9, 8), (8, 1, 3, 3), (2, 2), (1, 1), (1, 1), 8),
    ((2, 256, 4, 4), (256, 256, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((3, 5, 20), (7, 5, 4), (3,), (2,), (2,), 1),
    ((2, 4, 5, 6, 7), (8, 4, 3, 2, 3), (1, 2, 1), (1, 0, 1), (1, 1, 1), 1),
    ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((3, 2, 19, 20), (13, 2, 3, 4), (1, 1), (0, 0), (1, 1), 1),
    ((2, 1, 50, 40), (7, 1, 4, 4), (1, 1), (0, 0), (1, 1), 1),
    ((2, 4, 14, 70), (12, 4, 5, 7), (1, 1), (0, 0), (1, 1), 1),
    ((40, 1, 15, 28), (5, 1, 2, 1), (1, 1), (0, 0), (1, 1), 1),
    ((8, 20, 1, 1), (16, 20, 4, 4), (1, 1), (3, 3), (1, 1), 1),
]
ORDERS = [(plain, plain), (plain, last), (last, plain), (last, last)]


def run(kind, operands, results, onto=(), **options):
    r = Run(kind, operands, results, onto, **options)
    assert r.served
    r()
    return results


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(("of_x", "of_y"), ORDERS, ids=["plain", "plain last", "last plain", "last"])
def test_convolutions(case, of_x, of_y):
    x_shape, w_shape, *steps = case
    options = dict(zip(("stride", "padding", "dilation", "groups"), steps, strict=True))
    x, w, bias = of_x(random(*x_shape)), random(*w_shape), random(w_shape[0])
    wide = x.astype("f8"), w.astype("f8")
    y = conv._forward(*wide, *steps)
    column = bias.reshape(-1, *(1,) * len(options["stride"]))
    close(run("convolution_forward", (x, w, bias), (of_y(np.empty(y.shape, "f4")),), **options)[0], y + column)
    start = of_y(random(*y.shape))
    close(run("convolution_forward", (x, w), (start.copy("K"),), (True,), **options)[0], y + start)
    g = of_y(random(*y.shape))
    dx = of_x(np.empty(x_shape, "f4"))
    exact = conv._backward_input(g.astype("f8"), wide[1], x_shape, *steps)
    close(run("convolution_backward_data", (g, w), (dx,), **options)[0], exact)
    dw, db = np.empty(w_shape, "f4"), np.empty(w_shape[0], "f4")
    run("convolution_backward_weights", (g, x), (dw, db), **options)
    close(dw, conv._backward_weight(g.astype("f8"), wide[0], w_shape, *steps))
    close(db, g.astype("f8").sum((0, *range(2, g.ndim))))
    close(run("convolution_backward_weights", (g, x), (np.empty_like(dw),), **options)[0], dw)


def test_parts_of_larger_arrays():
    x, w = last(random(2, 40, 10, 10))[:, 8:24, 1:9, :8], random(24, 16, 3, 3)
    options = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    y = conv._forward(x.astype("f8"), w.astype("f8"), *options.values())
    close(run("convolution_forward", (x, w), (last(np.empty(y.shape, "f4")),), **options)[0], y)


def as_numbers(array, rounded):
    """float32 with `rounded`, or bfloat16: (operand, its numbers in double precision)"""
    array = array if rounded else array.astype(ml_dtypes.bfloat16)
    return array, array.astype("f8")


@pytest.mark.parametrize("rounded", [True, False], ids=["rounded factors", "bfloat16"])
def test_less_precision(rounded):
    steps = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    shape = ((2, 32, 8, 8), (48, 32, 3, 3), (2, 48, 8, 8))
    (x, wide_x), (w, wide_w), (g, wide_g) = (
        as_numbers(of(random(*s)), rounded) for of, s in zip((last, plain, last), shape)
    )
    cases = [
        ("convolution_forward", (x, w), g, conv._forward(wide_x, wide_w, *steps.values())),
        ("convolution_backward_data", (g, w), x, conv._backward_input(wide_g, wide_w, shape[0], *steps.values())),
        ("convolution_backward_weights", (g, x), w, conv._backward_weight(wide_g, wide_x, shape[1], *steps.values())),
    ]
    for kind, operands, like, exact in cases:
        r = Run(kind, operands, (np.empty_like(like),), **steps, rounded=rounded)
        if not r.served:  # bfloat16 on a processor that does not know it
            assert not rounded
            continue
        r()
        got = r.results[0].astype("f8")
        np.testing.assert_allclose(got, exact, rtol=2e-2, atol=2e-2 * np.abs(exact).max())


def test_layouts_asked_for():
    x, w, y = random(2, 3, 8, 8), random(4, 3, 3, 3), np.empty((2, 4, 6, 6), "f4")
    options = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
    chosen = choose(Run("convolution_forward", (x, w, random(4)), (y,), **options).extern)
    assert chosen == (((0, 2, 3, 1), None, None), ((0, 2, 3, 1),))
    chosen = choose(Run("convolution_backward_data", (y, w), (x,), **options).extern)
    assert chosen == (((0, 2, 3, 1), None), ((0, 2, 3, 1),))
    chosen = choose(Run("convolution_backward_weights", (y, x), (w,), **options).extern)
    assert chosen == (((0, 2, 3, 1), (0, 2, 3, 1)), (None,))


def test_few_channels_like_plain_layouts():
    """Where generated code computes them, with vectors of 16 floats; oneDNN likes its channels innermost."""
    x, w, y = random(2, 3, 32, 32), random(6, 3, 5, 5), np.empty((2, 6, 28, 28), "f4")
    options = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
    order = (0, 1, 2, 3) if kernels.lanes() >= 8 else (0, 2, 3, 1)
    assert choose(Run("convolution_forward", (x, w), (y,), **options).extern) == ((order, None), (order,))
    chosen = choose(Run("convolution_backward_weights", (y, x), (w,), **options).extern)
    assert chosen == ((order, order), (None,))


def test_refusals():
    options = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
    x, w, y = random(2, 3, 8, 8), random(4, 3, 3, 3), np.zeros((2, 4, 6, 6), "f4")
    assert not Run("convolution_forward", (x.astype("f8"), w.astype("f8")), (y.astype("f8"),), **options).served
    assert not Run("convolution_forward", (x, w), (np.empty((2, 4, 5, 6), "f4"),), **options).served
    assert not Run("convolution_backward_data", (y, w), (x,), (True,), **options).served


@pytest.mark.parametrize("order", [plain, last])
@pytest.mark.parametrize(
    ("shape", "steps"),
    [
        ((2, 16, 9, 9), ((3, 3), (2, 2), (1, 1), (1, 1), False)),
        ((2, 3, 8, 8), ((2, 2), (2, 2), (0, 0), (1, 1), False)),
        ((2, 5, 11), ((3,), (2,), (1,), (1,), True)),
    ],
)
def test_gradient_of_maxima(shape, steps, order):
    options = dict(zip(("window", "stride", "padding", "dilation", "ceil_mode"), steps, strict=True))
    x = random(*shape)
    y, place = pool.max_pool_kernel(x, *steps)
    g = random(*y.shape)
    exact = pool.max_pool_backward.record.reference(g, x, place, *steps)
    out = order(np.empty(shape, "f4"))
    close(run("max_pool_backward", (order(g), order(place)), (out,), **options)[0], exact)
