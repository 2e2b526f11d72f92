"""For each tensor that gathers gradients: what came in since it was cleared, and how much of that a step has used.

Writes in place have no event: at each backward and each step the stamps of `.grad` and of the tensor are compared with
those of last time. A `.grad` that holds only zeros now was cleared; a tensor that belongs to no optimizer and has changed
after its backward was stepped by hand.
"""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.tensor.tensor import Tensor
from .places import Place, is_own_class, place_of

if TYPE_CHECKING:
    from .events import Backward

__all__ = ["FLOATING", "Contribution", "Entry", "Ledger", "Watched"]

FLOATING = "fcV"
"""The kinds of NumPy's types that hold floating point and complex numbers: bfloat16 is of kind V."""


@dataclass
class Contribution:
    """One gradient that was added. number: of its backward. seq: what the process's clock of writes said."""

    number: int
    place: Place
    signature: int
    factor: float
    batches: int
    steps: int
    kinds: int = 0
    assigned: bool = False


class Entry:
    """One tensor's account.

    contributions: what was added since the last clear. used: how many of them a step has used. edited: `.grad` was
    changed in place since. cleared: where it was cleared last. total: contributions ever. latest: how many steps had been made at
    the last of them. name: in the model, if known.
    """

    __slots__ = (
        "ref", "shape", "size", "name", "contributions", "used", "edited", "cleared", "total", "owners", "grad_mark", "own_mark",
        "forgives", "steps", "latest", "is_parameter", "used_at", "__weakref__",
    )  # fmt: skip

    def __init__(self, tensor: Tensor) -> None:
        self.ref = weakref.ref(tensor)
        self.shape = tuple(tensor._array.shape)
        self.size = prod(self.shape)
        self.name = ""
        self.contributions: list[Contribution] = []
        self.used = 0
        self.used_at: Place | None = None
        self.edited = False
        self.cleared: Place | None = None
        self.total = 0
        self.latest = 0
        self.steps = 0
        self.owners: list[weakref.ref[Watched]] = []
        self.grad_mark: Any = None
        self.own_mark: Any = None
        self.forgives = False  # the next change in place is known: clipping, unscaling
        self.is_parameter = bool(getattr(tensor, "_is_param", False)) or type(tensor).__name__ == "Parameter"

    @property
    def tensor(self) -> Any:
        """The tensor, None once it is gone."""
        return self.ref()

    @property
    def label(self) -> str:
        """A name for messages: the parameter's, or its shape."""
        return self.name or f"a tensor of shape {list(self.shape)}"

    def clear(self, place: Place | None) -> None:
        """Its gradient was cleared."""
        self.contributions = []
        self.used = 0
        self.edited = False
        self.cleared = place

    @property
    def pending(self) -> int:
        """How many contributions no step has used."""
        return len(self.contributions) - self.used


class Watched:
    """One optimizer, held weakly: its tensors' entries, its steps, and the backwards since the last of them."""

    def __init__(self, optimizer: Any, place: Place, number: int) -> None:
        self.ref = weakref.ref(optimizer)
        self.place, self.number = place, number
        self.caller: Place | None = None  # of the function that does nothing but return it
        self.kind = type(optimizer).__name__
        self.keeps_gradients = is_own_class(type(optimizer))  # those of programs may write into them
        self.entries: list[Entry] = []
        self.groups: list[int] = []
        self.models: list[Any] = []  # that have its tensors; handed on to `latest` with the first step
        self.steps = 0
        self.window: list[Backward] = []
        self.recent: deque[int] = deque(maxlen=3)  # how many steps had been made at its last ones
        self.windows: deque[int] = deque(maxlen=64)  # how many backwards of one line each window had
        self.usual_place: Place | None = None  # that line, of the last window
        self.step_place: Place | None = None
        self.zero_places: dict[Place, int] = {}

    @property
    def optimizer(self) -> Any:
        """The optimizer, None once it is gone."""
        return self.ref()


class Ledger:
    """The accounts of all tensors, by identity."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}

    def entry(self, tensor: Any) -> Entry:
        """The account of a tensor, opened on first need."""
        known = self.entries.get(id(tensor))
        if known is not None and known.ref() is tensor:
            return known
        entry = self.entries[id(tensor)] = Entry(tensor)
        if len(self.entries) > 4096 and len(self.entries) % 1024 == 0:
            self._forget_dead()
        return entry

    def known(self, tensor: Any) -> Entry | None:
        """The account of a tensor, if it has one."""
        entry = self.entries.get(id(tensor))
        return entry if entry is not None and entry.ref() is tensor else None

    def alive(self) -> list[Entry]:
        """The accounts of all tensors that still exist."""
        return [entry for entry in list(self.entries.values()) if entry.ref() is not None]

    def _forget_dead(self) -> None:
        for key in [key for key, entry in self.entries.items() if entry.ref() is None]:
            del self.entries[key]

    # ---------------------------------------------------------------------------------------------- what changed unseen

    def reconcile(self, entry: Entry) -> str:
        """Compare `.grad` with what was noted last. Returns '', 'cleared' or 'edited'; the account follows."""
        tensor = entry.ref()
        if tensor is None or not entry.contributions:
            return ""
        grad = tensor._grad
        if grad is None:
            entry.clear(None)
            return "cleared"
        mark = mark_of(grad)
        if mark == entry.grad_mark and mark[1] is not None:
            return ""
        if mark[1] is None and not _looks_changed(grad, entry.grad_mark):
            return ""
        forgiven, entry.forgives = entry.forgives, False
        entry.grad_mark = mark
        if _is_zero(grad):
            entry.clear(writer_of(grad))
            return "cleared"
        if forgiven:
            return ""
        entry.edited = True
        if entry.used:  # a buffer that is kept up by hand, such as a momentum
            entry.contributions = entry.contributions[-1:]
            entry.used = 0
        return "edited"

    def note(self, entry: Entry) -> None:
        """Remember how `.grad` and the tensor look now."""
        tensor = entry.ref()
        if tensor is None:
            return
        entry.grad_mark = None if tensor._grad is None else mark_of(tensor._grad)
        if not entry.owners:  # else no step by hand is looked for
            entry.own_mark = mark_of(tensor)

    def grad_was_written(self, entry: Entry) -> bool:
        """Whether `.grad` has changed in place since it was noted, by a write that nothing else tells of."""
        tensor = entry.ref()
        if tensor is None or tensor._grad is None or entry.grad_mark is None or entry.forgives:
            return False
        mark = mark_of(tensor._grad)
        return mark[1] is not None and mark[2] == entry.grad_mark[2] and mark != entry.grad_mark

    def was_written(self, entry: Entry) -> bool:
        """Whether the tensor itself has changed since it was noted."""
        tensor = entry.ref()
        return tensor is not None and entry.own_mark is not None and mark_of(tensor) != entry.own_mark


def mark_of(tensor: Any) -> tuple[Any, ...]:
    """What differs once a tensor shows other memory or was written: (identity of its memory, stamp, identity).

    The stamp is None where writes cannot be known, since the memory was handed out.
    """
    storage = tensor._storage
    if storage is None:
        return id(tensor._array), 0, id(tensor)
    content = storage.content
    if content is None:
        return id(tensor._array), storage.stamp, id(tensor)
    if content.exposed:
        return id(tensor._array), None, id(tensor)
    return id(tensor._array), content.stamp, id(tensor)


def _looks_changed(grad: Any, mark: Any) -> bool:
    """Of memory whose writes cannot be known: whether it may have been cleared or replaced."""
    return mark is None or mark[2] != id(grad) or _is_zero(grad)


def _is_zero(grad: Any) -> bool:
    array = grad._array
    return isinstance(array, np.ndarray) and array.dtype.kind in FLOATING and not array.any()


def writer_of(tensor: Any) -> Place | None:
    """Where a tensor was written in place last, if that was a line of the program."""
    storage = tensor._storage
    content = None if storage is None else storage.content
    if content is not None and isinstance(content.writer, tuple):
        return place_of(*content.writer)
    writes: tuple[tuple[int, Any], ...] = () if storage is None else storage.writes
    for _, writer in reversed(writes):
        if isinstance(writer, tuple):
            return place_of(*writer)
    return None


def stamp_of(tensor: Any) -> int:
    """When a tensor was written last, 0 if never or if that is unknown."""
    return mark_of(tensor)[1] or 0
