"""LSTMs with a projection: the products and loops of each step, one step after the other.

A step's state is another product, of which the native steps (`recurrent.py`) know nothing.
"""

from __future__ import annotations

import numpy as np

from ..ir.graph import Loop
from ..ir.lazy import Builder, Lazy, Untraceable
from .activation import function
from .product import product, rows
from .time_steps import Span, Table, columns, gradients, of_span, parts, state, with_top

_MOST_STEPS = 1024


def _check(spans: list[Span]) -> None:
    if len(spans) > _MOST_STEPS:
        raise Untraceable(f"an LSTM with a projection, of {len(spans)} steps")


def lstm_layer(
    b: Builder, input: Lazy, h0: Lazy, c0: Lazy, weight_hh: Lazy, weight_hr: Lazy, share: Lazy, spans: list[Span]
) -> tuple[Lazy, ...]:
    """A layer's results, and what backward reads; share: of its input in the gates."""
    _check(spans)
    n, p, k = share.shape[0], h0.shape[1], c0.shape[1]
    turned, project = (columns(b, w, len(spans), h0.shape[0]) for w in (weight_hh, weight_hr))
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
        b.nodes.append(Loop(t.shape, stores))
        new = product(b, of_span(gates.whole(), span, parts(k, 4)[3]) * of_span(ts.whole(), span), project)
        b.nodes.append(Loop(new.shape, [hs.target(span, h.part(top)), y.target(span, new), h.target(top, new)]))
    out = y.whole().reshape(*input.shape[:-1], p)
    return out, *(a.whole() for a in (h, c, gates, hs, cs, ts))


def lstm_layer_backward(
    b: Builder, input: Lazy, weight_ih: Lazy, weight_hh: Lazy, gates: Lazy, hs: Lazy, cs: Lazy, ts: Lazy,
    weight_hr: Lazy, gy: Lazy | None, dh: Lazy, dc: Lazy, spans: list[Span], needs: tuple[bool, ...],
) -> tuple:  # fmt: skip
    """The gradients that `needs` asks for; dh, dc: those of the final state."""
    _check(spans)
    (n, p), k, d = hs.shape, cs.shape[1], input.dtype
    gy = None if gy is None else rows(gy)
    slopes, projected = Table.blank(b, n, 4 * k, d), Table.blank(b, n, p, d)
    for span in reversed(spans):
        top = slice(span[1] - span[0])
        i, f, g, o = (of_span(gates, span, at) for at in parts(k, 4))
        t, before = of_span(ts, span), of_span(cs, span)
        m = dh[top] if gy is None else dh[top] + of_span(gy, span)
        projected.put(span, m)
        m = product(b, projected.part(span), weight_hr)
        cell = dc[top] + (1 - t * t) * o * m
        slope = (cell * g * (i * (1 - i)), cell * before * (f * (1 - f)), cell * i * (1 - g * g), m * t * (o * (1 - o)))
        carried = Table.blank(b, cell.shape[0], k, d)
        stores = [slopes.target(span, x, at) for x, at in zip(slope, parts(k, 4), strict=True)]
        b.nodes.append(Loop(cell.shape, [*stores, carried.target((0, cell.shape[0]), cell * f)]))
        dc = with_top(b, dc, carried.whole())
        dh = with_top(b, dh, product(b, slopes.part(span), weight_hh))
    s = slopes.whole()
    of_projection = product(b, projected.whole().T, gates[:, parts(k, 4)[3]] * ts)
    return gradients(b, needs, s, s, input, weight_ih, hs, (dh, dc), lambda: of_projection)
