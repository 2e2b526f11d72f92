"""`torch.cuda.amp`: the older, deprecated names of `torch.amp` for CUDA."""

from __future__ import annotations

import warnings
from typing import Any

from ... import amp
from ...amp.deprecated import autocast_of, scaler_of
from ...core.tensor import dtype as dtypes

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]

autocast: Any = autocast_of("cuda", dtypes.float16)
GradScaler: Any = scaler_of("cuda")


def amp_definitely_not_available() -> bool:
    """Whether there is no device for which these names do anything: True."""
    return True


def custom_fwd(fwd: Any = None, *, cast_inputs: dtypes.dtype | None = None) -> Any:
    """Deprecated: `torch.amp.custom_fwd(..., device_type='cuda')`."""
    warnings.warn(
        "`torch.cuda.amp.custom_fwd(args...)` is deprecated. Please use "
        "`torch.amp.custom_fwd(args..., device_type='cuda')` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Deprecated: `torch.amp.custom_bwd(..., device_type='cuda')`."""
    warnings.warn(
        "`torch.cuda.amp.custom_bwd(args...)` is deprecated. Please use "
        "`torch.amp.custom_bwd(args..., device_type='cuda')` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return amp.custom_bwd(bwd, device_type="cuda")
