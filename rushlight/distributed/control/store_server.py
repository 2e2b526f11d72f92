"""The server behind a `TCPStore`: a table, and one thread that answers all who have shown the job's key.

One thread, since a job of a thousand processes has as many connections: a thread for each takes 15 KB of memory, and each change of
the table woke all that waited. Who has not yet shown the key is looked after in a thread of its own, and not for long.
"""

from __future__ import annotations

import json
import math
import selectors
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from .. import handshake
from ..errors import DistNetworkError
from ..handshake import receive_exactly

__all__ = ["StoreServer", "Table", "receive_fields", "send_fields"]

_NEWCOMERS = 256  # connections that have not yet shown who they are, each for at most handshake.HELLO_S
_BACKLOG = 1024
_CHUNK = 1 << 16
_LONGEST_S = 1e6  # of a wait
_LARGE = 1 << 16  # bytes of an answer that a thread of its own sends: who asked may be slow to take it
_ANSWER_S = 10.0  # for a client to take an answer that is smaller


def send_fields(connection: socket.socket, *fields: bytes) -> None:
    """Send byte strings: how many, how long, and themselves."""
    table = struct.pack(f"!I{len(fields)}I", len(fields), *map(len, fields))
    connection.sendall(table + b"".join(fields))


def receive_fields(connection: socket.socket) -> list[bytes]:
    """The byte strings of the next message. Raises EOFError when the other end is gone."""
    (count,) = struct.unpack("!I", receive_exactly(connection, 4))
    lengths = struct.unpack(f"!{count}I", receive_exactly(connection, 4 * count))
    return [receive_exactly(connection, n) for n in lengths]


class Table(dict[str, bytes]):
    """Values by name, and queues of values. A key is there where it has a value, or a queue that is not empty."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[bytes]] = {}

    def peek(self, key: str) -> bytes | None:
        """The value of a key, b'' for a queue, None where it is not there."""
        return self.get(key, b"" if self._queues.get(key) else None)

    def do(self, command: str, key: str = "", *values: bytes) -> list[bytes]:
        """Carry out a command on a key.

        `peek`, `pop` (of a queue's first value) and `delete` give one value, or none where the key is not there. `set`,
        `append` (of bytes) and `push` (at a queue's end) give none. `add` gives the sum, `swap`, which puts the second value
        where the first one is or nothing for b"", what is there then, `length` that of a queue, `keys` all keys.

        Raises LookupError for another command or a missing value, ValueError where a number is none.
        """
        now = self.get(key)
        if command == "peek":
            return [] if (value := self.peek(key)) is None else [value]
        if command == "keys":
            return [name.encode() for name in self]
        if command == "delete":
            return [] if self.pop(key, None) is None else [b"1"]
        if command == "length":
            return [str(len(self._queues.get(key, ()))).encode()]
        if command == "push":
            self._queues.setdefault(key, deque()).append(values[0])
            return []
        if command == "pop":
            return self._take(key)
        if command == "swap":
            expected, desired = values
            if now == expected or (now is None and not expected):
                self[key] = now = desired
            return [expected if now is None else now]
        if command not in ("set", "add", "append"):
            raise LookupError(f"a store does not know the command {command[:20]!r}")
        is_sum = command == "add"
        value = str(int(now or b"0") + int(values[0])).encode() if is_sum else values[0]
        self[key] = (now or b"") + value if command == "append" else value
        return [value] if is_sum else []

    def _take(self, key: str) -> list[bytes]:
        queue = self._queues.get(key)
        if not queue:
            return []
        value = queue.popleft()
        if not queue:
            del self._queues[key]
        return [value]


class _Client:
    """A connection that has shown the job's key, and what has come of its next request."""

    def __init__(self, connection: socket.socket, who: dict[str, Any]):
        self.connection, self.who = connection, who
        self.joining = b""  # the group that it is making
        self.will = ""  # a key that is set when it is gone
        self.waits: tuple[str, float] | None = None  # for a key, until then
        self._come = bytearray()

    def receive(self) -> Iterator[list[bytes]]:
        """The requests that are complete now. Raises EOFError when the client is gone."""
        data = self.connection.recv(_CHUNK)
        if not data:
            raise EOFError
        self._come += data
        while (fields := self._next()) is not None:
            yield fields

    def _next(self) -> list[bytes] | None:
        come = self._come
        if len(come) < 4:
            return None
        (count,) = struct.unpack_from("!I", come)
        if len(come) < 4 + 4 * count:
            return None
        lengths = struct.unpack_from(f"!{count}I", come, 4)
        at = 4 + 4 * count
        if len(come) < at + sum(lengths):
            return None
        fields = []
        for length in lengths:
            fields.append(bytes(come[at : at + length]))
            at += length
        del come[:at]
        return fields

    def send(self, answer: list[bytes]) -> None:
        """Answer a request."""
        if sum(map(len, answer)) < _LARGE:
            send_fields(self.connection, *answer)
            return

        def run() -> None:
            with suppress(OSError):
                send_fields(self.connection, *answer)

        threading.Thread(target=run, daemon=True, name="rushlight-store-answer").start()


class StoreServer:
    """Keeps a table, and answers at a port until it is closed; and then, those who are there until they go."""

    def __init__(self, host: str, port: int):
        self._table = Table()
        self._closed = False
        self.key, self.who = handshake.job_key(), handshake.introduction()
        self.listener = _listen(host, port)
        self.port = self.listener.getsockname()[1]
        self._newcomers = threading.BoundedSemaphore(_NEWCOMERS)
        self._lost: dict[bytes, str] = {}  # groups that cannot be made, since a process has ended meanwhile
        self._waiting: dict[str, list[_Client]] = {}
        self._next_end = math.inf  # of a wait
        self._admitted: list[_Client] = []  # by threads, for the one that answers
        self._wakes, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        threading.Thread(target=self._accept, daemon=True, name="rushlight-store").start()
        threading.Thread(target=self._serve, daemon=True, name="rushlight-store").start()

    # ------------------------------------------------------------------------------------------ who comes

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:  # closed
                return
            if not self._newcomers.acquire(blocking=False):
                connection.close()  # a process of the job comes again
                continue
            threading.Thread(target=self._admit, args=(connection,), daemon=True, name="rushlight-store").start()

    def _admit(self, connection: socket.socket) -> None:
        try:
            who = handshake.admit(connection, self.key, self._judge)
        finally:
            self._newcomers.release()
        if who is None:
            connection.close()
            return
        connection.settimeout(_ANSWER_S)
        self._admitted.append(_Client(connection, who))
        self._wake()

    def _judge(self, who: dict[str, Any]) -> str:
        if handshake.same_job(self.who, who):
            # the keeper of this store may be slower than others, which begin their next group at the same port
            if self._closed or not handshake.same_start(self.who, who):
                raise handshake.NotYet
            return ""
        return (
            f"the store at port {self.port} belongs to another job: it is kept by {handshake.described(self.who)}, and this is "
            f"{handshake.described(who)}. Give each job a port (MASTER_PORT) of its own."
        )

    def _wake(self) -> None:
        with suppress(OSError):
            self._wakes.send(b"x")

    def close(self) -> None:
        """Take no further connection. Those that there are still get what is there, since others may be slower."""
        self._closed = True
        with suppress(OSError):  # wakes the thread, which would else keep the port
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._wake()

    # ------------------------------------------------------------------------------------------ answers

    def _serve(self) -> None:
        while True:
            patience = None if self._next_end == math.inf else max(0.0, self._next_end - time.monotonic())
            for place, _ in self._selector.select(patience):
                if place.data is None:
                    self._woken.recv(_CHUNK)
                else:
                    self._hear(place.data)
            while self._admitted:
                client = self._admitted.pop()
                self._selector.register(client.connection, selectors.EVENT_READ, client)
            if self._closed or self._next_end <= time.monotonic():
                self._end_waits()
            if self._closed and len(self._selector.get_map()) == 1:
                break
        for end in (self._selector, self._wakes, self._woken):
            end.close()

    def _hear(self, client: _Client) -> None:
        try:
            for command, *arguments in client.receive():
                self._answer(client, command, arguments)
        except (EOFError, OSError, MemoryError, ValueError, LookupError):  # gone, or sends what no client does
            self._hang_up(client)

    def _hang_up(self, client: _Client) -> None:
        self._selector.unregister(client.connection)
        client.connection.close()
        if client.waits:
            self._stop_waiting(client)
        if client.will:
            self._change("set", client.will, b"1")
        if client.joining:
            reason = f"{handshake.named(client.who)} has ended before the group was made"
            self._lost.setdefault(client.joining, reason)
            self._end_waits()

    def _answer(self, client: _Client, command: bytes, arguments: list[bytes]) -> None:
        try:
            if command == b"await":
                self._await(client, arguments[0].decode(), float(arguments[1]))
                return
            if command == b"join":
                client.joining, client.who["rank"] = arguments[0], int(arguments[1])
                answer = []
            elif command == b"will":
                answer, client.will = [], arguments[0].decode()
            elif command == b"who":
                answer = [json.dumps(self.who).encode()]
            else:
                key, *values = arguments or [b""]
                answer = self._change(command.decode(), key.decode(), *values)
        except (ValueError, LookupError) as error:  # a number that is none, a missing argument
            client.send([f"{type(error).__name__}: {error}".encode()])
            return
        client.send([b"", *answer])

    def _change(self, command: str, key: str = "", *values: bytes) -> list[bytes]:
        """Carry out a command, and tell those who wait for the key."""
        answer = self._table.do(command, key, *values)
        if key in self._waiting and self._table.peek(key) is not None:
            for client in self._waiting.pop(key):
                self._end_wait(client, [b"", b"1"])
        return answer

    # ------------------------------------------------------------------------------------------ who waits

    def _await(self, client: _Client, key: str, seconds: float) -> None:
        if self._table.peek(key) is not None:
            client.send([b"", b"1"])
            return
        if client.joining in self._lost:
            seconds = 0.0
        client.waits = key, time.monotonic() + max(0.0, min(seconds, _LONGEST_S))
        self._next_end = min(self._next_end, client.waits[1])
        self._waiting.setdefault(key, []).append(client)

    def _end_waits(self) -> None:
        """Tell those who wait that their time is up, or that what they wait for cannot come."""
        now, self._next_end = time.monotonic(), math.inf
        for client in [client for clients in self._waiting.values() for client in clients]:
            key, end = client.waits or ("", now)
            if client.joining in self._lost:
                answer = [f"DistStoreError: {self._lost[client.joining]}".encode()]
            elif self._closed:
                answer = [f"DistStoreError: its process has closed it, and the key {key!r} is not there".encode()]
            elif end <= now:
                answer = [b""]
            else:
                self._next_end = min(self._next_end, end)
                continue
            self._stop_waiting(client)
            self._end_wait(client, answer)

    def _stop_waiting(self, client: _Client) -> None:
        key = client.waits[0] if client.waits else ""
        self._waiting[key].remove(client)
        if not self._waiting[key]:
            del self._waiting[key]

    def _end_wait(self, client: _Client, answer: list[bytes]) -> None:
        client.waits = None
        with suppress(OSError):  # the selector will say that it is gone
            client.send(answer)


def _listen(host: str, port: int) -> socket.socket:
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise DistNetworkError(
            f"The server socket has failed to listen on any local network address. {host}:{port}: {error}"
        ) from error
    return listener
