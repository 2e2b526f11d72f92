"""Numbers among an operator's options that are tensors: a program computes them anew in each run, as it does tensors."""

import pytest

import rushlight as torch

X, Y = torch.linspace(0.5, 1.5, 12).reshape(3, 4), torch.linspace(1.5, 0.5, 12).reshape(3, 4)
SQUARE, VECTOR = torch.linspace(-1, 1, 9).reshape(3, 3), torch.tensor([1.0, -2.0, 0.5])

CALLS = {
    "add": lambda x, s: torch.add(x, Y, alpha=-s),
    "add_": lambda x, s: (x * 1).add_(Y, alpha=s),
    "add_ of a number": lambda x, s: (x * 1).add_(2.0, alpha=s),
    "sub": lambda x, s: torch.sub(x, Y, alpha=s),
    "sub_": lambda x, s: (x * 1).sub_(Y, alpha=s),
    "rsub": lambda x, s: torch.rsub(x, Y, alpha=s),
    "addcmul": lambda x, s: torch.addcmul(x, Y, x, value=s),
    "addcmul_": lambda x, s: (x * 1).addcmul_(Y, x, value=-s),
    "addcdiv": lambda x, s: torch.addcdiv(x, Y, x, value=s),
    "addcdiv_": lambda x, s: (x * 1).addcdiv_(x, Y, value=-s),
    "addmm": lambda x, s: torch.addmm(x[:, :3], SQUARE, x[:, 1:], alpha=s, beta=1 - s),
    "addmm_": lambda x, s: (x[:, :3] * 1).addmm_(SQUARE, x[:, 1:], beta=s),
    "addmv": lambda x, s: torch.addmv(VECTOR, SQUARE, x[:, 0], alpha=s),
    "addr": lambda x, s: torch.addr(SQUARE, x[:, 0], VECTOR, alpha=s),
    "baddbmm": lambda x, s: torch.baddbmm(SQUARE[None], SQUARE[None], x[None, :, :3], alpha=s, beta=s),
    "addbmm": lambda x, s: torch.addbmm(SQUARE, SQUARE[None], x[None, :, :3], alpha=s),
    "foreach": lambda x, s: torch._foreach_add([x], [Y], alpha=s)[0],
    "foreach in place": lambda x, s: torch._foreach_addcmul_([x * 1], [Y], [x], s)[0],
    "full": lambda x, s: torch.full((3, 4), s) * x,
    "full_like": lambda x, s: torch.full_like(x, s) * x,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("is_given", [True, False], ids=["an argument", "computed"])
def test_each_run_takes_its_own_number(name, is_given):
    def step(x, s):
        y = CALLS[name](x, s if is_given else s * 1)
        y.sum().backward()
        return y.detach()

    compiled, leaf, other = torch.compile(step, fullgraph=True), X.clone().requires_grad_(), X.clone().requires_grad_()
    for i in range(6):
        s = torch.tensor(0.25 + i / 8)
        leaf.grad = other.grad = None
        assert torch.allclose(compiled(leaf, s), step(other, s), atol=1e-6)
        assert torch.allclose(leaf.grad, other.grad, atol=1e-6)


def test_a_factor_of_zero_leaves_nan_out():
    compiled = torch.compile(lambda x, s: torch.addmm(x, SQUARE, SQUARE, beta=s * 2), fullgraph=True)
    nan = torch.full((3, 3), torch.nan)
    for _ in range(5):
        assert torch.allclose(compiled(nan, torch.tensor(0.0)), SQUARE @ SQUARE, atol=1e-6)


def test_an_optimizer_of_tensors_compiles_whole():
    def update(p, grad, mean, square, step, lr, beta1, beta2):
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        bias1, bias2 = 1 - beta1**step, 1 - beta2**step
        p.add_(mean / ((square / bias2).sqrt() + 1e-8), alpha=-(lr / bias1))

    compiled, numbers = (
        torch.compile(update, fullgraph=True, dynamic=False),
        [torch.tensor(v) for v in (0.1, 0.9, 0.99)],
    )
    states = [[X.clone(), torch.zeros(3, 4), torch.zeros(3, 4)] for _ in range(2)]
    reference = torch.nn.Parameter(X.clone())
    adam = torch.optim.Adam([reference], lr=0.1, betas=(0.9, 0.99))
    for i in range(8):
        grad = torch.sin(X * i)
        for f, (p, mean, square) in zip((compiled, update), states, strict=True):
            f(p, grad, mean, square, torch.tensor(i + 1.0), *numbers)
        reference.grad = grad
        adam.step()
    for a, b in zip(*states, strict=True):
        assert torch.allclose(a, b, atol=1e-6)
    assert torch.allclose(states[0][0], reference.detach(), atol=1e-5)
