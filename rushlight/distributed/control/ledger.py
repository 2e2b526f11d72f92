"""Which collective each process makes under which key: all of a group have to make the same."""

from __future__ import annotations

from itertools import islice

__all__ = ["Ledger"]

REMEMBERED = 4096  # calls, for processes that lag behind
_AT_ONCE = 64  # of them are forgotten: one after the other takes as long as noting them


class Ledger:
    """This process's calls, and those of others that came first. Keys: `group#number`, perhaps followed by `/part`.

    A call is text: the operation with its options, dtype and shape. A group in which two calls differ has failed, for
    good: it is unknown which of its later messages belong together. Not safe for threads by itself.
    """

    def __init__(self, rank: int):
        self._rank = rank
        self._ours: dict[bytes, bytes] = {}
        self._early: dict[bytes, dict[int, bytes]] = {}
        self._failures: dict[bytes, tuple[int, str]] = {}  # group: the number of the call that failed, and why
        self._forgotten: dict[bytes, int] = {}  # group: calls up to this number are no longer remembered

    def ours(self, key: bytes, call: bytes) -> str | None:
        """Note this process's call. Returns the text of a failure that this shows, or None."""
        if b"/" in key:
            key = _call_of(key)
        self._ours[key] = call
        if len(self._ours) > REMEMBERED:
            self._forget()
        if key in self._early:
            for peer, theirs in self._early.pop(key).items():
                if theirs != call:
                    return self._differ(key, call, peer, theirs)
        return None

    def _forget(self) -> None:
        """Drop the oldest calls."""
        oldest = list(islice(self._ours, _AT_ONCE))
        for key in oldest:
            del self._ours[key]
        last = {group: number for group, _, number in [key.partition(b"#") for key in oldest]}  # they are in order
        for group, number in last.items():
            self._forgotten[group] = max(int(number), self._forgotten.get(group, -1))

    def theirs(self, peer: int, key: bytes, note: bytes) -> str | None:
        """Note another process's call. Returns the text of a failure that this shows, or None."""
        if not note or b"#" not in key:
            return None
        key, call = _call_of(key), note.partition(b"\0")[0]
        ours = self._ours.get(key)
        if ours is None:
            group, _, number = key.partition(b"#")
            if int(number) > self._forgotten.get(group, -1):
                self._early.setdefault(key, {})[peer] = call
            return None
        return None if ours == call else self._differ(key, ours, peer, call)

    def fail(self, key: bytes, text: str) -> None:
        """Note that the key's group has failed."""
        self._failures.setdefault(_group_of(key), (_number_of(key), text))

    def failure(self, key: bytes) -> str | None:
        """Why the key's group has failed, or None. Messages between two processes are not concerned."""
        known = self._failures.get(_group_of(key)) if self._failures and b"#" in key else None
        return None if known is None else known[1]

    def failed_later(self, key: bytes) -> bool:
        """Whether it was a later call than the key's with which the group failed: what is sent for this one is still right."""
        known = self._failures.get(_group_of(key))
        return known is not None and _number_of(key) < known[0]

    def _differ(self, key: bytes, ours: bytes, peer: int, theirs: bytes) -> str | None:
        group, _, number = key.decode(errors="replace").partition("#")
        first, second = sorted([(self._rank, ours.decode()), (peer, theirs.decode(errors="replace"))])
        text = (
            f"the processes make different collective calls (number {number} of group {group}): process {first[0]} calls "
            f"{first[1]}, process {second[0]} calls {second[1]}. The group cannot be used any more."
        )
        known = _group_of(key) in self._failures
        self.fail(key, text)
        return None if known else text


def _call_of(key: bytes) -> bytes:
    return key.partition(b"/")[0]


def _number_of(key: bytes) -> int:
    number = _call_of(key).partition(b"#")[2]
    return int(number) if number.isdigit() else -1


def _group_of(key: bytes) -> bytes:
    return key.partition(b"#")[0]
