"""`w = w - lr * w.grad`: the name now means a new tensor, which is no leaf and never gets a `.grad`."""

from __future__ import annotations

from typing import Any

from ..places import Place, rebinds
from . import Check


class LeafRebound(Check):
    """A parameter's name is given to the result of an operator. Under no_grad the check `no-grad-path` sees it."""

    name = "leaf-rebound"
    severity = "error"

    def on_non_leaf(self, place: Place | None, tensor: Any) -> None:
        made = self.doctor.witness.maker(tensor)
        line = made.place if made is not None else self.doctor.line_of(tensor._edge)
        if line is None or not rebinds(line):
            return
        self.doctor.report(
            self,
            line,
            "this line makes a new tensor of the parameter and gives it the same name: it is no leaf, so backward() leaves its "
            ".grad None, and what was the parameter is lost",
            "write into the tensor: with torch.no_grad(): w -= ... (or w.sub_(...))",
            [(place, "reads .grad of the new tensor")],
            after=1,
        )
