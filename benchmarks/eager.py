"""`python -m benchmarks eager`: the cost of one eager call on small tensors, against torch in the same run."""

from __future__ import annotations

import statistics
from math import exp, log

from .paired import Runner, compare, need_torch, ratio


def main(pattern: str = "") -> None:
    """Print each operator's time and ratio, and the geometric mean of the ratios (to reach: at most 1.0)."""
    libraries = ["rushlight", "torch"] if need_torch() else ["rushlight"]
    runners = [Runner(library, "benchmarks.eager_cases", threads=1) for library in libraries]
    ratios = []
    print(f"{'call':<18}" + "".join(f"{library + ' us':>14}" for library in libraries) + f"{'ratio':>9}")
    for case in _names():
        if pattern not in case:
            continue
        times = compare(runners, case, seconds=0.01)
        row = "".join(f"{statistics.median(times[library]) * 1e6:14.2f}" for library in libraries)
        if len(libraries) == 2:
            ratios.append(ratio(times))
            row += f"{ratios[-1]:9.2f}"
        print(f"{case:<18}{row}", flush=True)
    if ratios:
        print(f"geometric mean of {len(ratios)} ratios: {exp(sum(map(log, ratios)) / len(ratios)):.3f}")
    for r in runners:
        r.close()


def _names() -> list[str]:
    from rushlight.alias import install

    install()
    import torch

    from .eager_cases import cases

    return list(cases(torch))
