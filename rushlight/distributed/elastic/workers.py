"""The processes that a launcher starts on its machine: their start, how they end, and how they are ended."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from typing import Any

from ...core.foreign import loaded_functions
from ..control.process_state import KILLED_LOOKS, LOOK_S, Looks, birth
from ..process_output import Output, streams_of
from .utils import macros

__all__ = ["POLL_S", "Workers", "ends_with"]

POLL_S = 0.05
_RAISE_S = 2.0  # after a failure, for the others to raise by themselves what they know of it
_GRACE_S = 5.0  # between asking a process to end and killing it
_PR_SET_PDEATHSIG = 1
_prctl = getattr(loaded_functions(), "prctl", None)  # Linux's


def ends_with(parent: int) -> None:
    """In a new process: the system kills it when the launcher dies, so that none stays behind (Linux)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # type: ignore[misc]
    if os.getppid() != parent:  # it died before the system knew
        os._exit(1)


class Workers:
    """`count` processes with the ranks from `first_rank` on."""

    def __init__(self, args: argparse.Namespace, environment: dict[str, str], count: int, first_rank: int):
        self.first_rank, self.function = first_rank, args.function
        self._processes: list[Any] = []
        self._outputs: list[Output] = []
        try:
            for local_rank in range(count):
                self._start(args, environment, local_rank)
        except BaseException:
            self.end()
            raise
        self.death = ""  # of the first that has failed, in words
        self.failed: list[tuple[int, int, int]] = []  # local rank, process and exit code of those that had failed then
        self._looks, self._next_look = Looks(KILLED_LOOKS), 0.0
        self._births = [birth(process.pid) for process in self._processes]

    def _start(self, args: argparse.Namespace, environment: dict[str, str], local_rank: int) -> None:
        rank = str(self.first_rank + local_rank)
        own = {**environment, "LOCAL_RANK": str(local_rank), "RANK": rank, "ROLE_RANK": rank}
        redirected, tee = (streams_of(text, local_rank) for text in (args.redirects, args.tee))
        shown = args.local_ranks_filter
        is_hidden = bool(shown) and str(local_rank) not in shown.split(",")
        output = Output(args.log_dir, rank, f"{args.role}{local_rank}", redirected, tee, is_hidden)
        self._outputs.append(output)
        if args.function is not None:
            self._processes.append(args.function.start(own))
            return
        begin = None if _prctl is None else partial(ends_with, os.getpid())
        self._processes.append(
            subprocess.Popen(_command(args, local_rank), env=own, preexec_fn=begin, **output.arguments)
        )
        output.begin(self._processes[-1])

    def status(self) -> int | None:
        """The status of the first process that has failed; 0 when all have ended well, None while they run.

        A process that stays stopped is killed.
        """
        states = [process.poll() for process in self._processes]
        failed = [(local_rank, state) for local_rank, state in enumerate(states) if state]
        if failed:
            local_rank, state = failed[0]
            self.death = self._described(local_rank, state)
            self.failed = [(local, self._processes[local].pid, code) for local, code in failed]
            return state if state > 0 else 1
        if all(state == 0 for state in states):
            return 0
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_S
            for local_rank, process in enumerate(self._processes):
                if states[local_rank] is None and self._looks.given_up(process.pid, self._births[local_rank]):
                    print(f"torch.distributed.run: local rank {local_rank} stays stopped: killed", file=sys.stderr)
                    process.kill()
        return None

    def _described(self, local_rank: int, state: int) -> str:
        how = f"exit status {state}" if state > 0 else f"signal {-state} ({signal.strsignal(-state)})"
        return (
            f"rank {self.first_rank + local_rank} (local rank {local_rank}, pid {self._processes[local_rank].pid}) on host "
            f"{socket.gethostname()} has ended by {how}"
        )

    def wait(self) -> int:
        """Wait for `status`; print which process has failed."""
        while (status := self.status()) is None:
            time.sleep(POLL_S)
        if status:
            print(f"torch.distributed.run: {self.death}", file=sys.stderr)
        return status

    def end(self) -> None:
        """Let all end: by themselves where one has failed, then by SIGTERM, which wakes a stopped one, then by SIGKILL."""
        processes = self._processes
        if any(process.poll() for process in processes):
            _wait_all(processes, _RAISE_S)
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                if hasattr(signal, "SIGCONT"):
                    process.send_signal(signal.SIGCONT)
        _wait_all(processes, _GRACE_S)
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        for output in self._outputs:
            output.end()


def _command(args: argparse.Namespace, local_rank: int) -> list[str]:
    python = [] if args.no_python else [sys.executable, "-u", *(["-m"] if args.module else [])]
    return [*python, args.training_script, *macros.substitute(args.training_script_args, str(local_rank))]


def _wait_all(processes: list[Any], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline and any(process.poll() is None for process in processes):
        time.sleep(POLL_S)
