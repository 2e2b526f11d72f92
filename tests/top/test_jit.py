"""torch.jit: what runs as Python, and what raises. tests/jit has the tests of programs."""

from contextlib import nullcontext

import pytest
from rushlight.jit import Final  # noqa: F401  importable, as in torch

import rushlight as torch
from rushlight import nn


@torch.jit.script
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class Scripted(torch.jit.ScriptModule):
    __constants__ = ["k"]

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.k = torch.jit.Attribute(3, int)

    @torch.jit.script_method
    def forward(self, x):
        return self.linear(x) * self.k

    @torch.jit.ignore
    def skipped(self):
        return torch.jit.is_scripting()

    @torch.jit.ignore(drop=True)
    def dropped(self):
        return torch.jit.annotate(list[int], [1])

    @torch.jit.export
    def exported(self):
        return self.k


def test_script_is_python():
    assert twice(torch.ones(2)).tolist() == [2, 2]
    module = Scripted()
    x = torch.randn(4, 2)
    assert torch.equal(module(x), module.linear(x) * 3)
    assert (module.skipped(), module.dropped(), module.exported()) == (False, [1], 3)
    assert torch.jit.script(module) is module and list(module.state_dict()) == ["linear.weight", "linear.bias"]
    with pytest.raises(TypeError, match=r"<class 'int'> is a built-in class: torch\.jit\.script expects"):
        torch.jit.script(3)


@pytest.mark.parametrize(
    ("function", "draws", "warns"),
    [
        (lambda x: x + 1, 0, False),
        (lambda x: x + torch.rand(3), 4, True),
        (lambda x: x * torch.rand(3).ceil(), 5, False),
    ],
)
def test_tracing_leaves_the_stream_where_torch_does(function, draws, warns):
    seen = []

    def f(x):
        seen.append(torch.jit.is_tracing())
        return function(x)

    torch.manual_seed(0)
    drawn = [torch.rand(3) for _ in range(6)]
    torch.manual_seed(0)
    with (
        pytest.warns(torch.jit.TracerWarning, match="nondeterministic|Output nr 1. of the traced")
        if warns
        else nullcontext()
    ):
        torch.jit.trace(f, torch.ones(3))
    assert seen == [True, True, False]  # the program runs besides, once or twice
    assert torch.equal(torch.rand(3), drawn[draws])
    seen.clear()
    torch.jit.trace(f, torch.ones(3), check_trace=False)
    assert seen == [True]


def test_tracing_moves_running_averages():
    layer, x = nn.BatchNorm1d(2), torch.arange(6.0).view(3, 2)
    torch.jit.trace(layer, x)  # in torch: two traces, and three runs of what they are
    assert layer.num_batches_tracked == 5 and torch.allclose(layer.running_mean, (1 - 0.9**5) * x.mean(0))
    torch.jit.trace(layer.eval(), x)
    torch.jit.trace(layer.train(), x, check_inputs=[(x,), (x + 1,)], check_tolerance=1e9)
    assert layer.num_batches_tracked == 5 + 1 + 2 * 4


def test_freeze():
    module = nn.Linear(1, 1)
    with pytest.raises(RuntimeError, match="eval mode"):
        torch.jit.freeze(module)
    assert torch.jit.freeze(module.eval()) is module
    assert not torch.jit.optimize_for_inference(module.train()).training


def test_tasks():
    assert torch.jit.wait(torch.jit.fork(lambda a, b: a + b, 1, b=2)) == 3


@pytest.mark.parametrize(
    "value, kind, answer",
    [
        ([1, 2], list[int], True), ([1, "a"], list[int], False), ({"a": 1}, dict[str, int], True),
        ((1, "a"), tuple[int, str], True), (None, int | None, True), (1.5, int | None, False), (1, (str, int), True),
    ],
)  # fmt: skip
def test_isinstance(value, kind, answer):
    assert torch.jit.isinstance(value, kind) is answer


ABSENT = {
    "jit.CompilationUnit('')": "read from files only",
    "jit.enable_onednn_fusion(True)": "torch.compile",
}


@pytest.mark.parametrize("call", ABSENT)
def test_absent(call):
    with pytest.raises(NotImplementedError, match=ABSENT[call]):
        eval(f"torch.{call}")


def test_a_future_is_one_by_torchs_short_name():
    future = torch.futures.Future()
    assert isinstance(future, torch.Future) and isinstance(future.then(lambda f: 1), torch.Future)
