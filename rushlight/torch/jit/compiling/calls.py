"""Calls in a script: of operators by their types, of Python's own functions, of functions and modules of the program."""

from __future__ import annotations

import ast
import math
from typing import Any

from ....core.tensor.tensor import Tensor
from ..files.matching import match, types_of_returns
from ..ir.graph import FLOAT, INT, NONE, TENSOR, Graph, Node, Type, Value, list_of
from ..ir.plain_operators import ON_ANYTHING, plain
from ..ir.python_function import IgnoredFunction
from ..ir.running import runner
from ..ir.schemas import kind_of, overloads
from ..ir.schemas import named as overload
from .known import PLAIN_TYPES, Method, Object, Parts, Source, Static, modifier_of, source_of, type_of_hint
from .statements import Statements

__all__ = ["Calls"]

_CASTS = {"float": 6, "double": 7, "half": 5, "bfloat16": 15, "int": 3, "long": 4, "short": 2, "byte": 0, "bool": 11}
# functions of nn.functional that are operators
_BUILTIN = frozenset((
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear", "bilinear", "gelu",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "softplus", "hardshrink", "cosine_similarity",
    "pixel_shuffle", "pixel_unshuffle", "prelu", "one_hot", "pairwise_distance", "scaled_dot_product_attention", "pdist",
    "channel_shuffle", "celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "rrelu_", "selu_", "threshold_",
))  # fmt: skip
_IMPLICIT = {"float": ("FloatImplicit", FLOAT), "int": ("IntImplicit", INT)}
_RENAMED = {"logsigmoid": "log_sigmoid"}


class Calls(Statements):
    """The calls of a function that is compiled. program: finds functions and modules that it calls."""

    source: Source
    program: Any

    def expression(self, e: ast.expr) -> Any:
        """What an expression is."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ words

    def place(self, at: ast.AST) -> str:
        """Where a node of the source is, as graphs show it."""
        at = _begin_of(at)
        line = getattr(at, "lineno", 0) + self.source.shift
        return f"{self.source.file}:{line}:{getattr(at, 'col_offset', 0) + self.source.indent}"

    def begin(self) -> str:
        """Where the function is defined."""
        return self.place(self.source.tree)

    def refuse(self, at: ast.AST, what: str) -> NotImplementedError:
        """The error for what has no graph here."""
        line = getattr(at, "lineno", 0) + self.source.shift
        return NotImplementedError(
            f"torch.jit.script: {self.graph.name}(), line {line}: {what} has no graph here. The program runs as Python; "
            ".graph, .code and .save need the graph"
        )

    # ------------------------------------------------------------------------------------------ calls

    def _call(self, e: ast.Call) -> Any:
        called = self.expression(e.func)
        if any(k.arg is None for k in e.keywords) or any(isinstance(a, ast.Starred) for a in e.args):
            raise self.refuse(e, "a call with * or **")
        args = [self.expression(a) for a in e.args]
        named = {str(k.arg): self.expression(k.value) for k in e.keywords}
        if (
            isinstance(called, Static)
            and called.home.__class__ is str
            and getattr(called.value, "__name__", "") == "format"
        ):
            return self.call_operator("format", [self.constant(called.home), *map(self.as_value, args)], {}, e)
        if isinstance(called, Method):
            return self._call_method(called, args, named, e)
        if isinstance(called, Object):
            return self._call_module(called, "forward", args, named, e)
        if isinstance(called, Static):
            return self._call_known(called, args, named, e)
        raise self.refuse(e, "a call of this")

    def _call_method(self, called: Method, args: list, named: dict, e: ast.AST) -> Any:
        if isinstance(called.owner, Object):
            return self._call_module(called.owner, called.name, args, named, e)
        if called.owner.type.kind == "Tensor":
            return self._call_tensor_method(called, args, named, e)
        values = [called.owner, *map(self.as_value, args)]
        return self.call_operator(called.name, values, {k: self.as_value(v) for k, v in named.items()}, e)

    def _call_tensor_method(self, called: Method, args: list, named: dict, e: ast.AST) -> Any:
        name = called.name
        if name in _CASTS and not args and not named:
            return self.call_operator("to", [called.owner, self.constant(_CASTS[name], place=self.place(e))], {}, e)
        if name == "type" and len(args) + len(named) == 1:  # of a dtype; torch's own source says `to`
            return self._call_aten("to", [called.owner, *args, *named.values()], {}, e)
        return self._call_aten(name, [called.owner, *args], named, e)

    def _call_known(self, called: Static, args: list, named: dict, e: ast.Call) -> Any:
        f = called.value
        name = getattr(f, "__name__", "")
        if f is print:
            self.add(Node("prim::Print", [self.as_value(a) for a in args], [], place=self.place(e)))
            return Static(None)
        if f in (int, float, bool):
            return self._converted(f, args[0], e)
        if f is len:
            return self._length(args[0], e)
        if (
            isinstance(called.home, str) and getattr(str, name, None) is not None
        ):  # a method of a text that is known now
            return self.call_operator(name, [self.constant(called.home), *map(self.as_value, args)], {}, e)
        if f in (abs, min, max, sum, list, isinstance, getattr, hasattr, str, round, range, enumerate, zip, sorted):
            return self._call_python(f, args, e)
        if getattr(math, name, None) is f:
            return self.call_operator(name, [self.as_value(args[0])], {}, e)
        if modifier_of(f) in ("ignore", "unused"):
            return self._left_to_python(f, [self.as_value(a) for a in [*args, *named.values()]], e)
        known = self.program.known_call(f, called.home)
        if known is not None:
            graph, qualified = known
            return self._call_function(graph, qualified, args, named, e)
        if self.program.is_scripting_question(f):
            return Static(name != "is_tracing")
        of_levels = self.program.operator_of_levels(f)
        if of_levels is not None:
            return self._call_aten(of_levels, args, named, e)
        if self.program.is_operator(f):
            return self._call_aten(_RENAMED.get(name, name), args, named, e)
        if name in _BUILTIN and self.program.is_functional(f):
            return self._call_aten(name, args, named, e)
        if isinstance(e.func, ast.Attribute) and self.program.is_torch(called.home) and overloads(e.func.attr):
            return self._call_aten(e.func.attr, args, named, e)  # whose public function does more than the operator
        raise self.refuse(e, f"a call of {name or f!r}")

    def _call_python(self, f: Any, args: list, e: ast.AST) -> Any:
        if f is isinstance and isinstance(args[1], Static):
            kind = args[0].type.kind if isinstance(args[0], Value) else type(getattr(args[0], "value", None)).__name__
            return Static(kind == {Tensor: "Tensor"}.get(args[1].value, getattr(args[1].value, "__name__", "")))
        if f is hasattr and isinstance(args[0], Object):
            return Static(hasattr(args[0].module, args[1].value))
        if f is str and len(args) == 1 and isinstance(args[0], Static):
            return Static(str(args[0].value))
        values = [self.as_value(a) for a in args]
        if f is abs:
            if isinstance(args[0], Static):
                return Static(abs(args[0].value))
            if values[0].type.kind == "Tensor":
                return self.call_operator("abs", values, {}, e)
            return self.node("prim::abs", values, values[0].type, self.place(e))
        if f in (str, sorted) and len(values) == 1:
            return self.call_operator(f.__name__, values, {}, e)
        if f in (min, max) and len(values) == 2 and all(v.type.kind in ("int", "float") for v in values):
            return self.node(f"prim::{f.__name__}", values, FLOAT if any(v.type == FLOAT for v in values) else INT)
        if f in (min, max, sum, list) and len(values) == 1 and values[0].type.kind == "List":
            if f in (min, max):
                return self.node(f"prim::{f.__name__}", values, values[0].type.parts[0])
            return self.call_operator(f.__name__, values, {}, e)
        raise self.refuse(e, f"{f.__name__}() of these")

    def _converted(self, f: Any, x: Any, e: ast.AST) -> Any:
        if isinstance(x, Static):
            found = Static(f(x.value))
            if x.made is not None and type(f) is type:
                self.numbering.gone()
                found.made = self.computed_at_the_end(found.value)
            return found
        value = self.as_value(x)
        self.numbering.gone()  # the zero that torch's conversions make
        name = {int: "Int", float: "Float", bool: "Bool"}[f]
        return value if value.type == PLAIN_TYPES[f] else self.call_operator(name, [value], {}, e)

    def _length(self, x: Any, e: ast.AST) -> Any:
        if isinstance(x, Object):
            return Static(len(x.module))
        if isinstance(x, Parts):
            return Static(len(x.values))
        return Static(len(x.value)) if isinstance(x, Static) else self.call_operator("len", [self.as_value(x)], {}, e)

    def _call_function(self, graph: Graph, name: str, args: list, named: dict, e: ast.AST) -> Value:
        values = self._given(graph, graph.inputs, args, named, e)
        function = Value(Type("Function", detail=name))
        self.add(Node("prim::Constant", [], [function], {"name": name, "function": self.program.runs(graph)}))
        return self.node("prim::CallFunction", [function, *values], graph.outputs[0].type, self.place(e))

    def _given(self, graph: Graph, inputs: list[Value], args: list, named: dict, e: ast.AST) -> list[Value]:
        """The arguments of a call, those with defaults too."""
        values, left = [], dict(named)
        for i, p in enumerate(inputs):
            if i < len(args):
                values.append(self._fitting(args[i], p.type, graph.lengths.get(p, 0)))
            elif p.hint in left:
                values.append(self._fitting(left.pop(p.hint), p.type, graph.lengths.get(p, 0)))
            elif p in graph.defaults:
                values.append(self._fitting(Static(graph.defaults[p]), p.type, graph.lengths.get(p, 0)))
            else:
                raise RuntimeError(
                    f"{graph.name}() is missing value for argument '{p.hint}' (line {getattr(e, 'lineno', 0)})"
                )
        if left or len(args) > len(inputs):
            raise RuntimeError(f"{graph.name}() takes other arguments (line {getattr(e, 'lineno', 0)})")
        return values

    def _fitting(self, x: Any, kind: Type, length: int = 0) -> Value:
        if isinstance(x, Static) and kind.kind == "float" and isinstance(x.value, int):
            x = Static(float(x.value))
        if kind.kind == "Optional" and not (isinstance(x, Static) and x.value is None):
            kind = kind.parts[0]
        if kind.kind == "List":
            if isinstance(x, Static) and length and (isinstance(x.value, int) or _is_repeated(x.value)):
                numbers: Any = x.value
                one = self.as_value(x) if isinstance(numbers, int) else self.constant(numbers[0])
                return self.node("prim::ListConstruct", [one] * length, kind)
            if isinstance(x, Static) and isinstance(x.value, tuple):
                x = Static(list(x.value))
            if isinstance(x, Parts):
                return self.node("prim::ListConstruct", [self.as_value(v) for v in x.values], kind)
        return self.as_value(x)

    def _call_module(self, owner: Object, name: str, args: list, named: dict, e: ast.AST) -> Any:
        f = getattr(type(owner.module), name, None)
        if modifier_of(f) in ("ignore", "unused"):
            return self._left_to_python(f, [owner.value, *map(self.as_value, [*args, *named.values()])], e)
        graph = self.program.method(owner.module, name)
        values = self._given(graph, graph.inputs[1:], args, named, e)
        return self.node("prim::CallMethod", [owner.value, *values], graph.outputs[0].type, self.place(e), name=name)

    def _left_to_python(self, f: Any, values: list[Value], e: ast.AST) -> Value:
        """A call of what is marked `@ignore`, which stays Python and cannot be saved, or `@unused`, which raises."""
        source = source_of(f)
        hint = source.hints.get("return")
        kind = TENSOR if hint is None else type_of_hint(hint, source.scope, "what is returned")
        if modifier_of(f) == "ignore":
            return self.node(f"^{f.__name__}", values, kind, self.place(e), function=IgnoredFunction(f))
        text = self.constant("This Python function is annotated to be ignored and cannot be run")
        inputs = [text, self.constant(None, NONE)]
        self.add(Node("prim::RaiseException", inputs, [], place=self.place(e)))
        return self.node("prim::Uninitialized", [], kind)

    def _call_aten(self, name: str, args: list, named: dict, e: ast.AST) -> Any:
        values = [self._argument(a) for a in args]
        keywords = {k: self._argument(v) for k, v in named.items() if not (isinstance(v, Static) and v.value is None)}
        return self.call_operator(name, values, keywords, e)

    def _argument(self, x: Any) -> Value:
        """An argument of an operator: a tuple of Python is a list."""
        if isinstance(x, Parts):
            self.numbering.gone()  # torch's tuple
        if isinstance(x, Static) and isinstance(x.value, tuple):
            x = Static(list(x.value))
        if isinstance(x, Parts):
            values = [self.as_value(v) for v in x.values]
            return self.node("prim::ListConstruct", values, list_of(values[0].type if values else INT))
        return self.as_value(x)

    def call_operator(self, name: str, values: list[Value], named: dict[str, Value], e: ast.AST) -> Any:
        """The result of an operator, of torch's schema or of Python's values."""
        kinds = [v.type for v in values]
        if not any(t.kind == "Tensor" for t in kinds) or name in ON_ANYTHING:
            found = plain(name, kinds)
            if found is not None and not named:
                if all(v in self.known for v in values) and found.result.kind in ("int", "float", "bool"):
                    return self.computed_at_the_end(found.function(*[self.known[v] for v in values]))
                result = Value(found.result)
                gives = [] if found.gives_nothing else [result]
                if found.gives_nothing:
                    self.numbering.gone()
                self.add(Node(f"aten::{name}", values, gives, schema=found, place=self.place(e)))
                return result
        matched = match(name, kinds, {k: v.type for k, v in named.items()})
        if matched is None or matched[0] is not overloads(name)[0]:
            joined = self._with_numbers_joined(name, values, named)  # view(3) before view(dtype), the first of them
            order = overloads(name).index
            if joined is not None and (matched is None or order(joined[0]) < order(matched[0])):
                matched = joined
        if matched is None:
            values = self._with_tensors_as_numbers(name, values, named)
            matched = match(name, [v.type for v in values], {k: v.type for k, v in named.items()})
        if matched is None:
            given = ", ".join([str(t) for t in kinds] + [f"{k}={v.type}" for k, v in named.items()])
            raise self.refuse(e, f"aten::{name}({given})")
        if len(matched) == 3:
            values = matched[2]
        return self._call_schema(matched[0], matched[1], values, named, e)

    def _with_numbers_joined(self, name: str, values: list[Value], named: dict[str, Value]) -> Any:
        """`view(2, 3)`, `zeros(2, 3)`: numbers at the end as one list."""
        start = len(values)
        while start and values[start - 1].type.kind == "int":
            start -= 1
        for first in range(start, len(values)):
            kinds = [v.type for v in values[:first]] + [list_of(INT)]
            found = match(name, kinds, {k: v.type for k, v in named.items()})
            if found is not None:
                joined = self.node("prim::ListConstruct", values[first:], list_of(INT))
                return *found, [*values[:first], joined]
        return None

    def _with_tensors_as_numbers(self, name: str, values: list[Value], named: dict[str, Value]) -> list[Value]:
        """The arguments with numbers for the tensors that are given where the operator takes a float or an int."""
        for schema in overloads(name):
            kinds = [p.type.rstrip("?") for p in schema.parameters if not p.keyword]
            pairs = list(zip(values, kinds, strict=False))
            operators = [_IMPLICIT.get(kind) if v.type.kind == "Tensor" else None for v, kind in pairs]
            types = [v.type if o is None else o[1] for (v, _), o in zip(pairs, operators, strict=True)]
            if len(types) < len(values) or match(name, types, {k: v.type for k, v in named.items()}) is None:
                continue
            return [v if o is None else self._as_number(v, *o) for v, o in zip(values, operators, strict=True)]
        return values

    def _as_number(self, value: Value, operator: str, kind: Type) -> Value:
        result = Value(kind)
        self.add(Node(f"aten::{operator}", [value], [result], schema=overload(operator)))
        return result

    def _call_schema(
        self, schema: Any, defaults: dict, values: list[Value], named: dict[str, Value], e: ast.AST
    ) -> Any:
        runner(schema)  # raises where there is none
        positional = [p for p in schema.parameters if not p.keyword]
        at = {p.name: v for p, v in zip(positional, values, strict=False)} | named
        for p in schema.parameters:  # a number where a list is asked for: one for each dimension
            v = at.get(p.name)
            if v is not None and v.type.kind == "int" and "[" in p.type and not p.type.startswith("Tensor"):
                size = p.type.rstrip("?")[:-1].partition("[")[2]
                at[p.name] = self.node("prim::ListConstruct", [v] * int(size or 1), list_of(INT))
        inputs = [at[p.name] if p.name in at else self._default(*defaults[p.name]) for p in schema.parameters]
        results = [Value(kind) for kind in types_of_returns(schema, [v.type for v in inputs])]
        node = Node(kind_of(schema), inputs, results, schema=schema, place=self.place(e))
        self.add(node)
        return results[0] if len(results) == 1 else Parts(list(results))

    def _default(self, value: Any, kind: Type) -> Value:
        return self.constant(value, kind)


_FIRST_PARTS = {
    ast.BinOp: "left",
    ast.Compare: "left",
    ast.Call: "func",
    ast.Attribute: "value",
    ast.Subscript: "value",
}


def _begin_of(at: ast.AST) -> ast.AST:
    """The part of an expression that it begins with, for torch without a parenthesis around that."""
    while type(at) in _FIRST_PARTS:
        at = getattr(at, _FIRST_PARTS[type(at)])
    return at


def _is_repeated(value: Any) -> bool:
    """Whether a value is a list of one int several times."""
    return isinstance(value, list) and bool(value) and type(value[0]) is int and value.count(value[0]) == len(value)
