"""Connections from every process to every other, and messages over them.

A message is (who sent it, a key, bytes). A thread for each peer reads whatever comes into one inbox, so that two
processes that send large messages to each other at the same time never wait for each other; whoever wants a message
takes it from the inbox by peer and key. Messages of the same peer and key keep their order.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections import deque
from contextlib import suppress
from datetime import timedelta
from typing import Any

import numpy as np

from .errors import DistBackendError, DistNetworkError
from .store import Store, connect, receive_exactly

__all__ = ["Mesh"]

_SHOW_S = 10.0  # for a token, which a process sends as soon as it is connected
_HEAD = struct.Struct("!HQ")  # lengths of key and message


class Mesh:
    """The connections of process `rank` of `size`, made through a store that all of them see."""

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta):
        self.rank, self.size = rank, size
        self._arrived = threading.Condition()
        self._inbox: dict[tuple[int, bytes], deque[np.ndarray]] = {}
        self._gone: dict[int, str] = {}  # peers that have hung up, with the reason
        self._peers: dict[int, socket.socket] = {}
        self._sending = {peer: threading.Lock() for peer in range(size)}
        self._closed = False
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
        """Processes connect to those of lower rank, and show the token that process 0 has made."""
        if self.rank == 0:
            store.set("token", os.urandom(16).hex())
        token = bytes.fromhex(store.get("token").decode())
        host = _own_address(store)
        with socket.create_server((host, 0), family=_family(host), backlog=self.size) as listener:
            store.set(f"address/{self.rank}", f"{host} {listener.getsockname()[1]}")
            for peer in range(self.rank):
                peer_host, port = store.get(f"address/{peer}").decode().split()
                connection = connect(peer_host, int(port), deadline)
                connection.sendall(token + struct.pack("!I", self.rank))
                self._peers[peer] = connection
            while len(self._peers) < self.size - 1:
                self._accept(listener, token, deadline)

    def _limit_sending(self, timeout: timedelta) -> None:
        """Let a send to a process that no longer takes anything, such as a stopped one, fail in the end."""
        seconds, rest = divmod(timeout.total_seconds(), 1)
        limit = struct.pack("@ll", int(seconds), int(rest * 1e6))
        for connection in self._peers.values():
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def _accept(self, listener: socket.socket, token: bytes, deadline: float) -> None:
        listener.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            missing = sorted(set(range(self.rank + 1, self.size)) - set(self._peers))
            raise DistNetworkError(f"process {self.rank} waited in vain for processes {missing} to connect") from None
        connection.settimeout(_SHOW_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            shown = receive_exactly(connection, len(token) + 4)
        except (EOFError, OSError):  # somebody else, who says nothing or something else
            connection.close()
            return
        connection.settimeout(None)
        if shown[: len(token)] != token:  # not one of us
            connection.close()
            return
        self._peers[struct.unpack("!I", shown[len(token) :])[0]] = connection

    def _read(self, peer: int, connection: socket.socket) -> None:
        reason = "the process has ended or destroyed its process group"
        try:
            while True:
                key_size, size = _HEAD.unpack(receive_exactly(connection, _HEAD.size))
                key = receive_exactly(connection, key_size)
                message = np.empty(size, np.uint8)
                _fill(connection, message)
                with self._arrived:
                    self._inbox.setdefault((peer, key), deque()).append(message)
                    self._arrived.notify_all()
        except EOFError:
            pass
        except OSError as error:
            reason = str(error)
        if self._closed:  # both sides have hung up
            connection.close()
        with self._arrived:
            self._gone[peer] = reason
            self._arrived.notify_all()

    def close(self) -> None:
        """Hang up. What was sent before arrives."""
        self._closed = True
        for connection in self._peers.values():
            with suppress(OSError):  # the peer was first
                connection.shutdown(socket.SHUT_WR)

    # ------------------------------------------------------------------------------------------ messages

    def send(self, peer: int, key: bytes, array: np.ndarray) -> None:
        """Send the bytes of a contiguous array. Raises DistBackendError when the peer is gone."""
        raw = array.reshape(-1).view(np.uint8)
        if peer == self.rank:
            with self._arrived:
                self._inbox.setdefault((peer, key), deque()).append(raw.copy())
                self._arrived.notify_all()
            return
        connection = self._peers[peer]
        try:
            with self._sending[peer]:
                connection.sendall(_HEAD.pack(len(key), raw.size) + key)
                connection.sendall(memoryview(raw))  # pyright: ignore[reportArgumentType]
        except BlockingIOError as error:
            raise DistBackendError(f"Timed out sending {raw.size} bytes to process {peer}") from error
        except OSError as error:
            raise DistBackendError(
                f"Connection closed by peer: process {peer}: {self._gone.get(peer, error)}"
            ) from error

    def receive(self, peer: int | None, key: bytes, timeout: timedelta) -> tuple[int, np.ndarray]:
        """(sender, bytes) of the next message with this key, from one peer or (None) from any.

        Raises DistBackendError when the time is up or the peer is gone.
        """
        limit = timeout.total_seconds()
        found: list[int] = []

        def ready() -> bool:
            found[:] = self._with_message(peer, key)
            return bool(found) or self._nobody_left(peer)

        with self._arrived:
            self._arrived.wait_for(ready, limit)
            if found:
                return found[0], self._take(found[0], key)
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

    def _take(self, peer: int, key: bytes) -> np.ndarray:
        queue = self._inbox[peer, key]
        message = queue.popleft()
        if not queue:
            del self._inbox[peer, key]
        return message


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
