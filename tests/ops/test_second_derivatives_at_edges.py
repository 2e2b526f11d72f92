"""First and second derivatives at nan, infinities and where formulas meet; all numbers are torch 2.13's."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

nan, inf = float("nan"), float("inf")
CALLS = {
    "softplus": F.softplus,
    "softplus, beta 2": lambda x: F.softplus(x, 2.0, 3.0),
    "logsigmoid": F.logsigmoid,
    "logit": lambda x: torch.logit(x, 0.1),
    "log_ndtr": torch.special.log_ndtr,
    "gelu, tanh": lambda x: F.gelu(x, approximate="tanh"),
    "hardswish": F.hardswish,
    "power 0.5": lambda x: x**0.5,
    "power -0.5": lambda x: x**-0.5,
}
CASES = [
    ("softplus", "float64", [20.0, -20.0, 0.0, nan], [1.0, 2.06115e-09, 0.5, nan], [0.0, 2.06115e-09, 0.25, nan]),
    (
        "softplus, beta 2",
        "float32",
        [1.5, 1.4, 2.0, -1.0],
        [0.952574, 0.942676, 1, 0.119203],
        [0, 0.108076, 0, 0.209987],
    ),
    (
        "softplus, beta 2",
        "float16",
        [1.5, 1.4, 2.0, -1.0],
        [0.952637, 0.942871, 1, 0.119202],
        [0, 0.107727, 0, 0.209961],
    ),
    ("logsigmoid", "float32", [0.0, 30.0, -30.0, nan], [0.5, 9.35762e-14, 1.0, nan], [-0.25, 0.0, -9.35762e-14, nan]),
    ("logsigmoid", "bfloat16", [0.0, 1.3, -1.3], [0.5, 0.214844, 0.785156], [-0.25, -0.168945, -0.168945]),
    ("logsigmoid", "float16", [0.0, 1.3, -1.3], [0.5, 0.214233, 0.785645], [-0.25, -0.168457, -0.168335]),
    ("logit", "float32", [nan, 0.2, 0.05, 0.95, 0.1], [0, 6.25, 0, 0, 11.1111], [nan, -23.4375, 0, 0, -98.7654]),
    ("log_ndtr", "float32", [30.0, -inf, inf, 1.0], [0.0, nan, 0.0, 0.2876], [-0.0, nan, nan, -0.370314]),
    ("gelu, tanh", "float16", [30.0, -30.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.0, 0.797852]),
    ("hardswish", "float32", [nan, 1.0, 4.0], [1.0, 0.833333, 1.0], [0.0, 0.333333, 0.0]),  # element by element
    ("hardswish", "float32", [nan, 1.0, 4.0] * 20, [nan, 0.833333, 1.0] * 20, [0.0, 0.333333, 0.0] * 20),  # in vectors
    ("power 0.5", "float16", [-0.0, -inf, 4.0, -1.0], [inf, 0.0, 0.25, nan], [-inf, 0.0, -0.03125, nan]),
    ("power -0.5", "float16", [-0.0, -inf, 4.0, -1.0], [-inf, 0.0, -0.0625, nan], [inf, 0.0, 0.0234375, nan]),
]


@pytest.mark.parametrize(("name", "dtype", "at", "first", "second"), CASES)
def test_values(name, dtype, at, first, second):
    x = torch.tensor(at, dtype=getattr(torch, dtype), requires_grad=True)
    (g,) = torch.autograd.grad(CALLS[name](x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert g.tolist() == pytest.approx(first, rel=1e-5, abs=1e-20, nan_ok=True)
    assert h.tolist() == pytest.approx(second, rel=1e-5, abs=1e-20, nan_ok=True)


def test_half_powers_of_float16():
    x = torch.tensor([-0.0, -inf, 4.0], dtype=torch.float16)
    assert str((x**0.5).tolist()) == "[0.0, inf, 2.0]" and (x**-0.5).tolist() == [inf, 0.0, 0.5]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["softplus, beta 2", "logsigmoid", "hardswish"])
def test_compiled_gradients(name, dtype):
    def step(x):
        y = CALLS[name](x)
        return torch.autograd.grad(y.sum(), x)[0]

    x = torch.linspace(-6, 6, 3000).to(dtype).requires_grad_()
    expected, compiled = step(x), torch.compile(step)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), expected, rtol=1e-6, atol=1e-6)


def test_single_numbers():
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(F.softplus(x), x, create_graph=True)
    (h,) = torch.autograd.grad(g, x, create_graph=True)
    (third,) = torch.autograd.grad(h, x)
    assert (g.item(), h.item(), third.item()) == pytest.approx((0.6224593312, 0.2350037122, -0.0575567894))


def test_of_a_product_with_two_zeros():
    x = torch.tensor([0.0, 0.0, 3.0, 4.0], requires_grad=True)
    (g,) = torch.autograd.grad(x.prod(), x, create_graph=True)
    assert g.tolist() == [0.0] * 4
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [12.0, 12.0, 0.0, 0.0]
    assert torch.autograd.grad(x.prod(), x)[0].tolist() == [0.0] * 4
