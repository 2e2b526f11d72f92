"""The functions of torch's top level that read and set autocast's state of the calling thread."""

from __future__ import annotations

import warnings
from typing import Any

from ..core.device.devices import TYPES, device
from ..core.tensor import dtype as dtypes
from .region import settings

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]


def _device(function: str, device_type: Any) -> str:
    if not isinstance(device_type, str):
        kind = type(device_type).__name__
        raise TypeError(f"{function}(): argument 'device_type' (position 1) must be str, not {kind}")
    return device(device_type).type


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"torch.{old} is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=3)


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows the device type, whatever this machine has."""
    return _device("is_autocast_available", device_type) in settings.dtypes


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether the calling thread is inside an autocast region for the device type."""
    return settings.is_enabled(_device("is_autocast_enabled", device_type))


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Turn autocast on or off for a device type: `(device_type, enabled)`; `(enabled)` means CUDA."""
    if enabled is None and isinstance(device_type, bool):
        device_type, enabled = "cuda", device_type
    name = _device("set_autocast_enabled", device_type)
    if not isinstance(enabled, bool):
        kind = type(enabled).__name__
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not {kind}")
    settings.enable(name, enabled)


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The type that autocast lowers to on a device type: bfloat16 on the CPU, float16 on CUDA, unless it was set."""
    name = _device("get_autocast_dtype", device_type)
    if name not in settings.dtypes:
        known = (
            "unsupported scalarType" if name in TYPES else f"autocast has no lists of operators for the device {name}"
        )
        raise RuntimeError(known)
    return settings.dtypes[name]


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Set what `get_autocast_dtype` returns."""
    name = _device("set_autocast_dtype", device_type)
    if not isinstance(dtype, dtypes.dtype):
        kind = type(dtype).__name__
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {kind}")
    settings.set_dtype(name, dtype)


def autocast_increment_nesting() -> int:
    """Note one more region around the following code; returns how many there are."""
    settings.nesting += 1
    return settings.nesting


def autocast_decrement_nesting() -> int:
    """Note that a region ended; returns how many are left."""
    settings.nesting -= 1
    return settings.nesting


def clear_autocast_cache() -> None:
    """Forget the casts of parameters."""
    settings.region.forget()


def is_autocast_cache_enabled() -> bool:
    """Whether a parameter is cast once for a whole region."""
    return settings.region.caching


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether a parameter is cast once for a whole region."""
    settings.region.caching = bool(enabled)


def is_autocast_cpu_enabled() -> bool:
    """Deprecated: `is_autocast_enabled('cpu')`."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Deprecated: `set_autocast_enabled('cpu', enabled)`."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtypes.dtype:
    """Deprecated: `get_autocast_dtype('cpu')`."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtypes.dtype) -> None:
    """Deprecated: `set_autocast_dtype('cpu', dtype)`."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtypes.dtype:
    """Deprecated: `get_autocast_dtype('cuda')`."""
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtypes.dtype) -> None:
    """Deprecated: `set_autocast_dtype('cuda', dtype)`."""
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)
