"""The deprecated classes of `torch.cpu.amp` and `torch.cuda.amp`: those of `torch.amp` for one kind of device."""

from __future__ import annotations

import warnings
from typing import Any

from ..core.tensor import dtype as dtypes
from .autocast_mode import autocast
from .grad_scaler import GradScaler


def _deprecated(device: str, name: str) -> None:
    warnings.warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{device}', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


def autocast_of(device: str, default: dtypes.dtype) -> type:
    """The class `autocast` of the device's own package."""

    class DeviceAutocast(autocast):
        def __init__(self, enabled: bool = True, dtype: Any = default, cache_enabled: bool = True):
            _deprecated(device, "autocast")
            super().__init__(device, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)

    return _named(DeviceAutocast, "autocast", f"Deprecated: `torch.amp.autocast('{device}', ...)`.")


def scaler_of(device: str) -> type:
    """The class `GradScaler` of the device's own package."""

    class DeviceScaler(GradScaler):
        def __init__(
            self,
            init_scale: float = 2.0**16,
            growth_factor: float = 2.0,
            backoff_factor: float = 0.5,
            growth_interval: int = 2000,
            enabled: bool = True,
        ):
            _deprecated(device, "GradScaler")
            super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    return _named(DeviceScaler, "GradScaler", f"Deprecated: `torch.amp.GradScaler('{device}', ...)`.")


def _named(cls: type, name: str, doc: str) -> type:
    cls.__name__ = cls.__qualname__ = name
    cls.__doc__ = doc
    return cls
