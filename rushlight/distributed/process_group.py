"""A process group: some of the processes, ranked, and the collectives among them over arrays.

Each call of a collective has a number, and its messages carry the group's name and this number: calls may overlap, and
processes need only make the same calls in the same order. Every process combines the parts in the order of ranks, so
that all get the same bits.
"""

from __future__ import annotations

import time
from datetime import timedelta
from itertools import count

import numpy as np

from rushlight.core.mode import tell, thread

from .errors import DistBackendError
from .mesh import Mesh
from .reduce_op import RedOpType, combine

__all__ = ["ProcessGroup"]

_MARK = np.zeros(1, np.uint8)  # a message that says only that somebody has come
SMALL = 1 << 15  # bytes: shorter arrays are sent whole to everybody, which takes one exchange in place of two


class ProcessGroup:
    """Processes `ranks` (numbers in the world, in the order of their rank here) over a mesh of connections."""

    def __init__(self, mesh: Mesh, ranks: list[int], name: str, backend: str, timeout: timedelta, desc: str = ""):
        self.mesh, self.ranks, self.group_name, self.timeout = mesh, ranks, name, timeout
        self.backend, self.group_desc = backend, desc or "undefined"
        self._rank = ranks.index(mesh.rank) if mesh.rank in ranks else -1
        self._calls = count()

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """How many processes the group has."""
        return len(self.ranks)

    def name(self) -> str:
        """The backend's name."""
        return self.backend

    # ------------------------------------------------------------------------------------------ messages

    def key(self) -> bytes:
        """The key of the messages of the call that is being made."""
        if thread.state.level > 1:
            tell("left", "a call of torch.distributed exchanges data with other processes, which a replay would not do")
        return f"{self.group_name}#{next(self._calls)}".encode()

    def send(self, rank: int, key: bytes, array: np.ndarray) -> None:
        """Send an array to a rank of the group."""
        self.mesh.send(self.ranks[rank], key, np.ascontiguousarray(array))

    def take(self, rank: int, key: bytes, like: np.ndarray, timeout: timedelta | None = None) -> np.ndarray:
        """The array that a rank has sent, of the shape and type of `like`. Raises where its size is another one."""
        _, message = self.mesh.receive(self.ranks[rank], key, timeout or self.timeout)
        if message.size != like.nbytes:
            raise DistBackendError(
                f"process {self.ranks[rank]} sent {message.size} bytes where {like.nbytes} were expected (shape "
                f"{list(like.shape)}, {like.dtype}): the processes' tensors or calls differ"
            )
        return message.view(like.dtype).reshape(like.shape)

    def _others(self) -> list[int]:
        """The other ranks, each process beginning with the next one, so that not all send to the same."""
        n = len(self.ranks)
        return [(self._rank + i) % n for i in range(1, n)]

    # ------------------------------------------------------------------------------------------ collectives

    def broadcast(self, key: bytes, array: np.ndarray, root: int) -> np.ndarray:
        """Root's array, everywhere."""
        if self._rank != root:
            return self.take(root, key, array)
        for rank in self._others():
            self.send(rank, key, array)
        return array

    def all_gather(self, key: bytes, array: np.ndarray) -> list[np.ndarray]:
        """The arrays of all ranks, everywhere."""
        for rank in self._others():
            self.send(rank, key, array)
        return [array if rank == self._rank else self.take(rank, key, array) for rank in range(self.size())]

    def gather(self, key: bytes, array: np.ndarray, root: int) -> list[np.ndarray] | None:
        """The arrays of all ranks, at root."""
        if self._rank != root:
            self.send(root, key, array)
            return None
        return [array if rank == root else self.take(rank, key, array) for rank in range(self.size())]

    def scatter(self, key: bytes, like: np.ndarray, parts: list[np.ndarray] | None, root: int) -> np.ndarray:
        """The part that root has for this rank."""
        if self._rank != root:
            return self.take(root, key, like)
        assert parts is not None
        for rank in self._others():
            self.send(rank, key, parts[rank])
        return parts[root]

    def all_to_all(self, key: bytes, outgoing: list[np.ndarray], likes: list[np.ndarray]) -> list[np.ndarray]:
        """The part that each rank has for this one."""
        for rank in self._others():
            self.send(rank, key, outgoing[rank])
        own = self._rank
        return [outgoing[own] if rank == own else self.take(rank, key, likes[rank]) for rank in range(self.size())]

    def reduce_scatter(self, key: bytes, parts: list[np.ndarray], op: RedOpType) -> np.ndarray:
        """The reduction, over all ranks, of their parts for this rank."""
        own = parts[self._rank]
        return combine(op, self.all_to_all(key, parts, [own] * self.size()))

    def reduce(self, key: bytes, array: np.ndarray, root: int, op: RedOpType) -> np.ndarray | None:
        """The reduction over all ranks, at root."""
        arrays = self.gather(key, array, root)
        return None if arrays is None else combine(op, arrays)

    def all_reduce(self, key: bytes, array: np.ndarray, op: RedOpType) -> np.ndarray:
        """The reduction over all ranks, everywhere: each rank reduces a part and sends it to the others."""
        n = self.size()
        if array.nbytes <= SMALL or n == 1:
            return combine(op, self.all_gather(key, array))
        flat = np.ascontiguousarray(array).reshape(-1)
        pieces = np.array_split(flat, n)
        mine = self.reduce_scatter(key + b"/1", pieces, op)
        for rank in self._others():
            self.send(rank, key + b"/2", mine)
        reduced = [mine if rank == self._rank else self.take(rank, key + b"/2", pieces[rank]) for rank in range(n)]
        return np.concatenate(reduced).reshape(array.shape)

    def barrier(self, key: bytes, timeout: timedelta | None = None) -> None:
        """Wait until every rank has come here."""
        self._tell_others(key)
        for rank in self._others():
            self.take(rank, key, _MARK, timeout)

    def _tell_others(self, key: bytes) -> None:
        for rank in self._others():
            self.send(rank, key, _MARK)

    def monitored_barrier(self, key: bytes, timeout: timedelta, wait_all: bool) -> None:
        """Rank 0 waits for a message of each other rank, and then lets them go on. Raises RuntimeError with who is missing."""
        if self._rank:
            self.send(0, key, _MARK)
            try:
                self.take(0, key, _MARK, timeout)
            except DistBackendError as error:
                raise RuntimeError(
                    f"[Rank {self._rank}]: Rank {self._rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv "
                    f"from rank 0. Please check rank 0 logs for faulty rank. ({error})"
                ) from error
            return
        missing = self._missing(key, timeout, wait_all)
        if missing:
            who = f"Ranks {', '.join(map(str, missing))}" if wait_all else f"Rank {missing[0]}"
            raise RuntimeError(
                f"[Rank 0]: {who} failed to pass monitoredBarrier in {int(timeout.total_seconds() * 1000)} ms"
            )
        self._tell_others(key)

    def _missing(self, key: bytes, timeout: timedelta, wait_all: bool) -> list[int]:
        """The ranks whose message has not come in time: the first one, or all."""
        deadline = time.monotonic() + timeout.total_seconds()
        missing = []
        for rank in range(1, self.size()):
            try:
                self.take(rank, key, _MARK, timedelta(seconds=max(0.001, deadline - time.monotonic())))
            except DistBackendError:
                missing.append(rank)
                if not wait_all:
                    break
        return missing

    def __repr__(self) -> str:
        return f"<rushlight process group {self.group_name}: rank {self._rank} of {self.size()}>"


ProcessGroup.__module__ = "torch.distributed.distributed_c10d"
