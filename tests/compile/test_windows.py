"""Pooling by generated code: the reference kernels' maxima and places, oneDNN's means, torch's numbers."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.backend.onednn import pooling as by_onednn
from rushlight.compile import install
from rushlight.compile.lower.eager import windows
from rushlight.ops.spatial import avg_pool, pool

pytestmark = pytest.mark.skipif(not windows._available(), reason="needs llvmlite")
F = torch.nn.functional
NAN, INF = float("nan"), float("inf")


def _cases(n, dilated):
    """Images with windows that torch allows."""
    rng = np.random.default_rng(dilated)
    for trial in range(n):
        sizes, window, stride = rng.integers(1, 40, 2), rng.integers(1, 5, 2), rng.integers(1, 4, 2)
        padding = [rng.integers(0, k // 2 + 1) for k in window]
        dilation = rng.integers(1, 3, 2) if dilated else (1, 1)
        steps = [tuple(map(int, v)) for v in (window, stride, padding, dilation)]
        x = rng.standard_normal((2, 3, *sizes)).round(1).astype(rng.choice(["f4", "f8"]))
        if trial % 3 == 0:
            x[rng.random(x.shape) < 0.1], x[rng.random(x.shape) < 0.2] = NAN, -INF
        try:
            pool.check_windows("pool", 2, x.shape, *steps, bool(trial % 2))
        except RuntimeError:
            continue
        yield x, *steps, bool(trial % 2)


def test_maxima_and_their_places():
    served = 0
    for case in _cases(150, dilated=True):
        found = windows.maxima(*case)
        if found is None:
            assert case[1][1] == 1 and case[2][1] == 2  # windows of one column, every other column
            continue
        values, places = pool.max_pool_kernel(*case)
        np.testing.assert_array_equal(found[0], values)
        np.testing.assert_array_equal(found[1], places)
        np.testing.assert_array_equal(windows.largest(*case), values)
        served += 1
    assert served > 100


@pytest.mark.parametrize("divisor", [None, 7, -2])
@pytest.mark.parametrize("with_padding", [True, False])
def test_means(with_padding, divisor):
    for x, window, stride, padding, _, ceil_mode in _cases(80, dilated=False):
        x = np.nan_to_num(x, nan=1, neginf=-3)
        found = windows.means(x, window, stride, padding, ceil_mode, with_padding, divisor)
        if found is None:
            continue
        options = window, stride, padding, ceil_mode, with_padding
        tolerance = 2e-5 if x.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(found, avg_pool.avg_pool_kernel(x, *options, divisor), tolerance, 1e-6)
        bits = by_onednn.avg_pool_forward(x, *options) if divisor is None else NotImplemented
        if bits is not NotImplemented:
            np.testing.assert_array_equal(found, bits)


def test_what_there_is_no_code_for():
    x = np.ones((1, 1, 40, 40), np.float32)
    assert windows.largest(x, (6, 6), (6, 6), (0, 0), (1, 1), False) is None  # a large window
    assert windows.largest(x.astype(np.float16), (2, 2), (2, 2), (0, 0), (1, 1), False) is None
    assert windows.largest(x[..., ::2], (2, 2), (2, 2), (0, 0), (1, 1), False) is None
    assert windows.even_means(x, (7, 8)) is None
    np.testing.assert_array_equal(windows.even_means(x, (8, 20)), np.ones((1, 1, 8, 20)))


@pytest.fixture
def served(monkeypatch):
    """The names of the functions that serve eager calls, as these come."""
    calls = []
    for name in ("maxima", "largest", "means"):
        function = getattr(windows, name)
        monkeypatch.setattr(windows, name, lambda *given, f=function, name=name: calls.append(name) or f(*given))
    before = {operator: operator.record.kernel for operator in install._POOLS.values()}
    for name, operator in install._POOLS.items():
        first = getattr(before[operator], "args", (name, before[operator]))[1]
        operator.record.replace(install.partial(install._first_pool, name, first))
    monkeypatch.setattr(install._work, "left", 0)
    yield calls
    for operator, kernel in before.items():
        operator.record.replace(kernel)


def test_eager_calls(served):
    x = [[1, 2, 2, NAN, 5], [2, 0, -INF, 1, 5], [-3, -1, NAN, 7, 7.5], [4, 4, 1, 7, -2]]
    y, where = F.max_pool2d(torch.tensor([x]), 3, 2, 1, return_indices=True)
    np.testing.assert_array_equal(y.numpy(), np.float32([[[2, NAN, NAN], [4, NAN, 7.5]]]))
    assert where.tolist() == [[[1, 3, 3], [15, 12, 14]]]
    assert F.max_pool2d(torch.tensor([x]), (2, 4)).tolist()[0][0][0] != 2  # nan
    x = torch.arange(20.0).view(1, 4, 5) / 3
    found = F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False)
    expected = [[1.0, 1.5, 2.0], [3.5, 4.0, 4.5], [5.1667, 5.6667, 6.1667]]
    np.testing.assert_allclose(found.numpy()[0], expected, 1e-4)
    found = F.avg_pool2d(x, (1, 2), 1, divisor_override=3)
    np.testing.assert_allclose(found.numpy()[0, 0], [0.1111, 0.3333, 0.5556, 0.7778], 1e-3)
    F.adaptive_avg_pool2d(x, (2, 5))
    assert served == ["maxima", "largest", "means", "means", "means"]


def test_gradients_and_channels_last(served):
    x = torch.arange(32.0).view(1, 2, 4, 4).to(memory_format=torch.channels_last).requires_grad_()
    y = F.max_pool2d(x, 2)
    assert y.is_contiguous(memory_format=torch.channels_last)
    y.sum().backward()
    assert x.grad[0, 1].tolist() == [[0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 1]]
