"""`torch.jit._get_trace_graph`: the graph of one run without a program, which libraries that count operations read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....nn.modules.module import Module
from ....utils._pytree import tree_leaves
from ..ir.class_names import ClassNames
from ..ir.printing import GraphView
from .finishing import finish
from .tracer import Tracer
from .tracing import check_result, distinct

__all__ = ["_get_trace_graph"]


def _get_trace_graph(
    f: Callable,
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    strict: bool = True,
    _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> tuple:
    """The graph of one call of a function or module, and what it returned.

    The graph is one: calls of modules are in it as what they do, and the module's parameters and buffers are inputs after
    those of the call. Containers of tensors are their tensors, in inputs and in the result. A node's `scopeName()` is made
    of what hooks have pushed by `torch._C._get_tracing_state().push_scope(name)`.

    return_inputs: the inputs follow in the result; _return_inputs_states: the inputs before and after the call.

    Raises NotImplementedError for _force_outplace=True, and what `torch.jit.trace` raises.
    """
    if _force_outplace:
        raise NotImplementedError("torch.jit._get_trace_graph: _force_outplace=True is not implemented")
    args = args if isinstance(args, tuple) else (args,)
    tracer, seen = Tracer(None, ClassNames()), set()
    given, named = distinct(args, seen), distinct(dict(kwargs or {}), seen)
    state = f.state_dict(keep_vars=True).values() if isinstance(f, Module) else ()
    for t in [*tree_leaves((given, named)), *{id(t): t for t in state}.values()]:
        tracer.build.argument(t, "")
    with tracer.running():
        result = f(*given, **named)
    check_result(result, strict)
    tensors = tuple(tree_leaves(result))
    ((_, graph),) = finish(tracer.build, tracer.build.result(tensors[0] if len(tensors) == 1 else tensors))
    view = GraphView(graph)
    if return_inputs:
        return view, result, args
    return (view, result, (args, given)) if _return_inputs_states else (view, result)
