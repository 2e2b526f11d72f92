"""How each of some processes gets a connection to every other, through a store that all of them see.

Each process enters its name under its rank. Then it connects to those of lower rank, and takes the connections of those of
higher rank. Whoever waits for another one looks meanwhile whether a process that has entered its name is still there.

More than `DIRECT` processes (RUSHLIGHT_DIRECT_RANKS in process 0's environment) are connected to process 0 only, the hub, which tells them
who all are.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import threading
import time
import zlib
from contextlib import suppress
from datetime import timedelta
from typing import Any

from .. import handshake
from ..errors import DistNetworkError, DistStoreError
from ..handshake import receive_exactly
from ..store import Store, StoreGone, TCPStore, connect
from . import process_state
from .messages import HEAD, HUB, Kind, farewell, packed

__all__ = ["Meeting"]

DIRECT = 64  # a thousand processes would have half a million connections, and as many threads
_STRANGERS = 256  # connections of others that may wait at the same time
_LOOK_S = 0.5  # between two looks at those who have entered their names


class Meeting:
    """What process `rank` of `size` learns: `connections`, by rank, and `who`, what each process says of itself.

    is_star: whether all are connected to the hub only.

    Raises DistNetworkError or DistStoreError where the others do not come within `timeout`, where one of them has ended, or
    where they are others than expected.
    """

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta):
        self.rank, self.size, self._store = rank, size, store
        self._deadline = time.monotonic() + timeout.total_seconds()
        self._next_look = 0.0
        self.connections: dict[int, socket.socket] = {}
        own = {**handshake.introduction(), "rank": rank, "size": size, "nonce": os.urandom(8).hex()}
        self.is_star = own["star"] = rank == HUB and size > _direct()
        self.who: dict[int, dict[str, Any]] = {rank: own}
        keeper = getattr(_underlying(store), "keeper", {})
        if rank and keeper.get("start") is not None:  # the store was made in the same way as this process's
            self.who[0] = {**keeper, "rank": 0}
        try:
            self._meet_others(own)
        except BaseException as error:
            said = farewell(f"it has not joined the group: {type(error).__name__}: {error}", True)
            for connection in self.connections.values():
                with connection, suppress(OSError):
                    connection.settimeout(_LOOK_S)
                    connection.sendall(packed(Kind.FAREWELL, len(said)) + said)
            raise

    def _meet_others(self, own: dict[str, Any]) -> None:
        try:
            self._meet(own)
        except StoreGone as error:
            end = time.monotonic() + _LOOK_S
            while time.monotonic() < end:  # for the system to see what ended its connection
                self._check_processes()
                time.sleep(_LOOK_S / 20)
            name = handshake.named({"rank": 0, **self.who.get(0, {})})
            raise DistNetworkError(
                f"{name}, which kept the store, has ended before the group was made: {error}"
            ) from error

    def _meet(self, own: dict[str, Any]) -> None:
        """The key of the handshakes is made by process 0 and handed over by the store."""
        store = self._store
        self._enter(own)
        if self.rank == 0:
            store.set("token", os.urandom(32).hex())
        token = bytes.fromhex(self._get("token").decode())
        if self.is_star and self.rank != HUB:
            self.enter_star(token)
            self.hear_all()
            self._join("")
            return
        if self.is_star:
            _allow_files(self.size)
        host = _own_address(store)
        with socket.create_server((host, 0), family=_family(host), backlog=self.size + _STRANGERS) as listener:
            store.set(f"address/{self.rank}", f"{host} {listener.getsockname()[1]}")
            addresses = []
            for peer in range(self.rank):  # all, before any is asked: who goes takes the store along, or others with it
                addresses.append(self._get(f"address/{peer}").decode().split())
                self.who.setdefault(peer, json.loads(store.get(f"member/{peer}")))
            for peer, (host, port) in enumerate(addresses):
                self.connections[peer] = self._connect(peer, host, int(port), token)
            self._accept_all(listener, token)
            self._tell_all()
        self._join("")

    def enter_star(self, token: bytes) -> None:
        """Connect to the hub."""
        host, port = self._get(f"address/{HUB}").decode().split()
        self.connections[HUB] = self._connect(HUB, host, int(port), token)

    def hear_all(self) -> None:
        """Learn from the hub who all are."""
        self.who.update(enumerate(json.loads(zlib.decompress(self.roster()))))

    def roster(self) -> bytes:
        """What the hub says of all, compressed. Raises DistNetworkError where it says that it has failed, or is gone."""
        link, name = self.connections[HUB], handshake.named({**self.who[HUB], "rank": HUB})
        try:
            kind, key_size, note_size, size = HEAD.unpack(receive_exactly(link, HEAD.size, self._deadline))
            told = receive_exactly(link, key_size + note_size + size, self._deadline)[key_size + note_size :]
        except TimeoutError:
            raise DistStoreError(f"process {self.rank} waited in vain for the others to join {name}") from None
        except (EOFError, OSError) as error:
            raise DistNetworkError(f"{name} has ended before the group was made: {error}") from error
        if kind != Kind.ROSTER:
            raise DistNetworkError(
                f"{name}: {json.loads(told)[0] if kind == Kind.FAREWELL else 'no word of the others'}"
            )
        link.settimeout(None)
        return told

    def _tell_all(self) -> None:
        if self.is_star:
            told = zlib.compress(json.dumps([self.who[rank] for rank in range(self.size)]).encode())
            for connection in self.connections.values():
                connection.sendall(packed(Kind.ROSTER, len(told)) + told)

    def _connect(self, peer: int, host: str, port: int, token: bytes) -> socket.socket:
        try:
            return connect(host, port, self._deadline, token, self.who[self.rank], self._look)
        except DistNetworkError as error:
            name = handshake.named(self.who[peer])
            raise error if name in str(error) else DistNetworkError(f"{name}: {error}") from error

    def _enter(self, own: dict[str, Any]) -> None:
        """Claim this rank. Raises DistNetworkError where another process has it, or where process 0 is of another job."""
        if self.rank:
            first = self.who[0] = json.loads(self._get("member/0"))
            self.is_star = first.get("star", False)
            if first["size"] != self.size or first["job"] != own["job"]:
                raise DistNetworkError(
                    f"two jobs meet at one address. Rank 0 of {first['size']}: {handshake.described(first)}. "
                    f"Rank {self.rank} of {self.size}: {handshake.described(own)}. Give each job an address (MASTER_PORT, "
                    "or file) of its own."
                )
        text = json.dumps(own)
        holder = self._store.compare_set(f"member/{self.rank}", "", text).decode()
        if holder != text:
            raise DistNetworkError(
                f"two processes claim rank {self.rank} at one address: {handshake.described(json.loads(holder))} was first, "
                f"this is {handshake.described(own)}. Give each job an address (MASTER_PORT, or file) of its own; remove a "
                "file that an earlier job has left."
            )
        self._join(getattr(self._store, "prefix", "group"))

    def _join(self, group: str) -> None:
        store = _underlying(self._store)
        if isinstance(store, TCPStore):
            store.join(group, self.rank)

    # ------------------------------------------------------------------------------------------ waiting

    def _get(self, key: str) -> bytes:
        """What another process puts under a key."""
        while True:
            left = self._deadline - time.monotonic()
            try:
                self._store.wait([key], timedelta(seconds=max(0.001, min(left, _LOOK_S))))
                return self._store.get(key)
            except DistStoreError as error:
                if "wait timeout" not in str(error):
                    raise
            self._look()
            if left <= 0:
                raise DistStoreError(f"process {self.rank} waited in vain for {self._missing()} (key {key})")

    def _look(self) -> None:
        """Raise DistNetworkError where a process of this machine has entered its name and is gone."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_S
        self._check_processes()
        for peer in range(self.size if self.rank == HUB or not self.is_star else 0):
            if peer not in self.who and self._store.check([f"member/{peer}"]):
                self.who[peer] = json.loads(self._store.get(f"member/{peer}"))

    def _check_processes(self) -> None:
        own = self.who[self.rank]["process"]
        gone = []
        for who in self.who.values():
            pid, born, _ = process = who["process"]
            if process_state.same_space(own, process) and process_state.state(pid, born) == "X":
                gone.append(handshake.named(who))
        if gone:
            raise DistNetworkError(f"{', '.join(gone)}: ended before the group was made")

    def _missing(self) -> str:
        """The others that are not there yet, in words."""
        there = [rank for rank in range(self.size) if rank == self.rank or self._store.check([f"member/{rank}"])]
        absent = [f"process {rank}" for rank in range(self.size) if rank not in there]
        slow = [handshake.named(self.who[rank]) for rank in there if rank in self.who and rank != self.rank]
        return ", ".join([*absent, *(f"{name}, which is there" for name in slow if not absent)]) or "the others"

    def _accept_all(self, listener: socket.socket, token: bytes) -> None:
        """Take the connections of all higher ranks. Whoever else connects waits in a thread of its own, and not for long."""
        arrived: queue.SimpleQueue[tuple[dict[str, Any], socket.socket]] = queue.SimpleQueue()
        newcomers = threading.BoundedSemaphore(self.size + _STRANGERS)

        def admit(connection: socket.socket) -> None:
            who = handshake.admit(connection, token, lambda who: "")
            newcomers.release()
            if who is None:
                connection.close()
            else:
                arrived.put((who, connection))

        listener.settimeout(0.05)
        while len(self.connections) < self.size - 1:
            self._look()
            if time.monotonic() >= self._deadline:
                missing = sorted(set(range(self.rank + 1, self.size)) - set(self.connections))
                known = ", ".join(handshake.named(self.who[rank]) for rank in missing if rank in self.who)
                raise DistNetworkError(
                    f"process {self.rank} waited in vain for processes {missing} to connect{known and ': ' + known}"
                )
            with suppress(TimeoutError):
                connection, _ = listener.accept()
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if newcomers.acquire(blocking=False):
                    threading.Thread(target=admit, args=(connection,), daemon=True, name="rushlight-admit").start()
                else:
                    connection.close()
            while not arrived.empty():
                who, connection = arrived.get()
                rank = int(who["rank"])
                self.connections[rank], self.who[rank] = connection, who


def _direct() -> int:
    """For how many processes at most each two have a connection."""
    return int(os.environ.get("RUSHLIGHT_DIRECT_RANKS") or DIRECT)


def _allow_files(size: int) -> None:
    """Raise this process's limit of open files for two connections to each of `size` processes."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * size + 2 * _STRANGERS
    if soft != resource.RLIM_INFINITY and soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            raise DistNetworkError(
                f"{size} processes need {needed} open files in process 0, which may have {hard} (ulimit -Hn)"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _own_address(store: Any) -> str:
    """The address of this machine under which the store's machine sees it; loopback where there is no network store."""
    connection = getattr(_underlying(store), "_connection", None)
    return "127.0.0.1" if connection is None else connection.getsockname()[0]


def _underlying(store: Any) -> Any:
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return store


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
