"""A custom `autograd.Function` whose backward is not the derivative of its forward."""

from __future__ import annotations

import io
import random
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np

from ...autograd.backward import grad
from ...core.dispatch.mode import enable_grad, no_grad
from ...core.random import default_generator
from ...core.tensor.tensor import Tensor, constant
from ..places import Place, backward_line
from . import Check

_MOST = 1 << 20  # elements of an input; each class is looked at once
_STEP = 1e-6


class WrongFunction(Check):
    """A sampled gradcheck: once for each class, in float64, on a copy of its first inputs, with random streams restored."""

    name = "wrong-function"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.seen: set[type] = set()

    def on_function(self, place: Place | None, function: Any, inputs: tuple, result: Any) -> None:
        if function in self.seen or place is None or self.doctor.here.backward is not None:
            return
        tensors = [t for t in inputs if isinstance(t, Tensor) and t._edge is not None]
        if not tensors or any(t._array.size > _MOST or t._array.dtype.kind != "f" for t in tensors):
            return
        self.seen.add(function)
        state = np.random.get_state(), random.getstate()
        own = default_generator.get_state()
        try:
            silent = io.StringIO()
            with self.doctor.looking_away(), redirect_stdout(silent), redirect_stderr(silent):
                wrong = _compare(function, inputs)
        except Exception:  # it does not take float64, or has effects of its own
            wrong = None
        finally:
            np.random.set_state(state[0])
            random.setstate(state[1])
            default_generator.set_state(own)
        if wrong is not None:
            analytic, numeric, index = wrong
            self.doctor.report(
                self,
                backward_line(function, index) or place,
                f"the backward of {function.__name__} is not the derivative of its forward: along one direction it says "
                f"{analytic:.6g}, and a difference quotient {numeric:.6g}",
                "compare it with torch.autograd.gradcheck, in float64",
                [(place, "a call of it")],
                after=1,
            )


def _compare(function: Any, inputs: tuple) -> tuple[float, float, int] | None:
    """(the backward's derivative along a direction, the difference quotient, the input) where they differ; None where they agree."""
    places = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t._edge is not None]
    together = _differ(function, inputs, places)
    if together is None or len(places) == 1:
        return None if together is None else (*together, places[0])
    for i in places:  # which of them
        if (alone := _differ(function, inputs, [i])) is not None:
            return *alone, i
    return *together, places[0]


def _differ(function: Any, inputs: tuple, places: list[int]) -> tuple[float, float] | None:
    """(the backward's derivative along a direction of these inputs, the difference quotient) where they differ."""
    generator = np.random.Generator(np.random.PCG64(0))
    base = {i: inputs[i]._array.astype(np.float64) for i in places}
    directions = {i: generator.standard_normal(a.shape) for i, a in base.items()}

    def call(step: float, record: bool) -> tuple[list[Any], list[Any]]:
        arguments = [_in_double(t) if isinstance(t, Tensor) else t for t in inputs]
        given = []
        for i in places:
            tensor = _tensor(base[i] + step * directions[i])
            if record:
                tensor.requires_grad_()
            given.append(tensor)
            arguments[i] = tensor
        result = function.apply(*arguments)
        outputs = [r for r in (result if isinstance(result, tuple) else (result,)) if isinstance(r, Tensor)]
        return [o for o in outputs if o._array.dtype.kind == "f"], given

    with enable_grad():
        outputs, given = call(0.0, True)
    if not outputs or any(o._array.dtype != np.float64 for o in outputs):
        return None
    if _is_identity(outputs, given) and _is_identity(*call(1.0, False)):
        return None  # with a gradient of its own: reversal, scaling, clipping
    weights = [generator.standard_normal(o._array.shape) for o in outputs]
    differentiable = [(o, w) for o, w in zip(outputs, weights, strict=True) if o._edge is not None]
    if not differentiable:
        return None
    grads = grad([o for o, _ in differentiable], given, [_tensor(w) for _, w in differentiable], allow_unused=True)
    analytic = sum(float((g._array * directions[i]).sum()) for g, i in zip(grads, places, strict=True) if g is not None)
    quotients = []
    for step in (_STEP, 10 * _STEP):
        with no_grad():
            up, down = call(step, False)[0], call(-step, False)[0]
        change = sum(float(((u._array - d._array) * w).sum()) for u, d, w in zip(up, down, weights, strict=True))
        quotients.append(change / (2 * step))
    numeric, check = quotients
    scale = max(abs(numeric), abs(analytic), 1e-6)
    if abs(numeric - check) > 1e-3 * scale or numeric == 0.0:
        return None  # not smooth here; or constant in pieces: a straight-through estimator
    return (analytic, numeric) if abs(analytic - numeric) > 1e-3 * scale else None


def _is_identity(outputs: list[Any], given: list[Any]) -> bool:
    """Whether a result is an input: at one point it may be so by chance, as x times gains that are still 1."""
    return any(np.array_equal(o._array, g._array) for o in outputs for g in given)


def _in_double(t: Tensor) -> Tensor:
    """A copy without history, of floats in float64: the types of a call's inputs go together."""
    copy = t.detach().clone()
    return copy.double() if copy._array.dtype.kind == "f" else copy


def _tensor(array: np.ndarray) -> Any:
    return constant(np.ascontiguousarray(array))
