"""Whether two captures of one function say the same: what differs would go stale in a replay."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.tensor.storage import describe
from ..ir.graph import Call, Graph, Ref, Update, Value, Write
from .outputs import Constant, Made, Number, Outcome, Same, View
from .results import may_change
from .scalars_read import Computed, Read
from .sources import CaptureError
from .structure import same, same_plain


class Comparison:
    """Pairs the values of two graphs, in the order in which they appear."""

    def __init__(self) -> None:
        self.pairs: dict[Value, Value] = {}

    def graphs(self, a: Graph, b: Graph) -> None:
        """Raise CaptureError where the graphs differ."""
        if len(a.nodes) != len(b.nodes) or len(a.inputs) != len(b.inputs):
            self._lengths(a, b)
        for (v, s), (w, t) in zip(a.inputs.items(), b.inputs.items(), strict=True):
            if s.key() != t.key() or not self._same_value(v, w):
                raise CaptureError(f"one call reads {s!r}, the next call reads {t!r} instead.{_CARRIED}")
        for (v, x), (w, y) in zip(a.constants.items(), b.constants.items(), strict=False):
            self._same_value(v, w)
            if x.dtype != y.dtype or x.shape != y.shape or x.tobytes() != y.tobytes():
                where = next((_line(n) for n in b.nodes if any(r.value is w for r in n.reads())), None)
                raise CaptureError(
                    f"{describe(where)}: a tensor created from Python values holds {_brief(x)} in one call and {_brief(y)} "
                    f"in the next.{_WAY_OUT}"
                )
        for m, n in zip(a.nodes, b.nodes, strict=True):
            self._nodes(m, n)
        for (r, s), (q, t) in zip(a.outputs, b.outputs, strict=True):
            if s.key() != t.key() or not self._refs(r, q):
                raise CaptureError(f"two calls have different outputs: {s!r} and {t!r}.{_WAY_OUT}")

    def _lengths(self, a: Graph, b: Graph) -> None:
        for m, n in zip(a.nodes, b.nodes, strict=False):
            if _name(m) != _name(n):
                raise CaptureError(
                    f"{describe(_line(n))}: one call runs {_name(m)} here, the next call {_name(n)}.{_WAY_OUT}"
                )
        raise CaptureError(
            f"one call of the function runs {len(a.nodes)} operators on {len(a.inputs)} input tensors, the next call "
            f"{len(b.nodes)} on {len(b.inputs)}.{_WAY_OUT}"
        )

    def _same_value(self, v: Value, w: Value) -> bool:
        self.pairs[v] = w
        return v.shape == w.shape and v.dtype == w.dtype and v.strides == w.strides

    def _refs(self, r: Any, q: Any) -> bool:
        if not isinstance(r, Ref) or not isinstance(q, Ref):
            return same_plain(r, q)
        return self.pairs.get(r.value) is q.value and r[1:] == q[1:]

    def _nodes(self, m: Any, n: Any) -> None:
        if type(m) is not type(n) or _name(m) != _name(n):
            raise CaptureError(
                f"{describe(n.line)}: one call runs {_name(m)} here, the next call {_name(n)}.{_WAY_OUT}"
            )
        if isinstance(m, Call):
            pairs = [*zip(m.operands, n.operands, strict=False), *zip(m.metadata, n.metadata, strict=False)]
            fits = len(m.operands) == len(n.operands) and m.cast is n.cast
        elif isinstance(m, Write):
            pairs, fits = [(m.source, n.source)], m.target[1:] == n.target[1:]
            if not m.target.covers():  # else nothing reads what is replaced, and what made it may be gone
                pairs.append((m.target, n.target))
        else:
            pairs = [
                (x, y) for p, q in zip(m.lists, n.lists, strict=True) for x, y in zip(p or (), q or (), strict=False)
            ]
            pairs += [(m.options[k], n.options.get(k)) for k in m.options]
            fits = [p and len(p) for p in m.lists] == [q and len(q) for q in n.lists]
        for x, y in pairs:
            if not self._refs(x, y):
                raise CaptureError(
                    f"{describe(n.line)}: {_name(n)} gets {_brief(x)} in one call of the function and {_brief(y)} in the "
                    f"next.{_WAY_OUT}"
                )
        made = list(zip(m.writes(), n.writes(), strict=False))
        same_results = [self._same_value(v, w) for v, w in made]  # all of them: they are paired by it
        if not fits or not all(same_results):
            raise CaptureError(f"{describe(n.line)}: the arguments of {_name(n)} differ between two calls.{_WAY_OUT}")

    def outcomes(self, a: Outcome, b: Outcome) -> None:
        """Raise CaptureError where the results differ in more than their tensors' values."""
        if not same(a.template, b.template):
            raise CaptureError(f"two calls return different structures (of tuples, lists, dicts).{_WAY_OUT}")
        for x, y in zip(a.leaves, b.leaves, strict=True):
            if not same_spec(x, y):
                raise CaptureError(
                    f"the function returns {_brief(x)} in one call and {_brief(y)} in the next.{_RETURNED}"
                )
        for what in ("grads", "moved", "written", "assigned"):
            p, q = getattr(a, what), getattr(b, what)
            if [s.key() for s, _ in p] != [s.key() for s, _ in q]:
                raise CaptureError(f"two calls modify different tensors ({what}).{_WAY_OUT}")
        if [id(s) for _, s, _, _ in a.schedules] != [id(s) for _, s, _, _ in b.schedules]:
            raise CaptureError(f"two calls call step() of different learning-rate schedulers.{_WAY_OUT}")
        if sorted((id(m), now) for m, now in a.training) != sorted((id(m), now) for m, now in b.training):
            raise CaptureError(f"two calls call train() or eval() of different modules.{_WAY_OUT}")


_WAY_OUT = (
    " The compiled program would repeat the first call. Pass what changes from call to call as an argument, a tensor, "
    "or an option of an optimizer."
)
_CARRIED = (
    " Pass a tensor from one call to the next as an argument and a result of the function, or write it in place into one "
    "that exists."
)
_RETURNED = " Return a number that depends on the data as a tensor, or by .item() and arithmetic on it."


def same_spec(x: Any, y: Any) -> bool:
    """Whether two results are made in the same way."""
    if type(x) is not type(y):
        return False
    if isinstance(x, Same):
        return x.source.key() == y.source.key()
    if isinstance(x, Number):
        return _same_number(x.how, y.how)
    if isinstance(x, Made):
        same_view = (x.view is None) == (y.view is None) and x.inference is y.inference
        return (
            x.memory.key() == y.memory.key() and x[1:6] == y[1:6] and (x.grad is None) == (y.grad is None) and same_view
        )
    if isinstance(x, View):
        return x.record is y.record and same_plain(x.metadata, y.metadata) and same_spec(x.base, y.base)
    assert isinstance(x, Constant)
    return x.value is y.value or (not may_change(x.value) and same_plain(x.value, y.value))


def _same_number(x: Any, y: Any) -> bool:
    if isinstance(x, Read) or isinstance(y, Read):
        return x == y
    if isinstance(x, Computed) and isinstance(y, Computed):
        return x.function is y.function and all(map(_same_number, x.arguments, y.arguments))
    return same_plain(x, y)


def _line(node: Any) -> Any:
    return getattr(node, "line", None)


def _name(node: Any) -> str:
    if isinstance(node, Call):
        return node.record.name
    return (
        "a write"
        if isinstance(node, Write)
        else f"the update {node.update.__module__}"
        if isinstance(node, Update)
        else "?"
    )


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return str(value.tolist()) if value.size < 5 else f"an array {list(value.shape)}"
    if isinstance(value, Constant):
        return repr(value.value)
    return "another tensor" if isinstance(value, Ref) else repr(value)
