"""Words of messages."""

from __future__ import annotations

import re

__all__ = ["many", "words_shared"]

_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*|\d+")


def many(n: int, what: str) -> str:
    """'1 step', '3 steps', '2 batches'."""
    if n == 1:
        return f"1 {what}"
    plural = what[:-1] + "ies" if what.endswith("y") else what + ("es" if what.endswith(("s", "tch")) else "s")
    return f"{n} {plural}"


def words_shared(text: str) -> set[str]:
    """The parts of names that both sides of an assignment have: `sched_d = StepLR(opt_d, 5)` gives {'d'}."""
    left, _, right = text.partition("=")
    return set(_WORD.findall(left)) & set(_WORD.findall(right))
