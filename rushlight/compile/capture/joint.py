"""The backward of a captured function whose result is differentiated later: a second program, run by one node.

After the forward was captured, gradients are sent through its history while the recorder still listens. What that
reads of the forward's values is kept by the forward program; where the history ends, at parameters and arguments, the
node has its edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...autograd import engine
from ...autograd.function import BackwardCFunction, written_backward
from ...core.dispatch.mode import emit_event, thread
from ...core.interrupts import raise_if_interrupted
from ...core.tensor.node import Freed, Leaf, Node, Output, function_of, inner
from ...core.tensor.storage import describe, moves, storage_of, tick, user_line
from ...core.tensor.tensor import Tensor, wrap
from ..ir.graph import Graph, Value
from ..ir.prune import prune
from .listener import Listener
from .listening import listen
from .outputs import Outcome
from .recorder import Recorder
from .side_effects import side_effect
from .sources import CaptureError, Fresh, Incoming, Kept
from .splice import copied


class Backward:
    """A captured backward: its graph, where its inputs come from, and which edge each result is for."""

    def __init__(self, recorder: Recorder, outcome: Outcome):
        self.shapes = [t._array.shape for t in outcome.live]
        self.dtypes = [t._array.dtype for t in outcome.live]
        edges = [t._edge for t in outcome.live]
        self.wants, wanted, self.fed = _ends(recorder, edges)
        self.outline = Outline(edges, wanted)
        self.refused: str | None = None  # the error of this backward, if the function itself made it impossible
        forward, self.graph = recorder.graph, Graph()
        recorder.graph, listener = self.graph, _BackwardListener(recorder)
        _refuse_hooks(edges, set(wanted))
        _refuse_side_effects(edges, set(wanted))
        hooks = [(e, e.hooks) for e in wanted]  # the engine runs them after the program
        try:
            for e in wanted:
                e.hooks = None
            roots = [(e, self._incoming(recorder, i)) for i, e in enumerate(edges)]
            grads = listen(listener, lambda: engine.run(roots, True, False, wanted, accumulate=False), (), {})
        except CaptureError:
            raise
        except RuntimeError as error:
            raise_if_interrupted(error)
            self.refused, self.graph, grads = str(error), Graph(), [None] * len(wanted)
        except Exception as error:
            raise_if_interrupted(error)
            raise CaptureError(
                f"the backward of the compiled function raised {type(error).__name__}: {error}"
            ) from error
        finally:
            recorder.graph = forward
            for e, known in hooks:
                e.hooks = known
        if listener.error is not None:
            raise listener.error
        self.results = [self._result(recorder, g) for g in grads]
        if any(r.writes for r in recorder.memory.all() if r.source is not None and r.first in self.graph.inputs):
            raise CaptureError(
                "a hook writes in place to a tensor from outside the compiled function during its backward; write to it "
                "after backward()"
            )
        prune(self.graph)
        self._find_inputs(recorder, outcome, forward)
        self.executable: Any = None
        self.recorded: Any = None
        self.is_hidden = False  # whether the user sees an eager graph
        self.kept = {s.index for s in self.graph.inputs.values() if type(s) is Kept}

    def build(self, make: Callable[[Graph], Any]) -> None:
        """Make the executable, and keep what was recorded for tapes that this backward is a part of."""
        self.recorded = copied(self.graph)
        self.executable = make(self.graph)

    def _incoming(self, recorder: Recorder, i: int) -> Tensor:
        g = wrap(np.ones(self.shapes[i], self.dtypes[i]))
        if g._array.size:
            region = recorder.memory.add(g._array, Incoming(i))
            self.graph.inputs[region.first] = region.source
        return g

    def _result(self, recorder: Recorder, g: Any) -> Fresh | None:
        if g is None or not g._array.size:
            return None
        ref, fresh = recorder.ref(g, None, "backward"), Fresh(len(self.graph.outputs))
        self.graph.outputs.append((ref, fresh))
        return fresh

    def _find_inputs(self, recorder: Recorder, outcome: Outcome, forward: Graph) -> None:
        """Make an input of every value that the forward leaves behind.

        A tensor from outside is taken as it is, and checked to be unchanged when the backward runs.
        """
        written = {r.first for r in recorder.memory.all() if r.source is not None and r.writes}
        known = {*self.graph.constants, *(v for n in self.graph.nodes for v in n.writes())}
        reads = [r for n in self.graph.nodes for r in n.reads()] + [r for r, _ in self.graph.outputs]
        read = {r.value for r in reads}
        inputs: dict[Value, Any] = {v: s for v, s in self.graph.inputs.items() if v in read}
        for value in dict.fromkeys(r.value for r in reads):
            if value in known or value in inputs:
                continue
            if value in forward.constants:
                self.graph.constants[value] = forward.constants[value]
            elif value in forward.inputs and value not in written:
                inputs[value] = forward.inputs[value]
            else:
                inputs[value] = Kept(outcome.keep(value.ref()).index)
        self.graph.inputs = inputs

    # ------------------------------------------------------------------------------------------ replays

    def node(self, leaves: list, arrays: list, again: Any = None) -> CompiledFunctionBackward:
        """The node of one run of the forward program, whose Fresh arrays are `arrays`. again: see `Lives`."""
        node: Any = object.__new__(CompiledFunctionBackward)
        node.seq = tick()
        node.edges = tuple(s.tensor(leaves)._edge for s in self.wants)
        node.shape, node.dtype = tuple(self.shapes), None
        node.storage = node.hooks = None
        saved, storages, owners, shown = [], [], [], []
        for source in self.graph.inputs.values():
            owners.append(None)
            if type(source) is Incoming:
                saved.append(None)
            elif type(source) is Kept:
                saved.append(arrays[source.index])
            else:
                saved.append(source.array(leaves))
                t = source.tensor(leaves)
                if isinstance(t, Tensor):
                    storages.append(storage_of(t))
                    owners[-1] = t
                    shown.append((t, t._array))
        node.saved = saved, storages, owners, again, shown
        node.backward_of, node.eager, node.seen = self, None, None
        return node

    def lives(self, leaves: list, arrays: list, again: Any = None) -> Lives:
        """The histories of one run's results."""
        return Lives(self, leaves, arrays, again)

    def run(self, saved: list, owners: list, grads: list) -> tuple:
        """The gradient for each edge from those of the results (None: no gradient). owners: the inputs' tensors."""
        listens = thread.state.level > 1
        inputs = []
        for array, source in zip(saved, self.graph.inputs.values(), strict=True):
            inputs.append(self._arriving(source.index, grads, listens) if type(source) is Incoming else array)
        out = self.executable.run(inputs, [None] * len(self.graph.outputs), owners.__getitem__)
        if listens:
            emit_event("ran", self.recorded, inputs, out)
        given = {i for i, g in enumerate(grads) if g is not None}
        return tuple(
            None if fresh is None or given.isdisjoint(fed) else wrap(out[fresh.index])
            for fresh, fed in zip(self.results, self.fed, strict=True)
        )

    def _arriving(self, i: int, grads: list, listens: bool) -> np.ndarray:
        """The array of the gradient of a result, zeros where none arrives."""
        g, shape = grads[i], self.shapes[i]
        if g is None:
            g = wrap(np.zeros(shape, self.dtypes[i]))
            if listens:
                emit_event("created", g)
        elif not g._array.flags.c_contiguous:
            g = g.contiguous()  # an operator, which a listener hears
        return g._array if g._array.shape == shape else g._array.reshape(shape)


class Lives:
    """Gives the results of one run of the forward program their histories: one node for all of them.

    again: for a call that is a program without being compiled by name, what makes its eager history (`jit/module_calls.py`).
    """

    def __init__(self, backward: Backward, leaves: list, arrays: list, again: Any):
        self.backward, self.leaves, self.arrays, self.again = backward, leaves, arrays, again
        self.node: Any = None

    def edge(self, i: int, t: Tensor) -> Output:
        """The edge of result number `i`, the tensor `t`."""
        if self.node is None:
            self.node = self.backward.node(self.leaves, self.arrays, self.again)
        e: Any = object.__new__(Output)
        e.seq, e.edges, e.index = tick(), (self.node,), i
        e.saved, e.storage, e.hooks = (), None, None
        e.shape, e.dtype = t._array.shape, t._array.dtype
        return e

    def share(self, index: int, t: Tensor) -> None:
        """`t` shows the run's array number `index`: if backward reads it, it has to stay as it is until then."""
        if self.node is not None and index in self.backward.kept:
            self.node.saved[1].append(storage_of(t))


class CompiledFunctionBackward(Node):
    """Runs the backward program of one call of a compiled function.

    eager: the edges of the results in the history that the call would have had without its program, once something has
    asked for it: a second derivative, or a look at the graph. The backward then goes through it. seen: edges of stand-ins,
    where it could not be made any more.
    """

    __slots__ = ("backward_of", "eager", "seen")
    backward_of: Backward
    eager: list | None
    seen: list | None

    def name(self) -> str:
        backward = self.backward_of
        return backward.outline.name() if backward.is_hidden else "CompiledFunctionBackward"

    def function(self, index: int) -> tuple:
        if not self.backward_of.is_hidden:
            return self, index
        edges = self.history()
        if edges is None:
            if self.seen is None:
                self.seen = self.backward_of.outline.edges(self.edges)
            edges = self.seen
        return function_of(edges[index])

    def history(self) -> list | None:
        """The eager edges of the results; None where they cannot be made any more."""
        if self.eager is None and type(self.saved) is not Freed and self.saved[3] is not None:
            self.eager = self.saved[3].edges()
        return self.eager

    def is_moved(self) -> bool:
        """Whether something that the call has read was given other memory since, by `t.data = ...`."""
        if moves.latest <= self.seq or type(self.saved) is Freed:
            return False
        again, shown = self.saved[3:]
        return any(t._array is not a for t, a in shown) or (again is not None and bool(again.moved()))

    def parts(self) -> list[Node]:
        """The nodes of the eager history. What a second derivative has saved may lead to them past this node."""
        found: list[Node] = []
        seen, stack = set(self.edges), list(self.eager or ())
        while stack:
            node = stack.pop()
            if node is None or node in seen or type(node) is Leaf:
                continue
            seen.add(node)
            found.append(node)
            stack += node.edges
        return found

    def backward(self, g: list) -> tuple:
        saved, storages, owners, again, shown = self.saved
        for s in storages:
            if s.stamp > self.seq:
                engine.stale(self, s.root, s, "for its backward")
        is_moved = self.is_moved()
        if is_moved:
            for t, _ in shown:
                if (s := storage_of(t)).stamp > self.seq:
                    engine.stale(self, t._array, s, "for its backward")
        if self.eager is not None or (again is not None and (is_moved or thread.state.grad)):
            edges = self.history()
            if is_moved:
                again.forgo("tensors are given other memory (`t.data = ...`) between its calls and their backward")
            return self._through(edges, g)
        if thread.state.grad:
            raise RuntimeError(
                "torch.compile with aot_autograd does not currently support double backward: call the function without "
                "compile for create_graph=True"
            )
        if self.backward_of.refused is not None:
            raise RuntimeError(self.backward_of.refused)
        if is_moved:  # torch's own compiled functions read the old memory or the new, as the backend has saved them
            raise RuntimeError(
                "a tensor that a compiled function has read was given other memory (t.data = ...) between the call and its "
                "backward(): assign it after backward(), or call the function without compile"
            )
        return self.backward_of.run(saved, owners, g)

    def _through(self, edges: list | None, g: list) -> tuple:
        """The gradients by the eager history."""
        if edges is None:
            raise RuntimeError(
                "the history of a module's call is needed (for create_graph=True, or since its graph was looked at), but "
                "tensors or settings that the call has read have changed since; set RUSHLIGHT_JIT=0 to run it by its operators"
            )
        hooks = [(e, e.hooks) for e in self.edges]  # the engine that called this runs them
        create = thread.state.grad
        try:
            for e in self.edges:
                e.hooks = None
            roots = [(e, gi) for e, gi in zip(edges, g, strict=True) if gi is not None]
            keep = create or engine.running.task.keep_graph
            return tuple(engine.run(roots, keep, create, list(self.edges), accumulate=False))
        finally:
            for e, known in hooks:
                e.hooks = known


class Outline:
    """What the graph of the results looked like when the call was captured: names, and how they hang together."""

    def __init__(self, edges: list, ends: list):
        at_end = {function_of(e): i for i, e in enumerate(ends)}
        roots = [function_of(e) for e in edges]
        found: dict[Any, tuple[int, tuple]] = {}  # (number, what it shows as its inputs) of each node
        stack = list(roots)
        while stack:
            pair = stack.pop()
            if pair[0] not in found and _is_inside(pair, at_end):
                found[pair[0]] = len(found), pair[0].next_functions
                stack += found[pair[0]][1]

        def place(pair: tuple) -> tuple | None:
            """(None, number of an end) or (number of a node, which of its results)."""
            if pair in at_end:
                return None, at_end[pair]
            return (found[pair[0]][0], pair[1]) if _is_inside(pair, at_end) else None

        self._nodes = [(type(node).__name__, [place(p) for p in inputs]) for node, (_, inputs) in found.items()]
        self._roots = [place(p) for p in roots]

    def name(self) -> str:
        """Of the node that made the first result."""
        number, _ = self._roots[0] or (None, 0)
        return "AccumulateGrad" if number is None else self._nodes[number][0]

    def edges(self, ends: tuple) -> list:
        """Edges of the results in a graph to be looked at, which ends at these edges."""
        made = [inner(name) for name, _ in self._nodes]

        def edge(place: tuple | None) -> Any:
            if place is None or place[0] is None:
                return None if place is None else ends[place[1]]
            number, index = place
            if not index:
                return made[number]
            output: Any = object.__new__(Output)
            output.seq, output.edges, output.index, output.saved, output.hooks = 0, (made[number],), index, (), None
            return output

        for node, (_, places) in zip(made, self._nodes, strict=True):
            node.edges = tuple(map(edge, places))
        return list(map(edge, self._roots))


def _is_inside(pair: tuple, at_end: dict) -> bool:
    return pair not in at_end and pair[0] is not None and type(pair[0]) is not Leaf


def _ends(recorder: Recorder, edges: list) -> tuple[list, list, list[set[int]]]:
    """The tensors from outside at which the histories end: their sources, their edges, and the results that lead there."""
    existing = recorder.existing
    before = recorder.wanting
    ends = {before[id(t)]: t for t in existing.tensors if id(t) in before}
    found: dict[Any, set[int]] = {}
    for i, root in enumerate(edges):
        seen, stack = set(), [root]
        while stack:
            edge = stack.pop()
            if edge is None or edge in seen:
                continue
            seen.add(edge)
            if edge in ends:
                found.setdefault(edge, set()).add(i)
            elif type(edge) is not Leaf:
                stack.extend(reversed(edge.edges))
    return [existing.source_of(ends[e]) for e in found], list(found), list(found.values())


class _BackwardListener(Listener):
    """Refuses writes to what existed before the backward: the real one makes them again."""

    def __init__(self, recorder: Recorder):
        super().__init__(recorder, lambda error: True)
        self._before = set(map(id, recorder.memory.all()))

    def writing(self, target: Tensor) -> None:
        """`target` is about to be written."""
        region = self._recorder.memory.find(target._array) if target._array.size else None
        if target._array.size and (region is None or id(region) in self._before):
            line = describe(user_line(1))
            self.refuse(CaptureError(
                f"{line}: the backward of a custom function writes in place to a tensor from outside it, once more than "
                "without compiling; compute a new tensor, or compile a step that calls backward() itself"
            ))  # fmt: skip


def _nodes(edges: list, ends: set) -> Iterator[Any]:
    """The edges and nodes of a history that ends at `ends`."""
    seen, stack = set(ends), list(edges)
    while stack:
        edge = stack.pop()
        if edge is not None and edge not in seen:
            seen.add(edge)
            yield edge
            stack.extend(edge.edges)


def _refuse_side_effects(edges: list, ends: set) -> None:
    """Raise where a custom function's backward does more than compute: it runs now, and again when gradients arrive."""
    for node in _nodes(edges, ends):
        written = written_backward(node.forward_cls) if isinstance(node, BackwardCFunction) else None
        found = None if written is None else side_effect(written)
        if found is not None:
            raise CaptureError(
                f"the backward of {node.name().removesuffix('Backward')} {found}: while the function is captured it would "
                "be run once more than the program says"
            )


def _refuse_hooks(edges: list, ends: set) -> None:
    """Raise where the function hangs hooks into its own history: a program would not call them."""
    for edge in _nodes(edges, ends):
        if getattr(edge, "hooks", None) is not None or type(edge).__name__ == "BackwardHook":
            raise CaptureError(
                "a hook (register_hook(), a module's backward hook, or retain_grad()) is registered on a tensor computed "
                "inside the compiled function, and the program would not call it; register it outside"
            )
