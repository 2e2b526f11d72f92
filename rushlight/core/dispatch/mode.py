"""The modes of the calling thread: whether calls are recorded for backward, and who else listens.

Entry points read one object per call, `thread.state`. Its `level` sums the modes up in one number so that the common
case is one comparison:

    -1  inference mode        0  no gradients        1  gradients are recorded
     2  a listener, a witness, or an autocast region, wants every call

A state also owns `run`, which calls a NumPy function with floating-point warnings off: torch is silent about 1/0, and
a private `contextvars.Context` costs 25 ns where `np.errstate` costs 800 (measured), without touching the settings that
the user's own NumPy code sees.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tensor.placeholder import Placeholder
from ..warn import warn
from .extension_points import training_observer

if TYPE_CHECKING:
    from .op import Op

in_kernel: contextvars.ContextVar[bool] = contextvars.ContextVar("in_kernel", default=False)  # True below `State.run`


def _silent_runner() -> Callable[..., Any]:
    context = contextvars.copy_context()
    context.run(np.seterr, all="ignore")
    context.run(in_kernel.set, True)
    return context.run


class State:
    """One thread's modes.

    Python handles signals where calls begin and end, and an interrupt there must leave the modes as they are or as they were: they are
    assigned in one statement, and so they are put back (`recording`).
    """

    __slots__ = (
        "level",
        "grad",
        "inference",
        "listener",
        "anomaly",
        "check_nan",
        "run",
        "writer",
        "hooks_saved",
        "autocast",
        "batching",
        "witness",
        "dispatching",
        "target",
    )

    def __init__(self):
        self.grad = True
        self.inference = False
        self.listener: Any = None  # the recorder of a capture, or a doctor's probe: sees every call
        self.anomaly = False
        self.check_nan = True
        self.writer: Any = None  # what is writing in place on the user's behalf, such as an optimizer's step
        self.hooks_saved: Any = None  # saved_tensors_hooks: a stack of (pack, unpack)
        self.autocast: Any = None  # amp's region, which brings inputs to other types
        self.batching: Any = None  # within vmap: what makes tensors of random numbers that only their shape describes
        # as the listener, but it only looks: programs are made and run as without it
        self.witness: Any = None
        self.dispatching: Any = None  # `aten.torch_dispatch.Modes`: whose `__torch_dispatch__` sees every operator
        self.target: np.ndarray | None = None  # what the running call writes in place: see `take_target`
        self.run = _silent_runner()
        self.level = 1

    def set(self, grad: bool, inference: bool) -> None:
        watched = self.autocast is not None or self.witness is not None or self.is_watched()
        level = 2 if watched else -1 if inference else 1 if grad else 0
        self.grad, self.inference, self.level = grad, inference, level

    def recording(self) -> tuple[bool, bool, int]:
        """What `set` assigns, as it is now, to be assigned again: `state.grad, state.inference, state.level = before`.

        Then `refresh()`, in case something began to watch meanwhile.
        """
        return self.grad, self.inference, self.level

    def is_watched(self) -> bool:
        """Whether every call is observed: level 2 for a reason other than autocast."""
        return self.listener is not None or self.anomaly or bool(self.hooks_saved) or self.dispatching is not None

    def refresh(self) -> None:
        """Work out `level` after any other field changed."""
        watched = self.autocast is not None or self.witness is not None or self.is_watched()
        self.level = 2 if watched else self.base_level()

    def base_level(self) -> int:
        """The level without listeners and regions."""
        return -1 if self.inference else 1 if self.grad else 0


class _Thread(threading.local):
    def __init__(self):
        self.state = State()


thread = _Thread()


def take_target(input: np.ndarray) -> bool:
    """Whether the running call writes its result into `input`, its first: the kernel may then do so itself, and return it.

    The kernel has made all its checks before: an error leaves the input as it was. Once in a call.
    """
    state = thread.state
    if state.target is not input:
        return False
    state.target = None
    return True


def copy_or_target(input: np.ndarray, order: Any = "K") -> np.ndarray:
    """What a kernel changes and returns: a copy of its first input, or that itself (`take_target`)."""
    return input if take_target(input) else input.copy(order)


@contextmanager
def hearing(hear: Callable[[Op, tuple, tuple, Any], None]) -> Iterator[None]:
    """Within the block `hear(record, tensors, metadata, result)` is called after each operator's call of this thread.

    The listener before hears of the calls first.
    """
    state = thread.state
    outer = state.listener

    def heard(record: Op, tensors: tuple, metadata: tuple, result: Any) -> None:
        if outer is not None:
            outer(record, tensors, metadata, result)
        hear(record, tensors, metadata, result)

    state.listener = heard
    state.refresh()
    try:
        yield
    finally:
        state.listener = outer
        state.refresh()


def emit_event(event: str, *values: Any) -> Any:
    """Call the listener's method `event`, if it has one: for what happens besides operators' calls (level 2 only).

    A recorder hears of new tensors (`created`), draws (`drew`), writes that are about to be made (`writing`), writes below the operators (`wrote`, `copied`,
    `rebound`), gradients that are given or taken away (`graded`), aliases without history (`cut`), values that leave for Python (`read`) or decide what a layer does (`branched`), tests of values (`demanded`), optimizers (`updating`, `updated`),
    schedulers (`scheduled`), module calls (`entered`), loops over tensors (`iterated`), calls of custom functions (`applying`,
    whose listener may give the result), changes of a random stream (`reseeded`), and of each call the
    kernel's result (`returned`).
    """
    state = thread.state
    if state.witness is not None and (seen := getattr(state.witness, event, None)) is not None:
        seen(*values)
    method = getattr(state.listener, event, None)
    return None if method is None else method(*values)


def assert_all(holds: Any) -> bool:
    """Whether all of a tensor of booleans is true, for a caller that raises where it is not.

    Unlike other looks at values this one can be recorded: each later call looks, too. On another device than the CPU
    nothing looks, as in torch: it would have to wait for the device. Nor at a tensor that wraps others: operators below do.
    """
    emit_event("demanded", holds)
    return not holds.is_cpu or isinstance(holds._array, Placeholder) or bool(holds._array.all())


def may_branch_on_data(t: Any) -> bool:
    """Whether an operator may choose its way by the values of `t`.

    Not while a recorder listens, for which that way would be every later call's, not on another device, whose values
    would have to be copied first, and not of a tensor that wraps others.
    """
    state = thread.state
    if state.level > 1 and state.listener is not None:
        return False
    return t.is_cpu and not getattr(t._array, "hides_values", False)


def is_grad_enabled() -> bool:
    """Whether calls in this thread are recorded for backward."""
    return thread.state.grad


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode()`."""
    return thread.state.inference


class Context:
    """What is entered by `with`, or around every call of a decorated function or generator."""

    def clone(self) -> Any:
        """A fresh one, for one call."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *error: object) -> None:
        raise NotImplementedError

    def __call__(self, f: Any) -> Any:
        if isinstance(f, type):
            return _around(self, _maker_of(f))
        return _around_generator(self, f) if _is_generator_function(f) else _around(self, f)


class NothingLeftToSave(Exception):
    """Raised where a call's tensors are saved, by a hook (`State.hooks_saved`) that only ran the call for what it saves."""


class _Context(Context):
    """A mode of gradients."""

    def __init__(self):
        self._outer: list[tuple[bool, bool, int]] = []

    def _modes(self, state: State) -> tuple[bool, bool]:
        raise NotImplementedError

    def clone(self):
        return type(self)()

    def __enter__(self):
        state = thread.state
        before = state.recording()
        self._outer.append(before)
        self._begin(state, before)

    def _begin(self, state: State, before: tuple[bool, bool, int]) -> None:
        """Set the modes; as they were `before` where that is interrupted: no `__exit__` is called then."""
        try:
            state.set(*self._modes(state))
        except BaseException:
            state.grad, state.inference, state.level = before
            raise

    def __exit__(self, *exc: object) -> None:
        state = thread.state
        state.grad, state.inference, state.level = self._outer[-1]
        del self._outer[-1]
        state.refresh()


def _maker_of(cls: type) -> Any:
    """A function that makes instances of a decorated class, as torch still has it."""
    warn(
        "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
        "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method and "
        "nothing else.",
        FutureWarning,
    )

    def make(*args: Any, **kwargs: Any) -> Any:
        return cls(*args, **kwargs)

    make.__name__, make.__doc__, make.__module__ = cls.__name__, cls.__doc__, cls.__module__
    return make


_CO_GENERATOR = 0x20  # inspect's name of the flag: importing inspect costs too much


def _is_generator_function(f: Any) -> bool:
    code = getattr(f, "__code__", None)
    return code is not None and bool(code.co_flags & _CO_GENERATOR)


def _around(mode: Context, f: Callable) -> Callable:
    @wraps(f)
    def call(*args, **kwargs):
        with mode.clone():
            return f(*args, **kwargs)

    return call


def _around_generator(mode: Context, f: Callable) -> Callable:
    @wraps(f)
    def call(*args, **kwargs):
        inner: GeneratorType = f(*args, **kwargs)
        try:
            with mode.clone():
                value = inner.send(None)
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    with mode.clone():
                        inner.close()
                    raise
                except BaseException as error:
                    with mode.clone():
                        value = inner.throw(error)
                else:
                    with mode.clone():
                        value = inner.send(sent)
        except StopIteration as stop:
            return stop.value

    return call


class _Plain(_Context):
    """A mode without arguments; `@no_grad` without parentheses works as `@no_grad()`."""

    def __new__(cls, f: Any = None):
        return object.__new__(cls) if f is None else cls()(f)

    def __init__(self, f: Any = None):
        super().__init__()


class no_grad(_Plain):
    """Calls inside are not recorded: their results do not require grad."""

    def _modes(self, state):
        return False, state.inference


class enable_grad(_Plain):
    """Calls inside are recorded, also within `no_grad`."""

    def _modes(self, state):
        return True, state.inference


class set_grad_enabled(_Context):
    """Record calls or not, by `mode`; takes effect at once when it is called as a function."""

    def __init__(self, mode: bool):
        super().__init__()
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        observer = training_observer.value
        if observer is not None:
            observer.grad_mode_set(mode)
        state = thread.state
        self.mode, self.prev = mode, state.grad
        self._before = state.recording()
        state.set(self.mode, state.inference)

    def _modes(self, state):
        return self.mode, state.inference

    def clone(self):
        return _Set(self.mode)

    def __enter__(self):
        self._outer.append(self._before)
        self._begin(thread.state, self._before)

    def __call__(self, f):
        thread.state.set(*self._before[:2])
        return super().__call__(f)


class _Set(_Context):
    def __init__(self, mode: bool):
        super().__init__()
        self.mode = mode

    def _modes(self, state):
        return self.mode, state.inference


class inference_mode(_Context):
    """`no_grad`, and the tensors made inside can never enter a graph."""

    def __new__(cls, mode: Any = True):
        return object.__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: Any = True):
        super().__init__()
        self.mode = mode is True

    def clone(self):
        return inference_mode(self.mode)

    def _modes(self, state):
        return (False, True) if self.mode else (True if state.inference else state.grad, False)
