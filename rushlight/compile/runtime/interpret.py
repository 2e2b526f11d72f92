"""Running a captured graph with the kernels that eager calls use: always correct, never slower than it needs to be.

Every value has a slot. A node becomes a Python function over the list of slots. What a write replaces and nothing reads
any more is overwritten; memory is dropped after its last use.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from ...core.dispatch.mode import thread
from ...core.dispatch.scalars import number_as
from ...core.tensor.casting import cast as converted
from ...core.tensor.casting import copy_into
from ...core.tensor.storage import describe
from ..capture.sources import CaptureError, Fresh, Into
from ..ir.graph import Call, Graph, Ref, Update, Value, Write
from . import undo


class Executable(Protocol):
    """What runs a graph. `undo`: what a run that fails may have changed."""

    undo: undo.Undo

    @property
    def size_bytes(self) -> int:
        """Of the memory that it keeps between runs."""
        ...

    def run(
        self,
        inputs: list[np.ndarray],
        reuse: list[np.ndarray | None],
        owner: Callable[[int], Any] | None = None,
    ) -> list[np.ndarray]:
        """The arrays of the graph's `Fresh` outputs, by their index, after the content of `Into` outputs was written.

        inputs: an array for each input of the graph, in their order, with the geometry of its value.
        reuse: for each Fresh output memory that it may take, or None.
        owner: gives the tensor of an input by its number, from which it can be seen who has written there.
        """
        ...


class Interpreter:
    """A graph of Call, Write and Update as a list of steps."""

    size_bytes = 0

    def __init__(self, graph: Graph):
        self.slots: dict[Value, int] = {}
        self.constants: list[tuple[int, np.ndarray]] = []
        for value in graph.inputs:
            self._slot(value)
        self.inputs = len(graph.inputs)
        for value, array in graph.constants.items():
            self.constants.append((self._slot(value), array))
        self._plan_writes(graph)
        self.steps: list[tuple[Callable, Any]] = [(self._step(n, i), n) for i, n in enumerate(graph.nodes)]
        self.drop = self._last_uses(graph)
        self._plan_outputs(graph)
        self.undo = undo.plan(graph.nodes, (), self._overwrites(graph).get)

    def _slot(self, value: Value) -> int:
        return self.slots.setdefault(value, len(self.slots))

    # ------------------------------------------------------------------------------------------ planning

    def _plan_writes(self, graph: Graph) -> None:
        """Which values each write may overwrite: made inside or written by the program, and not read later."""
        into = {target.value for _, target in graph.outputs if isinstance(target, Into)}
        fixed = {v for v in graph.inputs if v not in into} | set(graph.constants)
        last: dict[Value, int] = {r.value: len(graph.nodes) for r, _ in graph.outputs}
        for i, node in reversed(list(enumerate(graph.nodes))):
            for r in _all_reads(node):
                last.setdefault(r.value, i)
        self.free = {(v, i) for v, i in last.items() if v not in fixed}

    def _overwrites(self, graph: Graph) -> dict[Value, tuple[str, int]]:
        """By value, the input whose memory it is written into."""
        locations: dict[Value, tuple[str, int]] = {v: ("input", i) for i, v in enumerate(graph.inputs)}
        for i, node in enumerate(graph.nodes):
            pairs: list[tuple[Any, Any]] = []
            if isinstance(node, Write):
                pairs = [(node.target, node.result)]
            elif isinstance(node, Update):
                rows = zip(node.lists, node.results, strict=True)
                pairs = [pair for refs, values in rows if values for pair in zip(refs or (), values, strict=False)]
            for target, value in pairs:
                if value is not None and target.value in locations and (target.value, i) in self.free:
                    locations[value] = locations[target.value]
        return locations

    def _last_uses(self, graph: Graph) -> list[tuple[int, ...]]:
        kept = {self.slots[r.value] for r, _ in graph.outputs if r.value in self.slots}
        seen = set(kept)
        drop: list[tuple[int, ...]] = []
        for node in reversed(graph.nodes):
            mine = {self.slots[r.value] for r in _all_reads(node)} | {self._slot(v) for v in node.writes()}
            drop.append(tuple(mine - seen))
            seen |= mine
        return drop[::-1]

    def _plan_outputs(self, graph: Graph) -> None:
        place = {v: i for i, v in enumerate(graph.inputs)}
        self.fresh: list[tuple[int, Callable]] = []
        self.into: list[tuple[int, int]] = []
        fresh = []
        for ref, target in graph.outputs:
            slot = self._slot(ref.value)
            if isinstance(target, Fresh):
                fresh.append((target.index, slot, None if ref.is_whole() else window(ref)))
            else:
                self.into.append((slot, place[target.value]))
        self.fresh = [(slot, show) for _, slot, show in sorted(fresh, key=itemgetter(0))]

    # ------------------------------------------------------------------------------------------ running

    def run(
        self,
        inputs: list[np.ndarray],
        reuse: list[np.ndarray | None],
        owner: Callable[[int], Any] | None = None,
    ) -> list[np.ndarray]:
        return thread.state.run(self._run, inputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        env: list[Any] = [None] * len(self.slots)
        env[: self.inputs] = inputs
        for slot, array in self.constants:
            env[slot] = array
        for (step, node), drop in zip(self.steps, self.drop, strict=True):
            try:
                step(env)
            except Exception as error:
                error.add_note(f"in a compiled function, at {describe(node.line)}")
                raise
            for slot in drop:
                env[slot] = None
        return self._finish(env, inputs)

    def _finish(self, env: list, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Outputs with memory of their own, then the inputs' new content: nothing is overwritten that is still wanted."""
        taken = {id(a) for a in inputs} | {id(a) for _, a in self.constants}
        out = []
        for slot, show in self.fresh:
            a = env[slot]
            if show is not None:
                a = show(a).copy(order="K")
            elif id(a) in taken:
                a = a.copy(order="K")
            taken.add(id(a))
            out.append(a)
        moves = [(env[slot], inputs[i]) for slot, i in self.into if env[slot] is not inputs[i]]
        targets = {id(to) for _, to in moves}
        moves = [(a.copy(order="K") if id(a) in targets else a, to) for a, to in moves]
        for a, to in moves:
            np.copyto(to, a)
        return out

    # ------------------------------------------------------------------------------------------ nodes

    def _step(self, node: Any, i: int) -> Callable:
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Write):
            return self._write(node, i)
        if isinstance(node, Update):
            return self._update(node, i)
        raise NotImplementedError(f"the interpreter runs no {type(node).__name__}")

    def _get(self, ref: Ref) -> Callable:
        """A function of the slots that gives the window's array."""
        slot = self._slot(ref.value)
        if ref.is_whole():
            return itemgetter(slot)
        show = window(ref)
        return lambda env: show(env[slot])

    def _operand(self, o: Any, cast: Any) -> Callable:
        if isinstance(o, Ref):
            get = self._get(o)
            if cast is None or o.dtype == cast.numpy:
                return get
            kind = cast.numpy
            return lambda env: converted(get(env), kind)
        if o is None:
            return lambda env: None
        number = o if cast is None else number_as(o, cast)
        return lambda env: number

    def _call(self, node: Call) -> Callable:
        gets = [self._operand(o, to) for o, to in zip(node.operands, node.types(), strict=True)]
        record, metadata, kernel = node.record, node.metadata, node.kernel()
        many = len(node.results) > 1
        stored = {r.value for r in node.operands if isinstance(r, Ref)}
        stores: list[tuple[int, Callable] | None] = []
        for r in node.results:  # the first result with a new value is that; further ones are parts of it
            if r is None or r.value in stored:
                stores.append(None)
            else:
                stores.append((self._slot(r.value), _storer(r)))
                stored.add(r.value)
        first = stores[0] if stores else None
        slot, store = first or (0, _nothing)

        def single(env: list) -> None:
            arrays = [get(env) for get in gets]
            env[slot] = store(record.invoke(kernel, arrays, metadata), arrays)

        def several(env: list) -> None:
            arrays = [get(env) for get in gets]
            results = record.invoke(kernel, arrays, metadata)
            for place, r in zip(stores, results, strict=False):
                if place is not None:
                    env[place[0]] = place[1](r, arrays)

        if first is None and not many:
            return lambda env: record.invoke(kernel, [get(env) for get in gets], metadata)
        wrapped = many or getattr(record, "outputs", None) is not None
        return several if wrapped else single

    def _buffer(self, value: Value, i: int) -> Callable:
        """A function of the slots that gives memory with the value's content, to be written."""
        slot = self._slot(value)
        if (value, i) in self.free:
            return itemgetter(slot)
        return lambda env: env[slot].copy(order="K")

    def _write(self, node: Write, i: int) -> Callable:
        target, source, result = node.target, self._get(node.source), self._slot(node.result)
        shape, strides, kind = target.value.shape, target.value.strides, target.dtype
        show = None if target.is_whole() else window(Ref(node.result, *target[1:]))
        buffer = _empty_like(shape, strides, kind) if target.covers() else self._buffer(target.value, i)

        def step(env: list) -> None:
            a = buffer(env)
            copy_into(a if show is None else show(a), source(env))
            env[result] = a

        return step

    def _update(self, node: Update, i: int) -> Callable:
        rows: list[Any] = []
        for refs, values in zip(node.lists, node.results, strict=True):
            rows.append(
                None if refs is None else [self._entry(r, v, i) for r, v in zip(refs, values or refs, strict=True)]
            )
        options = {k: self._get(o) if isinstance(o, Ref) else None for k, o in node.options.items()}
        changing = [(k, get) for k, get in options.items() if get is not None]
        fixed = {k: v for k, v in node.options.items() if options[k] is None}
        update, apply = node.update, node.apply

        def step(env: list) -> None:
            lists: list[Any] = [row and [get(env) for get, _ in row] for row in rows]
            apply(update, lists, fixed | {k: get(env).item() for k, get in changing})
            for row, arrays in zip(rows, lists, strict=True):
                if row is not None:
                    for (_, slot), a in zip(row, arrays, strict=True):
                        if slot is not None:
                            env[slot] = a

        return step

    def _entry(self, ref: Ref, value: Any, i: int) -> tuple[Callable, int | None]:
        """How the update gets an array, and the slot that has it afterwards if it is written."""
        if not isinstance(value, Value):
            return self._get(ref), None
        if ref.is_whole():
            return self._buffer(ref.value, i), self._slot(value)
        get = self._get(ref)
        return lambda env: get(env).copy(order="K"), self._slot(value)


def _nothing(r: Any, arrays: list) -> None:
    """The store of a result that is not wanted."""


def _all_reads(node: Any) -> list[Ref]:
    reads = list(node.reads())
    if isinstance(node, Call):
        reads += [r for r in node.results if r is not None and r.value in {o.value for o in node.reads()}]
    return reads


def _empty_like(shape: tuple, strides: tuple, kind: np.dtype) -> Callable:
    make = _maker(shape, strides, kind)
    return lambda env: make()


def _maker(shape: tuple, strides: tuple, kind: np.dtype) -> Callable:
    """A function that gives fresh memory of a dense geometry."""
    order = sorted(range(len(shape)), key=lambda d: (strides[d], shape[d] != 1), reverse=True)
    inverse = tuple(int(d) for d in np.argsort(order)) if order else ()
    dense = tuple(shape[d] for d in order)
    return lambda: np.empty(dense, kind).transpose(inverse)


def _storer(ref: Ref) -> Callable:
    """A function that takes what a kernel returned, and its operands, and gives the value's array."""
    value = ref.value
    strides = tuple(s * ref.dtype.itemsize for s in ref.strides)
    make = _maker(value.shape, value.strides, value.dtype)
    whole = ref.is_whole()
    show = None if whole else window(ref)
    shape, kind = ref.shape, value.dtype
    loose = [n != 1 for n in shape]

    def store(r: Any, arrays: list) -> np.ndarray:
        if type(r) is not np.ndarray:
            r = np.asarray(r)
        if r.shape != shape:
            raise CaptureError(
                f"a result has shape {list(r.shape)}, but had {list(shape)} when the function was captured{_SHAPES}"
            )
        fits = whole and r.dtype is kind and r.shape == shape
        if fits and (
            r.strides == strides or all(a == b for a, b, n in zip(r.strides, strides, loose, strict=True) if n)
        ):
            if r.base is None and not any(r is a for a in arrays):
                return r
            if not any(a is not None and np.may_share_memory(r, a) for a in arrays):
                return r
        out = make()
        copy_into(out if show is None else show(out), r)
        return out

    return store


_SHAPES = ": its shape depends on values. Use where() or a mask, or do this outside the compiled function"


def window(ref: Ref) -> Callable:
    """A function that shows a window of the array of its value."""
    value, shape = ref.value, ref.shape
    kind, size = value.dtype, value.dtype.itemsize
    strides, offset = tuple(s * size for s in ref.strides), ref.offset * size
    order = tuple(sorted(range(len(value.shape)), key=lambda d: (value.strides[d], value.shape[d] != 1), reverse=True))
    straight = order == tuple(range(len(value.shape)))

    def show(a: np.ndarray) -> np.ndarray:
        flat = a if straight else a.transpose(order)
        return np.ndarray(shape, kind, flat, offset, strides)

    return show
