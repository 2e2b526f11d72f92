"""Gradients at nan and at the origin, recorded from torch 2.13: kernels take large arrays in vectors, small ones singly."""

import math

import pytest

import rushlight as torch
import rushlight.nn.functional as F

NAN = math.nan
UNITS = {  # name: (function, gradient of few elements, gradient of many)
    "hardtanh": (F.hardtanh, 1.0, 0.0),
    "relu6": (F.relu6, 1.0, 0.0),
    "elu": (F.elu, 1.0, NAN),
    "celu": (F.celu, 1.0, NAN),
    "selu": (F.selu, 1.0507010221481323, NAN),
    "hardswish": (F.hardswish, 1.0, NAN),
    "hardshrink": (F.hardshrink, 1.0, 0.0),
    "softshrink": (F.softshrink, 1.0, 0.0),
    "hardsigmoid": (F.hardsigmoid, 0.0, 0.0),
    "leaky_relu": (F.leaky_relu, 0.009999999776482582, 0.009999999776482582),
    "threshold": (lambda x: F.threshold(x, 0.1, 2.0), 1.0, 1.0),
    "relu": (F.relu, 1.0, 1.0),
    "clamp": (lambda x: x.clamp(-1, 1), 0.0, 0.0),
}


def _gradient(f, n):
    x = torch.full((n,), NAN, requires_grad=True)
    f(x).sum().backward()
    return x.grad


@pytest.mark.parametrize("n", [3, 16, 6000, 100_000])
@pytest.mark.parametrize("name", UNITS)
def test_of_units(name, n):
    f, few, many = UNITS[name]
    expected = torch.full((n,), few if n < 16 else many)
    for _ in range(6 if n > 1000 else 1):  # a kernel may become a program
        torch.testing.assert_close(_gradient(f, n), expected, equal_nan=True, rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", UNITS)
def test_of_compiled_units(name):
    f, _, many = UNITS[name]
    x = torch.full((4096,), NAN, requires_grad=True)
    step = torch.compile(lambda x: torch.autograd.grad(f(x).sum(), x)[0])
    torch.testing.assert_close(step(x), torch.full((4096,), many), equal_nan=True, rtol=1e-6, atol=0)


def test_second_derivatives_of_units_at_0_are_0():
    for f in (F.elu, F.celu, F.selu):
        for n in (2, 64):
            x = torch.zeros(n, requires_grad=True)
            (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
            assert torch.autograd.grad(g.sum(), x)[0].tolist() == [0.0] * n


def _twice(f, *values, dtype=torch.float32):
    xs = [torch.tensor([v], dtype=dtype, requires_grad=True) for v in values]
    first = torch.autograd.grad(f(*xs).sum(), xs, create_graph=True)
    second = torch.autograd.grad(sum(g.sum() for g in first), xs)
    return [t.item() for t in (*first, *second)]


@pytest.mark.parametrize(
    "f, values, expected",
    [
        (torch.atan2, (0.0, 0.0), [0.0, 0.0, NAN, NAN]),
        (torch.special.entr, (-0.5,), [NAN, 2.0]),
        (torch.special.i1, (NAN,), [0.5, 0.0]),
        (torch.special.i1e, (NAN,), [0.5, 0.0]),
        (torch.pow, (0.0, 1.0), [1.0, 0.0, NAN, NAN]),
    ],
    ids=["atan2", "entr", "i1", "i1e", "pow"],
)
def test_of_functions(f, values, expected):
    for dtype in (torch.float32, torch.float64):
        assert _twice(f, *values, dtype=dtype) == pytest.approx(expected, nan_ok=True)


def test_atan2_where_squares_underflow():
    x, y = (torch.tensor([1e-30], requires_grad=True) for _ in range(2))
    assert [g.item() for g in torch.autograd.grad(torch.atan2(x, y), (x, y))] == [0.0, 0.0]


def test_quotients_in_addcdiv_round_as_torchs():
    """0.7 / 3 is one division, and 0.7 * 5 / 9 a product and a division."""
    a, b = (torch.tensor([v], requires_grad=True) for v in (5.0, 3.0))
    of_a, of_b = torch.autograd.grad(torch.addcdiv(torch.zeros(1), a, b, value=0.7), (a, b))
    single = torch.tensor([0.7, 5.0, 3.0, 9.0])
    assert of_a.item() == (single[0] / single[2]).item()
    assert of_b.item() == -(single[0] * single[1] / single[3]).item()


def test_slope_of_celu_has_alpha_rounded():
    x = torch.tensor([-1e-9], dtype=torch.float64, requires_grad=True)
    F.celu(x, 1.7).backward()
    assert x.grad.item() == pytest.approx(1.7 / 1.7000000476837158, rel=1e-8) != 1.0


def _first(f, values, g, dtype=torch.float32):
    x = torch.tensor(values, dtype=dtype, requires_grad=True)
    y = f(x)
    return torch.autograd.grad(y, x, torch.full_like(y, g))[0].tolist()


def test_gradients_multiply_and_divide_in_torchs_order():
    """Recorded from torch 2.13: where a product overflows on the way, its order decides."""
    assert _first(lambda x: torch.hypot(x, torch.ones(1)), [3e38], 1.5) == [math.inf]
    assert _first(lambda x: torch.hypot(x, torch.ones(1)), [3e38], 1.0) == [1.0]
    first, second = _first(lambda x: F.glu(x, 0), [3e38, 6.0], 1.5)
    assert first == pytest.approx(1.496291160583496) and second == pytest.approx(1.1099097055072045e36, rel=1e-4)


def test_of_soft_margins_beyond_the_exponential_function():
    for reduction in ("none", "sum", "mean"):
        got = _first(lambda x, r=reduction: F.soft_margin_loss(x, torch.ones(2), reduction=r), [-100.0, -12.0], 1.0)
        assert math.isnan(got[0])
        assert got[1] == pytest.approx(-0.9999938 / (2 if reduction == "mean" else 1), rel=1e-6)
    assert _first(lambda x: F.soft_margin_loss(x, torch.ones(1, dtype=x.dtype)), [-100.0], 1.0, torch.float64) == [-1.0]


def test_margins_that_are_just_met_have_no_gradient():
    target = torch.tensor([0, -1, 0])
    assert _first(lambda x: F.multilabel_margin_loss(x, target), [0.0, -1.0, -0.5], 3.0) == [-1.0, 0.0, 1.0]


def test_running_products_behind_zeros():
    """Recorded from torch 2.13: what follows a second zero has no part in the gradient, and after the first there is none."""
    for dtype in (torch.float32, torch.float64):
        assert _first(lambda x: x.cumprod(0), [0.0, 0.0, math.inf, NAN], 1.5, dtype) == [1.5, 0.0, 0.0, 0.0]
        assert _first(lambda x: x.cumprod(0), [2.0, 0.0, 2.0, math.inf], 1.0, dtype) == [1.0, math.inf, 0.0, 0.0]
    x = torch.tensor([2.0, 0.0, 3.0], requires_grad=True)
    step = torch.compile(lambda x: torch.autograd.grad(x.cumprod(0).sum(), x)[0])
    assert [step(x).tolist() for _ in range(3)] == [[1.0, 8.0, 0.0]] * 3
