"""What RUSHLIGHT_LOG asks for: a comma-separated list among graph, passes, kernels, jit, recompiles."""

from __future__ import annotations

import os
import sys
from typing import Any

asked: set[str] = set()  # by `torch._logging.set_logs`


def wants(topic: str) -> bool:
    """Whether RUSHLIGHT_LOG names the topic, or a program has asked for it."""
    return topic in asked or topic in os.environ.get("RUSHLIGHT_LOG", "").replace(" ", "").split(",")


def show(topic: str, text: Any) -> None:
    """Print `text` (or what it returns) to stderr if RUSHLIGHT_LOG names the topic."""
    if wants(topic):
        print(f"[rushlight {topic}] {text() if callable(text) else text}", file=sys.stderr)
