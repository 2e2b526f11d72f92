"""What has to be as it was when a function was captured, so that the program may replace it."""

from __future__ import annotations

import weakref
from bisect import bisect_left
from itertools import accumulate, compress, pairwise, repeat
from operator import attrgetter, is_
from typing import Any

import numpy as np

from ...backend.onednn.precision import fpmath
from ...core.dispatch.extension_points import function_tables, hook_tables
from ...core.dispatch.mode import thread
from ...core.dispatch.torch_function import modes as function_modes
from ...core.tensor.dtype import get_default_dtype
from ...core.tensor.node import Leaf
from ...core.tensor.placeholder import NoArray
from ...core.tensor.storage import address_of
from ...core.tensor.tensor import Tensor
from ..capture.outputs import Outcome
from ..capture.recorder import Recorder
from ..capture.sources import Argument, Attribute, CaptureError, External, Gradient, Option, Window, extent
from ..capture.structure import same
from ..ir.exchange import assigned_by
from ..runtime.interpret import window
from . import layouts
from .arguments import Asked
from .checks import PLAIN, Check, Checks, Entries, Holds, Items, Slots, same_content, snapshot
from .python_state import class_table

_hooks_of = attrgetter("hooks")
_PARTS_OF_HOOKS = "tensor", "pre", "post", "accumulated", "retain"
_array_of, _edge_of = attrgetter("_array"), attrgetter("_edge")


class CallGuards:
    """The conditions that a call shows: its arguments, but for the contents of tensors, and the modes."""

    def __init__(self, leaves: list, template: Any, modes: tuple):
        self.template = template
        self.leaves = [_describe(leaf) for leaf in leaves]
        self.modes = modes

    def shapes(self) -> tuple:
        """The shapes of the tensors among the arguments."""
        return tuple([described[1] for described in self.leaves if described[0] is Tensor])

    def mismatch(self, leaves: list, template: Any, modes: tuple) -> str | None:
        """What is not as it was; None if everything is."""
        if modes != self.modes:
            return "the gradient mode, the default dtype, autocast, or the float32 matmul precision"
        if template is not self.template and (len(leaves) != len(self.leaves) or not same(template, self.template)):
            return "the number or the structure of the arguments"
        try:
            if all(map(_fits, leaves, self.leaves)):
                return None
        except NoArray:
            pass
        for i, (leaf, described) in enumerate(zip(leaves, self.leaves, strict=True)):
            try:
                if not _fits(leaf, described):
                    return f"argument {i}: {_say(described)} became {_say(_describe(leaf))}"
            except NoArray:
                return f"argument {i}: {_say(described)} became a sparse or nested tensor"
        return None


class Guards(CallGuards):
    """The conditions of one captured program."""

    def __init__(
        self,
        recorder: Recorder,
        outcome: Outcome,
        leaves: list,
        template: Any,
        modes: tuple,
    ):
        super().__init__(leaves, template, modes)
        sources = [s.source if isinstance(s, Window) else s for s in recorder.graph.inputs.values()]
        self._note_tensors(recorder, outcome, sources)
        self.contents = [(i, snapshot(leaves[i])) for i in sorted(recorder.arrays_read)]
        self.values = [(recorder.graph.inputs[ref.value], window(ref), a) for _, ref, a in recorder.looked]
        self.carried = [(s, _describe(recorder.before(s))) for s in sources if isinstance(s, Attribute)]
        written = [s.source if isinstance(s, Window) else s for s, _ in outcome.written]
        shared = _aliases(_extents(leaves))
        writes_argument = any(isinstance(s, Argument) for s in written)
        self.aliases = shared if any(shared) or writes_argument else ()
        ids = {id(s.held) for s in written if isinstance(s, External)}
        self.must_not_overlap = [i for i, t in enumerate(self.externals) if writes_argument or id(t) in ids]
        self.extents: tuple[Any, list, list] = None, [], []
        free = {s.key() for s in sources if isinstance(s, Option)}
        self.groups = tuple(_group(group, before, free) for group, before in recorder.groups.values())
        assert recorder.state is not None  # of the finished capture
        assigned = {(id(attribute.scope), attribute.name) for attribute, _ in outcome.assigned}
        recorder.state.settle(assigned | assigned_by(recorder.graph.nodes))
        self.asked = Asked(leaves, *recorder.state.names)
        self.state = Checks([_Tensors(self), *recorder.state.checks, *_library_checks(recorder)])
        return_arrays = [leaf for leaf in outcome.leaves if isinstance(getattr(leaf, "value", None), np.ndarray)]
        if return_arrays:
            raise CaptureError("the compiled function returns a NumPy array; return a tensor, and convert it outside")

    def _note_tensors(self, recorder: Recorder, outcome: Outcome, sources: list) -> None:
        existing, leaves = recorder.existing, recorder.leaves
        grads = [s for s in sources if isinstance(s, Gradient)]
        before = {id(t): g for t, g in existing.grads}
        held = {id(s.held) for s in (*sources, *(g.of for g in grads)) if isinstance(s, External)}
        self.externals = tuple(t for t in existing.tensors if id(t) in held)
        self.arrays = [existing.arrays[id(t)] for t in self.externals]
        self.wants = tuple(id(t) in recorder.wanting for t in self.externals)
        self.edges: list = [None] * len(self.externals)
        self.hooks = [
            t._edge.hooks for t, wants in zip(self.externals, self.wants, strict=True) if wants and t._edge is not None
        ]
        owners = {s.key(): s for s in (*(g.of for g in grads), *(s for s, _ in outcome.grads))}
        has = [(o, before.get(id(o.tensor(leaves))) is not None) for o in owners.values()]
        self.holders = tuple((o.held, had) for o, had in has if isinstance(o, External))
        self.owners = tuple((o, had) for o, had in has if not isinstance(o, External))
        existing.note_aliased(recorder.memory)
        arrays = existing.arrays
        self.parts = tuple((s, whole, _place(arrays[i], arrays[id(whole)])) for i, (s, whole) in existing.parts.items())
        self.grads = tuple((g, _geometry(existing.arrays[id(before[id(g.of.tensor(leaves))])])) for g in grads)

    def mismatch(self, leaves: list, template: Any, modes: tuple) -> str | None:
        """What is not as it was; None if everything is."""
        of_call = super().mismatch(leaves, template, modes)
        if of_call is not None:
            return of_call
        extents = _extents(leaves) if self.aliases or self.must_not_overlap else []
        if self.aliases and _aliases(extents) != self.aliases:
            return "which arguments share memory"
        changed = self.asked.changed(leaves) or self._state_changed()
        if changed is None and (self.owners or self.grads):
            changed = self._arguments_changed(leaves)
        if changed is None and self.must_not_overlap and self._overlaps(extents):
            return "which arguments share memory with tensors that the function writes"
        return changed or (self._values_changed(leaves) if self.values or self.contents else None)

    def differs_in_shapes(self, leaves: list, template: Any, modes: tuple) -> bool:
        """Whether a call would fit with arguments of other shapes; what the values of arguments decide is not looked at."""
        if modes != self.modes or len(leaves) != len(self.leaves) or not same(template, self.template):
            return False
        fits = all(
            _has_type(leaf, described) if described[0] is Tensor else _fits(leaf, described)
            for leaf, described in zip(leaves, self.leaves, strict=True)
        )
        return fits and self.shapes() != shapes_of(leaves) and self._state_changed() is None

    def _values_changed(self, leaves: list) -> str | None:
        for i, copy in self.contents:
            if not same_content(leaves[i], copy):
                return f"the values of argument {i}, which Python reads"
        for source, show, known in self.values:
            if not np.array_equal(show(source.array(leaves)), known):
                return f"the values of a tensor {list(known.shape)} of integers that Python branches on"
        return None

    def _tensors_changed(self) -> str | None:
        """What is not as it was about the tensors outside: their arrays, what they want, their hooks, their gradients."""
        now = list(map(_array_of, self.externals))
        if not all(map(is_, now, self.arrays)):
            for a, b in zip(now, self.arrays, strict=True):
                if a is not b and _geometry(a) != _geometry(b):
                    return f"the shape, strides or type of a tensor {list(b.shape)}"
            self.arrays = now
        edges = list(map(_edge_of, self.externals))
        if not all(map(is_, edges, self.edges)):
            for t, edge, wants in zip(self.externals, edges, self.wants, strict=True):
                if (edge is not None) is not wants:
                    return f"requires_grad of a tensor {list(t._array.shape)}"
            self.edges = edges
        if not all(map(is_, map(_hooks_of, compress(edges, self.wants)), self.hooks)):
            return "the hooks of a tensor"
        for t, had in self.holders:
            if (t._grad is not None) is not had:
                return f"whether .grad of a tensor {list(t._array.shape)} is None"
        for source, whole, place in self.parts:
            part = source.tensor([])
            if part is None or _place(part._array, whole._array) != place:
                return f"where a tensor {list(place[1])} is in the memory of another"
        return None

    def _arguments_changed(self, leaves: list) -> str | None:
        for o, had in self.owners:
            t = o.tensor(leaves)
            if (t._grad is not None) is not had:
                return f"whether .grad of a tensor {list(t._array.shape)} is None"
        return self._gradients_changed(leaves) if self.grads else None

    def _gradients_changed(self, leaves: list) -> str | None:
        for g, geometry in self.grads:
            if _geometry(g.array(leaves)) != geometry:
                return f"the shape or strides of a gradient {list(geometry[0])}"
        return None

    def _state_changed(self) -> str | None:
        for source, described in self.carried:
            if not _fits(source.tensor([]), described):
                return f"the tensor of {source!r} of a module"
        for group, entries, free in self.groups:
            for key, value in entries:
                now = group.get(key)
                if now is not value and not _equal(now, value, key, group, free):
                    return f"the optimizer's option {key!r}: {value!r} became {now!r}"
        failed = self.state.failed()
        return None if failed is None else failed.said()

    def _overlaps(self, extents: list) -> bool:
        """Whether an argument overlaps memory outside that the program writes, or, if it writes arguments, reads."""
        if self.extents[0] is not self.arrays:
            places = sorted(extent(self.arrays[i]) for i in self.must_not_overlap if self.arrays[i].size)
            ends = accumulate((end for _, end in places), max)  # of all that begin no later
            self.extents = self.arrays, [low for low, _ in places], list(ends)
        _, starts, ends = self.extents
        for low, high in extents:
            i = bisect_left(starts, high)
            if i and ends[i - 1] > low:
                return True
        return False

    def changed_options(self) -> set:
        """The keys of the options of optimizers that are other numbers than they were, but not zero."""
        keys = set()
        for group, entries, _ in self.groups:
            for key, value in entries:
                now = group.get(key)
                pairs = [(None, value, now)] if not isinstance(value, tuple) else []
                if isinstance(value, tuple) and isinstance(now, (tuple, list)) and len(now) == len(value):
                    pairs = [(i, v, w) for i, (v, w) in enumerate(zip(value, now, strict=True))]
                keys |= {Option(group, key, i).key() for i, v, w in pairs if v != w and v and w and _is_number(v)}
        return keys


class _Tensors(Check):
    """The tensors outside, by one method of the guards."""

    __slots__ = ("guards", "reason")

    def __init__(self, guards: Guards):
        self.guards, self.reason = weakref.ref(guards), None  # they hold this: a cycle would keep a model's memory
        self.what = "a tensor outside"

    def holds(self) -> bool:
        self.reason = self._guards()._tensors_changed()
        return self.reason is None

    def _guards(self) -> Guards:
        guards = self.guards()
        assert guards is not None  # the caller has them
        return guards

    def said(self) -> str:
        return self.reason or self.what

    def words(self) -> list[tuple[int, int]] | None:
        guards = self._guards()
        if self.holds() is False or any(type(e) is not Leaf for e in compress(guards.edges, guards.wants)):
            return None
        places: list[tuple[Any, str, Any]] = list(zip(guards.externals, repeat("_array"), guards.arrays))
        places += zip(guards.externals, repeat("_edge"), guards.edges)
        places += zip(compress(guards.edges, guards.wants), repeat("hooks"), guards.hooks)
        for t, had in guards.holders:  # of a gradient only that there is one: no matter which it will be
            g = t._grad
            if (g is not None) is not had:
                return None
            places.append((t, "_grad", g))
        for source, *_ in guards.parts:
            if not isinstance(source, External):
                return None
            places.append((source.held, "_array", source.held._array))
        words = [layouts.of_slot(*place) for place in places]
        return None if None in words else [w for pair in words for w in pair or ()]


def _is_number(v: Any) -> bool:
    return type(v) in (int, float)


def _group(group: dict, before: dict, free: set) -> tuple:
    """A group, its parameters, the other entries that it had, and where numbers among them are inputs."""
    entries = []
    for key, value in before.items():
        if key == "params" or Option(group, key, None).key() in free or key in ("initial_lr", "param_names"):
            continue
        entries.append((key, tuple(value) if isinstance(value, list) else value))
    mine = {(name, position) for _, g, name, position in free if g == id(group)}
    return group, tuple(entries), mine


def _library_checks(recorder: Recorder) -> list[Check]:
    """What the package's own code reads while the function runs: optimizers, hooks of tensors, of all modules, groups."""
    found: list[Check] = [Holds(says, "what a collective depends on") for says in recorder.conditions.values()]
    for o in recorder.optimizers.values():
        name = type(o).__name__
        found.append(Entries(vars(o), _OF_OPTIMIZERS, f"an attribute of the optimizer {name}"))
        found.append(Items(o.param_groups, f"the parameter groups of {name}"))
        found += [Items(group["params"], f"the parameters of {name}") for group in o.param_groups]
        found.append(Entries(o.state, None, f"the state of {name}"))
        found += [Entries(e, None, f"the state of {name}") for e in o.state.values() if isinstance(e, dict)]
        found += [Entries(vars(o)[k], None, f"the hooks of {name}") for k in _STEP_HOOKS if k in vars(o)]
    for hooks in filter(None, (getattr(t._edge, "hooks", None) for t in recorder.existing.tensors)):
        parts = Slots(hooks, _PARTS_OF_HOOKS, "the hooks of a tensor")
        found += [parts, *(Entries(table, None, parts.what) for table in parts.values if isinstance(table, dict))]
    found += [Entries(table, list(table), "a function of the library") for table in function_tables.values]
    found += [Entries(table, None, "hooks of all modules or optimizers") for table in hook_tables.values]
    found += [Entries(class_table(c), _OF_CLASSES, f"a method of {c.__name__}") for c in _classes(recorder)]
    return found


def _classes(recorder: Recorder) -> set[type]:
    """The classes whose methods the package calls, and the tensor's."""
    objects = list(recorder.modules.values()) + list(recorder.optimizers.values())
    return {c for o in objects for c in type(o).__mro__ if c is not object}


_OF_OPTIMIZERS = (
    "param_groups",
    "state",
    "step",
    "zero_grad",
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
)
_STEP_HOOKS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
_OF_CLASSES = ("forward", "__call__", "_forward", "step", "_update", "zero_grad")


def _equal(now: Any, value: Any, key: str, group: dict, free: set) -> bool:
    if isinstance(value, (tuple, list)):
        if not isinstance(now, (tuple, list)) or len(now) != len(value):
            return False
        return all(
            (key, i) in free or a is b or (type(a) is type(b) and not isinstance(a, Tensor) and a == b)
            for i, (a, b) in enumerate(zip(now, value, strict=True))
        )
    return not isinstance(value, Tensor) and type(now) is type(value) and now == value


def _extents(leaves: list) -> list[tuple[int, int]]:
    """The addresses of the arrays among the arguments."""
    return [extent(a) for a in map(_array_in, leaves) if a is not None and a.size]


def _aliases(extents: list[tuple[int, int]]) -> tuple:
    """For each array among the arguments the first one that it shares memory with, and how far after its start it begins."""
    if all(high <= low for (_, high), (low, _) in pairwise(sorted(extents))):
        return (None,) * len(extents)
    return tuple(_first_shared(extents[: i + 1]) for i in range(len(extents)))


def _first_shared(extents: list[tuple[int, int]]) -> tuple[int, int] | None:
    low, high = extents.pop()
    return next(((i, low - a) for i, (a, b) in enumerate(extents) if a < high and low < b), None)


def _array_in(leaf: Any) -> np.ndarray | None:
    return leaf._array if isinstance(leaf, Tensor) else leaf if type(leaf) is np.ndarray else None


def modes() -> tuple:
    """The modes of the thread that decide what operators do."""
    state = thread.state
    region = state.autocast
    autocast = None if region is None else region.dtype
    return state.grad, state.inference, get_default_dtype(), autocast, fpmath(), *function_modes()


def _geometry(a: np.ndarray) -> tuple:
    return a.shape, a.strides, a.dtype


def _place(part: np.ndarray, whole: np.ndarray) -> tuple:
    """Where an array is, from the beginning of another one's memory."""
    return address_of(part) - address_of(whole), *_geometry(part)


def _describe(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        a = leaf._array
        return Tensor, a.shape, a.strides, a.dtype, leaf._edge is not None, type(leaf)
    if type(leaf) is np.ndarray:
        return np.ndarray, leaf.shape, leaf.strides, leaf.dtype
    return None, leaf


def shapes_of(leaves: list) -> tuple:
    """The shapes of the tensors among a call's arguments."""
    return tuple([leaf._array.shape for leaf in leaves if isinstance(leaf, Tensor)])


def _has_type(leaf: Any, described: tuple) -> bool:
    """Whether a leaf is a tensor like the one that is described, of as many dimensions."""
    if type(leaf) is not described[5]:
        return False
    a, shape = leaf._array, described[1]
    return a.dtype is described[3] and len(a.shape) == len(shape) and (leaf._edge is not None) is described[4]


def _fits(leaf: Any, described: tuple) -> bool:
    kind = described[0]
    if kind is Tensor:
        if type(leaf) is not described[5]:
            return False
        a = leaf._array
        return (
            a.shape == described[1]
            and a.strides == described[2]
            and a.dtype is described[3]
            and (leaf._edge is not None) is described[4]
        )
    if kind is np.ndarray:
        return type(leaf) is np.ndarray and _geometry(leaf) == described[1:]
    value = described[1]
    if leaf is value:
        return True
    return type(leaf) is type(value) and isinstance(value, PLAIN) and leaf == value


def _say(described: tuple) -> str:
    if described[0] is None:
        return repr(described[1])
    flag = ", requires_grad" if described[0] is Tensor and described[4] else ""
    return f"{described[3]}{list(described[1])} with strides {list(described[2])}{flag}"
