"""Advice on errors that Python itself raises, added to an uncaught one when it is printed: a running program pays nothing.

`.grad` is None before the first backward, and an attribute of None is an error in which no tensor takes part.
"""

import linecache
import re

from ..core.tensor import Tensor

_GRAD = re.compile(r"[\w.\[\]]*\w[\w\])]*\.grad\b")


def advise(error):
    """Add a note to an error that comes from a gradient that is None."""
    named = _GRAD.search(_failed_code(error.__traceback__))
    if named and _is_about_none(error):
        error.add_note(_no_gradient(named.group()))


def _is_about_none(error):
    if isinstance(error, AttributeError):
        return error.obj is None and error.name != "grad" and hasattr(Tensor, str(error.name))
    return isinstance(error, TypeError) and "NoneType" in str(error)


def _failed_code(traceback):
    """The part of the program's text that raised: the expression where Python knows it, else its line."""
    if traceback is None:
        return ""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code = traceback.tb_frame.f_code
    line = linecache.getline(code.co_filename, traceback.tb_lineno)
    first, last, start, end = list(code.co_positions())[traceback.tb_lasti // 2]
    if first != last or start is None or end is None:
        return line
    return line.encode()[start:end].decode(errors="replace")


def _no_gradient(grad):
    tensor = grad.removesuffix(".grad")
    return (
        f"{grad} is None: no backward() has reached {tensor} since it was made, or since zero_grad() set its gradient to "
        f"None. Call backward() first, or ask: if {grad} is not None: {grad}.zero_()"
    )
