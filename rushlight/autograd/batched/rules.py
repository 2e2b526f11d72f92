"""How operators take a hidden dimension in front: a rule for each kind of operator, and which kind each one is.

Pointwise operators broadcast; those along dimensions count them one further; those that see their input as a batch in its
first dimension, or as matrices in its last two, see more of them; others are put together from operators that have a rule.
An operator without a rule runs for each example.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from ... import ops
from ...core.dispatch.slow_path import common_type
from ...core.tensor.size import infer_size, shape_from, wrap_dim
from ...core.tensor.tensor import Tensor
from .calls import Call, one_by_one
from .indexing import INDEXING
from .tensor import drawing, reveal

if TYPE_CHECKING:
    from ...core.dispatch.op import Op


__all__ = ["rule_of"]

Rule = Callable[[Call], Any]


def rule_of(record: Op) -> Rule:
    """The rule of an operator."""
    if record.draws:
        return draw
    if record.kind != "general":
        return pointwise
    return RULES.get(record.name, one_by_one)


# ---------------------------------------------------------------------------------------------- broadcasting


def pointwise(this: Call) -> Any:
    """Each element of the result depends on the elements at its place, by broadcasting."""
    rank = max(this.ranks)
    tensors = [this.aligned(i, rank) for i in range(len(this.tensors))]
    kinds = {t.dtype for t in tensors if isinstance(t, Tensor)}
    if len(kinds) > 1 and (this.record.kind != "general" or this.record.promote):
        d = common_type(this.record, this.seen)  # a tensor without dimensions counts less, and has one more here
        tensors = [t.to(d) if isinstance(t, Tensor) else t for t in tensors]
    return this.run(tensors)


def like_first(this: Call) -> Any:
    """As `pointwise`, where the result has the first argument's shape and type."""
    first = this.whole(0)
    others = [this.aligned(i, this.ranks[0]) for i in range(1, len(this.tensors))]
    if this.record.name == "fill" and this.batched[1]:  # the value has to be a number
        return others[0].expand(first.shape).to(first.dtype)
    return this.run([first, *others])


def masked_fill(this: Call) -> Any:
    """Values at the places of a mask. A value for each example is no number, which the operator takes alone."""
    if not this.batched[2]:
        return pointwise(this)
    first, rank = this.tensors[0], max(this.ranks)
    return ops.where(this.aligned(1, rank), this.aligned(2, rank).to(first.dtype), this.aligned(0, rank))


def along_shape(this: Call) -> Any:
    """As `along`, for the gradient of such an operator: `shape` is that of an example, `dim` counts in it."""
    o = this.options()
    rank = len(o["shape"])
    if not rank:
        return one_by_one(this)
    changed = {"shape": (this.size, *o["shape"]), "dim": this.dims(o["dim"], rank)}
    return this.run([this.whole(0), this.whole(1)], this.with_options(**changed))


def _of_rank(t: Any, has: int, rank: int) -> Any:
    return t if has == rank else t.reshape(t.shape[0], *(1,) * (rank - has), *t.shape[1:])


def loss(this: Call) -> Any:
    """A pointwise loss, and then its reduction over the dimensions of an example."""
    reduction = this.options()["reduction"]
    rank = max(this.ranks)
    each = this.run([this.aligned(i, rank) for i in range(len(this.tensors))], this.with_options(reduction="none"))
    if reduction == "none":
        return each
    each = each.reshape(this.size, -1)
    return each.mean(1) if reduction == "mean" else each.sum(1)


def draw(this: Call) -> Any:
    """Random numbers: one draw for the whole batch, or, with randomness="same", one for all examples."""
    mode = this.level.randomness
    if mode == "different":
        return drawing(lambda: this.run([this.whole(i) for i in range(len(this.tensors))]))
    if mode == "same" and this.record.draws == "data":
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with "
            "functorch"
        )
    own = [t.select(0, 0) if b else t for t, b in zip(this.tensors, this.batched, strict=True)]
    first = drawing(lambda: this.run(own))
    return first.unsqueeze(0).expand(this.size, *first.shape)


# ---------------------------------------------------------------------------------------------- dimensions by number

_NAMES = ("dim", "dims", "dim0", "dim1", "dim2", "dimension")


def along(this: Call) -> Any:
    """An operator along dimensions that its metadata names (None: all). Arguments without the hidden dimension get it."""
    tensors = [this.whole(i) for i in range(len(this.tensors))]
    rank = this.ranks[0]
    if not rank:
        _check_dim_of_none(this)
        return _along_one(this, tensors)
    changed = {}
    for name, value in this.options().items():
        if name in _NAMES:
            every = value is None or (value == () and this.record.name not in _LITERAL)
            changed[name] = tuple(range(1, rank + 1)) if every else this.dims(value, rank)
    return this.run(tensors, this.with_options(**changed))


_LITERAL = {"flip", "squeeze.dims"}  # where no dimensions means none


def _check_dim_of_none(this: Call) -> None:
    """Refuse a dimension of examples without dimensions where torch does."""
    if this.record.name in ("select", "flip"):
        named = this.options().get("dim", this.options().get("dims"))
        for dim in (named,) if isinstance(named, int) else named or ():
            wrap_dim(dim + 1 if dim >= 0 else dim, 1)


def _along_one(this: Call, tensors: list[Any]) -> Any:
    """As `along`, for examples without dimensions: they count as vectors of one element."""
    changed = {n: 1 for n in this.options() if n in _NAMES}
    result = this.run([t.unsqueeze(1) for t in tensors], this.with_options(**changed))
    return _each(result, lambda r: r.reshape(this.size))


def _each(result: Any, f: Callable) -> Any:
    if isinstance(result, Tensor):
        return f(result)
    parts = [_each(r, f) for r in result]
    return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)


def _flat(this: Call) -> Any:
    """The examples as vectors."""
    return this.tensors[0].reshape(this.size, prod(this.seen[0].shape))


def whole_example(other: Callable) -> Rule:
    """A reduction of all elements by one along a dimension: `other(t, dim)`."""
    return lambda this: other(_flat(this), 1)


def place_of_extreme(this: Call) -> Any:
    """argmax and argmin, which count through the whole example without `dim`."""
    if this.options()["dim"] is not None:
        return along(this)
    found = this.run([_flat(this)], this.with_options(dim=1, keepdim=False))
    return found.reshape(this.size, *(1,) * this.ranks[0]) if this.options()["keepdim"] else found


def spread(this: Call) -> Any:
    """The gradient of a sum: `shape` is that of an example."""
    o, rank = this.options(), len(this.options()["shape"])
    t = this.whole(0)
    if o["dim"] is None and not this.ranks[0]:
        return t.reshape(this.size, *(1,) * rank).expand(this.size, *o["shape"])
    dims = tuple(range(1, rank + 1)) if o["dim"] is None else this.dims(o["dim"], rank)
    if not rank:
        return t.reshape(this.size)
    return this.run([t], this.with_options(shape=(this.size, *o["shape"]), dim=dims))


def joined(this: Call) -> Any:
    """cat and stack. A vector without elements, which cat leaves out, may have another rank than the others."""
    rank = max(this.ranks) + (this.record.name == "stack")
    kept = [i for i, t in enumerate(this.seen) if this.record.name == "stack" or tuple(t.shape) != (0,) or rank == 1]
    return this.run([this.whole(i) for i in kept], (this.dims(this.options()["dim"], rank),))


# ---------------------------------------------------------------------------------------------- shapes


def by_shape(this: Call) -> Any:
    """view and its like: the new shape is that of an example."""
    shape = infer_size(shape_from(this.options()["shape"]), prod(this.seen[0].shape))
    return this.run(this.tensors, ((this.size, *shape),))


def expand(this: Call) -> Any:
    size = this.options()["size"]
    return this.run([this.aligned(0, max(len(size), this.ranks[0]))], this.with_options(size=(this.size, *size)))


def repeat(this: Call) -> Any:
    repeats = this.options()["repeats"]
    return this.run([this.aligned(0, max(len(repeats), this.ranks[0]))], this.with_options(repeats=(1, *repeats)))


def permute(this: Call) -> Any:
    dims = this.options()["dims"]
    if len(dims) != this.ranks[0]:
        return one_by_one(this)  # raises
    return this.run(this.tensors, ((0, *this.dims(dims, this.ranks[0])),))


def as_strided(this: Call) -> Any:
    """Steps through the memory of each example, counted from its first element as from the first example's."""
    o, t = this.options(), this.tensors[0]
    return this.run([t], this.with_options(size=(this.size, *o["size"]), stride=(t.stride(0), *o["stride"])))


def unsqueeze(this: Call) -> Any:
    return this.run(this.tensors, (this.dims(this.options()["dim"], this.ranks[0] + 1),))


def squeeze(this: Call) -> Any:
    ones = [d for d, n in enumerate(this.tensors[0].shape) if d and n == 1]
    return this.tensors[0].squeeze(tuple(ones)) if ones else this.tensors[0]


def squeeze_dim(this: Call) -> Any:
    return along(this) if this.ranks[0] else this.tensors[0]


def matrix_transpose(this: Call) -> Any:
    return this.tensors[0].transpose(1, 2) if this.ranks[0] == 2 else this.tensors[0]


def same(this: Call) -> Any:
    """An operator that does not look at the first dimensions."""
    return this.run([this.whole(i) for i in range(len(this.tensors))])


def roll(this: Call) -> Any:
    o = this.options()
    if o["dims"] not in ((), None):
        return along(this)
    t = this.tensors[0]
    return this.run([_flat(this)], this.with_options(dims=(1,))).reshape(t.shape)


def diag_embed(this: Call) -> Any:
    o, rank = this.options(), this.ranks[0] + 1
    changed = {n: this.dims(o[n], rank) for n in ("dim1", "dim2")}
    return this.run(this.tensors, this.with_options(**changed))


# ---------------------------------------------------------------------------------------------- batches and matrices


def merged(this: Call) -> Any:
    """An operator whose arguments are batches: the examples' batches become one. Shape: (size, N, *) -> (size * N, *)"""
    n = next(t.shape[0] for t, r in zip(this.seen, this.ranks, strict=True) if r)
    tensors = [None if t is None else this.whole(i).flatten(0, 1) for i, t in enumerate(this.seen)]
    return _each(this.run(tensors), lambda r: r.unflatten(0, (this.size, n)))


def merged_first(this: Call) -> Any:
    """As `merged`, where only the first argument is a batch and the others are shared."""
    if any(this.batched[1:]):
        return one_by_one(this)
    n = this.seen[0].shape[0]
    result = this.run([this.tensors[0].flatten(0, 1), *this.tensors[1:]])
    return _each(result, lambda r: r.unflatten(0, (this.size, n)))


def matmul(this: Call) -> Any:
    """Products in which a vector is a row on the left and a column on the right; matrices are in the last two axes."""
    x, y = this.tensors
    n, m = this.ranks
    if this.batched[0] and not this.batched[1] and m <= 2 and n:
        return ops.matmul(x, y)  # (size, *, k) by a vector or a matrix: rows
    x = x.unsqueeze(-2) if n == 1 else x
    y = y.unsqueeze(-1) if m == 1 else y
    rank = max(n, m, 2)
    x, y = (_of_rank(t, max(r, 2), rank) if b else t for t, r, b in zip((x, y), (n, m), this.batched, strict=True))
    out = ops.matmul(x, y)
    out = out.squeeze(-1) if m == 1 else out
    return out.squeeze(-1 if m == 1 else -2) if n == 1 else out


def by_vectors(this: Call) -> Any:
    """The dot product."""
    x, y = (this.aligned(i, 1) for i in range(2))
    x = x.conj_physical() if this.record.name == "vdot" and x.is_complex() else x
    return ops.matmul(x.unsqueeze(-2), y.unsqueeze(-1)).squeeze(-1).squeeze(-1)


def linear(this: Call) -> Any:
    """The affine map: one product where its weights are shared."""
    x, weight, bias = this.tensors
    if not any(this.batched[1:]):
        return ops.linear(x, weight, bias)  # type: ignore[attr-defined]
    seen_x, seen_weight, seen_bias = this.seen
    product = seen_x @ seen_weight.transpose(0, 1)
    return reveal(product if seen_bias is None else product + seen_bias, this.level)


def of_operators(f: Callable) -> Rule:
    """An operator as others would do it, on the tensors as the program sees them."""
    return lambda this: _each(f(*this.seen, *this.metadata), lambda t: reveal(t, this.level))


def layer_norm(this: Call) -> Any:
    _, weight, bias = this.tensors
    if not any(this.batched[1:]):
        return this.run(this.tensors)
    rank = this.ranks[0]
    plain = this.run([this.whole(0), None, None])
    plain = plain if weight is None else plain * this.aligned(1, rank)
    return plain if bias is None else plain + this.aligned(2, rank)


def embedding(this: Call) -> Any:
    """Rows of a table. Tables of their own are put below each other, and the indices moved on."""
    weight, input = this.tensors
    o = this.options()
    if not this.batched[0]:
        return this.run([weight, input])
    padding = o["padding_idx"]
    if o["scale_grad_by_freq"] or (padding is not None and padding >= 0):
        return one_by_one(this)
    n = weight.shape[1]
    start = ops.arange(this.size).reshape(-1, *(1,) * this.ranks[1]) * n  # type: ignore[attr-defined]
    return this.run([weight.flatten(0, 1), input + start])


def convolution(this: Call) -> Any:
    """Images of all examples as one batch; with filters of its own each example is a group of channels."""
    x, weight, bias = this.tensors
    if not any(this.batched[1:]):
        n = x.shape[1]
        return this.run([x.flatten(0, 1), weight, bias]).unflatten(0, (this.size, n))
    x, weight, k = this.whole(0), this.whole(1), this.seen[1].shape[0]
    bias = None if bias is None else this.whole(2).flatten()
    groups = this.options()["groups"]
    x = x.transpose(0, 1).flatten(1, 2)  # (N, size * C, *)
    out = this.run([x, weight.flatten(0, 1), bias], this.with_options(groups=groups * this.size))
    return out.unflatten(1, (this.size, k)).transpose(0, 1)


def attention(this: Call) -> Any:
    """Attention of queries, keys and values with any dimensions in front; a mask is broadcast to the weights."""
    rank = max(this.ranks)
    if any(r != rank for r in this.ranks[:3]):
        return one_by_one(this)
    return this.run([*[this.whole(i) for i in range(3)], this.aligned(3, rank)])


def nll_loss(this: Call) -> Any:
    """The losses of all rows at once; a mean divides by the example's own sum of weights."""
    x, target, weight = this.tensors
    o = this.options()
    if this.batched[2]:
        return one_by_one(this)
    x, target, lead = this.whole(0), this.whole(1), this.seen[1].shape
    rows = x.reshape(-1, x.shape[-1]) if this.ranks[0] < 3 else x.flatten(0, 1)
    targets = target.reshape(-1) if this.ranks[0] < 3 else target.flatten(0, 1)
    each = this.run([rows, targets, weight], this.with_options(reduction="none")).reshape(this.size, -1)
    if o["reduction"] == "none":
        return each.reshape(this.size, *lead)
    if o["reduction"] == "sum":
        return each.sum(1)
    counted = target.reshape(this.size, -1) != o["ignore_index"]
    if weight is None:
        share = counted.to(each.dtype)
    else:
        share = weight[target.reshape(this.size, -1).where(counted, 0)] * counted
    return each.sum(1) / share.sum(1)


def _refused(this: Call) -> Any:
    if not this.batched[-1]:
        return one_by_one(this)  # a mask that all examples share
    raise RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"aten::{this.record.name}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
        "feature."
    )


# ---------------------------------------------------------------------------------------------- which rule


def _table(rule: Rule, names: str) -> dict[str, Rule]:
    return dict.fromkeys(names.split(), rule)


RULES: dict[str, Rule] = {
    **_table(
        pointwise,
        "where clamp clamp.tensor nan_to_num heaviside lerp.scalar lerp.tensor addcmul addcdiv pow.scalar pow.base "
        "threshold hardtanh elu celu hardsigmoid hardswish hardshrink softshrink gelu gelu_backward silu leaky_relu "
        "leaky_relu_backward cut isclose round round.decimals logit polygamma mish softplus softplus_backward log_sigmoid log_sigmoid_backward frexp conj "
        "prelu_kernel real imag _to_copy clamp_min clamp_max masked_fill.number zero_where zeros_of zero rrelu_with_noise",
    ),
    **_table(like_first, "copy fill"),
    **_table(loss, "mse_loss smooth_l1_loss huber_loss soft_margin_loss binary_cross_entropy "
             "binary_cross_entropy_with_logits"),
    **_table(
        along,
        "sum.dim nansum mean.dim any all var std var_mean std_mean linalg_vector_norm logsumexp prod.dim amax amin aminmax "
        "max.dim min.dim cummin cummax cumsum cumprod logcumsumexp softmax softmax_backward log_softmax "
        "log_softmax_backward count_nonzero sort argsort topk kthvalue median.dim nanmedian.dim mode glu joined shifted "
        "transpose squeeze.dims diagonal unfold unbind split split_with_sizes select slice flip rot90 gather "
        "scatter scatter.value scatter_add scatter_reduce take_along scan _fft_c2c _fft_r2c _fft_c2r",
    ),
    **_table(squeeze_dim, "squeeze.dim"),
    **_table(place_of_extreme, "argmax argmin"),
    **_table(joined, "cat stack"),
    **_table(by_shape, "view _unsafe_view"),
    **_table(
        same,
        "view.dtype view_as_real view_as_complex tril triu constant_pad_nd linalg_det linalg_slogdet linalg_qr "
        "linalg_cholesky_ex linalg_svd linalg_eigh linalg_eig linalg_eigvals linalg_inv_ex linalg_matrix_exp linalg_pinv "
        "linalg_lu_factor_ex linalg_lu clone pixel_shuffle pixel_unshuffle",
    ),
    **_table(
        merged,
        "max_pool2d max_pool3d avg_pool2d avg_pool3d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d "
        "adaptive_max_pool3d max_pool.values max_pool.take max_pool.backward avg_pool.backward adaptive_avg_pool.backward "
        "grid_sampler_2d grid_sampler_3d "
        "channel_shuffle bmm",
    ),
    **_table(merged_first, "native_group_norm"),
    **_table(matmul, "mm mv matmul matmul.vector_matrix"),
    **_table(by_vectors, "dot vdot"),
    **_table(linear, "linear linear.plain linear.nd linear.nd_plain linear.vector"),
    **_table(_refused, "nonzero masked_select unique2 unique_dim unique_consecutive"),
    **INDEXING,
    "max": whole_example(lambda t, d: t.amax(d)),
    "min": whole_example(lambda t, d: t.amin(d)),
    "sum": whole_example(lambda t, d: t.sum(d)),
    "mean": whole_example(lambda t, d: t.mean(d)),
    "prod": lambda this: _flat(this).prod(1, dtype=this.options()["dtype"]),
    "median": whole_example(lambda t, d: t.median(d)[0]),
    "spread": spread,
    "expand": expand,
    "repeat": repeat,
    "masked_fill": masked_fill,
    "put_along": along_shape,
    "add_along": along_shape,
    "permute": permute,
    "as_strided": as_strided,
    "unsqueeze": unsqueeze,
    "squeeze": squeeze,
    "t": matrix_transpose,
    "roll": roll,
    "diag_embed": diag_embed,
    "native_layer_norm": layer_norm,
    "embedding": embedding,
    "convolution": convolution,
    "nll_loss": nll_loss,
    "scaled_dot_product_attention": attention,
    "outer": of_operators(lambda x, y: x.unsqueeze(1) * y.unsqueeze(0)),
    "gram": of_operators(lambda x, y: x.reshape(-1, x.shape[-1]).transpose(0, 1) @ y.reshape(-1, y.shape[-1])),
    "column_sums": of_operators(lambda x: x.reshape(-1, x.shape[-1]).sum(0)),
    "channel_sums": of_operators(lambda x: x.sum((0, *range(2, x.dim())))),
    "trace": of_operators(lambda x: x.diagonal().sum()),
    "addmm": of_operators(lambda c, x, y, beta, alpha: _scaled(c, beta) + _scaled(x @ y, alpha)),
    "addmv": of_operators(lambda c, x, y, beta, alpha: _scaled(c, beta) + _scaled(x @ y, alpha)),
    "baddbmm": of_operators(lambda c, x, y, beta, alpha: _scaled(c, beta) + _scaled(x @ y, alpha)),
    "addbmm": of_operators(lambda c, x, y, beta, alpha: _scaled(c, beta) + _scaled((x @ y).sum(0), alpha)),
    "addr": of_operators(lambda c, x, y, beta, alpha: _scaled(c, beta) + _scaled(ops.outer(x, y), alpha)),
}  # fmt: skip


def _scaled(t: Any, factor: Any) -> Any:
    return t if factor == 1 else t * factor
