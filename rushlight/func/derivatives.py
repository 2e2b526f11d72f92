"""Derivatives of functions as functions: `grad`, `vjp`, `jvp`, Jacobians and Hessians.

Each transform differentiates at a point of its own, an alias of what it was given, by the one engine that there is, and
always records what it does. So transforms nest, and mix with `backward`: what a result depends on besides the point is
its history; where there is nothing else the result has none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any

from rushlight import ops
from rushlight.autograd.backward import grad as gradients
from rushlight.autograd.batched.gradients import beneath, for_each_row
from rushlight.autograd.batched.tensor import active, bare, drew_in_error_mode
from rushlight.autograd.forward_ad import Untracked, push_forward, reaches_other
from rushlight.core.dispatch.mode import enable_grad, is_grad_enabled
from rushlight.core.random import default_generator
from rushlight.core.tensor.node import Leaf
from rushlight.core.tensor.placeholder import NoArray
from rushlight.core.tensor.tensor import Tensor
from rushlight.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_structure, tree_unflatten


class Points:
    """The tensors to differentiate at, in place of those of `tree`: connected to the caller's graph if there is one.

    Within `vmap` each example has points of its own, also for a tensor that all examples share.
    """

    def __init__(self, tree: Any):
        leaves, self.structure = tree_flatten(tree)
        for t in leaves:
            if not isinstance(t, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
        self.levels = tuple(active())
        self.tensors = tuple(beneath(self.levels, lambda tensors: [_point(t) for t in tensors], leaves))
        self._own = {e for e in (bare(t)._edge for t in self.tensors) if type(e) is Leaf}

    def tree(self) -> Any:
        return tree_unflatten(list(self.tensors), self.structure)

    def gradients(self, outputs: list[Any], weights: list[Any]) -> list[Any]:
        """The gradients at the points, zeros where the outputs do not depend on one."""
        pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
        if not pairs:
            return [ops.zeros_like(t) for t in self.tensors]
        with enable_grad():
            found = beneath(self.levels, _gradients, *zip(*pairs, strict=True), self.tensors)
        return [ops.zeros_like(t) if g is None else g for g, t in zip(found, self.tensors, strict=True)]

    def pushed(self, outputs: list[Any], vectors: list[Any]) -> list[Any]:
        """For each output the Jacobian by the points times the vectors, or None where it depends on no point."""
        return beneath(self.levels, lambda p, o, v: push_forward(tuple(p), o, v), self.tensors, outputs, vectors)

    def released(self, tree: Any) -> Any:
        """The results without history, if they have none but that from the points; under `no_grad` always."""
        return tree_map(self._released, tree)

    def _released(self, t: Any) -> Any:
        if not isinstance(t, Tensor):
            return t
        edge = bare(t)._edge
        return t if edge is None or (is_grad_enabled() and reaches_other(edge, self._own)) else t.detach()


def _gradients(outputs: list[Any], weights: list[Any], points: list[Any]) -> tuple:
    return gradients(outputs, points, weights, create_graph=True, allow_unused=True)


def _point(t: Any) -> Any:
    if t._edge is not None:
        with enable_grad():
            return t.view_as(t)
    return t.detach().requires_grad_()


# ---------------------------------------------------------------------------------------------- arguments


def _positions(argnums: Any, n: int) -> tuple[int, ...]:
    """`argnums` as positions among n arguments."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    positions = []
    for i in (argnums,) if isinstance(argnums, int) else argnums:
        if not isinstance(i, int):
            raise RuntimeError(f"argnum must be int, got: {type(i)}")
        if not -n <= i < n:
            raise RuntimeError(f"Got argnum={i}, but only {n} positional inputs")
        positions.append(i % n)
    if not positions:
        raise RuntimeError("argnums must be non-empty")
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(positions)}")
    return tuple(positions)


def _at_points(args: tuple, argnums: Any) -> tuple[Points, list[Any]]:
    """The points for the arguments `argnums`, and all the arguments with those in place."""
    positions = _positions(argnums, len(args))
    points = Points(args[positions[0]] if isinstance(argnums, int) else tuple(args[i] for i in positions))
    replaced = list(args)
    new = points.tree()
    for i, value in zip(positions, (new,) if isinstance(argnums, int) else new, strict=True):
        replaced[i] = value
    return points, replaced


def _with_aux(result: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def _check_primals(tree: Any) -> None:
    for x in tree_flatten(tree)[0]:
        if isinstance(x, Tensor) and not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")


def _check_outputs(outputs: list[Any], what: str) -> None:
    if not outputs:
        raise RuntimeError(f"{what}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for o in outputs:
        if not isinstance(o, Tensor):
            raise RuntimeError(f"{what}: expected f(*primals) to return only tensors, got unsupported type {type(o)}")


def _check_decimal(outputs: list[Any]) -> None:
    for o in outputs:
        if not (o.is_floating_point() or o.is_complex()):
            raise RuntimeError(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {o.dtype}"
            )


# ---------------------------------------------------------------------------------------------- scalars


def grad_and_value(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """A function that gives (the gradients of `func`, its value); `func` returns a 0-d tensor.

    Args:
        argnums: which arguments to differentiate by: an int, or a tuple for a tuple of gradients.
        has_aux: `func` returns (value, aux), the result is (gradients, (value, aux)).
    Shape: func: (*) -> (); the result: (*) -> (*), ()
    Raises:
        RuntimeError: the value has several elements, as in `grad_and_value(lambda x: x)(ones(2))`.

    >>> grad_and_value(lambda x: (x**3).sum())(tensor([1.0, 2.0]))
    (tensor([ 3., 12.]), tensor(9.))
    """

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> tuple:
        with enable_grad():
            points, replaced = _at_points(args, argnums)
            output, aux = _with_aux(func(*replaced, **kwargs), has_aux, "grad_and_value(f)(*args)")
        if not isinstance(output, Tensor):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
        if output.dim():
            raise RuntimeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        if output.is_complex():
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
        found = points.gradients([output], [ops.ones_like(output)])
        result = tree_unflatten(points.released(found), points.structure)
        output, aux = points.released(output), points.released(aux)
        return (result, (output, aux)) if has_aux else (result, output)

    return call


def grad(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """A function that gives the gradients of `func`, which returns a 0-d tensor.

    Args:
        argnums: which arguments to differentiate by: an int, or a tuple for a tuple of gradients.
        has_aux: `func` returns (value, aux), the result is (gradients, aux).
    Shape: func: (*) -> (); the result: (*) -> (*)
    Raises:
        RuntimeError: the value has several elements, as in `grad(lambda x: x)(ones(2))`.
        RuntimeError: `func` returns no tensor, as in `grad(lambda x: 1.0)(ones(2))`.

    >>> grad(lambda x: (x**3).sum())(tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return call


# ---------------------------------------------------------------------------------------------- products


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """(func(*primals), a function that multiplies vectors like the output with the Jacobian[, aux]).

    Args:
        has_aux: `func` returns (value, aux).
    Shape: func: (*n) -> (*m); the function returned: (*m) -> a tuple of (*n)

    >>> output, pull = vjp(lambda x: x * x, tensor([1.0, 2.0]))
    >>> pull(ones(2))
    (tensor([2., 4.]),)
    """
    with enable_grad():
        points = Points(primals)
        output, aux = _with_aux(func(*points.tree()), has_aux, "vjp(f, *primals)")
    outputs, structure = tree_flatten(output)
    _check_outputs(outputs, "vjp(f, *primals)")
    _check_decimal(outputs)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        vectors, given = tree_flatten(cotangents)
        if given != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {given}, primal output: {structure}"
            )
        return tree_unflatten(points.released(points.gradients(outputs, vectors)), points.structure)

    result = points.released(output)
    return (result, pull, points.released(aux)) if has_aux else (result, pull)


def jvp(func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """(func(*primals), the Jacobian times `tangents`[, aux]), by differentiating a vector-Jacobian product by its vector.

    Args:
        primals, tangents: tuples of tensors of the same shapes.
        strict: accepted; nothing changes by it.
        has_aux: `func` returns (value, aux).
    Shape: func: (*n) -> (*m); tangents (*n) -> (*m), (*m)
    Raises:
        RuntimeError: the numbers of primals and tangents differ, as in `jvp(lambda x: x, (ones(2),), ())`.

    >>> jvp(lambda x: x * x, (tensor([1.0, 2.0]),), (ones(2),))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {what} to be a tuple. E.g. it should be valid to call f(*primals)."
            )
    vectors, structure = tree_flatten(tangents)
    if structure != tree_structure(primals):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if "
            "primals is a tuple of 3 tensors, tangents also must be."
        )
    _check_primals(primals)
    with enable_grad(), (untracked := Untracked()):
        points = Points(primals)
        untracked.follow(points.tensors)
        output, aux = _with_aux(func(*points.tree()), has_aux, "jvp")
    outputs, structure = tree_flatten(output)
    _check_outputs(outputs, "jvp(f, primals, tangents)")
    untracked.check(outputs)
    products = tree_unflatten([points.released(p) for p in _pushed(points, outputs, vectors, strict)], structure)
    result = points.released(output)
    return (result, products, points.released(aux)) if has_aux else (result, products)


def _pushed(points: Points, outputs: list[Any], vectors: list[Any], strict: bool = False) -> list[Any]:
    """The Jacobian times `vectors`, for each output."""
    for x, v in zip(points.tensors, vectors, strict=True):
        if x.shape != v.shape:
            raise RuntimeError(f"jvp: expected tangents of the shapes of the primals, got {v.shape} for {x.shape}")
    found = points.pushed(outputs, vectors)
    if strict and any(p is None for p in found):
        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the input.")
    return [ops.zeros_like(o) if p is None else p for o, p in zip(outputs, found, strict=True)]


def linearize(func: Callable, *primals: Any) -> tuple:
    """(func(*primals), a function that multiplies the Jacobian at the primals with tangents).

    Shape: func: (*n) -> (*m); the function returned: (*n) -> (*m)

    >>> output, push = linearize(lambda x: x * x, tensor([1.0, 2.0]))
    >>> push(ones(2))
    tensor([2., 4.])
    """
    with enable_grad(), (untracked := Untracked()):
        points = Points(primals)
        untracked.follow(points.tensors)
        output = func(*points.tree())
    outputs, structure = tree_flatten(output)
    _check_outputs(outputs, "linearize(f, *primals)")
    untracked.check(outputs)

    def push(*tangents: Any) -> Any:
        vectors = tree_leaves(tangents)
        return tree_unflatten([points.released(p) for p in _pushed(points, outputs, vectors)], structure)

    return points.released(output), push


# ---------------------------------------------------------------------------------------------- Jacobians


def jacrev(
    func: Callable, argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable:  # fmt: skip
    """A function that gives the Jacobian of `func`: the gradients of all elements of the outputs, as one batch.

    Args:
        argnums: which arguments to differentiate by: an int, or a tuple for a tuple.
        has_aux: `func` returns (value, aux), the result is (Jacobian, aux).
        chunk_size: how many elements make a batch; all by default.
    Shape: func: (*n) -> (*m); the result: (*n) -> (*m, *n)

    >>> jacrev(lambda x: x * x)(tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")
    return _jacobian(func, argnums, has_aux, "jacrev", lambda points, outputs: _by_rows(points, outputs, chunk_size))


def jacfwd(func: Callable, argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable:
    """A function that gives the Jacobian of `func`: the products `jvp` with all unit vectors, as one batch.

    Args:
        argnums: which arguments to differentiate by: an int, or a tuple for a tuple.
        has_aux: `func` returns (value, aux), the result is (Jacobian, aux).
        randomness: as in `vmap`: "error" (a draw raises), "different" or "same"; `func` runs once, so that its draws
            are the same for all columns.
    Shape: func: (*n) -> (*m); the result: (*n) -> (*m, *n)

    >>> jacfwd(lambda x: x * x)(tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    return _jacobian(_without_draws(func) if randomness == "error" else func, argnums, has_aux, "jacfwd", _by_columns)


def _without_draws(func: Callable) -> Callable:
    """The function, whose draws of random numbers raise RuntimeError."""

    @wraps(func)
    def call(*args: Any) -> Any:
        before, start = default_generator.position(), default_generator.snapshot()
        result = func(*args)
        if default_generator.position() != before:
            default_generator.restore(start)
            raise drew_in_error_mode()
        return result

    return call


def hessian(func: Callable, argnums: Any = 0) -> Callable:
    """A function that gives the second derivatives of `func`: `jacfwd` of `jacrev`.

    Args:
        argnums: which arguments to differentiate by: an int, or a tuple for a tuple of tuples.
    Shape: func: (*n) -> (*m); the result: (*n) -> (*m, *n, *n)

    >>> hessian(lambda x: (x**3).sum())(tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _jacobian(func: Callable, argnums: Any, has_aux: bool, name: str, fill: Callable) -> Callable:
    @wraps(func)
    def call(*args: Any) -> Any:
        untracked = Untracked() if fill is _by_columns else None
        with enable_grad(), untracked or nullcontext():
            if untracked is not None:
                _check_primals([args[i] for i in _positions(argnums, len(args))])
            points, replaced = _at_points(args, argnums)
            _refuse_complex(name, points.tensors, "inputs")
            if untracked is not None:
                untracked.follow(points.tensors)
            output, aux = _with_aux(func(*replaced), has_aux, name)
        outputs, structure = tree_flatten(output)
        _check_outputs(outputs, name if untracked is not None else "vjp(f, *primals)")
        if untracked is not None:
            untracked.check(outputs)
        else:
            _check_decimal(outputs)
        _refuse_complex(name, outputs, "outputs")
        blocks = fill(points, outputs)
        trees = [tree_unflatten([points.released(b) for b in row], points.structure) for row in blocks]
        result = tree_unflatten(trees, structure)
        return (result, points.released(aux)) if has_aux else result

    return call


def _refuse_complex(name: str, tensors: Any, what: str) -> None:
    for t in tensors:
        if t.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: 0"
            )


def _by_rows(points: Points, outputs: list[Any], chunk_size: int | None) -> list[list[Any]]:
    """For each output the blocks of its Jacobian, by the inputs."""
    blocks = []
    for o in outputs:
        n = o.numel()
        chunks = [_rows(points, o, rows) for rows in ops.eye(n, dtype=o.dtype).split(chunk_size or max(n, 1))]
        columns = [ops.cat(c) if len(c) > 1 else c[0] for c in map(list, zip(*chunks, strict=True))]
        blocks.append([c.reshape(o.shape + x.shape) for c, x in zip(columns, points.tensors, strict=True)])
    return blocks


def _rows(points: Points, o: Any, rows: Any) -> list[Any]:
    """The gradients at the points of products of the output with unit vectors. Shape: rows (n, elements) -> (n, *)"""
    if not len(rows):
        return [x.new_zeros((0, *x.shape)) for x in points.tensors]
    rows = rows.reshape(-1, *o.shape)
    return _in_a_batch(lambda vectors: points.gradients([o], vectors), [rows])


def _in_a_batch(run: Callable, rows: list[Any]) -> list[Any]:
    """`run(rows)` for each of the rows, as one batch, or one by one where that does not do."""
    try:
        with enable_grad():
            return for_each_row(run, rows)
    except NoArray:
        columns = zip(*[run([r[k] for r in rows]) for k in range(len(rows[0]))], strict=True)
        with enable_grad():
            return [ops.stack(list(c)) for c in columns]


def _by_columns(points: Points, outputs: list[Any]) -> list[list[Any]]:
    """For each output the blocks of its Jacobian, by the inputs."""
    blocks: list[list[Any]] = [[] for _ in outputs]
    for j, x in enumerate(points.tensors):
        columns = _columns(points, outputs, j)
        for row, c, o in zip(blocks, columns, outputs, strict=True):
            row.append(c.movedim(0, -1).reshape(o.shape + x.shape))
    return blocks


def _columns(points: Points, outputs: list[Any], j: int) -> list[Any]:
    """The derivatives of the outputs along each element of point `j`. Shape: (elements, *)"""
    x = points.tensors[j]
    n = x.numel()
    if not n:
        return [o.new_zeros((0, *o.shape)) for o in outputs]
    others = [ops.zeros_like(t) for t in points.tensors]
    unit = ops.eye(n, dtype=x.dtype).reshape(n, *x.shape)

    def push(vectors: list[Any]) -> list[Any]:
        return _pushed(points, outputs, [*others[:j], *vectors, *others[j + 1 :]])

    return _in_a_batch(push, [unit])
