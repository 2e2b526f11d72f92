"""How a nest runs: its windows on common axes, which axis fills the vector lanes, what shares a loop.

Two forms. *rows*: lanes run along the innermost inner axis; a reduction adds its lanes up at the end. *columns*: lanes
run along an outer axis, so that each lane is a point of its own and the inner axes are plain loops; this is how a sum
over rows of a matrix, and a transpose, touch memory in order.

The lanes of a map may run over two axes: over all of a short one within each point of the lanes' axis.
"""

from __future__ import annotations

from math import ceil, prod

import numpy as np

from ...ir import scalar_ops
from ...ir.expression import Expr, const
from ...ir.graph import Loop, Nest, Reduce, Ref, Store, Value, row_major
from . import arithmetic
from .accumulate import Accumulator
from .engine import vector_bytes
from .lanes import cover, is_plain, pattern, price


class Window:
    """A ref on the nest's axes. value: None for a position (its number is offset + sum of stride x index)."""

    __slots__ = ("value", "strides", "offset")

    def __init__(self, value: Value | None, strides: tuple[int, ...], offset: int):
        self.value, self.strides, self.offset = value, list(strides), offset


class Stage:
    """A loop or reduction: what it evaluates and where that goes. inner: whether it runs over the inner axes."""

    __slots__ = ("inner", "stores", "kind", "flat", "level")

    def __init__(self, inner: bool, stores: list[tuple[Window, Expr]], kind: str | None, flat: Window | None):
        self.inner, self.stores, self.kind, self.flat, self.level = inner, stores, kind, flat, 0

    @property
    def value(self) -> Value:
        """What it writes first."""
        value = self.stores[0][0].value
        assert value is not None
        return value


def wrap(node: Nest | Loop | Reduce) -> Nest:
    """A loop or reduction as a nest of one stage."""
    if isinstance(node, Nest):
        return node
    if isinstance(node, Loop):
        return Nest(node.space, (), [node], set())
    kept = tuple(i for i in range(len(node.space)) if i not in node.axes)
    order = kept + node.axes
    place = {axis: i for i, axis in enumerate(order)}

    def move(e: Expr) -> Expr | None:
        if e.op == "load":
            return Expr("load", (), e.dtype, e.data.permute(order))
        return Expr("index", (), e.dtype, place[e.data]) if e.op == "index" else None

    space = tuple(node.space[i] for i in order)
    axes = tuple(range(len(kept), len(order)))
    reduce = Reduce(space, axes, node.kind, node.expr.rebuild(move), node.result, node.strides)
    return Nest(space[: len(kept)], space[len(kept) :], [reduce], set())


def values_in(nest: Nest) -> dict[Value, None]:
    """The values of a nest that are not local, each stage's loads before its stores."""
    found: dict[Value, None] = {}
    for stage in nest.stages:
        exprs = [stage.expr] if isinstance(stage, Reduce) else [s.expr for s in stage.stores]
        written = [stage.result] if isinstance(stage, Reduce) else [s.ref.value for s in stage.stores]
        found |= dict.fromkeys(v for v in [r.value for e in exprs for r in e.loads()] + written if v not in nest.local)
    return found


def _result(reduce: Reduce) -> Ref:
    """The window that a reduction writes."""
    return Ref(reduce.result, tuple(reduce.space[i] for i in reduce.kept()), tuple(reduce.strides), 0)


def prepare(node: Nest | Loop | Reduce) -> Nest:
    """As a nest without loops over nothing: what is reduced over nothing is the reduction's neutral element."""
    nest = wrap(node)
    if 0 not in nest.inner:
        return nest
    stages: list[Loop | Reduce] = []
    for s in nest.stages:
        if isinstance(s, Reduce):
            acc = Accumulator(s.kind, s.expr.dtype, s.result.dtype)
            neutral = const(0 if acc.positions else acc.neutral_number(), s.result.dtype)
            stages.append(Loop(nest.outer, [Store(_result(s), neutral)]))
        elif s.space == nest.outer:
            stages.append(s)
    return Nest(nest.outer, (), stages, nest.local)


class Plan:
    """A nest on the axes on which it runs.

    lane: the axis of the lanes; within: the short axis, of length `short`, over which they run besides (None, and 1).
    """

    def __init__(self, nest: Nest):
        self.lengths = [*nest.outer, *nest.inner]
        self.outer, self.inner = list(range(len(nest.outer))), list(range(len(nest.outer), len(self.lengths)))
        self.local = nest.local
        self.values = tuple(values_in(nest))
        self._windows: dict[tuple, Window] = {}
        self.of_load: dict[int, Window] = {}
        self._keep: list[Expr] = []
        self.stages = [self._stage(s, nest) for s in nest.stages]
        self.made_by = {id(w): s for s in self.stages for w, _ in s.stores}
        self._assign_levels()
        self.is_map = all(s.kind is None and (s.inner or not self.inner) for s in self.stages) and self.levels == 1
        self._choose()

    # -------------------------------------------------------------------------------------------- windows

    def window(self, ref: Ref) -> Window:
        padded = tuple(ref.strides) + (0,) * (len(self.lengths) - ref.ndim)
        return self._intern(ref.value, padded, ref.offset)

    def _intern(self, value: Value | None, strides: tuple[int, ...], offset: int) -> Window:
        strides = tuple(0 if n == 1 else s for n, s in zip(self.lengths, strides, strict=True))
        key = (value, strides, offset)
        if key not in self._windows:
            self._windows[key] = Window(value, strides, offset)
        return self._windows[key]

    def _stage(self, stage: Loop | Reduce, nest: Nest) -> Stage:
        inner = stage.space != nest.outer or (not nest.inner and isinstance(stage, Loop))
        if isinstance(stage, Reduce):
            inner = True
            stores = [(self.window(_result(stage)), stage.expr)]
            flat = self._intern(None, (0,) * len(nest.outer) + row_major(nest.inner), 0)
            found = Stage(inner, stores, stage.kind, flat if stage.kind.startswith("arg") else None)
        else:
            found = Stage(inner, [(self.window(s.ref), s.expr) for s in stage.stores], None, None)
        for _, expr in found.stores:
            for e in expr.walk():
                self._keep.append(e)
                if e.op == "load":
                    self.of_load[id(e)] = self.window(e.data)
                elif e.op == "index":
                    strides = tuple(int(i == e.data) for i in range(len(self.lengths)))
                    self.of_load[id(e)] = self._intern(None, strides, 0)
        return found

    # -------------------------------------------------------------------------------------------- levels

    def _assign_levels(self) -> None:
        """A stage that needs a finished reduction, or other points of an inner loop, goes one level further down.

        One that stores a window which an earlier stage loads from another value does not overtake that: both values may
        have the same memory.
        """
        done: dict[Value, Stage] = {}
        for i, stage in enumerate(self.stages):
            targets = {(tuple(w.strides), w.offset) for w, _ in stage.stores if w.value not in self.local}
            for before in self.stages[:i]:
                loads = (self.of_load[id(e)] for _, x in before.stores for e in x.walk() if e.op == "load")
                if any((tuple(w.strides), w.offset) in targets for w in loads):
                    stage.level = max(stage.level, before.level)
            for _, expr in stage.stores:
                for e in expr.walk():
                    if e.op in ("load", "gather") and e.data.value in done:
                        stage.level = max(stage.level, self._level_after(done[e.data.value], stage, e))
            done.update((w.value, stage) for w, _ in stage.stores if w.value is not None)
        self.levels = 1 + max((s.level for s in self.stages), default=0)

    def _level_after(self, maker: Stage, stage: Stage, e: Expr) -> int:
        same = e.op == "load" and any(self.of_load[id(e)] is w for w, _ in maker.stores)
        if e.data.value in self.local and not same:
            self._check_local(e, maker)
        if maker.kind is not None:
            return maker.level + 1
        if not maker.inner or (stage.inner and same):
            return maker.level
        return maker.level + 1

    def _check_local(self, e: Expr, maker: Stage) -> None:
        """A local value has room for one point of `outer`: only its inner axes may be read in another way."""
        stored = next(w for w, _ in maker.stores if w.value is e.data.value)
        read = self.of_load.get(id(e))
        same_point = read is not None and all(read.strides[a] == stored.strides[a] for a in self.outer)
        if maker.kind is None and maker.inner and same_point:
            return
        raise NotImplementedError(f"a local value is read as {e.data!r}, not as it was stored")

    def windows_of(self, value: Value) -> list[Window]:
        return [w for w in self._windows.values() if w.value is value]

    def kept_rows(self) -> list[Window]:
        """Local values that a pass over the inner axes makes, and that are needed after it."""
        made = [(w, s) for s in self.stages if s.inner and s.kind is None for w, _ in s.stores if w.value in self.local]
        return [w for w, maker in made if any(self._reads(s, w.value) for s in self.stages if s.level > maker.level)]

    def _reads(self, stage: Stage, value: Value | None) -> bool:
        return any(e.op == "load" and e.data.value is value for _, x in stage.stores for e in x.walk())

    # -------------------------------------------------------------------------------------------- axes

    def _memory(self) -> list[tuple[Window, bool]]:
        """Every window onto memory (and whether it is stored), one for each access."""
        out = [(w, True) for s in self.stages for w, _ in s.stores if w.value not in self.local]
        loads = {id(w): w for w in self.of_load.values() if w.value is not None and id(w) not in self.made_by}
        return out + [(w, False) for w in loads.values()]

    def _choose(self) -> None:
        if self.is_map:
            self.outer, self.inner = self.outer + self.inner, []
        self.outer, self.inner = self._arranged(self.outer), self._arranged(self.inner)
        if not self.outer and not self.inner or (not self.is_map and not self.inner):
            self.inner = [self._new_axis()]
        self.vector = self._vector_length()
        self.within, self.short = None, 1
        if self.is_map:
            self._choose_map()
            return
        self.lane = min(self.inner[::-1] + self.outer[::-1], key=self._lane_cost)
        self.rows = self.lane in self.inner
        axes = self.inner if self.rows else self.outer
        axes.remove(self.lane)
        axes.append(self.lane)

    def _choose_map(self) -> None:
        """Rows, unless another axis has the unit stride of what would be gathered: then short columns."""
        axes = self.outer[::-1] + self.inner
        short = [a for a in axes if 2 <= self.lengths[a] <= min(8, self.vector // 2)]
        pairs = [(a, None) for a in axes] + [(a, b) for b in short for a in axes if a != b]
        self.lane, self.within = min(pairs, key=lambda pair: self._lane_cost(*pair))
        self.outer = [a for a in self.outer if a not in (self.lane, self.within)]
        self.rows, self.inner = True, [self.lane]
        if self.within is not None:
            self.short = self.lengths[self.within]
            return
        gathered = [w for w, _ in self._memory() if self._is_gathered(w)]
        across = [a for a in self.outer if any(abs(w.strides[a]) == 1 for w in gathered) and self.lengths[a] >= 8]
        if across:
            self.rows, self.inner = False, [across[-1]]
            self.outer = [a for a in self.outer if a != across[-1]] + [self.lane]

    def _is_gathered(self, w: Window) -> bool:
        lanes = pattern(w.strides[self.lane], 0, 1, self.vector)
        return any(lanes) and not is_plain(lanes) and cover(lanes, self.vector) is None

    def _new_axis(self) -> int:
        self.lengths.append(1)
        for w in self._windows.values():
            w.strides.append(0)
        return len(self.lengths) - 1

    def _arranged(self, axes: list[int]) -> list[int]:
        """The axes without those of length 1, in the order of falling strides, neighbours joined where all allow it."""
        axes = [a for a in axes if self.lengths[a] != 1]
        weights = [(w, 1.01 if stored else 1.0) for w, stored in self._memory()]
        axes.sort(key=lambda a: -sum(abs(w.strides[a]) * weight for w, weight in weights))
        out: list[int] = []
        for a in axes:
            n = self.lengths[a]
            if out and all(w.strides[out[-1]] == w.strides[a] * n for w in self._windows.values()):
                joined = self.lengths[out.pop()] * n
                self.lengths[a] = joined
            out.append(a)
        return out

    def _vector_length(self) -> int:
        """Lanes: of the type in which most is computed."""
        sizes = {1}
        for s in self.stages:
            for _, expr in s.stores:
                for e in expr.walk():
                    if e.op not in ("index", "const"):
                        sizes.add(4 if e.dtype.name in ("float16", "bfloat16") else e.dtype.itemsize)
        size = 4 if 4 in sizes else max(sizes)
        return vector_bytes() // size

    def _lane_cost(self, axis: int, within: int | None = None) -> float:
        """Instructions for one element, relative to those of full vectors."""
        n, width, inner = self.lengths[axis], self.vector, axis in self.inner
        short = 1 if within is None else self.lengths[within]
        cost = 0.5
        for w, stored in self._memory():
            if self.inner and all(w.strides[a] == 0 for a in self.inner):
                continue  # touched once for a point of `outer`
            cost += price(pattern(w.strides[axis], 0 if within is None else w.strides[within], short, width), stored)
        cost *= ceil(n / (width // short)) * width / (n * short)
        if inner and not self.is_map:
            cost += 8 * sum(s.kind is not None for s in self.stages) * width / prod(self.lengths[a] for a in self.inner)
        elif not self.is_map and self.outer and axis != self.outer[-1]:
            cost += 0.01
        return cost


# ------------------------------------------------------------------------------------------------ cost


def cost(expr: Expr) -> int:
    """Roughly how many vector instructions an expression takes."""
    total = 0
    for e in expr.walk():
        double = e.dtype == np.float64 and e.op not in ("const", "load")
        short = arithmetic.is_float(e.dtype) and e.dtype.itemsize == 2
        total += scalar_ops.cost(e.op) * (2 if double else 1) + 4 * short
    return total
