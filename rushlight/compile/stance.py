"""`set_stance`: what calls of compiled functions do for which there is no program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dispatch.mode import Context
from .api import check_options, is_compiling
from .jit.stance import DynamoStance, activate

__all__ = ["set_stance"]


class set_stance(Context):
    """Set the compiler's stance: as a function until the next call, as a context manager, or as a decorator.

    Args:
        stance: "default"; "force_eager": compiled functions run as Python; "eager_on_recompile": so do calls that have no
            program; "fail_on_recompile": these raise RuntimeError. "eager_then_compile" and "aot_eager_then_compile" are
            how the default compiles here: the first call runs as Python.
        skip_guard_eval_unsafe: accepted; guards are always evaluated, so that results stay right.
        force_backend: "eager" runs compiled functions as Python, "rushlight" and "inductor" are the default (what was
            compiled with backend="eager" stays as it is). A function is given the graphs of all compiled functions, as
            `compile(backend=...)` gives them, which are kept for as long as the compiled function.
    Raises:
        RuntimeError: another stance than the default has a backend, as in `set_stance("force_eager", force_backend="eager")`.

    A program is made in three calls; with "fail_on_recompile" calls like the first one may finish it.

    >>> from rushlight import compile, ones
    >>> double = compile(lambda x: 2 * x)
    >>> with set_stance("force_eager"):
    ...     double(ones(2))
    tensor([2., 2.])
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ):
        if force_backend is not None:
            if stance != "default":
                raise RuntimeError("non-default stance cannot have force_backend set")
            check_options(backend=force_backend)
        self.stance = DynamoStance(stance, skip_guard_eval_unsafe, force_backend)
        self.prev = _activate(self.stance)

    def __call__(self, f: Any) -> Any:
        _activate(self.prev)
        return super().__call__(f)

    def __enter__(self) -> None:
        _activate(self.stance)

    def __exit__(self, *error: object) -> None:
        _activate(self.prev)

    def clone(self) -> set_stance:
        """The same for one call of a decorated function."""
        name, skips, backend = self.stance
        return type(self)(name, skip_guard_eval_unsafe=skips, force_backend=backend)


def _activate(stance: DynamoStance) -> DynamoStance:
    if is_compiling():
        raise RuntimeError("attempted to set_stance in a torch.compile region")
    return activate(stance)
