"""Whether Python code runs for a compiled function: what `torch.compiler.is_compiling` tells it.

A program branches on it, so that the answer is the same in calls that run as Python and in those that are captured.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["region"]


class _Region(threading.local):
    inside = False

    def run(self, inside: bool, function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a function as part of a compiled one, or as what is kept out of it."""
        before, self.inside = self.inside, inside
        try:
            return function(*args, **kwargs)
        finally:
            self.inside = before


region = _Region()
