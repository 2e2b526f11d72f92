"""One step of a sum in shared memory, as code for this processor: write a piece for the others, wait for theirs, and add.

What a process lays out goes past the caches into memory. What one core has just written is in its own cache; where the other
core has another one, as processors made of several dies have, it comes from there at 2 GB/s, by one cache line after the other;
from memory at 10 (Zen 4; by `np.multiply`, which writes into the cache, 7.4 MB were summed in 0.8 ms in some hours and in 3.7 in
others, by where the host had put the cores).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...compile.lower.llvm import engine
from ...core.foreign import ctypes
from ...core.locks import made_once

__all__ = ["ADDED", "ALIGNED", "Layout", "step_of"]

ALIGNED = 64  # bytes, of the longest vectors
ADDED = 0  # what a step returns; anything else: nothing was added, since another process is late, or makes another call
_WORDS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
_LOOKS = 2000  # before a step is late, some 100 us


class Layout(NamedTuple):
    """Where things are in the memory of each process, in bytes: a counter, and for each slot a label and a piece."""

    counter: int
    labels: int
    pieces: int
    piece_bytes: int
    slots: int


def step_of(dtype: np.dtype, size: int, rank: int, keep: bool, layout: Layout) -> Callable[..., int] | None:
    """The step of one of `size` processes, for numbers of a type; None where there is no code for them.

    It is called with (the address of the addresses of all memories, laid, n, number, added, m, awaited, label, factor): it writes
    the numbers of the n rows of the table at `laid` times the factor, as piece number `number`, for the others; then it adds piece
    `awaited` of all processes, in the order of ranks, this one's own being in the m rows at `added`, where the sums go as well. A
    row is an address and a count of numbers; in a piece its numbers begin at a multiple of `ALIGNED` bytes. n = 0: nothing
    is written. m = 0: nothing is added. keep: the products go to the rows of `laid` as well. Others see a piece when the counter
    has passed its number.
    """
    word = _WORDS.get(dtype)
    if word is None or not engine.available():
        return None
    return _function(word, size, rank, keep, layout)


@made_once
def _function(word: str, size: int, rank: int, keep: bool, layout: Layout) -> Callable[..., int]:
    code = engine.build(_assembly(word, size, rank, keep, layout))
    number = ctypes.c_float if word == "float" else ctypes.c_double
    pointer, whole = ctypes.c_void_p, ctypes.c_int64
    types = (pointer, pointer, whole, whole, pointer, whole, whole, whole, number)
    made = ctypes.CFUNCTYPE(whole, *types)(code.address("step"))
    made.code = code  # type: ignore[attr-defined]
    return made


def _assembly(word: str, size: int, rank: int, keep: bool, at: Layout) -> str:
    number_bytes = 4 if word == "float" else 8
    lanes = engine.vector_bytes() // number_bytes
    vector, ones = f"<{lanes} x {word}>", f"<{lanes} x i1>"
    others = [r for r in range(size) if r != rank]

    def load(name: str, place: str, mask: str) -> str:
        if not mask:
            return f"{name} = load {vector}, ptr {place}, align 4"
        return f"{name} = call {vector} @llvm.masked.load(ptr {place}, i32 4, {ones} {mask}, {vector} zeroinitializer)"

    def store(name: str, place: str, mask: str, past_caches: bool = False) -> str:
        if mask:
            return f"call void @llvm.masked.store({vector} {name}, ptr {place}, i32 4, {ones} {mask})"
        how = f"align {engine.vector_bytes()}, !nontemporal !0" if past_caches else "align 4"
        return f"store {vector} {name}, ptr {place}, {how}"

    def write(p: str, i: str, mask: str) -> str:
        return f"""
  %{p}.from = getelementptr {word}, ptr %laid.at, i64 {i}
  {load(f"%{p}.x", f"%{p}.from", mask)}
  %{p}.y = fmul {vector} %{p}.x, %factors
  %{p}.to = getelementptr {word}, ptr %room.row, i64 {i}
  {store(f"%{p}.y", f"%{p}.to", mask, True)}
  {store(f"%{p}.y", f"%{p}.from", mask) if keep else ""}"""

    def add(p: str, i: str, mask: str) -> str:
        lines = []
        for r in range(size):
            where = "%added.at" if r == rank else f"%piece{r}"
            lines += [
                f"%{p}.at{r} = getelementptr {word}, ptr {where}, i64 {i}",
                load(f"%{p}.x{r}", f"%{p}.at{r}", mask),
            ]
            total = f"%{p}.sum{r - 1}" if r > 1 else f"%{p}.x0"
            lines += [f"%{p}.sum{r} = fadd {vector} {total}, %{p}.x{r}"] if r else []
        return "\n  ".join(["", *lines, store(f"%{p}.sum{size - 1}", f"%{p}.at{rank}", mask)])

    def each(name: str, count: str, body: Callable[[str, str, str], str], after: str) -> str:
        """The body for each vector of `count` numbers, the last one in part."""
        lanes_in_order = ", ".join(f"i64 {i}" for i in range(lanes))
        whole, left, index = f"%{name}.whole", f"%{name}.left", f"<{lanes} x i64>"
        return f"""
{name}:
  {whole} = and i64 {count}, {-lanes}
  %{name}.any = icmp ne i64 {whole}, 0
  br i1 %{name}.any, label %{name}.loop, label %{name}.rest
{name}.loop:
  %{name}.i = phi i64 [ 0, %{name} ], [ %{name}.next, %{name}.loop ]{body(f"{name}.l", f"%{name}.i", "")}
  %{name}.next = add i64 %{name}.i, {lanes}
  %{name}.more = icmp ult i64 %{name}.next, {whole}
  br i1 %{name}.more, label %{name}.loop, label %{name}.rest
{name}.rest:
  {left} = sub i64 {count}, {whole}
  %{name}.none = icmp eq i64 {left}, 0
  br i1 %{name}.none, label %{after}, label %{name}.part
{name}.part:
  %{name}.one = insertelement {index} poison, i64 {left}, i32 0
  %{name}.all = shufflevector {index} %{name}.one, {index} poison, <{lanes} x i32> zeroinitializer
  %{name}.mask = icmp ult {index} <{lanes_in_order}>, %{name}.all{body(f"{name}.p", whole, f"%{name}.mask")}
  br label %{after}
"""

    def memory(r: int) -> str:
        return f"""
  %own{r} = getelementptr ptr, ptr %bases, i64 {r}
  %base{r} = load ptr, ptr %own{r}
  %whole{r} = getelementptr i8, ptr %base{r}, i64 %piece.at"""

    def rows(name: str, table: str, count: str, begins: str, row: str, body: str, after: str) -> str:
        """For each row of a table: `row`, in which %{name}.from is its number's place in the piece in bytes, and `body`."""
        return f"""
{name}.row:
  %{name}.k = phi i64 [ 0, %{begins} ], [ %{name}.k.next, %{name}.done ]
  %{name}.from = phi i64 [ 0, %{begins} ], [ %{name}.to, %{name}.done ]
  %{name}.row.at = getelementptr {{ ptr, i64 }}, ptr {table}, i64 %{name}.k
  {table}.at = load ptr, ptr %{name}.row.at
  %{name}.size.at = getelementptr i8, ptr %{name}.row.at, i64 8
  %{name}.size = load i64, ptr %{name}.size.at{row}
  br label %{name}
{body}
{name}.done:
  %{name}.bytes = mul i64 %{name}.size, {number_bytes}
  %{name}.end = add i64 %{name}.from, %{name}.bytes
  %{name}.beyond = add i64 %{name}.end, {ALIGNED - 1}
  %{name}.to = and i64 %{name}.beyond, {-ALIGNED}
  %{name}.k.next = add i64 %{name}.k, 1
  %{name}.k.more = icmp ult i64 %{name}.k.next, {count}
  br i1 %{name}.k.more, label %{name}.row, label %{after}
"""

    def parts() -> str:
        return "".join(
            f"\n  %piece{r} = getelementptr i8, ptr %whole{r}, i64 %add.from" for r in range(size) if r != rank
        )

    def wait(r: int, then: str) -> str:
        return f"""
wait{r}:
  %counter{r} = getelementptr i8, ptr %base{r}, i64 {at.counter}
  %label.at{r} = getelementptr i8, ptr %base{r}, i64 %label.at
  br label %look{r}
look{r}:
  %k{r} = phi i64 [ 0, %wait{r} ], [ %more{r}, %again{r} ]
  %done{r} = load atomic i64, ptr %counter{r} acquire, align 8
  %there{r} = icmp sgt i64 %done{r}, %awaited
  br i1 %there{r}, label %there{r}.it.is, label %again{r}
again{r}:
  call void @llvm.x86.sse2.pause()
  %more{r} = add i64 %k{r}, 1
  %has.time{r} = icmp ult i64 %more{r}, {_LOOKS}
  br i1 %has.time{r}, label %look{r}, label %not.added
there{r}.it.is:
  %label{r} = load i64, ptr %label.at{r}
  %same{r} = icmp eq i64 %label{r}, %label
  br i1 %same{r}, label %{then}, label %not.added"""

    steps = [f"wait{r}" for r in others] + ["add.rows"]
    room = "\n  %room.row = getelementptr i8, ptr %room, i64 %write.from"
    slot = f"srem i64 %{{}}, {at.slots}"
    return f"""
declare void @llvm.x86.sse.sfence()
declare void @llvm.x86.sse2.pause()
declare {vector} @llvm.masked.load(ptr, i32, {ones}, {vector})
declare void @llvm.masked.store({vector}, ptr, i32, {ones})

define i64 @step(
  ptr %bases, ptr %laid, i64 %n, i64 %number, ptr %added, i64 %m, i64 %awaited, i64 %label, {word} %factor
) #0 {{
entry:
  %slot = {slot.format("awaited")}
  %piece.in = mul i64 %slot, {at.piece_bytes}
  %piece.at = add i64 %piece.in, {at.pieces}
  %label.in = mul i64 %slot, 8
  %label.at = add i64 %label.in, {at.labels}
{"".join(map(memory, range(size)))}
  %one = insertelement {vector} poison, {word} %factor, i32 0
  %factors = shufflevector {vector} %one, {vector} poison, <{lanes} x i32> zeroinitializer
  %free = {slot.format("number")}
  %room.in = mul i64 %free, {at.piece_bytes}
  %room.at = add i64 %room.in, {at.pieces}
  %room = getelementptr i8, ptr %base{rank}, i64 %room.at
  %writes = icmp ne i64 %n, 0
  br i1 %writes, label %write.row, label %adds
{rows("write", "%laid", "%n", "entry", room, each("write", "%write.size", write, "write.done"), "tell")}
tell:
  call void @llvm.x86.sse.sfence()
  %tag.in = mul i64 %free, 8
  %tag.at = add i64 %tag.in, {at.labels}
  %tag = getelementptr i8, ptr %base{rank}, i64 %tag.at
  store i64 %label, ptr %tag
  %counter = getelementptr i8, ptr %base{rank}, i64 {at.counter}
  %count = add i64 %number, 1
  store atomic i64 %count, ptr %counter release, align 8
  br label %adds
adds:
  %some = icmp ne i64 %m, 0
  br i1 %some, label %{steps[0]}, label %end
{"".join(wait(r, then) for r, then in zip(others, steps[1:], strict=True))}
add.rows:
  br label %add.row
{rows("add", "%added", "%m", "add.rows", parts(), each("add", "%add.size", add, "add.done"), "end")}
end:
  ret i64 {ADDED}
not.added:
  ret i64 1
}}

!0 = !{{i32 1}}
{engine.attributes()}"""
