"""Functions written with NumPy, as functions that do the same with CuPy.

A reference kernel names NumPy in its code: `np.zeros` makes an array of the host wherever it is called. So a kernel is
not called as it is but as a copy whose global names and closures lead to CuPy in the place of NumPy, and to such copies of
the functions of Rushlight that it calls. The copies are made once, on first use, and share the code of the original.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import _lru_cache_wrapper, cache, partial
from operator import is_
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from ...core.dispatch.extension_points import Slot, ThreadSlot
from ...ops.pointwise.fused_loops import FusedLoop

_OURS = ("rushlight.ops", "rushlight.core")


class Translator:
    """Translates what refers to NumPy.

    library: the module that replaces NumPy, such as `cupy`. own: functions by NumPy's names ("add.reduce",
    "linalg.svd") that come before the library's. replaced: what replaces functions of Rushlight that read addresses.
    """

    def __init__(self, library: Any, own: dict[str, Callable], replaced: dict[Callable, Callable]):
        self.library, self.own = library, own
        self.array_type = _array_type(library, own)
        self.numpy = Namespace(self, np, "")
        self._made: dict[int, tuple[Any, Any]] = {}  # by identity: the original, kept alive, and its translation
        self._made.update({id(f): (f, by) for f, by in replaced.items()})

    def __call__(self, value: Any) -> Any:
        """What replaces `value`, which may be anything: itself, where it does not refer to NumPy."""
        found = self._made.get(id(value))
        if found is None:
            found = self._made[id(value)] = (value, self._translated(value))
        return found[1]

    def _translated(self, value: Any) -> Any:
        if value is np:
            return self.numpy
        if value is np.ndarray:
            return self.array_type
        if isinstance(value, ModuleType):
            return self._module(value)
        if isinstance(value, np.ufunc):
            return self.named(value.__name__, value)
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, (Slot, ThreadSlot)):
            return Slot()  # what fills the extension points works on the host's memory
        if type(value) is FusedLoop:
            step = self(value.step)
            return SimpleNamespace(step=step, kernel=step)
        if isinstance(value, _lru_cache_wrapper):
            return cache(self(value.__wrapped__))
        if type(value) is dict and value and all(map(callable, value.values())):  # a table of kernels
            return {k: self(v) for k, v in value.items()}
        if isinstance(value, partial):
            return partial(self(value.func), *map(self, value.args), **{k: self(v) for k, v in value.keywords.items()})
        if isinstance(value, (MethodDescriptorType, WrapperDescriptorType)) and value.__objclass__ is np.ndarray:
            return getattr(self.library.ndarray, value.__name__)
        if isinstance(value, BuiltinFunctionType):
            return self._builtin(value)
        if isinstance(value, np.ndarray):  # a constant
            return self.library.asarray(value) if value.ndim else value[()]
        if type(value) is tuple:
            parts = tuple([self(v) for v in value])
            return value if all(map(is_, parts, value)) else parts
        if (
            callable(value)
            and not isinstance(value, type)
            and (getattr(value, "__module__", "") or "").split(".")[0] == "numpy"
        ):
            return self.named(f"{value.__module__}.{value.__name__}"[6:], value)
        return value

    def _type(self, value: Any) -> type:
        """`type(value)` in a translated function, where `np.ndarray` is `array_type`."""
        return self.array_type if isinstance(value, self.library.ndarray) else type(value)

    def _module(self, module: ModuleType) -> Any:
        if module.__name__.startswith("numpy."):
            return Namespace(self, module, module.__name__[6:] + ".")
        return Ours(self, module) if module.__name__.startswith(_OURS) else module

    def _builtin(self, value: Any) -> Any:
        owner = value.__self__
        if isinstance(owner, np.ufunc):  # np.add.reduce
            return self.named(f"{owner.__name__}.{value.__name__}", value)
        module = value.__module__ or ""
        if module.split(".")[0] == "numpy":
            return self.named(f"{module}.{value.__name__}"[6:], value)
        return value

    def _function(self, function: FunctionType) -> Any:
        module = function.__module__ or ""
        if module.split(".")[0] == "numpy":
            return self.named(f"{module}.{function.__name__}"[6:], function)
        if not module.startswith(_OURS):
            return function
        whole = getattr(function, "whole", None)  # pieces are for the caches of a CPU
        return self(whole) if whole is not None else self._copied(function)

    def _copied(self, function: FunctionType) -> FunctionType:
        cells = tuple([CellType(c.cell_contents) for c in function.__closure__ or ()])
        scope: dict[str, Any] = {"__name__": function.__module__, "__builtins__": builtins, "type": self._type}
        copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)
        copy.__kwdefaults__ = {k: self(v) for k, v in (function.__kwdefaults__ or {}).items()} or None
        self._made[id(function)] = (function, copy)  # before what it refers to, which may be itself
        record = getattr(function, "record", None)
        if record is not None:
            copy.record = SimpleNamespace(**dict.fromkeys(("kernel", "reference"), self(record.reference)))  # type: ignore[attr-defined]
        copy.__defaults__ = tuple(map(self, function.__defaults__ or ())) or None
        for cell in cells:
            cell.cell_contents = self(cell.cell_contents)
        for name in _names(function.__code__):
            if name in function.__globals__:
                scope[name] = self(function.__globals__[name])
        return copy

    def named(self, name: str, value: Any) -> Any:
        """The library's function for NumPy's `value`; one that raises NotImplementedError when called where there is none."""
        if name in self.own:
            return self.own[name]
        found = self.library
        for part in name.split("."):
            found = getattr(found, part, None)
            if found is None:
                return partial(_lacking, name)
        methods = {key[len(name) + 1 :]: by for key, by in self.own.items() if key.startswith(f"{name}.")}
        return Ufunc(found, methods) if methods and isinstance(value, np.ufunc) else found


class Ufunc:
    """A function of the library whose methods, such as `reduce`, are others than the library's."""

    def __init__(self, function: Callable, methods: dict[str, Callable]):
        self._function = function
        self.__dict__.update(methods)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._function(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


class Namespace:
    """NumPy's module, or one inside it, as a translated function sees it."""

    def __init__(self, translator: Translator, module: ModuleType, prefix: str):
        self._translator, self._module, self._prefix = translator, module, prefix

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if self._prefix + name in self._translator.own:
            found = self._translator.own[self._prefix + name]
        elif isinstance(value, ModuleType):
            found = Namespace(self._translator, value, f"{self._prefix}{name}.")
        elif value is np.ndarray:
            found = self._translator.array_type
        elif callable(value) and not isinstance(value, type) and self._prefix != "lib.array_utils.":
            found = (
                self._translator(value)
                if isinstance(value, np.ufunc)
                else self._translator.named(self._prefix + name, value)
            )
        else:
            found = value  # types, numbers, contexts
        self.__dict__[name] = found
        return found


class Ours:
    """A module of Rushlight, as a translated function sees it."""

    def __init__(self, translator: Translator, module: ModuleType):
        self._translator, self._module = translator, module

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = self._translator(getattr(self._module, name))
        return found


def _array_type(library: Any, own: dict[str, Callable]) -> type:
    """What `np.ndarray` is in a translated function: the type of the library's arrays, called as NumPy's is."""

    class Type(type(library.ndarray)):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, library.ndarray)

        def __getattr__(cls, name: str) -> Any:
            return getattr(library.ndarray, name)

    def make(cls: type, shape: Any, dtype: Any, buffer: Any = None, offset: int = 0, strides: Any = None) -> Any:
        if buffer is None or offset or buffer.dtype != dtype:
            raise NotImplementedError("np.ndarray(...) of memory that is no array's beginning")
        return own["lib.stride_tricks.as_strided"](buffer, shape, strides)

    return Type("ndarray", (), {"__new__": make})


def _lacking(name: str, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(f"the library has no {name}")


def _names(code: CodeType) -> set[str]:
    """The global names that a function's code and the functions inside it may read."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names
