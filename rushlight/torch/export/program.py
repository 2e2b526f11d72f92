"""`torch.export.export` and `ExportedProgram`: a module's run for an example as a program of its own."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from io import BytesIO
from typing import Any

from ...compile.jit.region import region
from ...core.tensor.tensor import Tensor
from ...fx import Graph as FXGraph
from ...fx import GraphModule, Node
from ...nn.modules.module import Module
from ...serialization import load as load_values
from ...serialization import save as save_values
from ...utils import _pytree as pytree
from ..jit import load as load_program
from ..jit import save as save_program
from ..jit.ir.graph import Graph
from ..jit.ir.inlining import inlined
from .capture import Captured, capture
from .decompositions import decomposed
from .dims import Dim, Hint, dynamic_sizes, hinted_sizes
from .fx_graph import as_module, shown, size_symbols, with_state
from .graph_signature import ExportGraphSignature, TensorArgument
from .other_sizes import check_named, find_other_inputs, follow_hints
from .symbols import Symbol, ValueRange

__all__ = ["ExportedProgram", "export", "load", "save"]

_PREFIX = "model."  # of the module's own names, in the program
_NO_FILE = "torch.export.load: the file was not written by Rushlight's torch.export.save"


class _Shapes:
    """The sizes with which the program may be called: those of the example, but for those that may change."""

    def __init__(self, captured_inputs: list[Tensor], names: list[str], sizes: dict[int, dict[int, str]]):
        self.rows = [
            (name, t.dtype, tuple(t.shape), {d % t.ndim: text for d, text in sizes.get(i, {}).items()})
            for i, (name, t) in enumerate(zip(names, captured_inputs, strict=True))
        ]

    def check(self, tensors: list[Tensor]) -> None:
        """Raise where a tensor has another size than the example, in a dimension that may not change."""
        if len(tensors) != len(self.rows):
            raise ValueError(f"the exported program takes {len(self.rows)} tensors, and {len(tensors)} were given")
        for t, (name, _, shape, free) in zip(tensors, self.rows, strict=True):
            if t.ndim != len(shape):
                raise AssertionError(f"Guard failed: {name} has {t.ndim} dimensions, and the example has {len(shape)}")
            for i, (size, known) in enumerate(zip(t.shape, shape, strict=True)):
                if i not in free and size != known:
                    raise AssertionError(f"Guard failed: {name}.size()[{i}] == {known}, and {size} was given")


class GuardsFn(Module):
    """A mark in the modules of `module()`: sizes are checked before the graph runs."""


class _Running(Module):
    """What `ExportedProgram.module()` gives: called as the module that was exported, with its parameters."""

    def __init__(self, program: ExportedProgram, check_guards: bool):
        super().__init__()
        with_state(program._captured, self)
        if check_guards:
            self._guards_fn = GuardsFn()
        object.__setattr__(self, "_program", program)
        object.__setattr__(self, "_checks", check_guards)

    @property
    def graph(self) -> FXGraph:
        """The graph, which reads parameters and buffers as attributes."""
        return self._written[0]

    @property
    def code(self) -> str:
        """The Python code of the graph."""
        graph, generator = self._written
        graph.set_codegen(generator)
        return graph.python_code("self").src

    @property
    def _written(self) -> tuple[FXGraph, Any]:
        program = self._program
        return as_module(program._captured, program.graph, program.graph_signature, self._checks)

    def _get_name(self) -> str:
        return "GraphModule"

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.code}\n# To see more debug info, please use `graph_module.print_readable()`"

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The results, nested as the module's."""
        return self._program._run(args, kwargs, self._checks)

    def train(self, mode: bool = True) -> Any:
        """Raises NotImplementedError: the mode is the one that the module had when it was exported."""
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> Any:
        """Raises NotImplementedError, as `train`."""
        raise NotImplementedError("Calling eval() is not supported yet.")


class ExportedProgram:
    """A module's run: `module()` calls it, `graph` shows it, `torch.export.save` writes it to a file.

    state_dict: the parameters and buffers; graph_module: what runs, with its code; example_inputs: (args, kwargs);
    range_constraints: {name: (least, most)} of the sizes that may change.
    """

    def __init__(self, captured: Captured, sizes: dict[int, dict[int, str]], ranges: dict[str, tuple[int, int]]):
        self._captured, self._sizes, self._ranges = captured, sizes, ranges
        self._shapes = _Shapes(captured.inputs, captured.names, sizes)

    @property
    def range_constraints(self) -> dict[Symbol, ValueRange]:
        """The bounds of the sizes that may change, by their symbols in the graph."""
        known = size_symbols(self._captured, self._sizes)
        return {known[name]: ValueRange(*bounds) for name, bounds in self._ranges.items() if name in known}

    @cached_property
    def _shown(self) -> tuple[GraphModule, ExportGraphSignature]:
        return shown(self._captured, self._sizes)

    @property
    def graph(self) -> FXGraph:
        """The calls of `torch.ops.aten`, with shapes in their nodes' `meta["val"]`. Raises NotImplementedError for a program
        with branches of `torch.cond`.
        """
        return self.graph_module.graph

    @property
    def graph_module(self) -> GraphModule:
        """The graph as a module: it takes parameters, buffers, constants and inputs, in the order of `graph_signature`."""
        return self._shown[0]

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What each input and each result of the graph is."""
        return self._shown[1]

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by their paths in the module."""
        state = self._captured.traced.state_dict(keep_vars=True)
        return {name.removeprefix(_PREFIX): value for name, value in state.items()}

    @property
    def example_inputs(self) -> tuple[tuple, dict[str, Any]]:
        """The example's arguments, by place and by name."""
        return pytree.tree_unflatten(*self._captured.arguments)

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """The parameters with their paths."""
        return ((n.removeprefix(_PREFIX), p) for n, p in self._captured.traced.named_parameters())

    def parameters(self) -> Iterator[Any]:
        """The parameters."""
        return (p for _, p in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their paths."""
        return ((n.removeprefix(_PREFIX), b) for n, b in self._captured.traced.named_buffers())

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        return (b for _, b in self.named_buffers())

    def module(self, check_guards: bool = True) -> Module:
        """A module that is called as the one that was exported; check_guards: sizes must be as exported."""
        return _Running(self, check_guards)

    def run_decompositions(
        self, decomp_table: Any = None, decompose_custom_triton_ops: bool = False
    ) -> ExportedProgram:
        """A program whose graph has torch's core ATen operators: `addmm` of a permuted weight for `linear`, and so on.

        Its `module()` runs what was exported, which gives the same numbers to rounding. Raises NotImplementedError for a
        table, for sizes that may change, for results that are no tensors of the graph, and, with its name, for an operator that has no
        decomposition here, as those that write in place.
        """
        if decomp_table:
            raise NotImplementedError("ExportedProgram.run_decompositions with a table is not implemented")
        if self._sizes:
            raise NotImplementedError("ExportedProgram.run_decompositions of sizes that may change is not implemented")
        return _Decomposed(self)

    def _run(self, args: tuple, kwargs: dict[str, Any], check: bool = True) -> Any:
        order = list(self.example_inputs[1])
        named = {name: kwargs[name] for name in sorted(kwargs, key=lambda n: order.index(n) if n in order else -1)}
        leaves, structure = pytree.tree_flatten((tuple(args), named))
        known, expected = self._captured.arguments
        if structure != expected:
            raise ValueError(
                "Trying to flatten user inputs with exported input tree spec: the program was exported for the arguments "
                f"{self._captured.parameters} by place and {order} by name, nested as {expected}, and got {structure}"
            )
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        for given, example in zip(leaves, known, strict=True):
            if not isinstance(example, Tensor) and given != example:
                raise AssertionError(f"Guard failed: {example!r} was exported, and {given!r} was given")
        if check:
            self._shapes.check(tensors)
        results, nested = self._captured.results
        found = iter(self._captured.traced(*tensors))
        return pytree.tree_unflatten([next(found) if isinstance(r, Tensor) else r for r in results], nested)

    def __str__(self) -> str:
        code = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        signature = str(self.graph_signature).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {code}\nGraph signature: {signature}\nRange constraints: {self.range_constraints}\n"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises RuntimeError, as torch's: `module()` is what is called."""
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )


class _Decomposed(ExportedProgram):
    """A program that shows its graph in core operators."""

    def __init__(self, program: ExportedProgram):
        super().__init__(program._captured, program._sizes, program._ranges)
        module = decomposed(program.graph)
        old, signature = program.graph_signature, module.graph.output_node().args[0]
        results = [
            replace(spec, arg=TensorArgument(out.name) if isinstance(out, Node) else spec.arg)
            for spec, out in zip(old.output_specs, signature, strict=True)
        ]
        self.__dict__["_shown"] = module, replace(old, output_specs=results)

    def run_decompositions(
        self, decomp_table: Any = None, decompose_custom_triton_ops: bool = False
    ) -> ExportedProgram:
        """The program itself. Raises NotImplementedError for a table."""
        if decomp_table:
            raise NotImplementedError("ExportedProgram.run_decompositions with a table is not implemented")
        return self


def export(
    mod: Module,
    args: tuple,
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Run a module for an example and keep what it did: operators of torch on its parameters, without its Python.

    Control flow is the one that the example took. dynamic_shapes: which sizes may change, {argument: {dimension: Dim}}
    or a tuple with a dict for each argument; others must be the example's, which `module()` checks.

    Raises ValueError for arguments in no tuple and names that are no arguments; UserError, a RuntimeError, for a `Dim` whose
    size is 0 or 1 in the example; NotImplementedError,
    with its name, for an operator that no program has; RuntimeError where the module's Python reads elements that depend
    on the inputs, or sizes that may change, so that the program would hold for the example alone.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise ValueError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    if preserve_module_call_signature:
        raise NotImplementedError("torch.export.export(preserve_module_call_signature=...) is not implemented")
    with region.export():
        captured = capture(mod, args, kwargs or {})
        sizes = dynamic_sizes(captured, dynamic_shapes, None, captured.names)
        hints = hinted_sizes(captured, dynamic_shapes)
        check_named(captured, sizes, hints)
        sizes = follow_hints(captured, sizes, hints) if hints else sizes
        find_other_inputs(captured, sizes, 2 if hints else 1)
    return ExportedProgram(captured, sizes, _ranges(dynamic_shapes, sizes, hints))


def _ranges(
    shapes: Any, sizes: dict[int, dict[int, str]], hints: dict[tuple[int, int], Hint]
) -> dict[str, tuple[int, int]]:
    """The bounds of each name; those that a hint gives start at 2."""
    dims = [leaf for leaf in pytree.tree_leaves(shapes) if isinstance(leaf, Dim)]
    found = {dim.__name__: (dim.min, dim.max) for dim in dims}
    for (i, d), hint in hints.items():
        if (name := sizes.get(i, {}).get(d)) is not None:
            least, most = found.get(name, (2, 2**63 - 1))
            found[name] = max(least, 2, hint.min or 0), min(most, most if hint.max is None else hint.max)
    return found


# ------------------------------------------------------------------------------------------ files


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write a program to a file, a zip archive that `load` reads; it is no file of torch's own `torch.export`.

    Raises TypeError for anything but an ExportedProgram, and NotImplementedError after `run_decompositions`.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    if isinstance(ep, _Decomposed):
        raise NotImplementedError("torch.export.save of a decomposed program is not implemented; save the exported one")
    program, values = BytesIO(), BytesIO()
    save_program(ep._captured.traced, program)
    save_values(_described(ep), values)
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr("rushlight_export/version", json.dumps({"format": 1}))
        archive.writestr("rushlight_export/program", program.getvalue())
        archive.writestr("rushlight_export/values", values.getvalue())
        for name, text in (extra_files or {}).items():
            archive.writestr(f"extra_files/{name}", text if isinstance(text, bytes) else str(text))


def _described(ep: ExportedProgram) -> dict[str, Any]:
    captured = ep._captured
    kept = {
        "names": captured.names,
        "parameters": captured.parameters,
        "sizes": ep._sizes,
        "ranges": ep._ranges,
    }
    for name, (leaves, structure) in (("arguments", captured.arguments), ("results", captured.results)):
        plain = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        kept[name] = pytree.tree_unflatten(plain, structure)
    return kept


def load(
    f: str | os.PathLike | Any,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:
    """The program of a file that `save` wrote; extra_files: {name: anything}, whose values become the file's.

    Raises RuntimeError for other files.
    """
    try:
        with zipfile.ZipFile(f) as archive:
            program, values = [archive.read(f"rushlight_export/{part}") for part in ("program", "values")]
            for name in extra_files or {}:
                extra_files[name] = archive.read(f"extra_files/{name}").decode()  # type: ignore[index]
    except (KeyError, zipfile.BadZipFile):
        raise RuntimeError(_NO_FILE) from None
    kept = load_values(BytesIO(values))
    traced = load_program(BytesIO(program))
    graph: Graph = inlined(traced._forward, traced)
    arguments, results = [pytree.tree_flatten(kept[name]) for name in ("arguments", "results")]
    inputs = [leaf for leaf in arguments[0] if isinstance(leaf, Tensor)]
    captured = Captured(graph, traced, kept["names"], kept["parameters"], inputs, arguments, results)
    return ExportedProgram(captured, kept["sizes"], kept["ranges"])
