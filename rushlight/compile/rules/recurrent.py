"""Recurrent layers: their products as library calls, the steps in between as loops over one step's rows.

The steps follow one another, and give the same arrays to backward, as in the kernels (`ops/recurrent/layers.py`).
"""

from __future__ import annotations

import numpy as np

from ...ops.recurrent.layers import batch_of
from ..ir.graph import Loop
from ..ir.lazy import Lazy, maximum
from .activation import function
from .product import product, rows
from .table import rule
from .time_steps import (
    Table,
    begin,
    columns,
    gradients,
    input_share,
    of_span,
    parts,
    spans_of,
    state,
    steps_in,
    with_top,
)

# ---------------------------------------------------------------------------------------------- LSTM


@rule("lstm_layer", "lstm_layer.stack", "lstm_layer.packed", steps=steps_in)
def lstm_layer(
    b, input, h0, c0, weight_ih, weight_hh, bias_ih=None, bias_hh=None, weight_hr=None, batch_sizes=None, reverse=False
):  # fmt: skip
    arrays = (h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
    spans = spans_of(input, h0.shape[0], batch_sizes, reverse, *arrays)
    n, p, k = rows(input).shape[0], h0.shape[1], c0.shape[1]
    share = input_share(b, input, weight_ih, bias_ih, bias_hh)
    turned = columns(b, weight_hh, len(spans), h0.shape[0])
    project = None if weight_hr is None else columns(b, weight_hr, len(spans), h0.shape[0])
    gates, hs, cs, ts, y = (Table.blank(b, n, m, input.dtype) for m in (4 * k, p, k, k, p))
    h, c = state(b, h0), state(b, c0)
    for span in spans:
        top = (0, span[1] - span[0])
        z = of_span(share, span) + product(b, h.part(top), turned)
        gate = [np.tanh(z[:, at]) if j == 2 else function("sigmoid", z[:, at]) for j, at in enumerate(parts(k, 4))]
        before = c.part(top)
        cell = gate[1] * before + gate[0] * gate[2]
        t = np.tanh(cell)
        stores = [gates.target(span, x, at) for x, at in zip(gate, parts(k, 4), strict=True)]
        stores += [cs.target(span, before), c.target(top, cell), ts.target(span, t)]
        new = gate[3] * t
        if project is None:
            stores += _outputs(h, hs, y, span, top, new)
            b.nodes.append(Loop(new.shape, stores))
            continue
        b.nodes.append(Loop(new.shape, stores))
        new = product(b, of_span(gates.whole(), span, parts(k, 4)[3]) * of_span(ts.whole(), span), project)
        b.nodes.append(Loop(new.shape, _outputs(h, hs, y, span, top, new)))
    out = y.whole().reshape(*input.shape[:-1], p)
    return out, *(a.whole() for a in (h, c, gates, hs, cs, ts))


def _outputs(h: Table, hs: Table, y: Table, span, top, new: Lazy) -> list:
    """The stores of a step's output and of the one before it."""
    return [hs.target(span, h.part(top)), y.target(span, new), h.target(top, new)]


@rule("lstm_layer.backward", steps=steps_in)
def lstm_layer_backward(
    b, input, weight_ih, weight_hh, gates, hs, cs, ts, weight_hr=None, gy=None, gh=None, gc=None,
    batch_sizes=None, reverse=False, needs=(True,) * 8,
):  # fmt: skip
    d, batch = input.dtype, batch_of(input, batch_sizes)
    spans = spans_of(input, batch, batch_sizes, reverse, weight_ih, weight_hh, gates, hs, cs, ts, weight_hr, gy, gh, gc)
    n, p, k = rows(input).shape[0], hs.shape[1], cs.shape[1]
    dh, dc = begin(b, gh, (batch, p), d), begin(b, gc, (batch, k), d)
    gy = None if gy is None else rows(gy)
    slopes, projected = Table.blank(b, n, 4 * k, d), None if weight_hr is None else Table.blank(b, n, p, d)
    for span in reversed(spans):
        top = slice(span[1] - span[0])
        i, f, g, o = (of_span(gates, span, at) for at in parts(k, 4))
        t, before = of_span(ts, span), of_span(cs, span)
        m = dh[top] if gy is None else dh[top] + of_span(gy, span)
        if projected is not None:
            projected.put(span, m)
            assert weight_hr is not None  # which projects
            m = product(b, projected.part(span), weight_hr)
        cell = dc[top] + (1 - t * t) * o * m
        slope = (cell * g * (i * (1 - i)), cell * before * (f * (1 - f)), cell * i * (1 - g * g), m * t * (o * (1 - o)))
        carried = Table.blank(b, *cell.shape, d)
        stores = [slopes.target(span, x, at) for x, at in zip(slope, parts(k, 4), strict=True)]
        b.nodes.append(Loop(cell.shape, [*stores, carried.target((0, cell.shape[0]), cell * f)]))
        dc = with_top(b, dc, carried.whole())
        dh = with_top(b, dh, product(b, slopes.part(span), weight_hh))
    s = slopes.whole()
    more = () if projected is None else (lambda: product(b, projected.whole().T, gates[:, parts(k, 4)[3]] * ts),)
    return gradients(b, needs, s, s, input, weight_ih, hs, (dh, dc), *more)


# ---------------------------------------------------------------------------------------------- GRU


@rule("gru_layer", "gru_layer.packed", steps=steps_in)
def gru_layer(b, input, h0, weight_ih, weight_hh, bias_ih=None, bias_hh=None, batch_sizes=None, reverse=False):
    spans = spans_of(input, h0.shape[0], batch_sizes, reverse, h0, weight_ih, weight_hh, bias_ih, bias_hh)
    n, k = rows(input).shape[0], h0.shape[1]
    share = input_share(b, input, weight_ih, bias_ih)
    turned = columns(b, weight_hh, len(spans), h0.shape[0])
    gates, ns, hs, y = (Table.blank(b, n, m, input.dtype) for m in (3 * k, k, k, k))
    h = state(b, h0)
    for span in spans:
        top = (0, span[1] - span[0])
        before = h.part(top)
        z, rec = of_span(share, span), product(b, before, turned, bias_hh)
        at = parts(k, 3)
        reset, update = (function("sigmoid", z[:, a] + rec[:, a]) for a in at[:2])
        fresh = np.tanh(z[:, at[2]] + reset * rec[:, at[2]])
        stores = [gates.target(span, x, a) for x, a in zip((reset, update, fresh), at, strict=True)]
        stores += [ns.target(span, rec[:, at[2]]), *_outputs(h, hs, y, span, top, (before - fresh) * update + fresh)]
        b.nodes.append(Loop(before.shape, stores))
    out = y.whole().reshape(*input.shape[:-1], k)
    return out, *(a.whole() for a in (h, gates, ns, hs))


@rule("gru_layer.backward", steps=steps_in)
def gru_layer_backward(
    b, input, weight_ih, weight_hh, gates, ns, hs, gy=None, gh=None,
    batch_sizes=None, reverse=False, needs=(True,) * 6,
):  # fmt: skip
    d, batch = input.dtype, batch_of(input, batch_sizes)
    spans = spans_of(input, batch, batch_sizes, reverse, weight_ih, weight_hh, gates, ns, hs, gy, gh)
    n, k = hs.shape
    dh = begin(b, gh, (batch, k), d)
    gy = None if gy is None else rows(gy)
    k_in, k_rec, at = Table.blank(b, n, 3 * k, d), Table.blank(b, n, 3 * k, d), parts(k, 3)
    for span in reversed(spans):
        g = dh[: span[1] - span[0]]
        g = g if gy is None else g + of_span(gy, span)
        reset, update, fresh = (of_span(gates, span, a) for a in at)
        gn = (1 - update) * g * (1 - fresh * fresh)
        slopes = (
            gn * of_span(ns, span) * (reset * (1 - reset)),
            (of_span(hs, span) - fresh) * g * (update * (1 - update)),
            gn,
        )
        direct = Table.blank(b, *g.shape, d)
        stores = [k_in.target(span, x, a) for x, a in zip(slopes, at, strict=True)]
        stores += [k_rec.target(span, x, a) for x, a in zip((*slopes[:2], gn * reset), at, strict=True)]
        b.nodes.append(Loop(g.shape, [*stores, direct.target((0, g.shape[0]), g * update)]))
        dh = with_top(b, dh, direct.whole() + product(b, k_rec.part(span), weight_hh))
    return gradients(b, needs, k_in.whole(), k_rec.whole(), input, weight_ih, hs, (dh,))


# ---------------------------------------------------------------------------------------------- Elman's


@rule("rnn_layer", "rnn_layer.packed", steps=steps_in)
def rnn_layer(
    b, input, h0, weight_ih, weight_hh, bias_ih=None, bias_hh=None, batch_sizes=None, reverse=False, relu=False
):  # fmt: skip
    spans = spans_of(input, h0.shape[0], batch_sizes, reverse, h0, weight_ih, weight_hh, bias_ih, bias_hh)
    n, k = rows(input).shape[0], h0.shape[1]
    share = input_share(b, input, weight_ih, bias_ih, bias_hh)
    turned = columns(b, weight_hh, len(spans), h0.shape[0])
    hs, y = (Table.blank(b, n, k, input.dtype) for _ in range(2))
    h = state(b, h0)
    for span in spans:
        top = (0, span[1] - span[0])
        z = of_span(share, span) + product(b, h.part(top), turned)
        new = maximum(z, 0) if relu else np.tanh(z)
        b.nodes.append(Loop(new.shape, _outputs(h, hs, y, span, top, new)))
    out = y.whole().reshape(*input.shape[:-1], k)
    return out, *(a.whole() for a in (h, y, hs))


@rule("rnn_layer.backward", steps=steps_in)
def rnn_layer_backward(
    b, input, weight_ih, weight_hh, ys, hs, gy=None, gh=None,
    batch_sizes=None, reverse=False, relu=False, needs=(True,) * 6,
):  # fmt: skip
    batch = batch_of(input, batch_sizes)
    spans = spans_of(input, batch, batch_sizes, reverse, weight_ih, weight_hh, ys, hs, gy, gh)
    dh = begin(b, gh, (batch, hs.shape[1]), input.dtype)
    gy = None if gy is None else rows(gy)
    n, k = hs.shape
    slopes = Table.blank(b, n, k, input.dtype)
    for span in reversed(spans):
        g, y = dh[: span[1] - span[0]], of_span(ys, span)
        g = g if gy is None else g + of_span(gy, span)
        slopes.put(span, ((y > 0).astype(y.dtype) if relu else 1 - y * y) * g)
        dh = with_top(b, dh, product(b, slopes.part(span), weight_hh))
    s = slopes.whole()
    return gradients(b, needs, s, s, input, weight_ih, hs, (dh,))
