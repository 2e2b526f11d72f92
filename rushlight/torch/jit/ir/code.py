"""`.code`: a graph as TorchScript's source, in the layout of torch.

Values that are read once are written where they are read, as long as nothing changes its place in time; a statement
that would be long is split.
"""

from __future__ import annotations

import math
from typing import Any

from ....core.device.devices import device
from ....core.tensor.tensor import Tensor
from .graph import Block, Graph, Node, Value, nodes_of
from .literals import object_of
from .running import is_default

__all__ = ["Constants", "code_of_graph"]

_LONG = 40  # characters, with the indentation
_RESERVED = frozenset((
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or",
    "pass", "raise", "return", "try", "while", "with", "yield", "inf", "nan", "infj", "nanj", "ops", "__torch__",
    "int",
    "float", "bool", "complex", "print", "getattr", "annotate", "CONSTANTS", "fork", "attribute", "_", "torch",
    "uninitialized",
))  # fmt: skip
_CONVERSIONS = {"aten::Int": "int({})", "aten::Float": "float({})", "aten::Bool": "bool({})"}
_CONVERSIONS |= {"aten::str": "str({})", "aten::sorted": "sorted({})"}
_CONVERSIONS |= {"aten::ScalarImplicit": "annotate(number, {})", "aten::IntImplicit": "annotate(int, {})"}
_CONVERSIONS |= {"aten::FloatImplicit": "annotate(float, {})"}


class Constants:
    """The tensors that several graphs name `CONSTANTS.c0` and so on; equal ones are one."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []

    def name(self, t: Tensor) -> str:
        """The name of a tensor."""
        for i, known in enumerate(self.tensors):
            if known is t or _is_same(known, t):
                return f"CONSTANTS.c{i}"
        self.tensors.append(t)
        return f"CONSTANTS.c{len(self.tensors) - 1}"


def _is_same(a: Tensor, b: Tensor) -> bool:
    same = a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride() and a.device == b.device
    return same and a._array.tobytes() == b._array.tobytes()


def code_of_graph(graph: Graph, constants: Constants, annotate_self: str = "", indent: int = 0) -> str:
    """The source of a function or method. annotate_self: the class that the first argument is written with."""
    return _Printer(graph, constants, indent).text(annotate_self)


class _Printer:
    def __init__(self, graph: Graph, constants: Constants, indent: int):
        self.graph, self.constants, self.indent = graph, constants, indent
        self.lines: list[str] = []
        self.depth = 0  # of blocks
        self.names: dict[Value, str] = {}  # of variables
        self.inline: dict[Value, str] = {}  # of values that are written where they are read
        self.used: set[str] = set()
        self.next: dict[str, int] = {}
        self.makers = {v: node for node in graph.all_nodes() for v in node.outputs}
        self.uses = graph.uses()
        self.inlined: set[int] = set()
        self.pending: list[Value] = []  # written nowhere yet, in the order in which they are computed
        self._choose_inlined()

    # ------------------------------------------------------------------------------------------ what is inlined

    def _choose_inlined(self) -> None:
        blocks = [block for node in nodes_of(self.graph) for block in node.blocks]
        self.returned = {v for block in (self.graph, *blocks) for v in block.outputs}
        self._scan_block(self.graph)

    def _scan_block(self, block: Graph | Block) -> None:
        order = [node for node in block.nodes if not node.is_constant]
        place = {id(node): i for i, node in enumerate(order)}
        self._scan(place, len(order), block.outputs)
        for i in reversed(range(len(order))):
            if id(order[i]) not in self.inlined:
                for inner in order[i].blocks:
                    self._scan_block(inner)
                carried = 2 if order[i].kind == "prim::Loop" else None  # what a loop carries on has variables
                self._scan(place, i, order[i].inputs[:carried])

    def _scan(self, place: dict[int, int], at: int, inputs: list[Value]) -> int:
        """Inline what ends right before place `at`, from the last input on; the place that the expression begins
        at.
        """
        point = at - 1
        for value in reversed(inputs):
            node = self.makers.get(value)
            if (
                node is not None
                and not node.is_constant
                and place.get(id(node)) == point
                and self._may_inline(value, node)
            ):
                before = self._scan(place, point, node.inputs)
                self.inlined.add(id(node))
                point = before
        return point

    def _may_inline(self, value: Value, node: Node) -> bool:
        if len(node.outputs) != 1 or self.uses.get(value) != 1 or node.kind.endswith("Unpack") or node.blocks:
            return False
        return not value.hint or value in self.returned

    # ------------------------------------------------------------------------------------------ statements

    def text(self, annotate_self: str) -> str:
        arguments = []
        for i, value in enumerate(self.graph.inputs):
            is_self = not i and value.type.kind == "Class"
            kind = annotate_self if is_self else value.type.annotation()
            name = self._variable(value, "self" if is_self else f"argument_{i}")
            default = f"={literal(self.graph.defaults[value])}" if value in self.graph.defaults else ""
            arguments.append(f"{name}: {kind}{default}" if kind else name)
        for node in self._functions_first():
            self._statement(node)
        result = self.graph.outputs[0]
        self._split([result])
        self._line(f"return {self._read(result)}")
        pad = "  " * self.indent
        joined = f",\n{pad}    ".join(arguments)
        head = f"{pad}def {self.graph.name}({joined}) -> {result.type.annotation()}:\n"
        return head + "".join(f"{pad}  {line}\n" for line in self.lines)

    def _functions_first(self) -> list[Node]:
        """The graph's nodes, first the functions that are constants, in the order in which they are called."""
        read = {v: i for i, v in reversed([*enumerate(v for n in self.graph.all_nodes() for v in n.inputs)])}
        functions = [n for n in self.graph.nodes if n.is_constant and "name" in n.attributes]
        functions.sort(key=lambda n: read.get(n.outputs[0], len(read)))
        return [*functions, *(n for n in self.graph.nodes if n not in functions)]

    def _line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def _statement(self, node: Node) -> None:
        if node.is_constant:
            text = node.attributes["name"] if "name" in node.attributes else self._constant(node.value)
            if "name" in node.attributes and len(text) + 2 * (self.indent + 1) >= _LONG:
                self._assign(node, text)  # a function with a long name
            else:
                self.inline[node.outputs[0]] = text
            return
        self._split(node.inputs)
        if node.blocks:
            self.pending = [v for v in self.pending if v not in node.inputs]
            (self._branches if node.kind == "prim::If" else self._loop)(node)
            return
        text = self._expression(node)
        self.pending = [v for v in self.pending if v not in node.inputs]
        if id(node) in self.inlined:
            self.inline[node.outputs[0]] = text
            self.pending.append(node.outputs[0])
        else:
            self._assign(node, text)

    def _assign(self, node: Node, text: str) -> None:
        names = ", ".join(self._variable(v) for v in node.outputs)
        self._line(f"{names}{',' if node.kind.endswith('Unpack') else ''} = {text}" if names else text)

    def _branches(self, node: Node) -> None:
        names = [self._variable(v) for v in node.outputs]
        self._line(f"if {self._read(node.inputs[0])}:")
        kind = node.outputs[0].type if len(names) == 1 else None
        typed = [f"{names[0]} : {kind.annotation()}"] if kind is not None and kind.kind == "Optional" else names
        self._block(node.blocks[0], typed, node.blocks[0].outputs)
        self._line("else:")
        self._block(node.blocks[1], names, node.blocks[1].outputs)

    def _loop(self, node: Node) -> None:
        body, goes_on = node.blocks[0], self.makers.get(node.inputs[1])
        counted = goes_on is not None and goes_on.is_constant and body.outputs[0] is node.inputs[1]
        names = [self._variable(v) for v in node.outputs]
        for inside, name in zip(body.inputs[1:], names, strict=True):
            self.names[inside] = name
        for name, first in zip(names, node.inputs[2:], strict=True):
            self._line(f"{name} = {self._read(first)}")
        count = self._variable(body.inputs[0])
        if counted:
            self._line(f"for {count} in range({self._read(node.inputs[0])}):")
            self._block(body, names, body.outputs[1:])
        else:
            self._line(f"{count} = {self._read(node.inputs[1])}")
            self._line(f"while {count}:")
            self._block(body, [count, *names], body.outputs)

    def _block(self, block: Block, names: list[str], outputs: list[Value]) -> None:
        """The statements of a block, and its results in the variables of those names."""
        self.depth += 1
        for node in block.nodes:
            self._statement(node)
        if names:
            self._split(outputs)
            self._line(f"{', '.join(names)} = {', '.join(map(self._read, outputs))}")
            self.pending = [v for v in self.pending if v not in outputs]
        elif all(node.is_constant for node in block.nodes):
            self._line("pass")
        self.depth -= 1

    def _split(self, inputs: list[Value]) -> None:
        """Give variables to what is written inside a statement, up to the last of it that is long.

        So does what is computed before: it must not come later than the statements that this makes.
        """
        indented = 2 * (self.indent + self.depth + 1)
        last = [v for v in inputs if v in self.pending and len(self.inline[v]) + indented >= _LONG][-1:]
        while last and last[0] in self.pending:
            value = self.pending.pop(0)
            text = self.inline.pop(value)
            self._assign(self.makers[value], text)

    def _read(self, value: Value) -> str:
        return self.inline[value] if value in self.inline else self.names[value]

    def _variable(self, value: Value, default: str = "") -> str:
        base = (value.hint or default or "_").partition(".")[0]
        name = base = base if base.isidentifier() else "_" + base
        while name in self.used or name in _RESERVED:
            number = self.next.get(base, 0)
            self.next[base] = number + 1
            name = f"{base}{number}"
        self.used.add(name)
        self.names[value] = name
        return name

    # ------------------------------------------------------------------------------------------ expressions

    def _expression(self, node: Node) -> str:
        kind, inputs = node.kind, [self._read(v) for v in node.inputs]
        if kind in _CONVERSIONS:
            return _CONVERSIONS[kind].format(*inputs)
        if kind in ("aten::__getitem__", "prim::TupleIndex"):
            container = inputs[0] if inputs[0].isidentifier() and kind == "aten::__getitem__" else f"({inputs[0]})"
            return f"{container}[{inputs[1]}]"
        if kind == "prim::unchecked_cast":
            return f"unchecked_cast({node.outputs[0].type.annotation()}, {inputs[0]})"
        if kind == "prim::Uninitialized":
            return f"uninitialized({node.outputs[0].type.annotation()})"
        if kind == "prim::Print":
            return f"print({', '.join(inputs)})"
        if kind == "prim::CallFunction":
            return f"{inputs[0]}({''.join(f'{v}, ' for v in inputs[1:])})"
        if kind == "prim::RaiseException" and inputs[1] == "None":
            return f"ops.prim.RaiseException({inputs[0]})"
        if node.schema is not None and not kind.startswith("prim::"):
            return self._call(node, inputs)
        if kind == "prim::ListConstruct":
            return self._list(node, inputs)
        if kind == "prim::TupleConstruct":
            return f"({', '.join(inputs)}{',' if len(inputs) == 1 else ''})"
        if kind == "prim::DictConstruct":
            pairs = ", ".join(f"{k}: {v}" for k, v in zip(inputs[::2], inputs[1::2], strict=True))
            return f"{{{pairs}}}" if pairs else f"annotate({node.outputs[0].type.annotation()}, {{}})"
        if kind == "prim::GetAttr":
            name = node.attributes["name"]
            return (
                f"{inputs[0]}.{name}"
                if name.isidentifier() and name not in _RESERVED
                else f'getattr({inputs[0]}, "{name}")'
            )
        if kind == "prim::SetAttr":
            return f"{inputs[0]}.{node.attributes['name']} = {inputs[1]}"
        if kind == "prim::CallMethod":
            return f"({inputs[0]}).{node.attributes['name']}({''.join(f'{v}, ' for v in inputs[1:])})"
        if kind.endswith("Unpack"):
            return inputs[0]
        if kind.startswith("^"):
            return f"{kind}({node.attributes['function'].shown_arguments()})({', '.join(inputs)})"
        return f"ops.{kind.replace('::', '.')}({', '.join(inputs)})"

    def _list(self, node: Node, inputs: list[str]) -> str:
        kind = node.outputs[0].type
        text = f"[{', '.join(inputs)}]"
        plain = inputs and kind.parts[0].kind not in ("Optional", "Scalar")
        return text if plain else f"annotate({kind.annotation()}, {text})"

    def _call(self, node: Node, inputs: list[str]) -> str:
        given = list(zip(node.schema.parameters, inputs, node.inputs, strict=True))
        while given and self._has_default(given[-1][0], given[-1][2]):
            given.pop()
        space, _, name = node.kind.partition("::")
        function = f"torch.{name}" if space == "aten" else f"ops.{space}.{name}"
        return f"{function}({', '.join(f'{p.name}={text}' if p.keyword else text for p, text, _ in given)})"

    def _has_default(self, p: Any, value: Value) -> bool:
        """Whether an argument is a constant with its default."""
        node = self.makers.get(value)
        if node is None or p.default is None:
            return False
        if node.is_constant:
            if isinstance(node.value, Tensor):
                return False
            return is_default(p, object_of(p.type.rstrip("?"), node.value))
        if node.kind != "prim::ListConstruct":
            return False
        parts = [self.makers.get(v) for v in node.inputs]
        return all(n is not None and n.is_constant for n in parts) and is_default(p, [n.value for n in parts if n])

    def _constant(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return self.constants.name(value)
        return literal(value)


def literal(value: Any) -> str:
    """A number, a text, a device or None in TorchScript's source."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, (device,)):
        return f'torch.device("{value}")'
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, complex):
        return f"{_float(value.real)}+{_float(value.imag)}j"
    if isinstance(value, str):
        escaped = (
            value.replace("\\", "\\\\")
            .replace('"', '\\"')
            .replace("\n", "\\n")
            .replace("\t", "\\t")
            .replace("\r", "\\r")
        )
        return f'"{escaped}"'
    return str(value)


def _float(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    text = f"{value:.17g}"
    return text if "." in text or "e" in text else text + "."
