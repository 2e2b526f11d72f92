"""Graphs pile up: something keeps each iteration's loss with its history."""

from __future__ import annotations

import ast
import gc
import sys
import weakref
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, pairwise
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from ...core.tensor.node import Node
from ...core.tensor.tensor import Tensor
from ..events import Backward, Step
from ..places import Place, is_of_program, is_of_program_file, parsed, place_at_line, place_in
from ..tape import Tape
from ..words import many
from . import Check

_CACHE = type(lru_cache(len))
_ADDS = ("append", "extend", "add", "insert", "appendleft")
_NUMBERS = ("item", "detach", "tolist", "numpy", "data_ptr", "size", "dim")


class _Graph:
    """A graph that was backwarded, by weak references: something may keep its root, or only a branch of it."""

    def __init__(self, root: Any, first: Any, place: Place) -> None:
        self.root, self.first, self.place = weakref.ref(root), weakref.ref(first), place

    def node(self) -> Any:
        """A node of it that is still alive, None once it is gone."""
        root = self.root()
        return self.first() if root is None else root


class GraphLeak(Check):
    """`total += loss`, `losses.append(loss)`: memory grows with each iteration."""

    name = "graph-leak"
    severity = "warning"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.graphs: list[_Graph] = []
        self.held = 0  # bytes that the graph of the latest backward held before it
        self.sizes: dict[int, int] = {}  # ... by a tape's signature
        self.counts: dict[int, list[int]] = {}  # by optimizer: graphs alive after its last steps
        self.found: Place | None = None
        self.alive: set[int] = set()  # nodes of backwarded graphs, at the last step
        self.by_hand = 0  # the number of the last step by hand

    def on_before_backward(self, event: Backward) -> None:
        if event.tape is None or not event.accumulates:
            return
        held = self.sizes.get(event.signature)
        if held is None:
            if len(self.sizes) > 512:
                self.sizes.clear()
            held = self.sizes[event.signature] = event.tape.bytes_held()
        self.held = held

    def on_backward(self, event: Backward) -> None:
        tape = event.tape
        if (
            event.accumulates
            and not event.retain
            and not event.create
            and tape is not None
            and tape.nodes
            and not event.in_step
        ):
            root = tape.roots[0] if isinstance(tape.roots[0], Node) else tape.nodes[0]
            self.graphs.append(_Graph(root, tape.nodes[-1], event.place))
        if len(self.graphs) > 512:
            self._drop_dead()

    def _drop_dead(self) -> None:
        self.graphs = [g for g in self.graphs if g.node() is not None]

    def on_stepped(self, event: Step) -> None:
        self._count(event)
        if event.optimizer is not None and event.window:
            self._look_for_growth(event.optimizer.number, event.window[-1].place)

    def on_step(self, event: Step) -> None:
        if event.manual and event.number != self.by_hand:  # it is told once for each tensor
            self.by_hand = event.number
            self._count(event)
            if self.graphs:
                self._look_for_growth(0, self.graphs[-1].place)

    def _count(self, event: Step) -> None:
        alive = [(graph, node) for graph in self.graphs if (node := graph.node()) is not None]
        self.graphs = [graph for graph, _ in alive]
        self.alive = {id(node) for _, node in alive}
        self.doctor.history.note_graphs(event.number, len(self.alive), self.held)

    def _look_for_growth(self, lane: int, place: Place) -> None:
        """Of the graphs of one line's backwards: whether each of the last steps has left one more."""
        if self.found is not None:
            return
        if len(self.alive) < 2:
            self.counts.pop(lane, None)
            return
        by_root = {id(g.node()): g for g in reversed(self.graphs) if g.place is place and id(g.node()) in self.alive}
        mine = list(by_root.values())[::-1]
        counts = self.counts[lane] = [*self.counts.get(lane, [])[-5:], len(mine)]
        if len(counts) >= 6 and all(a < b for a, b in pairwise(counts)):
            self._tell(mine)

    def _tell(self, graphs: list[_Graph]) -> None:
        node, place = graphs[0].node(), graphs[-1].place
        if node is None:
            return
        variables = _variables_of(graphs[-1].node())
        holder = where = None
        for found in _holders(node, graphs):
            holder = found if holder is None else holder
            if (where := found.place or _statement(place, found, variables)) is not None:
                holder = found
                break
        self.found = where or (_comprehension() if holder is None else None) or place
        held, mend = "something keeps", "keep numbers: loss.item(), or loss.detach() for a tensor"
        if holder is not None:
            held = f"`{holder.name}` keeps"
        if holder is not None and holder.place is not None:
            held, mend = (
                f"the cache of `{holder.name}` keeps",
                "cache what has no graph: a number, or a detached tensor",
            )
        self.doctor.report(
            self,
            self.found,
            f"{held} the graphs of {many(len(graphs), 'loss')} that have been backwarded: one more with each iteration",
            mend,
            [(place, "the backward of what is kept")],
            after=1,
        )


class _Holder(NamedTuple):
    """A variable or attribute that keeps a graph. codes: of the functions that may add to it; keys: of the dicts on the way.

    place: of a function whose cache it is (`functools.lru_cache`), which needs no statement.
    """

    name: str
    codes: list[CodeType]
    keys: list[Any]
    place: Place | None = None


def _holders(node: Any, ignored: Any) -> Iterator[_Holder]:
    """The variables and attributes through which a node is kept alive, the nearest first."""
    namespaces = _namespaces()
    waiting: list[tuple[Any, tuple]] = [(node, ())]
    seen = {id(node), id(ignored), id(waiting), id(namespaces)}
    for _ in range(400):
        if not waiting:
            return
        target, keys = waiting.pop(0)
        if not isinstance(target, Node):
            for table, code in namespaces:
                name = next((k for k, v in table.items() if v is target), None)
                if name is not None:
                    yield _Holder(name, [code], list(keys))
        for referrer in gc.get_referrers(target):
            if id(referrer) in seen or any(referrer is table for table, _ in namespaces):
                continue
            seen.add(id(referrer))
            if isinstance(referrer, dict):
                found = tuple(k for k, v in referrer.items() if v is target)
                waiting.append((referrer, keys + found))
            elif isinstance(referrer, CellType):
                if (found := _free_variable(referrer)) is not None:
                    yield found._replace(keys=list(keys))
            elif isinstance(referrer, _CACHE):
                code = getattr(referrer.__wrapped__, "__code__", None)
                if isinstance(code, CodeType) and is_of_program_file(code.co_filename):
                    yield _Holder(code.co_name, [code], [], place_in(code, code.co_firstlineno))
            elif isinstance(referrer, (Node, Tensor, tuple, list, set, deque)):
                waiting.append((referrer, keys))
            elif (table := getattr(referrer, "__dict__", None)) is not None and not isinstance(referrer, type):
                if table is target and keys:
                    yield _Holder(str(keys[-1]), _codes_of(referrer), list(keys[:-1]))
                    continue
                name = next((k for k, v in list(table.items()) if v is target), None)
                if name is not None:
                    yield _Holder(name, _codes_of(referrer), list(keys))


def _free_variable(cell: CellType) -> _Holder | None:
    """The variable of an enclosing function that a cell is, and the functions that have it."""
    names: list[str] = []
    codes: list[CodeType] = []
    for closure in gc.get_referrers(cell):
        for function in gc.get_referrers(closure) if isinstance(closure, tuple) else ():
            if isinstance(function, FunctionType) and function.__closure__ is closure:
                names += [n for n, c in zip(function.__code__.co_freevars, closure, strict=False) if c is cell]
                codes.append(function.__code__)
    return _Holder(names[0], codes, []) if names else None


def _codes_of(owner: Any) -> list[CodeType]:
    """The methods of an object's class, and of those above it, that the program defines."""
    functions = [getattr(f, "__func__", f) for cls in type(owner).__mro__ for f in vars(cls).values()]
    codes = [code for f in functions if isinstance(code := getattr(f, "__code__", None), CodeType)]
    return [code for code in codes if is_of_program_file(code.co_filename)]


def _variables_of(node: Any) -> set[str]:
    """The names of the variables that now hold a tensor of the latest graph."""
    nodes = {id(n) for n in Tape([node]).nodes}
    return {
        name
        for table, _ in _namespaces()
        for name, value in list(table.items())
        if isinstance(value, Tensor) and id(value._edge) in nodes
    }


def _comprehension() -> Place | None:
    """The running comprehension, whose list has no name yet."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_of_program(frame) and _is_in_comprehension(frame):
            return place_in(frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return None


def _is_in_comprehension(frame: FrameType) -> bool:
    """Whether a frame runs a comprehension. Since Python 3.12 only generators have a frame of their own."""
    code = frame.f_code
    if code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
        return True
    tree = parsed(code.co_filename)
    line, _, column, _ = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    if tree is None or line is None or column is None:
        return False
    return any(
        isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp))
        and (node.lineno, node.col_offset) < (line, column) < (node.end_lineno or 0, node.end_col_offset or 0)
        for node in ast.walk(tree)
    )


def _namespaces() -> list[tuple[dict[str, Any], CodeType]]:
    """The local and global variables of the running program with their code, of its innermost function first."""
    found: list[tuple[dict[str, Any], CodeType]] = []
    frame = sys._getframe(1)
    while frame is not None:
        if is_of_program(frame):
            found += [(frame.f_locals, frame.f_code), (frame.f_globals, frame.f_code)]
        frame = frame.f_back
    return found


def _statement(place: Place, holder: _Holder, variables: set[str]) -> Place | None:
    """The statement that adds to a variable: `name += ...`, `name = name + ...`, `name.append(...)`, `name[...] = ...`.

    Of several: one that keeps what has a graph, not a number of it; under the key that leads to it; a variable of that graph; the
    nearest to the backward.
    """
    like = {code.co_filename: place_in(code, 1) for code in holder.codes} | {place.code.co_filename: place}
    found: list[tuple[tuple, Place]] = []
    for file, near in like.items():
        tree = parsed(file)
        for node in ast.walk(tree) if tree is not None else ():
            added = _added(node, holder.name) if isinstance(node, ast.stmt) else None
            if added is None or not isinstance(node, ast.stmt):
                continue
            names = {n.id for n in ast.walk(added) if isinstance(n, ast.Name)}
            constants = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
            rank = (
                _is_number(added),
                not any(isinstance(k, (str, int)) and k in constants for k in holder.keys),
                not (names & variables),
                near is not place,
                abs(node.lineno - place.line),
            )
            found.append((rank, place_at_line(near, node.lineno)))
    return min(found, key=lambda f: f[0])[1] if found else None


def _added(node: ast.AST, name: str) -> ast.expr | None:
    """What a statement adds to a variable; None where it adds nothing to it."""
    if isinstance(node, ast.AugAssign) and _is_named(node.target, name):
        return node.value
    if isinstance(node, ast.Assign) and any(_is_named(t, name) for t in node.targets):
        goes_on = any(_is_named(n, name) for n in ast.walk(node.value))
        return node.value if goes_on or isinstance(node.targets[0], ast.Subscript) else None
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value.func
        if isinstance(call, ast.Attribute) and call.attr in _ADDS and _is_named(call.value, name):
            return node.value.args[-1] if node.value.args else node.value
    return None


def _is_number(value: ast.expr) -> bool:
    """Whether an expression gives a number or a tensor without a graph: `loss.item()`, `float(loss)`, `x.detach()`."""
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.Constant)
    if isinstance(value.func, ast.Attribute):
        return value.func.attr in _NUMBERS or (value.func.attr == "cpu" and _is_number(value.func.value))
    return isinstance(value.func, ast.Name) and value.func.id in ("float", "int", "len", "str")


def _is_named(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_named(node.value, name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault":
        return _is_named(node.func.value, name)
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)
