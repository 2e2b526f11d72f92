"""Names of sizes that may change, and what other sizes are of them: `s77`, `4*s77 + 1`, as torch prints them.

The graph is made for several sizes of the inputs; what a size of a result is in each of them gives its formula.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

__all__ = ["Symbol", "ValueRange", "changes", "formula", "symbols"]

_MOST = 2**63 - 1
_DIVISORS = 8  # the largest that is looked for, and how many sizes that follow each other are tried


class Symbol(str):
    """The name of a size."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ValueRange(NamedTuple):
    """The bounds of a size, both included."""

    lower: int
    upper: int

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper == _MOST else self.upper}]"


def symbols(sources: Sequence[tuple[str, str]]) -> dict[str, Symbol]:
    """{name of a size that may change: its symbol}, numbered by the first place of an input that has it, as torch does.

    sources: the name and the place, such as "L['x'].size()[0]", in the order of the inputs.
    """
    found: dict[str, Symbol] = {}
    taken: set[int] = set()
    for name, source in sources:
        if name in found:
            continue
        number = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100
        while number in taken:
            number += 1
        taken.add(number)
        found[name] = Symbol(f"s{number}")
    return found


def changes(names: Sequence[str]) -> list[dict[str, tuple[int, int]]]:
    """To what sizes n are changed in a run of the graph, (a, b) for a n + b: each alone in four ways, and all at once."""
    alone = [{name: change} for name in names for change in ((2, 0), (3, 0), *((1, k) for k in range(1, _DIVISORS)))]
    together = [{name: (2 + i, i % 2) for i, name in enumerate(names)}]
    return alone + (together if len(names) > 1 else [])


def formula(known: Sequence[dict[Symbol, int]], sizes: Sequence[int]) -> str | None:
    """What gives these sizes for these values of the symbols: a number, a product of symbols times a number or divided by one,
    plus a number; None if none of these does.
    """
    if len(set(sizes)) == 1:
        return str(sizes[0])
    names = list(known[0])
    moved = [
        s
        for s in names
        if any(size != sizes[0] for row, size in zip(known, sizes, strict=True) if row[s] != known[0][s])
    ]
    for count in range(1, len(names) + 1):
        for chosen in combinations([s for s in names if s in moved], count):
            text = _fitted(known, sizes, chosen)
            if text:
                return text
    return None


def _fitted(known: Sequence[dict[Symbol, int]], sizes: Sequence[int], chosen: tuple[Symbol, ...]) -> str | None:
    products = []
    for row in known:
        product = 1
        for s in chosen:
            product *= row[s]
        products.append(product)
    other: Any = next((i for i, p in enumerate(products) if p != products[0]), None)
    if other is None:
        return None
    text = "*".join(sorted(chosen))
    factor, rest = divmod(sizes[other] - sizes[0], products[other] - products[0])
    if not rest and factor:
        found = _with_sum(text if factor == 1 else f"{factor}*{text}", [factor * p for p in products], sizes)
        if found:
            return found
    for divisor in range(2, _DIVISORS + 1):
        if len({p % divisor for p in products}) < divisor:
            continue  # another formula could be meant
        for less in (0, 1):
            whole = f"(({text} - 1)//{divisor})" if less else f"({text}//{divisor})"
            found = _with_sum(whole, [(p - less) // divisor for p in products], sizes, "({})")
            if found:
                return found
    return None


def _with_sum(text: str, computed: Sequence[int], sizes: Sequence[int], in_sums: str = "{}") -> str | None:
    """The text, plus a number where all sizes are by that much larger than what was computed."""
    added = sizes[0] - computed[0]
    if any(c + added != size for c, size in zip(computed, sizes, strict=True)):
        return None
    return text if not added else f"{in_sums.format(text)} {'+' if added > 0 else '-'} {abs(added)}"
