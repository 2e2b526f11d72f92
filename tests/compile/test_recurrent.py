"""Recurrent layers compiled: no call of Python is left of them, and they compute what eager calls do."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from equality import differences, snapshot

import rushlight as torch
from rushlight import nn
from rushlight.compile.runtime.native import available
from rushlight.core.jit_switch import jit
from rushlight.nn.utils.rnn import PackedSequence, pack_padded_sequence

CALLS = 5
STEPS, BATCH, INPUT, HIDDEN = 6, 3, 5, 7

KINDS: dict[str, Any] = {
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *sizes, **options: nn.RNN(*sizes, nonlinearity="relu", **options),
    "lstm": nn.LSTM,
    "projection": lambda *sizes, **options: nn.LSTM(*sizes, proj_size=4, **options),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "no bias": {"bias": False},
    "stack": {"num_layers": 2, "dropout": 0.4, "batch_first": True},
    "both directions": {"num_layers": 2, "bidirectional": True},
}


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Bounds are checked; eager backward passes stay eager."""
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    monkeypatch.setattr(jit, "on", False)


def data(*shape: int, dtype=torch.float32) -> torch.Tensor:
    rng = np.random.default_rng(shape)
    return torch.from_numpy(rng.normal(size=shape)).to(dtype).requires_grad_()


def start(layer: Any, batch: int, dtype=torch.float32) -> Any:
    """An initial state that wants a gradient."""
    depth = layer.num_layers * (1 + layer.bidirectional)
    h = data(depth, batch, layer.proj_size or layer.hidden_size, dtype=dtype)
    return (h, data(depth, batch, layer.hidden_size, dtype=dtype)) if isinstance(layer, nn.LSTM) else h


def flat(state: Any) -> list:
    return list(state) if isinstance(state, tuple) else [state]


def outcomes(layer: Any, x: Any, state: Any, compiled: bool, final: bool = True) -> tuple[Any, list]:
    """The function that ran, and what its last call gave: output, final state, and the gradients of everything."""

    def step(x, state):
        y, last = layer(x, state)
        y = y.data if isinstance(y, PackedSequence) else y
        loss = (y * y.cos()).sum()
        for i, s in enumerate(flat(last) if final else ()):
            loss = loss + (s * s).sum() * (i + 2)
        loss.backward()
        return y.detach(), [s.detach() for s in flat(last)]

    run = torch.compile(step, fullgraph=True) if compiled else step
    source = x.data if isinstance(x, PackedSequence) else x
    leaves = [source, *layer.parameters(), *(flat(state) if state is not None else [])]
    result = None
    for k in range(CALLS):
        torch.manual_seed(k)
        for leaf in leaves:
            leaf.grad = None
        result = run(x, state)
    return lambda: torch.compile.explain(run)(x, state), snapshot([result, [leaf.grad for leaf in leaves]])


def check(layer: Any, x: Any, state: Any, final: bool = True) -> None:
    about, compiled = outcomes(layer, x, state, True, final)
    if available():
        left = [line for line in str(about()).splitlines() if "in Python" in line and "layer" in line]
        assert not left, left[0]
    eager = outcomes(layer, x, state, False, final)[1]
    wrong = differences(eager, compiled)
    assert not wrong, "; ".join(wrong[:4])


def built(kind: str, options: dict[str, Any], dtype=torch.float32) -> Any:
    torch.manual_seed(5)
    return KINDS[kind](INPUT, HIDDEN, **options).to(dtype)


@pytest.mark.parametrize(
    "options, dtype", [*((name, torch.float32) for name in OPTIONS), ("stack", torch.float64)], ids=str
)
@pytest.mark.parametrize("kind", KINDS)
def test_layer(kind, options, dtype):
    layer = built(kind, OPTIONS[options], dtype)
    shape = (BATCH, STEPS, INPUT) if layer.batch_first else (STEPS, BATCH, INPUT)
    check(layer, data(*shape, dtype=dtype), start(layer, BATCH, dtype))


@pytest.mark.parametrize("steps, batch, hidden", [(1, 1, 5), (2, 4, 1), (9, 2, 40), (13, 5, 33), (3, 21, 70)])
@pytest.mark.parametrize("kind", KINDS)
def test_sizes(kind, steps, batch, hidden):
    """Without an initial state, and with no gradient of the final one; a projection needs a wider layer."""
    layer = KINDS[kind](INPUT, max(hidden, 5 if kind == "projection" else 1))
    check(layer, data(steps, batch, INPUT), None, final=False)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("steps, batch", [(2, 3), (15, 4)])
@pytest.mark.parametrize("kind", KINDS)
def test_evaluation(kind, steps, batch, options):
    """Without what a backward pass would read, and of outputs that only the state is used of."""
    layer = built(kind, OPTIONS[options]).eval()
    shape = (batch, steps, INPUT) if layer.batch_first else (steps, batch, INPUT)
    for chosen in (lambda out: out, lambda out: flat(out[1])):
        run = torch.compile(lambda x, chosen=chosen: chosen(layer(x)), fullgraph=True)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            found = [run(data(*shape)) for _ in range(CALLS)][-1]
            wrong = differences(snapshot(chosen(layer(data(*shape)))), snapshot(found))
            assert not wrong, "; ".join(wrong[:4])


@pytest.mark.parametrize("lengths", [[6, 4, 4, 1], [17, 17, 9, 4, 1]], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences(kind, lengths):
    layer = built(kind, OPTIONS["both directions"])
    packed = pack_padded_sequence(data(lengths[0], len(lengths), INPUT).detach(), torch.tensor(lengths))
    packed.data.requires_grad_()
    check(layer, packed, start(layer, len(lengths)))


def test_frozen_parameters():
    """Only what wants a gradient gets one."""
    layer = built("gru", {})
    for name, p in layer.named_parameters():
        p.requires_grad_(name in ("weight_hh_l0", "bias_ih_l0"))
    check(layer, data(STEPS, BATCH, INPUT).detach(), None)


def test_training_follows_the_eager_one():
    """A language model: its state is carried from step to step."""

    def losses(compiled: bool) -> list[float]:
        torch.manual_seed(2)
        table, layer, out = nn.Embedding(11, 8), nn.GRU(8, 12, 2, dropout=0.1), nn.Linear(12, 11)
        parameters = [p for m in (table, layer, out) for p in m.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.5)

        def step(tokens, h):
            optimizer.zero_grad()
            y, h = layer(table(tokens[:-1]), h)
            loss = nn.functional.cross_entropy(out(y).flatten(0, 1), tokens[1:].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()
            return loss.detach(), h.detach()

        run = torch.compile(step, fullgraph=True) if compiled else step
        h, found = torch.zeros(2, 4, 12), []
        for k in range(20):
            tokens = torch.from_numpy(np.random.default_rng(k).integers(0, 11, (7, 4)))
            loss, h = run(tokens, h)
            found.append(loss.item())
        return found

    assert losses(True) == pytest.approx(losses(False), rel=1e-4)
