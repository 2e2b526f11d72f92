"""Sums among processes of several hosts: around a ring, in pieces, so that a piece is added while others travel.

Of n processes each sends to the next one and receives from the one before. The array is cut into n chunks, and a chunk into
pieces. In the first n - 1 rounds each process passes on a chunk, to which its own numbers have been added; in the next n - 1
rounds the sums, of which each process has made one chunk. That is 2 (n-1)/n of the array in each direction, which no other
way undercuts, and both directions of a link are in use from the first to the last piece: a piece of the next round is on its
way as soon as that piece of the round before has come.

Each chunk is added once, in the ring's order, and copied from there: all processes have the same bits, in each run.

A process that came first would fill its way to the next one with data, behind which what it answers to the process before has
to wait: the two directions took turns. So no process sends far ahead of what has come.

MPI's own `Iallreduce` receives a chunk as a whole before it adds it, and nothing travels meanwhile.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

from ...backend.onednn.address import address
from ..reduce_op import RedOpType, combine, scaled, silence
from .waiting import Alarm

if TYPE_CHECKING:
    from .wire import Call, Wire

__all__ = ["RingSums"]

_LEAST_CHUNK_BYTES = 1 << 18  # smaller ones wait for messages rather than for bytes, of which others send fewer
_PIECE_BYTES = 1 << 18
_DEPTH = 4  # pieces under way in each direction
_AHEAD = 8  # pieces that a process has sent more than received, at most
_HALF = ("float16", "bfloat16")  # are added in float32
_TAGS = 32_749  # the largest prime below the number of tags that each MPI library has


class RingSums:
    """The sums of a wire's processes."""

    def __init__(self, wire: Wire):
        self.wire = wire
        self.alarm = Alarm(wire.library, 2 * _DEPTH)
        self._given_up: _Sum | None = None
        wire.watch.add(self.alarm)

    @staticmethod
    def takes(wire: Wire, array: np.ndarray, op: RedOpType) -> bool:
        """Whether such a sum goes around the ring. 16 bits are rounded once, so that they do among two processes only."""
        chunks = wire.size if wire.host_sums is None else wire.host_sums.hosts
        if op not in (RedOpType.SUM, RedOpType.AVG) or array.nbytes < _LEAST_CHUNK_BYTES * chunks:
            return False
        if array.dtype.name in _HALF:
            return wire.size == 2 and op is RedOpType.SUM
        return wire.library.reduction(array.dtype, op) is not None

    def sum(self, call: Call, array: np.ndarray, factor: float) -> None:
        """The sum over the processes of their arrays times `factor`, in the memory of the array, which is contiguous.

        Raises DistBackendError where another process has died, makes another call, or does not come in time.
        """
        total = _Sum(self, call, array.reshape(-1), factor)
        try:
            total.run()
        except BaseException:
            self._given_up = total  # MPI may still write into its memory
            raise


class _Sum:
    """One sum. Messages are numbered from 0 in each direction: number t is piece t % pieces of round t // pieces."""

    def __init__(self, ring: RingSums, call: Call, flat: np.ndarray, factor: float):
        self.ring, self.wire, self.call, self.factor = ring, ring.wire, call, factor
        self.size, self.rank = self.wire.size, self.wire.rank
        # of another call's messages, which never are taken for this one's
        self.tag = zlib.crc32(call.note, zlib.crc32(call.key)) % _TAGS
        self.pieces = -(-flat.nbytes // (self.size * _PIECE_BYTES))
        self.flat, self.sums = flat, (self.size - 1) * self.pieces  # how many messages are to be added
        self.messages = 2 * self.sums
        self.room = np.empty((_DEPTH, -(-flat.size // (self.size * self.pieces)) + 1), flat.dtype)
        self.receiving = self.received = self.sending = self.sent = 0  # how many, counted in their order
        self.ended = [False] * (2 * _DEPTH)

    def run(self) -> None:
        """Send and receive all messages."""
        while self.received < self.messages or self.sent < self.messages:
            self._begin()
            self.ended[self.wire.wait_for(self.call, self.ring.alarm)] = True
            while self._has_ended(self.received, self.receiving, 0):
                self._take(self.received)
                self.received += 1
            while self._has_ended(self.sent, self.sending, _DEPTH):
                self.sent += 1

    def _has_ended(self, number: int, begun: int, first: int) -> bool:
        slot = first + number % _DEPTH
        if number == begun or not self.ended[slot]:
            return False
        self.ended[slot] = False
        return True

    def _begin(self) -> None:
        """Begin the messages whose memory is free, or filled."""
        while self.receiving < min(self.received + _DEPTH, self.messages):
            number = self.receiving
            if number - self.sums >= self.sent:  # what is there is still being sent
                break
            self._start("Irecv", self._target(number), (self.rank - 1) % self.size, number % _DEPTH)
            self.receiving += 1
        while self.sending < min(self.sent + _DEPTH, self.messages, self.received + min(self.pieces, _AHEAD)):
            number = self.sending
            piece = self._piece(number, 0)
            if number < self.pieces:
                scaled(piece, self.factor)
            self._start("Isend", piece, (self.rank + 1) % self.size, _DEPTH + number % _DEPTH)
            self.sending += 1

    def _start(self, name: str, piece: np.ndarray, other: int, slot: int) -> None:
        self.wire.start(
            name, address(piece), piece.nbytes, self.wire.library.byte, other, self.tag, to=self.ring.alarm, slot=slot
        )

    def _piece(self, number: int, before: int) -> np.ndarray:
        """What message `number` carries from the process that is `before` places before this one in the ring."""
        turn, piece = divmod(number, self.pieces)
        place = (self.rank - before - turn) % self.size * self.pieces + piece
        first, last = (self.flat.size * i // (self.size * self.pieces) for i in (place, place + 1))
        return self.flat[first:last]

    def _target(self, number: int) -> np.ndarray:
        own = self._piece(number, 1)
        return self.room[number % _DEPTH, : own.size] if number < self.sums else own

    def _take(self, number: int) -> None:
        if number >= self.sums:
            return
        own, theirs = scaled(self._piece(number, 1), self.factor), self._target(number)
        if own.dtype.name in _HALF:
            own[:] = combine(RedOpType.SUM, [theirs, own])
        else:
            with silence():
                np.add(theirs, own, out=own)
