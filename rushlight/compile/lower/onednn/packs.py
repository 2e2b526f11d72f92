"""`Pack`: an operand in the layout that primitives want, made once and used by all that want the same of it.

Values are written once, so what is packed holds for the rest of a run. Where the value is memory from outside it may hold
for the next run as well: `compile/runtime/prepacked_weights.py` knows. `find_packs` goes through all nodes before memory is planned, since a
pack needs room from the first primitive that takes it to the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ....backend.onednn.primitives import Owned, equal, size_bytes, wanted_desc
from ...ir.graph import Ref
from .binder import Probe

__all__ = ["Pack", "find_packs"]


class Pack:
    """`ref` in `layout`, for `times` primitives, the nodes from number `first` to number `last`.

    flag: the address of a number that is 0 when the reorder is not needed, or 0. memory: oneDNN's object, once it is made.
    """

    def __init__(self, ref: Ref, desc: Owned, layout: int, at: int):
        self.ref, self.layout, self.first, self.last, self.times = ref, layout, at, at, 1
        self.nbytes = size_bytes(layout)
        self.flag = self.memory = 0
        self.is_made = False
        self._desc = desc  # owns the layout

    def holds(self, ref: Ref, layout: int) -> bool:
        """Whether this is what a primitive wants that takes `ref` in `layout`."""
        return ref == self.ref and equal(self.layout, layout)


def find_packs(nodes: Iterable[tuple[int, Any]], uses: Counter[Ref], bind: Callable[[Any, Probe], bool]) -> list[Pack]:
    """What the numbered nodes want packed; `bind` would emit it."""
    finder = _Finder(uses)
    for finder.at, node in nodes:
        bind(node, finder)
    return finder.packs


class _Finder(Probe):
    def __init__(self, uses: Counter[Ref]):
        super().__init__()
        self._uses = uses
        self.packs: list[Pack] = []
        self.at = 0

    def uses(self, ref: Ref) -> int:
        return self._uses[ref]

    def _pack(self, desc: Owned, kind: int, ref: Ref, layout: Owned) -> int:
        wanted = wanted_desc(desc, kind)
        if equal(wanted, layout.value):
            return 0
        known = next((p for p in self.packs if p.holds(ref, wanted)), None)
        if known is None:
            self.packs.append(Pack(ref, desc, wanted, self.at))
        else:
            known.last = self.at
            known.times += 1
        return 0
