"""A nest as one function over its independent units.

`void kernel(ptr data, i64 start, i64 stop)`: data holds a pointer to the status, one to scratch memory, and one for each
value. A unit is a point of `outer` (in the columns form, of `outer` with a block of lanes for its last axis). A long
reduction with few units is cut in parts: `kernel` then leaves partial results in scratch memory, and `finish` joins them.
"""

from __future__ import annotations

from contextlib import ExitStack
from math import ceil, prod
from typing import NamedTuple

from ...ir.expression import Expr
from ...ir.graph import Loop, Nest, Reduce, Value, row_major
from . import arithmetic
from .access import Access, Row
from .accumulate import Accumulator, Partial, Slot
from .ir import Val, number
from .plan import Plan, Stage, prepare, values_in
from .shape import Shape

HEADER = 2  # entries of data before the values' pointers: status, scratch
_ROW_BUFFERS = 32768  # bytes of local rows on the stack
_SCRATCH_ROWS = 1 << 26  # bytes of scratch memory for other ones of all units, of which the threads touch their own
_STEPS = 16  # additions to one float32 accumulator before it is emptied into a total in double


class Kernel(NamedTuple):
    """An emitted nest. values: whose pointers follow the header of data. work_ns: estimated, on one thread."""

    name: str
    text: str
    declarations: dict[str, str]
    values: tuple[Value, ...]
    units: int
    grain: int
    work_ns: float
    scratch_bytes: int
    finish_units: int


def emit(node: Nest | Loop | Reduce, name: str, check: bool = False, is_counted: bool = False) -> Kernel:
    """The function(s) of a nest: `name`, and `name`_finish where it reduces in parts.

    is_counted: for a map over one axis, in blocks. The entry of data for scratch memory says how long that axis is.
    """
    plan = Plan(prepare(node))
    declarations: dict[str, str] = {}
    shape = Shape(plan)
    if is_counted and not (plan.is_map and plan.rows and not plan.outer and plan.short == 1 and shape.blocks > 1):
        raise NotImplementedError("not a map over one axis")
    body = _Function(plan, shape, declarations, check, is_counted)
    in_parts = shape.parts > 1 and not plan.is_map
    text = body.text(f"@{name}", body.unit_partial if in_parts else body.unit)
    finish_units = 0
    if in_parts:
        last = _Function(plan, shape, declarations, check)
        text += last.text(f"@{name}_finish", last.unit_finish)
        finish_units = shape.units // shape.parts
    grain = max(1, shape.units // 64) if shape.units > 256 else 1
    scratch = shape.units * (shape.scratch_bytes if in_parts else body.row_bytes)
    return Kernel(name, text, declarations, plan.values, shape.units, grain, shape.work_ns, scratch, finish_units)


def values_of(node: Nest | Loop | Reduce) -> tuple[Value, ...]:
    """The values whose pointers a kernel takes, in its order."""
    return tuple(values_in(prepare(node)))


class _Function(Access):
    """Emission of one function."""

    def __init__(self, plan: Plan, shape: Shape, declarations: dict[str, str], check: bool, is_counted: bool = False):
        super().__init__(plan, shape, declarations, check)
        self.is_counted = is_counted
        self.known: list[dict[tuple[int, int], Val]] = [{}]
        self.outer_values: dict[int, dict[int, Val]] = {}
        self.same: dict[int, Expr] = {}
        self.row_bytes = 0  # of local rows in scratch memory, for each unit
        self.accumulators = {
            id(s): Accumulator(s.kind, s.stores[0][1].dtype, s.value.dtype) for s in plan.stages if s.kind is not None
        }

    def text(self, name: str, unit) -> str:
        b = self.b
        for value, i in self.order.items():
            slot = b.emit(f"getelementptr i64, ptr %data, i64 {i + HEADER}", "ptr")
            self.base[value] = b.load("ptr", 0, slot.text, 8).text
        if self.is_counted:
            self.counted = b.load("i64", 0, b.emit("getelementptr i64, ptr %data, i64 1", "ptr").text, 8)
        freed = self._make_buffers()
        with b.loop(Val("%start", "i64"), Val("%stop", "i64")) as u:
            unit(u)
        for pointer in freed:
            b.line(f"call void @free(ptr {pointer})")
        b.line("ret void")
        return b.function(name, "ptr noundef %data, i64 %start, i64 %stop")

    # -------------------------------------------------------------------------------------------- local rows

    def _make_buffers(self) -> list[str]:
        """Room for local values that another loop reads again; what has to be freed.

        Long rows are stored in the program's scratch memory, at the thread's first unit: pages that malloc takes
        from the system again for each call cost more than a short kernel. Where that would be too much, malloc.
        """
        b, room, freed = self.b, _ROW_BUFFERS, []
        for w in self.plan.kept_rows():
            assert w.value is not None
            row = self._row_of(w.value)
            size = -(-row.count * w.value.dtype.itemsize // 64) * 64
            if size <= room:
                room -= size
                pointer = b.alloca("i8", 0, size)
            elif (self.row_bytes + size) * self.shape.units <= _SCRATCH_ROWS:
                place = b.op("add", b.op("mul", Val("%start", "i64"), size), self.row_bytes * self.shape.units)
                pointer = b.emit(f"getelementptr i8, ptr {self._scratch_memory().text}, i64 {place.text}", "ptr").text
                self.row_bytes += size
            else:
                b.declare("@malloc", "declare noalias ptr @malloc(i64)")
                b.declare("@free", "declare void @free(ptr)")
                pointer = b.emit(f"call ptr @malloc(i64 {size})", "ptr", pure=False).text
                freed.append(pointer)
            self.buffers[w.value] = row._replace(pointer=pointer)
        return freed

    def _scratch_memory(self) -> Val:
        slot = self.b.emit("getelementptr i64, ptr %data, i64 1", "ptr")
        return self.b.load("ptr", 0, slot.text, 8)

    def _row_of(self, value: Value) -> Row:
        """The room of a local value, without its pointer: compact if all its readers see it as it was stored."""
        plan, lanes = self.plan, 1 if self.plan.rows else self.across * self.width
        lengths = {a: plan.lengths[a] for a in plan.inner}
        windows = plan.windows_of(value)
        if len(windows) == 1:
            strides = dict(zip(lengths, row_major(tuple(lengths.values())), strict=True))
            return Row("", lanes, strides, 0, prod(lengths.values()) * lanes)
        first = min(w.offset for w in windows)
        last = max(w.offset + sum((n - 1) * w.strides[a] for a, n in lengths.items()) for w in windows)
        return Row("", lanes, None, first, (last - first + 1) * lanes)

    # -------------------------------------------------------------------------------------------- units

    def unit(self, u: Val) -> None:
        """All levels of one unit."""
        self._place(u)
        for level in range(self.plan.levels):
            self._outer_stages(level)
            totals = self._inner_stages(level)
            self._finish_reductions(totals)

    def unit_partial(self, u: Val) -> None:
        """One part of a reduction: the totals go to scratch memory.

        What runs once for a point of `outer` is stored by `unit_finish` alone: it may replace what it reads.
        """
        self._place(u)
        self._outer_stages(0, store=False)
        totals = self._inner_stages(0)
        for i, (stage, partials) in enumerate(totals):
            for k, x in enumerate(partials):
                self._scratch(u, i, k, stage, self.accumulators[id(stage)].widen(self.b, x))

    def unit_finish(self, u: Val) -> None:
        """The parts of a unit joined, and what follows."""
        b, parts = self.b, self.shape.parts
        self._place(b.op("mul", u, parts))
        self._outer_stages(0)
        reductions = [s for s in self.plan.stages if s.kind is not None]
        lanes, slots = (0, 1) if self.plan.rows else (self.width, self.across)
        rooms = [
            [Slot(b, self.accumulators[id(s)], self.accumulators[id(s)].total, lanes) for _ in range(slots)]
            for s in reductions
        ]
        for row in rooms:
            for room in row:
                room.reset(b)
        with b.loop(number(0, "i64"), number(parts, "i64")) as p:
            at = b.op("add", b.op("mul", u, parts), p)
            for i, stage in enumerate(reductions):
                for k in range(slots):
                    rooms[i][k].add(b, self._scratch(at, i, k, stage, None))
        self._finish_reductions([(s, [r.get(b) for r in row]) for s, row in zip(reductions, rooms, strict=True)])
        if self.plan.levels > 1:
            self._outer_stages(1)

    def _scratch(self, u: Val, i: int, k: int, stage: Stage, x: Partial | None) -> Partial:
        """Store `x` as number k of reduction i of unit u, or load it."""
        b, acc = self.b, self.accumulators[id(stage)]
        lanes = 0 if self.plan.rows else self.width
        start = b.op(
            "add",
            b.op("mul", u, self.shape.scratch_bytes),
            16 * (i * self.across + k) * (lanes or 1) if lanes else 16 * i,
        )
        value = b.emit(f"getelementptr i8, ptr {self._scratch_memory().text}, i64 {start.text}", "ptr")
        position = b.emit(f"getelementptr i8, ptr {value.text}, i64 {8 * (lanes or 1)}", "ptr")
        elem = "i8" if acc.total == "i1" else acc.total
        if x is None:
            v = b.load(elem, lanes, value.text, 1)
            v = b.compare("icmp ne", v, 0) if acc.total == "i1" else v
            return Partial(v, b.load("i64", lanes, position.text, 1) if acc.positions else None)
        v = b.splat(x.value, lanes) if lanes else x.value
        b.store(b.convert("zext", v, "i8") if acc.total == "i1" else v, value.text, 1)
        if x.position is not None:
            b.store(b.splat(x.position, lanes) if lanes else x.position, position.text, 1)
        return x

    def _place(self, u: Val) -> None:
        """The indices of a unit: outer axes, then the block of lanes, then the part."""
        b, plan, shape = self.b, self.plan, self.shape
        self.at, self.known, self.outer_values, self.masks = {}, [{}], {}, {}
        self.first: dict[int, Val] = {}
        self.count: dict[int, Val] = {}
        counted: list[tuple[str, int, int]] = [("axis", a, plan.lengths[a]) for a in plan.outer if a != plan.lane]
        if shape.blocks > 1:
            counted.append(("block", plan.lane, shape.blocks))
        if shape.parts > 1:
            counted.append(("part", shape.part_axis, shape.parts))
        rest = u
        for i, (kind, axis, n) in reversed(list(enumerate(counted))):
            index = b.op("urem", rest, n) if i else rest
            rest = b.op("udiv", rest, n) if i else rest
            if kind == "axis":
                self.at[axis] = index
            else:
                self._range(axis, index, shape.block if kind == "block" else shape.part_length)
        if not plan.rows:
            self._lanes_of_columns()

    def _range(self, axis: int, index: Val, length: int) -> None:
        b, n = self.b, self.plan.lengths[axis]
        self.first[axis] = b.op("mul", index, length)
        if self.is_counted:
            left = b.op("sub", self.counted, self.first[axis])
            self.count[axis] = b.select(b.compare("icmp slt", left, length), left, number(length, "i64"))
        elif n % length:
            left = b.op("sub", number(n, "i64"), self.first[axis])
            self.count[axis] = b.select(b.compare("icmp slt", left, length), left, number(length, "i64"))
        else:
            self.count[axis] = number(length, "i64")

    def _lanes_of_columns(self) -> None:
        b, n, block = self.b, self.plan.lengths[self.lane], self.shape.block
        start = self.first.get(self.lane, number(0, "i64"))
        self.at[self.lane] = start
        for k in range(self.across):
            done = k * self.width
            if self.shape.blocks == 1:
                self.masks[k] = min(self.width, n - done)
            elif n % block:
                self.masks[k] = self._mask(b.op("sub", b.op("sub", number(n, "i64"), start), done))

    # -------------------------------------------------------------------------------------------- stages

    def _outer_stages(self, level: int, store: bool = True) -> None:
        stages = [s for s in self.plan.stages if not s.inner and s.level == level]
        self.same = {}
        for stage in stages:
            self._evaluate([e for _, e in stage.stores], 0)
            for w, e in stage.stores:
                values = {k: self._get(e, k) for k in (range(self.across) if not self.plan.rows else (0,))}
                self.outer_values[id(w)] = values
            for w, _ in stage.stores:
                if store and w.value not in self.plan.local:
                    for k, x in self.outer_values[id(w)].items():
                        self._store(w, x, k, self.plan.rows)

    def _finish_reductions(self, totals: list[tuple[Stage, list[Partial]]]) -> None:
        for stage, partials in totals:
            w, acc = stage.stores[0][0], self.accumulators[id(stage)]
            self.outer_values[id(w)] = {k: acc.result(self.b, x) for k, x in enumerate(partials)}
            if w.value not in self.plan.local:
                for k, x in self.outer_values[id(w)].items():
                    self._store(w, x, k, self.plan.rows)

    def _inner_stages(self, level: int) -> list[tuple[Stage, list[Partial]]]:
        """One pass over the inner axes. The totals of its reductions, for each column vector (or the one row)."""
        group = [s for s in self.plan.stages if s.inner and s.level == level]
        if not group:
            return []
        b, plan = self.b, self.plan
        self.same = {id(w): e for s in group if s.kind is None for w, e in s.stores}
        reductions = [s for s in group if s.kind is not None]
        lanes = self.width
        slots = {
            id(s): [Slot(b, self.accumulators[id(s)], self.accumulators[id(s)].elem, lanes) for _ in range(self.across)]
            for s in reductions
        }
        loops = [a for a in plan.inner if a != self.lane]
        chunk = self._chunk(loops) if reductions else None
        totals = {
            id(s): [
                Slot(b, self.accumulators[id(s)], self.accumulators[id(s)].total, lanes)
                for _ in range(1 if plan.rows else self.across)
            ]
            for s in reductions
        }
        self.group, self.slots, self.totals, self.chunk = group, slots, totals, chunk
        roots = [e for s in group for _, e in s.stores]
        self.roots = roots
        self._reset(totals if chunk else slots)
        self._evaluate(roots, 0)
        with ExitStack() as stack:
            self._loops(stack, loops, 0)
        if chunk:
            found = [(s, [t.get(b) for t in totals[id(s)]]) for s in reductions]
        else:
            found = [(s, self._summary(s, slots[id(s)])) for s in reductions]
        if plan.rows:
            found = [(s, [self.accumulators[id(s)].horizontal(b, x) for x in partials]) for s, partials in found]
        return found

    def _summary(self, stage: Stage, slots: list[Slot]) -> list[Partial]:
        """The accumulators as totals: of a row, all vectors in one."""
        b, acc = self.b, self.accumulators[id(stage)]
        partials = [s.get(b) for s in slots]
        if self.plan.rows:
            x = partials[0]
            for y in partials[1:]:
                x = acc.combine(b, x, y)
            partials = [x]
        return [acc.widen(b, x) if self.chunk else x for x in partials]

    def _reset(self, slots: dict[int, list[Slot]]) -> None:
        for row in slots.values():
            for s in row:
                s.reset(self.b)

    def _flush(self) -> None:
        for s in self.group:
            if s.kind is not None:
                for total, x in zip(self.totals[id(s)], self._summary(s, self.slots[id(s)]), strict=True):
                    total.add(self.b, x)

    def _chunk(self, loops: list[int]) -> tuple[int, int] | None:
        """(axis, length) whose pieces are summed separately, where a long sum would lose digits."""
        sums = [self.accumulators[id(s)] for s in self.plan.stages if s.kind == "sum"]
        if not any(a.floats for a in sums):
            return None
        steps = 1
        if self.plan.rows:
            step = self.across * self.step
            steps = ceil(self.plan.lengths[self.lane] / step)
            if steps > 2 * _STEPS:
                return self.lane, _STEPS * step
        for a in reversed(loops):
            if steps * self.plan.lengths[a] > 2 * _STEPS:
                return a, max(1, _STEPS // steps)
            steps *= self.plan.lengths[a]
        return None

    # -------------------------------------------------------------------------------------------- loops

    def _loops(self, stack: ExitStack, loops: list[int], depth: int) -> None:
        if depth == len(loops):
            self._lane_loop()
            return
        axis = loops[depth]
        start, count = (
            self.first.get(axis, number(0, "i64")),
            self.count.get(axis, number(self.plan.lengths[axis], "i64")),
        )
        if self.chunk is not None and self.chunk[0] == axis:
            length = self.chunk[1]
            with self.b.loop(number(0, "i64"), count, length) as c, self._scope():
                self._reset(self.slots)
                left = self.b.op("sub", count, c)
                size = self.b.select(self.b.compare("icmp slt", left, length), left, number(length, "i64"))
                self._loop(loops, depth, self.b.op("add", start, c), size)
                self._flush()
        else:
            self._loop(loops, depth, start, count)

    def _loop(self, loops: list[int], depth: int, start: Val, count: Val) -> None:
        axis = loops[depth]
        with self.b.loop(number(0, "i64"), count) as i, self._scope():
            self.at[axis] = self._sum(start, i)
            if depth + 1 < self._deepest():
                self._evaluate(self.roots, depth + 1)
            with ExitStack() as inner:
                self._loops(inner, loops, depth + 1)

    def _sum(self, x: Val, y: Val) -> Val:
        return y if x.fixed and x.text == "0" else self.b.op("add", x, y)

    def _scope(self):
        return _Scope(self)

    def _lane_loop(self) -> None:
        """The innermost loop: over vectors of a row, or once for a point of the inner axes in columns."""
        if not self.plan.rows:
            self._body(range(self.across))
            return
        b, n, step = self.b, self.plan.lengths[self.lane], self.across * self.step
        start, count = self.first.get(self.lane, number(0, "i64")), self.count.get(self.lane, number(n, "i64"))
        if self.chunk is None or self.chunk[0] != self.lane:
            self._row(start, count)
            return
        with b.loop(number(0, "i64"), count, self.chunk[1]) as c, self._scope():
            self._reset(self.slots)
            left = b.op("sub", count, c)
            size = b.select(b.compare("icmp slt", left, self.chunk[1]), left, number(self.chunk[1], "i64"))
            self._row(b.op("add", start, c), size, count.fixed and int(count.text) % step == 0)
            self._flush()

    def _row(self, start: Val, count: Val, even: bool = False) -> None:
        """`count` elements from `start`: blocks of `across` vectors, single vectors, and what is left under a mask."""
        if count.fixed:
            self._static_row(start, int(count.text))
            return
        b, one, done = self.b, self.step, number(0, "i64")
        if self.across > 1:
            step = one * self.across
            whole = b.op("and", count, -step)
            self._vectors(start, number(0, "i64"), whole, self.across)
            done = whole
            if even:
                return
        whole = b.op("sub", count, b.op("urem", count, one))
        self._vectors(start, done, whole, 1)
        left = b.op("sub", count, whole)
        with b.when(b.compare("icmp sgt", left, 0)), self._scope():
            self._vector(self._sum(start, whole), self._mask(left))

    def _static_row(self, start: Val, count: int) -> None:
        one, step = self.step, self.step * self.across
        done = 0
        if count >= 2 * step:
            done = count // step * step
            self._vectors(start, number(0, "i64"), number(done, "i64"), self.across)
        whole = count // one
        rest = whole - done // one
        if rest > 4:
            self._vectors(start, number(done, "i64"), number(whole * one, "i64"), 1)
        elif rest:
            with self._scope():
                self.at[self.lane] = self._sum(start, number(done, "i64")) if done else start
                self.masks = dict.fromkeys(range(rest), one * self.plan.short)
                self._body(range(rest))
        if count % one:
            place = self.b.op("add", start, whole * one) if whole else start
            with self._scope():
                self._vector(place, count % one * self.plan.short)

    def _vectors(self, start: Val, first: Val, stop: Val, across: int) -> None:
        with self.b.loop(first, stop, across * self.step) as j, self._scope():
            self.at[self.lane] = self._sum(start, j)
            self.masks = dict.fromkeys(range(across), self.step * self.plan.short)
            self._body(range(across))

    def _vector(self, place: Val, mask: Val | int) -> None:
        self.at[self.lane] = place
        self.masks = {0: mask}
        self._body(range(1))

    def _body(self, vectors: range) -> None:
        """Evaluate everything, then store and accumulate: a value may be stored where an older one read here was."""
        self._evaluate(self.roots, self._deepest(), vectors)
        for stage in self.group:
            for w, e in stage.stores:
                for k in vectors:
                    if stage.kind is not None:
                        self._accumulate(stage, e, k)
                    elif w.value not in self.plan.local or w.value in self.buffers:
                        self._store(w, self._get(e, k), k, False)

    def _accumulate(self, stage: Stage, e: Expr, k: int) -> None:
        acc, b = self.accumulators[id(stage)], self.b
        x = acc.prepare(b, self._get(e, k))
        position = self._position(stage.flat, k) if stage.flat is not None else None
        slots = self.slots[id(stage)]
        slots[k % len(slots)].add(b, Partial(x, position), self._flags(k))

    # -------------------------------------------------------------------------------------------- expressions

    def _deepest(self) -> int:
        return len(self.plan.inner) if self.plan.rows else len([a for a in self.plan.inner if a != self.lane])

    def _depth(self, e: Expr, memo: dict[int, tuple[int, bool]]) -> tuple[int, bool]:
        """(how many inner loops enclose it, whether it differs between lanes)."""
        e = self._resolve(e)
        if id(e) not in memo:
            depths = [self._depth(a, memo) for a in e.args]
            depth = max((d for d, _ in depths), default=0)
            varies = any(v for _, v in depths)
            w = self.plan.of_load.get(id(e))
            if w is not None:
                loops = [a for a in self.plan.inner if a != self.lane] + ([self.lane] if self.plan.rows else [])
                depth = max((i + 1 for i, a in enumerate(loops) if w.strides[a]), default=0)
                varies = bool(w.strides[self.lane])
                if id(w) in self.outer_values:
                    varies = not self.plan.rows
            memo[id(e)] = depth, varies
        return memo[id(e)]

    def _resolve(self, e: Expr) -> Expr:
        """A load of what the same pass computes is that."""
        while True:
            w = self.plan.of_load.get(id(e))
            if w is None or id(w) not in self.same:
                return e
            e = self.same[id(w)]

    def _evaluate(self, roots: list[Expr], depth: int, vectors: range | None = None) -> None:
        """Emit every expression that belongs to this depth of loops."""
        vectors = range(self.across) if vectors is None else vectors
        memo: dict[int, tuple[int, bool]] = {}
        seen: set[int] = set()

        def visit(e: Expr) -> None:
            e = self._resolve(e)
            if id(e) in seen:
                return
            seen.add(id(e))
            for a in e.args:
                visit(a)
            at, varies = self._depth(e, memo)
            if at == depth and e.op != "const":
                for k in vectors if varies else (-1,):
                    self.known[-1][id(e), k] = self._compute(e, k)

        for root in roots:
            visit(root)

    def _get(self, e: Expr, k: int) -> Val:
        e = self._resolve(e)
        if e.op == "const":
            return arithmetic.constant(e.data, e.dtype)
        for scope in reversed(self.known):
            for key in ((id(e), k), (id(e), -1)):
                if key in scope:
                    return scope[key]
        raise AssertionError(f"{e!r} was not computed where it is needed")

    def _compute(self, e: Expr, k: int) -> Val:
        w = self.plan.of_load.get(id(e))
        if w is not None:
            if id(w) in self.outer_values:
                values = self.outer_values[id(w)]
                return values[max(k, 0)]
            return self._position(w, k) if w.value is None else self._load(w, k)
        args = [self._get(a, k) for a in e.args]
        if e.op == "gather":
            return self._gather(e, args, k)
        if e.op == "cast":
            return arithmetic.cast(self.b, args[0], e.args[0].dtype, e.dtype)
        return arithmetic.operate(self.b, e.op, args, e.args[-1].dtype, e.dtype)


class _Scope:
    """What is computed within is forgotten after."""

    def __init__(self, function: _Function):
        self.function = function

    def __enter__(self) -> None:
        self.function.known.append({})

    def __exit__(self, *_: object) -> None:
        self.function.known.pop()


__all__ = ["HEADER", "Kernel", "emit", "values_of"]
