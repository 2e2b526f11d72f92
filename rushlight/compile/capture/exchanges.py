"""Collectives become nodes of the graph."""

from __future__ import annotations

from typing import Any

from ...core.tensor.storage import describe
from ..ir.exchange import Begin, Effect, End, Exchange
from ..ir.graph import Call, Ref, Value
from .sources import CaptureError

__all__ = ["record_exchange"]

_RECORDS = {"whole": Exchange, "begin": Begin, "end": End, "effect": Effect}


def record_exchange(recorder: Any, kind: str, t: Any, step: Any, line: Any) -> None:
    """Add what is about to be done to `t`, in place.

    kind: "whole"; "begin" or "end" for its halves; "effect" for what is done to Python's objects, without a tensor.
    step: see `ir/exchange.py`; `writes` says whether it changes the tensor in this process, `condition`, (key, function), what
    has to hold where the call begins: the first one of a key counts.
    """
    recorder.conditions.setdefault(*step.condition)
    made = _RECORDS[kind](step)
    if t is None:
        recorder.graph.nodes.append(Call(made, (), (step.group,), None, (), line))
        return
    if not t._array.size:
        raise CaptureError(f"{describe(line)}: {step.name} of a tensor without elements cannot be compiled")
    source = recorder.ref(t, line, step.name)
    result = _like(source) if step.writes else None
    recorder.graph.nodes.append(Call(made, (source,), (step.group,), None, () if result is None else (result,), line))
    if result is not None:
        recorder.write(source, recorder.region(t, line), result, line)


def _like(ref: Ref) -> Ref:
    """A window of the same geometry onto a new value, where there are no gaps in it."""
    return Value(ref.shape, ref.dtype, ref.strides if ref.covers() else None).ref()
