"""What a captured call leaves behind: its result, gradients, tensors that were written or given other memory.

`Outcome` is worked out when the capture ends, and says how a replay makes the same from the arrays that the program
returns.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.live_objects import tensors_and_modules
from ...core.tensor.node import Freed, Leaf, Node, Output
from ...core.tensor.placeholder import Placeholder
from ...core.tensor.storage import address_of, describe
from ...core.tensor.strides import element_strides, strides_of
from ...core.tensor.tensor import Tensor
from ..ir.graph import Ref
from . import scalars_read
from .memory import Region
from .recorder import Recorder
from .sources import Attribute, CaptureError, External, Fresh, Into, NoElements
from .structure import flatten


class Same(NamedTuple):
    """A result that is a tensor from outside itself."""

    source: Any


class Made(NamedTuple):
    """A result with the geometry of `ref` in the memory of a fresh array or of a source.

    history: None, "leaf" (requires grad), the Node class of a consumed history, or the number of a live one.
    inference: made in inference mode. view: (what it is a view of, the operator, its arguments, the mode), without history.
    """

    memory: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    whole: bool
    history: Any
    grad: Any
    inference: bool = False
    view: tuple | None = None


class View(NamedTuple):
    """A view with a history, of a tensor that the program also reaches otherwise: made again from that one, by the operator.

    A write to either has to be in the history of both.
    """

    base: Any
    record: Any
    metadata: tuple


class Number(NamedTuple):
    """A Python number computed from what was read: `how` with a Fresh in the place of each Read."""

    how: Any


class Constant(NamedTuple):
    """Any other object of the result."""

    value: Any


class Outcome:
    """See the module's text. `live`: the result's tensors whose history a backward may still walk."""

    def __init__(self, recorder: Recorder, template: Any, leaves: list):
        """template, leaves: of the result."""
        self._recorder = recorder
        self._graph = recorder.graph
        self._fresh: dict[Any, Fresh] = {}
        self._specs: dict[int, Any] = {}
        self.live: list[Tensor] = []
        self._held: list[Any] = []  # tensors that the result, gradients and other memory hold
        self._entangled = _entangled([t for t in leaves if isinstance(t, Tensor)], self._existed)
        self.assigned = list(self._assigned())
        self.template = template
        self.leaves = [self._spec(leaf) for leaf in leaves]
        self.rebased = list(self._rebased())
        self.schedules = [self._schedule(*entry) for entry in recorder.schedules]
        self.grads = list(self._changed_grads())
        self.moved = list(self._moved())
        self.written = self._written()
        after = [(m, m.__dict__.get("training"), before) for m, before in recorder.training]
        self.training = [(m, now) for m, now, before in after if now is not before]
        self.count = len(self._fresh)

    # ------------------------------------------------------------------------------------------ outputs

    def _output(self, key: Any, ref: Ref) -> Fresh:
        known = self._fresh.get(key)
        if known is None:
            known = self._fresh[key] = Fresh(len(self._fresh))
            self._graph.outputs.append((ref, known))
        return known

    def keep(self, ref: Ref) -> Fresh:
        """The output that is a whole value, which the backward program needs: a result's, or one more."""
        shown = (to for r, to in self._graph.outputs if type(to) is Fresh and r.value is ref.value and r.is_whole())
        fresh = next(shown, None) or self._output(("kept", ref.value), ref)
        self.count = len(self._fresh)
        return fresh

    def _memory(self, region: Region) -> Any:
        return self._output(region, region.value.ref()) if region.source is None else region.source

    def _spec(self, leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return self._tensor(leaf)
        if scalars_read.is_read(leaf):
            mine = leaf.recorder is self._recorder  # else a number that an earlier capture left behind
            return Number(self._number(leaf.origin)) if mine else Constant(scalars_read.plain(leaf))
        read = self._recorder.floats.get(id(leaf))
        if read is not None and read[0] is leaf:
            return Number(self._number(read[1]))
        return Constant(leaf)

    def _number(self, how: Any) -> Any:
        if isinstance(how, scalars_read.Read):
            return scalars_read.Read(self._output(how.ref, how.ref), how.kind)  # type: ignore[arg-type]
        if isinstance(how, scalars_read.Computed):
            return scalars_read.Computed(how.function, tuple(self._number(a) for a in how.arguments))
        return how

    def _tensor(self, t: Tensor) -> Any:
        known = self._specs.get(id(t))
        if known is None:
            self._held.append(t)
            known = self._specs[id(t)] = self._new_spec(t)
        return known

    def _new_spec(self, t: Tensor) -> Any:
        if self._existed(t):
            return Same(self._recorder.existing.source_of(t))
        if id(t) in self._entangled:
            return self._made_again(t)
        if type(t) is not Tensor:
            raise CaptureError(
                f"the compiled function creates a {type(t).__name__}: tensor subclasses created inside it are not "
                "supported. Return a plain tensor, and wrap it outside"
            )
        if not t._array.size:
            return self._without_elements(t)
        region = self._recorder.region(t, None, "the result")
        strides = element_strides(t._array)
        ref = region.ref(t._array)
        grad = None if t._grad is None else self._tensor(t._grad)
        return Made(
            self._memory(region),
            ref.shape,
            strides,
            ref.offset,
            ref.is_whole(),
            self._history(t),
            grad,
            t.is_inference(),
            self._view(t),
        )

    def _existed(self, t: Tensor) -> bool:
        existing = self._recorder.existing
        return id(t) in existing.known or id(t) in existing.arguments

    def _made_again(self, t: Tensor) -> View:
        base, record, metadata, _ = t._view  # type: ignore[misc]
        if base._view is not None:
            self._entangled.add(id(base))
        return View(self._tensor(base), record, metadata)

    def _without_elements(self, t: Tensor) -> Made:
        edge, a = t._edge, t._array
        if edge is not None and type(edge) is not Leaf and not is_consumed(edge):
            raise CaptureError(
                f"the compiled function returns a tensor without elements, {list(a.shape)}, that has a gradient function: "
                "a program has no backward for it. Return it detached, or call the function only with data"
            )
        history = self._history(t)
        grad = None if t._grad is None else self._tensor(t._grad)
        strides = strides_of(t)
        memory = NoElements(a.dtype, a.shape, strides)
        return Made(memory, a.shape, strides, 0, True, history, grad, t.is_inference(), self._view(t))

    def _view(self, t: Tensor) -> tuple | None:
        """How a view without history, or one made without gradients, came about, for what is asked and written later."""
        if t._view is None:
            return None
        base, *how = t._view
        if how[-1] > 0 and (t._edge is not None or base._edge is not None):
            return None
        return self._tensor(base), *how

    def _history(self, t: Tensor) -> Any:
        edge = t._edge
        if edge is None:
            return None
        if type(edge) is Leaf:
            return "leaf"
        if is_consumed(edge):
            node = edge.edges[0] if type(edge) is Output else edge
            return type(node)
        self.live.append(t)
        return len(self.live) - 1

    # ------------------------------------------------------------------------------------------ side effects

    def _schedule(self, step: Callable, scheduler: Any, args: tuple, kwargs: dict) -> tuple:
        leaves: list = []
        template = flatten((args, kwargs), leaves)
        return step, scheduler, template, [self._spec(leaf) for leaf in leaves]

    def _rebased(self):
        """(source, history) of each tensor from outside that was given another history, as by a write in place."""
        recorder = self._recorder
        changed = [t for t in recorder.existing.tensors if t._edge is not recorder.wanting.get(id(t))]
        for t in changed:  # another thread changes its own
            region = recorder.memory.find(t._array) if t._array.size else None
            if id(t) not in recorder.existing.arguments and (region is None or region.source is None):
                continue
            if t._view is not None and id(t._view[0]) in recorder.existing.known:
                if id(t) not in recorder.existing.arguments:
                    continue  # it follows what it is a view of
                raise CaptureError(
                    "the compiled function writes in place to an argument that has a history and is a view; pass the tensor "
                    "that it is a view of, or clone() it"
                )
            self._held.append(t)
            yield recorder.existing.source_of(t), self._history(t)

    def _changed_grads(self):
        """(source, spec) of each tensor whose `.grad` is another one than before, by what this thread did."""
        existing, graded = self._recorder.existing, self._recorder.changed_grads
        changed = [
            (existing.source_of(t), t) for t, before in existing.grads if t._grad is not before and id(t) in graded
        ]
        for source, t in sorted(changed, key=_by_source):
            yield source, None if t._grad is None else self._tensor(t._grad)

    def _assigned(self):
        """(attribute, spec) of the modules' tensors that were replaced by others."""
        recorder = self._recorder
        changed = [
            (Attribute(d, k), t) for d, k, t in recorder.attributes if isinstance(d.get(k), Tensor) and d[k] is not t
        ]
        for attribute, t in changed:
            for region in recorder.memory.all():
                if isinstance(region.source, External) and region.source.held is t:
                    region.source = self._graph.inputs[region.first] = attribute
        for attribute, _ in sorted(changed, key=_by_source):
            yield attribute, self._tensor(attribute.tensor([]))

    def _moved(self):
        """(source, spec) of each tensor that was given other memory."""
        existing = self._recorder.existing
        moved = [(existing.source_of(t), t) for t in existing.tensors if t._array is not existing.arrays[id(t)]]
        for source, t in sorted(moved, key=_by_source):
            if not t._array.size:
                yield source, self._without_elements(t.detach())
                continue
            region = self._recorder.region(t, None, "an assignment to .data")
            ref = region.ref(t._array)
            yield source, Made(self._memory(region), ref.shape, ref.strides, ref.offset, ref.is_whole(), None, None)

    def _written(self) -> list[tuple[Any, int]]:
        """(source, number of versions) of each region from outside that has another value now."""
        written = []
        for region in self._recorder.memory.all():
            if region.source is not None and region.writes:
                written.append((region.source, region.writes - region.unseen))
                self._graph.outputs.append((region.value.ref(), Into(region.first)))
        return written

    # ------------------------------------------------------------------------------------------ what is kept

    def check_kept(self, returned_numbers: list) -> bool:
        """Raise where something made inside lives on in a place that the program would not fill.

        returned_numbers: the numbers among the result that were read.
        Returns False where an optimizer made its state inside: this call cannot represent the next ones.
        """
        try:
            return self._check_kept(returned_numbers)
        except CaptureError:
            pass
        gc.collect()  # what only a cycle that nothing leads to refers to is not kept; a search costs as much as a capture
        return self._check_kept(returned_numbers)

    def _check_kept(self, returned_numbers: list) -> bool:
        held = _held_by(self._held)
        state = {
            id(v)
            for optimizer in self._recorder.optimizers.values()
            for entry in optimizer.state.values()
            for v in (entry.values() if isinstance(entry, dict) else ())
        }
        complete = True
        for t in [t for t in tensors_and_modules() if isinstance(t, Tensor) and not isinstance(t._array, Placeholder)]:
            if id(t) in self._recorder.existing.known or id(t) in held or not t._array.size:
                continue
            at = address_of(t._array)
            region = self._recorder.memory.find_any(at)
            if region is None or region.source is not None or region.line is None or at >= region.end:
                continue  # also what another thread makes
            if id(t) in state:
                complete = False
                continue
            raise CaptureError(
                f"{describe(region.line)}: a tensor {list(t._array.shape)} computed inside the compiled function is "
                "stored outside it (in an attribute, a list or a global), which the program would not repeat. Return it"
            )
        returned = {id(leaf.token) for leaf in returned_numbers}
        for number in (r() for r in self._recorder.handed_out):
            if number is not None and id(number) not in returned:
                raise CaptureError(
                    "a number from .item() is stored outside the compiled function (in an attribute, a list or a global), "
                    "which the program would not repeat. Return it"
                )
        return complete

    def release(self) -> None:
        """Forget the capture: its graph, and the memory of its results and gradients."""
        del self._recorder, self._graph, self._held, self._fresh, self._specs
        self.live = []


def _by_source(entry: tuple) -> tuple:
    return entry[0].key()


def _entangled(results: list[Tensor], existed: Callable[[Tensor], bool]) -> set[int]:
    """The results that are views with a history of a tensor from outside, or that overlap with other results."""
    by_root: dict[int, list[Tensor]] = {}
    found = set()
    for t in {id(t): t for t in results if not existed(t)}.values():
        root = t
        while root._view is not None and not existed(root):
            root = root._view[0]
        if _is_view_with_history(t):
            if existed(root):
                found.add(id(t))
            by_root.setdefault(id(root), []).append(t)
        elif root is t:
            by_root.setdefault(id(t), []).append(t)
    for together in by_root.values():
        arrays = [t._array for t in together]
        if len(together) > 1 and any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i]):
            found.update(id(t) for t in together if t._view is not None)
    return found


def _is_view_with_history(t: Tensor) -> bool:
    edge = t._edge
    if t._view is None or t._grad is not None or edge is None or type(edge) is Leaf or is_consumed(edge):
        return False
    return not any(map(scalars_read.is_read, t._view[2]))


def is_consumed(edge: Any) -> bool:
    """Whether a backward has used up something of the history."""
    seen, stack = set(), [edge]
    while stack:
        node = stack.pop()
        if node is None or node in seen or type(node) is Leaf:
            continue
        seen.add(node)
        target = getattr(node, "inner", node)
        if type(target.saved) is Freed:
            return True
        stack.extend(node.edges)
    return False


def _held_by(tensors: list[Tensor]) -> set[int]:
    """The tensors themselves, those that they are views of, and those that their histories save."""
    held: set[int] = set()
    seen: set[Any] = set()
    stack: list[Any] = list(tensors)
    while stack:
        o = stack.pop()
        if isinstance(o, Tensor):
            if id(o) in held:
                continue
            held.add(id(o))
            stack += [o._grad, o._edge, o._view[0] if o._view is not None else None]
        elif isinstance(o, Node) and o not in seen:
            seen.add(o)
            stack += [*o.edges, *_tensors_in(getattr(o, "saved", ())), getattr(o, "inner", None)]
    return held


def _tensors_in(saved: Any) -> list:
    if isinstance(saved, (tuple, list)):
        return [t for v in saved for t in _tensors_in(v)]
    if isinstance(saved, dict):
        return _tensors_in(list(saved.values()))
    return [saved] if isinstance(saved, Tensor) else []
