"""Gradients of complex tensors, of the first and the second order, against central differences.

A rule that forgets a conjugate is right for real numbers and wrong here; so every operator with a number that may be
complex is in the table with one.
"""

import math

import pytest

import rushlight as torch
import rushlight.nn.functional as F

A, B = 0.5 + 1j, 2 - 0.5j


def z(*shape):
    g = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, dtype=torch.complex128, generator=g, requires_grad=True)


def positive(x):
    return x @ x.mH + 2 * torch.eye(x.shape[-1])


CASES = {
    "conv1d": (F.conv1d, (1, 2, 5), (3, 2, 2), (3,)),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), (1, 2, 4, 3), (2, 2, 2, 2), (2,)),
    "conv2d of groups": (lambda x, w: F.conv2d(x, w, groups=2, dilation=2), (1, 2, 4, 3), (2, 1, 2, 2)),
    "conv3d": (F.conv3d, (1, 1, 2, 2, 3), (1, 1, 2, 2, 2)),
    "conv_transpose1d": (F.conv_transpose1d, (1, 2, 4), (2, 3, 2), (3,)),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, stride=2), (1, 1, 2, 2), (1, 2, 2, 2)),
    "conv_transpose3d": (F.conv_transpose3d, (1, 1, 2, 2, 2), (1, 1, 1, 2, 2)),
    "addmm": (lambda a, b, c: torch.addmm(a, b, c, alpha=A, beta=B), (2, 3), (2, 2), (2, 3)),
    "addmv": (lambda a, b, c: torch.addmv(a, b, c, alpha=A, beta=B), (2,), (2, 3), (3,)),
    "addr": (lambda a, b, c: torch.addr(a, b, c, alpha=A, beta=B), (2, 3), (2,), (3,)),
    "addbmm": (lambda a, b, c: torch.addbmm(a, b, c, alpha=A, beta=B), (2, 3), (2, 2, 2), (2, 2, 3)),
    "baddbmm": (lambda a, b, c: torch.baddbmm(a, b, c, alpha=A, beta=B), (2, 2, 3), (2, 2, 2), (2, 2, 3)),
    "add": (lambda a, b: torch.add(a, b, alpha=A), (3,), (3,)),
    "sub": (lambda a, b: torch.sub(a, b, alpha=A), (3,), (3,)),
    "rsub": (lambda a, b: torch.rsub(a, b, alpha=A), (3,), (3,)),
    "mul": (lambda a: a * A, (3,)),
    "div": (lambda a: A / a + a / B, (3,)),
    "pow": (lambda a, b: a**A + B**a + a**b, (3,), (3,)),
    "pow of a negative number": (lambda a: torch.tensor([-1.5, -0.3], dtype=torch.float64) ** a, (2,)),
    "lerp": (lambda a, b: torch.lerp(a, b, A) + torch.lerp(a, b, 0.25j), (3,), (3,)),
    "lerp by a tensor": (torch.lerp, (3,), (3,), (3,)),
    "addcmul": (lambda a, b, c: torch.addcmul(a, b, c, value=A), (3,), (3,), (3,)),
    "addcdiv": (lambda a, b, c: torch.addcdiv(a, b, c, value=A), (3,), (3,), (3,)),
    "masked_fill": (lambda a: a.masked_fill(torch.tensor([True, False, True]), A), (3,)),
    "ldexp": (torch.ldexp, (3,), (3,)),
    "logaddexp": (torch.logaddexp, (3,), (3,)),
    "logsumexp": (lambda a: torch.logsumexp(a, 0), (3, 2)),
    "logcumsumexp": (lambda a: torch.logcumsumexp(a, 0), (3, 2)),
    "cholesky": (lambda a: torch.linalg.cholesky(positive(a)), (3, 3)),
    "cholesky, upper": (lambda a: torch.linalg.cholesky(positive(a), upper=True), (2, 3, 3)),
    "cholesky_solve": (lambda a, b: torch.cholesky_solve(b, torch.linalg.cholesky(positive(a))), (2, 2), (2, 1)),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients(case):
    f, *shapes = CASES[case]
    inputs = tuple(z(*s) for s in shapes)
    assert torch.autograd.gradcheck(f, inputs)
    assert torch.autograd.gradgradcheck(f, inputs)


def test_cholesky_gradient_is_not_made_hermitian():
    # torch 2.13's numbers
    a = torch.tensor([[2.0 + 0j, 1 + 1j], [1 - 1j, 3]], requires_grad=True)
    (torch.linalg.cholesky(a) * torch.tensor([[1j, 0], [1, 2j]])).sum().real.backward()
    want = [[-0.1767767 - 0.5303301j, 0.3535534j], [0.7071067 + 0.3535534j, -0.7071067j]]
    torch.testing.assert_close(a.grad, torch.tensor(want))


def test_complex_logaddexp_far_out():
    x = torch.tensor([1000 + 1j, complex("-inf"), 2 + 4j, complex("nan")])
    y = torch.tensor([1000 - 1j, 3 + 0.5j, 2 - 3j, 1 + 0j])
    want = [1000.0775 + 0j, 3 + 0.5j, 2.6274953 + 3.6415927j, complex("nan+nanj")]
    torch.testing.assert_close(torch.logaddexp(x, y), torch.tensor(want), equal_nan=True)


def test_exponents_of_zero():
    y = torch.tensor([1 + 0j, 2 + 1j], requires_grad=True)
    (0.0**y).abs().sum().backward()
    assert y.grad[0] == 0 and y.grad[1].isnan()


def test_polar_has_no_slope_where_the_absolute_value_is_zero():
    r = torch.tensor([0.0, 1.0], requires_grad=True)
    angle = torch.tensor([0.5, 0.5], requires_grad=True)
    torch.polar(r, angle).real.sum().backward()
    assert r.grad.tolist() == pytest.approx([0.0, math.cos(0.5)])
    assert angle.grad.tolist() == pytest.approx([0.0, -math.sin(0.5)])
