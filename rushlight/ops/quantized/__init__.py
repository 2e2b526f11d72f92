"""Quantized tensors: levels with a scale, from float32 tensors and back. Loaded at the first use."""

from typing import Any

from ...core.dispatch.extension_points import operators_of_levels


def __getattr__(name: str) -> Any:
    """The operators of `torch.ops.quantized`, for code and pickles that name them here."""
    if operators_of_levels.value is not None and name in operators_of_levels.value:
        return operators_of_levels.value[name]
    raise AttributeError(f"module 'torch.ops.quantized' has no attribute {name!r}")
