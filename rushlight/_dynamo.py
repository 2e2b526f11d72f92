"""torch._dynamo: the few names of torch's compiler front end that scripts use."""

from typing import Any

from .compile import api, step
from .compile.api import disable, reset
from .compile.explanation import explain

__all__ = ["config", "disable", "explain", "is_compiling", "reset"]


def is_compiling() -> bool:
    """`torch.compiler.is_compiling`."""
    return api.is_compiling()


class _Config:
    """Settings of compiling. Unknown names raise AttributeError.

    cache_size_limit, recompile_limit: how many programs a function may have before it runs eagerly (8).
    suppress_errors: a function that cannot be captured runs eagerly with a warning instead of raising (False).
    """

    __slots__ = ()

    @property
    def cache_size_limit(self) -> int:
        return step.settings.limit

    @cache_size_limit.setter
    def cache_size_limit(self, value: int) -> None:
        step.settings.limit = int(value)

    recompile_limit: Any = cache_size_limit

    @property
    def suppress_errors(self) -> bool:
        return step.settings.suppress_errors

    @suppress_errors.setter
    def suppress_errors(self, value: bool) -> None:
        step.settings.suppress_errors = bool(value)


config = _Config()
