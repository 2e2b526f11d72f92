"""Expressions in a script: values of the graph, or what is known when it is compiled."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import MethodType
from typing import Any

from ....core.device.devices import device
from ....core.tensor.dtype import dtype
from ....core.tensor.layout import layout, memory_format
from ....core.tensor.tensor import Tensor
from ..ir.graph import BOOL, DEVICE, INT, NONE, STRING, TENSOR, Node, Type, Value, list_of
from ..ir.literals import code_of
from ..ir.packed import class_of_packed
from ..ir.plain_operators import TENSOR_OF
from .calls import Calls
from .known import CONSTANTS, OPERATORS, PLAIN_TYPES, PYTHONS, Method, Object, Parts, Static, folded, type_of_hint
from .statements import UNINITIALIZED, hint_of

__all__ = ["Expressions"]

_OF_TENSORS = {"dtype": INT, "device": DEVICE, "requires_grad": BOOL, "is_quantized": BOOL, "data": TENSOR}


class Expressions(Calls):
    """The expressions of a function that is compiled."""

    def _loop_over(self, source: ast.expr, target: ast.expr, body: list[ast.stmt], run: Callable, at: ast.AST) -> None:
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ expressions

    def expression(self, e: ast.expr) -> Any:
        """What an expression is: a Value, or something that is known now."""
        method = getattr(self, f"_{type(e).__name__.lower()}", None)
        if method is None:
            raise self.refuse(e, f"an expression of kind {type(e).__name__.lower()}")
        return method(e)

    def as_value(self, x: Any) -> Value:
        """The value in the graph for what an expression is."""
        if isinstance(x, Value):
            return x
        if isinstance(x, Object):
            return x.value
        if isinstance(x, Parts):
            values = [self.as_value(v) for v in x.values]
            return self.node("prim::TupleConstruct", values, Type("Tuple", tuple(v.type for v in values)))
        if isinstance(x, Static):
            return self._constant_of(x.value, x.place) if x.made is None else x.made
        raise NotImplementedError(f"torch.jit: a method of a {type(x).__name__} is no value of a graph")

    def _constant_of(self, value: Any, place: str = "") -> Value:
        if isinstance(value, (dtype, layout, memory_format)):
            return self.constant(code_of(value), place=place)
        if isinstance(value, device):
            return self.constant(value, DEVICE, place)
        if isinstance(value, CONSTANTS):
            return self.constant(value, place=place)
        if isinstance(value, Tensor):
            return self.constant(value, TENSOR)
        if isinstance(value, (list, tuple)):
            values = [self._constant_of(v) for v in value]
            if isinstance(value, tuple):
                return self.node("prim::TupleConstruct", values, Type("Tuple", tuple(v.type for v in values)))
            return self.node("prim::ListConstruct", values, list_of(values[0].type if values else TENSOR))
        raise NotImplementedError(f"torch.jit: a {type(value).__name__} is no value of a graph here")

    def _constant(self, e: ast.Constant) -> Static:
        found = Static(e.value)
        if type(e.value) in (int, float):
            found.made = self.literal(e.value, self.place(e))
        elif isinstance(e.value, (bool, str, type(None))):
            found.made = self.constant(e.value, place=self.place(e))
        return found

    def _name(self, e: ast.Name) -> Any:
        if e.id == UNINITIALIZED:
            hint = self.source.hints.get("return")
            return self._uninitialized(
                TENSOR if hint is None else type_of_hint(hint, self.source.scope, "what is returned")
            )
        if e.id in self.names:
            found = self.names[e.id]
            if isinstance(found, Value):
                self.numbering.gone(hint_of(e.id))  # torch's node that reads a variable
            return found
        try:
            return Static(self.source.scope(e.id))
        except AttributeError:
            raise RuntimeError(f"undefined value {e.id} (line {e.lineno + self.source.shift})") from None

    def _attribute(self, e: ast.Attribute) -> Any:
        owner = self.expression(e.value)
        if isinstance(owner, Static):
            return Static(getattr(owner.value, e.attr), owner.value, self.place(e))
        if isinstance(owner, Object):
            return self._attribute_of_module(owner, e)
        value = self.as_value(owner)
        if value.type.kind == "Tensor":
            return self._attribute_of_tensor(value, e)
        return Method(value, e.attr)

    def _attribute_of_tensor(self, value: Value, e: ast.Attribute) -> Any:
        if e.attr == "shape":
            made = len(self.block.nodes)
            size = self.call_operator("size", [value], {}, e)
            self._place_in_builtin(made, 13)
            return size
        if e.attr in _OF_TENSORS:
            kind = _OF_TENSORS[e.attr]
            return self.node(f"prim::{e.attr}", [value], kind)
        if e.attr == "ndim":
            return self.call_operator("dim", [value], {}, e)
        if e.attr in ("T", "H", "mT", "mH", "real", "imag"):
            names = {"T": "numpy_T", "H": "matrix_H"}
            return self.call_operator(names.get(e.attr, e.attr), [value], {}, e)
        return Method(value, e.attr)

    def _attribute_of_module(self, owner: Object, e: ast.Attribute) -> Any:
        module, name = owner.module, e.attr
        if name in module._modules:
            child = self._child(owner, name, e)
            if isinstance(child, Object):
                child.made = child.value
            return child
        if name in module._parameters or name in module._buffers:
            tensor = module._parameters.get(name, module._buffers.get(name))
            if tensor is None:
                return Static(None)
            return self._read(owner, name, TENSOR, e)
        if name == "training":
            return self._read(owner, name, BOOL, e)
        found = getattr(module, name)
        packed = class_of_packed(found)
        if packed is not None:
            return self._read(owner, name, Type("Class", detail=packed), e)
        if isinstance(found, MethodType) or self.program.has_method(module, name):
            return Method(owner, name)
        if self.program.is_constant(module, name) or callable(found) or not isinstance(found, (*CONSTANTS, Tensor)):
            return Static(found, self.program.home_of(found))
        return Static(None) if found is None else self._read(owner, name, PLAIN_TYPES.get(type(found), TENSOR), e)

    def _child(self, owner: Object, name: str, e: ast.AST) -> Any:
        child = owner.module._modules[name]
        if child is None:
            return Static(None)
        kind = Type("Class", detail=self.program.class_name(child))
        return Object(None, child, lambda: self._read(owner, name, kind, e))

    def _read(self, owner: Object, name: str, kind: Type, e: ast.AST) -> Value:
        result = self.node("prim::GetAttr", [owner.value], kind, name=name)
        result.hint = name if name.isidentifier() else f"_{name}"
        return result

    def _tuple(self, e: ast.Tuple) -> Any:
        parts = []
        for part in e.elts:
            found = self.expression(part)
            parts.append(self.as_value(found) if isinstance(found, Parts) else found)
        return Parts(parts)

    def _list(self, e: ast.List) -> Value:
        parts = [self.as_value(self.expression(part)) for part in e.elts]
        kind = parts[0].type._replace(detail="") if parts and parts[0].type.kind == "Tensor" else (parts or [Value(TENSOR)])[0].type  # fmt: skip
        return self.node("prim::ListConstruct", parts, list_of(kind))

    def _dict(self, e: ast.Dict) -> Value:
        pairs = [(k, v) for k, v in zip(e.keys, e.values, strict=True) if k is not None]
        parts = [self.as_value(self.expression(part)) for pair in pairs for part in pair]
        kinds = (parts[0].type, parts[1].type) if parts else (STRING, TENSOR)
        return self.node("prim::DictConstruct", parts, Type("Dict", kinds), self.place(e))

    def _listcomp(self, e: ast.ListComp) -> Value:
        if len(e.generators) != 1 or e.generators[0].ifs:
            raise self.refuse(e, "a list of several loops or with conditions")
        result = self.node("prim::ListConstruct", [], list_of(TENSOR))
        outer = dict(self.names)

        def run() -> None:
            part = self.as_value(self.expression(e.elt))
            result.type = list_of(part.type)
            self.call_operator("append", [result, part], {}, e)

        self._loop_over(e.generators[0].iter, e.generators[0].target, [], run, e)
        self.names = outer
        return result

    def _binop(self, e: ast.BinOp) -> Any:
        left, right = self.expression(e.left), self.expression(e.right)
        if folded(left, right) and type(e.op) in PYTHONS:
            return Static(PYTHONS[type(e.op)](left.value, right.value))
        values = [self.as_value(left), self.as_value(right)]
        name = OPERATORS[type(e.op)]
        tensors = [v.type.kind == "Tensor" for v in values]
        if tensors == [False, True] and name in ("add", "mul", "sub", "div", "pow"):
            made = len(self.block.nodes)
            if name in ("add", "mul"):
                result = self.call_operator(name, values[::-1], {}, e)
                self._place_in_builtin(made, {"mul": 3, "add": 5}[name])
                return result
            if name == "sub":
                alpha = self.constant(1)
                opposite = self.call_operator("neg", values[1:], {}, e)
                result = self.call_operator("add", [opposite, values[0]], {"alpha": alpha}, e)
                self._place_in_builtin(made, 11)
                return result
            if name == "div":
                inverse = self.call_operator("reciprocal", values[1:], {}, e)
                result = self.call_operator("mul", [inverse, values[0]], {}, e)
                self._place_in_builtin(made, 13)
                return result
        if name == "remainder":
            self.numbering.gone()
        if any(tensors) and name == "floordiv":
            made = len(self.block.nodes)
            result = self.call_operator("floor_divide", values, {}, e)
            self._place_in_builtin(made, 3)
            return result
        return self.call_operator(name, values, {}, e)

    def _place_in_builtin(self, first: int, line: int) -> None:
        """Show that nodes from a place on are of a function of torch's own, which has the number second."""
        for node in self.block.nodes[first:]:
            if node.place:
                node.place, node.program_place = f"<string>:{line}:9", node.place

    def _unaryop(self, e: ast.UnaryOp) -> Any:
        if isinstance(e.op, ast.Not):
            condition = self._condition(e.operand)
            if isinstance(condition, bool):
                return Static(not condition)
            return self.call_operator("__not__", [condition], {}, e)
        inner = self.expression(e.operand)
        if isinstance(inner, Static) and isinstance(inner.value, (int, float)):
            found = Static(-inner.value if isinstance(e.op, ast.USub) else +inner.value)
            if inner.made is not None:
                self.numbering.gone()  # torch's operator, which it computes at once
                found.made = self.constant(found.value, place=self.place(e))
            return found
        if isinstance(e.op, ast.UAdd):
            return inner
        name = "neg" if isinstance(e.op, ast.USub) else "bitwise_not"
        return self.call_operator(name, [self.as_value(inner)], {}, e)

    def _compare(self, e: ast.Compare) -> Any:
        if len(e.ops) > 1:
            raise self.refuse(e, "a chain of comparisons")
        op = e.ops[0]
        left, right = self.expression(e.left), self.expression(e.comparators[0])
        if isinstance(op, (ast.In, ast.NotIn)):
            if isinstance(right, Object):
                assert isinstance(left, Static)
                return Static((left.value in right.module._modules) is isinstance(op, ast.In))
            found = self.call_operator("__contains__", [self.as_value(right), self.as_value(left)], {}, e)
            return found if isinstance(op, ast.In) else self.call_operator("__not__", [found], {}, e)
        if isinstance(op, (ast.Is, ast.IsNot)):
            known = self._known_identity(left, right, isinstance(op, ast.Is))
            if known is not None:
                return Static(known)
        elif isinstance(left, Static) and isinstance(right, Static):
            return Static(PYTHONS[type(op)](left.value, right.value))
        return self.call_operator(OPERATORS[type(op)], [self.as_value(left), self.as_value(right)], {}, e)

    def _known_identity(self, left: Any, right: Any, same: bool) -> bool | None:
        if isinstance(left, Static) and isinstance(right, Static):
            return (left.value is right.value) is same
        if isinstance(right, Static) and right.value is None:
            kind = left.type.kind if isinstance(left, Value) else "Object"
            if kind != "Optional":
                return (kind == "NoneType") is same
        return None

    def _boolop(self, e: ast.BoolOp) -> Any:
        return self._all_or_any(e.values, isinstance(e.op, ast.And), e)

    def _all_or_any(self, values: list[ast.expr], every: bool, e: ast.AST) -> Any:
        first = self._condition(values[0])
        if len(values) == 1:
            return Static(first) if isinstance(first, bool) else first
        if isinstance(first, bool):
            return Static(first) if first is not every else self._all_or_any(values[1:], every, e)

        def rest() -> Value:
            found = self._all_or_any(values[1:], every, e)
            return self.as_value(found)

        def known() -> Value:
            return self.constant(not every, place=self.place(e))

        return self.choice(first, [rest, known] if every else [known, rest], self.place(e))

    def _ifexp(self, e: ast.IfExp) -> Any:
        condition = self._condition(e.test)
        if isinstance(condition, bool):
            return self.expression(e.body if condition else e.orelse)
        parts = [lambda part=part: self.as_value(self.expression(part)) for part in (e.body, e.orelse)]
        return self.choice(condition, parts, self.place(e))

    def _condition(self, e: ast.expr) -> Any:
        """A bool that is known now, or a value that is branched on."""
        found = self.expression(e)
        if isinstance(found, Static):
            self.numbering.gone()
            return bool(found.value)
        value = self.as_value(found)
        if not _is_of_bools(e):
            self.numbering.gone()  # the zero that torch's conversion to bool makes
        return value if value.type == BOOL else self.call_operator("Bool", [value], {}, e)

    def _joinedstr(self, e: ast.JoinedStr) -> Any:
        text, parts = "", []
        for part in e.values:
            if isinstance(part, ast.Constant):
                text += str(part.value)
            elif isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion == -1:
                text += "{}"
                parts.append(part.value)
            else:
                raise self.refuse(e, "a text with formats")
        begin = self.constant(text, place=self.place(e))
        return self.call_operator("format", [begin, *(self.as_value(self.expression(p)) for p in parts)], {}, e)

    def _subscript(self, e: ast.Subscript) -> Any:
        container = self.expression(e.value)
        if isinstance(container, Parts):
            return container.values[self._known(e.slice)]
        if isinstance(container, Object):
            return self._item_of_modules(container, e)
        if isinstance(container, Static) and not isinstance(container.value, (list, tuple)):
            return Static(container.value[self._known(e.slice)])
        value = self.as_value(container)
        if value.type.kind == "Tensor":
            part, indices = self._sliced(value, e)
            return part if indices is None else self.call_operator("index", [part, indices], {}, e)
        if value.type.kind == "Tuple":
            index = self._known(e.slice)
            return self.node("prim::TupleIndex", [value, self.constant(index)], value.type.parts[index], self.place(e))
        if isinstance(e.slice, ast.Slice):
            return self._list_slice(value, e.slice, e)
        return self.call_operator("__getitem__", [value, self.as_value(self.expression(e.slice))], {}, e)

    def _list_slice(self, value: Value, index: ast.Slice, e: ast.AST) -> Value:
        if value.type.kind not in ("List", "str"):
            raise self.refuse(e, f"a slice of a {value.type}")
        return self.call_operator("slice", [value, *self._bounds(index)], {}, e)

    def _bounds(self, index: ast.Slice) -> list[Value]:
        """Where a slice begins and ends, and its step."""
        given = [
            None if b is None else self.as_value(self.expression(b)) for b in (index.lower, index.upper, index.step)
        ]
        step = self.constant(1) if given[2] is None else given[2]
        return [*(self.constant(None, NONE) if b is None else b for b in given[:2]), step]

    def _item_of_modules(self, container: Object, e: ast.Subscript) -> Any:
        key = self._known(e.slice)
        names = list(container.module._modules)
        name = names[key] if isinstance(key, int) else key
        child = self._child(container, name, e)
        child.made = child.value
        return child

    def _known(self, e: ast.expr) -> Any:
        found = self.expression(e)
        if not isinstance(found, Static):
            raise self.refuse(e, "an index that is known only when the program runs")
        return found.value

    def _sliced(self, value: Value, e: ast.Subscript) -> tuple[Value, Value | None]:
        """The part of a tensor that numbers and slices choose, and the list of tensors that index it further."""
        indices = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
        tensors: dict[int, Value] = {}
        dim, backwards = 0, False
        indices = list(map(_as_slice, indices))
        read = {
            id(index): self._index(index, len(indices) == 1 and isinstance(e.ctx, ast.Load))
            for index in indices
            if _is_read_first(index)
        }
        for i, index in enumerate(indices):
            if isinstance(index, ast.Slice):
                value = self._slice(value, dim, index, e)
                dim += 1
                continue
            if isinstance(index, ast.Constant) and index.value is Ellipsis:
                if any(isinstance(rest, ast.Constant) and rest.value is None for rest in indices[i:]):
                    raise self.refuse(e, "an ellipsis before None")
                dim, backwards = -(len(indices) - i - 1), True
                continue
            found = read[id(index)] if id(index) in read else self.expression(index)
            if isinstance(found, Static) and found.value is None:
                value = self.call_operator("unsqueeze", [value, self.constant(dim)], {}, e)
                dim += 1
                continue
            chosen = self.as_value(found)
            if chosen.type.kind == "int":
                value = self.call_operator("select", [value, self.constant(dim), chosen], {}, e)
                dim += backwards
            elif chosen.type == list_of(INT) and not backwards:
                none = self.constant(None, NONE)
                inputs = [chosen, none, none, self.constant(False)]
                tensors[dim] = made = Value(TENSOR)
                self.add(Node("aten::tensor", inputs, [made], schema=TENSOR_OF, place=self.place(e)))
                dim += 1
            elif chosen.type.kind == "Tensor" and not backwards:
                tensors[dim] = chosen
                dim += 1
            else:
                raise self.refuse(e, f"an index of type {chosen.type}")
        if not tensors:
            return value, None
        none = self.constant(None, NONE)
        parts = [tensors.get(i, none) for i in range(max(tensors) + 1)]
        return value, self.node("prim::ListConstruct", parts, list_of(Type("Optional", (TENSOR,))))  # fmt: skip

    def _index(self, index: ast.expr, is_alone: bool) -> Any:
        """An index, which torch reads twice, and one that is alone three times."""
        for _ in range(2 if is_alone else 1):
            self.expression(index)
        return self.expression(index)

    def _slice(self, value: Value, dim: int, index: ast.Slice, e: ast.AST) -> Value:
        at = self.constant(dim)
        return self.call_operator("slice", [value, at, *self._bounds(index)], {}, e)


def _is_read_first(index: ast.expr) -> bool:
    """Whether an index is a variable or a constant, which torch reads before it takes parts."""
    return isinstance(index, ast.Name) or isinstance(index, ast.Constant) and index.value is not Ellipsis


def _is_of_bools(e: ast.expr) -> bool:
    """Whether a condition is one of conditions, or asks for None, which torch converts to no bool."""
    is_asked = isinstance(e, ast.Compare) and isinstance(e.ops[0], (ast.Is, ast.IsNot))
    return is_asked or isinstance(e, ast.BoolOp) or isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not)


def _as_slice(index: ast.expr) -> ast.expr:
    """`slice(None, 2, None)`, as generated code writes it, as `:2`."""
    if not isinstance(index, ast.Call) or not isinstance(index.func, ast.Name) or index.func.id != "slice":
        return index
    bounds = [None if isinstance(b, ast.Constant) and b.value is None else b for b in index.args]
    bounds = [None, *bounds] if len(bounds) == 1 else bounds
    return ast.Slice(*bounds, *[None] * (3 - len(bounds)))
