"""The runs that `torch.jit.trace` makes to check a trace: they draw random numbers and move running averages."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..core.dispatch.mode import no_grad
from ..core.random import default_generator
from ..core.tensor.tensor import Tensor
from ..nn.modules.module import Module
from ..utils._pytree import tree_map_only

__all__ = ["TracerWarning", "marks", "run"]


class TracerWarning(Warning):
    """What `torch.jit.trace` warns of: two runs that differ."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Does nothing: no other part of the library gives such warnings."""


def marks(func: Any) -> tuple:
    """What a run leaves behind that a program can see later: the random stream's position, the buffers' versions."""
    module = getattr(func, "__self__", func)
    buffers = module.buffers() if isinstance(module, Module) else ()
    return default_generator.position(), [(id(buffer), buffer._version) for buffer in buffers]


@no_grad()
def run(func: Callable, tracing: Callable, inputs: tuple, named: dict[str, Any], tolerance: float) -> None:
    """torch's order: a second trace, the first trace, the function, and where these two agree the second trace again.

    tracing(inputs, named): a run under the tracer. What differs by more than the relative `tolerance` is warned of.
    """
    tracing(_copies(inputs), _copies(named))
    traced, plain = (_outputs(func, inputs, named) for _ in range(2))
    if _agree(traced, plain, tolerance, "Python function"):
        _agree(traced, _outputs(func, inputs, named), tolerance, "repeated trace")


def _copies(inputs: Any) -> Any:
    return tree_map_only(Tensor, lambda x: x.detach().clone().requires_grad_(x.requires_grad), inputs)


def _outputs(func: Callable, inputs: tuple, named: dict[str, Any]) -> list[Tensor]:
    result = func(*_copies(inputs), **_copies(named))
    return [x for x in (result if isinstance(result, tuple) else (result,)) if isinstance(x, Tensor)]


def _agree(traced: list[Tensor], other: list[Tensor], tolerance: float, name: str) -> bool:
    from ..testing import assert_close

    agree = True
    for number, (x, y) in enumerate(zip(traced, other, strict=False), 1):
        absolute = 1e-7 if x.dtype.itemsize == y.dtype.itemsize == 8 else 1e-5
        try:
            assert_close(_wide(x), _wide(y), rtol=tolerance, atol=absolute, equal_nan=True)
        except AssertionError as error:
            agree = False
            where = f"Output nr {number}. of the traced function does not match the corresponding output of the {name}."
            warnings.warn(f"{where} Detailed error:\n{error}", TracerWarning, stacklevel=4)
    return agree


def _wide(x: Tensor) -> Tensor:
    return x.cdouble() if x.is_complex() else x.double()
