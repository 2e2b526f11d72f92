"""Losses. Each has the reduction 'none', 'mean' or 'sum' as its last argument; `nn.functional` checks arguments.

`mean` divides by the number of elements of the broadcast inputs. Losses of classes are in `class_loss.py`.
"""

from __future__ import annotations

import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.errors import argument_type
from ...core.dispatch.mode import assert_all, thread
from ...core.dispatch.op import OPS, composite, primitive
from ...core.dispatch.scalars import exact
from ...core.dispatch.torch_kernels import lacks
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import dense_like
from ...core.tensor.node import shown_as
from ...core.tensor.size import broadcast_shapes
from ...core.tensor.tensor import Tensor, constant, type_word
from ..pointwise.building_blocks import MANY, in_order_of, in_single, rounded_as, zero_where
from ..pointwise.checks import extremes, not_implemented, refuse_history
from ..pointwise.choice import where
from ..reduce.sums import sum_in_order
from .smooth import _log_sigmoid


def _reduced(a: np.ndarray, reduction: str, *inputs: np.ndarray) -> np.ndarray:
    if reduction == "none":
        return in_order_of(a, *inputs)
    wide = np.float32 if a.dtype.itemsize == 2 else a.dtype
    total = sum_in_order(a, None)
    if total is None:
        total = np.add.reduce(a, None, dtype=wide)
    if reduction == "mean":
        total = total / a.size
    return total.astype(a.dtype) if wide is np.float32 else total


_REDUCTIONS = ("none", "mean", "sum")


def _reduction(given: str | int) -> str:
    """The word for what torch's core losses take as a number: 0 by default, unlike in `nn.functional`."""
    if given in _REDUCTIONS:
        return str(given)
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        # others than 1 and 2 reduce nothing, as in torch
        return _REDUCTIONS[given] if 0 <= given < len(_REDUCTIONS) else "none"
    raise ValueError(
        f"{given} is not a valid value for reduction: it has to be one of {', '.join(_REDUCTIONS)}, or 0, 1, 2"
    )


def _reduce(t: Tensor, reduction: str | int) -> Tensor:
    reduction = _reduction(reduction)
    return t.mean() if reduction == "mean" else t.sum() if reduction == "sum" else t


def _share(g: Tensor, t: Tensor, reduction: str) -> Tensor:
    """The gradient of each element of `t`, whose reduction received `g`."""
    if g._array.dtype is not t._array.dtype:
        g = g.to(t.dtype)  # type: ignore[attr-defined]
    return g / t._array.size if reduction == "mean" and t._array.size else g


def _scaled(slope: Tensor, g: Tensor, reduction: str, factor: float = 1.0) -> Tensor:
    """factor * slope * g, over the number of elements for a mean, rounded in the order of torch's loss kernels."""
    kind, size = slope._array.dtype, slope._array.size
    if reduction != "mean" or not size:
        return slope * (_share(g, slope, reduction) * factor)
    return slope * _part(factor / size, kind) * _share(g, slope, "sum")


def _part(factor: float, kind: np.dtype) -> float:
    """A factor as torch's kernels of arrays of `kind` have it: rounded to 16 bits first."""
    return factor if kind.itemsize > 2 else float(kind.type(factor))


def _divided(slope: Tensor, g: Tensor | None, weight: Tensor | None, reduction: str) -> Tensor:
    """slope * g * weight, divided by the number of elements for a mean: torch's order for losses of several operators."""
    slope = slope if g is None else slope * _share(g, slope, "sum")
    slope = slope if weight is None else slope * weight
    return slope / slope._array.size if reduction == "mean" and slope._array.size else slope


def _in_rows(g: Tensor) -> Tensor:
    """A gradient that torch writes into C-contiguous zeros, whatever the order of the input."""
    a = g._array
    return g.contiguous() if type(a) is np.ndarray and not a.flags.c_contiguous else g  # type: ignore[attr-defined]


def _float_only(a: np.ndarray, word: str) -> None:
    if a.dtype.kind in "biu":
        raise not_implemented(word, a.dtype)


def _same_type(input: np.ndarray, target: np.ndarray) -> None:
    if input.dtype != target.dtype:
        found, expected = (type_word(dtypes.from_numpy(a.dtype)) for a in (target, input))
        raise RuntimeError(f"Found dtype {found} but expected {expected}")


def _difference(x: Tensor, y: Tensor) -> Tensor:
    """x - y, for bools too."""
    return (x.to(y.dtype) if x.dtype is dtypes.bool_ else x) - (y.to(x.dtype) if y.dtype is dtypes.bool_ else y)


# ---------------------------------------------------------------------------------------------- regression


@primitive(promote="same", jit_min_elements=MANY)
def mse_loss(input, target, /, reduction="mean"):
    """(input - target)^2. Shape: (*), (*) -> () or (*) with reduction='none'."""
    _float_only(input, "mse_cpu")
    d = input - target
    return _reduced(d * d, reduction, input, target)


@mse_loss.vjp("input")
def _(g, input, target, reduction):
    d = _difference(input, target)
    return shown_as(_in_rows(_scaled(d, g, reduction, 2.0)), "MseLossBackwardBackward0")


@mse_loss.vjp("target")
def _(g, input, target, reduction):
    d = _difference(target, input)
    return shown_as(_in_rows(_scaled(d, g, reduction, 2.0)), "MseLossBackwardBackward0")


@composite()
def l1_loss(input, target, reduction="mean"):
    """|input - target|. Shape: (*), (*) -> () or (*) with reduction='none'."""
    return _reduce((input - target).abs(), reduction)


@primitive(public=False, name="bounded")
def _bounded(input, /, limit):
    """Each element, at most `limit` in size. Unlike that of `clamp`, the gradient is 0 where the limit is just reached."""
    limit = input.dtype.type(limit)
    return np.minimum(np.maximum(input, -limit), limit)  # `np.clip` makes bfloat16 float32


@_bounded.vjp
def _(g, input, limit):
    return zero_where(g, ~(input.abs() < limit))


def _smooth_slope(d: Tensor, beta: float) -> Tensor:
    return _bounded(d, beta) / beta if beta else d.sign()


@primitive(promote="same", node="SmoothL1LossBackward0", jit_min_elements=MANY, jit_warmup=4_000_000)
def smooth_l1_loss(input, target, /, reduction="mean", beta=1.0):
    """d^2 / (2 beta) where |d| < beta, else |d| - beta / 2, for d = input - target."""
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    _float_only(input, "smooth_l1_cpu")
    d = np.abs(input - target)
    if beta:
        d = np.where(d < beta, d * d * d.dtype.type(0.5 / beta), d - d.dtype.type(0.5 * beta))
    return _reduced(d, reduction, input, target)


@smooth_l1_loss.vjp("input")
def _(g, input, target, reduction, beta):
    return _smooth_gradient(g, input, target, reduction, beta)


@smooth_l1_loss.vjp("target")
def _(g, input, target, reduction, beta):
    return _smooth_gradient(g, target, input, reduction, beta)


def _smooth_gradient(g, x, other, reduction, beta):
    d = _difference(in_single(x), in_single(other))  # 16-bit floats are rounded once, at the end
    gradient = rounded_as(_scaled(_smooth_slope(d, beta), g, reduction), x)
    return shown_as(_in_rows(gradient), "SmoothL1LossBackwardBackward0")


@primitive(jit_min_elements=MANY, jit_warmup=4_000_000)
def huber_loss(input, target, /, reduction="mean", delta=1.0):
    """d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), for d = input - target, in the input's type."""
    broadcast_shapes(input.shape, target.shape)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if target.dtype is not input.dtype:
        own, other = dtypes.from_numpy(input.dtype), dtypes.from_numpy(target.dtype)
        if not dtypes.can_cast(other, own):
            words = f"result type {type_word(other)} can't be cast to the desired output type {type_word(own)}"
            raise RuntimeError(words)
        target = target.astype(input.dtype)
    _float_only(input, "huber_cpu")
    d = np.abs(input - target)
    kind = d.dtype.type
    like = dense_like(input) if reduction == "none" and isinstance(input, np.ndarray) else input  # torch fills one
    return _reduced(np.where(d <= delta, d * d * kind(0.5), (d - kind(0.5 * delta)) * kind(delta)), reduction, like)


@huber_loss.vjp("input")
def _(g, input, target, reduction, delta):
    _same_type(input._array, target._array)
    d = _difference(input, target)
    return shown_as(_in_rows(_scaled(_bounded(d, delta), g, reduction)), "HuberLossBackwardBackward0")


@huber_loss.vjp("target")
def _(g, input, target, reduction, delta):
    _same_type(input._array, target._array)
    d = _difference(target, input)
    return shown_as(_in_rows(_scaled(_bounded(d, delta), g, reduction)), "HuberLossBackwardBackward0")


@composite()
def poisson_nll_loss(input, target, log_input=True, full=False, eps=1e-8, reduction=0):
    """exp(input) - target * input of each element, reduced; torch's core form of `nn.functional.poisson_nll_loss`.

    Args:
        log_input: False for input - target * log(input + eps).
        full: whether to add Stirling's approximation of log(target!), for targets above 1.
        reduction: 0 or "none", 1 or "mean", 2 or "sum".
    Shape: (*), (*) -> (*), or () with another reduction
    """
    if not isinstance(target, Tensor):
        raise argument_type("poisson_nll_loss", "target", 2, target)
    if log_input:
        product = target * input  # first: the gradient takes its memory order from what is recorded last
        loss = input.exp() - product
    else:
        loss = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * np.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduce(loss, reduction)


# ---------------------------------------------------------------------------------------------- distributions


@composite()
def kl_div(input, target, reduction=0, log_target=False):
    """target * (log(target) - input) for log-probabilities `input`, reduced; torch's core form of `nn.functional.kl_div`.

    Args:
        reduction: "mean", "sum" or "none", or 1, 2, 0.
        log_target: whether the target has log-probabilities, too.
    Shape: (*), (*) -> (), or (*) with reduction="none"
    """
    if input.dtype.category < 2 or target.dtype.category < 2:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if input.dtype.is_complex or target.dtype.is_complex:
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if log_target:
        return _reduce(target.exp() * (target - input), reduction)
    return _reduce(OPS["xlogy"](target, target) - target * input, reduction)


# ---------------------------------------------------------------------------------------------- two classes


@primitive(public=False, name="binary_cross_entropy")
def _binary_cross_entropy(input, target, weight=None, /, reduction="mean"):
    _same_type(input, target)
    _float_only(input, "binary_cross_entropy")
    for name, a in (("input", input), ("target", target)):
        low, high = extremes(a) if a.size else (0, 1)
        if not (low >= 0 and high <= 1):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    kind = input.dtype.type
    floor = kind(-100)
    loss = (target - kind(1)) * np.maximum(np.log1p(-input), floor) - target * np.maximum(np.log(input), floor)
    return _reduced(loss if weight is None else loss * weight, reduction, input, target)


@_binary_cross_entropy.vjp("input")
def _(g, input, target, weight, reduction):
    if thread.state.grad:
        slope = _bce_slope(input, target)
    else:
        slope = (input - target) * _share(g, input, "sum") / ((1 - input) * input).clamp(min=_BCE_EPSILON)
        g = None
    return _divided(slope, g, weight, reduction)


_BCE_EPSILON = 1e-12


@primitive(public=False, name="binary_cross_entropy_backward")
def _bce_slope(input, target, /):
    """The derivative by the input. Its own derivatives are finite at 0 and 1 otherwise than it is, as in torch."""
    return (input - target) / np.maximum((1 - input) * input, input.dtype.type(_BCE_EPSILON))


@_bce_slope.vjp("input")
def _(g, input, target):
    far = (input + _BCE_EPSILON) * (1 - input + _BCE_EPSILON)
    return g * (input * input - 2 * input * target + target) / (far * far)


@_bce_slope.vjp("target")
def _(g, input):
    return -g / ((1 - input) * input).clamp(min=_BCE_EPSILON)


@_binary_cross_entropy.vjp("target")
def _(g, input, target, weight, reduction):
    slope = (-input).log1p().clamp(min=-100) - input.log().clamp(min=-100)
    slope = slope if weight is None else slope * weight
    return slope * _share(g, slope, reduction)


@composite()
def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    """-(target log(input) + (1 - target) log(1 - input)), logarithms at least -100. Shape: (*), (*) -> ()."""
    refuse_history("binary_cross_entropy", weight=weight)
    return _binary_cross_entropy(input, target, _of_type(weight, input.dtype), reduction)


def _of_type(weight, dtype):
    """A factor in the type of the losses: they keep theirs."""
    return weight if weight is None or weight.dtype is dtype else weight.to(dtype)


@primitive(name="binary_cross_entropy_with_logits", public=False, jit_min_elements=MANY)
def _bce_logits(input, target, weight=None, pos_weight=None, /, reduction="mean"):
    kind = input.dtype.type
    tail = np.log1p(np.exp(-np.abs(input))) + np.maximum(-input, kind(0))
    if pos_weight is not None:
        tail = tail * ((pos_weight - kind(1)) * target + kind(1))
    loss = (kind(1) - target) * input + tail
    return _reduced(loss if weight is None else loss * weight, reduction, target)  # torch computes in (1 - target)


@_bce_logits.vjp("input")
def _(g, input, target, weight, pos_weight, reduction):
    p = input.sigmoid()
    slope = p - target if pos_weight is None else (pos_weight * target + 1 - target) * p - pos_weight * target
    return _divided(slope, g, weight, reduction)


@_bce_logits.vjp("target")
def _(g, input, target, weight, pos_weight, reduction):
    softplus = OPS["softplus"]
    slope = -input if pos_weight is None else softplus(-input) * (pos_weight - 1) - input
    slope = slope if weight is None else slope * weight
    return slope * _share(g, slope, reduction)


@composite()
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """`binary_cross_entropy` of sigmoid(input), computed without overflow; torch's core form.

    Args:
        weight: a factor for each element, broadcast.
        pos_weight: a factor for the target's term, broadcast.
        reduction: 0 or "none", 1 or "mean", 2 or "sum".
    Shape: (*), (*) -> (*), or () with another reduction

    >>> binary_cross_entropy_with_logits(tensor([0.0, 2.0]), tensor([1.0, 1.0]))
    tensor([0.6931, 0.1269])
    """
    reduction = _reduction(reduction)
    refuse_history("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    if target.dtype is dtypes.bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead: binary_cross_entropy_with_logits needs a floating-point target, such as target.float()."
        )
    if target.dtype.category < input.dtype.category:
        raise RuntimeError(
            f"result type {type_word(input.dtype)} can't be cast to the desired output type {type_word(target.dtype)}: "
            "binary_cross_entropy_with_logits needs a floating-point target, such as target.float()"
        )
    if pos_weight is not None and pos_weight.dtype is dtypes.bool_:
        return pos_weight - 1  # raises: bools have no difference
    weight, pos_weight = _of_type(weight, target.dtype), _of_type(pos_weight, target.dtype)
    if input.dtype is not target.dtype and input.dtype.is_floating_point:
        return _bce_logits_of_two_types(input, target, weight, pos_weight, reduction)
    return _bce_logits(input, target, weight, pos_weight, reduction)


@primitive(name="bce_logits_of_two_types", public=False, node="BinaryCrossEntropyWithLogitsBackward0")
def _bce_logits_of_two_types(input, target, weight=None, pos_weight=None, /, reduction="mean"):
    """As torch computes it, in place in (1 - target): the result has the target's dtype, and is rounded to it twice."""
    kind, one = target.dtype, target.dtype.type(1)
    tail = _log_sigmoid.record.reference(input)
    if pos_weight is not None:
        tail = tail * ((pos_weight - one) * target + one)
    loss = ((one - target) * input).astype(kind)
    loss = (loss - tail).astype(kind)
    return _reduced(loss if weight is None else (loss * weight).astype(kind), reduction, target)


for _name, _rule in _bce_logits.record.rules.items():
    _bce_logits_of_two_types.vjp(_name)(_rule)


@primitive(name="soft_margin_loss", public=False, promote="same")
def _soft_margin_loss(input, target, /, reduction):
    return _reduced(np.log1p(np.exp(-target * input)), reduction, input)  # the memory is that of `input`


@_soft_margin_loss.vjp("input")
def _(g, input, target, reduction):
    z = (-target * input).exp()  # torch's kernel divides by it: nan where it is infinite
    kind, size = z._array.dtype, z._array.size
    part = _part(-1.0 / size, kind) if reduction == "mean" and size else -1.0
    return shown_as(target * z * part / (z + 1) * _share(g, z, "sum"), "SoftMarginLossBackwardBackward0")


@composite()
def soft_margin_loss(input, target, reduction="mean"):
    """log(1 + exp(-target input)) for targets of 1 and -1."""
    refuse_history("soft_margin_loss", target=target)
    if input.dtype.category < 2:
        found = target.dtype if target.dtype.category > 1 else dtypes.get_default_dtype()
        raise RuntimeError(
            f"result type {type_word(found)} can't be cast to the desired output type {type_word(input.dtype)}"
        )
    return _soft_margin_loss(input, _of_type(target, input.dtype), reduction)


# ---------------------------------------------------------------------------------------------- margins and pairs


@composite()
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """max(0, -target * (input1 - input2) + margin), reduced; torch's core form of `nn.functional.margin_ranking_loss`.

    Args:
        reduction: "mean", "sum" or "none", or 1, 2, 0.
    Shape: (N), (N), (N) -> (), or (N) with reduction="none"
    """
    return _reduce((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


@composite()
def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """input where the target is 1, max(0, margin - input) where it is -1, reduced; torch's core form.

    Args:
        reduction: 0 or "none", 1 or "mean", 2 or "sum".
    Shape: (*), (*) -> (*), or () with another reduction
    """
    broadcast_shapes(target._array.shape, input._array.shape)
    far = where(target != 1, (margin - input).clamp_min(0), 0)  # first, so that its gradient is added last, as in torch
    near = where(target != -1, input, 0)
    return _reduce(far + near, reduction)


@composite()
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """1 - cos(input1, input2) where the target is 1, max(0, cos(input1, input2) - margin) where it is -1; torch's core form.

    Args:
        reduction: "mean", "sum" or "none", or 1, 2, 0.
    Shape: (N, D), (N, D), (N) -> (), or (N) with reduction="none"; without N for single vectors
    """
    for i, (name, t) in enumerate((("input1", input1), ("input2", input2), ("target", target))):
        if not isinstance(t, Tensor):
            raise argument_type("cosine_embedding_loss", name, i + 1, t)
    ndim = target._array.ndim + 1
    if ndim not in (1, 2) or any(t._array.ndim != ndim for t in (input1, input2)):
        raise RuntimeError(
            f"{target._array.ndim}D target tensor expects {target._array.ndim + 1}D input tensors, but found inputs with "
            f"sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    d, tiny = target._array.ndim, 1e-12
    product = (input1 * input2).sum(d)
    norms = ((input1 * input1).sum(d) + tiny) * ((input2 * input2).sum(d) + tiny)
    cos = product / norms.sqrt()
    near = (1 - cos).masked_fill(target != 1, 0)
    far = (cos - float(margin)).clamp_min(0).masked_fill(target != -1, 0)
    return _reduce(near + far, reduction)


@composite()
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=0):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for the p-norm distance d, reduced; torch's core form.

    Args:
        swap: whether the distance of `positive` and `negative` counts where it is less than that of `anchor` and
            `negative`.
        reduction: "mean", "sum" or "none", or 1, 2, 0.
    Shape: (N, D), (N, D), (N, D) -> (), or (N) with reduction="none"
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    check_triplet(anchor, positive, negative)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return _reduce((near - far + margin).clamp_min(0), reduction)


def check_triplet(anchor, positive, negative):
    """Raise torch's error where the three have unlike numbers of dimensions."""
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )


@composite(functional=True)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps over the last dimension.

    Args:
        keepdim: whether that dimension stays, with size 1.
    Shape: (*, n), (*, n) -> (*)
    Raises:
        RuntimeError: the shapes do not broadcast, as in `pairwise_distance(ones(1, 2), ones(1, 3))`.

    >>> pairwise_distance(tensor([[0.0, 0.0]]), tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    last = max(x1._array.ndim, x2._array.ndim) - 1
    return shown_as((x1 - x2 + eps).norm(float(p), last, keepdim), "NormBackward1")


@primitive(name="cosine_similarity.at_least", public=False, node="CloneBackward0")
def at_least(input, /, low):
    """The larger of `input` and a number; its gradient passes unchanged, as torch lets it here."""
    return np.maximum(input, input.dtype.type(low))


@at_least.vjp
def _(g):
    return g * 1


@composite(functional=True)
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim`.

    Args:
        x2: a tensor, broadcast against `x1`.
    Shape: (*), (*) -> (*) without `dim`
    Raises:
        RuntimeError: the shapes do not broadcast, as in `cosine_similarity(ones(1, 2), ones(1, 3))`.

    >>> cosine_similarity(tensor([[1.0, 0.0]]), tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    shape = broadcast_shapes(x1._array.shape, x2._array.shape)
    x1, x2 = (t if t._array.shape == shape else t.expand(shape) for t in (x1, x2))  # else a view: see `Op.keeps`
    kind = dtypes.promote_types(x1.dtype, x2.dtype)
    if not kind.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {type_word(kind)}")
    x1, x2 = (
        t if t.dtype.is_floating_point else t.to(kind) for t in (x1, x2)
    )  # each in the type that it has, as in torch
    a, b = (at_least(t.norm(2, dim, True), eps) for t in (x1, x2))
    return ((x1 / a) * (x2 / b)).sum(dim)


@composite(functional=True)
def pdist(input, p=2.0):
    """The p-norm distances of all pairs of rows: of 0 and 1, 0 and 2, ..., 1 and 2, ...

    Shape: (N, M) -> (N (N - 1) / 2)
    Raises:
        RuntimeError: `input` is not a matrix, as in `pdist(ones(2))`.

    >>> pdist(tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if input._array.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input._array.ndim}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if input.dtype.itemsize == 2:
        raise not_implemented("pdist", input._array.dtype)
    i, j = on_device_of(input._array, np.triu_indices, input._array.shape[0], 1)
    difference = input[constant(i)] - input[constant(j)]
    if p == 0:  # how many differ; nan stays, and the gradient is 0
        return shown_as(difference.abs().ceil().clamp_max(1).sum(1), "PdistBackward0")
    return shown_as(difference.norm(float(p), 1), "PdistBackward0")


@composite()
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, reduction="mean"):
    """sum over i != target of max(0, margin - x[target] + x[i])^p / C. Shape: (N, C), (N) -> () or (N)."""
    refuse_history("multi_margin_loss", weight=weight)
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {type_word(input.dtype)} but found {type_word(weight.dtype)}")
    # whose gradient is C-contiguous, as torch's
    x = input.contiguous() if input._array.ndim == 2 else input.reshape(1, -1)
    t = target.reshape(-1)
    if x._array.shape[0] != t._array.shape[0] or target._array.ndim > 1:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{x._array.shape[0]}], but got {list(target.shape)}. Input has shape {list(x.shape)}."
        )
    _refuse_types("multi_margin_loss_cpu_kernel", input)
    c = x._array.shape[1]
    bad = t._array[(t._array < 0) | (t._array >= c)]
    if bad.size:
        raise RuntimeError("target out of range")
    exact(margin, x._array.dtype)  # raises where it is too large
    own = t.unsqueeze(1)
    z = margin - x.gather(1, own) + x
    z = where(z > 0, z, 0)  # nan is not above
    z = z if p == 1 else z * z
    if weight is not None:
        z = z * weight[t].unsqueeze(1)
    loss = z.scatter(1, own, 0.0).sum(1) / c
    result = _reduce(loss, reduction) if input._array.ndim == 2 or reduction != "none" else loss.squeeze(0)
    return shown_as(result, "MultiMarginLossBackward0")


@primitive(name="label_sets", public=False, outputs=2, differentiable=False)
def _label_sets(target, /):
    """Rows of labels up to a first -1: the labels (0 after their end), and which pairs (label, class) do not count."""
    alive = np.logical_and.accumulate(target >= 0, axis=1)
    labels = np.where(alive, target, 0)
    is_target = np.zeros(target.shape, bool)
    np.put_along_axis(is_target, labels, False, 1)
    rows = np.broadcast_to(np.arange(len(target))[:, None], target.shape)
    is_target[rows[alive], target[alive]] = True
    return labels, ~alive[:, :, None] | is_target[:, None, :]


def _refuse_types(word, x):
    """Raise torch's error for a kernel that has 32-bit and 64-bit floats only."""
    if x._array.size and lacks("bcih", x._array.dtype):  # without elements torch calls none
        raise not_implemented(word, x._array.dtype)


@composite()
def multilabel_margin_loss(input, target, reduction="mean"):
    """sum over targets j and others i of max(0, 1 - x[j] + x[i]) / C; a row's targets end at its first -1."""
    x = input if input._array.ndim == 2 else input.reshape(1, -1)
    if input._array.ndim > 2 or not input._array.size and input._array.shape[-1:] == (0,):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if target._array.shape != input._array.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _refuse_types("multilabel_margin_loss_forward_out_frame", input)
    if not assert_all((target >= -1) & (target < x._array.shape[1])):
        raise RuntimeError("argument #2 'target' is out of range")
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {type_word(target.dtype)}")
    labels, outside = _label_sets(target.reshape(x.shape))
    z = 1 - x.gather(1, labels).unsqueeze(2) + x.unsqueeze(1)
    z = where(z > 0, z, 0)  # nan is not above
    loss = z.masked_fill(outside, 0).sum((1, 2)) / x._array.shape[1]
    result = _reduce(loss, reduction) if input._array.ndim == 2 or reduction != "none" else loss.squeeze(0)
    return shown_as(result, "MultilabelMarginLossBackward0")
