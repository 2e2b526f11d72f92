"""`.grad` of a tensor in which backward keeps none."""

from __future__ import annotations

from typing import Any

from ..places import Place
from . import Check
from .leaf_rebound import is_update


class NonLeafGrad(Check):
    """The tensor was computed from others: its `.grad` stays None."""

    name = "non-leaf-grad"
    severity = "warning"

    def on_non_leaf(self, place: Place | None, tensor: Any) -> None:
        made = self.doctor.lines.witness.maker(tensor)
        line = made.place if made is not None else self.doctor.lines.of(tensor._edge)
        if line is not None and is_update(line):
            return  # `leaf-rebound` says it
        at = f" at line {line.line}" if line is not None else ""
        self.doctor.report(
            self,
            line or place,
            f".grad of a tensor that is no leaf is read at line {place.line if place else '?'}: it was computed{at}, and backward "
            "keeps no gradient in it",
            "call retain_grad() on it, or set requires_grad after the last operator: torch.randn(3).to(d).requires_grad_()",
            [(place, "reads .grad")],
            after=1,
        )
