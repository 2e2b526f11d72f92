"""Tracebacks of errors that a program causes: its own frames, and one line for those inside Rushlight.

`rushlight run`, pytest and notebooks shorten the errors that they show; the frames are only left out of what is printed
when nothing can catch the error any more, and of the text that a process sends of its own error. RUSHLIGHT_TRACEBACK=full
shows all.
"""

from __future__ import annotations

import os
import re
from types import TracebackType
from typing import Any

from .failed_call import failed_call
from .interrupts import innermost
from .own_code import FILES, NUMPY, STANDARD

__all__ = ["shorten", "shortened_text", "was_raised_inside"]

_NUMPY = (*NUMPY, "<__array_function__")
_OF_TYPES = re.compile(r"\b[Dd]?[Tt]ypes?\b|[a-z]Tensor\b|not implemented for '")


def shorten(error: BaseException) -> None:
    """Take Rushlight's frames out of the tracebacks of an error, of its causes and contexts; a note counts those of `error`.

    Nothing happens where the program has no frame, or under RUSHLIGHT_TRACEBACK=full.
    """
    if _shows_all():
        return
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        call = _call_of(one) if one is error else ""
        hidden = _shorten_one(one, one is error)
        if hidden and one is error:
            one.add_note(_note(hidden, call))
        pending += [one.__cause__, None if one.__suppress_context__ else one.__context__]


def shortened_text(error: BaseException) -> str:
    """An error's traceback as text, without Rushlight's frames, also where the program has none; `error` stays as it is."""
    import traceback

    told = traceback.TracebackException.from_exception(error)
    if _shows_all():
        return "".join(told.format())
    seen: set[int] = set()
    pending: list[traceback.TracebackException | None] = [told]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        names = [frame.filename for frame in one.stack]
        kept = [frame for frame, is_hidden in zip(one.stack, _hidden(names), strict=True) if not is_hidden]
        hidden = len(names) - len(kept)
        one.stack[:] = kept
        if hidden and one is told:
            one.__notes__ = [*(getattr(error, "__notes__", None) or ()), _note(hidden)]
        pending += [one.__cause__, one.__context__]
    return "".join(told.format())


def _shows_all() -> bool:
    return os.environ.get("RUSHLIGHT_TRACEBACK", "") == "full"


def _note(hidden: int, call: str = "") -> str:
    frames = "1 frame" if hidden == 1 else f"{hidden} frames"
    return f"({call}{frames} inside Rushlight left out: RUSHLIGHT_TRACEBACK=full shows all)"


def _call_of(error: BaseException) -> str:
    """ "in mv(input [2, 3], vec [2]), ", where the error arose in a call of Rushlight; a module's note says more."""
    if any(note.startswith("in `") for note in getattr(error, "__notes__", ())):
        return ""
    frames = _frames(error.__traceback__)
    own = [i for i, is_hidden in enumerate(_hidden(list(map(_file, frames)))) if not is_hidden]
    call = failed_call(frames[own[-1] + 1 :], bool(_OF_TYPES.search(str(error)))) if own else ""
    return f"in {call}, " if call else ""


def was_raised_inside(traceback: TracebackType | None) -> bool:
    """Whether the frame that raised is Rushlight's, or NumPy's."""
    if traceback is None:
        return False
    return _file(innermost(traceback)).startswith((*FILES, *_NUMPY))


def _shorten_one(error: BaseException, is_main: bool) -> int:
    """How many frames were taken out: of the error itself none, where none would stay."""
    frames = _frames(error.__traceback__)
    hidden = _hidden(list(map(_file, frames)))
    kept = [tb for tb, is_hidden in zip(frames, hidden, strict=True) if not is_hidden]
    if len(kept) == len(frames) or is_main and not kept:
        return 0
    for tb, following in zip(kept, [*kept[1:], None], strict=False):
        tb.tb_next = following
    error.__traceback__ = kept[0] if kept else None
    return len(frames) - len(kept)


def _frames(traceback: TracebackType | None) -> list[TracebackType]:
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    return frames


def _hidden(names: list[str]) -> list[bool]:
    """Which frames are Rushlight's, or NumPy's and the standard library's where Rushlight has called them.

    names: the files of all frames, from the outermost.
    """
    hidden: list[bool] = []
    for name in names:
        is_called = name.startswith(_NUMPY) or (name.startswith(STANDARD) and "-packages" not in name)
        hidden.append(name.startswith(FILES) or (is_called and hidden[-1:] == [True]))
    return hidden


def _file(traceback: Any) -> str:
    return traceback.tb_frame.f_code.co_filename
