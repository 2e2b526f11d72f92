"""Stores: small tables of keys and bytes that several processes see, through which they find each other.

`HashStore` lives in one process, `TCPStore` in a thread of one process that the others ask, `FileStore` in a file.
A get waits until the key is there, or raises DistStoreError when the time is up.
"""

from __future__ import annotations

import copy
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from . import handshake
from .control.store_server import StoreServer, Table, receive_fields, send_fields
from .errors import DistNetworkError, DistStoreError, QueueEmptyError

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

DEFAULT_TIMEOUT = timedelta(seconds=300)
_POLL_S = 0.01


class Store:
    """What every store has. A subclass gives `_do`, which carries out the commands of `Table.do`."""

    def __init__(self) -> None:
        self.timeout = DEFAULT_TIMEOUT

    def set(self, key: str, value: str | bytes) -> None:
        """Put `value` under `key`."""
        self._do("set", key, _bytes(value))

    def get(self, key: str) -> bytes:
        """The value under `key`; waits for it."""
        self.wait([key])
        value = self._peek(key)
        if value is None:  # deleted meanwhile
            raise DistStoreError(f"key {key} was deleted")
        return value

    def add(self, key: str, amount: int) -> int:
        """Add to the number under `key` (0 where there is none) at once; returns the sum."""
        return int(self._do("add", key, str(int(amount)).encode())[0])

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """Put the desired value where the expected one is (or nothing, for ''); returns what is there then."""
        return self._do("swap", key, _bytes(expected_value), _bytes(desired_value))[0]

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return all(self._peek(key) is not None for key in keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there. Raises DistStoreError when the time is up."""
        limit = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + limit.total_seconds()
        for key in keys:
            if not self._await(key, deadline):
                words = ", ".join(f"/{key}" for key in keys)
                raise DistStoreError(f"wait timeout after {int(limit.total_seconds() * 1000)}ms, keys: {words}")

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        return bool(self._do("delete", key))

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        """The keys."""
        return [key.decode() for key in self._do("keys")]

    def append(self, key: str, value: str | bytes) -> None:
        """Add bytes at the end of those under `key`."""
        self._do("append", key, _bytes(value))

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """The values under several keys; waits for them."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[str | bytes]) -> None:
        """Put several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of the queue of a name. A key should be either a queue's or a value's."""
        self._do("push", key, _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue; block: wait for one.

        Raises QueueEmptyError where there is none and block is False, DistStoreError when the time is up.
        """
        deadline = time.monotonic() + self.timeout.total_seconds()
        while not (taken := self._do("pop", key)):
            if not block:
                raise QueueEmptyError("queue is empty")
            if not self._await(key, deadline):
                limit_ms = int(self.timeout.total_seconds() * 1000)
                raise DistStoreError(f"wait timeout after {limit_ms}ms, keys: /{key}")
        return taken[0]

    def queue_len(self, key: str) -> int:
        """How many values a queue has; 0 where there is no such queue."""
        return int(self._do("length", key)[0])

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until `world_size` callers have come to the barrier of this name, which serves once."""
        if self.add(f"{key}/num_members", 1) == world_size:
            self.set(f"{key}/last_member", "1")
        self.wait([f"{key}/last_member"], timeout)

    def clone(self) -> Store:
        """Another object for the same table, for another thread."""
        return copy.copy(self)

    def set_timeout(self, timeout: timedelta) -> None:
        """How long `get` and `wait` wait."""
        self.timeout = timeout

    def has_extended_api(self) -> bool:
        """Whether `append` and the calls with several keys exist: True."""
        return True

    def _do(self, command: str, key: str = "", *values: bytes) -> list[bytes]:
        raise NotImplementedError(f"{type(self).__name__}: {command}")

    def _peek(self, key: str) -> bytes | None:
        return next(iter(self._do("peek", key)), None)

    def _await(self, key: str, deadline: float) -> bool:
        """Wait for one key until `deadline` on the monotonic clock; whether it is there."""
        while self._peek(key) is None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class HashStore(Store):
    """A table in this process, for its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()
        self._changed = threading.Condition()

    def _do(self, command: str, key: str = "", *values: bytes) -> list[bytes]:
        with self._changed:
            answer = self._table.do(command, key, *values)
            self._changed.notify_all()
        return answer

    def _await(self, key: str, deadline: float) -> bool:
        with self._changed:
            return self._changed.wait_for(
                lambda: self._table.peek(key) is not None, max(0.0, deadline - time.monotonic())
            )


class PrefixStore(Store):
    """A part of another store: every key gets `prefix/` in front."""

    def __init__(self, prefix: str, store: Store):
        super().__init__()
        self.prefix, self.underlying_store = prefix, store
        self.timeout = store.timeout

    def _name(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def _do(self, command: str, key: str = "", *values: bytes) -> list[bytes]:
        return self.underlying_store._do(command, self._name(key), *values)

    def clone(self) -> PrefixStore:
        """Another object for the same table, for another thread."""
        return PrefixStore(self.prefix, self.underlying_store.clone())

    @property
    def _underlying_non_prefix_store(self) -> Store:
        """The store below all prefixes."""
        store = self.underlying_store
        return store._underlying_non_prefix_store if isinstance(store, PrefixStore) else store

    def list_keys(self) -> list[str]:
        """All keys of the other store, as they are there."""
        return self.underlying_store.list_keys()

    def _await(self, key: str, deadline: float) -> bool:
        return self.underlying_store._await(self._name(key), deadline)


# ---------------------------------------------------------------------------------------------- over TCP


class StoreGone(DistNetworkError):
    """The process that kept a store has ended."""


StoreGone.__module__ = "torch.distributed"


def connect(
    host: str,
    port: int,
    deadline: float,
    key: bytes | None = None,
    who: dict[str, Any] | None = None,
    look: Callable[[], None] = lambda: None,
) -> socket.socket:
    """A connection after its handshake, tried until `deadline` on the monotonic clock. key: None is the job's.

    look: called between two tries; raises where there is no use in another one.

    Raises DistNetworkError when the time is up, or at once where the other end refuses.
    """
    key = handshake.job_key() if key is None else key
    who = who or handshake.introduction()
    while True:
        try:
            return _connect_once(host, port, deadline, key, who)
        except (OSError, EOFError) as error:
            if time.monotonic() >= deadline:
                raise DistNetworkError(
                    f"The client socket has timed out while trying to connect to ({host}, {port}): {error}"
                ) from error
            look()
            time.sleep(5 * _POLL_S)


def _connect_once(host: str, port: int, deadline: float, key: bytes, who: dict[str, Any]) -> socket.socket:
    connection = socket.create_connection((host, port), timeout=max(0.1, deadline - time.monotonic()))
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        handshake.greet(connection, key, who, max(deadline, time.monotonic() + 0.1))
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection


class TCPStore(Store):
    """A table in a thread of the process with is_master=True, which the others ask over TCP.

    Only processes that know the job's key are served: those of the same user (a file in the home folder holds the key), or
    those with the same RUSHLIGHT_JOB_KEY in the environment. Raises DistNetworkError for any other.

    port 0 lets the system choose; `port` says what it chose. With `world_size` and wait_for_workers=True the master
    waits until that many processes have come.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ):
        super().__init__()
        if master_listen_fd is not None:
            raise NotImplementedError("TCPStore(master_listen_fd=...) is not implemented")
        if multi_tenant:
            raise NotImplementedError(
                "TCPStore(multi_tenant=True) is not implemented: give each store a port of its own"
            )
        if not 0 <= port < 1 << 16:
            raise ValueError(f"port must have value from 0 to 65535 but was {port}.")
        self.timeout, self.host, self.is_master = timeout, host_name, is_master
        self._server = StoreServer(host_name, port) if is_master else None
        self.port = self._server.port if self._server else port
        self._lock = threading.Lock()
        self._owner = os.getpid()
        deadline = time.monotonic() + timeout.total_seconds()
        self._connection = connect(host_name, self.port, deadline)
        try:
            self.keeper: dict[str, Any] = json.loads(self._ask("who")[0])  # the process with the table
            if world_size is not None and wait_for_workers and world_size > 1:
                self._meet(world_size, deadline)
        except BaseException:
            self.close()
            raise

    def _meet(self, world_size: int, deadline: float) -> None:
        if self.add("init/come", 1) >= world_size:
            self.set("init/all", b"1")
        if self.is_master and not self._await("init/all", deadline):
            raise DistStoreError(
                f"Timed out after {int(self.timeout.total_seconds())} seconds waiting for clients. "
                f"{self.add('init/come', 0)}/{world_size} clients joined."
            )

    def _ask(self, command: str, *arguments: bytes) -> list[bytes]:
        with self._lock:
            if os.getpid() != self._owner:  # a forked copy must not share the parent's connection
                deadline = time.monotonic() + self.timeout.total_seconds()
                self._connection, self._owner = connect(self.host, self.port, deadline), os.getpid()
            try:
                send_fields(self._connection, command.encode(), *arguments)
                problem, *answer = receive_fields(self._connection)
            except (EOFError, OSError, ValueError) as error:
                raise StoreGone(f"the store at {self.host}:{self.port} is gone: {error}") from error
        if problem:
            raise DistStoreError(f"the store refuses {command!r}: {problem.decode(errors='replace')}")
        return answer

    def _do(self, command: str, key: str = "", *values: bytes) -> list[bytes]:
        return self._ask(command, key.encode(), *values)

    def clone(self) -> TCPStore:
        """Another connection to the same table, for another thread."""
        return TCPStore(self.host, self.port, None, False, self.timeout)

    def join(self, group: str, rank: int) -> None:
        """Say which group this process is making, '' when it is made: if it ends meanwhile, the others' waits end."""
        self._ask("join", group.encode(), str(rank).encode())

    def leave_behind(self, key: str) -> None:
        """Let the server set this key when this process is gone, or its connection."""
        self._ask("will", key.encode())

    def _await(self, key: str, deadline: float) -> bool:
        return bool(self._ask("await", key.encode(), str(max(0.0, deadline - time.monotonic())).encode()))

    def close(self) -> None:
        """Close the connection, and the server where this process has it."""
        self._connection.close()
        if self._server is not None:
            self._server.close()

    def __repr__(self) -> str:
        return f"TCPStore(host={self.host!r}, port={self.port}, is_master={self.is_master})"


# ---------------------------------------------------------------------------------------------- in a file


class FileStore(Store):
    """A table in a file that all processes can lock. Each write appends; the last value of a key counts."""

    def __init__(self, file_name: str, world_size: int = -1):
        super().__init__()
        self.path, self.world_size = file_name, world_size

    def _do(self, command: str, key: str = "", *values: bytes) -> list[bytes]:
        """Carry out a command; what it sets or deletes (value None) is appended to the file."""
        if command in ("push", "pop", "length"):
            raise NotImplementedError("queue support is not implemented.")
        try:
            import fcntl
        except ImportError:
            raise NotImplementedError(
                "FileStore needs Unix's file locks; use TCPStore (tcp:// or env://) here"
            ) from None
        with open(self.path, "a+b", opener=_private) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            table = _read_table(file.read())
            before = dict(table)
            answer = table.do(command, key, *values)
            for name in before.keys() | table.keys():
                if table.get(name) != before.get(name):
                    file.write(_record(name, table.get(name)))
            return answer


_GONE = 0xFFFFFFFF  # in the place of a length: the key was deleted


def _record(key: str, value: bytes | None) -> bytes:
    name = key.encode()
    return struct.pack("!II", len(name), _GONE if value is None else len(value)) + name + (value or b"")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)  # who can read the table could join


def _read_table(data: bytes) -> Table:
    table = Table()
    at = 0
    while at < len(data):
        if len(data) - at < 8:
            raise _not_a_table(at)
        name_size, size = struct.unpack_from("!II", data, at)
        at += 8
        end = at + name_size + (0 if size == _GONE else size)
        if end > len(data):
            raise _not_a_table(at - 8)
        name = data[at : at + name_size].decode(errors="replace")
        if size == _GONE:
            table.pop(name, None)
        else:
            table[name] = data[at + name_size : end]
        at = end
    return table


def _not_a_table(at: int) -> DistStoreError:
    return DistStoreError(
        f"the file is no table of a FileStore: the record at byte {at} goes beyond its end. Remove it."
    )
