"""Calls of modules in ordinary loops, as programs.

Once a backward of a loop is a program and has paid for itself (`backward.py`), the outermost modules that the loop calls are
noted (`look_for_modules`). A call of such a module is captured as `compile(module)` captures it, twice, under the same guards, and
from then on one program; its backward is part of the program of the loop's tape. What the user can see stays as it is:

- What cannot be captured runs by its operators, without a word.
- `grad_fn`, `next_functions` and hooks on nodes, `create_graph=True`: the call's eager history is made when something asks for it
  (`Again`), by calling the module again with the same random numbers, on tensors that have to be as they were.
- A module whose results depend on what it changes itself, which a second call would change again, is left alone.

The table of programs holds no module: it holds what the module's attributes are, and an entry goes with its module.
"""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...core.dispatch.extension_points import Slot, module_caller, module_programs, profiled_block
from ...core.dispatch.mode import thread
from ...core.locks import lock
from ...core.tensor.storage import storage_of, tick
from ...core.tensor.tensor import Tensor
from ..capture.outputs import View
from ..capture.results import leaves_of
from ..capture.sources import CaptureError, Fresh, Into
from ..capture.structure import rebuild
from ..guards.checks import PLAIN, Kind
from ..guards.guards import modes, shapes_of
from ..guards.python_state import OURS
from ..install import may_have_programs
from ..ir.exchange import exchanges_of
from ..ir.graph import Graph
from ..runtime.undo import Final, generators_of
from .step import MOST_SHAPES, REPAID, CompiledStep, _Captured, _route

__all__ = ["ModuleCalls", "look_for_modules", "note"]

_OWN = (*OURS, "rushlight")  # where our own classes are
SHORTEST = 6  # operators of a call that may be worth a program
FIRST = 2  # calls of one signature before it is captured; twice as many with each program that there is
_ATTEMPTS = 4  # captures of one module besides those of programs, and of what waits for its second capture
_FUNCTION_MODES = 5  # where these begin in `modes()`
_CALLS = 32  # of outermost modules that are looked at once a loop's backward is a program
_ASKED = 3  # replays that a call whose eager history is made costs: the module runs once more
_MOST_OWED = 12  # beyond it a module's programs cost more than they save
_MOST_SEEN = 1_000_000  # objects among which a program is searched for its own module: 1 s

made: Slot[Callable[[ModuleCalls], None]] = Slot()  # for tests: called for each new program


class ModuleCalls(CompiledStep):
    """The programs of one module's calls."""

    def __init__(self, module: Any):
        self.module = weakref.ref(module)
        self.kind, self.thread = type(module), threading.get_ident()
        self.__name__ = self.kind.__qualname__
        self.fullgraph = False
        self.capturing = lock()
        self.plain = threading.local()
        self.reset()

    def reset(self) -> None:
        super().reset()
        self.attempts = self.owed = 0

    @property
    def function(self) -> Callable:  # type: ignore[override]
        """The module's call as it is written."""
        module = self.module()
        assert module is not None  # it is being called
        return module._call_impl

    @property
    def fallback(self) -> bool:
        return True

    def __call__(self, module: Any, args: tuple, kwargs: dict[str, Any]) -> Any:  # type: ignore[override]
        if self._is_plain() or type(module) is not self.kind:
            return module._call_impl(*args, **kwargs)
        if self.owed > _MOST_OWED:
            self.forgo("its eager history is made too often, as by create_graph=True: that runs the module again")
            return module._call_impl(*args, **kwargs)
        return self._run(args, kwargs)

    def forgo(self, why: str) -> None:
        """Do without programs from now on."""
        self.captured = []
        self._close(why)

    def _is_plain(self) -> bool:
        """Also in other threads, whose digits depend on themselves alone, while a profile is to show the operators, a debugger
        follows the lines, or the eager history is made.
        """
        return (
            super()._is_plain()
            or threading.get_ident() != self.thread
            or profiled_block.value is not None
            or sys.gettrace() is not None
            or getattr(self.plain, "on", False)
        )

    def _plainly(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """No program of it was asked for: `is_compiling` stays as it is."""
        return self.function(*args, **kwargs)

    def _first_calls(self, args: tuple, kwargs: dict[str, Any], leaves: list, template: Any, now: tuple) -> Any:
        candidate = next((c for c in self._alike(leaves) if c.guards.mismatch(leaves, template, now) is None), None)
        if candidate is not None and candidate.program is not None:  # another thread has just made it
            return self._replay(candidate.program, leaves, args, kwargs)
        if candidate is None and not self._is_due(leaves, now):
            return self.function(*args, **kwargs)
        if candidate is None and not self._may_wait(shapes_of(leaves)):
            return self.function(*args, **kwargs)
        self.attempts += 1
        if self.attempts > _ATTEMPTS + 2 * self._programs() + len(self._waiting()):
            self._close("no two of its calls are alike")
            return self.function(*args, **kwargs)
        return self._capture(args, kwargs, leaves, template, now, candidate)

    def _is_due(self, leaves: list, now: tuple) -> bool:
        """Count a call without a program; whether it is worth capturing."""
        programs = self._programs()
        if (
            programs >= MOST_SHAPES
            or now[_FUNCTION_MODES:]
            or sys.getprofile() is not None
            or not all(map(_is_usual, leaves))
        ):
            return False
        arrays = tuple((t._array.shape, t._array.dtype) for t in leaves if isinstance(t, Tensor))
        module = self.module()
        key = arrays, now[:2], module is not None and module.__dict__.get("training")
        return self._times(key) > min(FIRST << programs, REPAID)

    def _programs(self) -> int:
        return sum(c.program is not None for c in self.captured)

    # ------------------------------------------------------------------------------------------ capturing

    def _refuse(self, error: Exception) -> None:
        """Call the module by its operators from now on; programs that there are for other calls stay."""
        self.captured = [c for c in self.captured if c.program is not None]
        if not self.captured:
            self._close(str(error))
        else:
            _route.tell_refused(lambda: f"another call of {self.__name__}", error)

    def _close(self, why: str) -> None:
        """Capture no more; without a program, forget the module."""
        _route.tell_refused(lambda: f"a call of {self.__name__}", CaptureError(why))
        self.captured = [c for c in self.captured if c.program is not None]
        self.attempts = 1 << 30
        module = self.module()
        if not self.captured:
            self.given_up = True
            if module is not None:
                _forget(id(module))
                _refused.add(module)

    def _conclude(self, recorder: Any, box: list, around: Any, candidate: Any) -> None:
        if len(recorder.graph.nodes) < SHORTEST:
            raise CaptureError("it is too short to gain by a program")
        super()._conclude(recorder, box, around, candidate)

    def _accept(self, new: _Captured, candidate: _Captured | None) -> None:
        """Also what waits for a second capture must not keep the module: it would never go."""
        root, state = self.module(), new.guards.state
        new.modules = tuple(m for m in new.modules if m is not root)
        own = [c for c in state.checks if type(c) is Kind and c.of is root]  # each call looks at its class itself
        state.checks = [c for c in state.checks if c not in own]
        if _holds(new, root):
            raise CaptureError("something that its Python reads refers to the module itself")
        super()._accept(new, candidate)

    def _prepare(self, new: _Captured) -> None:
        outcome, backward = new.outcome, new.backward
        others = outcome.moved or outcome.assigned or outcome.rebased or outcome.schedules or outcome.training
        if outcome.grads or others:
            raise CaptureError("it changes gradients, histories, attributes or modes")
        if exchanges_of(new.graph.nodes):
            raise CaptureError("it exchanges data with other processes, which a second call would do again")
        new.graph.as_eager = True
        if backward is not None:
            _check_repeatable(new.graph)
            if backward.refused is not None:
                raise CaptureError(f"its backward fails: {backward.refused}")
            backward.graph.as_eager = backward.is_hidden = True

    def _keep(self, new: _Captured) -> None:
        assert new.program is not None
        if isinstance(new.program.executable.undo, Final):
            raise CaptureError("what it writes before an error could not be taken back")
        super()._keep(new)
        if made.value is not None:
            made.value(self)
        if new.backward is not None:
            own, captured = weakref.ref(self), weakref.ref(new)  # which hold the program
            generators = generators_of(new.graph.nodes)

            def remember(leaves: list, inputs: list) -> Again:
                calls, ran = own(), captured()
                assert calls is not None and ran is not None  # a call of theirs is under way
                return Again(calls, ran, leaves, inputs, generators)

            new.program.remember = remember


def _whole(spec: Any, t: Any) -> tuple:
    """What a view that is made again is a view of; any other result itself."""
    while type(spec) is View:
        spec, t = spec.base, t._view[0]
    return spec, t


def _is_usual(leaf: Any) -> bool:
    """Whether an argument is a tensor on the CPU, or a plain value."""
    if not isinstance(leaf, Tensor):
        return isinstance(leaf, PLAIN)
    return type(leaf._array) is np.ndarray and (type(leaf) is Tensor or type(leaf).__module__.startswith(_OWN))


def _check_repeatable(graph: Graph) -> None:
    """Raise where results depend on tensors that the call writes: a second call, for its history, would give others."""
    written = {target.value for _, target in graph.outputs if isinstance(target, Into)}
    reach = {ref.value for ref, target in graph.outputs if isinstance(target, Fresh)}
    for node in reversed(graph.nodes):
        if any(v in reach for v in node.writes()):
            reach.update(r.value for r in node.reads())
    if written & reach:
        raise CaptureError("its results depend on tensors that it changes")


def _holds(captured: _Captured, module: Any) -> bool:
    """Whether what belongs to a program refers to the module, which could then never be freed.

    Raises CaptureError where there is too much to look through: what the module refers to may be a data set of lists.
    """
    scope = module.__dict__
    seen: set[int] = {id(captured), id(scope), id(captured.outcome._recorder)}  # the last is about to be let go
    found: list[Any] = [captured.graph, captured.outcome, captured.guards, captured.reads, captured.backward]
    found += _parts([scope])
    while found:
        layer = {id(o): o for o in found if type(o) not in _PLAIN_TYPES}
        if id(module) in layer:
            return True
        fresh = [o for key, o in layer.items() if key not in seen and not isinstance(o, (type, np.dtype))]
        seen.update(map(id, fresh))
        if len(seen) > _MOST_SEEN:
            raise CaptureError("its Python reads what refers to too many objects to look for the module among them")
        found = _parts(fresh)
    return False


# Subclasses are looked through: they may have attributes.
_PLAIN_TYPES = {
    type,
    type(None),
    bool,
    ModuleType,
    CodeType,
    BuiltinFunctionType,
    np.ndarray,
    str,
    bytes,
    int,
    float,
    weakref.ref,
}


def _parts(objects: list) -> list:
    """What objects hold, but for the globals of a Python module, which hold what is there without us."""
    functions = [o for o in objects if isinstance(o, FunctionType)]
    others = [o for o in objects if not isinstance(o, FunctionType) and not _is_globals(o)]
    found = gc.get_referents(*others)
    for f in functions:
        found += (*(f.__closure__ or ()), *(f.__defaults__ or ()), *f.__dict__.values())
    return found


def _is_globals(o: Any) -> bool:
    return isinstance(o, dict) and "__name__" in o and "__builtins__" in o


# ------------------------------------------------------------------------------------------------ the eager history


class Again:
    """What it takes to make the eager history of one call: its arguments, and the random streams before it."""

    __slots__ = ("calls", "captured", "inputs", "leaves", "seq", "streams")

    def __init__(self, calls: ModuleCalls, captured: _Captured, leaves: list, inputs: list, generators: list):
        """calls, captured: the module's programs and the one that ran, which may be dropped before this is asked."""
        self.calls, self.captured = calls, captured
        self.leaves, self.inputs = leaves, inputs
        self.streams = [(g, g.snapshot()) for g in generators]
        self.seq = tick()
        calls.owed = max(calls.owed - 1, 0)

    def edges(self) -> list | None:
        """The edges of the results, by calling the module again; None where that would give something else."""
        module = self.calls.module()
        if module is None:
            return None
        self.calls.owed += _ASKED
        moved = self.moved()
        with _Before(moved, self.seq) as before:
            return self._edges(module) if before.can and self._is_as_it_was(moved) else None

    def _edges(self, module: Any) -> list:
        calls, captured, state = self.calls, self.captured, thread.state
        args, kwargs = rebuild(captured.guards.template, self.leaves.__getitem__)
        before = state.grad, state.inference
        now = [(g, g.snapshot()) for g, _ in self.streams]
        written = [_Content(t) for t in self._written()]
        listener, state.listener = state.listener, None
        state.set(True, False)
        calls.plain.on = True
        try:
            for g, stream in self.streams:
                g.restore(stream)
            result = module._call_impl(*args, **kwargs)
        finally:
            calls.plain.on = False
            state.listener = listener
            state.set(*before)
            for g, stream in now:
                g.restore(stream)
            for content in written:
                content.put_back()
        pairs = zip(captured.outcome.leaves, leaves_of(captured.outcome.template, result), strict=True)
        whole = (_whole(spec, t) for spec, t in pairs)
        found = {n: t._edge for spec, t in whole if type(n := getattr(spec, "history", None)) is int}
        return [found[i] for i in range(len(found))]

    def moved(self) -> list[tuple[Tensor, np.ndarray]]:
        """The tensors that show other memory than in the call, and what they showed."""
        written = {id(t) for t in self._written()}
        pairs = [(s.tensor(self.leaves), a) for s, a in zip(self.captured.sources, self.inputs, strict=True)]
        return [
            (t, a)
            for t, a in pairs
            if isinstance(t, Tensor)
            and t._array is not a
            and id(t) not in written
            and not np.may_share_memory(t._array, a)
        ]

    def forgo(self, why: str) -> None:
        """Let the module do without programs from now on."""
        self.calls.forgo(why)

    def _written(self) -> list[Tensor]:
        sources = [s for s, _ in self.captured.outcome.written]
        return [t for s in sources if isinstance(t := s.tensor(self.leaves), Tensor)]

    def _is_as_it_was(self, moved: list[tuple[Tensor, np.ndarray]]) -> bool:
        """Whether the tensors that the call read, the module and the modes are as they were."""
        captured, guards = self.captured, self.captured.guards
        if modes()[2:] != guards.modes[2:] or guards.mismatch(self.leaves, guards.template, guards.modes) is not None:
            return False
        written, elsewhere = {id(t) for t in self._written()}, {id(t) for t, _ in moved}
        for source, a in zip(captured.sources, self.inputs, strict=True):
            t = source.tensor(self.leaves)
            if isinstance(t, Tensor) and id(t) not in written:
                s = t._storage
                if s is not None and s.content is not None and id(t) not in elsewhere:
                    stamp = s.content.stamp
                else:  # the memory that a moved one shows now may be younger
                    stamp = 0 if s is None else s.stamp
                if stamp > self.seq or not (t._array is a or np.may_share_memory(t._array, a)):
                    return False
        return True


class _Before:
    """Within the block, tensors that were given other memory show again what they showed at time `seq`.

    can: whether nothing has written there since.
    """

    def __init__(self, moved: list[tuple[Tensor, np.ndarray]], seq: int):
        self.moved = moved
        records = [storage_of(t) for t, _ in moved]
        self.can = all(s.stamp <= seq and (s.former is None or s.former.stamp <= seq) for s in records)

    def __enter__(self) -> _Before:
        self.now = [(t, t._array, storage_of(t).root) for t, _ in self.moved]
        for t, a in self.moved:
            t._array = storage_of(t).root = a
        return self

    def __exit__(self, *exc: object) -> None:
        for t, a, root in self.now:
            t._array, storage_of(t).root = a, root


class _Content:
    """A tensor's elements and version, to be put back."""

    def __init__(self, t: Tensor):
        s = t._storage
        self.tensor, self.array = t, t._array.copy(order="K")
        self.record = None if s is None else (s.version, s.stamp, s.writes)
        self.stamp = 0 if s is None else s.stamp if s.content is None else s.content.stamp

    def put_back(self) -> None:
        np.copyto(self.tensor._array, self.array)
        s = self.tensor._storage
        if s is not None:
            s.version, s.stamp, s.writes = self.record or (0, 0, ())
            if s.content is not None:
                s.content.stamp = self.stamp


# ------------------------------------------------------------------------------------------------ which modules


_refused: weakref.WeakSet = weakref.WeakSet()
_kept: dict[int, tuple[weakref.ref, ModuleCalls]] = {}


def _forget(key: int) -> None:
    module_programs.register(key, None)
    _kept.pop(key, None)


def note(module: Any) -> ModuleCalls | None:
    """Make a place for a module's programs, if there is not one already and its calls may gain by them."""
    key = id(module)
    if key in _kept:
        return _kept[key][1]
    if not _may_gain(module):
        return None
    calls = ModuleCalls(module)
    _kept[key] = weakref.ref(module, lambda _: _forget(key)), calls
    module_programs.register(key, calls)
    return calls


class Search:
    """Called in place of each module's call: notes those of the main thread that no other module's call is around.

    Of a wrapper that cannot be a program itself, such as DistributedDataParallel, the module in it.
    """

    def __init__(self) -> None:
        self.left = _CALLS  # calls to look at
        self.inside = False

    def __call__(self, module: Any, call: Callable, hooked: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if self.inside or not may_have_programs():
            return call(module, hooked, args, kwargs)
        calls = note(module)
        self.called()
        if calls is None and module in _refused and _is_wrapper(module):
            return call(module, hooked, args, kwargs)
        self.inside = True
        try:
            return call(module, hooked, args, kwargs) if calls is None else calls(module, args, kwargs)
        finally:
            self.inside = False

    def called(self) -> None:
        """Count a call; after enough of them, stop."""
        self.left -= 1
        if self.left <= 0 and module_caller.value is self:
            module_caller.register(None)


def _may_gain(module: Any) -> bool:
    """Whether a module's call is more than one operator of ours."""
    kind = type(module)
    if module in _refused or "_orig_mod" in module._modules:  # the wrapper of a compiled one
        return False
    return not kind.__module__.startswith(_OWN) or any(m is not None for m in module._modules.values())


def _is_wrapper(module: Any) -> bool:
    """Whether all of a module's parameters are those of one module in it."""
    children = [m for m in module._modules.values() if m is not None and next(m.parameters(), None) is not None]
    return len(children) == 1 and all(p is None for p in module._parameters.values())


def look_for_modules() -> None:
    """Note the outermost modules that are called next, in the thread in which they may have programs."""
    if module_caller.value is None and may_have_programs():
        module_caller.register(Search())


def forget() -> None:
    """Drop the programs of all modules."""
    if type(module_caller.value) is Search:
        module_caller.register(None)
    for key in list(_kept):
        _forget(key)
    _refused.clear()
