"""The report in a terminal: findings first, each with the program's lines around it, what happened, and the mend.

The same `Content` as plain text, and in colours by `rich` where that is installed and the output is a terminal.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from ...core.terminal import console as terminal_console
from .content import Content, content_of, summary

if TYPE_CHECKING:
    from ..findings import Finding
    from ..session import Report

__all__ = ["one", "show", "show_summary", "text"]

_COLORS = {"error": "red", "warning": "yellow", "info": "blue"}
_MOST_COLUMNS = 110  # of text: longer lines are hard to read


def text(report: Report) -> str:
    """The whole report, without colours."""
    findings = report.findings
    return "\n\n".join([f"gradient doctor: {summary(findings)}", *(one(f) for f in findings)])


def one(finding: Finding) -> str:
    """One finding, without colours."""
    shown = content_of(finding)
    lines = [f"{shown.where}: {shown.severity}: {shown.message} [{shown.check}]"]
    lines += [f"  {'>' if line.marked else ' '} {line.number:4} | {line.text}" for line in shown.code]
    lines += [f"    {other.where}: {other.role}: {other.text}" for other in shown.others]
    lines.append(f"  mend: {shown.mend}")
    lines += [f"    in {shown.changes}:"] if shown.changes else []
    lines += ["    ..." if line == "@" else f"    {line}" for line in shown.diff]
    lines.append(f"  {shown.seen}; more: {shown.more}")
    return "\n".join(line.rstrip() for line in lines)


def show(finding: Finding, file: Any) -> None:
    """Print one finding, in colours where `file` is a terminal, `rich` is installed and NO_COLOR is not set."""
    console = terminal_console(file)
    if console is None:
        print(f"\n{one(finding)}", file=file, flush=True)
        return
    console.print()
    for part in _rich(content_of(finding), min(console.width, _MOST_COLUMNS)):
        console.print(part)
    file.flush()


def show_summary(findings: list[Finding], file: Any) -> None:
    """Print how many there are."""
    console = terminal_console(file)
    said = f"gradient doctor: {summary(findings)}"
    if console is None:
        print(f"\n{said}", file=file, flush=True)
    else:
        console.print(f"\n{said}", style=f"bold {_COLORS[findings[0].severity] if findings else 'green'}", markup=False)
        file.flush()


def _rich(shown: Content, width: int) -> list[Any]:
    """The parts of one finding, for rich's console."""
    from rich.constrain import Constrain
    from rich.padding import Padding
    from rich.text import Text

    color = _COLORS[shown.severity]
    head = Text.assemble((f" {shown.severity} ", f"bold reverse {color}"), " ", (shown.where, "bold"), "  ")
    body: list[Any] = [Text(_sentence(shown.message)), _code(shown, color)]
    for other in shown.others:
        body.append(Text.assemble((other.where, "bold dim"), (f" {other.role}: ", "dim"), other.text))
    body.append(Text.assemble(("Mend: ", "bold green"), shown.mend))
    if shown.changes:
        body.append(Text(f"in {shown.changes}:", "dim"))
    if shown.diff:
        body.append(_diff(shown))
    body.append(Text(f"{shown.seen}; more: {shown.more}", "dim"))
    return [head.append(shown.check, "cyan"), *(Padding(Constrain(part, width - 2), (0, 0, 0, 2)) for part in body)]


def _code(shown: Content, color: str) -> Any:
    """The lines around the culprit in the program's colours, with its own marked."""
    from rich.syntax import Syntax
    from rich.text import Text

    painter = Syntax("", "python", theme="ansi_dark", background_color="default")
    table = _columns(4)
    for line, code in zip(shown.code, _dedented([c.text for c in shown.code]), strict=True):
        painted = painter.highlight(code)
        painted.rstrip()
        painted.no_wrap = False
        if line.marked:
            painted.stylize("bold")
        style = f"bold {color}" if line.marked else "dim"
        table.add_row(*(Text(t, style) for t in (">" if line.marked else "", f"{line.number:3}", "│")), painted)
    return table


def _diff(shown: Content) -> Any:
    from rich.text import Text

    table = _columns(2)
    for sign, code in zip([line[0] for line in shown.diff], _dedented([s[1:] for s in shown.diff]), strict=True):
        style = {"+": "green", "-": "red", "@": "dim"}.get(sign, "")
        table.add_row(Text("" if sign == "@" else sign, style), Text("..." if sign == "@" else code, style))
    return table


def _columns(n: int) -> Any:
    """A grid whose last column breaks what is too long for it."""
    from rich.table import Table

    table = Table.grid(padding=(0, 1))
    for _ in range(n - 1):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _dedented(lines: list[str]) -> list[str]:
    """Without the indentation that all of them have."""
    return textwrap.dedent("\n".join(lines)).split("\n")


def _sentence(text: str) -> str:
    """With a capital where it begins with a plain word."""
    first = text.split(" ", 1)[0]
    return text[0].upper() + text[1:] if first.isalpha() and first.islower() else text
