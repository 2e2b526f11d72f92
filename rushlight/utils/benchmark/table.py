"""`Compare`: measurements as a table, a row for each statement and a column for each description."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from typing import Any

from .measurement import Measurement, log10, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_BOLD, _END = "\033[1m", "\033[0m"
_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"


class Colorize(enum.Enum):
    """Among what a time is compared when colours show which is best."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A printable comparison of measurements: a table for each label, a group of rows for each number of threads."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trims = self._warns = False
        self._colorize = Colorize.NONE
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements. ValueError for anything else."""
        results = list(results)
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only digits that the spread supports."""
        self._trims = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour the times that are best and much worse, in each column or each row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Show the spread of doubtful measurements."""
        self._warns = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[Any, list[Measurement]] = {}
        for m in Measurement.merge(self._results):
            groups.setdefault(m.label, []).append(m)
        return "\n".join(_Table(group, self._colorize, self._trims, self._warns).render() for group in groups.values())


class _Table:
    def __init__(self, results: list[Measurement], colorize: Colorize, trims: bool, warns: bool):
        self.results, self.colorize, self.trims = results, colorize, trims
        self.unit, self.scale = select_unit(min(r.median for r in results))
        keys = ordered_unique((r.num_threads, r.env, r.as_row_name) for r in results)
        self.row_keys = sorted(keys, key=lambda key: (key[0], key[1] or ""))
        self.descriptions = ordered_unique(r.description for r in results)
        self.warns = warns and any(r.has_warnings for r in results)
        cells = {((r.num_threads, r.env, r.as_row_name), r.description): r for r in results}
        self.rows = [[cells.get((key, d)) for d in self.descriptions] for key in self.row_keys]
        self.formats = [self._format([row[j] for row in self.rows]) for j in range(len(self.descriptions))]
        self.shows_env = len({r.env for r in results}) > 1

    def _format(self, column: list[Measurement | None]) -> str:
        """The template of a column's numbers: so wide that its longest fits, with as many decimals as all support."""
        found = [m for m in column if m is not None]
        digits = [math.ceil(log10(m.median / self.scale)) for m in found]
        decimals = 1
        if self.trims:
            decimals = min(max(m.significant_figures - d, 0) for m, d in zip(found, digits, strict=True))
        width = max(digits) + decimals + (decimals > 0)
        doubtful = self.warns and any(m.has_warnings for m in found)
        return f"{{:>{width}.{decimals}f}}{{:>{7 if doubtful else 0}}}"

    def _text(self, m: Measurement | None, template: str) -> str:
        if m is None:
            return " " * len(template.format(1, ""))
        value = m.median / self.scale
        if self.trims:
            value = trim_sigfig(value, m.significant_figures)
        doubtful = ">7" in template and m.has_warnings
        return template.format(value, f" (! {m.iqr / m.median * 100:.0f}%)" if doubtful else "")

    def _name(self, i: int) -> str:
        threads, env, name = self.row_keys[i]
        width = max(len(r.env or "") for r in self.results) if self.shows_env else 0
        first = i == 0 or self.row_keys[i - 1][:2] != (threads, env)
        shown = f"({env})" if self.shows_env and first else ""
        return "  " + shown.ljust(width + 4) + name

    def render(self) -> str:
        texts = [["", *self.descriptions]]
        for i, row in enumerate(self.rows):
            texts.append([self._name(i), *map(self._text, row, self.formats)])
        widths = [max(len(text or "") for text in column) for column in zip(*texts, strict=True)]
        lines = ["  |  ".join((text or "").center(w) for text, w in zip(texts[0], widths, strict=True))]
        total = len(lines[0])
        for i, row in enumerate(texts[1:]):
            threads = self.row_keys[i][0]
            if i == 0 or self.row_keys[i - 1][0] != threads:
                lines.append(f"{threads} threads: ".ljust(total, "-"))
            cells = [
                self._coloured(text.center(w), i, j)
                for j, (text, w) in enumerate(zip(row[1:], widths[1:], strict=True))
            ]
            lines.append("  |  ".join([row[0].ljust(widths[0]), *cells]))
        title = f" {self.results[0].label or ''} ".center(total - 2, "-")
        legend = f"Times are in {unit_to_english(self.unit)}s ({self.unit})."
        note = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n" if self.warns else ""
        return "\n".join([f"[{title}]", *lines, "", legend, note])

    def _coloured(self, text: str, i: int, j: int) -> str:
        m = self.rows[i][j]
        if self.colorize is Colorize.NONE or m is None:
            return text
        if self.colorize is Colorize.ROWWISE:
            others = self.rows[i]
        else:
            others = [
                row[j] for row, key in zip(self.rows, self.row_keys, strict=True) if key[0] == self.row_keys[i][0]
            ]
        best = min(other.median for other in others if other is not None)
        if m.median <= best * 1.01 or m.median <= best + 100e-9:
            return _BEST + _BOLD + text + _END * 2
        if m.median <= best * 1.1:
            return _GOOD + _BOLD + text + _END * 2
        if m.median >= best * 5:
            return _VERY_BAD + _BOLD + text + _END * 2
        return _BAD + text + _END * 2 if m.median >= best * 2 else text
