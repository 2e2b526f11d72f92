"""Operators of quantized tensors in traces: they tell the tracer of `torch.jit.trace` that they are called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...core.dispatch.extension_points import tracer_of_programs

__all__ = ["program_tracer", "recorded"]


def program_tracer() -> Any:
    """The tracer that records this thread's calls now, or None."""
    found = tracer_of_programs.value
    return None if found is None else found()


def recorded(f: Callable) -> Callable:
    """The operator of that name, which traces know by torch's schema of it."""

    @functools.wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        tracer = program_tracer()
        return f(*args, **kwargs) if tracer is None else tracer.quantized(f.__name__, args, kwargs)

    return run
