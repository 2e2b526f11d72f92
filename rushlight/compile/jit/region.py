"""Whether Python code runs for a compiled function, or to be exported: what `torch.compiler.is_compiling` and `is_exporting` say.

A program branches on it, so that the answer is the same in calls that run as Python and in those that are captured.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["region"]


class _Region(threading.local):
    inside = exporting = False

    def run(self, inside: bool, function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a function as part of a compiled one, or as what is kept out of it."""
        before, self.inside = self.inside, inside
        try:
            return function(*args, **kwargs)
        finally:
            self.inside = before

    @contextmanager
    def export(self) -> Iterator[None]:
        """While a module is exported: it is asked for what it does as if it were compiled."""
        before = self.inside, self.exporting
        self.inside = self.exporting = True
        try:
            yield
        finally:
            self.inside, self.exporting = before


region = _Region()
