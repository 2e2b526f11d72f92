"""Recurrent networks: stacks of layers in one or two directions over whole sequences, and single steps (cells)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ...core.dispatch.errors import type_error
from ...core.dispatch.extension_points import one_lstm_in_bfloat16
from ...core.dispatch.mode import emit_event, thread
from ...core.dispatch.op import composite
from ...core.tensor.node import shown_as
from ...core.tensor.tensor import Tensor
from ..pointwise.building_blocks import F32
from ..product.matmul import linear
from ..random.dropout import dropout as drop
from ..shape.concatenate import cat, stack
from . import layers as layers
from .by_operators import gru_step, layer_by_operators, lstm_step, relu_step, rounds_each_operator, tanh_step

# ---------------------------------------------------------------------------------------------- the layers of a network


def _lstm_layer(input, state, parameters, packed, reverse):
    w_ih, w_hh, b_ih, b_hh, w_hr = parameters
    if rounds_each_operator(input, state, whole=w_hr is None and _lstm_is_one_operator()):
        return layer_by_operators(lstm_step, input, state, parameters, packed, reverse)
    x = input._array
    operator = layers.lstm_layer_packed if packed else layers.lstm_layer_stack
    if not packed and w_hr is None and x.dtype is F32 and x.size:
        operator = layers.lstm_layer
    results = operator(input, *state, w_ih, w_hh, b_ih, b_hh, w_hr, packed, reverse)
    return results[0], results[1:3]


def _lstm_is_one_operator() -> bool:
    """Whether torch runs an LSTM in bfloat16 whole: in autocast regions always, which raises where it cannot."""
    has_kernel = one_lstm_in_bfloat16.value
    return thread.state.autocast is not None or (has_kernel is not None and has_kernel())


def _gru_layer(input, state, parameters, packed, reverse):
    if rounds_each_operator(input, state):
        return layer_by_operators(gru_step, input, state, parameters, packed, reverse)
    operator = layers.gru_layer_packed if packed else layers.gru_layer
    results = operator(input, *state, *parameters[:4], packed, reverse)
    return results[0], results[1:2]


def _rnn_layer(input, state, parameters, packed, reverse, relu):
    if rounds_each_operator(input, state):
        step = relu_step if relu else tanh_step
        return layer_by_operators(step, input, state, parameters, packed, reverse)
    operator = layers.rnn_layer_packed if packed else layers.rnn_layer
    results = operator(input, *state, *parameters[:4], packed, reverse, relu)
    return results[0], results[1:2]


def _tanh_layer(*arguments):
    return _rnn_layer(*arguments, relu=False)


def _relu_layer(*arguments):
    return _rnn_layer(*arguments, relu=True)


def _grouped(params, has_biases: bool, projected: bool, count: int) -> list:
    """The parameters of each layer and direction: weight_ih, weight_hh, bias_ih, bias_hh, weight_hr or None."""
    each = 2 + 2 * has_biases + projected
    if len(params) != each * count:
        raise RuntimeError(
            f"expected {each} parameters for each of {count} layers and directions, {each * count} in all, but got "
            f"{len(params)}"
        )
    groups = [list(params[i : i + each]) for i in range(0, len(params), each)]
    return [
        [*group[:2], *(group[2:4] if has_biases else (None, None)), group[-1] if projected else None]
        for group in groups
    ]


def _check_input(input, state, packed) -> None:
    if packed is None and not input._array.shape[0] or packed == ():
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    batch = input._array.shape[1] if packed is None else packed[0]
    for s in state:
        if s._array.shape[1] != batch:
            raise RuntimeError(
                f"The size of tensor a ({batch}) must match the size of tensor b ({s._array.shape[1]}) at non-singleton "
                "dimension 0: the batch of the input and that of the initial state"
            )
    if packed is not None:
        _check_batch_sizes(packed, input._array.shape[0])


def _check_batch_sizes(sizes, elements: int) -> None:
    for before, after in pairwise(sizes):
        if after > before:
            raise RuntimeError(
                f"The size of tensor a ({before}) must match the size of tensor b ({after}) at non-singleton dimension 0: "
                "batch_sizes must not increase"
            )
    if sum(sizes) > elements or sizes[-1] < 1:
        raise RuntimeError(f"batch_sizes {list(sizes)} do not fit a packed sequence of {elements} elements")


def _network(
    layer, input, packed, state, params, has_biases, num_layers, dropout, train, bidirectional, projected=False
):
    directions = 2 if bidirectional else 1
    groups = _grouped(params, has_biases, projected, num_layers * directions)
    return stacked_layers(layer, input, packed, state, groups, dropout if train else 0.0, directions)


def stacked_layers(layer, input, packed, state, groups, dropout, directions):
    """(output, final states): the layers one after another, both directions side by side, dropout between layers.

    groups: the parameters of each layer and direction. state: tensors (num_layers * directions, N, *). packed: the batch
    sizes of a packed input, else None.
    """
    for s in state:
        if s._array.shape[0] != len(groups):
            raise RuntimeError(
                f"the initial state must have {len(groups)} entries, one for each layer and direction, but got shape "
                f"{list(s._array.shape)}"
            )
    _check_input(input, state, packed)
    initial, final = [s.unbind(0) for s in state], []
    for i, parameters in enumerate(groups):
        reverse = i % directions == 1
        if not reverse:
            source, outputs = input, []
        y, last = layer(source, [s[i] for s in initial], parameters, packed, reverse)
        outputs.append(y)
        final.append(last)
        if len(outputs) == directions:
            input = outputs[0] if directions == 1 else cat(outputs, -1)
            if dropout and i + 1 < len(groups):
                input = drop(input, dropout, True)
    return input, [stack(entries) for entries in zip(*final, strict=True)]


# ---------------------------------------------------------------------------------------------- entry points

_PADDED = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")
_PACKED = ("data", "batch_sizes", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional")


_FLAGS = ("has_biases", "train", "bidirectional", "batch_first")


def _bind(name: str, names: tuple, args: tuple, kwargs: dict) -> dict | None:
    """The arguments by name, or None if they are not these."""
    if (
        len(args) > len(names)
        or any(n not in names[len(args) :] for n in kwargs)
        or len(args) + len(kwargs) < len(names)
    ):
        return None
    bound = {**dict(zip(names, args, strict=False)), **kwargs}
    first = isinstance(bound[names[0]], Tensor) and isinstance(bound["params"], (list, tuple))
    hx = bound["hx"]
    fits = isinstance(hx, (list, tuple)) if name == "lstm" else isinstance(hx, Tensor)
    if not first or not fits or not isinstance(bound.get("batch_sizes", bound[names[0]]), Tensor):
        return None
    if any(type(bound.get(n, True)) is not bool for n in _FLAGS):
        return None
    return bound


def _arguments(name: str, args: tuple, kwargs: dict) -> dict:
    bound = _bind(name, _PADDED, args, kwargs) or _bind(name, _PACKED, args, kwargs)
    if bound is None:
        hx = "tuple of Tensors hx" if name == "lstm" else "Tensor hx"
        rest = "tuple of Tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
        got = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
        raise type_error(
            f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n"
            f" * (Tensor data, Tensor batch_sizes, {hx}, {rest})\n * (Tensor input, {hx}, {rest}, bool batch_first)\n"
        )
    return bound


def _run(name: str, layer, args: tuple, kwargs: dict) -> tuple:
    a = _arguments(name, args, kwargs)
    state, projected = (a["hx"],), False
    if name == "lstm":
        state = a["hx"]
        if len(state) != 2:
            raise RuntimeError("lstm expects two hidden states")
        projected = state[0]._array.shape[2:] != state[1]._array.shape[2:]
    rest = (a["params"], a["has_biases"], a["num_layers"], a["dropout"], a["train"], a["bidirectional"], projected)
    if "data" in a:
        sizes = a["batch_sizes"]
        emit_event("read", sizes, "the batch sizes of a packed sequence")
        output, final = _network(layer, a["data"], tuple(sizes._array.tolist()), state, *rest)
        return output, *final
    x, batch_first = a["input"], a["batch_first"]
    output, final = _network(layer, x.transpose(0, 1) if batch_first else x, None, state, *rest)
    if batch_first:
        output = output.transpose(0, 1)
        if name != "lstm":  # torch turns its result in place
            shown_as(output, "TransposeBackward1")
    return output, *final


@composite()
def lstm(*args: Any, **kwargs: Any):
    """Layers of long short-term memory: (output, h_n, c_n).

    lstm(input, (h0, c0), params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or packed:
    lstm(data, batch_sizes, (h0, c0), params, has_biases, num_layers, dropout, train, bidirectional)

    Shape: input (T, N, I), (N, T, I) with batch_first, packed (*, I); h0 (layers * directions, N, P), c0 likewise with
        H
        -> output (T, N, directions * P), h_n as h0, c_n as c0

    >>> parameters = [zeros(12, 2), zeros(12, 3)]
    >>> output, h, c = lstm(ones(5, 1, 2), [ones(1, 1, 3)] * 2, parameters, False, 1, 0.0, False, False, False)
    >>> output.shape
    torch.Size([5, 1, 3])
    """
    return _run("lstm", _lstm_layer, args, kwargs)


@composite()
def gru(*args: Any, **kwargs: Any):
    """Layers of gated recurrent units: (output, h_n).

    gru(input, h0, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or packed:
    gru(data, batch_sizes, h0, params, has_biases, num_layers, dropout, train, bidirectional)

    Shape: input (T, N, I), (N, T, I) with batch_first, packed (*, I); h0 (layers * directions, N, H)
        -> output (T, N, directions * H), h_n as h0

    >>> parameters = [zeros(9, 2), zeros(9, 3)]
    >>> gru(ones(5, 1, 2), ones(1, 1, 3), parameters, False, 1, 0.0, False, False, False)[1]
    tensor([[[0.0312, 0.0312, 0.0312]]])
    """
    return _run("gru", _gru_layer, args, kwargs)


@composite()
def rnn_tanh(*args: Any, **kwargs: Any):
    """Layers of Elman's network with tanh: (output, h_n). Arguments as for `gru`.

    Shape: input (T, N, I), (N, T, I) with batch_first, packed (*, I); h0 (layers * directions, N, H)
        -> output (T, N, directions * H), h_n as h0

    >>> rnn_tanh(ones(5, 1, 2), ones(1, 1, 3), [zeros(3, 2), zeros(3, 3)], False, 1, 0.0, False, False, False)[1]
    tensor([[[0., 0., 0.]]])
    """
    return _run("rnn_tanh", _tanh_layer, args, kwargs)


@composite()
def rnn_relu(*args: Any, **kwargs: Any):
    """Layers of Elman's network with relu: (output, h_n). Arguments as for `gru`.

    Shape: input (T, N, I), (N, T, I) with batch_first, packed (*, I); h0 (layers * directions, N, H)
        -> output (T, N, directions * H), h_n as h0

    >>> rnn_relu(ones(5, 1, 2), ones(1, 1, 3), [ones(3, 2), zeros(3, 3)], False, 1, 0.0, False, False, False)[1]
    tensor([[[2., 2., 2.]]])
    """
    return _run("rnn_relu", _relu_layer, args, kwargs)


# ---------------------------------------------------------------------------------------------- cells


def _check_cell(name: str, input, states, w_ih, w_hh, chunks: int) -> None:
    """Raise torch's errors where the shapes of a cell's arrays do not fit."""
    if not isinstance(input, Tensor):
        raise type_error(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    x, w, u = input._array, w_ih._array, w_hh._array
    if x.shape[1] != w.shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {w.shape[1]}")
    k = u.shape[1]
    for i, s in enumerate(states):
        if s._array.shape[0] != x.shape[0]:
            raise RuntimeError(f"Input batch size {x.shape[0]} doesn't match hidden{i} batch size {s._array.shape[0]}")
        if s._array.shape[1] != k:
            raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {s._array.shape[1]}, expected {k}")
    for label, p in (("weight_ih", w), ("weight_hh", u)):
        if p.shape[0] != chunks * k:
            raise RuntimeError(f"{label} first dim must be {chunks} * hidden_size = {chunks * k}, but got {p.shape[0]}")


@composite()
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of long short-term memory: (h', c').

    i, f, g, o = logistic, logistic, tanh, logistic of w_ih x + b_ih + w_hh h + b_hh
    c' = f c + i g,  h' = o tanh(c')

    Shape: input (N, I), hx ((N, H), (N, H)), w_ih (4 H, I), w_hh (4 H, H) -> (N, H), (N, H)

    >>> h, c = lstm_cell(ones(1, 2), (zeros(1, 3), zeros(1, 3)), zeros(12, 2), zeros(12, 3))
    >>> h
    tensor([[0., 0., 0.]])
    """
    if not isinstance(hx, (tuple, list)):
        raise type_error(f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {type(hx).__name__}")
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    _check_cell("lstm_cell", input, hx, w_ih, w_hh, 4)
    # gradients come in torch's order
    return lstm_step(linear(hx[0], w_hh, b_hh), linear(input, w_ih, b_ih), *hx)


@composite()
def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of a gated recurrent unit.

    r, z = logistic(w_ih x + b_ih + w_hh h + b_hh),  n = tanh(w_in x + b_in + r (w_hn h + b_hn))
    h' = (1 - z) n + z h

    Shape: input (N, I), hx (N, H), w_ih (3 H, I), w_hh (3 H, H) -> (N, H)

    >>> gru_cell(ones(1, 2), ones(1, 3), zeros(9, 2), zeros(9, 3))
    tensor([[0.5000, 0.5000, 0.5000]])
    """
    _check_cell("gru_cell", input, (hx,), w_ih, w_hh, 3)
    share = linear(input, w_ih, b_ih)
    return gru_step(linear(hx, w_hh, b_hh), share, hx)[0]


@composite()
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of Elman's network: tanh(w_ih x + b_ih + w_hh h + b_hh).

    Shape: input (N, I), hx (N, H), w_ih (H, I), w_hh (H, H) -> (N, H)

    >>> rnn_tanh_cell(ones(1, 2), zeros(1, 3), ones(3, 2), zeros(3, 3))
    tensor([[0.9640, 0.9640, 0.9640]])
    """
    _check_cell("rnn_tanh_cell", input, (hx,), w_ih, w_hh, 1)
    return tanh_step(linear(hx, w_hh, b_hh), linear(input, w_ih, b_ih), hx)[0]


@composite()
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of Elman's network with relu: max(0, w_ih x + b_ih + w_hh h + b_hh).

    Shape: input (N, I), hx (N, H), w_ih (H, I), w_hh (H, H) -> (N, H)

    >>> rnn_relu_cell(ones(1, 2), zeros(1, 3), ones(3, 2), zeros(3, 3))
    tensor([[2., 2., 2.]])
    """
    _check_cell("rnn_relu_cell", input, (hx,), w_ih, w_hh, 1)
    return relu_step(linear(hx, w_hh, b_hh), linear(input, w_ih, b_ih), hx)[0]
