"""Attention on raw arrays, block by block: the matrix of all queries against all keys is never whole in memory.

A block is a few heads times a few queries against all keys that these may see. Of its scores only two numbers for
each query are kept, what was subtracted before exp (`shift`) and 1 / sum of the exponentials (`share`); backward
computes the weights again from them (their logarithm in one, log-sum-exp, would lose digits of large scores). What
would be a pass over a block is put into a product where that costs less: a column of -shift next to the queries, with
ones next to the keys, subtracts. Source: Dao et al. 2022 (FlashAttention).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from math import prod, sqrt

import numpy as np

from ..pointwise.building_blocks import max_reduce

# Scores of a block, in elements. Processor time of forward and backward, one thread, in ms, for 2^15, 2^16, 2^17, 2^18:
# (2, 8, 1024, 64) 216, 211, 193, 187; (8, 8, 128, 32), causal, 7.3, 7.9, 8.1, 8.7.
_BLOCK = 1 << 17
_FEWEST_ROWS = 32
# Exponentials of scores up to this size neither overflow nor vanish: no maximum has to be subtracted.
_HARMLESS = 30.0


class Mask:
    """Numbers to add to the scores of any block. array: what was given, broadcastable to (*batch, L, S)."""

    def __init__(self, array: np.ndarray, batch: tuple[int, ...], rows: int, columns: int, dtype: np.dtype):
        if array.dtype.kind == "b":
            array = np.where(array, dtype.type(0), dtype.type(-np.inf))
        array = array.astype(dtype, copy=False)
        array = array.reshape((1,) * (len(batch) + 2 - array.ndim) + array.shape)
        self.highest = float(array.max(initial=0.0))
        self.lowest = float(array.min(initial=0.0, where=array > -np.inf))
        own = array.shape[:-2]
        matrices = np.broadcast_to(array, (*own, rows, columns))
        self.shared = prod(own) == 1
        self.matrices = matrices.reshape(rows, columns) if self.shared else matrices.reshape(-1, rows, columns)
        self.of_head = np.broadcast_to(np.arange(prod(own)).reshape(own), batch).reshape(-1)

    def block(self, heads: slice, rows: slice) -> np.ndarray:
        """What to add to the scores of these heads and queries. Shape: (1 or heads, rows, columns)"""
        return self.matrices[rows] if self.shared else self.matrices[self.of_head[heads], rows]


def blocks(heads: int, rows: int, columns: int, causal: bool) -> Iterator[tuple[slice, list[tuple[slice, int]]]]:
    """Heads that belong together, with the blocks of their queries: which, and how many keys they may see."""
    height = min(rows, max(_BLOCK // max(columns, 1), _FEWEST_ROWS))
    if causal:  # low blocks skip more
        height = min(height, max(_FEWEST_ROWS, rows // 8))
    width = max(_BLOCK // max(height * columns, 1), 1)
    starts = range(0, rows, height)
    parts = [(slice(i, min(i + height, rows)), min(i + height, columns) if causal else columns) for i in starts]
    for h in range(0, heads, width):
        yield slice(h, min(h + width, heads)), parts


def _blocks_of(q: np.ndarray, k: np.ndarray, causal: bool) -> Iterator[tuple[slice, list[tuple[slice, int]]]]:
    """The blocks of two arrays; a single one where there is nothing to compute, as on the meta device."""
    (heads, rows), columns = q.shape[:2], k.shape[1]
    if type(q) is np.ndarray:
        return blocks(heads, rows, columns, causal)
    return iter([(slice(0, heads), [(slice(0, rows), columns)])])


_kept = threading.local()


class _Scores:
    """The rooms that every block works in, and what hides keys from queries."""

    def __init__(self, mask: Mask | None, causal: bool, like: np.ndarray):
        self.mask, self.causal, self.like, self.dtype = mask, causal, like, like.dtype
        self.large: dict = {}

    def room(self, name: str, *shape: int) -> np.ndarray:
        """Memory for an array of this shape: the same for every block, and, unless it is large, for the next call.

        Fresh memory costs page faults: about a fifth of the time of (8, 8, 128, 32).
        """
        if type(self.like) is not np.ndarray:
            return np.empty(shape, self.dtype, like=self.like)
        size = prod(shape)
        rooms: dict = _kept.__dict__ if size <= 2 * _BLOCK else self.large
        room = rooms.get((name, self.dtype))
        if room is None or room.size < size:
            room = rooms[name, self.dtype] = np.empty(size, self.dtype)
        return room[:size].reshape(shape)

    def product(self, name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """x y for every head, in the room of this name."""
        return np.matmul(x, y, self.room(name, len(x), x.shape[1], y.shape[2]))

    def with_column(self, name: str, a: np.ndarray, column: np.ndarray) -> np.ndarray:
        """`a` with one more column. Shape: (N, L, E), (N, L, 1) -> (N, L, E + 1)"""
        r = self.room(name, a.shape[0], a.shape[1], a.shape[2] + 1)
        r[:, :, :-1] = a
        r[:, :, -1:] = column
        return r

    def turned(self, name: str, a: np.ndarray, ones: int = 1) -> np.ndarray:
        """`a` with columns of ones, transposed. Shape: (N, S, E) -> (N, E + ones, S)"""
        n, s, e = a.shape
        r = self.room(name, n, e + ones, s)
        r[:, :e] = a.swapaxes(1, 2)
        r[:, e:] = 1
        return r

    def hide(self, scores: np.ndarray, heads: slice, rows: slice) -> None:
        """Add the mask, and -inf where a key comes after its query."""
        if self.mask is not None:
            scores += self.mask.block(heads, rows)
        if self.causal and rows.start < scores.shape[2] - 1:
            square = scores[:, :, rows.start :]
            later = ~np.tri(square.shape[1], square.shape[2], dtype=bool, like=scores)
            np.copyto(square, -np.inf, where=later)


def forward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: Mask | None,
    causal: bool,
    scale: float,
    rounded: np.dtype | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """softmax(q k^T scale + mask) v, and each query's shift and share (0 if it sees no key).

    rounded: the type that the exponentials are rounded to before they are multiplied by v, after their sum is taken.
    Shape: q (N, L, E), k (N, S, E), v (N, S, V) -> (N, L, V), (N, L, 1), (N, L, 1)
    """
    kind = q.dtype.type
    large = rounded is not None or not _are_harmless(q, k, mask, scale)
    out, share = np.empty((*q.shape[:2], v.shape[2]), kind, like=q), np.empty((*q.shape[:2], 1), kind, like=q)
    shift = np.zeros_like(share)
    ones = np.ones(k.shape[1], kind, like=k)
    work = _Scores(mask, causal, q)
    for heads, parts in _blocks_of(q, k, causal):
        some_q = np.multiply(q[heads], kind(scale), work.room("q", *q[heads].shape))
        some_k = work.turned("k", k[heads], 0)  # 128 x 128 scores of 32 features: 126 GFLOP/s, of rows as they are 80
        for rows, seen in parts:
            scores = work.product("scores", some_q[:, rows], some_k[:, :, :seen])
            work.hide(scores, heads, rows)
            if large:
                shift[heads, rows] = _subtract_highest(scores)
            np.exp(scores, scores)
            total = scores.reshape(-1, seen).dot(ones[:seen]).reshape(share[heads, rows].shape)
            if mask is not None or large:  # no key is seen, or all scores are -inf
                total[total == 0] = np.inf
            np.reciprocal(total, share[heads, rows])
            if rounded is not None:
                scores[...] = scores.astype(rounded)
            part = np.matmul(scores, v[heads, :seen], out[heads, rows])
            part *= share[heads, rows]
    return out, shift, share


def backward(
    g: np.ndarray,
    inputs: tuple[np.ndarray, np.ndarray, np.ndarray],
    results: tuple[np.ndarray, np.ndarray, np.ndarray],
    mask: Mask | None,
    causal: bool,
    scale: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradients of `inputs` (q, k, v) for the gradient `g` of out. results: what `forward` gave for them."""
    q, k, v = inputs
    out, shift, share = results
    kind = q.dtype.type
    dq, dk, dv = (np.empty(a.shape, a.dtype, like=q) for a in inputs)
    work = _Scores(mask, causal, q)
    for heads, parts in _blocks_of(q, k, causal):
        q1, k1, v1 = (
            work.with_column("q", q[heads], -shift[heads]),
            work.turned("k", k[heads]),
            work.turned("v", v[heads]),
        )
        q1[:, :, :-1] *= kind(scale)
        g1 = work.with_column("g", g[heads], -np.vecdot(g[heads], out[heads])[..., None])
        g1 *= share[heads]
        for rows, seen in parts:
            weights = work.product("scores", q1[:, rows], k1[:, :, :seen])
            work.hide(weights, heads, rows)
            np.exp(weights, weights)
            slopes = work.product("slopes", g1[:, rows], v1[:, :, :seen])
            slopes *= weights
            part = np.matmul(slopes, k[heads, :seen], dq[heads, rows])
            part *= kind(scale)
            first = rows.start == 0
            _add_product(dk[heads], slopes, q1[:, rows, :-1], work, first)
            _add_product(dv[heads], weights, g1[:, rows, :-1], work, first)
    return dq, dk, dv


def _add_product(total: np.ndarray, x: np.ndarray, y: np.ndarray, work: _Scores, first: bool) -> None:
    """Add x^T y to the gradient of the keys or values seen. The first block writes, with zeros for all others."""
    seen = x.shape[2]
    if first:
        np.matmul(x.swapaxes(1, 2), y, total[:, :seen])
        total[:, seen:] = 0
    else:
        total[:, :seen] += work.product("product", x.swapaxes(1, 2), y)


def _are_harmless(q: np.ndarray, k: np.ndarray, mask: Mask | None, scale: float) -> bool:
    """Whether no score can be large: |q k| <= |q| |k|."""
    bound = abs(scale) * sqrt(float(np.vecdot(q, q).max()) * float(np.vecdot(k, k).max()))
    if mask is not None:
        bound += max(mask.highest, -mask.lowest)
    return bound <= _HARMLESS


def _subtract_highest(scores: np.ndarray) -> np.ndarray:
    """Subtract each query's highest score, and return it: 0 where the query sees no key."""
    top = max_reduce(scores, 2, None, None, True, initial=-np.inf)
    top[top == -np.inf] = 0
    scores -= top
    return top
