"""The report as SARIF 2.1.0, which code hosts and editors show at the lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..checks import all_checks
from ..findings import Finding
from ..places import Place, absolute
from .diff import Edit, edit_of

if TYPE_CHECKING:
    from ..session import Report

__all__ = ["as_sarif", "text"]

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def text(report: Report) -> str:
    """The file's text."""
    return json.dumps(as_sarif(report), indent=1) + "\n"


def as_sarif(report: Report) -> dict[str, Any]:
    """The log: one run, with a rule for each check that found something."""
    findings = report.findings
    names = sorted({f.check for f in findings})
    driver = {"name": "rushlight doctor", "rules": [_rule(name) for name in names]}
    results = [_result(f, names.index(f.check)) for f in findings]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _rule(name: str) -> dict[str, Any]:
    cls = all_checks()[name]
    said = " ".join((cls.__doc__ or name).split())
    return {
        "id": name,
        "shortDescription": {"text": said},
        "help": {"text": f"rushlight explain {name}"},
        "defaultConfiguration": {"level": _LEVELS[cls.severity]},
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    edit = edit_of(finding)
    return {
        "ruleId": finding.check,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}. Mend: {finding.mend}."},
        "locations": [{"physicalLocation": _location(finding.place)}],
        "relatedLocations": [
            {"id": i, "physicalLocation": _location(r.place), "message": {"text": r.role}}
            for i, r in enumerate(finding.related, 1)
        ],
        "occurrenceCount": max(finding.count, 1),
        **({} if edit is None else {"fixes": [_fix(finding, edit)]}),
    }


def _fix(finding: Finding, edit: Edit) -> dict[str, Any]:
    """The mend as an editor can apply it: whole lines replaced by others."""
    replacements = [
        {
            "deletedRegion": {"startLine": number, "startColumn": 1, "endLine": number + 1, "endColumn": 1},
            "insertedContent": {"text": "".join(f"{line}\n" for line in lines)},
        }
        for number, lines in sorted(edit.instead.items())
        if lines != [edit.lines[number - 1]]
    ]
    change = {"artifactLocation": {"uri": _uri(absolute(edit.file))}, "replacements": replacements}
    return {"description": {"text": finding.mend}, "artifactChanges": [change]}


def _location(place: Place) -> dict[str, Any]:
    region = {"startLine": place.line, "endLine": place.end_line}
    return {"artifactLocation": {"uri": _uri(place.file)}, "region": region}


def _uri(file: str) -> str:
    return quote(file) if file.startswith("<") else Path(file).as_uri()
