"""What compiled functions do with calls that have no program, as `torch.compiler.set_stance` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["DEFAULT", "DynamoStance", "activate", "active"]

_NAMES = (
    "default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile", "aot_eager_then_compile",
)  # fmt: skip


class DynamoStance(NamedTuple):
    """A stance, as `torch.compiler.set_stance` takes it."""

    stance: str = "default"
    skip_guard_eval_unsafe: bool = False
    backend: str | Callable[..., Any] | None = None

    def runs_eagerly(self) -> bool:
        """Whether programs are not used at all. Raises torch's RuntimeError for a stance that there is not."""
        if self.stance not in _NAMES:
            raise RuntimeError(f"invalid torch.compile stance '{self}'")
        return self.stance == "force_eager" or self.backend in ("eager", "aot_eager")


DEFAULT = DynamoStance()


class _Active:
    stance = DEFAULT


active = _Active()


def activate(stance: DynamoStance) -> DynamoStance:
    """Make this the stance of all threads; returns the one before."""
    before, active.stance = active.stance, stance
    return before
