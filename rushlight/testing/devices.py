"""Checks of a device: what its operators return, compared with the CPU's. For authors of devices (docs/devices.md)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ..core.device.backend import Backend
from ..core.device.devices import backend
from ..core.dispatch.op import RECORDS
from ..core.random import manual_seed
from ..core.tensor.strides import element_strides
from ..core.tensor.tensor import Tensor
from .descriptions import Sample
from .suite import _gradients, _replaced, _weights, results_of, tensors_in

__all__ = ["check_names", "check_operator"]


def check_operator(
    name: str,
    sample: Sample,
    device: Any,
    values: bool = True,
    gradients: bool = True,
    within: Callable[[], AbstractContextManager] = nullcontext,
) -> None:
    """Call operator `name` with a sample on the CPU and on `device`; the results have to be the same.

    values: compare elements, too, and not only shape, type, strides and device. gradients: compare them as well. within:
    a context for each call on the device, such as one that counts copies. Raises AssertionError where something differs.
    """
    where = backend(device)
    assert where is not None, "the device to check is the CPU itself"
    here = sample.make(grad=gradients)
    there = _moved(here, where)
    results = []
    for (args, kwargs), context in ((here, nullcontext), (there, within)):
        manual_seed(0)
        with context():
            results.append(results_of(name, args, kwargs))
    floats = [t.dtype for t in results[0] if t.dtype.is_floating_point]
    close = max((3e-7 if d.itemsize == 4 else 1e-2 if d.itemsize < 4 else 1e-9 for d in floats), default=1e-9)
    _compare(results[0], results[1], where, values, f"{name}: a result", close)
    leaves = [[t for t in tensors_in(list(given)) if t.requires_grad] for given in (here, there)]
    if gradients and leaves[0] and any(t.requires_grad for t in results[0]):
        weights = [_weights(r) for r in results]
        grads = [list(_gradients(results[0], leaves[0], weights[0]))]
        with within():
            grads.append(list(_gradients(results[1], leaves[1], weights[1])))
        _compare(grads[0], grads[1], where, values, f"{name}: a gradient", close)


def check_names(device: Any) -> None:
    """Raise AssertionError where `kernels` or `lacks` of a device has a name that no operator has, and so no effect.

    Names are those of operators that compute something by themselves, `linalg_svd` for `torch.linalg.svd` and `torch.svd`.
    """
    where = backend(device)
    assert where is not None, "the device to check is the CPU itself"
    known = {record.name for record in RECORDS}
    unknown = sorted({*where.kernels, *where.lacks} - known)
    assert not unknown, f"no operators: {', '.join(unknown)}; near: {', '.join(_near(unknown, known))}"


def _near(names: list[str], known: set[str]) -> list[str]:
    from difflib import get_close_matches

    return [
        near for name in names for near in sorted(k for k in known if name in k) or get_close_matches(name, known, 2)
    ]


def _moved(given: Any, where: Backend) -> Any:
    """The arguments with their tensors copied to the device."""
    copies = (t.detach().to(where.device).requires_grad_(t.requires_grad) for t in tensors_in(list(given)))  # type: ignore[attr-defined]
    return _replaced(given, copies)


def _compare(here: list[Tensor], there: list[Tensor], where: Backend, values: bool, what: str, close: float) -> None:
    assert len(here) == len(there), f"{what}s: {len(there)} instead of {len(here)}"
    for a, b in zip(here, there, strict=True):
        assert b.device == where.device, f"{what} is on {b.device}"
        for found, expected in ((b.dtype, a.dtype), (b.shape, a.shape), (b.requires_grad, a.requires_grad)):
            assert found == expected, f"{what}: {found} instead of {expected}"
        strides = [element_strides(t._array) for t in (a, b)]
        assert strides[0] == strides[1], f"{what}: strides {strides[1]} instead of {strides[0]}"
        if values:
            x, y = a.detach()._array, where.to_host(b.detach()._array)
            assert np.allclose(x, y, close, close, equal_nan=True), f"{what}: other values"
