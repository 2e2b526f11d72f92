"""Several mean losses are accumulated for one step, and none is divided by their number."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from ..events import Backward, Step
from ..tape import is_mean, terms
from . import Check


class UnscaledAccumulation(Check):
    """The gradient is the sum over K small batches, K times that of one batch of the same size."""

    name = "unscaled-accumulation"
    severity = "warning"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.means: dict[int, bool] = {}  # by a tape's signature: whether its loss is a mean
        self.prints: dict[int, tuple] = {}  # by backward: a sample of its data
        self.last = 1  # backwards of one line in the last window

    def on_before_backward(self, event: Backward) -> None:
        tape = event.tape
        if tape is None or not tape.roots or not event.accumulates:
            return
        if event.signature not in self.means:
            self.means[event.signature] = any(is_mean(edge) for _, edge in terms(tape.roots[0]))
        if self.doctor.accumulates:
            self.prints[event.number] = _sample(tape)

    def on_stepped(self, event: Step) -> None:
        prints, self.prints = self.prints, {}
        if len(event.window) < 2:
            return
        window = [b for b in event.window if not b.in_step]
        if len(window) < 2 or event.closure or any(e.edited for e in event.entries):
            return
        place, k = Counter(b.place for b in window).most_common(1)[0]
        same = [b for b in window if b.place is place]
        if k < 2 or not all(self.means.get(b.signature) for b in same):
            return
        if any(abs(b.factor) < 0.999 or b.retain or b.create or b.weighted for b in same):
            return
        samples = [prints.get(b.number, ()) for b in same]
        if any(set(a) & set(b) for a, b in pairwise(samples)):
            return  # the same data again: samples of an expectation, several losses of one batch
        self.doctor.report(
            self,
            place,
            f"the losses of {k} small batches are summed, not averaged: each is a mean, and none is divided by {k}, so the "
            f"gradient is {k} times that of one batch of the same size (an adaptive optimizer hides it, clipping does not)",
            f"divide by the number of small batches in a step: (loss / {k}).backward()",
            [(event.place, "the step that uses their sum")],
        )


def _sample(tape) -> tuple:
    """A few values of each tensor of data that the earliest nodes saved, to tell batches from one another."""
    found = []
    for node in reversed(tape.nodes[-24:]):
        if not isinstance(node.saved, tuple):
            continue
        for i in node.tensor_slots:
            t = node.saved[i]
            array = getattr(t, "_array", None)
            if array is None or getattr(t, "_edge", None) is not None or array.size < 4 or not hasattr(array, "flat"):
                continue
            step = max(1, array.size // 16)
            values = array.reshape(-1)[::step][:16] if array.flags.c_contiguous else array.flat[:16]
            if len(set(values.tolist())) > 1 and not _is_fixed(values):
                found.append((array.shape, values.tobytes()))
        if len(found) >= 4:
            break
    return tuple(found)


def _is_fixed(values: np.ndarray) -> bool:
    """Whether values are no data: a mask, or positions that count up."""
    if values.dtype.kind == "b":
        return True
    if values.dtype.kind == "f":
        return bool(np.isin(values, (0.0, -np.inf)).all())
    return values.dtype.kind in "iu" and len(set(np.diff(values[:8].astype(np.int64)).tolist())) == 1
