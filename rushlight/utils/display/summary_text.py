"""A `Summary` as text, as a table of `rich`, and as HTML: the same rows and sentences each time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from ...core.terminal import console

if TYPE_CHECKING:
    from .summary import Layer, Summary

__all__ = ["html", "plain", "rich_parts", "shown"]


# -------------------------------------------------------------------------------------------------- rows and sentences


def _columns(report: Summary) -> list[str]:
    calls = ["Calls"] if any(layer.calls > 1 for layer in report.model) else []
    return ["Layer", "Output", *calls, "Parameters", "Multiply-adds"] if report.ran else ["Layer", "Parameters"]


def _rows(report: Summary) -> Iterator[tuple[str, list[str]]]:
    """(branches of the tree before its name, cells) of each layer that is shown."""
    columns = _columns(report)

    def walk(layer: Layer, before: str, branch: str) -> Iterator[tuple[str, list[str]]]:
        cells = {
            "Layer": _title(layer),
            "Output": _output(layer),
            "Calls": str(layer.calls),
            "Parameters": _parameters(layer),
            "Multiply-adds": f"{layer.multiply_adds:,}",
        }
        yield before + branch, [cells[column] for column in columns]
        if layer.inner:
            before += {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
            if report.depth is not None and layer.depth >= report.depth:
                hidden = sum(1 for _ in layer) - 1
                yield before + "└─ ", [f"({hidden} inner layers)", *[""] * (len(columns) - 1)]
                return
            for inner in layer.inner:
                yield from walk(inner, before, "└─ " if inner is layer.inner[-1] else "├─ ")

    yield from walk(report.model, "", "")


def _title(layer: Layer) -> str:
    own = layer.name.rpartition(".")[2]
    title = f"{own}: {layer.kind}" if own else layer.kind
    return title if layer.same_as is None else f"{title} (same as {layer.same_as or 'the model'})"


def _output(layer: Layer) -> str:
    return " or ".join(layer.outputs) if layer.calls else "not called"


def _parameters(layer: Layer) -> str:
    if layer.lazy:
        return "not known yet" if not layer.parameters else f"{layer.parameters:,} and more"
    if layer.trainable == layer.parameters:
        return f"{layer.parameters:,}"
    return f"{layer.parameters:,} ({f'{layer.trainable:,} trainable' if layer.trainable else 'frozen'})"


def _sentences(report: Summary) -> list[str]:
    """The totals, one a line."""
    frozen = report.parameters - report.trainable
    lines = [f"Parameters: {report.parameters:,} ({report.trainable:,} trainable, {frozen:,} frozen)"]
    if report.model.lazy:
        lines.append("Lazy layers get their parameters at their first call.")
    if report.ran:
        lines.append(f"Multiply-adds: {report.multiply_adds:,}")
    sizes = [("parameters", report.parameter_bytes), ("buffers", report.buffer_bytes)]
    sizes += [("input", report.input_bytes), ("outputs of layers", report.output_bytes)] if report.ran else []
    lines.append("Memory: " + ", ".join(f"{name} {_memory(size)}" for name, size in sizes))
    tied = [text for layer in report.model for text in layer.tied]
    return lines + [f"Shared, counted once: {text}" for text in tied]


def _memory(size: int) -> str:
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"


# ------------------------------------------------------------------------------------------------------------ the forms


def plain(report: Summary) -> str:
    """Aligned columns."""
    rows = [_columns(report), *([branch + cells[0], *cells[1:]] for branch, cells in _rows(report))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numbers = _columns(report).index("Output") + 1 if report.ran else 1
    lines = [
        "  ".join(f"{cell:{'>' if n >= numbers else '<'}{widths[n]}}" for n, cell in enumerate(row)).rstrip()
        for row in rows
    ]
    rule = "-" * max(map(len, lines))
    return "\n".join([lines[0], rule, *lines[1:], rule, *_sentences(report)])


def rich_parts(report: Summary, width: int) -> list[Any]:
    """A table in colours and the totals; cells that are too long for so many columns go on in the next line."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    longest = max(len(branch + cells[0]) for branch, cells in _rows(report))
    for column in _columns(report):
        side = "left" if column in ("Layer", "Output") else "right"
        least = min(longest, width // 3) if column == "Layer" else None
        table.add_column(column, justify=side, overflow="fold", min_width=least)
    for branch, (title, *cells) in _rows(report):
        name, colon, kind = title.rpartition(": ")
        layer = Text.assemble((branch, "dim"), name + colon, (kind, "cyan"))
        styles = ["dim" if cell in ("0", "not called") else "" for cell in cells]
        table.add_row(layer, *(Text(cell, style) for cell, style in zip(cells, styles, strict=True)))
    return [table, "", *(Text(line) for line in _sentences(report))]


def shown(report: Summary, file: Any) -> None:
    """Print the report to a file, by default standard output."""
    file = sys.stdout if file is None else file
    terminal = console(file)
    if terminal is None:
        print(report, file=file)
    else:
        terminal.print(report)


_CELL = "padding:1px 14px 1px 0;white-space:pre;font-family:monospace;text-align:"


def html(report: Summary) -> str:
    """A table for a notebook, without scripts or styles of the page."""

    def row(tag: str, cells: list[str]) -> str:
        sides = ["left" if c in ("Layer", "Output") else "right" for c in columns]
        made = (f'<{tag} style="{_CELL}{side}">{escape(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=True))
        return f"<tr>{''.join(made)}</tr>"

    columns = _columns(report)
    rows = "".join(row("td", [branch + cells[0], *cells[1:]]) for branch, cells in _rows(report))
    totals = "<br>".join(map(escape, _sentences(report)))
    return f"<table><thead>{row('th', columns)}</thead><tbody>{rows}</tbody></table><p>{totals}</p>"
