"""Writing LLVM's assembly: values, instructions, blocks, loops.

A value is a scalar (`lanes` 0) or a vector. Instructions take both and repeat the scalar; what was computed before in
an enclosing block is not written again. Text is faster to make than llvmlite's objects, and LLVM parses it at once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from . import engine

BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "float": 32, "double": 64, "ptr": 64}


class Val(NamedTuple):
    """A register or constant: its text, element type, number of lanes (0: scalar), and whether it is a constant."""

    text: str
    elem: str
    lanes: int = 0
    fixed: bool = False

    @property
    def type(self) -> str:
        return vector_type(self.elem, self.lanes)


def vector_type(elem: str, lanes: int) -> str:
    return f"<{lanes} x {elem}>" if lanes else elem


def number(value: Any, elem: str) -> Val:
    """A constant."""
    if elem == "float":
        single = struct.unpack("<f", struct.pack("<f", value))[0] if abs(value) < 3.5e38 else float(value)
        text = f"0x{struct.unpack('<Q', struct.pack('<d', single))[0]:016X}"
    elif elem == "double":
        text = f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"
    elif elem == "i1":
        text = "true" if value else "false"
    else:
        bits = BITS[elem]
        value = int(value) & ((1 << bits) - 1)
        text = str(value - (1 << bits) if value >> (bits - 1) else value)
    return Val(text, elem, 0, True)


class Builder:
    """The body of one function, from its entry to its end."""

    def __init__(self, declarations: dict[str, str]):
        self.declarations = declarations
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.label = "entry"
        self._count = 0
        self._known: list[dict[str, Val]] = [{}]

    # -------------------------------------------------------------------------------------------- instructions

    def fresh(self, prefix: str = "v") -> str:
        self._count += 1
        return f"%{prefix}{self._count}"

    def emit(self, text: str, elem: str, lanes: int = 0, pure: bool = True) -> Val:
        """The value of an instruction, which is written unless the same one was before."""
        if pure:
            for scope in reversed(self._known):
                if text in scope:
                    return scope[text]
        value = Val(self.fresh(), elem, lanes)
        self.lines.append(f"  {value.text} = {text}")
        if pure:
            self._known[-1][text] = value
        return value

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def splat(self, x: Val, lanes: int) -> Val:
        """A scalar repeated; what has its lanes already is itself."""
        if x.lanes == lanes:
            return x
        assert not x.lanes, f"{x} cannot get {lanes} lanes"
        kind = vector_type(x.elem, lanes)
        if x.fixed:
            return Val(f"splat ({x.elem} {x.text})", x.elem, lanes, True)
        first = self.emit(f"insertelement {kind} poison, {x.elem} {x.text}, i64 0", x.elem, lanes)
        zero = f"<{lanes} x i32> zeroinitializer"
        return self.emit(f"shufflevector {kind} {first.text}, {kind} poison, {zero}", x.elem, lanes)

    def shuffle(self, x: Val, y: Val, lanes: Sequence[int]) -> Val:
        """The chosen elements of two vectors, x before y."""
        order = f"<{len(lanes)} x i32> <{', '.join(f'i32 {i}' for i in lanes)}>"
        return self.emit(f"shufflevector {x.type} {x.text}, {y.type} {y.text}, {order}", x.elem, len(lanes))

    def extract(self, x: Val, lane: int) -> Val:
        return self.emit(f"extractelement {x.type} {x.text}, i64 {lane}", x.elem)

    def insert(self, x: Val, one: Val, lane: int) -> Val:
        return self.emit(f"insertelement {x.type} {x.text}, {one.type} {one.text}, i64 {lane}", x.elem, x.lanes)

    def match(self, *values: Val) -> list[Val]:
        lanes = max(v.lanes for v in values)
        return [self.splat(v, lanes) for v in values]

    def op(self, opcode: str, x: Val, y: Any) -> Val:
        """x opcode y; y may be a Python number."""
        x, y = self.match(x, y if isinstance(y, Val) else number(y, x.elem))
        return self.emit(f"{opcode} {x.type} {x.text}, {y.text}", x.elem, x.lanes)

    def compare(self, predicate: str, x: Val, y: Any) -> Val:
        """`predicate` is written as in assembly: "fcmp olt", "icmp eq"."""
        x, y = self.match(x, y if isinstance(y, Val) else number(y, x.elem))
        return self.emit(f"{predicate} {x.type} {x.text}, {y.text}", "i1", x.lanes)

    def fneg(self, x: Val) -> Val:
        return self.emit(f"fneg {x.type} {x.text}", x.elem, x.lanes)

    def select(self, condition: Val, x: Any, y: Any) -> Val:
        known = x if isinstance(x, Val) else y
        x, y = (v if isinstance(v, Val) else number(v, known.elem) for v in (x, y))
        condition, x, y = self.match(condition, x, y)
        return self.emit(
            f"select {condition.type} {condition.text}, {x.type} {x.text}, {y.type} {y.text}", x.elem, x.lanes
        )

    def convert(self, opcode: str, x: Val, elem: str) -> Val:
        """A conversion instruction (sext, sitofp, bitcast, ...) to the element type `elem`."""
        return self.emit(f"{opcode} {x.type} {x.text} to {vector_type(elem, x.lanes)}", elem, x.lanes)

    def intrinsic(self, name: str, *args: Any) -> Val:
        """llvm.<name> of arguments of one type, which its result has too."""
        known = next(a for a in args if isinstance(a, Val))
        args = tuple(self.match(*(a if isinstance(a, Val) else number(a, known.elem) for a in args)))
        kind, lanes = args[0].type, args[0].lanes
        suffix = {"float": "f32", "double": "f64"}.get(known.elem, known.elem)
        symbol = f"@llvm.{name}.v{lanes}{suffix}" if lanes else f"@llvm.{name}.{suffix}"
        self.declare(symbol, f"declare {kind} {symbol}({', '.join([kind] * len(args))})")
        return self.emit(f"call {kind} {symbol}({', '.join(f'{kind} {a.text}' for a in args)})", known.elem, lanes)

    def declare(self, symbol: str, text: str) -> None:
        self.declarations.setdefault(symbol, text)

    def fma(self, x: Any, y: Any, z: Any) -> Val:
        """x y + z, rounded once.

        A processor without that instruction computes float32 through float64, where the product is exact: what is rounded
        twice differs in one of 2^29 sums. float64 is libm's there.
        """
        known = next(v for v in (x, y, z) if isinstance(v, Val))
        if known.elem == "float" and not engine.fuses():
            singles = (v if isinstance(v, Val) else number(v, "float") for v in (x, y, z))
            x, y, z = (self.convert("fpext", v, "double") for v in singles)
            return self.convert("fptrunc", self.op("fadd", self.op("fmul", x, y), z), "float")
        return self.intrinsic("fma", x, y, z)

    # -------------------------------------------------------------------------------------------- memory

    def alloca(self, elem: str, lanes: int = 0, count: int = 1) -> str:
        """Room on the stack for `count` values, made once at the function's entry."""
        name = self.fresh("s")
        kind = vector_type(elem, lanes)
        array = f", i64 {count}" if count != 1 else ""
        self.allocas.append(f"  {name} = alloca {kind}{array}, align 64")
        return name

    def load(self, kind_elem: str, lanes: int, pointer: str, align: int) -> Val:
        return self.emit(
            f"load {vector_type(kind_elem, lanes)}, ptr {pointer}, align {align}", kind_elem, lanes, pure=False
        )

    def store(self, x: Val, pointer: str, align: int) -> None:
        self.line(f"store {x.type} {x.text}, ptr {pointer}, align {align}")

    def get(self, slot: str, elem: str, lanes: int = 0) -> Val:
        """The value in a stack slot."""
        return self.emit(f"load {vector_type(elem, lanes)}, ptr {slot}", elem, lanes, pure=False)

    def put(self, slot: str, x: Val) -> None:
        self.line(f"store {x.type} {x.text}, ptr {slot}")

    # -------------------------------------------------------------------------------------------- control

    def block(self, label: str) -> None:
        self.lines.append(f"{label[1:]}:")
        self.label = label[1:]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is computed inside is not known outside."""
        self._known.append({})
        yield
        self._known.pop()

    @contextmanager
    def loop(self, start: Val, stop: Val, step: Val | int = 1) -> Iterator[Val]:
        """Counts an i64 from `start` up to below `stop`. Tested at its end, and before it unless known to run."""
        body, end = self.fresh("body"), self.fresh("end")
        if start.fixed and stop.fixed:
            assert int(start.text) < int(stop.text), "a loop that never runs"
            self.line(f"br label {body}")
        else:
            enters = self.compare("icmp slt", start, stop)
            self.line(f"br i1 {enters.text}, label {body}, label {end}")
        before = self.label
        self.block(body)
        index = Val(self.fresh("i"), "i64")
        phi = len(self.lines)
        self.lines.append("")
        with self.scope():
            yield index
            following = self.op("add nsw", index, step)
            again = self.compare("icmp slt", following, stop)
        self.line(f"br i1 {again.text}, label {body}, label {end}")
        self.lines[phi] = f"  {index.text} = phi i64 [ {start.text}, %{before} ], [ {following.text}, %{self.label} ]"
        self.block(end)

    @contextmanager
    def when(self, condition: Val, unlikely: bool = False) -> Iterator[None]:
        """Runs what is inside if the scalar `condition` holds. unlikely: its code is placed out of line."""
        then, end = self.fresh("then"), self.fresh("end")
        weights = ", !prof !0" if unlikely else ""
        if unlikely:
            self.declare("!0", '!0 = !{!"branch_weights", i32 1, i32 2000}')
        self.line(f"br i1 {condition.text}, label {then}, label {end}{weights}")
        self.block(then)
        with self.scope():
            yield
        self.line(f"br label {end}")
        self.block(end)

    def any_lane(self, x: Val) -> Val:
        """Whether any lane of an i1 is true."""
        if not x.lanes:
            return x
        symbol = f"@llvm.vector.reduce.or.v{x.lanes}i1"
        self.declare(symbol, f"declare i1 {symbol}({x.type})")
        return self.emit(f"call i1 {symbol}({x.type} {x.text})", "i1")

    def per_lane(self, symbol: str, args: list[Val], result: str) -> Val:
        """A scalar function of every lane, one call each."""
        kinds = [a.elem for a in args]
        self.declare(symbol, f"declare {result} {symbol}({', '.join(kinds)}) nounwind memory(none)")
        args = self.match(*args)
        lanes = args[0].lanes
        if not lanes:
            text = ", ".join(f"{a.elem} {a.text}" for a in args)
            return self.emit(f"call {result} {symbol}({text})", result)
        rooms = [self.alloca(a.elem, lanes) for a in args]
        out = self.alloca(result, lanes)
        for room, a in zip(rooms, args, strict=True):
            self.put(room, a)
        with self.loop(number(0, "i64"), number(lanes, "i64")) as i:
            each = []
            for room, a in zip(rooms, args, strict=True):
                place = self.emit(f"getelementptr {a.elem}, ptr {room}, i64 {i.text}", "ptr")
                each.append(self.get(place.text, a.elem))
            text = ", ".join(f"{a.elem} {a.text}" for a in each)
            y = self.emit(f"call {result} {symbol}({text})", result)
            self.put(self.emit(f"getelementptr {result}, ptr {out}, i64 {i.text}", "ptr").text, y)
        return self.get(out, result, lanes)

    def function(self, name: str, parameters: str, result: str = "void", linkage: str = "") -> str:
        """All of it as a definition; the last block must have ended."""
        body = "\n".join(["entry:", *self.allocas, *self.lines])
        return f"define {linkage}{result} {name}({parameters}) #0 {{\n{body}\n}}\n"
