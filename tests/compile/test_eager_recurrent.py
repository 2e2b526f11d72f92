"""Recurrent layers of eager calls by generated code, next to the same layers by NumPy."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import rushlight as rl
from rushlight.compile import install
from rushlight.compile.lower.eager import recurrent
from rushlight.core.determinism import mode
from rushlight.core.dispatch import extension_points
from rushlight.core.jit_switch import jit
from rushlight.ops.recurrent import layers

pytestmark = pytest.mark.skipif(not recurrent.available(), reason="no code can be made here")

_GATES = {"lstm": 4, "gru": 3, "rnn": 1, "relu": 1}
_SIZES = [(7, 5, 24, 6), (1, 3, 10, 4), (3, 1, 50, 7), (30, 21, 36, 3), (5, 2, 1, 1)]  # T, N, H, I


def _arrays(*shapes, dtype=np.float32):
    rng = np.random.default_rng(0)
    return [(rng.standard_normal(shape) * 0.1).astype(dtype) for shape in shapes]


def _by(steps, call):
    before = extension_points.recurrent_steps.value
    extension_points.recurrent_steps.register(steps)
    try:
        return call()
    finally:
        extension_points.recurrent_steps.register(before)


def _close(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        tolerance = 2e-6 if a.dtype == np.float32 else 1e-14
        np.testing.assert_allclose(a, b, rtol=10 * tolerance, atol=tolerance)


def _layer(kind, size, packed=False, reverse=False, bias=True, given="y h", dtype=np.float32):
    """All results of a layer and its backward, as a function of nothing."""
    steps, n, k, i = size
    lengths = None
    rows = (steps, n)
    if packed:
        lengths = tuple(sorted((*np.random.default_rng(1).integers(1, n + 1, steps - 1).tolist(), n), reverse=True))
        rows = (sum(lengths),)
    g = _GATES[kind]
    x, h, c, w_ih, w_hh, b_ih, b_hh, gy, gh, gc = _arrays(
        (*rows, i), (n, k), (n, k), (g * k, i), (g * k, k), (g * k,), (g * k,), (*rows, k), (k, n), (n, k), dtype=dtype
    )
    b_ih, b_hh = (b_ih, b_hh) if bias else (None, None)
    gh = gh.T if "h" in given else None
    gc, gy = (gc if "h" in given else None), (gy if "y" in given else None)
    if kind == "lstm":
        forward = partial(layers._lstm, x, h, c, w_ih, w_hh, b_ih, b_hh, None, lengths, reverse)
        backward, first = partial(layers.lstm_layer_backward.record.kernel, x, w_ih, w_hh), 3
        rest = (None, gy, gh, gc, lengths, reverse)
    elif kind == "gru":
        forward = partial(layers._gru, x, h, w_ih, w_hh, b_ih, b_hh, lengths, reverse)
        backward, first = partial(layers.gru_layer_backward.record.kernel, x, w_ih, w_hh), 2
        rest = (gy, gh, lengths, reverse)
    else:
        forward = partial(layers._rnn, x, h, w_ih, w_hh, b_ih, b_hh, lengths, reverse, kind == "relu")
        backward, first = partial(layers.rnn_layer_backward.record.kernel, x, w_ih, w_hh), 2
        rest = (gy, gh, lengths, reverse, kind == "relu")

    def run():
        out = forward()
        return *out, *backward(*out[first:], *rest)

    return run


@pytest.mark.parametrize("kind", _GATES)
@pytest.mark.parametrize("size", _SIZES, ids=str)
@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
def test_equals_numpy(kind, size, packed):
    cells = []

    def native(cell, *arguments):
        cells.append(cell)
        return recurrent.run(cell, *arguments)

    for reverse in (False, True):
        for bias in (False, True):
            for given in ("y", "h", "y h"):
                run = _layer(kind, size, packed, reverse, bias, given)
                _close(_by(native, run), _by(None, run))
    run = _layer(kind, size, packed, dtype=np.float64)
    _close(_by(native, run), _by(None, run))
    assert len(cells) == 26 and all(name.startswith("rnn" if kind == "relu" else kind) for name in cells)


@pytest.mark.parametrize("kind", _GATES)
def test_nan_and_infinity_spread_as_by_numpy(kind):
    steps, n, k, i = 6, 9, 20, 4
    g = _GATES[kind]
    x, h, w_ih, w_hh = _arrays((steps, n, i), (n, k), (g * k, i), (g * k, k))
    x[2, 1], x[1, 3], x[3, 4, 0], h[5, 2] = np.nan, np.inf, -np.inf, 1e30
    call = {
        "lstm": lambda: layers._lstm(x, h, h, w_ih, w_hh),
        "gru": lambda: layers._gru(x, h, w_ih, w_hh),
        "rnn": lambda: layers._rnn(x, h, w_ih, w_hh),
        "relu": lambda: layers._rnn(x, h, w_ih, w_hh, relu=True),
    }[kind]
    with np.errstate(all="ignore"):
        found, wanted = _by(recurrent.run, call), _by(None, call)
    for a, b in zip(found[:2], wanted[:2], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_rows_have_the_same_bits_in_every_batch_and_on_every_number_of_threads():
    share, state, weight = _arrays((40, 37, 256), (37, 64), (256, 64))

    def run(n):
        gates, h, c = share[:, :n].copy(), state[:n].copy(), state[:n].copy()
        hs, cs, ts, y = (np.empty((40, n, 64), np.float32) for _ in range(4))
        assert recurrent.run("lstm", layers.step_spans(40 * n, n, None, False), weight.T, gates, h, c, hs, cs, ts, y)
        return y

    whole = run(37)
    for n in (2, 5, 8, 19):
        np.testing.assert_array_equal(run(n), whole[:, :n])
    threads = rl.get_num_threads()
    try:
        for count in (1, 2, 3):
            rl.set_num_threads(count)
            np.testing.assert_array_equal(run(37), whole)
    finally:
        rl.set_num_threads(threads)


def test_what_there_is_no_code_for_is_numpys():
    asked = []

    def native(cell, *arguments):
        asked.append(recurrent.run(cell, *arguments))
        return asked[-1]

    x, h, w_ih, w_hh, w_hr = _arrays((3, 2, 4), (2, 8), (32, 4), (32, 8), (3, 8))
    _by(native, lambda: layers._lstm(x[:0], h, h, w_ih, w_hh))
    _by(native, lambda: layers._lstm(x[:, :0], h[:0], h[:0], w_ih, w_hh))
    assert asked == [False, False]
    _by(native, lambda: layers._lstm(x, h[:, :3], h, w_ih, w_hh[:, :3], None, None, w_hr))
    assert asked == [False, False], "a projection is not even asked for"


def test_calls_are_counted_until_code_may_be_made(monkeypatch):
    monkeypatch.setattr(jit, "on", True)
    monkeypatch.setattr(install._work, "left", 100_000)
    made = []
    monkeypatch.setattr(recurrent, "run", lambda *arguments: bool(made.append(arguments[0])))
    x, h, w_ih, w_hh = _arrays((10, 2, 4), (2, 8), (32, 4), (32, 8))
    for _ in range(5):
        layers._lstm(x, h, h, w_ih, w_hh)
    assert made == ["lstm"]
    with monkeypatch.context() as deterministic:
        deterministic.setattr(mode, "on", True)
        layers._lstm(x, h, h, w_ih, w_hh)
    monkeypatch.setattr(jit, "on", False)
    layers._lstm(x, h, h, w_ih, w_hh)
    assert made == ["lstm"]
