"""When compiled numbers count as equal to eager ones: judged by eager's own error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rushlight.core.tensor.tensor import Tensor

FLOOR = 16  # units in the last place of the largest element


def arrays_in(value: Any) -> Iterator[Any]:
    """The tensors' arrays, the gradients behind them, and the plain values of a result, in order."""
    if isinstance(value, Tensor):
        yield value.detach().resolve_conj().resolve_neg()._array
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from arrays_in(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from arrays_in(v)
    else:
        yield value


def snapshot(value: Any) -> list:
    """Copies of all arrays and values of a result."""
    return [v.copy() if isinstance(v, np.ndarray) else v for v in arrays_in(value)]


def wide(a: np.ndarray) -> np.ndarray:
    """In float64 (or complex128)."""
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def unit(dtype: np.dtype) -> float:
    """The distance from one to the next number."""
    if dtype.kind not in "fcV":
        return 0.0
    if dtype.name == "bfloat16":
        return 2.0**-7
    return float(np.finfo(dtype).eps)


def _too_large(reference: Any, eager: np.ndarray) -> np.ndarray:
    """Where the value is known to be finite and beyond the type of `eager`."""
    if not isinstance(reference, np.ndarray) or reference.shape != eager.shape or eager.dtype != np.float32:
        return np.zeros(eager.shape, bool)
    return np.isfinite(reference) & (np.abs(reference) > np.finfo(np.float32).max)


def difference(
    eager: Any,
    compiled: Any,
    reference: Any = None,
    floor: float = FLOOR,
    magnitude: float = 0.0,
    least: float = 0.0,
) -> str | None:
    """What is wrong with a compiled value; None where it is as good as the eager one.

    Where the eager value lies, the compiled one has to be within 4 times eager's error against `reference` (a value
    computed in float64; None: unknown) plus `floor` units in the last place of the largest element (at least `magnitude`,
    the largest of the numbers that may have been added up). least: how wide such a unit is at least, where values of a
    coarser type went into the value. nan and infinity have to be at the same places; integers and bools have to be the same.
    Values that the type cannot hold are not compared: whether two products overflow before they cancel out depends on
    how they are added up.
    """
    if not isinstance(eager, np.ndarray):
        if isinstance(eager, float) and isinstance(compiled, float):
            eager, compiled = np.float32(eager).reshape(()), np.float32(compiled).reshape(())
        else:
            return None if eager == compiled or eager is compiled else f"{compiled!r} instead of {eager!r}"
    if eager.dtype != compiled.dtype or eager.shape != compiled.shape:
        return f"{compiled.dtype}{list(compiled.shape)} instead of {eager.dtype}{list(eager.shape)}"
    eps = unit(eager.dtype)
    if not eps:
        wrong = eager != compiled
        return f"{int(wrong.sum())} of {wrong.size} elements differ" if wrong.any() else None
    e, c = wide(eager), wide(compiled)
    finite = np.isfinite(e)
    special = ~(finite | (c == e) | (np.isnan(c) & np.isnan(e))) | (finite & ~np.isfinite(c))
    special &= ~_too_large(reference, eager)
    finite &= np.isfinite(c) | special
    if special.any():
        return f"nan or infinity at {int(special.sum())} of {special.size} places where eager has another value"
    if not finite.any():
        return None
    e, c = e[finite], c[finite]
    scale, own, r = max(np.abs(e).max(), magnitude), 0.0, e
    if isinstance(reference, np.ndarray) and reference.shape == eager.shape and unit(reference.dtype):
        r = wide(reference)[finite]
        r = np.where(np.isfinite(r), r, e)
        own = np.abs(r - e).max()
    error = np.abs(c - r).max()
    eps = max(eps, least)
    allowed = (
        4.0 * float(own)
        + floor * eps * float(scale)
        + float(np.finfo(np.float64).tiny if eager.dtype.itemsize == 8 else 1e-44)
    )
    if error <= allowed:
        return None
    return f"error {error:.3g}, eager's {own:.3g}, largest element {scale:.3g}, allowed {allowed:.3g}"


def differences(
    eager: list,
    compiled: list,
    reference: list | None = None,
    floor: float = FLOOR,
    magnitude: float = 0.0,
    least: float = 0.0,
) -> list[str]:
    """`difference` for each pair of values."""
    if len(eager) != len(compiled):
        return [f"{len(compiled)} values instead of {len(eager)}"]
    wrong = []
    for i, (e, c) in enumerate(zip(eager, compiled, strict=True)):
        r = reference[i] if reference is not None and i < len(reference) else None
        text = difference(e, c, r, floor, magnitude, least)
        if text is not None:
            wrong.append(f"value {i}: {text}")
    return wrong
