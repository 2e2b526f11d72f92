"""Batches in memory from which a device copies fastest: `DataLoader(pin_memory=True)`."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from rushlight.core.device.devices import accelerator
from rushlight.core.tensor.tensor import Tensor

__all__ = ["device_to_pin_for", "pinned"]


def device_to_pin_for(loader: Any) -> Any:
    """The backend for which the loader's batches are pinned; None where it is not asked for, or with torch's warning."""
    if not loader.pin_memory:
        return None
    if loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=4,
        )
    where = accelerator()
    if where is None:
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, "
            "then device pinned memory won't be used.",
            stacklevel=4,
        )
    return where


def pinned(data: Any, where: Any) -> Any:
    """`data` with its tensors pinned for the backend `where`, in mappings, sequences and what has a `pin_memory` too."""
    if isinstance(data, Tensor):
        return where.pin(data)
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _mapping({k: pinned(v, where) for k, v in data.items()}, data)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pinned(v, where) for v in data))
    if isinstance(data, tuple):
        return type(data)(pinned(v, where) for v in data)
    if isinstance(data, Sequence):
        return _sequence([pinned(v, where) for v in data], data)
    return data


def _mapping(values: dict, like: Any) -> Any:
    try:
        if isinstance(like, MutableMapping):
            again = copy.copy(like)
            again.update(values)
            return again
        return type(like)(values)
    except TypeError:  # a class that takes other arguments
        return values


def _sequence(values: list, like: Any) -> Any:
    try:
        if isinstance(like, MutableSequence):
            again = copy.copy(like)
            for i, v in enumerate(values):
                again[i] = v
            return again
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:  # such as range
        return values
