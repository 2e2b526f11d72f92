"""Messages that have come, and requests for messages that have not: each message goes to the first request that it fits.

Messages of one sender and key keep their order, and so do requests. Not safe for threads by itself.
"""

from __future__ import annotations

from collections import deque

import numpy as np

__all__ = ["Inbox", "Request"]


class Request:
    """Waits for a message with a key, of one sender or (None) of any; `message` is (sender, note, bytes) then.

    into: where the bytes may be written as they come, if there are as many and the note begins with `label`.
    """

    __slots__ = ("into", "key", "label", "message", "peer")

    def __init__(self, peer: int | None, key: bytes, into: np.ndarray | None = None, label: bytes = b""):
        self.peer, self.key, self.into, self.label = peer, key, into, label
        self.message: tuple[int, bytes, np.ndarray] | None = None

    def room(self, note: bytes, size: int) -> np.ndarray | None:
        """The memory for a message that is about to come, or None."""
        fits = self.into is not None and self.into.size == size and note.partition(b" ")[0] == self.label
        return self.into if fits else None


class Inbox:
    """Messages by sender and key, and requests by key."""

    def __init__(self) -> None:
        self.messages: dict[tuple[int, bytes], deque[tuple[bytes, np.ndarray]]] = {}
        self._requests: dict[bytes, list[Request]] = {}

    def post(self, request: Request) -> None:
        """Serve a request at once, or when a message comes."""
        if request.peer is None:
            found = min((place for place in self.messages if place[1] == request.key), default=None)
        else:
            place = (request.peer, request.key)
            found = place if place in self.messages else None
        if found is None:
            self._requests.setdefault(request.key, []).append(request)
            return
        queue = self.messages[found]
        request.message = (found[0], *queue.popleft())
        if not queue:
            del self.messages[found]

    def claim(self, peer: int, key: bytes) -> Request | None:
        """The request that the next message of a sender fits; it is no longer among those that wait."""
        waiting = self._requests.get(key, ())
        found = next((request for request in waiting if request.peer in (None, peer)), None)
        if found is not None:
            self.withdraw(found)
        return found

    def withdraw(self, request: Request) -> None:
        """Serve a request no more."""
        waiting = self._requests.get(request.key, [])
        if request in waiting:
            waiting.remove(request)
            if not waiting:
                del self._requests[request.key]

    def deliver(self, peer: int, key: bytes, note: bytes, message: np.ndarray, request: Request | None = None) -> None:
        """A message has come: for the request that it has claimed, for one that was made since, or to be kept."""
        request = request or self.claim(peer, key)
        if request is not None:
            request.message = (peer, note, message)
        else:
            self.messages.setdefault((peer, key), deque()).append((note, message))
