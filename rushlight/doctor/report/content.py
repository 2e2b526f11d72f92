"""What is shown of a finding, whichever renderer shows it: the terminal's two, and the page."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..places import source_line
from .diff import edit_of

if TYPE_CHECKING:
    from ..findings import Finding

__all__ = ["Code", "Content", "Other", "content_of", "shown_path", "summary"]

_AROUND = 2  # lines shown before and after


@dataclass(frozen=True)
class Code:
    """A line of the program. marked: a part of the statement to edit."""

    number: int
    text: str
    marked: bool


@dataclass(frozen=True)
class Other:
    """Another statement that takes part. role: what happens there."""

    where: str
    role: str
    text: str


@dataclass(frozen=True)
class Content:
    """One finding. where: `train.py:12`. seen: how often and when. diff: lines with '+', '-' or ' ' in front, '@' between
    places; changes: the file that it changes, if that is another."""

    severity: str
    check: str
    where: str
    message: str
    code: tuple[Code, ...]
    others: tuple[Other, ...]
    mend: str
    seen: str
    diff: tuple[str, ...]
    changes: str

    @property
    def more(self) -> str:
        """The command that shows the check's page."""
        return f"rushlight explain {self.check}"


def content_of(finding: Finding) -> Content:
    """What is shown of a finding."""
    place = finding.place
    edit = edit_of(finding)
    times = "seen once" if finding.count == 1 else f"seen {finding.count} times"
    return Content(
        finding.severity,
        finding.check,
        f"{shown_path(place.file)}:{place.line}",
        finding.message,
        tuple(_code(finding)),
        tuple(_others(finding)),
        finding.mend,
        f"{times}, first in step {finding.first_step}"
        if finding.moments or not finding.after  # told by another process
        else f"judged at the end, after step {finding.first_step}",
        () if edit is None else tuple(edit.diff()),
        "" if edit is None or edit.file == place.code.co_filename else shown_path(edit.file),
    )


def summary(findings: list[Finding]) -> str:
    """`3 findings (2 errors, 1 warning)`."""
    if not findings:
        return "nothing found"
    counts = [(sum(f.severity == s for f in findings), s) for s in ("error", "warning", "info")]
    said = ", ".join(f"{n} {s}{'s' if n > 1 and s != 'info' else ''}" for n, s in counts if n)
    n = len(findings)
    return f"{n} finding{'s' if n > 1 else ''} ({said})"


def _code(finding: Finding) -> list[Code]:
    """The statement and the lines around it, without empty ones at either end."""
    place = finding.place
    first, last = place.extent
    numbers = range(max(1, first - _AROUND), last + _AROUND + 1)
    lines = [Code(n, source_line(place.code.co_filename, n), first <= n <= last) for n in numbers]
    while lines and not lines[0].text.strip() and not lines[0].marked:
        del lines[0]
    while lines and not lines[-1].text.strip() and not lines[-1].marked:
        del lines[-1]
    return lines


def _others(finding: Finding) -> list[Other]:
    """The related statements, each once with all that happens there."""
    found: dict[str, Other] = {}
    for related in finding.related:
        where = f"{shown_path(related.place.file)}:{related.place.line}"
        known = found.get(where)
        role = related.role if known is None else f"{known.role}; {related.role}"
        found[where] = Other(where, role, related.place.text)
    return list(found.values())


def shown_path(path: str) -> str:
    """A path relative to the working directory where that is shorter."""
    try:
        relative = os.path.relpath(path)
    except ValueError:
        return path
    return relative if not relative.startswith("..") and not path.startswith("<") else path
