"""`python -m benchmarks cifar10`: one eager training step of the CIFAR-10 network, against torch in the same run."""

from __future__ import annotations

import statistics

from .paired import Runner, compare, need_torch, ratio


def main() -> None:
    """Print milliseconds a step (medians of paired repetitions) and the ratio (to reach at batch 4: at most 1.0)."""
    libraries = ["rushlight", "torch"] if need_torch() else ["rushlight"]
    runners = [Runner(library, "benchmarks.cifar10_cases") for library in libraries]
    for case in ("batch 4", "batch 64"):
        times = compare(runners, case, seconds=0.3, pairs=11)
        row = ", ".join(f"{library} {statistics.median(times[library]) * 1e3:.3f} ms" for library in libraries)
        print(f"{case}: {row}" + (f", ratio {ratio(times):.2f}" if len(libraries) == 2 else ""))
    for r in runners:
        r.close()
