"""`torch.backends.cudnn`: the switches of cuDNN, which needs a CUDA device. They hold what they are set to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled = True
benchmark = False
benchmark_limit = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
_NAMES = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision")


def is_available() -> bool:
    """Whether cuDNN can be used: False."""
    return False


def version() -> None:
    """cuDNN's version: None, it is absent."""


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN would take this tensor: False."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = None,
) -> tuple:
    """Set the switches that are given. Returns what all of them were."""
    values = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32, _fp32_precision)
    before = tuple(globals()[name] for name in _NAMES)
    globals().update({name: value for name, value in zip(_NAMES, values, strict=True) if value is not None})
    return before


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Within the context the switches have these values."""
    before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        globals().update(zip(_NAMES, before, strict=True))
