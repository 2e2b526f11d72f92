"""Words of messages."""

from __future__ import annotations

__all__ = ["many"]


def many(n: int, what: str) -> str:
    """'1 step', '3 steps', '2 batches'."""
    if n == 1:
        return f"1 {what}"
    plural = what[:-1] + "ies" if what.endswith("y") else what + ("es" if what.endswith(("s", "tch")) else "s")
    return f"{n} {plural}"
