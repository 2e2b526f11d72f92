"""TorchScript's source, as archives have it, read into graphs. Python's `ast` parses it; nothing of it runs.

A `Reader` turns one method into a graph. Straight-line code is what traces have; statements of control flow raise
NotImplementedError, as do operators that Rushlight has not.
"""

from __future__ import annotations

import ast
from typing import Any

from ....core.device.device import device
from ....core.tensor.tensor import Tensor
from ..ir.graph import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STRING,
    TENSOR,
    Graph,
    Node,
    Type,
    Value,
    list_of,
)
from ..ir.literals import type_of_constant
from ..ir.running import runner
from .class_types import Classes, type_of_annotation
from .matching import match, types_of_returns

__all__ = ["read_method"]

_CONVERSIONS = {"int": ("Int", INT), "float": ("Float", FLOAT), "bool": ("Bool", BOOL)}
_IMPLICIT = {"number": ("ScalarImplicit", NUMBER), "int": ("IntImplicit", INT), "float": ("FloatImplicit", FLOAT)}
_NUMBERS = {"inf": float("inf"), "nan": float("nan")}


def read_method(function: ast.FunctionDef, classes: Classes, owner: Type, constants: list[Tensor]) -> Graph:
    """The graph of a method of class `owner`. Raises NotImplementedError, or RuntimeError for what is no
    TorchScript.
    """
    return _Reader(function, classes, owner, constants).graph


class _Reader:
    def __init__(self, function: ast.FunctionDef, classes: Classes, owner: Type, constants: list[Tensor]):
        self.classes, self.constants = classes, constants
        self.graph = Graph(function.name)
        self.names: dict[str, Value] = {}
        for i, argument in enumerate(function.args.args):
            kind = owner if not i else type_of_annotation(argument.annotation)
            self.names[argument.arg] = value = Value(kind, argument.arg)
            self.graph.inputs.append(value)
        for statement in function.body:
            self._statement(statement)
        if not self.graph.outputs:
            self.graph.outputs = [self._constant(None, NONE)]

    # ------------------------------------------------------------------------------------------ statements

    def _statement(self, statement: ast.stmt) -> None:
        if self.graph.outputs:
            raise _malformed(statement, "a statement after return")
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self._assign(statement.targets[0], statement.value)
        elif isinstance(statement, ast.Expr):
            self._expression(statement.value)
        elif isinstance(statement, ast.Return):
            self.graph.outputs = [
                self._constant(None, NONE) if statement.value is None else self._expression(statement.value)
            ]
        elif isinstance(statement, (ast.If, ast.For, ast.While, ast.Assert, ast.Raise)):
            name = type(statement).__name__.lower()
            raise NotImplementedError(
                f"torch.jit.load: line {statement.lineno} of the program's source is a statement of control flow "
                f"({name}), which "
                "Rushlight does not run; programs of torch.jit.trace have none"
            )
        elif not isinstance(statement, ast.Pass):
            raise _malformed(statement)

    def _assign(self, target: ast.expr, source: ast.expr) -> None:
        if isinstance(target, ast.Name):
            value = self._expression(source)
            value.hint = value.hint or ("" if target.id.startswith("_") else target.id)
            self.names[target.id] = value
            return
        if not isinstance(target, ast.Tuple) or not all(isinstance(part, ast.Name) for part in target.elts):
            raise _malformed(target)
        parts = self._several(source, len(target.elts))
        for part, value in zip(target.elts, parts, strict=True):
            assert isinstance(part, ast.Name)
            value.hint = "" if part.id.startswith("_") else part.id
            self.names[part.id] = value

    def _several(self, source: ast.expr, count: int) -> list[Value]:
        """The values of an expression that is unpacked."""
        value = self._expression(source)
        maker = self.graph.nodes[-1] if self.graph.nodes else None
        if maker is not None and maker.outputs[:1] == [value] and len(maker.outputs) > 1:
            parts = maker.outputs
        else:
            if value.type.kind not in ("Tuple", "List"):
                raise _malformed(source, f"a {value.type} is unpacked")
            types = value.type.parts if value.type.kind == "Tuple" else value.type.parts * count
            parts = [Value(kind) for kind in types]
            self.graph.nodes.append(Node(f"prim::{value.type.kind}Unpack", [value], parts))
        if len(parts) != count:
            raise _malformed(source, f"{len(parts)} values for {count} names")
        return parts

    # ------------------------------------------------------------------------------------------ expressions

    def _constant(self, value: Any, type: Type) -> Value:
        return self._node("prim::Constant", [], type, value=value)

    def _node(self, kind: str, inputs: list[Value], type: Type, **attributes: Any) -> Value:
        result = Value(type)
        self.graph.nodes.append(Node(kind, inputs, [result], attributes))
        return result

    def _expression(self, source: ast.expr) -> Value:
        method = getattr(self, f"_{type(source).__name__.lower()}_", None)
        if method is None:
            raise _malformed(source)
        return method(source)

    def _name_(self, source: ast.Name) -> Value:
        if source.id in self.names:
            return self.names[source.id]
        if source.id in _NUMBERS:
            return self._constant(_NUMBERS[source.id], FLOAT)
        raise _malformed(source, f"name {source.id} is not defined")

    def _constant_(self, source: ast.Constant) -> Value:
        if not isinstance(source.value, (bool, int, float, complex, str, type(None))):
            raise _malformed(source)
        return self._constant(source.value, type_of_constant(source.value))

    def _unaryop_(self, source: ast.UnaryOp) -> Value:
        value = source.operand
        if isinstance(source.op, ast.USub):
            if isinstance(value, ast.Constant) and isinstance(value.value, (int, float, complex)):
                return self._constant(-value.value, type_of_constant(value.value))
            if isinstance(value, ast.Name) and value.id in _NUMBERS:
                return self._constant(-_NUMBERS[value.id], FLOAT)
        raise _malformed(source)

    def _binop_(self, source: ast.BinOp) -> Value:
        """A complex number: 1.+2.j."""
        left, right = source.left, source.right
        constants = (
            isinstance(source.op, ast.Add) and isinstance(left, ast.Constant) and isinstance(right, ast.Constant)
        )
        if not constants or not isinstance(left.value, (int, float)) or not isinstance(right.value, complex):  # type: ignore
            raise _malformed(source)
        return self._constant(left.value + right.value, COMPLEX)  # type: ignore[attr-defined]

    def _list_(self, source: ast.List) -> Value:
        parts = [self._expression(part) for part in source.elts]
        return self._node("prim::ListConstruct", parts, list_of(parts[0].type._replace(detail="") if parts else TENSOR))

    def _tuple_(self, source: ast.Tuple) -> Value:
        parts = [self._expression(part) for part in source.elts]
        return self._node("prim::TupleConstruct", parts, Type("Tuple", tuple(part.type for part in parts)))

    def _dict_(self, source: ast.Dict) -> Value:
        pairs = [(k, v) for k, v in zip(source.keys, source.values, strict=True) if k is not None]
        parts = [self._expression(part) for pair in pairs for part in pair]
        kinds = (parts[0].type, parts[1].type) if parts else (STRING, TENSOR)
        return self._node("prim::DictConstruct", parts, Type("Dict", kinds))

    def _subscript_(self, source: ast.Subscript) -> Value:
        container, key = self._expression(source.value), self._expression(source.slice)
        if container.type.kind == "Tuple":
            at = self.graph.nodes[-1].value
            if not isinstance(at, int) or not -len(container.type.parts) <= at < len(container.type.parts):
                raise _malformed(source)
            return self._node("prim::TupleIndex", [container, key], container.type.parts[at])
        if container.type.kind not in ("List", "Dict"):
            raise _malformed(source, f"a {container.type} has no items")
        return self._node("aten::__getitem__", [container, key], container.type.parts[-1])

    def _attribute_(self, source: ast.Attribute) -> Value:
        if isinstance(source.value, ast.Name) and source.value.id == "CONSTANTS" and "CONSTANTS" not in self.names:
            number = source.attr[1:]
            if not source.attr.startswith("c") or not number.isdecimal() or int(number) >= len(self.constants):
                raise _malformed(source)
            return self._constant(self.constants[int(number)], TENSOR)
        return self._attribute_of(self._expression(source.value), source.attr, source)

    def _attribute_of(self, value: Value, name: str, source: ast.expr) -> Value:
        kind = self.classes.attribute(value.type, name)
        if kind is None:
            raise _malformed(source, f"{value.type} has no attribute {name}")
        result = self._node("prim::GetAttr", [value], kind, name=name)
        result.hint = name if name.isidentifier() else f"_{name}"
        return result

    # ------------------------------------------------------------------------------------------ calls

    def _call_(self, source: ast.Call) -> Value:
        function = source.func
        if isinstance(function, ast.Name):
            return self._builtin(function.id, source)
        path = _dotted(function)
        if path == "torch.device":
            return self._constant(device(_text(source, 0)), DEVICE)
        if path.startswith("torch.") and "torch" not in self.names:
            return self._operator(path[6:], source)
        if path.startswith("ops.prim.") and "ops" not in self.names:
            return self._primitive(path[9:], source)
        if path.startswith("ops.aten.") and "ops" not in self.names:
            return self._operator(path[9:], source)
        if isinstance(function, ast.Attribute):
            owner = self._expression(function.value)
            returned = self.classes.returned(owner.type, function.attr)
            if returned is None or source.keywords:
                raise _malformed(source, f"{owner.type} has no method {function.attr}")
            arguments = [self._expression(argument) for argument in source.args]
            return self._node("prim::CallMethod", [owner, *arguments], returned, name=function.attr)
        raise _malformed(source)

    def _builtin(self, name: str, source: ast.Call) -> Value:
        if name == "getattr" and len(source.args) == 2:
            return self._attribute_of(self._expression(source.args[0]), _text(source, 1), source)
        if name in _CONVERSIONS and len(source.args) == 1:
            return self._converted(*_CONVERSIONS[name], self._expression(source.args[0]))
        if name == "annotate" and len(source.args) == 2:
            return self._annotated(source)
        raise _malformed(source, f"{name}() is not known")

    def _converted(self, name: str, kind: Type, value: Value) -> Value:
        found = match(name, [value.type], {})
        if found is None:
            raise RuntimeError(f"torch.jit.load: {name} of a {value.type}")
        return self._call_schema(found[0], [value], kind)

    def _annotated(self, source: ast.Call) -> Value:
        inner = source.args[1]
        if isinstance(source.args[0], ast.Name) and source.args[0].id in _IMPLICIT:
            value = self._expression(inner)
            wanted = source.args[0].id
            return self._converted(*_IMPLICIT[wanted], value) if value.type.kind == "Tensor" else value
        kind = type_of_annotation(source.args[0])
        value = self._expression(inner)
        value.type = kind
        return value

    def _primitive(self, name: str, source: ast.Call) -> Value:
        if name == "NumToTensor" and len(source.args) == 1:
            return self._node("prim::NumToTensor", [self._expression(source.args[0])], TENSOR)
        raise NotImplementedError(f"torch.jit.load: the operator prim::{name} is not implemented in Rushlight")

    def _operator(self, name: str, source: ast.Call) -> Value:
        arguments = [self._expression(argument) for argument in source.args]
        named = {k.arg: self._expression(k.value) for k in source.keywords if k.arg is not None}
        found = match(name, [value.type for value in arguments], {k: v.type for k, v in named.items()})
        if found is None:
            kinds = ", ".join([str(v.type) for v in arguments] + [f"{k}={v.type}" for k, v in named.items()])
            raise NotImplementedError(
                f"torch.jit.load: the operator aten::{name}({kinds}) is not implemented in Rushlight"
            )
        schema, defaults = found
        at = {
            p.name: value for p, value in zip([p for p in schema.parameters if not p.keyword], arguments, strict=False)
        } | named
        inputs = [at[p.name] if p.name in at else self._constant(*defaults[p.name]) for p in schema.parameters]
        return self._call_schema(schema, inputs)

    def _call_schema(self, schema: Any, inputs: list[Value], *types: Type) -> Value:
        runner(schema)  # raises where there is none
        results = [Value(kind) for kind in types or types_of_returns(schema, [v.type for v in inputs])]
        self.graph.nodes.append(Node(f"aten::{schema.name}", inputs, results, schema=schema))
        return results[0]


def _dotted(source: ast.expr) -> str:
    """The path of names that an expression is, empty for any other."""
    names = []
    while isinstance(source, ast.Attribute):
        names.append(source.attr)
        source = source.value
    return ".".join([source.id, *names[::-1]]) if isinstance(source, ast.Name) else ""


def _text(source: ast.Call, at: int) -> str:
    part = source.args[at] if len(source.args) > at else None
    if not isinstance(part, ast.Constant) or not isinstance(part.value, str):
        raise _malformed(source)
    return part.value


def _malformed(source: ast.AST, why: str = "") -> RuntimeError:
    line = getattr(source, "lineno", 0)
    return RuntimeError(
        f"torch.jit.load: line {line} of the program's source cannot be read{': ' + why if why else ''}"
    )
