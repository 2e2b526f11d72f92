"""The instruction set that native code may use: the processor's, or less by `RUSHLIGHT_ISA` in the environment.

    RUSHLIGHT_ISA   x86-64 level   oneDNN's name   vectors    besides SSE4.2
    sse41           v2             SSE41           16 bytes
    avx2            v3             AVX2            32 bytes   AVX2, FMA, F16C, BMI
    avx512          v4             AVX512_CORE     64 bytes   AVX-512 F, BW, CD, DQ, VL
    amx             all that there is              64 bytes   later parts of AVX-512, and the matrix unit

64-bit ARM has one level, neon: vectors of 16 bytes, and in every processor fused multiply-adds and float16 conversions.

A cap holds for code that the compiler generates and for oneDNN. It never adds what the processor lacks. NumPy and its
OpenBLAS have settings of their own (`NPY_DISABLE_CPU_FEATURES`, `OPENBLAS_CORETYPE`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["LEVELS", "Level", "cap", "cap_of", "effective", "has_avx512", "is_arm", "of_processor", "permitted"]


class Level(NamedTuple):
    """An instruction set: LLVM's processor and features beyond those of the level before, oneDNN's number, Linux's flags."""

    name: str
    processor: str
    features: tuple[str, ...]
    onednn: int
    flags: tuple[str, ...]


_V2 = "64bit cmov cx16 cx8 crc32 fxsr mmx popcnt sahf sse sse2 sse3 sse4.1 sse4.2 ssse3"
LEVELS = (
    Level("sse41", "x86-64-v2", tuple(_V2.split()), 0x1, ("sse4_1", "sse4_2", "ssse3", "popcnt")),
    Level(
        "avx2", "x86-64-v3", ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"), 0x7,
        ("avx2", "fma", "f16c"),
    ),
    Level(
        "avx512", "x86-64-v4", tuple(f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl")), 0x27,
        tuple(f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl")),
    ),
    Level("amx", "", (), 0, ("amx_tile", "amx_bf16")),
)  # fmt: skip
_NAMES = tuple(level.name for level in LEVELS)
_ON_ARM = "neon"


def is_arm() -> bool:
    """Whether the processor is a 64-bit ARM."""
    return _machine().lower() in ("aarch64", "arm64")


def _machine() -> str:
    return os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")


def cap_of(text: str | None) -> Level | None:
    """The level that a value of RUSHLIGHT_ISA names; None without a value, and for the highest, which takes nothing away.

    Raises ValueError for any other value.
    """
    if not text:
        return None
    if is_arm():
        if text != _ON_ARM:
            raise ValueError(f"RUSHLIGHT_ISA={text!r} in the environment: on {_machine()} it must be neon, or unset")
        return None
    if text not in _NAMES:
        raise ValueError(f"RUSHLIGHT_ISA={text!r} in the environment: it must be one of {', '.join(_NAMES)}, or unset")
    return None if text == _NAMES[-1] else LEVELS[_NAMES.index(text)]


_cap = cap_of(os.environ.get("RUSHLIGHT_ISA"))  # read once, at import: code that has been made cannot be capped later


def cap() -> Level | None:
    """What RUSHLIGHT_ISA limits this process to, or None."""
    return _cap


def permitted(features: Iterable[str]) -> frozenset[str]:
    """Those of LLVM's features that the cap leaves."""
    if _cap is None:
        return frozenset(features)
    below = LEVELS[: LEVELS.index(_cap) + 1]
    return frozenset(features) & {name for level in below for name in level.features}


@functools.cache
def of_processor() -> str:
    """The highest level of which the processor has all, or "none"; "neon" on ARM."""
    if is_arm():
        return _ON_ARM
    flags, name = _flags(), "none"
    for level in LEVELS:
        if not flags.issuperset(level.flags):
            break
        name = level.name
    return name


def effective() -> str:
    """The level in use: the processor's, unless RUSHLIGHT_ISA names a lower one."""
    own = of_processor()
    return own if _cap is None or own == "none" else min(own, _cap.name, key=_NAMES.index)


@functools.cache
def has_avx512() -> bool:
    """Whether vectors of 64 bytes are in use: without them oneDNN has plain loops for some of its primitives."""
    return effective() in ("avx512", "amx")


def _flags() -> frozenset[str]:
    """The processor's features as Linux names them; elsewhere those that NumPy sees, under the same names."""
    try:
        with open("/proc/cpuinfo") as file:
            return frozenset(next((line for line in file if line.startswith("flags")), "").partition(":")[2].split())
    except OSError:
        import platform

        return _flags_by_numpy() if platform.machine() in ("x86_64", "AMD64") else frozenset()


def _flags_by_numpy() -> frozenset[str]:
    from numpy._core._multiarray_umath import __cpu_features__ as features  # the dictionary behind np.show_runtime()

    groups = zip(("X86_V2", "X86_V3", "X86_V4"), LEVELS, strict=False)
    return frozenset(flag for group, level in groups if features.get(group) for flag in level.flags)
