"""What happens in a training loop, as the doctor's checks see it: one small record for each event.

The events, in a loop's order: `batch`, `layer` and operators (only while lines are taken), `tape` and `backward`, `clip`,
`unscale`, `step`, `schedule`, `zero`, `assign`, `epoch_end`. A check has a method `on_<event>` for those that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .places import Place
from .tape import Tape

if TYPE_CHECKING:
    from .ledger import Contribution, Entry, Watched

__all__ = [
    "OF_EACH_STEP",
    "Assign",
    "Backward",
    "Batch",
    "Call",
    "Clip",
    "Epoch",
    "Forward",
    "Mode",
    "Schedule",
    "Step",
    "Zero",
]

OF_EACH_STEP = frozenset(("forward", "tape", "before_backward", "backward", "step", "stepped", "zero", "cleared"))
"""Those that come with every step of a loop."""


@dataclass
class Backward:
    """One `backward()` (accumulates) or `grad()`.

    number: counts them, from 1. roots: the tensors (only during the event). tape: what they reach (only during the
    event). kinds: equal for tapes of the same operators. entries: the leaves that got a gradient. steps: how many steps of
    optimizers came before. batches: how many batches loaders had handed out. factor: what the loss was multiplied by. scaled: by a GradScaler. weighted: by gradients that the caller gave. inner: it ran within
    another backward (checkpointing, hooks), or within a step's closure (in_step).
    """

    number: int
    place: Place
    accumulates: bool
    retain: bool
    create: bool
    steps: int
    batches: int
    roots: list[Any] = field(default_factory=list)
    tape: Tape | None = None
    signature: int = 0
    kinds: int = 0
    factor: float = 1.0
    scaled: bool = False
    weighted: bool = False
    in_step: bool = False
    entries: list[Entry] = field(default_factory=list)
    contribution: Contribution | None = None  # the same for all entries
    explained: bool = False  # a check has told why its values are not finite, or why it fails


@dataclass
class Step:
    """One step of an optimizer. before: this is told before it runs, else after it. manual: written by hand.

    entries: the tensors with a gradient. window: the backwards since its last step that gave its tensors gradients.
    used: for each entry how many of its contributions an earlier step had used. closure: the step calls the loss itself.
    skipped: GradScaler left it out.
    """

    number: int
    place: Place
    optimizer: Watched | None
    entries: list[Entry]
    window: list[Backward]
    closure: bool = False
    skipped: bool = False
    manual: bool = False
    norms: dict[int, float | None] = field(default_factory=dict)

    def norm(self, entry: Entry) -> float | None:
        """The 2-norm of a tensor's gradient, worked out once; None where there is none in this memory."""
        key = id(entry)
        if key not in self.norms:
            tensor = entry.ref()
            grad = None if tensor is None else tensor._grad
            array = None if grad is None else grad._array
            value = None
            if isinstance(array, np.ndarray) and array.dtype.kind in "fV":
                flat = array.ravel()
                if array.dtype.kind == "V":  # bfloat16
                    flat = flat.astype(np.float32)
                with np.errstate(all="ignore"):
                    value = float(flat.dot(flat)) ** 0.5
                if value == np.inf:  # the squares were too large for float32, as it may be
                    value = float(np.linalg.norm(flat.astype(np.float64)))
            self.norms[key] = value
        return self.norms[key]


@dataclass
class Zero:
    """Gradients are about to be cleared: by `zero_grad`, by `= None`, or by zeros written in place.

    entries: the tensors; pending: those of them that hold gradients that no step has used.
    """

    place: Place | None
    entries: list[Entry]
    pending: list[Entry]
    how: str
    optimizer: Watched | None = None


@dataclass
class Assign:
    """`tensor.grad = value`."""

    place: Place
    entry: Entry


@dataclass
class Clip:
    """Gradients are about to be limited. what: the function's name."""

    place: Place
    entries: list[Entry]
    what: str
    limit: float


@dataclass
class Schedule:
    """A scheduler's step, or that it was made (made)."""

    place: Place
    scheduler: Any
    optimizer: Watched | None
    made: bool = False


@dataclass
class Batch:
    """A loader's iterator handed out a batch. loader: a number for each loader; index: of the batch, from 0."""

    place: Place
    loader: int
    index: int
    data: Any


@dataclass
class Epoch:
    """A loader was exhausted, after so many batches."""

    place: Place
    loader: int
    batches: int


@dataclass
class Mode:
    """`module.train()` or `module.eval()`."""

    place: Place
    module: Any
    training: bool


@dataclass
class Forward:
    """The outermost call of a module has ended. recording: the grad mode; layers: those that acted as in training."""

    place: Place
    module: Any
    recording: bool
    args: tuple
    result: Any
    layers: list[Any]
    steps: int
    batches: int


@dataclass
class Call:
    """One call of an operator, while lines are taken.

    name: of the operator, or how a value left the graph ('detach()', 'item()'). index: its position among the calls.
    inputs: the calls that made its inputs, -1 for others. had_history: whether an input requires grad; has_history:
    whether the result does. recording: the grad mode. region: where `no_grad` began, for a call that lost its history to it.
    """

    index: int
    place: Place
    name: str
    inputs: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    had_history: bool
    has_history: bool
    recording: bool
    seq: int
    region: Place | None = None
