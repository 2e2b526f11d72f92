"""Where a launched process's output goes: to files, to the launcher's own output, or both."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from typing import IO, Any

__all__ = ["Output", "streams_of"]

_STREAMS = ((1, "stdout"), (2, "stderr"))
_REST_S = 5.0  # for what a process has written before its end; a process that it has left behind may hold its pipes


def streams_of(text: str, local_rank: int) -> int:
    """The streams that an option such as "3" or "0:1,1:2" names for a local rank: 1 stdout, 2 stderr, 3 both, 0 none.

    Raises ValueError for another text.
    """
    chosen = 0
    for part in text.split(","):
        rank, _, value = part.rpartition(":")
        if value not in ("0", "1", "2", "3") or (rank and not rank.isdigit()):
            raise ValueError(f"expected 0, 1, 2, 3, or ranks with these, as in 0:1,1:3; got {text!r}")
        if not rank or int(rank) == local_rank:
            chosen = int(value)
    return chosen


class Output:
    """The output of one process: `arguments` for its start, `begin(process)` after it, and `end()`.

    redirected, shown: numbers of streams that go to files, and to files and the launcher's output (there each line has
    `[<name>]:` in front). With a folder and neither of them, all goes to `<folder>/<rank>.log`; else to
    `<folder>/<rank>/stdout.log` and `stderr.log`, in a temporary folder where none is given. is_hidden: nothing of it goes to
    the launcher's output.
    """

    def __init__(self, folder: str | None, rank: str, name: str, redirected: int, shown: int, is_hidden: bool = False):
        self.label = f"[{name}]:"
        if is_hidden:
            redirected, shown = redirected | shown, 0
        self._files: list[IO[bytes]] = []
        self._threads: list[threading.Thread] = []
        self._shown: dict[str, IO[bytes]] = {}
        self.arguments: dict[str, Any] = {}
        if folder is not None and not redirected | shown:
            os.makedirs(folder, exist_ok=True)
            self.arguments = {"stdout": self._open(os.path.join(folder, f"{rank}.log")), "stderr": subprocess.STDOUT}
        elif redirected | shown:
            place = os.path.join(folder or tempfile.mkdtemp(prefix="torchrun-"), rank)
            os.makedirs(place, exist_ok=True)
            for bit, name in _STREAMS:
                if (redirected | shown) & bit:
                    file = self._open(os.path.join(place, f"{name}.log"))
                    self.arguments[name] = subprocess.PIPE if shown & bit else file
                    if shown & bit:
                        self._shown[name] = file
        if is_hidden:
            self.arguments = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | self.arguments

    def _open(self, path: str) -> IO[bytes]:
        self._files.append(open(path, "wb", buffering=0))  # noqa: SIM115 (closed by end)
        return self._files[-1]

    def begin(self, process: Any) -> None:
        """Start to read what is shown."""
        for name, file in self._shown.items():
            pipe, console = getattr(process, name), getattr(sys, name)
            thread = threading.Thread(
                target=self._copy, args=(pipe, file, console), daemon=True, name="torchrun-output"
            )
            thread.start()
            self._threads.append(thread)

    def _copy(self, pipe: IO[bytes], file: IO[bytes], console: Any) -> None:
        with pipe:
            for line in pipe:
                file.write(line)
                console.write(self.label + line.decode(errors="replace"))
                console.flush()

    def end(self) -> None:
        """Take the rest, and close the files."""
        for thread in self._threads:
            thread.join(_REST_S)
        for file in self._files:
            file.close()
