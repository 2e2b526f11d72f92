"""Recurrent networks with quantized weights: `LSTM` and `GRU` of `torch.ao.nn.quantized.dynamic`, and their steps.

Both products of a step, of its input and of its state, are quantized ones; the input's are made for all steps at once, so
that they share a scale, and the rest of a step is in float32.
"""

from __future__ import annotations

import numbers
import warnings
from typing import Any, NamedTuple

from ... import ops
from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor
from ...ops.quantized.tensor import quantize_per_tensor
from ...ops.recurrent.layers import step_spans
from ...ops.recurrent.recurrent import stacked_layers
from .. import modules as nn
from ..modules.container import ModuleList
from ..modules.module import Module
from ..utils.rnn import PackedSequence
from .linear import check_dtype, float32_bias
from .observers import quantized_weight
from .products import PackedLinear, linear_dynamic

__all__ = ["GRU", "LSTM", "CellParams", "PackedParameter", "RNNBase", "gru_step", "lstm_step"]


class CellParams(NamedTuple):
    """The weights of one layer and direction, each with its bias: of the input, and of the state."""

    ih: PackedLinear
    hh: PackedLinear


# ---------------------------------------------------------------------------------------------- steps and layers


def lstm_step(gates: Tensor, state: Any, hh: PackedLinear) -> tuple[Tensor, Tensor]:
    """(h', c') from the input's share of the gates (N, 4 H) and the state (h, c)."""
    h, c = state
    i, f, g, o = (linear_dynamic(h, hh) + gates).chunk(4, 1)  # type: ignore[attr-defined]
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_step(gates: Tensor, state: Any, hh: PackedLinear) -> tuple[Tensor]:
    """(h',) from the input's share of the gates (N, 3 H) and the state (h,)."""
    (h,) = state
    ir, iz, im = gates.chunk(3, 1)  # type: ignore[attr-defined]
    hr, hz, hm = linear_dynamic(h, hh).chunk(3, 1)  # type: ignore[attr-defined]
    n = (im + hm * (hr + ir).sigmoid()).tanh()
    return ((h - n) * (hz + iz).sigmoid() + n,)


def _layer_of(step: Any) -> Any:
    """One layer in one direction, as `stacked_layers` calls it: (output, final state)."""

    def layer(source: Tensor, state: Any, cell: CellParams, packed: Any, reverse: bool) -> tuple[Tensor, Any]:
        gates = linear_dynamic(source, cell.ih)
        rows = gates.reshape(-1, gates.shape[-1])  # type: ignore[attr-defined]
        outputs, state = [], tuple(state)
        for a, b in step_spans(len(rows), len(state[0]), packed, reverse):
            new = step(rows[a:b], [s[: b - a] for s in state], cell.hh)
            outputs.append(new[0])
            state = tuple(_with_first(s, n) for s, n in zip(state, new, strict=True))
        y = ops.cat(outputs[::-1] if reverse else outputs)
        return y.reshape(*source.shape[:-1], y.shape[-1]), state

    return layer


def _with_first(state: Tensor, new: Tensor) -> Tensor:
    """The state with its first rows replaced: packed sequences of which some have ended."""
    return new if len(new) == len(state) else ops.cat([new, state[len(new) :]])


_LAYERS = {"LSTM": _layer_of(lstm_step), "GRU": _layer_of(gru_step)}
_GATES = {"LSTM": 4, "GRU": 3}


# ---------------------------------------------------------------------------------------------- modules


class PackedParameter(Module):
    """The weights of one layer and direction, kept in the state as one value."""

    def __init__(self, param: CellParams):
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *messages):
        self.param = state_dict[prefix + "param"]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *messages)


class RNNBase(Module):
    """What the quantized `LSTM` and `GRU` have in common: their weights, and the checks of their inputs."""

    _version = 2

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
        dtype: Any = dtypes.qint8,
    ) -> None:
        super().__init__()
        _check_dropout(dropout, num_layers)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        check_dtype(dtype, f"Unsupported dtype for dynamic RNN quantization: {dtype}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.dtype = dtype
        self.version: int | None = 2
        self.training = False
        self._set_cells([self._random_cell(layer) for layer, _ in self._places()])

    def _places(self) -> list[tuple[int, str]]:
        """(layer, suffix of its weights' names) of all layers and directions."""
        suffixes = ("", "_reverse")[: 1 + self.bidirectional]
        return [(layer, suffix) for layer in range(self.num_layers) for suffix in suffixes]

    def _random_cell(self, layer: int) -> CellParams:
        """Weights as torch draws them: normal, with scale 0.1."""
        rows = _GATES[self.mode] * self.hidden_size
        columns = self.hidden_size * (1 + self.bidirectional) if layer else self.input_size
        w_ih, w_hh, b_ih, b_hh = (
            ops.randn(*shape, dtype=dtypes.float32)
            for shape in ((rows, columns), (rows, self.hidden_size), (rows,), (rows,))
        )
        levels = [quantize_per_tensor(w, 0.1, 0, dtypes.qint8) for w in (w_ih, w_hh)]
        return CellParams(PackedLinear(levels[0], b_ih), PackedLinear(levels[1], b_hh))

    def _set_cells(self, cells: list[CellParams]) -> None:
        self._all_weight_values = ModuleList(PackedParameter(cell) for cell in cells)

    def _cells(self) -> list[CellParams]:
        return [module.param for module in self._all_weight_values]  # type: ignore[misc]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized network of a float one, whose attribute `qconfig` says what observes the weights."""
        if type(mod) not in (nn.LSTM, nn.GRU):
            raise AssertionError("nn.quantized.dynamic.RNNBase.from_float only works for nn.LSTM and nn.GRU")
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        if not mod.bias:
            raise AssertionError("mod.bias must be True")
        if getattr(mod, "proj_size", 0):
            raise NotImplementedError("a quantized LSTM with proj_size is not implemented, in torch either")
        made: Any = (LSTM if mod.mode == "LSTM" else GRU)(
            mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout, mod.bidirectional
        )
        made._set_cells([
            CellParams(*(packed_of(mod, part, f"_l{layer}{suffix}") for part in ("ih", "hh")))
            for layer, suffix in made._places()
        ])  # fmt: skip
        return made

    def get_weight(self) -> dict[str, Any]:
        """The quantized weights by the names that a float network has: `weight_ih_l0`, `weight_hh_l0`, ..."""
        return self._named("weight", 0)

    def get_bias(self) -> dict[str, Any]:
        """The biases by name: `bias_ih_l0`, `bias_hh_l0`, ..."""
        return self._named("bias", 1)

    def _named(self, kind: str, which: int) -> dict[str, Any]:
        return {
            f"{kind}_{part}_l{layer}{suffix}": getattr(cell, part).unpack()[which]
            for (layer, suffix), cell in zip(self._places(), self._cells(), strict=True)
            for part in ("ih", "hh")
        }

    def _weight_bias(self) -> dict[str, dict[str, Any]]:
        return {"weight": self.get_weight(), "bias": self.get_bias()}

    def set_weight_bias(self, weight_bias_dict: dict[str, Any]) -> None:
        """Take other weights and biases, by name."""
        d = weight_bias_dict
        self._set_cells([
            CellParams(*(PackedLinear(d[f"weight_{p}_l{k}{s}"], d[f"bias_{p}_l{k}{s}"]) for p in ("ih", "hh")))
            for k, s in self._places()
        ])  # fmt: skip

    # ---------------------------------------------------------------- checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise where the input's shape does not fit: (T, N, input_size), or packed (*, input_size)."""
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the initial state: (layers * directions, N, hidden_size)."""
        batch: Any = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * (1 + self.bidirectional), batch, self.hidden_size

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

    # ---------------------------------------------------------------- forward

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, inverse = input
            output, state = self._run(data, self._initial(data, hx, batch_sizes, order), batch_sizes)
            return PackedSequence(output, batch_sizes, order, inverse), self.permute_hidden(state, inverse)
        return self._run(input, self._initial(input, hx, None, None), None)

    def _initial(self, input: Tensor, hx: Any, batch_sizes: Tensor | None, order: Tensor | None) -> Any:
        self.check_input(input, batch_sizes)
        if hx is not None:
            hx = self.permute_hidden(hx, order)
        else:
            hx = self._zeros(ops.zeros(self.get_expected_hidden_size(input, batch_sizes), dtype=input.dtype))
        self.check_forward_args(input, hx, batch_sizes)
        return hx

    def _zeros(self, zeros: Tensor) -> Any:
        return zeros

    def _run(self, input: Tensor, hx: Any, batch_sizes: Tensor | None) -> tuple[Tensor, Any]:
        packed = None if batch_sizes is None else tuple(batch_sizes.tolist())
        turned = self.batch_first and packed is None
        x = input.transpose(0, 1) if turned else input  # type: ignore[attr-defined]
        states, dropout = hx if isinstance(hx, tuple) else (hx,), self.dropout if self.training else 0.0
        layer, directions = _LAYERS[self.mode], 1 + self.bidirectional
        y, final = stacked_layers(layer, x, packed, states, self._cells(), dropout, directions)
        return y.transpose(0, 1) if turned else y, tuple(final) if isinstance(hx, tuple) else final[0]

    # ---------------------------------------------------------------- state and printed form

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *messages):
        self.version = local_metadata.get("version")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *messages)

    def _get_name(self) -> str:
        return f"DynamicQuantized{self.mode}"

    def extra_repr(self) -> str:
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        changed = [f"{name}={getattr(self, name)}" for name, usual in defaults.items() if getattr(self, name) != usual]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *changed])

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"


def packed_of(mod: Any, part: str, suffix: str) -> PackedLinear:
    """The quantized weight `weight_ih` or `weight_hh` of a float module, with its bias."""
    weight, bias = getattr(mod, f"weight_{part}{suffix}"), getattr(mod, f"bias_{part}{suffix}")
    return PackedLinear(quantized_weight(weight, mod.qconfig), float32_bias(bias))


def _check_dropout(dropout: Any, num_layers: int) -> None:
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


class LSTM(RNNBase):
    """Layers of long short-term memory with 8-bit weights; the formula and the call are those of `torch.nn.LSTM`.

    LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    dtype=torch.qint8)

    Shape: input (T, N, input_size), (N, T, input_size) with `batch_first`, or a PackedSequence; h_0 and c_0
        (layers * directions, N, hidden_size) -> output (T, N, directions * hidden_size), h_n and c_n as h_0
    Raises:
        RuntimeError: the input has no batch, as in `LSTM(2, 3)(ones(1, 2))`.

    >>> LSTM(10, 20, 2)
    DynamicQuantizedLSTM(10, 20, num_layers=2)
    >>> output, (h_n, c_n) = LSTM(10, 20, 2)(ones(5, 3, 10))
    >>> output.shape, c_n.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """A state (h, c) with its sequences in another order."""
        return hx if permutation is None else tuple(s.index_select(1, permutation) for s in hx)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Check an input and its initial state, (h_0, c_0)."""
        self.check_input(input, batch_sizes)
        for i in range(2):
            size = self.get_expected_hidden_size(input, batch_sizes)
            self.check_hidden_size(hidden[i], size, f"Expected hidden[{i}] size {{}}, got {{}}")

    def _zeros(self, zeros: Tensor) -> Any:
        return zeros, zeros


class GRU(RNNBase):
    """Layers of gated recurrent units with 8-bit weights; the formula and the call are those of `torch.nn.GRU`.

    GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    dtype=torch.qint8)

    Shape: input (T, N, input_size), (N, T, input_size) with `batch_first`, or a PackedSequence; h_0
        (layers * directions, N, hidden_size) -> output (T, N, directions * hidden_size), h_n as h_0
    Raises:
        RuntimeError: the input has no batch, as in `GRU(2, 3)(ones(1, 2))`.

    >>> output, h_n = GRU(10, 20, bidirectional=True)(ones(5, 3, 10))
    >>> output.shape, h_n.shape
    (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)
