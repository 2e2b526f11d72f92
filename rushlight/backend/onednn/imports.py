"""Letting a loaded library call other functions than those that the system's loader has found for it.

The loader writes the addresses of the functions that a library imports into a table, which ELF's relocations describe.
`redirect` writes others there. It does so only where each entry holds what the loader is known to have found.
"""

from __future__ import annotations

import platform
from mmap import PAGESIZE

import numpy as np

from ...core.foreign import ctypes, loaded_functions

c_int64, c_uint32, c_uint64, c_void_p = ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p

__all__ = ["redirect"]

_STRINGS, _SYMBOLS, _RELOCATIONS, _RELOCATION_BYTES, _CALLS, _CALL_BYTES = 5, 6, 7, 8, 23, 2  # DT_*
_KINDS = {"x86_64": (6, 7)}  # relocations whose place holds a function's address: GLOB_DAT, JUMP_SLOT


class _LinkMap(ctypes.Structure):
    """The beginning of the loader's record of a library, which `dlopen` returns."""

    _fields_ = (("base", c_uint64), ("name", c_void_p), ("dynamic", c_uint64))


class _Entry(ctypes.Structure):
    _fields_ = (("tag", c_int64), ("value", c_uint64))


_RELOCATION = np.dtype([("place", "u8"), ("kind", "u4"), ("symbol", "u4"), ("addend", "i8")])
_SYMBOL_BYTES = 24


def redirect(
    library: ctypes.CDLL, functions: dict[str, int], prefixes: tuple[str, ...], others: tuple[str, ...]
) -> bool:
    """Let the library's calls of the functions named lead to these addresses.

    prefixes: how the names of all begin that belong together; the library may import no more of them than those and
    `others`, which stay. False, and nothing done, where that is unsure.
    """
    kinds = _KINDS.get(platform.machine())
    if kinds is None:
        return False
    found = {name: places for name, places in _imports(library, kinds).items() if name.startswith(prefixes)}
    if not set(found) <= {*functions, *others}:
        return False
    places = {place: name for name in functions for place in found.get(name, ())}
    for place, name in places.items():
        if c_uint64.from_address(place).value != ctypes.cast(getattr(library, name), c_void_p).value:
            return False
    if not places or not _make_writable({place // PAGESIZE * PAGESIZE for place in places}):
        return False
    for place, name in places.items():
        c_uint64.from_address(place).value = functions[name]
    return True


def _imports(library: ctypes.CDLL, kinds: tuple[int, ...]) -> dict[str, list[int]]:
    """The functions that the library imports, and where it keeps their addresses."""
    record = _LinkMap.from_address(library._handle)
    dynamic: dict[int, int] = {}
    at = record.dynamic
    while (entry := _Entry.from_address(at)).tag:
        dynamic[entry.tag] = entry.value
        at += ctypes.sizeof(_Entry)
    strings, symbols = dynamic[_STRINGS], dynamic[_SYMBOLS]
    found: dict[str, list[int]] = {}
    for table, size in ((_RELOCATIONS, _RELOCATION_BYTES), (_CALLS, _CALL_BYTES)):
        n = dynamic.get(size, 0)
        if n:
            all_of_it = np.frombuffer(ctypes.string_at(dynamic[table], n), _RELOCATION)
            for place, _, symbol, _ in all_of_it[np.isin(all_of_it["kind"], kinds)].tolist():  # hundreds of 50,000
                name = ctypes.string_at(strings + c_uint32.from_address(symbols + symbol * _SYMBOL_BYTES).value)
                found.setdefault(name.decode(), []).append(record.base + place)
    return found


def _make_writable(pages: set[int]) -> bool:
    """Let the table be written, which the loader has made read-only."""
    from mmap import PROT_READ, PROT_WRITE  # not on Windows

    protect = loaded_functions().mprotect
    protect.argtypes = (c_void_p, ctypes.c_size_t, ctypes.c_int)
    return not any(protect(page, PAGESIZE, PROT_READ | PROT_WRITE) for page in pages)
