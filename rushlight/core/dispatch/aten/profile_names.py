"""A call of a kernel as torch's profiler shows it: torch's operators, with the shapes of their arguments.

    shown(record, (x, w, b))  ->  linear [x, w, b]:  t [w],  addmm [b, x, w.t()]

What torch has not is `rushlight::<name>`; a name of torch's always means what torch would have called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .calls import base_name
from .schemas import composite_overloads, overloads

if TYPE_CHECKING:
    from ..op import Op

__all__ = ["Call", "backward_name", "composite_name", "flops_of", "shown"]

Shape = list[int]


class Call(NamedTuple):
    """An operator: its name, the shape of each argument ([] for what is no tensor), and the operators that it calls.

    parts: the last of them does the work. before: called first, for little of the time; then it works itself.
    """

    name: str
    shapes: list[Shape]
    parts: tuple[Call, ...] = ()
    before: tuple[Call, ...] = ()


def shown(record: Op, args: Sequence[Any], writes: bool = False, inner: bool = False) -> tuple[Call, ...]:
    """The operators that torch would call one after the other.

    args: the kernel's. writes: the form that ends in `_`. inner: without those that torch only calls for a program, as in
    the rules of gradients.
    """
    calls = _shown(record, args, writes)
    return tuple(part for call in calls for part in _innermost(call)) if inner else calls


def composite_name(name: str) -> tuple[str, bool]:
    """torch's name of a function that consists of operators, and whether torch's consists of operators, too.

    "": torch has no operator of this name, such as for what it writes in Python.
    """
    name = _COMPOSITES.get(name, name).replace(".", "_")
    if composite_overloads(name) or name in _OF_OTHERS:
        return name, True
    return (name, False) if overloads(name) else ("", True)


def backward_name(node: str) -> str:
    """The one operator that torch calls in a node of this name, such as TanhBackward0; "" where it calls several, or others."""
    return _BACKWARDS.get(node.rstrip("0123456789").removesuffix("Backward").lower(), "")


def _innermost(call: Call) -> list[Call]:
    return [part for p in call.parts for part in _innermost(p)] or [call]


def _shown(record: Op, args: Sequence[Any], writes: bool) -> tuple[Call, ...]:
    rule = _SEVERAL.get(record.name)
    if rule is not None:
        return tuple(_with_inner(call, args) for call in rule([_shape(a) for a in args], args))
    base = _BASES.get(record.name) or ("" if record.name in _OWN else base_name(record))
    if writes and not base.endswith("_"):
        base += "_"
    call: Call | None = _call(base, args) if base.strip("_") else None
    if call is None and record.name not in _BASES:
        return (Call(f"rushlight::{record.name.replace('.', '_')}", _plain_shapes(args)),)
    call = _with_inner(call or Call(f"aten::{base}", _plain_shapes(args)), args)
    for name in _AROUND.get(base, ()):
        call = Call(f"aten::{name}", call.shapes, (call,))
    return (call,)


def _call(base: str, args: Sequence[Any]) -> Call | None:
    """The operator with the shapes of its arguments in torch's order; None where torch has none of this name."""
    found = overloads(base) or overloads(base.removesuffix("_"))
    if not found:
        return None
    given = sum(1 for a in args if hasattr(a, "shape"))
    schema = next((s for s in found if sum(p.type.startswith("Tensor") for p in s.parameters) == given), found[0])
    left, shapes = list(args), []
    for p in schema.parameters:
        takes = p.type in ("Tensor", "Tensor?") and left
        shapes.append(_shape(left.pop(0)) if takes else [])
    return Call(f"aten::{base}", shapes)


def _with_inner(call: Call, args: Sequence[Any]) -> Call:
    """With the calls that torch's operators of this name make, whatever their arguments are."""
    if call.parts:
        return call._replace(parts=tuple(_with_inner(part, args) for part in call.parts))
    name = call.name.removeprefix("aten::")
    if name in _AS_STRIDED:
        return call._replace(parts=(Call("aten::as_strided", call.shapes[:1]),))
    if name in _PARTS:
        return call._replace(parts=(_with_inner(Call(f"aten::{_PARTS[name]}", call.shapes), args),))
    shape = call.shapes[:1]
    if name.removesuffix("_") in _WITH_NUMBERS and sum(hasattr(a, "shape") for a in args[:2]) == 1:
        return call._replace(before=(_converted([]),))
    if name == "addmm" and len(shape[0]) == 1:
        return call._replace(before=(_with_inner(Call("aten::expand", shape), args), Call("aten::copy_", [])))
    if name == "mean" and shape:
        summed = _with_inner(Call("aten::sum", [*shape, [], [], []]), args)
        return call._replace(before=(summed, Call("aten::div_", [[], []], (_converted([]),))))
    if name in ("_to_copy", "clone"):
        return call._replace(parts=(Call("aten::copy_", [*shape, *shape, []]),))
    return call


def _converted(shape: Shape) -> Call:
    copied = Call("aten::_to_copy", [shape], (Call("aten::copy_", [shape, shape, []]),))
    return Call("aten::to", [shape], (copied,))


def _shape(value: Any) -> Shape:
    return [int(n) for n in value.shape] if hasattr(value, "shape") else []


def _plain_shapes(args: Sequence[Any]) -> list[Shape]:
    return [_shape(a) for a in args if hasattr(a, "shape")]


# functions under another name than torch's operator
_COMPOSITES = {
    "cross_entropy": "cross_entropy_loss",
    "nll_loss": "nll_loss_nd",
    "grid_sample": "grid_sampler",
    **dict.fromkeys(
        ("unique", "norm", "stft", "istft", "polar", "complex", "is_contiguous", "get_device", "is_pinned"), ""
    ),
}

# functions that torch, too, makes of operators, besides those of composite.txt
_OF_OTHERS = frozenset(
    [
        "_native_batch_norm_legit_no_training",
        "argsort",
        "batch_norm",
        "binary_cross_entropy_with_logits",
        "cdist",
        "celu",
        "contiguous",
        "conv1d",
        "conv2d",
        "conv3d",
        "cosine_similarity",
        "cross_entropy_loss",
        "ctc_loss",
        "dist",
        "dropout",
        "einsum",
        "embedding",
        "grid_sampler",
        "group_norm",
        "isclose",
        "l1_loss",
        "layer_norm",
        "linalg_eigh",
        "linalg_inv",
        "linalg_norm",
        "linalg_pinv",
        "linalg_solve",
        "linalg_solve_ex",
        "linalg_svd",
        "linear",
        "log_softmax",
        "max_pool2d",
        "max_pool3d",
        "meshgrid",
        "nll_loss_nd",
        "pad",
        "relu",
        "relu6",
        "repeat",
        "reshape",
        "rot90",
        "scaled_dot_product_attention",
        "soft_margin_loss",
        "softmax",
        "split",
        "std_mean",
        "tensordot",
        "to",
        "var_mean",
    ]
)

# what has a backward of its own in torch
_OWN_BACKWARDS = """
    _adaptive_avg_pool2d _adaptive_avg_pool3d _cdist _ctc_loss _embedding_bag _pdist _prelu_kernel
    _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_lanczos2d_aa _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d adaptive_max_pool2d adaptive_max_pool3d avg_pool2d
    avg_pool3d binary_cross_entropy convolution elu fractional_max_pool2d fractional_max_pool3d gelu glu
    grid_sampler_2d grid_sampler_3d hardshrink hardsigmoid hardswish hardtanh huber_loss leaky_relu log_sigmoid
    logit max_pool2d_with_indices max_pool3d_with_indices mish mse_loss multi_margin_loss multilabel_margin_loss
    native_batch_norm native_dropout native_group_norm native_layer_norm nll_loss nll_loss2d reflection_pad1d
    reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d sigmoid silu
    smooth_l1_loss softplus softshrink tanh upsample_bicubic2d upsample_bilinear2d upsample_linear1d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d
"""
_BACKWARDS = {
    **{name.replace("_", ""): f"{name}_backward" for name in _OWN_BACKWARDS.split()},
    "logsoftmax": "_log_softmax_backward_data",
    "relu": "threshold_backward",
    "softmax": "_softmax_backward_data",
}

# torch's names of operators that are not of its own `torch.ops.aten` here, or are called otherwise
_BASES = {
    "complex_of_parts": "complex",
    "ctc_loss.backward": "_ctc_loss_backward",
    "conj_view": "_conj",
    "convolution.weight": "convolution_backward",
    "convolution.weight_and_bias": "convolution_backward",
    "ldexp_of_integers": "ldexp",
    "log_sigmoid": "log_sigmoid_forward",
    "max_pool3d": "max_pool3d_with_indices",
    "neg_view": "_neg_view",
    "nll_loss": "nll_loss_forward",
    "part.alias": "alias",
    "part.select": "select",
    "part.unsqueeze": "unsqueeze",
    "polar": "polar",
    "prelu_kernel": "_prelu_kernel",
    "unsafe_split": "unsafe_split",
    "unsafe_split_with_sizes": "unsafe_split_with_sizes",
    **{f"upsample_nearest_exact{n}d": f"_upsample_nearest_exact{n}d" for n in (1, 2, 3)},
    **{f"upsample_{how}2d_aa": f"_upsample_{how}2d_aa" for how in ("bilinear", "bicubic", "lanczos")},
}

# the names of these before the dot mean something else in torch
_OWN = {"cosine_similarity.at_least", "convolution.input", "pad.backward", "upsample.backward", "lstm_layer.backward"}

# views that torch makes by their strides, and operators that only call another one
_AS_STRIDED = frozenset(
    [
        "diagonal",
        "expand",
        "permute",
        "select",
        "slice",
        "split_with_sizes",
        "squeeze",
        "transpose",
        "unfold",
        "unsqueeze",
    ]
)
_PARTS = {"t": "transpose", "relu": "clamp_min", "relu_": "clamp_min_", "rsub": "sub"}
_WITH_NUMBERS = frozenset(("add", "sub", "mul", "div"))  # numbers become tensors of the result's type

# what torch calls to come to the operator, the nearest first
_AROUND = {
    "_to_copy": ("to",),
    "_local_scalar_dense": ("item",),
    "_softmax": ("softmax",),
    "_log_softmax": ("log_softmax",),
    "max_pool2d_with_indices": ("max_pool2d",),
    "max_pool3d_with_indices": ("max_pool3d",),
    "native_layer_norm": ("layer_norm",),
    "native_group_norm": ("group_norm",),
    "native_batch_norm": ("_batch_norm_impl_index", "batch_norm"),
    "nll_loss_forward": ("nll_loss", "nll_loss_nd"),
    "grid_sampler_2d": ("grid_sampler",),
    "grid_sampler_3d": ("grid_sampler",),
    "_prelu_kernel": ("prelu",),
    "linalg_solve_ex": ("linalg_solve",),
    "log_sigmoid_forward": ("log_sigmoid",),
}

# ---------------------------------------------------------------------------------------------- one that is several


def _turned(shape: Shape) -> Shape:
    return shape[:-2] + shape[:-3:-1]


def _t(shape: Shape) -> Call:
    return Call("aten::t", [shape])


def _mm(a: Shape, b: Shape) -> Call:
    return Call("aten::mm", [a, b])


def _rows(shape: Shape) -> Shape:
    """Of the matrix with all leading dimensions as one."""
    return [prod(shape[:-1]), shape[-1]]


def _linear(shapes: list[Shape], args: Sequence[Any]) -> tuple[Call, ...]:
    x, w = shapes[:2]
    bias = shapes[2:3] if len(args) > 2 and args[2] is not None else []
    if bias and (len(x) == 2 or len(x) > 2 and args[0].flags.c_contiguous):
        inner = Call("aten::addmm", [bias[0], _rows(x), _turned(w), [], []])
    elif bias and len(x) > 2:
        inner = Call("aten::matmul", [x, _turned(w)], (_mm(_rows(x), _turned(w)),))
        return (Call("aten::linear", [x, w, *bias], (_t(w), Call("aten::add_", [x[:-1] + w[:1], *bias, []]), inner)),)
    elif len(x) == 1:
        inner = Call("aten::matmul", [x, _turned(w)], (Call("aten::mv", [w, x]),))
        if bias:
            return (Call("aten::linear", [x, w, *bias], (_t(w), inner)),)
    else:
        inner = Call("aten::matmul", [x, _turned(w)], (_mm(_rows(x), _turned(w)),))
    return (Call("aten::linear", [x, w, *(bias or [[]])], (_t(w), inner)),)


def _matmul(shapes: list[Shape], args: Sequence[Any]) -> tuple[Call, ...]:
    a, b = shapes[:2]
    if len(a) == 1:
        inner = Call("aten::mv", [_turned(b), a]) if len(b) == 2 else None
    elif len(b) <= 2:
        inner = Call("aten::mv", [_rows(a), b]) if len(b) == 1 else _mm(_rows(a), b)
    else:
        inner = None
    if inner is None:
        batch = _batch(a, b)
        inner = Call("aten::bmm", [[batch, *a[-2:]] if len(a) > 1 else [batch, 1, *a], [batch, *b[-2:]]])
    return (Call("aten::matmul", [a, b], (inner,)),)


def _batch(a: Shape, b: Shape) -> int:
    n = 1
    for i in range(1, max(len(a), len(b)) - 1):
        sizes = [s[-2 - i] for s in (a, b) if len(s) >= 2 + i]
        n *= max(sizes, default=1) if 0 not in sizes else 0
    return n


def _convolution(shapes: list[Shape], args: Sequence[Any]) -> tuple[Call, ...]:
    given = [shapes[i] if i < len(shapes) else [] for i in range(3)]
    n = len(shapes[1]) - 2
    x, w = given[:2]
    pays = (
        x[:1] > [1] or x[1:2] > w[1:2] or n == 2 and min(w[2:]) > 3 or prod(x[:4]) > 20480
    )  # torch's condition for oneDNN
    is_single = args[0].dtype == np.float32
    mkldnn = (Call("aten::mkldnn_convolution", [*given, *[[]] * 4]),) if pays and is_single else ()
    inner = Call("aten::_convolution", [*given, *[[]] * 10], mkldnn)
    return (Call(f"aten::conv{n}d", [*given, *[[]] * 4], (Call("aten::convolution", [*given, *[[]] * 6], (inner,)),)),)


def _max_pool(shapes: list[Shape], args: Sequence[Any]) -> tuple[Call, ...]:
    n, given = len(shapes[0]) - 2, [shapes[0], *[[]] * 5]
    return (Call(f"aten::max_pool{n}d", given, (Call(f"aten::max_pool{n}d_with_indices", given),)),)


def _of_images(name: str, others: int) -> Callable[[list[Shape], Sequence[Any]], tuple[Call, ...]]:
    """A backward of an operator that has another name for each number of dimensions; `others`: arguments that are no tensors."""

    def rule(shapes: list[Shape], args: Sequence[Any]) -> tuple[Call, ...]:
        n = max(map(len, shapes)) - 2
        given = [s for s, a in zip(shapes, args, strict=True) if hasattr(a, "shape")]
        return (Call(f"aten::{name.format(n)}", [*given[:2], *[[]] * others, *given[2:]]),)

    return rule


def _part(shapes: list[Shape], args: Sequence[Any]) -> tuple[Call, ...]:
    """x[index] of numbers, slices, None and an ellipsis."""
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    names = {int: "select", slice: "slice", type(None): "unsqueeze"}
    calls = [Call(f"aten::{names[type(i)]}", [shapes[0]]) for i in index if type(i) in names and i != slice(None)]
    return tuple(calls) or (Call("aten::alias", [shapes[0]]),)


def _one(name: str, *more: Shape) -> Callable[[list[Shape], Sequence[Any]], tuple[Call, ...]]:
    return lambda shapes, args: (Call(f"aten::{name}", [shapes[0], *more]),)


_SEVERAL: dict[str, Callable[[list[Shape], Sequence[Any]], tuple[Call, ...]]] = {
    **dict.fromkeys(("linear", "linear.nd", "linear.plain", "linear.nd_plain", "linear.vector"), _linear),
    **dict.fromkeys(("matmul", "matmul.vector_matrix"), _matmul),
    "gram": lambda shapes, args: (_t(shapes[0]), _mm(_turned(shapes[0]), shapes[1])),
    "column_sums": _one("sum", [], [], []),
    "channel_sums": _one("sum", [], [], []),
    "spread": _one("expand", [], []),
    "spread_view": _one("expand", [], []),
    "zero_where": lambda shapes, args: (Call("aten::masked_fill", [*shapes[:2], []]),),
    "_dropout_mask": _one("bernoulli_", [], []),
    "convolution": _convolution,
    "part": _part,
    "max_pool.values": _max_pool,
    "max_pool.backward": _of_images("max_pool{}d_with_indices_backward", 5),
    "avg_pool.backward": _of_images("avg_pool{}d_backward", 6),
    "adaptive_avg_pool.backward": _of_images("_adaptive_avg_pool{}d_backward", 0),
    "adaptive_max_pool.backward": _of_images("adaptive_max_pool{}d_backward", 0),
    "grid_sampler.backward": _of_images("grid_sampler_{}d_backward", 4),
    "joined": lambda shapes, args: (Call("aten::cat", [[], []]),),
}

# ---------------------------------------------------------------------------------------------- floating-point operations


def flops_of(call: Call, result: Any) -> int:
    """The floating-point operations that torch's profiler counts: of products of matrices, convolutions of images, and sums and
    products of elements. 0 for every other operator, as in torch. result: the array that the call gave."""
    shapes = call.shapes
    match call.name:
        case "aten::mm":
            return 2 * prod(shapes[0]) * shapes[1][1]
        case "aten::addmm":
            return 2 * prod(shapes[1]) * shapes[2][1]
        case "aten::bmm":
            return 2 * prod(shapes[0]) * shapes[1][2]
        case "aten::baddbmm":
            return 2 * prod(shapes[1]) * shapes[2][2]
        case "aten::conv2d":
            return 2 * prod(result.shape) * prod(shapes[1][1:])
        case "aten::mul" | "aten::add":
            return prod(shapes[0])
    return 0
