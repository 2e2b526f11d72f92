"""The report for other programs, written whole or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core.atomic import replacing

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
    with replacing(path) as file:
        file.write(text.encode())
