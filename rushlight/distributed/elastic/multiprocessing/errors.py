"""The errors of launched processes, and `record`, which marks a program's main function."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

__all__ = ["ChildFailedError", "ProcessFailure", "record"]

F = TypeVar("F", bound=Callable[..., Any])
_ABSENT = "<N/A>"


@dataclass
class ProcessFailure:
    """How a process has failed. message: of a function the exception's text and traceback, else how it ended.

    exitcode: below 0 the number of the signal that has killed it. timestamp: in seconds since 1970.
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: Any = field(init=False)
    message: Any = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self.error_file_data, self.message, self.timestamp = {"message": ""}, "", int(time.time())
        if os.path.isfile(self.error_file):
            with open(self.error_file) as file:
                self.error_file_data = json.load(file)
            self.message = self.error_file_data["message"]
            self.timestamp = int(self.message["extraInfo"]["timestamp"])
        else:
            self.error_file = _ABSENT
        if not self.message and self.exitcode < 0:
            self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
        elif not self.message:
            self.message = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"

    def signal_name(self) -> str:
        """Of the signal that has killed it, or <N/A>."""
        try:
            return signal.Signals(-self.exitcode).name if self.exitcode < 0 else _ABSENT
        except ValueError:
            return _ABSENT

    def timestamp_isoformat(self) -> str:
        """When it failed: YYYY-MM-DD_HH:MM:SS."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


class ChildFailedError(Exception):
    """Processes that were started have failed. failures: by rank. Raises AssertionError for none."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]):
        self.name, self.failures = name, failures
        if not failures:
            raise AssertionError
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank and the failure of the process that failed first."""
        rank = min(self.failures, key=lambda r: self.failures[r].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        """The failures in words, the first one at the end."""
        title, (root, _) = f"{self.name} FAILED", self.get_first_failure()
        told = {rank: _described(i, rank, f) for i, (rank, f) in enumerate(self.failures.items())}
        width = min(60, max(len(line) for text in (title, *told.values()) for line in text.split("\n")))
        others = [text for rank, text in told.items() if rank != root] or ["  <NO_OTHER_FAILURES>"]
        border, section = boarder_delim * width, section_delim * width
        return "\n".join(
            ["", border, title, section, "Failures:", *others, section, "Root Cause (first observed failure):",
             told[root], border]
        )  # fmt: skip


def _described(number: int, rank: int, failure: ProcessFailure) -> str:
    message, name = failure.message, failure.signal_name()
    if isinstance(message, dict):
        message = message.get("extraInfo", {}).get("py_callstack", message.get("message", _ABSENT))
        message = message.replace("\n", "\n  ")
    return (
        f"[{number}]:\n  time      : {failure.timestamp_isoformat()}\n  host      : {socket.getfqdn()}\n"
        f"  rank      : {rank} (local_rank: {failure.local_rank})\n"
        f"  exitcode  : {failure.exitcode} (pid: {failure.pid}) {'' if name == _ABSENT else f' ({name})'}\n"
        f"  error_file: {failure.error_file}\n  traceback : {message}"
    )


def record(fn: F, error_handler: Any = None) -> F:
    """The function itself: its error, with the traceback, is printed by the process in which it is raised."""
    return fn
