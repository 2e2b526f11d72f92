"""Functions in the place of programs: what each process of a launcher calls, and what comes back from it."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .workers import ends_with

__all__ = ["Function"]


class Function:
    """A function and its arguments, which have to be picklable unless `start_method` is "fork".

    Raises ValueError for a start method that does not exist.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], start_method: str):
        self.function, self.args = function, args
        self._context: Any = multiprocessing.get_context(start_method)
        self._folder = tempfile.TemporaryDirectory(prefix="torchelastic_")

    def start(self, environment: dict[str, str]) -> _Process:
        """A process that calls it."""
        own = dict(environment)
        if "OMP_NUM_THREADS" not in os.environ:  # as in torch: that is for programs
            own.pop("OMP_NUM_THREADS", None)
        folder = self._of(own["RANK"])
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():  # of an earlier attempt
            old.unlink()
        own["TORCHELASTIC_ERROR_FILE"] = str(folder / "error.json")
        process = self._context.Process(
            target=_call, args=(os.getpid(), own, self.function, self.args, str(folder / "value"))
        )
        process.start()
        return _Process(process)

    def _of(self, rank: Any) -> Path:
        return Path(self._folder.name, str(rank))

    def value(self, rank: int) -> Any:
        """What it has returned in the process of a rank. Raises RuntimeError where that could not be sent."""
        return pickle.loads((self._of(rank) / "value").read_bytes())

    def error_file(self, rank: int) -> str:
        """Where the process of a rank has written the exception that has ended it."""
        return str(self._of(rank) / "error.json")

    def close(self) -> None:
        """Remove the files."""
        self._folder.cleanup()


class _Process:
    """A process of `multiprocessing` with the methods of `subprocess.Popen` that a launcher calls."""

    def __init__(self, process: Any):
        self._process, self.pid, self.stdout, self.stderr = process, process.pid, None, None

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        if self._process.exitcode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Send it SIGKILL."""
        self._process.kill()

    def wait(self) -> int | None:
        """Its exit code, when it has ended."""
        self._process.join()
        return self._process.exitcode


def _call(
    parent: int, environment: dict[str, str], function: Callable[..., Any], args: tuple[Any, ...], path: str
) -> None:
    """In the new process."""
    if sys.platform == "linux":
        ends_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the launcher's, which ends the others
    os.environ.clear()
    os.environ.update(environment)
    try:
        value = pickle.dumps(function(*args))
    except Exception as error:
        text, now = traceback.format_exc(), int(time.time())
        extra = {"py_callstack": text, "timestamp": str(now)}
        told = {"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}}
        Path(environment["TORCHELASTIC_ERROR_FILE"]).write_text(json.dumps(told))
        print(text, end="", file=sys.stderr, flush=True)
        sys.exit(1)
    Path(path).write_bytes(value)
