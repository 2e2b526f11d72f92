"""Recurrent cells with quantized weights: `LSTMCell`, `GRUCell` and `RNNCell` of `torch.ao.nn.quantized.dynamic`."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor
from ...ops.quantized.tensor import quantize_per_tensor
from .. import modules as nn
from ..modules.module import Module
from .linear import check_dtype
from .products import PackedLinear, linear_dynamic
from .recurrent import gru_step, lstm_step, packed_of

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """What the quantized cells have in common: their weights, and the checks of their inputs."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, num_chunks: int = 4, dtype: Any = dtypes.qint8
    ):
        super().__init__()
        check_dtype(dtype, f"Unsupported dtype for dynamic RNN quantization: {dtype}")
        self.input_size, self.hidden_size, self.bias, self.weight_dtype = input_size, hidden_size, bias, dtype
        rows = num_chunks * hidden_size
        if bias:
            self.bias_ih, self.bias_hh = ops.randn(rows), ops.randn(rows)
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        weights = [ops.randn(rows, columns) for columns in (input_size, hidden_size)]
        ih, hh = (quantize_per_tensor(w, 1.0, 0, dtypes.qint8) for w in weights)
        self._packed_weight_ih = PackedLinear(ih, self.bias_ih)
        self._packed_weight_hh = PackedLinear(hh, self.bias_hh)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized cell of a float one, whose attribute `qconfig` says what observes the weights."""
        kind = _QUANTIZED.get(type(mod))
        if kind is None:
            raise AssertionError(
                "nn.quantized.dynamic.RNNCellBase.from_float only works for nn.LSTMCell, nn.GRUCell and nn.RNNCell"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        options = {"nonlinearity": mod.nonlinearity} if kind is RNNCell else {}
        made: Any = kind(mod.input_size, mod.hidden_size, bias=mod.bias, **options)
        if not mod.bias:
            raise AssertionError("mod.bias must be True")
        made._packed_weight_ih, made._packed_weight_hh = (packed_of(mod, part, "") for part in ("ih", "hh"))
        return made

    def _weight_bias(self) -> dict[str, dict[str, Any]]:
        (w_ih, b_ih), (w_hh, b_hh) = self._packed_weight_ih.unpack(), self._packed_weight_hh.unpack()
        return {"weight": {"weight_ih": w_ih, "weight_hh": w_hh}, "bias": {"bias_ih": b_ih, "bias_hh": b_hh}}

    def get_weight(self) -> dict[str, Any]:
        """The quantized weights: `weight_ih` and `weight_hh`."""
        return self._weight_bias()["weight"]

    def get_bias(self) -> dict[str, Any]:
        """The biases: `bias_ih` and `bias_hh`."""
        return self._weight_bias()["bias"]

    def set_weight_bias(self, weight_bias_dict: dict[str, Any]) -> None:
        """Take other weights and biases, by name."""
        weight, bias = weight_bias_dict["weight"], weight_bias_dict["bias"]
        self._packed_weight_ih = PackedLinear(weight["weight_ih"], bias["bias_ih"])
        self._packed_weight_hh = PackedLinear(weight["weight_hh"], bias["bias_hh"])

    def check_forward_input(self, input: Tensor) -> None:
        """RuntimeError where the input's size is another than `input_size`."""
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)}, expected {self.input_size}")

    def check_forward_hidden(self, input: Tensor, hx: Tensor, hidden_label: str = "") -> None:
        """RuntimeError where a state does not fit to the input or the cell."""
        if input.size(0) != hx.size(0):
            raise RuntimeError(
                f"Input batch size {input.size(0)} doesn't match hidden{hidden_label} batch size {hx.size(0)}"
            )
        if hx.size(1) != self.hidden_size:
            raise RuntimeError(
                f"hidden{hidden_label} has inconsistent hidden_size: got {hx.size(1)}, expected {self.hidden_size}"
            )

    def _checked(self, input: Tensor, hx: Tensor | None, label: str = "") -> Tensor:
        self.check_forward_input(input)
        if hx is None:
            hx = ops.zeros(input.size(0), self.hidden_size, dtype=input.dtype)
        self.check_forward_hidden(input, hx, label)
        return hx

    def _gates(self, input: Tensor) -> Tensor:
        return linear_dynamic(input, self._packed_weight_ih)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_weight_ih"] = self._packed_weight_ih
        destination[prefix + "_packed_weight_hh"] = self._packed_weight_hh

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *messages):
        self._packed_weight_ih = state_dict.pop(prefix + "_packed_weight_ih")
        self._packed_weight_hh = state_dict.pop(prefix + "_packed_weight_hh")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *messages)

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNBase"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """One step of a simple recurrent network with 8-bit weights; the formula and the call are those of `torch.nn.RNNCell`.

    Shape: input (N, input_size), h (N, hidden_size) -> (N, hidden_size)
    Raises:
        RuntimeError: the input has another size, as in `RNNCell(2, 3)(ones(1, 4))`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: Any = dtypes.qint8,
    ):
        super().__init__(input_size, hidden_size, bias, num_chunks=1, dtype=dtype)
        self.nonlinearity = nonlinearity

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNCell"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        hx = self._checked(input, hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        total: Any = linear_dynamic(hx, self._packed_weight_hh) + self._gates(input)
        return total.tanh() if self.nonlinearity == "tanh" else total.relu()


class LSTMCell(RNNCellBase):
    """One step of long short-term memory with 8-bit weights; the formula and the call are those of `torch.nn.LSTMCell`.

    Shape: input (N, input_size), h and c (N, hidden_size) -> h and c (N, hidden_size)
    Raises:
        RuntimeError: the input has another size, as in `LSTMCell(2, 3)(ones(1, 4))`.

    >>> LSTMCell(10, 20)
    DynamicQuantizedLSTMCell(10, 20)
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, num_chunks=4, **kwargs)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTMCell"

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = (self._checked(input, None if hx is None else hx[i], f"[{i}]") for i in range(2))
        return lstm_step(self._gates(input), (h, c), self._packed_weight_hh)


class GRUCell(RNNCellBase):
    """One step of gated recurrent units with 8-bit weights; the formula and the call are those of `torch.nn.GRUCell`.

    Shape: input (N, input_size), h (N, hidden_size) -> (N, hidden_size)
    Raises:
        RuntimeError: the input has another size, as in `GRUCell(2, 3)(ones(1, 4))`.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = dtypes.qint8):
        super().__init__(input_size, hidden_size, bias, num_chunks=3, dtype=dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedGRUCell"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return gru_step(self._gates(input), (self._checked(input, hx),), self._packed_weight_hh)[0]


_QUANTIZED: dict[type, type] = {nn.LSTMCell: LSTMCell, nn.GRUCell: GRUCell, nn.RNNCell: RNNCell}
