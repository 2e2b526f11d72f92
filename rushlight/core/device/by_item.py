"""Conversions to Python's numbers, for what has its one element by `item()`."""

from __future__ import annotations

from operator import index
from typing import Any

__all__ = ["NumberByItem"]


class NumberByItem:
    """The conversions of a class that has `item`."""

    __slots__ = ()
    item: Any

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        return index(self.item())
