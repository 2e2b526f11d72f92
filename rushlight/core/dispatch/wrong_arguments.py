"""Arguments of the wrong type in composites: torch's TypeError instead of what they lead to inside.

A composite is a plain function; a list where a tensor belongs would end in `'list' object has no attribute '_array'`. Only
where an error has been raised are the arguments compared with torch's schemas, so a right call costs a `try`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cache, wraps
from typing import Any

import numpy as np

from ..device.backend import out_of_memory
from ..interrupts import raise_if_interrupted
from ..tensor.tensor import Tensor
from .aten.schemas import composite_overloads, overloads
from .errors import argument_type, was_raised
from .extension_points import profiled_call
from .python_signatures import PARSED_FIRST, call_error
from .scalars import flag_type, type_name

# too cheap, or too often called, for a frame of their own
_FAST = frozenset(
    [
        "arange",
        "argmax",
        "argmin",
        "cat",
        "clamp",
        "clone",
        "contiguous",
        "cpu",
        "cumsum",
        "detach",
        "dim",
        "double",
        "einsum",
        "embedding",
        "empty",
        "empty_like",
        "expand",
        "float",
        "full",
        "gather",
        "gelu",
        "half",
        "index_select",
        "int",
        "is_floating_point",
        "item",
        "layer_norm",
        "linear",
        "log_softmax",
        "long",
        "matmul",
        "max",
        "mean",
        "min",
        "mse_loss",
        "ones",
        "ones_like",
        "permute",
        "pow",
        "rand",
        "randn",
        "relu",
        "reshape",
        "select",
        "sigmoid",
        "silu",
        "size",
        "softmax",
        "squeeze",
        "stack",
        "sub",
        "sum",
        "t",
        "tensor",
        "to",
        "transpose",
        "unsqueeze",
        "view",
        "where",
        "zero_",
        "zeros",
        "zeros_like",
    ]
)
EXPLAINED_METHODS = frozenset(  # those of methods only; a frame is a third of the time of `is_contiguous`
    ["expand_as", "exponential_", "map_", "normal_", "random_", "reshape_as", "type_as", "uniform_", "view_as"]
)
_WORDS = {"Scalar": "Number", "SymInt": "int", "ScalarType": "torch.dtype", "Device": "torch.device", "MemoryFormat": "torch.memory_format",
    "Layout": "torch.layout", "Dimname": "name", "Storage": "torch.Storage", "Generator": "torch.Generator"}  # fmt: skip

_WORDS_IN_PYTHON = ("reduction", "compute_mode")  # numbers in the schemas
_NUMBERS_IN_PYTHON = ("dims", "repeats", "shape", "size")  # lists, of which methods take the numbers one by one


def explained(name: str, f: Callable, is_method: bool = False) -> Callable:
    """The function with torch's TypeError for arguments of the wrong type. is_method: torch does not count `self`."""
    if name in _FAST or hasattr(f, "record") or hasattr(f, "explains_arguments"):  # operators do so themselves
        return f

    flags = _own_flags(f)
    least = min((i for _, i in flags), default=_MANY)  # so many arguments have no flag among them

    @wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        if flags and kwargs or len(args) > least:
            given = [(n, kwargs[n] if n in kwargs else args[i]) for n, i in flags if n in kwargs or i < len(args)]
            if wrong := wrong_flag(name, given):
                raise (
                    call_error()
                    or _unlike_schemas(name, args, kwargs, is_method, _own_forms(f))
                    or flag_type(name, *wrong)
                )
        profiled = profiled_call.value
        try:
            return f(*args, **kwargs) if profiled is None else profiled(name, f, args, kwargs)
        except (AttributeError, IndexError, TypeError, ValueError, RuntimeError) as error:
            raise_if_interrupted(error)
            better = call_error(error) if type(error) in PARSED_FIRST else None
            better = better or read_in_python(name, args) or _better(name, f, args, kwargs, error, is_method)
            if better is None:
                raise
        except MemoryError as error:
            better = out_of_memory(error)
        try:
            raise better
        finally:
            del better  # this frame is in its traceback: together they would keep the arguments until a collection

    call.explains_arguments = True  # type: ignore[attr-defined]
    return call


_MANY = 1000
# By functions that torch writes in Python: what they read of their first arguments before all else.
_READ_FIRST = {
    "adaptive_avg_pool2d": "size", "adaptive_avg_pool3d": "size", "affine_grid": "is_floating_point", "glu": "dim",
    "interpolate": "dim", "log_softmax": "log_softmax", "norm": "layout", "normalize": "norm", "softmax": "softmax", "split": "split",
    "tensordot": "dim",
}  # fmt: skip


def read_in_python(name: str, args: tuple) -> AttributeError | None:
    """torch's error where it reads an attribute of what is no tensor; None for other functions and for tensors."""
    attribute = _READ_FIRST.get(name)
    if attribute is None:
        return None
    for i, value in enumerate(args[: 2 if name == "tensordot" else 1]):
        if not isinstance(value, Tensor) and not hasattr(value, attribute) and not hasattr(value, "__torch_function__"):
            what = f"{name}(): argument {i + 1} must be Tensor, not {type_name(value)}"
            return AttributeError(f"'{type_name(value)}' object has no attribute '{attribute}': {what}")
    return None


def _own_flags(f: Callable) -> tuple[tuple[str, int], ...]:
    """The parameters of a function that are True or False by default, with their places (`_MANY`: by name only)."""
    code = getattr(f, "__code__", None)
    if code is None:
        return ()
    names, defaults = code.co_varnames[: code.co_argcount], f.__defaults__ or ()  # type: ignore[attr-defined]
    first = len(names) - len(defaults)
    placed = [
        (n, first + i)
        for i, (n, v) in enumerate(zip(names[first:], defaults, strict=True))
        if type(v) is bool or n == "unbiased"
    ]
    return (*placed, *((n, _MANY) for n, v in (f.__kwdefaults__ or {}).items() if type(v) is bool))  # type: ignore[attr-defined]


def raise_no_tensor(name: str, value: Any) -> None:
    """Raise the error of `read_in_python`, if there is one, for a function without `explained`."""
    if (error := read_in_python(name, (value,))) is not None:
        raise error from None


def wrong_flag(name: str, options: Iterable[tuple[str, Any]]) -> tuple[str, Any] | None:
    """The first option that torch declares a bool and that is given as something else, such as keepdim="x"."""
    for option, value in options:
        is_other = value is None and option == "unbiased"  # torch has an overload with `correction` for that
        if value is not True and value is not False and not is_other and option in _flags(name):
            return option, value
    return None


@cache
def _flags(name: str) -> frozenset[str]:
    """The options of an operator that are bools, and nothing else, in all of torch's overloads that have them."""
    kinds: dict[str, set[str]] = {}
    for schema in schemas_of(name):
        for p in schema.parameters:
            kinds.setdefault(p.name, set()).add(p.type)
    return frozenset(n for n, types in kinds.items() if types == {"bool"})


def _better(name: str, f: Callable, args: tuple, kwargs: dict, error: Exception, is_method: bool) -> Exception | None:
    """torch's error in place of one that an argument of the wrong type led to, or None."""
    values = [*args, *kwargs.values()]
    inside = [v for value in values for v in (value if type(value) in (list, tuple) else (value,))]
    if any(hasattr(type(v), "__torch_function__") and not isinstance(v, Tensor) for v in inside):
        return None
    if isinstance(error, AttributeError):
        obj = getattr(error, "obj", None)
        leaked = any(v is obj or v.__class__ is np.ndarray for v in (*values, *inside)) and not isinstance(obj, Tensor)
    elif isinstance(error, TypeError):
        leaked = not was_raised(error) and not str(error).startswith(f.__name__ + "()")
    else:
        leaked = str(error).startswith(
            ("Boolean value of Tensor", "invalid literal for int()", "only one element tensors")
        )
    if leaked:
        return _unlike_schemas(name, args, kwargs, is_method) or _unlike_parameters(name, f, args, kwargs, error)
    if type(error) not in (AttributeError, IndexError, NotImplementedError, RuntimeError, ValueError):
        return None  # a TypeError that says what is wrong, or a class that a caller waits for
    return _unlike_schemas(name, args, kwargs, is_method, _own_forms(f))  # torch looks at the types before all else


def schemas_of(name: str) -> tuple:
    """torch's overloads of a function by its name in Python, such as `linalg.det`; none where torch has no schema."""
    plain = name.replace("linalg.", "linalg_").replace("fft.", "fft_").replace("special.", "special_")
    return overloads(plain) or composite_overloads(plain)


def _unlike_schemas(
    name: str, args: tuple, kwargs: dict, is_method: bool, own: dict[str, type] | None = None
) -> TypeError | None:
    """The error of arguments that no overload of torch's takes.

    own: the types that the function takes besides those of the schemas; with it only a wrong type is an error.
    """
    known = schemas_of(name)
    faults = [_fault(schema.parameters, args, kwargs, own) for schema in known]
    if not known or not all(faults) or own is not None and not any(isinstance(fault, tuple) for fault in faults):
        return None
    if len(known) == 1 and isinstance(faults[0], tuple):
        parameter, position, value = faults[0]
        place = f" (position {position - is_method})" if position else ""
        return TypeError(
            f"{name}(): argument '{parameter.name}'{place} must be {_word(parameter.type)}, not {type_name(value)}"
        )
    got = ", ".join([*map(type_name, args[is_method:]), *(f"{k}={type_name(v)}" for k, v in kwargs.items())])
    forms = "".join(f"\n * ({', '.join(_form(p) for p in schema.parameters)})" for schema in known)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:{forms}"
    )


def _fault(parameters: tuple, args: tuple, kwargs: dict, own: dict[str, type] | None) -> Any:
    """What is wrong with arguments for an overload: (parameter, position, value), True for their number, None if nothing."""
    positional = [p for p in parameters if not p.keyword]
    named = {_public(p.name): p for p in parameters}
    if len(args) > len(positional) or any(k not in named for k in kwargs):
        return True
    given = [(p, i + 1, v) for i, (p, v) in enumerate(zip(positional, args, strict=False))]
    given += [(named[k], 0, v) for k, v in kwargs.items()]
    taken = {p.name for p, _, _ in given}
    if any(p.default is None and p.name not in taken for p in parameters):
        return True
    wrong = ((p, i, v) for p, i, v in given if not (_accepts(p, v) or _has_own_form(p, v, own)))
    return next(((p._replace(name=_public(p.name)), i, v) for p, i, v in wrong), None)


def _own_forms(f: Callable) -> dict[str, type]:
    """The types of a function's defaults by its parameters: `reduction="mean"` is a number in the schemas."""
    parameters = inspect.signature(f).parameters.values()
    return {p.name: type(p.default) for p in parameters if p.default is not p.empty}


def _has_own_form(parameter: Any, value: Any, own: dict[str, type] | None) -> bool:
    """Whether a value that the schema has otherwise is one that the function takes: as its default, or several numbers."""
    if own is None:
        return False
    if own.get(parameter.name) is type(value) or type(value) is int and parameter.name in _NUMBERS_IN_PYTHON:
        return True
    return type(value) is str and parameter.name in _WORDS_IN_PYTHON


def _accepts(parameter: Any, value: Any) -> bool:
    if isinstance(value, Tensor) and not value._array.ndim and "Tensor" not in parameter.type:
        return True  # a number in a tensor
    if isinstance(value, np.generic):
        value = value.item()
    elif hasattr(value, "__index__") and not isinstance(value, (int, Tensor, np.ndarray)):
        value = int(value)
    return parameter.accepts(value)


def _public(name: str) -> str:
    return "input" if name == "self" else name


def _word(kind: str) -> str:
    kind = kind.rstrip("?")
    stem, is_list, _ = kind.partition("[")
    word = _WORDS.get(stem.rstrip("?"), stem.rstrip("?"))
    return f"tuple of {word}s" if is_list else word


def _form(p: Any) -> str:
    return f"{_word(p.type)} {_public(p.name)}" + ("" if p.default is None else f" = {p.default}")


def _unlike_parameters(name: str, f: Callable, args: tuple, kwargs: dict, error: Exception) -> TypeError | None:
    """Without a schema: the argument whose attribute was asked for had to be a tensor."""
    obj = getattr(error, "obj", None)
    code = getattr(f, "__code__", None)
    if not isinstance(error, AttributeError) or code is None:
        return None
    for i, value in enumerate(args):
        if value is obj and i < code.co_argcount:
            return argument_type(name, code.co_varnames[i], i + 1, value)
        if type(value) in (list, tuple) and any(v is obj for v in value):
            place = next(k for k, v in enumerate(value) if v is obj)
            return TypeError(f"expected Tensor as element {place} in argument {i}, but got {type_name(obj)}")
        if value is obj:
            return TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name(obj)}")
    named = next((k for k, v in kwargs.items() if v is obj), None)
    return None if named is None else TypeError(f"{name}(): argument '{named}' must be Tensor, not {type_name(obj)}")
