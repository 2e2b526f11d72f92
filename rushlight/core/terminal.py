"""Output for people: colours and progress where a file is a terminal, and plain text or none anywhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Event, Thread
from typing import Any

__all__ = ["console", "download_bar", "is_terminal", "long_work"]


def is_terminal(file: Any) -> bool:
    """Whether a person reads what is written to the file."""
    try:
        return bool(file is not None and file.isatty())
    except (AttributeError, ValueError):  # no file, or a closed one
        return False


def console(file: Any) -> Any:
    """rich's console for a file; None where plain text is due: no terminal, NO_COLOR is set, or `rich` is missing."""
    if not is_terminal(file) or os.environ.get("NO_COLOR") or find_spec("rich") is None:
        return None
    from rich.console import Console

    return Console(file=file, highlight=False)


_SHOWN_AFTER_S, _REFRESH_S = 2.0, 0.2
_LEAST_BYTES = 1 << 24  # less is written before a person looks up: it is not worth the 0.3 ms of a thread


@contextmanager
def long_work(what: str, total_bytes: int | None = None) -> Iterator[Callable[[int], None] | None]:
    """Show what is going on if the block takes more than two seconds: how long already, or how much of so many bytes.

    Yields a function that takes the bytes done since its last call; or None, and shows nothing, where standard error is no
    terminal or `tqdm` is missing. Nothing stays on the screen when the block ends.
    """
    file = sys.stderr
    small = total_bytes is not None and total_bytes < _LEAST_BYTES
    if small or not is_terminal(file) or find_spec("tqdm") is None:
        yield None
        return
    work = _Work(what, total_bytes, file)
    try:
        work.thread.start()
    except RuntimeError:  # the system has no more threads, or the interpreter ends
        yield None
        return
    try:
        yield work.advance
    finally:
        work.ended.set()
        work.thread.join()


@contextmanager
def download_bar(total_bytes: int | None, shown: bool = True) -> Iterator[Callable[[int], object]]:
    """Show from the start how much is there; yields a function that takes the bytes that came since its last call.

    Nothing is shown if not `shown`, where standard error is no terminal, or where `tqdm` is missing.
    """
    if not (shown and is_terminal(sys.stderr)) or find_spec("tqdm") is None:
        yield lambda size_bytes: None
        return
    from tqdm import tqdm

    with tqdm(total=total_bytes, file=sys.stderr, unit="B", unit_scale=True, unit_divisor=1024) as bar:
        yield bar.update


class _Work:
    """A block that runs, and the thread that shows it."""

    def __init__(self, what: str, total_bytes: int | None, file: Any):
        self.what, self.total_bytes, self.file = what, total_bytes, file
        self.done_bytes = 0
        self.ended = Event()
        self.thread = Thread(target=self._show, name="rushlight progress", daemon=True)

    def advance(self, size_bytes: int) -> None:
        self.done_bytes += size_bytes

    def _show(self) -> None:
        if self.ended.wait(_SHOWN_AFTER_S):
            return
        from tqdm import tqdm

        class Bar(tqdm):
            monitor_interval = 0  # no thread that stays: a later fork would copy its locks

        form = None if self.total_bytes else "{desc} ({elapsed})"
        options: dict[str, Any] = {"unit": "B", "unit_scale": True, "unit_divisor": 1024, "leave": False}
        with Bar(total=self.total_bytes, desc=self.what, file=self.file, bar_format=form, **options) as bar:
            while not self.ended.wait(_REFRESH_S):
                bar.n = self.done_bytes
                bar.refresh()
