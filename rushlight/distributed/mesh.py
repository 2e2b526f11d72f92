"""Connections from every process to every other, and messages over them.

A message is (who sent it, a key, a note, bytes). A thread for each peer reads whatever comes into one inbox, so that two
processes that send large messages to each other at the same time never wait for each other; whoever wants a message
takes it from the inbox by peer and key. Messages of the same peer and key keep their order.

The note of a collective's message says which call the sender makes. It is compared with the call that this process makes
under the same key, whenever both are known (`Ledger`); the data need not wait for that.

Who leaves says so in a last message. A connection that ends without it is a death, which its discoverer tells all others
before it goes itself: whoever hears of several processes that are gone knows which one was the first.

Many processes (`control/meeting.py`) are connected to one of them only, the hub. It passes on what two others send to each other, and
tells all who is gone. Exchanges of all with all (`exchange`, and `ProcessGroup` where `is_star`) go through one process, or a job of a
thousand would send a million messages.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
import time
import zlib
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import timedelta
from typing import Any

import numpy as np

from ..core.own_code import PACKAGE
from . import handshake
from .control import process_state
from .control.guard import notice
from .control.inbox import Inbox, Request
from .control.ledger import Ledger
from .control.meeting import Meeting
from .control.messages import CONTROL, HEAD, HUB, REASON, ROUTE, Kind, farewell, packed
from .errors import DistBackendError, DistNetworkError
from .handshake import receive_exactly
from .store import Store

__all__ = ["Mesh"]

_AT_ONCE = 16 << 20  # bytes
_TELL_S = 2.0  # for the others to hear why a group has failed, before this process hangs up
_ANSWER_S = 1.0  # for the others to say what they do, when a call has not ended in time
_GRACE_S = 1.0  # for a message that is on its way when a process dies that did not send it
_NEWS_S = 0.05  # to gather who else is gone
_WATCHED = 2
_CUT_MS = 5000  # without an acknowledgement from another host
_IP = socket.AF_INET, socket.AF_INET6
_NOTHING = np.empty(0, np.uint8)
_LIBRARY = os.path.dirname(os.__file__) + os.sep
# of the kernel's struct tcp_info: tcpi_unacked, tcpi_last_ack_recv, tcpi_notsent_bytes, tcpi_snd_wnd (0 before Linux 5.4)
_INFO = struct.Struct("=24xI28xI84xI80xI")
_SILENT = "it has ended without a word: it was killed, or its host is off"


class Mesh:
    """The connections of process `rank` of `size`, made through a store that all of them see."""

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta):
        self.rank, self.size = rank, size
        # Entered by itself: a Condition is entered by Python code, where a Ctrl-C that comes in between leaves it locked.
        self._lock = threading.RLock()
        self._arrived = threading.Condition(self._lock)
        self._inbox = Inbox()
        self._ledger = Ledger(rank)
        self._who: dict[int, dict[str, Any]] = {}  # what each process has said of itself
        self._gone: dict[int, str] = {}  # peers that have left or died, in this order, with the reason
        self._dead: set[int] = set()  # those of them that did not leave by their own will
        self.death = ""  # the first of these, in words
        self._last: tuple[bytes, bytes, float] | None = None  # this process's last call: key, text, when
        self._answers: dict[int, str] = {}
        self._silent: set[int] = set()  # peers whose connections have ended
        self._left = False
        self._peers: dict[int, socket.socket] = {}
        self._sending = {peer: threading.Lock() for peer in range(size)}
        self._closed = False
        self._telling: list[threading.Thread] = []
        self.when_in_trouble: Callable[[], None] | None = None  # for those who wait elsewhere than in `receive`
        self.is_star = False
        self._news: list[tuple[int, str, bool]] = []  # of the hub, which it has not told yet
        if size > 1:
            meeting = Meeting(store, rank, size, timeout)
            self._peers, self._who = meeting.connections, meeting.who
            self.is_star = meeting.is_star
            for connection in self._peers.values():
                _limit(connection, timeout)
        for peer, connection in self._peers.items():
            threading.Thread(
                target=self._read, args=(peer, connection), daemon=True, name=f"rushlight-from-{peer}"
            ).start()

    # ------------------------------------------------------------------------------------------ connections

    def _read(self, peer: int, connection: socket.socket) -> None:
        reason = _SILENT
        try:
            while True:
                self._read_message(peer, connection)
        except (EOFError, ConnectionError):
            pass
        except BaseException as error:  # whatever it is: no process may wait for this peer any longer
            reason = str(error) or type(error).__name__
        if peer not in self._gone:
            self.bury(peer, reason)
        with self._lock:
            self._silent.add(peer)
            if self._closed:  # both sides have hung up
                connection.close()

    def _read_message(self, peer: int, connection: socket.socket) -> None:
        kind, key_size, note_size, size = HEAD.unpack(receive_exactly(connection, HEAD.size))
        key = receive_exactly(connection, key_size)
        note = receive_exactly(connection, note_size)
        if kind == Kind.RELAYED and key_size >= ROUTE.size:
            to, sender, inner = ROUTE.unpack_from(key)
            if not self.is_star or (peer != HUB and sender != peer):
                raise DistNetworkError(f"process {peer} sent a message in the name of process {sender}")
            if to != self.rank:
                self._relay(to, key, note, _received(connection, size))
                return
            peer, kind, key = sender, inner, key[ROUTE.size :]
        if kind > max(Kind) or not 0 <= peer < self.size:
            raise DistNetworkError(f"process {peer} sent a message of an unknown kind, {kind}")
        request = room = None
        if kind == Kind.DATA:
            with self._lock:
                request = self._inbox.claim(peer, key)
            room = request.room(note, size) if request else None
        message = _received(connection, size, room)
        if kind not in (Kind.DATA, Kind.ANNOUNCEMENT):
            try:
                self._hear(peer, kind, key, message.tobytes().decode(errors="replace"))
            except (ValueError, TypeError, RecursionError) as error:
                raise DistNetworkError(f"process {peer} sent a broken message of kind {kind}") from error
            return
        with self._lock:
            try:
                problem = self._ledger.theirs(peer, key, note)
            except ValueError as error:
                raise DistNetworkError(f"process {peer} sent a message with a broken key, {key[:80]!r}") from error
            if kind == Kind.DATA:
                self._inbox.deliver(peer, key, note, message, request)
            self._arrived.notify_all()
        if problem:
            self._alert()
            self._tell_failure(key, problem)

    def _hear(self, peer: int, kind: int, key: bytes, text: str) -> None:
        """A message about calls that have failed, or about processes."""
        if kind == Kind.FAILURE:
            with self._lock:
                news = self._ledger.failure(key) is None
                self._ledger.fail(key, text)
                self._arrived.notify_all()
            self._alert()
            if news and self._is_hub():
                self._tell_failure(key, text)
        elif kind == Kind.FAREWELL:
            why, failed = json.loads(text)
            if self._note_gone(peer, str(why), bool(failed)):
                self._spread((peer, str(why), bool(failed)))
            self._alert()
        elif kind == Kind.DEATH:
            dead, why = json.loads(text)
            if dead in self._who and dead != self.rank:
                self.bury(dead, str(why))
        elif kind == Kind.NEWS:
            if not self.is_star or peer != HUB:
                raise ValueError("news come from the hub")
            for gone, why, failed in json.loads(text):
                if gone in self._who and gone != self.rank:
                    self._note_gone(gone, str(why), bool(failed))
            self._alert()
        elif kind == Kind.QUESTION:
            self._tell(lambda: self._send_text(peer, Kind.ANSWER, self._what_it_does()))
        else:
            with self._lock:
                self._answers[peer] = text
                self._arrived.notify_all()

    def leave(self, error: BaseException | None = None) -> None:
        """Say goodbye, with the reason: the program has destroyed its group, has ended, or ends by an error."""
        if self._left:
            return
        self._left = True
        for thread in list(self._telling):
            thread.join(_TELL_S)
        error = error or getattr(sys, "last_value", None)  # what nothing caught
        reason = "it has ended, or destroyed its process group" + (f", after this: {self.death}" if self.death else "")
        if error is not None:
            reason = f"it has ended by an error, {type(error).__name__}: {error}"
        for peer in self._peers:
            with suppress(DistBackendError):
                self._send_text(peer, Kind.FAREWELL, farewell(reason, error is not None).decode())

    def close(self) -> None:
        """Hang up. What was sent before arrives."""
        self.leave()
        self._closed = True
        for connection in self._peers.values():
            with suppress(OSError):  # the peer was first
                connection.shutdown(socket.SHUT_WR)
        with self._lock:
            for peer in self._silent:  # its thread has ended
                self._peers[peer].close()

    # ------------------------------------------------------------------------------------------ who is there

    def name(self, peer: int) -> str:
        """A process in words: its rank, number and host."""
        return handshake.named({**self._who.get(peer, {}), "rank": peer})

    def bury(self, peer: int, reason: str) -> None:
        """Note that a process has died, let those who wait for it raise, and tell all others."""
        text = json.dumps([peer, reason[:REASON]])
        with self._lock:
            if not self._note_gone(peer, reason, True):
                return
            if self._is_hub():
                self._spread((peer, reason[:REASON], True))
            else:
                self._tell(
                    lambda: self._tell_all(Kind.DEATH, text)
                )  # before another thread hears of it, which may leave
        self._alert()
        if peer in self._peers:
            with suppress(OSError):  # wakes a thread that sends to it
                self._peers[peer].shutdown(socket.SHUT_RDWR)

    def _tell_all(self, kind: Kind, text: str) -> None:
        for other in self._peers:
            if other not in self._gone:
                with suppress(DistBackendError):
                    self._send_text(other, kind, text)

    def _is_hub(self) -> bool:
        return self.is_star and self.rank == HUB

    def _spread(self, *news: tuple[int, str, bool]) -> None:
        """As the hub, tell all others who is gone: those of a short time together, since at its end a whole job goes."""
        if not self._is_hub():
            return
        with self._lock:
            self._news += news
            if len(self._news) == len(news):
                self._tell(self._tell_news)

    def _tell_news(self) -> None:
        time.sleep(_NEWS_S)
        with self._lock:
            news, self._news = self._news, []
        self._tell_all(Kind.NEWS, json.dumps(news))

    def _relay(self, to: int, key: bytes, note: bytes, message: np.ndarray) -> None:
        """Pass on a message between two others; one for a process that is gone is dropped, as the sender hears of that."""
        if self._is_hub() and to in self._peers and to not in self._gone:
            with suppress(DistBackendError):
                self.send(to, key, message, note, Kind.RELAYED)

    def _needed(self, peers: Collection[int]) -> set[int]:
        """The processes without which messages of some others do not come."""
        return {*peers, HUB} if self.is_star else {*peers}

    def _note_gone(self, peer: int, reason: str, failed: bool) -> bool:
        """Whether that is news."""
        with self._lock:
            if peer in self._gone:
                return False
            self._gone[peer] = reason
            if failed:
                self._dead.add(peer)
                self.death = self.death or self._obituary(peer)
            self._arrived.notify_all()
        return True

    def _obituary(self, peer: int) -> str:
        return f"Connection closed by peer: {self.name(peer)}: {self._gone.get(peer, _SILENT)}"

    def neighbours(self) -> list[tuple[int, int, int]]:
        """Of each process that this one sees in /proc: rank, number, and when it began."""
        own = process_state.identity()
        there = [
            (peer, who["process"]) for peer, who in self._who.items() if peer not in self._gone and peer != self.rank
        ]
        return [(peer, process[0], process[1]) for peer, process in there if process_state.same_space(own, process)]

    def watched(self) -> list[tuple[int, int, int]]:
        """The neighbours that this process looks after: many look after the next two each, in a ring."""
        near = sorted(self.neighbours(), key=lambda one: (one[0] - self.rank) % self.size)
        return near[:_WATCHED] if self.is_star else near

    def is_beside(self, peer: int) -> bool:
        """Whether a process is seen in this one's /proc, and its connection leaves no network interface."""
        link = self._peers.get(peer)
        try:
            same = link is None or link.family not in _IP or link.getsockname()[0] == link.getpeername()[0]
        except OSError:
            return False
        return same and any(peer == near for near, _, _ in self.neighbours())

    def cut_off(self) -> list[int]:
        """The processes whose hosts have not acknowledged anything for a while, although something was sent."""
        return [peer for peer, link in self._peers.items() if peer not in self._gone and _is_cut(link)]

    def _what_it_does(self) -> str:
        """This process's last call, and where its main thread is."""
        text = "has made no call"
        if self._last is not None:
            (group, _, number), call, begun = self._last[0].decode().partition("#"), self._last[1], self._last[2]
            text = f"last call: {call.decode(errors='replace')} (number {number} of group {group}), begun "
            text += f"{time.monotonic() - begun:.1f} s ago"
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        while frame is not None and frame.f_back is not None and not _is_program(frame.f_code.co_filename):
            frame = frame.f_back
        return f"{text}, now at {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else text

    def last_calls(self) -> str:
        """What each process does, in words, for the error of a call that has not ended in time."""
        others = [peer for peer in self._peers if peer not in self._gone]
        with self._lock:
            self._answers.clear()
        for peer in others:
            self._tell(lambda peer=peer: self._send_text(peer, Kind.QUESTION, ""))
        with self._lock:
            self._arrived.wait_for(lambda: set(others) <= self._answers.keys(), _ANSWER_S)
            said = {peer: self._answers.get(peer, "gives no answer") for peer in others}
        said[self.rank] = self._what_it_does()
        said.update(self._gone)
        return "; ".join(f"{self.name(peer)}: {text}" for peer, text in sorted(said.items()))

    def _send_text(self, peer: int, kind: Kind, text: str) -> None:
        self.send(peer, CONTROL, np.frombuffer(text.encode(), np.uint8), kind=kind)

    def _tell(self, tell: Callable[[], Any]) -> None:
        """Send from a thread: one that reads must not wait for others that read."""

        def run() -> None:
            with suppress(DistBackendError):
                tell()

        thread = threading.Thread(target=run, daemon=True, name="rushlight-tell")
        thread.start()
        self._telling = [t for t in self._telling if t.is_alive()] + [thread]

    # ------------------------------------------------------------------------------------------ messages

    def begin(self, key: bytes, call: bytes) -> None:
        """Say which call this process makes under a key. Raises DistBackendError where another one makes another."""
        self._last = (key, call, time.monotonic())
        with self._lock:
            problem = self._ledger.ours(key, call)
            failure = self._ledger.failure(key)
        if problem:
            self._tell_failure(key, problem)
        if failure:
            raise DistBackendError(failure)

    def fail(self, key: bytes, text: str) -> None:
        """Let every call of the key's group raise, here and in all processes."""
        with self._lock:
            self._ledger.fail(key, text)
            self._arrived.notify_all()
        self._alert()
        self._tell_failure(key, text)

    def _alert(self) -> None:
        alert = self.when_in_trouble
        if alert is not None:
            alert()

    def trouble(self, key: bytes, peers: Collection[int]) -> str | None:
        """Why a call that needs these peers cannot end: its group has failed, or one of them is gone; or None."""
        with self._lock:
            failure = self._ledger.failure(key) or next((self._obituary(p) for p in self._gone if p in peers), None)
            if not failure and self.is_star and HUB in self._dead:
                failure = self._obituary(HUB)
        if failure:
            notice()
        return failure

    def failure(self, key: bytes) -> str | None:
        """Why calls of the key's group raise, or None."""
        with self._lock:
            return self._ledger.failure(key)

    def _tell_failure(self, key: bytes, text: str) -> None:
        raw = np.frombuffer(text.encode(), np.uint8)

        def tell() -> None:
            for peer in self._peers:
                with suppress(DistBackendError):
                    self.send(peer, key, raw, kind=Kind.FAILURE)

        self._tell(tell)

    def exchange(self, key: bytes, text: str, timeout: timedelta) -> list[str]:
        """The texts of all processes, by rank: each of them has to call this."""
        everyone = range(self.size)
        own = np.frombuffer(text.encode(), np.uint8)
        if self.is_star and self.rank != HUB:
            self.send(HUB, key, own)
            return json.loads(zlib.decompress(self.receive(HUB, key, timeout, everyone)[2].tobytes()))
        if not self.is_star:
            for peer in everyone:
                if peer != self.rank:
                    self.send(peer, key, own)
        parts = [self.receive(peer, key, timeout, everyone)[2] if peer != self.rank else own for peer in everyone]
        texts = [part.tobytes().decode() for part in parts]
        if self.is_star:
            told = np.frombuffer(zlib.compress(json.dumps(texts).encode()), np.uint8)
            for peer in everyone[1:]:
                self.send(peer, key, told)
        return texts

    def announce(self, peer: int, key: bytes, call: bytes) -> None:
        """Send which call is made, without data, to a peer that would hear nothing else."""
        self.send(peer, key, _NOTHING, call, Kind.ANNOUNCEMENT)

    def send(self, peer: int, key: bytes, array: np.ndarray, note: bytes = b"", kind: Kind = Kind.DATA) -> None:
        """Send the bytes of a contiguous array. Raises DistBackendError when the peer is gone."""
        raw = array.reshape(-1).view(np.uint8)
        if peer == self.rank:
            with self._lock:
                self._inbox.deliver(peer, key, note, raw.copy())
                self._arrived.notify_all()
            return
        link = peer
        if peer not in self._peers:
            link, key, kind = HUB, ROUTE.pack(peer, self.rank, kind) + key, Kind.RELAYED
            if peer in self._gone:
                raise DistBackendError(self._obituary(peer))
        connection = self._peers[link]
        try:
            with self._sending[link]:
                connection.sendall(packed(kind, raw.size, key, note))
                connection.sendall(memoryview(raw))  # pyright: ignore[reportArgumentType]
        except BlockingIOError as error:
            raise DistBackendError(f"Timed out sending {raw.size} bytes to {self.name(peer)}") from error
        except OSError as error:
            with self._lock:  # the thread that reads may hear more of it
                self._arrived.wait_for(lambda: link in self._gone, _GRACE_S)
            raise DistBackendError(self.failure(key) or self.trouble(key, (link,)) or self._obituary(link)) from error

    def receive(
        self, peer: int | None, key: bytes, timeout: timedelta, members: Collection[int] = (), asks: bool = True
    ) -> tuple[int, bytes, np.ndarray]:
        """(sender, note, bytes) of the next message with this key, from one peer or (None) from any.

        members: other processes whose death ends the wait as well, since the sender may wait for them. asks: whether the
        error of a wait that takes too long says what each process does.

        Raises DistBackendError when the time is up, the peer is gone, or the processes' calls differ.
        """
        request = self.post(Request(peer, key))
        try:
            return self.wait(request, timeout, members, asks)
        except BaseException:
            with self._lock:
                self._inbox.withdraw(request)
            raise

    def post(self, request: Request) -> Request:
        """Ask for a message, to be waited for by `wait`."""
        with self._lock:
            self._inbox.post(request)
        return request

    def wait(
        self, request: Request, timeout: timedelta, members: Collection[int] = (), asks: bool = True
    ) -> tuple[int, bytes, np.ndarray]:
        """Wait for the message of a request, as `receive` does."""
        limit, peer, key = timeout.total_seconds(), request.peer, request.key

        def ready() -> bool:
            return bool(request.message) or self._nobody_left(peer) or self._ledger.failure(key) is not None

        with self._lock:
            self._arrived.wait_for(lambda: ready() or not self._dead.isdisjoint(members), limit)
            if not ready() and not self._dead.isdisjoint(members):
                self._arrived.wait_for(ready, min(limit, _GRACE_S))
            failure = self._ledger.failure(key)
            if failure and self._ledger.failed_later(key):  # other processes have ended this call: their messages come
                self._arrived.wait_for(lambda: bool(request.message) or self._nobody_left(peer), min(limit, _GRACE_S))
                failure = None if request.message else failure
            if request.message is not None and not failure:
                return request.message
            notice()
            if failure:
                raise DistBackendError(failure)
            needed = self._needed({*members, *((peer,) if peer is not None else range(self.size))})
            if self._nobody_left(peer) or not self._dead.isdisjoint(members):
                raise DistBackendError(self._obituary(next(p for p in self._gone if p in needed)))
        who = "any process" if peer is None else self.name(peer)
        raise DistBackendError(
            f"Timed out waiting {int(limit * 1000)}ms for recv operation to complete, from {who}"
            + (f". {self.last_calls()}" if asks else "")
        )

    def _nobody_left(self, peer: int | None) -> bool:
        if self.is_star and HUB in self._gone:
            return True
        return peer in self._gone if peer is not None else len(self._gone) == self.size - 1 > 0


def _received(connection: socket.socket, size: int, room: np.ndarray | None = None) -> np.ndarray:
    """The next `size` bytes, in `room`; else a large array grows with what arrives, not with what was announced."""
    if room is not None:
        _fill(connection, room)
        return room
    message, start = np.empty(min(size, _AT_ONCE), np.uint8), 0
    while True:
        _fill(connection, message[start:])
        start = message.size
        if start == size:
            return message
        message.resize(min(size, 2 * start), refcheck=False)


def _is_program(file: str) -> bool:
    """Whether a file is neither this package's nor one of Python's own library."""
    return "site-packages" in file.split(os.sep) or not file.startswith((*PACKAGE, _LIBRARY, "<frozen"))


def _limit(connection: socket.socket, timeout: timedelta) -> None:
    """Let a send to a process that takes nothing fail in the end, and the kernels ask each other whether they are there."""
    seconds, rest = divmod(timeout.total_seconds(), 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", int(seconds), int(rest * 1e6)))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 1), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 5)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _is_cut(connection: socket.socket) -> bool:
    """Whether something has waited for long to be acknowledged by the other host's kernel, or to be sent (Linux).

    Where this host has lost its address nothing is sent at all, though the other one has room for it.
    """
    if not hasattr(socket, "TCP_INFO"):
        return False
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
    except OSError:
        return False
    unacknowledged, last_ms, unsent, room = _INFO.unpack(info.ljust(_INFO.size, b"\0"))
    return last_ms > _CUT_MS and (unacknowledged > 0 or (unsent > 0 and room > 0))


def _fill(connection: socket.socket, message: np.ndarray) -> None:
    view = memoryview(message) if message.size else memoryview(b"")  # pyright: ignore[reportArgumentType]
    while view:
        got = connection.recv_into(view, 0, socket.MSG_WAITALL)
        if not got:
            raise EOFError("the other process closed the connection")
        view = view[got:]
