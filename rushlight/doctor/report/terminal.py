"""The report in a terminal: findings first, each with the program's lines around it, what happened, and the mend.

One list of lines, each in parts with a style, for both renderers: plain text, and `rich` where it is installed and the
output is a terminal.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..places import source_line
from .diff import mended

if TYPE_CHECKING:
    from ..findings import Finding
    from ..session import Report

__all__ = ["one", "show", "shown_path", "text"]

_AROUND = 2  # lines shown before and after
_STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "info": "bold blue",
    "place": "bold",
    "check": "cyan",
    "soft": "dim",
    "culprit": "bold",
    "marker": "bold red",
    "mend": "bold green",
    "plus": "green",
    "minus": "red",
    "": "",
}
_Line = list[tuple[str, str]]  # (style, text)


def text(report: Report) -> str:
    """The whole report, without colours."""
    findings = report.findings
    if not findings:
        return "gradient doctor: nothing found"
    shown = [one(f) for f in findings]
    n = len(findings)
    return "\n\n".join([f"gradient doctor: {n} finding{'s' if n > 1 else ''}", *shown])


def one(finding: Finding) -> str:
    """One finding, without colours."""
    return "\n".join("".join(text for _, text in line).rstrip() for line in _lines(finding))


def show(finding: Finding, file: Any) -> None:
    """Print one finding, in colours where `file` is a terminal, `rich` is installed and NO_COLOR is not set."""
    if not (getattr(file, "isatty", lambda: False)() and not os.environ.get("NO_COLOR") and find_spec("rich")):
        print(f"\n{one(finding)}", file=file, flush=True)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, highlight=False)
    console.print()
    for line in _lines(finding):
        console.print(Text.assemble(*[(text, _STYLES[style]) for style, text in line]), soft_wrap=False)
    file.flush()


def _lines(finding: Finding) -> list[_Line]:
    place = finding.place
    first, last = place.extent
    head: _Line = [
        ("place", f"{shown_path(place.file)}:{first}"),
        ("", ": "),
        (finding.severity, finding.severity),
        ("", f": {finding.message} "),
        ("check", f"[{finding.check}]"),
    ]
    lines = [head]
    for number in range(max(1, first - _AROUND), last + _AROUND + 1):
        source = source_line(place.code.co_filename, number)
        marked = first <= number <= last
        if source or marked:
            lines.append(
                [
                    ("marker", "  > " if marked else "    "),
                    ("soft", f"{number:4} | "),
                    ("culprit" if marked else "", source),
                ]
            )
    for other in finding.related:
        where = f"    {shown_path(other.place.file)}:{other.place.line}: {other.role}: "
        lines.append([("soft", where), ("", other.place.text)])
    times = f" (seen {finding.count} times, first in step {finding.first_step})" if finding.count > 1 else ""
    lines.append([("mend", "  mend: "), ("", finding.mend), ("soft", times)])
    for line in mended(finding):
        lines.append([({"+": "plus", "-": "minus"}.get(line[0], ""), f"    {line}")])
    lines.append([("soft", f"  more: rushlight explain {finding.check}")])
    return lines


def shown_path(path: str) -> str:
    """A path relative to the working directory where that is shorter."""
    try:
        relative = os.path.relpath(path)
    except ValueError:
        return path
    return relative if not relative.startswith("..") else path
