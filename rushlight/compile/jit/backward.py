"""The backward of eager loops as compiled programs.

Loops that know nothing of compiling record the same tape in each step. `autograd/repeats.py` counts tapes by their
outline; from the third occurrence on, where it may pay, it calls `try_compiled`, which lets the plain engine do the pass
while a recorder listens, and, once two recorded passes agree, builds native code. The next tape with the same structure
(see `tape.py`) is then one call: its arrays are gathered, the program runs, the gradients are put into the leaves, the
tape is freed. Passes of `autograd.grad` for leaves are done alike: their gradients are what the call gives. Anything else
takes the plain engine. `RUSHLIGHT_JIT=0` in the environment, or a missing llvmlite, leaves every pass to it.

A program belongs to the thread in which it was made, and holds no tensor: neither a model nor its gradients.
"""

from __future__ import annotations

import os
import threading
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd import engine
from ...autograd.repeats import repeats
from ...backend.onednn.address import address
from ...core.interrupts import raise_if_interrupted
from ...core.jit_switch import jit
from ...core.tensor.node import Freed
from ...core.tensor.storage import user_line
from ...core.tensor.tensor import Tensor, wrap
from ...core.warn import warn_once
from ..capture.compare import Comparison
from ..capture.listening import listen
from ..capture.memory import PATIENCE_S, Region, recording
from ..capture.recorder import Recorder
from ..capture.sources import Argument, CaptureError, Fresh, Into, Window, extent
from ..install import install_in_thread, prefer_programs
from ..ir.exchange import exchanges_of
from ..ir.graph import Call, Graph, Value
from ..ir.prune import prune
from ..log import show
from ..lower.llvm.engine import NEEDED, available
from ..lower.onednn import few_channels_eager
from ..rules import steps_of
from ..runtime.native import Native
from .cache import Entry, Refused, Route
from .module_calls import look_for_modules
from .options import several
from .price import price_of
from .tape import Ineligible, Match, Tape

if TYPE_CHECKING:
    from ...core.dispatch.op import Op


_CANDIDATES = 32
_ATTEMPTS = 6  # recorded passes of an outline that no later one agreed with: then it is left alone
_NEVER = 1 << 60
_LATER = 1000  # occurrences of an outline after which room is looked for again
_OUTLINES = 4096
# Programs, of short tapes, that have not paid yet: with so many, the next outline has to be met more often.
_UNPROVEN = 3
_PATIENCE = 32  # passes
_LONGEST_WAIT = 64  # passes between two looks at tapes that are like no earlier one
_FOR_MODULES = 3  # captures and programs of forward and backward take as long as so many programs of the backward
_LARGEST = 1 << 31  # bytes that a tape may hold: a recorded pass keeps all that it computes


class _Waiting(threading.local):
    """What a thread has recorded, and met too early to record it."""

    def __init__(self):
        self.candidates: list[_Recorded] = []
        self.made = 0  # passes that were recorded
        self.deferred: dict[int, int] = {}  # outline -> `made` when it was deferred
        self.seen: dict[int, set[int]] = {}  # outline that was recorded -> fingerprints of tapes that came since


# Programs by themselves: `match` finds them. Counts: recorded passes of an outline that nothing agreed with.
_route: Route[_Program] = Route("backward")
_state = _route.state
_waiting = _Waiting()


def try_compiled(
    outline: int, roots: list[tuple[Any, Tensor]], wanted: list | None, keep_graph: bool
) -> list[Tensor] | None:
    """Do the pass, recording it, and give its results. None: nothing was done, it is the plain engine's."""
    if not available():
        warn_once(f"Steps that repeat themselves run operator by operator here, more slowly: {NEEDED}")
        repeats.wait(outline, _NEVER)
        return None
    if not _route.has_room():
        repeats.wait(outline, _LATER)
        return None
    if patience := _is_early(outline):
        repeats.wait(outline, patience)
        return None
    if not recording.acquire(timeout=PATIENCE_S):
        return None
    try:
        try:
            candidate = next((c for c in _waiting.candidates if c.outline == outline and c.match(roots, wanted)), None)
            tape = Tape(roots, wanted)
            if candidate is None and _is_new(outline, tape):
                return None
            new = _Recorded(outline, repeats.kind(roots, wanted, keep_graph), tape)
            del tape
        except Exception as why:  # nothing was done yet
            raise_if_interrupted(why)
            _leave(outline, why)
            return None
        results = new.run(roots, wanted, keep_graph)
    finally:
        recording.release()
    hooked = new.hooked
    if new.failed is not None:
        _leave(outline, new.failed)
    elif candidate is None:
        _remember(new)
    else:
        _waiting.candidates.remove(candidate)
        _build(candidate, new)
    engine.call_waiting_hooks(hooked)
    return results


def _leave(outline: int, why: Exception) -> None:
    """Let the plain engine do all passes with this outline for a while."""
    if os.environ.get("RUSHLIGHT_CHECK") == "1" and not isinstance(why, (Ineligible, CaptureError, Refused)):
        raise why
    _route.tell_refused(lambda: f"the backward of a tape {outline & 0xFFFF:x}", why)
    _wait(outline)


def _wait(outline: int) -> None:
    """Leave an outline alone, the longer the more often it failed."""
    failed = _route.count(outline)
    repeats.wait(outline, _NEVER if failed > _ATTEMPTS else 1 << failed)


def _remember(new: _Recorded) -> None:
    """Keep a recorded pass until another one agrees with it."""
    _waiting.made += 1
    repeats.wait(new.outline, new.price.patience)
    if any(c.outline == new.outline for c in _waiting.candidates):
        _wait(new.outline)
    _waiting.candidates = [*_waiting.candidates, new][-_CANDIDATES:]


def _build(old: _Recorded, new: _Recorded) -> None:
    """Make the program, if both passes did the same."""
    try:
        Comparison().graphs(old.graph, new.graph)
        program = _Program(new)
        _route.add(program, program, lambda: f"the backward of a tape {new.outline & 0xFFFF:x}")
    except Exception as why:  # whatever the compiler cannot do, the plain engine can
        raise_if_interrupted(why)
        _leave(new.outline, why)
        if not isinstance(why, CaptureError):
            repeats.wait(new.outline, _NEVER)
        return
    install_in_thread(few_channels_eager.make_forward)
    prefer_programs()
    _state.counts.pop(new.outline, None)
    repeats.wait(new.outline, 1)
    _install()


def _is_early(outline: int) -> int:
    """In how many passes to look at an outline again, where programs that were made have not paid yet; else 0.

    Sequences of 31 lengths would else have a program each, made in 8 s, in a loop that takes 4 for 600 steps without.
    What was deferred once comes in the end, if nothing else was recorded meanwhile.
    """
    deferred, candidates = _waiting.deferred, _waiting.candidates
    if deferred.get(outline) == _waiting.made or any(c.outline == outline for c in candidates):
        return 0
    unproven = sum(p.price.weight for p in _state.programs if p.uses < p.price.repaid and p.outline != outline)
    unproven += sum(c.price.weight for c in candidates)
    if unproven < _UNPROVEN:
        return 0
    if len(deferred) > _OUTLINES:
        deferred.clear()
    deferred[outline] = _waiting.made
    return _PATIENCE * int(unproven - _UNPROVEN + 1)


def _is_new(outline: int, tape: Tape) -> bool:
    """Whether to leave a tape to the plain engine: others of its outline were recorded, and none like it came since.

    A program that picks elements by their values makes another tape in each step, all of one outline.
    """
    seen = _waiting.seen.get(outline)
    if seen is None:
        if len(_waiting.seen) >= _OUTLINES:
            _waiting.seen.clear()
        _waiting.seen[outline] = set()
        return False
    fingerprint = tape.fingerprint
    if fingerprint in seen:
        return False
    if len(seen) >= _OUTLINES:
        seen.clear()
    seen.add(fingerprint)
    repeats.wait(outline, min(1 << len(seen) // 2, _LONGEST_WAIT))
    return True


def _install() -> None:
    """Tell the engine which programs there are."""
    table: dict[Any, dict[int, list]] = {}
    for program in _state.programs:
        table.setdefault(program.kind, {}).setdefault(program.outline, []).append(program)
    repeats.serve(table)


def forget() -> None:
    """Drop this thread's programs and what was counted."""
    _route.forget()
    _waiting.__init__()
    repeats.recount()
    _install()


# ------------------------------------------------------------------------------------------------- recording


class _Listener(Recorder):
    """A recorder that never interrupts the pass: what it cannot follow it notes in `failed`, and hears no more."""

    failed: Exception | None = None

    def _try(self, event: Any, *values: Any) -> None:
        if self.failed is None:
            try:
                event(*values)
            except Exception as error:
                raise_if_interrupted(error)
                self.failed = error

    def __call__(self, record: Op, tensors: tuple, metadata: tuple, result: Any) -> None:
        self._try(super().__call__, record, tensors, metadata, result)

    def wrote(self, *values: Any) -> None:
        self._try(super().wrote, *values)

    def copied(self, *values: Any) -> None:
        self._try(super().copied, *values)

    def created(self, *values: Any) -> None:
        self._try(super().created, *values)

    def ran(self, *values: Any) -> None:
        self._try(super().ran, *values)

    def read(self, *values: Any) -> None:
        self._refuse("a gradient rule reads tensor values")

    def drew(self, *values: Any) -> None:
        self._refuse("a gradient rule draws random numbers")

    def reseeded(self, *values: Any) -> None:
        self._refuse("a gradient rule draws random numbers")

    def rebound(self, *values: Any) -> None:
        self._refuse("a gradient rule resizes or rebinds a tensor")

    def left(self, *values: Any) -> None:
        self._refuse("a gradient rule leaves what is compiled")

    def exchanged(self, *values: Any) -> bool:
        self._refuse("a gradient rule exchanges data with other processes")
        return False

    def resized(self, *values: Any) -> None:
        self._refuse("a gradient rule resizes or rebinds a tensor")

    def _refuse(self, why: str) -> None:
        self.failed = self.failed or CaptureError(why)


class _Recorded:
    """A pass as the recorder saw it.

    match: knows a tape like its own. The recorder's arguments are the separate pieces of memory that the tape's arrays
    occupy; begins: which array begins each. picked: which of the arrays that `match` gives begin the graph's inputs.
    fresh: the leaves that get a gradient, in the order of the program's results; written: those that add to theirs.
    Where gradients are wanted they are the program's results, and no leaf gets one.
    """

    def __init__(self, outline: int, kind: Any, tape: Tape):
        self.outline, self.kind, self.tape = outline, kind, tape
        wholes, self.begins, aliases = _pieces(self.tape.arrays)
        self.kept_bytes = sum(a.nbytes for a in wholes)
        if self.kept_bytes > _LARGEST:
            raise Ineligible("recording it would take too much memory")
        added = {i for i in self.tape.grads if i is not None}
        if any(i in added for pair in aliases for i in pair):
            raise Ineligible("a gradient shares memory with what the tape saved")
        self.recorder = _Listener(wholes, set())
        self.match: Match = self.tape.matcher(aliases)
        self.failed: Exception | None = None

    def _index(self, source: Any) -> int:
        source = source.source if isinstance(source, Window) else source
        if not isinstance(source, Argument):
            raise CaptureError(f"the backward reads {source!r}, which the tape did not save")
        return self.begins[source.index]

    def run(self, roots: list[tuple[Any, Tensor]], wanted: list | None, keep_graph: bool) -> list:
        """Do the pass with the plain engine. Afterwards the graph is complete, or `failed` says why it is not."""
        recorder, tape = self.recorder, self.tape
        before = [t._grad for t in tape.leaves]
        unshared = [old for old in before if old is not None and old._storage is None]
        self.hooked = [t for t in tape.leaves if t._edge.hooks is not None]  # type: ignore[union-attr]
        hooks = [(t._edge, t._edge.hooks) for t in self.hooked]  # type: ignore[union-attr]
        self.accumulates, self.keeps = wanted is None, keep_graph
        given: list = []  # what the caller gets: the strides of a recorded pass's sums may differ
        try:
            if wanted is not None:
                given = engine.run(roots, True, False, wanted, False, by_program=False)
            for leaf, _ in hooks:
                leaf.hooks = None
            results = listen(recorder, engine.run, (roots, keep_graph, False, wanted, wanted is None), {})
        finally:
            for leaf, known in hooks:
                leaf.hooks = known
        for old in unshared:
            old._storage = (
                None  # the recorder's sums are operators and count; the engine's do where a hook may see them
            )
        self.failed = recorder.failed
        if self.failed is None:
            try:
                self._finish(before, None if wanted is None else list(zip(results, given, strict=True)))
            except Exception as error:
                raise_if_interrupted(error)
                self.failed = error
        del self.tape, self.recorder
        return given

    def _finish(self, before: list, results: list[tuple] | None) -> None:
        recorder, tape = self.recorder, self.tape
        self.graph = graph = recorder.graph
        if any(node.record.draws for node in graph.nodes if isinstance(node, Call)):
            raise CaptureError("a gradient rule draws random numbers")
        if exchanges_of(graph.nodes):
            raise CaptureError("a compiled function's backward exchanges data with other processes")
        self.fresh = [i for i, k in enumerate(tape.grads) if k is None]
        self.written = [i for i, k in enumerate(tape.grads) if k is not None]
        self.reached = tape.reached
        if results is None:
            grads = [(tape.leaves[i]._grad,) * 2 for i in self.fresh]
        else:
            grads = [pair for pair, reached in zip(results, tape.reached, strict=True) if reached]
        self.layouts = []
        for grad, given in grads:
            if grad is None:
                raise CaptureError("a leaf receives no gradient")
            graph.outputs.append((recorder.ref(grad, None), Fresh(len(graph.outputs))))
            a = given._array
            self.layouts.append((a.strides, "C" if a.flags.c_contiguous else "F"))
        if results is not None:
            _check_separate([given._array for _, given in grads], tape.arrays)
        if any(tape.leaves[i]._grad is not before[i] for i in self.written):
            raise CaptureError("a .grad was replaced during backward")
        if not self.keeps and any(type(node.saved) is not Freed for node in tape.keepers):
            raise CaptureError("some nodes of the tape receive no gradient")
        for region in recorder.memory.all():
            if region.source is not None and region.writes:
                self._add_into(region)
        self._settle()
        self.price = price_of(tape.size, sum(steps_of(n) for n in graph.nodes if isinstance(n, Call)), self.kept_bytes)
        self.added = [k for k in tape.grads if k is not None]
        self.bytes = [high - low for low, high in map(_extent, tape.arrays)]

    def _add_into(self, region: Region) -> None:
        if self._index(region.source) not in self.tape.grads:
            raise CaptureError("a gradient rule writes into what the tape saved")
        self.graph.outputs.append((region.value.ref(), Into(region.first)))

    def _settle(self) -> None:
        """Leave out what nothing reads, and note which arrays are the inputs."""
        graph = prune(self.graph)
        used: set[Value] = {r.value for node in graph.nodes for r in node.reads()}
        used |= {ref.value for ref, _ in graph.outputs} | {t.value for _, t in graph.outputs if isinstance(t, Into)}
        graph.inputs = {v: s for v, s in graph.inputs.items() if v in used}
        self.picked = [self._index(s) for s in graph.inputs.values()]


def _check_separate(results: list[np.ndarray], arrays: list[np.ndarray]) -> None:
    """Refuse results that the caller can tell from a program's, which are dense and share memory with nothing."""
    extents = sorted(map(_extent, results))
    if any(a[1] > b[0] for a, b in pairwise(extents)):
        raise CaptureError("two of the gradients share memory")
    taken = list(map(_extent, arrays))
    if any(low < high and a[0] < high and low < a[1] for low, high in extents for a in taken):
        raise CaptureError("a gradient is in memory that the tape has saved")
    if not all(a.flags.c_contiguous or a.flags.f_contiguous for a in results):
        raise CaptureError("a gradient is not dense")


def _pieces(arrays: list[np.ndarray]) -> tuple[list[np.ndarray], list[int], list[tuple[int, int]]]:
    """The separate pieces of memory that hold the arrays.

    Returns an array for all of each piece, the index of the array that begins it, and (array, the one that begins its
    piece) for all others.
    """
    groups: list[list[int]] = []
    end = 0
    for low, high, i in sorted((*_extent(a), i) for i, a in enumerate(arrays) if a.size):
        if groups and low < end:
            groups[-1].append(i)
        else:
            groups.append([i])
        end = max(end, high)
    pieces = sorted(((*_whole(arrays, members), members) for members in groups), key=itemgetter(1))
    aliases = [(i, leader) for _, leader, members in pieces for i in members if i != leader]
    return [whole for whole, _, _ in pieces], [leader for _, leader, _ in pieces], aliases


def _whole(arrays: list[np.ndarray], members: list[int]) -> tuple[np.ndarray, int]:
    """An array for all of the memory that arrays share, and the index of one that begins where it does."""
    low, high = min(_extent(arrays[i])[0] for i in members), max(_extent(arrays[i])[1] for i in members)
    for i in members:
        if _extent(arrays[i]) == (low, high):
            return arrays[i], i
    leader = members[0]
    a = arrays[leader]
    if any(arrays[i].dtype != a.dtype or (address(arrays[i]) - low) % a.itemsize for i in members):
        raise Ineligible("saved arrays of different types overlap in memory")
    return np.lib.stride_tricks.as_strided(a, ((high - low) // a.itemsize,), (a.itemsize,)), leader


def _extent(a: np.ndarray) -> tuple[int, int]:
    return extent(a) if a.size else (0, 0)


# --------------------------------------------------------------------------------------------------- running


class _Program(Entry):
    """Native code for the tapes of one structure."""

    def __init__(self, recorded: _Recorded):
        self.kind, self.match = recorded.kind, recorded.match
        self.accumulates, self.keeps = recorded.accumulates, recorded.keeps
        self.pick, self.fresh, self.written = several(recorded.picked), recorded.fresh, recorded.written
        self.reached = recorded.reached
        self.layouts, self.is_hooked = recorded.layouts, bool(recorded.hooked)
        self.added, self.lengths = recorded.added, np.array(recorded.bytes)
        self.outline, self.price = recorded.outline, recorded.price
        # uses until the modules of the loop are looked for: what was saved by then is what making their programs takes
        self.due = 1 if jit.always else _FOR_MODULES * recorded.price.repaid
        graph: Graph = recorded.graph
        show("graph", lambda: f"a backward: {graph!r}")
        graph.as_eager = True
        self.executable = Native(graph)
        self.reuse: list[np.ndarray | None] = [None] * len(self.fresh)
        super().__init__(self.executable.size_bytes)

    def is_running(self) -> bool:
        return self.executable.lock.locked()

    def evicted(self) -> None:
        _install()

    def __call__(self, roots: list[tuple[Any, Tensor]], wanted: list | None) -> list | None:
        """Do the pass, and give its results, if the tape is one like that of the recording."""
        found = self.match(roots, wanted)
        if found is None:
            return None
        arrays, leaves, nodes = found
        if self.added and self._overlap(arrays):
            return None
        try:
            grads = self.executable.run([*self.pick(arrays)], self.reuse)
        except Exception as why:
            raise_if_interrupted(why)
            if self.added:
                raise  # some of the sums may be there already
            _route.drop(self, f"fails: {why}")
            repeats.wait(self.outline, _NEVER)
            return None
        results = [wrap(_laid_out(a, *layout)) for a, layout in zip(grads, self.layouts, strict=True)]
        if self.accumulates:
            for i, grad in zip(self.fresh, results, strict=True):
                leaves[i]._grad = grad
            results = []
        elif not all(self.reached):
            given = iter(results)
            results = [next(given) if reached else None for reached in self.reached]
        for i in self.written:
            s = leaves[i]._grad._storage
            if s is not None:
                s.wrote("backward()")
        if not self.keeps:
            freed = Freed(user_line(2))
            for node in nodes:
                node.saved, node.storage = freed, None
        self.used = _state.clock()
        self.uses += 1
        if not self.uses % self.due:  # more than once: another model may have the same tape
            look_for_modules()
        if self.is_hooked:
            engine.call_waiting_hooks(leaves)
        return results

    def _overlap(self, arrays: tuple) -> bool:
        """Whether a gradient that is written overlaps other memory."""
        starts = np.array([address(a) for a in arrays])
        ends = starts + self.lengths
        meet = (starts[self.added, None] < ends) & (starts < ends[self.added, None])
        return int(meet.sum()) != len(self.added)


def _laid_out(a: np.ndarray, strides: tuple[int, ...], order: str) -> np.ndarray:
    """`a` with these strides, those of an array contiguous in C's or Fortran's order but for dimensions of one element."""
    if a.strides == strides:
        return a
    copy = np.array(a, order=order)  # type: ignore[call-overload]
    return copy if copy.strides == strides else np.ndarray(a.shape, a.dtype, copy.reshape(-1, order=order), 0, strides)  # type: ignore


__all__ = ["forget", "try_compiled"]
