"""Gradients where batches are: of batched outputs, and for many incoming gradients at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .tensor import Level, active, hide, reveal

__all__ = ["beneath", "for_each_row"]


def beneath(levels: Sequence[Level], run: Callable, *groups: Sequence[Any]) -> list[Any]:
    """`run(*groups)`, a list of tensors or None, on the tensors under `levels`; so are its results."""
    if not levels:
        return run(*groups)

    def revealed(t: Any) -> Any:
        for level in reversed(levels):
            t = reveal(t, level)
        return t

    def hidden(t: Any) -> Any:
        for level in levels:
            t = hide(t, level)
        return t

    results = run(*[[revealed(t) for t in group] for group in groups])
    return [None if r is None else hidden(r) for r in results]


def for_each_row(run: Callable, rows: Sequence[Any]) -> list[Any]:
    """`run(rows)`, a list of tensors or None, for each entry of the rows' first dimension, at once.

    Shape: rows (n, *) -> results (n, *)
    """
    level = Level(len(active()) + 1, rows[0].shape[0])
    results = run([hide(r, level) for r in rows])
    return [None if r is None else reveal(r, level) for r in results]
