"""Warnings that name the user's line, however many of Rushlight's own frames are between."""

from __future__ import annotations

import sys
import warnings

from . import own_code


class Once:
    always = False
    given: set[str] = set()


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """`warnings.warn` at the innermost frame that is not Rushlight's own."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and own_code.is_own_file(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_once(message: str) -> None:
    """`warn`, unless this `message` was given before and `Once.always` is not set."""
    if message in Once.given and not Once.always:
        return
    Once.given.add(message)
    warn(message)
