"""`.graph`: a graph as torch prints it, and the objects that programs look at it by."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ....core.device.devices import device
from ....core.tensor.tensor import Tensor
from .graph import Graph, Node, Type, Value
from .literals import NAMES_OF_TYPES
from .names import Names

__all__ = ["GraphView"]


_KINDS = {
    "int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType", "Scalar": "NumberType",
    "Device": "DeviceObjType", "NoneType": "NoneType", "complex": "ComplexType",
}  # fmt: skip
_WAYS = {"t": Tensor, "i": int, "f": float, "c": complex}


class TypeView:
    """A type of a graph that is looked at. Of tensors that the trace has not seen sizes and the like are None."""

    def __init__(self, type: Type):
        self._type = type

    def kind(self) -> str:
        """As "TensorType"."""
        return _KINDS.get(self._type.kind, f"{self._type.kind}Type")

    def annotation_str(self) -> str:
        """As TorchScript's source writes it."""
        return self._type.annotation()

    __str__ = __repr__ = str = annotation_str

    def _fact(self, name: str) -> Any:
        return getattr(self._type.detail, name, None)

    def sizes(self) -> list[int] | None:
        """The shape."""
        return None if (found := self._fact("sizes")) is None else list(found)

    def strides(self) -> list[int] | None:
        """The strides in elements."""
        return None if (found := self._fact("strides")) is None else list(found)

    def dim(self) -> int | None:
        """How many dimensions the tensor has."""
        return None if (found := self._fact("sizes")) is None else len(found)

    def scalarType(self) -> str | None:
        """As "Float"."""
        return self._fact("scalar_type")

    def requires_grad(self) -> bool:
        """Whether the tensor requires grad."""
        return bool(self._fact("requires_grad"))


class NodeView:
    """A node of a graph that is looked at."""

    def __init__(self, graph: GraphView, node: Node):
        self._graph, self._node = graph, node

    def kind(self) -> str:
        """Its operator, such as "aten::add"."""
        return self._node.kind

    def scopeName(self) -> str:
        """The path of the modules that were called."""
        return self._node.scope

    def attributeNames(self) -> list[str]:
        """The names of its attributes: "value" of a constant that is not None."""
        return [name for name, value in self._node.attributes.items() if name != "is_number" and value is not None]

    def hasAttribute(self, name: str) -> bool:
        """Whether it has an attribute of this name."""
        return name in self.attributeNames()

    def kindOf(self, name: str) -> str:
        """The method that gives an attribute: "t" for tensors, "i" for ints and bools, "f", "c", "s"."""
        value = self._node.attributes[name]
        return next((way for way, kinds in _WAYS.items() if isinstance(value, kinds)), "s")

    def t(self, name: str) -> Tensor:
        """An attribute that is a tensor."""
        return self._node.attributes[name]

    def i(self, name: str) -> int:
        """An attribute that is an int or a bool."""
        return int(self._node.attributes[name])

    def f(self, name: str) -> float:
        """An attribute that is a float."""
        return self._node.attributes[name]

    def c(self, name: str) -> complex:
        """An attribute that is a complex number."""
        return self._node.attributes[name]

    def s(self, name: str) -> str:
        """An attribute that is a text or a device."""
        return str(self._node.attributes[name])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeView) and self._node is other._node

    def __hash__(self) -> int:
        return id(self._node)

    def inputs(self) -> Iterator[ValueView]:
        """What it reads."""
        return (ValueView(self._graph, v) for v in self._node.inputs)

    def outputs(self) -> Iterator[ValueView]:
        """What it gives."""
        return (ValueView(self._graph, v) for v in self._node.outputs)

    def __str__(self) -> str:
        return self._graph._lines(self._node, 0)

    __repr__ = __str__


class ValueView:
    """A value of a graph that is looked at."""

    def __init__(self, graph: GraphView, value: Value):
        self._graph, self._value = graph, value

    def debugName(self) -> str:
        """Its name without the percent sign."""
        return self._graph._names[self._value]

    def type(self) -> TypeView:
        """Its type; `str` gives torch's text."""
        return TypeView(self._value.type)

    def isCompleteTensor(self) -> bool:
        """Whether it is a tensor that the trace has seen."""
        return self.type().sizes() is not None

    def requires_grad(self) -> bool:
        """Whether it is a tensor that requires grad."""
        return self.type().requires_grad()

    def toIValue(self) -> Any:
        """A constant's value, None for what is computed."""
        node = self.node()._node
        if not node.is_constant:
            return None
        return node.value.item() if node.attributes.get("is_number") else node.value

    def node(self) -> NodeView:
        """What computes it; for an input the node "prim::Param"."""
        return self._graph._makers.get(self._value, self._graph._inputs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueView) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)

    def __repr__(self) -> str:
        return f"{self.debugName()} defined in ({self.node()})"


class GraphView:
    """A graph that is looked at; its text is torch's."""

    def __init__(self, graph: Graph):
        self._graph = graph
        names = Names()
        for i, value in enumerate(graph.all_values()):
            names.take(value, graph.names.of.get(value) or value.hint or str(graph.numbers.get(value, i)))
        self._names = names.of
        self._makers = {value: node for node in self._all_nodes() for value in node._node.outputs}
        self._inputs = NodeView(self, Node("prim::Param", [], graph.inputs))

    def inputs(self) -> Iterator[ValueView]:
        """The arguments, a module's first."""
        return (ValueView(self, v) for v in self._graph.inputs)

    def outputs(self) -> Iterator[ValueView]:
        """The results."""
        return (ValueView(self, v) for v in self._graph.outputs)

    def nodes(self) -> Iterator[NodeView]:
        """The nodes in order."""
        return (NodeView(self, node) for node in self._graph.nodes)

    def _all_nodes(self) -> Iterator[NodeView]:
        return (NodeView(self, node) for node in self._graph.all_nodes())

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[NodeView]:
        """The nodes of a kind."""
        return [node for node in (self._all_nodes() if recurse else self.nodes()) if node.kind() == kind]

    def findNode(self, kind: str, recurse: bool = True) -> NodeView | None:
        """The first node of a kind."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def _defined(self, value: Value) -> str:
        return f"%{self._names[value]} : {'Function' if value.type.kind == 'Function' else value.type}"

    def _line(self, node: Node) -> str:
        attributes = ""
        if node.is_constant and "name" in node.attributes:
            attributes = f'[name="{node.attributes["name"].rpartition(".")[2]}"]'
        elif node.is_constant:
            attributes = "" if node.value is None else f"[value={shown(node.value)}]"
        elif node.kind.startswith("^"):
            function = node.attributes["function"]
            attributes = f'[inplace=0, module="{function.function.__module__}"]({function.shown_arguments()})'
        elif node.attributes:
            attributes = "[" + ", ".join(f'{k}="{v}"' for k, v in node.attributes.items()) + "]"
        results = ", ".join(map(self._defined, node.outputs))
        reads = ", ".join(f"%{self._names[v]}" for v in node.inputs)
        scope = f", scope: {node.scope}" if node.scope and node.kind.startswith("aten") else ""
        place = f" # {node.place}" if node.place else ""
        return f"{results} = {node.kind}{attributes}({reads}){scope}{place}"

    def _lines(self, node: Node, depth: int) -> str:
        """A node with its blocks."""
        text = "  " * depth + self._line(node) + "\n"
        for i, block in enumerate(node.blocks):
            inputs = ", ".join(map(self._defined, block.inputs))
            text += "  " * (depth + 1) + f"block{i}({inputs}):\n"
            text += "".join(self._lines(inner, depth + 2) for inner in block.nodes)
            outputs = ", ".join(f"%{self._names[v]}" for v in block.outputs)
            text += "  " * (depth + 2) + f"-> ({outputs})\n"
        return text

    def __str__(self) -> str:
        head = ",\n      ".join(map(self._defined, self._graph.inputs))
        body = "".join(self._lines(node, 1) for node in self._graph.nodes)
        result = ", ".join(f"%{self._names[v]}" for v in self._graph.outputs)
        return f"graph({head}):\n{body}  return ({result})\n"

    __repr__ = __str__


def shown(value: Any) -> str:
    """A constant as a graph shows it."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list):
        return str(value) if value else "annotate(List[int], [])"
    if isinstance(value, float):
        text = f"{value:.17g}" if math.isfinite(value) else str(value)
        return text if not math.isfinite(value) or "." in text or "e" in text else text + "."
    if isinstance(value, Tensor):
        if value._array.size == 1:
            number = value.item()
            return f"{{{number:g}}}" if isinstance(number, (int, float)) else f"{{{number}}}"
        if value._array.ndim > 2 or value._array.size > 10 or not value._array.size or value.dtype.is_complex:
            return "<Tensor>"
        shape = ",".join(map(str, value.shape))
        return f"{_numbers(value.flatten().tolist())} [ CPU{NAMES_OF_TYPES[value.dtype]}Type{{{shape}}} ]"
    return f'"{value}"' if isinstance(value, (str, device)) else str(value)


def _numbers(values: list[Any]) -> str:
    """Numbers as torch's C++ prints a tensor of one or two dimensions, with blanks for its ends of lines."""
    finite = [abs(v) for v in values if math.isfinite(v)]
    low, high = (math.floor(math.log10(v)) + 1 if v else 1 for v in (min(finite, default=0), max(finite, default=0)))
    if all(v == int(v) for v in finite):
        return " ".join(f"{v:>11.4e}" if high > 9 else f"{v:>{high + 1}g}" for v in values)
    if high - low > 4:
        return " ".join(f"{v:>11.4e}" for v in values)
    if 0 <= high <= 5:
        return " ".join(f"{v:>{high + 6 if high else 7}.4f}" for v in values)
    scale = 10.0 ** (high - 1)
    return f"{scale:g} * " + " ".join(f"{v / scale:>7.4f}" for v in values)
