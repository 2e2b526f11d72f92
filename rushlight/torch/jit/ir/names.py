"""Names of values in printed graphs: of several that are called alike the last one has the name as it is.

A value that takes a name leaves the one that had it another: x becomes x.1, then x.3, x.5, as torch counts.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Names"]


class Names:
    """The names of one graph, or of all graphs of a trace."""

    def __init__(self) -> None:
        self.of: dict[Any, str] = {}
        self._owners: dict[str, Any] = {}
        self._next: dict[str, int] = {}  # the suffix of the next value that loses a name

    def take(self, value: Any, name: str) -> None:
        """Give a value a name; the value that has it gets another."""
        before = self._owners.get(name)
        if before is value:
            return
        if before is not None:
            self._rename(before, name)
        if value in self.of:
            del self._owners[self.of[value]]
        self._owners[name], self.of[value] = value, name

    def _rename(self, value: Any, name: str) -> None:
        base, _, end = name.rpartition(".")
        base, suffix = (base, int(end)) if base and end.isdecimal() else (name, 1)
        if base in self._next:
            suffix = max(suffix, self._next[base] + 1)
        while f"{base}.{suffix}" in self._owners:
            suffix += 1
        self._next[base] = suffix + 1
        del self.of[value]
        self._owners[f"{base}.{suffix}"], self.of[value] = value, f"{base}.{suffix}"
