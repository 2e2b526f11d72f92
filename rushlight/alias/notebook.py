"""Errors as IPython and notebooks show them: with advice, and without Rushlight's own frames."""

import sys

from ..core.tracebacks import shorten
from .error_hints import advise


def install():
    """Handle the errors of this process's IPython, if it is one and no other handler has been set."""
    shell = sys.modules["IPython"].get_ipython()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _show)


def _show(shell, kind, error, traceback, tb_offset=None):
    advise(error)
    shorten(error)
    shell.set_custom_exc((), None)  # `showtraceback` may ask for a handler again
    try:
        shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)
    finally:
        shell.set_custom_exc((Exception,), _show)
