"""`gradcheck`: compare the gradients that backward gives with finite differences.

The numerical Jacobian comes from central differences, (f(x + eps) - f(x - eps)) / 2 eps, column by column; the
analytical one from one backward for each element of an output, row by row. Fast mode compares v J u for one random u and
v instead. Jacobians are matrices of shape (elements of the input, elements of the output), as torch prints them. For a
complex input the numerical column is the conjugate Wirtinger derivative; a complex output is checked twice, by its
real and by its imaginary part.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..core import random
from ..core.jit_switch import by_kernels
from ..core.tensor.storage import expose
from ..core.tensor.tensor import Tensor, wrap
from . import forward_ad
from .backward import grad
from .function import Function

if TYPE_CHECKING:
    from ..core.types import Array

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient is not what finite differences give."""


class _Tolerance:
    """How close is close: the step of the differences and the limits of their comparison."""

    def __init__(self, eps: float, atol: float, rtol: float, nondet: float, check_dtypes: bool):
        self.eps, self.atol, self.rtol, self.nondet, self.check_dtypes = eps, atol, rtol, nondet, check_dtypes


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func` by the `inputs` that require grad agree with finite differences.

    The comparison is |analytical - numerical| <= atol + rtol |numerical|.

    Args:
        inputs: a tensor or a tuple; those that require grad should be float64 or complex128, and must not overlap
            themselves.
        eps: the step of the differences.
        raise_exception: raise GradcheckError rather than return False.
        nondet_tol: how much two backward passes may differ.
        check_undefined_grad: outputs without a gradient must count as zero.
        fast_mode: compare one random projection.
        check_forward_ad: compare the Jacobians of forward mode as well (check_backward_ad=False: these alone).
    Shape: func: inputs (*) -> outputs (*); the check -> bool
    Raises:
        ValueError: no input requires grad, as in `gradcheck(lambda x: x, ones(2, dtype=float64))`.
        GradcheckError: the gradients differ, as in
            `gradcheck(lambda x: x * x.detach(), rand(3, dtype=float64, requires_grad=True))`.

    >>> gradcheck(lambda x: x * x, rand(3, dtype=float64, requires_grad=True))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    tolerance = _Tolerance(eps, atol, rtol, nondet_tol, check_grad_dtypes)
    try:
        with by_kernels:  # a program that takes over between two backwards rounds otherwise
            if check_backward_ad:
                _check(func, _tuple(inputs), tolerance, fast_mode, check_batched_grad, check_undefined_grad)
            if check_forward_ad:
                _check_forward(func, _tuple(inputs), tolerance)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """As `gradcheck`, for the gradients of the gradients: by `inputs` and by `grad_outputs`.

    Args:
        grad_outputs: the gradients of the outputs, drawn at random by default.
    Shape: func: inputs (*) -> outputs (*); the check -> bool
    Raises:
        GradcheckError: the gradients differ, as in
            `gradgradcheck(lambda x: x * x * x.detach(), rand(3, dtype=float64, requires_grad=True))`.

    >>> gradgradcheck(lambda x: x**3, rand(3, dtype=float64, requires_grad=True))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    inputs = _tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*inputs))
        weights = tuple(_random_gradient(o, gen_non_contig_grad_outputs) for o in outputs)
    else:
        weights = _tuple(grad_outputs)
    n = len(inputs)
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def gradients(*args: Any) -> tuple:
        outputs = _differentiable(func(*args[:n]))
        found = grad(outputs, [args[i] for i in wanted], args[n:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        inputs + weights,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_gradient(out: Tensor, spread: bool) -> Tensor:
    """Uniform numbers from [-1, 1), on every second element of a wider tensor if `spread`."""
    spread = spread and out.numel() > 1
    shape = (*out.shape[:-1], 2 * out.shape[-1]) if spread else out.shape
    a = random.uniform(None, tuple(shape), out._array.dtype, -1.0, 1.0)
    return wrap(a[..., 1::2] if spread else a).requires_grad_()


# ---------------------------------------------------------------------------------------------- the checks in order


def _check(func: Callable, inputs: tuple, tol: _Tolerance, fast: bool, batched: bool, undefined: bool) -> None:
    _check_inputs(inputs)
    results = _tuple(func(*inputs))
    outputs = _differentiable(results)
    compare = _compare_projections if fast else _compare_jacobians
    if any(r.is_complex() for r in results):
        for part, name in ((ops.imag, "imaginary"), (ops.real, "real")):
            _compare(compare, _part_of(func, part), inputs, tol, name)
    else:
        _compare(compare, func, inputs, tol, None)
    leaves = _leaves(inputs)
    if batched:
        for i, out in enumerate(outputs):
            _check_batched(i, out, leaves)
    if outputs:
        _check_linear(outputs, leaves)
    if undefined and outputs:
        _check_undefined(func, inputs, leaves)


def _check_inputs(inputs: tuple) -> None:
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        if x._array.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        if x._array.size and any(
            stride == 0 and n > 1 for stride, n in zip(x._array.strides, x._array.shape, strict=True)
        ):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                "be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                "passing it to gradcheck."
            )
    if not _leaves(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


def _compare(compare: Callable, func: Callable, inputs: tuple, tol: _Tolerance, part: str | None) -> None:
    results = _tuple(func(*inputs))
    if any(r.requires_grad for r in results):
        compare(func, inputs, results, tol, part)
        return
    for x in _leaves(inputs):
        if any(j.any() for j in _numerical_jacobians(func, inputs, x, results, tol.eps)):
            raise GradcheckError("Numerical gradient for function expected to be zero")


def _part_of(func: Callable, part: Callable) -> Callable:
    """`func` with its complex outputs replaced by their real or imaginary part."""
    return lambda *x: tuple(part(o) if o.is_complex() else o for o in _tuple(func(*x)))


def _compare_jacobians(func: Callable, inputs: tuple, results: tuple, tol: _Tolerance, part: str | None) -> None:
    leaves = _leaves(inputs)
    outputs = [o for o in results if o.requires_grad]
    numerical = [_numerical_jacobians(func, inputs, x, results, tol.eps) for x in leaves]
    for i, out in enumerate(outputs):
        analytical = _analytical_jacobians(out, leaves, tol, _unit_vectors(out))
        for j, a in enumerate(analytical):
            n = numerical[j][i]
            if not np.allclose(a, n, tol.rtol, tol.atol):
                raise GradcheckError(_mismatch(i, j, wrap(n), wrap(a), part))


def _check_forward(func: Callable, inputs: tuple, tol: _Tolerance) -> None:
    """Compare the columns of the Jacobians, which dual numbers give, with finite differences."""
    _check_inputs(inputs)
    results = _tuple(func(*inputs))
    if any(t.is_complex() for t in (*results, *_leaves(inputs))):
        raise NotImplementedError("gradcheck: check_forward_ad=True with complex tensors is not implemented")
    chosen = _chosen(results)
    for j, x in enumerate(_leaves(inputs)):
        numerical = _numerical_jacobians(func, inputs, x, results, tol.eps)
        columns = [_tangents(func, inputs, x, v, chosen) for v in _unit_vectors(x)]
        for i, n in enumerate(numerical):
            a = np.array([c[i] for c in columns], n.dtype).reshape(n.shape)
            if not np.allclose(a, n, tol.rtol, tol.atol):
                raise GradcheckError(_mismatch(i, j, wrap(n), wrap(a), None))


def _tangents(func: Callable, inputs: tuple, x: Tensor, v: np.ndarray, chosen: list[int]) -> list[np.ndarray]:
    """The tangents of the chosen outputs where `x` moves along `v`."""
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach(), wrap(v))
        results = _tuple(func(*[dual if i is x else i for i in inputs]))
        tangents = [forward_ad.unpack_dual(results[k]).tangent for k in chosen]
    zeros = [np.zeros(tuple(results[k].shape)) for k in chosen]
    return [(z if t is None else t._array).reshape(-1) for t, z in zip(tangents, zeros, strict=True)]


def _mismatch(i: int, j: int, numerical: Any, analytical: Any, part: str | None) -> str:
    prefix = f"While considering the {part} part of complex outputs only, " if part else ""
    return (
        f"{prefix}Jacobian mismatch for output {i} with respect to input {j},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )


# ---------------------------------------------------------------------------------------------- numerical derivatives


def _numerical_jacobians(func: Callable, inputs: tuple, x: Tensor, results: tuple, eps: float) -> list[np.ndarray]:
    """For each output that requires grad (for all where none does): its derivatives by the elements of `x`."""
    columns = []
    for index in np.ndindex(x._array.shape):
        u = np.zeros(x._array.shape, x._array.dtype)
        u[index] = 1
        columns.append(_directional(func, inputs, x, u, eps, f"on index {index} "))
    chosen = _chosen(results)
    kind = x._array.dtype if x.is_complex() else None
    return [
        np.array([c[k] for c in columns], kind or results[k]._array.dtype).reshape(x.numel(), results[k].numel())
        for k in chosen
    ]


def _chosen(results: tuple) -> list[int]:
    some = [i for i, r in enumerate(results) if r.requires_grad]
    return some or [i for i, r in enumerate(results) if r._array.dtype.kind in "fc"]


def _directional(func: Callable, inputs: tuple, x: Tensor, u: Array, eps: float, where: str) -> list[np.ndarray]:
    """The derivative of every output along `u`; for a complex `x` the conjugate Wirtinger derivative."""
    along = _central_difference(func, inputs, x, u.real * eps, eps, where)
    if not x.is_complex():
        return along
    v = u.imag if u.imag.any() else u.real
    across = _central_difference(func, inputs, x, v * (1j * eps), eps, where)
    return [a + 1j * b for a, b in zip(along, across, strict=True)]


def _central_difference(
    func: Callable, inputs: tuple, x: Tensor, step: Any, eps: float, where: str
) -> list[np.ndarray]:
    """(func(x + step) - func(x - step)) / 2 eps, with `x` changed in its own memory meanwhile."""
    original = x._array.copy()
    expose(x)  # it is written without a version
    try:
        np.subtract(original, step, out=x._array)
        below = [r.detach().clone() for r in _tuple(func(*inputs))]
        np.add(original, step, out=x._array)
        above = [r.detach().clone() for r in _tuple(func(*inputs))]
    finally:
        np.copyto(x._array, original)
    for a, b in zip(below, above, strict=True):
        for what in ("shape", "dtype"):
            if getattr(a, what) != getattr(b, what):
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by {eps}, but "
                    f"got: {what}s {getattr(a, what)} and {getattr(b, what)}."
                )
    return [_slope(a._array, b._array, eps) for a, b in zip(below, above, strict=True)]


def _slope(a: np.ndarray, b: np.ndarray, eps: float) -> np.ndarray:
    if a.dtype.kind == "b":
        return np.zeros(a.size)
    with np.errstate(all="ignore"):
        return ((b - a) / (2 * eps)).reshape(-1)


# ---------------------------------------------------------------------------------------------- analytical derivatives


def _unit_vectors(out: Tensor) -> Any:
    for k in range(out.numel()):
        v = np.zeros(out.numel(), out._array.dtype)
        v[k] = 1
        yield v.reshape(out._array.shape)


def _analytical_jacobians(out: Tensor, leaves: list[Tensor], tol: _Tolerance, vectors: Any) -> list[np.ndarray]:
    """For each leaf the matrix (elements, vectors) of the products of `vectors` with the Jacobian of `out`."""
    rows = [(_products(out, leaves, v), _products(out, leaves, v)) for v in vectors]
    jacobians = []
    for j, x in enumerate(leaves):
        first, again = [r[0][j] for r in rows], [r[1][j] for r in rows]
        for g in first:
            if g is not None and tol.check_dtypes and g.dtype is not x.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            if g is not None and g.shape != x.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
        a, b = _matrix(first, x), _matrix(again, x)
        if a.size and np.abs(a - b).max() > tol.nondet:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                "different values, although analytical gradient matches numerical gradient."
                f"The tolerance for nondeterminism was {tol.nondet}."
            )
        jacobians.append(a)
    return jacobians


def _products(out: Tensor, leaves: list[Tensor], v: np.ndarray) -> tuple:
    found = grad(out, leaves, wrap(v.copy()), retain_graph=True, allow_unused=True)
    return tuple(None if g is None else g.detach().clone() for g in found)  # type: ignore[attr-defined]


def _matrix(rows: list, x: Tensor) -> np.ndarray:
    zeros = np.zeros(x.numel(), x._array.dtype)
    return np.array([zeros if g is None else g._array.reshape(-1) for g in rows]).reshape(len(rows), x.numel()).T


# ---------------------------------------------------------------------------------------------- fast mode


def _compare_projections(func: Callable, inputs: tuple, results: tuple, tol: _Tolerance, part: str | None) -> None:
    """Compare v J u for random unit vectors of positive numbers: one for each leaf, one for each output."""
    leaves = _leaves(inputs)
    outputs = [o for o in results if o.requires_grad]
    generator = random.Generator()
    us = [_unit(x, generator) for x in leaves]
    vs = [_unit(o, generator).real for o in outputs]
    numerical = [_directional(func, inputs, x, u, tol.eps, "") for x, u in zip(leaves, us, strict=True)]
    chosen = _chosen(results)
    for i, (out, v) in enumerate(zip(outputs, vs, strict=True)):
        rows = _analytical_jacobians(out, leaves, tol, [v])
        for j, (row, u) in enumerate(zip(rows, us, strict=True)):
            n = complex(np.dot(v.reshape(-1), numerical[j][chosen[i]]))
            a = _project(row[:, 0], u.reshape(-1), leaves[j])
            limit = tol.atol * float(u.real.sum() + u.imag.sum()) * float(v.sum())
            if not np.isclose(a, n, tol.rtol, limit):
                if not leaves[j].is_complex():
                    a, n = a.real, n.real
                slow = _slow_comparison(func, inputs, results, (i, j), tol)
                raise GradcheckError(_mismatch(i, j, n, a, part) + slow)


def _unit(t: Tensor, generator: Any) -> Array:
    def draw() -> Array:
        a: Array = t._array
        u = random.uniform(generator, a.shape, np.dtype(np.float32)).astype(a.real.dtype)
        return u / np.linalg.norm(u) if u.size else u

    return draw() + 1j * draw() if t.is_complex() else draw()


def _project(row: Array, u: Array, x: Tensor) -> complex:
    if x.is_complex():
        return complex(row.real.dot(u.real) + 1j * row.imag.dot(u.imag))
    return complex(row.dot(u))


def _slow_comparison(func: Callable, inputs: tuple, results: tuple, where: tuple[int, int], tol: _Tolerance) -> str:
    i, j = where
    leaves, out = _leaves(inputs), [o for o in results if o.requires_grad][i]
    numerical = _numerical_jacobians(func, inputs, leaves[j], results, tol.eps)[i]
    analytical = _analytical_jacobians(out, leaves, _Tolerance(0, 0, 0, np.inf, False), _unit_vectors(out))[j]
    text = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. Below, we "
        f"recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n {wrap(numerical)}\nAnalytical:\n"
        f"{wrap(analytical)}\n\nThe max per-element difference (slow mode) is: {np.abs(numerical - analytical).max()}.\n"
    )
    if np.allclose(analytical, numerical, tol.rtol, tol.atol):
        text += (
            "Fast gradcheck failed but element-wise differences are small. This means that the test might've passed in "
            "slow_mode!"
        )
    return text


# ---------------------------------------------------------------------------------------------- properties of backward


def _check_batched(i: int, out: Tensor, leaves: list[Tensor]) -> None:
    """A batch of gradients at once must give what they give one by one."""
    vs = [ops.randn_like(out) for _ in range(2)]
    single = [grad(out, leaves, v, retain_graph=True, allow_unused=True) for v in vs]
    try:
        batch = grad(out, leaves, ops.stack(vs), retain_graph=True, allow_unused=True, is_grads_batched=True)
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}") from error
    for j, got in enumerate(batch):
        if got is None:
            continue
        expected = ops.stack([s[j] for s in single])
        if not np.allclose(got.detach().numpy(), expected.detach().numpy()):
            raise GradcheckError(
                f"For output {i} and input {j}:\n\ngradcheck or gradgradcheck failed while testing batched gradient "
                f"computation.\n\nGot:\n{got}\n\nExpected:\n{expected}"
            )


def _check_linear(outputs: tuple, leaves: list[Tensor]) -> None:
    """Zero gradients in must give zero gradients out, of the inputs' types and shapes."""
    zeros = [ops.zeros_like(o) for o in outputs]
    for g, x in zip(grad(outputs, leaves, zeros, retain_graph=True, allow_unused=True), leaves, strict=True):
        if g is None:
            continue
        if g.detach()._array.any():
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype is not x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.shape != x.shape:
            raise GradcheckError("grad is incorrect size")


class _UndefinedGrad(Function):
    """The identity, whose backward gives no gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return None


def _check_undefined(func: Callable, inputs: tuple, leaves: list[Tensor]) -> None:
    """Outputs without a gradient must count as zero: all of them, and each alone."""
    outputs = _differentiable(func(*inputs))
    _expect_zero([_UndefinedGrad.apply(o) for o in outputs], leaves)
    if len(outputs) > 1:
        for k in range(len(outputs)):
            outputs = _differentiable(func(*inputs))
            _expect_zero([_UndefinedGrad.apply(o) if i == k else o for i, o in enumerate(outputs)], leaves)


def _expect_zero(outputs: list, leaves: list[Tensor]) -> None:
    notes = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
    try:
        found = grad(outputs, leaves, [ops.zeros_like(o) for o in outputs], allow_unused=True)
    except RuntimeError as error:
        _warn_undefined()
        raise GradcheckError(f"Expected backward function to handle undefined output grads. {notes}") from error
    if any(g is not None and g.detach()._array.any() for g in found):
        _warn_undefined()
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined or zero. " + notes
        )


def _warn_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
        "existing callers of this function. If this is true for you, you can call this function with "
        '"check_undefined_grad=False" to disable the feature',
        stacklevel=6,
    )


def _tuple(x: Any) -> tuple:
    return x if isinstance(x, tuple) else tuple(x) if isinstance(x, list) else (x,)


def _leaves(inputs: tuple) -> list[Tensor]:
    return [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]


def _differentiable(results: Any) -> tuple:
    return tuple(o for o in _tuple(results) if o.requires_grad)
