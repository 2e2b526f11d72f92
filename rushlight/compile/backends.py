"""The names that `torch.compile(backend=...)` takes, and backends that programs add to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .errors import InvalidBackend

__all__ = ["OWN", "list_backends", "lookup_backend", "register_backend"]

OWN = ("aot_eager", "eager", "inductor", "rushlight")
_TAGS = {"aot_eager": ("debug",), "eager": ("debug",)}
_added: dict[str, tuple[Callable, tuple[str, ...]]] = {}


def register_backend(compiler_fn: Callable | None = None, name: str | None = None, tags: Sequence[str] = ()) -> Any:
    """Let `torch.compile(backend=name)` take a backend: a function, or a decorator without one. Returns the function.

    name: that of the function without it. tags: "debug" and "experimental" are left out of `list_backends()`.

    Raises:
        AssertionError: there is such a name, as in `register_backend(f, name="eager")`.
    """
    if compiler_fn is None:
        return lambda f: register_backend(f, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"compiler_fn must be callable, got {type(compiler_fn)}")
    name = name or compiler_fn.__name__
    if name in OWN or name in _added:
        raise AssertionError(f"duplicate name: {name}")
    _added[name] = compiler_fn, tuple(tags)
    return compiler_fn


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names that `torch.compile(backend=...)` takes, without those that have one of the tags."""
    left_out = set(exclude_tags or ())
    rows = {**{name: _TAGS.get(name, ()) for name in OWN}, **{name: tags for name, (_, tags) in _added.items()}}
    return sorted(name for name, tags in rows.items() if not left_out.intersection(tags))


def lookup_backend(compiler_fn: Any) -> Callable:
    """The backend of a name, or the function itself.

    Raises:
        InvalidBackend: there is no such name, as in `lookup_backend("nonsense")`.
    """
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn in _added:
        return _added[compiler_fn][0]
    if compiler_fn in OWN:
        return eager
    raise InvalidBackend(compiler_fn, list_backends(None))


def eager(gm: Any, example_inputs: list, **options: Any) -> Callable:
    """The graph as it is: operators run one by one."""
    return gm.forward
