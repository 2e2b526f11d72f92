"""Gradients of recurrent layers in the tensor language, for a backward that is itself recorded.

The layers' own gradient kernels (`layers.py`) work on raw arrays and have no derivative. Here the layer is run
again, step by step, and the time loop backwards too, all in operators that know their gradients.

A cell is two functions. `forward(pre, rec, state)` takes the input's and the state's share of the gates and gives the
new state and what `backward` needs. `backward(g, kept)` takes the gradients of the new state and gives those of `pre`,
of `rec`, and of the state where the cell uses it directly (None where it does not).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...core.tensor.tensor import wrap
from ..product.matmul import column_sums, gram, linear, matmul
from ..shape.concatenate import cat


class Cell(NamedTuple):
    """The two functions of a cell."""

    forward: Any
    backward: Any


# ---------------------------------------------------------------------------------------------- the cells


def _lstm_forward(pre, rec, state):
    i, f, g, o = (pre + rec).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c = f * state[1] + i * g
    t = c.tanh()
    return (o * t, c), (i, f, g, o, state[1], t)


def _lstm_backward(grads, kept):
    gm, gc = grads
    i, f, g, o, c, t = kept
    gc = gc + gm * o * (1 - t * t)
    k = cat([gc * g * i * (1 - i), gc * c * f * (1 - f), gc * i * (1 - g * g), gm * t * o * (1 - o)], 1)
    return k, k, (None, gc * f)


def _gru_forward(pre, rec, state):
    (r, z, n), (rr, rz, rn) = pre.chunk(3, 1), rec.chunk(3, 1)
    r, z = (r + rr).sigmoid(), (z + rz).sigmoid()
    n = (n + r * rn).tanh()
    return ((state[0] - n) * z + n,), (r, z, n, rn, state[0])


def _gru_backward(grads, kept):
    (g,), (r, z, n, rn, h) = grads, kept
    gn = g * (1 - z) * (1 - n * n)
    gr, gz = gn * rn * r * (1 - r), g * (h - n) * z * (1 - z)
    return cat([gr, gz, gn], 1), cat([gr, gz, gn * r], 1), (g * z,)


def _tanh_forward(pre, rec, state):
    y = (pre + rec).tanh()
    return (y,), y


def _tanh_backward(grads, y):
    k = grads[0] * (1 - y * y)
    return k, k, (None,)


def _relu_forward(pre, rec, state):
    y = (pre + rec).relu()
    return (y,), y


def _relu_backward(grads, y):
    k = grads[0] * (y > 0)
    return k, k, (None,)


LSTM = Cell(_lstm_forward, _lstm_backward)
GRU = Cell(_gru_forward, _gru_backward)
RNN_TANH = Cell(_tanh_forward, _tanh_backward)
RNN_RELU = Cell(_relu_forward, _relu_backward)


# ---------------------------------------------------------------------------------------------- the layer


def _top(s, n):
    return s if s._array.shape[0] == n else s[:n]


def _replace_top(s, top):
    n = top._array.shape[0]
    return top if s._array.shape[0] == n else cat([top, s[n:]])


def recorded_gradients(cell: Cell, g, input, state, parameters, spans) -> tuple:
    """The gradients of the layer's input, initial state and parameters, in this order.

    g: the gradients of the output and of the final state, None where there is none. parameters: weight_ih, weight_hh,
    bias_ih, bias_hh, weight_hr, None where absent. spans: the rows of each step, in the order of the layer's steps.
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = parameters
    rows = input.reshape(-1, input._array.shape[-1])
    steps = _steps(cell, linear(rows, w_ih, b_ih), state, w_hh, b_hh, w_hr, spans)
    gy = None if g[0] is None else g[0].reshape(rows._array.shape[0], -1)
    gs = [wrap(np.zeros_like(s._array)) if d is None else d for s, d in zip(state, g[1:], strict=True)]
    k_in, k_rec, projected = [], [], []
    for (a, b), (_, _, kept) in zip(reversed(spans), reversed(steps), strict=True):
        now = [_top(s, b - a) for s in gs]
        if gy is not None:
            now[0] = now[0] + gy[a:b]
        projected.append(now[0])
        if w_hr is not None:
            now[0] = matmul(now[0], w_hr)
        k, k_r, direct = cell.backward(now, kept)
        before = matmul(k_r, w_hh)
        gs[0] = _replace_top(gs[0], before if direct[0] is None else before + direct[0])
        if len(gs) > 1:
            gs[1] = _replace_top(gs[1], direct[1])
        k_in.append(k)
        k_rec.append(k_r)
    order = sorted(range(len(spans)), key=lambda t: spans[-1 - t])
    k, k_r, gh = (cat([parts[t] for t in order]) for parts in (k_in, k_rec, projected))
    h, m = (cat([steps[-1 - t][j] for t in order]) for j in (0, 1))
    return (
        matmul(k, w_ih).reshape(input._array.shape),
        *gs,
        gram(k, rows),
        gram(k_r, h),
        None if b_ih is None else column_sums(k),
        None if b_hh is None else column_sums(k_r),
        None if w_hr is None else gram(gh, m),
    )


def _steps(cell, pre, state, w_hh, b_hh, w_hr, spans) -> list:
    """For each step: the output before it, the new one before projection, and what the cell's backward needs."""
    state, steps = list(state), []
    for a, b in spans:
        now = [_top(s, b - a) for s in state]
        new, kept = cell.forward(pre[a:b], linear(now[0], w_hh, b_hh), now)
        steps.append((now[0], new[0], kept))
        if w_hr is not None:
            new = (linear(new[0], w_hr), *new[1:])
        state = [_replace_top(s, v) for s, v in zip(state, new, strict=True)]
    return steps
