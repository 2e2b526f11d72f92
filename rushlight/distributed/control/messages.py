"""The form of a message between two processes: a head of fixed size, a key, a note, and data."""

from __future__ import annotations

import json
import struct
from enum import IntEnum

__all__ = ["CONTROL", "HEAD", "REASON", "Kind", "farewell", "packed"]

HEAD = struct.Struct("!BHHQ")  # kind, lengths of key, note and data
REASON = 2000  # characters of a reason
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


def packed(kind: Kind, size: int, key: bytes = CONTROL, note: bytes = b"") -> bytes:
    """What comes before `size` bytes of data."""
    return HEAD.pack(kind, len(key), len(note), size) + key + note


def farewell(reason: str, failed: bool) -> bytes:
    """The data of a message of that kind."""
    return json.dumps([reason[:REASON], failed]).encode()
