"""Trials with a probability from words of the random stream: 0.3 ns each, NumPy takes 2.5.

As in `core/random/discrete.py`: of two words the low 21 bits of the first and the whole second one are a number of 53
bits, and a trial succeeds where that is below a limit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....core.foreign import ctypes
from ....core.locks import made_once
from ....core.random import discrete
from ..llvm import engine

_LANES = 16
_FEWEST = 256


def decide(words: np.ndarray, out: np.ndarray, high: np.ndarray, low: int) -> None:
    """Overrides `discrete.decide_by_numpy`, which does what is left."""
    done = decide_most(words, out, int(high), low)
    if done < out.size:
        discrete.decide_by_numpy(words[2 * done :], out[done:], high, low)


def decide_most(words: np.ndarray, out: np.ndarray, high: int, low: int) -> int:
    """Write 1 for each success and 0 for each failure to `out`, a multiple of 16 of them; returns how many.

    Shape: words (2 n,) uint32, out (n,). 0 where out is not of float32 or contiguous, and for few.
    """
    if out.size < _FEWEST or out.dtype != np.float32 or not out.flags.c_contiguous:
        return 0
    function = _function()
    if function is None:
        return 0
    n = out.size // _LANES * _LANES
    function(words.ctypes.data, out.ctypes.data, n, high, low)
    return n


@made_once
def _function() -> Callable | None:
    if not engine.available():
        return None
    words = [ctypes.c_uint32] * 2
    return engine.function(_assembly(), "trials", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, *words)


def _assembly() -> str:
    """void trials(words, out, n, high, low)."""
    kind = f"<{_LANES} x i32>"
    first, second = (", ".join(f"i32 {2 * i + odd}" for i in range(_LANES)) for odd in (0, 1))

    def spread(name: str) -> str:
        return f"""  %{name}.0 = insertelement {kind} poison, i32 %{name}, i64 0
  %{name}s = shufflevector {kind} %{name}.0, {kind} poison, {kind} zeroinitializer"""

    return f"""define void @trials(ptr %words, ptr %out, i64 %n, i32 %high, i32 %low) #0 {{
entry:
{spread("high")}
{spread("low")}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = shl i64 %i, 1
  %p = getelementptr i32, ptr %words, i64 %at
  %q = getelementptr i32, ptr %p, i64 {_LANES}
  %a = load {kind}, ptr %p, align 4
  %b = load {kind}, ptr %q, align 4
  %x = shufflevector {kind} %a, {kind} %b, {kind} <{first}>
  %y = shufflevector {kind} %a, {kind} %b, {kind} <{second}>
  %h = and {kind} %x, splat (i32 {0x1FFFFF})
  %below = icmp ult {kind} %h, %highs
  %same = icmp eq {kind} %h, %highs
  %under = icmp ult {kind} %y, %lows
  %tie = and <{_LANES} x i1> %same, %under
  %success = or <{_LANES} x i1> %below, %tie
  %r = uitofp <{_LANES} x i1> %success to <{_LANES} x float>
  %to = getelementptr float, ptr %out, i64 %i
  store <{_LANES} x float> %r, ptr %to, align 4
  %next = add i64 %i, {_LANES}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
{engine.attributes()}"""
