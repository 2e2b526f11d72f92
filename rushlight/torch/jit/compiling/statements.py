"""Statements as nodes of a graph: assignments of single values, branches and loops with blocks.

What a branch or a loop assigns becomes a result of its node. A return inside a branch takes what follows into the other
branch, and `break` and `continue` say whether their loop goes on. A return inside a loop leaves it with what it gives, and
returns after it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..ir.graph import BOOL, INT, NONE, Block, Graph, Node, Type, Value
from ..ir.literals import type_of_constant
from .numbering import Numbering, pool_constants, sort_results

__all__ = [
    "FOREVER",
    "GOES_ON",
    "RETURN",
    "UNINITIALIZED",
    "Statements",
    "always_leaves",
    "hint_of",
    "leaves_loop",
    "loop_form",
    "stored_names",
    "tail_form",
]

RETURN = "return"  # the name that what a function gives has among the variables
GOES_ON = "continue"  # the name of whether the loop goes on
RETURNED, GIVEN = "%returned", "%given"  # whether a loop was left by a return, and what that gives
UNINITIALIZED = "%uninitialized"  # a value of the function's type that nothing reads
FOREVER = 2**63 - 1


class Statements:
    """A function whose statements become a graph. `names` has the variables, `block` is where nodes go."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.block: Graph | Block = graph
        self.names: dict[str, Any] = {}
        self.known: dict[Value, Any] = {}  # constants
        self.folded: list[Value] = []  # constants that are results of operators on constants
        self.literals: dict[Any, Value] = {}  # numbers of the source, each made once
        self.numbering = Numbering(graph)
        self.copies: list[Callable[[], None]] = []  # number what is copied of the conditions of loops
        self.stored: list[set[str]] = []  # the variables that the blocks around assign, the innermost last
        self.around: list[dict[str, Any]] = []  # the variables that were there when they began

    # ------------------------------------------------------------------------------------------ nodes

    def add(self, node: Node) -> None:
        """Append a node to the block."""
        self.block.nodes.append(node)
        for value in node.outputs:
            if value not in self.graph.numbers:
                self.numbering.number(value)

    def node(self, kind: str, inputs: list[Value], type: Type, place: str = "", **attributes: Any) -> Value:
        """The result of a new node."""
        result = Value(type)
        self.add(Node(kind, inputs, [result], attributes, place=place))
        return result

    def constant(self, value: Any, type: Type | None = None, place: str = "") -> Value:
        """A new constant."""
        kind = type_of_constant(value) if type is None else type
        made = self.node("prim::Constant", [], kind, place, value=value)
        self.known[made] = value
        return made

    def literal(self, value: Any, place: str) -> Value:
        """The constant of a number in the source, at the graph's begin."""
        key = type(value), repr(value)
        if key not in self.literals:
            made = Value(type_of_constant(value))
            self.graph.nodes.insert(0, Node("prim::Constant", [], [made], {"value": value}, place=place))
            self.numbering.number(made)
            self.literals[key], self.known[made] = made, value
        return self.literals[key]

    def computed_at_the_end(self, value: Any) -> Value:
        """The constant that an operator gives for constants, which torch computes when all is compiled."""
        self.numbering.gone()  # the operator's result
        made = self.constant(value)
        self.numbering.next = self.graph.numbers.pop(made)
        self.folded.append(made)
        return made

    def inside(self, block: Block, work: Callable[[], None]) -> None:
        """Do work whose nodes go to a block."""
        outer, self.block = self.block, block
        try:
            work()
        finally:
            self.block = outer

    # ------------------------------------------------------------------------------------------ branches

    def branch(self, condition: Value, parts: list[Callable[[], bool]], place: str = "") -> None:
        """Run one of two parts. Each says whether it never comes to its end."""
        node = Node("prim::If", [condition], [], place=place)
        before, results, lost = self.names, [], []
        outer, later, stored = self.numbering.later, [], []
        for part in parts:
            node.blocks.append(Block())
            self.names = dict(before)
            self.stored.append(set())
            self.around.append(before)
            self.numbering.later = []
            self.inside(node.blocks[-1], lambda part=part: lost.append(part()))
            later.append(self.numbering.later)
            stored.append(self.stored.pop())
            self.around.pop()
            results.append(self.names)
        self.numbering.later = outer
        assigned = self._count_assigned(stored, results, before)
        self.block.nodes.append(node)
        if any(lost):
            kept = results[lost.index(False)] if not all(lost) else before
            results = [kept if gone else names for names, gone in zip(results, lost, strict=True)]
        self.names = {}
        order = [*before, *sorted((results[0].keys() | results[1].keys()) - before.keys())]
        if all(RETURN in names for names in results):
            order = [RETURN]  # nothing else is read any more
        elif any(GOES_ON in names for names in results):
            order = [GOES_ON, *(name for name in order if name != GOES_ON)]
        for name in order:
            pair = [names.get(name) for names in results]
            if pair[0] is pair[1] and (not any(lost) or pair[0] is before.get(name)):
                if pair[0] is not None:
                    self.names[name] = pair[0]
            elif None not in pair:
                self.names[name] = self._merged(node, name, pair, lost)
        outputs = {name: v for name, v in self.names.items() if isinstance(v, Value) and v in node.outputs}
        self.numbering.branches(node, outputs, assigned, later)

    def _count_assigned(self, stored: list[set[str]], results: list[dict], before: dict) -> list[str]:
        """The variables that a branch assigns and that both know, sorted. torch reads each several times to see that."""
        found = set()
        for mine, other in ((stored[0], results[1]), (stored[1], results[0])):
            for name in sorted(mine):
                if name in other:
                    self.numbering.gone(hint_of(name))
                    found.add(name)
        for name in sorted(found):
            for _ in range(3 if name in before else 2):
                self.numbering.gone(hint_of(name))
        for name in found:
            self.assigned(name)
        return sorted(found)

    def assigned(self, name: str) -> None:
        """Note that the block assigns a variable."""
        if self.stored:
            self.stored[-1].add(name)

    def _merged(self, node: Node, name: str, pair: list[Any], lost: list[bool]) -> Any:
        if not all(isinstance(v, Value) for v in pair):
            values = []
            for block, v in zip(node.blocks, pair, strict=True):
                self.inside(block, lambda v=v: values.append(self.as_value(v)))
            pair = values
        kind = joined(pair[0].type, pair[1].type, name)
        for i, block in enumerate(node.blocks):
            if lost[i]:
                pair[i] = self._uninitialized(kind)
            block.outputs.append(pair[i])
        exits = name in (RETURN, GOES_ON) or self.names.keys() & {GOES_ON}
        node.outputs.append(Value(kind, "" if exits else hint_of(name)))
        return node.outputs[-1]

    def _uninitialized(self, kind: Type) -> Value:
        """A value that nothing reads, for a branch that never comes to its end: made at the graph's top."""
        result = Value(kind)
        top = sum(n.is_constant and "name" in n.attributes for n in self.graph.nodes)
        self.graph.nodes.insert(top, Node("prim::Uninitialized", [], [result]))
        return result

    def as_value(self, value: Any) -> Value:
        """A variable's value as one of the graph."""
        return value

    def choice(self, condition: Value, parts: list[Callable[[], Value]], place: str = "") -> Value:
        """The value of one of two expressions."""
        node = Node("prim::If", [condition], [], place=place)
        results: list[Value] = []
        for part in parts:
            node.blocks.append(Block())
            self.inside(node.blocks[-1], lambda part=part: results.append(part()))
            node.blocks[-1].outputs.append(results[-1])
        node.outputs.append(Value(joined(results[0].type, results[1].type, "a conditional expression")))
        self.add(node)
        return node.outputs[0]

    # ------------------------------------------------------------------------------------------ loops

    def loop(
        self,
        trips: Value | None,
        condition: Callable[[], Value] | None,
        carried: list[str],
        body: Callable[[Value], None],
        place: str = "",
    ) -> None:
        """A loop of so many trips, or as long as a condition holds. carried: the variables that it changes."""
        if trips is None:
            trips = self.literal(FOREVER, place)
        begin = self.numbering.next
        goes_on = self.constant(True, place=place) if condition is None else condition()
        end = self.numbering.next
        values = [self.as_value(self.names[name]) for name in carried]
        node = Node("prim::Loop", [trips, goes_on, *values], [], place=place)
        block = Block()
        node.blocks.append(block)
        block.inputs = [
            Value(INT),
            *(Value(v.type, hint_of(name)) for v, name in zip(values, carried, strict=True)),
        ]
        before = dict(self.names)
        self.names |= dict(zip(carried, block.inputs[1:], strict=True))
        self.numbering.number(block.inputs[0])
        again: list[Value] = []
        outer, self.numbering.later = self.numbering.later, []
        self.stored.append(set())
        self.around.append(before)

        def work() -> None:
            body(block.inputs[0])
            if condition is None:
                again.append(goes_on)
            else:
                self._again(condition, again, begin, end)

        self.inside(block, work)
        inside, self.numbering.later = self.numbering.later, outer
        stored = sorted(name for name in self.stored.pop() if name in before)
        self.around.pop()
        for name in stored:
            self.assigned(name)
        after = [self.names[name] for name in carried]
        for name, old, new in zip(carried, values, after, strict=True):
            if joined(old.type, new.type, name) != old.type:
                raise NotImplementedError(
                    f"torch.jit: a loop changes the type of '{name}' from {old.type} to {new.type}"
                )
        block.outputs = [again[0], *after]
        self.block.nodes.append(node)
        self.names = before
        for name, v in zip(carried, values, strict=True):
            node.outputs.append(Value(v.type, hint_of(name)))
            self.names[name] = node.outputs[-1]
        results = dict(zip(carried, node.outputs, strict=True))
        self.numbering.loop(dict(zip(carried, block.inputs[1:], strict=True)), results, stored, inside)

    def _again(self, condition: Callable[[], Value], again: list[Value], begin: int, end: int) -> None:
        """The condition at the end of a trip. torch compiles it first, and copies it before the loop when all is compiled."""
        numbers = self.graph.numbers
        copies = [v for v, n in numbers.items() if begin <= n < end and v not in self.literals.values()]
        places, now = [numbers[v] for v in copies], self.numbering.next
        with self.numbering.without_names():
            again.append(condition())
        made = [v for v, n in numbers.items() if n >= now]
        numbers |= dict(zip(made, places, strict=False))
        self.numbering.next = now

        def number() -> None:
            for value in copies:
                self.numbering.number(value)
                name = self.graph.names.of.get(value)
                if name is not None:
                    self.graph.names.take(Value(NONE), name)

        self.copies.append(number)

    def counted(self, values: Value, place: str = "") -> Value:
        """The number of a container's items."""
        raise NotImplementedError

    def begin(self) -> str:
        """Where the function is defined."""
        raise NotImplementedError

    def finish(self) -> None:
        """Make what is returned the graph's result."""
        result = self.names.get(RETURN)
        self.graph.outputs = [self.constant(None, NONE, self.begin()) if result is None else self.as_value(result)]
        self.numbering.gone()  # torch's place for what is returned
        for work in self.numbering.later:
            work()
        self.numbering.gone()  # whether a return has ended the function
        for work in self.copies:
            work()
        self.numbering.next += 7  # constants for what leaves early
        for value in self.folded:
            self.numbering.number(value)
        for value in self.graph.all_values():
            if value not in self.graph.numbers:
                self.numbering.number(value)
        remove_unused(self.graph, self.graph)
        pool_constants(self.graph)
        sort_results(self.graph)


def remove_unused(graph: Graph, block: Graph | Block) -> None:
    """Drop what is computed and never read, where nothing else comes of it."""
    for node in block.nodes:
        for inner in node.blocks:
            remove_unused(graph, inner)
    while True:
        uses = graph.uses()
        kept = [n for n in block.nodes if not _is_free(n) or any(v in uses for v in n.outputs)]
        if len(kept) == len(block.nodes):
            return
        block.nodes[:] = kept


_FREE = (
    "prim::GetAttr",
    "prim::TupleConstruct",
    "prim::ListConstruct",
    "prim::dtype",
    "prim::device",
    "prim::Constant",
)
_STATEFUL = (
    "append",
    "_set_item",
    "pop",
    "extend",
    "reverse",
    "sort",
    "clear",
    "warn",
    "manual_seed",
    "dropout",
    "set_",
)


def _is_free(node: Node) -> bool:
    if node.kind in _FREE:
        return True
    if node.kind == "prim::If":
        return all(_is_free(inner) for block in node.blocks for inner in block.nodes)
    name = node.kind.removeprefix("aten::")
    drawn = "rand" in name or "normal" in name or "poisson" in name or "bernoulli" in name or "multinomial" in name
    calls = node.kind.startswith("aten::") and bool(node.outputs)  # one without results is there for what it does
    return calls and not node.writes and name not in _STATEFUL and not drawn


def joined(a: Type, b: Type, name: str) -> Type:
    """The type of what is of one type or the other. Raises RuntimeError where there is none."""
    a, b = (t._replace(detail="") if t.kind == "Tensor" else t for t in (a, b))
    if a == b:
        return a
    for x, y in ((a, b), (b, a)):
        if x.kind == "NoneType":
            return y if y.kind == "Optional" else Type("Optional", (y,))
        if x.kind == "Optional" and x.parts[0] == y:
            return x
    raise RuntimeError(
        f"Type mismatch: {name if name != RETURN else 'what is returned'} is set to type {a} in the true branch and type "
        f"{b} in the false branch"
    )


def condition_type(value: Value) -> bool:
    """Whether a value can be branched on as it is."""
    return value.type == BOOL


# ---------------------------------------------------------------------------------------------- shapes of source


def always_leaves(statements: list[ast.stmt]) -> bool:
    """Whether statements never come to their end."""
    for s in statements:
        if isinstance(s, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return True
        if isinstance(s, ast.If) and s.orelse and always_leaves(s.body) and always_leaves(s.orelse):
            return True
    return False


def _returns(statements: list[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Return) for s in statements for n in ast.walk(s))


def tail_form(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The same statements, where each return is the last statement of what runs."""
    for i, s in enumerate(statements):
        if isinstance(s, ast.Return):
            return statements[: i + 1]
        if isinstance(s, (ast.For, ast.While)) and _returns(s.body):
            after = ast.If(_read(RETURNED), [ast.Return(_read(GIVEN))], tail_form(statements[i + 1 :]))
            new = [
                _stored(RETURNED, ast.Constant(False)),
                _stored(GIVEN, _read(UNINITIALIZED)),
                _left_by_return(s),
                after,
            ]
            return [*statements[:i], *(ast.fix_missing_locations(ast.copy_location(n, s)) for n in new)]
        if isinstance(s, ast.If) and _returns([s]):
            rest = statements[i + 1 :]
            body = s.body if always_leaves(s.body) else [*s.body, *rest]
            orelse = s.orelse if s.orelse and always_leaves(s.orelse) else [*s.orelse, *rest]
            new = ast.copy_location(ast.If(s.test, tail_form(body), tail_form(orelse)), s)
            return [*statements[:i], new]
    return statements


def _read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _stored(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _left_by_return(loop: Any) -> Any:
    """A loop whose returns are breaks that leave what they give in variables."""
    body = _with_breaks(loop.body)
    return ast.While(loop.test, body, []) if isinstance(loop, ast.While) else ast.For(loop.target, loop.iter, body, [])


def _with_breaks(statements: list[ast.stmt]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for s in statements:
        if isinstance(s, ast.Return):
            return [
                *found,
                _stored(RETURNED, ast.Constant(True)),
                _stored(GIVEN, s.value or ast.Constant(None)),
                ast.Break(),
            ]
        if not _returns([s]):
            found.append(s)
        elif isinstance(s, ast.If):
            found.append(ast.copy_location(ast.If(s.test, _with_breaks(s.body), _with_breaks(s.orelse)), s))
        else:
            found += [ast.copy_location(_left_by_return(s), s), ast.If(_read(RETURNED), [ast.Break()], [])]
    return found


def hint_of(name: str) -> str:
    """The name that a variable's value shows: none for those of this file."""
    return "" if name.startswith("%") or name[:1] == "_" and not name.strip("_0123456789") else name


def stored_names(statements: list[ast.stmt]) -> list[str]:
    """The variables that statements assign, each once."""
    found: dict[str, None] = {}
    for s in statements:
        for n in ast.walk(s):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                found[n.id] = None
    return list(found)


def leaves_loop(statements: list[ast.stmt], kinds: Any) -> bool:
    """Whether `break` or `continue` of these kinds is among the statements of a loop's body."""
    return any(
        isinstance(s, kinds) or isinstance(s, ast.If) and (leaves_loop(s.body, kinds) or leaves_loop(s.orelse, kinds))
        for s in statements
    )


def loop_form(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a loop, where each `break` and `continue` is the last statement of what runs."""
    for i, s in enumerate(statements):
        if isinstance(s, (ast.Break, ast.Continue)):
            return statements[: i + 1]
        if isinstance(s, ast.If) and leaves_loop([s], (ast.Break, ast.Continue)):
            rest = statements[i + 1 :]
            body = s.body if always_leaves(s.body) else [*s.body, *rest]
            orelse = s.orelse if s.orelse and always_leaves(s.orelse) else [*s.orelse, *rest]
            new = ast.copy_location(ast.If(s.test, loop_form(body), loop_form(orelse)), s)
            return [*statements[:i], new]
    return statements
