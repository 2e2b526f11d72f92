"""What a compiled function depends on besides its arguments: everything that its Python reads and that can change.

Found by walking from the function through what its instructions read (`python_trace.py`): globals, free variables, attributes, the items of containers, a module's whole state. Each place becomes a
condition (`checks.py`) under which the program replaces the function. What cannot be a condition (an iterator, a file, a
lock, a random generator of Python's) is refused. What the call changes in a container or an object, other than a number
or tensor that is a condition itself, would be missing in a replay: `changed` finds it.
"""

from __future__ import annotations

import array
import builtins
import gc
import sys
from collections import deque, namedtuple
from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache, partial
from operator import attrgetter, itemgetter, methodcaller
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    UnionType,
    WrapperDescriptorType,
)
from typing import Any
from weakref import ReferenceType

import numpy as np

from ...core import own_code
from ...core.dispatch.extension_points import module_class
from ...core.tensor.tensor import Tensor
from . import readings
from .checks import MISSING, PLAIN, Cell, Check, Content, Entries, Facts, Function, Items, Kind, Order, Reading, is_same
from .containers import copied, getter, items_of, iterated, same_items
from .kept_results import KEEPING, Kept, KeptObjects
from .pure_calls import SETTINGS, called_name, is_pure
from .python_trace import Reads, is_ours, is_users_module

OURS = (*own_code.MODULES, "torch.", "torchvision.")  # under the alias our classes name torch's modules as their own
HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks_with_kwargs",
)
_TABLES = ("_parameters", "_buffers", "_modules")
_NOT_CALLED = frozenset(
    (
        "_state_dict_hooks",
        "_state_dict_pre_hooks",
        "_load_state_dict_pre_hooks",
        "_load_state_dict_post_hooks",
        "_non_persistent_buffers_set",
    )
)
_CONTAINERS = (list, dict, set, deque, bytearray, array.array, np.ndarray)
_FIXED = (
    *PLAIN, np.generic, np.dtype, np.ufunc, range, slice, frozenset, BaseException, GetSetDescriptorType, CodeType, ClassMethodDescriptorType,
    MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType, type(Ellipsis), type(NotImplemented),
    itemgetter, ContextVar, GenericAlias, UnionType, type(vars(namedtuple("_", "field"))["field"]),
)  # fmt: skip
_FIXED_NAMES = frozenset(
    """
    datetime.date datetime.datetime datetime.time datetime.timedelta datetime.timezone decimal.Decimal fractions.Fraction
    re.Pattern uuid.UUID builtins.object pathlib.PosixPath pathlib._local.PosixPath pathlib.WindowsPath
    pathlib._local.WindowsPath typing.TypeVar typing.NewType
    numpy._ArrayFunctionDispatcher
    """.split()  # noqa: SIM905
)
_VIEWS = type({}.keys()), type({}.values()), type({}.items())
_SETTINGS = (  # functions of the library that tell a setting, which is compared where the function calls one
    "get_num_threads",
    "get_num_interop_threads",
    "are_deterministic_algorithms_enabled",
    "is_deterministic_algorithms_warn_only_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_default_device",
    "is_warn_always_enabled",
)
_RANDOM = ("_random", "random", "numpy.random")  # where the classes of Python's and NumPy's generators are
_LIBRARY = frozenset(("rushlight", "torch", "torchvision", "numpy"))
_NOT_THE_USERS = (sys.stdlib_module_names - {"__main__"}) | _LIBRARY
# the library's objects that keep what they do from call to call: what decides about them is recorded in other ways
_RECORDED = ("amp", "core", "autograd", "compile", "optim", "distributed", "utils.data", "profiler")
_MOST = 20000  # objects that are looked at
MOST_BYTES = 1 << 16  # of an array of numbers that is compared in each call


class PythonState:
    """What `reads` says that an earlier call read, as it is now: of the function, its arguments (`leaves`), modules."""

    def __init__(self, function: Any, leaves: list, reads: Reads, modules: tuple = ()):
        self._names, self._keys = reads.attributes, reads.constants
        self._any_name, self._any_key = reads.any_name, reads.any_key or "state_dict" in reads.attributes
        self._copies = "__reduce_ex__" in reads.constants or "__reduce_ex__" in reads.attributes  # as deepcopy() does
        self._checks: dict[tuple, Check] = {}
        self._library: list[Entries] = []  # conditions on the library's own objects
        self._modules: list[tuple[Any, Entries]] = []
        self._kept: list[tuple[Any, Any]] = []  # (container or an object's attributes, a shallow copy)
        self._seen: dict[int, Any] = {}
        self._given = frozenset(map(id, leaves))
        self._weak: list[tuple[ReferenceType, str]] = []
        self._behind: dict[int, ReferenceType] = {}  # by the identity of what nothing but it leads to
        self._named: list[Any] = []  # objects of which attributes are read by name
        self._functions: dict[CodeType, list[FunctionType]] = {}
        self._named_all: set[int] = set()  # functions of which everything counts that they name
        self.unguarded: str | None = None
        for o in (function, getattr(function, "__self__", None), *filter(_has_state, leaves), *modules):
            self._walk(o, "")
        self._add_reads(reads)

    @property
    def checks(self) -> list[Check]:
        """The conditions, each once."""
        return list(self._checks.values())

    @property
    def names(self) -> tuple[frozenset, bool]:
        """The names that the code has in it, as attributes or as texts, and whether it may compute others."""
        return frozenset(self._names) | {k for k in self._keys if type(k) is str}, self._any_name

    def enter(self, module: Any) -> None:
        """A module is called that no earlier call of the function has called."""
        self._walk(module, "")

    def note_training(self, flags: dict[int, Any]) -> None:
        """The flags that modules had before the call, which may have switched them."""
        for module, check in self._modules:
            check.replace("training", flags.get(id(module), check.table.get("training")))

    def changed(self) -> str | None:
        """What the call has changed that the program would not change; None if nothing is."""
        for now, before in self._kept:
            if not _same_items(now, before):
                kind = "an object's attribute" if isinstance(before, _Attributes) else f"a {type(now).__name__}"
                if isinstance(before, KeptObjects):
                    kind = f"what {getattr(now, '__name__', 'a function')} keeps"
                return (
                    f"{kind} outside the function is modified, which the compiled program would not repeat; return the new "
                    "value, or write it into a tensor"
                )
        return None

    def settle(self, assigned: set[tuple[int, str]]) -> None:
        """After the call: leave out what it assigns itself, which a replay does as well, and the library's own notes."""
        for check in self._checks.values():
            if isinstance(check, Entries):
                table = check.table
                check.without({key for at, key in assigned if at == id(table)})
        for check in self._library:
            pairs = zip(check.keys, check.values, strict=True)
            check.without({key for key, v in pairs if not is_same(check.get(key, MISSING), v)})

    # ------------------------------------------------------------------------------------------ the walk

    def _add_reads(self, reads: Reads) -> None:
        """What the code read by name of globals and free variables, and the attributes of everything that is reached."""
        waiting: list[tuple] = []
        for scope, names in reads.globals.values():
            waiting += self._entries(scope, names, "the global {!r}")
            self._entries(builtins.__dict__, names - scope.keys(), "the builtin {!r}")
        waiting += self._entries(class_table(Tensor), reads.attributes, "the method {!r} of Tensor")
        for name in reads.attributes.union(*(names for _, names in reads.globals.values())).intersection(_SETTINGS):
            self._check(Reading(readings.setting, name, f"what {name}() tells"), name)
        for variable in reads.context:
            self._check(
                Reading(readings.in_context, variable, f"the context variable {variable.name!r}"),
                id(variable),
                "context",
            )
        for name in reads.modules:
            if name in sys.modules:
                waiting.append((sys.modules[name], name))
        done: set[tuple] = set()
        looked_for_lost = False
        while True:
            for o, where in waiting:
                self._walk(o, where)
            waiting = [
                pair for code in reads.codes for f in self._of_code(code) for pair in self._function(f, reads, code)
            ]
            for o in self._named:
                now = id(o), len(self._names), self._any_name
                if now not in done:
                    done.add(now)
                    waiting += self._attributes(o)
            waiting = [(o, w) for o, w in waiting if id(o) not in self._seen and not isinstance(o, PLAIN)]
            waiting = waiting or self._walk_weak()
            if not waiting:
                if looked_for_lost or not self._find_lost(reads):
                    return
                looked_for_lost = True

    def _walk(self, o: Any, where: str) -> None:
        """Look at an object, and at what it leads to."""
        waiting = [(o, where)]
        while waiting:
            o, where = waiting.pop()
            if o is MISSING or isinstance(o, PLAIN) or id(o) in self._seen:
                continue
            if len(self._seen) >= _MOST:
                self._refuse(
                    f"the function refers to more than {_MOST} objects, too many to guard; pass what changes as an argument, or compile a smaller function"
                )
                return
            self._seen[id(o)] = o
            waiting += self._look(o, where)

    def _walk_weak(self) -> list[tuple]:
        """What only weak references lead to, each of which is to go as it would without the program: nothing holds it."""
        found = []
        weak, self._weak = self._weak, []
        for reference, where in weak:
            o = reference()
            if o is None or id(o) in self._seen or id(o) in self._given:
                continue
            if isinstance(o, Tensor) or _slots(type(o)):
                self._refuse(
                    f"the function reads {where or 'an object'}, a weak reference to what the program would keep alive"
                )
            else:
                self._behind[id(o)] = reference
                found.append((o, where))
        return found

    def _find_lost(self, reads: Reads) -> bool:
        """Functions that ran and that the walk did not meet, but those that the call itself makes: whether there are any."""
        nested = {inner for code in reads.codes for inner in codes_in(code) if inner is not code}
        lost = [c for c in reads.codes if reads.cells.get(c) and c not in self._functions and c not in nested]
        found = [f for f in gc.get_referrers(*lost) if isinstance(f, FunctionType)] if lost else []
        for f in found:
            self._walk(f, "")
        return bool(found)

    def _of_code(self, code: CodeType) -> list[FunctionType]:
        return self._functions.get(code, [])

    def _look(self, o: Any, where: str) -> list[tuple]:
        """Note what an object holds, and give the objects in it that are to be looked at."""
        if isinstance(o, Tensor):
            return self._tensor(o)
        if isinstance(o, module_class.value or ()):
            return self._module(o)
        if isinstance(o, MethodType):
            return [(o.__func__, where), (o.__self__, where)]
        if isinstance(o, partial):
            return [(v, where) for v in (o.func, *o.args, o.keywords)]
        if isinstance(o, FunctionType):
            if not is_ours(o.__code__):
                self._functions.setdefault(o.__code__, []).append(o)
            return []
        if isinstance(o, _CONTAINERS):
            return self._container(o, where) + self._of_subclass(o)
        if isinstance(o, (MappingProxyType, *_VIEWS)):
            return [(table, where) for table in gc.get_referents(o)]
        if isinstance(o, (tuple, frozenset)):
            return [(v, where) for v in iterated(o) if not isinstance(v, PLAIN)] + self._of_subclass(o)
        if isinstance(o, (staticmethod, classmethod)):
            return [(o.__func__, where)]
        if isinstance(o, property):
            return [(f, where) for f in (o.fget, o.fset) if f is not None]
        if isinstance(o, ReferenceType):
            self._check(Reading(readings.is_alive, o, where), id(o), "referent")
            self._weak.append((o, where))
            return []
        if isinstance(o, (BuiltinFunctionType, MethodWrapperType)):
            return self._builtin(o, where)
        if isinstance(o, attrgetter):
            self._names = self._names | {n for name in o.__reduce__()[1] for n in name.split(".")}
            return []
        if isinstance(o, methodcaller):
            self._names = self._names | {o.__reduce__()[1][0]}
            return []
        if isinstance(o, KEEPING):
            return self._cached(o)
        if hasattr(type(o), "__wrapped__"):
            if isinstance(o.__wrapped__, FunctionType) and not is_ours(o.__wrapped__.__code__):
                return self._statically(o.__wrapped__)
            return []
        return self._object(o, where)

    def _cached(self, f: Any) -> list[tuple]:
        """A function that keeps its results (`functools.lru_cache`): what it names, as it may not run, and what it keeps."""
        wrapped = f.__wrapped__
        is_python = isinstance(wrapped, FunctionType)
        if is_python and is_ours(wrapped.__code__):
            return []
        what = f"a result that {getattr(f, '__name__', 'a function')} keeps"
        check = Kept(f, what)
        self._check(check, id(f))
        self._kept.append((f, KeptObjects(check.results)))
        named = self._statically(wrapped) if is_python else [(wrapped, "")]
        return named + [(v, what) for v in check.results.values()]

    def _object(self, o: Any, where: str) -> list[tuple]:
        """An object, a class, or a Python module."""
        if isinstance(o, (ModuleType, type)):
            self._named.append(o)
            return [(type(o), "")] if isinstance(o, type) and type(o) is not type else []
        kind = type(o)
        if isinstance(o, _FIXED) or f"{kind.__module__}.{kind.__qualname__}" in _FIXED_NAMES:
            return []
        if kind.__name__ == "CompiledStep" and kind.__module__.startswith(OURS):
            return [(o.function, where)]
        if any(c.__module__.startswith(_RANDOM) for c in kind.__mro__):
            self._unguarded(where, "a random generator, which the compiled program would not advance; pass its numbers")
            return []
        if kind.__module__.startswith(OURS) or kind.__module__ == "rushlight":
            return self._library_object(o, where)
        if hasattr(kind, "__next__") and not any(
            isinstance(vars(c).get("__next__"), FunctionType) for c in kind.__mro__
        ):
            self._unguarded(where, f"an iterator ({kind.__name__}), which the compiled program would not advance")
            return []
        if isinstance(_state_of(o), dict) or _slots(kind):
            if isinstance(_state_of(o), dict):
                self._kept.append((o.__dict__, _Attributes(o.__dict__)))
            self._kind(o, f"the class of an object ({kind.__name__})")
            self._named.append(o)
            return [(kind, "")]
        self._unguarded(
            where,
            f"an object of {kind.__module__}.{kind.__qualname__}, whose changes cannot be guarded; pass what it holds",
        )
        return []

    def _of_subclass(self, o: Any) -> list[tuple]:
        """The attributes and the class of a container, where the class is the program's own."""
        kind = type(o)
        if kind.__module__.partition(".")[0] in _NOT_THE_USERS or kind.__module__.startswith(OURS):
            return []
        state = _state_of(o)
        if isinstance(state, dict):
            self._kept.append((state, _Attributes(state)))
            self._named.append(o)
        return [(kind, "")]

    def _builtin(self, f: Any, where: str) -> list[tuple]:
        """A function of C: the object that it is a method of."""
        owner = f.__self__
        if f in SETTINGS:
            self._check(Reading(readings.told, f, f"what {f.__name__}() tells"), id(f), "setting")
            return []
        if owner is not None and not isinstance(owner, (ModuleType, type)):
            return [(owner, where)]
        if not is_pure(f, _nowhere):
            self._refuse(called_name(f))
        return []

    def _unguarded(self, where: str, what: str) -> None:
        if where:
            self._refuse(f"the function reads {where}: {what}")

    def _refuse(self, text: str) -> None:
        self.unguarded = self.unguarded or text

    def _kind(self, o: Any, what: str) -> None:
        reference = self._behind.get(id(o))
        self._check(Reading(readings.class_behind, reference, what) if reference else Kind(o, what), id(o), "kind")

    def _check(self, check: Check, *key: Any) -> None:
        self._checks.setdefault((type(check), *key), check)

    # ------------------------------------------------------------------------------------------ what holds what

    def _entries(self, table: dict, names: Any, what: str, whole: bool = False) -> list[tuple]:
        """Conditions on entries of a dict, and the objects there."""
        names = sorted(names) if not whole else None
        if whole or names:
            shown = "what the function refers to"
            if names and len(names) == 1:
                shown = what.format(names[0])
            self._check(Entries(table, names, shown), id(table), None if whole else tuple(names or ()))
        if whole:
            return [(v, what.format(k)) for k, v in items_of(table) if not isinstance(v, PLAIN)]
        found = [(getter(table)(k, None), what.format(k)) for k in names or ()]  # None is plain
        return [(v, shown) for v, shown in found if not isinstance(v, PLAIN)]

    def _tensor(self, t: Tensor) -> list[tuple]:
        self._check(Facts(t, "grad" in self._names, "the shape, type or gradient of a tensor"), id(t))
        state = t.__dict__
        return self._entries(state, None, "the attribute {!r} of a tensor", whole=True) if state else []

    def _module(self, m: Any) -> list[tuple]:
        """The whole state of a module, its tables and hooks, and the modules in it."""
        state = m.__dict__
        own = not type(m).__module__.startswith(OURS)
        check = Entries(state, None, f"a module's attributes ({type(m).__name__})")
        self._check(check, id(state), "module")
        self._modules.append((m, check))
        self._kind(m, "the class of a module")
        found = []
        for name in (*_TABLES, *HOOKS):
            table = state.get(name)
            if isinstance(table, dict):
                found += self._entries(table, None, f"the {name} {{!r}} of a module ({type(m).__name__})", whole=True)
        if own:
            self._named.append(m)
            self._kept += [
                (state[k], copied(state[k]))
                for k in state
                if k not in _TABLES and k not in HOOKS and k not in _NOT_CALLED and _is_plain_container(state[k])
            ]
            found += [(type(m), "")]
        else:
            found += [
                (v, "")
                for k, v in state.items()
                if isinstance(v, (*_CONTAINERS, tuple, FunctionType)) and k not in (*_TABLES, *HOOKS, *_NOT_CALLED)
            ]
        return [(getattr(o, "hook", o), where) for o, where in found]

    def _library_object(self, o: Any, where: str) -> list[tuple]:
        """An object of this package: all of its attributes, as its own code may read any."""
        state = _state_of(o)
        if not isinstance(state, dict):
            return []
        inside = type(o).__module__.partition(".")[2]
        if inside.startswith(_RECORDED):
            self._named.append(o)
            if isinstance(state.get("param_groups"), list):  # which zero_grad() goes through
                self._check(Entries(state, ("param_groups",), f"the groups of {type(o).__name__}"), id(state), "groups")
                self._check(Items(o.param_groups, f"the parameter groups of {type(o).__name__}"), id(o.param_groups))
                for group in o.param_groups:
                    self._check(Items(group["params"], f"the parameters of {type(o).__name__}"), id(group["params"]))
            if inside.startswith("optim") and not self._asks(o):
                return []
            keys = [k for k, v in state.items() if isinstance(v, PLAIN) or callable(v)]
        else:
            keys = list(state)
        check = Entries(state, keys, f"an attribute of {type(o).__name__}")
        self._check(check, id(state), "library")
        if inside.startswith("optim"):
            return [(v, "") for v in state.values() if isinstance(v, (list, tuple))]
        self._library.append(check)
        return [
            (state[k], "") for k in keys if isinstance(state[k], (*_CONTAINERS, tuple, Tensor)) or _is_module(state[k])
        ]

    def _asks(self, o: Any) -> bool:
        """Whether the function calls a method of an optimizer or schedule that may tell what it holds."""
        told = {name for c in type(o).__mro__ for name, v in vars(c).items() if isinstance(v, FunctionType)}
        return bool(self._names & told - {"step", "zero_grad"})

    def _statically(self, f: FunctionType) -> list[tuple]:
        """Everything that a function names, whether it ran or not, and the functions that it names in turn."""
        found: list[tuple] = []
        waiting = [f]
        while waiting:
            f = waiting.pop()
            if is_ours(f.__code__) or id(f) in self._named_all:
                continue
            self._named_all.add(id(f))
            self._seen[id(f)] = f
            reads = Reads()
            for inner in codes_in(f.__code__):
                reads.add(inner, f.__globals__)
            self._names = self._names | reads.attributes
            self._any_name = self._any_name or reads.any_name
            more = self._entries(f.__globals__, reads.globals[id(f.__globals__)][1], "the global {!r}")
            more += self._function(f, reads, f.__code__)
            waiting += [o for o, _ in more if isinstance(o, FunctionType)]
            found += [(o, w) for o, w in more if not isinstance(o, FunctionType)]
        return found

    def _function(self, f: FunctionType, reads: Reads, code: CodeType) -> list[tuple]:
        """The code, defaults, free variables and attributes of a function that ran."""
        self._check(Function(f, f"the code or the defaults of {f.__name__}"), id(f))
        found = [(f.__defaults__, "a default"), (f.__kwdefaults__, "a default")]
        used = set().union(*(reads.cells.get(inner, ()) for inner in codes_in(code)))
        for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            if name in used:
                self._check(Cell(cell, f"the variable {name!r}"), id(cell))
                found.append(_in_cell(cell, name))
        if f.__dict__:
            found += self._entries(f.__dict__, self._names & f.__dict__.keys(), "the attribute {!r} of a function")
        return [(o, where) for o, where in found if o is not None]

    def _container(self, o: Any, where: str) -> list[tuple]:
        if isinstance(o, np.ndarray):
            if o.nbytes > MOST_BYTES:
                self._unguarded(
                    where,
                    f"a NumPy array of {o.nbytes} bytes, too large to guard; pass it as an argument, or a tensor of it",
                )
                return []
            self._check(Content(o, f"the values of {where or 'a NumPy array'}"), id(o))
            return [(v, where) for v in o.ravel().tolist() if not isinstance(v, PLAIN)] if o.dtype.hasobject else []
        if o is sys.modules:
            return self._loaded_modules()
        if not isinstance(o, array.array):
            self._kept.append((o, copied(o)))
        if isinstance(o, dict):
            return self._entries(o, self._group_keys(o), f"the entry {{!r}} of {where or 'a dict'}", not _is_group(o))
        if isinstance(o, (list, deque)):
            self._check(Items(o, f"the items of {where or 'a list'}"), id(o))
            return [(v, where) for v in iterated(o) if not isinstance(v, PLAIN)]
        self._check(Content(o, f"what is in {where or 'a ' + type(o).__name__}"), id(o))
        return [(v, where) for v in iterated(o) if not isinstance(v, PLAIN)] if isinstance(o, set) else []

    def _loaded_modules(self) -> list[tuple]:
        """Of `sys.modules` what the code names, and where it computes a name the user's own modules.

        A name of a library's module that is computed, as `inspect` does for the module of a function, leads to code that
        stays what it is; that other modules have functions of some name says nothing.
        """
        found = self._entries(sys.modules, self._keys & sys.modules.keys(), "the module {!r}")
        own = [m for m in list(sys.modules.values()) if is_users_module(m)] if self._any_key else []
        return found + [(module, "") for module in own]

    def _group_keys(self, table: dict) -> set:
        """Of an optimizer's group only what the function names: its options may be inputs of the program."""
        if not _is_group(table):
            return set()
        return {k for k in iterated(table) if self._any_key or (isinstance(k, str) and k in self._keys)}

    def _attributes(self, o: Any) -> list[tuple]:
        """What is read by name of an object, of the classes that it is of, or of a Python module."""
        names, found = self._names, []
        kind = "a Python module" if isinstance(o, ModuleType) else "an object"
        if isinstance(o, type):
            return self._class(o)
        state = _state_of(o)
        if isinstance(state, dict):
            whole = self._any_name and not isinstance(o, ModuleType)
            found += self._entries(state, names, f"the attribute {{!r}} of {kind}")
            if whole:
                named = [(v, w) for v, w in self._entries(state, None, "", whole=True)]
                whole = [(v, w) for v, w in named if _is_plain_container(v) or isinstance(v, (tuple, Tensor))]
                found += [(v, w) for v, w in named if is_own(v)] + whole if self._copies else whole
        for name, slot in _slots(type(o)).items():
            if name in names or self._any_name:
                check = Reading(slot.__get__, o, f"the attribute {name!r} of an object")
                self._check(check, id(o), name)
                found.append((check.value, f"the attribute {name!r} of an object"))
        if isinstance(o, ModuleType):
            return [pair for pair in found if _is_worth(pair[0])]
        return [(v, w) for v, w in found if v is not MISSING]

    def _class(self, cls: type) -> list[tuple]:
        found: list[tuple] = []
        for c in cls.__mro__:
            if c.__module__.partition(".")[0] in _NOT_THE_USERS:
                continue
            table = class_table(c)
            self._check(Order(c, f"the base classes of {c.__name__}"), id(c))
            if "_abc_impl" in table:
                self._check(
                    Reading(readings.registrations, c, "a class that is registered with another one"), id(c), "abc"
                )
            names = self._names | {k for k in table if k.startswith("__") and k not in _EVERYWHERE}
            self._entries(table, names, "")
            text = f"the attribute {{!r}} of the class {c.__name__}"
            found += [(table[k], text.format(k) if k in self._names else "") for k in sorted(names & table.keys())]
        return found


def class_table(cls: type) -> dict[str, Any]:
    """The dict behind a class's attributes, of which `vars` gives a view."""
    return next(t for t in gc.get_referents(vars(cls)) if isinstance(t, dict))


_EVERYWHERE = frozenset(
    (
        "__dict__",
        "__weakref__",
        "__doc__",
        "__module__",
        "__annotations__",
        "__qualname__",
        "__abstractmethods__",
        "_abc_impl",
    )
)


class _Attributes(dict):
    """A copy of an object's attributes. Numbers and tensors among them may change: they are guarded."""


def is_own(o: Any) -> bool:
    """Whether an object is an instance of a class of the user's that is no tensor, module, function or container."""
    kind = type(o)
    if kind.__module__.startswith((*OURS, "numpy")) or isinstance(
        o, (*_FIXED, *_CONTAINERS, tuple, Tensor, type, ModuleType)
    ):
        return False
    if isinstance(o, (FunctionType, MethodType, BuiltinFunctionType, partial, module_class.value or Tensor)):
        return False
    return isinstance(_state_of(o), dict)


def _has_state(leaf: Any) -> bool:
    """Whether an argument is looked into: not the tensors and arrays, which are inputs."""
    return not isinstance(leaf, (Tensor, np.ndarray, *PLAIN))


def _state_of(o: Any) -> Any:
    """An object's attributes, without asking its class's `__getattr__`."""
    try:
        return object.__getattribute__(o, "__dict__")
    except AttributeError:
        return None


@lru_cache(maxsize=1024)
def _slots(kind: type) -> dict[str, Any]:
    """The slots of a class of the user's, by name."""
    if kind.__module__.startswith(OURS) or kind.__module__.partition(".")[0] in _LIBRARY:
        return {}
    found = {}
    for c in reversed(kind.__mro__):
        found |= {k: v for k, v in vars(c).items() if isinstance(v, MemberDescriptorType) and "__slots__" in vars(c)}
    return found


def _is_module(v: Any) -> bool:
    return isinstance(v, module_class.value or ())


def _is_plain_container(v: Any) -> bool:
    return isinstance(v, (list, dict, set, deque, bytearray))


def _is_group(table: dict) -> bool:
    """Whether a dict is a group of an optimizer."""
    get = getter(table)
    return isinstance(get("params"), list) and get("lr", MISSING) is not MISSING


def _is_worth(value: Any) -> bool:
    """Whether what a Python module holds under a name is looked at."""
    if isinstance(value, ModuleType):
        return True
    if isinstance(value, FunctionType):
        return not is_ours(value.__code__)
    module = getattr(type(value), "__module__", "") if not isinstance(value, type) else value.__module__
    return isinstance(module, str) and module.partition(".")[0] not in ("rushlight", "torch", "torchvision")


def _in_cell(cell: CellType, name: str) -> tuple:
    try:
        return cell.cell_contents, f"the variable {name!r}"
    except ValueError:
        return None, ""


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside it."""
    yield code
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from codes_in(c)


_nowhere = codes_in.__code__


def _same_items(now: Any, before: Any) -> bool:
    if isinstance(before, KeptObjects):
        return before.are_all_of(now)
    if isinstance(before, _Attributes):
        return all(_may_become(before.get(k, MISSING), v) for k, v in now.items()) and now.keys() >= before.keys()
    if isinstance(now, np.ndarray):
        return bool(np.array_equal(now, before))
    return same_items(now, before, is_same)


def _may_become(before: Any, now: Any) -> bool:
    return (
        is_same(now, before)
        or isinstance(now, (*PLAIN, Tensor))
        or (isinstance(now, tuple) and all(isinstance(v, PLAIN) for v in now))
    )
