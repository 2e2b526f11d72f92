"""Recurrent layers: their large products as library calls, the steps in between as one native function.

All give the same arrays to backward as the kernels (`ops/recurrent/layers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ops.recurrent.layers import batch_of
from ..ir.graph import Extern, Value
from ..ir.lazy import Builder, Lazy
from . import projected
from .product import rows
from .table import rule
from .time_steps import Span, begin, gradients, input_share, spans_of, steps_in


def _steps(
    b: Builder,
    kind: str,
    operands: Sequence[Lazy | None],
    begun: Sequence[Value],
    blank: Sequence[tuple[int, ...]],
    spans: list[Span],
    saved: tuple[int, ...] = (),
) -> list[Lazy]:
    """All steps of a layer (`lower/recurrent/bind.py`). begun: what the first results continue; blank: the others' shapes.

    saved: the numbers of the results that only a backward pass reads.
    """
    results = [Value(v.shape, v.dtype).ref() for v in begun] + [Value(shape, begun[0].dtype).ref() for shape in blank]
    refs = tuple(x if x is None else x.ref() for x in operands)
    onto = *begun, *(None,) * len(blank)
    b.nodes.append(Extern(kind, refs, tuple(results), onto, spans=tuple(spans), **{"saved": saved} if saved else {}))
    return [b.lazy(r) for r in results]


def _own(b: Builder, x: Lazy) -> Value:
    """`x` in memory of its own: that of the product which has just made it, or a copy."""
    ref = x.ref()
    made = ref.is_whole() and any(ref.value in n.writes() for n in b.nodes)
    return ref.value if made else b.store(b.lazy(ref)).value


def _given(g: Lazy | None) -> Lazy | None:
    """The gradient of the output for each row, contiguous."""
    if g is None:
        return None
    ref = rows(g).ref()
    return g.builder.lazy(ref if ref.is_row_major() else g.builder.store(g.builder.lazy(ref)))


# ---------------------------------------------------------------------------------------------- LSTM


@rule("lstm_layer", "lstm_layer.stack", "lstm_layer.packed", steps=steps_in)
def lstm_layer(
    b, input, h0, c0, weight_ih, weight_hh, bias_ih=None, bias_hh=None, weight_hr=None, batch_sizes=None, reverse=False
):  # fmt: skip
    arrays = (h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
    spans = spans_of(input, h0.shape[0], batch_sizes, reverse, *arrays)
    share = input_share(b, input, weight_ih, bias_ih, bias_hh)
    if weight_hr is not None:
        return projected.lstm_layer(b, input, h0, c0, weight_hh, weight_hr, share, spans)
    k, begun = c0.shape[1], [_own(b, share), b.store(h0).value, b.store(c0).value]
    blank = [(share.shape[0], k)] * 4
    gates, h, c, hs, cs, ts, y = _steps(b, "lstm", [weight_hh.T], begun, blank, spans, saved=(0, 3, 4, 5))
    return y.reshape(*input.shape[:-1], k), h, c, gates, hs, cs, ts


@rule("lstm_layer.backward", steps=steps_in)
def lstm_layer_backward(
    b, input, weight_ih, weight_hh, gates, hs, cs, ts, weight_hr=None, gy=None, gh=None, gc=None,
    batch_sizes=None, reverse=False, needs=(True,) * 8,
):  # fmt: skip
    d, batch = input.dtype, batch_of(input, batch_sizes)
    spans = spans_of(input, batch, batch_sizes, reverse, weight_ih, weight_hh, gates, hs, cs, ts, weight_hr, gy, gh, gc)
    dh, dc = begin(b, gh, (batch, hs.shape[1]), d), begin(b, gc, (batch, cs.shape[1]), d)
    if weight_hr is not None:
        arrays = (input, weight_ih, weight_hh, gates, hs, cs, ts, weight_hr, gy, dh, dc)
        return projected.lstm_layer_backward(b, *arrays, spans, needs)
    operands, begun = [weight_hh, gates, cs, ts, _given(gy)], [b.store(dh).value, b.store(dc).value]
    dh, dc, slopes = _steps(b, "lstm.backward", operands, begun, [gates.shape], spans[::-1])
    return gradients(b, needs, slopes, slopes, input, weight_ih, hs, (dh, dc))


# ---------------------------------------------------------------------------------------------- GRU


@rule("gru_layer", "gru_layer.packed")
def gru_layer(b, input, h0, weight_ih, weight_hh, bias_ih=None, bias_hh=None, batch_sizes=None, reverse=False):
    spans = spans_of(input, h0.shape[0], batch_sizes, reverse, h0, weight_ih, weight_hh, bias_ih, bias_hh)
    k, share = h0.shape[1], input_share(b, input, weight_ih, bias_ih)
    bias = b.constant(0, input.dtype, (3 * k,)) if bias_hh is None else bias_hh
    begun = [_own(b, share), b.store(h0).value]
    gates, h, hs, ns, y = _steps(
        b, "gru", [weight_hh.T, bias], begun, [(share.shape[0], k)] * 3, spans, saved=(0, 2, 3)
    )
    return y.reshape(*input.shape[:-1], k), h, gates, ns, hs


@rule("gru_layer.backward")
def gru_layer_backward(
    b, input, weight_ih, weight_hh, gates, ns, hs, gy=None, gh=None,
    batch_sizes=None, reverse=False, needs=(True,) * 6,
):  # fmt: skip
    batch = batch_of(input, batch_sizes)
    spans = spans_of(input, batch, batch_sizes, reverse, weight_ih, weight_hh, gates, ns, hs, gy, gh)
    operands, begun = (
        [weight_hh, gates, ns, hs, _given(gy)],
        [b.store(begin(b, gh, (batch, hs.shape[1]), input.dtype)).value],
    )
    dh, k_in, k_rec = _steps(b, "gru.backward", operands, begun, [gates.shape] * 2, spans[::-1])
    return gradients(b, needs, k_in, k_rec, input, weight_ih, hs, (dh,))


# ---------------------------------------------------------------------------------------------- Elman's


@rule("rnn_layer", "rnn_layer.packed")
def rnn_layer(
    b, input, h0, weight_ih, weight_hh, bias_ih=None, bias_hh=None, batch_sizes=None, reverse=False, relu=False
):  # fmt: skip
    spans = spans_of(input, h0.shape[0], batch_sizes, reverse, h0, weight_ih, weight_hh, bias_ih, bias_hh)
    share = input_share(b, input, weight_ih, bias_ih, bias_hh)
    begun = [_own(b, share), b.store(h0).value]
    y, h, hs = _steps(b, "rnn.relu" if relu else "rnn", [weight_hh.T], begun, [share.shape], spans, saved=(2,))
    return y.reshape(*input.shape[:-1], h0.shape[1]), h, y, hs


@rule("rnn_layer.backward")
def rnn_layer_backward(
    b, input, weight_ih, weight_hh, ys, hs, gy=None, gh=None,
    batch_sizes=None, reverse=False, relu=False, needs=(True,) * 6,
):  # fmt: skip
    batch = batch_of(input, batch_sizes)
    spans = spans_of(input, batch, batch_sizes, reverse, weight_ih, weight_hh, ys, hs, gy, gh)
    dh = begin(b, gh, (batch, hs.shape[1]), input.dtype)
    of_function = (ys > 0).astype(ys.dtype) if relu else 1 - ys * ys
    begun = [b.store(of_function).value, b.store(dh).value]
    slopes, dh = _steps(b, "rnn.backward", [weight_hh, _given(gy)], begun, [], spans[::-1])
    return gradients(b, needs, slopes, slopes, input, weight_ih, hs, (dh,))
