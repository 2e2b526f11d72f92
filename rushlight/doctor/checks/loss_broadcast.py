"""(N, 1) predictions minus (N,) targets: N * N differences, where N were meant."""

from __future__ import annotations

from typing import Any

from ..events import Backward, Call
from ..places import Place
from ..tape import VIEWS, Tape, name_of, saved
from . import Check

_ELEMENTWISE = frozenset(
    [
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "poisson_nll_loss",
        "soft_margin_loss",
    ]
)


class LossBroadcast(Check):
    """The mean over all pairs is smallest where every prediction is the mean of the targets."""

    name = "loss-broadcast"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.pairs: dict[int, tuple[Place, tuple, tuple]] = {}  # by a node's time: (line, the two shapes)

        self.products: dict[int, tuple[Place, tuple, tuple]] = {}  # ... of products

    def on_call(self, call: Call, inputs: tuple, results: tuple) -> None:
        if call.name not in ("sub", "mul") or len(call.shapes) != 2 or not call.seq:
            return
        if not _is_enlarged(*call.shapes) and (min(map(len, call.shapes)) < 3 or not _has_channel_of_one(*call.shapes)):
            return
        column = 0 if len(call.shapes[0]) > len(call.shapes[1]) else 1
        made = call.inputs[column]
        maker = self.doctor.lines.witness.calls[made] if made >= 0 else None
        if maker is not None and _lays_out(maker.name) and maker.place.line == call.place.line:
            return  # all pairs are meant: x[:, None] - y
        known = self.pairs if call.name == "sub" else self.products
        if known is self.products and (maker is None or _lays_out(maker.name) or _has_history(inputs[1 - column])):
            return  # a row of data times a column that was computed
        if len(known) > 1000:
            known.clear()
        known[call.seq] = call.place, call.shapes[0], call.shapes[1]

    def on_tape(self, event: Backward) -> None:
        tape = event.tape
        assert tape is not None
        for node in tape.nodes:
            if node.seq in self.pairs:
                self._tell(event, *self.pairs[node.seq])
            elif node.seq in self.products and _is_averaged_only(node, tape):
                self._tell(event, *self.products[node.seq])
            elif name_of(node) in _ELEMENTWISE:
                shapes = [_shape(saved(node, n)) for n in ("input", "target")]
                if None not in shapes and (_is_enlarged(*shapes) or _has_channel_of_one(*shapes)):
                    self._tell(event, self.doctor.lines.of(node, tape) or event.place, *shapes)

    def _tell(self, event: Backward, place: Place, a: Any, b: Any) -> None:
        n = max(a[0], b[0])
        self.doctor.report(
            self,
            place,
            f"shapes {list(a)} and {list(b)} are broadcast to each other: {n * n} differences between all pairs, where {n} were "
            "meant; the loss is smallest when every prediction is the mean of the targets",
            "give both the same shape: prediction.squeeze(1), or target.view_as(prediction)",
            [(event.place, "the backward")] if event.place is not place else [],
            after=1,
        )


def _shape(value: Any) -> tuple[int, ...] | None:
    array = getattr(value, "_array", None)
    return None if array is None else array.shape


def _has_history(tensor: Any) -> bool:
    return getattr(tensor, "_edge", None) is not None


def _is_averaged_only(node: Any, tape: Tape) -> bool:
    """Whether a value goes through operators on its elements into a mean or sum of all of them."""
    for _ in range(12):
        users = tape.users(node)
        if len(users) != 1:
            return False
        node = users[0][0]
        if name_of(node) in ("mean", "sum"):
            return True
        if name_of(node) not in ("neg", "add", "sub", "mul", "div", "minimum", "maximum"):
            return False
    return False


def _lays_out(name: str) -> bool:
    """Whether an operator gives a tensor another shape: views and parts."""
    return name.partition(".")[0] in VIEWS or name.startswith("part")


def _has_channel_of_one(a: Any, b: Any) -> bool:
    """Whether (N, 1, H, W) meets (N, H, W), N > 1: masks of images with and without a channel."""
    if len(a) < len(b):
        a, b = b, a
    return len(a) == len(b) + 1 and len(b) >= 2 and a[0] == b[0] > 1 and a[1] == 1 and a[2:] == b[1:]


def _is_enlarged(a: Any, b: Any) -> bool:
    """Whether (..., N, 1) meets (N,), N > 1: the result is larger than both."""
    if len(a) < len(b):
        a, b = b, a
    return len(a) == len(b) + 1 and len(b) >= 1 and a[-1] == 1 and a[-2] == b[-1] > 1
