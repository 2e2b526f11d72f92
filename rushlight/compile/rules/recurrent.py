"""Recurrent layers: their products as library calls, the steps in between as loops over one step's rows.

The steps follow one another as in the kernels; what each writes is a part of an array over all steps, so that the
products for the weights and the input remain one each.
"""

from __future__ import annotations

import numpy as np

from ..expression import cast
from ..graph import Loop, Ref, Store, Value
from ..lazy import Builder, Lazy, Untraceable
from .activation import function
from .product import product, rows
from .table import rule

_MOST_STEPS = 1024
_F32 = np.dtype(np.float32)


class _Table:
    """An array (rows, columns) that is written part by part."""

    def __init__(self, b: Builder, n: int, columns: int):
        self.b, self.value = b, b.undefined((n, columns), _F32)

    def window(self, span: tuple[int, int], columns: slice = slice(None)) -> Ref:
        """The rows of a span, and some columns."""
        width = self.value.shape[1]
        start, stop, _ = columns.indices(width)
        shape = (span[1] - span[0], stop - start)
        return Ref(self.value, shape, (width, 1), span[0] * width + start)

    def part(self, span: tuple[int, int], columns: slice = slice(None)) -> Lazy:
        """What stands there now."""
        return self.b.lazy(self.window(span, columns))

    def target(self, span: tuple[int, int], x: Lazy, columns: slice = slice(None)) -> Store:
        """A store into a part; the table is that of after it."""
        old, self.value = self.value, Value(self.value.shape, _F32)
        return Store(self.window(span, columns), cast(x.expr, _F32), old)

    def put(self, span: tuple[int, int], x: Lazy) -> None:
        """Write a span."""
        store = self.target(span, x)
        self.b.nodes.append(Loop(x.shape, [store]))

    def whole(self) -> Lazy:
        return self.b.lazy(self.value.ref())


def _spans(n: int, batch: int, reverse: bool) -> list[tuple[int, int]]:
    spans = [(i, i + batch) for i in range(0, n, batch)]
    return spans[::-1] if reverse else spans


def _check(batch_sizes, input: Lazy, *arrays: Lazy | None) -> None:
    if batch_sizes is not None or input.ndim != 3 or input.shape[0] > _MOST_STEPS or not input.size:
        raise Untraceable("a packed or very long sequence")
    if any(a is not None and a.dtype != _F32 for a in (input, *arrays)):
        raise Untraceable("a recurrent layer of another type than float32")


def _stored(b: Builder, x: Lazy) -> Lazy:
    return b.lazy(b.store(x))


@rule("lstm_layer", "lstm_layer.stack")
def lstm_layer(
    b, input, h0, c0, weight_ih, weight_hh, bias_ih=None, bias_hh=None, weight_hr=None, batch_sizes=None, reverse=False
):  # fmt: skip
    _check(batch_sizes, input, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh)
    if weight_hr is not None:
        raise Untraceable("an LSTM with a projection")
    steps, batch = input.shape[:2]
    n, k = steps * batch, c0.shape[1]
    bias = bias_ih if bias_hh is None else bias_hh if bias_ih is None else _stored(b, bias_ih + bias_hh)
    share = product(b, rows(input), weight_ih.T, bias)
    turned = _stored(b, weight_hh.T) if steps > 4 else weight_hh.T
    gates, hs, cs, ts, y = _Table(b, n, 4 * k), *(_Table(b, n, k) for _ in range(4))
    h, c = h0, c0
    spans = _spans(n, batch, reverse)
    hs.put(spans[0], h)
    cs.put(spans[0], c)
    for i, span in enumerate(spans):
        z = b.lazy(_rows_of(share, span)) + product(b, hs.part(span), turned)
        parts = [slice(j * k, (j + 1) * k) for j in range(4)]
        gate = [np.tanh(z[:, p]) if j == 2 else function("sigmoid", z[:, p]) for j, p in enumerate(parts)]
        c = gate[1] * cs.part(span) + gate[0] * gate[2]
        t = np.tanh(c)
        h = gate[3] * t
        stores = [gates.target(span, x, p) for x, p in zip(gate, parts, strict=True)]
        stores += [ts.target(span, t), y.target(span, h)]
        if i + 1 < len(spans):
            stores += [hs.target(spans[i + 1], h), cs.target(spans[i + 1], c)]
            b.nodes.append(Loop(h.shape, stores))
        else:
            last_h, last_c = Value(h.shape, _F32), Value(c.shape, _F32)
            stores += [Store(last_h.ref(), h.expr), Store(last_c.ref(), c.expr)]
            b.nodes.append(Loop(h.shape, stores))
            h, c = b.lazy(last_h.ref()), b.lazy(last_c.ref())
    out = y.whole().reshape(steps, batch, k)
    return out, h, c, gates.whole(), hs.whole(), cs.whole(), ts.whole()


def _rows_of(x: Lazy, span: tuple[int, int]) -> Ref:
    ref = x.ref()
    return Ref(ref.value, (span[1] - span[0], ref.shape[1]), ref.strides, ref.offset + span[0] * ref.strides[0])


@rule("lstm_layer.backward")
def lstm_layer_backward(
    b, input, weight_ih, weight_hh, gates, hs, cs, ts, weight_hr=None, gy=None, gh=None, gc=None,
    batch_sizes=None, reverse=False, needs=(True,) * 8,
):  # fmt: skip
    _check(batch_sizes, input, weight_ih, weight_hh, gates, hs, cs, ts, gy, gh, gc)
    if weight_hr is not None:
        raise Untraceable("an LSTM with a projection")
    steps, batch = input.shape[:2]
    n, k = steps * batch, cs.shape[1]
    zero = b.constant(0, _F32, (batch, k))
    dh, dc = zero if gh is None else gh, zero if gc is None else gc
    gy = None if gy is None else rows(gy)
    slopes = _Table(b, n, 4 * k)
    for span in reversed(_spans(n, batch, reverse)):
        i, f, g, o = (gates[slice(*span), j * k : (j + 1) * k] for j in range(4))
        t, before = ts[slice(*span)], cs[slice(*span)]
        m = dh if gy is None else dh + gy[slice(*span)]
        cell = dc + (1 - t * t) * o * m
        parts = (cell * g * (i * (1 - i)), cell * before * (f * (1 - f)), cell * i * (1 - g * g), m * t * (o * (1 - o)))
        stores = [slopes.target(span, x, slice(j * k, (j + 1) * k)) for j, x in enumerate(parts)]
        new = Value((batch, k), _F32)
        b.nodes.append(Loop((batch, k), [*stores, Store(new.ref(), (cell * f).expr)]))
        dc = b.lazy(new.ref())
        dh = product(b, slopes.part(span), weight_hh)
    s = slopes.whole()
    total = [None, None]
    if needs[5] or needs[6]:
        total = [_stored(b, s.sum(0))] * 2
    made = [
        lambda: product(b, s, weight_ih).reshape(input.shape),
        lambda: dh,
        lambda: dc,
        lambda: product(b, s.T, rows(input)),
        lambda: product(b, s.T, hs),
        lambda: total[0],
        lambda: total[1],
    ]
    return tuple(make() for make, wanted in zip(made, needs, strict=False) if wanted)
