"""Numbers among an operator's options that are tensors: a program computes them anew in each run, as it does tensors."""

import pytest

import rushlight as torch


def _operands():
    x, y = torch.linspace(0.5, 1.5, 12).reshape(3, 4), torch.linspace(1.5, 0.5, 12).reshape(3, 4)
    return x, y, torch.linspace(-1, 1, 9).reshape(3, 3), torch.tensor([1.0, -2.0, 0.5])


CALLS = {
    "add": lambda x, s, y, m, v: torch.add(x, y, alpha=-s),
    "add_": lambda x, s, y, m, v: (x * 1).add_(y, alpha=s),
    "add_ of a number": lambda x, s, y, m, v: (x * 1).add_(2.0, alpha=s),
    "sub": lambda x, s, y, m, v: torch.sub(x, y, alpha=s),
    "sub_": lambda x, s, y, m, v: (x * 1).sub_(y, alpha=s),
    "rsub": lambda x, s, y, m, v: torch.rsub(x, y, alpha=s),
    "addcmul": lambda x, s, y, m, v: torch.addcmul(x, y, x, value=s),
    "addcmul_": lambda x, s, y, m, v: (x * 1).addcmul_(y, x, value=-s),
    "addcdiv": lambda x, s, y, m, v: torch.addcdiv(x, y, x, value=s),
    "addcdiv_": lambda x, s, y, m, v: (x * 1).addcdiv_(x, y, value=-s),
    "addmm": lambda x, s, y, m, v: torch.addmm(x[:, :3], m, x[:, 1:], alpha=s, beta=1 - s),
    "addmm_": lambda x, s, y, m, v: (x[:, :3] * 1).addmm_(m, x[:, 1:], beta=s),
    "addmv": lambda x, s, y, m, v: torch.addmv(v, m, x[:, 0], alpha=s),
    "addr": lambda x, s, y, m, v: torch.addr(m, x[:, 0], v, alpha=s),
    "baddbmm": lambda x, s, y, m, v: torch.baddbmm(m[None], m[None], x[None, :, :3], alpha=s, beta=s),
    "addbmm": lambda x, s, y, m, v: torch.addbmm(m, m[None], x[None, :, :3], alpha=s),
    "foreach": lambda x, s, y, m, v: torch._foreach_add([x], [y], alpha=s)[0],
    "foreach in place": lambda x, s, y, m, v: torch._foreach_addcmul_([x * 1], [y], [x], s)[0],
    "full": lambda x, s, y, m, v: torch.full((3, 4), s) * x,
    "full_like": lambda x, s, y, m, v: torch.full_like(x, s) * x,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("is_given", [True, False], ids=["an argument", "computed"])
def test_each_run_takes_its_own_number(name, is_given):
    x, *others = _operands()

    def step(x, s):
        result = CALLS[name](x, s if is_given else s * 1, *others)
        result.sum().backward()
        return result.detach()

    compiled, leaf, other = torch.compile(step, fullgraph=True), x.clone().requires_grad_(), x.clone().requires_grad_()
    for i in range(6):
        s = torch.tensor(0.25 + i / 8)
        leaf.grad = other.grad = None
        assert torch.allclose(compiled(leaf, s), step(other, s), atol=1e-6)
        assert torch.allclose(leaf.grad, other.grad, atol=1e-6)


def test_a_factor_of_zero_leaves_nan_out():
    m = _operands()[2]
    compiled = torch.compile(lambda x, s: torch.addmm(x, m, m, beta=s * 2), fullgraph=True)
    nan = torch.full((3, 3), torch.nan)
    for _ in range(5):
        assert torch.allclose(compiled(nan, torch.tensor(0.0)), m @ m, atol=1e-6)


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
    x = _operands()[0]
    states = [[x.clone(), torch.zeros(3, 4), torch.zeros(3, 4)] for _ in range(2)]
    reference = torch.nn.Parameter(x.clone())
    adam = torch.optim.Adam([reference], lr=0.1, betas=(0.9, 0.99))
    for i in range(8):
        grad = torch.sin(x * i)
        for f, (p, mean, square) in zip((compiled, update), states, strict=True):
            f(p, grad, mean, square, torch.tensor(i + 1.0), *numbers)
        reference.grad = grad
        adam.step()
    for a, b in zip(*states, strict=True):
        assert torch.allclose(a, b, atol=1e-6)
    assert torch.allclose(states[0][0], reference.detach(), atol=1e-5)
