"""`torch._dynamo.utils`: what is counted while programs are compiled."""

from collections import Counter, defaultdict

__all__ = ["count", "counters"]

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
"""By subsystem: how often something happened. `counters["inductor"]` has the replacements of patterns."""


def count(subsystem: str, what: str, times: int = 1) -> None:
    """Note that something happened."""
    counters[subsystem][what] += times
