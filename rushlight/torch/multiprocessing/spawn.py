"""Processes that all run one function, with the first failure raised in the parent."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import time
from collections.abc import Callable
from multiprocessing import connection
from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

_GRACE_S = 30.0  # between asking a process to end and killing it


class ProcessException(Exception):
    """A process failed. `error_index`: which one; `error_pid`: its process number."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The process's function raised; the message has its traceback."""


class ProcessExitedException(ProcessException):
    """The process was ended by a signal (`signal_name`) or with a status (`exit_code`)."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(fn: Callable, index: int, args: tuple, report: Any) -> None:
    """What each process does. Its error goes to the parent as text, since not every error can be pickled."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted, too
    except Exception as error:
        import sys
        import traceback

        sys.last_value = error  # as Python leaves it where nothing catches an error

        report.send_bytes(pickle.dumps((time.monotonic(), traceback.format_exc())))
        sys.exit(1)


class ProcessContext:
    """The processes that were started. `join()` waits for them and raises the first failure."""

    def __init__(self, processes: list[Any], reports: list[Any]):
        self.processes, self._reports = processes, reports

    def pids(self) -> list[int]:
        """The process numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends; whether all have. Call it again until it says True.

        Raises ProcessRaisedException or ProcessExitedException for the first that failed, when the others were ended.
        """
        running = {p.sentinel: i for i, p in enumerate(self.processes) if p.exitcode is None}
        ready = connection.wait(list(running), timeout=timeout) if running else []
        for process in self.processes:
            if process.sentinel in ready:
                process.join()
        failed = [index for index, process in enumerate(self.processes) if process.exitcode not in (None, 0)]
        if failed:
            self._end_others(_GRACE_S if grace_period is None else grace_period)
            self._raise(failed)
        return all(process.exitcode == 0 for process in self.processes)

    def _end_others(self, grace_s: float) -> None:
        alive = [process for process in self.processes if process.is_alive()]
        for process in alive:
            process.terminate()
        deadline = time.monotonic() + grace_s
        for process in alive:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _raise(self, failed: list[int]) -> None:
        """Raise for a process that ended without an error of Python's, else for the one whose error came first.

        The others' errors may follow from that one, and a process that has failed first may be the last one to end.
        """
        errors = {i: told for i, report in enumerate(self._reports) if (told := _told(report)) is not None}
        silent = next((index for index in failed if index not in errors), None)
        index = min(errors, key=lambda i: errors[i][0]) if silent is None else silent
        process = self.processes[index]
        if silent is None:
            message = f"\n\n-- Process {index} terminated with the following error:\n{errors[index][1]}"
            raise ProcessRaisedException(message, index, process.pid)
        code = process.exitcode
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            raise ProcessExitedException(
                f"process {index} terminated with signal {name}", index, process.pid, code, signal_name=name
            )
        raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)


SpawnContext = ProcessContext


def _told(report: Any) -> tuple[float, str] | None:
    """When a process's function has raised, by the machine's clock, and the traceback; None where it has not."""
    try:
        return pickle.loads(report.recv_bytes()) if report.poll() else None
    except EOFError:
        return None


def start_processes(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(index, *args)` in `nprocs` processes; wait for them (join=True), or return what waits for them.

    start_method: 'spawn', 'fork' or 'forkserver'.
    """
    from ...utils.data.native_threads import one_native_thread

    context: Any = multiprocessing.get_context(start_method)
    processes, reports = [], []
    with one_native_thread():
        for index in range(nprocs):
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(fn, index, args, there), daemon=daemon)
            process.start()
            there.close()
            processes.append(process)
            reports.append(here)
    started = ProcessContext(processes, reports)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes` with the method 'spawn': each process imports the program again."""
    if start_method != "spawn":
        import warnings

        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method use:"
            "\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
