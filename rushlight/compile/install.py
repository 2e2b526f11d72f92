"""What the compiler puts into eager code: the only place that fills its extension points.

`install` runs with `import rushlight` and loads nothing: what it installs loads the compiler when it is first called.
`install_native` runs when a program is made, `install_in_thread` when a thread has its first compiled backward: the
compiler is loaded by then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core.dispatch import extension_points
from ..ops.pointwise.fused_loops import FUSED_LOOPS

if TYPE_CHECKING:
    from ..ops.pointwise.fused_loops import FusedLoop

__all__ = ["install", "install_in_thread", "install_native"]


def install() -> None:
    """Let tapes that come again, and large elementwise work, reach the compiler."""
    extension_points.try_compiled.register(_first_tape)
    for loop in FUSED_LOOPS.values():
        loop.override(partial(_first_loop, loop))


def install_native(blocks: Callable[..., Any], decide: Callable[..., Any]) -> None:
    """Let generated code draw random words and decide trials."""
    extension_points.random_blocks.register(blocks)
    extension_points.random_trials.register(decide)


def install_in_thread(make_convolution: extension_points.MakeConvolution) -> None:
    """Let this thread's eager convolutions be made by generated code where it serves them. Those made already stay."""
    extension_points.make_convolution.register(make_convolution)


def _first_tape(outline: int, root: Any, g: Any, /) -> bool:
    from .jit.backward import try_compiled

    extension_points.try_compiled.register(try_compiled)
    return try_compiled(outline, root, g)


def _first_loop(loop: FusedLoop, *arguments: Any, out: Any = None) -> Any:
    from .jit import loops

    loops.install()
    return loop.kernel(*arguments, out=out)
