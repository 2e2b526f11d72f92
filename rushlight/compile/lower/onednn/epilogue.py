"""What follows a product, as a loop of its own: where oneDNN has no primitive that does both.

out = activation(scale part + bias), or, where a result is added to, out + scale part + bias

`part` is the product alone, row-major; out and bias may have any layout.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ...ir.graph import Ref
from ..llvm.ir import Builder, Val, number
from ..llvm.vector_math import function
from . import kernels
from .binder import Probe
from .kernels import Emit, element

__all__ = ["emit_epilogue", "fits"]

_F32 = np.dtype(np.float32)
_ONE_THREAD_ELEMENTS = 1 << 15  # 10 us of memory


def fits(bias: Ref | None, out: Ref) -> bool:
    """Whether the loop can be written: all of it is float32, and the bias is as wide as the result."""
    return out.dtype == _F32 and (bias is None or (bias.dtype == _F32 and bias.ndim == out.ndim))


def emit_epilogue(
    binder: Probe, part: Ref, bias: Ref | None, out: Ref, scale: float, activation: str | None, accumulate: bool
) -> None:
    """Emit the loop. Shape: part and out (*, n, m), bias broadcast to it, its repeated axes with stride 0."""
    refs = (part, out) if bias is None else (part, out, bias)
    *sizes, width = out.shape
    steps = [_steps(r, out.shape) for r in refs[1:]]
    together = all(s[-1] == 1 for s in steps)
    emit = _loop(len(sizes), bias is not None, together, scale != 1, activation, accumulate)
    numbers = (width, kernels.bits(scale), *sizes, *(s for row in steps for s in row))
    native = kernels.native(emit, len(refs), len(numbers))
    threads = int(out.size <= _ONE_THREAD_ELEMENTS)
    binder.note(f"then {_what(bias is not None, scale != 1, activation, accumulate)} by a loop")
    binder.launch(native, math.prod(sizes), tuple(map(binder.pointer, refs)), *numbers, threads=threads)


def _what(with_bias: bool, scaled: bool, activation: str | None, accumulate: bool) -> str:
    parts = ("scale", scaled), ("bias", with_bias), (activation or "", bool(activation)), ("sum", accumulate)
    return " and ".join(name for name, done in parts if done)


def _steps(ref: Ref, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides along each axis of the result."""
    return tuple(0 if n == 1 != m else s for n, m, s in zip(ref.shape, shape, ref.strides, strict=True))


@functools.cache
def _loop(axes: int, with_bias: bool, together: bool, scaled: bool, activation: str | None, accumulate: bool) -> Emit:
    """together: whether all have stride 1 along the last axis, so that vectors can be loaded."""

    def emit(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
        count = 2 + with_bias
        addresses, (width, factor, *numbers) = parameters[:count], parameters[count:]
        sizes, strides = numbers[:axes], numbers[axes:]
        rows = [strides[i * (axes + 1) : (i + 1) * (axes + 1)] for i in range(count - 1)]
        n = kernels.lanes() if together else 0
        scale = kernels.float_at(b, factor)
        none = number(0, "i64")
        whole = b.op("and", width, -n) if n else none
        spans = [(none, whole, n), (whole, width, 0)] if n else [(none, width, 0)]
        with b.loop(low, high) as r:
            starts = [b.op("mul", r, width), *_starts(b, r, sizes, rows)]
            for begin, end, lanes in spans:
                with b.loop(begin, end, lanes or 1) as j:
                    offsets = [j, *(j if together else b.op("mul", j, steps[-1]) for steps in rows)]
                    places = [
                        element(b, a, b.op("add", s, o)) for a, s, o in zip(addresses, starts, offsets, strict=True)
                    ]
                    x = b.load("float", lanes, places[0], 4)
                    x = b.op("fmul", x, scale) if scaled else x
                    x = b.op("fadd", x, b.load("float", lanes, places[2], 4)) if with_bias else x
                    x = _gelu_tanh(b, x) if activation else x
                    x = b.op("fadd", x, b.load("float", lanes, places[1], 4)) if accumulate else x
                    b.store(x, places[1], 4)

    return emit


def _starts(b: Builder, row: Val, sizes: list[Val], strides: list[list[Val]]) -> list[Val]:
    """The first element of a row, in each ref with these strides."""
    starts = [number(0, "i64")] * len(strides)
    for axis in reversed(range(len(sizes))):
        i, row = b.op("srem", row, sizes[axis]), b.op("sdiv", row, sizes[axis])
        starts = [b.op("add", start, b.op("mul", i, s[axis])) for start, s in zip(starts, strides, strict=True)]
    return starts


def _gelu_tanh(b: Builder, x: Val) -> Val:
    """x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))"""
    cubic = b.fma(b.op("fmul", b.op("fmul", x, x), x), 0.044715, x)
    return b.op("fmul", b.op("fmul", x, 0.5), b.op("fadd", function(b, "tanh", b.op("fmul", cubic, 0.7978845608)), 1.0))
