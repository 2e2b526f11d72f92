"""`torch.cpu.amp`: the older, deprecated names of `torch.amp` for the CPU."""

from __future__ import annotations

from typing import Any

from ...amp.deprecated import autocast_of, scaler_of
from ...core.tensor import dtype as dtypes

__all__ = ["GradScaler", "autocast"]

autocast: Any = autocast_of("cpu", dtypes.bfloat16)
GradScaler: Any = scaler_of("cpu")
