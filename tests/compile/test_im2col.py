"""Convolutions of compiled steps where oneDNN is missing, against the reference kernels in double precision."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.backend.onednn import library
from rushlight.compile.lower.llvm import engine, parallel, program
from rushlight.compile.lower.onednn import blas, im2col
from rushlight.compile.lower.onednn.direct import Run
from rushlight.ops.spatial import conv

pytestmark = pytest.mark.skipif(
    not engine.available() or blas.function(np.dtype(np.float32)) is None, reason="needs llvmlite and OpenBLAS"
)
# x, weight, stride, padding, dilation
CASES = [
    ((4, 3, 16, 16), (6, 3, 5, 5), (1, 1), (0, 0), (1, 1)),
    ((2, 32, 9, 9), (64, 32, 3, 3), (2, 2), (1, 1), (1, 1)),
    ((2, 17, 9, 9), (33, 17, 1, 1), (2, 2), (0, 0), (1, 1)),
    ((2, 16, 9, 8), (32, 16, 3, 3), (2, 1), ((1, 2), (0, 1)), (1, 2)),
    ((2, 5, 9, 7), (7, 5, 3, 2), (3, 2), (2, 1), (2, 3)),
    ((3, 5, 20), (7, 5, 4), (3,), (2,), (2,)),
    ((3, 5, 20), (7, 5, 4), (1,), (3,), (1,)),
    ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), (0, 0), (1, 1)),
    ((8, 20, 1, 1), (16, 20, 4, 4), (1, 1), (3, 3), (1, 1)),
]


def random(*shape):
    return np.random.default_rng([*shape]).standard_normal(shape).astype(np.float32)


def last(a):
    """The same array with channels innermost in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)


def close(out, exact):
    np.testing.assert_allclose(out, exact, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(exact).max()))


@pytest.fixture(autouse=True)
def without_onednn(monkeypatch):
    _ = program._fixed(), parallel.share_address()  # what a process makes once, and with the library where it is here
    monkeypatch.setattr(library, "_open", lambda: (None, "turned off by this test"))


def run(kind, operands, results, onto=(), **options):
    r = Run(kind, operands, results, onto, groups=1, **options)
    assert r.served
    r()
    return results


@pytest.mark.parametrize("images_at_once", [1, 100])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("of_x", [np.ascontiguousarray, last], ids=["plain", "last"])
@pytest.mark.parametrize("of_y", [np.ascontiguousarray, last], ids=["plain", "last"])
def test_convolutions(monkeypatch, case, of_x, of_y, images_at_once):
    x_shape, w_shape, *steps = case
    options = dict(zip(("stride", "padding", "dilation"), steps, strict=True))
    x, w, bias = of_x(random(*x_shape)), random(*w_shape), random(w_shape[0])
    wide = x.astype("f8"), w.astype("f8")
    y = conv._forward(*wide, *steps, 1)
    monkeypatch.setattr(im2col, "_MOST_ELEMENTS", images_at_once * w[0].size * y[0, 0].size)
    column = bias.reshape(-1, *(1,) * len(options["stride"]))
    close(run("convolution_forward", (x, w, bias), (of_y(np.empty(y.shape, "f4")),), **options)[0], y + column)
    start = of_y(random(*y.shape))
    close(run("convolution_forward", (x, w), (start.copy("K"),), (True,), **options)[0], y + start)
    g = of_y(random(*y.shape))
    dx = of_x(np.full(x_shape, np.nan, "f4"))
    exact = conv._backward_input(g.astype("f8"), wide[1], x_shape, *steps, 1)
    close(run("convolution_backward_data", (g, w), (dx,), **options)[0], exact)
    dw, db = np.empty(w_shape, "f4"), np.empty(w_shape[0], "f4")
    run("convolution_backward_weights", (g, x), (dw, db), **options)
    close(dw, conv._backward_weight(g.astype("f8"), wide[0], w_shape, *steps, 1))
    close(db, g.astype("f8").sum((0, *range(2, g.ndim))))
    close(run("convolution_backward_weights", (g, x), (np.empty_like(dw),), **options)[0], dw)


@pytest.mark.parametrize("kind", ["convolutions", "products", "normalised"])
def test_a_compiled_step_trains_as_an_eager_one(kind):
    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    for compiled in (False, True):
        torch.manual_seed(0)
        net, x, y = _network(kind), torch.randn(4, 3, 12, 12), torch.tensor([0, 1, 2, 3])
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        run_step = torch.compile(step) if compiled else step
        losses.append([run_step().item() for _ in range(6)])
        if compiled and kind != "normalised":
            assert "in Python" not in str(torch.compile.explain(run_step)())
    np.testing.assert_allclose(*losses, rtol=1e-4)


def _network(kind):
    nn = torch.nn
    if kind == "products":
        return nn.Sequential(nn.Flatten(), nn.Linear(432, 300), nn.ReLU(), nn.Linear(300, 4))
    norm = [nn.BatchNorm2d(8)] if kind == "normalised" else []
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        *norm,
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(8, 20, 3),
        nn.Flatten(),
        nn.Linear(320, 4),
    )
