"""Stand-in for a name that torch has and Rushlight has not: a program may import it, and fails where it uses it.

A class can be subclassed, asked about with `isinstance`, caught and written in annotations; making an instance raises
NotImplementedError. So does calling a function, and whatever would let a program go on with a value that is not there.
"""

import abc
import builtins
import sys
import types

from . import missing_report
from .suggestions import Hinted
from .torch_names import of_class

__all__ = ["ANSWERS", "absent_attribute", "absent_class", "absent_error", "absent_function", "absent_value"]

# What a part of torch answers that is not there; programs ask before they use it.
ANSWERS = {"is_available": False, "is_built": False, "is_initialized": False, "is_compiled": False, "device_count": 0}


class Absent(Hinted, NotImplementedError):
    """A NotImplementedError that names what is missing: transformers takes one for an answer in each call of a model."""


def absent_error(path, note=""):
    """The NotImplementedError that names what is missing, and what comes near."""
    return Absent(f"Rushlight does not have {path}{note}", path=path)


def _refuse(path, note=""):
    missing_report.note(path, "call")
    raise absent_error(path, note)


# functions


class AbsentFunction:
    """A function of torch's; a call raises NotImplementedError.

    As a decorator it leaves the program's import alone: the function that it decorates raises when it is called.
    """

    def __init__(self, path):
        self.__name__ = self.__qualname__ = path.rpartition(".")[2]
        self.__module__ = path.rpartition(".")[0]
        self._path = path

    def __call__(self, *args, **kwargs):
        if not _decorates(sys._getframe(1)):
            _refuse(self._path)
        missing_report.note(self._path, "decorator")
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return _decorated(self._path, args[0])
        return lambda function: _decorated(self._path, function)

    def __get__(self, instance, owner=None):
        return self

    def __reduce__(self):
        return _of_path, (self._path,)

    def __repr__(self):
        return f"<function {self._path}, which Rushlight does not have>"


def absent_function(path):
    """The stand-in of a function."""
    answer = ANSWERS.get(path.rpartition(".")[2])
    if answer is None:
        return AbsentFunction(path)
    return lambda *args, **kwargs: answer


def _of_path(path):
    import importlib

    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _decorates(frame):
    """Whether the frame is about to decorate with what it calls: its text there follows an `@`."""
    import linecache

    code = frame.f_code
    line, _, column, _ = list(code.co_positions())[frame.f_lasti // 2]
    text = linecache.getline(code.co_filename, line or 0, frame.f_globals)
    return text.encode()[: column or 0].strip() == b"@"


def _decorated(path, function):
    if isinstance(function, type):
        return function

    def refuse(*args, **kwargs):
        _refuse(path, f", which decorates {getattr(function, '__qualname__', function)}")

    import functools

    return functools.update_wrapper(refuse, function, updated=())


# classes


class AbsentType(abc.ABCMeta):
    """The class of stand-ins for classes, and of what a program derives from them."""

    def __call__(cls, *args, **kwargs):
        path = next(base.__dict__["_absent_path"] for base in cls.__mro__ if "_absent_path" in base.__dict__)
        derived = cls.__dict__.get("_absent_path") != path
        if _decorates(sys._getframe(1)):
            missing_report.note(path, "decorator")
            return lambda function: _decorated(path, function)
        _refuse(path, f", from which {cls.__qualname__} is derived" if derived else "")

    def __getattr__(cls, name):
        for base in cls.__mro__:
            path = base.__dict__.get("_absent_path")
            kind = (of_class(path) or {}).get(name) if path else None
            if kind:
                return absent_attribute(f"{path}.{name}", kind)
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)

    def __getitem__(cls, parameters):
        return cls

    def __iter__(cls):
        _refuse(cls._absent_path)

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__qualname__}'>"


def absent_class(path, home="", base=""):
    """The stand-in of a class; `home` is "module:Class" where torch defines it, `base` the built-in of an exception."""
    module, _, name = (home or ":".join(path.rpartition(".")[::2])).partition(":")
    bases = (getattr(builtins, base),) if base else ()
    members = {"__module__": module, "__qualname__": name, "_absent_path": path, "__doc__": None}
    return AbsentType(name.rpartition(".")[2], bases, members)


# values


class AbsentValue:
    """A value of torch's: it can be passed on and kept; anything that would need what it is raises NotImplementedError."""

    def __init__(self, path):
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        _refuse(f"{self._path}.{name}")

    def __repr__(self):
        return f"<{self._path}, which Rushlight does not have>"


class AbsentConstant(AbsentValue):
    """A dtype, layout or member of an enumeration: equal to itself alone, as no tensor here is of that kind."""


def _refused(self, *args):
    _refuse(self._path)


_OPERATIONS = (
    "bool", "int", "float", "complex", "index", "str", "format", "iter", "len", "contains", "getitem", "setitem",
    "call", "enter", "exit", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv",
    "rfloordiv", "mod", "rmod", "pow", "rpow", "matmul", "rmatmul", "neg", "pos", "abs", "invert", "and", "rand",
    "or", "ror", "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift", "lt", "le", "gt", "ge", "eq", "ne",
    "hash", "array", "setattr",
)  # fmt: skip
for _name in _OPERATIONS:
    setattr(AbsentValue, f"__{_name}__", _refused)
AbsentConstant.__eq__ = object.__eq__  # type: ignore[method-assign]
AbsentConstant.__ne__ = object.__ne__  # type: ignore[method-assign]
AbsentConstant.__hash__ = object.__hash__  # type: ignore[method-assign]
AbsentConstant.__repr__ = AbsentConstant.__str__ = lambda self: self._path  # type: ignore[method-assign]
AbsentConstant.__format__ = lambda self, spec: format(repr(self), spec)  # type: ignore[method-assign]


def absent_value(path, kind):
    """The stand-in of a value; kind "k" is a constant."""
    return AbsentConstant(path) if kind == "k" else AbsentValue(path)


def absent_attribute(path, kind):
    """The stand-in of a class's attribute."""
    return AbsentFunction(path) if kind == "f" else absent_value(path, kind)
