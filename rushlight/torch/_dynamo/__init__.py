"""torch._dynamo: the few names of torch's compiler front end that scripts use."""

from ...compile import api
from ...compile.api import disable, reset
from ...compile.explanation import explain
from ...compile.hints import (
    allow_in_graph,
    assume_constant_result,
    mark_dynamic,
    mark_static,
    mark_static_address,
    maybe_mark_dynamic,
)
from ...compile.stance import set_stance
from ...core.dispatch.mode import emit_event
from ...nn.modules.compiled import OptimizedModule
from . import backends, config, exc, testing, utils
from .backends.registry import list_backends, lookup_backend, register_backend
from .eval_frame import optimize

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "backends",
    "config",
    "disable",
    "exc",
    "explain",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "register_backend",
    "reset",
    "set_stance",
    "testing",
    "utils",
]


def graph_break(msg: str = "") -> None:
    """End a program here. Functions are captured whole, so that one that meets this runs eagerly."""
    if is_compiling():
        emit_event("left", f"graph_break({msg})")


def is_compiling() -> bool:
    """`torch.compiler.is_compiling`."""
    return api.is_compiling()


def is_dynamo_supported() -> bool:
    """Whether `torch.compile` works under this Python: it does under each that Rushlight supports."""
    return True
