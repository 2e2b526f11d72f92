"""Convolutions by Winograd's transforms: against double precision and oneDNN's own error, and where that is no number."""

import ctypes

import numpy as np
import pytest

from rushlight.backend.onednn import library
from rushlight.compile.lower.onednn import Binder, kernels
from rushlight.compile.lower.onednn.direct import Run
from rushlight.compile.lower.winograd import bind
from rushlight.ops.spatial import conv

pytestmark = pytest.mark.skipif(
    not (library.available() and kernels.available()) or kernels.lanes() < 8,
    reason="needs oneDNN, llvmlite and vectors of 8 floats",
)


def random(*shape):
    return np.random.default_rng([*shape]).standard_normal(shape).astype(np.float32)


def last(a):
    """The same array with channels innermost in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)


def options(padding):
    return {"stride": (1, 1), "padding": padding, "dilation": (1, 1), "groups": 1}


def between_guards(shape):
    """(an array with channels last, the guard before it, the guard behind it)"""
    n, c, *size = shape
    whole = np.full(int(np.prod(shape)) + 64, 7, np.float32)
    return np.moveaxis(whole[32:-32].reshape(n, *size, c), -1, 1), whole[:32], whole[-32:]


class Passes:
    """The three passes of one convolution: what they are on, and what is exact."""

    def __init__(self, n, c, k, height, width, padding=(1, 1)):
        steps = ((1, 1), padding, (1, 1), 1)
        self.x, self.bias = last(random(n, c, height, width)), random(k)
        self.w = random(k, c, 3, 3) / np.float32(np.sqrt(9 * c))
        wide = self.x.astype("f8"), self.w.astype("f8")
        y = conv._forward(*wide, *steps) + self.bias[:, None, None]
        self.g = last(random(*y.shape))
        g = self.g.astype("f8")
        dx = conv._backward_input(g, wide[1], self.x.shape, *steps)
        dw = conv._backward_weight(g, wide[0], self.w.shape, *steps)
        self.exact = (y, dx, dw, g.sum((0, 2, 3)))
        self.options = options(padding)

    def run(self):
        """[y, dx, dw, dbias]"""
        runs = [
            ("convolution_forward", (self.x, self.w, self.bias), self.exact[:1]),
            ("convolution_backward_data", (self.g, self.w), self.exact[1:2]),
            ("convolution_backward_weights", (self.g, self.x), self.exact[2:]),
        ]
        out, guards = [], []
        for kind, operands, like in runs:
            results = []
            for shape in (a.shape for a in like):
                guarded = between_guards(shape) if len(shape) == 4 and shape[2:] != (3, 3) else [np.empty(shape, "f4")]
                results.append(guarded[0])
                guards += guarded[1:]
            r = Run(kind, operands, tuple(results), **self.options)
            assert r.served
            r()
            out += results
        assert all((guard == 7).all() for guard in guards)
        return out


@pytest.fixture
def only_onednn(monkeypatch):
    return lambda: monkeypatch.setattr(bind, "_serves", lambda *refs: False)


# images, channels, filters, height, width, padding
CASES = [
    (32, 64, 64, 8, 8),
    (16, 32, 64, 7, 7),
    (8, 64, 32, 9, 14),
    (5, 96, 160, 10, 11),
    (4, 320, 288, 8, 8),
    (3, 32, 32, 13, 15, (0, 0)),
    (4, 32, 64, 10, 12, ((2, 1), (0, 2))),
    (1, 64, 64, 64, 30, (2, 0)),
]


@pytest.mark.parametrize("of_x", [last, np.ascontiguousarray], ids=["last", "plain"])
@pytest.mark.parametrize("of_y", [last, np.ascontiguousarray], ids=["last", "plain"])
@pytest.mark.parametrize("images", [1, 3])
def test_other_layouts(of_x, of_y, images):
    passes = Passes(images, 32, 64, 16, 18)
    x, g = of_x(passes.x), of_y(passes.g)
    if images == 1:  # what the stride of a single image says is nothing
        x, g = (np.lib.stride_tricks.as_strided(a, a.shape, (0, *a.strides[1:])) for a in (x, g))
    runs = [
        Run("convolution_forward", (x, passes.w, passes.bias), (of_y(np.empty(g.shape, "f4")),), **passes.options),
        Run("convolution_backward_data", (g, passes.w), (of_x(np.empty(x.shape, "f4")),), **passes.options),
        Run("convolution_backward_weights", (g, x), (np.empty(passes.w.shape, "f4"),), **passes.options),
    ]
    for r, exact in zip(runs, passes.exact, strict=False):
        assert bind._serves(r.extern, *_refs(r.extern))
        r()
        np.testing.assert_allclose(r.results[0], exact, rtol=1e-4, atol=1e-5 * np.abs(exact).max())


def _refs(extern):
    """Input, weight, output."""
    (first, second, *_), result = extern.operands, extern.results[0]
    orders = {
        "convolution_forward": (first, second, result),
        "convolution_backward_data": (result, second, first),
        "convolution_backward_weights": (second, result, first),
    }
    return orders[extern.kind]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_exact_as_onednn(case, only_onednn):
    passes = Passes(*case)
    ours = passes.run()
    only_onednn()
    theirs = passes.run()
    for got, other, exact in zip(ours, theirs, passes.exact, strict=True):
        error, usual = (np.sqrt(np.mean((a - exact) ** 2)) for a in (got, other))
        assert not np.array_equal(got, other)
        assert error <= 3 * usual + 1e-7 * np.abs(exact).max()


def test_parts_of_larger_images():
    x, w = last(random(2, 96, 20, 20))[:, 32:64, 1:17, :16], random(64, 32, 3, 3)
    y = last(np.zeros((2, 80, 16, 16), "f4"))
    r = Run("convolution_forward", (x, w), (y[:, 8:72],), **options((1, 1)))
    assert r.served
    r()
    exact = conv._forward(x.astype("f8"), w.astype("f8"), (1, 1), (1, 1), (1, 1), 1)
    np.testing.assert_allclose(y[:, 8:72], exact, rtol=1e-5, atol=1e-4)
    assert not y[:, :8].any() and not y[:, 72:].any()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38], ids=str)
@pytest.mark.parametrize("where", ["x", "w", "g"])
def test_what_is_not_finite(value, where, only_onednn):
    passes = Passes(8, 32, 64, 12, 12)
    getattr(passes, where)[2, 5, 1, 2] = value
    with np.errstate(all="ignore"):
        ours = passes.run()
        only_onednn()
        theirs = passes.run()
    for got, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(other))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(other))
        np.testing.assert_allclose(got[np.isfinite(got)], other[np.isfinite(other)], rtol=1e-4, atol=1e-4)


def test_once_more_only_while_it_is_not_finite(only_onednn):
    x, w, y = last(random(8, 32, 12, 12)), random(32, 32, 3, 3), last(np.empty((8, 32, 12, 12), "f4"))
    r = Run("convolution_forward", (x, w), (y,), **options((1, 1)))
    r()
    usual = y.copy()
    before, x[0, 0, 0, 0] = x[0, 0, 0, 0], np.inf
    r()
    assert np.isinf(y).any()
    x[0, 0, 0, 0] = before
    r()
    np.testing.assert_array_equal(y, usual)


@pytest.mark.parametrize(
    ("filters", "channels", "threads", "expected"),
    [
        (64, 64, 2, (2, 1)),
        (256, 256, 2, (2, 1)),
        (512, 512, 2, (1, 2)),
        (512, 512, 5, (1, 4)),
        (256, 256, 64, (16, 4)),
        (32, 32, 64, (64, 1)),
        (512, 32, 64, (64, 1)),
    ],
)
def test_how_threads_share_the_gradient(filters, channels, threads, expected):
    assert bind._parts(filters, channels, threads) == expected


def test_more_parts_and_groups_than_threads(monkeypatch):
    passes = Passes(8, 96, 64, 12, 12)
    for parts, groups in ((1, 1), (1, 6), (5, 1), (3, 2)):
        monkeypatch.setattr(bind, "_parts", lambda *_, both=(parts, groups): both)
        for got, exact in zip(passes.run(), passes.exact, strict=True):
            np.testing.assert_allclose(got, exact, rtol=1e-4, atol=1e-5 * np.abs(exact).max())


@pytest.fixture
def fences(monkeypatch):
    """Memory after each room that nothing may write to."""
    kept = []

    def room(binder, size):
        at = original(binder, size + 1_000_000)
        kept.append((ctypes.c_ubyte * 1_000_000).from_address(at + size))
        ctypes.memset(at + size, 7, 1_000_000)
        return at

    original = Binder.room
    monkeypatch.setattr(Binder, "room", room)
    return kept


@pytest.mark.parametrize("threads", [1, 3])
def test_another_number_of_threads(threads, fences):
    passes = Passes(8, 64, 64, 12, 12)
    operands = (
        "convolution_forward",
        (passes.x, passes.w, passes.bias),
        (last(np.empty(passes.exact[0].shape, "f4")),),
    )
    slopes = ("convolution_backward_weights", (passes.g, passes.x), (np.empty(passes.w.shape, "f4"),))
    runs = [Run(*arguments, **passes.options) for arguments in (operands, slopes)]
    pool = library.load()
    usual = pool.omp_get_max_threads()
    pool.omp_set_num_threads(threads)
    try:
        for r, exact in zip(runs, (passes.exact[0], passes.exact[2]), strict=True):
            r()
            np.testing.assert_allclose(r.results[0], exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())
        assert fences and all(bytes(fence) == b"\7" * len(fence) for fence in fences)
    finally:
        pool.omp_set_num_threads(usual)


def test_what_is_left_to_onednn():
    def served(x, w, y, **changes):
        extern = Run("convolution_forward", (x, w), (y,), **(options((1, 1)) | changes)).extern
        return bind._serves(extern, *extern.operands, *extern.results)

    x, w, y = last(random(16, 32, 8, 8)), random(32, 32, 3, 3), last(np.empty((16, 32, 8, 8), "f4"))
    assert served(x, w, y)
    assert not served(x, last(w), y)
    assert not served(x[:2], w, y[:2])
    assert not served(x, w, y[:, :, ::2, ::2], stride=(2, 2))
    assert not served(x, w[:, :16], y, groups=2)
    assert not served(x, w[:20], y[:, :20])
    assert not served(x[:, :, :3, :3], w, y[:, :, :3, :3])
