"""The C functions that a compiled function may call: those that give the same for the same arguments, and do nothing else.

A replay calls none of them. The list is closed: what is not on it (clocks, files, processes, random numbers of Python and
NumPy, locks, warnings) makes the function run eagerly.
"""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import re
import sys
import types
import weakref
from functools import partial
from types import CodeType
from typing import Any

import numpy as np

_MODULES = frozenset(
    """
    builtins math cmath _operator operator itertools _functools functools _collections _abc _bisect _heapq _struct
    _statistics _sre _string _weakref _typing _copy _decimal _codecs unicodedata binascii zlib _tokenize _ast
    numpy ml_dtypes
    """.split()  # noqa: SIM905
)
_IMPURE = frozenset(("open", "input", "print", "breakpoint", "globals", "_showwarnmsg"))  # of these modules
_ELSEWHERE = frozenset(
    """
    sys.intern sys._getframe sys.exc_info sys.exception sys.is_finalizing sys.getdefaultencoding posix.fspath nt.fspath _imp.acquire_lock _imp.release_lock
    _imp.lock_held
    """.split()  # noqa: SIM905
)
SETTINGS = (sys.getrecursionlimit,)  # what these tell is compared before each replay (`python_state.py`)
_TYPES: tuple[Any, ...] = (
    str, bytes, bytearray, int, float, complex, type(None), tuple, list, dict, set, frozenset, range, slice, memoryview,
    collections.deque, type({}.keys()), type({}.values()), type({}.items()), types.MappingProxyType, re.Pattern, re.Match,
    BaseException, types.CodeType, types.GeneratorType, weakref.ref, partial, array.array, decimal.Decimal,
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, types.GenericAlias, types.UnionType, property,
    np.ndarray, np.generic, np.dtype, np.ufunc, np.nditer, np.flatiter,
)  # fmt: skip
_CLASSES = frozenset(("builtins", "collections", "numpy", "fractions", "decimal", "array"))
_WORDS = {
    "print": "print(), which the compiled program would not repeat; do it outside the compiled function",
    "_random": "draws from Python's random module",
    "time": "reads the clock",
    "datetime": "reads the clock",
    "_io": "accesses a file",
    "_thread": "acquires a lock or starts a thread",
    "_warnings": "issues a warning",
    "posix": "calls the operating system",
}


def is_pure(function: Any, caller: CodeType) -> bool:
    """Whether a C function, called from `caller`, may be left out of a replay."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    if owner is None or isinstance(owner, types.ModuleType):
        module = getattr(function, "__module__", None) or getattr(owner, "__name__", "")
        if module in _MODULES or (module.startswith("numpy.") and not module.startswith("numpy.random")):
            return name not in _IMPURE
        return f"{module}.{name}" in _ELSEWHERE or function in SETTINGS
    if isinstance(owner, type):
        qualified = getattr(function, "__qualname__", "")
        return owner.__module__ in _CLASSES or qualified.startswith(("object.", "type."))
    if isinstance(owner, _TYPES):
        return True
    if (
        name == "__reduce_ex__"
    ):  # of deepcopy(): it reads all that the object is, which `python_state.py` takes into account
        return type(owner).__reduce_ex__ is object.__reduce_ex__
    # the lock of cached_property, which guards nothing but the making of one value
    return type(owner).__name__ == "RLock" and caller.co_filename.endswith("functools.py")


def called_name(function: Any) -> str:
    """What a refused call does, for a message."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", repr(function))
    if name == "print" and isinstance(owner, types.ModuleType):
        return _WORDS["print"]
    if owner is None or isinstance(owner, types.ModuleType):
        module = getattr(function, "__module__", None) or getattr(owner, "__name__", "")
        shown = f"{module}.{name}"
    else:
        kind = owner if isinstance(owner, type) else type(owner)
        module = next((c.__module__ for c in kind.__mro__ if c.__module__ in _WORDS), kind.__module__)
        shown = f"{kind.__module__}.{kind.__name__}.{name}"
    why = _WORDS.get(module, "may return something else in each call, or have side effects")
    return f"{shown}() {why}, which the compiled program would not repeat; do it outside the compiled function"
