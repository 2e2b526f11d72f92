"""Observers, which find the range of a tensor's values, and `QConfig`, which says what observes a layer.

The names of `torch.ao.quantization.observer` and `.qconfig` that dynamic quantization uses.
"""

from __future__ import annotations

import warnings
from collections import namedtuple
from functools import partial
from typing import Any

import numpy as np

from ... import ops
from ...core.tensor import dtype as dtypes
from ...core.tensor import layout
from ...core.tensor.tensor import Tensor, wrap
from ...ops.quantized.channels import quantize_per_channel
from ...ops.quantized.tensor import LEVELS, limits_of, quantize_per_tensor
from ..modules.module import Module

__all__ = [
    "MinMaxObserver", "ObserverBase", "PlaceholderObserver", "QConfig", "UniformQuantizationObserverBase",
    "default_dynamic_qconfig", "default_dynamic_quant_observer", "default_placeholder_observer", "default_weight_observer",
    "levels_of_weight", "quantized_weight",
]  # fmt: skip

_EPS = float(np.finfo(np.float32).eps)
_SYMMETRIC, _AFFINE = layout.per_tensor_symmetric, layout.per_tensor_affine


class _PartialWrapper:
    """A class, or a factory, with some of its arguments given."""

    def __init__(self, p: Any):
        self.p = p

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.p(*args, **keywords)

    def __repr__(self) -> str:
        return repr(self.p) + "{}"

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        """A factory with more arguments given."""
        return _PartialWrapper(partial(self, **kwargs))


class ObserverBase(Module):
    """What all observers have: the dtype to quantize to, `forward`, which looks at a tensor, and `calculate_qparams`."""

    def __init__(self, dtype: Any, is_dynamic: bool = False):
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero point) for what was seen."""
        raise NotImplementedError(f"{type(self).__name__} has no calculate_qparams()")

    @classmethod
    def with_args(cls, **kwargs: Any) -> _PartialWrapper:
        """A factory of observers with these arguments."""
        return _PartialWrapper(partial(cls, **kwargs))


class UniformQuantizationObserverBase(ObserverBase):
    """An observer whose levels are equally spaced.

    quant_min, quant_max: the levels to use (default: all of the dtype's). eps: the smallest scale.
    """

    _version = 3
    eps: Tensor

    def __init__(
        self,
        dtype: Any = dtypes.quint8,
        qscheme: Any = _AFFINE,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype, is_dynamic)
        self.qscheme = qscheme
        if reduce_range:
            warnings.warn(
                "Please use quant_min and quant_max to specify the range for observers.                     "
                "reduce_range will be deprecated in a future release of PyTorch.",
                stacklevel=2,
            )
        self.reduce_range = reduce_range
        self.register_buffer("eps", ops.tensor([eps], **(factory_kwargs or {})))
        if dtype not in LEVELS:
            raise NotImplementedError(f"{type(self).__name__}: observers of {dtype} are not implemented")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        self.quant_min, self.quant_max = self._levels(quant_min, quant_max)

    def _levels(self, low: int | None, high: int | None) -> tuple[int, int]:
        info = limits_of(LEVELS[self.dtype])
        if low is None or high is None:
            low, high = int(info.min), int(info.max)
        else:
            _check_levels(low, high, info)
        return (low // 2, high // 2) if self.reduce_range and info.bits == 8 else (low, high)

    def _of_range(self, least: Tensor, greatest: Tensor) -> tuple[Tensor, Tensor]:
        """(scale, zero point) of ranges, one or one for each channel; 1 and 0, with a warning, where nothing was seen.

        In float32, as torch computes them. Shape: (C) or () -> (C) or (1), twice
        """
        low, high = (np.asarray(v._array, np.float32).reshape(-1) for v in (least, greatest))
        if not low.size or ((low == np.inf) & (high == -np.inf)).all():
            warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=4)
            return ops.tensor([1.0]), ops.tensor([0])
        if not (low <= high).all():
            raise AssertionError(f"min {low} should be less than max {high}")
        return self._choose(low, high)

    def _choose(self, low: np.ndarray, high: np.ndarray) -> tuple[Tensor, Tensor]:
        eps, span = self.eps._array[0], float(self.quant_max - self.quant_min)
        if self.qscheme is layout.per_channel_affine_float_qparams:
            scale = (high - low) / np.float32(span)
            scale = np.where(scale > eps, scale, np.float32(1))
            return wrap(scale), wrap(-low / scale)
        low, high = np.minimum(low, np.float32(0)), np.maximum(high, np.float32(0))
        if self.qscheme in (_SYMMETRIC, layout.per_channel_symmetric):
            scale = np.maximum(np.maximum(-low, high) / np.float32(span / 2), eps)
            middle = (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
            return wrap(scale), wrap(np.full(scale.shape, middle if self.dtype is dtypes.quint8 else 0, np.int64))
        scale = np.maximum((high - low) / np.float32(span), eps)
        level = self.quant_min - np.rint(low / scale).astype(np.int32)
        return wrap(scale), wrap(np.clip(level, self.quant_min, self.quant_max).astype(np.int32))


def _check_levels(low: int, high: int, info: Any) -> None:
    if not low <= 0 <= high:
        raise AssertionError("Used-specified quantization range must include 0.")
    if low >= high:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")
    if low < info.min or high > info.max:
        raise AssertionError(f"the range [{low}, {high}] does not fit levels from {info.min} to {info.max}")


class MinMaxObserver(UniformQuantizationObserverBase):
    """The minimum and maximum of all tensors that it was called with.

    Symmetric: scale = 2 max(|least|, greatest) / (quant_max - quant_min), and zero is level 0 (quint8: 128). Affine: scale =
    (greatest - least) / (quant_max - quant_min), with zero within, and zero is level quant_min - round(least / scale).
    """

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        dtype: Any = dtypes.quint8,
        qscheme: Any = _AFFINE,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
    ) -> None:
        if qscheme not in (_SYMMETRIC, _AFFINE):
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric                     and "
                "torch.per_tensor_affine."
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic)
        self.register_buffer("min_val", ops.tensor(float("inf"), **(factory_kwargs or {})))
        self.register_buffer("max_val", ops.tensor(float("-inf"), **(factory_kwargs or {})))
        if qscheme is _SYMMETRIC and reduce_range and dtype is dtypes.quint8:
            raise NotImplementedError(
                "Cannot reduce range for symmetric                                        quantization for quint8"
            )

    def forward(self, x_orig: Tensor) -> Tensor:
        """Look at a tensor. Returns it."""
        if x_orig.numel():
            x = x_orig.detach().to(self.min_val.dtype)  # type: ignore[attr-defined]
            low, high = ops.aminmax(x)
            self.min_val.copy_(ops.minimum(low, self.min_val))  # type: ignore[attr-defined]
            self.max_val.copy_(ops.maximum(high, self.max_val))  # type: ignore[attr-defined]
        return x_orig

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """(scale (1,) float32, zero point (1,)) for the values seen; 1 and 0, with a warning, before there were any."""
        return self._of_range(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val.fill_(float("inf"))  # type: ignore[attr-defined]
        self.max_val.fill_(float("-inf"))  # type: ignore[attr-defined]


class PlaceholderObserver(ObserverBase):
    """Observes nothing: states the dtype to which activations are quantized in each call."""

    def __init__(
        self,
        dtype: Any = dtypes.float32,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        eps: float | None = None,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype, is_dynamic)
        self.qscheme = _AFFINE if qscheme is None else qscheme
        self.quant_min, self.quant_max = quant_min, quant_max
        self.eps = _EPS if eps is None else eps
        self.custom_op = custom_op_name
        if compute_dtype:
            warnings.warn(
                "Please use `is_dynamic` instead of `compute_dtype`.                     `compute_dtype` will be deprecated "
                "in a future release                     of PyTorch.",
                stacklevel=2,
            )

    def forward(self, x: Tensor) -> Tensor:
        return x

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Raises: nothing was seen."""
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """Which observers (classes, or factories by `with_args`) look at a layer's activations and at its weight."""

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) to "
                "override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


default_placeholder_observer = PlaceholderObserver
default_weight_observer = MinMaxObserver.with_args(dtype=dtypes.qint8, qscheme=_SYMMETRIC)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=dtypes.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)


def quantized_weight(weight: Tensor, qconfig: Any) -> Any:
    """A weight as levels, by the observer that `qconfig` names, with one scale or one for each channel."""
    observer = (qconfig if qconfig is not None and qconfig.weight is not None else default_dynamic_qconfig).weight()
    if observer.dtype is not dtypes.qint8:
        raise NotImplementedError(f"dynamic quantization is implemented for weights of qint8, not of {observer.dtype}")
    observer(weight)
    return levels_of_weight(weight, observer)


def levels_of_weight(weight: Tensor, observer: Any) -> Any:
    """A weight as levels, by an observer (or a module that rounds) that has seen it.

    Raises AssertionError for an observer with other levels than qint8.
    """
    if observer.dtype is not dtypes.qint8:
        raise AssertionError(f"Weight observer must have dtype torch.qint8, got {observer.dtype}")
    scale, zero_point = observer.calculate_qparams()
    weight = weight.detach().float()  # type: ignore[attr-defined]
    if observer.qscheme in (_SYMMETRIC, _AFFINE):
        quantized = quantize_per_tensor(weight, float(scale), int(zero_point), dtypes.qint8)
    else:
        quantized = quantize_per_channel(weight, scale, zero_point, observer.ch_axis, dtypes.qint8)
    limits = getattr(observer, "activation_post_process", observer)
    np.clip(quantized._levels, limits.quant_min, limits.quant_max, out=quantized._levels)
    return quantized
