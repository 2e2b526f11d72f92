"""Object files that LLVM made, put into memory without LLVM: sections copied, and addresses written where the file asks for them.

Under Linux on x86-64 alone, where LLVM's code for a process (its large model) asks for nothing but whole addresses. What has
anything else in it is left to LLVM's linker, which links what was just compiled in any case.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ....core.foreign import ctypes, loaded_functions

__all__ = ["Linked", "link"]

_X86_64 = 62
_SYMBOLS, _ADDENDS, _ZEROS, _NO_ADDENDS = 2, 4, 8, 9  # kinds of sections
_WRITTEN, _KEPT, _CODE, _THREAD = 1, 2, 4, 0x400  # flags of sections
_WHOLE_ADDRESS = 1  # the kind of relocation
_UNDEFINED, _FIRST_RESERVED = 0, 0xFF00  # numbers of a symbol's section
_WORD = (1 << 64) - 1
_READ_EXECUTE = 5  # mprotect's PROT_READ | PROT_EXEC


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class Linked:
    """The addresses of the functions of an object file. Its memory is given back when this object goes."""

    def __init__(self, addresses: dict[str, int], memory: list[mmap.mmap]):
        self._addresses, self._memory = addresses, memory

    def __getitem__(self, name: str) -> int:
        return self._addresses[name]


def link(image: bytes, names: Sequence[str], resolve: Callable[[str], int | None]) -> Linked | None:
    """The functions `names` of an object file; None for a file, or a system, for which this is not made.

    resolve: gives the address of a symbol that the file only declares, or None.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64" or image[:6] != b"\x7fELF\x02\x01":
        return None
    if struct.unpack_from("<H", image, 18)[0] != _X86_64:
        return None
    sections = list(_sections(image))
    if any(s.kind == _NO_ADDENDS or s.flags & _THREAD for s in sections):
        return None
    kept = [i for i, s in enumerate(sections) if s.flags & _KEPT]
    if any(sections[i].flags & _WRITTEN and sections[i].flags & _CODE for i in kept):
        return None
    places: dict[int, int] = {}
    memory = [
        _place(image, sections, [i for i in kept if sections[i].flags & _WRITTEN == written], places)
        for written in (0, _WRITTEN)
        if not written or any(sections[i].flags & _WRITTEN for i in kept)
    ]
    addresses = _fill(image, sections, places, resolve)
    if addresses is None or any(name not in addresses for name in names) or not _close(memory[0]):
        return None
    return Linked({name: addresses[name] for name in names}, memory)


def _sections(image: bytes) -> Iterator[_Section]:
    (start,), (count,) = struct.unpack_from("<Q", image, 40), struct.unpack_from("<H", image, 60)
    for i in range(count):
        yield _Section(*struct.unpack_from("<IIQQQQIIQQ", image, start + 64 * i))


def _place(image: bytes, sections: list[_Section], mine: list[int], places: dict[int, int]) -> mmap.mmap:
    """Copy some sections into new memory, and note where each is."""
    offsets, size = {}, 0
    for i in mine:
        size += -size % max(1, sections[i].alignment)
        offsets[i] = size
        size += sections[i].size
    memory = mmap.mmap(-1, max(1, size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = _start(memory)
    for i, at in offsets.items():
        places[i] = start + at
        s = sections[i]
        if s.kind != _ZEROS:
            memory[at : at + s.size] = image[s.offset : s.offset + s.size]
    return memory


def _start(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _fill(
    image: bytes, sections: list[_Section], places: dict[int, int], resolve: Callable[[str], int | None]
) -> dict[str, int] | None:
    """Write all addresses. By name those of the file's own symbols, or None where something cannot be known."""
    own: dict[str, int] = {}
    tables: dict[int, list[int | None]] = {}
    for i, s in enumerate(sections):
        if s.kind != _SYMBOLS:
            continue
        text, values = sections[s.link].offset, tables.setdefault(i, [])
        for at in range(s.offset, s.offset + s.size, 24):
            name_at, _, _, where, value, _ = struct.unpack_from("<IBBHQQ", image, at)
            name = image[text + name_at : image.index(b"\0", text + name_at)].decode()
            if where == _UNDEFINED:
                values.append(resolve(name) if name else None)
            else:
                found = places.get(where) if where < _FIRST_RESERVED else None
                values.append(None if found is None else found + value)
                if name and found is not None:
                    own[name] = found + value
    for s in sections:
        if s.kind != _ADDENDS or s.info not in places:
            continue
        for at in range(s.offset, s.offset + s.size, 24):
            offset, what, addend = struct.unpack_from("<QQq", image, at)
            target = tables[s.link][what >> 32]
            if what & 0xFFFFFFFF != _WHOLE_ADDRESS or target is None or offset + 8 > sections[s.info].size:
                return None
            ctypes.c_uint64.from_address(places[s.info] + offset).value = target + addend & _WORD
    return own


def _close(memory: mmap.mmap) -> bool:
    """Make memory executable, and no longer writable. False where the system does not allow it."""
    protect = getattr(loaded_functions(), "mprotect", None)
    if protect is None:
        return False
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return protect(_start(memory), len(memory), _READ_EXECUTE) == 0
