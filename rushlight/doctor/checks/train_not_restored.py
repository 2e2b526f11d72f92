"""After an evaluation the model stays in evaluation mode, and training goes on so."""

from __future__ import annotations

import weakref
from typing import Any

from ...nn.modules.batchnorm import _BatchNorm
from ...nn.modules.dropout import _DropoutNd
from ...nn.modules.rnn import RNNBase
from ..events import Forward, Mode, Step
from ..places import Place
from . import Check


class TrainNotRestored(Check):
    """Dropout no longer drops, and batch norm's running averages no longer change."""

    name = "train-not-restored"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.evaluated: dict[int, tuple[Any, Place]] = {}  # modules on which eval() was called, and where
        self.latest: dict[int, Place] = {}  # where eval() was called last
        self.called: set[int] = set()  # modules that were called without gradients since
        self.between: set[Place] = set()  # calls of eval() with an evaluation after them, and then steps in this mode
        self.repeated: set[Place] = set()  # those that were made again after the steps: one evaluation of many
        self.trained: set[int] = set()  # tensors that backwards reached while their module was in training mode

    def on_mode(self, event: Mode) -> None:
        key = id(event.module)
        self.latest[key] = event.place
        self.called.discard(key)
        if not event.training and event.place in self.between:
            self.repeated.add(event.place)
        if event.training:
            self.evaluated.pop(key, None)
        elif (
            event.module.training and not self._is_inside(event.module) and any(map(self._acts, event.module.modules()))
        ):
            self.evaluated[key] = weakref.ref(event.module), event.place

    def on_forward(self, event: Forward) -> None:
        if id(event.module) in self.evaluated and not event.recording:
            self.called.add(id(event.module))

    def _is_inside(self, module: Any) -> bool:
        return any(
            m is module for ref, _ in self.evaluated.values() if (outer := ref()) is not None for m in outer.modules()
        )

    def on_stepped(self, event: Step) -> None:
        if not self.evaluated:
            self.trained.update(id(e) for e in event.entries)
            return
        mine = {id(e.tensor): e for e in event.entries}
        for ref, place in list(self.evaluated.values()):
            module = ref()
            if module is None or module.training:
                continue
            parameters = [mine[id(p)] for p in module.parameters() if id(p) in mine]
            if not parameters:
                continue
            if not any(id(e) in self.trained for e in parameters):  # frozen statistics may be meant
                place = self.latest[id(module)]
                if id(module) not in self.called:
                    continue
                self.between.add(place)
                if place not in self.repeated:
                    continue
            if any(layer.training for layer in module.modules() if self._acts(layer)):
                continue
            self.doctor.report(
                self,
                place,
                f"from here on the model is in evaluation mode, and the step at line {event.place.line} goes on training it: "
                "dropout does nothing, batch norm uses its running averages",
                "call model.train() after the evaluation, or at the beginning of each epoch",
                [(event.place, "a step in evaluation mode")],
                after=2,
            )

    def _acts(self, module: Any) -> bool:
        """Whether a module acts differently in the two modes by itself."""
        if isinstance(module, RNNBase):
            return module.dropout > 0
        return (
            isinstance(module, _BatchNorm)
            or (isinstance(module, _DropoutNd) and module.p > 0)
            or module in self.doctor.with_dropout
        )
