"""Sizes given as one number or one per dimension, as tuples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["expand"]


def expand(size: Any, n: int) -> tuple:
    """The size as a tuple: a single number ``n`` times, an iterable as it is."""
    return tuple(size) if isinstance(size, Iterable) else (size,) * n
