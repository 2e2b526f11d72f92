"""Errors of signals' handlers, trace functions and other threads end a call, wherever they arrive."""

import ctypes
import importlib
import signal
import sys
import threading
from inspect import CO_GENERATOR
from pathlib import Path

import pytest

import rushlight as torch
from rushlight.compile.lower.llvm import emitters
from rushlight.core.dispatch.mode import thread
from rushlight.core.interrupts import came_from_outside
from rushlight.nn import functional as F


class Stop(Exception):
    """What a program raises from outside."""


class Tracer:
    """A trace function that raises Stop at one event, counted over all frames inside Rushlight. seen: events until then.

    events: which count; Python handles signals at calls and their ends only.
    """

    def __init__(self, at, events=("call", "line", "return", "exception")):
        self.at, self.events, self.seen = at, events, 0

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if "rushlight" not in code.co_filename or code.co_filename == __file__:
            return None
        if code.co_flags & CO_GENERATOR:  # Python drops what is raised in one that is being closed
            return None
        if event not in self.events:
            return self
        self.seen += 1
        if self.seen == self.at:
            self.where = (frame.f_code.co_filename[-40:], frame.f_lineno, frame.f_code.co_name, event)
            raise Stop
        return self


def interrupted(call, at, *events):
    """Whether `call` was interrupted at an event, and how many events there were. Fails where Stop is lost."""
    tracer, before = Tracer(at, *events), sys.gettrace()
    sys.settrace(tracer)
    try:
        call()
    except Stop:
        return True, tracer.seen
    finally:
        sys.settrace(before)
    assert tracer.seen < at, f"the error of event {at} was lost, {tracer.where}"
    return False, tracer.seen


def everywhere(call, most=60, *events):
    """Interrupt calls at up to `most` events, spread over one call's; yields after each."""
    _, n = interrupted(call, 1 << 60, *events)
    for at in range(1, n + 1, max(1, n // most)):
        if interrupted(call, at, *events)[0]:
            yield at
            torch.set_grad_enabled(
                True
            )  # a context manager that was interrupted in its __exit__ has not put the mode back


CALLS = {
    "linear": lambda x: F.linear(x, x),
    "softmax": lambda x: x.softmax(1),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "cat": lambda x: torch.cat([x, x]),
    "add": lambda x: x + x,
    "reflected": lambda x: 1.0 / x,
    "sum": lambda x: x.sum(0),
    "index": lambda x: x[x > 0],
    "backward": lambda x: (x.clone().requires_grad_() * 2).sum().backward(),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_eager_call_passes_it_on(name):
    """The careful path would answer, and the error be lost."""
    x = torch.randn(4, 4)
    CALLS[name](x)  # what a first call loads is not meant
    assert list(everywhere(lambda: CALLS[name](x)))


@pytest.mark.parametrize("write", ["mul_", "add_", "copy_"])
def test_nothing_is_written_twice(write):
    a, b = torch.ones(4), torch.full((4,), 3.0)
    allowed = {1.0, {"mul_": 3.0, "add_": 4.0, "copy_": 3.0}[write]}

    def call():
        a.fill_(1.0)
        getattr(a, write)(b)

    for at in everywhere(call):
        assert a[0].item() in allowed, at


def test_an_unmodified_loop_goes_on_afterwards():
    """Interrupted in eager passes, while one is recorded, in a program: then the same numbers as without."""
    torch.manual_seed(0)
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    start = {k: v.clone() for k, v in net.state_dict().items()}

    def steps(n):
        with torch.no_grad():
            for k, v in net.state_dict().items():
                v.copy_(start[k])
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(n):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        return loss.item()

    wanted = steps(6)
    for at in everywhere(lambda: steps(6), most=25):
        torch.set_grad_enabled(True)  # it may have come at a line of an __exit__, or of a `finally`
        assert steps(6) == pytest.approx(wanted, abs=1e-6), at


def test_a_compiled_step_is_not_given_up():
    torch.manual_seed(0)
    x = torch.randn(8, 4)

    @torch.compile(fullgraph=False)
    def f(x):
        return (x @ x.T).tanh().sum()

    wanted = [f(x).item() for _ in range(4)][-1]
    interrupts = list(everywhere(lambda: f(x), most=25))
    assert interrupts
    assert f(x).item() == wanted
    assert f.has_program((x,), {})


def with_no_grad():
    with torch.no_grad():
        torch.ones(2).sin()


PARAMETER = torch.ones(3, requires_grad=True)


def step():
    optimizer = torch.optim.SGD([PARAMETER], 0.1, momentum=0.9)
    (PARAMETER * 2).sum().backward()
    optimizer.step()


@pytest.mark.parametrize("call", [with_no_grad, step])
def test_gradients_are_recorded_afterwards(call):
    """Only an interrupt at the first instruction of an `__exit__` leaves the mode, which no code of Python's can put back."""
    call()
    state = thread.state
    for at in everywhere(call, 1000, ("call", "return")):
        assert state.level == state.base_level(), at
        assert state.grad or call is with_no_grad, at


@pytest.mark.parametrize("kind", [ValueError, TypeError, RuntimeError, TimeoutError])
def test_of_any_class(kind, monkeypatch):
    """Also where errors of that class are caught to be explained."""
    x, w = torch.randn(4, 4), torch.randn(4)

    class OfKind(kind, Stop):
        pass

    monkeypatch.setattr(sys.modules[__name__], "Stop", OfKind)
    for call in (lambda: F.linear(x, x, w), lambda: F.cross_entropy(x, w.long().abs()), lambda: x.clone().mul_(x)):
        call()
        assert list(everywhere(call, most=40))


def test_an_interrupted_import_is_made_again():
    """A module whose decorators have filled registries is imported once more."""
    module = importlib.import_module("rushlight.compile.lower.llvm.vector_math")
    source = Path(module.__file__).read_text()
    code = compile(source, module.__file__, "exec")
    known = emitters.emitter("exp", "float")
    exec(code, {"__name__": module.__name__, "__package__": module.__package__, "__file__": module.__file__})
    try:
        assert emitters.emitter("exp", "float") is not known
        with pytest.raises(ValueError, match="two emitters"):
            emitters.emits("exp")(lambda b, x: x)
    finally:
        importlib.reload(module)


def raised_by_signal():
    """An error of a handler, that arrived in a frame of Rushlight's."""

    def handler(number, frame):
        raise Stop

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        scope = {"signal": signal}
        exec(
            compile(
                "def call():\n signal.raise_signal(signal.SIGUSR1)\n for _ in range(10): pass",
                "<rushlight of a test>",
                "exec",
            ),
            scope,
        )
        scope["call"]()
    finally:
        signal.signal(signal.SIGUSR1, before)


def raised_by_thread():
    """An error that another thread has put into this one, in a frame of Rushlight's."""
    scope = {}
    exec(compile("def call():\n for _ in range(100_000_000): pass", "<rushlight of a test>", "exec"), scope)
    number = threading.get_ident()
    sender = threading.Timer(
        0.05, lambda: ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(number), ctypes.py_object(Stop))
    )
    sender.start()
    scope["call"]()


@pytest.mark.parametrize("sender", [raised_by_signal, raised_by_thread])
def test_where_it_came_from_is_known(sender):
    with pytest.raises(Stop) as caught:
        sender()
    assert came_from_outside(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.ones(2) + torch.ones(3),
        lambda: torch.ones(2).view(3),
        lambda: torch.tensor([1, 2]).backward(),
        lambda: torch.nn.Linear(2, 2)(torch.ones(3)),
        lambda: {}["nothing"],
    ],
)
def test_errors_of_a_call_are_its_own(call):
    with pytest.raises(Exception) as caught:
        call()
    assert not came_from_outside(caught.value)
