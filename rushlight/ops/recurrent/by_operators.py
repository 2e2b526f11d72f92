"""A recurrent layer operator by operator, as torch computes it where it rounds each result to 16 bits.

The layers of `layers.py` are one operator each, which computes in float32 inside. In bfloat16 and float16, and in an autocast
region, torch runs a layer as products, sums and gates of its own: the products in 16 bits, and each result rounded. An
LSTM in bfloat16 is an exception: where the processor has AVX-512, torch gives it to oneDNN as a whole.

A small step of a cell that nothing records is computed on arrays, to the same bits, in two thirds of the time.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ...core.dispatch.extension_points import profiled_block
from ...core.dispatch.mode import thread
from ...core.dispatch.slow_path import mark_inference
from ...core.tensor.dtype import bfloat16, float16
from ...core.tensor.tensor import Tensor, wrap
from ..pointwise.building_blocks import F32, F64
from ..pointwise.elementary import tanh_of
from ..pointwise.fused_loops import LARGE
from ..product.matmul import linear, matmul
from ..shape.concatenate import cat, stack
from ..special.logistic import sigmoid_of

__all__ = ["gru_step", "layer_by_operators", "lstm_step", "relu_step", "rounds_each_operator", "tanh_step"]


def rounds_each_operator(input, state, whole: bool = False) -> bool:
    """Whether torch computes a layer operator by operator. whole: whether bfloat16 is left to one operator."""
    region = thread.state.autocast
    types = (input.dtype, state[0].dtype)
    if whole and float16 not in types and (region is None or region.dtype is bfloat16):
        return False
    return region is not None or bfloat16 in types or float16 in types


# A step's new states, the output first. share: of the input, recurrent: of the last output, for all gates (N, gates * H).


def _by_arrays(step: Any, *tensors: Tensor) -> tuple[Tensor, ...] | None:
    """The results of a function of the tensors' arrays; None where they are large, of other types, or someone looks at operators."""
    level, first = thread.state.level, tensors[0]._array
    if level > 0 or profiled_block.value is not None or type(first) is not np.ndarray or first.size > LARGE:
        return None
    d = first.dtype
    for t in tensors:
        a = t._array
        if type(a) is not np.ndarray or a.dtype is not d or (d is not F32 and d is not F64) or not a.flags.c_contiguous:
            return None
    results = tuple(map(wrap, thread.state.run(step, *[t._array for t in tensors])))
    if level < 0:
        for t in results:
            mark_inference(t)
    return results


def _lstm_arrays(recurrent, share, c):
    sums, k = recurrent + share, c.shape[1]
    gates = sigmoid_of(sums)
    c = gates[:, k : 2 * k] * c + gates[:, :k] * tanh_of(sums[:, 2 * k : 3 * k])
    return gates[:, 3 * k :] * tanh_of(c), c


def _gru_arrays(recurrent, share, h):
    k = 2 * h.shape[1]
    gates = sigmoid_of(share[:, :k] + recurrent[:, :k])
    n = tanh_of(share[:, k:] + gates[:, : k // 2] * recurrent[:, k:])
    return ((h - n) * gates[:, k // 2 :] + n,)


def lstm_step(recurrent, share, h, c):
    """Four gates: input, forget, new cell state, output."""
    if (quick := _by_arrays(_lstm_arrays, recurrent, share, c)) is not None:
        return quick
    i, f, g, o = (recurrent + share).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_step(recurrent, share, h):
    """Three gates: reset, update, new state."""
    if (quick := _by_arrays(_gru_arrays, recurrent, share, h)) is not None:
        return quick
    (r, z, n), (hr, hz, hn) = share.chunk(3, 1), recurrent.chunk(3, 1)
    n = (n + (r + hr).sigmoid() * hn).tanh()
    return ((h - n) * (z + hz).sigmoid() + n,)


def tanh_step(recurrent, share, h):
    """Elman's network."""
    return ((recurrent + share).tanh(),)


def relu_step(recurrent, share, h):
    """Elman's network with relu."""
    return ((recurrent + share).relu(),)


def layer_by_operators(step, input, state, parameters, packed, reverse):
    """(output, final states) of one layer in one direction.

    step: one of the functions above. parameters: weight_ih, weight_hh, bias_ih, bias_hh, weight_hr or None. packed: batch sizes, or None.
    Shape: input (T, N, I) or packed (*, I), state (N, H) each -> (T, N, H) or (*, H), (N, H) each
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = parameters
    shares = linear(input, w_ih, b_ih)
    if packed is None:
        shares = shares.unbind(0)
    else:
        shares = [shares.narrow(0, a, b - a) for a, b in pairwise(accumulate(packed, initial=0))]
    initial: tuple[Tensor, ...] = tuple(state)
    running, outputs = initial, []
    ended: list[tuple[Tensor, ...]] = []
    if packed is not None and reverse:
        running = tuple(s.narrow(0, 0, packed[-1]) for s in initial)
    for share in reversed(shares) if reverse else shares:
        more = share.shape[0] - running[0].shape[0]
        if more < 0:  # the shortest sequences have ended
            ended.append(tuple(s.narrow(0, share.shape[0], -more) for s in running))
            running = tuple(s.narrow(0, 0, share.shape[0]) for s in running)
        elif more > 0:  # from the end on, shorter ones begin
            begun = (s.narrow(0, len(r), more) for s, r in zip(initial, running, strict=True))
            running = tuple(cat([r, s], 0) for r, s in zip(running, begun, strict=True))
        running = step(linear(running[0], w_hh, b_hh), share, *running)
        if w_hr is not None:
            running = matmul(running[0], w_hr.t()), *running[1:]
        outputs.append(running[0])
    if reverse:
        outputs.reverse()
    last = list(running)
    if ended:
        last = [cat(list(parts), 0) for parts in zip(running, *reversed(ended), strict=True)]
    return (stack(outputs, 0) if packed is None else cat(outputs, 0)), last
