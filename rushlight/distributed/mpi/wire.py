"""The collectives of one group by MPI, over arrays: one call at a time, in the same order in every process.

MPI reduces what it can reduce to the same bits everywhere. The other cases (float16, bfloat16, bool, the smallest of numbers
that may be NaN) go as parts: each process gets one part of every array, reduces it in the order of ranks, and all gather the
results.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np

from ...backend.onednn.address import address
from ...core.foreign import ctypes
from ..errors import DistBackendError
from ..mesh import Mesh
from ..reduce_op import RedOpType, combine, in_place, joined, put_parts, scaled, silence
from .host_sums import HostSums
from .library import Library
from .ring import RingSums
from .shared_sums import SharedSums
from .waiting import Alarm, Watch

__all__ = ["Wire"]

SMALL = 1 << 14  # bytes: shorter arrays that MPI cannot reduce are sent whole to everybody
_LOOK_S = 0.0001
_GRACE_S = 0.2  # for data of a process that has gone after sending it
_LABEL = 64  # bytes of a part's type and shape, which go ahead of the parts of an all_to_all
_DESTROYED = "the group has been destroyed"
_SUMS = (RedOpType.SUM, RedOpType.AVG)


class Wire:
    """A communicator of the processes `members` (ranks in the mesh). spans_hosts: whether they are on several hosts.

    watched: the processes without which its calls cannot end; by default its members.
    """

    def __init__(
        self,
        library: Library,
        mesh: Mesh,
        communicator: Any,
        members: list[int],
        watch: Watch,
        spans_hosts: bool = False,
        watched: list[int] | None = None,
    ):
        self.library, self.mesh, self.members, self.watch, self.spans_hosts = library, mesh, members, watch, spans_hosts
        self._watched = members if watched is None else watched
        self.size, self.rank = len(members), members.index(mesh.rank)
        self._communicator = communicator
        self._comm = library.handle(communicator)
        self._alarm = Alarm(library)
        self._kept: list[Any] = []  # memory of operations that were given up: MPI may still write there
        self._failure: str | None = None
        self.in_background: Callable[[], bool] = lambda: False  # whether the present call has time
        # whether all are on this host, as far as this process can see
        self.is_local: Callable[[], bool] = lambda: False
        self._sums: SharedSums | None = None
        self._has_asked = False  # whether they can share memory
        self._ring: RingSums | None = None
        self.host_sums: HostSums | None = None  # where several of its processes are on one of several hosts
        watch.add(self._alarm)

    # ------------------------------------------------------------------------------------------ one operation

    def _do(self, call: Call, name: str, *arguments: Any, keep: Any = ()) -> None:
        """Carry out an operation. `keep`: the memory that it reads and writes, besides that of `call`."""
        if self._failure is not None:
            raise DistBackendError(self._failure)
        try:
            self.start(name, *arguments, to=self._alarm)
            self.wait_for(call, self._alarm)
        except BaseException as error:
            self._kept.append((arguments, keep, call))
            self._give_up(call, error)
            raise

    def start(self, name: str, *arguments: Any, to: Alarm, slot: int = 0) -> None:
        """Begin an operation, as number `slot` of those that are waited for with an alarm."""
        self.library.check(self.library.functions[name](*arguments, self._comm, to.place(slot)), f"MPI_{name}")

    def wait_for(self, call: Call, alarm: Alarm) -> int:
        """Wait for one of the operations that were begun; its number. Raises DistBackendError where there is no use in it."""
        if not (self.in_background() and self._ends_in_background(call, alarm)) and not alarm.wait():
            deadline = time.monotonic() + call.timeout.total_seconds()
            call.announce()
            while not self.check_peers(call, deadline, alarm.is_done) and not alarm.wait():
                pass
        return alarm.ended

    def check_peers(self, call: Call, deadline: float, is_done: Callable[[], bool]) -> bool:
        """Whether a call has ended although another process has gone. Raises DistBackendError where it cannot end any more.

        deadline: of `time.monotonic()`. is_done: whether it has ended.
        """
        problem = self.mesh.trouble(call.key, self._watched)
        if problem:
            if _ends_soon(is_done, _GRACE_S):
                return True
            raise DistBackendError(problem)
        if time.monotonic() > deadline:
            limit, calls = int(call.timeout.total_seconds() * 1000), self.mesh.last_calls()
            raise DistBackendError(f"Timed out waiting {limit}ms for {call.text()} to complete. {calls}")
        return False

    def _ends_in_background(self, call: Call, alarm: Alarm) -> bool:
        """Look now and then, and leave the processor to those that compute, until another thread waits for the call."""
        deadline = time.monotonic() + call.timeout.total_seconds()
        while not alarm.is_done():
            if not self.in_background() or time.monotonic() > deadline or self.mesh.trouble(call.key, self._watched):
                return False
            time.sleep(_LOOK_S)
        return True

    def _give_up(self, call: Call, error: BaseException) -> None:
        """After an operation without an end, this process's next one would be taken for that by the others."""
        what = f"{type(error).__name__}: {error}".rstrip(": ")
        self._failure = str(error) if isinstance(error, DistBackendError) else f"{call.text()} was interrupted ({what})"
        if not self.mesh.trouble(call.key, self._watched):
            self.mesh.fail(call.key, f"process {self.mesh.rank}: {self._failure}")

    def free(self) -> None:
        """Give the communicators back, of which MPI has 2,000; not where a call has not ended, which may still use them."""
        if self._failure is None:
            self._failure = _DESTROYED
            self._communicator.Free()
        for part in (self.host_sums.within, self.host_sums.between) if self.host_sums is not None else ():
            if part is not None:
                part.free()

    def settle(self, limit_s: float) -> None:
        """Wait until all others do the same, at most `limit_s`: what was sent before has arrived then. The last call."""
        if self._failure is None and not self.library.functions["Ibarrier"](self._comm, self._alarm.address):
            deadline = time.monotonic() + limit_s
            while not self._alarm.is_done() and time.monotonic() < deadline:
                if self.mesh.trouble(b"", self._watched):
                    break
                time.sleep(0.001)
            if self._alarm.is_done():
                self.free()
            self._failure = _DESTROYED

    # ------------------------------------------------------------------------------------------ data that moves

    def barrier(self, call: Call) -> None:
        """Wait until every rank has come here."""
        self._do(call, "Ibarrier")

    def broadcast(self, call: Call, array: np.ndarray, root: int) -> np.ndarray:
        """Root's array; in `array`'s own memory where that can be."""
        if self.rank == root:
            array = np.ascontiguousarray(array)
        elif not in_place(array):
            array = np.empty(array.shape, array.dtype)
        self._do(call, "Ibcast", address(array), array.nbytes, self.library.byte, root, keep=array)
        return array

    def all_gather(self, call: Call, array: np.ndarray, into: np.ndarray | None = None) -> np.ndarray:
        """The arrays of all ranks, along a new first dimension; in the memory of `into`."""
        array = np.ascontiguousarray(array).reshape(array.shape)
        out = np.empty((self.size, *array.shape), array.dtype) if into is None else into
        byte = self.library.byte
        self._do(
            call, "Iallgather", address(array), array.nbytes, byte, address(out), array.nbytes, byte, keep=(array, out)
        )
        return out

    def gather(self, call: Call, array: np.ndarray, root: int) -> np.ndarray | None:
        """`all_gather` at root only."""
        array = np.ascontiguousarray(array).reshape(array.shape)
        out = np.empty((self.size, *array.shape), array.dtype) if self.rank == root else array
        byte, n = self.library.byte, array.nbytes
        self._do(call, "Igather", address(array), n, byte, address(out), n, byte, root, keep=(array, out))
        return out if self.rank == root else None

    def scatter(self, call: Call, like: np.ndarray, parts: list[np.ndarray] | None, root: int) -> np.ndarray:
        """The part that root has for this rank."""
        out = np.empty(like.shape, like.dtype)
        whole = out
        if parts is not None:  # not by np.stack, which keeps the order of the parts' dimensions in memory
            whole = np.empty((self.size, *like.shape), like.dtype)
            for i, part in enumerate(parts):
                whole[i] = part
        byte, n = self.library.byte, out.nbytes
        self._do(call, "Iscatter", address(whole), n, byte, address(out), n, byte, root, keep=(whole, out))
        return out

    def all_to_all(self, call: Call, outgoing: list[np.ndarray], likes: list[np.ndarray]) -> list[np.ndarray]:
        """The part that each rank has for this one. Raises DistBackendError where it is none like that in `likes`."""
        labels = np.zeros((self.size, _LABEL), np.uint8)
        for label, part in zip(labels, outgoing, strict=True):
            text = _label(part)
            label[: len(text)] = np.frombuffer(text, np.uint8)
        theirs, byte = np.empty_like(labels), self.library.byte
        self._do(call, "Ialltoall", address(labels), _LABEL, byte, address(theirs), _LABEL, byte, keep=(labels, theirs))
        for rank, like in enumerate(likes):
            sent = theirs[rank].tobytes().rstrip(b"\0")
            if sent != _label(like):
                text = (
                    f"process {self.members[rank]} sent {sent.decode(errors='replace')} to process {self.mesh.rank}, which "
                    f"expected {_label(like).decode()} ({like.nbytes} bytes): the processes' tensors or calls differ"
                )
                self.mesh.fail(call.key, text)
                raise DistBackendError(text)
        return self._all_to_all(call, outgoing, likes)

    def _all_to_all(self, call: Call, outgoing: list[np.ndarray], likes: list[np.ndarray]) -> list[np.ndarray]:
        sent = np.concatenate([np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in outgoing])
        counts, distances = self._table([part.nbytes for part in outgoing])
        in_counts, in_distances = self._table([part.nbytes for part in likes])
        out = np.empty(sum(part.nbytes for part in likes), np.uint8)
        byte = self.library.byte
        self._do(
            call, "Ialltoallv", address(sent), ctypes.addressof(counts), ctypes.addressof(distances), byte,
            address(out), ctypes.addressof(in_counts), ctypes.addressof(in_distances), byte,
            keep=(sent, out, counts, distances, in_counts, in_distances),
        )  # fmt: skip
        return [
            out[at : at + like.nbytes].view(like.dtype).reshape(like.shape)
            for at, like in zip(in_distances, likes, strict=True)
        ]

    def _table(self, sizes: list[int]) -> tuple[Any, Any]:
        """Counts and distances of parts in a row."""
        distances, at = [], 0
        for size in sizes:
            distances.append(at)
            at += size
        n = len(sizes)
        return (self.library.Count * n)(*sizes), (self.library.Distance * n)(*distances)

    # ------------------------------------------------------------------------------------------ reductions

    def _shared(self, total: np.ndarray, op: RedOpType) -> np.ndarray:
        if op is RedOpType.AVG:
            with silence():
                total /= np.asarray(self.size, total.dtype)
        return total

    def all_reduce(self, call: Call, array: np.ndarray, op: RedOpType, factor: float = 1.0) -> np.ndarray:
        """The reduction over all ranks of the arrays times `factor`; in `array`'s own memory where that can be."""
        if self.spans_hosts and RingSums.takes(self, array, op):
            return self._sum_between_hosts(call, array if in_place(array) else np.array(array, order="C"), op, factor)
        native = self.library.reduction(array.dtype, op)
        if native is None:
            return self._reduce_parts(call, scaled(array, factor), op)
        if not in_place(array):
            array = np.array(array, order="C")
        if (
            op in _SUMS
            and SharedSums.takes(array.dtype, array.nbytes)
            and self._sum_by_memory(call, [array if array.ndim == 1 else array.reshape(-1)], factor)
        ):
            return self._shared(array, op)
        scaled(array, factor)
        kind, operation = native
        self._do(call, "Iallreduce", self.library.in_place, address(array), array.size, kind, operation, keep=array)
        return self._shared(array, op)

    def _sum_between_hosts(self, call: Call, array: np.ndarray, op: RedOpType, factor: float) -> np.ndarray:
        if self._failure is not None:
            raise DistBackendError(self._failure)
        sums = self.host_sums
        if sums is None:
            sums = self._ring = self._ring or RingSums(self)
        try:
            sums.sum(call, array, factor)
        except BaseException as error:
            self._give_up(call, error)
            raise
        return self._shared(array, op)

    def sum_in_place(self, call: Call, arrays: list[np.ndarray], factor: float = 1.0) -> None:
        """The sums over all ranks of flat arrays of one type times `factor`, in their memory. They travel as one."""
        total_bytes = sum([array.nbytes for array in arrays])
        is_native = self.library.reduction(arrays[0].dtype, RedOpType.SUM) is not None
        by_memory = not self.spans_hosts and is_native and SharedSums.takes(arrays[0].dtype, total_bytes)
        if not by_memory or not self._sum_by_memory(call, arrays, factor):
            put_parts(arrays, self.all_reduce(call, joined(arrays), RedOpType.SUM, factor))

    def _sum_by_memory(self, call: Call, arrays: list[np.ndarray], factor: float) -> bool:
        """Whether the processes have added their arrays in memory that they share."""
        if self._failure is not None:
            raise DistBackendError(self._failure)
        if not self._has_asked:
            self._sums, self._has_asked = SharedSums.make(self, call, self.is_local()), True
        if self._sums is None:
            return False
        try:
            self._sums.sum(call, arrays, factor)
        except BaseException as error:
            self._give_up(call, error)
            raise
        return True

    def _reduce_parts(self, call: Call, array: np.ndarray, op: RedOpType) -> np.ndarray:
        if array.nbytes <= SMALL:
            return combine(op, list(self.all_gather(call, array)))
        flat = np.ascontiguousarray(array).reshape(-1)
        pieces = np.array_split(flat, self.size)
        mine = combine(op, self._all_to_all(call, pieces, [pieces[self.rank]] * self.size))
        out, byte = np.empty_like(flat), self.library.byte
        counts, distances = self._table([piece.nbytes for piece in pieces])
        self._do(
            call, "Iallgatherv", address(mine), mine.nbytes, byte, address(out), ctypes.addressof(counts),
            ctypes.addressof(distances), byte, keep=(mine, out, counts, distances),
        )  # fmt: skip
        return out.reshape(array.shape)

    def reduce(self, call: Call, array: np.ndarray, root: int, op: RedOpType) -> np.ndarray | None:
        """The reduction over all ranks, at root."""
        native = self.library.reduction(array.dtype, op)
        if native is None:
            arrays = self.gather(call, array, root)
            return None if arrays is None else combine(op, list(arrays))
        array = np.ascontiguousarray(array).reshape(array.shape)
        out = np.empty_like(array)
        kind, operation = native
        self._do(call, "Ireduce", address(array), address(out), array.size, kind, operation, root, keep=(array, out))
        return self._shared(out, op) if self.rank == root else None

    def reduce_scatter(
        self,
        call: Call,
        parts: list[np.ndarray],
        op: RedOpType,
        into: np.ndarray | None = None,
        may_overwrite: bool = False,
    ) -> np.ndarray:
        """The reduction, over all ranks, of their parts for this rank. may_overwrite: the parts, which are flat and contiguous then."""
        own = parts[self.rank]
        native = self.library.reduction(own.dtype, op)
        if native is None:
            return combine(op, self._all_to_all(call, parts, [own] * self.size))
        out = np.empty(own.shape, own.dtype) if into is None else into
        if may_overwrite and op in _SUMS and not self.spans_hosts:
            by_memory = SharedSums.takes(own.dtype, sum([part.nbytes for part in parts]))
            if by_memory and self._sum_by_memory(call, parts, 1.0):
                np.copyto(out, self._shared(own, op))
                return out
        flat = joined(parts)
        counts, _ = self._table([part.size for part in parts])
        kind, operation = native
        self._do(
            call, "Ireduce_scatter", address(flat), address(out), ctypes.addressof(counts), kind, operation,
            keep=(flat, out, counts),
        )  # fmt: skip
        return self._shared(out, op)


class Call:
    """One call of a collective: its key, what it is in words, how long it may take, and how others hear of it."""

    __slots__ = ("group", "key", "note", "timeout")

    def __init__(self, group: Any, key: bytes, note: bytes, timeout: timedelta | None = None):
        self.group, self.key, self.note = group, key, note
        self.timeout = group.timeout if timeout is None else timeout

    def text(self) -> str:
        """The call in words."""
        return self.note.decode(errors="replace")

    def announce(self) -> None:
        """Tell the others, which may be in another call, what this process waits in."""
        self.group.announce_to_others(self.key, self.note)


def _ends_soon(is_done: Callable[[], bool], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not is_done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def _label(array: np.ndarray) -> bytes:
    """Type and shape; of a long shape, the size."""
    text = f"{array.dtype} {list(array.shape)}".encode()
    return text if len(text) <= _LABEL else f"{array.dtype} of {array.size} elements".encode()
