"""`foreach_map`: one function over lists of tensors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

__all__ = ["foreach_map"]


def foreach_map(op: Callable, *operands: Any) -> Any:
    """`[op(*row) for row in zip(*operands)]`, where operands that are no lists are repeated; without a list `op(*operands)`.

    The shortest list ends them all. There are no options: torch takes some, and gives them to no call.

    >>> from rushlight import add, ones
    >>> foreach_map(add, [ones(1), ones(2)], 1)
    [tensor([2.]), tensor([2., 2.])]
    """
    if not any(isinstance(operand, (list, tuple)) for operand in operands):
        return op(*operands)
    rows = zip(*(o if isinstance(o, (list, tuple)) else repeat(o) for o in operands), strict=False)
    return [op(*row) for row in rows]
