"""Parameters that no step ever changes: unused in the forward, cut off, in no optimizer, or hidden in a plain list."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

from ...core.tensor.node import Leaf
from ...nn.modules.container import ModuleDict, ModuleList
from .. import names
from ..cuts import leaves_of
from ..events import Assign, Backward, Call
from ..idle import only_named
from ..ledger import Entry
from ..places import (
    Place,
    assignment_of,
    attributes_of_program,
    is_own_class,
    made_in_function,
    parameter_made_in_function,
)
from ..words import many, words_shared
from . import Check

_USES_OF_GRADIENTS = {
    "step", "grad", "clip_grad_norm_", "get_total_norm", "register_hook", "register_post_accumulate_grad_hook", "register_full_backward_hook",
}  # fmt: skip


class NotTrainedParam(Check):
    """Judged at the end of the program only: a branch may be taken late."""

    name = "not-trained-param"
    severity = "warning"
    is_last = True

    def __init__(self, doctor):
        super().__init__(doctor)
        self.cuts: dict[Place, set[int]] = {}  # in forwards: where a history ends, and the entries that it was of
        self.filled: dict[int, Place] = {}  # by entry: the last backward before any step
        self.assigns = False  # gradients are given by hand: what is in no optimizer may feed them
        self.upstream: set[int] = set()  # entries whose tensors a forward uses before any that an optimizer has
        self.strangers: list[
            tuple[Place, Any, list[Entry]]
        ] = []  # (call, weak module that is no part of its caller, its tensors)
        # where forwards make parameters, and their entries by identity
        self.fresh: dict[Place, dict[int, Entry]] = {}

    def on_tape(self, event: Backward) -> None:
        assert event.tape is not None
        for node in reversed(event.tape.nodes):  # in the order of the forward
            for edge in node.edges:
                if type(edge) is Leaf and (tensor := edge.ref()) is not None:
                    entry = self.doctor.ledger.entry(tensor)
                    if entry.owners:
                        return
                    self.upstream.add(id(entry))

    def on_backward(self, event: Backward) -> None:
        if not self.doctor.steps:
            for entry in event.entries:
                self.filled[id(entry)] = event.place

    def on_assign(self, event: Assign) -> None:
        self.assigns = True

    def on_inner_call(self, place: Place | None, module: Any, outer: Any) -> None:
        own = [p for p in module.__dict__["_parameters"].values() if p is not None and p.requires_grad]
        if own and place is not None and len(self.strangers) < 256 and all(m is not module for m in outer.modules()):
            self.strangers.append((place, weakref.ref(module), [self.doctor.ledger.entry(p) for p in own]))

    def on_call(self, call: Call, inputs: tuple, results: tuple) -> None:
        if self.doctor.here.module is None or not call.had_history:
            return
        if call.has_history:
            self._note_fresh(call.place, inputs)
            return
        cut = self.cuts.setdefault(call.region or call.place, set())
        if len(cut) < 256:
            cut.update(id(self.doctor.ledger.entry(t)) for t in leaves_of(inputs))

    def _note_fresh(self, place: Place, inputs: tuple) -> None:
        """A parameter that the function which uses it has made."""
        for tensor in inputs:
            if type(getattr(tensor, "_edge", None)) is not Leaf:
                continue
            entry, made = self.doctor.ledger.entry(tensor), parameter_made_in_function(place)
            if entry.is_parameter and made is not None and len(known := self.fresh.setdefault(made, {})) < 256:
                known[id(entry)] = entry

    def finish(self) -> None:
        trained = [o for o in self.doctor.optimizers if o.steps >= 3 and any(e.total for e in o.entries)]
        if not trained:
            self._never_stepped()
            return
        self._unused(trained)
        self._unowned(trained)
        self._made_in_forward()
        self._parameters_made_in_forward()

    def _never_stepped(self) -> None:
        """An optimizer whose tensors get gradients, in a program that makes no step and does nothing else with them."""
        if self.doctor.steps or self.assigns or self.doctor.is_cut_short:
            return
        for optimizer in self.doctor.optimizers:
            used = [e for e in optimizer.entries if e.total >= 3 and e.tensor is not None]
            place = self.filled.get(id(used[0])) if used else None
            if place is None:
                continue
            named = only_named("step", place)
            if named is None and (attributes_of_program(place) & _USES_OF_GRADIENTS):
                continue
            self.doctor.report(
                self,
                named or place,
                f"the parameters get gradients at line {place.line} and never change: "
                + (
                    f"{named.text.partition('  #')[0]} is only named here, and not called"
                    if named
                    else "there is no step() in the program"
                ),
                "call optimizer.step() after each backward()",
                [(optimizer.place, "the optimizer"), (place if named else None, "the backward")],
            )
            return

    def _unused(self, trained: list[Any]) -> None:
        """In an optimizer that trains, but without a gradient ever."""
        if self.doctor.findings.has("missing-create-graph") or self.doctor.findings.has("wrong-function"):
            return  # which say why no gradient reaches them
        weights = {id(e.tensor) for e in self.doctor.ledger.alive() if e.total}
        for optimizer in trained:
            unused = [
                e
                for e in optimizer.entries
                if not e.total
                and not _has_trained_weight(e, weights)
                and e.tensor is not None
                and e.tensor.requires_grad
                and e.tensor._grad is None
                and not self._is_choice(e)
            ]
            if not unused or len(unused) == len(optimizer.entries) or self._is_foreign(unused):
                continue
            mine = {id(e) for e in unused}
            cuts = {
                place: len(mine & entries) - 0.01 * len(entries - mine)
                for place, entries in self.cuts.items()
                if mine & entries
            }
            cut = max(cuts, key=lambda place: cuts[place]) if cuts else None
            if (before := self.doctor.cuts.before(unused) or self.doctor.cuts.read_of(unused)) is not None:
                cut = before.place
            owner, name = _owner_of(unused[0].tensor)
            where = cut or (assignment_of(owner, name) if owner is not None else None) or optimizer.place
            them = "them" if len(unused) > 1 else "it"
            what = f"the forward cuts {them} off here" if cut is not None else f"no forward has used {them}"
            self.doctor.report(
                self,
                where,
                f"{unused[0].label} and {many(len(unused) - 1, 'other tensor')} of this optimizer's {len(optimizer.entries)} never "
                f"got a gradient: {what}"
                if len(unused) > 1
                else f"{unused[0].label} never got a gradient: {what}",
                f"use {them} in the forward, do without the cut, or take {them} out of the optimizer",
                [(optimizer.place, "the optimizer")],
            )

    def _unowned(self, trained: list[Any]) -> None:
        """With gradients, but in no optimizer."""
        alive = [e for e in self.doctor.ledger.alive() if e.is_parameter]
        self._plain_tensors()
        free = [e for e in alive if not e.owners and e.total >= 3 and not e.steps]
        owned = [e for e in alive if e.owners]
        if not free or self.assigns or self._is_foreign(free):
            return
        holder = _plain_holder(free)
        is_passed_through = not any(id(e) in self.upstream for e in free) and not _are_of_one_model(free, owned)
        if holder is None and len(free) >= len(owned) and is_passed_through:
            return  # a network that what is trained goes through: of style transfer, of an attack
        place = holder or _misnamed(_at_the_time_of(free, trained)).place
        if holder is not None:
            message = f"modules kept in a plain list or dict here are no part of the model: {many(len(free), 'tensor')} get gradients "
            message += "that no optimizer sees"
            mend = "keep them in nn.ModuleList or nn.ModuleDict"
        else:
            message = f"{free[0].label} is in no optimizer ({len(free)} of {len(free) + len(owned)} tensors that get gradients)"
            mend = "give these parameters to the optimizer, or freeze them with requires_grad_(False)"
        self.doctor.report(self, place, message, mend, [(trained[0].step_place, "the step")])

    def _plain_tensors(self) -> None:
        """Attributes of modules that require grad and are no parameters, and that no statement changes."""
        for entry in self.doctor.ledger.alive():
            if entry.is_parameter or entry.owners or entry.total < 3 or entry.steps or entry.cleared is not None:
                continue
            place = None if self.doctor.ledger.was_written(entry) else _attribute_with(entry.tensor)
            if place is not None:
                self.doctor.report(
                    self,
                    place,
                    f"{entry.label} gets gradients, but model.parameters() does not list it: a tensor with requires_grad is no "
                    "parameter of the module",
                    "make it a parameter: self.name = nn.Parameter(...)",
                )

    def _made_in_forward(self) -> None:
        """In modules that each forward makes, uses once and drops."""
        calls: Counter[Place] = Counter()
        for place, module, entries in self.strangers:
            if module() is None and any(e.total and not e.owners for e in entries):
                calls[place] += 1
        for place, count in calls.items():
            if count >= 2:
                self.doctor.report(
                    self,
                    made_in_function(place) or place,
                    "each call of the forward makes a new module here: its weights are random each time, and no optimizer ever "
                    "sees them",
                    "make it once, in __init__, and call it here",
                    [(place, "the call")],
                )

    def _parameters_made_in_forward(self) -> None:
        """That got gradients and are gone."""
        for place, known in self.fresh.items():
            if sum(e.tensor is None and e.total > 0 and not e.owners and not e.used for e in known.values()) >= 2:
                self.doctor.report(
                    self,
                    place,
                    "each call of the forward makes a new parameter here: what it would learn is lost with it, and no optimizer "
                    "ever sees it",
                    "make it once, in __init__: self.name = nn.Parameter(...)",
                )

    def _is_choice(self, entry: Entry) -> bool:
        """Whether it is in a list or dict of modules of which each step uses some: experts, heads for tasks."""
        most = max(e.total for e in self.doctor.ledger.alive())
        for module in names.modules():
            if isinstance(module, (ModuleList, ModuleDict)) and any(p is entry.tensor for p in module.parameters()):
                siblings = (self.doctor.ledger.known(p) for p in module.parameters())
                if any(e is not None and 0 < e.total < most for e in siblings):
                    return True
        return False

    def _is_foreign(self, entries: list[Entry]) -> bool:
        """Whether another check says it: their model was replaced after the optimizer was made."""
        return any(f.check == "optimizer-holds-old-params" for f in self.doctor.findings.suspected.values())


def _at_the_time_of(free: list[Entry], trained: list[Any]) -> list[Any]:
    """The optimizers that trained while these tensors got gradients; all of them if none did."""
    latest = max(e.latest for e in free)
    return [o for o in trained if any(e.latest == latest for e in o.entries)] or trained


def _misnamed(trained: list[Any]) -> Any:
    """Of optimizers of the same tensors, the one that by its name is meant for others: `opt_g = Adam(d.parameters())`."""
    by_tensors: dict[frozenset[int], list[Any]] = {}
    for o in trained:
        by_tensors.setdefault(frozenset(id(e) for e in o.entries), []).append(o)
    twins = next((os for os in by_tensors.values() if len(os) > 1), trained[:1])
    return min(twins, key=lambda o: (len(words_shared(o.place.text)), -o.number))


def _has_trained_weight(entry: Entry, trained: set[int]) -> bool:
    """Whether it is the bias of a weight that is trained: a loss of derivatives never reaches the last one."""
    if len(entry.shape) > 1:
        return False
    for module in names.modules():
        own = [p for p in module.__dict__["_parameters"].values() if p is not None]
        if any(p is entry.tensor for p in own):
            return any(id(p) in trained for p in own)
    return False


def _are_of_one_model(free: list[Entry], owned: list[Entry]) -> bool:
    """Whether a module of the program holds tensors of both kinds."""
    first, second = {id(e.tensor) for e in free}, {id(e.tensor) for e in owned}
    for module in names.modules():
        held = {id(p) for p in module.parameters()}
        if held & first and held & second:
            return True
    return False


def _owner_of(tensor: Any) -> tuple[Any, str]:
    """(a module, the name of its attribute) through which a parameter hangs in the model: the one nearest to the top that holds
    only such tensors."""
    for module in names.modules():
        for name, child in module.__dict__["_modules"].items():
            if child is not None and any(p is tensor for p in child.parameters()) and _is_class_of_program(module):
                return module, name
        for name, parameter in module.__dict__["_parameters"].items():
            if parameter is tensor and _is_class_of_program(module):
                return module, name
    return None, ""


def _is_class_of_program(module: Any) -> bool:
    return not is_own_class(type(module))


def _attribute_with(tensor: Any) -> Place | None:
    """Where a module of the program keeps a tensor as a plain attribute."""
    for module in names.modules():
        name = next((k for k, v in list(vars(module).items()) if v is tensor), None)
        if name is not None:
            return assignment_of(module, name)
    return None


def _plain_holder(entries: list[Entry]) -> Place | None:
    """Where a module of the program keeps other modules in a plain list, tuple or dict."""
    wanted = {id(e.tensor) for e in entries}
    for module in names.modules():
        for name, value in list(vars(module).items()):
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            inside = list(value.values()) if isinstance(value, dict) else list(value)
            for part in inside:
                parameters = (
                    [part] if id(part) in wanted else list(part.parameters()) if hasattr(part, "_parameters") else []
                )
                if any(id(p) in wanted for p in parameters):
                    return assignment_of(module, name)
    return None
