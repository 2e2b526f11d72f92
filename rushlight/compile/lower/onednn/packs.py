"""`Pack`: an operand in the layout that primitives want, made once and used by all that want the same of it.

Values are written once, so what is packed holds for the rest of a run. Where the value is memory from outside it may hold
for the next run as well: `compile/packs.py` knows. `find_packs` goes through all nodes before memory is planned, since a
pack needs room from the first primitive that takes it to the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ....backend.onednn.primitives import Owned, equal, size_bytes, wanted_desc
from ...graph import Ref, Value
from .binder import Probe

__all__ = ["Pack", "find_packs"]


class Pack:
    """`ref` in `layout`, for the nodes from number `first` to number `last`.

    then: what replaces `ref` outside, if it is packed in the same way later and into the same room.
    flag: the address of a number that is 0 when the reorder is not needed, or 0. memory: oneDNN's object, once it is made.
    """

    def __init__(self, ref: Ref, desc: Owned, layout: int, at: int):
        self.ref, self.layout, self.first, self.last = ref, layout, at, at
        self.nbytes = size_bytes(layout)
        self.then: Ref | None = None
        self.flag = self.memory = 0
        self.made: list[Ref] = []
        self._desc = desc  # owns the layout

    def holds(self, ref: Ref, layout: int) -> bool:
        """Whether this is what a primitive wants that takes `ref` in `layout`."""
        return ref in (self.ref, self.then) and equal(self.layout, layout)


def find_packs(
    nodes: Iterable[tuple[int, Any]],
    uses: Counter[Ref],
    bind: Callable[[Any, Probe], bool],
    after: Mapping[Value, Value],
) -> list[Pack]:
    """What the numbered nodes want packed; `bind` would emit it. after: what replaces a value outside."""
    finder = _Finder(uses)
    for finder.at, node in nodes:
        bind(node, finder)
    return _merged(finder.packs, after)


class _Finder(Probe):
    def __init__(self, uses: Counter[Ref]):
        self._uses = uses
        self.packs: list[Pack] = []
        self.at = 0

    def uses(self, ref: Ref) -> int:
        return self._uses[ref]

    def packed(self, desc: Owned, kind: int, ref: Ref, layout: Owned) -> int:
        wanted = wanted_desc(desc, kind)
        if equal(wanted, layout.value):
            return 0
        known = next((p for p in self.packs if p.holds(ref, wanted)), None)
        if known is None:
            self.packs.append(Pack(ref, desc, wanted, self.at))
        else:
            known.last = self.at
        return 0


def _merged(packs: list[Pack], after: Mapping[Value, Value]) -> list[Pack]:
    """One pack for a value and for what replaces it, where all uses of the former come first."""
    gone: set[int] = set()
    for pack in packs:
        if pack.ref.value in after:
            then = pack.ref._replace(value=after[pack.ref.value])
            later = next((p for p in packs if p.holds(then, pack.layout) and pack.last < p.first), None)
            if later is not None:
                pack.then, pack.last = then, later.last
                gone.add(id(later))
    return [p for p in packs if id(p) not in gone]
