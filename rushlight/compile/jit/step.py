"""A compiled function: plain first, then captured twice, then replayed while its guards hold."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from functools import update_wrapper
from itertools import count
from operator import is_
from typing import Any, NamedTuple
from weakref import ref

from ...core.determinism import mode
from ...core.dispatch.extension_points import namespace, profiled_block, training_observer
from ...core.dispatch.mode import thread
from ...core.interrupts import raise_if_interrupted
from ...core.jit_switch import jit
from ...core.locks import lock
from ...core.tensor.placeholder import NoArray, Placeholder
from ...core.tensor.tensor import Tensor
from .. import log
from ..capture import scalars_read
from ..capture.compare import Comparison
from ..capture.exchanges import check_halves
from ..capture.joint import Backward
from ..capture.listener import Listener
from ..capture.listening import listen
from ..capture.memory import PATIENCE_S, recording
from ..capture.outputs import Outcome
from ..capture.recorder import Recorder
from ..capture.results import flatten_result
from ..capture.sources import CaptureError, GraphBreakError
from ..capture.structure import Slot, classes, containers, flatten, rebuild
from ..guards.guards import CallGuards, Guards, modes, shapes_of
from ..ir.graph import Graph
from ..ir.prune import prune
from ..ir.verify import verify
from ..runtime.interpret import Executable
from ..runtime.program import Program
from ..runtime.undo import Undone
from .cache import Entry, Refused, Route
from .region import region
from .stance import DEFAULT, DynamoStance, active


class _Settings:
    limit = 8  # programs of one function
    suppress_errors = False  # run what cannot be captured eagerly


settings = _Settings()


def build(graph: Graph) -> Executable:
    """What runs a verified graph."""
    from ..runtime.native import executable

    return executable(graph)


class _Around(NamedTuple):
    """What a call's guards are made from: its arguments and the modes."""

    args: tuple
    kwargs: dict[str, Any]
    leaves: list
    template: Any
    modes: tuple


_TENSOR = {Tensor}
_MOST_AGAIN = 16
_MANY = 5  # captures that are not worth a table
# Shapes of arguments that take turns (`_is_repaid`, and modules of ordinary loops):
MOST_SHAPES = 64  # programs of one function or module
REPAID = 64  # calls of one shape that save what a program takes: 150 ms for an encoder of 4 layers, and 1.5 in a call
_BETWEEN = 256  # calls between two captures, which at first take a fourth of the time, and soon less than they save
_WAITING = 2  # shapes that wait for their second capture
_PATIENCE = 1024  # calls after which those are given up
_SIGNATURES = 1024  # that are counted
_KEPT_BYTES = 1 << 29  # of memory that a function's programs may keep if they are to be more than `settings.limit`
_serials = count().__next__
_route: Route[_Captured] = Route("step", is_shared=True, is_held=True)
_clock = _route.state.clock


class _Captured(Entry):
    """One capture: a candidate until a second one agrees, then a program, in `steps`."""

    def __init__(
        self, steps: CompiledStep, recorder: Recorder, outcome: Outcome, backward: Backward | None, guards: Guards
    ):
        super().__init__()
        self.steps = ref(steps)
        self.graph, self.outcome, self.guards = recorder.graph, outcome, guards
        self.reads, self.modules = recorder.reads, tuple(recorder.modules.values())
        self.backward = backward
        self.sources = list(recorder.graph.inputs.values())
        self.program: Program | None = None

    def is_running(self) -> bool:
        return self.program is not None and self.program.is_running()

    def evicted(self) -> None:
        steps = self.steps()
        if steps is not None:
            steps.captured = [c for c in steps.captured if c is not self]


class CompiledStep:
    """What `compile(function)` returns. Call it as the function.

    Call 1 runs plainly (optimizers make their state), 2 and 3 are captured and compared, later ones replay. Other
    shapes, modes or numbers capture again, up to 8 programs. Beyond them a program that was not used since the last capture
    makes room, where 64 calls have come since then; where there is none, calls run eagerly, with one warning, but for shapes of
    arguments that have come 64 times: there are up to 64 programs for these.
    """

    backend: Any = None  # what the program gave `compile(backend=...)`

    def __init__(self, function: Callable, fullgraph: bool = False):
        update_wrapper(self, function)
        self.function = function
        self.fullgraph = fullgraph
        self.capturing = lock()  # held by a thread that captures; others run the function plainly meanwhile
        self.reset()

    @property
    def fallback(self) -> bool:
        """Whether every function that cannot be captured runs eagerly."""
        return not self.fullgraph or settings.suppress_errors

    def reset(self) -> None:
        """Forget everything that was captured."""
        self.calls = 0
        self.templates: dict[int, Any] = {}  # of calls with so many tensors and nothing else
        self.captured: list[_Captured] = []
        self.by_shapes: tuple[list[_Captured], dict] = [], {}  # what was captured, and its table by shapes
        self.seen: dict[Any, int] = {}  # signature -> calls without a program, where these are counted
        self.replays = self.without = 0  # calls with a program, and those without one that were counted
        self.since = 0  # both before the last capture
        self.captured_at = 0  # the route's clock at the last capture
        self.varying: set = set()
        self.given_up = False
        self.first: CallGuards | None = None  # of the first call, until there is a capture
        self.again = 0  # captures that read more than those before them
        self.by_backend: dict[Callable, CompiledStep] = {}  # the function for backends that the stance has set

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        from types import MethodType

        return MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if active.stance is DEFAULT:
            if self.given_up:
                return self._plainly(args, kwargs)
            if thread.state.level <= 1 and not mode.on and training_observer.value is None:  # the usual call
                return self._run(args, kwargs)
        else:
            forced = active.stance.backend
            if callable(forced) and forced is not self.backend:
                return self._for_backend(forced)(*args, **kwargs)
        return self.function(*args, **kwargs) if self._is_plain() else self._run(args, kwargs)

    def _for_backend(self, backend: Callable) -> CompiledStep:
        """The function compiled for a backend that the stance sets, the same one at each call."""
        made = self.by_backend.get(backend)
        if made is None:
            assert namespace.value is not None
            made = namespace.value._dynamo.optimize(backend, nopython=not self.fallback)(self.function)
            self.by_backend[backend] = made
        return made

    def _plainly(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run the function as Python, where `is_compiling` is true all the same."""
        return region.run(True, self.function, args, kwargs)

    def _is_plain(self) -> bool:
        """Whether the function runs as it is, now or always."""
        observer = training_observer.value
        if observer is not None and observer.calls_plainly():
            return True
        stance = active.stance
        if stance is not DEFAULT and stance.runs_eagerly():
            return True
        return self.given_up or mode.on or (thread.state.level > 1 and thread.state.is_watched())

    def _run(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        leaves: list = []
        if not kwargs and set(map(type, args)) == _TENSOR:  # the usual call, in a quarter of the time
            leaves += args
            template = self.templates.get(len(args))
            if template is None:
                template = self.templates[len(args)] = flatten((args, kwargs), [])
        else:
            template = flatten((args, kwargs), leaves)
        now = modes()
        captures = self.captured
        for captured in captures if len(captures) < _MANY else self._alike(leaves):
            if captured.guards.mismatch(leaves, template, now) is None:
                if captured.program is not None:
                    captured.used = _clock()
                    self.replays += 1
                    if (block := profiled_block.value) is not None:
                        with block(
                            f"Torch-Compiled Region: {getattr(self, '__name__', 'function')}/{self.captured.index(captured)}"
                        ):
                            return self._replay(captured.program, leaves, args, kwargs)
                    return self._replay(captured.program, leaves, args, kwargs)
                break
        if any(isinstance(leaf, Tensor) and isinstance(leaf._array, Placeholder) for leaf in leaves):
            return self._without_arrays(args, kwargs)
        if not self.capturing.acquire(blocking=False):
            return self._plainly(args, kwargs)  # another thread captures it
        try:
            return self._first_calls(args, kwargs, leaves, template, now)
        finally:
            self.capturing.release()

    def _alike(self, leaves: list) -> list[_Captured]:
        """What calls with these arguments may be like: of many captures those for their shapes, since comparing takes 2 us each."""
        if len(self.captured) < _MANY:
            return self.captured
        known, table = self.by_shapes
        if known != self.captured:  # which changes with each capture
            table = {}
            for captured in self.captured:
                table.setdefault(captured.guards.shapes(), []).append(captured)
            self.by_shapes = list(self.captured), table
        try:
            return table.get(shapes_of(leaves), [])
        except NoArray:
            return self.captured

    def _written(self, *args: Any, **kwargs: Any) -> Any:
        """The call that is captured."""
        return self._plainly(args, kwargs)

    def _without_arrays(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run a call with sparse, nested or other tensors for which there are no programs."""
        error = CaptureError("sparse and nested tensors are not compiled; convert them, or compile without fullgraph")
        if self._raises(error):
            raise error
        return self._plainly(args, kwargs)

    def _replay(self, program: Program, leaves: list, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run a program; after an error the function itself, which raises its own."""
        try:
            return program.run(leaves)
        except Undone as undone:
            error = undone.error
        if isinstance(error, CaptureError) and self._raises(error):
            raise error
        result = self._plainly(args, kwargs)
        self._refuse(error)  # only the program fails: it is not used again
        return result

    def _first_calls(self, args: tuple, kwargs: dict[str, Any], leaves: list, template: Any, now: tuple) -> Any:
        """A call for which there was no program."""
        if active.stance is not DEFAULT and not self._may_capture(active.stance, leaves, template, now):
            if None in self._mismatches(leaves, template, now):  # torch has compiled it at the first such call
                return self._plainly(args, kwargs)
            return self.function(*args, **kwargs)
        for captured in self._alike(leaves):
            if captured.guards.mismatch(leaves, template, now) is None:
                if captured.program is not None:  # another thread has just made it
                    return self._replay(captured.program, leaves, args, kwargs)
                return self._capture(args, kwargs, leaves, template, now, captured)
        self.calls += 1
        if self.calls == 1:
            self.first = CallGuards(leaves, template, now)
            return self._plainly(args, kwargs)
        if len(self.captured) >= settings.limit:
            if not any(c.guards.differs_in_shapes(leaves, template, now) for c in self.captured):
                if not self._drop_unused():
                    return self._give_up(leaves, template, now, args, kwargs)
            elif not self._is_repaid(leaves):
                return self._plainly(args, kwargs)
        if self.captured:
            reasons = [reason for reason in self._mismatches(leaves, template, now) if reason is not None]
            log.show("recompiles", lambda: f"{_name(self.function)} is compiled again: {'; '.join(reasons)}")
        for captured in self.captured:
            self.varying |= captured.guards.changed_options()
        return self._capture(args, kwargs, leaves, template, now, None)

    def _is_repaid(self, leaves: list) -> bool:
        """Count a call with shapes that no program is for; whether so many have come that one may be made, besides the first 8."""
        if not self.seen:
            warnings.warn(
                f"{_name(self.function)} was captured {settings.limit} times (the limit): calls with arguments of other shapes run "
                f"eagerly until {REPAID} of the same have come",
                stacklevel=5,
            )
        shapes = shapes_of(leaves)
        seen = self._times(shapes)
        kept = [c.size_bytes for c in self.captured]
        has_room = len(kept) < MOST_SHAPES and sum(kept) + max(kept) <= _KEPT_BYTES
        return has_room and seen > REPAID and self._may_wait(shapes)

    def _drop_unused(self) -> bool:
        """Drop programs that no call has used since the last capture, if that one is repaid; whether there were any.

        They are for objects that the program has replaced, as `load_state_dict` does with an optimizer's state and groups.
        """
        if self.replays + self.without - self.since < REPAID:
            return False
        unused = [c for c in self.captured if c.used < self.captured_at]
        for captured in unused:
            _route.drop(captured, "makes room: no call has used it since the last capture")
        return bool(unused)

    def _times(self, signature: Any) -> int:
        """How many calls of a signature there have been without a program, with this one."""
        self.without += 1
        if len(self.seen) >= _SIGNATURES:
            self.seen.clear()
        seen = self.seen[signature] = self.seen.get(signature, 0) + 1
        return seen

    def _may_wait(self, shapes: tuple) -> bool:
        """Whether a call may be captured and wait for a second capture: few shapes do, as calls of many come in turns, and beyond
        the first 8 seldom. Those that no call has come for are given up.
        """
        waiting, passed = self._waiting(), self.replays + self.without - self.since
        if len(self.captured) >= settings.limit and passed < _BETWEEN:
            return False
        if len(waiting) >= _WAITING and passed > _PATIENCE:
            self.captured = [c for c in self.captured if c.program is not None]
            return True
        return len(waiting) < _WAITING or shapes in waiting

    def _waiting(self) -> set[tuple]:
        """The shapes that wait for a second capture."""
        return {c.guards.shapes() for c in self.captured if c.program is None}

    def has_program(self, args: tuple, kwargs: dict[str, Any]) -> bool:
        """Whether a call with these arguments would be a replay."""
        leaves: list = []
        template, now = flatten((args, kwargs), leaves), modes()
        return any(c.program is not None and c.guards.mismatch(leaves, template, now) is None for c in self.captured)

    def _may_capture(self, stance: DynamoStance, leaves: list, template: Any, now: tuple) -> bool:
        """Whether a call may go on to a program. Raises torch's RuntimeError where `stance` asks for that."""
        if stance.stance == "eager_on_recompile":
            return False
        if stance.stance != "fail_on_recompile":
            return True
        reasons = self._mismatches(leaves, template, now)
        if None in reasons:
            return True  # like a call that is being compiled
        raise RuntimeError(_recompiles(self.function, [reason for reason in reasons if reason is not None]))

    def _mismatches(self, leaves: list, template: Any, now: tuple) -> list[str | None]:
        """What keeps a call from each that was captured, or from the first; None for one that it is like."""
        known = [c.guards for c in self.captured] or ([] if self.first is None else [self.first])
        return [guards.mismatch(leaves, template, now) for guards in known]

    def _give_up(self, leaves: list, template: Any, now: tuple, args: tuple, kwargs: dict) -> Any:
        self.given_up = True
        reason = self.captured[-1].guards.mismatch(leaves, template, now)
        warnings.warn(
            f"{_name(self.function)} was captured {settings.limit} times (the limit) and runs eagerly from now on; last failed guard: {reason}",
            stacklevel=5,
        )
        return self._plainly(args, kwargs)

    # ------------------------------------------------------------------------------------------ capturing

    def _capture(self, args, kwargs, leaves, template, now, candidate: _Captured | None) -> Any:
        if not recording.acquire(timeout=PATIENCE_S):
            return self._plainly(args, kwargs)
        self.since, self.captured_at = self.replays + self.without, _clock()
        try:
            return self._record(args, kwargs, leaves, template, now, candidate)
        finally:
            recording.release()

    def _record(self, args, kwargs, leaves, template, now, candidate: _Captured | None) -> Any:
        reads, modules = (None, ()) if candidate is None else (candidate.reads, candidate.modules)
        recorder = Recorder(leaves, self.varying, self.function, reads, modules, tuple(classes(template)))
        listener = Listener(recorder, self._raises)
        owner = getattr(self.function, "__self__", None)
        if hasattr(owner, "_parameters"):
            recorder.entered(owner)
        box = [listen(listener, self._written, *recorder.watch_arrays(template, args, kwargs))]
        try:
            if listener.error is not None:
                raise listener.error
            if modes() != now:
                raise CaptureError(
                    "the compiled function changes the gradient mode, the default dtype or autocast for its caller; do it "
                    "outside"
                )
            self._conclude(recorder, box, _Around(args, kwargs, leaves, template, now), candidate)
        except Exception as error:
            raise_if_interrupted(error)
            self._refuse(error)
        return _unmarked(box[0]) if recorder.handed_out else box[0]

    def _raises(self, error: Exception) -> bool:
        """Whether `fullgraph` makes it an error; in a program for torch, what torch compiles is none."""
        return not self.fallback and (not jit.for_torch or isinstance(error, GraphBreakError))

    def _refuse(self, error: Exception) -> None:
        """Run eagerly from now on, with one warning; or raise the error, as `fullgraph` asks for."""
        captured = isinstance(error, CaptureError)
        if captured and not re.match(r".+:\d+: ", str(error)):
            error = type(error)(f"{_place(self.function)}: {error}")
        if self._raises(error) or (not captured and os.environ.get("RUSHLIGHT_CHECK") == "1"):
            raise error
        self.given_up, self.captured = True, []
        text = str(error) if captured else f"{type(error).__name__}: {error}"
        warnings.warn(f"{_name(self.function)} runs eagerly: {text}", stacklevel=7)

    def _conclude(self, recorder: Recorder, box: list, around: _Around, candidate: _Captured | None) -> None:
        """Make a candidate of a finished call, or a program if it agrees with the candidate before it. box: of the result."""
        returned: list = []
        template = flatten_result(box, returned)  # first: what lists of leaves hold, it takes for kept
        leaves = _leaves((box, recorder.schedules))
        recorder.check_floats(leaves)
        recorder.check_looked()
        recorder.check_state()
        outcome = Outcome(recorder, template, returned)
        backward = Backward(recorder, outcome) if outcome.live else None
        complete = outcome.check_kept(list(filter(scalars_read.is_read, leaves)))
        _check_containers(recorder, around, box[0])
        if complete:
            self._accept(
                _Captured(self, recorder, outcome, backward, Guards(recorder, outcome, *around[2:])), candidate
            )
        outcome.release()

    def _accept(self, new: _Captured, candidate: _Captured | None) -> None:
        verify(prune(new.graph), "capture")
        check_halves(new.graph.nodes)
        if candidate is None:
            self.captured.append(new)
            self.first = None
            return
        self.captured.remove(candidate)
        if not candidate.reads.covers(new.reads):  # what it read is not known from before the call: once more
            new.reads.include(candidate.reads)
            self.captured.append(new)
            self._count_again()
            return
        comparison = Comparison()
        comparison.graphs(candidate.graph, new.graph)
        comparison.outcomes(candidate.outcome, new.outcome)
        if new.backward is not None:
            if candidate.backward is None:
                raise CaptureError(
                    "the results of one call require grad and those of the next do not; detach() the results, or use a compiled function for each"
                )
            comparison.graphs(candidate.backward.graph, new.backward.graph)
        log.show("graph", lambda: f"{_name(self.function)}: {new.graph!r}")
        self._prepare(new)
        backward = new.backward
        if backward is not None:
            log.show("graph", lambda: f"{_name(self.function)}, backward: {backward.graph!r}")
            backward.build(lambda graph: build(verify(graph, "capture")))
        new.program = Program(new.sources, new.outcome, build(new.graph), new.guards, new.backward)
        self._keep(new)

    def _prepare(self, new: _Captured) -> None:
        """Called for what is about to become a program. Raises CaptureError where it must not."""

    def _keep(self, new: _Captured) -> None:
        """Make a program the first that calls look at."""
        assert new.program is not None
        executables = [new.program.executable, *([] if new.backward is None else [new.backward.executable])]
        new.size_bytes = sum(e.size_bytes for e in executables)
        try:
            _route.add(_serials(), new, lambda: _name(self.function))
        except Refused as why:
            raise CaptureError(f"{why}; raise them by rushlight.compile.jit.cache.set_limits") from None
        self.captured.insert(0, new)

    def _count_again(self) -> None:
        self.again += 1
        if self.again > _MOST_AGAIN:
            raise CaptureError(
                "each call takes a new path through the function's Python code; move the branches outside the compiled function"
            )


def _check_containers(recorder: Recorder, around: _Around, result: Any) -> None:
    """Raise where the call has changed containers, or returns one that it was given: a replay makes new ones."""
    assert recorder.state is not None  # of the finished capture
    text = recorder.state.changed()
    arguments = around.args, around.kwargs
    now = _leaves(arguments)
    if len(now) != len(around.leaves) or not all(map(is_, now, around.leaves)):
        text = "a list or dict argument is modified, which the compiled program would not repeat; return a new one"
    given = {id(c) for c in containers(arguments)}
    if any(id(c) in given for c in containers(result)):
        text = "a list or dict argument is returned; the compiled program would return another object. Return a copy"
    if text is not None:
        raise CaptureError(text)


def _leaves(result: Any) -> list:
    leaves: list = []
    flatten(result, leaves)
    return leaves


def _unmarked(result: Any) -> Any:
    """The result with ordinary numbers in place of those that remember where they came from."""
    leaves: list = []
    template = flatten(result, leaves)
    if not any(map(scalars_read.is_read, leaves)):
        return result
    if type(template) is Slot:
        return scalars_read.plain(result)
    return rebuild(template, lambda i: scalars_read.plain(leaves[i]))


def _name(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if hasattr(owner, "_parameters"):
        return type(owner).__qualname__
    return getattr(function, "__qualname__", None) or repr(function)


def _recompiles(function: Any, reasons: list[str]) -> str:
    """The message of torch's error for a call that has no program, where none may be made."""
    code = _code(function)
    place = "" if code is None else f"filename: '{code.co_filename}', "
    line = "" if code is None else f", line number: {code.co_firstlineno}"
    name = _name(function) if code is None else code.co_name
    message = "Detected recompile when torch.compile stance is 'fail_on_recompile'. "
    message += f"{place}function name: '{name}'{line}"
    if reasons:
        message += "\n    triggered by the following guard failure(s):" + "".join(f"\n    - {r}" for r in reasons)
    return message


def _place(function: Any) -> str:
    """Where a function, or a module's forward, is written."""
    code = _code(function)
    return _name(function) if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def _code(function: Any) -> Any:
    owner: Any = getattr(function, "__self__", None)
    return getattr(type(owner).forward if hasattr(owner, "_parameters") else function, "__code__", None)
