"""The texts of errors that many operators share, with torch's message and the facts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..device.backend import out_of_memory
from ..device.buffer import outline_of
from ..interrupts import innermost, is_statement
from ..own_code import NUMPY
from ..tensor import dtype as dtypes
from ..tensor.dtype import type_word
from ..tensor.size import broadcast_shapes
from .aten.schemas import overloads
from .python_signatures import call_error
from .scalars import type_name
from .torch_kernels import kernel_word


def explain(name: str, arrays: list[Any], error: Exception, metadata: tuple = ()) -> Exception:
    """The exception that torch raises where NumPy raised `error` inside the kernel of operator `name`."""
    arrays = [outline_of(a) for a in arrays]
    shapes = [a.shape for a in arrays if isinstance(a, np.ndarray)]
    ambiguous = isinstance(error, RuntimeError) and str(error).startswith("Boolean value of Tensor")
    if ambiguous:
        wrong = _unlike_schema(name, metadata)
        return TypeError(f"{name.partition('.')[0]}(): {wrong}") if wrong else error
    no_index = isinstance(error, AttributeError) and "__index__" in str(error)
    if isinstance(error, (RuntimeError, IndexError, NotImplementedError)) or was_raised(error) and not no_index:
        return error
    if isinstance(error, ValueError) and "broadcast" in str(error):
        try:
            broadcast_shapes(*shapes)
        except RuntimeError as wrong:
            return wrong
    if isinstance(error, OverflowError) and str(error).startswith("int too"):  # an integer that no float holds
        return error
    if isinstance(error, MemoryError):
        return out_of_memory(error)
    facts = ", ".join(f"{list(a.shape)} {a.dtype}" for a in arrays if isinstance(a, np.ndarray))
    wrong = _unlike_schema(name, metadata) if isinstance(error, (TypeError, AttributeError)) else ""
    if wrong:
        return TypeError(f"{name.partition('.')[0]}(): {wrong} (inputs: {facts})")
    if isinstance(error, TypeError) and any(isinstance(m, str) for m in metadata):
        return TypeError(f"{name}() received an invalid combination of arguments - got {metadata} (inputs: {facts})")
    if isinstance(error, TypeError) and "ufunc" in str(error):
        kinds = ", ".join(type_word(dtypes.from_numpy(a.dtype)) for a in arrays[:1] if isinstance(a, np.ndarray))
        return NotImplementedError(f"\"{kernel_word(name)}\" not implemented for '{kinds}'")
    if no_index:
        wrong = str(error).split("'")[1]
        return TypeError(f"{name}(): argument 'dim' must be int or tuple of ints, not {wrong} (inputs: {facts})")
    kind = TypeError if isinstance(error, TypeError) else RuntimeError
    return kind(f"{name}(): {error} (inputs: {facts})")


_WORDS = {"int": (int, "int"), "SymInt": (int, "int"), "float": ((int, float), "float"), "bool": (bool, "bool")}
_WORDS["ScalarType"] = (dtypes.dtype, "torch.dtype")
_LISTS = {"int": ((int, tuple, list), "int or tuple of ints"), "SymInt": ((int, tuple, list), "int or tuple of ints")}


def _unlike_schema(name: str, metadata: tuple) -> str:
    """Which option of a call has a type that no overload of torch's takes: "argument 'dim' must be int, not tuple"."""
    plain, _, overload = name.partition(".")
    known_overloads = {schema.overload for schema in overloads(plain)}
    overload = overload if overload in known_overloads else ""
    for schema in overloads(plain):
        options = [p for p in schema.parameters if not p.type.startswith("Tensor")]
        if (overload and schema.overload != overload) or abs(len(options) - len(metadata)) > 1:
            continue
        for p, value in zip(options, metadata, strict=False):
            kind, is_list, _ = p.type.rstrip("?").partition("[")
            known = None if value is None and p.type.endswith("?") else (_LISTS if is_list else _WORDS).get(kind)
            if known is not None and is_list and isinstance(value, (tuple, list)):
                foreign = next((k for k, v in enumerate(value) if not hasattr(v, "__index__")), None)
                if foreign is not None:
                    kinds = f"type must be tuple of ints,but got {type(value[foreign]).__name__}"
                    return (
                        f"argument '{p.name}' failed to unpack the object at pos {foreign + 1} with error \"{kinds}\""
                    )
            is_number = hasattr(value, "__index__") and not getattr(value, "ndim", 0)
            if known is not None and not isinstance(value, known[0]) and not is_number:
                return f"argument '{p.name}' must be {known[1]}, not {type(value).__name__}"
    return ""


def was_raised(error: Exception) -> bool:
    """Whether a `raise` statement made the error, and not NumPy's own checks."""
    if error.__traceback__ is None:
        return False
    last = innermost(error.__traceback__)
    return is_statement(last) and not last.tb_frame.f_code.co_filename.startswith(NUMPY)


def type_error(message: str) -> TypeError:
    """An operator's error of a wrong argument: torch's message, or `message` where torch's parser takes the arguments."""
    return call_error() or TypeError(message)


def argument_type(name: str, argument: str, position: int, value: Any, expected: str = "Tensor") -> TypeError:
    """torch's error for an argument of the wrong type."""
    wrong = f"{name}(): argument '{argument}' (position {position}) must be {expected}, not {type_name(value)}"
    return call_error() or TypeError(wrong)
