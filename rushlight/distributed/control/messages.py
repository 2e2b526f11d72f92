"""The form of a message between two processes: a head of fixed size, a key, a note, and data."""

from __future__ import annotations

import json
import struct
from enum import IntEnum

__all__ = ["CONTROL", "HEAD", "HUB", "REASON", "ROUTE", "Kind", "farewell", "packed"]

HEAD = struct.Struct("!BHHQ")  # kind, lengths of key, note and data
ROUTE = struct.Struct("!IIB")  # to whom, from whom, which kind of message
REASON = 2000  # characters of a reason
HUB = 0  # the process to which all others are connected, where there are too many for connections between each two
CONTROL = b"control"  # the key of messages about processes, not calls


class Kind(IntEnum):
    """What a message is: those after FAILURE are about processes, and have texts."""

    DATA = 0
    ANNOUNCEMENT = 1  # which call is made, without data
    FAILURE = 2  # why the calls of a group raise from now on
    FAREWELL = 3  # the sender leaves: [why, whether by an error]
    DEATH = 4  # another process has died: [its rank, why]
    QUESTION = 5  # what the receiver does
    ANSWER = 6
    RELAYED = 7  # between two processes that have no connection, through the hub: the key begins with a `ROUTE`
    NEWS = 8  # from the hub: those who are gone, [[rank, why, whether by an error], ...]
    ROSTER = 9  # from the hub, compressed: what each process says of itself


def packed(kind: Kind, size: int, key: bytes = CONTROL, note: bytes = b"") -> bytes:
    """What comes before `size` bytes of data."""
    return HEAD.pack(kind, len(key), len(note), size) + key + note


def farewell(reason: str, failed: bool) -> bytes:
    """The data of a message of that kind."""
    return json.dumps([reason[:REASON], failed]).encode()
