"""`torch.utils._contextlib`: the class from which libraries derive contexts that decorate functions as well."""

from __future__ import annotations

from typing import Any

from ..core.dispatch.mode import Context

__all__ = ["_DecoratorContextManager"]


class _DecoratorContextManager(Context):
    """A context that a call of its instance puts around each call of a function, or each step of a generator."""

    def clone(self) -> Any:
        """A fresh one, for one call."""
        return type(self)()
