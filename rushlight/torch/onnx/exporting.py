"""`torch.onnx.export`: a network runs once, and what it did becomes a model in the ONNX format."""

from __future__ import annotations

import enum
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from traceback import walk_tb
from types import TracebackType
from typing import Any

from ...compile.jit.region import region
from ...core.own_code import FILES
from ...core.tensor.tensor import Tensor
from ...nn.modules.module import Module
from ...ops import view_as_real
from ...testing import assert_close
from ..export.capture import Captured, ReadsData, capture
from ..export.dims import dynamic_sizes, named_axes
from ..export.other_sizes import GraphOfTheExample, find_other_inputs
from ..jit.recording.describe import warn_user
from .graph import UNKNOWN, Builder, CannotExport, Item, onnx_type
from .program import ONNXProgram
from .rows.complex_numbers import has_complex, of_parts, real_type
from .walk import Walker

__all__ = ["OnnxExporterError", "OperatorExportTypes", "TrainingMode", "export", "is_in_onnx_export"]

_DEFAULT_OPSET, _LEAST_OPSET, _MOST_OPSET = 20, 18, 23
_state = threading.local()


class OnnxExporterError(RuntimeError):
    """An export failed."""


class TrainingMode(enum.IntEnum):
    """The mode in which the network runs for the export: EVAL, as it is (PRESERVE), or TRAINING."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.IntEnum):
    """What becomes of operators: ONNX, ONNX's own alone."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_FALLTHROUGH = 2
    ONNX_ATEN_FALLBACK = 3


def is_in_onnx_export() -> bool:
    """Whether an export is under way in this thread."""
    return getattr(_state, "exporting", False)


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: Any = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: Any = TrainingMode.EVAL,
    operator_export_type: Any = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:
    """Run a network for the example `args` and write what it did as an ONNX model to the file `f`.

    The model computes the same for other inputs of the same sizes; dynamic_shapes, {argument: {dimension: Dim or name}},
    or in the older form dynamic_axes, {name: {dimension: name}} or {name: [dimensions]}, says which sizes may change.

    Args:
        args: the arguments, in a tuple, whose last part may be a dict of arguments by name if kwargs is not given.
        f: a path, or with dynamo=False also a file; None with dynamo=True to have the ONNXProgram alone.
        opset_version: 18 to 23; by default 20, as in torch 2.13.
        dynamo: False: the module's mode is evaluation for the export, weights are in the file, nothing is returned.
        external_data: with dynamo, weights go to another file, `f` with ".data" at its end.
        verify: compare with ONNX Runtime (package onnxruntime).

    Where sizes may change, the module runs a second time for others, and what was recorded must give the same.

    Raises ModuleNotFoundError without the package onnx; OnnxExporterError, with the line of Python, for what has no ONNX
    form; NotImplementedError for options that are not implemented.
    """
    _refuse(
        custom_translation_table=custom_translation_table,
        report=report,
        profile=profile,
        dump_exported_program=dump_exported_program,
        custom_opsets=custom_opsets,
        export_modules_as_functions=export_modules_as_functions,
    )
    if operator_export_type != OperatorExportTypes.ONNX:
        raise NotImplementedError("torch.onnx.export: operator_export_type other than ONNX is not implemented")
    _need_onnx()
    opset = _opset(opset_version)
    args = args if isinstance(args, tuple) else (args,)
    if kwargs is None and args and isinstance(args[-1], dict) and not dynamo:
        args, kwargs = args[:-1], args[-1]
    exported = model if hasattr(model, "_captured") else None  # an ExportedProgram
    with _exporting(model, training, dynamo), _failures():
        captured = exported._captured if exported else capture(model, args, kwargs or {}, reads_data=not dynamo)
        inputs = list(input_names or [])
        names = [inputs[i] if i < len(inputs) else name for i, name in enumerate(captured.names)]
        _warn_of_names(dynamic_axes or {}, names, output_names or [])
        sizes = exported._sizes if exported else dynamic_sizes(captured, dynamic_shapes, dynamic_axes, names)
        others = find_other_inputs(captured, sizes)
        proto = _model(captured, names, list(output_names or []), sizes, others, opset, dynamic_axes or {})
    program = ONNXProgram(proto, captured, exported)
    if verify:
        _verify(program, captured)
    if verbose:
        print(program)
    if f is not None:
        _write(program, f, external_data and dynamo, export_params, keep_initializers_as_inputs)
    return program if dynamo else None


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"torch.onnx.export({name}=...) is not implemented")


def _need_onnx() -> None:
    try:
        import onnx  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise ModuleNotFoundError(
            "torch.onnx.export writes models through the package onnx, which is not installed: pip install onnx "
            "(or rushlight[onnx])",
            name="onnx",
        ) from None


def _opset(wanted: int | None) -> int:
    opset = _DEFAULT_OPSET if wanted is None else int(wanted)
    if opset > _MOST_OPSET:
        raise ValueError(
            f"Unsupported ONNX opset version: {opset}; versions {_LEAST_OPSET} to {_MOST_OPSET} can be written"
        )
    if opset < _LEAST_OPSET:
        import warnings

        warnings.warn(
            f"The model is written for opset {_LEAST_OPSET}: Rushlight's rows need it, and {opset} was asked for",
            stacklevel=3,
        )
    return max(opset, _LEAST_OPSET)


@contextmanager
def _exporting(model: Any, training: Any, dynamo: bool) -> Iterator[None]:
    """Let the network be in the mode of the export, and put each part's mode back. With `dynamo` it keeps its own."""
    modes = [(m, m.training) for m in model.modules()] if isinstance(model, Module) else []
    if modes and not dynamo and training != TrainingMode.PRESERVE:
        model.train(training == TrainingMode.TRAINING)
    outer, _state.exporting = is_in_onnx_export(), True
    try:
        with region.export() if dynamo else nullcontext():
            yield
    finally:
        _state.exporting = outer
        for module, mode in modes:
            module.training = mode


@contextmanager
def _failures() -> Iterator[None]:
    """What cannot be exported, as the exporter's error."""
    try:
        yield
    except (CannotExport, GraphOfTheExample, ReadsData) as error:
        raise OnnxExporterError(f"torch.onnx.export: {error}") from None
    except NotImplementedError as error:
        if not str(error).startswith("torch.jit.trace"):
            raise
        place = _place_of(error.__traceback__)
        raise OnnxExporterError(f"torch.onnx.export: {place}{error}") from None


def _place_of(traceback: TracebackType | None) -> str:
    """The innermost line of an error that is not Rushlight's own."""
    found = ""
    for frame, line in walk_tb(traceback):
        file = frame.f_code.co_filename
        found = found if file.startswith(FILES) or file == __file__ or "contextlib" in file else f"{file}:{line}: "
    return found


def _warn_of_names(axes: Mapping[str, Any], inputs: Sequence[str], outputs: Sequence[str]) -> None:
    for name in axes:
        if name not in inputs and name not in outputs:
            warn_user(f"Provided key {name} for dynamic axes is not a valid input/output name", UserWarning)


# ------------------------------------------------------------------------------------------ the model


def _model(
    captured: Captured,
    names: list[str],
    output_names: list[str],
    sizes: dict,
    others: list[Tensor] | None,
    opset: int,
    axes: Mapping[str, Any],
) -> Any:
    import onnx

    g = Builder(opset)
    names = [g.unique(name) for name in names]
    wanted = [g.unique(name) for name in output_names]
    known = others or ([UNKNOWN] * len(names) if sizes else captured.inputs)
    items = [Item(t, name, other=other) for t, name, other in zip(captured.inputs, names, known, strict=True)]
    for item in items:
        item.of_data = True
    results = Walker(g, captured.graph, captured.traced).run(items)
    g.place = ""
    outputs = _outputs(g, results, wanted, names)
    inputs = [_info(n, t, sizes.get(i, {})) for i, (n, t) in enumerate(zip(names, captured.inputs, strict=True))]
    shown = [_info(n, r.value, named_axes(n, axes.get(n))) for n, r in zip(outputs, results, strict=True)]
    used = g.used_names()
    kept = [proto for name, proto in g.constants.items() if name in used]
    graph = onnx.helper.make_graph(g.nodes, "main_graph", inputs, shown, kept)
    opsets = [onnx.helper.make_opsetid("", opset)]
    version = onnx.helper.find_min_ir_version_for(opsets)
    model = onnx.helper.make_model(graph, opset_imports=opsets, producer_name="rushlight", ir_version=version)
    if any(not r.fixes_shape for r in results):
        _infer_output_sizes(model, axes)
    return model


def _info(name: str, value: Tensor, sizes: dict[int, str]) -> Any:
    import onnx

    n = value.ndim
    named = {i % n: text for i, text in sizes.items()} if n else {}
    shape = [named.get(i, int(size)) for i, size in enumerate(value.shape)]
    shape += [2] * value.is_complex()
    return onnx.helper.make_tensor_value_info(name, onnx_type(real_type(value.dtype)), shape)


def _outputs(g: Builder, results: list[Item], wanted: list[str], inputs: list[str]) -> list[str]:
    """The names of the results: as wanted, each other than those of inputs, constants and other results."""
    found: list[str] = []
    for i, item in enumerate(results):
        own = g.name(of_parts(g, item) if has_complex(item) else item)
        if i < len(wanted) or own in inputs or own in g.constants or own in found:
            name = wanted[i] if i < len(wanted) else g.unique("output")
            g.nodes.append(_renamed(own, name))
            own = name
        found.append(own)
    return found


def _renamed(source: str, name: str) -> Any:
    import onnx

    return onnx.helper.make_node("Identity", [source], [name], name=f"node_{name}")


def _infer_output_sizes(model: Any, axes: Mapping[str, Any]) -> None:
    """Where sizes change, let the outputs show what ONNX's inference finds, and leave open what it does not."""
    import onnx

    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    for value in shown.graph.output:
        value.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(shown, data_prop=True)
    for value, found in zip(model.graph.output, inferred.graph.output, strict=True):
        given = named_axes(value.name, axes.get(value.name))
        dims = value.type.tensor_type.shape.dim
        known = found.type.tensor_type.shape.dim
        for i, dim in enumerate(dims):
            text = given.get(i) or given.get(i - len(dims))
            if text:
                dim.dim_param = text
            elif len(known) == len(dims) and known[i].WhichOneof("value") == "dim_value":
                dim.dim_value = known[i].dim_value
            elif len(known) == len(dims) and known[i].dim_param and not known[i].dim_param.startswith("unk__"):
                dim.dim_param = known[i].dim_param
            else:
                dim.Clear()


# ------------------------------------------------------------------------------------------ checks and files


def _verify(program: ONNXProgram, captured: Captured) -> None:
    expected = [
        view_as_real(r.resolve_conj()) if r.is_complex() else r for r in captured.results[0] if isinstance(r, Tensor)
    ]
    for ours, theirs in zip(expected, program(*captured.inputs), strict=True):
        assert_close(theirs, ours.detach(), rtol=1e-3, atol=1e-4)


def _write(program: ONNXProgram, f: Any, external: bool, export_params: bool, keep_as_inputs: bool) -> None:
    if hasattr(f, "write"):
        f.write(program.model_proto.SerializeToString())
        return
    program.save(
        f,
        include_initializers=export_params,
        keep_initializers_as_inputs=keep_as_inputs,
        external_data=external or None,
    )
