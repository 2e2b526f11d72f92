"""Programs: values, nodes that compute them, and their types.

What `trace` records is straight-line code, but for a `prim::If` of `torch.cond`; `prim::If` and `prim::Loop` have blocks. Nodes are named as torch's: `aten::add` with the arguments of torch's schema,
all of them, and `prim::` nodes for constants, containers, attributes and calls of methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .names import Names

__all__ = ["BOOL", "COMPLEX", "DEVICE", "FLOAT", "INT", "NONE", "NUMBER", "STRING", "TENSOR", "Block", "Graph", "Node", "Type", "Value"]  # fmt: skip


class Type(NamedTuple):
    """A type of TorchScript. kind: "Tensor", "int", "List", "Class" ...; parts: those of a container.

    detail: of a tensor that the trace has seen, what `.graph` shows by `str`; the name of a class.
    """

    kind: str
    parts: tuple[Type, ...] = ()
    detail: Any = ""

    def annotation(self) -> str:
        """As TorchScript's source writes it: List[Tensor]."""
        if self.kind == "Class":
            return self.detail
        if not self.parts:
            return f"{self.kind}[()]" if self.kind == "Tuple" else self.kind
        return f"{self.kind}[{', '.join(part.annotation() for part in self.parts)}]"

    def __str__(self) -> str:
        """As `.graph` shows it: Tensor[]."""
        parts = [str(part) for part in self.parts]
        if self.kind == "List":
            return f"{self.parts[0].kind if self.parts[0].kind == 'Tensor' else parts[0]}[]"
        if self.kind == "Optional":
            return f"{parts[0]}?"
        if self.kind == "Tuple":
            return f"({', '.join(parts)})"
        if self.kind == "Dict":
            return f"Dict({', '.join(part.kind for part in self.parts)})"
        return str(self.detail) or self.kind

    def without_details(self) -> Type:
        """The type without what a trace has seen of the tensors."""
        parts = tuple(part.without_details() for part in self.parts)
        return Type(self.kind, parts, "" if self.kind == "Tensor" else self.detail)


TENSOR, INT, FLOAT, BOOL, STRING = (Type(kind) for kind in ("Tensor", "int", "float", "bool", "str"))
NUMBER, DEVICE, NONE, COMPLEX = Type("Scalar"), Type("Device"), Type("NoneType"), Type("complex")


def list_of(part: Type) -> Type:
    return Type("List", (part,))


class Value:
    """What a node computes, or an input. hint: the name that it had in Python; owner: the call whose graph it is
    in.
    """

    __slots__ = ("hint", "owner", "type")

    def __init__(self, type: Type, hint: str = "", owner: Any = None):
        self.type, self.hint, self.owner = type, hint, owner


class Node:
    """One step. attributes: of a `prim::` node; schema: of an `aten::` one; place: the line of Python, as "file:3".

    program_place: the program's line, where `place` is one of a module of Rushlight's; errors tell it.
    scope: the path of the module that was called, with those of the modules around it.
    """

    __slots__ = ("attributes", "blocks", "inputs", "kind", "outputs", "place", "program_place", "schema", "scope")

    def __init__(
        self,
        kind: str,
        inputs: list[Value],
        outputs: list[Value],
        attributes: dict[str, Any] | None = None,
        schema: Any = None,
        place: str = "",
        scope: str = "",
    ):
        self.kind, self.inputs, self.outputs = kind, inputs, outputs
        self.attributes = attributes or {}
        self.blocks: list[Block] = []
        self.schema, self.place, self.scope = schema, place, scope
        self.program_place = ""

    @property
    def is_constant(self) -> bool:
        return self.kind == "prim::Constant"

    @property
    def writes(self) -> bool:
        """Whether the step changes a tensor in place, or may do so."""
        if self.kind.startswith("^") or self.kind == "prim::CallFunction":
            return True
        space, _, name = self.kind.partition("::")
        if space not in ("aten", "prim", "quantized") and self.schema is not None:
            return any(p.written for p in self.schema.parameters)
        return name.endswith("_") and not name.endswith("__") or name.startswith("__i") and name in _IN_PLACE

    @property
    def value(self) -> Any:
        """Of a constant."""
        return self.attributes.get("value")


_IN_PLACE = ("__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__")


class Block:
    """A branch of a `prim::If`, or the body of a `prim::Loop`, whose inputs are the count and what it carries on.

    outputs: the node's; of a loop first whether it goes on.
    """

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []


class Graph:
    """A function, or a method, whose first input is then its module. outputs: exactly one value when it is
    finished.
    """

    def __init__(self, name: str = "forward"):
        self.name = name
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self.defaults: dict[Value, Any] = {}  # of inputs
        self.numbers: dict[Value, int] = {}  # of values without a name, where they are not those of their order
        self.names = Names()  # that variables of a script give to their values
        self.lengths: dict[Value, int] = {}  # of inputs that are lists: how many numbers one number becomes

    def constants(self) -> Iterator[Any]:
        """The tensors among the constants."""
        return (node.value for node in self.all_nodes() if node.is_constant and node.outputs[0].type.kind == "Tensor")

    def all_nodes(self) -> Iterator[Node]:
        """The nodes, each before those of its blocks."""
        return nodes_of(self)

    def all_values(self) -> Iterator[Value]:
        """Inputs and results, those of blocks after the node's own."""
        return values_of(self)

    def uses(self) -> dict[Value, int]:
        """How often each value is read."""
        count: dict[Value, int] = {}
        read = [value for node in self.all_nodes() for value in reads_of(node)] + self.outputs
        for value in read:
            count[value] = count.get(value, 0) + 1
        return count


def nodes_of(block: Graph | Block) -> Iterator[Node]:
    """The nodes of a block and of the blocks inside."""
    for node in block.nodes:
        yield node
        for inner in node.blocks:
            yield from nodes_of(inner)


def values_of(block: Graph | Block) -> Iterator[Value]:
    """The values that a block and those inside define."""
    yield from block.inputs
    for node in block.nodes:
        yield from node.outputs
        for inner in node.blocks:
            yield from values_of(inner)


def reads_of(node: Node) -> list[Value]:
    """What a node reads, and its blocks give."""
    return [*node.inputs, *(v for block in node.blocks for v in block.outputs)]


def list_with(block: Graph | Block, node: Node) -> list[Node]:
    """The list, of a block or one inside, that has a node. Raises StopIteration where none has."""
    lists = [block.nodes, *(inner.nodes for n in nodes_of(block) for inner in n.blocks)]
    return next(nodes for nodes in lists if any(n is node for n in nodes))
