"""Arguments of the wrong type in composites: torch's TypeError instead of what they lead to inside.

A composite is a plain function; a list where a tensor belongs would end in `'list' object has no attribute '_array'`. Only
where an error has been raised are the arguments compared with torch's schemas, so a right call costs a `try`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..tensor.tensor import Tensor
from .aten.schemas import overloads
from .errors import argument_type, was_raised
from .scalars import type_name

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
        "cross_entropy",
        "cumsum",
        "detach",
        "dim",
        "double",
        "dropout",
        "einsum",
        "embedding",
        "empty",
        "empty_like",
        "expand",
        "expand_as",
        "flatten",
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
        "masked_fill",
        "matmul",
        "max",
        "mean",
        "min",
        "mse_loss",
        "norm",
        "numel",
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
        "split",
        "squeeze",
        "stack",
        "std",
        "sub",
        "sum",
        "t",
        "tensor",
        "to",
        "transpose",
        "type_as",
        "unsqueeze",
        "var",
        "view",
        "view_as",
        "where",
        "zero_",
        "zeros",
        "zeros_like",
    ]
)
_WORDS = {"Scalar": "Number", "SymInt": "int", "ScalarType": "torch.dtype", "Device": "torch.device", "MemoryFormat": "torch.memory_format",
    "Layout": "torch.layout", "Dimname": "name", "Storage": "torch.Storage", "Generator": "torch.Generator"}  # fmt: skip


def explained(name: str, f: Callable) -> Callable:
    """The function with torch's TypeError for arguments of the wrong type."""
    if name in _FAST or hasattr(f, "record") or hasattr(f, "explains_arguments"):  # operators do so themselves
        return f

    @wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except (AttributeError, TypeError, ValueError, RuntimeError) as error:
            better = _better(name, f, args, kwargs, error)
            if better is None:
                raise
        try:
            raise better
        finally:
            del better  # this frame is in its traceback: together they would keep the arguments until a collection

    call.explains_arguments = True  # type: ignore[attr-defined]
    return call


def _better(name: str, f: Callable, args: tuple, kwargs: dict, error: Exception) -> Exception | None:
    """torch's error in place of one that an argument of the wrong type led to, or None."""
    values = [*args, *kwargs.values()]
    inside = [v for value in values for v in (value if type(value) in (list, tuple) else (value,))]
    if isinstance(error, AttributeError):
        obj = getattr(error, "obj", None)
        leaked = any(v is obj for v in (*values, *inside)) and not isinstance(obj, Tensor)
    elif isinstance(error, TypeError):
        leaked = not was_raised(error) and not str(error).startswith(f.__name__ + "()")
    else:
        leaked = str(error).startswith(("Boolean value of Tensor", "invalid literal for int()"))
    if not leaked or any(hasattr(type(v), "__torch_function__") and not isinstance(v, Tensor) for v in inside):
        return None
    return _unlike_schemas(name, args, kwargs) or _unlike_parameters(name, f, args, kwargs, error)


def _unlike_schemas(name: str, args: tuple, kwargs: dict) -> TypeError | None:
    """The error of arguments that no overload of torch's takes."""
    known = overloads(name.replace("linalg.", "linalg_").replace("fft.", "fft_").replace("special.", "special_"))
    faults = [_fault(schema.parameters, args, kwargs) for schema in known]
    if not known or not all(faults):
        return None
    if len(known) == 1 and isinstance(faults[0], tuple):
        parameter, position, value = faults[0]
        place = f" (position {position})" if position else ""
        return TypeError(
            f"{name}(): argument '{parameter.name}'{place} must be {_word(parameter.type)}, not {type_name(value)}"
        )
    got = ", ".join([*map(type_name, args), *(f"{k}={type_name(v)}" for k, v in kwargs.items())])
    forms = "".join(f"\n * ({', '.join(_form(p) for p in schema.parameters)})" for schema in known)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:{forms}"
    )


def _fault(parameters: tuple, args: tuple, kwargs: dict) -> Any:
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
    return next(((p._replace(name=_public(p.name)), i, v) for p, i, v in given if not _accepts(p, v)), None)


def _accepts(parameter: Any, value: Any) -> bool:
    if isinstance(value, Tensor) and not value._array.ndim and "Tensor" not in parameter.type:
        return True  # a number in a tensor
    if hasattr(value, "__index__") and not isinstance(value, (int, Tensor)):
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
