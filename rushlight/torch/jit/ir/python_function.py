"""Calls of Python inside a program, of an `autograd.Function` or of what is marked `@ignore`: they cannot be saved."""

from __future__ import annotations

from typing import Any

from ....core.tensor.tensor import Tensor

__all__ = ["IgnoredFunction", "PythonFunction"]


class PythonFunction:
    """The function and the arguments of the trace, of which the tensors change from call to call."""

    def __init__(self, function: Any, args: tuple):
        self.function = function
        self._args = [None if isinstance(a, Tensor) else a for a in args]
        self._tensors = [i for i, a in enumerate(args) if isinstance(a, Tensor)]

    def __call__(self, *tensors: Tensor) -> Any:
        """The function's results that are tensors."""
        args = list(self._args)
        for i, t in zip(self._tensors, tensors, strict=True):
            args[i] = t
        result = self.function.apply(*args)
        if not isinstance(result, tuple):
            return result
        found = tuple(t for t in result if isinstance(t, Tensor))
        return found if len(found) != 1 else found[0]

    def shown_arguments(self) -> str:
        """The arguments that are no tensors, as torch shows them."""
        return ", ".join(repr(a) for i, a in enumerate(self._args) if i not in self._tensors)


class IgnoredFunction:
    """A function or method that is marked `@ignore`: called as Python's."""

    def __init__(self, function: Any):
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def shown_arguments(self) -> str:
        """No argument is fixed."""
        return ""
