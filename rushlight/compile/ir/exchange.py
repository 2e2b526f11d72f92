"""Exchanges with other processes in a graph.

Such a call is made once in each run, in its place among the others: no pass may leave it out, join it with another one or
change their order, since the other processes make theirs in the same order. It works in the memory of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...backend.onednn.address import address
from .graph import Call, Node, Value

__all__ = [
    "Begin",
    "Effect",
    "End",
    "Exchange",
    "Together",
    "assigned_by",
    "described",
    "exchanged_by",
    "exchanges_of",
    "is_among_several",
    "is_exchange",
    "join_halves",
    "overwritten",
]


_SHOWN = 8  # sizes that are told one by one


class Exchange:
    """Stand-in for an operator's record: `step.act(array)` is a whole collective, in the array's memory.

    step: what the distributed package gave to the recorder: `name` and `group` say what is exchanged; its `condition` is
    among the guards of the program. `is_alike`: all processes have the same then. `output`: shape and type of a result in
    other memory, `step.act(array, out)`, or None. runs: how often it has been made. joined: of halves, the first one does all.
    """

    kind, promote, view, draws = "exchange", None, False, ""
    has_begun = False  # whether it may be under way after a run that failed
    joined = False

    def __init__(self, step: Any):
        self.step, self.name, self.runs = step, step.name, 0
        self.kernel = self.reference = self._copied

    def invoke(self, f: Callable, arrays: Sequence, metadata: tuple) -> Any:
        return f(*arrays)

    def _copied(self, *arrays: np.ndarray) -> Any:
        """As a kernel: the result has memory of its own."""
        if not arrays:
            return self.make()
        if self.step.output is None or isinstance(self, End):
            out = np.array(arrays[0], order="K", copy=True)
        else:
            out = np.empty(*self.step.output)
        self.make(*arrays, out)
        return out

    def make(self, *arrays: np.ndarray) -> Any:
        """Make it, from the first array into the last, which may be the same memory; from a single one, in this one."""
        self.runs += 1
        self.step.act(*self._at(*arrays))

    def _at(self, source: np.ndarray, out: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        """What the step works on."""
        if out is None:
            return (source,)
        if self.step.output is not None:
            return source, out
        _copy(out, source)
        return (out,)


class Together(Exchange):
    """One collective in the memory of several arrays: the first half of what it is given are operands, the others results."""

    def _copied(self, *arrays: np.ndarray) -> Any:
        out = tuple([np.array(array, order="K", copy=True) for array in arrays])
        self.make(*arrays, *out)
        return out

    def make(self, *arrays: np.ndarray) -> Any:
        self.runs += 1
        n = len(arrays) // 2
        for source, out in zip(arrays, arrays[n:], strict=False):
            _copy(out, source)
        self.step.act(*arrays[n:])


class Begin(Exchange):
    """The first half: `step.start(array)` lets a thread carry it out, in the memory of the result."""

    def __init__(self, step: Any):
        super().__init__(step)
        self.name = "reduce_begin" if step.is_bucket else f"{step.name} begins"

    def make(self, *arrays: np.ndarray) -> Any:
        if self.joined:
            return super().make(*arrays)
        self.runs += 1
        self.step.start(*self._at(*arrays))

    @property
    def has_begun(self) -> bool:  # type: ignore[override]
        return self.step.is_under_way()


class End(Exchange):
    """The second half: `step.wait()` gives the result."""

    def __init__(self, step: Any):
        super().__init__(step)
        self.name = "reduce_end" if step.is_bucket else f"{step.name} ends"

    def make(self, *arrays: np.ndarray) -> Any:
        out = arrays[-1]
        _copy(out, arrays[0] if self.joined else self.step.wait().reshape(out.shape))


def join_halves(nodes: list[Node]) -> None:
    """Let a first half do all where the second one comes next: another thread would have to be woken twice."""
    for node, after in pairwise(nodes):
        begin, end = (n.record if isinstance(n, Call) else None for n in (node, after))
        if isinstance(begin, Begin) and isinstance(end, End) and begin.step is end.step:
            begin.joined = end.joined = True


class Effect(Exchange):
    """What is done to Python's objects in each run: `step.act()`. `step.assigns`: which entries of dicts, as (dict, key)."""

    def make(self, *arrays: np.ndarray) -> Any:
        self.step.act()
        return ()


def _copy(out: np.ndarray, source: np.ndarray) -> None:
    if source is not out and (address(source) != address(out) or source.strides != out.strides):
        np.copyto(out, source)


def described(nodes: Iterable[Node]) -> str:
    """What nodes exchange with other processes: how many buckets, other collectives by name, and bytes of each."""
    buckets: list[int] = []
    others: dict[str, list[int]] = {}
    for n in nodes:
        if isinstance(n, Call) and isinstance(n.record, Exchange) and n.operands:
            if isinstance(n.record, End):
                continue
            sent = n.operands if isinstance(n.record, Together) else n.operands[:1]
            size = sum(ref.size * ref.dtype.itemsize for ref in sent)  # type: ignore[union-attr]
            if n.record.step.is_bucket:
                buckets.append(size)
            else:
                others.setdefault(n.record.step.name, []).append(size)
    parts = [f"{len(buckets)} bucket{'s' * (len(buckets) != 1)} of gradients ({_bytes(buckets)})"] if buckets else []
    parts += [f"{len(sizes)} {name} ({_bytes(sizes)})" for name, sizes in others.items()]
    return ", ".join(parts)


def _bytes(sizes: list[int]) -> str:
    shown = ", ".join(f"{size:,}" for size in sizes[:_SHOWN])
    more = f", ... {sum(sizes):,} in all" if len(sizes) > _SHOWN else ""
    return f"{shown}{more} bytes"


def is_exchange(node: Node) -> bool:
    """Whether a node is one of the calls of this file."""
    return isinstance(node, Call) and node.record.kind == "exchange"


def exchanges_of(nodes: Iterable[Node]) -> list[Any]:
    """The records of the nodes that are exchanges."""
    return [n.record for n in nodes if isinstance(n, Call) and n.record.kind == "exchange"]


def assigned_by(nodes: Iterable[Node]) -> set[tuple[int, str]]:
    """The entries of dicts that effects assign, as (identity of the dict, key)."""
    effects = [record for record in exchanges_of(nodes) if isinstance(record, Effect)]
    return {(id(table), key) for effect in effects for table, key in effect.step.assigns}


def is_among_several(node: Node) -> bool:
    """Whether a node is a collective of more than one process, or half of one."""
    record = node.record if isinstance(node, Call) else None
    return isinstance(record, Exchange) and not isinstance(record, Effect) and record.step.group.size() > 1


def exchanged_by(node: Node) -> list[Value]:
    """The values that all processes have alike after a node: where there are several, and it is not a first half."""
    if not isinstance(node, Call) or not is_among_several(node) or isinstance(node.record, Begin):
        return []
    sent: Any = node.operands  # of one that broadcasts
    return [ref.value for ref in node.results or sent] if node.record.step.is_alike else []  # pyright: ignore[reportAttributeAccessIssue]


def overwritten(node: Call) -> dict[Value, Value]:
    """The values of results and those of the operands whose memory they may take, where they are of one geometry."""
    record = node.record
    if not node.results or not isinstance(record, Exchange) or (record.step.output and not isinstance(record, End)):
        return {}
    pairs = zip(node.operands, node.results, strict=False)  # halves have further operands, whose memory has to stay
    return {new.value: old.value for old, new in pairs if _is_alike(old, new)}


def _is_alike(old: Any, new: Any) -> bool:
    whole = old.is_whole() and new.is_whole() and old.shape == new.shape and old.strides == new.strides
    return whole and old.dtype == new.dtype
