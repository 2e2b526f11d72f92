"""`python -m benchmarks operators`: the most used operators against torch, at three sizes, forward and with gradients.

Times are those of a loop's later steps: each case first runs for `_WARM` seconds, in which what is called often becomes a
program, and before all of them one runs until Rushlight's compiler is loaded.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path

from .operator_cases import SIZES, names
from .paired import Runner, compare, need_torch, ratio, warm_up

_WARM = 0.2


@dataclass
class Row:
    """One operator at one size: microseconds a call, and the median of the pairs' ratios."""

    family: str
    name: str
    size: int
    gradients: bool
    rushlight: float
    torch: float
    ratio: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("pattern", nargs="?", default="", help="only operators that contain this")
    parser.add_argument("--size", type=int, choices=list(SIZES), help="only this many elements")
    parser.add_argument("--threads", type=int, default=None, help="threads of both (default: all cores)")
    parser.add_argument("--above", type=float, default=1.5, help="list what is slower than this many times torch")
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    parser.add_argument("--picture", type=Path, help="draw the ratios into this file")


def main(
    pattern: str, size: int | None, threads: int | None, above: float, json: Path | None, picture: Path | None
) -> None:
    """Print each operator's times and ratio, the geometric mean at each size, and what is slow."""
    if not need_torch():
        raise SystemExit(1)
    runners = [Runner(library, "benchmarks.operator_cases", threads=threads) for library in ("rushlight", "torch")]
    for r in runners:
        warm_up(r, "erf/1000000", 1.0)
    rows: list[Row] = []
    for n in SIZES if size is None else (size,):
        print(
            f"\n{n:,} elements{'rushlight us':>37}{'torch us':>12}{'ratio':>8}{'with gradients':>26}{'':>8}{'ratio':>8}"
        )
        for family, name, differentiable in names():
            if pattern in name:
                found = [_measured(runners, family, name, n, g) for g in (False, True)[: 1 + differentiable]]
                print(f"{name:<34}" + "".join(_cells(row) for row in found), flush=True)
                rows += [row for row in found if row is not None]
    for r in runners:
        r.close()
    _summary(rows, above)
    if json is not None:
        _write(rows, json)
    if picture is not None:
        from .operator_picture import draw

        print(draw(rows, picture))


def _measured(runners: list[Runner], family: str, name: str, size: int, gradients: bool) -> Row | None:
    case = f"{name}/{size}" + "+g" * gradients
    try:
        times = compare(runners, case, seconds=0.004, pairs=5, warm=_WARM)
    except RuntimeError as error:  # the other cases still count; the summary says how many did not run
        print(f"{case}: {error}")
        return None
    ours, theirs = (statistics.median(times[library]) * 1e6 for library in ("rushlight", "torch"))
    return Row(family, name, size, gradients, ours, theirs, ratio(times))


def _cells(row: Row | None) -> str:
    return f"{row.rushlight:18.2f}{row.torch:14.2f}{row.ratio:8.2f}" if row is not None else f"{'':40}"


def _summary(rows: list[Row], above: float) -> None:
    for size in SIZES:
        for gradients in (False, True):
            ratios = [row.ratio for row in rows if row.size == size and row.gradients is gradients]
            if ratios:
                mean = exp(sum(map(log, ratios)) / len(ratios))
                what = "with gradients" if gradients else "forward"
                print(f"{size:>9,} elements, {what:<15} geometric mean of {len(ratios)}: {mean:.3f}")
    slow = sorted((row for row in rows if row.ratio > above), key=lambda row: -row.ratio)
    print(f"\n{len(slow)} of {len(rows)} above {above}:")
    for row in slow:
        case = f"{row.name}{' with gradients' * row.gradients}"
        print(f"{row.ratio:8.2f}  {case:<40}{row.size:>10,}{row.rushlight:14.2f}{row.torch:12.2f} us")


def _write(rows: list[Row], path: Path) -> None:
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
