"""An evaluation records graphs that nothing ever uses."""

from __future__ import annotations

import weakref
from typing import Any

from ...core.tensor.tensor import Tensor
from ..events import Backward, Call, Forward
from ..places import Place
from ..tape import Tape
from ..words import many
from . import Check

_ENOUGH = 5  # forwards in a row
_BYTES = 1 << 16  # held by one of them, or by all together in a long run


class _Run:
    """Calls at one line, none of which was backwarded so far."""

    def __init__(self) -> None:
        self.count = 0
        self.bytes = 0
        self.unused: list[Any] = []
        self.owners: list[Any] = []  # weak references to the optimizers of the model


class MissingNoGrad(Check):
    """The memory of the forward is held until the result is dropped, and the recording takes time."""

    name = "missing-no-grad"
    severity = "warning"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.runs: dict[Place, _Run] = {}
        self.used: set[Place] = set()
        self.results: dict[int, tuple[Any, Place]] = {}  # while lines are taken: (weak result, its line), by identity

    def on_forward(self, event: Forward) -> None:
        place = event.place
        if place in self.used or not event.recording:
            return
        if not any(p.requires_grad for p in event.module.parameters()):
            if next(event.module.parameters(), None) is None:
                self.used.add(place)  # a loss: nothing to train
            return
        tensors = [t for t in _flat(event.result) if t._edge is not None]
        if not tensors or not any(map(_is_batch, [tensors[0], *_flat(event.args)])):
            return
        if place not in self.runs and (".detach()" in place.text or ".data" in place.text):
            self.used.add(place)  # one network's result as a constant for another
            return
        if self.doctor.lines.are_taken:
            if len(self.results) > 256:
                self.results.clear()
            self.results[id(tensors[0])] = weakref.ref(tensors[0]), place
        run = self.runs.setdefault(place, _Run())
        run.count += 1
        run.unused = [*run.unused[-15:], *(weakref.ref(t._edge) for t in tensors[:8])]
        if run.count == 1:
            known = (self.doctor.ledger.known(p) for p in event.module.parameters())
            run.owners = next((e.owners for e in known if e is not None and e.owners), [])
        if run.count <= 3:
            run.bytes = max(run.bytes, Tape([t._edge for t in tensors]).bytes_held())

    def on_call(self, call: Call, inputs: tuple, results: tuple) -> None:
        if call.name in ("detach()", ".data") and call.had_history:
            ref, place = self.results.get(id(inputs[0]), (None, None))
            if ref is not None and place is not None and ref() is inputs[0]:
                self.used.add(place)
                self.runs.pop(place, None)

    def on_before_backward(self, event: Backward) -> None:
        if event.tape is None or not self.runs:
            return
        nodes = set(event.tape.nodes)
        for place, run in list(self.runs.items()):
            if any((node := ref()) is not None and node in nodes for ref in run.unused):
                self.used.add(place)
                del self.runs[place]

    def finish(self) -> None:
        if any(check == "no-grad-path" for check, *_ in self.doctor.findings.suspected):
            return  # which says why no backward reaches them
        unfed = {
            related.place
            for found in self.doctor.findings.suspected.values()
            for related in found.related
            if found.check == "step-without-grad" and related.role == "the optimizer"
        }
        for place, run in self.runs.items():
            if any((o := ref()) is not None and o.place in unfed for ref in run.owners):
                continue  # a backward was forgotten here
            if run.count < _ENOUGH or not self.doctor.backwards:
                continue
            if run.bytes * run.count < _BYTES:
                continue
            self.doctor.report(
                self,
                place,
                f"{many(run.count, 'call')} here recorded a graph that no backward used: {_size(run.bytes)} were held by each",
                "evaluate under torch.no_grad() (or torch.inference_mode())",
            )


def _flat(value: Any) -> list[Any]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _flat(v)]
    return [t for v in value.values() for t in _flat(v)] if isinstance(value, dict) else []


def _is_batch(tensor: Any) -> bool:
    """Whether a tensor holds several samples: acting on one state, be it a plain vector, is no evaluation."""
    shape = tensor._array.shape
    least = 1 if tensor._array.dtype.kind in "iub" else 2  # dimensions: the indices of several samples may be a vector
    return len(shape) >= least and shape[0] > 1


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"
