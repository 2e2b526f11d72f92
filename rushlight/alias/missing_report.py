"""A record of the missing names that a program touches, kept in a JSON file while the program runs.

`rushlight run --missing report.json` starts it; child processes find the file's name in the environment and add to it.
The file is complete after each new entry, so that a program that is stopped leaves it as well.
"""

import os
import sys
from pathlib import Path

from ..core.atomic import replacing
from ..core.own_code import PACKAGE
from .suggestions import nearest

__all__ = ["VARIABLE", "is_kept", "join", "note", "start"]

VARIABLE = "RUSHLIGHT_MISSING"
_IMPORT_FOLDER = str(Path(os.__file__).with_name("importlib")) + os.sep
_IMPORTS = ("IMPORT_NAME", "IMPORT_FROM", "IMPORT_STAR")

_report = ""  # the file's path while a record is kept
_seen = set()


def start(path):
    """Keep the record in the file at `path` from now on, in this process and those that it starts."""
    global _report
    _report = os.environ[VARIABLE] = os.path.abspath(path)
    _write([])


def join():
    """Add to the record that the parent process keeps, if it does."""
    global _report
    _report = os.environ.get(VARIABLE, "")


def is_kept():
    """Whether a record is kept."""
    return bool(_report)


def note(path, how=None):
    """Record that the running program touched a missing name; `how` is found out when None: "import" or "attribute"."""
    if _report:
        _note(path, how, _programs_frame())


def note_module(path):
    """Record that the running program imported a module of which nothing is there; its attributes speak for themselves."""
    frame = _programs_frame()
    if _how(frame) == "import":
        _note(path, "import", frame)


def _note(path, how, frame):
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "?"
    entry = (path, how or _how(frame), place)
    if entry not in _seen:
        _seen.add(entry)
        _write([entry])


def _programs_frame():
    """The innermost frame outside of Rushlight and the import system."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((*PACKAGE, _IMPORT_FOLDER, "<frozen importlib")):
            return frame
        frame = frame.f_back
    return None


def _how(frame):
    import dis

    if frame is None:
        return "attribute"
    operation = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    return "import" if operation in _IMPORTS else "attribute"


def _write(entries):
    """Add entries to the file; processes take turns by a lock on a file next to it, released at the program's end."""
    import json

    with _lock():
        try:
            known = {item["name"]: item for item in json.loads(Path(_report).read_text())["missing"]} if entries else {}
        except (OSError, ValueError, KeyError):
            known = {}
        for path, how, place in entries:
            item = known.setdefault(path, {"name": path, "nearest": nearest(path), "touched": []})
            touch = {"how": how, "where": place}
            if touch not in item["touched"]:
                item["touched"].append(touch)
        text = json.dumps({"missing": sorted(known.values(), key=lambda item: item["name"])}, indent=1)
        with replacing(_report) as file:
            file.write(f"{text}\n".encode())


class _lock:
    """Exclusion between processes, where the system has file locks that end with their owner."""

    def __enter__(self):
        try:
            import fcntl
        except ModuleNotFoundError:
            self._descriptor = None
            return
        folder = os.path.dirname(_report) or "."
        self._descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(self, *exc_info):
        if self._descriptor is not None:
            os.close(self._descriptor)
