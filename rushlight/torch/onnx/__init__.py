"""`torch.onnx`: a network as a file in the ONNX format. `export` needs the package onnx (`rushlight[onnx]`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._stand_ins import lookup
from ..unavailable import exported
from .exporting import OnnxExporterError, OperatorExportTypes, TrainingMode, export, is_in_onnx_export
from .program import ONNXProgram

__all__ = [
    "ONNXProgram",
    "OnnxExporterError",
    "OperatorExportTypes",
    "TrainingMode",
    "export",
    "is_in_onnx_export",
    "is_onnxrt_backend_supported",
]
__all__ += exported("onnx")


def is_onnxrt_backend_supported() -> bool:
    """Whether torch.compile can use ONNX Runtime: False."""
    return False


if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)
