"""What a run that ends with an error has changed by then, so that it can be taken back.

Operators may refuse values: a target out of range, a singular matrix. A program writes parameters and statistics where
they are and draws first, in another order than eager calls do. After an error everything is put back as it was before
the call, and the function runs eagerly: its error, and what it leaves behind, are then those of eager calls.

What has to be put back is copied before each run, so only up to `MOST_BYTES`. A loss that follows its call's own update of
a large network (a GAN's second half) would need all its parameters and moments twice: 37 MB and 2 % of the DCGAN step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...core.random import Generator, default_generator
from ..ir.exchange import exchanges_of
from ..ir.graph import Call, Node, Value
from ..ir.may_raise import may_refuse

MOST_BYTES = 1 << 20  # a tenth of a millisecond of copying


class Undone(Exception):
    """A run ended with `error`, and nothing is changed."""

    def __init__(self, error: Exception):
        super().__init__(str(error))
        self.error = error


class Undo:
    """inputs, outputs: which arrays of a run may have been written before its last error can occur."""

    def __init__(self, inputs: Iterable[int] = (), outputs: Iterable[int] = (), generators: Iterable[Generator] = ()):
        self.inputs, self.outputs = sorted(set(inputs)), sorted(set(outputs))
        self.generators = list(generators)

    def remember(self, arrays: list[np.ndarray], reuse: list) -> tuple:
        """The arrays as they are and the random streams; memory of gradients that an error would leave half written is
        not lent."""
        if not (self.inputs or self.outputs or self.generators):
            return (), ()
        for i in self.outputs:
            reuse[i] = None
        return [arrays[i].copy(order="K") for i in self.inputs], [g.snapshot() for g in self.generators]

    def put_back(self, arrays: list[np.ndarray], before: tuple, error: Exception) -> Exception:
        """Make everything as it was; what to raise."""
        kept, streams = before
        for i, a in zip(self.inputs, kept, strict=True):
            np.copyto(arrays[i], a)
        for g, stream in zip(self.generators, streams, strict=True):
            g.restore(stream)
        return Undone(error)


class Final(Undo):
    """Too much would have to be remembered: an error is the program's own, and what is written stays."""

    def put_back(self, arrays: list[np.ndarray], before: tuple, error: Exception) -> Exception:
        error.add_note(
            "raised in a compiled function after it had updated parameters: the updates are kept, and gradients, running "
            "statistics and the random generator may differ from those after an eager call"
        )
        return error


class Shared(Undo):
    """Of a program that exchanges data with other processes: once it has, a second run would exchange again.

    An error before that is taken back as `own` says; a later one is the program's own.
    """

    def __init__(self, own: Undo, exchanges: list[Any]):
        super().__init__(own.inputs, own.outputs, own.generators)
        self.own, self.exchanges = own, exchanges

    def _runs(self) -> int:
        return sum(e.runs for e in self.exchanges)

    def remember(self, arrays: list[np.ndarray], reuse: list) -> tuple:
        return self._runs(), self.own.remember(arrays, reuse)

    def put_back(self, arrays: list[np.ndarray], before: tuple, error: Exception) -> Exception:
        runs, kept = before
        for exchange in self.exchanges:
            if exchange.has_begun:  # its thread writes into the program's memory
                exchange.step.give_up()
        if self._runs() == runs:
            return self.own.put_back(arrays, kept, error)
        error.add_note(
            "raised in a compiled function after it had exchanged data with other processes: what it has written by then is "
            "kept, and gradients, running statistics and the random generator may differ from those after an eager call"
        )
        return error


def plan(nodes: list[Node], checks: Iterable[int], place: Callable[[Value], tuple[str, int] | None]) -> Undo:
    """The `Undo` of a list of nodes. checks: nodes that are followed by a check; place: ("input" or "output", index)."""
    own, exchanges = _plan(nodes, checks, place), exchanges_of(nodes)
    return Shared(own, exchanges) if exchanges else own


def _plan(nodes: list[Node], checks: Iterable[int], place: Callable[[Value], tuple[str, int] | None]) -> Undo:
    last = max(checks, default=-1)
    calls = [i for i, n in enumerate(nodes) if may_refuse(n)]
    before = max(calls, default=-1)  # what such a call itself writes is written when it has succeeded
    done = [n for i, n in enumerate(nodes) if i <= last or i < before]
    written = {p: _bytes(v) for n in done for v in n.writes() if (p := place(v)) is not None}
    if sum(written.values()) > MOST_BYTES:
        return Final()
    return Undo(
        (i for kind, i in written if kind == "input"),
        (i for kind, i in written if kind == "output"),
        generators_of(done),
    )


def _bytes(value: Value) -> int:
    return math.prod(value.shape) * value.dtype.itemsize


def generators_of(nodes: Iterable[Node]) -> list[Generator]:
    """The random streams that nodes draw from, each once."""
    draws = [n for n in nodes if isinstance(n, Call) and n.record.draws]
    found = [g for n in draws for g in [v for v in n.metadata if isinstance(v, Generator)] or [default_generator]]
    return list({id(g): g for g in found}.values())
