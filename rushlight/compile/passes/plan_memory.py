"""Where every value is stored: on top of what it continues, in the outside memory that it replaces, or in the arena.

A value may take an older one's memory if nothing reads the older one afterwards, and its own node reads of it, at each
point, only what it then overwrites. Where that does not hold the older value is copied first. Everything in the arena
has a place while it is needed, and shares it with others at other times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...backend.onednn.address import aligned
from ..ir.exchange import is_exchange, overwritten
from ..ir.expression import load
from ..ir.graph import Call, Extern, Graph, Loop, Nest, Node, Ref, Store, Update, Value
from ..ir.locations import Place
from ..ir.rewrite import with_refs

_WORTHWHILE_BYTES = 1 << 14
_WORTHWHILE_SHARE = 0.95


class Room(NamedTuple):
    """Memory that is needed besides values, by the nodes from number `first` to number `last`. key: any name for it."""

    key: Any
    nbytes: int
    first: int
    last: int


Rooms = Callable[[Graph], Iterable[Iterable[Room]]]


class Memory:
    """The places of a program. slots: one for each input, in the graph's order, then one for each output array.

    of_output: slot of each fresh output, by its index; rooms: by key, (offset in the arena, bytes).
    """

    def __init__(self) -> None:
        self.place: dict[Value, Place] = {}
        self.of_output: dict[int, tuple[int, Ref]] = {}
        self.rooms: dict[Any, tuple[int, int]] = {}
        self.slots = 0
        self.arena_bytes = 0


def plan_memory(graph: Graph, is_into: Any, is_fresh: Any, rooms: Rooms | None = None) -> Memory:
    """Places for all values. Adds copies to the graph where a value cannot be stored where it should.

    is_into(target) gives the input whose memory an output replaces, or None; is_fresh(target) an output's index, or None.
    rooms(graph) gives what its nodes need besides their values, then thriftier ways, which are taken where the arena gets
    smaller by a twentieth; the graph is the final one.
    """
    return _Planner(graph, is_into, is_fresh, rooms).run()


class _Planner:
    def __init__(self, graph: Graph, is_into: Any, is_fresh: Any, rooms: Rooms | None):
        self.graph, self.is_into, self.is_fresh, self.rooms = graph, is_into, is_fresh, rooms
        self.memory = Memory()
        self.root: dict[Value, Value] = {}  # value -> the value whose memory it shares

    def run(self) -> Memory:
        memory, graph = self.memory, self.graph
        memory.slots = len(graph.inputs)
        self._separate_outputs()
        self._index()
        self._replace_inputs()
        self._continue()
        self._index()
        self._overwrite()
        for i, v in enumerate(graph.inputs):
            memory.place[v] = ("table", i)
        for v, a in graph.constants.items():
            memory.place[v] = ("address", a.__array_interface__["data"][0])
        for ref, target in graph.outputs:
            index = self.is_fresh(target)
            if index is not None:
                memory.of_output[index] = (memory.slots, ref)
                memory.place[self._root(ref.value)] = ("table", memory.slots)
                memory.slots += 1
        self._fill_arena()
        for v in self.defined:
            memory.place[v] = memory.place[self._root(v)]
        return memory

    # -------------------------------------------------------------------------------------------- relations

    def _index(self) -> None:
        """Where each value is written and last read."""
        self.defined: dict[Value, int] = {}
        self.read: dict[Value, list[int]] = {}
        for i, node in enumerate(self.graph.nodes):
            for r in node.reads():
                self.read.setdefault(r.value, []).append(i)
            for v in _all_writes(node):
                self.defined[v] = i
        self.onto: dict[Value, Value] = {}
        for node in self.graph.nodes:
            self.onto.update(continued(node))

    def _root(self, v: Value) -> Value:
        while v in self.root:
            v = self.root[v]
        return v

    def _final(self) -> set[Value]:
        """Values that are read when the last node has run."""
        return {ref.value for ref, _ in self.graph.outputs} | {v for v, *_ in self.graph.checks}

    def _can_overwrite(self, new: Value, old: Value) -> bool:
        """Whether `new` may be written over `old`."""
        at = self.defined[new]
        return all(i <= at for i in self.read.get(old, ())) and self._reads_in_place(at, new, old)

    def _reads_in_place(self, at: int, new: Value, old: Value) -> bool:
        """Whether the node at `at`, which writes `new`, reads `old` only where, at that point, it then writes."""
        node = self.graph.nodes[at]
        if isinstance(node, Update):  # of thousands of parameters: its reads are not gone through for each
            return self.read.get(old, []).count(at) == 1
        return reads_in_place(node, new, old)

    # ---------------------------------------------------------------------------------------------- outputs

    def _separate_outputs(self) -> None:
        """Give each output a value of its own that a node writes."""
        graph = self.graph
        taken: set[Value] = {*graph.inputs, *graph.constants}
        outputs = []
        for ref, target in graph.outputs:
            fresh = self.is_fresh(target) is not None
            home = self.is_into(target)
            whole = ref.is_whole() or (ref.covers() and fresh)
            if ref.value is home and whole:
                continue  # nothing was written after all
            if not (fresh or home is not None):
                outputs.append((ref, target))
                continue
            if not whole or ref.value in taken:
                ref = self._copied(ref, home)
            taken.add(ref.value)
            outputs.append((ref, target))
        graph.outputs = outputs

    def _copied(self, ref: Ref, home: Value | None) -> Ref:
        like = home if home is not None else None
        value = Value(ref.shape, ref.dtype, None if like is None or like.shape != ref.shape else like.strides)
        self.graph.nodes.append(_nest(Loop(ref.shape, [Store(value.ref(), load(ref))])))
        return value.ref()

    def _replace_inputs(self) -> None:
        """Let what is to replace an input's content be written there at once, or copied there at the end."""
        outputs = []
        final = self._final()
        for ref, target in self.graph.outputs:
            home = self.is_into(target)
            if home is None:
                outputs.append((ref, target))
                continue
            chain = [ref.value]
            while chain[-1] in self.onto and self.onto[chain[-1]] is not home:
                chain.append(self.onto[chain[-1]])
            known = [v for v in chain if v in self.root or v not in self.defined]
            links = zip(chain, [*chain[1:], home], strict=True)
            fits = same_memory(ref.value, home) and not known and final.isdisjoint(chain[1:])
            if fits and all(self._can_overwrite(new, old) for new, old in links):
                for v in chain:
                    self.root[v] = home
            else:
                value = Value(home.shape, home.dtype, home.strides)
                window = Ref(ref.value, home.shape, home.strides, 0)
                self.graph.nodes.append(_nest(Loop(home.shape, [Store(value.ref(), load(window))])))
                self.root[value] = home
                ref = value.ref()
            outputs.append((ref, target))
        self.graph.outputs = outputs

    def _continue(self) -> None:
        """Put what continues an older value on top of it, with a copy first where the older one is still needed."""
        nodes: list[Node] = []
        outside = {*self.graph.inputs, *self.graph.constants}
        final = self._final()
        for node in self.graph.nodes:
            pairs = continued(node)
            heirs: dict[Value, Value] = {}  # of the values that continue the same one only one can have its memory
            for new, old in pairs.items():
                if old not in heirs or self._root(new) is self._root(old):
                    heirs[old] = new
            for new, old in pairs.items():
                target = self._root(new)
                if self._root(old) is target:
                    continue  # checked when both went to their home
                one_is_free = heirs[old] is new and (target is new or self._root(old) is old)
                if one_is_free and old not in outside and old not in final and self._can_overwrite(new, old):
                    self._unite(old, new)
                    continue
                copy = Value(old.shape, old.dtype, old.strides)
                nodes.append(_nest(Loop(old.shape, [Store(copy.ref(), load(old.ref()))])))
                node = _onto(node, new, old, copy)
                self.defined[copy] = len(nodes)
                self._unite(copy, new)
            nodes.append(node)
        self.graph.nodes = nodes

    def _overwrite(self) -> None:
        """Put a large result on top of an operand that its node is the last to read: memory that is at hand already.

        Where the result is an output's, the operand is in the output's memory from the beginning: gradients that are
        added up (DCGAN: 10 of 61 MB less).
        """
        outside = {*self.graph.inputs, *self.graph.constants}
        targets = Counter(ref.value for ref, _ in self.graph.outputs)
        final = self._final()
        fresh = {r.value for r, t in self.graph.outputs if self.is_fresh(t) is not None and targets[r.value] == 1}
        members: dict[Value, list[Value]] = {}
        for v in self.defined:
            members.setdefault(self._root(v), []).append(v)
        for i, node in enumerate(self.graph.nodes):
            if not isinstance(node, Nest):
                continue
            taken: set[Value] = set()
            for new in node.writes():
                if new.nbytes < _WORTHWHILE_BYTES or new in self.root or len(members.get(new, ())) != 1:
                    continue
                if new in final and new not in fresh:
                    continue
                for old in dict.fromkeys(r.value for r in node.reads()):
                    root = self._root(old)
                    group = members.get(root, [])
                    if old in outside or root in outside or root in taken or root.size != new.size:
                        continue
                    if root.dtype != new.dtype or any(v in final or max(self.read.get(v, [0])) > i for v in group):
                        continue
                    alive = [v for v in group if i in self.read.get(v, ())]
                    if alive == [old] and self._reads_in_place(i, new, old):
                        self.root[new] = root
                        members[root] = [*group, new]
                        taken.add(root)
                        break

    def _unite(self, old: Value, new: Value) -> None:
        """One memory for both: that of `new` where it has one outside, else the old one's."""
        target = self._root(new)
        if target is new:
            self.root[new] = self._root(old)
        else:
            self.root[self._root(old)] = target

    # ------------------------------------------------------------------------------------------------ arena

    def _fill_arena(self) -> None:
        """Byte offsets for all other values, the largest first, each in the lowest gap that is free in its time."""
        memory = self.memory
        life: dict[Value, list[int]] = {}
        end = len(self.graph.nodes)
        for v, at in self.defined.items():
            span = life.setdefault(self._root(v), [at, at])
            last = max(self.read.get(v, [at]))
            span[0], span[1] = min(span[0], at), max(span[1], at, last)
        for ref, _ in self.graph.outputs:
            if ref.value in self.defined:
                life[self._root(ref.value)][1] = end
        for value, *_ in self.graph.checks:
            if value in self.defined:
                life[self._root(value)][1] = end
        wanted: list[tuple[int, int, int, int, Any]] = [
            (v.nbytes, v.id, span[0], span[1], v) for v, span in life.items() if v not in memory.place
        ]
        best: dict[Any, tuple[int, int]] = {}
        for rooms in [()] if self.rooms is None else self.rooms(self.graph):
            more = [(r.nbytes, -i, r.first, r.last, r) for i, r in enumerate(rooms) if r.nbytes]
            found = _offsets([*wanted, *more])
            nbytes = max(map(sum, found.values()), default=0)
            if not best or nbytes < _WORTHWHILE_SHARE * memory.arena_bytes:
                best, memory.arena_bytes = found, nbytes
        for v, (offset, size) in best.items():
            if isinstance(v, Room):
                memory.rooms[v.key] = offset, size
            else:
                memory.place[v] = ("arena", offset)


def _offsets(wanted: list[tuple[int, int, int, int, Any]]) -> dict[Any, tuple[int, int]]:
    """Offset and bytes by what is (bytes, tie, first node, last node, what)."""
    placed: list[tuple[int, int, int, int]] = []  # first node, last node, first byte, end byte
    found = {}
    for nbytes, _, first, last, v in sorted(wanted, key=lambda w: (-w[0], w[1])):
        size = aligned(max(1, nbytes))
        offset = 0
        for a, b, low, high in sorted(placed, key=lambda p: p[2]):
            if a <= last and first <= b and low < offset + size and offset < high:
                offset = high
        placed.append((first, last, offset, offset + size))
        found[v] = offset, size
    return found


# ------------------------------------------------------------------------------------------------- nodes


def _nest(loop: Loop) -> Nest:
    return Nest(loop.space, (), [loop], set())


def _all_writes(node: Node) -> list[Value]:
    """The values that need memory: those local to a nest need none."""
    return list(node.writes())


def continued(node: Node) -> dict[Value, Value]:
    """new value -> the older value that it continues, for what a node writes."""
    if isinstance(node, Nest):
        return {s.ref.value: s.onto for stage in node.stages if isinstance(stage, Loop) for s in stage.stores if s.onto}
    if isinstance(node, Loop):
        return {s.ref.value: s.onto for s in node.stores if s.onto}
    if isinstance(node, Extern):
        return {r.value: old for r, old in zip(node.results, node.onto, strict=True) if old is not None}
    if isinstance(node, Call):
        return overwritten(node) if is_exchange(node) else {}
    if isinstance(node, Update):
        pairs = [
            (new, ref.value)
            for news, refs in zip(node.results, node.lists, strict=True)
            for new, ref in zip(news or (), refs or (), strict=False)
        ]
        return {new: old for new, old in pairs if new is not None}
    return {}


def _onto(node: Node, new: Value, old: Value, copy: Value) -> Node:
    """The node with `new` continuing `copy` instead of `old`."""

    def fixed(stage: Any) -> Any:
        if not isinstance(stage, Loop):
            return stage
        stores = [s._replace(onto=copy) if s.ref.value is new and s.onto is old else s for s in stage.stores]
        return Loop(stage.space, stores)

    if isinstance(node, Nest):
        return Nest(node.outer, node.inner, [fixed(s) for s in node.stages], node.local)
    if isinstance(node, Loop):
        return fixed(node)
    if isinstance(node, Extern):
        onto = tuple(copy if r.value is new else o for r, o in zip(node.results, node.onto, strict=True))
        return Extern(node.kind, node.operands, node.results, onto, **node.options)
    return with_refs(node, lambda r: r._replace(value=copy) if r.value is old else r)


def reads_in_place(node: Node, new: Value, old: Value) -> bool:
    """Whether a node that writes `new` reads `old` only where, at that point, it then writes."""
    if isinstance(node, Extern):
        return not any(o is not None and o.value is old for o in node.operands)
    if isinstance(node, Call) and is_exchange(node):
        return overwritten(node).get(new) is old
    stages = node.stages if isinstance(node, Nest) else [node] if isinstance(node, Loop) else []
    if not stages:
        return not any(r.value is old for r in node.reads())
    written = None
    for stage in stages:
        mine = [s for s in stage.stores if s.ref.value is new] if isinstance(stage, Loop) else []
        expressions = [s.expr for s in stage.stores] if isinstance(stage, Loop) else [stage.expr]
        reads = [e for x in expressions for e in x.walk() if e.op in ("load", "gather") and e.data.value is old]
        if reads and written is not None and not mine:
            return False
        target = mine[0].ref if mine else _store_of(stages, new)
        if any(e.op == "gather" or not _same_window(e.data, target) for e in reads):
            return False
        written = target if mine else written
    return True


def _store_of(stages: list, new: Value) -> Ref | None:
    found = [s.ref for stage in stages if isinstance(stage, Loop) for s in stage.stores if s.ref.value is new]
    return found[0] if found else None


def _same_window(a: Ref, b: Ref | None) -> bool:
    return (
        b is not None
        and a.shape == b.shape
        and a.offset == b.offset
        and all(n == 1 or s == t for n, s, t in zip(a.shape, a.strides, b.strides, strict=True))
    )


def same_memory(a: Value, b: Value) -> bool:
    """Whether two values have the same size, type and order of elements."""
    return (
        a.dtype == b.dtype
        and a.size == b.size
        and (
            a.shape == b.shape
            and Ref(a, a.shape, a.strides, 0)._replace(value=b).is_whole()
            or a.ref().is_row_major()
            and b.ref().is_row_major()
        )
    )
