"""`python -m benchmarks imports`: time and memory of a bare import, against torch."""

from __future__ import annotations

import statistics
import subprocess
import sys

from .paired import need_torch

_PROBE = (
    "import time; t = time.perf_counter(); import {0}; t = time.perf_counter() - t; import resource; "
    "print(t, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
)


def main(repeats: int = 9) -> None:
    """Print the median of fresh processes: seconds of `import`, and megabytes resident after it."""
    libraries = ["rushlight", "torch"] if need_torch() else ["rushlight"]
    figures: dict[str, list[tuple[float, float]]] = {library: [] for library in libraries}
    for k in range(repeats + 1):
        for library in libraries:
            out = subprocess.run(
                [sys.executable, "-c", _PROBE.format(library)], capture_output=True, text=True, check=True
            )
            seconds, megabytes = map(float, out.stdout.split())
            if k:  # the first run warms the disk cache
                figures[library].append((seconds, megabytes))
    for library, values in figures.items():
        seconds, megabytes = (statistics.median(column) for column in zip(*values, strict=True))
        print(f"import {library:<10} {seconds:7.3f} s {megabytes:7.1f} MB")
