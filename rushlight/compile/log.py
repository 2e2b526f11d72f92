"""What RUSHLIGHT_LOG asks for: a comma-separated list among graph, passes, kernels, jit, recompiles."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

_asked: set[str] = set()


def wants(topic: str) -> bool:
    """Whether RUSHLIGHT_LOG names the topic, or a program has asked for it."""
    return topic in _asked or topic in os.environ.get("RUSHLIGHT_LOG", "").replace(" ", "").split(",")


def ask_for(topics: Iterable[str]) -> None:
    """Show these topics from now on, and no others that a program has asked for before."""
    _asked.clear()
    _asked.update(topics)


def show(topic: str, text: Any) -> None:
    """Print `text` (or what it returns) to stderr if RUSHLIGHT_LOG names the topic."""
    if wants(topic):
        print(f"[rushlight {topic}] {text() if callable(text) else text}", file=sys.stderr)
