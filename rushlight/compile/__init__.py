"""Whole functions, such as training steps, as one program. `rushlight.compile(step)` is the way in; see `api`."""

import inspect
import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """The package is also the function: `compile(step)`. The compiler itself loads at the first use."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _api().compile(*args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(_api().compile)


def _api() -> Any:
    from . import api

    return api


def __getattr__(name: str) -> Any:
    if name in ("explain", "reset", "disable", "is_compiling"):
        return getattr(_api(), name)
    raise AttributeError(f"module 'rushlight.compile' has no attribute {name!r}")


sys.modules[__name__].__class__ = _Callable
