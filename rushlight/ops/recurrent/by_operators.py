"""A recurrent layer operator by operator, as torch computes it where it rounds each result to 16 bits.

The layers of `layers.py` are one operator each, which computes in float32 inside. In bfloat16 and float16, and in an autocast
region, torch runs a layer as products, sums and gates of its own: the products in 16 bits, and each result rounded. An
LSTM in bfloat16 is an exception: where the processor has AVX-512, torch gives it to oneDNN as a whole.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from ...core.dispatch.mode import thread
from ...core.tensor.dtype import bfloat16, float16
from ...core.tensor.tensor import Tensor
from ..product.matmul import linear, matmul
from ..shape.concatenate import cat, stack

__all__ = ["gru_step", "layer_by_operators", "lstm_step", "relu_step", "rounds_each_operator", "tanh_step"]


def rounds_each_operator(input, state, whole: bool = False) -> bool:
    """Whether torch computes a layer operator by operator. whole: whether bfloat16 is left to one operator."""
    region = thread.state.autocast
    types = (input.dtype, state[0].dtype)
    if whole and float16 not in types and (region is None or region.dtype is bfloat16):
        return False
    return region is not None or bfloat16 in types or float16 in types


# A step's new states, the output first. share: of the input, recurrent: of the last output, for all gates (N, gates * H).


def lstm_step(recurrent, share, h, c):
    """Four gates: input, forget, new cell state, output."""
    i, f, g, o = (recurrent + share).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_step(recurrent, share, h):
    """Three gates: reset, update, new state."""
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
