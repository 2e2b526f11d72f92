"""A captured call made again: inputs gathered, the executable run, and everything put where the call had put it."""

from __future__ import annotations

import sys
from _thread import RLock
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.dispatch.inplace import follow, refresh_views, replay
from ...core.dispatch.mode import thread
from ...core.interrupts import raise_if_interrupted
from ...core.locks import lock
from ...core.tensor.node import Freed, Leaf, Node
from ...core.tensor.storage import LATEST, shared_storage, storage_of, tick, user_line
from ...core.tensor.tensor import Tensor, show_memory, wrap
from ..capture.outputs import Constant, Made, Number, Outcome, Same, View
from ..capture.scalars_read import Computed, Read
from ..capture.sources import External, Fresh, Window
from ..capture.structure import Slot, rebuild
from .interpret import Executable

_new = object.__new__
_NONE: dict[int, Tensor] = {}


class Program:
    """An executable and what surrounds its run."""

    def __init__(self, sources: list, outcome: Outcome, executable: Executable, guards: Any, backward: Any = None):
        self.sources = sources
        self.backward = backward
        self.outcome = outcome
        self.executable = executable
        self.guards = guards
        self._known: Any = None
        self._base: list = []
        self._varying = {i: s for i, s in enumerate(sources) if not isinstance(s, External)}
        self._read = {(s.source if isinstance(s, Window) else s).key() for s in sources}
        self.reuse: list[Any] = [None] * outcome.count
        self.remember: Callable[[list, list], Any] | None = None  # before a run, what `capture/joint.py` calls `again`
        self.lock = lock(RLock)  # a scheduler's step in `finish` may call anything
        specs = [*outcome.leaves, *(spec for _, spec in (*outcome.grads, *outcome.moved, *outcome.assigned))]
        self._read |= {spec.source.key() for spec in specs if type(spec) is Same}
        self.own, self.grads = self._own_gradients(outcome, specs)
        others = outcome.rebased or outcome.moved or outcome.assigned or outcome.training or outcome.schedules
        self.simple = None if others or self.grads else _simple(outcome)
        self.needs_line = (
            bool(outcome.written) or self.simple is None or any(isinstance(m.history, type) for m in self.simple)
        )

    def _own_gradients(self, outcome: Outcome, specs: list) -> tuple[list, list]:
        """(tensor, index, shape) of the plain new gradients of tensors outside, and all other (source, gradient) pairs."""
        made = [spec.memory.index for spec in specs if type(spec) is Made and type(spec.memory) is Fresh]
        own, others = [], []
        for source, spec in outcome.grads:
            if (
                type(source) is External and type(spec) is Made and type(spec.memory) is Fresh and spec.whole
                and spec.history is None and spec.grad is None and made.count(spec.memory.index) == 1
                and ("gradient", *source.key()) not in self._read
            ):  # fmt: skip
                own.append((source.held, spec.memory.index, spec.shape))
            else:
                others.append((source, spec))
        return own, others

    def is_running(self) -> bool:
        """Whether a thread, this one included, is in the middle of a run."""
        if self.lock._is_owned():
            return True
        is_free = self.lock.acquire(blocking=False)
        if is_free:
            self.lock.release()
        return not is_free

    def run(self, leaves: list) -> Any:
        """The result of the call, for the leaves of its arguments. Threads take turns: what is reused is the program's."""
        executable = self.executable
        with self.lock:
            inputs = self._inputs(leaves)
            before = self._reusable(leaves) if self.own or self.grads else _NONE
            again = None if self.remember is None else self.remember(leaves, inputs)
            undo = executable.undo
            kept = undo.remember(inputs, self.reuse)
            try:
                arrays = executable.run(inputs, self.reuse, lambda i: self.sources[i].tensor(leaves))
            except Exception as error:
                raise_if_interrupted(error)
                raise undo.put_back(inputs, kept, error) from None
            lives = None if self.backward is None else self.backward.lives(leaves, arrays, again)
            return self.finish(leaves, arrays, before, lives)

    def _inputs(self, leaves: list) -> list[np.ndarray]:
        """The array of each input. Those of tensors outside are the same from call to call, as a rule."""
        arrays = self.guards.arrays
        if arrays is not self._known:
            self._known = arrays
            self._base = [None if i in self._varying else s.array(leaves) for i, s in enumerate(self.sources)]
        inputs = self._base.copy()
        for i, source in self._varying.items():
            inputs[i] = source.array(leaves)
        return inputs

    def finish(self, leaves: list, arrays: list, before: dict, lives: Any = None) -> Any:
        """Put everything in its place. `lives`: the histories of results that a backward may walk."""
        outcome = self.outcome
        line = user_line(3) if self.needs_line else None
        if outcome.written:
            self._note_writes(leaves, line)
        build = _Building(leaves, arrays, lives, line)
        if self.simple is not None:
            return self._finish_simple(self.simple, build)
        for source, history in outcome.rebased:
            build.rebase(source.tensor(leaves), history)
        result = rebuild(outcome.template, lambda i: build.leaf(outcome.leaves[i]))
        if lives is not None:
            for index, t in build.storages.items():
                lives.share(index, t)
        self._put_own(arrays)
        grads = []
        for source, spec in self.grads:
            t = source.tensor(leaves)
            g = before.get(id(t))
            if g is not None and type(spec) is Made:
                g._array = build.array(spec)
            else:
                g = None if spec is None else build.leaf(spec)
            grads.append((t, g))
        moved = [(source.tensor(leaves), build.leaf(spec)) for source, spec in outcome.moved]
        for t, g in grads:  # after all are there: one may be what another tensor had
            t._grad = g
        for t, onto in moved:
            _move(t, onto)
        assigned = [build.leaf(spec) for _, spec in outcome.assigned]
        for (attribute, _), t in zip(outcome.assigned, assigned, strict=True):
            attribute.scope[attribute.name] = t
        for module, training in outcome.training:
            module.training = training
        for step, scheduler, template, specs in outcome.schedules:
            args, kwargs = rebuild(template, lambda i, specs=specs: build.leaf(specs[i]))
            step(scheduler, *args, **kwargs)
        return result

    def _finish_simple(self, simple: list[Made], build: _Building) -> Any:
        """`finish` where all results are new tensors, each in memory of its own, and other tensors only get gradients."""
        results = []
        for spec in simple:
            t = wrap(build.array(spec))
            if spec.history is not None:
                t._edge = build.edge(spec.history, t)
            results.append(t)
        if build.lives is not None:
            for spec, t in zip(simple, results, strict=True):
                build.lives.share(spec.memory.index, t)
        self._put_own(build.arrays)
        template = self.outcome.template
        return results[template.index] if type(template) is Slot else rebuild(template, results.__getitem__)

    def _put_own(self, arrays: list) -> None:
        """Give tensors outside their new gradients."""
        reuse = self.reuse
        for t, i, _ in self.own:
            a = arrays[i]
            if a is not reuse[i]:
                t._grad = wrap(a)

    def _reusable(self, leaves: list) -> dict[int, Tensor]:
        """By owner, the gradients that this program should replace and that have no other reference.

        Such a tensor stays, and the executable may write into its memory.
        """
        found: dict[int, Tensor] = {}
        reuse = self.reuse
        held, count = _HELD, sys.getrefcount
        for t, i, shape in self.own:
            g = t._grad
            reuse[i] = None
            if g is not None and count(g) <= held and g._edge is None and g._storage is None and not g.__dict__:
                a = g._array
                if type(a) is np.ndarray and a.base is None and count(a) <= held and a.shape == shape:
                    reuse[i] = a
        for source, spec in self.grads:
            if type(spec) is not Made or type(spec.memory) is not Fresh or ("gradient", *source.key()) in self._read:
                continue
            i = spec.memory.index
            reuse[i] = None
            t = source.tensor(leaves)
            g = t._grad
            if g is None or sys.getrefcount(g) > _HELD or g._edge is not None or g.__dict__ or g._storage is not None:
                continue
            a = g._array
            if type(a) is np.ndarray and a.base is None and sys.getrefcount(a) <= _HELD and a.shape == spec.shape:
                found[id(t)] = g
                reuse[i] = a
        return found

    def _note_writes(self, leaves: list, line: Any) -> None:
        """Give every tensor that was written as many versions more as the captured call did."""
        stamp = tick()
        entry = (stamp, thread.state.writer or line)
        for source, count in self.outcome.written:
            t = source.held if type(source) is External else source.tensor(leaves)
            if not isinstance(t, Tensor):
                continue
            s = t._storage or storage_of(t)
            if not count:
                s.wrote_unseen(entry[1])
                continue
            s.version += count
            s.stamp = stamp
            if s.content is not None:
                s.content.stamp = stamp
            s.writes = (*s.writes[LATEST], entry)


def _count_held() -> int:
    """What getrefcount says of an object that only a slot and one variable hold."""
    t = wrap(np.empty(0))
    a = t._array
    return sys.getrefcount(a)


_HELD = _count_held()


def _simple(outcome: Outcome) -> list[Made] | None:
    """The results, if each is nothing but a new tensor in memory of its own."""
    leaves = outcome.leaves
    plain = all(
        type(spec) is Made
        and type(spec.memory) is Fresh
        and spec.grad is None
        and not spec.inference
        and spec.view is None
        for spec in leaves
    )
    return list(leaves) if plain and len({spec.memory.index for spec in leaves}) == len(leaves) else None


class _Building:
    """The tensors of one replay."""

    def __init__(self, leaves: list, arrays: list, lives: Any, line: Any):
        self.leaves, self.arrays, self.lives, self.line = leaves, arrays, lives, line
        self.storages: dict[int, Tensor] = {}  # by the number of its array, the first result in that memory
        self.made: dict[int, Tensor] = {}

    def array(self, spec: Made) -> np.ndarray:
        """The array of a result."""
        memory = spec.memory
        a = self.arrays[memory.index] if type(memory) is Fresh else memory.array(self.leaves)
        if spec.whole and a.shape == spec.shape:
            return a
        size = a.itemsize
        base = np.lib.stride_tricks.as_strided(a, (a.size,), (size,))[spec.offset :]
        return np.lib.stride_tricks.as_strided(base, spec.shape, tuple(s * size for s in spec.strides))

    def leaf(self, spec: Any) -> Any:
        if type(spec) is Made:
            return self._tensor(spec)
        if type(spec) is Same:
            return spec.source.tensor(self.leaves)
        if type(spec) is Number:
            return self._number(spec.how)
        if type(spec) is View:
            return self._view(spec)
        assert type(spec) is Constant
        return spec.value

    def _tensor(self, spec: Made) -> Tensor:
        t = self.made.get(id(spec))
        if t is not None:
            return t
        t = self.made[id(spec)] = wrap(self.array(spec))
        self._share(spec, t)
        if spec.inference:
            storage_of(t).inference = True
        if spec.view is not None:
            base, *how = spec.view
            t._view = (self.leaf(base), *how)
        t._edge = self.edge(spec.history, t)
        if spec.grad is not None:
            t._grad = self.leaf(spec.grad)
        return t

    def edge(self, history: Any, t: Tensor) -> Any:
        """The history of a result, which `history` describes (see `Made`)."""
        if history is None:
            return None
        if history == "leaf":
            return Leaf(t)
        return self.lives.edge(history, t) if type(history) is int else _consumed(history, t._array, self.line)

    def rebase(self, t: Tensor, history: Any) -> None:
        """Give a tensor from outside the history that the captured call gave it, and its views theirs."""
        follow(t, self.edge(history, t))
        s = storage_of(t)
        if s.views:
            refresh_views(s)

    def _view(self, spec: View) -> Tensor:
        t = self.made.get(id(spec))
        if t is None:
            t = self.made[id(spec)] = _with_history(self.leaf(spec.base), spec)
        return t

    def _share(self, spec: Made, t: Tensor) -> None:
        """Aliases of one memory share their version."""
        if type(spec.memory) is not Fresh:
            owner = spec.memory.tensor(self.leaves)
            if isinstance(owner, Tensor):
                t._storage = shared_storage(owner)
            return
        index = spec.memory.index
        first = self.storages.setdefault(index, t)
        if first is not t:
            t._storage = shared_storage(first)

    def _number(self, how: Any) -> Any:
        if type(how) is Read:
            return self.arrays[how.ref.index].item()  # type: ignore[attr-defined]
        if type(how) is Computed:
            return how.function(*map(self._number, how.arguments))
        return how


def _with_history(base: Tensor, spec: View) -> Tensor:
    """The view, recorded also where the call was made without gradients, as in the captured one."""
    state = thread.state
    if state.level > 0:
        return replay(base, spec.record, spec.metadata)
    before = state.grad, state.inference
    state.set(True, False)
    try:
        return replay(base, spec.record, spec.metadata)
    finally:
        state.set(*before)


def _consumed(cls: type, a: np.ndarray, line: Any) -> Node:
    """A node that a backward, called at that line, has used up."""
    node: Any = _new(cls)
    node.seq, node.edges, node.saved = tick(), (), Freed(line)
    node.storage, node.hooks, node.shape, node.dtype = None, None, a.shape, a.dtype
    if hasattr(cls, "inner"):
        node.inner, node.chain, node.strides = node, (), None
    return node


def _move(t: Tensor, onto: Tensor) -> None:
    """Give a tensor other memory, as an assignment to `.data` does."""
    show_memory(t, onto._array, storage_of(onto))
