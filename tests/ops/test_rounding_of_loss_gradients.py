"""The order in which torch's kernels round the gradients of losses: with a factor before them the orders differ."""

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F

R = np.random.RandomState(0)
N = 1000  # no power of two: 1 / N is rounded
X, Y, U, W = R.randn(N), R.randn(N), R.rand(N) * 0.9 + 0.05, R.rand(N)


def _gradient(loss, values, kind, factor):
    x = torch.tensor(values.astype(kind), requires_grad=True)
    (g,) = torch.autograd.grad(loss(x), x, torch.tensor(factor, dtype=x.dtype))
    return g.numpy()


@pytest.mark.parametrize("factor", [1.0, 0.3])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_against_numpy(kind, factor):
    x, y, u, w = (a.astype(kind) for a in (X, Y, U, W))
    of = np.dtype(kind).type
    d, g = x - y, of(factor)
    y_, w_ = torch.tensor(y), torch.tensor(w)
    expected = of(2 / N) * d * g
    np.testing.assert_array_equal(_gradient(lambda t: F.mse_loss(t, y_), x, kind, factor), expected)
    expected = np.clip(d / of(0.7), -1, 1) * of(1 / N) * g
    np.testing.assert_array_equal(_gradient(lambda t: F.smooth_l1_loss(t, y_, beta=0.7), x, kind, factor), expected)
    expected = np.clip(d, -1, 1) * of(1 / N) * g
    np.testing.assert_array_equal(_gradient(lambda t: F.huber_loss(t, y_), x, kind, factor), expected)
    expected = (u - w) * g / ((1 - u) * u) / of(N)
    np.testing.assert_array_equal(_gradient(lambda t: F.binary_cross_entropy(t, w_), u, kind, factor), expected)
    p = torch.tensor(x).sigmoid().numpy()
    expected = (p - w) * g / of(N)
    loss = F.binary_cross_entropy_with_logits
    np.testing.assert_array_equal(_gradient(lambda t: loss(t, w_), x, kind, factor), expected)


def test_bounds_of_bfloat16_stay_bfloat16():
    x = torch.tensor([0.1, 0.5, 0.9, -2.0, 0.33, 0.6], dtype=torch.bfloat16, requires_grad=True)
    y = torch.tensor([0.03, 0.2, 0.1, 0.1, 0.01, 0.02], dtype=torch.bfloat16)
    F.huber_loss(x, y, delta=0.7).backward()
    recorded = [11.71875, 50.29296875, 116.69921875, -116.69921875, 53.466796875, 97.16796875]  # thousandths
    assert (x.grad.float() * 1000).tolist() == recorded
