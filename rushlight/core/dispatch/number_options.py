"""Operators' options that are numbers, and the types that have to hold them.

torch's parser reads such a number as an integer of 64 bits or a double; where the kernel begins, it is converted to a type of
C++, and a number beyond that type's range is an error. Which type that is differs by kernel. An operator without a row takes
no such number, or converts it in its own kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import dtype as dtypes
from .scalars import check_parsed, exact

# By what is said of them. element: the elements' type holds them; computed: the type in which torch's kernel computes, which is
# float32 for 16-bit floats; inexact: where the elements are no integers, which the kernel refuses or converts; real: where they
# are no complex numbers either; limit: not where the number is complex, which the kernel refuses; double: torch's parser makes
# them doubles, also of integers of more than 64 bits; read: no type has to hold them. operator:option,option
_ROWS = {
    "element": "add.scaled:alpha sub.scaled:alpha addmv:beta,alpha addr:beta,alpha hardtanh:min_val,max_val threshold:value",
    "real limit": "clamp:min,max clamp_min:limit clamp_max:limit",
    "real element": "hardshrink:lambd histc:min,max",
    "computed": "addbmm:beta,alpha addmm:beta,alpha baddbmm:beta,alpha addcmul:value addcdiv:value threshold:threshold",
    "inexact computed": "lerp.scalar:weight",
    "real computed": "celu:alpha elu:alpha leaky_relu:negative_slope softplus:beta,threshold",
    "double element": "logit:eps",
    "double computed": "cosine_similarity.at_least:low",
    "read": "dist:p linalg_vector_norm:ord pow.base:base renorm:p,maxnorm softshrink:lambd std:correction "
    "std_mean:correction var:correction var_mean:correction",
}
_OPTIONS: dict[str, dict[str, str]] = {}
for _type, _row in _ROWS.items():
    for _entry in _row.split():
        _name, _, _options = _entry.partition(":")
        _OPTIONS.setdefault(_name, {}).update(dict.fromkeys(_options.split(","), _type))

LARGEST_OF_ALL = 65504.0  # what every type of floats holds
SHORT = 1 << 29  # integers below it need no look at what torch's parser of arguments takes, 64 bits


def options_of(name: str, metadata: tuple[str, ...]) -> tuple[tuple[int, str, str], ...]:
    """The numbers among an operator's options: their places, their names and `_ROWS`' words for them."""
    known = _OPTIONS.get(name)
    return () if known is None else tuple([(i, n, known[n]) for i, n in enumerate(metadata) if n in known])


def check_read(options: tuple, metadata: tuple) -> None:
    """Raise torch's OverflowError for an integer of more than 64 bits among the options of a call."""
    for i, _, words in options:
        if "double" not in words:
            check_parsed(metadata[i])


def held(options: tuple, metadata: tuple, d: Any) -> tuple:
    """The options of a call on elements of type `d`. Raises torch's RuntimeError for a number that its type cannot hold."""
    values = list(metadata)
    for i, _, words in options:
        value: Any = values[i]
        holder = (
            _holder(words, d)
            if isinstance(value, (int, float) if "limit" in words else (int, float, complex))
            else None
        )
        if holder is None:
            continue
        exact(_as_double(value) if "double" in words else value, holder)
        if isinstance(value, int) and abs(value) >= 1 << 63 and d == _BFLOAT16:
            values[i] = float(value)  # NumPy's bfloat16 knows no integer of more than 64 bits
    return tuple(values)


def _as_double(value: Any) -> Any:
    return value if isinstance(value, complex) else float(value)


def _holder(words: str, d: np.dtype) -> np.dtype | None:
    """The type that holds a number, by a key of `_ROWS`, where the elements are of type `d`. None where none has to."""
    is_whole = d.kind in "biu"
    if words == "read" or is_whole and ("inexact" in words or "real" in words) or d.kind == "c" and "real" in words:
        return None
    if is_whole and "double" in words:
        return dtypes.get_default_dtype().numpy
    return _F32 if "computed" in words and d.itemsize == 2 and not is_whole else d


_F32, _BFLOAT16 = np.dtype(np.float32), dtypes.bfloat16.numpy


def condition(options: tuple, first: str) -> str:
    """The condition in generated source: a number may be too large for its type, where `first` is the first array's text."""
    checks = [
        f"(type({n}) is int and not {-1 << 63} <= {n} < {1 << 64})"
        if words == "read"
        else f"({n} is not None and not -{LARGEST_OF_ALL} <= {n} <= {LARGEST_OF_ALL})"
        for _, n, words in options
    ]
    if any(words in ("element", "computed") for _, _, words in options):  # which are of integers too
        checks.append(f"({first}.dtype is not F32 and {first}.dtype is not F64 and {first}.dtype.kind in 'biu')")
    return " or ".join(checks)
