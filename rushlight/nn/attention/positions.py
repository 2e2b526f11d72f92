"""A function of one score's position, evaluated at all positions: what torch does by four nested `vmap`s.

A modification is written for numbers: `mod(score, b, h, q, k)` or `mod(b, h, q, k)`. Nearly all of them are elementwise
and indexing code, which means the same when `b, h, q, k` are index tensors of shapes (B, 1, 1, 1), (1, H, 1, 1),
(1, 1, Q, 1) and (1, 1, 1, K). Where it does not (`table[b][h]`, a sum over a row), the results at a few positions differ
from those of the function called there with numbers; then fewer dimensions are evaluated at once, in the end none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np

from rushlight import ops
from rushlight.core.dispatch.mode import no_grad, thread
from rushlight.core.tensor.tensor import Tensor

__all__ = ["at_positions"]


def at_positions(mod: Callable, sizes: tuple[int, int, int, int], scores: Tensor | None = None) -> Tensor:
    """`mod` at every position: a tensor of shape `sizes` = (B, H, Q, K), which may be an expanded one.

    scores: (B, H, Q, K), the first argument of `mod` at each position; without it `mod` takes the four indices alone.
    RuntimeError or what `mod` raises, where it cannot be called with numbers.
    """
    wanted = _samples(mod, sizes, scores)
    for together in (4, 3, 2, 1):
        try:
            values = _partly(mod, sizes, scores, together)
        except Exception:
            continue
        if _agree(values, wanted):
            return values
    return _partly(mod, sizes, scores, 0)


def _partly(mod: Callable, sizes: tuple[int, ...], scores: Tensor | None, together: int) -> Tensor:
    """The last `together` dimensions at once, the ones before them in loops."""
    outer, inner = sizes[: 4 - together], sizes[4 - together :]
    grid = [_index(i, n, together) for i, n in enumerate(inner)]
    parts = []
    for place in product(*map(range, outer)):
        first = () if scores is None else (scores[place],)
        value = mod(*first, *[_number(i) for i in place], *grid)
        parts.append(value.expand(inner))
    return parts[0] if not outer else ops.stack(parts).reshape(sizes)


def _index(dim: int, size: int, dims: int) -> Tensor:
    return ops.arange(size).view([size if i == dim else 1 for i in range(dims)])


def _number(i: int) -> Tensor:
    return ops.tensor(i)


def _samples(mod: Callable, sizes: tuple[int, ...], scores: Tensor | None) -> list[tuple[tuple[int, ...], Any]]:
    """(position, the value there) for corners and a point between: no reduction over a dimension has all of them right."""
    b, h, q, k = (n - 1 for n in sizes)
    places = {(0, 0, 0, 0), (b, h, q, k), (b, 0, q, 0), (0, h, 0, k), (b // 2, h // 2, q // 2, k // 2)}
    if not all(sizes):
        return []
    found = []
    with _unheard(), no_grad():
        for place in sorted(places):
            first = () if scores is None else (scores[place],)
            found.append((place, mod(*first, *[_number(i) for i in place]).detach().numpy()))
    return found


def _agree(values: Tensor, wanted: list[tuple[tuple[int, ...], Any]]) -> bool:
    with _unheard(), no_grad():
        return all(np.allclose(values[place].detach().numpy(), w, 1e-3, 1e-5, equal_nan=True) for place, w in wanted)


@contextmanager
def _unheard() -> Iterator[None]:
    """Calls that decide how to go on, which no program that is being captured may repeat."""
    state = thread.state
    listener, state.listener = state.listener, None
    state.refresh()
    try:
        yield
    finally:
        state.listener = listener
        state.refresh()
