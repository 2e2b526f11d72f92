"""`rushlight doctor`: a program as `rushlight run` runs it, with its training loop followed; `rushlight explain`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from traceback import walk_stack, walk_tb
from types import FrameType
from typing import Any

from rushlight.doctor.findings import Finding
from rushlight.doctor.pages import page_names, page_of
from rushlight.doctor.processes import OtherProcesses
from rushlight.doctor.report import json, terminal
from rushlight.doctor.session import Report, new_doctor

from .run import run_program

__all__ = ["doctor_program", "explain"]


class _Run:
    """One program under the doctor: what is certain is told at once, the rest when it ends, however it ends."""

    def __init__(self, program: str, json: str | None, sarif: str | None, page: str | None) -> None:
        self.doctor = new_doctor()
        self.report = Report(self.doctor, os.path.abspath(program) if os.path.exists(program) else program)
        self.json, self.sarif, self.page = json, sarif, page
        self.doctor.on_certain = self._tell
        self.others = OtherProcesses(self.doctor)
        self.told: set[int] = set()
        self.ended = False

    def _tell(self, finding: Finding) -> None:
        if id(finding) in self.told or not any(finding is f for f in self.report.findings):
            return
        self.told.add(id(finding))
        with suppress(OSError):  # its reader has gone: `2>&1 | head`
            terminal.show(finding, sys.stderr)
        if self.json:
            self._write()

    def _write(self) -> None:
        assert self.json is not None
        try:
            json.write(self.report, self.json)
        except OSError as error:
            print(f"rushlight doctor: cannot write {self.json}: {error.strerror}", file=sys.stderr)

    def end(self, error: BaseException | None = None) -> None:
        """Judge and report, once."""
        if self.ended:
            return
        self.ended = True
        if error is not None:
            self.doctor.left(walk_tb(error.__traceback__))
        if error is not None and not isinstance(error, SystemExit):
            self.doctor.failed(error)
        self.doctor.stop()
        self.others.collect()
        self.others.close()
        for finding in self.report.findings:
            self._tell(finding)
        with suppress(OSError):
            if self.report.findings or self.doctor.steps or self.doctor.backwards:
                terminal.show_summary(self.report.findings, sys.stderr)
            else:
                print("\ngradient doctor: no backward and no step was seen: nothing to judge", file=sys.stderr)
        if self.json:
            self._write()
        if self.sarif or self.page:
            self._write_others()

    def _write_others(self) -> None:
        for path, name in ((self.sarif, "sarif"), (self.page, "page")):
            if path:
                module = import_module(f"rushlight.doctor.report.{name}")
                try:
                    json.write_text(path, module.text(self.report))
                except OSError as error:
                    print(f"rushlight doctor: cannot write {path}: {error.strerror}", file=sys.stderr)

    def has_faults(self) -> bool:
        """Whether there is a finding that --strict counts."""
        return any(f.severity != "info" for f in self.report.findings)

    def handle_termination(self) -> None:
        """Report also where SIGTERM ends the program, unless it takes care of that signal itself."""
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._terminated)

    def _terminated(self, number: int, frame: FrameType | None) -> None:
        self.doctor.left(walk_stack(frame))
        self.end()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def doctor_program(args: Any) -> int:
    """Run `args.program` and report to the standard error. Returns the program's status; with --strict 1 for findings."""
    for path in (args.json, args.sarif, args.report):
        if path and not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            print(f"rushlight doctor: there is no folder for {path}", file=sys.stderr)
            return 2
    run = _Run(args.program, args.json, args.sarif, args.report)
    run.handle_termination()
    run.doctor.start()
    try:
        status = run_program(args.program, args.arguments, args.as_module, args.missing, run.end)
    except BaseException as error:
        _wait_for_threads()
        run.end(error)
        _name_misplaced(args)
        if args.strict and isinstance(error, SystemExit) and error.code in (None, 0) and run.has_faults():
            return 1
        raise
    _wait_for_threads()
    run.end()
    _name_misplaced(args)
    return 1 if args.strict and not status and run.has_faults() else status


def _name_misplaced(args: Any) -> None:
    """Say where an option of this command was written after the program, which was given it and wrote no such file."""
    for option, path in pairwise(args.arguments):
        if option in ("--report", "--json", "--sarif") and not os.path.exists(path):
            print(
                f"rushlight doctor: {option} {path} was passed to the program; the command's own options come before "
                f"the program: rushlight doctor {option} {path} {args.program}",
                file=sys.stderr,
            )


def _wait_for_threads() -> None:
    """A program goes on as long as its threads do."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def explain(words: list[str]) -> int:
    """Print the page of a check, or of the error that a message is; 1 where there is none."""
    found = page_of(" ".join(words))
    if found is None:
        print(f"there is no page for {' '.join(words)!r}; there are: {', '.join(page_names())}", file=sys.stderr)
        return 1
    try:
        print(found, flush=True)
    except BrokenPipeError:  # `rushlight explain ... | head`
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    return 0
