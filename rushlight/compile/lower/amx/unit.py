"""The matrix unit: eight tiles of 16 rows of 64 bytes, and products of two tiles of bfloat16 added to one of float32.

A tile of a first factor holds 16 rows of 32 numbers; one of a second factor 16 rows of pairs, two numbers along the sum
for each of 16 columns. Nothing here knows what the numbers mean.
"""

from __future__ import annotations

import platform
import struct

from ....core.foreign import ctypes
from ....core.locks import made_once
from ..llvm import engine
from ..llvm.ir import Builder, Val

__all__ = ["BYTES", "available", "clear", "configure", "fetch", "multiply", "put_back", "release"]

BYTES = 1024  # of a tile
_SYSCALL_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18
_NEEDED = frozenset(("amx-tile", "amx-bf16", "avx512f", "avx512bw"))


@made_once
def available() -> bool:
    """Whether there is a matrix unit for bfloat16 and Linux lets this process use it (it asks for that)."""
    if platform.system() != "Linux" or not engine.available() or not engine.features() >= _NEEDED:
        return False
    return ctypes.CDLL(None).syscall(_SYSCALL_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0


def configure(b: Builder) -> None:
    """All eight tiles at full size, in this thread, until `release`."""
    bytes_of = struct.pack("<BB14x8H16x8B8x", 1, 0, *(64,) * 8, *(16,) * 8)
    room = b.alloca("i64", count=8)
    for i, word in enumerate(struct.unpack("<8q", bytes_of)):
        b.line(f"{(at := b.fresh())} = getelementptr i64, ptr {room}, i64 {i}")
        b.line(f"store i64 {word}, ptr {at}, align 8")
    _call(b, "ldtilecfg", f"ptr {room}", "ptr")


def release(b: Builder) -> None:
    """Give the tiles up, so that a change of threads need not save them."""
    _call(b, "tilerelease", "", "")


def clear(b: Builder, tile: int) -> None:
    """Zeros into a tile."""
    _call(b, "tilezero", f"i8 {tile}", "i8 immarg")


def fetch(b: Builder, tile: int, at: str, row_bytes: Val) -> None:
    """Load a tile from memory. row_bytes: from one row to the next; 0 repeats a row."""
    _call(b, "tileloadd64", f"i8 {tile}, ptr {at}, i64 {row_bytes.text}", "i8 immarg, ptr, i64")


def put_back(b: Builder, tile: int, at: str, row_bytes: Val) -> None:
    """Store a tile."""
    _call(b, "tilestored64", f"i8 {tile}, ptr {at}, i64 {row_bytes.text}", "i8 immarg, ptr, i64")


def multiply(b: Builder, out: int, x: int, y: int) -> None:
    """Add a product of two tiles to a third."""
    _call(b, "tdpbf16ps", f"i8 {out}, i8 {x}, i8 {y}", "i8 immarg, i8 immarg, i8 immarg")


def _call(b: Builder, name: str, arguments: str, kinds: str) -> None:
    b.declare(f"@llvm.x86.{name}", f"declare void @llvm.x86.{name}({kinds})")
    b.line(f"call void @llvm.x86.{name}({arguments})")
