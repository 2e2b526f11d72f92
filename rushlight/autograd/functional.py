"""Jacobians, Hessians and their products with vectors, of functions of tensors.

Every function here takes `func` and the point `inputs` (a tensor or a tuple of tensors) and works in reverse mode; a
product with a Jacobian from the right (`jvp`) differentiates the backward pass once more, which is linear in the
gradient that it is given.

create_graph: make the results differentiable. strict: raise RuntimeError where the outputs do not depend on an input,
instead of returning zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from .. import ops
from ..core.dispatch.mode import enable_grad, is_grad_enabled, set_grad_enabled
from ..core.tensor.tensor import Tensor
from .backward import grad
from .forward_ad import Untracked, pushing

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """The outputs of `func` and the product of `v` with its Jacobian: (outputs, v J).

    Args:
        v: of the shapes of the outputs; optional where there is one output of one element.
        create_graph: record the computation, for higher derivatives.
        strict: raise where an output does not depend on an input.
    Shape: func: (*n) -> (*m), v (*m) -> (*m), (*n)
    Raises:
        RuntimeError: `v` has another shape, as in `vjp(lambda x: x, ones(2), ones(3))`.

    >>> vjp(lambda x: x * x, ones(2), ones(2))
    (tensor([1., 1.]), tensor([2., 2.]))
    """
    with enable_grad():
        many_in, inputs = _tensors(inputs, "inputs", "vjp")
        inputs = _leaves(inputs, create_graph)
        many_out, outputs = _outputs(func(*inputs), "vjp", strict)
        if v is None:
            if len(outputs) != 1 or outputs[0].numel() != 1:
                raise RuntimeError(
                    "The vector v can only be None if the user-provided function returns a single Tensor with a single "
                    "element."
                )
        else:
            v = _vector(v, outputs, many_out, "vjp", create_graph)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = _filled(_gradients(outputs, inputs, v, create_graph), inputs, strict, create_graph, _BACK)
    return _result(outputs, many_out, create_graph), _result(product, many_in, create_graph)


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """The outputs of `func` and the product of its Jacobian with `v`: (outputs, J v).

    Args:
        v: of the shapes of the inputs; optional for one input of one element.
        create_graph: record the computation, for higher derivatives.
        strict: raise where an output does not depend on an input.
    Shape: func: (*n) -> (*m), v (*n) -> (*m), (*m)
    Raises:
        RuntimeError: `v` has another shape, as in `jvp(lambda x: x, ones(2), ones(3))`.

    >>> jvp(lambda x: x * x, ones(2), ones(2))
    (tensor([1., 1.]), tensor([2., 2.]))
    """
    with enable_grad():
        many_in, inputs = _tensors(inputs, "inputs", "jvp")
        inputs = _leaves(inputs, create_graph)
        v = _input_vector(v, inputs, many_in, "jvp", create_graph)
        many_out, outputs = _outputs(func(*inputs), "jvp", strict)
        weights = tuple(ops.zeros_like(o, requires_grad=True) for o in outputs)
        gradients = _gradients(outputs, inputs, weights, True)
        if strict:
            _require_grad(gradients, _GRADIENT_FIXED)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = _filled(_gradients(gradients, weights, v, create_graph), outputs, strict, create_graph, _BACK_TRICK)
    return _result(outputs, many_out, create_graph), _result(product, many_out, create_graph)


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`: for output i and input j a tensor of shape `outputs[i].shape + inputs[j].shape`.

    It is a tensor, a tuple over the inputs, over the outputs, or a tuple of tuples, as `inputs` and the outputs are
    tensors or tuples.

    Args:
        create_graph: record the computation, for higher derivatives.
        strict: raise where an output does not depend on an input.
        vectorize: one batched backward instead of one for each element of the outputs.
        strategy: "reverse-mode", or "forward-mode", which takes `vectorize` and gives lists for tuples, as torch does.
            There is one engine, which goes backward: both give the same numbers at the same cost.
    Shape: func: (*n) -> (*m); the result (*m, *n)
    Raises:
        NotImplementedError: "forward-mode" without `vectorize`, as in
            `jacobian(lambda x: x, ones(2), strategy="forward-mode")`.

    >>> jacobian(lambda x: x * x, ones(2))
    tensor([[2., 0.],
            [0., 2.]])
    """
    _check_strategy(strategy, create_graph, strict, vectorize)
    with enable_grad():
        many_in, inputs = _tensors(inputs, "inputs", "jacobian")
        inputs = _leaves(inputs, create_graph)
        forward = Untracked() if strategy == "forward-mode" else None
        with forward or nullcontext():
            if forward is not None:
                forward.follow(inputs)
            many_out, outputs = _outputs(func(*inputs), "jacobian", strict)
        if forward is not None:
            forward.check(outputs)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                "Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            with nullcontext() if forward is None else pushing():  # a Function's `jvp` counts, where it has one
                blocks = tuple(_batched_rows(out, inputs, create_graph) for out in outputs)
        else:
            blocks = tuple(_rows(i, out, inputs, create_graph, strict) for i, out in enumerate(outputs))
    blocks = tuple(_result(row, True, create_graph) for row in blocks)
    if not many_in:
        blocks = tuple(row[0] for row in blocks)
    elif strategy == "forward-mode":
        lists = [list(row) for row in blocks]
        return lists if many_out else lists[0]
    return blocks if many_out else blocks[0]


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a `func` that returns one element: for inputs i and j a tensor of both shapes joined.

    Args:
        inputs: a tensor, or a tuple for a tuple of tuples.
        create_graph: record the computation, for higher derivatives.
        strict: raise where the output does not depend on an input.
        vectorize: one batched backward instead of one for each element.
    Shape: func: (*n) -> (); the result (*n, *n)
    Raises:
        RuntimeError: `func` returns several elements, as in `hessian(lambda x: x, ones(2))`.

    >>> hessian(lambda x: (x**3).sum(), ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    many, inputs = _tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single_output(*x: Tensor) -> Tensor:
        return _single(func(*x), "hessian", strict).squeeze()  # type: ignore[attr-defined]

    def gradient(*x: Tensor) -> tuple:
        first = jacobian(single_output, x, create_graph=True)
        if strict:
            _require_grad(first, _JACOBIAN_FIXED)
        return first

    blocks = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks if many else blocks[0][0]


def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """The output of a `func` of one element and the product of `v` with its Hessian: (output, v H).

    Args:
        v: of the shapes of the inputs; optional for one input of one element.
        create_graph: record the computation, for higher derivatives.
        strict: raise where the output does not depend on an input.
    Shape: func: (*n) -> (), v (*n) -> (), (*n)
    Raises:
        RuntimeError: `v` has another shape, as in `vhp(lambda x: x.sum(), ones(2), ones(3))`.

    >>> vhp(lambda x: (x**3).sum(), ones(2), ones(2))
    (tensor(2.), tensor([6., 6.]))
    """
    with enable_grad():
        many, inputs = _tensors(inputs, "inputs", "vhp")
        inputs = _leaves(inputs, create_graph)
        v = _input_vector(v, inputs, many, "vhp", create_graph)
        output = _single(func(*inputs), "vhp", strict)
        first = _gradients((output,), inputs, None, True)
        if strict:
            _require_grad(first, _JACOBIAN_FIXED)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = _filled(_gradients(first, inputs, v, create_graph), inputs, strict, create_graph, _DOUBLE_BACK)
    return _result((output,), False, create_graph), _result(product, many, create_graph)


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """The output of a `func` of one element and the product of its Hessian with `v`: (output, H v).

    `vhp` gives the same for twice continuously differentiable functions, and costs less.

    Args:
        v: of the shapes of the inputs; optional for one input of one element.
        create_graph: record the computation, for higher derivatives.
        strict: raise where the output does not depend on an input.
    Shape: func: (*n) -> (), v (*n) -> (), (*n)
    Raises:
        RuntimeError: `v` has another shape, as in `hvp(lambda x: x.sum(), ones(2), ones(3))`.

    >>> hvp(lambda x: (x**3).sum(), ones(2), ones(2))
    (tensor(2.), tensor([6., 6.]))
    """
    with enable_grad():
        many, inputs = _tensors(inputs, "inputs", "hvp")
        inputs = _leaves(inputs, create_graph)
        v = _input_vector(v, inputs, many, "hvp", create_graph)
        output = _single(func(*inputs), "hvp", strict)
        first = _gradients((output,), inputs, None, True)
        if strict:
            _require_grad(first, _JACOBIAN_FIXED)
        weights = tuple(ops.zeros_like(x, requires_grad=True) for x in inputs)
        second = _gradients(first, inputs, weights, True)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        products = _gradients(second, weights, v, create_graph)
        product = _filled(products, inputs, strict, create_graph, _DOUBLE_BACK_TRICK)
    return _result((output,), False, create_graph), _result(product, many, create_graph)


# ---------------------------------------------------------------------------------------------- rows of a Jacobian


def _rows(i: int, out: Tensor, inputs: tuple, create_graph: bool, strict: bool) -> tuple:
    """The derivatives of output `i` by each input, one backward for each element."""
    columns: list[list[Tensor]] = [[] for _ in inputs]
    for k in range(out.numel()):
        row = _gradients((out.reshape(-1)[k],), inputs, None, create_graph, keep=True)  # type: ignore[attr-defined]
        for j, (g, x) in enumerate(zip(row, inputs, strict=True)):
            if strict and g is None:
                raise RuntimeError(
                    f"Output {i} of the user-provided function is independent of input {j}. This is not allowed in "
                    "strict mode."
                )
            if strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in "
                    "strict mode when create_graph=True."
                )
            columns[j].append(ops.zeros_like(x) if g is None else g)
    return tuple(_stacked(c, out, x) for c, x in zip(columns, inputs, strict=True))


def _stacked(rows: list[Tensor], out: Tensor, x: Tensor) -> Tensor:
    if not rows:
        return ops.zeros(*out.shape, *x.shape, dtype=x.dtype)
    return ops.stack(rows).view(out.shape + x.shape)


def _batched_rows(out: Tensor, inputs: tuple, create_graph: bool) -> tuple:
    """As `_rows`, with all the elements' gradients in one batch."""
    n = out.numel()
    if not n or not out.requires_grad:
        return tuple(ops.zeros(*out.shape, *x.shape, dtype=x.dtype) for x in inputs)
    basis = ops.eye(n, dtype=out.dtype).view(n, *out.shape)
    rows = grad(
        out, inputs, basis, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True
    )
    return tuple(
        ops.zeros(*out.shape, *x.shape, dtype=x.dtype) if g is None else g.reshape(out.shape + x.shape)
        for g, x in zip(rows, inputs, strict=True)
    )


def _check_strategy(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
                'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(
                'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
                'together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
                "only implemented for `vectorize=True`."
            )


# ---------------------------------------------------------------------------------------------- arguments and results


def _tensors(value: Any, what: str, where: str) -> tuple[bool, tuple[Tensor, ...]]:
    """(whether a tuple was given, the tensors as a tuple)."""
    many = isinstance(value, tuple)
    for i, t in enumerate(value if many else (value,)):
        if not isinstance(t, Tensor):
            which = f"value at index {i}" if many else f"given {what}"
            raise TypeError(
                f"The {what} given to {where} must be either a Tensor or a tuple of Tensors but the {which} has type "
                f"{type(t)}."
            )
    return many, value if many else (value,)


def _outputs(value: Any, where: str, strict: bool) -> tuple[bool, tuple[Tensor, ...]]:
    many, outputs = _tensors(value, "outputs of the user-provided function", where)
    if strict:
        for i, o in enumerate(outputs):
            if not o.requires_grad:
                raise RuntimeError(
                    f"Output {i} of the user-provided function does not require gradients. The outputs must be computed "
                    "in a differentiable manner from the input when running in strict mode."
                )
    return many, outputs


def _single(value: Any, where: str, strict: bool) -> Tensor:
    many, outputs = _outputs(value, where, strict)
    if many:
        raise RuntimeError(f"The function given to {where} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {where} should contain a single element")
    return outputs[0]


def _leaves(tensors: tuple, create_graph: bool, needed: bool = True) -> tuple:
    """The point to differentiate at: connected to the caller's graph if the results should be, else new leaves."""
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(needed)  # type: ignore[attr-defined]
        for t in tensors
    )


def _vector(v: Any, like: tuple, many: bool, where: str, create_graph: bool) -> tuple:
    """`v` as a tuple, checked against the shapes of `like`."""
    v = _leaves(_tensors(v, "v", where)[1], create_graph, needed=False)
    if len(v) != len(like):
        if many:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (x, y) in enumerate(zip(v, like, strict=True)):
        if x.shape != y.shape:
            entry = f"Entry {i} in " if many else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {y.size()} but got {x.size()}.")
    return v


def _input_vector(v: Any, inputs: tuple, many: bool, where: str, create_graph: bool) -> tuple | None:
    if v is not None:
        return _vector(v, inputs, many, where, create_graph)
    if len(inputs) != 1 or inputs[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a single Tensor with a single "
            "element."
        )
    return None


def _gradients(
    outputs: Sequence, inputs: tuple, weights: tuple | None, create_graph: bool, keep: bool | None = None
) -> tuple:
    """`grad` of those outputs that have a history; None for an input that none of them depends on."""
    weights = weights or (None,) * len(outputs)
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    some, ws = zip(*pairs, strict=True)
    return grad(some, inputs, ws, retain_graph=keep, create_graph=create_graph, allow_unused=True)


def _result(tensors: tuple, many: bool, create_graph: bool) -> Any:
    done = tuple(tensors) if create_graph else tuple(t.detach() for t in tensors)
    return done if many else done[0]


# ---------------------------------------------------------------------------------------------- strict mode

# For each kind of product: what a missing gradient means, and one without a history under create_graph.
_WITH_GRAPH = "This is not allowed in strict mode when create_graph=True."
_JACOBIAN_WITH_GRAPH = "The jacobian of the user-provided function is independent of input {i}. " + _WITH_GRAPH
_HESSIAN_WITH_GRAPH = "The hessian of the user-provided function is independent of input {i}. " + _WITH_GRAPH
_BACK = (
    "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    _JACOBIAN_WITH_GRAPH,
)
_BACK_TRICK = (
    "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    _JACOBIAN_WITH_GRAPH,
)
_DOUBLE_BACK = (
    "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    _HESSIAN_WITH_GRAPH,
)
_DOUBLE_BACK_TRICK = (
    "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not allowed in "
    "strict mode as it prevents from using the double backward trick to replace forward mode AD.",
    _HESSIAN_WITH_GRAPH,
)
_GRADIENT_FIXED = (
    "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is not "
    "allowed in strict mode."
)
_JACOBIAN_FIXED = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for example)."
)


def _filled(gradients: tuple, like: tuple, strict: bool, create_graph: bool, messages: tuple[str, str]) -> tuple:
    """The gradients with zeros for the missing ones, which strict mode refuses."""
    missing, constant = messages
    filled = []
    for i, (g, x) in enumerate(zip(gradients, like, strict=True)):
        if strict and g is None:
            raise RuntimeError(missing.format(i=i))
        if strict and create_graph and not g.requires_grad:
            raise RuntimeError(constant.format(i=i))
        filled.append(ops.zeros_like(x) if g is None else g)
    return tuple(filled)


def _require_grad(gradients: tuple, message: str) -> None:
    for i, g in enumerate(gradients):
        if g is None:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {i}. This is not allowed in strict mode."
            )
        if not g.requires_grad:
            raise RuntimeError(message.format(i=i))
