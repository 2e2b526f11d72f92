"""The program's other processes: a doctor of its own follows each, and what it finds joins the report of the first.

The first process names a folder in its environment. A process that finds the name there, because it was started by
`multiprocessing`, by `subprocess`, by `torchrun` or by a fork, leaves its findings in the folder.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from multiprocessing import util
from types import CodeType
from typing import Any

from .doctor import Doctor
from .findings import Finding, Related
from .places import Place, place_of
from .report.json import write_text
from .session import new_doctor

__all__ = ["FOLDER", "OtherProcesses", "follow"]

FOLDER = "RUSHLIGHT_DOCTOR_FOLDER"  # the environment variable


class OtherProcesses:
    """What the processes find that this one starts. doctor: this one's, which `collect` adds to."""

    def __init__(self, doctor: Doctor) -> None:
        self.doctor = doctor
        self.folder = os.environ[FOLDER] = tempfile.mkdtemp(prefix="rushlight-doctor-")
        util.register_after_fork(self, lambda _: follow())  # those that fork in other ways leave no trace at their end
        self._names: set[str] = set()
        self._seen: dict[tuple[str, str, int], int] = {}

    def collect(self) -> None:
        """Add the findings of the processes that have ended, and what is certain of those that have not."""
        for name in sorted(set(os.listdir(self.folder)) - self._names):
            if name.endswith(".json"):
                self._names.add(name)
                with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                    for record in json.load(file):
                        self._add(_finding(record))

    def close(self) -> None:
        """Remove the folder."""
        os.environ.pop(FOLDER, None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _add(self, finding: Finding) -> None:
        key = finding.check, finding.file, finding.line
        self._seen[key] = self._seen.get(key, 0) + 1
        known = self.doctor.findings.suspected.setdefault(key, finding)
        if known is not finding:
            known.count += finding.count
            known.message = finding.message
        if self._seen[key] > 1:
            known.message = f"{finding.message} (so in {self._seen[key]} processes)"


class _Follower:
    """The doctor of one of the other processes. It reports once, when the process ends."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, f"{os.getpid()}.json")
        self.process = os.getpid()
        self.doctor = new_doctor()
        self.doctor.on_certain = lambda finding: self._write()
        self.doctor.start()
        atexit.register(self.end)

    def end(self) -> None:
        """Judge and write, once."""
        if os.getpid() != self.process or self.doctor.finished:
            return
        error = getattr(sys, "last_value", None)  # what nothing caught
        if error is not None:
            self.doctor.failed(error)
        self.doctor.stop()
        self._write()

    def _write(self) -> None:
        records = [_record(finding) for finding in self.doctor.findings.listed()]
        if records:
            with suppress(OSError):  # the first process has ended, and removed the folder
                write_text(self.path, json.dumps(records))


_follower: _Follower | None = None


def follow() -> None:
    """Follow this process, which another one that is being followed has started."""
    global _follower
    folder = os.environ.get(FOLDER, "")
    if not os.path.isdir(folder):
        return
    if _follower is None or _follower.process != os.getpid():
        _follower = _Follower(folder)
        util.register_after_fork(_follower, lambda _: follow())  # `multiprocessing` forgets finalizers there
    util.Finalize(None, _follower.end, exitpriority=100)  # a forked process of `multiprocessing` calls nothing else


# ------------------------------------------------------------------------------------------------- findings as JSON


def _record(finding: Finding) -> dict[str, Any]:
    return {
        "check": finding.check,
        "place": _place_record(finding.place),
        "severity": finding.severity,
        "message": finding.message,
        "mend": finding.mend,
        "first_step": finding.first_step,
        "count": finding.count,
        "related": [[_place_record(r.place), r.role] for r in finding.related],
    }


def _finding(record: dict[str, Any]) -> Finding:
    """The finding of a record, certain from the start."""
    values = dict(record)
    values["place"] = _place(values["place"])
    values["related"] = [Related(_place(place), role) for place, role in values["related"]]
    return Finding(**values, after=0, at_end=0)


def _place_record(place: Place) -> list[Any]:
    code = place.code
    return [code.co_filename, code.co_qualname, code.co_firstlineno, place.offset, place.line]


def _place(record: list[Any]) -> Place:
    """The place, in this process's own compilation of the file; at least its line where the file cannot be read."""
    file, function, first, offset, line = record
    for code in _codes(file):
        if (code.co_qualname, code.co_firstlineno) == (function, first):
            return place_of(code, offset)
    return place_of(compile("\n" * (line - 1) + "None", file, "exec"), 0)


@cache
def _codes(file: str) -> list[CodeType]:
    try:
        with open(file, "rb") as source:
            return list(_nested(compile(source.read(), file, "exec", dont_inherit=True)))
    except (OSError, SyntaxError, ValueError):
        return []


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
