"""torch._dynamo: the few names of torch's compiler front end that scripts use."""

from typing import Any

from ..compile import api, step
from ..compile.api import disable, reset
from ..compile.explanation import explain
from ..compile.hints import (
    allow_in_graph,
    assume_constant_result,
    mark_dynamic,
    mark_static,
    mark_static_address,
    maybe_mark_dynamic,
)
from ..core.mode import tell

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "explain",
    "graph_break",
    "is_compiling",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "reset",
]


def graph_break(msg: str = "") -> None:
    """End a program here. Functions are captured whole, so that one that meets this runs eagerly."""
    if is_compiling():
        tell("left", f"graph_break({msg})")


def is_compiling() -> bool:
    """`torch.compiler.is_compiling`."""
    return api.is_compiling()


class _Config:
    """Settings of compiling. Unknown names raise AttributeError.

    cache_size_limit, recompile_limit: how many programs a function may have before it runs eagerly (8).
    suppress_errors: a function that cannot be captured runs eagerly with a warning instead of raising (False).
    verbose: errors have the user's line and torch's longer text in either case. The others below say how sizes and
    scalars are captured, which goes one way here (docs/how-a-step-compiles.md); they are kept as they are set.
    """

    __slots__ = (
        "accumulated_cache_size_limit",
        "assume_static_by_default",
        "automatic_dynamic_shapes",
        "capture_dynamic_output_shape_ops",
        "capture_scalar_outputs",
        "dynamic_shapes",
        "optimize_ddp",
        "verbose",
    )

    def __init__(self) -> None:
        self.accumulated_cache_size_limit = 256
        self.assume_static_by_default = self.automatic_dynamic_shapes = self.dynamic_shapes = True
        self.capture_dynamic_output_shape_ops = self.capture_scalar_outputs = False
        self.optimize_ddp, self.verbose = True, False

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
