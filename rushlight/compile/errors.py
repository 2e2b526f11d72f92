"""What compiling raises, under torch's names: all of it is a RuntimeError."""

from __future__ import annotations

from typing import Any

__all__ = ["BackendCompilerFailed", "InvalidBackend", "TorchDynamoException"]


class TorchDynamoException(RuntimeError):
    """Whatever `torch.compile` raises by itself."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of this name."""

    def __init__(self, name: Any, names: list[str]):
        self.name = name
        super().__init__(f"Invalid backend: {name!r}; the backends are {', '.join(names)}")


class BackendCompilerFailed(TorchDynamoException):
    """A backend raised an error, `inner_exception`, when it was given a graph."""

    def __init__(self, backend: Any, inner_exception: Exception):
        self.backend_name = getattr(backend, "__name__", "?")
        self.inner_exception = inner_exception
        text = f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}"
        super().__init__(text)
