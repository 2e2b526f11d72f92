"""Recurrent networks over sequences, and the cells that take a single step."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from rushlight import ops
from rushlight.core.dispatch.extension_points import training_observer
from rushlight.core.dispatch.mode import thread
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import init
from rushlight.nn.parameter import Parameter
from rushlight.nn.utils.rnn import PackedSequence

from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _reset(module: Any) -> None:
    """Draw every parameter from U(-k, k) with k = 1 / sqrt(hidden_size)."""
    k = 1.0 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -k, k)


class RNNBase(Module):
    """The parameters of `RNN`, `LSTM` and `GRU`, and the checks of their inputs.

    ``mode``: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU". ``batch_first``: input and output are (N, T, *) instead of
    (T, N, *). ``dropout``: between layers. ``proj_size`` (LSTM only): the output is projected to this size.

    Layer k has ``weight_ih_l{k}`` (gates * hidden_size, its input's size), ``weight_hh_l{k}`` (gates * hidden_size,
    hidden_size or proj_size), ``bias_ih_l{k}``, ``bias_hh_l{k}`` (gates * hidden_size,) and ``weight_hr_l{k}``
    (proj_size, hidden_size), and the same with ``_reverse`` for the other direction; all drawn from U(-k, k) with
    k = 1 / sqrt(hidden_size).
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int
    _all_weights: list[list[str]]
    _flat_weights_names: list[str]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        _check_dropout(dropout, num_layers)
        self._check_options()
        self._make_weights(device, dtype)
        self.reset_parameters()

    def _check_options(self) -> None:
        for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    def _make_weights(self, device: Any, dtype: Any) -> None:
        gates, directions = _GATES[self.mode] * self.hidden_size, 2 if self.bidirectional else 1
        width = self.proj_size or self.hidden_size
        self._flat_weights_names, self._all_weights = [], []
        for layer in range(self.num_layers):
            shapes: dict[str, tuple[int, ...]] = {
                "weight_ih": (gates, width * directions if layer else self.input_size),
                "weight_hh": (gates, width),
            }
            if self.bias:
                shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
            if self.proj_size:
                shapes["weight_hr"] = (self.proj_size, self.hidden_size)
            for suffix in ("", "_reverse")[:directions]:
                names = [f"{stem}_l{layer}{suffix}" for stem in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(ops.empty(shape, device=device, dtype=dtype)))
                self._flat_weights_names += names
                self._all_weights.append(names)

    @property
    def _flat_weights(self) -> list[Any]:
        """All weights in order: those that the attributes are now."""
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: elsewhere it moves the weights into one block of GPU memory."""

    def reset_parameters(self) -> None:
        """Re-initialise the parameters."""
        _reset(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_flat_weights": self._flat_weights}  # torch reads the list from the state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {k: v for k, v in state.items() if k not in ("_flat_weights", "_flat_weight_refs")}
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)  # modules written before there were projections

    # Checks -----------------------------------------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise where the input's type or shape does not fit: (T, N, input_size), or packed (*, input_size)."""
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype and thread.state.autocast is None:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _state_size(self, input: Tensor, batch_sizes: Tensor | None, features: int) -> tuple[int, int, int]:
        batch: Any = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * (2 if self.bidirectional else 1), batch, features

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of h_0: (layers * directions, N, hidden_size or proj_size)."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError where an initial state has another shape than expected."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Check an input and its initial state."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """A state with its sequences in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # Forward ----------------------------------------------------------------------------------------------------------

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        size = self._state_size(input, batch_sizes, self.hidden_size)
        return ops.zeros(size, dtype=input.dtype, device=input.device)

    def _check_state_dims(self, hx: Any, batched: bool) -> None:
        dims = 3 if batched else 2
        if hx.dim() != dims:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, hx should also be {dims}-D but got {hx.dim()}-D tensor")

    @staticmethod
    def _map_state(f: Any, hx: Any) -> Any:
        return f(hx)

    def _call(self, function: Any, input: Any, hx: Any) -> tuple:
        """(output, final state) of `function`, which is the operator of the network's kind."""
        if isinstance(input, PackedSequence):
            return self._call_packed(function, input, hx)
        if input.dim() not in (2, 3):
            tail = "D tensor instead" if self._kind() == "RNN" else "D instead"
            raise ValueError(f"{self._kind()}: Expected input to be 2D or 3D, got {input.dim()}{tail}")
        batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._zero_state(input, None)
        else:
            self._check_state_dims(hx, batched)
            if not batched:
                hx = self._map_state(lambda s: s.unsqueeze(1), hx)
        self.check_forward_args(input, hx, None)
        self._tell_of_dropout()
        output, *state = function(
            input,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        if not batched:
            output, state = output.squeeze(batch_dim), [s.squeeze(1) for s in state]
        return output, self._final(state)

    def _tell_of_dropout(self) -> None:
        if self.dropout and self.training and (observer := training_observer.value) is not None:
            observer.acts_by_mode(self)

    def _call_packed(self, function: Any, packed: PackedSequence, hx: Any) -> tuple:
        data, batch_sizes, order, inverse = packed
        hx = self._zero_state(data, batch_sizes) if hx is None else self.permute_hidden(hx, order)
        self.check_forward_args(data, hx, batch_sizes)
        self._tell_of_dropout()
        output, *state = function(
            data,
            batch_sizes,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        return PackedSequence(output, batch_sizes, order, inverse), self.permute_hidden(self._final(state), inverse)

    def _final(self, state: list) -> Any:
        return state[0]

    def _kind(self) -> str:
        return self.mode.split("_")[0]

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        defaults = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0}
        for name, default in {**defaults, "bidirectional": False}.items():
            value = getattr(self, name)
            if value != default:
                parts.append(f"{name}={value}")
        return ", ".join(parts)


def _check_dropout(dropout: Any, num_layers: int) -> None:
    import numbers

    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )


def _refuse_projection(kwargs: dict[str, Any]) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Layers of Elman's network: `h' = tanh(W_ih x_t + b_ih + W_hh h + b_hh)`, or relu of that.

    RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None)

    Called with (input, h_0), gives (output, h_n); h_0 is zero if left out.

    Shape: input (T, N, input_size), (N, T, input_size) with `batch_first`, (T, input_size) or a PackedSequence;
    h_0 (layers * directions, N, hidden_size) -> output (T, N, directions * hidden_size)

    Raises:
        RuntimeError: the input has other features, as in `RNN(2, 3)(ones(1, 4))`.

    >>> output, h_n = RNN(10, 20, 2)(ones(5, 3, 10))
    >>> output.shape, h_n.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    nonlinearity: str

    if TYPE_CHECKING:  # what the arguments below are

        def __init__(
            self,
            input_size: int,
            hidden_size: int,
            num_layers: int = 1,
            nonlinearity: str = "tanh",
            bias: bool = True,
            batch_first: bool = False,
            dropout: float = 0.0,
            bidirectional: bool = False,
            device: Any = None,
            dtype: Any = None,
        ) -> None: ...

    else:

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            _refuse_projection(kwargs)
            if len(args) > 3:
                nonlinearity, args = args[3], args[:3] + args[4:]
            else:
                nonlinearity = kwargs.pop("nonlinearity", "tanh")
            if nonlinearity not in ("tanh", "relu"):
                raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
            super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
            self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._call(ops.rnn_tanh if self.mode == "RNN_TANH" else ops.rnn_relu, input, hx)


class LSTM(RNNBase):
    """Layers of long short-term memory.

    i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of W_ih x_t + b_ih + W_hh h + b_hh
    c' = f c + i g,  h' = o tanh(c'), with `proj_size` W_hr of that

    LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    proj_size=0, device=None, dtype=None)

    Called with (input, (h_0, c_0)), gives (output, (h_n, c_n)); h_0 and c_0 are zero if left out.

    Shape: input (T, N, input_size), (N, T, input_size) with `batch_first`, (T, input_size) or a PackedSequence;
    h_0 (layers * directions, N, proj_size or hidden_size), c_0 (layers * directions, N, hidden_size)
    -> output (T, N, directions * (proj_size or hidden_size))

    Raises:
        RuntimeError: the input has other features, as in `LSTM(2, 3)(ones(1, 4))`.
        ValueError: `proj_size` is not below `hidden_size`, as in `LSTM(2, 3, proj_size=3)`.

    >>> output, (h_n, c_n) = LSTM(10, 20, 2)(ones(5, 3, 10))
    >>> output.shape, c_n.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    if TYPE_CHECKING:  # what the arguments below are

        def __init__(
            self,
            input_size: int,
            hidden_size: int,
            num_layers: int = 1,
            bias: bool = True,
            batch_first: bool = False,
            dropout: float = 0.0,
            bidirectional: bool = False,
            proj_size: int = 0,
            device: Any = None,
            dtype: Any = None,
        ) -> None: ...

    else:

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of c_0: (layers * directions, N, hidden_size)."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Check an input and its initial state, (h_0, c_0)."""
        self.check_input(input, batch_sizes)
        sizes = (self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes))
        for i, size in enumerate(sizes):
            self.check_hidden_size(hidden[i], size, f"Expected hidden[{i}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """A state (h, c) with its sequences in another order."""
        return hx if permutation is None else tuple(s.index_select(1, permutation) for s in hx)

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        h_size = self.get_expected_hidden_size(input, batch_sizes)
        return ops.zeros(h_size, dtype=input.dtype, device=input.device), super()._zero_state(input, batch_sizes)

    def _check_state_dims(self, hx: Any, batched: bool) -> None:
        dims, (h, c) = 3 if batched else 2, (hx[0].dim(), hx[1].dim())
        if h != dims or c != dims:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, hx and cx should also be {dims}-D but got ({h}-D, {c}-D) tensors")

    @staticmethod
    def _map_state(f: Any, hx: Any) -> Any:
        return f(hx[0]), f(hx[1])

    def _final(self, state: list) -> Any:
        return tuple(state)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        return self._call(ops.lstm, input, hx)


class GRU(RNNBase):
    """Layers of gated recurrent units.

    r, z = sigmoid(W_ih x_t + b_ih + W_hh h + b_hh),  n = tanh(W_in x_t + b_in + r (W_hn h + b_hn))
    h' = (1 - z) n + z h

    GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    device=None, dtype=None)

    Called with (input, h_0), gives (output, h_n). Shapes as for `RNN`.

    Shape: input (T, N, input_size), (N, T, input_size) with `batch_first`, (T, input_size) or a PackedSequence; h_0
        (layers * directions, N, hidden_size) -> output (T, N, directions * hidden_size), h_n as h_0
    Raises:
        RuntimeError: the input has other features, as in `GRU(2, 3)(ones(1, 4))`.

    >>> output, h_n = GRU(10, 20, bidirectional=True)(ones(5, 3, 10))
    >>> output.shape, h_n.shape
    (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]))
    """

    if TYPE_CHECKING:  # what the arguments below are

        def __init__(
            self,
            input_size: int,
            hidden_size: int,
            num_layers: int = 1,
            bias: bool = True,
            batch_first: bool = False,
            dropout: float = 0.0,
            bidirectional: bool = False,
            device: Any = None,
            dtype: Any = None,
        ) -> None: ...

    else:

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            _refuse_projection(kwargs)
            super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._call(ops.gru, input, hx)


# Single steps ---------------------------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """The parameters of a cell with ``num_chunks`` gates.

    weight_ih (num_chunks * hidden_size, input_size), weight_hh (num_chunks * hidden_size, hidden_size), bias_ih and
    bias_hh (num_chunks * hidden_size,), all drawn from U(-k, k) with k = 1 / sqrt(hidden_size).
    """

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(ops.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(ops.empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(ops.empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Re-initialise the parameters."""
        _reset(self)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _check_dims(self, input: Tensor, states: dict[str, Tensor]) -> None:
        for name, value in {"input": input, **states}.items():
            if value.dim() not in (1, 2):
                raise ValueError(f"{type(self).__name__}: Expected {name} to be 1D or 2D, got {value.dim()}D instead")

    def _zeros(self, input: Tensor) -> Tensor:
        return ops.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)

    def _step(self, function: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        self._check_dims(input, {} if hx is None else {"hidden": hx})
        batched = input.dim() == 2
        if not batched:
            input, hx = input.unsqueeze(0), None if hx is None else hx.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        h = function(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return h if batched else h.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of Elman's network: tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of that.

    Args:
        nonlinearity: "tanh" or "relu".
    Shape: input (N, input_size), h (N, hidden_size), zero if left out -> (N, hidden_size); all also without N
    Raises:
        RuntimeError: the input has other features, as in `RNNCell(2, 3)(ones(1, 4))`.

    >>> RNNCell(2, 3)(ones(1, 2)).shape
    torch.Size([1, 3])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        functions = {"tanh": ops.rnn_tanh_cell, "relu": ops.rnn_relu_cell}
        if self.nonlinearity not in functions:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(functions[self.nonlinearity], input, hx)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory; the formulas are those of `LSTM`.

    Shape: input (N, input_size), h and c (N, hidden_size), zero if left out -> (N, hidden_size), (N, hidden_size); all
        also without N
    Raises:
        RuntimeError: the input has other features, as in `LSTMCell(2, 3)(ones(1, 4))`.

    >>> h, c = LSTMCell(2, 3)(ones(1, 2))
    >>> h.shape, c.shape
    (torch.Size([1, 3]), torch.Size([1, 3]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        self._check_dims(input, {} if hx is None else {f"hx[{i}]": s for i, s in enumerate(hx)})
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        if hx is None:
            zeros = self._zeros(input)
            hx = (zeros, zeros)
        h, c = ops.lstm_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit; the formulas are those of `GRU`.

    Shape: input (N, input_size), h (N, hidden_size), zero if left out -> (N, hidden_size); all also without N
    Raises:
        RuntimeError: the input has other features, as in `GRUCell(2, 3)(ones(1, 4))`.

    >>> GRUCell(2, 3)(ones(1, 2)).shape
    torch.Size([1, 3])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(ops.gru_cell, input, hx)
