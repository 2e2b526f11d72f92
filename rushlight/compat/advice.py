"""Advice on errors that Python itself raises, added to an uncaught one when it is printed: a running program pays nothing.

`.grad` is None before the first backward, and an attribute of None is an error in which no tensor takes part.
"""

import linecache
import re

from ..core.tensor import Tensor

_GRAD = re.compile(r"[\w.\[\]]*\w[\w\])]*\.grad\b")


def advise(error):
    """Add a note to an error that comes from a gradient that is None."""
    line = _line(error.__traceback__)
    named = _GRAD.search(line)
    if named and _is_about_none(error):
        error.add_note(_no_gradient(named.group()))


def _is_about_none(error):
    if isinstance(error, AttributeError):
        return error.obj is None and hasattr(Tensor, str(error.name))
    return isinstance(error, TypeError) and "NoneType" in str(error)


def _line(traceback):
    """The line of the program that raised."""
    if traceback is None:
        return ""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return linecache.getline(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)


def _no_gradient(grad):
    tensor = grad.removesuffix(".grad")
    return (
        f"{grad} is None: no backward() has reached {tensor} since it was made, or since zero_grad() set its gradient to "
        f"None. Call backward() first, or ask: if {grad} is not None: {grad}.zero_()"
    )
