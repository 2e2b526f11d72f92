"""Tapes that come again: the programs that do their passes, and when one is worth making.

Tapes are counted by their outline: the classes of their nodes and the shapes of what these computed. From the third
occurrence of one on, `try_compiled` may do the pass, and may make a program (`compile/jit/backward.py`); later than that

- for a long tape, whose program takes longer to make;
- for a rare one, where a loop has many outlines in turns (sequences of all lengths): each program is used seldom;
- for any, while the thread has no program: after passes that took about as long as loading the compiler takes.

`RUSHLIGHT_JIT=always` leaves out the last two. All that decides is counted in the thread itself, and no clock: results differ
by rounding, and a thread's digits depend neither on other threads nor on how busy the machine is.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from math import prod
from operator import attrgetter
from typing import Any

from ..core.dispatch.extension_points import try_compiled
from ..core.jit_switch import jit
from ..core.tensor.node import Leaf, Node
from ..core.tensor.tensor import Tensor

__all__ = ["repeats"]

_shape_of = attrgetter("shape")

_FIRST = 3  # occurrences
_LONG, _LONGEST = 128, 1500  # nodes: making a program takes 2 ms a node; the longest are not counted
# Nodes, and elements of the largest result: passes of fewer of both take less than looking for a program.
_SHORT, _LARGE = 3, 1 << 16
# An outline is rare among more passes than so many times its own, and then waits for so many more of its own.
_RARE, _MORE = 4, 27
_LOADING_MS = 100.0  # of the plain engine: loading the compiler and making a small program take as long
_OUTLINES = 4096  # that are counted
_TRIED = 2  # programs of a root's class: to know that a tape is none of a longer list takes more than its outline


class _Repeats(threading.local):
    """A thread's. waiting: occurrences that are left.

    programs, by_outline: `program(roots, wanted)` may do the whole pass, and then gives its results.
    """

    def __init__(self):
        self.programs: dict[Any, list] = {}  # by the kind of pass
        self.by_outline: dict[int, list] = {}  # those of roots that have too many to try them all
        self.waiting: dict[int, int] = {}  # outline -> occurrences until `try_compiled` is called (again)
        self.passes = 0  # that were counted
        self.since: dict[int, int] = {}  # outline that has not been looked at -> the pass in which it came first

    @staticmethod
    def kind(roots: list[tuple[Any, Tensor]], wanted: list | None, keep_graph: bool) -> Any:
        """By what programs are chosen before their tapes are compared.

        The class of the root, where all leaves accumulate; in a pass of `autograd.grad` with the number of roots, how many
        gradients are wanted, and whether the graph is kept.
        """
        first = type(roots[0][0])
        return first if wanted is None else (first, len(roots), len(wanted), keep_graph)

    def serve(self, programs: dict[Any, dict[int, list]]) -> None:
        """Try these programs, by the kind of pass and the outline, in this thread's passes."""
        self.programs, self.by_outline = {}, {}
        for kind, outlines in programs.items():
            all_of_kind = [program for same in outlines.values() for program in same]
            if len(all_of_kind) <= _TRIED:
                self.programs[kind] = all_of_kind
            else:
                self.by_outline.update(outlines)

    def try_first(self, kind: Any, program: Any) -> None:
        """Try a program before the others of its kind, until another one does a pass.

        One that is served no more, since its own pass has made others, stays out.
        """
        programs = self.programs.get(kind, [])
        if program in programs:
            self.programs[kind] = [program, *(p for p in programs if p is not program)]

    def wait(self, outline: int, passes: int) -> None:
        """Call `try_compiled` for an outline when it has come so often."""
        self.waiting[outline] = passes

    def recount(self) -> None:
        """Forget how often outlines have come."""
        self.waiting.clear()
        self.since.clear()

    def results(
        self,
        order: list[Node],
        leaves: Collection[Leaf],
        roots: list[tuple[Any, Tensor]],
        wanted: list | None,
        keep_graph: bool,
    ) -> list | None:
        """Count a tape; what the pass gives if a program, or what makes one, has done it. None: nothing was done."""
        if len(order) < _SHORT and all(_elements(node.shape) < _LARGE for node in order) or len(order) > _LONGEST:
            return None
        kind = self.kind(roots, wanted, keep_graph)
        outline = hash((kind, tuple(map(type, order)), tuple(map(_shape_of, order))))
        for program in self.by_outline.get(outline, ()):
            results = program(roots, wanted)
            if results is not None:
                return results
        self.passes += 1
        left = self.waiting.get(outline)
        if left is None:
            if len(self.waiting) >= _OUTLINES:
                self.recount()
            left = _due(order)
            self.since[outline] = self.passes
        left -= 1
        if left <= 0:
            left = self._patience(outline, order, leaves)
        if left > 0:
            self.waiting[outline] = left
            return None
        compiled = try_compiled.value
        return None if compiled is None else compiled(outline, roots, wanted, keep_graph)

    def _patience(self, outline: int, order: list[Node], leaves: Collection[Leaf]) -> int:
        """How many more occurrences an outline that has come often enough for others needs: looked at once."""
        first = self.since.pop(outline, None)
        if first is None or jit.always:
            return 0
        patience = _MORE if self.passes - first > _RARE * _due(order) else 0
        if not self.programs and not self.by_outline:
            run_ms = 0.01 * len(order) + 4e-6 * sum(_elements(node.shape) for node in (*order, *leaves))
            patience = max(patience, int(_LOADING_MS / run_ms))
        return patience


def _due(order: list[Node]) -> int:
    """The occurrence of an outline at which a program may pay, if it comes in every step."""
    return _FIRST + max(0, len(order) - _LONG) // 8


def _elements(shape: tuple | None) -> int:
    """Of a node's result, or of all its results together."""
    if shape is None:
        return 0
    return prod(shape) if all(type(n) is int for n in shape) else sum(map(_elements, shape))


repeats = _Repeats()
