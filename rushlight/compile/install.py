"""What the compiler puts into eager code: the only place that fills its extension points.

`install` runs with `import rushlight` and loads nothing: what it installs loads the compiler when it is first called.
`install_native` runs when a program is made, or after many draws or writes to repeated places, `install_in_thread` when a
thread has its first compiled backward.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core.dispatch import extension_points
from ..core.jit_switch import jit
from ..core.random.mersenne import WORDS, blocks_by_numpy
from ..ops.pointwise.fused_loops import FUSED_LOOPS

if TYPE_CHECKING:
    from ..ops.pointwise.fused_loops import FusedLoop

_blocks_left = 10_000_000 // WORDS
_elements_left = 4_000_000

__all__ = ["install", "install_in_thread", "install_native"]


def install() -> None:
    """Let tapes that come again, and large elementwise work, reach the compiler."""
    extension_points.try_compiled.register(_first_tape)
    extension_points.random_blocks.register(_first_blocks)
    extension_points.combine_repeated.register(_first_combine)
    for loop in FUSED_LOOPS.values():
        loop.override(partial(_first_loop, loop))


def install_native() -> tuple[Callable[[Any, int], Any], Callable[..., bool]]:
    """Let generated code draw random numbers, decide trials, and write to repeated places.

    Returns what makes the words, and what does such writes.
    """
    from .lower.eager import combine, draws, trials, twister

    extension_points.random_blocks.register(twister.words)
    if draws.available():
        extension_points.random_order.register(draws.shuffle)
        extension_points.random_uniforms.register(draws.uniforms)
        extension_points.random_normals.register(draws.normals)
    extension_points.random_trials.register(trials.decide)
    extension_points.combine_repeated.register(combine.combine if combine.available() else None)
    return twister.words, combine.combine


def install_in_thread(make_convolution: extension_points.MakeConvolution) -> None:
    """Let this thread's eager convolutions be made by generated code where it serves them. Those made already stay."""
    extension_points.make_convolution.register(make_convolution)


def _first_tape(outline: int, root: Any, g: Any, /) -> bool:
    from .jit.backward import try_compiled

    extension_points.try_compiled.register(try_compiled)
    return try_compiled(outline, root, g)


def _first_blocks(stream: Any, blocks: int) -> Any:
    """NumPy's words, counted: after as many as take it longer to turn into normal numbers than loading LLVM takes."""
    global _blocks_left
    _blocks_left -= blocks
    if _blocks_left < 0 and jit.on:
        return install_native()[0](stream, blocks)
    return blocks_by_numpy(stream, blocks)


def _first_combine(how: str, out: Any, where: tuple, values: Any) -> bool:
    """Nothing, but counted: four million elements take NumPy as long as loading LLVM takes."""
    global _elements_left
    _elements_left -= values.size
    return _elements_left < 0 and jit.on and install_native()[1](how, out, where, values)


def _first_loop(loop: FusedLoop, *arguments: Any, out: Any = None) -> Any:
    from .jit import loops

    loops.install()
    return loop.kernel(*arguments, out=out)
