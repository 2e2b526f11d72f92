"""FLOPs counted against those worked out by hand, and the modules that they are counted for."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.core.dispatch.aten.operators import operator
from rushlight.nn import functional as F
from rushlight.utils.flop_counter import FlopCounterMode, register_flop_formula
from rushlight.utils.module_tracker import ModuleTracker


def r(*shape):
    return torch.randn(*shape, requires_grad=True)


OPERATORS = [
    ("mm", lambda: r(3, 4) @ r(4, 5), {"aten.mm": 2 * 3 * 4 * 5}),
    ("matrix and vector", lambda: r(3, 4) @ r(4), {}),
    ("vector and matrix", lambda: r(4) @ r(4, 5), {"aten.mm": 2 * 4 * 5}),
    ("bmm", lambda: torch.bmm(r(2, 3, 4), r(2, 4, 5)), {"aten.bmm": 2 * 2 * 3 * 4 * 5}),
    ("batch and matrix", lambda: r(2, 3, 4) @ r(4, 5), {"aten.mm": 2 * 6 * 4 * 5}),
    ("broadcast", lambda: r(2, 1, 3, 4) @ r(7, 4, 5), {"aten.bmm": 2 * 14 * 3 * 4 * 5}),
    ("addmm", lambda: torch.addmm(r(5), r(3, 4), r(4, 5)), {"aten.addmm": 2 * 3 * 4 * 5}),
    ("baddbmm", lambda: torch.baddbmm(r(2, 3, 5), r(2, 3, 4), r(2, 4, 5)), {"aten.baddbmm": 2 * 2 * 3 * 4 * 5}),
    ("linear", lambda: F.linear(r(2, 3, 4), r(5, 4), r(5)), {"aten.addmm": 2 * 6 * 4 * 5}),
    ("linear, no bias", lambda: F.linear(r(2, 3, 4), r(5, 4)), {"aten.mm": 2 * 6 * 4 * 5}),
    ("conv", lambda: F.conv2d(r(2, 4, 7, 7), r(6, 2, 3, 3), r(6), groups=2), {"aten.convolution": 2 * 2 * 25 * 108}),
    ("transposed", lambda: F.conv_transpose1d(r(2, 3, 5), r(3, 4, 2)), {"aten.convolution": 2 * 2 * 5 * 24}),
    ("elementwise", lambda: r(3, 4).exp().sum(), {}),
    (
        "backward of linear",
        lambda: F.linear(r(3, 4), r(5, 4), r(5)).sum().backward(),
        {"aten.addmm": 120, "aten.mm": 240},
    ),
    (
        "backward of conv",
        lambda: F.conv1d(r(2, 3, 9), r(4, 3, 3)).sum().backward(),
        {"aten.convolution": 2 * 2 * 7 * 36, "aten.convolution_backward": 2 * (2 * 2 * 7 * 36)},
    ),
]


@pytest.mark.parametrize(("name", "call", "counts"), OPERATORS, ids=[row[0] for row in OPERATORS])
def test_operators(name, call, counts):
    with FlopCounterMode(display=False) as counter:
        call()
    counted = {operator(name.removeprefix("aten.")): n for name, n in counts.items()}
    assert counter.get_flop_counts() == ({"Global": counted} if counts else {})
    assert counter.get_total_flops() == sum(counts.values())


def test_a_pass_that_repeats_is_counted_each_time():
    weight, x = r(4, 4), torch.randn(3, 4)
    with FlopCounterMode(display=False) as counter:
        for _ in range(8):
            ((x @ weight).relu() @ weight).sum().backward()
    assert counter.get_total_flops() == 8 * 5 * 2 * 3 * 4 * 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.rest = nn.Sequential(nn.Linear(4, 2), nn.ReLU())

    def forward(self, x):
        return self.rest(self.first(x))


def test_modules_and_the_table(capsys):
    net = Net()
    with FlopCounterMode() as counter:
        net(torch.randn(3, 4)).sum().backward()
    first, second = 2 * 3 * 4 * 4, 2 * 3 * 4 * 2
    assert {name: sum(counts.values()) for name, counts in counter.get_flop_counts().items()} == {
        "Global": 2 * first + 3 * second,
        "Net": 2 * first + 3 * second,
        "Net.first": 2 * first,
        "Net.rest": 3 * second,
        "Net.rest.0": 3 * second,
    }
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Module", "FLOP", "%", "Total"]
    assert [line.split()[:2] for line in lines if line.strip().startswith("Net")] == [
        ["Net", "336.000"], ["Net.first", "192.000"], ["Net.rest", "144.000"],
    ]  # fmt: skip
    assert "Net.rest.0" in counter.get_table(depth=3)


def test_modules_that_run():
    seen, net = [], Net()
    with ModuleTracker() as tracker:
        net.rest[1].register_forward_hook(lambda *a: seen.append(sorted(tracker.parents)))
        net.first.weight.register_hook(lambda g: seen.append((tracker.is_bw, "Net.rest" in tracker.parents)))
        net(torch.randn(3, 4)).sum().backward()
        assert tracker.parents == {"Global"} and not tracker.is_bw
    assert seen == [["Global", "Net", "Net.rest"], (True, False)]  # a module's own hooks come after it has left


def test_what_is_not_there_raises():
    with pytest.raises(NotImplementedError, match="custom_mapping"):
        FlopCounterMode(custom_mapping={torch.mm: lambda *a: 1})
    with pytest.raises(NotImplementedError, match="register_flop_formula"):
        register_flop_formula(torch.mm)
    with pytest.warns(UserWarning, match="mods argument is not needed"):
        FlopCounterMode(nn.Linear(2, 2))
