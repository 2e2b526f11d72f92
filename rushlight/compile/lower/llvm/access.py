"""Loads and stores of windows: plain, under a mask, shuffled, gathered; with bounds checked in a check build."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...ir.expression import Expr
from ...ir.graph import Value
from . import arithmetic
from .ir import Builder, Val, number, vector_type
from .lanes import Pattern, cover, is_plain, pattern, spread
from .plan import Plan, Window
from .shape import Shape


class Row(NamedTuple):
    """A local value's room for one unit, `lanes` of it side by side.

    strides: of its elements along the inner axes; None: as in the value, from its element `first` on.
    """

    pointer: str
    lanes: int
    strides: dict[int, int] | None
    first: int
    count: int


class Access:
    """The memory of a function at its current point.

    at: the index on each axis (of the lanes' axis, the first lane of vector 0); masks: for each vector which lanes are
    on, of those without one all. It is a mask, or the number of the first lanes that are on where that is known.
    step: how far a vector gets on the lanes' axis. order: the values outside; base: the pointer to each; buffers:
    local rows.
    """

    def __init__(self, plan: Plan, shape: Shape, declarations: dict[str, str], check: bool):
        self.plan, self.shape, self.check = plan, shape, check
        self.b = Builder(declarations)
        self.width, self.step, self.across, self.lane = shape.width, shape.step, shape.across, plan.lane
        self.order: dict[Value, int] = {v: i for i, v in enumerate(plan.values)}
        self.at: dict[int, Val] = {}
        self.masks: dict[int, Val | int] = {}
        self.buffers: dict[Value, Row] = {}
        self.base: dict[Value, str] = {}

    def _mask(self, left: Val) -> Val:
        """Lanes below `left` points of the lanes' axis are on."""
        lanes = self._iota("i32")
        bounded = self.b.select(self.b.compare("icmp slt", left, self.step), left, number(self.step, "i64"))
        bounded = self.b.op("mul", bounded, self.plan.short) if self.plan.short > 1 else bounded
        return self.b.compare("icmp slt", lanes, self.b.convert("trunc", bounded, "i32"))

    def _flags(self, k: int) -> Val | None:
        """The mask of vector k; None: all lanes are on."""
        on = self.masks.get(k, self.width)
        if isinstance(on, Val):
            return on
        return None if on == self.width else _constants("i1", [i < on for i in range(self.width)])

    def _iota(self, elem: str) -> Val:
        return _constants(elem, range(self.width))

    def _lanes(self, w: Window) -> Pattern:
        """How its lanes are arranged in memory."""
        plan = self.plan
        within = w.strides[plan.within] if plan.within is not None else 0
        return pattern(w.strides[plan.lane], within, plan.short, self.width)

    def _offsets(self, lanes: Pattern, first: Val) -> Val:
        """The element of each lane."""
        return self.b.op("add", first, _constants("i64", lanes))

    def _linear(self, strides: list[int] | dict[int, int], offset: int, k: int) -> Val:
        """offset + sum of stride x index, for the first lane of vector k."""
        b, total = self.b, number(offset, "i64")
        pairs = strides.items() if isinstance(strides, dict) else enumerate(strides)
        found = dict(pairs)
        order = [*self.plan.outer, *[a for a in self.plan.inner if a != self.lane], self.lane]
        for a in dict.fromkeys(order):
            s = found.get(a, 0)
            if s and a in self.at:
                term = self.at[a] if s == 1 else b.op("mul", self.at[a], s)
                total = term if total.fixed and total.text == "0" else b.op("add", total, term)
        lane = found.get(self.lane, 0)
        if lane and k > 0:
            total = b.op("add", total, lane * k * self.step)
        return total

    def _position(self, w: Window, k: int) -> Val:
        start = self._linear(w.strides, w.offset, k)
        lanes = self._lanes(w)
        return self._offsets(lanes, start) if any(lanes) else start

    def _where(self, w: Window, k: int) -> tuple[str, Val, Pattern, int]:
        """(base pointer, first element, how the lanes are arranged from there, size) of a window."""
        value = w.value
        assert value is not None
        if value in self.buffers:
            return self._where_in_row(w, self.buffers[value], k)
        return self.base[value], self._linear(w.strides, w.offset, k), self._lanes(w), value.size

    def _where_in_row(self, w: Window, row: Row, k: int) -> tuple[str, Val, Pattern, int]:
        inner = self.plan.inner
        own = row.strides or {a: w.strides[a] for a in inner}
        strides = {a: own[a] * row.lanes for a in inner if w.strides[a]}
        if not self.plan.rows:
            strides[self.lane] = 1 if w.strides[self.lane] else 0
        offset = 0 if row.strides else (w.offset - row.first) * row.lanes
        kept, self.at = self.at, {a: self.at[a] for a in inner if a in self.at}
        first = self._linear(strides, offset, k)
        self.at = kept
        return row.pointer, first, pattern(strides.get(self.lane, 0), 0, 1, self.width), row.count

    def _load(self, w: Window, k: int) -> Val:
        pointer, first, lanes, size = self._where(w, k)
        assert w.value is not None
        return self._read(w.value, pointer, first, lanes, size, k)

    def _read(self, value: Value, pointer: str, first: Val, lanes: Pattern, size: int, k: int) -> Val:
        elem, dtype, on = arithmetic.memory(value.dtype), value.dtype, self.masks.get(k, self.width)
        if not any(lanes):
            self._bounds(value, first, size, None)
            return arithmetic.from_memory(self.b, self._piece(elem, pointer, first, 0, None, dtype.itemsize), dtype)
        if is_plain(lanes):
            self._bounds(value, self._offsets(lanes, first), size, self._flags(k))
            x = self._piece(elem, pointer, first, self.width, self._flags(k), dtype.itemsize)
            return arithmetic.from_memory(self.b, x, dtype)
        if not isinstance(on, Val):
            lanes = lanes[:on] + (0,) * (self.width - on)
        self._bounds(value, self._offsets(lanes, first), size, self._flags(k))
        found = cover(lanes, self.width)
        if found is None:
            return arithmetic.from_memory(self.b, self._single_reads(value, pointer, first, lanes, on), dtype)
        pieces = []
        for start in found.starts:
            flags = self._needed(lanes, range(start, start + found.size), on) if isinstance(on, Val) else None
            place = self.b.op("add", first, start) if start else first
            pieces.append(self._piece(elem, pointer, place, found.size, flags, dtype.itemsize))
        return arithmetic.from_memory(self.b, self._picked(pieces, found.pick), dtype)

    def _needed(self, lanes: Pattern, elements: range, on: Val) -> Val:
        """Which of the elements are between two lanes that are on, of which there are the first ones."""
        last = [next(i for i, x in enumerate(lanes) if x >= e) for e in elements]
        first = [next(i for i, x in enumerate(lanes) if x <= e) for e in elements]
        return self.b.shuffle(on, on, [max(i, j) for i, j in zip(first, last, strict=True)])

    def _picked(self, pieces: list[Val], pick: tuple[tuple[int, int], ...]) -> Val:
        """One vector of the chosen elements of several."""
        size = pieces[0].lanes
        second = pieces[1] if len(pieces) > 1 else pieces[0]
        x = self.b.shuffle(pieces[0], second, [min(p, 1) * size + i if p < 2 else 0 for p, i in pick])
        for n, piece in enumerate(pieces[2:], 2):
            x = self.b.shuffle(x, piece, [self.width + i if p == n else lane for lane, (p, i) in enumerate(pick)])
        return x

    def _piece(self, elem: str, pointer: str, first: Val, lanes: int, mask: Val | None, align: int) -> Val:
        """Neighbours in memory."""
        place = self.b.emit(f"getelementptr {elem}, ptr {pointer}, i64 {first.text}", "ptr")
        if mask is None:
            return self.b.load(elem, lanes, place.text, align)
        kind = vector_type(elem, lanes)
        symbol = f"@llvm.masked.load.v{lanes}{_suffix(elem)}.p0"
        self.b.declare(symbol, f"declare {kind} {symbol}(ptr, i32, {mask.type}, {kind})")
        text = f"call {kind} {symbol}(ptr {place.text}, i32 {align}, {mask.type} {mask.text}, {kind} zeroinitializer)"
        return self.b.emit(text, elem, lanes, pure=False)

    def _single_reads(self, value: Value, pointer: str, first: Val, lanes: Pattern, on: Val | int) -> Val:
        """Lanes far from each other: each element is read once."""
        b, elem = self.b, arithmetic.memory(value.dtype)
        wanted = list(dict.fromkeys(lanes))
        if value.dtype.itemsize < 4 and not isinstance(on, Val):  # which processors do not gather
            x = Val("poison", elem, len(wanted))
            for i, start in enumerate(wanted):
                place = b.op("add", first, start) if start else first
                x = b.insert(x, self._piece(elem, pointer, place, 0, None, value.dtype.itemsize), i)
        else:
            wanted += wanted[:1] * (2 ** (len(wanted) - 1).bit_length() - len(wanted))
            order = [lanes.index(start) for start in wanted]
            flags = b.shuffle(on, on, order) if isinstance(on, Val) else None
            x = self._read_lanes(value, pointer, self._offsets(tuple(wanted), first), flags)
        return b.shuffle(x, x, [wanted.index(start) for start in lanes]) if tuple(wanted) != lanes else x

    def _read_lanes(self, value: Value, pointer: str, index: Val, mask: Val | None) -> Val:
        """A gather."""
        b, elem, lanes = self.b, arithmetic.memory(value.dtype), index.lanes
        kind, flags = vector_type(elem, lanes), vector_type("i1", lanes)
        places = b.emit(f"getelementptr {elem}, ptr {pointer}, {index.type} {index.text}", "ptr", lanes)
        symbol = f"@llvm.masked.gather.v{lanes}{_suffix(elem)}.v{lanes}p0"
        b.declare(symbol, f"declare {kind} {symbol}(<{lanes} x ptr>, i32, {flags}, {kind})")
        on = mask.text if mask is not None else "splat (i1 true)"
        text = (
            f"call {kind} {symbol}(<{lanes} x ptr> {places.text}, i32 {value.dtype.itemsize}, {flags} {on},"
            f" {kind} zeroinitializer)"
        )
        return b.emit(text, elem, lanes, pure=False)

    def _gather(self, e: Expr, args: list[Val], k: int) -> Val:
        """The element at computed coordinates; those that are positions make the window run along with the lanes."""
        b, ref = self.b, e.data
        strides, fixed = [0] * len(self.plan.lengths), []
        for a, x, s in zip(e.args, args, ref.strides, strict=True):
            w = self.plan.of_load.get(id(a)) if a.op == "index" else None
            if w is not None:
                strides = [t + s * u for t, u in zip(strides, w.strides, strict=True)]
            elif s:
                fixed.append(x if s == 1 else b.op("mul", x, s))
        first = self._linear(strides, ref.offset, k)
        for x in fixed:
            first = b.op("add", first, x)
        pointer, size, lanes = self.base[ref.value], ref.value.size, self._lanes(Window(None, tuple(strides), 0))
        if not first.lanes:
            return self._read(ref.value, pointer, first, lanes, size, k)
        index = self._offsets(lanes, first) if any(lanes) else first
        self._bounds(ref.value, index, size, self._flags(k))
        return arithmetic.from_memory(b, self._read_lanes(ref.value, pointer, index, self._flags(k)), ref.value.dtype)

    def _store(self, w: Window, x: Val, k: int, single: bool) -> None:
        """Store vector k (or, `single`, the scalar) of a window."""
        b, value = self.b, w.value
        assert value is not None
        pointer, first, lanes, size = self._where(w, k)
        if single or not any(lanes):  # a row's one number; or the lanes' axis has one point
            x = b.extract(x, 0) if x.lanes else x
            self._bounds(value, first, size, None)
            self._put(value, pointer, first, arithmetic.to_memory(b, x, value.dtype), None)
            return
        x = arithmetic.to_memory(b, b.splat(x, self.width), value.dtype)
        self._bounds(value, self._offsets(lanes, first), size, self._flags(k))
        if self.masks.get(k) == 1:
            self._put_single(value, pointer, first, lanes, (0,), x)
        elif is_plain(lanes):
            self._put(value, pointer, first, x, self._flags(k))
        else:
            self._write_lanes(value, pointer, first, lanes, x, k)

    def _write_lanes(self, value: Value, pointer: str, first: Val, lanes: Pattern, x: Val, k: int) -> None:
        """Whole vectors under masks, or a scatter."""
        b, on = self.b, self.masks.get(k, self.width)
        parts = spread(lanes if isinstance(on, Val) else lanes[:on], self.width)
        if parts is None and value.dtype.itemsize < 4 and not isinstance(on, Val):  # which processors do not scatter
            self._put_single(value, pointer, first, lanes, range(on), x)
            return
        if parts is None:
            self._scatter(value, pointer, self._offsets(lanes, first), x, self._flags(k))
            return
        for start, source in parts.items():
            taken = [i for i in source if i >= 0]
            if len(taken) == 1 and not isinstance(on, Val):
                self._put_single(value, pointer, first, lanes, taken, x)
                continue
            order = [max(i, 0) for i in source]
            flags = _constants("i1", [i >= 0 for i in source])
            flags = b.op("and", flags, b.shuffle(on, on, order)) if isinstance(on, Val) else flags
            self._put(value, pointer, b.op("add", first, start) if start else first, b.shuffle(x, x, order), flags)

    def _put_single(self, value: Value, pointer: str, first: Val, lanes: Pattern, which: Iterable[int], x: Val) -> None:
        """Store some lanes one by one.

        So is a lane alone: of a masked store of one narrowed number, LLVM 22 makes a store of the wide number.
        """
        for i in which:
            place = self.b.op("add", first, lanes[i]) if lanes[i] else first
            self._put(value, pointer, place, self.b.extract(x, i), None)

    def _put(self, value: Value, pointer: str, first: Val, x: Val, mask: Val | None) -> None:
        """Store neighbours in memory."""
        b, align = self.b, value.dtype.itemsize
        place = b.emit(f"getelementptr {x.elem}, ptr {pointer}, i64 {first.text}", "ptr")
        if mask is None:
            b.store(x, place.text, align)
            return
        symbol = f"@llvm.masked.store.v{x.lanes}{_suffix(x.elem)}.p0"
        b.declare(symbol, f"declare void {symbol}({x.type}, ptr, i32, {mask.type})")
        b.line(f"call void {symbol}({x.type} {x.text}, ptr {place.text}, i32 {align}, {mask.type} {mask.text})")

    def _scatter(self, value: Value, pointer: str, index: Val, x: Val, mask: Val | None) -> None:
        b, width, elem = self.b, self.width, x.elem
        places = b.emit(f"getelementptr {elem}, ptr {pointer}, {index.type} {index.text}", "ptr", width)
        flags = vector_type("i1", width)
        symbol = f"@llvm.masked.scatter.v{width}{_suffix(elem)}.v{width}p0"
        b.declare(symbol, f"declare void {symbol}({x.type}, <{width} x ptr>, i32, {flags})")
        on = mask.text if mask is not None else "splat (i1 true)"
        b.line(
            f"call void {symbol}({x.type} {x.text}, <{width} x ptr> {places.text}, i32 {value.dtype.itemsize},"
            f" {flags} {on})"
        )

    # -------------------------------------------------------------------------------------------- check build

    def _bounds(self, value: Value, index: Val, size: int, mask: Val | None) -> None:
        """In a check build: leave the kernel with the value's number as its status if an element is outside."""
        if not self.check:
            return
        b = self.b
        wrong = b.compare("icmp uge", index, size)
        if mask is not None and index.lanes:
            wrong = b.op("and", wrong, mask)
        bad, good = b.fresh("bad"), b.fresh("good")
        b.line(f"br i1 {b.any_lane(wrong).text}, label {bad}, label {good}")
        b.block(bad)
        status = b.load("ptr", 0, "%data", 8)
        number_of = self.order.get(value, len(self.order)) + 1
        b.line(f"store atomic i32 {number_of}, ptr {status.text} monotonic, align 4")
        b.line("ret void")
        b.block(good)


def _constants(elem: str, values: Iterable[int]) -> Val:
    """A constant vector."""
    each = [number(v, elem).text for v in values]
    return Val(f"<{', '.join(f'{elem} {text}' for text in each)}>", elem, len(each), True)


def _suffix(elem: str) -> str:
    return {"float": "f32", "double": "f64", "half": "f16"}.get(elem, elem)
