"""Products that go past this processor's caches into memory, for other processes to read.

What one core has just written is in its own cache. Where the other core has another one, as processors made of several dies
have, it comes from there at 2 GB/s, by one cache line after the other; from memory at 10 (Zen 4; by `np.multiply`, which
writes into the cache, 7.4 MB were summed in 0.8 ms in some hours and in 3.7 in others, by where the host had put the cores).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend.onednn.address import address
from ...compile.lower.llvm import engine
from ...core.foreign import ctypes
from ...core.locks import made_once

__all__ = ["ALIGNED", "multiply"]

ALIGNED = 64  # bytes
_LEAST_BYTES = 1 << 14  # fewer are as quick by way of the caches
_WORDS = {"float32": "float", "float64": "double"}


def multiply(array: np.ndarray, factor: Any, out: np.ndarray, keep: bool = False) -> None:
    """The product of a flat array and a number of its type in `out`, which begins at a multiple of ALIGNED; keep: also in the
    array, by way of the caches.

    Other processes of an x86 processor see it before what this thread writes afterwards.
    """
    done = 0
    if array.nbytes >= _LEAST_BYTES and array.dtype.name in _WORDS and engine.available():
        done = array.size - array.size % (ALIGNED // array.itemsize)
        number = np.array(factor, array.dtype)
        _function(array.dtype.name, keep)(address(out), address(array), address(number), done)
    if done < array.size:
        np.multiply(array[done:], factor, out=out[done:])
        if keep:
            array[done:] = out[done:]


@made_once
def _function(dtype: str, keep: bool) -> Callable[..., None]:
    pointer = ctypes.c_void_p
    return engine.function(_assembly(_WORDS[dtype], keep), "stream", pointer, pointer, pointer, ctypes.c_int64)


def _assembly(word: str, keep: bool) -> str:
    """void stream(to, from, factor, n): n > 0 is a multiple of a cache line's numbers."""
    lanes = engine.vector_bytes() // (4 if word == "float" else 8)
    vector = f"<{lanes} x {word}>"
    kept = f"store {vector} %y, ptr %source, align 4" if keep else ""
    return f"""
declare void @llvm.x86.sse.sfence()

define void @stream(ptr noalias %to, ptr noalias %from, ptr %factor, i64 %n) #0 {{
entry:
  %number = load {word}, ptr %factor
  %one = insertelement {vector} poison, {word} %number, i32 0
  %all = shufflevector {vector} %one, {vector} poison, <{lanes} x i32> zeroinitializer
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %source = getelementptr {word}, ptr %from, i64 %i
  %x = load {vector}, ptr %source, align 4
  %y = fmul {vector} %x, %all
  %place = getelementptr {word}, ptr %to, i64 %i
  store {vector} %y, ptr %place, align {engine.vector_bytes()}, !nontemporal !0
  {kept}
  %next = add i64 %i, {lanes}
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  call void @llvm.x86.sse.sfence()
  ret void
}}

!0 = !{{i32 1}}
{engine.attributes()}"""
