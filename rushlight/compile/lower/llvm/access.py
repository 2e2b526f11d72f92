"""Loads and stores of windows: plain, under a mask, strided, gathered; with bounds checked in a check build."""

from __future__ import annotations

from typing import NamedTuple

from ...expression import Expr
from ...graph import Value
from . import arithmetic
from .ir import Builder, Val, number, vector_type
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
    on (None: all). order: the values outside; base: the pointer to each; buffers: local rows.
    """

    def __init__(self, plan: Plan, shape: Shape, declarations: dict[str, str], check: bool):
        self.plan, self.shape, self.check = plan, shape, check
        self.b = Builder(declarations)
        self.width, self.across, self.lane = shape.width, shape.across, plan.lane
        self.order: dict[Value, int] = {v: i for i, v in enumerate(plan.values)}
        self.at: dict[int, Val] = {}
        self.masks: dict[int, Val | None] = {}
        self.buffers: dict[Value, Row] = {}
        self.base: dict[Value, str] = {}

    def _mask(self, left: Val) -> Val:
        """Lanes below `left` are on."""
        lanes = self._iota("i32")
        bounded = self.b.select(self.b.compare("icmp slt", left, self.width), left, number(self.width, "i64"))
        return self.b.compare("icmp slt", lanes, self.b.convert("trunc", bounded, "i32"))

    def _iota(self, elem: str) -> Val:
        text = ", ".join(f"{elem} {i}" for i in range(self.width))
        return Val(f"<{text}>", elem, self.width, True)

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
            total = b.op("add", total, lane * k * self.width)
        return total

    def _position(self, w: Window, k: int) -> Val:
        start = self._linear(w.strides, w.offset, k)
        stride = w.strides[self.lane]
        if not stride:
            return start
        steps = ", ".join(f"i64 {i * stride}" for i in range(self.width))
        return self.b.op("add", start, Val(f"<{steps}>", "i64", self.width, True))

    def _where(self, w: Window, k: int) -> tuple[str, Val, int, int]:
        """(base pointer, first element, stride between lanes, size) of a window."""
        value = w.value
        assert value is not None
        if value in self.buffers:
            return self._where_in_row(w, self.buffers[value], k)
        return self.base[value], self._linear(w.strides, w.offset, k), w.strides[self.lane], value.size

    def _where_in_row(self, w: Window, row: Row, k: int) -> tuple[str, Val, int, int]:
        inner = self.plan.inner
        own = row.strides or {a: w.strides[a] for a in inner}
        strides = {a: own[a] * row.lanes for a in inner if w.strides[a]}
        if not self.plan.rows:
            strides[self.lane] = 1 if w.strides[self.lane] else 0
        offset = 0 if row.strides else (w.offset - row.first) * row.lanes
        kept, self.at = self.at, {a: self.at[a] for a in inner if a in self.at}
        first = self._linear(strides, offset, k)
        self.at = kept
        return row.pointer, first, strides.get(self.lane, 0), row.count

    def _load(self, w: Window, k: int) -> Val:
        pointer, first, stride, size = self._where(w, k)
        assert w.value is not None
        return self._read(w.value, pointer, first, stride, size, k)

    def _read(self, value: Value, pointer: str, first: Val, stride: int, size: int, k: int) -> Val:
        b, elem, dtype = self.b, arithmetic.memory(value.dtype), value.dtype
        mask = self.masks.get(k)
        if stride not in (0, 1):
            steps = ", ".join(f"i64 {i * stride}" for i in range(self.width))
            index = b.op("add", first, Val(f"<{steps}>", "i64", self.width, True))
            return self._read_lanes(value, pointer, index, size, k)
        self._bounds(value, first, stride, size, mask)
        place = b.emit(f"getelementptr {elem}, ptr {pointer}, i64 {first.text}", "ptr")
        align = dtype.itemsize
        if stride == 0:
            x = b.load(elem, 0, place.text, align)
        elif mask is None:
            x = b.load(elem, self.width, place.text, align)
        else:
            x = self._masked_load(elem, place, mask, align)
        return arithmetic.from_memory(b, x, dtype)

    def _masked_load(self, elem: str, place: Val, mask: Val, align: int) -> Val:
        kind, flags = vector_type(elem, self.width), vector_type("i1", self.width)
        symbol = f"@llvm.masked.load.v{self.width}{_suffix(elem)}.p0"
        self.b.declare(symbol, f"declare {kind} {symbol}(ptr, i32, {flags}, {kind})")
        text = f"call {kind} {symbol}(ptr {place.text}, i32 {align}, {flags} {mask.text}, {kind} zeroinitializer)"
        return self.b.emit(text, elem, self.width, pure=False)

    def _read_lanes(self, value: Value, pointer: str, index: Val, size: int, k: int) -> Val:
        """A gather."""
        b, elem, width = self.b, arithmetic.memory(value.dtype), self.width
        mask = self.masks.get(k)
        self._bounds(value, index, 0, size, mask)
        kind, flags = vector_type(elem, width), vector_type("i1", width)
        places = b.emit(f"getelementptr {elem}, ptr {pointer}, {index.type} {index.text}", "ptr", width)
        symbol = f"@llvm.masked.gather.v{width}{_suffix(elem)}.v{width}p0"
        b.declare(symbol, f"declare {kind} {symbol}(<{width} x ptr>, i32, {flags}, {kind})")
        on = mask.text if mask is not None else "splat (i1 true)"
        text = (
            f"call {kind} {symbol}(<{width} x ptr> {places.text}, i32 {value.dtype.itemsize}, {flags} {on},"
            f" {kind} zeroinitializer)"
        )
        return arithmetic.from_memory(b, b.emit(text, elem, width, pure=False), value.dtype)

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
        pointer, size, stride = self.base[ref.value], ref.value.size, strides[self.lane]
        if not first.lanes:
            return self._read(ref.value, pointer, first, stride, size, k)
        if stride:
            steps = ", ".join(f"i64 {i * stride}" for i in range(self.width))
            first = b.op("add", first, Val(f"<{steps}>", "i64", self.width, True))
        return self._read_lanes(ref.value, pointer, first, size, k)

    def _store(self, w: Window, x: Val, k: int, single: bool) -> None:
        """Store vector k (or, `single`, the scalar) of a window."""
        b, value = self.b, w.value
        assert value is not None
        pointer, first, stride, size = self._where(w, k)
        elem = arithmetic.memory(value.dtype)
        if single or not stride:  # a row's one number; or the lanes' axis has one point
            single, stride = True, 0
            x = b.emit(f"extractelement {x.type} {x.text}, i64 0", x.elem) if x.lanes else x
        else:
            x = b.splat(x, self.width)
        x = arithmetic.to_memory(b, x, value.dtype)
        mask = self.masks.get(k) if not single else None
        if not single and stride != 1:
            self._write_lanes(value, pointer, first, stride, size, x, mask)
            return
        self._bounds(value, first, stride, size, mask)
        place = b.emit(f"getelementptr {elem}, ptr {pointer}, i64 {first.text}", "ptr")
        if mask is None:
            b.store(x, place.text, value.dtype.itemsize)
            return
        flags = vector_type("i1", self.width)
        symbol = f"@llvm.masked.store.v{self.width}{_suffix(elem)}.p0"
        b.declare(symbol, f"declare void {symbol}({x.type}, ptr, i32, {flags})")
        b.line(
            f"call void {symbol}({x.type} {x.text}, ptr {place.text}, i32 {value.dtype.itemsize}, {flags} {mask.text})"
        )

    def _write_lanes(
        self, value: Value, pointer: str, first: Val, stride: int, size: int, x: Val, mask: Val | None
    ) -> None:
        """A scatter."""
        b, width, elem = self.b, self.width, arithmetic.memory(value.dtype)
        steps = ", ".join(f"i64 {i * stride}" for i in range(width))
        index = b.op("add", first, Val(f"<{steps}>", "i64", width, True))
        self._bounds(value, index, 0, size, mask)
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

    def _bounds(self, value: Value, first: Val, stride: int, size: int, mask: Val | None) -> None:
        """In a check build: leave the kernel with the value's number as its status if an element lies outside."""
        if not self.check:
            return
        b = self.b
        index = first
        if stride:
            steps = ", ".join(f"i64 {i * stride}" for i in range(self.width))
            index = b.op("add", first, Val(f"<{steps}>", "i64", self.width, True))
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


def _suffix(elem: str) -> str:
    return {"float": "f32", "double": "f64", "half": "f16"}.get(elem, elem)
