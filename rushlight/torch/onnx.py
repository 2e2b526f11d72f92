"""`torch.onnx`: exporting a network to the ONNX format is not implemented; `export` raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._stand_ins import lookup
from .unavailable import exported

__all__ = ["OnnxExporterError", "is_in_onnx_export", "is_onnxrt_backend_supported"]
__all__ += exported("onnx")


class OnnxExporterError(RuntimeError):
    """An export failed."""


def is_in_onnx_export() -> bool:
    """Whether an export is under way: False."""
    return False


def is_onnxrt_backend_supported() -> bool:
    """Whether torch.compile can use ONNX Runtime: False."""
    return False


if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)
