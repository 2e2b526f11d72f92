"""The report as one HTML file without anything from the network: the loop as a timeline, norms, memory, and the findings.

A template, plain SVG and a little script: a plotting library would bring megabytes for four pictures, and none of them draws
a timeline whose marks lead to findings.
"""

from __future__ import annotations

import html
import json
from dataclasses import asdict
from importlib import resources
from typing import TYPE_CHECKING, Any

from .content import content_of, shown_path

if TYPE_CHECKING:
    from ..findings import Finding
    from ..session import Report

__all__ = ["text"]


def text(report: Report) -> str:
    """The file's text."""
    template = (resources.files(__name__.rpartition(".")[0]) / "page.html").read_text(encoding="utf-8")
    data = {
        "program": report.program,
        "findings": [_shown(f) for f in report.findings],
        **report.doctor.history.as_dict(),
    }
    packed = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
    name = html.escape(shown_path(report.program) if report.program else "a program")
    return template.replace("{{program}}", name).replace("{{data}}", packed)


def _shown(finding: Finding) -> dict[str, Any]:
    return {**asdict(content_of(finding)), "moments": finding.moments}


def embedded(report: Report) -> str:
    """The page within a notebook's cell: a frame of its own, so that neither's styles reach the other."""
    return (
        f'<iframe srcdoc="{html.escape(text(report), quote=True)}" style="width:100%;height:640px;border:0" '
        'title="The gradient doctor\'s report"></iframe>'
    )
