"""Observers of averaged ranges, of a range for each channel, and those whose scale is given."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...core.tensor import dtype as dtypes
from ...core.tensor import layout
from ...core.tensor.tensor import Tensor
from .observers import MinMaxObserver, ObserverBase, UniformQuantizationObserverBase

__all__ = [
    "FixedQParamsObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver",
    "PerChannelMinMaxObserver",
    "ReuseInputObserver",
    "default_fixed_qparams_range_0to1_observer",
    "default_fixed_qparams_range_neg1to1_observer",
    "default_float_qparams_observer",
    "default_float_qparams_observer_4bit",
    "default_observer",
    "default_per_channel_weight_observer",
    "per_channel_weight_observer_range_neg_127_to_127",
    "weight_observer_range_neg_127_to_127",
]  # fmt: skip

_PER_TENSOR = (layout.per_tensor_affine, layout.per_tensor_symmetric)
_PER_CHANNEL = (layout.per_channel_affine, layout.per_channel_symmetric, layout.per_channel_affine_float_qparams)


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Averages of the minima and maxima of the tensors that it was called with.

    The first call sets them; each further one moves them by `averaging_constant` of the way to the new values.
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        dtype: Any = dtypes.quint8,
        qscheme: Any = layout.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = 1.1920928955078125e-07,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if qscheme not in _PER_TENSOR:
            raise NotImplementedError(
                f"MovingAverageMinMaxObserver's qscheme only support                 torch.per_tensor_symmetric and "
                f"torch.per_tensor_affine.                 but got: {qscheme}"
            )
        self.averaging_constant = averaging_constant
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging constant of "
                f"{averaging_constant}"
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs)

    def forward(self, x_orig: Tensor) -> Tensor:
        """Look at a tensor. Returns it."""
        if x_orig.numel():
            low, high = ops.aminmax(x_orig.detach().to(self.min_val.dtype))  # type: ignore[attr-defined]
            least, greatest = self.min_val, self.max_val
            if not (least == float("inf") and greatest == float("-inf")):
                low = least + self.averaging_constant * (low - least)
                high = greatest + self.averaging_constant * (high - greatest)
            self.min_val.copy_(low)  # type: ignore[attr-defined]
            self.max_val.copy_(high)  # type: ignore[attr-defined]
        return x_orig


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """The minimum and maximum for each index of dimension `ch_axis` of all tensors that it was called with."""

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: Any = dtypes.quint8,
        qscheme: Any = layout.per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = 1.1920928955078125e-07,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if qscheme not in _PER_CHANNEL:
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support                     torch.per_channel_symmetric, "
                "torch.per_channel_affine and torch.per_channel_affine_float_qparams."
            )
        if is_dynamic:
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", ops.tensor([], **(factory_kwargs or {})))
        self.register_buffer("max_val", ops.tensor([], **(factory_kwargs or {})))
        if qscheme is layout.per_channel_symmetric and reduce_range and dtype is dtypes.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def forward(self, x_orig: Tensor) -> Tensor:
        """Look at a tensor. Returns it."""
        if x_orig.numel():
            x = x_orig.detach().to(self.min_val.dtype).transpose(0, self.ch_axis).flatten(1)  # type: ignore[attr-defined]
            low, high = ops.aminmax(x, dim=1)
            if self.min_val.numel():
                low, high = self._joined(low, high)
            for buffer, value in ((self.min_val, low), (self.max_val, high)):
                buffer.resize_(value.shape).copy_(value)  # type: ignore[attr-defined]
        return x_orig

    def _joined(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """The range of what was seen and of a new one."""
        return ops.minimum(low, self.min_val), ops.maximum(high, self.max_val)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """(scale (C,) float32, zero point (C,)) for the values seen; 1 and 0, with a warning, before there were any."""
        return self._of_range(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = ops.rand(0), ops.rand(0)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name in ("min_val", "max_val"):
            value = state_dict.get(prefix + name)
            if value is not None:
                getattr(self, name).resize_(value.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """`PerChannelMinMaxObserver` whose minima and maxima are averaged as those of `MovingAverageMinMaxObserver`."""

    def __init__(
        self,
        averaging_constant: float = 0.01,
        ch_axis: int = 0,
        dtype: Any = dtypes.quint8,
        qscheme: Any = layout.per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = 1.1920928955078125e-07,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if is_dynamic:
            raise NotImplementedError("MovingAveragePerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(
            ch_axis, dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs
        )
        self.averaging_constant = averaging_constant

    def _joined(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        c = self.averaging_constant
        return self.min_val + c * (low - self.min_val), self.max_val + c * (high - self.max_val)


class FixedQParamsObserver(ObserverBase):
    """Observes nothing: gives the scale and the zero point that it was made with."""

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self, scale: float, zero_point: int, dtype: Any = dtypes.quint8, qscheme: Any = layout.per_tensor_affine,
        quant_min: int = 0, quant_max: int = 255, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype, is_dynamic, **kwargs)
        self.quant_min, self.quant_max = quant_min, quant_max
        self.register_buffer("scale", ops.tensor([scale], dtype=dtypes.float32))
        self.register_buffer("zero_point", ops.tensor([zero_point], dtype=dtypes.int32))
        self.qscheme = qscheme

    def forward(self, X: Tensor) -> Tensor:
        return X

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """(scale (1,), zero point (1,))"""
        return self.scale, self.zero_point


class NoopObserver(ObserverBase):
    """Observes nothing: states a dtype, float16 by default."""

    def __init__(self, dtype: Any = dtypes.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype)
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raises: nothing was seen."""
        raise Exception("calculate_qparams should not be called for NoopObserver")


class ReuseInputObserver(ObserverBase):
    """States that a result has the scale of the input, as that of a reshape."""

    def __init__(self) -> None:
        super().__init__(dtypes.quint8, is_dynamic=False)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raises: nothing was seen."""
        raise Exception("calculate_qparams should not be called for ReuseInputObserver")


_CHANNELS: dict[str, Any] = {"dtype": dtypes.qint8, "qscheme": layout.per_channel_symmetric}
_TENSORS: dict[str, Any] = {"dtype": dtypes.qint8, "qscheme": layout.per_tensor_symmetric}
_FIXED: dict[str, Any] = {"dtype": dtypes.quint8, "quant_min": 0, "quant_max": 255}
_TO_127: dict[str, Any] = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}
_BY_ROWS: dict[str, Any] = {"qscheme": layout.per_channel_affine_float_qparams, "ch_axis": 0}

default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(**_CHANNELS)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(dtype=dtypes.quint8, **_BY_ROWS)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(dtype=dtypes.quint4x2, **_BY_ROWS)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(**_CHANNELS, **_TO_127)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(**_TENSORS, **_TO_127)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, **_FIXED
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(scale=1.0 / 256.0, zero_point=0, **_FIXED)
