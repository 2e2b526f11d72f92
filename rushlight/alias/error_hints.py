"""Advice on errors that Python itself raises, added to an uncaught one when it is printed: a running program pays nothing.

`.grad` is None before the first backward, and an attribute of None is an error in which no tensor takes part. A name that
cannot be imported, or an attribute that torch's Tensor has, comes with what is near.
"""

import linecache
import re

from ..core.interrupts import innermost
from ..core.own_code import in_package
from ..core.tensor.tensor import Tensor
from ..doctor.pages import page_of_error
from . import torch_names
from .finder import ABSENT_PACKAGES
from .lookup import theirs_of
from .suggestions import hint

_GRAD = re.compile(r"[\w.\[\]]*\w[\w\])]*\.grad\b")
_IMPORT = re.compile(r"cannot import name '(\w+)' from '((?:rushlight|torch|torchvision)\b[\w.]*)'")
_FINDER = tuple([folder + "finder.py" for folder in in_package("alias")])


def advise(error):
    """Add a note to an error that comes from a gradient that is None, or from a name that Rushlight does not have."""
    named = _GRAD.search(_failed_code(error.__traceback__))
    if named and _is_about_none(error):
        error.add_note(_no_gradient(named.group()))
    elif isinstance(error, RuntimeError) and (page := page_of_error(str(error))):
        error.add_note(
            f"`rushlight explain {page}` says more; `rushlight doctor` runs the program and finds the line to change."
        )
    elif isinstance(error, ImportError):
        _name_nearest_import(error)
        reason = f"Rushlight does not have {error.name}, and the real one needs the real torch"
        if (error.name or "").partition(".")[0] in ABSENT_PACKAGES and reason not in str(error):
            error.add_note(reason)
    elif isinstance(error, AttributeError) and isinstance(error.obj, Tensor):
        _name_tensor_attribute(error)


def without_finder(traceback):
    """The traceback of a failed import, ended at the program's own line."""
    frame = traceback
    while frame is not None and frame.tb_next is not None:
        name = frame.tb_next.tb_frame.f_code.co_filename
        if name in _FINDER or (name.startswith("<frozen importlib") and _ends_in_finder(frame.tb_next)):
            frame.tb_next = None
        frame = frame.tb_next
    return traceback


def _ends_in_finder(traceback):
    return innermost(traceback).tb_frame.f_code.co_filename in _FINDER


def _name_nearest_import(error):
    found = _IMPORT.match(error.msg or "")
    if found:
        module = theirs_of(found[2])
        error.msg = error.msg.replace(found[2], module, 1)
        if near := hint(f"{module}.{found[1]}"):
            error.add_note(near.strip(" ()"))


def _name_tensor_attribute(error):
    if error.name in torch_names.of_class("torch.Tensor"):
        error.add_note(f"Rushlight does not have torch.Tensor.{error.name}")


def _is_about_none(error):
    if isinstance(error, AttributeError):
        return error.obj is None and error.name != "grad" and hasattr(Tensor, str(error.name))
    return isinstance(error, TypeError) and "NoneType" in str(error)


def _failed_code(traceback):
    """The part of the program's text that raised: the expression where Python knows it, else its line."""
    if traceback is None:
        return ""
    traceback = innermost(traceback)
    code = traceback.tb_frame.f_code
    line = linecache.getline(code.co_filename, traceback.tb_lineno)
    first, last, start, end = list(code.co_positions())[traceback.tb_lasti // 2]
    if first != last or start is None or end is None:
        return line
    return line.encode()[start:end].decode(errors="replace")


def _no_gradient(grad):
    tensor = grad.removesuffix(".grad")
    return (
        f"{grad} is None: no backward() has reached {tensor} since it was created, or since zero_grad() set its gradient "
        f"to None. Call backward() first, or check: if {grad} is not None: {grad}.zero_()"
    )
