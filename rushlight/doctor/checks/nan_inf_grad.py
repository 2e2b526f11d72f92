"""The first value that is not finite: which operator made it, at which line, from what."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.dispatch.inplace import CopySlices
from ...core.dispatch.mode import thread
from ...core.tensor.node import Freed, Leaf, Output
from ...core.tensor.tensor import Tensor, constant
from ..events import Backward
from ..ledger import FLOATING, Entry
from ..places import Place, only_place_of
from ..tape import Tape, name_of
from . import Check

_WHY = {
    "log": "log(0) is -inf, and its gradient 1/0: add a small number, or clamp the input from below",
    "log2": "log2(0) is -inf: add a small number, or clamp the input from below",
    "log10": "log10(0) is -inf: add a small number, or clamp the input from below",
    "sqrt": "the gradient of sqrt at 0 is infinite: sqrt(x + 1e-8)",
    "rsqrt": "1/sqrt(0) is infinite: rsqrt(x + 1e-8)",
    "div": "a division by zero: add a small number to the denominator",
    "reciprocal": "a division by zero: add a small number to the denominator",
    "pow": "a power of 0 with an exponent below 1 has an infinite gradient: add a small number to the base",
    "exp": "exp overflows above 88 in float32: subtract the maximum first, or clamp",
    "norm": "the gradient of a norm at 0 is not defined: add a small number inside, or use the squared norm",
    "vector_norm": "the gradient of a norm at 0 is not defined: add a small number inside, or use the squared norm",
    "linalg_vector_norm": "the gradient of a norm at 0 is not defined: add a small number inside, or use the squared norm",
    "where": "the branch that is not taken is computed too, and 0 * inf is nan in its gradient: make its input safe first",
    "acos": "the gradient of acos at 1 is infinite: clamp the input to inside (-1, 1)",
    "asin": "the gradient of asin at 1 is infinite: clamp the input to inside (-1, 1)",
    "std": "the gradient of std of equal values is not defined: add a small number",
    "var": "the variance of one value is not defined: use correction=0, or larger batches",
}


_GROWING = frozenset(
    ("add", "sub", "mul", "linear", "addmm", "mm", "matmul", "bmm", "baddbmm", "convolution", "sum", "mean", "mse_loss")
)
"""Operators whose results are infinite for finite inputs only where these are huge."""

_ELSE = "look at this operator's inputs: a logarithm or root of 0, 0/0, an overflow"
_EACH = 100  # backwards whose gradients are all looked at; later every fourth, and each loss

_LOOKS = 4  # backwards after the first that is not finite, in which its line is looked for


@dataclass
class _Found:
    """What was found. kinds: of the tape, index: of the node in it, looks: at later backwards."""

    kinds: int
    backward: Place
    name: str
    message: str
    step: int
    index: int = 0
    looks: int = 0


class NanInfGrad(Check):
    """Told at once, from the tape of that very backward, the first time only: after it everything is nan."""

    name = "nan-inf-grad"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.done = False
        self.looks = 0
        self.was_whole = True  # the last look
        self.kept: list[tuple[Any, Any]] = []
        self.waiting: _Found | None = None  # for its line

    def on_before_backward(self, event: Backward) -> None:
        self.kept = []
        if not self.done and event.tape is not None and not event.scaled:
            self.kept = [(node, _saved_of(node)) for node in event.tape.nodes]

    def on_failed(self, event: Backward, error: BaseException) -> None:
        self.kept = []

    def on_backward(self, event: Backward) -> None:
        if self.waiting is not None:
            self._look_for_line(event, self.waiting)
        kept, self.kept = self.kept, []
        if self.done or event.tape is None or event.scaled or not kept:
            return
        self.looks += 1
        whole = self.looks <= _EACH or self.looks % 4 == 0
        was_whole, self.was_whole = self.was_whole, whole
        broken = []
        if whole and not _is_sum_finite(event.entries):
            broken = [e for e in event.entries if not _is_finite(e.ref())]
        loss_is_finite = all(_all_finite(t._array) for t in event.roots)
        if loss_is_finite and not broken:
            return
        if not all(_all_finite(t._array) for leaf in event.tape.leaves if (t := leaf.ref()) is not None):
            self.done = True  # the parameters were broken before: by the step, or by what was loaded
            self.doctor.emit("not_finite", event)
            if not was_whole and not event.explained:
                self.doctor.report(
                    self,
                    event.place,
                    f"parameters are not finite here: a gradient of the step before was not, at or after step {self.doctor.steps}",
                    _ELSE,
                    after=1,
                )
            return
        self.done = True
        self.doctor.emit("not_finite", event)
        if event.explained:
            return
        if not loss_is_finite:
            found = _first_in_forward(event.tape, kept, _all_finite)
        elif any(
            not _has_no_nan(a) for _, saved in kept for a in _arrays(saved)
        ):  # hidden by a mask; infinities may be meant
            found = _first_in_forward(event.tape, kept, _has_no_nan)
        else:
            found = _first_in_backward(event, kept)
        node, said, what = found if found is not None else (None, "", "")
        if not loss_is_finite and node is not None and _has_overflowed(node, said, kept):
            self.doctor.emit("overflow", event)
            if event.explained:
                return
        place: Place | None = None if node is None else self.doctor.lines.of(node, event.tape)
        name = "" if node is None else name_of(node)
        where = "the loss" if not loss_is_finite else f"the gradient of {broken[0].label}"
        message = f"{where} is not finite from here on"
        if node is not None:
            message += f": {what} of {node.name()} {said}"
        finding = _Found(event.kinds, event.place, name, message, self.doctor.steps + 1)
        if place is None and node is not None and not self.doctor.lines.known.get(event.kinds):
            finding.index = event.tape.nodes.index(node)
            self.waiting = finding  # the next step, which is nan throughout, shows the line
        else:
            self._tell(finding, place)

    def _look_for_line(self, event: Backward, waiting: _Found) -> None:
        known = self.doctor.lines.known.get(waiting.kinds)
        waiting.looks += 1
        if known or waiting.looks >= _LOOKS:
            self.waiting = None
            self._tell(waiting, known[waiting.index] if known else None)

    def finish(self) -> None:
        if self.waiting is not None:
            self._tell(self.waiting, None)

    def _tell(self, found: _Found, place: Place | None) -> None:
        name = found.name
        place = place or (only_place_of(name.partition(".")[0], found.backward) if name else None)
        told = self.doctor.report(
            self,
            place or found.backward,
            found.message,
            _WHY.get(name, _ELSE),
            [(found.backward, "the backward")],
            after=1,
        )
        if told is not None:
            told.first_step = found.step


def _is_sum_finite(entries: list[Entry]) -> bool:
    """Whether the sum of the squares of all gradients is finite: one look for what is nearly always so."""
    with np.errstate(all="ignore"):
        return _sum_is_finite(entries)


def _sum_is_finite(entries: list[Entry]) -> bool:
    total = 0.0
    for entry in entries:
        tensor = entry.ref()
        grad = None if tensor is None else tensor._grad
        array = None if grad is None else grad._array
        if type(array) is not np.ndarray or array.dtype.kind != "f" or not array.flags.c_contiguous:
            return False
        flat = array.reshape(-1)
        total += float(flat.dot(flat))
    return math.isfinite(total)


def _is_finite(tensor: Any) -> bool:
    return tensor is None or tensor._grad is None or _all_finite(tensor._grad._array)


def _all_finite(array: Any) -> bool:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in FLOATING:
        return True
    if array.size == 1 and array.dtype.kind == "f":
        return math.isfinite(array.item())
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        with np.errstate(all="ignore"):
            if flat.dtype.kind == "f" and math.isfinite(float(flat.dot(flat))):
                return True
    return bool(np.isfinite(array).all())


def _has_no_nan(array: np.ndarray) -> bool:
    return _all_finite(array) or not np.isnan(array).any()


def _arrays(saved: Any) -> list[np.ndarray]:
    if not isinstance(saved, tuple):
        return []
    arrays = [v._array if isinstance(v, Tensor) else v for v in saved]
    return [a for a in arrays if isinstance(a, np.ndarray) and a.dtype.kind in FLOATING]


def _first_in_forward(tape: Tape, kept: list, is_good: Callable[[np.ndarray], bool]) -> tuple[Any, str, str] | None:
    """The earliest node whose result is not finite: one whose user saved it so, while all that it saved itself is finite."""
    earliest = None
    for node, saved in kept:  # latest first
        op = getattr(node, "op", None)
        names = type(node).saved_names
        broken_inputs = []
        for name, value in zip(names, saved if isinstance(saved, tuple) else (), strict=False):
            array = value._array if isinstance(value, Tensor) else value
            if not isinstance(array, np.ndarray) or array.dtype.kind not in FLOATING or is_good(array):
                continue
            if name.startswith("out"):
                earliest = node, f"is {_kind_of(array)}", "the result"
            else:
                broken_inputs.append((name, array))
        for name, array in broken_inputs:
            i = op.signature.arrays.index(name) if op is not None and name in op.signature.arrays else -1
            edge = node.edges[i] if 0 <= i < len(node.edges) else None
            maker = edge.edges[0] if type(edge) is Output else edge
            if maker is not None and type(maker) is not Leaf:
                earliest = maker, f"is {_kind_of(array)}", "the result"
    if earliest is None and kept:  # nothing that was saved is broken: look for an operator that breaks finite inputs
        return _breaker(kept) or (kept[0][0], "is not finite", "the result")
    if (
        earliest is not None and name_of(earliest[0]).partition(".")[0] in _GROWING
    ):  # its inputs may not have been saved
        before = set(Tape([earliest[0]]).nodes)
        return _breaker([(node, saved) for node, saved in kept if node in before]) or earliest
    return earliest


def _has_overflowed(node: Any, said: str, kept: list) -> bool:
    """Whether huge numbers are why a node's result is not finite.

    Infinity minus infinity is nan, and whether a sum meets it depends on the processor's order of adding: so nan counts
    too where finite numbers have only been added, multiplied and moved.
    """
    if name_of(node).partition(".")[0] not in _GROWING:
        return False
    return said == "is infinite" or (said == "is nan" and _only_grows(node, kept))


def _only_grows(node: Any, kept: list) -> bool:
    before = set(Tape([node]).nodes)
    for each, saved in kept:
        if each not in before:
            continue
        op = getattr(each, "op", None)
        if name_of(each).partition(".")[0] not in _GROWING and not (op is not None and op.view):
            return False
        values = saved if isinstance(saved, tuple) else ()
        for name, value in zip(type(each).saved_names, values, strict=False):
            i = op.signature.arrays.index(name) if op is not None and name in op.signature.arrays else -1
            given = 0 <= i < len(each.edges) and each.edges[i] is None  # the program's data
            if given and not all(map(_all_finite, _arrays((value,)))):
                return False
    return True


def _breaker(kept: list) -> tuple[Any, str, str] | None:
    """The earliest operator that makes what is not finite of what it has saved."""
    for node, saved in reversed(kept):
        name = name_of(node).partition(".")[0]
        if name in ("log", "log2", "log10", "rsqrt", "reciprocal") and any((a <= 0).any() for a in _arrays(saved)):
            return node, "is not finite", "the result"
        if name == "div" and any((a == 0).any() for a in _arrays(saved)):
            return node, "is not finite", "the result"
    return None


def _kind_of(array: np.ndarray) -> str:
    return "nan" if np.isnan(array).any() else "infinite"


def _saved_of(node: Any) -> Any:
    """What a node keeps for its rule; a write into a view keeps it with the operator that wrote."""
    return node.inner.saved if type(node) is CopySlices else node.saved


def _first_in_backward(event: Backward, kept: list) -> tuple[Any, str, str] | None:
    """Run the tape's rules once more on what it had saved, and find the first that makes a finite gradient infinite."""
    tape = event.tape
    assert tape is not None
    grads: dict[Any, Any] = {}
    for t in event.roots:
        if t._edge is not None:
            grads[t._edge] = constant(np.ones(t._array.shape, t._array.dtype))
    state = thread.state
    before = state.grad, state.inference
    state.set(False, False)
    inner = [(node.inner, saved) for node, saved in kept if type(node) is CopySlices]
    freed = [(node, node.saved) for node, _ in (*kept, *inner)]
    try:
        for node, saved in (*kept, *inner):
            node.saved = saved
        for node, _ in kept:
            g = grads.pop(node, None)
            if g is None or getattr(node, "op", None) is None and type(node) not in (Output, CopySlices):
                if g is not None:
                    return None  # a Function of the program: it is not run again
                continue
            if type(node) is Output:
                parent = node.edges[0]
                waiting = grads.setdefault(parent, [None] * len(parent.shape))
                waiting[node.index] = g if waiting[node.index] is None else waiting[node.index] + g
                continue
            if type(node.saved) is Freed:
                return None
            for edge, part in zip(node.edges, node.backward(g), strict=False):
                if edge is None or part is None:
                    continue
                if not _all_finite(part._array):
                    return node, f"is {_kind_of(part._array)}", "the gradient"
                if type(edge) is not Leaf:
                    if (
                        part._array.shape != edge.shape
                        and type(edge.shape) is tuple
                        and len(edge.shape) == part._array.ndim
                    ):
                        axes = tuple(
                            i for i, (a, b) in enumerate(zip(part._array.shape, edge.shape, strict=True)) if a != b
                        )
                        part = part.sum(axes, keepdim=True)
                    grads[edge] = part if edge not in grads else grads[edge] + part
    except Exception:  # what was saved may be gone; there is no line then
        return None
    finally:
        for node, saved in freed:
            node.saved = saved
        state.set(*before)
    return None
