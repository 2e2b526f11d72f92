"""Small batches with different numbers of tokens weigh the same in an accumulated gradient."""

from __future__ import annotations

import numpy as np

from ..events import Backward, Step
from ..tape import divided_by_tensors, name_of, saved, terms
from . import Check


class TokenWeighting(Check):
    """A mean over the tokens that count, divided by a fixed number of small batches, is not the mean over all tokens."""

    name = "token-weighting"
    severity = "warning"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.counted: dict[int, int] = {}  # by backward: tokens that count
        self.by_hand: dict[int, int] = {}  # by backward: what the program has counted itself, and divided its sum by

    def on_before_backward(self, event: Backward) -> None:
        tape = event.tape
        if tape is None or not tape.roots or not event.accumulates or not self.doctor.accumulates:
            return
        divisor = divided_by_tensors(tape.roots[0])
        if divisor != 1.0 and divisor == int(divisor):
            self.by_hand[event.number] = int(divisor)
        for _, edge in terms(tape.roots[0]):
            if name_of(edge).startswith("nll_loss") and saved(edge, "reduction") == "mean":
                target, ignored = saved(edge, "target"), saved(edge, "ignore_index")
                array = getattr(target, "_array", None)
                if array is not None and ignored is not None:
                    count = int(np.count_nonzero(array != ignored))
                    if count < array.size or event.number in self.counted:
                        self.counted[event.number] = count
                    else:
                        self.counted[event.number] = -count  # all count

    def on_stepped(self, event: Step) -> None:
        if not self.counted and not self.by_hand:
            return
        counted, self.counted = self.counted, {}
        by_hand, self.by_hand = self.by_hand, {}
        if not counted:
            counted = by_hand
        window = [b for b in event.window if b.number in counted and not b.retain]
        if len(window) < 2 or event.closure or len({b.place for b in window}) > 1:
            return
        counts = [counted[b.number] for b in window]
        sizes = [abs(c) for c in counts if c]
        if all(c < 0 for c in counts) or len(sizes) < len(counts) or max(sizes) <= 1.1 * min(sizes):
            return
        factors = {round(b.factor * (by_hand[b.number] if counted is by_hand else 1), 6) for b in window}
        if len(factors) > 1 or min(factors) >= 0.999 or any(e.edited for e in event.entries):
            return
        self.doctor.report(
            self,
            window[0].place,
            f"the small batches of one step hold {min(sizes)} to {max(sizes)} tokens that count, but weigh the same: each loss is a "
            "mean over its own tokens, times the same factor",
            'use reduction="sum", and divide by the number of tokens of all small batches of the step',
            [(event.place, "the step")],
        )
