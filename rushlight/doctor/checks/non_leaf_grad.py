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

    def on_refused(self, place: Place | None, tensor: Any, error: Exception) -> None:
        """An optimizer takes leaves only."""
        line = self._line_of(tensor)

        def report() -> None:
            self.doctor.report(
                self,
                line or place,
                f"the optimizer at line {place.line if place else '?'} is given a tensor that is no leaf: it is the result of "
                f"{tensor._edge.name()}, and backward keeps no gradient in it",
                "compute first, then make the leaf: torch.randn(3).mul(0.1).requires_grad_(), or nn.Parameter(...)",
                [(place, "the optimizer")],
                after=1,
            )

        if place is not None:
            self.doctor.report_if_uncaught(error, report, place)

    def _line_of(self, tensor: Any) -> Place | None:
        """Where a tensor was computed."""
        made = self.doctor.lines.witness.maker(tensor)
        return made.place if made is not None else self.doctor.lines.of(tensor._edge)

    def on_non_leaf(self, place: Place | None, tensor: Any) -> None:
        line = self._line_of(tensor)
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
