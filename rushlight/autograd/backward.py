"""`backward` and `grad`: what the user calls to run the engine."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from operator import index
from typing import Any

import numpy as np

from ..core.dispatch.aten.operators import operator
from ..core.dispatch.aten.torch_dispatch import ask_for, ask_mode
from ..core.dispatch.aten.wrapper import Wrapper
from ..core.dispatch.extension_points import CALL, profiled_block, training_observer
from ..core.dispatch.mode import thread
from ..core.dispatch.op import composite
from ..core.dispatch.scalars import type_name
from ..core.tensor.layout import preserve_format
from ..core.tensor.tensor import Tensor, constant
from ..core.warn import warn_once
from . import engine


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Accumulate the gradients of `tensors` into the `.grad` of the leaves they depend on.

    Args:
        tensors: a tensor or a sequence of tensors, or of their gradient edges; each must have one element unless
            `grad_tensors` gives its gradient.
        grad_tensors: of the shapes of `tensors`; ones by default.
        retain_graph: keep what the graph saved, so that it can be walked again (default: `create_graph`).
        create_graph: record the backward itself, for higher derivatives.
        grad_variables: a deprecated name of `grad_tensors`.
        inputs: accumulate only into these leaves.
    Shape: tensors (*), grad_tensors (*) -> None; leaves (*) get gradients (*)
    Raises:
        RuntimeError: a tensor has several elements and no gradient is given, as in
            `backward(ones(2, requires_grad=True) * 2)`.
        RuntimeError: nothing requires grad, as in `backward(ones(()))`.

    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    create_graph = bool(index(create_graph))
    keep = create_graph if retain_graph is None else bool(index(retain_graph))
    observer = training_observer.value
    context = (
        None
        if observer is None
        else observer.backward(tensors, grad_tensors, inputs, keep, create_graph, accumulates=True)
    )
    if context is None:
        _accumulate(tensors, grad_tensors, keep, create_graph, inputs)
        return
    with context:
        _accumulate(tensors, grad_tensors, keep, create_graph, inputs)


def _accumulate(tensors: Any, grad_tensors: Any, keep: bool, create_graph: bool, inputs: Any) -> None:
    roots = _roots(_sequence(tensors), grad_tensors)
    wanted = None
    if inputs is not None:
        targets = _sequence(inputs)
        if not targets:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        wanted = _edges(targets)
        for t in targets:
            if isinstance(t, Tensor) and t.requires_grad and not t.is_leaf:
                t.retain_grad()  # what accumulates the gradient of a tensor that is no leaf
    if create_graph:
        warn_once(_CYCLE)
    engine.run(roots, keep, create_graph, wanted)


_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
    "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
    "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the "
    "leak."
)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """The gradients of `outputs` with respect to `inputs`, as a tuple; nothing is accumulated.

    Args:
        grad_outputs: of the shapes of `outputs`; ones by default, for outputs of one element.
        retain_graph: keep what the graph saved, so that it can be walked again (default: `create_graph`).
        create_graph: record the backward itself, for higher derivatives.
        only_inputs: deprecated; only True.
        allow_unused: None is returned for an input that the outputs do not depend on, instead of an error.
        is_grads_batched: the first dimension of `grad_outputs` is that of a batch of vectors.
        materialize_grads: zeros are returned for such an input.
    Shape: outputs (*), grad_outputs (*), inputs (*) -> a tuple of (*), as the inputs
    Raises:
        RuntimeError: an output has several elements and no gradient is given, as in
            `grad(ones(2, requires_grad=True) * 2, ones(2, requires_grad=True))`.
        RuntimeError: the outputs do not depend on an input, as in
            `grad(ones((), requires_grad=True) * 2, ones(2, requires_grad=True))`.

    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> grad((x * x).sum(), x)
    (tensor([2., 4.]),)
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True).", FutureWarning, stacklevel=2
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    outputs, inputs = _sequence(outputs), _sequence(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    create_graph, materialize_grads = bool(index(create_graph)), bool(index(materialize_grads))
    allow_unused = None if allow_unused is None else bool(index(allow_unused))
    keep = create_graph if retain_graph is None else bool(index(retain_graph))
    if is_grads_batched:
        return _batched(outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize_grads)
    observer = training_observer.value
    if observer is None:
        return _differentiate(outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize_grads)
    with observer.backward(outputs, grad_outputs, inputs, keep, create_graph, accumulates=False) or nullcontext():
        results = _differentiate(outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize_grads)
    observer.differentiated(results)
    return results


def _differentiate(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any,
    keep: bool,
    create_graph: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> tuple:
    roots = _roots(outputs, grad_outputs)
    results = engine.run(roots, keep, create_graph, _edges(inputs), accumulate=False)
    return tuple(
        _present(i, t, g, allow_unused or materialize_grads, materialize_grads, create_graph)
        for i, (t, g) in enumerate(zip(inputs, results, strict=True))
    )


def _present(
    i: int, t: Any, g: Tensor | None, unused_ok: bool | None, zeros: bool, create_graph: bool
) -> Tensor | None:
    if g is not None and _is_place(t):
        return g
    if g is not None:
        return t._as_gradient(g) if hasattr(t, "_as_gradient") else g  # of sparse and nested tensors
    if not unused_ok:
        raise RuntimeError(
            f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set allow_unused=True if "
            "this is the desired behavior."
        )
    if not zeros:
        return None
    made = (
        ask_for("zeros_like", t, pin_memory=False) if type(t._array) is Wrapper else constant(np.zeros_like(t._array))
    )
    return made.requires_grad_() if create_graph else made


def _batched(outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize) -> tuple:
    """The gradients for each entry of the leading dimension of `grad_outputs`, in one backward of a batch."""
    from .batched.gradients import for_each_row

    def run(rows: list[Any]) -> tuple:
        return grad(outputs, inputs, rows, keep, create_graph, True, allow_unused, False, materialize)

    return tuple(for_each_row(run, _sequence(grad_outputs)))


def _sequence(value: Any) -> Any:
    """One tensor or several as a tuple; None stays None."""
    if isinstance(value, Tensor) or _is_place(value):
        return (value,)
    return value if value is None else tuple(value)


def _edges(inputs: Sequence[Tensor]) -> list[Any]:
    edges = [_edge_of(t) for t in inputs]
    if None in edges:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edges


def _edge_of(t: Any) -> Any:
    """The edge of a tensor, or of a place in the graph as `get_gradient_edge` gives it."""
    if isinstance(t, Tensor):
        return t._edge
    if not _is_place(t):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type_name(t)}")
    if t.ownership_token is not None:
        return t.ownership_token
    if type(t.node.shape) is tuple and t.node.shape and type(t.node.shape[0]) is tuple:
        raise NotImplementedError(
            f"the gradient at output {t.output_nr} of {t.node.name()}, which has several: differentiate by its tensor"
        )
    return t.node


def _is_place(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "output_nr")


def _roots(tensors: Sequence[Tensor], grads: Any) -> list[tuple[Any, Tensor]]:
    if grads is None and len(tensors) == 1:
        return [(_root_edge(0, tensors[0]), _root_grad(tensors[0], None))]
    given = (None,) * len(tensors) if grads is None else (grads,) if isinstance(grads, Tensor) else tuple(grads)
    for g in given if not isinstance(grads, str) else (grads,):
        if not isinstance(g, Tensor) and g is not None:
            raise TypeError(f"gradients can be either Tensors or None, but got {type_name(g)}")
    if len(given) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(given)} gradients")
    return [(_root_edge(i, t), _root_grad(t, g)) for i, (t, g) in enumerate(zip(tensors, given, strict=True))]


def _root_edge(i: int, t: Any) -> Any:
    if _is_place(t):
        return _edge_of(t)
    if not isinstance(t, Tensor):
        raise AssertionError(f"Expected output to be a torch.Tensor, but element {i} is {type_name(t)}")
    if t._edge is None:
        raise RuntimeError(
            f"element {i} of tensors does not require grad and does not have a grad_fn. Was it computed under "
            "torch.no_grad(), detached, or made only from tensors with requires_grad=False?"
        )
    return t._edge


def _root_grad(t: Any, g: Any) -> Tensor:
    if _is_place(t):
        edge = _edge_of(t)
        t = constant(np.broadcast_to(np.zeros((), edge.dtype), edge.shape))
    a = t._array
    if g is None:
        if a.size != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs (this tensor has shape {list(a.shape)}: reduce "
                "it first, for example with .mean() or .sum(), or pass gradient=)"
            )
        if a.dtype.kind == "c":
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")
        if type(a) is Wrapper:
            return ask_for("ones_like", t, pin_memory=False, memory_format=preserve_format)
        if thread.state.dispatching:
            options = {"pin_memory": False, "memory_format": preserve_format}
            return ask_mode(operator("ones_like").default, (t,), options)
        if type(a) is not np.ndarray:
            return constant(np.ones_like(a))
        profiled = profiled_block.value
        if profiled is not None:
            with profiled("aten::ones_like", CALL):
                pass
        ones = np.empty(a.shape, a.dtype)  # np.ones is written in Python
        ones.fill(1)
        return constant(ones)
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g._array.shape != a.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {g.shape} and output[0] has a shape of {t.shape}."
        )
    if (g._array.dtype.kind == "c") != (a.dtype.kind == "c"):
        raise RuntimeError(
            f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[0] has a dtype of {g.dtype} and output[0] has a dtype of {t.dtype}."
        )
    return g


@composite(name="backward", method=True, function=False)
def _tensor_backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
    **old: Any,
) -> None:
    """Accumulate the gradients of this tensor into the leaves it depends on; see `autograd.backward`."""
    if old:
        retain_graph = _old_arguments(old, retain_graph)
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def _old_arguments(old: dict[str, Any], retain_graph: bool | None) -> Any:
    """Accept `retain_variables`, which torch 0.1 called `retain_graph`."""
    if list(old) != ["retain_variables"]:
        wrong = next(k for k in old if k != "retain_variables")
        raise TypeError(f"Tensor.backward() got an unexpected keyword argument '{wrong}'")
    warnings.warn(
        "retain_variables is deprecated and will be removed. Use retain_graph instead.",
        DeprecationWarning,
        stacklevel=3,
    )
    if retain_graph is not None:
        raise TypeError("backward() got both retain_graph and its old name retain_variables")
    return bool(old["retain_variables"])
