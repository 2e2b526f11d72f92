"""torch.cond, while_loop and map in programs that are recorded: traced, exported, saved."""

import io

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.torch._functorch.proxy_tensor import make_fx
from rushlight.torch._higher_order_ops import cond, map, while_loop
from rushlight.torch.jit.recording.trace_check import TracerWarning


def signed(x):
    return cond(x.sum() > 0, torch.sin, torch.cos, (x,))


class Branches(nn.Module):
    """Layers in the branches, a value from outside them, one branch inside another, results in a dict."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3))

    def forward(self, x):
        twice = x * 2

        def positive(x):
            return {"out": self.a(x) + twice, "flat": x.view(x.size(0) * 3)}

        def far(x):
            return {"out": self.b(x) * 7, "flat": (x + 1).flatten()}

        def near(x):
            return {"out": self.b(x), "flat": (x - twice).flatten()}

        def negative(x):
            return cond(x.sum() < -100, far, near, (x,))

        found = cond(x.sum() > 0, positive, negative, (x,))
        return found["out"] + 1, found["flat"]


INPUTS = [torch.ones(2, 3), -torch.ones(2, 3), torch.full((2, 3), -100.0)]


def the_same(program, module):
    for x in INPUTS:
        found, expected = program(x), module(x)
        assert all(torch.equal(f, e) for f, e in zip(found, expected, strict=True))


def test_an_exported_program_chooses_each_time_that_it_runs():
    module = Branches()
    program = torch.export.export(module, (INPUTS[0],))
    the_same(program.module(), module)
    with pytest.raises(NotImplementedError, match="prim::If has no form in the graph"):
        print(program.graph)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    the_same(torch.export.load(file).module(), module)


@pytest.mark.parametrize("example", range(3))
def test_a_trace_has_both_branches(example):
    module = Branches()
    program = torch.jit.trace(module, (INPUTS[example],))
    the_same(program, module)
    file = io.BytesIO()
    torch.jit.save(program, file)
    file.seek(0)
    the_same(torch.jit.load(file), module)


def test_sizes_inside_branches_are_computed_again():
    module = Branches()
    shapes = {"x": {0: torch.export.Dim("batch", max=100)}}
    program = torch.export.export(module, (INPUTS[0],), dynamic_shapes=shapes).module()
    for sign in (1, -1):
        x = torch.full((5, 3), 1.0 * sign)
        assert torch.equal(program(x)[1], module(x)[1])


def test_gradients_reach_both_sides_of_a_branch():
    module = Branches()
    program = torch.jit.trace(module, (INPUTS[0],))
    program(INPUTS[1])[0].sum().backward()
    assert module.a.weight.grad is None and module.b[2].bias.grad.tolist() == [2.0] * 3


def test_a_branch_may_give_an_operand_back():
    def kept(x):
        y = cond(x.sum() > 0, lambda x: x, lambda x: x + 1, (x,))
        return x, y

    program = torch.jit.trace(kept, (torch.ones(2),))
    assert [t.tolist() for t in program(-torch.ones(2))] == [[-1, -1], [0, 0]]


def test_writes_inside_a_branch_are_not_left_out():
    def filled(x):
        y = torch.zeros(2)

        def write(x):
            y.add_(x)
            return x * 1

        cond(x.sum() > 0, write, torch.neg, (x,))
        return y

    program = torch.jit.trace(filled, (torch.ones(2),), check_trace=False)
    assert program(torch.ones(2)).tolist() == [1, 1] and program(-torch.ones(2)).tolist() == [0, 0]


def test_what_no_program_can_have_is_refused():
    zero = torch.tensor(0)

    class Rounds(nn.Module):
        def forward(self, x):
            return while_loop(lambda i, x: i < x.sum(), lambda i, x: (i + 1, x * 1), (zero, x))[0]

    with pytest.raises(RuntimeError, match="depend on the elements of its inputs"):
        torch.export.export(Rounds(), (torch.ones(3),))
    with pytest.warns(TracerWarning, match="Python boolean"):
        torch.jit.trace(Rounds(), (torch.ones(3),), check_trace=False)
    with pytest.raises(NotImplementedError, match="inside make_fx"):
        make_fx(signed)(torch.ones(3))
    with pytest.raises(RuntimeError, match="Unmatched output spec"):
        torch.jit.trace(lambda x: cond(x.sum() > 0, lambda x: (x, x), torch.neg, (x,)), (torch.ones(3),))
    with pytest.raises(RuntimeError, match="pytree of tensors"):
        torch.jit.trace(lambda x: cond(x.sum() > 0, lambda x: 1, torch.neg, (x,)), (torch.ones(3),))


def test_map():
    def row(x, y, z):
        return {"sum": x + y + z, "first": x[0]}

    xs = torch.arange(6.0).view(3, 2)
    found = map(row, xs, torch.tensor(5), torch.tensor(4))
    assert torch.equal(found["sum"], xs + 9) and found["first"].tolist() == [0, 2, 4]
    assert map(lambda pair: pair[0] * pair[1], (xs, xs)).tolist() == (xs * xs).tolist()
    for wrong, message in (
        (3, "can only consist of tensors"),
        (torch.ones(0, 2), "cannot be 0"),
        (
            (torch.ones(3), torch.ones(4)),
            r"must be consistent. Got shapes \[torch.Size\(\[3\]\), torch.Size\(\[4\]\)\]",
        ),
    ):
        with pytest.raises(RuntimeError, match=message):
            map(lambda x: x, wrong)

    class Mapped(nn.Module):
        def forward(self, xs, y):
            return map(lambda x, y: x + y, xs, y)

    program = torch.export.export(Mapped(), (xs, torch.tensor(5.0))).module()
    assert torch.equal(program(-xs, torch.tensor(2.0)), 2 - xs)
