"""A graph as native code: passes, places for all values, and one call for each stretch without Python in it.

What cannot be native (an operator that no rule expresses, random draws) runs between the stretches, by its kernel, on
arrays over the same memory. Draws that depend on nothing come first, in their order.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import starmap
from operator import is_, itemgetter
from typing import Any

import numpy as np

from ...backend.onednn import calls
from ...backend.onednn.address import address, addresses
from ...backend.onednn.threads import settled_threads
from ...core import poison
from ...core.dispatch.mode import thread
from ...core.dispatch.scalars import number_as
from ...core.foreign import ctypes
from ...core.garbage import collection_paused
from ...core.interrupts import raise_if_interrupted
from ...core.locks import lock
from ...core.tensor.casting import cast
from ...core.tensor.storage import describe
from ...core.terminal import long_work
from ...core.warn import warn_once
from ..capture.sources import External, Fresh, Into
from ..install import install_native
from ..ir.exchange import is_exchange, join_halves
from ..ir.graph import Call, Extern, Graph, Nest, Node, Ref, Update, Value
from ..ir.verify import verify
from ..jit.native_update import native_update
from ..log import show
from ..lower.llvm.engine import NEEDED, available
from ..lower.llvm.program import Program
from ..lower.onednn import Binder, Needs, Pack, bind, choose, serves
from ..passes.cse import cse
from ..passes.dce import dce
from ..passes.expand import expand
from ..passes.fuse import fuse
from ..passes.hoist import hoist
from ..passes.inline import inline
from ..passes.layout import layout
from ..passes.plan_memory import Room, plan_memory
from ..passes.rebase import rebase
from ..passes.simplify import hoist_lookups, simplify
from . import arena, heap, undo
from .interpret import Executable, Interpreter
from .prepacked_weights import Packs


def optimise(graph: Graph) -> Graph:
    """A new graph that does the same in nests and library calls.

    The last one is checked, with RUSHLIGHT_CHECK=1 that of each pass.
    """
    new = graph
    steps: list[tuple[str, Callable[[Graph], Graph]]] = [
        ("expand", lambda g: expand(g, serves)),
        ("dce", dce),
        ("cse", cse),
        ("inline", inline),
        ("simplify", simplify),
        ("inline", inline),
        ("dce", dce),
        ("cse", cse),
        ("dce", dce),
        ("hoist_lookups", hoist_lookups),
        ("layout", lambda g: layout(g, choose, serves)),
        ("hoist", hoist),
        ("fuse", fuse),
    ]
    for name, step in steps:
        new = step(new)
        if poison.on or name == "fuse":
            verify(new, name)
        show("passes", f"after {name}: {len(new.nodes)} nodes")
    new.nodes = _draws_first(new.nodes)
    return new


class Native:
    """An executable for one graph. It has one arena (`arena.py`): threads take turns.

    Primitives are made for a number of threads. When a run finds another one (`set_num_threads`), all is built again.
    among_eager: eager calls of the same step need their primitives again; else the first run gives their room back.
    """

    def __init__(self, graph: Graph, among_eager: bool = False):
        install_native()
        self.captured = graph
        self.lock = lock()
        self.has_run = among_eager
        self._make(settled_threads())

    def _make(self, threads: int) -> None:
        with long_work("Rushlight compiles"), collection_paused():  # nearly all that a build makes stays
            self._build(threads)

    def _build(self, threads: int) -> None:
        self.threads = threads
        self.graph = graph = optimise(self.captured)
        into = lambda target: target.value if isinstance(target, Into) else None  # noqa: E731
        fresh = lambda target: target.index if isinstance(target, Fresh) else None  # noqa: E731
        self.memory = plan_memory(graph, into, fresh, self._rooms)
        verify(graph, "plan_memory")
        self.packs = Packs((p for p in self.needs.packs if p in self.memory.rooms), graph.inputs, _written(graph))
        size_bytes = self.memory.arena_bytes
        self.arena = arena.shared(size_bytes) if self.captured.as_eager else arena.own(size_bytes)
        self.arena.serve(self, size_bytes)
        self.table = np.zeros(max(1, self.memory.slots), np.int64)
        self.cells = (ctypes.c_int64 * self.table.size).from_buffer(self.table.data)  # the same memory, written faster
        self.arrays: list[np.ndarray] = []
        self.outputs = [_Output(ref) for _, (_, ref) in sorted(self.memory.of_output.items())]
        self.are_plain = all(output.plain for output in self.outputs)
        self.binder: Binder | None = None
        self.steps: list[Callable[[], None]] = []
        fixed = [i for i, source in enumerate(graph.inputs.values()) if isinstance(source, External)]
        self.pick = itemgetter(*fixed) if len(fixed) > 1 else lambda inputs: ()
        self.steady: tuple = ()  # the arrays of tensors outside at the last run: their addresses are in the table
        self.changing = [i for i in range(self.memory.slots) if i not in fixed]
        join_halves(graph.nodes)
        self._assemble(graph)
        self.undo = undo.plan(graph.nodes, _checks_after(graph), self._outside)

    def _outside(self, value: Value) -> tuple[str, int] | None:
        """The input whose memory a value overwrites, or the output that it is."""
        kind, number = self.memory.place.get(value, ("arena", 0))
        if kind != "table":
            return None
        if number < len(self.graph.inputs):
            return "input", number
        if self.captured.as_eager:
            return None  # nothing lends it memory: its outputs are new arrays
        return "output", next(i for i, (slot, _) in self.memory.of_output.items() if slot == number)

    @property
    def size_bytes(self) -> int:
        """Of its arena, which it may share."""
        return self.memory.arena_bytes

    def describe(self) -> str:
        """What was fused and chosen, in a few lines."""
        nodes = self.graph.nodes
        nests = [n for n in nodes if isinstance(n, Nest)]
        calls = Counter(n.kind for n in nodes if isinstance(n, Extern) and n.kind != "blank")
        python = Counter(n.record.name for n in nodes if isinstance(n, Call) and not is_exchange(n))
        loops = sum(len(n.stages) for n in nests)
        lines = [
            f"runs on: native code, {len(nests)} nests of {loops} loops, "
            f"{calls.total()} library calls, {sum(isinstance(n, Update) for n in nodes)} optimizer updates",
            f"  library: {', '.join(f'{n} {kind}' for kind, n in calls.most_common()) or 'none'}",
            *(f"    {kind}: {self._ways(kind)}" for kind, _ in calls.most_common()),
            f"  memory: {self.memory.arena_bytes / 1e6:.1f} MB for intermediate values",
        ]
        if python:
            lines.append("  in Python: " + ", ".join(self._in_python(name, n) for name, n in python.most_common()))
        return "\n  ".join(lines)

    def _ways(self, kind: str) -> str:
        """By which implementations a kind of library call is computed, and how many calls by each."""
        ways = (
            Counter(way for name, way in self.binder.ways() if name == kind) if self.binder is not None else Counter()
        )
        return "; ".join(f"{n} by {way}" for way, n in ways.most_common())

    def _in_python(self, name: str, count: int) -> str:
        reason = self.graph.reasons.get(name, "a random draw")
        return f"{count} {name} ({reason})"

    # ------------------------------------------------------------------------------------------ assembly

    def _rooms(self, graph: Graph) -> Iterator[Iterator[Room]]:
        """The memory that library calls need besides their values; with all packs, then without those that gain least."""
        self.needs = Needs(graph.nodes)
        packs = self.needs.packs
        yield starmap(Room, self.needs.rooms(packs))
        written = _written(graph)
        most = [p for p in packs if p.times != 2 or p.ref.value not in written]
        if len(most) < len(packs):
            yield starmap(Room, self.needs.rooms(most))

    def _assemble(self, graph: Graph) -> None:
        program = self._start()
        after = _checks_after(graph)
        for i, node in enumerate(graph.nodes):
            if isinstance(node, Call | Update):
                program = self._flush(program)
                self.steps.append(self._call(node) if isinstance(node, Call) else self._update(node))
            else:
                self._emit(program, node, i)
            if i in after:
                program = self._flush(program)
                self.steps.append(self._check(after[i]))
        self._flush(program)
        show("kernels", lambda: "\n".join([self.describe(), *(f"  {n!r}" for n in graph.nodes)]))

    def _start(self) -> Program:
        program = Program(self.arena.address)
        if self.binder is not None:
            self.binder.program = program
        return program

    def _flush(self, program: Program) -> Program:
        """Make what was emitted a step of its own, and start again."""
        if not len(program):
            return program
        executable = program.finish()
        run, where = executable.run, self.table.ctypes.data

        def native() -> None:
            status = run(where)
            if status:
                raise RuntimeError(executable.describe(status))

        self.steps.append(native)
        return self._start()

    def _emit(self, program: Program, node: Node, i: int) -> None:
        if isinstance(node, Nest):
            program.launch(*rebase(node, self.memory.place.__getitem__))
        elif isinstance(node, Extern):
            if node.kind == "blank":
                return
            if self.binder is None:
                rooms = {k: self.arena.address + at for k, (at, _) in self.memory.rooms.items() if isinstance(k, Pack)}
                self.binder = Binder(program, self.memory.place.__getitem__, self.needs.uses, rooms)
            offset, size = self.memory.rooms.get(i, (0, 0))
            self.binder.lend(self.arena.address + offset, size)
            if not bind(node, self.binder):
                raise NotImplementedError(f"no kernel for {node!r}")
        else:
            raise TypeError(type(node).__name__)

    # --------------------------------------------------------------------------------------- Python's part

    def _view(self, ref: Ref) -> Callable[[], np.ndarray]:
        """What gives the array that a window shows: the same each time for the arena, else over the run's arrays."""
        kind, number = self.memory.place[ref.value]
        size = ref.dtype.itemsize
        strides = tuple(s * size for s in ref.strides)
        if kind == "arena":
            memory = self.arena.part(self.memory.arena_bytes)
            array = np.ndarray(ref.shape, ref.dtype, memory, number + ref.offset * size, strides)
            return lambda: array
        if kind == "address":
            constant = self.graph.constants[ref.value].reshape(-1)[ref.offset :]
            array = np.lib.stride_tricks.as_strided(constant, ref.shape, strides)
            return lambda: array
        arrays = self.arrays

        def view() -> np.ndarray:
            a = arrays[number]
            if not ref.offset and a.shape == ref.shape and a.strides == strides:
                return a
            flat = np.lib.stride_tricks.as_strided(a, (ref.value.size,), (size,))
            return np.ndarray(ref.shape, ref.dtype, flat, ref.offset * size, strides)

        return view

    def _exchange(self, node: Call) -> Callable[[], None]:
        """A call that other processes take part in, in the memory of its result."""
        record: Any = node.record
        views = [self._view(o) for o in (*node.operands, *node.results)]

        def call() -> None:
            try:
                record.make(*[view() for view in views])
            except Exception as error:
                error.add_note(f"in a compiled function, at {describe(node.line)}")
                raise

        return call

    def _call(self, node: Call) -> Callable[[], None]:
        if is_exchange(node):
            return self._exchange(node)
        record, kernel = node.record, node.kernel()
        operands = [self._operand(o, to) for o, to in zip(node.operands, node.types(), strict=True)]
        results = [None if r is None else self._view(r) for r in node.results]

        def call() -> None:
            try:
                out = thread.state.run(record.invoke, kernel, [o() for o in operands], node.metadata)
            except Exception as error:
                error.add_note(f"in a compiled function, at {describe(node.line)}")
                raise
            values = out if isinstance(out, tuple | list) else (out,)
            for result, value in zip(results, values, strict=False):
                if result is not None:
                    np.copyto(result(), value)

        return call

    def _operand(self, operand: Any, to: Any) -> Callable[[], Any]:
        if not isinstance(operand, Ref):
            value = operand if operand is None or to is None else number_as(operand, to)
            return lambda: value
        view = self._view(operand)
        if to is None or to.numpy == operand.dtype:
            return view
        return lambda: cast(view(), to.numpy)

    def _update(self, node: Update) -> Callable[[], None]:
        """The optimizer's update, natively where its code can be made, else by its own function over arrays."""
        lists = [refs and [r and self._view(r) for r in refs] for refs in node.lists]
        windows = {k for k, o in node.options.items() if isinstance(o, Ref)}
        options: dict[str, Any] = {k: self._view(o) if k in windows else o for k, o in node.options.items()}

        def numbers() -> dict[str, Any]:
            return {k: o().item() if k in windows else o for k, o in options.items()}

        def by_arrays() -> None:
            arrays = [views and [v and v() for v in views] for views in lists]
            thread.state.run(node.apply, node.update, arrays, numbers())

        native = self._native_update(node)
        return by_arrays if native is None else _Fused(self, node, native, options, by_arrays)

    def _native_update(self, node: Update) -> Any:
        shapes: list[Any] = [refs and [_empty_like(r) for r in refs] for refs in node.lists]
        if any(a is None for row in shapes if row for a in row):
            return None
        plain = {k: 0.5 if isinstance(o, Ref) else o for k, o in node.options.items()}
        native = native_update(node.update, shapes, plain, quick=not node.as_eager)
        return native if native is not None and native.set_options(plain) else None

    def _check(self, checks: list[tuple[Value, type[Exception], str]]) -> Callable[[], None]:
        flags = [(self._view(value.ref()), error, text) for value, error, text in checks]

        def check() -> None:
            for flag, error, text in flags:
                if flag()[()]:
                    raise error(text)

        return check

    # ------------------------------------------------------------------------------------------- running

    def run(
        self,
        inputs: list[np.ndarray],
        reuse: list[np.ndarray | None],
        owner: Callable[[int], Any] | None = None,
    ) -> list[np.ndarray]:
        """See `interpret.Executable`."""
        threads = settled_threads()
        if threads != self.threads:
            with self.lock:
                if threads != self.threads:
                    self._make(threads)
        room = self.arena
        with room.lock, self.lock:
            if room is not self.arena:  # another thread has built all again meanwhile
                return self.run(inputs, reuse, owner)
            outer, needed = room.in_use, self.memory.arena_bytes
            found = room.part(min(outer, needed)).copy() if outer else None
            room.in_use = max(outer, needed)
            try:
                return self._run(inputs, reuse, owner)
            finally:
                room.in_use = outer
                if found is not None:
                    room.part(found.size)[:] = found

    def _run(self, inputs: list[np.ndarray], reuse: list[np.ndarray | None], owner: Any) -> list[np.ndarray]:
        if not self.has_run:
            self.has_run = True
            _return_memory()
        out = [
            array if array is not None and output.fits(array) else output.make()
            for output, array in zip(self.outputs, reuse, strict=False)
        ]
        if poison.on:
            for memory in (self.arena.part(self.memory.arena_bytes), *out):
                poison.fill(memory)
        arrays = self.arrays
        arrays[:] = inputs
        arrays += out
        if not self.steady or not all(map(is_, self.pick(inputs), self.steady)):
            self.steady = ()  # a child that is forked here must not take the table for filled
            self.table[: len(arrays)] = addresses(arrays)
            self.steady = self.pick(inputs)
        else:
            cells = self.cells
            for i in self.changing:
                cells[i] = address(arrays[i])
        if self.binder is not None:
            self.binder.rebind(self.table)
            self.packs.begin(inputs, owner, self.binder)
        try:
            for step in self.steps:
                step()
        finally:
            arrays.clear()
        self.packs.done()
        if self.are_plain:
            return out
        return [output.shown(a) for output, a in zip(self.outputs, out, strict=True)]


class _Output:
    """How the memory of a fresh output is made and seen."""

    def __init__(self, ref: Ref):
        self.ref = ref
        v = ref.value
        self.order = sorted(range(len(v.shape)), key=lambda i: (-v.strides[i], i))
        self.shape = tuple(v.shape[i] for i in self.order)
        self.back = tuple(self.order.index(i) for i in range(len(v.shape)))
        self.plain = ref.is_whole() and self.back == tuple(range(len(v.shape)))
        self.dtype = v.dtype
        self.strides = tuple(s * v.dtype.itemsize for s in ref.strides)

    def fits(self, array: np.ndarray) -> bool:
        return array.shape == self.ref.shape and array.strides == self.strides and array.dtype == self.dtype

    def make(self) -> np.ndarray:
        a = np.empty(self.shape, self.dtype)
        return a if self.plain else a.transpose(self.back)

    def shown(self, array: np.ndarray) -> np.ndarray:
        if self.plain or array.shape == self.ref.shape and array.strides == self.strides:
            return array
        return np.lib.stride_tricks.as_strided(array, self.ref.shape, self.strides)


class _Fused:
    """An optimizer's update as one native call."""

    def __init__(self, native: Native, node: Update, code: Any, options: dict[str, Any], otherwise: Callable):
        self.native, self.code, self.otherwise = native, code, otherwise
        refs = [r for row in node.lists if row is not None for r in row]
        places = [native.memory.place[r.value] for r in refs]
        self.pointers = code.pointers.reshape(-1)
        self.pointers[:] = [
            r.offset * r.dtype.itemsize + {"arena": native.arena.address + where, "address": where, "table": 0}[kind]
            for r, (kind, where) in zip(refs, places, strict=True)
        ]
        self.outside = np.array([i for i, (kind, _) in enumerate(places) if kind == "table"], np.intp)
        self.slots = np.array([where for kind, where in places if kind == "table"], np.intp)
        self.offsets = self.pointers[self.outside]
        self.varying = [(code.names.index(name), o) for name, o in options.items() if callable(o)]
        self.addresses = b""
        self.call, self.block = code.kernel.call, code.block.ctypes.data

    def __call__(self) -> None:
        code = self.code
        for position, option in self.varying:
            code.scalars[position] = option()
        addresses = self.native.table.take(self.slots)
        found = addresses.tobytes()
        if found != self.addresses:
            self.pointers[self.outside] = addresses + self.offsets
            self.addresses = found
        code.set_threads()
        if self.call(self.block):  # also where the code is not right for these options
            self.otherwise()


def _return_memory() -> None:
    """Give the system back what eager calls took: room of primitives, which a program does not use, and freed memory."""
    calls.thread.release()
    heap.give_back()


def _empty_like(ref: Ref | None) -> np.ndarray | None:
    """An array of a window's geometry whose memory is never touched."""
    if ref is None:
        return None
    size = ref.dtype.itemsize
    low, high = ref.extent()
    flat = np.empty(high - low + 1, ref.dtype)
    return np.lib.stride_tricks.as_strided(flat, ref.shape, tuple(s * size for s in ref.strides))


def _draws_first(nodes: list[Node]) -> list[Node]:
    """The nodes with the draws that depend on no value in front, unless others draw too."""
    draws = [n for n in nodes if isinstance(n, Call) and n.record.draws]
    if any(n.record.draws != "shape" for n in draws):
        return nodes
    first = {id(n) for n in draws}
    return [*draws, *(n for n in nodes if id(n) not in first)]


def _written(graph: Graph) -> set[Value]:
    """The inputs whose content the program replaces."""
    return {target.value for _, target in graph.outputs if isinstance(target, Into)}


def _checks_after(graph: Graph) -> dict[int, list]:
    """Index of a node -> the checks that can be made once it has run."""
    defined = {v: i for i, node in enumerate(graph.nodes) for v in node.writes()}
    out: dict[int, list] = {}
    for check in graph.checks:
        if check[0] in defined:
            out.setdefault(defined[check[0]], []).append(check)
    return out


def executable(graph: Graph) -> Executable:
    """What runs a graph: native code, or, where that cannot be made, the interpreter, with one warning."""
    if not available():
        warn_once(f"Compiled programs are interpreted here, more slowly: {NEEDED}")
        return Interpreter(graph)
    try:
        return Native(graph)
    except Exception as error:
        raise_if_interrupted(error)
        if os.environ.get("RUSHLIGHT_CHECK") == "1":
            raise
        warnings.warn(
            "no native code could be generated, so a compiled function runs in the slower interpreter: "
            f"{type(error).__name__}: {error}",
            stacklevel=2,
        )
        return Interpreter(graph)
