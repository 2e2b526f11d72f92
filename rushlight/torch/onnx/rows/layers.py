"""Products, convolutions, pooling, normalisation, embeddings and attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .... import ops
from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ..graph import UNKNOWN, Builder, CannotExport, Item, plain

__all__ = ["ROWS"]

# ------------------------------------------------------------------------------------------ products


def matmul(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    return g.emit("MatMul", g.name(x), g.name(y))


def linear(g: Builder, out: Tensor, x: Item, weight: Item, bias: Item) -> str:
    if x.value.ndim == 2 and weight.value.ndim == 2:
        more = [] if bias.value is None else [g.name(bias)]
        return g.emit("Gemm", g.name(x), g.name(weight), *more, transB=1)
    name = g.emit("MatMul", g.name(x), g.emit("Transpose", g.name(weight), perm=list(range(weight.value.ndim))[::-1]))
    return name if bias.value is None else g.emit("Add", name, g.name(bias))


def addmm(g: Builder, out: Tensor, x: Item, a: Item, b: Item, beta: Item, alpha: Item) -> str:
    options = {"beta": float(plain(beta)), "alpha": float(plain(alpha))}
    return g.emit("Gemm", g.name(a), g.name(b), g.name(x), **options)


def baddbmm(g: Builder, out: Tensor, x: Item, a: Item, b: Item, beta: Item, alpha: Item) -> str:
    product = g.emit("MatMul", g.name(a), g.name(b))
    product = g.emit("Mul", product, g.name(alpha, out.dtype)) if plain(alpha) != 1 else product
    if plain(beta) == 0:
        return product
    first = g.emit("Mul", g.name(x), g.name(beta, out.dtype)) if plain(beta) != 1 else g.name(x)
    return g.emit("Add", first, product)


def einsum(g: Builder, out: Tensor, equation: Item, operands: Item, *rest: Item) -> str:
    return g.emit("Einsum", *[g.name(o) for o in operands.value], equation=plain(equation).replace(" ", ""))


def bilinear(g: Builder, out: Tensor, x: Item, y: Item, weight: Item, bias: Item) -> str:
    name = g.emit("Einsum", g.name(x), g.name(weight), g.name(y), equation="...n,knm,...m->...k")
    return name if bias.value is None else g.emit("Add", name, g.name(bias))


def outer(g: Builder, out: Tensor, x: Item, y: Item) -> str:
    return g.emit("Mul", g.emit("Unsqueeze", g.name(x), g.constant([1])), g.name(y))


# ------------------------------------------------------------------------------------------ convolution and pooling


def convolution(g: Builder, out: Tensor, x: Item, weight: Item, bias: Item, *options: Item) -> str:
    stride, padding, dilation, transposed, output_padding, groups = [plain(o) for o in options[:6]]
    n = weight.value.ndim - 2
    wide = [list(v) * n if len(v) == 1 else list(v) for v in (stride, padding, dilation, output_padding)]
    name = g.name(x)
    alone = x.value.ndim == n + 1
    if alone:
        name = g.emit("Unsqueeze", name, g.constant([0]))
    more: dict[str, Any] = {"output_padding": wide[3]} if transposed else {}
    inputs = [name, g.name(weight), *([] if bias.value is None else [g.name(bias)])]
    name = g.emit(
        "ConvTranspose" if transposed else "Conv",
        *inputs,
        strides=wide[0],
        pads=wide[1] * 2,
        dilations=wide[2],
        group=groups,
        **more,
    )
    return g.emit("Squeeze", name, g.constant([0])) if alone else name


def conv(n: int, transposed: bool = False) -> Callable:
    """A row of `conv1d` to `conv3d` and of their transposed forms."""

    def row(g: Builder, out: Tensor, x: Item, weight: Item, bias: Item, *o: Item) -> str:
        if transposed:
            stride, padding, output_padding, groups, dilation = o
        else:
            (stride, padding, dilation, groups), output_padding = o, Item([0])
        if isinstance(plain(padding), str):
            raise CannotExport(f"padding={plain(padding)!r}")
        return convolution(g, out, x, weight, bias, stride, padding, dilation, Item(transposed), output_padding, groups)

    return row


def convolution_mode(g: Builder, out: Tensor, x: Item, weight: Item, bias: Item, *options: Item) -> str:
    stride, padding, dilation, groups = options
    n = weight.value.ndim - 2
    if plain(padding) == "valid":
        return convolution(g, out, x, weight, bias, stride, Item([0]), dilation, Item(False), Item([0]), groups)
    total = [d * (k - 1) for d, k in zip(_spread(plain(dilation), n), weight.value.shape[2:], strict=True)]
    zeros = [0, 0]
    pads = [*zeros, *[t // 2 for t in total], *zeros, *[t - t // 2 for t in total]]
    if x.value.ndim == n + 1:
        raise CannotExport("padding='same' of an example without a batch")
    wide = Item(x.value, g.emit("Pad", g.name(x), g.constant(pads)))
    return convolution(g, out, wide, weight, bias, stride, Item([0]), dilation, Item(False), Item([0]), groups)


def _spread(value: Any, n: int) -> list[int]:
    value = [value] if isinstance(value, int) else list(value)
    return value * n if len(value) == 1 else value


def _batched(g: Builder, x: Item, n: int, make: Callable[[str], Any]) -> Any:
    """`make(name)` of a batch; one example alone is a batch of one."""
    if x.value.ndim == n + 2:
        return make(g.name(x))
    made = make(g.emit("Unsqueeze", g.name(x), g.constant([0])))
    names = [g.emit("Squeeze", name, g.constant([0])) for name in (made if isinstance(made, list) else [made])]
    return names if isinstance(made, list) else names[0]


def max_pool(n: int, places: bool = False) -> Callable:
    """A row of `max_pool1d` to `max_pool3d`, with the places or without."""

    def row(g: Builder, out: Any, x: Item, *options: Item) -> Any:
        kernel, stride, padding, dilation = [_spread(plain(o), n) for o in options[:4]]
        if places:
            raise CannotExport("the places of the maxima")
        attributes = {
            "kernel_shape": kernel,
            "strides": stride or kernel,
            "pads": padding * 2,
            "dilations": dilation,
            "ceil_mode": int(plain(options[4])),
        }
        return _batched(g, x, n, lambda name: g.emit("MaxPool", name, **attributes))

    return row


def avg_pool(n: int) -> Callable:
    """A row of `avg_pool1d` to `avg_pool3d`."""

    def row(g: Builder, out: Tensor, x: Item, *options: Item) -> str:
        kernel, stride, padding = [_spread(plain(o), n) for o in options[:3]]
        ceil, include = plain(options[3]), plain(options[4])
        if len(options) > 5 and plain(options[5]) is not None:
            raise CannotExport("divisor_override")
        if ceil and g.opset < 19:
            raise CannotExport("ceil_mode=True before opset 19")
        attributes = {
            "kernel_shape": kernel,
            "strides": stride or kernel,
            "pads": padding * 2,
            "ceil_mode": int(ceil),
            "count_include_pad": int(include),
        }
        return _batched(g, x, n, lambda name: g.emit("AveragePool", name, **attributes))

    return row


def adaptive(n: int, kind: str) -> Callable:
    """A row of adaptive pooling: of everything, of equal windows, or, for means, products with fixed weights."""

    def row(g: Builder, out: Any, x: Item, target: Item) -> Any:
        parts = target.value if target.has_items else [Item(size) for size in _spread(plain(target), n)]
        parts = parts * n if len(parts) == 1 else parts
        name = _adapted(g, out if isinstance(out, Tensor) else out[0], x, n, kind, parts)
        return name if isinstance(out, Tensor) else [name, ""]

    return row


def _adapted(g: Builder, out: Tensor, x: Item, n: int, kind: str, parts: list[Item]) -> str:
    if all(part.is_constant and part.value == 1 for part in parts):
        return _batched(g, x, n, lambda name: g.emit(f"Global{kind}Pool", name))
    dims = range(-n, 0)
    kept = [_is_size_of(part, x, d) for part, d in zip(parts, dims, strict=True)]
    inside = [1 if keep else x.fixed_size(d) for keep, d in zip(kept, dims, strict=True)]
    wanted = [1 if keep else plain(part) for keep, part in zip(kept, parts, strict=True)]
    if all(a % b == 0 for a, b in zip(inside, wanted, strict=True)):
        window = [a // b for a, b in zip(inside, wanted, strict=True)]
        return _batched(g, x, n, lambda name: g.emit(f"{kind}Pool", name, kernel_shape=window, strides=window))
    if kind == "Max":
        raise CannotExport("windows of different sizes")
    name = g.name(x)
    for d, a, b in zip(dims, inside, wanted, strict=True):
        axes = list(range(x.value.ndim))
        axes[d], axes[-1] = axes[-1], axes[d]
        turned = name if d == -1 else g.emit("Transpose", name, perm=axes)
        turned = turned if a == b else g.emit("MatMul", turned, g.constant(_means(a, b), out.dtype))
        name = turned if d == -1 else g.emit("Transpose", turned, perm=axes)
    return name


def _is_size_of(part: Item, x: Item, dim: int) -> bool:
    """Whether a number is a tensor's size in a dimension, which may change."""
    known = part.other is not UNKNOWN and x.other is not UNKNOWN
    return known and not part.is_constant and (part.value, part.other) == (x.value.shape[dim], x.other.shape[dim])


def _means(size: int, target: int) -> Tensor:
    """The weights (size, target) of the mean over each of `target` windows of `size` places."""
    rows = [[0.0] * target for _ in range(size)]
    for j in range(target):
        start, end = j * size // target, -(-(j + 1) * size // target)
        for i in range(start, end):
            rows[i][j] = 1 / (end - start)
    return ops.tensor(rows)


# ------------------------------------------------------------------------------------------ normalisation


def batch_norm(g: Builder, out: Tensor, x: Item, weight: Item, bias: Item, mean: Item, var: Item, *rest: Item) -> str:
    train, _, eps = [plain(o) for o in rest[:3]]
    if train or mean.value is None:
        raise CannotExport("statistics of the batch: call model.eval() first")
    channels = x.value.shape[1]
    ones, zeros = ops.ones(channels, dtype=out.dtype), ops.zeros(channels, dtype=out.dtype)
    parts = [
        g.constant(ones) if weight.value is None else g.name(weight),
        g.constant(zeros) if bias.value is None else g.name(bias),
        g.name(mean),
        g.name(var),
    ]
    return g.emit("BatchNormalization", g.name(x), *parts, epsilon=float(eps))


def layer_norm(g: Builder, out: Tensor, x: Item, shape: Item, weight: Item, bias: Item, eps: Item, *rest: Item) -> str:
    normalized = list(plain(shape))
    scale = g.constant(ops.ones(normalized, dtype=out.dtype)) if weight.value is None else g.name(weight)
    more = [] if bias.value is None else [g.name(bias)]
    return g.emit("LayerNormalization", g.name(x), scale, *more, axis=-len(normalized), epsilon=float(plain(eps)))


def rms_norm(g: Builder, out: Tensor, x: Item, shape: Item, weight: Item, eps: Item) -> str:
    axes = g.constant([-1 - i for i in range(len(plain(shape)))])
    smallest = 2.0**-52 if out.dtype is dtypes.float64 else 2.0**-23
    least = smallest if plain(eps) is None else float(plain(eps))
    name = g.name(x)
    mean = g.emit("ReduceMean", g.emit("Mul", name, name), axes, keepdims=1)
    name = g.emit("Div", name, g.emit("Sqrt", g.emit("Add", mean, g.constant(least, out.dtype))))
    return name if weight.value is None else g.emit("Mul", name, g.name(weight))


def group_norm(g: Builder, out: Tensor, x: Item, groups: Item, weight: Item, bias: Item, eps: Item, *rest: Item) -> str:
    count, channels, n = plain(groups), x.fixed_size(1), x.value.ndim
    shape = g.shape_of(x)
    grouped = g.emit("Reshape", g.name(x), g.constant([0, count, -1]))
    scale, shift = ops.ones(count, dtype=out.dtype), ops.zeros(count, dtype=out.dtype)
    name = g.emit("InstanceNormalization", grouped, g.constant(scale), g.constant(shift), epsilon=float(plain(eps)))
    name = g.emit("Reshape", name, shape)
    wide = [channels, *[1] * (n - 2)]
    for item, kind in ((weight, "Mul"), (bias, "Add")):
        if item.value is not None:
            name = g.emit(kind, name, g.emit("Reshape", g.name(item), g.constant(wide)))
    return name


def instance_norm(
    g: Builder, out: Tensor, x: Item, weight: Item, bias: Item, mean: Item, var: Item, *rest: Item
) -> str:
    if not plain(rest[0]):
        return batch_norm(g, out, x, weight, bias, mean, var, Item(False), *rest[1:])
    channels = x.value.shape[1]
    scale = g.constant(ops.ones(channels, dtype=out.dtype)) if weight.value is None else g.name(weight)
    shift = g.constant(ops.zeros(channels, dtype=out.dtype)) if bias.value is None else g.name(bias)
    return g.emit("InstanceNormalization", g.name(x), scale, shift, epsilon=float(plain(rest[2])))


# ------------------------------------------------------------------------------------------ embeddings and attention


def embedding(g: Builder, out: Tensor, weight: Item, indices: Item, *rest: Item) -> str:
    return g.emit("Gather", g.name(weight), g.name(indices), axis=0)


def attention(
    g: Builder, out: Tensor, q: Item, k: Item, v: Item, mask: Item, p: Item, causal: Item, *rest: Item
) -> str:
    if plain(p):
        raise CannotExport("dropout that trains: call model.eval() first")
    scale, grouped = [plain(o) for o in (*rest, Item(None), Item(False))[:2]]
    if grouped and q.value.shape[-3] != k.value.shape[-3]:
        raise CannotExport("enable_gqa=True")
    kind, n = out.dtype, k.value.ndim
    factor = g.constant(1 / math.sqrt(q.fixed_size(-1)) if scale is None else float(scale), kind)
    turned = g.emit("Transpose", g.name(k), perm=[*range(n - 2), n - 1, n - 2])
    scores = g.emit("MatMul", g.emit("Mul", g.name(q), factor), turned)
    masked = mask.value is not None
    if plain(causal):
        scores = g.emit("Add", scores, _causal(g, q, k, kind))
    elif mask.value is not None and mask.value.dtype is dtypes.bool_:
        scores = g.emit("Where", g.name(mask), scores, g.constant(-math.inf, kind))
    elif mask.value is not None:
        scores = g.emit("Add", scores, g.name(mask))
    weights = g.emit("Softmax", scores, axis=-1)
    if masked:  # a query that may see nothing gets zeros
        most = g.emit("ReduceMax", scores, g.constant([-1]), keepdims=1)
        nothing = g.emit("Equal", most, g.constant(-math.inf, kind))
        weights = g.emit("Where", nothing, g.constant(0.0, kind), weights)
    return g.emit("MatMul", weights, g.name(v))


def _causal(g: Builder, q: Item, k: Item, kind: dtypes.dtype) -> str:
    """0 on and below the diagonal, -inf above."""
    shape = g.emit("Concat", g.size_of(q, -2), g.size_of(k, -2), axis=0)
    return g.emit("Trilu", g.emit("Expand", g.constant(-math.inf, kind), shape), g.constant(1), upper=1)


# ------------------------------------------------------------------------------------------ pixels


def pixel_shuffle(g: Builder, out: Tensor, x: Item, factor: Item) -> str:
    return g.emit("DepthToSpace", g.name(x), blocksize=plain(factor), mode="CRD")


def pixel_unshuffle(g: Builder, out: Tensor, x: Item, factor: Item) -> str:
    """Blocks become channels, the block's place after the channel: ONNX's SpaceToDepth has it before."""
    r, n = plain(factor), x.value.ndim
    channels, name = x.fixed_size(-3), g.name(x)
    if n < 4:
        name = g.emit("Unsqueeze", name, g.constant([0]))
    elif n > 4:
        raise CannotExport("more than four dimensions")
    name = g.emit("SpaceToDepth", name, blocksize=r)
    order = [(i % (r * r)) * channels + i // (r * r) for i in range(channels * r * r)]
    name = g.emit("Gather", name, g.constant(order), axis=1)
    return g.emit("Squeeze", name, g.constant([0])) if n < 4 else name


def channel_shuffle(g: Builder, out: Tensor, x: Item, groups: Item) -> str:
    n, shape = plain(groups), g.shape_of(x)
    name = g.emit("Reshape", g.name(x), g.constant([0, n, x.fixed_size(1) // n, -1]))
    return g.emit("Reshape", g.emit("Transpose", name, perm=[0, 2, 1, 3]), shape)


def glu(g: Builder, out: Tensor, x: Item, dim: Item) -> str:
    a, b = g.several("Split", [g.name(x)], 2, axis=plain(dim), num_outputs=2)
    return g.emit("Mul", a, g.emit("Sigmoid", b))


def grid_sample(g: Builder, out: Tensor, x: Item, grid: Item, mode: Item, pad: Item, align: Item) -> str:
    modes = ("linear", "nearest", "cubic") if g.opset >= 20 else ("bilinear", "nearest", "bicubic")
    pads = ("zeros", "border", "reflection")
    options = {"mode": modes[plain(mode)], "padding_mode": pads[plain(pad)], "align_corners": int(bool(plain(align)))}
    return g.emit("GridSample", g.name(x), g.name(grid), **options)


def cosine_similarity(g: Builder, out: Tensor, x: Item, y: Item, dim: Item, eps: Item) -> str:
    """The product of both divided by their norms, which are at least eps."""
    axis, least = g.constant([plain(dim)]), g.constant(float(plain(eps)), out.dtype)
    a, b = g.name(x, out.dtype), g.name(y, out.dtype)
    unit = [g.emit("Div", v, g.emit("Max", g.emit("ReduceL2", v, axis, keepdims=1), least)) for v in (a, b)]
    return g.emit("ReduceSum", g.emit("Mul", *unit), axis, keepdims=0)


def pairwise_distance(g: Builder, out: Tensor, x: Item, y: Item, p: Item, eps: Item, keep: Item) -> str:
    difference = g.emit("Add", g.emit("Sub", g.name(x), g.name(y)), g.constant(float(plain(eps)), out.dtype))
    if plain(p) not in (1, 2):
        raise CannotExport(f"a norm of order {plain(p)}")
    return g.emit(f"ReduceL{int(plain(p))}", difference, g.constant([-1]), keepdims=int(plain(keep)))


def cdist(g: Builder, out: Tensor, x: Item, y: Item, p: Item, *rest: Item) -> str:
    if plain(p) not in (1, 2):
        raise CannotExport(f"a norm of order {plain(p)}")
    a, b = g.emit("Unsqueeze", g.name(x), g.constant([-2])), g.emit("Unsqueeze", g.name(y), g.constant([-3]))
    return g.emit(f"ReduceL{int(plain(p))}", g.emit("Sub", a, b), g.constant([-1]), keepdims=0)


def affine_grid(g: Builder, out: Tensor, theta: Item, sizes: Item, align: Item) -> str:
    """For each place of an image, with coordinates from -1 to 1, theta times (x, y, 1)."""
    parts = sizes.value if sizes.has_items else [Item(size) for size in sizes.value]
    if len(parts) != 4:
        raise CannotExport("volumes")
    kind = out.dtype
    height, width = g.vector(parts[2]), g.vector(parts[3])
    x, y = _coordinates(g, width, plain(align), kind), _coordinates(g, height, plain(align), kind)
    shape = g.emit("Concat", height, width, g.constant([1]), axis=0)
    x = g.emit("Expand", g.emit("Reshape", x, g.constant([1, -1, 1])), shape)
    y = g.emit("Expand", g.emit("Reshape", y, g.constant([-1, 1, 1])), shape)
    base = g.emit("Concat", x, y, g.emit("Expand", g.constant(1.0, kind), shape), axis=-1)
    points = g.emit(
        "MatMul", g.emit("Reshape", base, g.constant([-1, 3])), g.emit("Transpose", g.name(theta), perm=[0, 2, 1])
    )
    whole = g.emit("Concat", g.size_of(theta, 0), height, width, g.constant([2]), axis=0)
    return g.emit("Reshape", points, whole)


def _coordinates(g: Builder, size: str, align: bool, kind: dtypes.dtype) -> str:
    count = g.emit("Reshape", size, g.constant([], dtypes.int64))
    places = g.cast(g.emit("Range", g.constant(0), count, g.constant(1)), kind)
    two, one = g.constant(2.0, kind), g.constant(1.0, kind)
    if align:
        last = g.emit("Max", g.emit("Sub", g.cast(count, kind), one), one)
        return g.emit("Sub", g.emit("Div", g.emit("Mul", places, two), last), one)
    return g.emit("Sub", g.emit("Div", g.emit("Add", g.emit("Mul", places, two), one), g.cast(count, kind)), one)


def im2col(g: Builder, out: Tensor, x: Item, kernel: Item, dilation: Item, padding: Item, stride: Item) -> str:
    """A convolution whose filters each take one place of one channel."""
    channels, size = x.fixed_size(-3), _spread(plain(kernel), 2)
    each = math.prod(size)
    weight = ops.eye(each, dtype=out.dtype).reshape(each, 1, *size).repeat(channels, 1, 1, 1)
    name = g.name(x) if x.value.ndim == 4 else g.emit("Unsqueeze", g.name(x), g.constant([0]))
    name = g.emit(
        "Conv", name, g.constant(weight), group=channels, strides=_spread(plain(stride), 2),
        pads=_spread(plain(padding), 2) * 2, dilations=_spread(plain(dilation), 2),
    )  # fmt: skip
    name = g.emit("Reshape", name, g.constant([0, channels * each, -1]))
    return name if x.value.ndim == 4 else g.emit("Squeeze", name, g.constant([0]))


def col2im(
    g: Builder, out: Tensor, x: Item, size: Item, kernel: Item, dilation: Item, padding: Item, stride: Item
) -> str:
    if x.value.ndim != 3:
        raise CannotExport("one example without a batch")
    return g.emit(
        "Col2Im", g.name(x), g.sizes(size), g.constant(_spread(plain(kernel), 2)), strides=_spread(plain(stride), 2),
        pads=_spread(plain(padding), 2) * 2, dilations=_spread(plain(dilation), 2),
    )  # fmt: skip


def one_hot(g: Builder, out: Tensor, x: Item, classes: Item) -> str:
    if plain(classes) < 0:
        raise CannotExport("a number of classes that depends on the values")
    return g.emit("OneHot", g.name(x), g.constant([plain(classes)]), g.constant([0, 1]))


ROWS: dict[str, Callable] = {
    "matmul": matmul, "mm": matmul, "bmm": matmul, "mv": matmul, "dot": matmul, "linear": linear, "addmm": addmm,
    "baddbmm": baddbmm, "einsum": einsum, "outer": outer,
    "_convolution": convolution, "convolution": convolution, "_convolution_mode": convolution_mode, "conv1d": conv(1), "conv2d": conv(2), "conv3d": conv(3),
    "conv_transpose1d": conv(1, True), "conv_transpose2d": conv(2, True), "conv_transpose3d": conv(3, True),
    **{f"max_pool{n}d": max_pool(n) for n in (1, 2, 3)}, **{f"avg_pool{n}d": avg_pool(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices": max_pool(n, places=True) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": adaptive(n, "Average") for n in (1, 2, 3)},
    "batch_norm": batch_norm, "layer_norm": layer_norm, "rms_norm": rms_norm, "group_norm": group_norm,
    "instance_norm": instance_norm, "embedding": embedding, "scaled_dot_product_attention": attention,
    "pixel_shuffle": pixel_shuffle, "pixel_unshuffle": pixel_unshuffle,
    **{f"adaptive_max_pool{n}d": adaptive(n, "Max") for n in (1, 2, 3)},
    "affine_grid_generator": affine_grid, "im2col": im2col, "col2im": col2im,
    "cosine_similarity": cosine_similarity, "pairwise_distance": pairwise_distance,
    "bilinear": bilinear, "cdist": cdist, "channel_shuffle": channel_shuffle, "glu": glu, "grid_sampler": grid_sample, "one_hot": one_hot,
}  # fmt: skip
