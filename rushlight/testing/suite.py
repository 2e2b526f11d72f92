"""The checks that every operator passes, as functions of one sample; `tests/ops/test_suite.py` runs them.

Each check takes a name and a sample of `samples.py` and raises AssertionError where the operator fails it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import autograd
from ..core.dispatch.mode import no_grad
from ..core.dispatch.op import OPS, RECORDS, Op
from ..core.tensor import dtype as dtypes
from ..core.tensor.node import Leaf, Output
from ..core.tensor.tensor import Tensor
from ..func import vmap
from .descriptions import Sample
from .samples import SAMPLES, WITHOUT_GRADIENT, covered, function_of, samples_of

__all__ = [
    "check_batched",
    "check_batched_gradient",
    "check_gradient",
    "check_inplace",
    "check_inputs_untouched",
    "check_memory",
    "check_oracle",
    "check_out",
    "check_second_gradient",
    "check_strides",
    "operators_without_samples",
    "records_without_samples",
]


# ---------------------------------------------------------------------------------------------- results as arrays


def results_of(name: str, args: Any, kwargs: dict) -> list[Tensor]:
    """The tensors that the operator returns."""
    out = function_of(name)(*args, **kwargs)
    return [t for t in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(t, Tensor)]


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors among arguments."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from tensors_in(v)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def _equal(a: Tensor, b: Tensor, what: str, tolerance: float = 1e-12) -> None:
    x, y = a.detach()._array, b.detach()._array
    assert x.dtype == y.dtype, f"{what}: type {x.dtype} instead of {y.dtype}"
    assert x.shape == y.shape, f"{what}: shape {x.shape} instead of {y.shape}"
    assert np.allclose(x, y, tolerance, tolerance, equal_nan=True), f"{what}: values differ"


# ---------------------------------------------------------------------------------------------- the checks


def check_oracle(name: str, sample: Sample, oracle: Callable) -> None:
    """The result equals that of an independent function of the NumPy arrays."""
    args, kwargs = sample.make()
    expected = oracle(*[_array(a) for a in args], **{k: _array(v) for k, v in kwargs.items()})
    expected = expected if isinstance(expected, tuple) else (expected,)
    for got, e in zip(results_of(name, args, kwargs), expected, strict=False):
        assert got._array.shape == np.shape(e), f"{name}: shape {got._array.shape} instead of {np.shape(e)}"
        assert np.allclose(got._array, e, 1e-9, 1e-11, equal_nan=True), f"{name}: differs from its oracle"


def _array(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_array(v) for v in value)
    return value._array if isinstance(value, Tensor) else value


def _as_function(name: str, sample: Sample) -> tuple[Callable, list[Tensor]] | None:
    """(a function of the tensors that require grad, these tensors); None where no result depends on them."""
    args, kwargs = sample.make(grad=True)
    leaves = [t for t in tensors_in([args, kwargs]) if t.requires_grad]

    def call(*inputs: Tensor) -> tuple:
        it = iter(inputs)

        def replaced(x: Any) -> Any:
            if isinstance(x, Tensor):
                return next(it) if x.requires_grad else x
            return type(x)(replaced(y) for y in x) if isinstance(x, (tuple, list)) else x

        given = [replaced(a) for a in args], {k: replaced(v) for k, v in kwargs.items()}
        return tuple(t for t in results_of(name, *given) if t.requires_grad)

    if not leaves or not call(*leaves):
        return None
    return call, leaves


# ctc_loss: torch's gradient holds for log-probabilities that add up to one, which a difference step violates.
# as_strided_scatter: torch's gradient of the input, which ours is, is the one of the places that were replaced.
# The others take symmetric or triangular matrices, which a step in one element leaves.
_NO_DIFFERENCES = {
    *[
        "ctc_loss",
        "as_strided_scatter",
        "cholesky",
        "linalg.cholesky",
        "linalg.cholesky_ex",
        "linalg.eigh",
        "linalg.eigvalsh",
        "linalg.eig",
        "cholesky_inverse",
        "cholesky_solve",
    ]
}


def check_gradient(name: str, sample: Sample) -> bool:
    """The gradient agrees with central differences. False where there is nothing to differentiate."""
    found = _as_function(name, sample)
    if name in _NO_DIFFERENCES or found is None or not any(t.numel() for t in found[1]):
        return False
    if any(o.dtype in (dtypes.float32, dtypes.float16) for o in found[0](*found[1])):
        return False  # too coarse for differences: the operator converts
    return autograd.gradcheck(*found, check_undefined_grad=True)


def check_second_gradient(name: str, sample: Sample) -> bool:
    """The gradient of the gradient agrees with central differences. False where there is nothing to differentiate."""
    found = _as_function(name, sample)
    if name in _NO_DIFFERENCES or found is None or not any(t.numel() for t in found[1]):
        return False
    if any(o.dtype in (dtypes.float32, dtypes.float16) for o in found[0](*found[1])):
        return False
    call, leaves = found
    outputs = call(*leaves)
    first = autograd.grad(
        outputs, leaves, [o.detach() * 0 + 0.7 for o in outputs], create_graph=True, allow_unused=True
    )
    if not any(g is not None and g.requires_grad for g in first):
        return False
    return autograd.gradgradcheck(call, leaves, check_undefined_grad=False, fast_mode=True, atol=1e-4)


def check_batched(name: str, sample: Sample) -> bool:
    """`vmap` gives what a loop over the examples gives, also as gradients. False where no tensor can be batched."""
    if name.startswith("as_strided") or name in ("is_nonzero", "masked_select"):
        return False  # reads the memory as it is laid out; branches by values, has results of unequal shapes: raises
    examples = [sample.make(grad=True, seed=seed) for seed in (20, 21, 22)]
    columns = list(zip(*[tensors_in(e) for e in examples], strict=True))
    places = [i for i, c in enumerate(columns) if c[0].requires_grad]
    some = {tuple(places), tuple(places[:1]), tuple(places[1:])} - {()}
    for mapped in sorted(some):
        _check_mapped(name, examples[0], columns, mapped)
    return bool(some)


def _check_mapped(name: str, example: tuple, columns: list[tuple], mapped: tuple[int, ...]) -> None:
    """As `check_batched`, where the tensors at the places `mapped` are batched and the others are those of `example`."""
    batches = [OPS["stack"](columns[i]).detach().requires_grad_() for i in mapped]

    def call(*own: Tensor) -> tuple:
        it = iter(own)
        given = [next(it) if i in mapped else c[0] for i, c in enumerate(columns)]
        args, kwargs = _replaced(example, iter(given))
        return tuple(results_of(name, args, kwargs))

    rows = [call(*[b.select(0, i) for b in batches]) for i in range(3)]  # type: ignore[attr-defined]
    expected = [OPS["stack"](c) for c in zip(*rows, strict=True)]
    got = vmap(call)(*batches)
    for a, b in zip(got, expected, strict=True):
        _equal(a, b, f"{name} of a batch (tensors {mapped})", 1e-10)
    for a, b in zip(_gradients(got, batches), _gradients(expected, batches), strict=True):
        _equal(a, b, f"the gradient of {name} of a batch (tensors {mapped})", 1e-9)


def _weights(outputs: Any) -> list[Tensor]:
    """For each output that has a gradient other numbers."""
    live = [o for o in outputs if o.requires_grad]
    return [OPS["arange"](1, o.numel() + 1).to(o.device, o.dtype).reshape(o.shape).sin() for o in live]


def _gradients(outputs: Any, leaves: list[Tensor], weights: list[Tensor] | None = None) -> tuple:
    """The gradients of the outputs that have any, each weighted by other numbers; zeros for what they do not depend on."""
    live = [o for o in outputs if o.requires_grad]
    if not live:
        return ()
    weights = _weights(outputs) if weights is None else weights
    return autograd.grad(live, leaves, weights, materialize_grads=True)


def _replaced(value: Any, tensors: Iterator[Tensor]) -> Any:
    """Arguments with their tensors replaced in order."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, (tuple, list)):
        return type(value)([_replaced(v, tensors) for v in value])
    if isinstance(value, dict):
        return {k: _replaced(v, tensors) for k, v in value.items()}
    return value


def check_batched_gradient(name: str, sample: Sample) -> bool:
    """The gradients for several incoming ones at once are those of one after the other."""
    found = _as_function(name, sample)
    if found is None:
        return False
    call, leaves = found
    outputs = call(*leaves)
    rows = [[o.detach() * 0 + k for o in outputs] for k in (0.5, -1.0, 2.0)]
    many = {"allow_unused": True, "retain_graph": True}
    one = [autograd.grad(outputs, leaves, r, **many) for r in rows]
    stacked = [OPS["stack"](c) for c in zip(*rows, strict=True)]
    got = autograd.grad(outputs, leaves, stacked, is_grads_batched=True, **many)
    for g, column in zip(got, zip(*one, strict=True), strict=True):
        assert (g is None) == (column[0] is None), f"{name}: a gradient is missing"
        if g is not None:
            _equal(g, OPS["stack"](column), f"{name}: the gradient of a batch", 1e-9)
    return True


def check_inputs_untouched(name: str, sample: Sample) -> None:
    """Neither the call nor its backward changes an input or raises its version."""
    args, kwargs = sample.make(grad=True)
    inputs = list(tensors_in([args, kwargs]))
    before = [(t._array.copy(), t._version) for t in inputs]
    outputs = [t for t in results_of(name, args, kwargs) if t.requires_grad]
    if outputs:
        autograd.backward(outputs, [o.detach() * 0 + 1 for o in outputs])
    for t, (values, version) in zip(inputs, before, strict=True):
        assert np.array_equal(t._array, values, equal_nan=True), f"{name} changed an input"
        assert t._version == version, f"{name} raised the version of an input"


def check_strides(name: str, sample: Sample) -> None:
    """Non-contiguous inputs give the same results and the same gradients."""
    if name.startswith("as_strided") or name.startswith("view_as_complex"):
        return  # reads the memory as it is laid out
    runs = []
    for spread in (False, True):
        args, kwargs = sample.make(grad=True, spread=spread)
        outputs = results_of(name, args, kwargs)
        leaves = [t for t in tensors_in([args, kwargs]) if t.requires_grad]
        some = [o for o in outputs if o.requires_grad]
        grads = autograd.grad(some, leaves, [o.detach() * 0 + 0.5 for o in some], allow_unused=True) if some else ()
        runs.append((outputs, grads))
    (plain, plain_grads), (spread_out, spread_grads) = runs
    for a, b in zip(spread_out, plain, strict=True):
        _equal(a, b, f"{name} of non-contiguous inputs")
    for a, b in zip(spread_grads, plain_grads, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            _equal(a, b, f"the gradient of {name} by non-contiguous inputs", 1e-9)


# Operators that return their input, or a view of it, where nothing has to be done.
_MAY_ALIAS = {
    *[
        "reshape",
        "flatten",
        "unflatten",
        "ravel",
        "contiguous",
        "to",
        "double",
        "expand",
        "expand_as",
        "view",
        "view_as",
        "reshape_as",
        "narrow",
        "movedim",
        "swapaxes",
        "swapdims",
        "adjoint",
        "chunk",
        "unsafe_split",
        "tensor_split",
        "hsplit",
        "vsplit",
        "dsplit",
        "broadcast_to",
        "broadcast_tensors",
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "resolve_conj",
        "resolve_neg",
        "positive",
        "conj",
        "real",
        "imag",
        "unfold",
        "sum_to_size",
        "__getitem__",
        "dropout",
        "alpha_dropout",
        "feature_dropout",
        "feature_alpha_dropout",
        "permute",
        "meshgrid",
        "as_strided",
        "diagonal",
        "select",
        "split",
        "split_with_sizes",
        "squeeze",
        "t",
        "transpose",
        "unbind",
        "unsqueeze",
        "diag",
        "cartesian_prod",
        "einsum",
        "linalg.diagonal",
        "chain_matmul",
        "multi_dot",
        "view_as_real",
        "view_as_complex",
    ]
}


def check_memory(name: str, sample: Sample) -> None:
    """A view shares its base's memory and version, anything else is fresh memory."""
    args, kwargs = sample.make(grad=False)
    inputs = list(tensors_in([args, kwargs]))
    short = name.removeprefix("Tensor.")
    if short.startswith("unsafe_"):  # the parts share memory, and neither history nor version, as in torch
        return
    for out in results_of(name, args, kwargs):
        shared = [t for t in inputs if out.numel() and np.shares_memory(out._array, t._array)]
        if shared and not any(out is t for t in inputs):
            assert out._is_view() or short in ("detach", "real", "imag"), f"{name} shares memory but is no view"
            assert short in _MAY_ALIAS, f"{name} returns a view of its input"
        if getattr(getattr(function_of(name), "record", None), "view", False) and out.numel():
            assert shared, f"{name} is declared a view and copies"
        if shared and 0 not in out.stride():
            version = out._version
            with no_grad():
                out.add_(0) if out.dtype is not dtypes.bool_ else out.logical_or_(out)  # type: ignore[attr-defined]
            assert all(t._version > version for t in shared), f"{name}: a write to the view does not count for its base"


def check_inplace(name: str, sample: Sample) -> bool:
    """`x.name_(...)` gives the plain call's result and gradients. False where there is no such method for the sample."""
    twin = getattr(Tensor, name.removeprefix("Tensor.") + "_", None)
    args, kwargs = sample.make(grad=True)
    if twin is None or not args or not isinstance(args[0], Tensor):
        return False
    expected = results_of(name, args, kwargs)
    if len(expected) != 1 or expected[0].shape != args[0].shape or expected[0].dtype is not args[0].dtype:
        return False
    again, kwargs_again = sample.make(grad=True)
    target = again[0].clone()
    result = twin(target, *again[1:], **kwargs_again)
    assert result is target, f"{name}_ does not return its tensor"
    assert target._version >= 1, f"{name}_ does not raise the version"
    _equal(target, expected[0], f"{name}_")
    if not expected[0].requires_grad:
        return True
    weight = expected[0].detach() * 0 + 0.5
    pairs = []
    for out, given in ((expected[0], [args, kwargs]), (target, [again, kwargs_again])):
        leaves = [t for t in tensors_in(given) if t.requires_grad]
        pairs.append(autograd.grad(out, leaves, weight, allow_unused=True))
    for a, b in zip(pairs[1], pairs[0], strict=True):
        assert (a is None) == (b is None), f"{name}_: an input has a gradient in one form only"
        if a is not None:
            _equal(a, b, f"the gradient of {name}_", 1e-9)
    return True


def check_out(name: str, sample: Sample) -> bool:
    """`out=` receives the plain call's result. False where the operator takes no `out`."""
    f = function_of(name)
    args, kwargs = sample.make()
    result = f(*args, **kwargs)
    if "out" not in (getattr(f, "__kwdefaults__", None) or {}):
        return False
    many = isinstance(result, (tuple, list))
    expectations = list(result) if many else [result]
    targets = [t.new_zeros(t.shape) for t in expectations]
    returned = f(*args, **kwargs, out=tuple(targets) if many else targets[0])
    for target, got, expected in zip(targets, returned if many else [returned], expectations, strict=True):
        assert got is target, f"{name}: out= is not returned"
        _equal(target, expected, f"{name} with out=")
    return True


# ---------------------------------------------------------------------------------------------- nothing forgotten


def operators_without_samples() -> list[str]:
    """Public operators that could have a gradient and have no samples under any of their names."""
    known = {id(function_of(n)) for n in SAMPLES if function_of(n) is not None}
    exempt = {id(OPS[n]) for n in WITHOUT_GRADIENT if n in OPS}
    missing = []
    for name, f in OPS.items():
        twin = name.endswith("_") and name[:-1] in OPS
        record = getattr(f, "record", None)
        fixed = record is not None and not record.rules  # nothing can be differentiated
        if not (fixed or twin or id(f) in known or id(f) in exempt or samples_of(name)):
            missing.append(name)
    return missing


# Rules that give zero (random draws) or sparse gradients, that only an in-place write reaches, or, for lstm_layer, only float32 does (the
# samples take its twin lstm_layer.stack).
_UNREACHED = {
    "bag_rows",  # divides gradients by frequencies, which no difference quotient shows; tests/ops/test_loss.py
    "_weight_norm_interface",  # reached by nn.utils.weight_norm; tests/nn/test_weight_norm.py
    "bce_logits_of_two_types",  # its result has the lower of two precisions; tests/ops/test_torchs_forms.py
    *[
        "bernoulli",
        "bernoulli.p",
        "bernoulli_",
        "cauchy_",
        "embedding_sparse",
        "exponential_",
        "geometric_",
        "log_normal_",
        "lstm_layer",
        "normal.both",
        "normal.mean",
        "normal.std",
        "normal_",
        "poisson",
        "random_",
        "uniform_",
        "standard_gamma",
        "_standard_gamma_grad",
        "sample_dirichlet",
        "_dirichlet_grad",
        "rrelu_with_noise",
        "zero",
        "copy",
        "_to_device",  # tests/devices
    ],
}


def records_without_samples() -> list[str]:
    """Operators with a gradient rule that no sample's graph (of its gradient, or of that gradient's) contains."""
    seen: set[Op] = set()
    for name, sample in covered():
        found = _as_function(name, sample)
        if found is None:
            continue
        results, inputs = found[0](*found[1]), list(found[1])
        for _ in range(3):  # the call, its gradient, and the gradient of that
            results = [r for r in results if r is not None and r.requires_grad]
            _collect(results, seen)
            if not results:
                break
            weights = [(r.detach() * 0 + 1).requires_grad_() for r in results]
            try:
                results = autograd.grad(results, inputs, weights, create_graph=True, allow_unused=True)
            except RuntimeError as error:
                if "not implemented" not in str(error):
                    raise
                break
            inputs = inputs + weights
    names = {r.name for r in seen} | _UNREACHED
    return sorted(
        {r.name for r in RECORDS if r.rules and r.differentiable and r.name not in names and not _loads_later(r)}
    )


def _loads_later(r: Op) -> bool:
    """Whether an operator is imported by its first use, as those of `torch.sparse`: their tests have samples of their own."""
    return r.kernel.__module__.startswith(("rushlight.sparse", "rushlight.ops.signal.fft", "rushlight.ops.quantized"))


def _collect(tensors: Any, seen: set[Op]) -> None:
    """Add the operators of the graphs of `tensors`."""
    stack = [t._edge for t in tensors]
    visited = set()
    while stack:
        node = stack.pop()
        if node is None or type(node) is Leaf or node in visited:
            continue
        visited.add(node)
        if type(node) is not Output and node.op is not None:
            seen.add(node.op)
        stack.extend(node.edges)
