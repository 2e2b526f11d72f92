"""`Binder`: where primitives and products of one executable get their memory, and where their steps are emitted.

A place says where a value is stored: ("arena", byte offset), ("table", index of the slot that holds its address), or
("address", number). Memory objects of the arena are bound once; those of slots are pointed again by `rebind`, and only
where an address has changed. What primitives need besides their operands (scratchpads, operands in a primitive's own
layout) is in the arena too, where nothing else is needed meanwhile: `Rooms` says how much that is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from ....backend.onednn.address import ALIGNMENT_BYTES, address, aligned
from ....backend.onednn.blas import leave_cores_to_openmp
from ....backend.onednn.library import available, check, load, load_holding_lock
from ....backend.onednn.primitives import (
    DST,
    SCRATCHPAD,
    SRC,
    Argument,
    Owned,
    create,
    engine,
    equal,
    implementation,
    reorder_desc,
    size_bytes,
    wanted_desc,
)
from ....core import poison
from ....core.foreign import ctypes
from ...ir.graph import Extern, Node, Ref, Value
from ...ir.locations import Place, shifted
from ..llvm.program import Program
from . import kernels
from .guarded import Guarded

__all__ = ["Binder", "Probe", "Rooms", "second_operands", "threads_for"]

_STREAM_IN_ORDER = 1


# Two threads on 2.5 million multiply-adds: 29 us for 43; on 0.65 million: 10 for 12; on 0.05 million: 2.8 for 1.7.
_ONE_THREAD_MULTIPLY_ADDS = 400_000


@contextmanager
def threads_for(multiply_adds: float) -> Iterator[int]:
    """Make the primitives within for one OpenMP thread if they have little to do; the value is that number, or 0."""
    library = load()
    threads = library.omp_get_max_threads()
    if threads == 1 or multiply_adds > _ONE_THREAD_MULTIPLY_ADDS:
        yield 0
        return
    library.omp_set_num_threads(1)
    try:
        yield 1
    finally:
        library.omp_set_num_threads(threads)


class Probe:
    """Goes through what binding does, up to the primitives' descriptors, and makes nothing: can this be served?"""

    threads = 1
    _is_conditional = False

    def __init__(self):
        self._at: dict[Value, int] = {}  # address of each scratch value of the present extern

    def pointer(self, ref: Ref, offset: int = 0) -> Place:
        """The place of a ref's first element, or of the element `offset` after it."""
        return ("address", 0)

    def memory(self, ref: Ref, layout: Owned, offset: int = 0) -> int:
        """A memory object over a ref."""
        return 0

    def memory_at(self, layout: Owned, at: int) -> int:
        """A memory object over an address."""
        return 0

    def temporary(self, layout: int) -> int:
        """A memory object that lasts during the present extern."""
        return 0

    def room(self, size_bytes: int) -> int:
        """The address of memory that lasts during the present extern, the beginning of a cache line."""
        return 0

    def scratch(self, shape: tuple[int, ...], dtype: np.dtype) -> Ref:
        """A value in such memory, row-major, which operands and results of this extern's parts can be."""
        value = Value(shape, dtype)
        self._at[value] = self.room(value.size * value.dtype.itemsize)
        return value.ref()

    def note(self, way: str) -> None:
        """Say how the present extern is computed, for `explain`."""

    def keep(self, *things: Any) -> None:
        """Keep things alive as long as the executable."""

    def reuse_rooms(self) -> None:
        """What the present extern has taken so far may be overwritten."""

    def execute(self, desc: Owned, arguments: list[tuple[int, int]], threads: int = 0) -> None:
        """Emit a primitive. arguments: (argument kind, memory object); the scratchpad is added."""

    def reorder(self, source_layout: int, source: int, target_layout: int, target: int) -> None:
        """Emit a copy from one layout to another."""

    @contextmanager
    def only_if(self, flag: int) -> Iterator[None]:
        """Primitives and reorders within are made only if the number at the address `flag` is not 0 when the step runs.

        After them it is set to 0. No packs are made for them.
        """
        self._is_conditional = True
        yield
        self._is_conditional = False

    def call(self, function: int, *arguments: int | Place) -> None:
        """Emit a call of a native function on numbers and places; it returns a status."""

    def block(self, *numbers: int) -> int:
        """The address of numbers for a native function, 64 bits each."""
        return 0

    def launch(
        self, function: kernels.Function, rows: int, places: tuple[int | Place, ...], *numbers: int, threads: int = 0
    ) -> None:
        """Emit a call of a function made by `kernels.native`, on at most so many threads (0: all)."""
        self.keep(function)
        self.note("generated code")
        self.call(function.address, self.block(threads, rows, *numbers), *places)

    def copy(self, target: Place, source: Place, size_bytes: int) -> None:
        """Emit a copy of bytes, if it is one."""

    def uses(self, ref: Ref) -> int:
        """How many matrix products have this ref as their second operand."""
        return 1

    def packed(self, desc: Owned, kind: int, ref: Ref, layout: Owned) -> int:
        """As `inside`, with one reorder for all primitives that want the same of the same ref."""
        if self._is_conditional:
            return self.inside(desc, kind, ref, layout)
        return self._pack(desc, kind, ref, layout)

    def _pack(self, desc: Owned, kind: int, ref: Ref, layout: Owned) -> int:
        return self.inside(desc, kind, ref, layout)

    # -- derived from these ----------------------------------------------------------------------------------------
    def inside(self, desc: Owned, kind: int, ref: Ref, layout: Owned) -> int:
        """A memory object for an operand as the primitive wants it, after a reorder if it wants another layout."""
        outside, wanted = self.memory(ref, layout), wanted_desc(desc, kind)
        if equal(wanted, layout.value):
            return outside
        temporary = self.temporary(wanted)
        self.reorder(layout.value, outside, wanted, temporary)
        return temporary

    def result(self, desc: Owned, kind: int, ref: Ref, layout: Owned) -> tuple[int, Callable[[], None]]:
        """A memory object for a result, and what emits the reorder after the primitive, if it needs one."""
        outside, wanted = self.memory(ref, layout), wanted_desc(desc, kind)
        if equal(wanted, layout.value):
            return outside, lambda: None
        temporary = self.temporary(wanted)
        return temporary, lambda: self.reorder(wanted, temporary, layout.value, outside)


class Rooms(Probe):
    """Goes through what binding does and counts the memory that it takes besides operands and packs: `size_bytes`."""

    def __init__(self, uses: Counter[Ref], packs: Sequence[Any]):
        super().__init__()
        self._uses, self._packs = uses, packs
        self._used = self.size_bytes = 0

    def temporary(self, layout: int) -> int:
        return self.room(size_bytes(layout))

    def room(self, size_bytes: int) -> int:
        self._used = aligned(self._used) + size_bytes
        self.size_bytes = max(self.size_bytes, self._used)
        return 0

    def uses(self, ref: Ref) -> int:
        return self._uses[ref]

    def _pack(self, desc: Owned, kind: int, ref: Ref, layout: Owned) -> int:
        wanted = wanted_desc(desc, kind)
        if not any(p.holds(ref, wanted) for p in self._packs):
            return self.inside(desc, kind, ref, layout)
        if not equal(wanted, layout.value):
            self.reorder(layout.value, 0, wanted, 0)  # a pack has room of its own
        return 0

    def reuse_rooms(self) -> None:
        self._used = 0

    def execute(self, desc: Owned, arguments: list[tuple[int, int]], threads: int = 0) -> None:
        used, scratchpad = self._used, wanted_desc(desc, SCRATCHPAD)
        if scratchpad:
            self.temporary(scratchpad)
            self._used = used  # nothing needs it after the primitive

    def reorder(self, source_layout: int, source: int, target_layout: int, target: int) -> None:
        self.execute(reorder_desc(source_layout, target_layout), [])


def second_operands(nodes: Iterable[Node]) -> Counter[Ref]:
    """How many products multiply by each ref."""
    return Counter(n.operands[1] for n in nodes if isinstance(n, Extern) and n.kind == "matmul")


class Binder(Probe):
    """For one executable: `program` takes the steps, `place_of` tells where a value is stored.

    uses: how many matrix products have a ref as their second operand. packs: what is packed once for all of them, with
    the address of each one's room, 0 for one of its own.
    """

    def __init__(
        self,
        program: Program,
        place_of: Callable[[Value], Place],
        uses: Mapping[Ref, int] | None = None,
        packs: Mapping[Any, int] | None = None,
    ):
        super().__init__()
        self.program, self._place_of = program, place_of
        self.name = "extern"
        self._kept: list[Any] = []
        if available():
            leave_cores_to_openmp()
            self.threads = load().omp_get_max_threads()
            self._kept.append(create("stream", engine(), _STREAM_IN_ORDER))
        self._stream = self._kept[0].value if self._kept else 0
        self._by_slot: dict[int, list[tuple[int, int]]] = {}
        self._bound: dict[int, int] = {}
        self._room, self._room_bytes, self._used, self._flag = 0, 0, 0, 0
        self._uses = uses or {}
        self._packs = packs or {}
        self._notes: list[tuple[str, list[str]]] = []

    def begin(self, name: str) -> None:
        """What follows belongs to the next extern: temporaries of earlier ones are free again."""
        self.name, self._used = name, 0
        self._at.clear()
        self._notes.append((name, []))

    def note(self, way: str) -> None:
        if self._notes and not self._is_conditional and way not in self._notes[-1][1]:
            self._notes[-1][1].append(way)

    def ways(self) -> Iterator[tuple[str, str]]:
        """(kind, how it is computed) of each extern."""
        return ((name, ", ".join(notes)) for name, notes in self._notes)

    def lend(self, at: int, size_bytes: int) -> None:
        """Memory in which the next extern's temporaries may be stored."""
        self._room, self._room_bytes = at, size_bytes

    def rebind(self, table: np.ndarray) -> None:
        """Point the memory objects of slots at the addresses in `table` (int64)."""
        bound, addresses = self._bound, table.tolist()
        for slot, memories in self._by_slot.items():
            start = addresses[slot]
            if bound.get(slot) != start:
                set_handle = load_holding_lock().dnnl_memory_set_data_handle
                for memory, offset in memories:
                    check(set_handle(memory, start + offset), "dnnl_memory_set_data_handle")
                bound[slot] = start

    def keep(self, *things: Any) -> None:
        self._kept.extend(things)

    def pointer(self, ref: Ref, offset: int = 0) -> Place:
        place = ("address", self._at[ref.value]) if ref.value in self._at else self._place_of(ref.value)
        return shifted(place, (ref.offset + offset) * ref.dtype.itemsize)

    def memory(self, ref: Ref, layout: Owned, offset: int = 0) -> int:
        place = self.pointer(ref, offset)
        if place[0] == "table":
            memory = self._memory(layout.value, 0)
            self._by_slot.setdefault(place[1], []).append((memory, place[2] if len(place) > 2 else 0))
            return memory
        return self._memory(layout.value, place[1] + (self.program.arena if place[0] == "arena" else 0))

    def memory_at(self, layout: Owned, at: int) -> int:
        return self._memory(layout.value, at)

    def temporary(self, layout: int) -> int:
        return self._memory(layout, self.room(size_bytes(layout)))

    def room(self, size_bytes: int) -> int:
        start = aligned(self._used)
        if start + size_bytes > self._room_bytes:  # nothing was lent
            buffer = np.empty(size_bytes + ALIGNMENT_BYTES, np.uint8)
            self.keep(buffer)
            return aligned(address(buffer))
        self._used = start + size_bytes
        return self._room + start

    def uses(self, ref: Ref) -> int:
        return self._uses.get(ref, 0)

    def _pack(self, desc: Owned, kind: int, ref: Ref, layout: Owned) -> int:
        wanted = wanted_desc(desc, kind)
        pack = next((p for p in self._packs if p.holds(ref, wanted)), None)
        if pack is None or equal(wanted, layout.value):
            return self.inside(desc, kind, ref, layout)
        if not pack.memory:
            pack.memory = self._memory(pack.layout, self._packs[pack])
            if not self._packs[pack]:
                self.move_pack(pack)
        if not pack.is_made:
            pack.is_made = True
            with self.only_if(pack.flag) if pack.flag else nullcontext():
                self.reorder(layout.value, self.memory(ref, layout), pack.layout, pack.memory)
        return pack.memory

    def move_pack(self, pack: Any) -> None:
        """Give a pack room of its own."""
        buffer = np.empty(pack.nbytes + ALIGNMENT_BYTES, np.uint8)
        self.keep(buffer)
        check(load().dnnl_memory_set_data_handle(pack.memory, aligned(address(buffer))), "dnnl_memory_set_data_handle")

    def reuse_rooms(self) -> None:
        self._used = 0

    @contextmanager
    def only_if(self, flag: int) -> Iterator[None]:
        self._flag = flag
        with super().only_if(flag):
            yield
        self.call(kernels.fixed("clear"), flag)

    def execute(self, desc: Owned, arguments: list[tuple[int, int]], threads: int = 0) -> None:
        self.note(f"oneDNN {implementation(desc)}")
        self._execute(desc, arguments, threads)

    def _execute(self, desc: Owned, arguments: list[tuple[int, int]], threads: int) -> None:
        used = self._used
        scratchpad = wanted_desc(desc, SCRATCHPAD)
        guarded = None
        if scratchpad and size_bytes(scratchpad):
            guarded = self._guarded(scratchpad) if poison.on else None
            room = self.temporary(scratchpad) if guarded is None else self._memory(scratchpad, guarded.address)
            arguments = [*arguments, (SCRATCHPAD, room)]
            self._used = used  # nothing needs it after the primitive
        primitive = create("primitive", desc.value)
        table = (Argument * len(arguments))(*arguments)
        self.keep(primitive, table)
        steps = (primitive.value, self._stream, len(arguments), ctypes.addressof(table))
        if self._is_conditional:
            few = 0 if threads == self.threads else threads
            self.program.call(kernels.fixed("only_if"), *steps, self._flag, few, self.threads, name=self.name)
        elif threads in (0, self.threads):
            self.program.execute(*steps, name=self.name)
        else:
            self.program.call(kernels.fixed("limited"), *steps, threads, self.threads, name=self.name)
        if guarded is not None:
            self.program.call(guarded.check, name=f"{self.name} ({implementation(desc)}): its scratchpad", status=True)

    def _guarded(self, scratchpad: int) -> Guarded:
        """A scratchpad of the check build, filled before the next step."""
        guarded = Guarded(size_bytes(scratchpad))
        self.keep(guarded)
        self.program.call(guarded.fill, name=self.name)
        return guarded

    def reorder(self, source_layout: int, source: int, target_layout: int, target: int) -> None:
        small = size_bytes(target_layout) < 1 << 16
        desc = reorder_desc(source_layout, target_layout)
        self._execute(desc, [(SRC, source), (DST, target)], int(small))

    def call(self, function: int, *arguments: int | Place) -> None:
        self.program.call(function, *arguments, name=self.name)

    def block(self, *numbers: int) -> int:
        words = np.array(numbers, np.int64)
        self.keep(words)
        return address(words)

    def copy(self, target: Place, source: Place, size_bytes: int) -> None:
        if target != source:
            self.program.copy(target, source, size_bytes)

    def _memory(self, layout: int, at: int) -> int:
        memory = create("memory", layout, engine(), ctypes.c_void_p(at or None))
        self.keep(memory)
        return memory.value
