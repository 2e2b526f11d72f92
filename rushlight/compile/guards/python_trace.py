"""Which of the user's Python a captured call ran: its code objects, the names that it read, the C functions it called.

A replay runs none of it. So whatever that code read has to be as it was, which `python_state.py` checks, and whatever it
called has to be a function that gives the same for the same arguments and does nothing else (`pure_calls.py`). Both are
known from the run itself: an instruction that did not run reads nothing (`python_events.py` tells of them). The package's own
frames, and what they call in the standard library, are left out.
"""

from __future__ import annotations

import dis
import os
import re
import weakref
from collections import namedtuple
from contextvars import ContextVar
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from ...core import own_code
from ...core.dispatch.mode import thread
from ...core.tensor.storage import describe
from ..capture.sources import CaptureError
from .checks import MISSING, PLAIN, is_same
from .pure_calls import called_name, is_pure
from .python_events import watch

_STANDARD = (os.path.dirname(os.__file__) + os.sep, "<frozen")
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\](?!(?:numpy|ml_dtypes|llvmlite|PIL|safetensors|tqdm)[/\\])")
_FINALIZE = weakref.finalize.__call__.__code__
_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"))
_CELL = frozenset(
    ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE", "LOAD_FROM_DICT_OR_DEREF", "STORE_DEREF", "COPY_FREE_VARS")
)
_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM", "STORE_ATTR", "DELETE_ATTR"))
_NAMED_TUPLE = namedtuple("_", ()).__new__.__code__.co_names  # of "<string>", whoever made the class
_BY_ANY_KEY = frozenset(("items", "values", "keys", "get", "pop", "copy", "update", "setdefault"))
_BY_ANY_NAME = frozenset(("getattr", "hasattr", "setattr", "delattr", "vars", "dir", "__dict__", "attrgetter"))


class Reads:
    """What the instructions of some code objects read.

    globals: (the dict, names) by the dict's identity. cells: names of free variables by code object. attributes: names
    that were read of any object. constants: texts among the constants, which may be keys. modules: imported by name.
    context: context variables that were read or set, and are as they were before.
    any_name, any_key: an attribute, or an item, may have been read by a name or key that is computed.
    """

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.globals: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self.cells: dict[CodeType, set[str]] = {}
        self.attributes: set[str] = set()
        self.constants: set[str] = set()
        self.modules: set[str] = set()
        self.context: set[ContextVar] = set()
        self.any_name = False
        self.any_key = False

    def add(self, code: CodeType, scope: dict[str, Any], offsets: set[int] | None = None) -> None:
        """Add what a code object's instructions at these offsets read; all of them where none is given."""
        self.codes.add(code)
        _, names = self.globals.setdefault(id(scope), (scope, set()))
        cells = self.cells.setdefault(code, set())
        for kind, name in _reading(code, None if not offsets else frozenset(offsets)):
            if kind == "global":
                names.add(name)
            elif kind == "cell":
                cells.add(name)
            elif kind == "attribute":
                self.attributes.add(name)
            elif kind == "constant":
                self.constants.add(name)
            elif kind == "import":
                self.modules.add(name)
            if kind == "pattern" or (name in _BY_ANY_NAME and kind != "constant"):
                self.any_name = True
            if kind == "key" or (kind == "attribute" and name in _BY_ANY_KEY):
                self.any_key = True

    def include(self, other: Reads) -> None:
        """Add what `other` read."""
        self.codes |= other.codes
        for scope, names in other.globals.values():
            self.globals.setdefault(id(scope), (scope, set()))[1].update(names)
        for code, names in other.cells.items():
            self.cells.setdefault(code, set()).update(names)
        self.attributes |= other.attributes
        self.constants |= other.constants
        self.modules |= other.modules
        self.context |= other.context
        self.any_name |= other.any_name
        self.any_key |= other.any_key

    def covers(self, other: Reads) -> bool:
        """Whether everything that `other` read is among this."""
        return (
            other.codes <= self.codes
            and all(names <= self.globals.get(key, ({}, set()))[1] for key, (_, names) in other.globals.items())
            and all(names <= self.cells.get(code, set()) for code, names in other.cells.items())
            and other.attributes <= self.attributes
            and other.constants <= self.constants
            and other.modules <= self.modules
            and other.context <= self.context
            and other.any_name <= self.any_name
            and other.any_key <= self.any_key
        )


@lru_cache(maxsize=4096)
def _reading(code: CodeType, offsets: frozenset[int] | None) -> tuple[tuple[str, str], ...]:
    """(kind, name) of what the instructions at some offsets of a code object read."""
    found = []
    extended: list[int] = []
    last = ""
    for i in dis.get_instructions(code):
        if i.opname == "EXTENDED_ARG":
            extended.append(i.offset)
            continue
        at, extended = [i.offset, *extended], []
        kind = _kind(i, last)
        last = i.opname
        if kind is not None and (offsets is None or not offsets.isdisjoint(at)):
            found.append((kind, str(i.argval)))
    return tuple(found)


def _kind(i: dis.Instruction, last: str) -> str | None:
    if i.opname in _GLOBAL:
        return "global"
    if i.opname in _CELL and isinstance(i.argval, str):
        return "cell"
    if i.opname in _ATTRIBUTE:
        return "attribute"
    if i.opname == "BINARY_SUBSCR" or (i.opname == "BINARY_OP" and i.argrepr == "[]"):
        return None if last in ("LOAD_CONST", "LOAD_SMALL_INT") else "key"
    if i.opname.startswith("MATCH_"):
        return "pattern"
    if i.opname == "IMPORT_NAME":
        return "import"
    return "constant" if i.opname == "LOAD_CONST" and isinstance(i.argval, str) else None


def is_ours(code: CodeType) -> bool:
    """Whether code is of this package, or NumPy's, which reads and calls nothing but its own."""
    file = code.co_filename
    known = _OURS.get(file)
    if known is None:
        known = _OURS[file] = file.startswith((*own_code.FILES, *own_code.NUMPY))
    return known


_OURS: dict[str, bool] = {}  # by source file; asked for at each call and return while a call is captured


@lru_cache(maxsize=4096)
def _is_library(file: str) -> bool:
    """Whether a file is of the standard library or of a package that this one depends on."""
    if _INSTALLED.search(file):
        return False
    return file.startswith((*_STANDARD, *own_code.NUMPY)) or "site-packages" in file or "dist-packages" in file


def _is_standard(code: CodeType) -> bool:
    return _is_library(code.co_filename) or code.co_names == _NAMED_TUPLE


def is_users_module(module: Any) -> bool:
    """Whether a module comes from a file of the user's."""
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and not _is_library(file) and not file.startswith(own_code.FILES)


class Trace:
    """A context in which the Python that runs for the user is noted, and refused where it calls what is not pure."""

    def __init__(self, listener: Any):
        self._listener = listener
        # by the identity of code, since that of a text that was run twice is equal: it, offsets of instructions, the globals
        self._noted: dict[int, tuple[CodeType, set[int], dict[int, dict[str, Any]]]] = {}
        self._events: Any = None
        self._context: dict[ContextVar, Any] = {}  # what they were before the call first read or set them

    def reads(self) -> Reads:
        """What was read while the context was entered."""
        reads = Reads()
        left = [v.name for v, before in self._context.items() if not is_same(v.get(MISSING), before)]
        if left and self._listener.error is None:  # the call is over: nothing to interrupt
            self._listener.error = CaptureError(f"the context variable {left[0]!r} is left with another value")
        reads.context.update(self._context)
        for code, offsets, scopes in self._noted.values():
            for scope in scopes.values():
                reads.add(code, scope, offsets)
        return reads

    def __enter__(self) -> Trace:
        self._events = watch(self)
        return self

    def __exit__(self, *error: object) -> None:
        events, self._events = self._events, None
        if events is not None:
            events.stop()

    def pause(self) -> bool:
        """Note nothing until `resume`, while code runs that calls none of the user's. Whether `resume` is needed."""
        return self._events is not None and self._events.pause()

    def resume(self) -> None:
        """Note again what runs."""
        if self._events is not None:
            self._events.resume()

    def leaves_out(self, code: CodeType) -> bool:
        """Whether code runs for this package, not for the user."""
        return is_ours(code)

    def begins(self, frame: FrameType) -> set[int] | None:
        """A frame begins: the set for the offsets of its code's instructions that run, None where it does not count."""
        code = frame.f_code
        known = self._noted.get(id(code))
        if not self._counts(frame, code, known is not None):
            return None
        if known is None:
            known = self._noted[id(code)] = code, set(), {}
        known[2][id(frame.f_globals)] = frame.f_globals
        return known[1]

    def _counts(self, frame: FrameType, code: CodeType, known: bool) -> bool:
        """Whether a frame runs for the user, not for this package, while the call is captured."""
        if (
            is_ours(code)
            or _is_made_by_us(frame)
            or thread.state.listener is not self._listener
            or self._listener.error is not None
        ):
            return False
        if _is_in_finalizer(frame):
            return False
        if known and not _is_standard(code):
            return True
        if _is_import_of_ours(frame):
            return False
        caller: FrameType | None = frame
        while caller is not None and _is_standard(caller.f_code):
            caller = caller.f_back
        return caller is None or not is_ours(caller.f_code)

    def calls(self, frame: FrameType, function: Any) -> None:
        """A frame calls a C function."""
        if type(getattr(function, "__self__", None)) is ContextVar:
            if self._counts(frame, frame.f_code, False):
                self._note_context(function.__self__)
            return
        if is_pure(function, frame.f_code):
            if getattr(function, "__module__", None) == "math" and self._listener.error is None:
                self._listener.note_math(function)
            return
        if self._counts(frame, frame.f_code, False):
            user = _user_frame(frame)
            where = describe((user.f_code, user.f_lasti))
            self._listener.refuse(CaptureError(f"{where}: {called_name(function)}"))

    def _note_context(self, variable: ContextVar) -> None:
        """A context variable is read or set. It has to be as before when the call ends, and before each replay."""
        if variable in self._context:
            return
        before = variable.get(MISSING)
        if before is not MISSING and type(before) not in PLAIN:
            self._listener.refuse(CaptureError(f"the context variable {variable.name!r} is an object"))
        self._context[variable] = before


def _is_made_by_us(frame: FrameType) -> bool:
    """Whether a frame's code was made from a text, as that of data classes is, for a class of this package."""
    return frame.f_code.co_filename == "<string>" and str(frame.f_globals.get("__name__")).startswith(own_code.MODULES)


def _is_in_finalizer(frame: FrameType | None) -> bool:
    """Whether a frame runs because an object of a library goes: at any moment, whatever the user's code does then."""
    while frame is not None and (_is_standard(frame.f_code) or _INSTALLED.search(frame.f_code.co_filename)):
        if frame.f_code.co_name == "__del__" or frame.f_code is _FINALIZE:
            return True
        frame = frame.f_back
    return False


def _is_import_of_ours(frame: FrameType) -> bool:
    """Whether a frame runs since this package imports something: an import hook of the user's environment."""
    caller = frame.f_back
    while caller is not None and not is_ours(caller.f_code):
        if caller.f_code.co_filename.startswith("<frozen importlib"):
            while caller is not None and _is_standard(caller.f_code):
                caller = caller.f_back
            return caller is not None and is_ours(caller.f_code)
        caller = caller.f_back
    return False


def _user_frame(frame: FrameType) -> FrameType:
    """The innermost frame outside the standard library and this package."""
    now: FrameType | None = frame
    while now is not None:
        if not is_ours(now.f_code) and not _is_standard(now.f_code):
            return now
        now = now.f_back
    return frame
