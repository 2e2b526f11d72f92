"""The runs that `torch.jit.trace` makes to check a trace: they draw random numbers and move running averages."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from ....core.dispatch.mode import no_grad
from ....core.tensor.tensor import Tensor
from ....utils._pytree import tree_map_only
from .describe import warn_user

__all__ = ["TracerWarning", "TracingCheckError", "run"]


class TracerWarning(Warning):
    """What `torch.jit.trace` warns of: values that Python saw, and runs that differ.

    of_data: whether Python saw elements of the inputs, or what was computed from them, and not only sizes.
    """

    of_data = False

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Does nothing: no other part of the library gives such warnings."""


class TracingCheckError(Exception):
    """A second trace of the same function was another program."""

    def __init__(self, graph_diff_error: str | None, tensor_compare_error: str | None, extra_msg: str | None = None):
        self.message = "Tracing failed sanity checks!\n"
        if extra_msg is not None:
            self.message += extra_msg + "\n"
        if graph_diff_error is not None:
            self.message += f"ERROR: Graphs differed across invocations!\n{_indented(graph_diff_error)}\n"
        if tensor_compare_error is not None:
            self.message += (
                "ERROR: Tensor-valued Constant nodes differed in value across invocations. This often indicates "
                "that the "
                f"tracer has encountered untraceable code.\n{_indented(tensor_compare_error)}\n"
            )
        super().__init__(self.message)


def _indented(text: str) -> str:
    return "\n".join("\t" + line for line in text.split("\n"))


@no_grad()
def run(func: Callable, traced: Any, make: Callable, inputs: tuple, named: dict[str, Any], tolerance: float) -> None:
    """torch's order: a second trace, the program, the function, and where these agree the second program.

    make(inputs, named): traces again. What differs by more than the relative `tolerance` is warned of. Raises
    TracingCheckError where the two programs differ.
    """
    again = make(_copies(inputs), _copies(named))
    first, plain = (_outputs(f, inputs, named) for f in (traced, func))
    if _agree(traced, first, plain, tolerance, "Python function"):
        _agree(traced, first, _outputs(again, inputs, named), tolerance, "repeated trace")
    _compare_programs(traced, again)


def _copies(inputs: Any) -> Any:
    return tree_map_only(Tensor, lambda x: x.detach().clone().requires_grad_(x.requires_grad), inputs)


def _outputs(func: Callable, inputs: tuple, named: dict[str, Any]) -> list[Tensor]:
    result = func(*_copies(inputs), **_copies(named))
    return [x for x in (result if isinstance(result, tuple) else (result,)) if isinstance(x, Tensor)]


def _agree(program: Any, traced: list[Tensor], other: list[Tensor], tolerance: float, name: str) -> bool:
    from ....testing import assert_close

    agree = True
    for number, (x, y) in enumerate(zip(traced, other, strict=False), 1):
        absolute = 1e-7 if x.dtype.itemsize == y.dtype.itemsize == 8 else 1e-5
        try:
            assert_close(_wide(x), _wide(y), rtol=tolerance, atol=absolute, equal_nan=True)
        except AssertionError as error:
            if agree:
                _warn_of_random_nodes(program)
            agree = False
            where = f"Output nr {number}. of the traced function does not match the corresponding output of the {name}."
            warn_user(f"{where} Detailed error:\n{error}", TracerWarning)
    return agree


def _wide(x: Tensor) -> Tensor:
    return x.cdouble() if x.is_complex() else x.double()


_RANDOM = frozenset((
    "bernoulli", "bernoulli_", "cauchy_", "dropout", "exponential_", "feature_dropout", "geometric_",
    "log_normal_", "multinomial",
    "normal", "normal_", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random_",
    "randperm", "rrelu", "uniform_", "alpha_dropout", "feature_alpha_dropout",
))  # fmt: skip


def _warn_of_random_nodes(program: Any) -> None:
    graph = getattr(program, "inlined_graph", None)
    nodes = [] if graph is None else [node for node in graph.nodes() if node.kind().removeprefix("aten::") in _RANDOM]
    if nodes:
        shown = "\n".join("\t" + str(node)[:-1] for node in nodes[:20])
        warn_user(
            "Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n"
            f"{shown}\nThis may cause errors in trace checking. To disable trace checking, pass check_trace=False to "
            "torch.jit.trace()",
            TracerWarning,
        )


def _compare_programs(traced: Any, again: Any) -> None:
    if not hasattr(traced, "code_with_constants"):
        return  # a method of a module
    (one, constants), (other, others) = traced.code_with_constants, again.code_with_constants
    if one != other:
        diff = "\n".join(difflib.ndiff(one.splitlines(), other.splitlines()))
        raise TracingCheckError(f"Graph diff:\n{_indented(diff)}", None)
    for i, (x, y) in enumerate(zip(constants, others, strict=True)):
        if not (_wide(x) == _wide(y)).logical_or(_wide(x).isnan()).all():
            raise TracingCheckError(None, f"CONSTANTS.c{i}: {x} and {y}")
