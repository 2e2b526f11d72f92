"""The models, optimizers and schedulers that the program used last: they live until the verdict.

A program that ends has dropped them: what its `main()` made is gone when `main()` returns, before the end can be judged.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Latest"]

_FEW = 8  # are kept however old they are
_STEPS = 64  # for which others are kept


class Latest:
    """Strong references, of which there are few. None of these objects holds a graph."""

    def __init__(self) -> None:
        self.used: dict[int, tuple[Any, int, Any]] = {}  # by identity: (the object, steps made at its last use, others)

    def note(self, used: Any, steps: int, others: Any = None) -> None:
        """Keep an object and others with it, and drop those that have not been used for long."""
        key = id(used)
        is_new = key not in self.used
        self.used[key] = used, steps, others if is_new else others or self.used[key][2]
        if is_new and len(self.used) > _FEW:
            by_age = sorted(self.used.items(), key=lambda item: item[1][1])
            for other, (_, last, _) in by_age[: len(by_age) - _FEW]:
                if last < steps - _STEPS:
                    del self.used[other]

    def since(self, steps: int) -> list[Any]:
        """Those that were used when so many steps had been made, or later."""
        return [used for used, last, _ in self.used.values() if last >= steps]

    def clear(self) -> None:
        """Keep nothing."""
        self.used.clear()
