"""Where values on the way to a loss lost their history, and which tensors would have got gradients through them.

Known only of windows in which lines are taken; what was seen of a backward's line then is taken for its later calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.tensor.node import Leaf
from .events import Call
from .places import Place, is_expression

if TYPE_CHECKING:
    from .ledger import Entry, Ledger
    from .witness import Witness

__all__ = ["Cut", "Cuts", "leaves_of"]

_NEAR = 200  # nodes, among which the leaves of a value are looked for
_MOST = 256  # tensors that are remembered of a place


class Cut:
    """One place, and the ledger's entries of which values were cut off there."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.entries: set[int] = set()

    @property
    def place(self) -> Place:
        """The region of `no_grad`, or the statement of a `detach()`."""
        return self.call.region or self.call.place


class Cuts:
    """Of all backwards of a program."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.waiting: dict[int, set[int]] = {}  # by a call's index, in this window
        self.reads: dict[Place, Cut] = {}  # values that Python read, other than to show them
        self.by_backward: dict[Place, dict[Place, Cut]] = {}
        self.latest: Place | None = None  # the last backward's

    def note_call(self, call: Call, inputs: tuple) -> None:
        """A call whose inputs had a history, and whose result has none."""
        entries = self.waiting[call.index] = {id(self.ledger.entry(t)) for t in leaves_of(inputs)}
        if call.name.endswith("()") and not is_expression(call.place):
            cut = self.reads.setdefault(call.place, Cut(call))
            if len(cut.entries) < _MOST:
                cut.entries |= entries

    def note_backward(self, place: Place, roots: list[Any], witness: Witness | None) -> None:
        """Remember the cuts on the way to the roots of a backward."""
        self.latest = place
        if witness is None or not self.waiting:
            return
        found = self.by_backward.setdefault(place, {})
        for call in witness.cuts_before(roots):
            cut = found.setdefault(call.region or call.place, Cut(call))
            if len(cut.entries) < _MOST:
                cut.entries |= self.waiting.get(call.index, set())

    def is_of_optimizer(self, call: Call) -> bool:
        """Whether a call of this window cuts off a tensor that an optimizer has."""
        entries = self.waiting.get(call.index, set())
        return any(id(e) in entries and e.owners for e in self.ledger.entries.values()) if entries else False

    def window_over(self) -> None:
        """The calls of this window are forgotten."""
        self.waiting.clear()

    def of_latest(self, entries: list[Entry]) -> Cut | None:
        """The cut before the last backward that keeps gradients from these tensors."""
        return _best(self.by_backward.get(self.latest, {}), entries) if self.latest is not None else None

    def before(self, entries: list[Entry]) -> Cut | None:
        """That before any backward."""
        best = [cut for cuts in self.by_backward.values() if (cut := _best(cuts, entries)) is not None]
        return max(best, key=lambda cut: _score(cut, entries), default=None)

    def read_of(self, entries: list[Entry]) -> Cut | None:
        """Where Python read a value that only these tensors have made."""
        mine = {id(e) for e in entries}
        return next((cut for cut in self.reads.values() if cut.entries and cut.entries <= mine), None)


def _score(cut: Cut, entries: list[Entry]) -> float:
    mine = {id(e) for e in entries}
    return len(mine & cut.entries) - 0.01 * len(cut.entries - mine)


def _best(cuts: dict[Place, Cut], entries: list[Entry]) -> Cut | None:
    found = max(cuts.values(), key=lambda cut: _score(cut, entries), default=None)
    return found if found is not None and any(id(e) in found.entries for e in entries) else None


def leaves_of(inputs: tuple) -> list[Any]:
    """The tensors that a call's inputs were computed from, of those that are near."""
    waiting = [t._edge for t in inputs if getattr(t, "_edge", None) is not None]
    seen: set[Any] = set()
    found = []
    while waiting and len(seen) < _NEAR:
        edge = waiting.pop()
        if type(edge) is Leaf:
            if (tensor := edge.ref()) is not None:
                found.append(tensor)
        elif edge not in seen:
            seen.add(edge)
            waiting += [e for e in edge.edges if e is not None]
    return found
