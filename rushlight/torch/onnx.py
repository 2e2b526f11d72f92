"""`torch.onnx`: exporting a network to the ONNX format is not implemented; `export` raises."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["OnnxExporterError", "dynamo_export", "export", "is_in_onnx_export", "is_onnxrt_backend_supported"]


class OnnxExporterError(RuntimeError):
    """An export failed."""


def export(model: Any, args: Any = (), f: Any = None, **options: Any) -> NoReturn:
    """Write a network in the ONNX format. Raises NotImplementedError."""
    raise NotImplementedError(
        "torch.onnx.export is not implemented: save the weights with torch.save(model.state_dict(), path) and export "
        "them where torch is installed"
    )


def _export(model: Any, args: Any = (), f: Any = None, **options: Any) -> NoReturn:
    """The old name of `export`. Raises NotImplementedError."""
    export(model, args, f, **options)


def dynamo_export(model: Any, *args: Any, **options: Any) -> NoReturn:
    """Another way to export. Raises NotImplementedError."""
    raise NotImplementedError("torch.onnx.dynamo_export is not implemented")


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> NoReturn:
    """Tell the exporter about an operator. Raises NotImplementedError."""
    raise NotImplementedError("torch.onnx.register_custom_op_symbolic is not implemented: nothing can be exported")


def is_in_onnx_export() -> bool:
    """Whether an export is under way: False."""
    return False


def is_onnxrt_backend_supported() -> bool:
    """Whether torch.compile can use ONNX Runtime: False."""
    return False
