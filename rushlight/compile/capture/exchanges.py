"""Collectives become nodes of the graph."""

from __future__ import annotations

from typing import Any

from ...core.tensor.storage import describe
from ..ir.exchange import Begin, Effect, End, Exchange, Together
from ..ir.graph import Call, Node, Ref, Value
from .sources import CaptureError

__all__ = ["check_halves", "record_exchange"]

_RECORDS = {"whole": Exchange, "together": Together, "begin": Begin, "end": End, "effect": Effect}


def record_exchange(recorder: Any, kind: str, t: Any, step: Any, line: Any, out: Any = None) -> None:
    """Add what is about to be done to `t`, in place, or from `t` into `out`.

    kind: "whole"; "together", of a list of tensors; "begin" or "end" for its halves; "effect" for what is done to Python's
    objects, without a tensor.
    step: see `ir/exchange.py`; `writes` says whether it changes the tensor in this process, `condition`, (key, function), what
    has to hold where the call begins: the first one of a key counts.
    """
    recorder.conditions.setdefault(*step.condition)
    made = _RECORDS[kind](step)
    if t is None:
        recorder.graph.nodes.append(Call(made, (), (step.group,), None, (), line))
        return
    if kind == "together":
        _record_together(recorder, t, step, made, line)
        return
    target = t if out is None else out
    _check_size(target, step, line)
    operands = (recorder.ref(t, line, step.name),)
    place = recorder.ref(target, line, step.name)
    if kind == "end" and out is not None:
        operands = (place, *operands)  # what is sent has to stay until then
    elif kind == "end" and id(step) in recorder.begun:
        operands = (*operands, recorder.begun[id(step)])  # as has the memory that the first half works in
    result = _like(place) if step.writes else None
    recorder.graph.nodes.append(Call(made, operands, (step.group,), None, () if result is None else (result,), line))
    if result is not None:
        if kind == "begin":
            recorder.begun[id(step)] = result
        recorder.write(place, recorder.region(target, line), result, line)


def _check_size(tensor: Any, step: Any, line: Any) -> None:
    if not tensor._array.size:
        raise CaptureError(f"{describe(line)}: {step.name} of a tensor without elements cannot be compiled")


def _record_together(recorder: Any, tensors: list[Any], step: Any, made: Together, line: Any) -> None:
    for t in tensors:
        _check_size(t, step, line)
    places = [recorder.ref(t, line, step.name) for t in tensors]
    results = [_like(place) for place in places]
    recorder.graph.nodes.append(Call(made, tuple(places), (step.group,), None, tuple(results), line))
    for t, place, result in zip(tensors, places, results, strict=True):
        recorder.write(place, recorder.region(t, line), result, line)


def check_halves(nodes: list[Node]) -> None:
    """Raise CaptureError for a collective that begins and does not end."""
    ended = {id(n.record.step) for n in nodes if isinstance(n, Call) and isinstance(n.record, End)}
    for n in nodes:
        if isinstance(n, Call) and isinstance(n.record, Begin) and id(n.record.step) not in ended:
            raise CaptureError(
                f"{describe(n.line)}: wait() for {n.record.step.name} comes after the compiled function has returned"
            )


def _like(ref: Ref) -> Ref:
    """A window of the same geometry onto a new value, where there are no gaps in it."""
    return Value(ref.shape, ref.dtype, ref.strides if ref.covers() else None).ref()
