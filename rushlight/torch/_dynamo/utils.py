"""`torch._dynamo.utils`: what is counted while programs are compiled."""

from collections import Counter, defaultdict

__all__ = ["counters"]

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
"""By subsystem: how often something happened. `counters["inductor"]` has the replacements of patterns."""
