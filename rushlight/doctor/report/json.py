"""The report for other programs, written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..session import Report

__all__ = ["as_dict", "write", "write_text"]

VERSION = 1


def as_dict(report: Report) -> dict[str, Any]:
    """{"version", "program", "findings"}."""
    return {"version": VERSION, "program": report.program, "findings": [f.as_dict() for f in report.findings]}


def write(report: Report, path: str) -> None:
    """Write the report to a file. Raises OSError where that cannot be written."""
    write_text(path, json.dumps(as_dict(report), indent=1) + "\n")


def write_text(path: str, text: str) -> None:
    """Write a file so that a reader finds the old one or the new one, never a part. Raises OSError."""
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{os.path.basename(path)}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(file.fileno(), 0o666 & ~mask)  # as open() would have made it
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
