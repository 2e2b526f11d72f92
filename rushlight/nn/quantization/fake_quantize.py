"""Modules that round what passes to the levels that a quantized model would have, for training with them in mind.

The names of `torch.ao.quantization.fake_quantize`. Gradients pass where a value was within the levels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...core.tensor import dtype as dtypes
from ...core.tensor import layout
from ...core.tensor.tensor import Tensor
from ...ops.quantized.fake import fake_quantize_per_channel_affine, fake_quantize_per_tensor_affine
from ...ops.quantized.tensor import LEVELS, limits_of
from ..modules.module import Module
from .observers import _PartialWrapper
from .range_observers import (
    FixedQParamsObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)

__all__ = [
    "FakeQuantize",
    "FakeQuantizeBase",
    "FixedQParamsFakeQuantize",
    "FusedMovingAvgObsFakeQuantize",
    "default_affine_fixed_qparams_fake_quant",
    "default_dynamic_fake_quant",
    "default_embedding_fake_quant",
    "default_embedding_fake_quant_4bit",
    "default_fake_quant",
    "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant",
    "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant",
    "default_fused_wt_fake_quant",
    "default_per_channel_weight_fake_quant",
    "default_symmetric_fixed_qparams_fake_quant",
    "default_weight_fake_quant",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
]  # fmt: skip

_CHANNELS = (layout.per_channel_affine, layout.per_channel_symmetric, layout.per_channel_affine_float_qparams)
_SYMMETRIC = (layout.per_tensor_symmetric, layout.per_channel_symmetric)
_LEAST_SCALE = 6.1e-5  # below this, a fused module widens the range


class FakeQuantizeBase(Module):
    """What all such modules have: whether they observe, and whether they round."""

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", ops.tensor([1], dtype=dtypes.uint8))
        self.register_buffer("observer_enabled", ops.tensor([1], dtype=dtypes.uint8))

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero point) for what was seen."""
        raise NotImplementedError(f"{type(self).__name__} has no calculate_qparams()")

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round what passes, or let it pass as it is."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Let values pass as they are."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Look at what passes, or keep the scale."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """Keep the scale."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> _PartialWrapper:
        """A factory of such modules with these arguments."""
        from functools import partial

        return _PartialWrapper(partial(cls, **kwargs))


class FakeQuantize(FakeQuantizeBase):
    """out = (clamp(round(x / scale) + zero_point, quant_min, quant_max) - zero_point) scale

    observer: the class that finds the range, called with `observer_kwargs`. quant_min, quant_max: the levels.

    >>> FakeQuantize(quant_min=0, quant_max=255)(tensor([-1.0, 0.3, 1.0]))
    tensor([-0.9961,  0.2980,  0.9961])
    """

    scale: Tensor
    zero_point: Tensor
    activation_post_process: Any

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int | None = None, quant_max: int | None = None,
        is_dynamic: bool = False, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if quant_min is not None and quant_max is not None:
            _check_levels(observer, quant_min, quant_max, observer_kwargs)
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = seen = observer(**observer_kwargs)
        self.quant_min, self.quant_max, self.is_dynamic = seen.quant_min, seen.quant_max, seen.is_dynamic
        whole = dtypes.float32 if seen.qscheme is layout.per_channel_affine_float_qparams else dtypes.int32
        self.register_buffer("scale", ops.tensor([1.0], dtype=dtypes.float32))
        self.register_buffer("zero_point", ops.tensor([0], dtype=whole))
        self.dtype, self.qscheme = seen.dtype, seen.qscheme
        self.ch_axis = getattr(seen, "ch_axis", -1)
        self.is_per_channel = self.qscheme in _CHANNELS

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero point) for what was seen."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        """Shape: (*) -> (*)"""
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            self._keep(*self.calculate_qparams())
        return self._rounded(X) if self.fake_quant_enabled[0] == 1 else X

    def _keep(self, scale: Tensor, zero_point: Tensor) -> None:
        if self.scale.shape != scale.shape:
            self.scale.resize_(scale.shape)  # type: ignore[attr-defined]
            self.zero_point.resize_(zero_point.shape)  # type: ignore[attr-defined]
        self.scale.copy_(scale)  # type: ignore[attr-defined]
        self.zero_point.copy_(zero_point)  # type: ignore[attr-defined]

    def _rounded(self, X: Tensor) -> Tensor:
        low, high = self.activation_post_process.quant_min, self.activation_post_process.quant_max
        if self.is_per_channel:
            return fake_quantize_per_channel_affine(X, self.scale, self.zero_point, self.ch_axis, low, high)
        return fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, low, high)

    def extra_repr(self) -> str:
        seen = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"quant_min={seen.quant_min}, quant_max={seen.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, "
            f"ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name in ("scale", "zero_point"):
            value = state_dict.get(prefix + name)
            if value is not None:
                getattr(self, name).resize_(value.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _check_levels(observer: Any, low: int, high: int, given: dict[str, Any]) -> None:
    if low > high:
        raise AssertionError("quant_min must be less than or equal to quant_max")
    dtype = given.get("dtype", dtypes.quint8)
    if hasattr(observer, "p"):
        dtype = (getattr(observer.p, "keywords", None) or {}).get("dtype", dtype)
    info = limits_of(LEVELS[dtype])
    if info.min > low:
        raise AssertionError("quant_min out of bound")
    if high > info.max:
        raise AssertionError("quant_max out of bound")


class FixedQParamsFakeQuantize(FakeQuantize):
    """`FakeQuantize` with the scale and zero point of a `FixedQParamsObserver`."""

    def __init__(self, observer: Any) -> None:
        super().__init__(observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(f"{type(self).__name__}'s observer must be a FixedQParamsObserver")
        self._observer_ctr = observer
        self.scale = self.activation_post_process.scale
        self.zero_point = self.activation_post_process.zero_point

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero point), as given."""
        return self.scale, self.zero_point

    def extra_repr(self) -> str:
        seen = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}, quant_min={seen.quant_min}, "
            f"quant_max={seen.quant_max}, qscheme={self.qscheme}"
        )


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """`FakeQuantize` of averaged ranges, whose scale is worked out in double precision.

    Symmetric levels here reach from -(n/2 + 1) to n/2 for n = quant_max - quant_min, so that the scale is not that of the
    observer's `calculate_qparams`.
    """

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int = 0, quant_max: int = 255,
        **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        kinds = (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
        if not isinstance(self.activation_post_process, kinds):
            raise AssertionError("Fused observer+fake_quant module only works with MovingAverageMinMaxObserver")
        self.register_buffer("fake_quant_enabled", ops.tensor([1], dtype=dtypes.int64))
        self.register_buffer("observer_enabled", ops.tensor([1], dtype=dtypes.int64))
        self.is_symmetric_quant = self.activation_post_process.qscheme in _SYMMETRIC

    def forward(self, X: Tensor) -> Tensor:
        """Shape: (*) -> (*)"""
        if self.observer_enabled[0] == 1:
            seen = self.activation_post_process
            seen(X.detach())
            ranges = [np.asarray(v._array, np.float32).reshape(-1) for v in (seen.min_val, seen.max_val)]
            chosen = [
                _chosen(low, high, seen.quant_min, seen.quant_max, self.is_symmetric_quant)
                for low, high in zip(*ranges, strict=True)
            ]
            scale, zero_point = zip(*chosen, strict=True)
            self._keep(ops.tensor(scale), ops.tensor(zero_point, dtype=self.zero_point.dtype))
        return self._rounded(X) if self.fake_quant_enabled[0] == 1 else X.clone()  # type: ignore[attr-defined]

    def extra_repr(self) -> str:
        seen = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}, quant_min={seen.quant_min}, "
            f"quant_max={seen.quant_max}, qscheme={self.qscheme}, reduce_range={seen.reduce_range}"
        )


def _chosen(low: Any, high: Any, quant_min: int, quant_max: int, symmetric: bool) -> tuple[float, int]:
    """(scale, zero point) of one range, in double precision, rounded where torch's kernel rounds.

    The zero point is that by the end of the range which rounding moves less.
    """
    both = low < 0 < high and symmetric
    if both:
        n = quant_max - quant_min
        widest = max(abs(float(low) / -(n // 2 + 1)), abs(float(high) / (n // 2)))
        low, high = np.float32(widest * -(n // 2 + 1)), np.float32(widest * (n // 2))
    low, high = min(low, np.float32(0)), max(high, np.float32(0))
    scale = (float(high) - float(low)) / (quant_max - quant_min)
    if np.float32(scale) == 0:
        scale = 0.1
    if scale < _LEAST_SCALE:
        low, high = _widened(low, high, np.float32(scale), quant_max - quant_min)
        scale = float(np.float32(_LEAST_SCALE))
    by_low, by_high = quant_min - float(low) / scale, quant_max - float(high) / scale
    errors = abs(quant_min) + abs(float(low) / scale), abs(quant_max) + abs(float(high) / scale)
    level = by_low if errors[0] < errors[1] else by_high
    if both:
        level = (quant_min + quant_max) / 2
    return float(np.float32(scale)), int(min(max(np.rint(level), quant_min), quant_max))


def _widened(low: Any, high: Any, scale: Any, levels: int) -> tuple[Any, Any]:
    """A range too narrow, with the least scale."""
    least = np.float32(_LEAST_SCALE)
    if low == 0:
        return low, least * np.float32(levels)
    if high == 0:
        return -least * np.float32(levels), high
    return low * (least / scale), high * (least / scale)


_ACTIVATIONS: dict[str, Any] = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255}
_SIGNED: dict[str, Any] = {"quant_min": -128, "quant_max": 127, "dtype": dtypes.qint8}

default_fake_quant = FakeQuantize.with_args(
    **_ACTIVATIONS, dtype=dtypes.quint8, qscheme=layout.per_tensor_affine, reduce_range=True
)
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, **_SIGNED, qscheme=layout.per_tensor_symmetric, reduce_range=False
)
default_dynamic_fake_quant = FakeQuantize.with_args(
    **_ACTIVATIONS, is_dynamic=True, dtype=dtypes.quint8, averaging_constant=1
)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, **_SIGNED, qscheme=layout.per_channel_symmetric, reduce_range=False,
    ch_axis=0,
)  # fmt: skip
default_embedding_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, qscheme=layout.per_channel_affine_float_qparams,
    dtype=dtypes.quint8, quant_min=0, quant_max=255, ch_axis=0, averaging_constant=1,
)  # fmt: skip
default_embedding_fake_quant_4bit = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, qscheme=layout.per_channel_affine_float_qparams, ch_axis=0,
    dtype=dtypes.quint4x2, averaging_constant=1,
)  # fmt: skip
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_ACTIVATIONS, dtype=dtypes.quint8)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, **_SIGNED, qscheme=layout.per_tensor_symmetric
)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, **_SIGNED, qscheme=layout.per_channel_symmetric
)


def _of(mod: Any) -> bool:
    return isinstance(mod, FakeQuantizeBase)


def disable_fake_quant(mod: Any) -> None:
    """For `Module.apply`: let values pass as they are."""
    if _of(mod):
        mod.disable_fake_quant()


def enable_fake_quant(mod: Any) -> None:
    """For `Module.apply`: round what passes."""
    if _of(mod):
        mod.enable_fake_quant()


def disable_observer(mod: Any) -> None:
    """For `Module.apply`: keep the scales."""
    if _of(mod):
        mod.disable_observer()


def enable_observer(mod: Any) -> None:
    """For `Module.apply`: look at what passes."""
    if _of(mod):
        mod.enable_observer()
