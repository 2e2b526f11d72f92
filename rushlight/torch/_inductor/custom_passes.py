"""Passes that programs add to Inductor's, for graphs that `torch.compile` makes: `config.post_grad_custom_pre_pass` and
`post_grad_custom_post_pass`, functions that change a graph of operators (`torch.ops.aten`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...fx import GraphModule
from .._functorch.aot_autograd import aot_module_simplified
from . import config

__all__ = ["backend"]

_PASSES = ("post_grad_custom_pre_pass", "post_grad_custom_post_pass")
_ABSENT = ("joint_custom_pre_pass", "joint_custom_post_pass", "pre_grad_custom_pass")


def backend() -> Callable | None:
    """The backend by which graphs are made and changed, None where there is no pass.

    Raises NotImplementedError for the settings that name passes of other graphs.
    """
    for name in _ABSENT:
        if getattr(config, name, None) is not None:
            raise NotImplementedError(f"torch._inductor.config.{name} is not implemented")
    return _inductor if any(getattr(config, name) is not None for name in _PASSES) else None


def _inductor(gm: GraphModule, example_inputs: Sequence[Any], **options: Any) -> Callable:
    return aot_module_simplified(gm, example_inputs, fw_compiler=_compiled)


def _compiled(gm: GraphModule, inputs: Sequence[Any]) -> Callable:
    """The changed graph, whose operators run one by one."""
    for name in _PASSES:
        change = getattr(config, name)
        if change is not None:
            change(gm.graph)
    gm.graph.lint()
    gm.recompile()
    return gm
