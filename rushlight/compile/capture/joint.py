"""The backward of a captured function whose result is differentiated later: a second program, run by one node.

After the forward was captured, gradients are sent through its history while the recorder still listens. What that
reads of the forward's values is kept by the forward program; where the history ends, at parameters and arguments, the
node has its edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...autograd import engine
from ...core.dispatch.mode import thread
from ...core.tensor.node import Leaf, Node, Output
from ...core.tensor.storage import storage_of, tick
from ...core.tensor.tensor import Tensor, wrap
from ..ir.graph import Graph, Value
from ..ir.prune import prune
from .listening import listen
from .outputs import Outcome
from .recorder import Listener, Recorder
from .sources import CaptureError, Fresh, Incoming, Kept


class Backward:
    """A captured backward: its graph, where its inputs come from, and which edge each result is for."""

    def __init__(self, recorder: Recorder, outcome: Outcome):
        self.shapes = [t._array.shape for t in outcome.live]
        self.dtypes = [t._array.dtype for t in outcome.live]
        edges = [t._edge for t in outcome.live]
        self.wants, wanted = _ends(recorder, edges)
        self.refused: str | None = None  # the error of this backward, if the function itself made it impossible
        forward, self.graph = recorder.graph, Graph()
        recorder.graph, listener = self.graph, Listener(recorder, strict=True)
        _refuse_hooks(edges, set(wanted))
        hooks = [(e, e.hooks) for e in wanted]  # the engine runs them after the program
        try:
            for e in wanted:
                e.hooks = None
            roots = [(e, self._incoming(recorder, i)) for i, e in enumerate(edges)]
            grads = listen(listener, lambda: engine.run(roots, True, False, wanted, accumulate=False), (), {})
        except CaptureError:
            raise
        except RuntimeError as error:
            self.refused, self.graph, grads = str(error), Graph(), [None] * len(wanted)
        except Exception as error:
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

    def node(self, leaves: list, arrays: list) -> CompiledFunctionBackward:
        """The node of one run of the forward program, whose Fresh arrays are `arrays`."""
        node: Any = object.__new__(CompiledFunctionBackward)
        node.seq = tick()
        node.edges = tuple(s.tensor(leaves)._edge for s in self.wants)
        node.shape, node.dtype = tuple(self.shapes), None
        node.storage = node.hooks = None
        saved, storages, owners = [], [], []
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
        node.saved = saved, storages, owners
        node.backward_of = self
        return node

    def lives(self, leaves: list, arrays: list) -> Callable:
        """A function that gives result number `i`, the tensor `t`, its edge."""
        node: Any = None

        def edge(i: int, t: Tensor) -> Output:
            nonlocal node
            if node is None:
                node = self.node(leaves, arrays)
            e: Any = object.__new__(Output)
            e.seq, e.edges, e.index = tick(), (node,), i
            e.saved, e.storage, e.hooks = (), None, None
            e.shape, e.dtype = t._array.shape, t._array.dtype
            return e

        return edge

    def run(self, saved: list, owners: list, grads: list) -> tuple:
        """The gradient for each edge from those of the results (None: no gradient). owners: the inputs' tensors."""
        inputs = []
        for array, source in zip(saved, self.graph.inputs.values(), strict=True):
            if type(source) is Incoming:
                g = grads[source.index]
                kind = self.dtypes[source.index]
                shape = self.shapes[source.index]
                array = np.zeros(shape, kind) if g is None else np.ascontiguousarray(g._array).reshape(shape)
            inputs.append(array)
        out = self.executable.run(inputs, [None] * len(self.graph.outputs), owners.__getitem__)
        return tuple(None if fresh is None else wrap(out[fresh.index]) for fresh in self.results)


class CompiledFunctionBackward(Node):
    """Runs the backward program of one call of a compiled function."""

    __slots__ = ("backward_of",)
    backward_of: Backward

    def name(self) -> str:
        return "CompiledFunctionBackward"

    def backward(self, g: list) -> tuple:
        if thread.state.grad:
            raise RuntimeError(
                "torch.compile with aot_autograd does not currently support double backward: call the function without "
                "compile for create_graph=True"
            )
        if self.backward_of.refused is not None:
            raise RuntimeError(self.backward_of.refused)
        saved, storages, owners = self.saved
        for s in storages:
            if s.stamp > self.seq:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: a "
                    f"tensor {list(s.root.shape)} that a compiled function kept for its backward is at version "
                    f"{s.version}; expected version {s.version_at(self.seq)} instead"
                )
        return self.backward_of.run(saved, owners, g)


def _ends(recorder: Recorder, edges: list) -> tuple[list, list]:
    """The tensors from outside at which the histories end: their sources, and their edges."""
    existing = recorder.existing
    ends = {t._edge: t for t in existing.tensors if t._edge is not None and id(t) in recorder.wanting}
    sources, wanted, seen, stack = [], [], set(), list(reversed(edges))
    while stack:
        edge = stack.pop()
        if edge is None or edge in seen:
            continue
        seen.add(edge)
        if edge in ends:
            sources.append(existing.source_of(ends[edge]))
            wanted.append(edge)
        elif type(edge) is not Leaf:
            stack.extend(reversed(edge.edges))
    return sources, wanted


def _refuse_hooks(edges: list, ends: set) -> None:
    """Raise where the function hangs hooks into its own history: a program would not call them."""
    seen, stack = set(ends), list(edges)
    while stack:
        edge = stack.pop()
        if edge is None or edge in seen:
            continue
        seen.add(edge)
        if getattr(edge, "hooks", None) is not None or type(edge).__name__ == "BackwardHook":
            raise CaptureError(
                "a hook (register_hook(), a module's backward hook, or retain_grad()) is registered on a tensor computed "
                "inside the compiled function, and the program would not call it; register it outside"
            )
        stack.extend(edge.edges)
