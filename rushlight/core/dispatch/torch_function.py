"""`__torch_function__`: classes whose instances are asked before a function of torch runs on them.

Subclasses of Tensor are such classes (by default they keep their type through a call), and so is any class with a method
of that name. Asking costs 0.3 us a call, so no function checks until there is such a class: then the code of every
public function is replaced by one that does, and the functions stay the objects that they were.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable
from functools import cache
from types import FunctionType
from typing import Any

from ..locks import lock
from ..own_code import FILES
from ..tensor.tensor import Tensor
from .entry import is_unspecialised
from .op import OPS, Op

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "activate",
    "ask",
    "ask_operands",
    "convert",
    "default_impl",
    "disabled_impl",
    "has_override",
    "modes",
    "overloaded_args",
    "overrides",
    "publish",
    "told_by_keyword",
]


class _Local(threading.local):
    def __init__(self) -> None:
        self.off = 0  # how many contexts ask that instances be not asked
        self.modes: list[Any] = []  # TorchFunctionMode objects, the innermost last


_local = _Local()
_asks: dict[type, bool] = {}


def disabled_impl(func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
    """The `__torch_function__` of classes that do not want to be asked, such as Parameter."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def has_override(kind: type) -> bool:
    """Whether instances of a class want to be asked."""
    known = _asks.get(kind)
    if known is None:
        own = getattr(kind, "__torch_function__", None)
        known = _asks[kind] = (
            own is not None and kind is not Tensor and getattr(own, "__func__", own) is not disabled_impl
        )
    return known


class DisableTorchFunctionSubclass:
    """A context in which instances are not asked; modes still are."""

    def __enter__(self) -> None:
        _local.off += 1

    def __exit__(self, *error: object) -> None:
        _local.off -= 1


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context in which neither instances nor modes are asked."""

    def __enter__(self) -> None:
        super().__enter__()
        self._modes, _local.modes = _local.modes, []

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        _local.modes = self._modes


def modes() -> list[Any]:
    """The modes of this thread that see every call, the innermost last."""
    return _local.modes


# ------------------------------------------------------------------------------------------ the default answer


def default_impl(cls: type, func: Callable, types: Iterable[type], args: tuple = (), kwargs: dict | None = None) -> Any:
    """Tensor's `__torch_function__`: the plain call, whose tensors become instances of `cls`."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return convert(result, cls, args)


def convert(result: Any, cls: type, arguments: tuple = ()) -> Any:
    """A call's result, in which tensors, also those inside tuples and lists, are instances of `cls`."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        if isinstance(result, cls):
            return result
        if any(result is a for a in arguments) or type(result) is not Tensor:
            return result.as_subclass(cls)
        result.__class__ = cls  # fresh: the tensor keeps what it is a view of
        return result
    if isinstance(result, (tuple, list)):
        parts = [convert(r, cls, arguments) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


# ------------------------------------------------------------------------------------------ asking


def ask(function: Callable, values: list[Any], args: tuple, kwargs: dict) -> Any:
    """What the first of `values` says that does not answer NotImplemented; subclasses come before their bases.

    Raises TypeError where none of them takes the call.
    """
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if any(type(f) is kind for f in found):
            continue
        place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
        found.insert(place, value)
    types = tuple(map(type, found))
    if _local.modes:
        mode = _local.modes.pop()
        try:
            result = mode.__torch_function__(function, types, args, kwargs)
        finally:
            _local.modes.append(mode)
        if result is not NotImplemented:
            return result
    for value in found:
        result = type(value).__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    listed = "".join(f"  - tensor subclass {kind}\n" for kind in types)
    raise TypeError(
        f"Multiple dispatch failed for 'torch.{getattr(function, '__name__', function)}'; all __torch_function__ handlers "
        f"returned NotImplemented:\n\n{listed}"
    )


def ask_operands(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """What the operands' classes say; from the next call on the public function asks, with the arguments as written."""
    activate()
    shown: Any = OPS.get(record.name, record.function)
    given = {k: v for k, v in zip(record.signature.metadata, metadata) if v not in (None, False, 1)}
    return ask(shown, overloaded_args(tensors, {}), tensors, given)


def ask_first(name: str, args: tuple) -> Any:
    """For a function that is no operator, given the first duck type of the process: what that says, or NotImplemented."""
    values = overloaded_args(args, {})
    if not values:
        return NotImplemented
    activate()
    return ask(OPS[name], values, args, {})


_PLAIN = frozenset([Tensor, int, float, bool, str, complex, type(None), slice, type(Ellipsis)])


def overloaded_args(args: tuple, kwargs: dict) -> list[Any]:
    """The arguments, also those inside tuples and lists, whose classes want to be asked."""
    found: list[Any] = []
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind in _PLAIN:
            continue
        if kind is list or kind is tuple:
            found += [v for v in value if type(v) not in _PLAIN and has_override(type(v))]
        elif has_override(kind):
            found.append(value)
    return found


def overrides(args: tuple, kwargs: dict) -> list[Any] | None:
    """For a function that is no operator of Rushlight's: the arguments to `ask`, None where nothing is asked."""
    if not _active:
        return None
    found = [] if _local.off else overloaded_args(args, kwargs)
    return found if found or _local.modes else None


def _by_keyword(function: Callable, all_of_them: bool) -> Callable[[tuple, dict], tuple[tuple, dict]]:
    """An `arguments_as_told`: what has no default stays positional unless `all_of_them`; defaults are told as well."""

    @cache
    def described() -> tuple[inspect.Signature, list[str]]:  # 20 us, at the first call
        signature = inspect.signature(function)
        parameters = {} if all_of_them else signature.parameters
        return signature, [name for name, p in parameters.items() if p.default is p.empty]

    def told(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        signature, needed = described()
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return args, kwargs  # a wrong call, which the function itself explains
        bound.apply_defaults()
        given = bound.arguments
        return tuple(given[name] for name in needed), {name: v for name, v in given.items() if name not in needed}

    return told


def told_by_keyword(function: Any, all_of_them: bool = False) -> Any:
    """Decorator of a function that torch writes in Python: it tells its options by keyword, also those not given.

    all_of_them: it tells all of its arguments so.
    """
    function.arguments_as_told = _by_keyword(function, all_of_them)
    return function


def _asking(shown: Callable, plain: Callable) -> Callable[[tuple, dict], Any]:
    notes = shown.__dict__ if isinstance(shown, FunctionType) else {}

    def call(args: tuple, kwargs: dict) -> Any:
        if not _local.off or _local.modes:
            arranged = notes.get("arguments_as_told")
            if arranged is not None:
                args, kwargs = arranged(args, kwargs)
            found = [] if _local.off else overloaded_args(args, kwargs)
            if found or _local.modes:
                return ask(shown, found, args, kwargs)
        return plain(*args, **kwargs)

    def quiet(args: tuple, kwargs: dict) -> Any:
        with DisableTorchFunctionSubclass():
            return call(args, kwargs)

    return quiet if plain.__name__ in _MODES_ONLY else call


# ------------------------------------------------------------------------------------------ activating

_PLACE = 0x52555348
_lock = lock()
_active = False

_namespaces: list[dict[str, Any]] = []
_BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"]
_OTHER = ["neg", "pos", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge", "getitem", "setitem", "contains", "len"]
_NUMBERS = ["bool", "int", "float", "index", "complex"]
_DUNDERS = {f"__{side}{name}__" for name in _BINARY for side in ("", "r", "i")}
_DUNDERS |= {f"__{name}__" for name in _OTHER + _NUMBERS}
_TOLD_AS = {"__matmul__": "matmul", "__itruediv__": "div_", "__ifloordiv__": "floor_divide_", "__imod__": "remainder_"}
_TOLD_AS |= {f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul")}
_TOLD_AS_THEMSELVES = {f"__{name}__": f"__{name}__" for name in ("floordiv", "and", "or", "xor")}
_TOLD_AS_THEMSELVES |= {
    "__pow__": "pow",
    "__ipow__": "pow_",
    "__rtruediv__": "__rdiv__",
}  # by torch's `__name__` of each
_NEVER = ("is_tensor", "is_storage")  # they look at the class alone
_MODES_ONLY = ("as_tensor", "asarray", "from_numpy", "frombuffer", "tensor")  # they take any object as data
_PROPERTIES = ("T", "mT", "H", "mH", "data", "real", "imag")


def activate() -> None:
    """From now on every public function asks. Doing it again changes nothing."""
    global _active
    with _lock:
        if _active:
            return
        members = {n: f for n, f in vars(Tensor).items() if _is_asked(n) and isinstance(f, FunctionType)}
        # a method that a program has put on Tensor is its own affair: torch knows nothing of it either
        methods = {n: f for n, f in members.items() if f.__code__.co_filename.startswith(FILES)}
        for name, function in methods.items():
            _replace(function, _shown(name, function, methods))
        for name in _PROPERTIES:
            member = vars(Tensor).get(name)
            if isinstance(member, property) and isinstance(member.fget, FunctionType):
                _replace(member.fget, member.__get__)
        for space in (OPS, *_namespaces):
            _replace_all(space)
        _active = True


def publish(space: dict[str, Any]) -> None:
    """Say that the functions in a module's dict are public; operators are so already."""
    with _lock:
        _namespaces.append(space)
        if _active:
            _replace_all(space)


def publish_late(functions: dict[str, Any]) -> None:
    """Let operators that have loaded after the others ask, too, where those do."""
    with _lock:
        if _active:
            for name, function in functions.items():
                if isinstance(function, FunctionType) and _is_asked(name) and name not in _NEVER:
                    _replace(function, function)


def _replace_all(space: dict[str, Any]) -> None:
    for name, function in space.items():
        private = name.startswith("_") or name in _NEVER
        if isinstance(function, FunctionType) and not function.__name__.startswith("_") and not private:
            _replace(function, function)


def _shown(name: str, function: FunctionType, methods: dict[str, FunctionType]) -> FunctionType:
    """What a class is told was called: x + y is Tensor.add, x += y Tensor.add_, 1 - x is Tensor.__rsub__, as in torch."""
    if name in _TOLD_AS:
        return methods[_TOLD_AS[name]]
    if name in _TOLD_AS_THEMSELVES:
        function.__name__ = _TOLD_AS_THEMSELVES[name]
        return function
    known = methods.get(function.__name__)
    reflected = name.startswith("__r") and function is not methods.get("__" + name[3:])  # 1 + x is Tensor.add
    if known is None or reflected:
        function.__name__ = name
        return function
    return known if name.startswith("__") else function


def _is_asked(name: str) -> bool:
    return name in _DUNDERS if name.startswith("_") else name != "as_subclass"


def _replace(function: FunctionType, shown: Callable) -> None:
    """Make `function` ask, and do what it did before if no argument overrides it."""
    if "__torch_function_plain__" in function.__dict__:
        return
    if is_unspecialised(function):  # at its first call it would put its own code in place of ours
        function.__globals__["record"].specialise()
    plain = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    plain.__kwdefaults__ = function.__kwdefaults__
    plain.__module__, plain.__qualname__ = function.__module__, function.__qualname__
    function.__dict__["__torch_function_plain__"] = plain
    function.__dict__.setdefault("__wrapped__", plain)  # inspect.signature looks there
    function.__code__ = _code(len(function.__closure__ or ()), function.__name__, _asking(shown, plain))


def _code(cells: int, name: str, handler: Callable) -> Any:
    """The code of a function with so many free variables that calls `handler(args, kwargs)`."""
    names = [f"c{i}" for i in range(cells)]
    used = f"        if 0: {', '.join(names)}\n" if names else ""
    text = (
        f"def outer({', '.join(names)}):\n    def call(*args, **kwargs):\n{used}"
        f"        handler = {_PLACE}\n        return handler(args, kwargs)\n    return call\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(text, "<rushlight asking>", "exec"), scope)
    code = scope["outer"](*names).__code__
    constants = tuple(handler if c == _PLACE else c for c in code.co_consts)
    return code.replace(co_consts=constants, co_name=name)
