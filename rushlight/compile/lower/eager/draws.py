"""Uniform and normal float32 numbers, and permutations, from words of the random stream.

ns an element by generated code, by NumPy: uniform 0.8 and 2, normal 1.4 and 22, permutation 8 and 79.

The bits are torch's, as those of `core/random/continuous.py` and `core/random/boxmuller.py`, whose steps these are: here
the fused multiply-adds are the processor's own, so that no sum is rounded twice.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....backend.onednn.address import address
from ....core.foreign import ctypes
from ....core.locks import made_once
from ....core.random.boxmuller import (
    COS_POLYNOMIAL,
    LN2_HIGH,
    LN2_LOW,
    LOG_POLYNOMIAL,
    MINUS_QUARTER_PI,
    SIN_POLYNOMIAL,
)
from ..llvm import engine
from ..llvm.ir import Builder, Val, number
from ..llvm.vector_math import polynomial

_LANES = 8
_SQRT_HALF_BITS = 0x3F3504F3


def available() -> bool:
    """Whether these can be called: generated code needs fused multiply-adds to be as quick as it says."""
    return engine.available() and engine.fuses()


def uniforms(words: np.ndarray, out: np.ndarray, low: float, high: float) -> None:
    """Write a number in [low, high) for each word. Shape: words (n,) uint32, out (n,) float32, both contiguous."""
    scale = float(np.float32(high) - np.float32(low))
    _uniforms()(address(words), address(out), out.size, low, scale, high)


def normals(words: np.ndarray, out: np.ndarray, mean: float, std: float) -> None:
    """Write a normal number for each word, in whole blocks of sixteen; the rest of `out` stays. Shape: as for `uniforms`."""
    _normals()(address(words), address(out), out.size // 16, mean, std)


def shuffle(words: np.ndarray, order: np.ndarray) -> None:
    """Exchange, for i = 0 ... n - 2 in turn, the items at i and at i + words[i] % (n - i). Shape: words (n - 1,), order (n,) int64"""
    _shuffle()(address(words), address(order), order.size)


@made_once
def _uniforms() -> Callable:
    numbers = [ctypes.c_float] * 3
    return engine.function(_uniforms_assembly(), "uniforms", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, *numbers)


@made_once
def _normals() -> Callable:
    numbers = [ctypes.c_float] * 2
    return engine.function(_normals_assembly(), "normals", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, *numbers)


@made_once
def _shuffle() -> Callable:
    return engine.function(_shuffle_assembly(), "shuffle", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def _shuffle_assembly() -> str:
    """void shuffle(words, order, n)."""
    b = Builder({})
    with b.loop(number(0, "i64"), b.op("sub", Val("%n", "i64"), 1)) as i:
        left = b.convert("trunc", b.op("sub", Val("%n", "i64"), i), "i32")
        step = b.op("urem", b.load("i32", 0, _at(b, "%words", i), 4), left)
        there = b.op("add", i, b.convert("zext", step, "i64"))
        here, other = (b.emit(f"getelementptr i64, ptr %order, i64 {k.text}", "ptr").text for k in (i, there))
        x, y = b.load("i64", 0, here, 8), b.load("i64", 0, other, 8)
        b.store(y, here, 8)
        b.store(x, other, 8)
    b.line("ret void")
    return b.function("@shuffle", "ptr %words, ptr %order, i64 %n") + engine.attributes()


def _at(b: Builder, base: str, index: Val) -> str:
    return b.emit(f"getelementptr i32, ptr {base}, i64 {index.text}", "ptr").text


def _unit(b: Builder, words: str, index: Val, lanes: int) -> Val:
    """Words as numbers in [0, 1): their low 24 bits."""
    low = b.op("and", b.load("i32", lanes, _at(b, words, index), 4), 0xFFFFFF)
    return b.op("fmul", b.convert("sitofp", low, "float"), 2.0**-24)


def _uniforms_assembly() -> str:
    """void uniforms(words, out, n, low, scale, high)."""
    declarations: dict[str, str] = {}
    b = Builder(declarations)
    low, scale, high = (Val(f"%{name}", "float") for name in ("low", "scale", "high"))
    whole = b.op("and", Val("%n", "i64"), -2 * _LANES)

    def some(index: Val, lanes: int) -> None:
        x = b.fma(_unit(b, "%words", index, lanes), scale, low)
        excluded = b.compare("fcmp oge", x, high)  # the rounding can reach it
        b.store(b.select(excluded, low, x), _at(b, "%out", index), 4)

    with b.loop(number(0, "i64"), whole, 2 * _LANES) as i:
        some(i, 2 * _LANES)
    with b.loop(whole, Val("%n", "i64")) as i:
        some(i, 0)
    b.line("ret void")
    parameters = "ptr %words, ptr %out, i64 %n, float %low, float %scale, float %high"
    return b.function("@uniforms", parameters) + "\n".join(declarations.values()) + "\n" + engine.attributes()


def _normals_assembly() -> str:
    """void normals(words, out, blocks, mean, std)."""
    declarations: dict[str, str] = {}
    b = Builder(declarations)
    mean, std = Val("%mean", "float"), Val("%std", "float")
    with b.loop(number(0, "i64"), Val("%blocks", "i64")) as block:
        first = b.op("shl", block, 4)
        second = b.op("add", first, _LANES)
        u1 = b.op("fsub", b.splat(number(1.0, "float"), _LANES), _unit(b, "%words", first, _LANES))
        radius = b.intrinsic("sqrt", b.op("fmul", _log(b, u1), -2.0))
        two_pi = float(np.float32(2 * np.pi))
        sin, cos = _sincos(b, b.op("fmul", _unit(b, "%words", second, _LANES), two_pi))
        for place, x in ((first, cos), (second, sin)):
            b.store(b.fma(b.op("fmul", radius, x), std, mean), _at(b, "%out", place), 4)
    b.line("ret void")
    parameters = "ptr %words, ptr %out, i64 %blocks, float %mean, float %std"
    return b.function("@normals", parameters) + "\n".join(declarations.values()) + "\n" + engine.attributes()


def _log(b: Builder, x: Val) -> Val:
    """log of normal positive numbers, as `boxmuller._log`."""
    bits = b.convert("bitcast", x, "i32")
    exponent = b.op("ashr", b.op("sub", bits, _SQRT_HALF_BITS), 23)
    m = b.op("fsub", b.convert("bitcast", b.op("sub", bits, b.op("shl", exponent, 23)), "float"), 1.0)
    e = b.convert("sitofp", exponent, "float")
    z = b.op("fmul", m, m)
    y = b.op("fmul", polynomial(b, m, LOG_POLYNOMIAL), m)
    y = b.fma(y, z, b.op("fmul", e, LN2_LOW))
    y = b.op("fadd", b.op("fsub", y, b.op("fmul", z, 0.5)), m)
    return b.op("fadd", y, b.op("fmul", e, LN2_HIGH))


def _sincos(b: Builder, x: Val) -> tuple[Val, Val]:
    """sin and cos of angles in [0, 2 pi), as `boxmuller._sincos`."""
    octant = b.convert("fptosi", b.op("fmul", x, 1.27323954473516), "i32")
    octant = b.op("and", b.op("add", octant, 1), ~1)
    turns = b.convert("sitofp", octant, "float")
    for part in MINUS_QUARTER_PI:
        x = b.fma(turns, number(part, "float"), x)
    z = b.op("fmul", x, x)
    cos = b.op("fmul", polynomial(b, z, COS_POLYNOMIAL), z)
    cos = b.op("fadd", b.fma(cos, z, b.op("fmul", z, -0.5)), 1.0)
    sin = b.fma(b.op("fmul", polynomial(b, z, SIN_POLYNOMIAL), z), x, x)
    exchange = b.compare("icmp ne", b.op("and", octant, 2), 0)
    sin, cos = b.select(exchange, cos, sin), b.select(exchange, sin, cos)
    sign = -(1 << 31)
    flips = b.op("and", b.op("shl", octant, 29), sign), b.op("and", b.op("shl", b.op("add", octant, 2), 29), sign)
    sin, cos = (
        b.convert("bitcast", b.op("xor", b.convert("bitcast", v, "i32"), f), "float")
        for v, f in zip((sin, cos), flips, strict=True)
    )
    return sin, cos
