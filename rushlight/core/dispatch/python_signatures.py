"""torch's parser of arguments: the error of a call that fits none of a function's overloads.

The overloads are those of torch's Python bindings (`tools/python_signatures.py` writes the file), and what fits them and what
the error says follow torch/csrc/utils/python_arg_parser.cpp and invalid_arguments.cpp.
"""

from __future__ import annotations

import os.path
import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..device.devices import device
from ..tensor.dtype import dtype
from ..tensor.layout import layout, memory_format
from ..tensor.tensor import Tensor
from .call_site import failed_call, type_name

__all__ = ["PARSED_FIRST", "call_error", "known_names", "overloads_of", "parse_error", "raise_call_error", "refused"]

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? requires_grad=False"
_WORDS = {
    "Scalar": "Number", "ScalarType": "torch.dtype", "Device": "torch.device", "MemoryFormat": "torch.memory_format",
    "Layout": "torch.layout", "Dimname": "name", "Storage": "torch.Storage", "Generator": "torch.Generator",
}  # fmt: skip
# errors that a wrong argument may have led to; other classes are what a caller waits for
PARSED_FIRST = (AttributeError, IndexError, NotImplementedError, OverflowError, RuntimeError, TypeError, ValueError)
_BY_NUMPY = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
# functions of torch that take a number where a tensor is declared
_NUMBERS_AS_TENSORS = frozenset(
    ["add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "add_", "sub_", "subtract_",
     "mul_", "multiply_", "div_", "divide_", "true_divide_", "floor_divide_", "copy_"]
)  # fmt: skip


class _Parameter(NamedTuple):
    name: str
    type: str  # without the mark of None and the size of a list
    is_list: bool
    is_sized: bool  # a list for which one number will do
    takes_none: bool
    default: str | None
    keyword: bool

    @property
    def word(self) -> str:
        word = _WORDS.get(self.type, self.type)
        if self.is_list:
            return f"tuple of {'Scalar' if self.type == 'Scalar' else word}s"
        return word


class _Overload(NamedTuple):
    parameters: tuple[_Parameter, ...]
    hidden: bool

    @property
    def positional(self) -> int:
        return sum(not p.keyword for p in self.parameters)

    @property
    def required(self) -> int:
        return sum(p.default is None for p in self.parameters)

    def __str__(self) -> str:
        parts, star = [], False
        for p in self.parameters:
            if p.keyword and not star:
                parts.append("*")
                star = True
            parts.append(f"{p.word} {p.name}" + ("" if p.default is None else f" = {p.default}"))
        return f"({', '.join(parts)})"


class _Wrong(Exception):
    """What torch says of arguments."""


# ---------------------------------------------------------------------------------------------- the overloads


@cache
def _lines() -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    with open(os.path.join(os.path.dirname(__file__), "python_signatures.txt"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            kind, _, signature = line.partition(" ")
            found.setdefault((kind, re.split(r"[(!]", signature, maxsplit=1)[0]), []).append(signature)
    return found


def known_names() -> list[tuple[str, str]]:
    """(kind, name) of all functions and methods whose overloads are known; names of `linalg` and others begin with the kind."""
    return sorted(_lines())


@cache
def overloads_of(kind: str, name: str) -> tuple[_Overload, ...]:
    """The overloads of a function of `torch`, `linalg`, `fft`, `special`, `nn` or of a method (`Tensor`), in torch's order."""
    if kind in ("linalg", "fft", "special"):
        name = f"{kind}_{name}"
    if kind == "nn" and (kind, name) not in _lines() and name in _OF_TORCH:
        kind = "torch"
    lines = _lines().get((kind, name))
    if lines == [name + "!"]:  # torch has it in Python
        return ()
    if lines is not None:
        return tuple(map(_parse, lines))
    return tuple(filter(None, map(_as_method, overloads_of("torch", name)))) if kind == "Tensor" else ()


# functions that torch.nn.functional has from torch as they are
_OF_TORCH = frozenset(
    ["adaptive_avg_pool1d", "avg_pool1d", "bilinear", "celu_", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc",
     "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "hardshrink", "native_channel_shuffle",
     "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_", "rrelu_", "selu_"]
)  # fmt: skip


def _parse(line: str) -> _Overload:
    given = line.partition("(")[2].replace("...", _OPTIONS)
    given, _, hidden = given.rpartition(")")
    parameters, keyword = [], False
    for text in re.split(r", (?![^\[]*\])", given) if given else ():
        if text == "*":
            keyword = True
            continue
        kind, _, rest = text.partition(" ")
        name, _, default = rest.partition("=")
        base, is_list, size = kind.rstrip("?").partition("[")
        takes_none = kind.endswith("?") or default == "None"
        parameters.append(
            _Parameter(
                name, base.rstrip("?"), bool(is_list), size not in ("", "]"), takes_none, default or None, keyword
            )
        )
    return _Overload(tuple(parameters), bool(hidden))


def _as_method(overload: _Overload) -> _Overload | None:
    first, *rest = overload.parameters or (None,)
    if first is None or first.name != "input":
        return None
    return _Overload(tuple(p for p in rest if p.name != "out"), overload.hidden)


# ---------------------------------------------------------------------------------------------- whether arguments fit


def call_error(error: Exception | None = None) -> TypeError | None:
    """torch's error for the program's call that led here, if torch's parser refuses it: it looks at types before all else.

    error: what the call has raised. Where that is not about types, the arguments have to be known exactly.
    """
    call = failed_call(not isinstance(error, (AttributeError, TypeError, type(None))))
    return None if call is None else parse_error(*call)


def refused(name: str, parameters: tuple[str, ...], *surplus: Any) -> TypeError:
    """The error of a call with surplus arguments (a tuple, a dict), or without one that is needed: torch's where it is known."""
    if error := call_error():
        return error
    most = len(parameters)
    for extra in surplus:
        if extra and type(extra) is tuple:
            were = f"{most} positional argument{'s' * (most != 1)} but {most + len(extra)} were given"
            return TypeError(f"{name}() takes {were}")
        if extra:
            return TypeError(f"{name}() got an unexpected keyword argument '{next(iter(extra))}'")
    return TypeError(f"{name}() missing required positional arguments, of: {', '.join(parameters)}")


def raise_call_error(error: Exception) -> None:
    """Raise `call_error` in place of an error that a wrong argument may have led to."""
    refused = call_error(error) if type(error) in PARSED_FIRST else None
    try:
        if refused is not None:
            raise refused from None
    finally:
        del refused  # this frame is in its traceback: together they would keep the arguments until a collection


def parse_error(kind: str, name: str, args: tuple, kwargs: dict[str, Any]) -> TypeError | None:
    """torch's error for a call; None where an overload takes the arguments, or the function is not known."""
    known = overloads_of(kind, name)
    if not known:
        return None
    shown = f"{kind}_{name}" if kind in ("linalg", "fft", "special") else name
    if kind == "Tensor" and len(known) == 1 and not known[0].parameters:
        return _no_arguments(name, args, kwargs)
    try:
        if len(known) == 1:
            return _wrong(shown, known[0], args, kwargs)
        if any(_wrong(shown, o, args, kwargs) is None for o in known):
            return None
    except _Wrong as error:
        return TypeError(str(error))
    given = len(args) + len(kwargs)
    plausible = [o for o in known if not o.hidden and o.required <= given <= len(o.parameters)]
    if len(plausible) == 1:
        return _wrong(shown, plausible[0], args, kwargs)
    named = [f"{k}={type_name(v)}" for k, v in kwargs.items()]
    got = ", ".join([*map(type_name, args), *named]) if args else "".join(f"{n}, " for n in named)  # as torch has it
    said = f"{shown}() received an invalid combination of arguments - got ({got}), but expected "
    visible = [o for o in known if not o.hidden]
    if len(visible) == 1:
        return TypeError(f"{said}{visible[0]}")
    return TypeError(said + "one of:\n" + "".join(f" * {o}\n{_no_match(o, args, kwargs)}" for o in visible))


def _no_arguments(name: str, args: tuple, kwargs: dict[str, Any]) -> TypeError | None:
    """Python's own error, for torch gives such methods no parser."""
    if kwargs:
        return TypeError(f"TensorBase.{name}() takes no keyword arguments")
    return TypeError(f"TensorBase.{name}() takes no arguments ({len(args)} given)") if args else None


def _wrong(name: str, overload: _Overload, args: tuple, kwargs: dict[str, Any]) -> TypeError | None:
    """What is wrong with the arguments for an overload."""
    parameters, positional = overload.parameters, overload.positional
    several = positional == 1 and parameters[0].is_list and parameters[0].type == "int"  # view(2, 3)
    if len(args) > positional and not several:
        return _too_many(name, overload, len(args))
    place, by_name = 0, 0
    for i, p in enumerate(parameters):
        given, is_keyword = True, place >= len(args)
        value = None
        if not is_keyword:
            if p.keyword:
                return _too_many(name, overload, len(args))
            value = args[place]
        else:
            word = next((n for n in (p.name, *_BY_NUMPY.get(p.name, ())) if n in kwargs), None)
            given = word is not None
            value = kwargs[word] if word is not None else None
        if not given:
            if p.default is None:
                return _missing(name, parameters[i:])
        elif not (value is None and p.takes_none):
            fits, element = _fits(name, p, value, i)
            is_first = several and not place and not is_keyword and args
            if not fits and is_first and _is_integer(args[0]):  # a 0-d tensor too, as sizes of a trace are
                _check_elements(name, p, args)
                place = len(args)
                continue
            if not fits and not is_keyword and len(args) > positional:
                return _too_many(name, overload, len(args))
            if not fits:
                return _wrong_type(name, p, value, 0 if is_keyword else place + 1, element)
        place, by_name = place + (not is_keyword), by_name + (is_keyword and given)
    if place < len(args):
        return _too_many(name, overload, len(args))
    return _unknown_keyword(name, overload, kwargs, len(args)) if by_name < len(kwargs) else None


def _wrong_type(name: str, p: _Parameter, value: Any, position: int, element: int) -> TypeError:
    place = f" (position {position})" if position else ""
    if position and element >= 0:
        found = f"found element of type {type_name(value[element])} at pos {element}"
        return TypeError(f"{name}(): argument '{p.name}'{place} must be {p.word}, but {found}")
    return TypeError(f"{name}(): argument '{p.name}'{place} must be {p.word}, not {type_name(value)}")


def _too_many(name: str, overload: _Overload, given: int) -> TypeError:
    most, least = overload.positional, overload.required
    were = "was" if given == 1 else "were"
    if least != most:
        return TypeError(f"{name}() takes from {least} to {most} positional arguments but {given} were given")
    return TypeError(f"{name}() takes {most} positional argument{'s' * (most != 1)} but {given} {were} given")


def _missing(name: str, parameters: tuple[_Parameter, ...]) -> TypeError:
    names = [f'"{p.name}"' for p in parameters if p.default is None]
    plural = "s" * (len(names) == 1)  # as torch has it
    return TypeError(f"{name}() missing {len(names)} required positional argument{plural}: {', '.join(names)}")


def _unknown_keyword(name: str, overload: _Overload, kwargs: dict[str, Any], positional: int) -> TypeError:
    names = [p.name for p in overload.parameters]
    for word in kwargs:
        if word not in names:
            return TypeError(f"{name}() got an unexpected keyword argument '{word}'")
        if names.index(word) < positional:
            return TypeError(f"{name}() got multiple values for argument '{word}'")
    return TypeError("invalid keyword arguments")


def _fits(name: str, p: _Parameter, value: Any, place: int) -> tuple[bool, int]:
    """Whether a value is of a parameter's type, and the place of the element that is not, or -1."""
    if p.is_list:
        return _fits_list(name, p, value, place)
    return _IS.get(p.type, _is_any)(value) or (
        p.type == "Tensor" and name in _NUMBERS_AS_TENSORS and _is_number(value)
    ), -1


def _fits_list(name: str, p: _Parameter, value: Any, place: int) -> tuple[bool, int]:
    if p.type in ("Tensor", "c10::List<Tensor"):
        if not isinstance(value, (tuple, list)):
            return False, -1
        for i, v in enumerate(value):
            if not _is_tensor(v):
                raise _Wrong(f"expected Tensor as element {i} in argument {place}, but got {type_name(v)}")
        return True, -1
    if isinstance(value, (tuple, list)):
        if not value:
            return True, -1
        fits = {"int": _is_index, "float": _is_complex, "Scalar": _is_number}.get(p.type, _is_any)(value[0])
        if fits and p.type == "int":
            _check_elements(name, p, tuple(value))
        return fits, -1 if fits else 0
    return p.is_sized and _is_int(value), -1


def _check_elements(name: str, p: _Parameter, values: tuple) -> None:
    wrong = next((k for k, v in enumerate(values) if not (_is_index(v) or isinstance(v, bool))), None)
    if wrong is not None:
        said = f"type must be tuple of ints,but got {type_name(values[wrong])}"
        raise _Wrong(
            f"{name}(): argument '{p.name}' failed to unpack the object at pos {wrong + 1} with error \"{said}\""
        )


def _is_tensor(v: Any) -> bool:
    return isinstance(v, Tensor) or hasattr(type(v), "__torch_function__")


def _is_zero_dim(v: Any) -> bool:
    return isinstance(v, Tensor) and not v._array.ndim and not v.requires_grad


def _is_int(v: Any) -> bool:
    return isinstance(v, (int, np.integer)) and not isinstance(v, bool) or _is_symbol(v)


def _is_symbol(v: Any) -> bool:
    return not isinstance(v, (Tensor, np.ndarray, bool)) and hasattr(v, "__index__") and hasattr(v, "node")


def _is_index(v: Any) -> bool:
    if isinstance(v, Tensor):
        return not v._array.ndim
    return not isinstance(v, (bool, np.bool_, np.ndarray)) and hasattr(v, "__index__")


def _is_integer(v: Any) -> bool:
    return _is_int(v) or _is_zero_dim(v) and v.dtype.category == 1


def _is_float(v: Any) -> bool:
    return isinstance(v, (float, int, np.integer, np.floating)) or _is_symbol(v) or _is_zero_dim(v)


def _is_complex(v: Any) -> bool:
    return _is_float(v) or isinstance(v, complex)


def _is_number(v: Any) -> bool:
    return isinstance(v, (complex, np.generic)) or _is_float(v)


def _is_any(v: Any) -> bool:
    return True


_IS: dict[str, Any] = {
    "Tensor": _is_tensor,
    "Scalar": _is_number,
    "int": _is_integer,
    "float": _is_float,
    "bool": lambda v: isinstance(v, bool),
    "str": lambda v: isinstance(v, str),
    "ScalarType": lambda v: isinstance(v, dtype) or v in (float, int, bool, complex),
    "Device": lambda v: isinstance(v, (device, str)) or _is_int(v),
    "Layout": lambda v: isinstance(v, layout),
    "MemoryFormat": lambda v: isinstance(v, memory_format),
    "Generator": lambda v: type(v).__name__ == "Generator",
    "Dimname": lambda v: v is None or isinstance(v, str),
    "Storage": lambda v: not isinstance(v, Tensor),
    "Stream": _is_any,
}

# ---------------------------------------------------------------------------------------------- why one does not match


def _no_match(overload: _Overload, args: tuple, kwargs: dict[str, Any]) -> str:
    """The line below an overload that has as many parts as there are arguments (torch counts the star as well)."""
    parts: list[_Parameter | None] = [*overload.parameters]
    star = next((i for i, p in enumerate(overload.parameters) if p.keyword), None)
    if star is not None:
        parts.insert(star, None)
    if len(args) + len(kwargs) != max(1, len(parts)):
        return ""
    by_name = {p.name: p for p in overload.parameters}
    taken = [p.name for p in overload.parameters[: len(args)]]
    foreign = [k for k in kwargs if k not in by_name or k in taken or k == "out"]
    if foreign:
        return f"      didn't match because some of the keywords were incorrect: {', '.join(foreign)}\n"
    shown = [_shown(p, v) for p, v in zip(parts or [None], args, strict=False)]
    shown += [f"{k}={_shown(by_name[k], v)}" for k, v in kwargs.items()]
    return f"      didn't match because some of the arguments have invalid types: ({', '.join(shown)})\n"


def _shown(p: _Parameter | None, value: Any) -> str:
    """The type of an argument, between exclamation marks where its word is not the parameter's."""
    word = type_name(value)
    if isinstance(value, (tuple, list)):
        inside = ", ".join(map(type_name, value))
        word += f" of [{inside}]" if isinstance(value, list) else f" of ({inside}{',' * (len(value) == 1)})"
    return word if p is not None and word == p.word and p.default != "None" else f"!{word}!"
