"""When a program of a backward pass pays: estimates from its tape alone.

They look at no clock: what a seed prints must not depend on how busy the machine was, and a program's results differ from
the plain engine's by rounding.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

__all__ = ["Price", "price_of"]

# Milliseconds. Seen on a Xeon of 2023: 1.4 to 3 for a node, 5 for one of a convolutional network, 3 for a recurrent step; on a
# Zen 4 of 2024, with the compiler loaded: 1.4 to 1.7 for a node, which the plain engine runs in 9 to 13 us.
_MAKE_NODE, _MAKE_STEP = 1.8, 3.0
_RUN_NODE, _RUN_BYTE = 0.01, 1e-6  # of the plain engine: a call, and a byte that it reads and computes with
_SAVED_NODE, _SAVED_BYTE = 0.8, 0.4  # what part of both a program saves. Seen: small tensors 0.8 to 0.9 of a pass
_SHORT = 64  # nodes


class Price(NamedTuple):
    """weight: making it, in programs of short tapes. repaid: uses that save what making it took.

    patience: passes to wait between the two that are recorded. A short tape's program is made at once, where the thread has
    others, since a loop is to be fast from its first steps on; a long one's after plain passes that took half of what
    making it will.
    """

    weight: float
    patience: int
    repaid: int


def price_of(nodes: int, steps: int, kept_bytes: int) -> Price:
    """nodes: of the tape; steps: that its recurrent layers write out; kept_bytes: of memory that it holds."""
    make = _MAKE_NODE * nodes + _MAKE_STEP * steps
    run = _RUN_NODE * (nodes + steps) + _RUN_BYTE * kept_bytes
    weight = max(1.0, make / (_MAKE_NODE * _SHORT))
    saved = _SAVED_NODE * _RUN_NODE * (nodes + steps) + _SAVED_BYTE * _RUN_BYTE * kept_bytes
    return Price(weight, 1 if weight == 1 else max(1, int(make / run / 2)), ceil(make / saved))
