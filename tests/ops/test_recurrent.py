"""Recurrent layers against their formulas in NumPy float64, step by step; gradients of gradients by differences."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.core.dispatch.extension_points import one_lstm_in_bfloat16
from rushlight.ops.recurrent import layers as recurrent_layers

rng = np.random.RandomState(3)
T, N, I, H = 4, 3, 2, 3


def _logistic(x):
    return 1 / (1 + np.exp(-x))


def _lstm(x, state, w, u, b, c):
    i, f, g, o = np.split(x @ w.T + b + state[0] @ u.T + c, 4, 1)
    cell = _logistic(f) * state[1] + _logistic(i) * np.tanh(g)
    return _logistic(o) * np.tanh(cell), cell


def _gru(x, state, w, u, b, c):
    (r, z, n), (hr, hz, hn) = np.split(x @ w.T + b, 3, 1), np.split(state[0] @ u.T + c, 3, 1)
    n, z = np.tanh(n + _logistic(r + hr) * hn), _logistic(z + hz)
    return ((1 - z) * n + z * state[0],)


def _tanh(x, state, w, u, b, c):
    return (np.tanh(x @ w.T + b + state[0] @ u.T + c),)


def _relu(x, state, w, u, b, c):
    return (np.maximum(x @ w.T + b + state[0] @ u.T + c, 0),)


NETWORKS = [
    ("lstm", torch.lstm, torch.lstm_cell, _lstm, 4, 2),
    ("gru", torch.gru, torch.gru_cell, _gru, 3, 1),
    ("rnn_tanh", torch.rnn_tanh, torch.rnn_tanh_cell, _tanh, 1, 1),
    ("rnn_relu", torch.rnn_relu, torch.rnn_relu_cell, _relu, 1, 1),
]
each = pytest.mark.parametrize(
    ("name", "network", "cell", "oracle", "gates", "states"), NETWORKS, ids=[row[0] for row in NETWORKS]
)


def _arrays(gates, states):
    w = [rng.randn(gates * H, I), rng.randn(gates * H, H), rng.randn(gates * H), rng.randn(gates * H)]
    return rng.randn(T, N, I), [rng.randn(1, N, H) for _ in range(states)], w


def _hx(name, states):
    return tuple(states) if name == "lstm" else states[0]


@each
def test_layer(name, network, cell, oracle, gates, states):
    """Every output and final state; the same from float32, to its rounding."""
    x, initial, w = _arrays(gates, states)
    state, outputs = [s[0] for s in initial], []
    for entry in x:
        state = oracle(entry, state, *w)
        outputs.append(state[0])
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 2e-6), (torch.bfloat16, 3e-2), (torch.half, 4e-3)):
        tensors = [[torch.tensor(a).to(dtype) for a in part] for part in ([x], initial, w)]
        y, *last = network(tensors[0][0], _hx(name, tensors[1]), tensors[2], True, 1, 0.0, False, False, False)
        assert y.dtype is dtype
        np.testing.assert_allclose(y.double().numpy(), np.stack(outputs), rtol=tolerance, atol=tolerance * 4)
        for got, want in zip(last, state, strict=True):
            np.testing.assert_allclose(got[0].double().numpy(), want, rtol=tolerance, atol=tolerance * 4)


@each
def test_cell(name, network, cell, oracle, gates, states):
    x, initial, w = _arrays(gates, states)
    got = cell(torch.tensor(x[0]), _hx(name, [torch.tensor(s[0]) for s in initial]), *map(torch.tensor, w))
    want = oracle(x[0], [s[0] for s in initial], *w)
    for a, b in zip(got if name == "lstm" else [got], want, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-12)


@each
@pytest.mark.parametrize("sizes", [None, (3, 2, 2, 1)], ids=["padded", "packed"])
def test_gradients(name, network, cell, oracle, gates, states, sizes):
    """First and second gradients in both directions, by differences."""
    _, _, w = _arrays(gates, states)
    x = rng.randn(8, I) if sizes else rng.randn(T, N, I)
    leaves = [torch.tensor(a, requires_grad=True) for a in [x, *(rng.randn(2, N, H) for _ in range(states)), *w]]
    reverse = [torch.tensor(rng.randn(*p.shape)) for p in w]

    def call(x, *rest):
        hx, weights = _hx(name, list(rest[:states])), [*rest[states:], *reverse]
        if sizes:
            return network(x, torch.tensor(sizes), hx, weights, True, 1, 0.0, False, True)
        return network(x, hx, weights, True, 1, 0.0, False, True, False)

    assert gradcheck(call, leaves)
    assert gradgradcheck(call, leaves, fast_mode=True)


@each
def test_recorded_gradient_is_the_kernels(name, network, cell, oracle, gates, states):
    """The gradient that is written in tensors, for create_graph, and the kernel's are the same numbers."""
    x, initial, w = _arrays(gates, states)
    leaves = [torch.tensor(a, requires_grad=True) for a in [x, *initial, *w]]

    def gradients(create_graph):
        hx = _hx(name, leaves[1 : 1 + states])
        results = network(leaves[0], hx, leaves[1 + states :], True, 1, 0.0, False, False, False)
        loss = sum((r * r).sum() for r in results)
        return torch.autograd.grad(loss, leaves, create_graph=create_graph)

    for a, b in zip(gradients(False), gradients(True), strict=True):
        torch.testing.assert_close(a, b.detach(), rtol=1e-11, atol=1e-11)


def test_only_wanted_gradients():
    """A rule computes what is asked for; a result without gradient counts as zero."""
    x, initial, w = _arrays(4, 2)
    x, h, c, *w = (torch.tensor(a) for a in [x, *initial, *w])
    w[1].requires_grad_()
    y, _, last = torch.lstm(x, (h, c), w, True, 1, 0.0, False, False, False)
    (g,) = torch.autograd.grad(last.sum(), w[1])
    assert g.shape == w[1].shape and bool(g.abs().max() > 0)
    node = torch.lstm(x.float(), (h.float(), c.float()), [p.float() for p in w], True, 1, 0.0, False, False, False)[0]
    assert (y.grad_fn.name(), node.grad_fn.name()) == ("StackBackward0", "MkldnnRnnLayerBackward0")


def test_results_may_be_changed_in_place():
    """What backward needs is not the memory of the results."""
    x, initial, w = _arrays(4, 2)
    x, h, c, *w = (torch.tensor(a, requires_grad=True) for a in [x, *initial, *w])

    def gradient(change):
        results = torch.lstm(x, (h, c), w, True, 1, 0.0, False, False, False)
        return torch.autograd.grad(sum(change(r).sum() for r in results), w[0])[0]

    assert torch.equal(gradient(lambda r: r.mul_(2)), gradient(lambda r: r * 2))


def test_dropout_between_layers():
    """Dropout acts on the output of every layer but the last, and only in training."""
    x, initial, w = _arrays(1, 1)
    second = [torch.tensor(rng.randn(H, H)) for _ in range(2)] + [torch.tensor(rng.randn(H)) for _ in range(2)]
    x, h, w = torch.tensor(x), torch.tensor(initial[0]), [torch.tensor(a) for a in w]

    def layer(x, w):
        return torch.rnn_tanh(x, h, w, True, 1, 0.0, True, False, False)[0]

    torch.manual_seed(0)
    got = torch.rnn_tanh(x, torch.cat([h, h]), [*w, *second], True, 2, 0.5, True, False, False)[0]
    torch.manual_seed(0)
    torch.testing.assert_close(got, layer(torch.dropout(layer(x, w), 0.5, True), second))
    still = torch.rnn_tanh(x, torch.cat([h, h]), [*w, *second], True, 2, 0.5, False, False, False)[0]
    torch.testing.assert_close(still, layer(layer(x, w), second))


_X, _H = torch.ones(T, N, I), torch.zeros(1, N, H)
_W = [torch.ones(4 * H, I), torch.ones(4 * H, H), torch.ones(4 * H), torch.ones(4 * H)]
_REST = (True, 1, 0.0, False, False, False)
ERRORS = [
    (lambda: torch.lstm(1), TypeError, "lstm.. received an invalid combination of arguments - got .int."),
    (lambda: torch.gru(_X, (_H,), _W, *_REST), TypeError, "gru.. received an invalid combination of arguments"),
    (lambda: torch.lstm(_X, (_H,), _W, *_REST), RuntimeError, "lstm expects two hidden states"),
    (lambda: torch.lstm(_X, (_H, _H), _W[:3], *_REST), RuntimeError, "expected 4 parameters"),
    (lambda: torch.gru(_X, _H, _W, *_REST), RuntimeError, "expected a weight of shape"),
    (lambda: torch.lstm(_X, (_H, _H), [*_W[:3], _W[3][:1]], *_REST), RuntimeError, "expected a bias of shape"),
    (lambda: torch.lstm(_X, (_H[:, :1], _H), _W, *_REST), RuntimeError, "The size of tensor a .3. must match"),
    (lambda: torch.lstm_cell(_X[0], (_H[0],), *_W), RuntimeError, "lstm_cell expects two hidden states"),
    (lambda: torch.lstm_cell(_H[0], (_H[0], _H[0]), *_W), RuntimeError, "input has inconsistent input_size: got 3 expec"),
    (lambda: torch.gru_cell(_X[0], _H[0], *_W), RuntimeError, r"weight_ih first dim must be 3 \* hidden_size = 9, but got"),
    (lambda: torch.lstm_cell(_X[0], (_H[0], _H[0, :1]), *_W), RuntimeError, "Input batch size 3 doesn't match hidden1 bat"),
    (lambda: torch.lstm_cell(_X[0], (_X[0], _H[0]), *_W), RuntimeError, "hidden0 has inconsistent hidden_size: got 2, exp"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), ERRORS, ids=[e[2] for e in ERRORS])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_kernels_leave_their_arrays_alone():
    """No kernel writes to what it is given."""
    x, initial, w = _arrays(4, 2)
    arrays = [x, *(s[0] for s in initial), *w]
    kept = [a.copy() for a in arrays]
    y, h, c, *saved = recurrent_layers.lstm_layer.record.kernel(*arrays)
    saved_before = [a.copy() for a in saved]
    recurrent_layers.lstm_layer_backward.record.kernel(x, w[0], w[1], *saved, None, y, h, c)
    for a, b in zip([*arrays, *saved], [*kept, *saved_before], strict=True):
        np.testing.assert_array_equal(a, b)


def _by_cells(name, x, state, parameters):
    """The steps of a layer by its cell: (output, final state)."""
    cell, outputs = getattr(torch, f"{name}_cell"), []
    for step in x.unbind(0):
        state = cell(step, state, *parameters)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(outputs), state if isinstance(state, tuple) else (state,)


def _in_16_bits(name, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    gates = {"lstm": 4, "gru": 3}.get(name, 1)

    def draw(*shape):
        return torch.randn(*shape, generator=generator).to(dtype)

    parameters = [draw(gates * H, I), draw(gates * H, H), draw(gates * H), draw(gates * H)]
    state = tuple(draw(1, N, H) for _ in range(2 if name == "lstm" else 1))
    return draw(T, N, I), state, [p.requires_grad_() for p in parameters]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_in_16_bits_each_operator_rounds_its_result(monkeypatch, name, dtype):
    monkeypatch.setattr(one_lstm_in_bfloat16, "value", None)  # as without AVX-512
    x, state, parameters = _in_16_bits(name, dtype)
    given = state if name == "lstm" else state[0]
    y, *last = getattr(torch, name)(x, given, parameters, True, 1, 0.0, False, False, False)
    found = torch.autograd.grad(y.float().pow(2).sum(), parameters)
    alone = tuple(s[0] for s in state)
    expected, final = _by_cells(name, x, alone if name == "lstm" else alone[0], parameters)
    assert y.dtype is dtype and torch.equal(y, expected)
    assert all(torch.equal(a[0], b) for a, b in zip(last, final, strict=True))
    for a, b in zip(found, torch.autograd.grad(expected.float().pow(2).sum(), parameters), strict=True):
        torch.testing.assert_close(a, b, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("name", ["gru", "rnn_tanh"])
def test_in_a_region_products_are_of_16_bits(name):
    x, state, parameters = _in_16_bits(name, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        y, last = getattr(torch, name)(x, state[0], parameters, True, 1, 0.0, False, False, False)
        expected, _ = _by_cells(name, x, state[0][0], parameters)
    assert torch.equal(y, expected)
    assert y.dtype is last.dtype is (torch.float32 if name == "gru" else torch.bfloat16)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_relu"])
def test_packed_sequences_in_16_bits_are_as_each_alone(name):
    x, state, parameters = _in_16_bits(name, torch.float16)
    reversed_too = parameters * 2
    state = tuple(torch.cat([s, s * 0.5]) for s in state)
    lengths, rows = [4, 2, 1], [[0, 1, 2], [0, 1], [0], [0]]
    data = torch.cat([x[t, batch] for t, batch in enumerate(rows)])
    given = state if name == "lstm" else state[0]
    sizes = torch.tensor([len(batch) for batch in rows])
    y, *last = getattr(torch, name)(data, sizes, given, reversed_too, True, 1, 0.0, False, True)
    starts = [0, 3, 5, 6]
    for i, length in enumerate(lengths):
        mine = tuple(s[:, i : i + 1].contiguous() for s in state)
        alone, *end = getattr(torch, name)(
            x[:length, i : i + 1].contiguous(),
            mine if name == "lstm" else mine[0],
            reversed_too,
            True,
            1,
            0.0,
            False,
            True,
            False,
        )
        assert torch.equal(torch.stack([y[starts[t] + i] for t in range(length)]), alone[:, 0])
        assert all(torch.equal(a[:, i], b[:, 0]) for a, b in zip(last, end, strict=True))
