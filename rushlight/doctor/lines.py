"""The lines of operators: which statement made a node of the tape.

A `Witness` takes them while it is armed, in few windows (a window ends with a step): the first ones, and those for which a
check or a new tape asks. What was learnt of a tape holds for all tapes of the same operators.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..core.tensor.node import Output
from .events import Call
from .places import Place
from .tape import Tape
from .witness import Witness

__all__ = ["Lines"]

_FIRST_WINDOWS = 2
_MOST_OPTIMIZERS = 4  # whose windows follow one another at the start
_MOST_TAPES = 64  # of different operators, whose lines are remembered
_MOST_TRIES = 4  # to get them: a loss may come in every sixth window only
_MOST_CALLS = 20_000  # of operators for each step, after which lines are taken no longer, whatever happens


class Lines:
    """Of one doctor. windows: in how many, with this one, lines are taken. known: by the kinds of a tape, for each of its nodes.

    called: is told of each call. outer: the statement that called the outermost module, while one is running.
    """

    def __init__(self, called: Callable[[Call, tuple, tuple], None], outer: Callable[[], Place | None]) -> None:
        self.called, self.outer = called, outer
        self.windows = _FIRST_WINDOWS
        self.known: dict[int, list[Place | None]] = {}
        self.steps = 0
        self._by_kind: dict[type, set[Place]] = {}  # of nodes
        self._tries: dict[int, int] = {}  # by the kinds of a tape: how often its lines were asked for
        self._here = threading.local()

    @property
    def witness(self) -> Witness:
        """This thread's."""
        found = getattr(self._here, "witness", None)
        if found is None:
            found = self._here.witness = Witness(self._told, self.outer)
        return found

    def _told(self, call: Call, inputs: tuple, results: Any) -> None:
        self.called(call, inputs, results)
        if self._are_too_many():
            self.pause()

    def _are_too_many(self) -> bool:
        return self.witness.total >= _MOST_CALLS * (1 + self.steps)

    # ------------------------------------------------------------------------------------------ when they are taken

    def begin(self, optimizers: int) -> None:
        """So many optimizers were made before the first step: a window is over with each step of each of them."""
        if self.windows:
            self.windows = max(self.windows, min(optimizers, _MOST_OPTIMIZERS) * _FIRST_WINDOWS)

    def ask(self, windows: int = 1) -> None:
        """Take lines for so many windows: a check has become suspicious."""
        self.windows = max(self.windows, windows)
        self.resume()

    def resume(self) -> None:
        """Take them in this thread from now on, if this is a window for it."""
        if self.windows and not self._are_too_many():
            self.witness.arm()

    def pause(self) -> bool:
        """Take none in this thread for a while. Whether they were taken."""
        return self.witness.disarm()

    def window_over(self, steps: int) -> None:
        """A step has ended, after so many."""
        self.steps = steps
        if self.windows:
            self.windows -= 1
        self.witness.forget()

    @property
    def are_taken(self) -> bool:
        """Whether lines were taken in this window."""
        return bool(self.witness.calls)

    # ------------------------------------------------------------------------------------------ what they are

    def of(self, node: Any, tape: Tape | None = None) -> Place | None:
        """Where a node was made: known if lines were taken then, or of an earlier tape of the same operators."""
        if node is None:
            return None
        if type(node) is Output:
            node = node.edges[0]
        found = self.witness.lines.get(getattr(node, "seq", 0))
        if found is None and tape is not None and (known := self.known.get(tape.kinds)) is not None:
            found = next((place for place, n in zip(known, tape.nodes, strict=False) if n is node), None)
        if found is None:
            places = self._by_kind.get(type(node), ())
            found = next(iter(places)) if len(places) == 1 else None
        return found

    def outer_of(self, node: Any) -> Place | None:
        """The statement that called the outermost module in which a node was made."""
        if type(node) is Output:
            node = node.edges[0]
        return self.witness.outer_lines.get(getattr(node, "seq", 0))

    def learn(self, tape: Tape) -> bool:
        """Take the lines of a tape's nodes. Whether they are known, or will never be: else they are asked for in the next windows."""
        witness, known = self.witness, self.known.get(tape.kinds)
        if known is None and len(self.known) >= _MOST_TAPES:
            return True
        lines: list[Place | None] = []
        if witness.calls:
            lines = [
                witness.lines.get(node.seq if type(node) is not Output else node.edges[0].seq) for node in tape.nodes
            ]
        if any(lines):
            if not known:
                for node, place in zip(tape.nodes, lines, strict=True):
                    if place is not None:
                        self._by_kind.setdefault(type(node), set()).add(place)
            self.known[tape.kinds] = lines
        elif not known:
            self.known[tape.kinds] = []
            self._tries[tape.kinds] = tries = self._tries.get(tape.kinds, 0) + 1
            if tries <= _MOST_TRIES:
                self.ask(2**tries)  # the rest of this window is one
            return tries > _MOST_TRIES
        return True
