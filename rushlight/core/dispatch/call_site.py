"""How a program made the call that has raised: by which name, as a method or not, and with which arguments.

An entry point has its arguments bound to parameters, which does not say what was given by keyword or left out, and one
function object serves `torch.f(x)`, `x.f()` and its aliases. The program's bytecode says it; it is read only after an error.
"""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

from .. import own_code
from ..tensor.tensor import Tensor

__all__ = ["Call", "failed_call", "type_name"]

_LOADS = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_OPTIMIZED, _VARARGS, _VARKEYWORDS = 1, 4, 8


class Call(NamedTuple):
    """A call of the program's: where the function was found ("Tensor", "torch", "linalg" ...), its name, its arguments."""

    kind: str
    name: str
    args: tuple
    kwargs: dict[str, Any]


class _Site(NamedTuple):
    """What the bytecode of a call says."""

    path: tuple[str, ...]  # `torch.linalg.norm` as its names; ("", "exp") where a method of no name is called
    positional: int  # -1: unknown, as in f(*args)
    keywords: tuple[str, ...]


def failed_call(exactly: bool = False) -> Call | None:
    """The program's call that led here; None where it is no call of a function that torch has under such a name.

    exactly: None too where the function puts other values into its parameters: what it was given is lost then.
    """
    frame, callee = sys._getframe(1), None
    while frame is not None and _is_own(frame):
        frame, callee = frame.f_back, frame  # type: ignore[assignment]
    if frame is None or callee is None:
        return None
    site = _site(frame.f_code, frame.f_lasti)
    if site is None:
        return None
    owner = _owner(frame, site.path)
    is_method = not isinstance(owner, (ModuleType, type))
    found = None if is_method and len(site.path) == 1 else _arguments(callee, site, is_method)
    if exactly and _rebinds(callee.f_code):
        return None
    if found is None:
        return None
    (args, kwargs), name = found, site.path[-1]
    if isinstance(owner, ModuleType):
        last = owner.__name__.rpartition(".")[2]
        is_known = last in _KINDS and owner.__name__.partition(".")[0] in ("rushlight", "torch")
        return Call(_KINDS[last], name, args, kwargs) if is_known and _is_function(owner, name, callee) else None
    if not args or not isinstance(args[0], Tensor):
        return None
    cls = owner if isinstance(owner, type) else type(args[0])
    return Call("Tensor", name, args[1:], kwargs) if _is_function(cls, name, callee) else None


def _is_function(owner: Any, name: str, callee: FrameType) -> bool:
    """Whether a frame is a call of `owner.name`, and not of something that an object has under that name."""
    code = getattr(getattr(owner, name, None), "__code__", None)
    return callee.f_code is code or callee.f_code.co_name == "_first_function"  # that compiles the entry point


def _is_own(frame: FrameType) -> bool:
    """Whether a frame is one of Rushlight's: a module's, or one of an entry point, whose scope is no module's."""
    return own_code.is_own_file(frame.f_code.co_filename)


def _owner(frame: FrameType, path: tuple[str, ...]) -> Any:
    """The module or class in which a program found a function; anything else is what it called a method of.

    Attributes are read of modules only, for others may compute them.
    """
    scopes = (_values(frame, path[:1]), frame.f_globals)
    value = next((scope[path[0]] for scope in scopes if path[0] in scope), None)
    if len(path) == 1:
        known = (sys.modules.get(name) for name in ("rushlight", "rushlight.nn.functional"))
        owners = [m for m in known if m is not None and value is not None and vars(m).get(path[0]) is value]
        return owners[0] if len(owners) == 1 else None  # one object under two names that torch has two functions for
    for name in path[1:-1]:
        if not isinstance(value, ModuleType):
            return None
        value = getattr(value, name, None)
    return value


_KINDS = {
    "rushlight": "torch",
    "torch": "torch",
    "functional": "nn",
    "linalg": "linalg",
    "fft": "fft",
    "special": "special",
}


def _values(frame: FrameType, names: tuple[str, ...]) -> dict[str, Any]:
    """The values of some of a frame's variables.

    Before Python 3.13 a frame keeps a copy of all its variables once they were read, which would keep tensors alive that the
    function lets go, and tie an error to the frames of its traceback.
    """
    known = frame.f_locals
    found = {n: known[n] for n in names if n in known}
    if sys.version_info < (3, 13) and frame.f_code.co_flags & _OPTIMIZED:
        known.clear()
    return found


def _arguments(callee: FrameType, site: _Site, is_method: bool) -> tuple[tuple, dict[str, Any]] | None:
    """The positional and named arguments that a frame was called with."""
    code = callee.f_code
    names, count = code.co_varnames, code.co_argcount + code.co_kwonlyargcount
    star = names[count] if code.co_flags & _VARARGS else None
    named = names[count + (star is not None)] if code.co_flags & _VARKEYWORDS else None
    values = _values(callee, names[: count + (star is not None) + (named is not None)])
    try:
        given = [values[n] for n in names[: code.co_argcount]] + [*(values[star] if star else ())]
        known = {**{n: values[n] for n in names[:count]}, **(values[named] if named else {})}
        if site.positional < 0:
            is_whole = star is not None and named is not None and not count
            return (tuple(given), known) if is_whole else None
        positional = site.positional + is_method
        if positional > len(given):
            return None
        return tuple(given[:positional]), {n: known[n] for n in site.keywords}
    except KeyError:  # deleted, or given in another spelling
        return None


@lru_cache(256)
def _rebinds(code: CodeType) -> bool:
    """Whether a function puts other values into its parameters, which then are no longer what was given.

    Generated entry points do so only with what was given by NumPy's names.
    """
    if code.co_filename.startswith("<rushlight "):
        return False
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    stores = [i.argval for i in dis.get_instructions(code) if i.opname.startswith(("STORE_FAST", "STORE_DEREF"))]
    return any((name[0] if isinstance(name, tuple) else name) in parameters for name in stores)


@lru_cache(64)
def _site(code: CodeType, offset: int) -> _Site | None:
    """What the instruction at `offset` calls; None where it is no call, or of something without a name."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
    at = max(k for k, i in enumerate(instructions) if i.offset <= offset)  # `offset` may be that of a cache behind it
    if not instructions[at].opname.startswith("CALL"):
        return None
    call = instructions[at]
    keywords: tuple[str, ...] = ()
    positional = call.arg or 0
    if call.opname == "CALL_FUNCTION_EX":
        positional = -1
    elif call.opname == "CALL_KW":
        keywords = instructions[at - 1].argval
    else:
        names = next((i for i in instructions[max(0, at - 2) : at] if i.opname == "KW_NAMES"), None)
        keywords = () if names is None else code.co_consts[names.arg]  # type: ignore[index]
    path = _path(instructions, at)
    return None if path is None else _Site(path, positional - len(keywords) if positional >= 0 else -1, keywords)


def _path(instructions: list[dis.Instruction], at: int) -> tuple[str, ...] | None:
    """The names of what is called: ("torch", "exp"), or ("", "exp") for a method of a value."""
    begin = _begin(instructions[at])
    if begin is None:
        return None
    starts = [k for k, i in enumerate(instructions[:at]) if i.opname in _ATTRIBUTES and _begin(i) == begin]
    starts = [k for k in starts if _end(instructions[k]) < _end(instructions[at])]
    if not starts:
        names = [i.argval for i in instructions[:at] if i.opname in _LOADS and _begin(i) == begin]
        return (names[0],) if names and isinstance(names[0], str) else None
    k = max(starts, key=lambda k: _end(instructions[k]))
    path = [instructions[k].argval]
    k -= 1
    while instructions[k].opname in _ATTRIBUTES:
        path.insert(0, instructions[k].argval)
        k -= 1
    first = instructions[k]
    is_name = first.opname in _LOADS and isinstance(first.argval, str)
    return (first.argval, *path) if is_name else ("", path[-1])


def _begin(i: dis.Instruction) -> tuple[int, int] | None:
    p = i.positions
    return None if p is None or p.lineno is None or p.col_offset is None else (p.lineno, p.col_offset)


def _end(i: dis.Instruction) -> tuple[int, int]:
    p = i.positions
    return (p.end_lineno or 0, p.end_col_offset or 0) if p is not None else (0, 0)


def type_name(value: Any) -> str:
    """What torch's messages call the type of a value."""
    kind = type(value)
    if any(base.__module__.startswith("rushlight.") and base.__name__ == "Tensor" for base in kind.__mro__):
        return kind.__name__
    if kind.__name__ in _OF_TORCH and kind.__module__.startswith(("rushlight.", "torch")):
        return f"torch.{kind.__name__}"
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


_OF_TORCH = frozenset(["Size", "device", "dtype", "layout", "memory_format"])
