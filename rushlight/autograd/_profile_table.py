"""The text of a profile: torch's columns, widths and units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log10
from typing import Any

_WIDTH = 12  # of a column of times, sizes or counts
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def table_of(
    events: Sequence[Any],
    row_limit: int,
    limits: tuple[int | None, int | None, int | None],
    header: str | None,
    top_level_only: bool,
    time_unit: str | None,
    with_flops: bool,
    with_memory: bool,
) -> str:
    """A row for each event, in their order; `limits`: the widest names, shapes and lines of the program."""
    if not events:
        return ""
    whole = sum(event.self_cpu_time_total for event in events)
    columns = _columns(events, whole, limits, time_unit, with_flops, with_memory)
    shown = [event for event in events if not (top_level_only and event.cpu_parent is not None)]
    rule = "".join("-" * width + "  " for _, width, _ in columns)
    lines = [header] if header is not None else []
    lines += ["This report only display top-level ops statistics"] if top_level_only else []
    lines = [line for text in lines for line in ("=" * (len(rule) - 2), text)]
    lines += [rule, _row(columns, [title for title, _, _ in columns]), rule]
    for event in shown[: row_limit if row_limit >= 0 else None]:
        lines.append(_row(columns, [show(event) for _, _, show in columns]))
        lines += _further_lines(columns, event)
    return "\n".join([*lines, rule, f"Self CPU time total: {shown_time(whole, time_unit)}", ""])


_SOURCE = "Source Location"
_Column = tuple[str, int, Callable[[Any], str]]


def _columns(
    events: Sequence[Any], whole: float, limits: tuple[int | None, ...], unit: str | None, flops: bool, memory: bool
) -> list[_Column]:
    """(title, width, what it shows of an event) of each column; sizes, shapes and lines only where they were recorded."""
    name_width, shapes_width, source_width = (
        _width([longest(event) for event in events], limit)
        for longest, limit in zip((_name, _shapes, lambda e: max(e.stack, key=len, default="")), limits, strict=True)
    )
    columns: list[_Column] = [("Name", name_width, lambda e: _shortened(e.key, limits[0]))]
    columns += [
        ("Self CPU %", _WIDTH, lambda e: _share(e.self_cpu_time_total, whole)),
        ("Self CPU", _WIDTH, lambda e: shown_time(e.self_cpu_time_total, unit)),
        ("CPU total %", _WIDTH, lambda e: _share(e.cpu_time_total, whole)),
        ("CPU total", _WIDTH, lambda e: shown_time(e.cpu_time_total, unit)),
        ("CPU time avg", _WIDTH, lambda e: shown_time(e.cpu_time, unit)),
    ]
    if memory:
        columns.append(("CPU Mem", _WIDTH, lambda e: _bytes(e.cpu_memory_usage)))
        columns.append(("Self CPU Mem", _WIDTH, lambda e: _bytes(e.self_cpu_memory_usage)))
    columns.append(("# of Calls", _WIDTH, lambda e: str(e.count)))
    if any(event.input_shapes for event in events):
        columns.append(("Input Shapes", shapes_width, lambda e: _shapes(e)[:shapes_width]))
    if any(event.stack for event in events):
        columns.append((_SOURCE, source_width, lambda e: _end_of(e.stack[0], source_width) if e.stack else ""))
    counted = [event.flops for event in events if event.flops > 0]
    if flops and counted:
        power = min(int(log10(min(counted)) / 3), len(_FLOPS) - 1)
        scale = 10.0 ** (-3 * power)
        title = f"Total {_FLOPS[power]}"
        columns.append((title, _WIDTH, lambda e: f"{e.flops * scale:8.3f}" if e.flops > 0 else "--"))
    return columns


def _name(event: Any) -> str:
    return event.key


def _shapes(event: Any) -> str:
    return str(event.input_shapes)


def _width(texts: list[str], limit: int | None) -> int:
    width = max(map(len, texts)) + 4
    return width if limit is None else min(width, limit)


def _row(columns: list[_Column], cells: list[str]) -> str:
    """The cells on the right of their columns; the program's lines on the left."""
    return "".join(
        (cell.ljust(width) if title == _SOURCE else cell.rjust(width)) + "  "
        for (title, width, _), cell in zip(columns, cells, strict=True)
    )


def _further_lines(columns: list[_Column], event: Any) -> list[str]:
    """The outer lines of the program under an event's first one, and an empty row."""
    at = next((i for i, column in enumerate(columns) if column[0] == _SOURCE), None)
    if at is None:
        return []
    before, after = [""] * at, [""] * (len(columns) - at - 1)
    texts = [*(_end_of(line, columns[at][1]) for line in event.stack[1:]), ""]
    return [_row(columns, [*before, text, *after]) for text in texts]


def _shortened(name: str, limit: int | None) -> str:
    return name if limit is None or len(name) < limit - 3 else name[: limit - 3] + "..."


def _end_of(path: str, width: int) -> str:
    if len(path) <= width:
        return path
    path = path[-width:]
    return "..." + path[3:] if len(path) > 3 else path


def _share(us: float, whole: float) -> str:
    return f"{us * 100.0 / whole:.2f}%" if whole else "NaN"


def shown_time(us: float, unit: str | None = None) -> str:
    if unit not in _UNITS:
        unit = "s" if us >= 1e6 else "ms" if us >= 1e3 else "us"
    return f"{us / _UNITS[unit]:.3f}{unit}"


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"
