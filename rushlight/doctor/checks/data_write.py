"""A write through `.data` between forward and backward, which the version counter does not see."""

from __future__ import annotations

from typing import Any

from ...core.dispatch.inplace import CopySlices
from ...core.tensor.storage import Content
from ...ops.nn.normalize import MOVES_STATISTICS
from ..events import Backward
from ..places import Place, is_in_custom_function, place_of
from ..tape import Tape
from . import Check


class DataWrite(Check):
    """backward() computes with the new value where the old one was needed: a wrong gradient without a word, also in torch."""

    name = "data-write"
    severity = "error"

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.writers: dict[Any, Place] = {}  # by the forward's line: where the write was, when that could be seen

    def on_before_backward(self, event: Backward) -> None:
        found = None if event.tape is None else _changed(event.tape)
        if found is None:
            return
        node, content = found
        place = place_of(*content.writer) if isinstance(content.writer, tuple) else None
        if place is not None and is_in_custom_function(place):
            return  # which answers for its gradient itself: "sneak past the version checker"
        forward = self.doctor.lines.of(node, event.tape)
        place = self.writers.setdefault(forward, place) if place is not None else self.writers.get(forward)
        self.doctor.report(
            self,
            place or event.place,
            f"this writes, through .data, what {node.name()} had saved for the backward at line {event.place.line}: its gradient is "
            "computed with the new value, and nothing notices",
            "write after the backward, or under torch.no_grad() to the tensor itself: then backward() raises where that is wrong",
            [(forward, "the forward that saved it"), (event.place, "the backward")],
            after=1,
        )


def _changed(tape: Tape) -> tuple[Any, Content] | None:
    """(node, the shared content) of a saved tensor whose memory was written by another record since."""
    for node in tape.nodes:
        target: Any = node.inner if type(node) is CopySlices else node
        slots, saved = target.tensor_slots, target.saved
        own = target.storage
        if own is not None and own.content is not None and own.content.stamp > target.seq >= own.stamp:
            return target, own.content  # of its result
        if not slots or type(saved) is not tuple:
            continue
        for i in slots:
            value = saved[i]
            for one in value if type(value) is tuple else (value,):
                storage = getattr(one, "_storage", None)
                content = None if storage is None else storage.content
                if content is None or not content.stamp > target.seq >= storage.stamp:  # type: ignore[union-attr]
                    continue
                if not _is_its_own(target, content):
                    return target, content
    return None


def _is_its_own(node: Any, content: Any) -> bool:
    """Whether a batch norm in training has moved the running statistics, which its backward does not read."""
    if node.op is None or node.op.name != "native_batch_norm" or content.writer != MOVES_STATISTICS:
        return False
    names = type(node).saved_names
    return "training" in names and node.saved[names.index("training")] is True
