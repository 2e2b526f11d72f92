"""`.schema` of a scripted function or method: its arguments with types and defaults, and the type of its result."""

from __future__ import annotations

from ....core.dispatch.aten.function_schema import FunctionSchema
from ....core.dispatch.aten.schemas import Parameter, Schema
from .code import literal
from .graph import Graph, Type

__all__ = ["schema_of_graph"]


def _plain(kind: Type) -> Type:
    """A type without what a trace has seen of its tensors."""
    return kind._replace(detail="" if kind.kind == "Tensor" else kind.detail, parts=tuple(map(_plain, kind.parts)))


def schema_of_graph(graph: Graph) -> FunctionSchema:
    """The schema, which prints as torch's: `f(Tensor x, int n=2) -> Tensor`."""
    parameters, words = [], []
    for value in graph.inputs:
        kind, name = str(_plain(value.type)), value.hint or "self"
        default = literal(graph.defaults[value]) if value in graph.defaults else None
        parameters.append(Parameter(name, kind, default, False))
        words.append(f"{kind} {name}" if default is None else f"{kind} {name}={default}")
    result = str(_plain(graph.outputs[0].type))
    returned = f"({result})" if result.startswith("(") else result
    text = f"{graph.name}({', '.join(words)}) -> {returned}"
    return FunctionSchema(Schema(graph.name, "default", tuple(parameters), returned), "", text)
