"""`use_deterministic_algorithms(True)`: no programs, eager digits, filled memory. Values from torch 2.13."""

import threading

import numpy as np
import pytest

import rushlight as torch
from rushlight.backend.onednn.library import available as has_onednn
from rushlight.compile import install
from rushlight.compile.jit import backward as repeated
from rushlight.compile.jit import loops
from rushlight.compile.lower.llvm import engine
from rushlight.nn import functional as F

native = pytest.mark.skipif(not (engine.available() and has_onednn()), reason="no compiler or no oneDNN here")


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = True


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (lambda: torch.empty(2), [np.nan] * 2),
        (lambda: torch.empty(2, dtype=torch.int64), [2**63 - 1] * 2),
        (lambda: torch.empty(2, dtype=torch.uint8), [255] * 2),
        (lambda: torch.empty(2, dtype=torch.bool), [True] * 2),
        (lambda: torch.empty(2, dtype=torch.bfloat16).float(), [np.nan] * 2),
        (lambda: torch.view_as_real(torch.empty(1, dtype=torch.complex64)), [[np.nan, 0]]),
        (lambda: torch.empty_like(torch.ones(2, 1)), [[np.nan]] * 2),
        (lambda: torch.empty_strided((2,), (2,)), [np.nan] * 2),
        (lambda: torch.empty_permuted((1, 2), (1, 0)), [[np.nan] * 2]),
        (lambda: torch.ones(2, dtype=torch.int32).new_empty(2), [2**31 - 1] * 2),
        (lambda: torch.ones(1).resize_(3), [1, np.nan, np.nan]),
    ],
)
def test_fresh_memory_is_filled(make, values, deterministic):
    np.testing.assert_array_equal(make().numpy(), values)
    torch.utils.deterministic.fill_uninitialized_memory = False
    assert torch.utils.deterministic.fill_uninitialized_memory is False
    assert make().shape == np.shape(values)
    filled = torch.ones(1).resize_(2)  # the first element is always kept
    assert filled[0] == 1


def test_the_mode_is_what_was_set(deterministic):
    assert torch.are_deterministic_algorithms_enabled() and torch.get_deterministic_debug_mode() == 2
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.is_deterministic_algorithms_warn_only_enabled() and torch.get_deterministic_debug_mode() == 1
    torch.set_deterministic_debug_mode("default")
    assert not torch.are_deterministic_algorithms_enabled() and torch.get_deterministic_debug_mode() == 0
    elsewhere = []
    torch.use_deterministic_algorithms(True)
    worker = threading.Thread(target=lambda: elsewhere.append(torch.are_deterministic_algorithms_enabled()))
    worker.start()
    worker.join()
    assert elsewhere == [True]


def _training(steps, switch=None, compiled=False):
    """What a loop leaves behind. switch: what is called before each step."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 3),
        torch.nn.GELU(),
        torch.nn.Flatten(),
        torch.nn.Linear(6 * 36, 200),
        torch.nn.LogSoftmax(1),
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.nll_loss(net(x).clamp(-9, 0), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = torch.compile(step) if compiled else step
    out = []
    for i in range(steps):
        if switch is not None:
            switch(i)
        out.append(step(torch.randn(256, 3, 8, 8), torch.randint(0, 200, (256,))))
    return [t.detach().numpy().tobytes() for t in (*out, *net.parameters())], step


@native
@pytest.mark.parametrize("compiled", [False, True], ids=["loop", "compiled"])
def test_the_digits_are_those_of_eager_kernels(compiled, deterministic, monkeypatch):
    with monkeypatch.context() as m:
        m.setattr("rushlight.core.jit_switch.jit.on", False)
        expected, _ = _training(12)
    repeated.forget()
    found, step = _training(12, compiled=compiled)
    assert found == expected
    assert not repeated._state.programs and not (compiled and step.captured)
    torch.use_deterministic_algorithms(False)
    other, step = _training(12, compiled=compiled)
    assert other != expected  # else this says nothing
    assert repeated._state.programs or step.captured


@native
def test_programs_that_are_there_wait_while_the_mode_is_on(deterministic, monkeypatch):
    """Switched on amid a loop whose programs run, it gives eager digits from that step on."""
    torch.use_deterministic_algorithms(False)
    repeated.forget()
    _training(8)
    assert repeated._state.programs and install._work.left == 0
    uses = [p.uses for p in repeated._state.programs]
    torch.use_deterministic_algorithms(True)
    found, _ = _training(4)
    assert [p.uses for p in repeated._state.programs] == uses
    with monkeypatch.context() as m:
        m.setattr("rushlight.core.jit_switch.jit.on", False)
        m.setattr(install._work, "left", 1 << 60)
        expected, _ = _training(4)
    assert found == expected
    torch.use_deterministic_algorithms(False)
    _training(4)
    assert [p.uses for p in repeated._state.programs] != uses


@native
def test_a_compiled_function_is_switched_between_calls(deterministic):
    calls = []
    f = torch.compile(lambda x: (x @ x).softmax(1).sum(0))
    x = torch.randn(40, 40)
    plain = (x @ x).softmax(1).sum(0)
    torch.use_deterministic_algorithms(False)
    for _ in range(4):
        f(x)
    program = f.captured[0].program.executable
    run = program.run
    program.run = lambda *a: calls.append(0) or run(*a)
    torch.use_deterministic_algorithms(True)
    assert torch.equal(f(x), plain) and not calls
    torch.use_deterministic_algorithms(False)
    torch.testing.assert_close(f(x), plain)
    assert calls


def test_loops_of_large_arrays_are_left_to_the_kernels(deterministic):
    x = np.ones(4, np.float32)
    assert loops.fill("sign", [x], []) is None


def test_a_compiled_function_that_sets_the_mode_runs_eagerly():
    def f(x):
        torch.use_deterministic_algorithms(False)
        return x * 2

    compiled = torch.compile(f)
    with pytest.warns(UserWarning, match="use_deterministic_algorithms"):
        for _ in range(4):
            assert compiled(torch.ones(1)) == 2
