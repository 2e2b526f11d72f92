"""`python -m benchmarks pipelines`: what surrounds the steps of training (samples, batches, results), against torch in the same run."""

from __future__ import annotations

from .table import print_table


def main(pattern: str = "") -> None:
    """Print each pass's time and ratio, and the geometric mean of the ratios (to reach: at most 1.0)."""
    print_table("benchmarks.pipeline_cases", "pass", "ms", 0.1, pattern)
