"""Errors that came from outside into a call: from a signal's handler, a debugger, another thread.

A timeout is often made so: `signal.alarm` and a handler that raises. Such an error may arrive at any instruction, also where Rushlight
catches errors of its own to go on in another way: in eager calls, which take their careful path, and in the compiler, which
leaves a call to the plain engine. It says nothing about what was going on, and whoever sent it waits for it: it is raised
again. KeyboardInterrupt needs none of this: it is no Exception.
"""

from __future__ import annotations

import sys
from opcode import opmap
from types import FrameType, TracebackType
from typing import Any

from .own_code import is_own_file

_RAISE = opmap["RAISE_VARARGS"]
# Whose errors are raised by C code that Rushlight calls.
_LIBRARIES = {"rushlight", "numpy", "scipy", "llvmlite", "ml_dtypes", "mpi4py", "cupy", "cupy_backends"}


def raise_if_interrupted(error: BaseException) -> None:
    """Raise `error` again if it came from outside; called where an error is caught that is not to end a call."""
    if came_from_outside(error):
        try:
            raise error
        finally:
            del error  # this frame is in its traceback: together they would keep the call's tensors until a collection


def came_from_outside(error: BaseException) -> bool:
    """Whether a signal's handler or a trace function raised an error, or another thread put it into this one.

    Handlers and trace functions are given the frame that they interrupt. What another thread sends (`PyThreadState_SetAsyncExc`)
    appears in a frame that raises nothing; it is recognised by a class that is neither Python's nor a library's.
    """
    tb = error.__traceback__
    if tb is None:
        return False
    while (following := tb.tb_next) is not None:
        if not is_own_file(following.tb_frame.f_code.co_filename) and _was_given(following, tb):
            return True
        tb = following
    module = type(error).__module__
    if module == "builtins":
        return False
    package = module.partition(".")[0]
    if package in _LIBRARIES or package in sys.stdlib_module_names:
        return False
    return not is_statement(tb)


def innermost(traceback: TracebackType) -> TracebackType:
    """The last entry of a traceback: where its error arose."""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def is_statement(traceback: TracebackType) -> bool:
    """Whether a `raise` statement runs at an entry."""
    return traceback.tb_frame.f_code.co_code[traceback.tb_lasti] == _RAISE


def _was_given(called: TracebackType, caller: TracebackType) -> bool:
    """Whether a function has its caller's frame among its arguments; that one may have left the traceback by returning."""
    frame = called.tb_frame
    callers = caller.tb_frame, frame.f_back
    code, values = frame.f_code, frame.f_locals
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 2]:  # *args come next
        value = values.get(name)
        given = value if type(value) is tuple else (value,)
        if any(type(v) is FrameType and v in callers for v in given):
            return True
    return False


def may_register(known: Any, new: Any) -> bool:
    """Whether a registry may take a function `new`: it knows none by that name, or one of the same definition.

    An import that is interrupted is made again, and its module's decorators run a second time.
    """
    return known is None or _definition(known) == _definition(new)


def _definition(function: Any) -> tuple[str, str, int]:
    record = getattr(function, "record", None)  # an operator's entry point, which is generated
    function = function if record is None else record.reference
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return function.__module__, function.__qualname__, 0 if code is None else code.co_firstlineno
