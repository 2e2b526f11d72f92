"""LSTM, GRU and RNN: a node of ONNX for each layer, whose gates come in another order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .... import ops
from ....core.tensor.tensor import Tensor
from ..graph import Builder, CannotExport, Item, plain

__all__ = ["ROWS"]

_ORDER = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}  # ONNX's gates (i o f c; z r h) among torch's


def _ordered(kind: str, w: Tensor) -> Tensor:
    parts = w.chunk(len(_ORDER[kind]))
    return ops.cat([parts[i] for i in _ORDER[kind]])


def recurrent(kind: str, activation: str, g: Builder, out: Any, x: Item, state: Item, weights: Item, *o: Item) -> Any:
    """A row of `lstm`, `gru`, `rnn_tanh` and `rnn_relu`."""
    if not isinstance(weights.value, (list, tuple)):  # of packed ones: the sizes of batches, the state, then these
        raise CannotExport("packed sequences")
    biases, layers, p, train, both, batch_first = [plain(option) for option in o]
    if train and p and layers > 1:
        raise CannotExport("dropout that trains: call model.eval() first")
    if not weights.is_constant:
        raise CannotExport("weights that depend on the inputs")
    directions, each = 1 + both, 4 if biases else 2
    params = [w.value for w in weights.value]
    if len(params) != layers * directions * each:
        raise CannotExport("proj_size")
    states = list(state.value) if kind == "LSTM" else [state]
    name = g.emit("Transpose", g.name(x), perm=[1, 0, 2]) if batch_first else g.name(x)
    ends: list[list[str]] = [[] for _ in states]
    hidden = params[1].shape[1]
    for layer in range(layers):
        own = [params[(layer * directions + d) * each :][:each] for d in range(directions)]
        starts = [_of_layer(g, s, layer * directions, directions) for s in states]
        made = _layer(kind, activation, g, name, own, starts, hidden)
        merged = g.emit("Transpose", made[0], perm=[0, 2, 1, 3])  # time, directions, batch, hidden
        name = g.emit("Reshape", merged, g.constant([0, 0, directions * hidden]))
        for part, end in zip(ends, made[1:], strict=True):
            part.append(end)
    result = g.emit("Transpose", name, perm=[1, 0, 2]) if batch_first else name
    return [result, *[part[0] if len(part) == 1 else g.emit("Concat", *part, axis=0) for part in ends]]


def _of_layer(g: Builder, state: Item, first: int, count: int) -> str:
    if state.value.shape[0] == count:
        return g.name(state)
    return g.emit("Slice", g.name(state), g.constant([first]), g.constant([first + count]), g.constant([0]))


def _layer(kind: str, activation: str, g: Builder, name: str, own: list, starts: list[str], hidden: int) -> list[str]:
    w, r = [g.constant(ops.stack([_ordered(kind, weights[i]) for weights in own])) for i in (0, 1)]
    b = ""
    if len(own[0]) == 4:
        b = g.constant(
            ops.stack([ops.cat([_ordered(kind, weights[2]), _ordered(kind, weights[3])]) for weights in own])
        )
    options: dict[str, Any] = {"hidden_size": hidden, "direction": "bidirectional" if len(own) == 2 else "forward"}
    if kind == "GRU":
        options["linear_before_reset"] = 1
    if kind == "RNN":
        options["activations"] = [activation] * len(own)
    return g.several(kind, [name, w, r, b, "", *starts], 1 + len(starts), **options)


def cell(kind: str, activation: str, g: Builder, out: Any, x: Item, state: Item, *weights: Item) -> Any:
    """A row of `lstm_cell`, `gru_cell`, `rnn_tanh_cell` and `rnn_relu_cell`: a layer for one step."""
    if not all(w.is_constant for w in weights):
        raise CannotExport("weights that depend on the inputs")
    params = [w.value for w in weights if w.value is not None]
    if len(params) not in (2, 4) or x.value.ndim != 2:
        raise CannotExport("one bias of two, or one example without a batch")
    states, front = list(state.value) if kind == "LSTM" else [state], g.constant([0])
    starts = [g.emit("Unsqueeze", g.name(s), front) for s in states]
    name = g.emit("Unsqueeze", g.name(x), front)
    made = _layer(kind, activation, g, name, [params], starts, params[1].shape[1])[1:]
    made = [g.emit("Squeeze", part, front) for part in made]
    return made if kind == "LSTM" else made[0]


ROWS: dict[str, Callable] = {
    "lstm": partial(recurrent, "LSTM", ""),
    "gru": partial(recurrent, "GRU", ""),
    "rnn_tanh": partial(recurrent, "RNN", "Tanh"),
    "rnn_relu": partial(recurrent, "RNN", "Relu"),
    "lstm_cell": partial(cell, "LSTM", ""),
    "gru_cell": partial(cell, "GRU", ""),
    "rnn_tanh_cell": partial(cell, "RNN", "Tanh"),
    "rnn_relu_cell": partial(cell, "RNN", "Relu"),
}
