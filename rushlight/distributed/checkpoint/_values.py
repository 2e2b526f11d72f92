"""Values that are no tensors, as JSON: reading them carries out nothing.

Numbers, strings, None, lists and dicts with keys of text are JSON's own; what JSON does not have is a dict of one tag and
its content, `{"tuple": [1, 2]}`. A dict of the user's that looks like one is written as `{"dict": [[key, value], ...]}`.
"""

from __future__ import annotations

import base64
import json
import math
from collections import OrderedDict
from typing import Any

import numpy as np

from ...core.device.devices import device
from ...core.tensor import dtype as dtypes
from ...core.tensor.size import Size
from ...core.tensor.tensor import Tensor
from ...serialization import safetensors

__all__ = ["dumps", "loads"]

_PLAIN = (bool, int, float, str)
_SEQUENCES = {"tuple": tuple, "set": set, "frozenset": frozenset, "size": Size}
_MOST_DIGITS = 4000  # of an integer: Python reads no more than 4300 from a text


def dumps(value: Any, key: str) -> bytes:
    """The text of a value. Raises TypeError, naming the key, for what has none, as in `dumps(print, "k")`."""
    try:
        return json.dumps(_encoded(value), separators=(",", ":")).encode()
    except RecursionError:
        raise TypeError(f"{key}: the value contains itself, or is nested too deeply for a checkpoint") from None
    except _Unknown as error:
        raise TypeError(
            f"{key}: {error} cannot be put into a checkpoint. Numbers, strings, bytes, None, lists, tuples, sets, dicts, "
            "NumPy arrays, tensors, types and devices can: give the object a state_dict() of these, or leave it out."
        ) from None


def loads(data: bytes, key: str) -> Any:
    """The value of a text. Raises ValueError, naming the key, for bytes that are no such text."""
    try:
        return _decoded(json.loads(data))
    except Exception as error:  # of whichever reader the text has led to
        raise ValueError(f"{key}: the value in the checkpoint cannot be read: {error}") from error


class _Unknown(Exception):
    """A value that has no text."""


def _encoded(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in _PLAIN:
        if isinstance(value, int) and value.bit_length() > 3 * _MOST_DIGITS:
            raise _Unknown(f"an integer of {value.bit_length()} bits")
        return value
    if kind is list:
        return [_encoded(inner) for inner in value]
    if kind is dict and not (len(value) == 1 and next(iter(value)) in _DECODERS) and all(type(k) is str for k in value):
        return {k: _encoded(inner) for k, inner in value.items()}
    if kind in (dict, OrderedDict):
        pairs = [[_encoded(k), _encoded(inner)] for k, inner in value.items()]
        return {"dict" if kind is dict else "ordered_dict": pairs}
    for tag, sequence in _SEQUENCES.items():
        if kind is sequence:
            return {tag: [_encoded(inner) for inner in value]}
    return _encoded_leaf(value, kind)


def _encoded_leaf(value: Any, kind: type) -> Any:
    if kind in (bytes, bytearray):
        return {kind.__name__: base64.b64encode(value).decode()}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    if kind is dtypes.dtype:
        return {"dtype": value.name}
    if kind is device:
        return {"device": str(value)}
    if isinstance(value, Tensor):
        tensor = value.detach().cpu().contiguous()
        whole = safetensors.save({"tensor": tensor})
        return {"tensor": base64.b64encode(whole).decode()}
    if (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype.kind in "biufc" and value.dtype.isnative:
        content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array" if kind is np.ndarray else "number": [value.dtype.str, list(value.shape), content]}
    raise _Unknown(f"a {kind.__module__}.{kind.__qualname__}")


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, content),) = value.items()
        if tag in _DECODERS:
            return _DECODERS[tag](content)
    return {key: _decoded(inner) for key, inner in value.items()}


def _pairs(content: Any) -> list[tuple[Any, Any]]:
    return [(_decoded(key), _decoded(inner)) for key, inner in content]


def _bytes(content: Any) -> bytes:
    return base64.b64decode(content, validate=True)


def _complex(content: Any) -> complex:
    real, imaginary = content
    return complex(float(real), float(imaginary))


def _array(content: Any) -> np.ndarray:
    kind, shape, data = content
    found = np.dtype(str(kind))
    raw = _bytes(data)
    if found.kind not in "biufc" or math.prod(shape) * found.itemsize != len(raw):
        raise ValueError(f"an array of {kind} and shape {shape} does not have {len(raw)} bytes")
    return np.frombuffer(raw, found).reshape(shape).copy()


def _dtype(content: Any) -> dtypes.dtype:
    found = getattr(dtypes, "bool_" if content == "bool" else content)
    if not isinstance(found, dtypes.dtype):
        raise ValueError(f"there is no type {content!r}")
    return found


def _of(sequence: Any) -> Any:
    return lambda content: sequence([_decoded(inner) for inner in content])


_DECODERS: dict[Any, Any] = {
    **{tag: _of(sequence) for tag, sequence in _SEQUENCES.items()},
    "dict": lambda content: dict(_pairs(content)),
    "ordered_dict": lambda content: OrderedDict(_pairs(content)),
    "bytes": _bytes,
    "bytearray": lambda content: bytearray(_bytes(content)),
    "complex": _complex,
    "dtype": _dtype,
    "device": lambda content: device(str(content)),
    "tensor": lambda content: safetensors.load(_bytes(content))["tensor"],
    "array": _array,
    "number": lambda content: _array(content)[()],
}
