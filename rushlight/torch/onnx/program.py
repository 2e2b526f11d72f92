"""`ONNXProgram`: an exported network in memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...core.tensor.tensor import Tensor
from ...ops import from_numpy, view_as_real
from ...utils import _pytree as pytree

__all__ = ["ONNXProgram"]

_LARGE_BYTES = 1024  # a weight from this size on goes into the file of weights


class ONNXProgram:
    """What `torch.onnx.export` gives. model_proto: the `onnx.ModelProto`; exported_program: what it was made of."""

    def __init__(self, model_proto: Any, captured: Any, exported_program: Any = None):
        self.model_proto, self._captured, self.exported_program = model_proto, captured, exported_program
        self._session: Any = None

    @property
    def model(self) -> Any:
        """The model as `onnx_ir.Model`, where that package is installed."""
        import onnx_ir  # pyright: ignore[reportMissingImports]

        return onnx_ir.serde.deserialize_model(self.model_proto)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple:
        """The results of ONNX Runtime (package onnxruntime) for the arguments that the module takes.

        Complex numbers have a last dimension of 2: the real and the imaginary part.
        """
        session = self._session or self._load()
        leaves = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        names = [value.name for value in session.get_inputs()]
        leaves = [view_as_real(leaf.detach().resolve_conj()) if leaf.is_complex() else leaf.detach() for leaf in leaves]
        given = {name: leaf.numpy() for name, leaf in zip(names, leaves, strict=True)}
        return tuple(from_numpy(result) for result in session.run(None, given))

    def initialize_inference_session(self, initializer: Any = None) -> None:
        """Load the model into ONNX Runtime: by `initializer(bytes)`, or on the CPU."""
        if initializer is None:
            import onnxruntime

            initializer = lambda model: onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])  # noqa: E731
        self._session = initializer(self.model_proto.SerializeToString())

    def _load(self) -> Any:
        self.initialize_inference_session()
        return self._session

    def release(self) -> None:
        """Let go of ONNX Runtime's copy."""
        self._session = None

    def optimize(self) -> None:
        """Nothing: constants are folded as the model is made, and ONNX Runtime fuses when it loads."""

    def save(
        self,
        destination: str | os.PathLike,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model. external_data: weights go to `destination` with ".data" at the end."""
        import onnx

        model = onnx.ModelProto()
        model.CopyFrom(self.model_proto)
        graph = model.graph
        if keep_initializers_as_inputs or not include_initializers:
            for weight in graph.initializer:
                graph.input.append(onnx.helper.make_tensor_value_info(weight.name, weight.data_type, list(weight.dims)))
        if not include_initializers:
            del graph.initializer[:]
        path = Path(destination)
        data = path.with_name(path.name + ".data")
        if external_data or (external_data is None and model.ByteSize() >= 2**31):
            data.unlink(missing_ok=True)
            onnx.save_model(model, path, save_as_external_data=True, location=data.name, size_threshold=_LARGE_BYTES)
        else:
            onnx.save_model(model, path)

    def __repr__(self) -> str:
        import onnx

        return f"ONNXProgram(\n    model=\n{onnx.printer.to_text(self.model_proto)}\n)"
