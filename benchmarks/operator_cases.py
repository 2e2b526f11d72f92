"""The operators that programs use most, on 64, 10,000 and 1,000,000 elements, forward and with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

SIZES = {64: (8, 8), 10_000: (100, 100), 1_000_000: (1000, 1000)}
_IMAGES = {64: (1, 1, 8, 8), 10_000: (2, 8, 25, 25), 1_000_000: (4, 16, 125, 125)}
_BATCHES = {64: (1, 8, 8), 10_000: (4, 50, 50), 1_000_000: (16, 250, 250)}


class Operands:
    """The tensors that cases of one size take, made on first use: `x` and `y` are matrices, `v` has one dimension."""

    def __init__(self, torch: Any, size: int):
        self.torch, self.size = torch, size
        self.rows, self.columns = SIZES[size]
        self.of_images, self.of_batches = _IMAGES[size], _BATCHES[size]
        self._made: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._made:
            self.torch.manual_seed(1)
            self._made[name] = _OPERANDS[name](self.torch, self)
        return self._made[name]


_OPERANDS: dict[str, Callable[[Any, Any], Any]] = {
    "x": lambda T, o: T.rand(o.rows, o.columns) + 0.5,
    "y": lambda T, o: T.rand(o.rows, o.columns) + 0.5,
    "z": lambda T, o: T.randn(o.rows, o.columns),
    "v": lambda T, o: T.randn(o.size),
    "row": lambda T, o: T.rand(o.columns) + 0.5,
    "column": lambda T, o: T.rand(o.rows, 1) + 0.5,
    "unit": lambda T, o: T.rand(o.rows, o.columns) * 0.8 + 0.1,
    "scratch": lambda T, o: T.rand(o.rows, o.columns) + 0.5,
    "d": lambda T, o: T.rand(o.rows, o.columns).double() + 0.5,
    "h": lambda T, o: T.rand(o.rows, o.columns).bfloat16(),
    "i": lambda T, o: T.randint(1, 100, (o.rows, o.columns)),
    "j": lambda T, o: T.randint(1, 100, (o.rows, o.columns)),
    "b": lambda T, o: T.rand(o.rows, o.columns) > 0.5,
    "c": lambda T, o: T.rand(o.rows, o.columns) > 0.5,
    "far": lambda T, o: T.cat([o.x.flatten(), o.x.flatten()]).view(2 * o.rows, o.columns),
    "labels": lambda T, o: T.randint(0, o.columns, (o.rows,)),
    "places": lambda T, o: T.randint(0, o.rows, (o.rows, o.columns)),
    "spread": lambda T, o: T.randint(0, o.rows, (o.rows, 1)).expand(o.rows, o.columns),
    "flat": lambda T, o: T.randint(0, o.size, (o.size,)),
    "sorted": lambda T, o: T.rand(1000).sort()[0],
    "image": lambda T, o: T.randn(o.of_images),
    "images": lambda T, o: T.rand(o.of_images),
    "grid": lambda T, o: T.rand(o.of_images[0], *o.of_images[2:], 2) * 2 - 1,
    "channels": lambda T, o: T.rand(o.of_images[1]) + 0.5,
    "kernel": lambda T, o: T.randn(8, o.of_images[1], 3, 3),
    "transposed": lambda T, o: T.randn(o.of_images[1], 8, 3, 3),
    "kernel1d": lambda T, o: T.randn(8, o.of_batches[1], 3),
    "batch": lambda T, o: T.randn(o.of_batches),
    "batch2": lambda T, o: T.randn(o.of_batches),
    "few": lambda T, o: T.rand(min(o.rows, 100), 16),
    "square": lambda T, o: T.randn(min(o.rows, 200), min(o.rows, 200)),
    "definite": lambda T, o: o.square @ o.square.mT + T.eye(min(o.rows, 200)) * 200,
    "sparse": lambda T, o: (T.rand(o.rows, o.columns) * (T.rand(o.rows, o.columns) < 0.02)).to_sparse(),
    "weight": lambda T, o: T.randn(o.columns, o.columns),
    "complex": lambda T, o: T.complex(T.randn(o.rows, o.columns), T.randn(o.rows, o.columns)),
    "parts": lambda T, o: list((T.rand(o.rows, o.columns) + 0.5).unbind(0)),
}  # fmt: skip

Case = tuple[Callable[..., Any], str]  # what is called, and the operands that get gradients, by name


def _pointwise() -> Iterator[tuple[str, Callable, str]]:
    for name in [
        "exp",
        "log",
        "log1p",
        "expm1",
        "log2",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
        "tan",
        "tanh",
        "sigmoid",
        "abs",
        "neg",
        "square",
        "reciprocal",
        "erf",
        "lgamma",
        "digamma",
        "atan",
        "sinh",
        "cosh",
        "asinh",
        "floor",
        "ceil",
        "round",
        "sign",
        "trunc",
        "frac",
    ]:
        yield name, lambda T, o, n=name: getattr(T, n)(o.x), "x"
    for name in ("asin", "acos", "erfinv", "logit"):
        yield name, lambda T, o, n=name: getattr(T, n)(o.unit), "unit"
    for name in [
        "relu",
        "relu6",
        "leaky_relu",
        "elu",
        "selu",
        "celu",
        "gelu",
        "silu",
        "mish",
        "softplus",
        "softsign",
        "hardtanh",
        "hardswish",
        "hardsigmoid",
        "logsigmoid",
        "tanhshrink",
    ]:
        yield f"F.{name}", lambda T, o, n=name: getattr(T.nn.functional, n)(o.z), "z"
    for name in ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "atan2", "fmod", "remainder", "hypot"]:
        yield name, lambda T, o, n=name: getattr(T, n)(o.x, o.y), "x y"
    yield "floor_divide", lambda T, o: T.floor_divide(o.x, o.y), ""
    for name in ["eq", "ne", "lt", "le", "gt", "ge", "isclose"]:
        yield name, lambda T, o, n=name: getattr(T, n)(o.x, o.y), ""
    for name in ["logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or"]:
        yield name, lambda T, o, n=name: getattr(T, n)(o.b, o.c), ""
    for name in ["isnan", "isinf", "isfinite", "logical_not"]:
        yield name, lambda T, o, n=name: getattr(T, n)(o.x), ""
    yield "add int64", lambda T, o: o.i + o.j, ""
    yield "div int64", lambda T, o: o.i // o.j, ""
    yield "remainder int64", lambda T, o: o.i % o.j, ""
    yield "add float64", lambda T, o: o.d + o.d, "d"
    yield "add bfloat16", lambda T, o: o.h + o.h, "h"
    yield "add scalar", lambda T, o: o.x + 1.5, "x"
    yield "mul scalar", lambda T, o: o.x * 1.5, "x"
    yield "pow 2", lambda T, o: o.x**2, "x"
    yield "pow 0.5", lambda T, o: o.x**0.5, "x"
    yield "add row", lambda T, o: o.x + o.row, "x row"
    yield "mul column", lambda T, o: o.x * o.column, "x column"
    yield "clamp", lambda T, o: o.z.clamp(-1, 1), "z"
    yield "lerp", lambda T, o: T.lerp(o.x, o.y, 0.3), "x y"
    yield "addcmul", lambda T, o: T.addcmul(o.x, o.y, o.z, value=0.5), "x y z"
    yield "addcdiv", lambda T, o: T.addcdiv(o.z, o.x, o.y, value=0.5), "x y z"
    yield "where", lambda T, o: T.where(o.b, o.x, o.y), "x y"
    yield "masked_fill", lambda T, o: o.x.masked_fill(o.b, 0.0), "x"
    yield "nan_to_num", lambda T, o: o.x.nan_to_num(), "x"
    yield "xlogy", lambda T, o: T.xlogy(o.x, o.y), "x y"
    yield "logaddexp", lambda T, o: T.logaddexp(o.x, o.y), "x y"
    yield "abs complex", lambda T, o: o.complex.abs(), ""
    yield "mul complex", lambda T, o: o.complex * o.complex, ""


def _in_place() -> Iterator[tuple[str, Callable, str]]:
    yield "add_", lambda T, o: o.scratch.add_(o.x, alpha=1e-9), ""
    yield "mul_", lambda T, o: o.scratch.mul_(1.0), ""
    yield "div_", lambda T, o: o.scratch.div_(1.0), ""
    yield "copy_", lambda T, o: o.scratch.copy_(o.x), ""
    yield "zero_", lambda T, o: o.scratch.zero_(), ""
    yield "fill_", lambda T, o: o.scratch.fill_(1.5), ""
    yield "clamp_", lambda T, o: o.scratch.clamp_(0.1, 2.0), ""
    yield "lerp_", lambda T, o: o.scratch.lerp_(o.x, 0.1), ""
    yield "addcdiv_", lambda T, o: o.scratch.addcdiv_(o.x, o.y, value=1e-9), ""
    yield "masked_fill_", lambda T, o: o.scratch.masked_fill_(o.b, 1.0), ""
    yield "scatter_", lambda T, o: o.scratch.scatter_(0, o.places, 1.0), ""
    yield "scatter_add_", lambda T, o: o.scratch.scatter_add_(0, o.places, o.x), ""
    yield "scatter_add_ expanded", lambda T, o: o.scratch.scatter_add_(0, o.spread, o.x), ""
    yield "scatter_reduce_ mean", lambda T, o: o.scratch.scatter_reduce_(0, o.spread, o.x, "mean"), ""
    yield "scatter_reduce_ amax", lambda T, o: o.scratch.scatter_reduce_(0, o.spread, o.x, "amax"), ""
    yield "index_add_", lambda T, o: o.scratch.index_add_(0, o.spread[:, 0], o.x), ""
    yield "index_copy_", lambda T, o: o.scratch.index_copy_(0, o.spread[:, 0], o.x), ""
    yield "index_fill_", lambda T, o: o.scratch.index_fill_(0, o.spread[:, 0], 1.0), ""
    yield "x[i] = y", lambda T, o: o.scratch.__setitem__(o.spread[:, 0], o.x), ""
    yield "x[mask] = 1", lambda T, o: o.scratch.__setitem__(o.b, 1.0), ""
    yield "_foreach_add_", lambda T, o: T._foreach_add_(o.parts, 1e-9), ""
    yield "_foreach_mul_", lambda T, o: T._foreach_mul_(o.parts, 1.0), ""


def _draws() -> Iterator[tuple[str, Callable, str]]:
    yield "rand", lambda T, o: T.rand(o.rows, o.columns), ""
    yield "randn", lambda T, o: T.randn(o.rows, o.columns), ""
    yield "randint", lambda T, o: T.randint(0, 100, (o.rows, o.columns)), ""
    yield "randperm", lambda T, o: T.randperm(o.size), ""
    yield "rand_like", lambda T, o: T.rand_like(o.x), ""
    yield "randn_like", lambda T, o: T.randn_like(o.x), ""
    yield "normal_", lambda T, o: o.scratch.normal_(0, 0.02), ""
    yield "uniform_", lambda T, o: o.scratch.uniform_(-0.1, 0.1), ""
    yield "exponential_", lambda T, o: o.scratch.exponential_(), ""
    yield "bernoulli", lambda T, o: T.bernoulli(o.unit), ""
    yield "multinomial", lambda T, o: T.multinomial(o.unit, 2), ""
    yield "F.dropout", lambda T, o: T.nn.functional.dropout(o.x, 0.5), "x"
    yield "kaiming_uniform_", lambda T, o: T.nn.init.kaiming_uniform_(o.scratch), ""
    yield "xavier_normal_", lambda T, o: T.nn.init.xavier_normal_(o.scratch), ""
    yield "trunc_normal_", lambda T, o: T.nn.init.trunc_normal_(o.scratch), ""


def _creation() -> Iterator[tuple[str, Callable, str]]:
    yield "zeros", lambda T, o: T.zeros(o.rows, o.columns), ""
    yield "ones", lambda T, o: T.ones(o.rows, o.columns), ""
    yield "full", lambda T, o: T.full((o.rows, o.columns), 1.5), ""
    yield "empty", lambda T, o: T.empty(o.rows, o.columns), ""
    yield "zeros_like", lambda T, o: T.zeros_like(o.x), ""
    yield "ones_like", lambda T, o: T.ones_like(o.x), ""
    yield "arange", lambda T, o: T.arange(o.size), ""
    yield "arange float", lambda T, o: T.arange(0.0, o.size, 1.0), ""
    yield "linspace", lambda T, o: T.linspace(0, 1, o.size), ""
    yield "logspace", lambda T, o: T.logspace(0, 1, o.size), ""
    yield "eye", lambda T, o: T.eye(o.rows), ""
    yield "clone", lambda T, o: o.x.clone(), "x"
    yield "tril", lambda T, o: T.tril(o.x), "x"
    yield "triu", lambda T, o: T.triu(o.x), "x"
    yield "diag", lambda T, o: T.diag(o.row), "row"
    yield "one_hot", lambda T, o: T.nn.functional.one_hot(o.labels, o.columns), ""
    yield "meshgrid", lambda T, o: T.meshgrid(o.row, o.row, indexing="ij"), ""
    yield "to double", lambda T, o: o.x.double(), "x"
    yield "to bfloat16", lambda T, o: o.x.bfloat16(), "x"
    yield "to int64", lambda T, o: o.x.long(), ""
    yield "to float from int64", lambda T, o: o.i.float(), ""
    yield "to float from bool", lambda T, o: o.b.float(), ""


def _reductions() -> Iterator[tuple[str, Callable, str]]:
    for name in ["sum", "mean", "prod", "amax", "amin", "max", "min", "std", "var", "logsumexp", "median", "norm"]:
        if name not in ("logsumexp",):
            yield name, lambda T, o, n=name: getattr(T, n)(o.x), "x"
        dims = (0, 1) if name not in ("prod", "norm", "median") else (1,)
        for dim in dims:
            yield f"{name} dim {dim}", lambda T, o, n=name, d=dim: _first(getattr(o.x, n)(dim=d)), "x"
    for name in ["argmax", "argmin", "any", "all", "count_nonzero"]:
        yield name, lambda T, o, n=name: getattr(T, n)(o.x), ""
    yield "argmax dim 1", lambda T, o: o.x.argmax(1), ""
    yield "any dim 0", lambda T, o: o.b.any(0), ""
    yield "all bool", lambda T, o: o.b.all(), ""
    yield "sum bool", lambda T, o: o.b.sum(), ""
    yield "sum int64", lambda T, o: o.i.sum(), ""
    yield "sum bfloat16", lambda T, o: o.h.sum(), "h"
    yield "cumsum 0", lambda T, o: o.x.cumsum(0), "x"
    yield "cumsum 1", lambda T, o: o.x.cumsum(1), "x"
    yield "cumprod", lambda T, o: o.unit.cumprod(1), "unit"
    yield "cummax", lambda T, o: _first(o.x.cummax(1)), "x"
    yield "logcumsumexp", lambda T, o: o.x.logcumsumexp(1), "x"
    yield "equal", lambda T, o: T.equal(o.x, o.x), ""
    yield "allclose", lambda T, o: T.allclose(o.x, o.x), ""
    yield "norm 1", lambda T, o: o.x.norm(p=1), "x"
    yield "linalg.norm dim", lambda T, o: T.linalg.norm(o.x, dim=1), "x"
    yield "cosine_similarity", lambda T, o: T.nn.functional.cosine_similarity(o.x, o.y), "x y"
    yield "F.normalize", lambda T, o: T.nn.functional.normalize(o.x), "x"
    yield "softmax", lambda T, o: o.z.softmax(1), "z"
    yield "softmax 0", lambda T, o: o.z.softmax(0), "z"
    yield "log_softmax", lambda T, o: o.z.log_softmax(1), "z"


def _order() -> Iterator[tuple[str, Callable, str]]:
    yield "sort", lambda T, o: _first(o.x.sort(1)), "x"
    yield "sort all", lambda T, o: _first(o.v.sort()), "v"
    yield "sort int64", lambda T, o: _first(o.i.sort(1)), ""
    yield "argsort", lambda T, o: o.x.argsort(1), ""
    yield "topk", lambda T, o: _first(o.x.topk(5, 1)), "x"
    yield "topk all", lambda T, o: _first(o.v.topk(5)), "v"
    yield "kthvalue", lambda T, o: _first(o.x.kthvalue(3, 1)), "x"
    yield "unique", lambda T, o: o.i.unique(), ""
    yield "bincount", lambda T, o: T.bincount(o.i.flatten()), ""
    yield "histc", lambda T, o: T.histc(o.x, 20, 0, 2), ""
    yield "searchsorted", lambda T, o: T.searchsorted(o.sorted, o.x), ""
    yield "bucketize", lambda T, o: T.bucketize(o.x, o.sorted), ""
    yield "quantile", lambda T, o: T.quantile(o.x, 0.3, dim=1), "x"
    yield "nonzero", lambda T, o: o.b.nonzero(), ""
    yield "isin", lambda T, o: T.isin(o.i, o.labels[:50]), ""


def _shape() -> Iterator[tuple[str, Callable, str]]:
    yield "cat 0", lambda T, o: T.cat([o.x, o.y]), "x y"
    yield "cat 1", lambda T, o: T.cat([o.x, o.y], 1), "x y"
    yield "stack", lambda T, o: T.stack([o.x, o.y]), "x y"
    yield "stack rows", lambda T, o: T.stack(o.parts), ""
    yield "split", lambda T, o: o.x.split(2), ""
    yield "unbind", lambda T, o: o.x.unbind(0), ""
    yield "t contiguous", lambda T, o: o.x.t().contiguous(), "x"
    yield "permute contiguous", lambda T, o: o.image.permute(0, 2, 3, 1).contiguous(), "image"
    yield "view", lambda T, o: o.x.view(-1), "x"
    yield "expand sum", lambda T, o: o.row.expand(o.rows, o.columns).sum(0), "row"
    yield "repeat", lambda T, o: o.row.repeat(o.rows, 1), "row"
    yield "tile", lambda T, o: o.row.tile(o.rows), "row"
    yield "repeat_interleave", lambda T, o: o.row.repeat_interleave(4), "row"
    yield "flip", lambda T, o: o.x.flip(1), "x"
    yield "roll", lambda T, o: o.x.roll(1, 1), "x"
    yield "rot90", lambda T, o: o.x.rot90(), "x"
    yield "F.pad", lambda T, o: T.nn.functional.pad(o.x, (1, 1, 1, 1)), "x"
    yield "F.pad reflect", lambda T, o: T.nn.functional.pad(o.image, (1, 1, 1, 1), "reflect"), "image"
    yield "gather", lambda T, o: o.x.gather(0, o.places), "x"
    yield "gather 1", lambda T, o: o.x.gather(1, o.labels[:, None]), "x"
    yield "index_select", lambda T, o: o.x.index_select(0, o.spread[:, 0]), "x"
    yield "x[i]", lambda T, o: o.x[o.spread[:, 0]], "x"
    yield "x[:, i]", lambda T, o: o.x[:, o.labels], "x"
    yield "x[i, j]", lambda T, o: o.x[o.places, o.places], "x"
    yield "x[mask]", lambda T, o: o.x[o.b], "x"
    yield "x[1:, ::2]", lambda T, o: o.x[1:, ::2], "x"
    yield "take", lambda T, o: o.x.take(o.flat), "x"
    yield "masked_select", lambda T, o: o.x.masked_select(o.b), "x"
    yield "scatter", lambda T, o: o.x.scatter(0, o.places, o.y), "x y"
    yield "F.embedding", lambda T, o: T.nn.functional.embedding(o.labels, o.x), "x"
    yield "F.unfold", lambda T, o: T.nn.functional.unfold(o.image, 3, padding=1), "image"
    yield "diff", lambda T, o: o.x.diff(), "x"
    yield "tolist", lambda T, o: o.row.tolist(), ""


def _products() -> Iterator[tuple[str, Callable, str]]:
    yield "mm", lambda T, o: T.mm(o.x, o.y), "x y"
    yield "mm transposed", lambda T, o: o.x @ o.y.t(), "x y"
    yield "mv", lambda T, o: T.mv(o.x, o.row), "x row"
    yield "dot", lambda T, o: T.dot(o.v, o.v), "v"
    yield "outer", lambda T, o: T.outer(o.row, o.row), "row"
    yield "bmm", lambda T, o: T.bmm(o.batch, o.batch2), "batch batch2"
    yield "addmm", lambda T, o: T.addmm(o.row, o.x, o.y), "row x y"
    yield "F.linear", lambda T, o: T.nn.functional.linear(o.x, o.weight, o.row), "x weight row"
    yield "einsum", lambda T, o: T.einsum("bij,bkj->bik", o.batch, o.batch2), "batch batch2"
    yield "cdist", lambda T, o: T.cdist(o.few, o.few), "few"
    yield "linalg.solve", lambda T, o: T.linalg.solve(o.definite, o.square), "definite square"
    yield "linalg.inv", lambda T, o: T.linalg.inv(o.definite), "definite"
    yield "linalg.det", lambda T, o: T.linalg.det(o.definite / 200), "definite"
    yield "linalg.cholesky", lambda T, o: T.linalg.cholesky(o.definite), "definite"
    yield "linalg.qr", lambda T, o: _first(T.linalg.qr(o.square)), "square"
    yield "linalg.svdvals", lambda T, o: T.linalg.svdvals(o.few), "few"
    yield "fft.rfft", lambda T, o: T.fft.rfft(o.x), ""
    yield "fft.fft2", lambda T, o: T.fft.fft2(o.complex), ""
    yield "sparse.mm", lambda T, o: T.sparse.mm(o.sparse, o.x), ""
    yield "sparse @ sparse", lambda T, o: T.sparse.mm(o.sparse, o.sparse), ""
    yield (
        "attention",
        lambda T, o: T.nn.functional.scaled_dot_product_attention(o.batch, o.batch2, o.batch),
        "batch batch2",
    )
    yield "kron", lambda T, o: T.kron(o.few[:8, :8], o.few[:8, :8]), "few"


def _layers() -> Iterator[tuple[str, Callable, str]]:
    def F(name: str, *fixed: Any, **named: Any) -> Callable:
        return lambda T, o: getattr(T.nn.functional, name)(o.image, *fixed, **named)

    yield "F.conv2d", lambda T, o: T.nn.functional.conv2d(o.image, o.kernel, padding=1), "image kernel"
    yield "F.conv2d stride", lambda T, o: T.nn.functional.conv2d(o.image, o.kernel, stride=2), "image kernel"
    yield "F.conv1d", lambda T, o: T.nn.functional.conv1d(o.batch, o.kernel1d), "batch kernel1d"
    yield (
        "F.conv_transpose2d",
        lambda T, o: T.nn.functional.conv_transpose2d(o.image, o.transposed, stride=2),
        ("image transposed"),
    )
    yield "F.max_pool2d", F("max_pool2d", 2), "image"
    yield "F.avg_pool2d", F("avg_pool2d", 2), "image"
    yield "F.adaptive_avg_pool2d", F("adaptive_avg_pool2d", 1), "image"
    yield "F.interpolate", F("interpolate", scale_factor=2), "image"
    yield "F.interpolate bilinear", F("interpolate", scale_factor=2, mode="bilinear"), "image"
    yield "F.grid_sample", lambda T, o: T.nn.functional.grid_sample(o.image, o.grid, align_corners=False), "image grid"
    yield (
        "F.batch_norm",
        lambda T, o: T.nn.functional.batch_norm(o.image, None, None, o.channels, o.channels, True),
        ("image channels"),
    )
    yield "F.layer_norm", lambda T, o: T.nn.functional.layer_norm(o.x, (o.columns,), o.row, o.row), "x row"
    yield "F.rms_norm", lambda T, o: T.nn.functional.rms_norm(o.x, (o.columns,), o.row), "x row"
    yield "F.group_norm", lambda T, o: T.nn.functional.group_norm(o.image, 1, o.channels, o.channels), "image channels"
    yield "F.instance_norm", lambda T, o: T.nn.functional.instance_norm(o.image), "image"
    yield "F.glu", lambda T, o: T.nn.functional.glu(o.z), "z"
    yield "F.pixel_shuffle", lambda T, o: T.nn.functional.pixel_shuffle(o.x.view(1, 4, o.rows // 2, -1), 2), "x"
    yield "F.cross_entropy", lambda T, o: T.nn.functional.cross_entropy(o.z, o.labels), "z"
    yield "F.nll_loss", lambda T, o: T.nn.functional.nll_loss(o.z, o.labels), "z"
    for name in ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"]:
        yield f"F.{name}", lambda T, o, n=name: getattr(T.nn.functional, n)(o.z, o.unit), "z"
    yield "F.binary_cross_entropy", lambda T, o: T.nn.functional.binary_cross_entropy(o.unit, o.unit.round()), "unit"
    yield "F.kl_div", lambda T, o: T.nn.functional.kl_div(o.z, o.unit, reduction="batchmean"), "z"
    yield "F.ctc_loss", _ctc_loss, "z"
    yield "RNN", lambda T, o: _first(_module(T, o, "RNN")(o.batch)), "batch"
    yield "LSTM", lambda T, o: _first(_module(T, o, "LSTM")(o.batch)), "batch"
    yield "GRU", lambda T, o: _first(_module(T, o, "GRU")(o.batch)), "batch"


def _ctc_loss(T: Any, o: Operands) -> Any:
    lengths = T.full((1,), o.rows), T.full((1,), o.rows // 4)
    scores = o.z.log_softmax(1)[:, None]
    return T.nn.functional.ctc_loss(scores, o.labels[None, : o.rows // 4].clamp(min=1), *lengths)


def _module(T: Any, o: Operands, kind: str) -> Any:
    if kind not in o._made:
        T.manual_seed(1)
        o._made[kind] = getattr(T.nn, kind)(o.of_batches[2], 16, batch_first=True)
    return o._made[kind]


def _first(result: Any) -> Any:
    """Of a named tuple its values."""
    return result[0] if isinstance(result, tuple) else result


FAMILIES = {
    "pointwise": _pointwise, "in place": _in_place, "draws": _draws, "creation": _creation, "reductions": _reductions,
    "order": _order, "shape": _shape, "products": _products, "layers": _layers,
}  # fmt: skip


def names() -> list[tuple[str, str, bool]]:
    """(family, name, whether it has gradients) of each operator."""
    return [(family, name, bool(wrt)) for family, rows in FAMILIES.items() for name, _, wrt in rows()]


class Calls(dict):
    """ "NAME/SIZE" -> one call, "NAME/SIZE+g" -> one with its gradients: made when asked for, only the last size's kept."""

    def __init__(self, torch: Any):
        super().__init__()
        self._torch, self._operands = torch, Operands(torch, 64)
        self._rows = {name: (f, wrt) for rows in FAMILIES.values() for name, f, wrt in rows()}

    def __missing__(self, key: str) -> Callable[[], Any]:
        case, _, end = key.rpartition("/")
        size = int(end.removesuffix("+g"))
        if size != self._operands.size:
            self.clear()
            self._operands = Operands(self._torch, size)
        f, wrt = self._rows[case]
        self[key] = call = self._with_gradients(f, wrt.split()) if end.endswith("+g") else self._forward(f)
        return call

    def _forward(self, f: Callable) -> Callable[[], Any]:
        torch, operands = self._torch, self._operands
        return lambda: f(torch, operands)

    def _with_gradients(self, f: Callable, wrt: list[str]) -> Callable[[], Any]:
        torch, plain = self._torch, self._operands
        operands = Operands(torch, plain.size)
        operands._made = dict(plain._made)
        leaves = [getattr(plain, name).detach().requires_grad_() for name in wrt]
        operands._made.update(zip(wrt, leaves, strict=True))
        weight = torch.ones_like(f(torch, operands).detach())

        def call() -> Any:
            return torch.autograd.grad(f(torch, operands), leaves, weight)

        return call


def cases(torch: Any) -> Calls:
    """The calls of both libraries' processes."""
    return Calls(torch)
