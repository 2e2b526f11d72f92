"""`torch.return_types`: the named tuples that operators return."""

from typing import Any

from .. import ops as _ops  # noqa: F401  registering the operators makes the classes
from ..core.dispatch.return_types import KNOWN

__all__ = sorted(KNOWN)


def __getattr__(name: str) -> Any:
    if name in KNOWN:
        return KNOWN[name]
    raise AttributeError(f"module 'torch.return_types' has no attribute {name!r}: Rushlight does not have it")


def __dir__() -> list[str]:
    return sorted(KNOWN)
