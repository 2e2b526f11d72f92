"""A Python function as a graph: the part of Python that TorchScript has and this file knows.

The types of parameters are their annotations, tensors where there are none. Names that are no variables are looked up where
Python would, when the function is compiled. What has no graph here raises NotImplementedError with its line.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

from ....core.tensor.tensor import Tensor
from ..ir.graph import DEVICE, INT, NONE, TENSOR, Graph, Node, Type, Value, list_of
from ..ir.plain_operators import TENSOR_OF
from .expressions import Expressions
from .known import CONSTANTS, OPERATORS, Object, Parts, Source, Static, length_of, type_of_hint
from .statements import (
    FOREVER,
    GOES_ON,
    RETURN,
    always_leaves,
    hint_of,
    leaves_loop,
    loop_form,
    stored_names,
    tail_form,
)

__all__ = ["Compiler"]

_IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


class Compiler(Expressions):
    """One function or method. program: `function(f)` and `method(module, name)` give graphs of others."""

    def __init__(self, source: Source, program: Any, module: Any = None, name: str = ""):
        super().__init__(Graph(name or source.tree.name))
        self.goes_on: Callable[[], Value] | None = None  # of the loop with exits that is compiled
        self.source, self.program = source, program
        arguments = source.tree.args
        if arguments.vararg or arguments.kwarg:
            raise NotImplementedError(
                f"torch.jit: {self.graph.name}() takes *args or **kwargs, which has no graph here"
            )
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for i, p in enumerate(parameters):
            if not i and module is not None:
                value = Value(Type("Class", detail=program.class_name(module)), p.arg)
                self.names[p.arg] = Object(value, module)
            else:
                hint = source.hints.get(p.arg)
                kind = TENSOR if hint is None else type_of_hint(hint, source.scope, f"argument '{p.arg}'")
                self.names[p.arg] = value = Value(kind, p.arg)
                self.graph.names.take(value, p.arg)
                length = length_of(hint, source.scope)
                if length:
                    self.graph.lengths[value] = length
                if p.arg in source.defaults:
                    default = source.defaults[p.arg]
                    self.graph.defaults[value] = [default] * length if length and type(default) is int else default
            self.graph.inputs.append(value)
            self.numbering.number(value)
        body = source.tree.body
        if any(isinstance(n, ast.Return) for s in body for n in ast.walk(s)) and not always_leaves(body):
            end = ast.copy_location(ast.Return(None), body[-1])
            body = [*body, end]
        self._run(tail_form(body))
        self.finish()

    # ------------------------------------------------------------------------------------------ statements

    def _run(self, statements: list[ast.stmt]) -> bool:
        """Compile statements; whether they never come to their end by an error."""
        return any(self._statement(s) for s in statements)

    def _statement(self, s: ast.stmt) -> bool:
        method = getattr(self, f"_{type(s).__name__.lower()}_statement", None)
        if method is None:
            raise self.refuse(s, f"a statement of kind {type(s).__name__.lower()}")
        return bool(method(s))

    def _pass_statement(self, s: ast.Pass) -> None:
        pass

    def _expr_statement(self, s: ast.Expr) -> None:
        if not isinstance(s.value, ast.Constant):
            self.expression(s.value)

    def _return_statement(self, s: ast.Return) -> None:
        if s.value is None:
            self.names[RETURN] = self.constant(None, NONE)
            return
        value = self.as_value(self.expression(s.value))
        declared = self.source.hints.get("return")
        if declared is not None:
            kind = type_of_hint(declared, self.source.scope, "what is returned")
            if value.type.kind in ("List", "Dict") and value.type != kind and not self._is_variable(value):
                value.type = kind
            if value.type.kind == "Scalar" and kind.kind in ("float", "int"):
                value = self.call_operator({"float": "Float", "int": "Int"}[kind.kind], [value], {}, s)
        self.names[RETURN] = value

    def _is_variable(self, value: Value) -> bool:
        return bool(value.hint)

    def _assign_statement(self, s: ast.Assign) -> None:
        value = self.expression(s.value)
        if isinstance(s.value, ast.Tuple):
            self.numbering.gone()  # torch's tuple
        for target in s.targets:
            self._store(target, value)

    def _annassign_statement(self, s: ast.AnnAssign) -> None:
        if s.value is None:
            return
        value = self.as_value(self.expression(s.value))
        kind = type_of_hint(ast.unparse(s.annotation), self.source.scope, "a variable")
        value.type = kind
        self._store(s.target, value)

    def _store(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            name = hint_of(target.id)
            if isinstance(value, (Static, Parts)) and not self._stays(value):
                value = self.as_value(value)
            of_block = value not in self.literals.values() or self.block is self.graph
            if value in self.folded:
                self.graph.names.take(Value(NONE), name)
            elif isinstance(value, Value) and not value.hint and name and not self._is_input(value) and of_block:
                value.hint = name
                self.graph.names.take(value, name)
            if self.around and target.id in self.around[-1]:
                self.numbering.gone(name)  # torch reads the variable of the block around
            self.assigned(target.id)
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple):
            for part, v in zip(target.elts, self._unpacked(value, len(target.elts), target), strict=True):
                self._store(part, v)
        elif isinstance(target, ast.Subscript):
            self._store_item(target, value)
        elif isinstance(target, ast.Attribute):
            self._store_attribute(target, value)
        else:
            raise self.refuse(target, "this target of an assignment")

    def _is_input(self, value: Value) -> bool:
        return value in self.graph.inputs

    def _stays(self, value: Any) -> bool:
        """Whether a variable keeps what is known of it: a function or module of Python."""
        return isinstance(value, Static) and not isinstance(value.value, (*CONSTANTS, Tensor))

    def _unpacked(self, value: Any, count: int, at: ast.AST) -> list[Any]:
        if isinstance(value, Parts):
            parts = value.values
        else:
            value = self.as_value(value)
            if value.type.kind not in ("Tuple", "List"):
                raise self.refuse(at, f"unpacking a {value.type}")
            types = value.type.parts if value.type.kind == "Tuple" else value.type.parts * count
            parts = [Value(t) for t in types]
            if len(parts) == count:
                self.add(Node(f"prim::{value.type.kind}Unpack", [value], parts))
        if len(parts) != count:
            raise RuntimeError(f"Provided {len(parts)} values for {count} variables (line {getattr(at, 'lineno', 0)})")
        return parts

    def _store_item(self, target: ast.Subscript, value: Any) -> None:
        container = self.as_value(self.expression(target.value))
        if container.type.kind in ("List", "Dict"):
            key = self.as_value(self.expression(target.slice))
            self.call_operator("_set_item", [container, key, self.as_value(value)], {}, target)
            return
        if container.type.kind != "Tensor":
            raise self.refuse(target, f"an assignment into a {container.type}")
        part, indices = self._sliced(container, target)
        v = self.as_value(value)
        if indices is not None:
            self.call_operator("index_put_", [part, indices, self._as_tensor(v, part, target)], {}, target)
        else:
            self.call_operator("copy_", [part, self._as_tensor(v, part, target)], {}, target)

    def _as_tensor(self, v: Value, like: Value, at: ast.AST) -> Value:
        if v.type.kind == "Tensor":
            return v
        kind = self.node("prim::dtype", [like], INT)
        where = self.node("prim::device", [like], DEVICE)
        result = Value(TENSOR)
        inputs = [v, kind, where, self.constant(False)]
        self.add(Node("aten::tensor", inputs, [result], schema=TENSOR_OF))
        return result

    def _store_attribute(self, target: ast.Attribute, value: Any) -> None:
        owner = self.expression(target.value)
        if not isinstance(owner, Object):
            raise self.refuse(target, "an assignment to an attribute")
        node = Node(
            "prim::SetAttr", [owner.value, self.as_value(value)], [], {"name": target.attr}, place=self.place(target)
        )
        self.add(node)

    def _augassign_statement(self, s: ast.AugAssign) -> None:
        load = ast.copy_location(ast.fix_missing_locations(_loaded(s.target)), s.target)
        old = self.as_value(self.expression(load))
        new = self.as_value(self.expression(s.value))
        name = OPERATORS[type(s.op)]
        if old.type.kind == "Tensor":
            result = self.call_operator(_IN_PLACE.get(type(s.op), name), [old, new], {}, s)
        else:
            result = self.call_operator(name, [old, new], {}, s)
        if isinstance(s.target, ast.Subscript) and old.type.kind == "Tensor":
            return
        self._store(s.target, result)

    def _assert_statement(self, s: ast.Assert) -> None:
        message = s.msg.value if isinstance(s.msg, ast.Constant) else ""
        condition = self._condition(s.test)
        if isinstance(condition, bool):
            return

        def fail() -> bool:
            self._raise_node(f"AssertionError: {message}", None, s)
            return True

        self.branch(condition, [lambda: False, fail], self.place(s))

    def _raise_statement(self, s: ast.Raise) -> bool:
        kind, message = None, ""
        if isinstance(s.exc, ast.Call) and isinstance(s.exc.func, ast.Name):
            kind = s.exc.func.id
            if s.exc.args:
                part = self.expression(s.exc.args[0])
                message = self.as_value(part)
        self._raise_node(message, f"builtins.{kind}" if kind else None, s)
        return True

    def _raise_node(self, message: Any, kind: str | None, at: ast.AST) -> None:
        text = message if isinstance(message, Value) else self.constant(str(message))
        inputs = [text, self.constant(kind, place=self.place(at.exc) if isinstance(at, ast.Raise) and at.exc else "")]
        self.add(Node("prim::RaiseException", inputs, [], place=self.place(at)))

    def _if_statement(self, s: ast.If) -> bool:
        condition = self._condition(s.test)
        if isinstance(condition, bool):
            return self._run(s.body if condition else s.orelse)
        refined = self._refinement(s.test)
        parts = []
        for holds, statements, other in ((True, s.body, s.orelse), (False, s.orelse, s.body)):
            kept = set(self.names) if always_leaves(other) else set(stored_names(other))
            parts.append(lambda h=holds, body=statements, kept=kept: self._refined(refined, h, body, kept))
        self.branch(condition, parts, self.place(s))
        return False

    def _refined(self, refined: dict[str, bool], holds: bool, statements: list[ast.stmt], kept: set[str]) -> bool:
        """Run a branch in which variables are known to be given. kept: those that the other branch assigns."""
        before = dict(self.names)
        casts: dict[str, Value] = {}
        for name, is_given in refined.items():
            if is_given is holds:
                old = self.names[name]
                self.numbering.gone(name)
                casts[name] = new = self.node("prim::unchecked_cast", [old], old.type.parts[0])
                self._store(ast.Name(name, ast.Store()), new)
        gone = self._run(statements)
        for name, new in casts.items():
            if self.names.get(name) is new and name not in kept:
                self.names[name] = before[name]
        return gone

    def _refinement(self, test: ast.expr) -> dict[str, bool]:
        """The variables that a condition `x is (not) None` says of, and whether they are given where it holds."""
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and len(test.ops) == 1:
            right = test.comparators[0]
            value = self.names.get(test.left.id)
            is_none = isinstance(right, ast.Constant) and right.value is None
            is_optional = isinstance(value, Value) and value.type.kind == "Optional"
            if is_none and is_optional and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
                return {test.left.id: isinstance(test.ops[0], ast.IsNot)}
        return {}

    def _for_statement(self, s: ast.For) -> None:
        if s.orelse:
            raise self.refuse(s, "an else of a loop")
        if leaves_loop(s.body, ast.Break):
            self._loop_with_break(s)
            return
        body = loop_form(s.body)
        self._loop_over(s.iter, s.target, body, lambda: self._run(body), s)

    def _loop_over(self, source: ast.expr, target: ast.expr, body: list[ast.stmt], run: Callable, at: ast.AST) -> None:
        stored = set(stored_names(body))
        carried = [n for n in self.names if n in stored and n != RETURN]
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range":
            self._loop_over_range([self.as_value(self.expression(a)) for a in source.args], target, carried, run, at)
            return
        items = self._enumerated(source)
        if items is not None:
            for parts in items:
                self._store(target, parts)
                run()
            return
        together = self._several_sources(source)
        if together is not None:
            self._loop_over_several(together, target, carried, run, at)
            return
        values = self.as_value(self.expression(source))
        if values.type.kind == "Dict":
            values = self.call_operator("keys", [values], {}, at)
        if values.type.kind == "Tensor":
            values = self.call_operator("unbind", [values], {}, at)
        if values.type.kind != "List":
            raise self.refuse(source, f"a loop over a {values.type}")
        count = self.call_operator("len", [values], {}, at)

        def each(index: Value) -> None:
            self._store(target, self.call_operator("__getitem__", [values, index], {}, at))
            run()

        self.loop(count, None, carried, each, place=self.place(at))

    def _several_sources(self, source: ast.expr) -> tuple[str, list[Value]] | None:
        """The lists of `enumerate(list)` and `zip(list, list)`; None for anything else."""
        if not (isinstance(source, ast.Call) and isinstance(source.func, ast.Name)) or source.keywords:
            return None
        word = source.func.id
        if word not in ("enumerate", "zip") or word in self.names:
            return None
        if word == "enumerate":
            self.literal(FOREVER, self.place(source))
            self.numbering.gone()  # where torch begins to count
            self.numbering.gone()  # its step
        values = [self.as_value(self.expression(a)) for a in source.args]
        if any(v.type.kind != "List" for v in values) or word == "enumerate" and len(values) != 1:
            raise self.refuse(source, f"{word}() of these")
        return word, values

    def _loop_over_several(
        self, together: tuple[str, list[Value]], target: ast.expr, carried: list[str], run: Callable, at: ast.AST
    ) -> None:
        word, values = together
        lengths = [self.call_operator("len", [v], {}, at) for v in values]
        if word == "enumerate":
            lengths.insert(0, self.literal(FOREVER, ""))
        joined = self.node("prim::ListConstruct", lengths, list_of(INT))
        trips = self.node("prim::min", [joined], INT, self.place(at))
        is_named = word == "enumerate" and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name)
        name = target.elts[0].id if is_named else ""  # type: ignore[attr-defined]

        def each(index: Value) -> None:
            items: list[Any] = [self.call_operator("__getitem__", [v, index], {}, at) for v in values]
            if word == "enumerate":
                items.insert(0, index)
            self.numbering.gone()  # torch's tuple of them
            self._store(target, Parts(items))
            run()

        self.loop(trips, None, [n for n in carried if n != name], each, self.place(at))

    def _enumerated(self, source: ast.expr) -> list[Any] | None:
        """The modules of a container of modules, which a loop has one after the other; None for anything else."""
        inner, counted = source, False
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "enumerate":
            inner, counted = source.args[0], True
        elif not isinstance(source, (ast.Attribute, ast.Name, ast.Call)):
            return None
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and not inner.args:
            word, owner = inner.func.attr, self.expression(inner.func.value)
            if not isinstance(owner, Object) or word not in ("items", "values", "keys"):
                return None
        elif isinstance(inner, ast.Name) and isinstance(self.names.get(inner.id), Value):
            return None
        elif isinstance(inner, (ast.Attribute, ast.Name)):
            word, owner = "values", self.expression(inner)
            if isinstance(owner, Parts) or isinstance(owner, Static) and isinstance(owner.value, (list, tuple, range)):
                parts = owner.values if isinstance(owner, Parts) else [Static(v) for v in owner.value]
                return [Parts([Static(i), v]) for i, v in enumerate(parts)] if counted else parts
        else:
            return None
        if not isinstance(owner, Object):
            return None
        children = [(name, self._child(owner, name, source)) for name in owner.module._modules]
        for _, child in children:
            child.made = child.value
        items: list[Any] = [
            {"items": Parts([Static(name), child]), "values": child, "keys": Static(name)}[word]
            for name, child in children
        ]
        return [Parts([Static(i), v]) for i, v in enumerate(items)] if counted else items

    def _loop_over_range(
        self, values: list[Value], target: ast.expr, carried: list[str], run: Callable, at: ast.AST
    ) -> None:
        name = target.id if isinstance(target, ast.Name) else ""
        carried = [n for n in carried if n != name]
        if len(values) == 1:
            self.numbering.gone()  # where torch begins
            self.numbering.gone()  # its step

            def counted(index: Value) -> None:
                self._store(target, index)
                run()

            self.loop(values[0], None, carried, counted, place=self.place(at))
            return
        start, end, step = values if len(values) == 3 else [*values, self.constant(1)]
        length = self.call_operator("__range_length", [start, end, step], {}, at)

        def derived(index: Value) -> None:
            self._store(target, self.call_operator("__derive_index", [index, start, step], {}, at))
            run()

        self.loop(length, None, carried, derived, place=self.place(at))

    def _while_statement(self, s: ast.While) -> None:
        if s.orelse:
            raise self.refuse(s, "an else of a loop")
        stored = set(stored_names(s.body))
        carried = [n for n in self.names if n in stored and n != RETURN]

        def goes_on() -> Value:
            condition = self._condition(s.test)
            return self.constant(condition) if isinstance(condition, bool) else condition

        if not leaves_loop(s.body, (ast.Break, ast.Continue)):
            self.loop(None, goes_on, carried, lambda index: (self._run(s.body), None)[1], place=self.place(s))
            return
        self._loop_with_exits(s, goes_on, carried)

    def _loop_with_exits(self, s: Any, goes_on: Callable[[], Value], carried: list[str]) -> None:
        """A loop that some branches leave or begin again: each branch says at its end whether it goes on."""
        outer, self.goes_on = self.goes_on, goes_on
        body = loop_form([*s.body, ast.copy_location(ast.Continue(), s)])

        def run(index: Value) -> None:
            self._run(body)

        first = True

        def condition() -> Value:
            nonlocal first
            if first:
                first = False
                return goes_on()
            return self.as_value(self.names.pop(GOES_ON))

        self.loop(None, condition, carried, run, place=self.place(s))
        self.goes_on = outer

    def _loop_with_break(self, s: ast.For) -> None:
        """A counted loop that is left in the middle, as a loop with a counter."""
        call = s.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
            s = self._over_places(s)
            call = s.iter
        assert isinstance(call, ast.Call)
        values = [self.as_value(self.expression(a)) for a in call.args]
        start, end, step = [self.constant(0), *values, self.constant(1)] if len(values) == 1 else (*values, self.constant(1))[:3]  # fmt: skip
        if self.known.get(step) != 1:
            raise self.refuse(s, "break in a loop with steps")
        stored = set(stored_names(s.body))
        counter = f"%count{s.lineno}"
        self.names[counter] = start
        carried = [n for n in self.names if n in stored and n != RETURN] + [counter]
        now, step_on = ast.Name(counter, ast.Load()), ast.Name(counter, ast.Store())
        following = ast.BinOp(now, ast.Add(), ast.Constant(1))
        head = [
            ast.fix_missing_locations(ast.copy_location(n, s))
            for n in (ast.Assign([s.target], now), ast.Assign([step_on], following))
        ]
        loop = ast.copy_location(ast.While(ast.Constant(True), [*head, *s.body], []), s)

        def goes_on() -> Value:
            return self.as_value(self.call_operator("lt", [self.as_value(self.names[counter]), end], {}, s))

        self._loop_with_exits(loop, goes_on, carried)
        del self.names[counter]

    def _over_places(self, s: ast.For) -> ast.For:
        """A loop over a list, or over its items with their numbers, as one over its places."""
        call, target = s.iter, s.target
        numbers = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "enumerate"
        number = None
        if numbers and isinstance(call, ast.Call) and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            call, number, target = call.args[0], *target.elts
        values = self.as_value(self.expression(call))
        if values.type.kind == "Tensor":
            values = self.call_operator("unbind", [values], {}, s)
        if values.type.kind != "List":
            raise self.refuse(s, f"break in a loop over a {values.type}")
        source, place = f"%list{s.lineno}", f"%place{s.lineno}"
        self.names[source] = values
        count = ast.Call(ast.Name("len", ast.Load()), [ast.Name(source, ast.Load())], [])
        places = ast.Call(ast.Name("range", ast.Load()), [count], [])
        item = ast.Subscript(ast.Name(source, ast.Load()), ast.Name(place, ast.Load()), ast.Load())
        body: list[ast.stmt] = [ast.Assign([target], item), *s.body]
        if number is not None:
            body.insert(0, ast.Assign([number], ast.Name(place, ast.Load())))
        return ast.fix_missing_locations(ast.copy_location(ast.For(ast.Name(place, ast.Store()), places, body, []), s))

    def _break_statement(self, s: ast.Break) -> None:
        self.names[GOES_ON] = self.constant(False)

    def _continue_statement(self, s: ast.Continue) -> None:
        if self.goes_on is not None:
            self.names[GOES_ON] = self.goes_on()


def _loaded(target: ast.expr) -> ast.expr:
    read = copy.deepcopy(target)
    read.ctx = ast.Load()  # type: ignore[attr-defined]
    return read
