"""TorchScript's source, as archives have it, read into graphs. Python's `ast` parses it; nothing of it runs.

A `Reader` turns one method or function into a graph. Operators that Rushlight has not raise NotImplementedError.
"""

from __future__ import annotations

import ast
from typing import Any

from ....core.device.devices import device
from ....core.tensor.tensor import Tensor
from ..compiling.statements import RETURN, Statements, stored_names
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
from ..ir.literals import number_of, type_of_constant
from ..ir.plain_operators import ON_ANYTHING, TENSOR_OF, PlainOperator, plain
from ..ir.running import runner
from ..ir.schemas import kind_of
from .class_types import Classes, type_of_annotation
from .matching import match, types_of_returns

__all__ = ["read_method"]

_CONVERSIONS = {"int": ("Int", INT), "float": ("Float", FLOAT), "bool": ("Bool", BOOL), "str": ("str", STRING)}
_IMPLICIT = {"number": ("ScalarImplicit", NUMBER), "int": ("IntImplicit", INT), "float": ("FloatImplicit", FLOAT)}
_NUMBERS = {"inf": float("inf"), "nan": float("nan")}


def read_method(function: ast.FunctionDef, classes: Classes, owner: Type | None, constants: list[Tensor]) -> Graph:
    """The graph of a method of class `owner`, or of a function. Raises NotImplementedError, or RuntimeError for what is no
    TorchScript.
    """
    return _Reader(function, classes, owner, constants).graph


class _Reader(Statements):
    def __init__(self, function: ast.FunctionDef, classes: Classes, owner: Type | None, constants: list[Tensor]):
        super().__init__(Graph(function.name))
        self.classes, self.constants = classes, constants
        arguments = function.args.args
        given = [None] * (len(arguments) - len(function.args.defaults)) + list(function.args.defaults)
        for i, (argument, default) in enumerate(zip(arguments, given, strict=True)):
            kind = owner if owner is not None and not i else type_of_annotation(argument.annotation)
            self.names[argument.arg] = value = Value(kind, argument.arg)
            self.graph.inputs.append(value)
            if default is not None:
                self.graph.defaults[value] = _literal(default)
        self._run(function.body)
        self.finish()

    # ------------------------------------------------------------------------------------------ statements

    def _run(self, statements: list[ast.stmt]) -> bool:
        for statement in statements:
            self._statement(statement)
        return False

    def _statement(self, statement: ast.stmt) -> None:
        if RETURN in self.names:
            raise _malformed(statement, "a statement after return")
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self._assign(statement.targets[0], statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:  # of what may be None
            self._assign(statement.target, statement.value)
        elif isinstance(statement, ast.Expr):
            self._expression(statement.value)
        elif isinstance(statement, ast.Return):
            if self.block is not self.graph:
                raise _malformed(statement, "a return inside a block")
            value = self.constant(None, NONE) if statement.value is None else self._expression(statement.value)
            self.names[RETURN] = value
        elif isinstance(statement, ast.If):
            parts = [lambda: self._run(statement.body), lambda: self._run(statement.orelse)]
            self.branch(self._expression(statement.test), parts)
        elif isinstance(statement, ast.For):
            self._for(statement)
        elif isinstance(statement, ast.While):
            self._while(statement)
        elif not isinstance(statement, ast.Pass):
            raise _malformed(statement)

    def begin(self) -> str:
        """Where the function is defined: the archive's graphs say no places."""
        return ""

    def _carried(self, body: list[ast.stmt], but: str) -> list[str]:
        stored = set(stored_names(body))
        return [name for name in self.names if name in stored and name != but]

    def _for(self, s: ast.For) -> None:
        source = s.iter
        is_range = isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range"
        if not is_range or len(source.args) != 1 or not isinstance(s.target, ast.Name):  # type: ignore[attr-defined]
            raise _malformed(s, "a loop over anything but a range")
        name = s.target.id

        def body(index: Value) -> None:
            self.names[name] = index
            index.hint = "" if name.startswith("_") else name
            self._run(s.body)

        trips = self._expression(source.args[0])  # type: ignore[attr-defined]
        self.loop(trips, None, self._carried(s.body, name), body)

    def _while(self, s: ast.While) -> None:
        if not isinstance(s.test, ast.Name):
            raise _malformed(s, "the condition of a loop is no variable")
        name = s.test.id
        self.loop(
            None, lambda: self.names[name], self._carried(s.body, name), lambda index: (self._run(s.body), None)[1]
        )

    def _assign(self, target: ast.expr, source: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(source, ast.Tuple) and len(target.elts) == len(source.elts):
            values = [self._expression(part) for part in source.elts]  # the results of a block
            for part, value in zip(target.elts, values, strict=True):
                if not isinstance(part, ast.Name):
                    raise _malformed(target)
                self.names[part.id] = value
            return
        if isinstance(target, ast.Name):
            value = self._expression(source)
            if value.type.kind != "Function" and value not in self.graph.inputs:
                value.hint = value.hint or ("" if target.id.startswith("_") else target.id)
            self.names[target.id] = value
            return
        if isinstance(target, ast.Attribute):
            inputs = [self._expression(target.value), self._expression(source)]
            if self.classes.attribute(inputs[0].type, target.attr) is None:
                raise _malformed(target, f"{inputs[0].type} has no attribute {target.attr}")
            self.block.nodes.append(Node("prim::SetAttr", inputs, [], {"name": target.attr}))
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
        maker = self.block.nodes[-1] if self.block.nodes else None
        if maker is not None and maker.outputs[:1] == [value] and len(maker.outputs) > 1:
            parts = maker.outputs
        else:
            if value.type.kind not in ("Tuple", "List"):
                raise _malformed(source, f"a {value.type} is unpacked")
            types = value.type.parts if value.type.kind == "Tuple" else value.type.parts * count
            parts = [Value(kind) for kind in types]
            self.block.nodes.append(Node(f"prim::{value.type.kind}Unpack", [value], parts))
        if len(parts) != count:
            raise _malformed(source, f"{len(parts)} values for {count} names")
        return parts

    # ------------------------------------------------------------------------------------------ expressions

    def _expression(self, source: ast.expr) -> Value:
        method = getattr(self, f"_{type(source).__name__.lower()}_", None)
        if method is None:
            raise _malformed(source)
        return method(source)

    def _name_(self, source: ast.Name) -> Value:
        if source.id in self.names:
            return self.names[source.id]
        if source.id in _NUMBERS:
            return self.constant(_NUMBERS[source.id], FLOAT)
        raise _malformed(source, f"name {source.id} is not defined")

    def _constant_(self, source: ast.Constant) -> Value:
        if not isinstance(source.value, (bool, int, float, complex, str, type(None))):
            raise _malformed(source)
        return self.constant(source.value, type_of_constant(source.value))

    def _unaryop_(self, source: ast.UnaryOp) -> Value:
        value = source.operand
        if isinstance(source.op, ast.USub):
            if isinstance(value, ast.Constant) and isinstance(value.value, (int, float, complex)):
                return self.constant(-value.value, type_of_constant(value.value))
            if isinstance(value, ast.Name) and value.id in _NUMBERS:
                return self.constant(-_NUMBERS[value.id], FLOAT)
        raise _malformed(source)

    def _binop_(self, source: ast.BinOp) -> Value:
        """A complex number: 1.+2.j."""
        left, right = source.left, source.right
        constants = (
            isinstance(source.op, ast.Add) and isinstance(left, ast.Constant) and isinstance(right, ast.Constant)
        )
        if not constants or not isinstance(left.value, (int, float)) or not isinstance(right.value, complex):  # type: ignore
            raise _malformed(source)
        return self.constant(left.value + right.value, COMPLEX)  # type: ignore[attr-defined]

    def _list_(self, source: ast.List) -> Value:
        parts = [self._expression(part) for part in source.elts]
        return self.node("prim::ListConstruct", parts, list_of(parts[0].type._replace(detail="") if parts else TENSOR))

    def _tuple_(self, source: ast.Tuple) -> Value:
        parts = [self._expression(part) for part in source.elts]
        return self.node("prim::TupleConstruct", parts, Type("Tuple", tuple(part.type for part in parts)))

    def _dict_(self, source: ast.Dict) -> Value:
        pairs = [(k, v) for k, v in zip(source.keys, source.values, strict=True) if k is not None]
        parts = [self._expression(part) for pair in pairs for part in pair]
        kinds = (parts[0].type, parts[1].type) if parts else (STRING, TENSOR)
        return self.node("prim::DictConstruct", parts, Type("Dict", kinds))

    def _subscript_(self, source: ast.Subscript) -> Value:
        container, key = self._expression(source.value), self._expression(source.slice)
        if container.type.kind == "Tuple":
            at = self.block.nodes[-1].value
            if not isinstance(at, int) or not -len(container.type.parts) <= at < len(container.type.parts):
                raise _malformed(source)
            return self.node("prim::TupleIndex", [container, key], container.type.parts[at])
        if container.type.kind not in ("List", "Dict", "str"):
            raise _malformed(source, f"a {container.type} has no items")
        part = container.type.parts[-1] if container.type.parts else STRING
        return self.node("aten::__getitem__", [container, key], part)

    def _attribute_(self, source: ast.Attribute) -> Value:
        if _dotted(source).startswith("__torch__."):
            return self._function(_dotted(source))
        if isinstance(source.value, ast.Name) and source.value.id == "CONSTANTS" and "CONSTANTS" not in self.names:
            number = source.attr[1:]
            if not source.attr.startswith("c") or not number.isdecimal() or int(number) >= len(self.constants):
                raise _malformed(source)
            found = self.constants[int(number)]
            if number_of(found) is found:
                return self.constant(found, TENSOR)
            return self.node("prim::Constant", [], TENSOR, value=found, is_number=True)
        return self._attribute_of(self._expression(source.value), source.attr, source)

    def _attribute_of(self, value: Value, name: str, source: ast.expr) -> Value:
        kind = self.classes.attribute(value.type, name)
        if kind is None:
            raise _malformed(source, f"{value.type} has no attribute {name}")
        result = self.node("prim::GetAttr", [value], kind, name=name)
        result.hint = name if name.isidentifier() else f"_{name}"
        return result

    # ------------------------------------------------------------------------------------------ calls

    def _call_(self, source: ast.Call) -> Value:
        function = source.func
        if isinstance(function, ast.Name):
            known = self.names.get(function.id)
            if known is not None and known.type.kind == "Function":
                return self._call_of(known, source)
            return self._builtin(function.id, source)
        path = _dotted(function)
        if path.startswith("__torch__."):
            return self._call_of(self._function(path), source)
        if path == "torch.device":
            return self.constant(device(_text(source, 0)), DEVICE)
        if path.startswith("torch.") and "torch" not in self.names:
            return self._operator(path[6:], source)
        if path.startswith("ops.prim.") and "ops" not in self.names:
            return self._primitive(path[9:], source)
        if path.startswith("ops.quantized.") and "ops" not in self.names:
            return self._operator(f"quantized::{path[14:]}", source)
        if path.startswith("ops.aten.") and "ops" not in self.names:
            return self._operator(path[9:], source)
        if path.startswith("ops.") and path.count(".") == 2 and "ops" not in self.names:
            return self._operator(path[4:].replace(".", "::"), source)
        if isinstance(function, ast.Attribute):
            owner = self._expression(function.value)
            returned = self.classes.returned(owner.type, function.attr)
            if returned is None or source.keywords:
                raise _malformed(source, f"{owner.type} has no method {function.attr}")
            arguments = [self._expression(argument) for argument in source.args]
            return self.node("prim::CallMethod", [owner, *arguments], returned, name=function.attr)
        raise _malformed(source)

    def _function(self, path: str) -> Value:
        """A function of the archive."""
        program = self.classes.function(path)
        result = Value(Type("Function", detail=path))
        self.add(Node("prim::Constant", [], [result], {"name": path, "function": program}))
        return result

    def _call_of(self, function: Value, source: ast.Call) -> Value:
        program = self.classes.function(function.type.detail)
        arguments = [self._expression(argument) for argument in source.args]
        if source.keywords or len(arguments) != len(program.graph.inputs):
            raise _malformed(source, f"other arguments than those of {program.graph.name}")
        return self.node("prim::CallFunction", [function, *arguments], program.graph.outputs[0].type)

    def _builtin(self, name: str, source: ast.Call) -> Value:
        if name == "unchecked_cast" and len(source.args) == 2:
            inner = self._expression(source.args[1])
            return self.node("prim::unchecked_cast", [inner], type_of_annotation(source.args[0]))
        if name == "uninitialized" and len(source.args) == 1:
            return self.node("prim::Uninitialized", [], type_of_annotation(source.args[0]))
        if name == "print":
            inputs = [self._expression(argument) for argument in source.args]
            self.block.nodes.append(Node("prim::Print", inputs, []))
            return self.constant(None, NONE)
        if name == "getattr" and len(source.args) == 2:
            return self._attribute_of(self._expression(source.args[0]), _text(source, 1), source)
        if name in _CONVERSIONS and len(source.args) == 1:
            return self._converted(*_CONVERSIONS[name], self._expression(source.args[0]))
        if name == "sorted":
            return self._operator(name, source)
        if name == "annotate" and len(source.args) == 2:
            return self._annotated(source)
        raise _malformed(source, f"{name}() is not known")

    def _converted(self, name: str, kind: Type, value: Value) -> Value:
        plain_one = plain(name, [value.type])
        if plain_one is not None:
            return self._plain(plain_one, [value])
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
        inputs = [self._expression(argument) for argument in source.args]
        kinds = {
            "NumToTensor": TENSOR,
            "dtype": INT,
            "device": DEVICE,
            "requires_grad": BOOL,
            "is_quantized": BOOL,
            "data": TENSOR,
        }
        if name in kinds and len(inputs) == 1:
            return self.node(f"prim::{name}", inputs, kinds[name])
        if name == "RaiseException" and inputs:
            inputs += [self.constant(None, NONE)] * (len(inputs) == 1)
            self.block.nodes.append(Node("prim::RaiseException", inputs, []))
            return self.constant(None, NONE)
        if name == "abs" and len(inputs) == 1:
            return self.node("prim::abs", inputs, inputs[0].type)
        if name in ("min", "max") and inputs:
            kind = inputs[0].type
            return self.node(f"prim::{name}", inputs, kind.parts[0] if kind.kind == "List" else kind)
        raise NotImplementedError(f"torch.jit.load: the operator prim::{name} is not implemented in Rushlight")

    def _operator(self, name: str, source: ast.Call) -> Value:
        arguments = [self._expression(argument) for argument in source.args]
        named = {k.arg: self._expression(k.value) for k in source.keywords if k.arg is not None}
        kinds = [value.type for value in arguments]
        if name == "tensor" and len(arguments) == 1:
            rest = [named[p.name] if p.name in named else self.constant(None, NONE) for p in TENSOR_OF.parameters[1:3]]
            return self._plain(TENSOR_OF, [*arguments, *rest, named.get("requires_grad") or self.constant(False)])
        if not named and (not any(t.kind == "Tensor" for t in kinds) or name in ON_ANYTHING):
            own = plain(name, kinds)
            if own is not None:
                return self._plain(own, arguments)
        found = match(name, [value.type for value in arguments], {k: v.type for k, v in named.items()})
        if found is None:
            kinds = ", ".join([str(v.type) for v in arguments] + [f"{k}={v.type}" for k, v in named.items()])
            raise NotImplementedError(
                f"torch.jit.load: the operator {name if '::' in name else f'aten::{name}'}({kinds}) is not implemented in Rushlight"
            )
        schema, defaults = found
        at = {
            p.name: value for p, value in zip([p for p in schema.parameters if not p.keyword], arguments, strict=False)
        } | named
        inputs = [at[p.name] if p.name in at else self.constant(*defaults[p.name]) for p in schema.parameters]
        return self._call_schema(schema, inputs)

    def _plain(self, schema: PlainOperator, inputs: list[Value]) -> Value:
        result = Value(schema.result)
        gives = [] if schema.gives_nothing else [result]
        self.block.nodes.append(Node(f"aten::{schema.name}", inputs, gives, schema=schema))
        return result

    def _call_schema(self, schema: Any, inputs: list[Value], *types: Type) -> Value:
        runner(schema)  # raises where there is none
        results = [Value(kind) for kind in types or types_of_returns(schema, [v.type for v in inputs])]
        self.block.nodes.append(Node(kind_of(schema), inputs, results, schema=schema))
        return results[0] if results else self.constant(None, NONE)


def _literal(source: ast.expr) -> Any:
    if isinstance(source, ast.Name) and source.id in _NUMBERS:
        return _NUMBERS[source.id]
    try:
        return ast.literal_eval(source)
    except ValueError:
        raise _malformed(source) from None


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
