"""A table of calls: the time of each in Rushlight and torch, in turns of one run, and the ratio."""

from __future__ import annotations

import importlib
import statistics
from math import exp, log

from .paired import Runner, compare, need_torch, ratio

_UNITS = {"us": (1e6, 2), "ms": (1e3, 3)}


def print_table(module: str, title: str, unit: str, seconds: float, pattern: str = "") -> None:
    """Print each case's time and ratio, and the geometric mean of the ratios.

    Args:
        module: whose `cases(torch)` gives the calls by name.
        unit: "us" or "ms".
        seconds: of the slower library's turn in each repetition.
        pattern: only cases whose name contains this.
    """
    libraries = ["rushlight", "torch"] if need_torch() else ["rushlight"]
    runners = [Runner(library, module, threads=1) for library in libraries]
    ratios, (scale, digits) = [], _UNITS[unit]
    print(f"{title:<20}" + "".join(f"{f'{library} {unit}':>14}" for library in libraries) + f"{'ratio':>9}")
    for case in _names(module):
        if pattern not in case:
            continue
        times = compare(runners, case, seconds=seconds)
        row = "".join(f"{statistics.median(times[library]) * scale:14.{digits}f}" for library in libraries)
        if len(libraries) == 2:
            ratios.append(ratio(times))
            row += f"{ratios[-1]:9.2f}"
        print(f"{case:<20}{row}", flush=True)
    if ratios:
        print(f"geometric mean of {len(ratios)} ratios: {exp(sum(map(log, ratios)) / len(ratios)):.3f}")
    for r in runners:
        r.close()


def _names(module: str) -> list[str]:
    from rushlight.alias import install

    install()
    import torch

    return list(importlib.import_module(module).cases(torch))
