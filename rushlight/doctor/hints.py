"""What plain `rushlight run` says: the few mistakes that are certain and cost nothing to see, each once, as a warning.

    step with no gradient, a step before any backward, zero_grad between backward and step, a loss without a graph, and a
    loop that never clears

`RUSHLIGHT_HINTS=0` turns it off. `rushlight doctor` looks at much more.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ..core.dispatch.extension_points import training_observer
from ..core.tensor.node import Leaf
from ..core.tensor.placeholder import Placeholder
from ..core.tensor.storage import storage_of
from ..core.tensor.tensor import Tensor
from .idle import idle_for
from .ledger import mark_of
from .places import Place, here

__all__ = ["GradientWarning", "start_hints"]


class GradientWarning(UserWarning):
    """A training loop handles its gradients wrongly. `rushlight explain NAME` says more."""


class _Seen:
    """What is known of one optimizer between two steps."""

    def __init__(self, optimizer: Any, look: int) -> None:
        self.ref = weakref.ref(optimizer)
        self.look = look  # the number of the look in which its last step was seen
        self.sample: Any = None  # weak reference to a tensor that had a gradient at the last step
        self.mark: Any = None  # how that gradient looked after the step
        self.added = False  # whether a backward began while it was still so
        self.counts: dict[str, int] = {}


_FIRST = 128  # steps of optimizers, all of which are looked at
_AGAIN, _OF = 16, 128  # later so many in a row, of so many
_NEW = 32  # and so many after an optimizer has been made: perhaps for another loop


class Hints:
    """An observer that looks at a few events only: compiled functions run compiled, and no tape is walked.

    A loop that has been right for long is looked at now and then.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self.seen: dict[int, _Seen] = {}
        self.backward_place: Place | None = None
        self.cleared: Place | None = None  # where gradients were cleared since the last backward
        self.had_any = False
        self.of_leaf = False
        self.in_step = False
        self.told: set[str] = set()
        self.steps, self.until = 0, _FIRST
        self.is_looking = True
        self.look = 0  # counts the times that it has begun to look

    def _tell(self, seen: _Seen, name: str, place: Place | None, message: str) -> None:
        count = seen.counts[name] = seen.counts.get(name, 0) + 1
        if count < 2 or name in self.told or place is None:
            return
        self.told.add(name)
        if (found := idle_for(name, place, [])) is not None:
            said = found[1].message(found[0].text.partition("  #")[0])
            place, message = found[0], f"{said}; so at line {place.line}: {message}"
        text = f"{message} (rushlight explain {name})"
        warnings.warn_explicit(text, GradientWarning, place.file, place.line, registry={})

    # ---------------------------------------------------------------------------------------------- the events it wants

    def backward(
        self, roots: Any, grads: Any, inputs: Any, retain: bool, create: bool, /, *, accumulates: bool
    ) -> None:
        """Note where, and whether gradients of the last step are still there."""
        if accumulates and self.is_looking:
            self.backward_place, self.cleared = here(2), None
            self.had_any = True
            tensors = [roots] if isinstance(roots, Tensor) else [t for t in roots if isinstance(t, Tensor)]
            self.of_leaf = all(type(t._edge) is Leaf for t in tensors)
            for seen in self.seen.values():
                tensor = None if seen.sample is None else seen.sample()
                grad = None if tensor is None else tensor._grad
                if grad is None or isinstance(grad._array, Placeholder) or not grad._array.any():
                    seen.added = False
                elif seen.mark[1] is not None and mark_of(grad) == seen.mark:
                    seen.added = True

    def step(self, optimizer: Any, args: tuple, kwargs: dict[str, Any], /) -> AbstractContextManager[None] | None:
        """Look at one tensor's gradient before the step, and remember it after."""
        if self.in_step or (args and args[0] is not None) or kwargs.get("closure") is not None:
            return None
        self.steps += 1
        looks = self.steps < self.until or self.steps % _OF < _AGAIN
        return self._around(optimizer, looks) if looks or self.is_looking else None

    @contextmanager
    def _around(self, optimizer: Any, looks: bool) -> Iterator[None]:
        """looks: whether it looks at what comes after the step, too."""
        seen = self.seen.get(id(optimizer))
        if seen is None or seen.ref() is not optimizer:
            seen = self.seen[id(optimizer)] = _Seen(optimizer, self.look)
        if self.is_looking and seen.look == self.look and os.getpid() == self.process:
            self._judge(seen, optimizer)
        self.in_step = True
        try:
            yield
        finally:
            self.in_step = False
            self._stepped(seen, optimizer, looks)

    def _stepped(self, seen: _Seen, optimizer: Any, looks: bool) -> None:
        """Look on or rest, and remember what the next look at this optimizer needs."""
        if looks and not self.is_looking:  # of what came meanwhile nothing is known
            self.look += 1
            self.backward_place, self.cleared, self.of_leaf = None, None, False
        self.is_looking = looks
        if looks:
            seen.look = self.look
            self._remember(seen, optimizer)

    def _judge(self, seen: _Seen, optimizer: Any) -> None:
        holder = next((p for group in optimizer.param_groups for p in group["params"] if p._grad is not None), None)
        if holder is None:
            if self.cleared is not None and self.backward_place is not None:
                self._tell(
                    seen, "zeroed-before-step", self.cleared,
                    f"gradients are cleared here between backward() at line {self.backward_place.line} and step(), which "
                    "finds none",
                )  # fmt: skip
            elif self.of_leaf and self.had_any:
                self._tell(
                    seen, "no-grad-path", self.backward_place,
                    "this backward() starts from a tensor without a history: nothing is trained",
                )  # fmt: skip
            else:
                what = (
                    "no tensor of the optimizer has a gradient"
                    if self.had_any
                    else "step() comes before any backward()"
                )
                self._tell(seen, "step-without-grad", here(2), what)
            return
        tensor = None if seen.sample is None else seen.sample()
        if seen.added and tensor is not None and tensor._grad is not None and mark_of(tensor._grad) != seen.mark:
            self._tell(
                seen, "stale-grad", self.backward_place,
                "this backward() adds to gradients that a step has used already: nothing clears them",
            )  # fmt: skip

    def _remember(self, seen: _Seen, optimizer: Any) -> None:
        seen.added = False
        holder = next((p for group in optimizer.param_groups for p in group["params"] if p._grad is not None), None)
        seen.sample = None if holder is None else weakref.ref(holder)
        if holder is not None:
            storage_of(holder._grad)  # so that the next backward's addition leaves a stamp
        seen.mark = None if holder is None else mark_of(holder._grad)

    def clearing(self, params: Iterable[Tensor], to_none: bool, /) -> None:
        """`zero_grad`: note where, if it clears something that a backward has made since the last step."""
        if not self.is_looking:
            return
        params = list(params)
        if self.cleared is None and self.had_any and any(p._grad is not None for p in params):
            self.cleared = here(2)
        self._forget(params)

    def assigned(self, tensor: Tensor, value: Tensor | None, /) -> None:
        """`tensor.grad = value`: nothing is added to what was there."""
        if self.is_looking:
            self._forget([tensor])

    def _forget(self, params: list[Tensor]) -> None:
        """What another loss has added to these gradients is not used."""
        for seen in self.seen.values():
            if seen.added and any(p is seen.sample() for p in params):
                seen.added = False

    def optimizer_made(self, *values: Any) -> None:
        """Look at what comes next."""
        self.until = max(self.until, self.steps + _NEW)

    # ---------------------------------------------------------------------------------------------- all others

    @contextmanager
    def scaler_step(self, scaler: Any, optimizer: Any, /) -> Iterator[None]:
        """Nothing to see."""
        yield

    def calls_plainly(self) -> bool:
        """Compiled functions run compiled."""
        return False

    def _nothing(self, *values: Any) -> None:
        pass

    grad_of_non_leaf = clipping = scaled = unscaling = scaler_updated = _nothing
    scheduler_made = scheduled = epoch_begins = batch = epoch_ends = mode_set = attribute_set = acts_by_mode = _nothing
    frozen = grad_mode_set = refused = differentiated = function_applied = _nothing


def start_hints() -> None:
    """Look for these mistakes from now on, unless `RUSHLIGHT_HINTS` is 0 or a doctor is at work."""
    if os.environ.get("RUSHLIGHT_HINTS", "1") != "0" and training_observer.value is None:
        training_observer.register(Hints())
