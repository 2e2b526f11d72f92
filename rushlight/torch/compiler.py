"""torch.compiler: control of compiling."""

from typing import Any

from ..compile import api
from ..compile.api import disable, is_compiling, is_exporting, reset
from ..compile.backends import list_backends
from ..compile.hints import allow_in_graph, assume_constant_result, cudagraph_mark_step_begin
from ..compile.stance import set_stance

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]


def compile(*args: Any, **kwargs: Any) -> Any:
    """`rushlight.compile`."""
    return api.compile(*args, **kwargs)


def _disable_dynamo(fn: Any = None, recursive: bool = True) -> Any:
    """`disable`, under the name by which optimizers outside torch decorate their methods."""
    return disable(fn, recursive)


def is_dynamo_compiling() -> bool:
    """`is_compiling`, but not while a module is exported."""
    return is_compiling() and not is_exporting()
