"""What has to be as it was when a function was captured, so that the program may stand for it."""

from __future__ import annotations

from itertools import pairwise, repeat
from operator import attrgetter, is_, is_not, itemgetter
from typing import Any

import numpy as np

from ..backend.onednn.precision import fpmath
from ..core.dtype import get_default_dtype
from ..core.mode import thread
from ..core.tensor import Tensor
from .capture import Recorder
from .interpret import window
from .outcome import Outcome
from .sources import Argument, Attribute, External, Gradient, Option, Window, extent
from .structure import same
from .surroundings import HOOKS, OURS, PLAIN, as_guards

_training_of = itemgetter("training")
_array_of, _edge_of, _grad_of = attrgetter("_array"), attrgetter("_edge"), attrgetter("_grad")


class Guards:
    """The conditions of one captured program."""

    def __init__(
        self,
        recorder: Recorder,
        outcome: Outcome,
        leaves: list,
        template: Any,
        modes: tuple,
    ):
        self.template = template
        self.leaves = [_describe(leaf) for leaf in leaves]
        self.modes = modes
        self.same_places, self.around = as_guards(recorder.around.places)
        self.rows = recorder.around.rows
        sources = [s.source if isinstance(s, Window) else s for s in recorder.graph.inputs.values()]
        self._note_tensors(recorder, outcome, sources)
        self.values = [(recorder.graph.inputs[ref.value], window(ref), a) for _, ref, a in recorder.looked]
        self.carried = [(s, _describe(recorder.before(s))) for s in sources if isinstance(s, Attribute)]
        written = [s.source if isinstance(s, Window) else s for s, _ in outcome.written]
        shared = _aliases(leaves)
        self.aliases = shared if any(shared) or any(isinstance(s, Argument) for s in written) else ()
        self.modules = tuple(m for m, _ in recorder.modules.values())
        self.states = [m.__dict__ for m in self.modules]
        self.training = [state["training"] for _, state in recorder.modules.values()]
        self.hooks = [m.__dict__[name] for m in self.modules for name in HOOKS]
        self.hooked = list(map(len, self.hooks))
        members = [(m._parameters, k, p) for m in self.modules for k, p in m._parameters.items()]
        self.members = tuple(zip(*members, strict=True)) if members else ((), (), ())
        self.attributes = tuple(
            (m.__dict__, k, v)
            for m, state in recorder.modules.values()
            if not type(m).__module__.startswith(OURS)
            for k, v in state.items()
            if isinstance(v, PLAIN) and k != "training"
        )
        self.optimizers = tuple((o, o.param_groups, o.state) for o in recorder.optimizers.values())
        free = {s.key() for s in sources if isinstance(s, Option)}
        self.groups = tuple(_group(*entry, free) for entry in recorder.groups.values())

    def _note_tensors(self, recorder: Recorder, outcome: Outcome, sources: list) -> None:
        existing, leaves = recorder.existing, recorder.leaves
        grads = [s for s in sources if isinstance(s, Gradient)]
        before = {id(t): g for t, g in existing.grads}
        held = {id(s.held) for s in (*sources, *(g.of for g in grads)) if isinstance(s, External)}
        self.externals = tuple(t for t in existing.tensors if id(t) in held)
        self.arrays = [existing.arrays[id(t)] for t in self.externals]
        self.wants = tuple(id(t) in recorder.wanting for t in self.externals)
        self.edges: list = [None] * len(self.externals)
        owners = {s.key(): s for s in (*(g.of for g in grads), *(s for s, _ in outcome.grads))}
        self.owners = tuple(owners.values())
        self.has_grad = tuple(before.get(id(o.tensor(leaves))) is not None for o in self.owners)
        # owners outside that all had a gradient, or all had none, are checked in one go
        outside = all(isinstance(o, External) for o in self.owners) and len(set(self.has_grad)) == 1
        self.holders = tuple(o.tensor(leaves) for o in self.owners) if outside else ()
        self.all_had = outside and self.has_grad[0]
        self.checked_each = not outside
        self.grads = tuple((g, _geometry(existing.arrays[id(before[id(g.of.tensor(leaves))])])) for g in grads)

    def mismatch(self, leaves: list, template: Any, modes: tuple) -> str | None:
        """What is not as it was; None if everything is."""
        if modes != self.modes:
            return "the gradient mode, the default dtype, autocast, or the precision of products"
        if template is not self.template and (len(leaves) != len(self.leaves) or not same(template, self.template)):
            return "the number or the structure of the arguments"
        for i, (leaf, described) in enumerate(zip(leaves, self.leaves, strict=True)):
            if not _fits(leaf, described):
                return f"argument {i}: {_say(described)} became {_say(_describe(leaf))}"
        if self.aliases and _aliases(leaves) != self.aliases:
            return "which arguments share memory"
        changed = self._tensors_changed(leaves) or self._modules_changed() or self._around_changed()
        return changed or (self._values_changed(leaves) if self.values else None)

    def _values_changed(self, leaves: list) -> str | None:
        for source, show, known in self.values:
            if not np.array_equal(show(source.array(leaves)), known):
                return f"the values of a tensor {list(known.shape)} of integers that Python decides by"
        return None

    def _tensors_changed(self, leaves: list) -> str | None:
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
        if not self.checked_each and all(
            map(is_not if self.all_had else is_, map(_grad_of, self.holders), repeat(None))
        ):
            return self._gradients_changed(leaves)
        for o, had in zip(self.owners, self.has_grad, strict=True):
            t = o.tensor(leaves)
            if (t._grad is not None) is not had:
                return f"whether .grad of a tensor {list(t._array.shape)} is None"
        return self._gradients_changed(leaves)

    def _gradients_changed(self, leaves: list) -> str | None:
        for g, geometry in self.grads:
            if _geometry(g.array(leaves)) != geometry:
                return f"the shape or strides of a gradient {list(geometry[0])}"
        return None

    def _modules_changed(self) -> str | None:
        if list(map(_training_of, self.states)) != self.training:
            return "the training flag of a module"
        if list(map(len, self.hooks)) != self.hooked:
            return "the hooks of a module"
        tables, keys, values = self.members
        if not all(map(is_, map(dict.get, tables, keys), values)):
            return "a parameter of a module is another tensor"
        for source, described in self.carried:
            if not _fits(source.tensor([]), described):
                return f"the tensor of {source!r} of a module"
        for table, key, value in self.attributes:
            now = table.get(key)
            if now is not value and (type(now) is not type(value) or now != value):
                return f"the attribute {key!r} of an object: {value!r} became {now!r}"
        return None

    def _around_changed(self) -> str | None:
        for optimizer, groups, state in self.optimizers:
            if optimizer.param_groups is not groups or optimizer.state is not state:
                return "the groups or the state of an optimizer (load_state_dict?)"
        for group, params, count, entries, free in self.groups:
            if group["params"] is not params or len(params) != count:
                return "the parameters of an optimizer"
            for key, value in entries:
                now = group.get(key)
                if now is not value and not _equal(now, value, key, group, free):
                    return f"the optimizer's option {key!r}: {value!r} became {now!r}"
        for row, items in self.rows:
            if len(row) != len(items) or not all(map(is_, row, items)):
                return "the items of a list that the function refers to"
        return None if self.same_places() else self._place_changed()

    def _place_changed(self) -> str | None:
        for scope, key, value in self.around:
            now = scope.cell_contents if key is None else scope.get(key)
            if now is not value and (isinstance(value, Tensor) or type(now) is not type(value) or now != value):
                return f"a value that the function refers to{'' if key is None else ' as ' + repr(key)}"
        return None

    def changed_options(self) -> set:
        """The keys of the options of optimizers that are other numbers than they were, but not zero."""
        keys = set()
        for group, _, _, entries, _ in self.groups:
            for key, value in entries:
                now = group.get(key)
                pairs = [(None, value, now)] if not isinstance(value, tuple) else []
                if isinstance(value, tuple) and isinstance(now, (tuple, list)) and len(now) == len(value):
                    pairs = [(i, v, w) for i, (v, w) in enumerate(zip(value, now, strict=True))]
                keys |= {Option(group, key, i).key() for i, v, w in pairs if v != w and v and w and _is_number(v)}
        return keys


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
    return group, group["params"], len(group["params"]), tuple(entries), mine


def _equal(now: Any, value: Any, key: str, group: dict, free: set) -> bool:
    if isinstance(value, (tuple, list)):
        if not isinstance(now, (tuple, list)) or len(now) != len(value):
            return False
        return all(
            (key, i) in free or a is b or (type(a) is type(b) and not isinstance(a, Tensor) and a == b)
            for i, (a, b) in enumerate(zip(now, value, strict=True))
        )
    return not isinstance(value, Tensor) and type(now) is type(value) and now == value


def _aliases(leaves: list) -> tuple:
    """For each array among the arguments the first one that it shares memory with, and how far behind it it begins."""
    arrays = [a for a in map(_array_in, leaves) if a is not None and a.size]
    extents = [extent(a) for a in arrays]
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
    return state.grad, state.inference, get_default_dtype(), None if region is None else region.dtype, fpmath()


def _geometry(a: np.ndarray) -> tuple:
    return a.shape, a.strides, a.dtype


def _describe(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        a = leaf._array
        return Tensor, a.shape, a.strides, a.dtype, leaf._edge is not None, type(leaf)
    if type(leaf) is np.ndarray:
        return np.ndarray, leaf.shape, leaf.strides, leaf.dtype
    return None, leaf


def _fits(leaf: Any, described: tuple) -> bool:
    kind = described[0]
    if kind is Tensor:
        if not isinstance(leaf, Tensor):
            return False
        a = leaf._array
        return (
            a.shape == described[1]
            and a.strides == described[2]
            and a.dtype is described[3]
            and (leaf._edge is not None) is described[4]
            and type(leaf) is described[5]
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
