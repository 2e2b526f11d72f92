"""`torch.autocast`: regions in which operators run in the type that suits them, and what custom Functions need there."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from typing import Any, Literal

import numpy as np

from ..core.tensor import dtype as dtypes
from ..core.tensor.tensor import Tensor
from .modes import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


class autocast:
    """A region, or a decorator for functions that are to run in one, where operators choose their types.

    Products, convolutions and attention run in `dtype` (bfloat16 or float16; the device's default for None), losses
    and delicate operators in float32, `cat` and `stack` in the widest type among their inputs, everything else in the
    types it receives. A parameter is cast once for the whole outermost region (`cache_enabled`); its gradient arrives
    in the parameter's own type. enabled=False: everything inside runs in the types it receives, also within another
    region. Backward passes belong outside.

    Errors: ValueError where device_type is no string, RuntimeError where it is none that autocast knows. Another
    `dtype`, or 'cuda' without a CUDA device, gives a warning and a region that does nothing.
    >>> with autocast("cpu"):
    ...     (ones(3, 4) @ ones(4, 2)).dtype
    torch.bfloat16
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled if not enabled or self._possible() else False  # no bool raises on entry

    def _possible(self) -> bool:
        """Whether this region can do what it says; a warning where it cannot."""
        name = self.device.upper()
        if self.device == "cuda":
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=3)
            return False
        if self.fast_dtype in (dtypes.bfloat16, dtypes.float16):
            return True
        warnings.warn(
            f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
            stacklevel=3,
        )
        return False

    def __enter__(self) -> autocast:
        self.prev = is_autocast_enabled(self.device)
        self.prev_fastdtype = get_autocast_dtype(self.device)
        self.prev_cache_enabled = is_autocast_cache_enabled()
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        autocast_increment_nesting()
        set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> Literal[False]:
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        set_autocast_enabled(self.device, self.prev)
        set_autocast_dtype(self.device, self.prev_fastdtype)
        set_autocast_cache_enabled(self.prev_cache_enabled)
        return False

    def __call__(self, func: Callable) -> Callable:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast as a "
                "context manager? For example:\n    with torch.autocast(device_type=...):\n        output = model(input)"
            )

        @wraps(func)
        def call(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        return call


def _cast(value: Any, device_type: str, dtype: dtypes.dtype) -> Any:
    """`value`, its floating tensors (also those in containers) as `dtype`; float64 stays."""
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not dtypes.float64
        return value.to(dtype) if eligible else value  # type: ignore[attr-defined]
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, Iterable):
        each = (_cast(v, device_type, dtype) for v in value)
        return type(value)(each) if isinstance(value, (list, tuple)) else each
    return value


def _check_device(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: dtypes.dtype | None = None) -> Callable:
    """Decorator for the `forward` of an `autograd.Function` that may be called inside autocast regions.

    cast_inputs: inside a region, floating tensors are cast to this type and `forward` runs with autocast off; None:
    `forward` runs with autocast as it is. Outside regions it changes nothing.
    """
    _check_device(device_type)
    if fwd is None:
        return partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def call(*args, **kwargs):
        ctx, inside = args[0], is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = inside and cast_inputs is None
        if cast_inputs is None or not inside:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return call


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorator for the `backward` of an `autograd.Function`: it runs with autocast as `forward` (`custom_fwd`) did."""
    _check_device(device_type)
    if bwd is None:
        return partial(custom_bwd, device_type=device_type)

    @wraps(bwd)
    def call(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type=device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return call
