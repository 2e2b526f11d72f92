"""`torch._dynamo.eval_frame`: what `torch.compile` makes of a module, and `optimize`, by which backends are called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...nn.modules.compiled import OptimizedModule
from .backends.registry import lookup_backend
from .custom_backend import CompiledByBackend

__all__ = ["OptimizedModule", "is_dynamo_supported", "optimize"]


def is_dynamo_supported() -> bool:
    """Whether `torch.compile` compiles here: it does."""
    return True


def optimize(backend: str | Callable = "inductor", *, nopython: bool = False, **options: Any) -> Callable:
    """A decorator: the function's calls of torch become graphs, which run by what the backend makes of them.

    nopython: `fullgraph` of `torch.compile`. options: `mode` and `options` for the backend.

    Raises:
        RuntimeError: an unknown backend, as in `optimize("nonsense")`.
    """
    found = lookup_backend(backend)
    return lambda f: CompiledByBackend(f, partial(found, **options) if options else found, nopython)
