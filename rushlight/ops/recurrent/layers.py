"""Recurrent layers over whole sequences: one operator for each layer and direction.

The input's share of all steps' gates is one matrix product; the loop over time is left with the state's share and the
pointwise part, which runs in place on the rows of that product. Backward is the same loop the other way round, with one
product for each step, and then one for each weight and for the input.

A sequence is (T, N, I), or packed: (elements, I) with `batch_sizes`, how many of the N sequences run at each step. Both
are rows of a matrix, of which a step takes a span.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ...core.dispatch.extension_points import recurrent_steps
from ...core.dispatch.mode import thread
from ...core.dispatch.op import primitive
from ..pointwise.building_blocks import F32, F64
from ..pointwise.checks import still_of_type, word
from ..product.matmul import gram, mm
from . import gradients as recorded
from . import turns

# ---------------------------------------------------------------------------------------------- rows and products


def step_spans(rows: int, batch: int, batch_sizes, reverse: bool) -> list[tuple[int, int]]:
    """The first and last row of each step, in the order in which the layer takes them."""
    if batch_sizes is None:
        steps = rows // batch if batch else 0
        spans = [(t * batch, t * batch + batch) for t in range(steps)]
    else:
        spans = list(pairwise(accumulate(batch_sizes, initial=0)))
    return spans[::-1] if reverse else spans


def _product(x, y):
    """x @ y by the kernel of `mm`, whichever that is on this machine."""
    return (mm.record.kernel if type(x) is np.ndarray else mm.record.reference)(x, y)


def _gram(x, y):
    """x^T @ y by the kernel of `gram`."""
    return gram.record.kernel(x, y)


def _columns(weight, steps: int):
    """The transposed weight, contiguous where many steps multiply by it.

    (20, 256) @ (256, 1024) takes OpenBLAS 205 us with the transposed view and 113 contiguous; the copy 300.
    """
    return np.ascontiguousarray(weight.T) if steps > 4 else weight.T


def _wide(a: Any) -> Any:
    return a if a is None or a.dtype is F32 or a.dtype is F64 else a.astype(F32)


def _check(input, weight_ih, weight_hh, bias_ih, bias_hh, states, gates: int) -> None:
    """RuntimeError where types or shapes do not fit a layer with so many gates; NumPy would broadcast some of them."""
    h, rows = states[0], gates * states[-1].shape[1]
    for pairs in (((input, weight_ih), (input, bias_ih), (input, bias_hh)), [(s, weight_hh) for s in states]):
        for x, y in pairs:
            if y is not None and x.dtype != y.dtype:
                raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {word(x)} and {word(y)}")
    if input.dtype.kind in "biuc":
        raise RuntimeError(f"recurrent layers take floating-point tensors, got {word(input)}")
    wanted = ((weight_ih, (rows, input.shape[-1])), (weight_hh, (rows, h.shape[1])))
    for weight, shape in wanted:
        if weight.shape != shape:
            raise RuntimeError(f"expected a weight of shape {list(shape)}, but got {list(weight.shape)}")
    for bias in (bias_ih, bias_hh):
        if bias is not None and bias.shape != (rows,):
            raise RuntimeError(f"expected a bias of shape [{rows}], but got {list(bias.shape)}")


def _input_share(input, weight, *biases):
    """input @ weight^T + biases, for the rows of all steps: (rows, gates)."""
    gates = _product(input.reshape(-1, input.shape[-1]), weight.T)
    summands = [b for b in biases if b is not None]
    if summands:
        gates += summands[0] if len(summands) == 1 else summands[0] + summands[1]
    return gates


def _take_natively(cell: str, spans, weight, *arrays) -> bool:
    """Whether generated code has taken the steps of a layer (`compile/lower/eager/recurrent.py`)."""
    steps = recurrent_steps.value
    return steps is not None and type(arrays[0]) is np.ndarray and steps(cell, spans, weight, *arrays)


# The logistic function is (1 + tanh(x / 2)) / 2: a row's gates, logistic and tanh ones side by side, go through one tanh.


@cache
def _lstm_rows(k: int, d: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(scale, shift, a) for gates i, f, g, o: gate = tanh(x scale) scale + shift, its slope (gate + a) (1 - gate)."""
    tanh = np.repeat(np.array([0, 0, 1, 0], d), k)
    return (1 + tanh) / 2, (1 - tanh) / 2, tanh


def _logistic(z):
    """The logistic function, in place."""
    z *= 0.5
    np.tanh(z, z)
    z *= 0.5
    z += 0.5


# ---------------------------------------------------------------------------------------------- LSTM


def _lstm(
    input, h0, c0, weight_ih, weight_hh, bias_ih=None, bias_hh=None, weight_hr=None, /, batch_sizes=None, reverse=False
):
    """One layer of long short-term memory in one direction: (output, h_n, c_n), and what backward needs.

    i, f, g, o = logistic, logistic, tanh, logistic of W_ih x_t + b_ih + W_hh h + b_hh
    c' = f c + i g,  h' = o tanh(c'), or W_hr of that

    Shape: input (T, N, I) or packed (*, I); h0 (N, P), c0 (N, H); weight_ih (4 H, I), weight_hh (4 H, P),
    weight_hr (P, H); P = H without weight_hr -> output (T, N, P) or (*, P)
    After those: the gates (rows, 4 H), the h, c before each step, tanh(c') after it (rows, H).
    """
    _check(input, weight_ih, weight_hh, bias_ih, bias_hh, (h0, c0), 4)
    if weight_hr is not None and (weight_hr.dtype != input.dtype or weight_hr.shape != (h0.shape[1], c0.shape[1])):
        raise RuntimeError(
            f"weight_hr of type {word(weight_hr)} and shape {list(weight_hr.shape)} does not fit the layer"
        )
    d = input.dtype
    input, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr = map(
        _wide, (input, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
    )
    h, c = _state(h0), _state(c0)
    gates = _input_share(input, weight_ih, bias_ih, bias_hh)
    spans = step_spans(len(gates), len(h), batch_sizes, reverse)
    y, hs, cs, ts = (np.empty((len(gates), a.shape[1]), gates.dtype, like=gates) for a in (h, h, c, c))
    arrays = gates, h, c, hs, cs, ts, y
    if weight_hr is not None or not _take_natively("lstm", spans, weight_hh.T, *arrays):
        _lstm_steps(spans, weight_hh, weight_hr, *arrays)
    y = y.reshape(*input.shape[:-1], h.shape[1])
    return *(r.astype(d, copy=False) for r in (y, h, c)), gates, hs, cs, ts


def _lstm_steps(spans, weight_hh, weight_hr, gates, h, c, hs, cs, ts, y) -> None:
    weight, project = _columns(weight_hh, len(spans)), None if weight_hr is None else _columns(weight_hr, len(spans))
    k = c.shape[1]
    scale, shift, _ = _lstm_rows(k, gates.dtype)
    for a, b in spans:
        z, ch, t = gates[a:b], c[: b - a], ts[a:b]
        hs[a:b], cs[a:b] = h[: b - a], ch
        z += _product(hs[a:b], weight)
        z *= scale
        np.tanh(z, z)
        z *= scale
        z += shift
        ch *= z[:, k : 2 * k]
        ch += z[:, :k] * z[:, 2 * k : 3 * k]
        np.tanh(ch, t)
        new = z[:, 3 * k :] * t
        h[: b - a] = y[a:b] = new if project is None else _product(new, project)


def _state(a):
    """A copy of an initial state, for the steps to write to."""
    return a.copy() if a.dtype is F32 or a.dtype is F64 else a.astype(F32)


@primitive(name="lstm_layer.backward", public=False, outputs=-1, differentiable=False)
def lstm_layer_backward(
    input, weight_ih, weight_hh, gates, hs, cs, ts, weight_hr=None, gy=None, gh=None, gc=None, /,
    batch_sizes=None, reverse=False, needs=(True,) * 8,
):  # fmt: skip
    """The gradients that `needs` asks for, of the arrays of `lstm_layer`, from those of its three results."""
    input, weight_ih, weight_hh, weight_hr = map(_wide, (input, weight_ih, weight_hh, weight_hr))
    k, p = cs.shape[1], hs.shape[1]
    batch = batch_of(input, batch_sizes)
    dh, dc = _gradient(gh, (batch, p), gates.dtype), _gradient(gc, (batch, k), gates.dtype)
    gy = None if gy is None else _rows_of(gy, p)
    out = np.empty_like(gates)
    projected = None if weight_hr is None else np.empty_like(hs)
    spans = step_spans(len(gates), batch, batch_sizes, reverse)[::-1]
    arrays = gates, cs, ts, gy, dh, dc, out
    if weight_hr is not None or not _take_natively("lstm.backward", spans, weight_hh, *arrays):
        _lstm_slopes(spans, weight_hh, weight_hr, projected, *arrays)
    gate_gradients = (out, out, input, weight_ih, hs, dh, dc)
    more = () if projected is None else (lambda: _gram(projected, gates[:, 3 * k :] * ts),)
    return _results(needs, *gate_gradients, *more)


def _lstm_slopes(spans, weight_hh, weight_hr, projected, gates, cs, ts, gy, dh, dc, out) -> None:
    k = cs.shape[1]
    a_row = _lstm_rows(k, gates.dtype)[2]
    for a, b in spans:
        gm, cell, z, t, s = dh[: b - a], dc[: b - a], gates[a:b], ts[a:b], out[a:b]
        if gy is not None:
            gm += gy[a:b]
        if projected is not None:
            projected[a:b] = gm
            gm = _product(gm, weight_hr)
        slope = t * t
        np.subtract(1, slope, slope)
        slope *= z[:, 3 * k :]
        slope *= gm
        cell += slope
        np.multiply(cell, z[:, 2 * k : 3 * k], s[:, :k])
        np.multiply(cell, cs[a:b], s[:, k : 2 * k])
        np.multiply(cell, z[:, :k], s[:, 2 * k : 3 * k])
        np.multiply(gm, t, s[:, 3 * k :])
        slope = 1 - z
        s *= slope
        np.add(z, a_row, slope)
        s *= slope
        cell *= z[:, k : 2 * k]
        dh[: b - a] = _product(s, weight_hh)


def batch_of(input, batch_sizes) -> int:
    """How many sequences there are; input: an array, or a stand-in for one."""
    return input.shape[1] if batch_sizes is None else batch_sizes[0]


def _gradient(g, shape, d):
    """A gradient of the final state, as memory to write to."""
    return np.zeros(shape, d) if g is None else g.astype(d, order="C")


def _rows_of(g, width: int):
    """The gradient of the output, a row for each place of a sequence."""
    return np.ascontiguousarray(_wide(g)).reshape(-1, width)


def _results(needs, k_in, k_rec, input, weight_ih, hs, *rest) -> tuple:
    """The gradients wanted of a layer's arrays, from those of the gates with respect to the input's and state's shares.

    rest: the gradients of the initial state, then functions for further parameters.
    """
    states = [g for g in rest if isinstance(g, np.ndarray)]
    more = rest[len(states) :]
    makers = (
        lambda: _product(k_in, weight_ih).reshape(input.shape),
        *(lambda g=g: g for g in states),
        lambda: _gram(k_in, input.reshape(-1, input.shape[-1])),
        lambda: _gram(k_rec, hs),
        lambda: np.add.reduce(k_in, 0),
        lambda: np.add.reduce(k_rec, 0),
        *more,
    )
    return tuple(make() for make, wanted in zip(makers, needs, strict=False) if wanted)


def _spread(results, needs) -> tuple:
    """One gradient for each array, None where none was wanted."""
    values = iter(results)
    return tuple(next(values) if wanted else None for wanted in needs)


def _lstm_rule(
    g, input, h0, c0, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, out3, out4, out5, out6, batch_sizes, reverse,
    needs,
):  # fmt: skip
    still_of_type(next(x for x in g if x is not None), input, weight_ih, weight_hh)
    if thread.state.grad:
        parameters = (weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
        return _recorded(recorded.LSTM, g, input, (h0, c0), parameters, batch_sizes, reverse, needs)
    found = lstm_layer_backward(
        input, weight_ih, weight_hh, out3, out4, out5, out6, weight_hr, *g, batch_sizes, reverse, needs
    )
    return _spread(found, needs)


def _recorded(cell, g, input, state, parameters, batch_sizes, reverse, needs) -> tuple:
    rows = input._array.size // max(input._array.shape[-1], 1)
    spans = step_spans(rows, len(state[0]._array), batch_sizes, reverse)
    found = recorded.recorded_gradients(cell, g, input, state, parameters, spans)
    return tuple(r if wanted else None for r, wanted in zip(found, needs, strict=False))


# ---------------------------------------------------------------------------------------------- GRU


def _gru(input, h0, weight_ih, weight_hh, bias_ih=None, bias_hh=None, /, batch_sizes=None, reverse=False):
    """One layer of gated recurrent units in one direction: (output, h_n), and what backward needs.

    r, z = logistic(W_ih x_t + b_ih + W_hh h + b_hh),  n = tanh(W_in x_t + b_in + r (W_hn h + b_hn))
    h' = (1 - z) n + z h

    Shape: input (T, N, I) or packed (*, I), h0 (N, H), weight_ih (3 H, I), weight_hh (3 H, H) -> (T, N, H) or (*, H)
    After those: the gates (rows, 3 H), W_hn h + b_hn and the h before each step (rows, H).
    """
    _check(input, weight_ih, weight_hh, bias_ih, bias_hh, (h0,), 3)
    h, k = _state(h0), h0.shape[1]
    gates = _input_share(input, weight_ih, bias_ih)
    spans = step_spans(len(gates), len(h), batch_sizes, reverse)
    y, hs, ns = (np.empty((len(gates), k), gates.dtype, like=gates) for _ in range(3))
    if not _take_natively("gru", spans, weight_hh.T, gates, bias_hh, h, hs, ns, y):
        _gru_steps(spans, weight_hh, bias_hh, gates, h, hs, ns, y)
    return y.reshape(*input.shape[:-1], k), h, gates, ns, hs


def _gru_steps(spans, weight_hh, bias_hh, gates, h, hs, ns, y) -> None:
    weight, k = _columns(weight_hh, len(spans)), h.shape[1]
    for a, b in spans:
        z, before, new = gates[a:b], hs[a:b], y[a:b]
        before[...] = h[: b - a]
        share = _product(before, weight)
        if bias_hh is not None:
            share += bias_hh
        rz, n = z[:, : 2 * k], z[:, 2 * k :]
        rz += share[:, : 2 * k]
        _logistic(rz)
        ns[a:b] = share[:, 2 * k :]
        n += z[:, :k] * ns[a:b]
        np.tanh(n, n)
        np.subtract(before, n, new)
        new *= z[:, k : 2 * k]
        new += n
        h[: b - a] = new


@primitive(name="gru_layer.backward", public=False, outputs=-1, differentiable=False)
def gru_layer_backward(
    input, weight_ih, weight_hh, gates, ns, hs, gy=None, gh=None, /, batch_sizes=None, reverse=False, needs=(True,) * 6
):
    """The gradients that `needs` asks for, of the arrays of `gru_layer`, from those of its two results."""
    k, batch = hs.shape[1], batch_of(input, batch_sizes)
    dh = _gradient(gh, (batch, k), gates.dtype)
    gy = None if gy is None else _rows_of(gy, k)
    k_in, k_rec = np.empty_like(gates), np.empty_like(gates)
    spans = step_spans(len(gates), batch, batch_sizes, reverse)[::-1]
    arrays = gates, ns, hs, gy, dh, k_in, k_rec
    if not _take_natively("gru.backward", spans, weight_hh, *arrays):
        _gru_slopes(spans, weight_hh, *arrays)
    return _results(needs, k_in, k_rec, input, weight_ih, hs, dh)


def _gru_slopes(spans, weight_hh, gates, ns, hs, gy, dh, k_in, k_rec) -> None:
    k = hs.shape[1]
    for a, b in spans:
        g, gate, s, s_rec = dh[: b - a], gates[a:b], k_in[a:b], k_rec[a:b]
        if gy is not None:
            g += gy[a:b]
        r, z, n, gn = gate[:, :k], gate[:, k : 2 * k], gate[:, 2 * k :], s[:, 2 * k :]
        slope = n * n
        np.subtract(1, slope, slope)
        np.subtract(1, z, gn)
        gn *= g
        gn *= slope
        np.multiply(gn, ns[a:b], s[:, :k])
        np.subtract(hs[a:b], n, slope)
        np.multiply(slope, g, s[:, k : 2 * k])
        slope = 1 - gate[:, : 2 * k]
        slope *= gate[:, : 2 * k]
        s[:, : 2 * k] *= slope
        s_rec[:, : 2 * k] = s[:, : 2 * k]
        np.multiply(gn, r, s_rec[:, 2 * k :])
        g *= z
        g += _product(s_rec, weight_hh)


def _gru_rule(
    g, input, h0, weight_ih, weight_hh, bias_ih, bias_hh, out2, out3, out4, batch_sizes, reverse, needs
):  # fmt: skip
    if thread.state.grad:
        parameters = (weight_ih, weight_hh, bias_ih, bias_hh, None)
        return _recorded(recorded.GRU, g, input, (h0,), parameters, batch_sizes, reverse, needs)
    found = gru_layer_backward(input, weight_ih, weight_hh, out2, out3, out4, *g, batch_sizes, reverse, needs)
    return _spread(found, needs)


# ---------------------------------------------------------------------------------------------- Elman's


def _rnn(
    input, h0, weight_ih, weight_hh, bias_ih=None, bias_hh=None, /, batch_sizes=None, reverse=False, relu=False
):  # fmt: skip
    """One layer of Elman's network in one direction: (output, h_n), and what backward needs.

    h' = tanh(W_ih x_t + b_ih + W_hh h + b_hh), or max(0, ...) with `relu`

    Shape: input (T, N, I) or packed (*, I), h0 (N, H), weight_ih (H, I), weight_hh (H, H) -> (T, N, H) or (*, H)
    After those: h' again, and the h before each step (rows, H).
    """
    _check(input, weight_ih, weight_hh, bias_ih, bias_hh, (h0,), 1)
    h = _state(h0)
    y = _input_share(input, weight_ih, bias_ih, bias_hh)
    spans = step_spans(len(y), len(h), batch_sizes, reverse)
    hs = np.empty((len(y), h.shape[1]), y.dtype, like=y)
    if not _take_natively("rnn.relu" if relu else "rnn", spans, weight_hh.T, y, h, hs):
        weight = _columns(weight_hh, len(spans))
        for a, b in spans:
            z = y[a:b]
            hs[a:b] = h[: b - a]
            z += _product(hs[a:b], weight)
            np.maximum(z, 0, out=z) if relu else np.tanh(z, z)
            h[: b - a] = z
    return y.reshape(*input.shape[:-1], h.shape[1]).copy(), h, y, hs


@primitive(name="rnn_layer.backward", public=False, outputs=-1, differentiable=False)
def rnn_layer_backward(
    input, weight_ih, weight_hh, ys, hs, gy=None, gh=None, /,
    batch_sizes=None, reverse=False, relu=False, needs=(True,) * 6,
):  # fmt: skip
    """The gradients that `needs` asks for, of the arrays of `rnn_layer`, from those of its two results."""
    batch = batch_of(input, batch_sizes)
    dh = _gradient(gh, (batch, hs.shape[1]), ys.dtype)
    gy = None if gy is None else _rows_of(gy, hs.shape[1])
    k = (ys > 0).astype(ys.dtype) if relu else 1 - ys * ys
    spans = step_spans(len(ys), batch, batch_sizes, reverse)[::-1]
    if not _take_natively("rnn.backward", spans, weight_hh, k, gy, dh):
        for a, b in spans:
            g, s = dh[: b - a], k[a:b]
            if gy is not None:
                g += gy[a:b]
            s *= g
            g[...] = _product(s, weight_hh)
    return _results(needs, k, k, input, weight_ih, hs, dh)


def _rnn_rule(
    g, input, h0, weight_ih, weight_hh, bias_ih, bias_hh, out2, out3, batch_sizes, reverse, relu, needs
):  # fmt: skip
    if thread.state.grad:
        cell = recorded.RNN_RELU if relu else recorded.RNN_TANH
        parameters = (weight_ih, weight_hh, bias_ih, bias_hh, None)
        return _recorded(cell, g, input, (h0,), parameters, batch_sizes, reverse, needs)
    found = rnn_layer_backward(input, weight_ih, weight_hh, out2, out3, *g, batch_sizes, reverse, relu, needs)
    return _spread(found, needs)


# ---------------------------------------------------------------------------------------------- the operators


def _operator(name: str, node: str, kernel, rule, outputs: int):
    """One of a layer's records, which differ in the name of the node only: torch composes the same layer differently."""
    # torch's layer of one operator, `lstm_layer`, saves its inputs themselves, composed ones views of them.
    keeps = {} if name == "lstm_layer" else dict.fromkeys(("input", "weight_ih", "weight_hh", "h0"))
    options = {"outputs": outputs, "node": node, "keeps": keeps}
    operator = primitive(name=name, public=False, **options)(kernel)
    operator.vjp(rule)
    operator.record.node_class.turns = property(turns.of_lstm) if name == "lstm_layer" else _turns(kernel)
    return operator


def _turns(kernel) -> tuple[int, ...]:
    return turns.COMPOSED_LSTM if kernel is _lstm else turns.COMPOSED


lstm_layer = _operator("lstm_layer", "MkldnnRnnLayerBackward0", _lstm, _lstm_rule, 3)
lstm_layer_stack = _operator("lstm_layer.stack", "StackBackward0", _lstm, _lstm_rule, 3)
lstm_layer_packed = _operator("lstm_layer.packed", "CatBackward0", _lstm, _lstm_rule, 3)
gru_layer = _operator("gru_layer", "StackBackward0", _gru, _gru_rule, 2)
gru_layer_packed = _operator("gru_layer.packed", "CatBackward0", _gru, _gru_rule, 2)
rnn_layer = _operator("rnn_layer", "StackBackward0", _rnn, _rnn_rule, 2)
rnn_layer_packed = _operator("rnn_layer.packed", "CatBackward0", _rnn, _rnn_rule, 2)
