"""An evaluation runs with dropout on, or with batch norm on the batch's statistics."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from ...core.dispatch.mode import thread
from ...nn.modules.dropout import _DropoutNd
from ..events import Backward, Batch, Epoch, Forward, Mode, Step
from ..places import Place, is_always_on
from ..words import many
from . import Check

_OF_FLAG = "training = False on the model alone does not reach the layers in it; "


@dataclass
class _Seen:
    """A call under no_grad of a model that acts as in training. is_other: just after eval() of another of its class."""

    key: tuple[int, Place]
    steps: int
    kinds: list[str]
    loader: int
    is_other: bool


class MissingEval(Check):
    """Calls of a trained model under no_grad, in training mode, in a phase of their own."""

    name = "missing-eval"
    severity = "warning"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.trained: weakref.WeakSet[Any] = weakref.WeakSet()  # models whose result was backwarded
        self.pending: list[tuple[Any, Any]] = []  # (weak node of the result, weak model)
        self.set_at: dict[int, int] = {}  # module -> how many steps had been made when its mode was set last
        self.set_to_eval: dict[int, bool] = {}  # ... and whether to evaluation
        self.flagged: set[tuple[int, Place]] = (
            set()
        )  # calls of models whose own flag says evaluation, while layers in them train
        self.set_by: dict[int, Place] = {}  # ... and where
        self.meant: list[tuple[Place, _Seen]] = []  # calls for which train() was called, as it seems, and where
        self.mode: Place | None = None  # the last call of train() or eval(), if it was train()
        self.is_called_plainly = False  # whether a model was called without gradients since
        self.before_training: set[Place] = set()  # calls of train() after which a step came first
        self.never_eval = True
        self.evaluated: dict[type, int] = {}  # classes of models -> steps made when eval() was called on one last
        self.others: dict[tuple[int, Place], list[int]] = {}  # calls of another model of such a class, in that phase
        self.phases: dict[tuple[int, Place], list[int]] = {}  # (model, line) -> steps made at each of its calls
        self.kinds: dict[tuple[int, Place], list[str]] = {}
        self.feeding: set[int] = set()  # models whose result goes into another model: what they make is no prediction
        self.always: dict[
            Place, list[Any]
        ] = {}  # dropout functions that ran in evaluation mode: weak models, one for each call
        self.loader = 0
        self.training_loaders: set[int] = set()
        self.loaders: dict[tuple[int, Place], set[int]] = {}

    def on_mode(self, event: Mode) -> None:
        self.mode, self.is_called_plainly = (event.place if event.training else None), False
        for module in event.module.modules():
            self.set_to_eval[id(module)] = not event.training
            self.set_at[id(module)] = self.doctor.steps
            self.set_by[id(module)] = event.place
        if not event.training:
            self.never_eval = False
            self.evaluated[type(event.module)] = self.doctor.steps

    def on_batch(self, event: Batch) -> None:
        self.loader = event.loader

    def on_epoch_end(self, event: Epoch) -> None:
        self.loader = 0

    def on_dropout_in_eval(self, place: Place | None, module: Any) -> None:
        """A dropout function drops although the model is in evaluation mode."""
        layers = [m for m in module.modules() if isinstance(m, _DropoutNd) and m.training and m.p > 0]
        if layers and not any(
            self.set_to_eval.get(id(m)) for m in layers
        ):  # else they were set to train again: samples
            call = self.doctor.here.outer or place
            if call is not None and not thread.state.grad:
                kinds = sorted({type(m).__name__ for m in layers})
                self.flagged.add((id(module), call))
                self._note(_Seen((id(module), call), self.doctor.steps, kinds, self.loader, False))
            return
        if place is not None and (calls := self.always.setdefault(place, [])) is not None and len(calls) < 1000:
            calls.append(weakref.ref(module))

    def on_forward(self, event: Forward) -> None:
        self._note_feeding(event)
        if event.layers and not event.recording:
            key = id(event.module), event.place
            setter = next((m for m in (event.module, *event.layers) if self._is_set_now(m, event)), None)
            if setter is not None:  # train() was called for this: dropout as a sample, statistics computed again
                self.is_called_plainly = True
                if len(self.meant) < 1000:
                    self.meant.append((self.set_by[id(setter)], self._seen(key, event)))
                return
            self._note(self._seen(key, event))
        elif event.layers and event.recording:
            nodes = [node for t in _first_of(event.result) if (node := getattr(t, "_edge", None)) is not None]
            self.pending = [*self.pending[-15:], *((weakref.ref(node), weakref.ref(event.module)) for node in nodes)]

    def _is_set_now(self, module: Any, event: Forward) -> bool:
        return bool(event.steps) and module.training and self.set_at.get(id(module), -1) == event.steps

    def _seen(self, key: tuple[int, Place], event: Forward) -> _Seen:
        is_other = bool(event.steps) and self.evaluated.get(type(event.module)) == event.steps
        return _Seen(key, event.steps, self._kinds_of(event), self.loader, is_other)

    def _note(self, seen: _Seen) -> None:
        if seen.is_other:
            self.others.setdefault(seen.key, []).append(seen.steps)
        self.phases.setdefault(seen.key, []).append(seen.steps)
        self.kinds[seen.key] = seen.kinds
        self.loaders.setdefault(seen.key, set()).add(seen.loader)

    def _kinds_of(self, event: Forward) -> list[str]:
        """What acts as in training."""
        return sorted({"dropout" if m in self.doctor.with_dropout else type(m).__name__ for m in event.layers})

    def _note_feeding(self, event: Forward) -> None:
        if not self.pending or next(event.module.parameters(), None) is None:
            return
        given = [getattr(t, "_edge", None) for t in event.args]
        for ref, module in self.pending:
            node, model = ref(), module()
            if node is not None and model is not None and any(e is node for e in given):
                self.feeding.add(id(model))

    def on_before_backward(self, event: Backward) -> None:
        if not self.pending or event.tape is None:
            return
        self.training_loaders.add(self.loader)
        nodes = set(event.tape.nodes)
        for ref, module in self.pending:
            if (node := ref()) is not None and node in nodes and (model := module()) is not None:
                self.trained.add(model)
        self.pending = [p for p in self.pending if p[0]() is not None]

    def on_step(self, event: Step) -> None:
        if self.mode is not None and not self.is_called_plainly:
            self.before_training.add(self.mode)

    def finish(self) -> None:
        for place, seen in self.meant:
            if place in self.before_training:  # one statement for training and evaluation
                self._note(seen)
        models = {id(m): m for m in self.trained}
        most = max((o.steps for o in self.doctor.optimizers), default=1)
        self._judge_functions(models)
        for key, steps in self.phases.items():
            model = key[0]
            is_other = len(set(self.others.get(key, ()))) >= 2 and len(self.others[key]) == len(steps)
            if is_other and model not in models:
                self._tell(key, len(steps), "another model of its class was set to evaluation mode here; ")
                continue
            if model not in models or model in self.feeding:
                continue  # a teacher, a generator of samples: never trained in this mode, or by another's loss
            loaders = self.loaders[key]
            separate = bool(loaders - self.training_loaders - {0}) and not loaders & self.training_loaders
            windows = len(set(steps))
            if not separate and (2 * windows > most or self.doctor.steps < 2):
                continue  # in most windows: a part of the training
            if not separate and len(steps) >= 5 * windows and not self.never_eval:
                continue
            self._tell(key, len(steps), _OF_FLAG if key in self.flagged else "")

    def _judge_functions(self, models: dict[int, Any]) -> None:
        for place, calls in self.always.items():
            if is_always_on(place) and any(id(ref()) in models for ref in calls):
                self.doctor.report(
                    self,
                    place,
                    f"this drops in evaluation mode too ({many(len(calls), 'call')}): a dropout function, or a module made here, "
                    "knows nothing of model.eval()",
                    "say which mode it is: F.dropout(x, p, training=self.training), or make nn.Dropout in __init__",
                )

    def _tell(self, key: tuple[int, Place], calls: int, first: str = "") -> None:
        kinds = self.kinds[key]
        follows = [
            *(["results are noisy"] if any("Norm" not in kind for kind in kinds) else ["results depend on the batch"]),
            *(["batch norm learns from this data"] if any("Norm" in kind for kind in kinds) else []),
        ]
        self.doctor.report(
            self,
            key[1],
            f"{first}the model is called here without gradients while its {', '.join(kinds)} acts as in training "
            f"({many(calls, 'call')}): {', and '.join(follows)}",
            "call model.eval() before the evaluation, and model.train() after it",
        )


def _first_of(result: Any) -> list[Any]:
    """Of what a model returns: the tensor, or those that a tuple or dict holds itself."""
    if isinstance(result, dict):
        return list(result.values())[:4]
    return list(result)[:4] if isinstance(result, (tuple, list)) else [result]
