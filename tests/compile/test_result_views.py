"""Results that are views with a history: what is written to them or to their base afterwards is in both histories."""

import warnings

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.compile.jit import module_calls
from rushlight.compile.lower.llvm.engine import available
from rushlight.core.dispatch.extension_points import module_caller, module_programs


def of_argument(x):
    return x.view(-1), x * 2


def of_result(x):
    y = x.sin()
    return y, y.t()


def part_of_part(x):
    y = x * 3
    z = y[:, 1:]
    return z[0], y


def of_hidden(x):
    y = x * x
    return y[:, :2], y[:, 1:]


def of_chunks(x):
    return (x * 2).chunk(2)


def write_first(a, x, made):
    made[0].mul_(2)
    return made[0].sum() + made[1].sum() + x.sum()


def write_second(a, x, made):
    made[1].mul_(2)
    return made[0].sum() + made[1].sum() + x.sum()


def write_argument(a, x, made):
    x.mul_(3)
    return made[0].sum() + (made[1] * 2).sum()


def gradients(function, use):
    found = []
    for _ in range(5):
        a = torch.arange(1.0, 7.0).view(2, 3).requires_grad_()
        x = a * 1
        try:
            use(a, x, function(x)).backward()
            found.append([round(v, 4) for v in a.grad.flatten().tolist()])
        except RuntimeError as error:
            found.append(str(error)[:30])
    return found


@pytest.mark.parametrize("use", [write_first, write_second, write_argument])
@pytest.mark.parametrize("function", [of_argument, of_result, part_of_part, of_hidden])
def test_a_write_is_in_the_history_of_both(function, use):
    compiled = torch.compile(function, fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradients(compiled, use) == gradients(function, use)


def test_parts_that_do_not_overlap_stay_the_programs():
    compiled = torch.compile(of_chunks, fullgraph=True)
    for _ in range(5):
        x = torch.ones(4, 3, requires_grad=True)
        first, second = compiled(x)
        (first * 2 + second).sum().backward()
        assert x.grad.sum(1).tolist() == [12.0, 12.0, 6.0, 6.0]
    assert first.grad_fn.name() == "CompiledFunctionBackward"


def test_a_view_of_a_leaf_cannot_be_written():
    compiled = torch.compile(of_argument, fullgraph=True)
    for _ in range(5):
        x = torch.ones(2, 3, requires_grad=True)
        flat, _ = compiled(x)
        assert flat._base is x
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            flat.mul_(2)


def test_a_call_without_gradients_that_records_some():
    def f(x):
        with torch.enable_grad():
            y = x * 2
            return y, y[0]

    compiled = torch.compile(f, fullgraph=True)
    x = torch.ones(2, 3, requires_grad=True)
    for _ in range(5):
        with torch.no_grad():
            y, row = compiled(x)
        assert row._base is y
        (grad,) = torch.autograd.grad(row.sum(), x)
        assert grad.tolist() == [[2.0] * 3, [0.0] * 3]


class Turned(nn.Module):
    def __init__(self):
        super().__init__()
        hidden = [layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.Tanh())]
        self.layers = nn.Sequential(*hidden, nn.Linear(64, 64))

    def forward(self, x):
        y = self.layers(x)
        return y, y.t()


@pytest.mark.skipif(not available(), reason="modules become programs with llvmlite only")
def test_a_module_that_became_a_program():
    """Also its second derivatives, which come from the history of the call made again."""
    torch.manual_seed(0)
    module, x = Turned(), torch.randn(32, 64, requires_grad=True)

    def results():
        y, turned = module(x)
        turned.mul_(2)
        (first,) = torch.autograd.grad(y.sum() + turned.pow(2).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.pow(2).sum(), x)
        return first.detach(), second

    expected = results()
    search = module_calls.Search()
    search.called = lambda: None
    module_caller.register(search)
    try:
        for _ in range(8):
            torch.testing.assert_close(results(), expected, rtol=1e-4, atol=1e-4)
        assert any(c.program for c in module_programs.value[id(module)].captured)
    finally:
        module_caller.register(None)
