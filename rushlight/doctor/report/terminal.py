"""The report in a terminal: findings first, each with the program's lines around it, what happened, and the mend."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..places import source_line
from .diff import mended

if TYPE_CHECKING:
    from ..findings import Finding
    from ..session import Report

__all__ = ["text"]

_AROUND = 2  # lines shown before and after


def text(report: Report) -> str:
    """The whole report, without colours."""
    findings = report.findings
    if not findings:
        return "gradient doctor: nothing found"
    shown = [one(f) for f in findings]
    n = len(findings)
    return "\n\n".join([f"gradient doctor: {n} finding{'s' if n > 1 else ''}", *shown])


def one(finding: Finding) -> str:
    """One finding."""
    place = finding.place
    first, last = place.extent
    lines = [f"{shown_path(place.file)}:{first}: {finding.severity}: {finding.message} [{finding.check}]"]
    for number in range(max(1, first - _AROUND), last + _AROUND + 1):
        source = source_line(place.code.co_filename, number)
        if source or first <= number <= last:
            lines.append(f"  {'>' if first <= number <= last else ' '} {number:4} | {source}".rstrip())
    for other in finding.related:
        lines.append(f"    {shown_path(other.place.file)}:{other.place.line}: {other.role}: {other.place.text}")
    times = f" (seen {finding.count} times, first in step {finding.first_step})" if finding.count > 1 else ""
    lines.append(f"  mend: {finding.mend}{times}")
    lines += [f"    {line}" for line in mended(finding)]
    lines.append(f"  more: rushlight explain {finding.check}")
    return "\n".join(lines)


def shown_path(path: str) -> str:
    """A path relative to the working directory where that is shorter."""
    try:
        relative = os.path.relpath(path)
    except ValueError:
        return path
    return relative if not relative.startswith("..") else path
