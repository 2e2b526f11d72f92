"""What the doctor says: findings, each with the line to edit, what happened in numbers, and the mend."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, field
from typing import Any

from .places import Place

__all__ = ["SEVERITIES", "Finding", "Findings", "Related"]

SEVERITIES = ("error", "warning", "info")
_IGNORE = re.compile(r"#\s*doctor:\s*ignore(?:\[([\w\s,-]*)\])?")


@dataclass
class Related:
    """Another line that takes part. role: what happens there, in a few words."""

    place: Place
    role: str

    def as_dict(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {"file": self.place.file, "line": self.place.line, "role": self.role}


@dataclass
class Finding:
    """One thing that is wrong at one line.

    check: the name of the check. place: the statement to edit. severity: one of `SEVERITIES`. count: how often it was
    seen. first_step: the number of the optimizer step, from 1, in whose window it was seen first. mend: what to do, in
    words. after, at_end: how often it has to be seen to be certain, at once and at the end of the program.
    """

    check: str
    place: Place
    severity: str
    message: str
    mend: str
    first_step: int
    count: int = 0
    related: list[Related] = field(default_factory=list)
    after: int = 3
    at_end: int = 1
    told: bool = False
    moments: list[int] = field(default_factory=list)  # numbers of events of the history at which it was seen

    @property
    def file(self) -> str:
        """The absolute path of the file of the line to edit."""
        return self.place.file

    @property
    def line(self) -> int:
        """The first line of the statement to edit."""
        return self.place.line

    def as_dict(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {
            "check": self.check,
            "file": self.place.file,
            "line": self.place.line,
            "end_line": self.place.end_line,
            "severity": self.severity,
            "message": self.message,
            "mend": self.mend,
            "count": self.count,
            "first_step": self.first_step,
            "related": [r.as_dict() for r in self.related],
        }


class Findings:
    """All that was suspected, by check and statement; a suspicion becomes a finding when it has come often enough."""

    def __init__(self) -> None:
        self.suspected: dict[tuple[str, str, int], Finding] = {}
        self.over = False  # whether the program has ended: fewer occurrences are enough now

    def suspect(self, finding: Finding) -> Finding:
        """Count one occurrence; the finding of its check and statement."""
        key = finding.check, finding.place.file, finding.place.line
        known = self.suspected.setdefault(key, finding)
        known.count += 1
        if known is not finding:
            known.message, known.mend = finding.message, finding.mend
            known.related = finding.related or known.related
            known.after, known.at_end = min(known.after, finding.after), min(known.at_end, finding.at_end)
        return known

    def withdraw(self, check: str, place: Place | None = None) -> None:
        """Forget a check's suspicions: all of them, or that at one statement."""
        for key in [k for k, f in self.suspected.items() if k[0] == check and (place is None or f.place is place)]:
            del self.suspected[key]

    def has(self, check: str, place: Place | None = None) -> bool:
        """Whether a check suspects anything, or the statement at a place."""
        return any(f.check == check and (place is None or f.place.line == place.line) for f in self.suspected.values())

    def is_certain(self, finding: Finding) -> bool:
        """Whether it has been seen often enough to be reported."""
        return finding.count >= finding.after or (self.over and finding.count >= finding.at_end)

    def listed(self) -> list[Finding]:
        """What is to be reported, errors first, in the order in which they were seen."""
        found = [f for f in self.suspected.values() if self.is_certain(f) and not is_ignored(f)]
        return sorted(found, key=lambda f: SEVERITIES.index(f.severity))


def is_ignored(finding: Finding) -> bool:
    """Whether a comment `# doctor: ignore` or `# doctor: ignore[name, name]` is in the statement's lines."""
    first, last = finding.place.extent
    for number in range(first, last + 1):
        found = _IGNORE.search(linecache.getline(finding.place.code.co_filename, number))
        if found and (found[1] is None or finding.check in re.split(r"[\s,]+", found[1].strip())):
            return True
    return False
