"""`torch._dynamo.backends.common`: backends made of compilers of forward and backward graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._functorch.aot_autograd import aot_module_simplified

__all__ = ["AotAutograd", "aot_autograd"]


class AotAutograd:
    """A backend of `torch.compile` that gives graphs to the compilers of `aot_module_simplified`, whose options these are."""

    def __init__(self, **kwargs: Any) -> None:
        self.__name__ = "compiler_fn"
        self.kwargs = kwargs

    def __call__(self, gm: Any, example_inputs: Sequence[Any], **kwargs: Any) -> Callable:
        """A callable of the graph's inputs. Raises AssertionError for options of the call."""
        if kwargs:
            raise AssertionError("aot_autograd backends take no options")
        return aot_module_simplified(gm, example_inputs, **self.kwargs)


def aot_autograd(**kwargs: Any) -> AotAutograd:
    """A backend for `torch.compile`: `torch.compile(f, backend=aot_autograd(fw_compiler=..., bw_compiler=...))`."""
    return AotAutograd(**kwargs)
