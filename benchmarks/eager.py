"""`python -m benchmarks eager`: the cost of one eager call on small tensors, against torch in the same run."""

from __future__ import annotations

from .table import print_table


def main(pattern: str = "") -> None:
    """Print each operator's time and ratio, and the geometric mean of the ratios (to reach: at most 1.0)."""
    print_table("benchmarks.eager_cases", "call", "us", 0.01, pattern)
