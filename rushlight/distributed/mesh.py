"""Connections from every process to every other, and messages over them.

A message is (who sent it, a key, a note, bytes). A thread for each peer reads whatever comes into one inbox, so that two
processes that send large messages to each other at the same time never wait for each other; whoever wants a message
takes it from the inbox by peer and key. Messages of the same peer and key keep their order.

The note of a collective's message says which call the sender makes. It is compared with the call that this process makes
under the same key, whenever both are known (`Ledger`); the data need not wait for that.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import numpy as np

from . import handshake
from .errors import DistBackendError, DistNetworkError
from .handshake import receive_exactly
from .ledger import Ledger
from .store import Store, connect

__all__ = ["Mesh"]

_HEAD = struct.Struct("!BHHQ")  # kind, lengths of key, note and data
_DATA, _ANNOUNCEMENT, _FAILURE = range(3)
_AT_ONCE = 16 << 20  # bytes
_STRANGERS = 256  # connections of others that may wait at the same time
_TELL_S = 2.0  # for the others to hear why a group has failed, before this process hangs up
_NOTHING = np.empty(0, np.uint8)


class Mesh:
    """The connections of process `rank` of `size`, made through a store that all of them see."""

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta):
        self.rank, self.size = rank, size
        self._arrived = threading.Condition()
        self._inbox: dict[tuple[int, bytes], deque[tuple[bytes, np.ndarray]]] = {}
        self._ledger = Ledger(rank)
        self._gone: dict[int, str] = {}  # peers that have hung up, with the reason
        self._peers: dict[int, socket.socket] = {}
        self._sending = {peer: threading.Lock() for peer in range(size)}
        self._closed = False
        self._telling: list[threading.Thread] = []
        self.when_in_trouble: Callable[[], None] | None = None  # for those who wait elsewhere than in `receive`
        if size > 1:
            try:
                self._connect_all(store, time.monotonic() + timeout.total_seconds())
            except BaseException:
                for connection in self._peers.values():
                    connection.close()
                raise
            self._limit_sending(timeout)
        for peer, connection in self._peers.items():
            threading.Thread(
                target=self._read, args=(peer, connection), daemon=True, name=f"rushlight-from-{peer}"
            ).start()

    # ------------------------------------------------------------------------------------------ connections

    def _connect_all(self, store: Store, deadline: float) -> None:
        """Each process enters its name under its rank; then it connects to those of lower rank.

        The key of their handshakes is made by process 0 and handed over by the store.
        """
        own = {**handshake.introduction(), "rank": self.rank, "size": self.size, "nonce": os.urandom(8).hex()}
        self._enter(store, own)
        if self.rank == 0:
            store.set("token", os.urandom(32).hex())
        token = bytes.fromhex(store.get("token").decode())
        host = _own_address(store)
        with socket.create_server((host, 0), family=_family(host), backlog=self.size + _STRANGERS) as listener:
            store.set(f"address/{self.rank}", f"{host} {listener.getsockname()[1]}")
            for peer in range(self.rank):
                peer_host, port = store.get(f"address/{peer}").decode().split()
                self._peers[peer] = connect(peer_host, int(port), deadline, token, own)
            self._accept_all(listener, token, deadline)

    def _enter(self, store: Store, own: dict[str, Any]) -> None:
        """Claim this rank. Raises DistNetworkError where another process has it, or where process 0 is of another job."""
        if self.rank:
            first = json.loads(store.get("member/0"))
            if first["size"] != self.size or first["job"] != own["job"]:
                raise DistNetworkError(
                    f"two jobs meet at one address. Rank 0 of {first['size']}: {handshake.described(first)}. "
                    f"Rank {self.rank} of {self.size}: {handshake.described(own)}. Give each job an address (MASTER_PORT, "
                    "or file) of its own."
                )
        text = json.dumps(own)
        holder = store.compare_set(f"member/{self.rank}", "", text).decode()
        if holder != text:
            raise DistNetworkError(
                f"two processes claim rank {self.rank} at one address: {handshake.described(json.loads(holder))} was first, "
                f"this is {handshake.described(own)}. Give each job an address (MASTER_PORT, or file) of its own; remove a "
                "file that an earlier job has left."
            )

    def _accept_all(self, listener: socket.socket, token: bytes, deadline: float) -> None:
        """Take the connections of all higher ranks. Whoever else connects waits in a thread of its own, and not for long."""
        arrived: queue.SimpleQueue[tuple[int, socket.socket]] = queue.SimpleQueue()
        newcomers = threading.BoundedSemaphore(self.size + _STRANGERS)

        def admit(connection: socket.socket) -> None:
            who = handshake.admit(connection, token, lambda who: "")
            newcomers.release()
            if who is None:
                connection.close()
            else:
                arrived.put((int(who["rank"]), connection))

        listener.settimeout(0.05)
        while len(self._peers) < self.size - 1:
            if time.monotonic() >= deadline:
                missing = sorted(set(range(self.rank + 1, self.size)) - set(self._peers))
                raise DistNetworkError(f"process {self.rank} waited in vain for processes {missing} to connect")
            with suppress(TimeoutError):
                connection, _ = listener.accept()
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if newcomers.acquire(blocking=False):
                    threading.Thread(target=admit, args=(connection,), daemon=True, name="rushlight-admit").start()
                else:
                    connection.close()
            while not arrived.empty():
                rank, connection = arrived.get()
                self._peers[rank] = connection

    def _limit_sending(self, timeout: timedelta) -> None:
        """Let a send to a process that no longer takes anything, such as a stopped one, fail in the end."""
        seconds, rest = divmod(timeout.total_seconds(), 1)
        limit = struct.pack("@ll", int(seconds), int(rest * 1e6))
        for connection in self._peers.values():
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def _read(self, peer: int, connection: socket.socket) -> None:
        reason = "the process has ended or destroyed its process group"
        try:
            while True:
                self._read_message(peer, connection)
        except EOFError:
            pass
        except BaseException as error:  # whatever it is: no process may wait for this peer any longer
            reason = str(error) or type(error).__name__
        with self._arrived:
            self._gone[peer] = reason
            if self._closed:  # both sides have hung up
                connection.close()
            self._arrived.notify_all()
        self._alert()

    def _read_message(self, peer: int, connection: socket.socket) -> None:
        kind, key_size, note_size, size = _HEAD.unpack(receive_exactly(connection, _HEAD.size))
        key = receive_exactly(connection, key_size)
        note = receive_exactly(connection, note_size)
        if kind > _FAILURE:
            raise DistNetworkError(f"process {peer} sent a message of an unknown kind, {kind}")
        message = _received(connection, size)
        if kind == _FAILURE:
            with self._arrived:
                self._ledger.fail(key, message.tobytes().decode(errors="replace"))
                self._arrived.notify_all()
            self._alert()
            return
        with self._arrived:
            try:
                problem = self._ledger.theirs(peer, key, note)
            except ValueError as error:
                raise DistNetworkError(f"process {peer} sent a message with a broken key, {key[:80]!r}") from error
            if kind == _DATA:
                self._inbox.setdefault((peer, key), deque()).append((note, message))
            self._arrived.notify_all()
        if problem:
            self._alert()
            self._tell_failure(key, problem)

    def close(self) -> None:
        """Hang up. What was sent before arrives."""
        self._closed = True
        for thread in self._telling:
            thread.join(_TELL_S)
        for connection in self._peers.values():
            with suppress(OSError):  # the peer was first
                connection.shutdown(socket.SHUT_WR)
        with self._arrived:
            for peer in self._gone:  # its thread has ended, and nothing else will come
                self._peers[peer].close()

    # ------------------------------------------------------------------------------------------ messages

    def begin(self, key: bytes, call: bytes) -> None:
        """Say which call this process makes under a key. Raises DistBackendError where another one makes another."""
        with self._arrived:
            problem = self._ledger.ours(key, call)
            failure = self._ledger.failure(key)
        if problem:
            self._tell_failure(key, problem)
        if failure:
            raise DistBackendError(failure)

    def fail(self, key: bytes, text: str) -> None:
        """Let every call of the key's group raise, here and in all processes."""
        with self._arrived:
            self._ledger.fail(key, text)
            self._arrived.notify_all()
        self._alert()
        self._tell_failure(key, text)

    def _alert(self) -> None:
        alert = self.when_in_trouble
        if alert is not None:
            alert()

    def trouble(self, key: bytes, peers: Iterable[int]) -> str | None:
        """Why a call that needs these peers cannot end: its group has failed, or one of them is gone; or None."""
        with self._arrived:
            failure = self._ledger.failure(key)
            if failure:
                return failure
            for peer in peers:
                if peer in self._gone:
                    return f"Connection closed by peer: process {peer}: {self._gone[peer]}"
        return None

    def failure(self, key: bytes) -> str | None:
        """Why calls of the key's group raise, or None."""
        with self._arrived:
            return self._ledger.failure(key)

    def _tell_failure(self, key: bytes, text: str) -> None:
        """Send it from a thread: one that reads must not wait for others that read."""
        raw = np.frombuffer(text.encode(), np.uint8)

        def tell() -> None:
            for peer in self._peers:
                with suppress(DistBackendError):
                    self.send(peer, key, raw, kind=_FAILURE)

        thread = threading.Thread(target=tell, daemon=True, name="rushlight-failure")
        thread.start()
        self._telling.append(thread)

    def announce(self, peer: int, key: bytes, call: bytes) -> None:
        """Send which call is made, without data, to a peer that would hear nothing else."""
        self.send(peer, key, _NOTHING, call, _ANNOUNCEMENT)

    def send(self, peer: int, key: bytes, array: np.ndarray, note: bytes = b"", kind: int = _DATA) -> None:
        """Send the bytes of a contiguous array. Raises DistBackendError when the peer is gone."""
        raw = array.reshape(-1).view(np.uint8)
        if peer == self.rank:
            with self._arrived:
                self._inbox.setdefault((peer, key), deque()).append((note, raw.copy()))
                self._arrived.notify_all()
            return
        connection = self._peers[peer]
        try:
            with self._sending[peer]:
                connection.sendall(_HEAD.pack(kind, len(key), len(note), raw.size) + key + note)
                connection.sendall(memoryview(raw))  # pyright: ignore[reportArgumentType]
        except BlockingIOError as error:
            raise DistBackendError(f"Timed out sending {raw.size} bytes to process {peer}") from error
        except OSError as error:
            raise DistBackendError(
                self.failure(key) or f"Connection closed by peer: process {peer}: {self._gone.get(peer, error)}"
            ) from error

    def receive(self, peer: int | None, key: bytes, timeout: timedelta) -> tuple[int, bytes, np.ndarray]:
        """(sender, note, bytes) of the next message with this key, from one peer or (None) from any.

        Raises DistBackendError when the time is up, the peer is gone, or the processes' calls differ.
        """
        limit = timeout.total_seconds()
        found: list[int] = []

        def ready() -> bool:
            found[:] = self._with_message(peer, key)
            return bool(found) or self._nobody_left(peer) or self._ledger.failure(key) is not None

        with self._arrived:
            self._arrived.wait_for(ready, limit)
            failure = self._ledger.failure(key)
            if failure:
                raise DistBackendError(failure)
            if found:
                return found[0], *self._take(found[0], key)
            who = "any process" if peer is None else f"process {peer}"
            if self._nobody_left(peer):
                raise DistBackendError(f"Connection closed by peer: {who}: {self._gone.get(peer or 0, 'it has ended')}")
        raise DistBackendError(f"Timed out waiting {int(limit * 1000)}ms for recv operation to complete, from {who}")

    def has_message(self, peer: int | None, key: bytes) -> bool:
        """Whether `receive` would return at once."""
        with self._arrived:
            return bool(self._with_message(peer, key))

    def _with_message(self, peer: int | None, key: bytes) -> list[int]:
        peers = range(self.size) if peer is None else (peer,)
        return [p for p in peers if (p, key) in self._inbox]

    def _nobody_left(self, peer: int | None) -> bool:
        return peer in self._gone if peer is not None else len(self._gone) == len(self._peers) > 0

    def _take(self, peer: int, key: bytes) -> tuple[bytes, np.ndarray]:
        queue = self._inbox[peer, key]
        message = queue.popleft()
        if not queue:
            del self._inbox[peer, key]
        return message


def _received(connection: socket.socket, size: int) -> np.ndarray:
    """The next `size` bytes. A large array grows with what arrives, not with what was announced."""
    message, start = np.empty(min(size, _AT_ONCE), np.uint8), 0
    while True:
        _fill(connection, message[start:])
        start = message.size
        if start == size:
            return message
        message.resize(min(size, 2 * start), refcheck=False)


def _fill(connection: socket.socket, message: np.ndarray) -> None:
    view = memoryview(message) if message.size else memoryview(b"")  # pyright: ignore[reportArgumentType]
    while view:
        got = connection.recv_into(view)
        if not got:
            raise EOFError("the other process closed the connection")
        view = view[got:]


def _own_address(store: Any) -> str:
    """The address of this machine under which the store's machine sees it; loopback where there is no network store."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    connection = getattr(store, "_connection", None)
    return "127.0.0.1" if connection is None else connection.getsockname()[0]


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
