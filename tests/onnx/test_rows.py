"""Exported networks give, under ONNX Runtime, what they give here: a case for each group of rows, and whole networks."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.utils import _pytree as pytree

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


class Called(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def sample(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def compare(model, args, *others, shapes=None, opset=18, tolerance=1e-5):
    """Export for `args`; ONNX Runtime's results for these and for `others` are the model's."""
    model.eval()
    program = torch.onnx.export(model, args, dynamic_shapes=shapes, opset_version=opset)
    onnx.checker.check_model(program.model_proto, full_check=True)
    for given in (args, *others):
        with torch.no_grad():
            expected = [t for t in pytree.tree_leaves(model(*given)) if isinstance(t, torch.Tensor)]
        found = program(*given)
        assert len(found) == len(expected)
        for ours, theirs in zip(expected, found, strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            assert torch.allclose(theirs.double(), ours.double(), atol=tolerance, rtol=1e-4, equal_nan=True)
    return program


def written(x):
    y = x.clone()
    y[:, 0] = 5.0
    y[:, 1:3, 1] = y[:, 1:3, 0]
    y[0] += 1
    y[1].zero_()
    return y


def written_from_the_end(x):
    y = x.clone()
    y[-1] = 5.0
    y[:2, 0] = torch.ones(4)
    y[1:-1] += 1
    y[-2:1, 1] = 7.0
    y[:, 2] = torch.arange(4.0)
    y[2:1] = 9.0
    y[:, -1] = x.mean(0, keepdim=True)[:, 0]
    return y


NAN, INFINITY = float("nan"), float("inf")
ACTIVATIONS = (
    F.silu, F.mish, F.hardswish, F.hardsigmoid, F.elu, F.selu, F.celu, F.leaky_relu, F.softplus, F.relu6, F.hardtanh,
    F.logsigmoid, F.softsign, F.gelu, F.tanhshrink, torch.erf, torch.expm1, torch.sin, torch.floor, torch.reciprocal,
    lambda x: F.gelu(x, approximate="tanh"), lambda x: x.abs().log1p(), lambda x: (x.abs() + 1).rsqrt(), torch.sign,
    lambda x: F.softplus(x, beta=2), lambda x: torch.clamp(x, min=x.new_zeros(4)), torch.trunc, torch.isnan,
)  # fmt: skip
CASES = {
    "activations": lambda x: tuple(f(x) for f in ACTIVATIONS),
    "arithmetic": lambda x: (x + 1, 2 - x, x * x.long(), x**2, 2**x, x / 3, torch.add(x, x, alpha=2), torch.rsub(x, 1), -x),
    "division": lambda x: (
        x // 0.3, torch.div(x, 0.3, rounding_mode="trunc"), (x * 9).long() // 4, (x * 9).long() % 4, (x * 9).long() / 4,
        torch.remainder(x, 0.7), torch.div((x * 9).long(), 4, rounding_mode="trunc"),
    ),
    "comparisons": lambda x: ((x > 0) & (x < 1) | ~(x != 0), (x > 0).all(1), (x > 0).any(), x.long() >= 0.5, (x > 0) + 1),
    "rounding": lambda x: (
        x.round(decimals=1), (x * 50).round(decimals=-1), torch.fmod(x, 0.7), torch.floor_divide(x * 0 + 1, 0.1), x % -0.3,
        x.long() % -4, torch.fmod((x * 9).long(), 4), x.frac(), torch.tensor([-7.0, 7.0, 0.0])[:, None] // x[0, 0],
    ),
    "more pointwise": lambda x: (
        F.threshold(x, 0.1, 5.0), F.softshrink(x), F.hardshrink(x), torch.logit(x.sigmoid()), torch.logit(x, eps=0.1), torch.erfc(x),
        torch.exp2(x), (x / x.floor()).isfinite(), torch.atan2(x, x.flip(0)), F.prelu(x, x[0, :, 0]), x.diff(dim=1),
    ),
    "statistics": lambda x: (
        x.var(), x.std((0, 1)), x.var(0, unbiased=False), *torch.var_mean(x, 1), *torch.std_mean(x, dim=(0, 2), keepdim=True),
        x.norm(3, dim=1), x.norm(0, dim=1), x.norm(float("-inf"), dim=2), *x.kthvalue(2, 1), *x.median(1, keepdim=True), x.median(),
    ),
    "numbers of sizes": lambda x: (
        torch.linspace(0, 1, x.size(0)), torch.eye(x.size(0)), x.new_full((x.size(0), 2), 1.5), x.sum(0) / x.size(0) ** 0.5,
        x * x.numel(), torch.arange(x.size(0) - 1, -1, -1), F.pad(x, (0, 0, 0, 0, 0, 9 - x.size(0))), x[x.size(0) // 2 :],
        x[: -(x.size(0) // 2)], x.topk(x.size(0) // 2, 0).values, x[:3] + x[:3].new_ones(x[:3].shape),
    ),
    "cut": lambda x: (x[:4] * x.new_ones(x[:4].size(0), 1, 1), x[1:5].roll(1, 0), x[:1].expand(3, -1, -1), x[-3:].reshape(x[-3:].size(0), -1)),
    "found": lambda x: (
        (x > 0).nonzero(), x.masked_select(x > 0), x[x > 0] + x[x > 0].new_ones(x[x > 0].shape), x[(x > -1).all(-1)].sum(0),
    ),
    "rolled": lambda x: (x.roll(7, 1), x.roll(-1, (0,)), x.roll(5), x.roll((1, -4), (0, 1)), x.narrow(1, -2, 2)),
    "scattered": lambda x: (
        x.scatter_add(1, (x > 0).long(), x), x.scatter(1, (x > 0).long()[:, :1], x), x.scatter(0, (x > 0).long(), 2.0, reduce="add"),
        *[
            x.scatter_reduce(1, (x > 0).long(), x * 2, how, include_self=own)
            for how in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)
        ],
        *[
            (x * 9).long().scatter_reduce(1, (x > 0).long(), (x * 7).long(), how, include_self=False) for how in ("sum", "amax", "amin")
        ],
        x.index_add(1, torch.tensor([0, 2, 0]), x, alpha=2), x.index_copy(1, torch.tensor([2, 0]), x[:, :2]),
        x.index_fill(1, torch.tensor([0, -1]), 3.0), x.index_put((torch.tensor([0, 0]), torch.tensor([1, 1])), x[0, :2], accumulate=True),
        x.index_put((torch.tensor([[0], [1]]),), x[:, None]), x.index_put((x > 0,), torch.tensor(5.0)), x.index_put((x[:, :, 0] > 0,), x[0, 0]),
        torch.take_along_dim(x, x.argsort(1), 1),
    ),
    "products of vectors": lambda x: (
        torch.linalg.cross(x, x.flip(0), dim=1), torch.linalg.cross(x[..., :3], x[:1, :1, 1:]), torch.cross(x, x * x, dim=-2),
        torch.kron(x[0], x[1, :2]), torch.kron(x, x[0, 0]), torch.kron(x[0, 0, 0], x),
    ),
    "distances": lambda x: (torch.cdist(x, x + 1), F.cosine_similarity(x, x + 1, dim=1), F.pairwise_distance(x, x.flip(0))),
    "sums of products": lambda x: (
        torch.einsum("...d,ed->...e", x, x[0]), torch.einsum("bij->bj", x), torch.einsum("bii->bi", x[:, :, :3]), torch.outer(x[:, 0, 0], x[0, 0]),
        torch.einsum("bij,bij->", x, x), torch.einsum("b i j -> j b i", x),
    ),
    "masks that see nothing": lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=torch.arange(3)[:, None].expand(3, 3) > 0),
    "reductions": lambda x: (
        x.mean(), x.sum((0, 2)), x.prod(1), x.amax((1, 2)), *x.max(1), *x.min(-1, keepdim=True), x.argmax(2), x.argmin(),
        x.norm(dim=1), x.var(1), x.std(-1, keepdim=True), x.logsumexp(1), x.cumsum(1), x.long().sum(1), x.max(), x.softmax(1),
    ),
    "order": lambda x: (*x.topk(2, -1), *x.sort(1), x.argsort(1, descending=True)),
    "views": lambda x: (
        x.view(x.size(0), -1), x.flatten(1), x.permute(2, 0, 1), x.transpose(0, 1), x[None].squeeze(0), x.unflatten(2, (2, 2)),
        x.movedim(0, 2), x[:, :1].expand(-1, 5, -1), x.repeat(1, 2, 1), x.repeat_interleave(2, 1), x.view(x.shape[:-1] + (2, 2)),
    ),
    "parts": lambda x: (*x.chunk(2, -1), *x.split([1, 2], 1), *x.unbind(1), x.roll(1, 1), x.flip(1), x.narrow(1, 1, 2)),
    "joining": lambda x: (torch.cat([x, x.long()], 1), torch.stack([x, x], 1), *torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")),
    "slices": lambda x: (x[:, 1:, ::2], x[0, 1, None, None, :2], x[..., -1], x.unfold(1, 2, 1)),
    "indices": lambda x: (
        x[:, torch.tensor([0, 2])], x[:, torch.tensor([0, 2]), torch.tensor([1, 1])],
        x[torch.tensor([0, 1]), :, torch.tensor([1, 1])], x[x > 0], x.gather(1, (x > 0).long()), x.index_select(1, x[0, :, 0].abs().long()),
    ),
    "writes": written,
    "writes in place": lambda x: (x + 1).add_(2).relu_().mul_(x),
    "filled": lambda x: (torch.where(x > 0, x, 0.0), x.masked_fill(x > 0, 7.0), x.triu(1), x.tril(), x.scatter(1, (x > 0).long(), 7.0)),
    "made": lambda x: (torch.arange(x.size(1)) + x.size(0), torch.ones(x.size(0), 3), x.new_zeros(x.size(1)), torch.full_like(x, 7)),
    "products": lambda x: (
        x @ x.transpose(1, 2), torch.einsum("bij,bkj->bik", x, x), torch.addmm(x[0], x[0] @ x[0].T, x[1], beta=2, alpha=0.5),
        torch.baddbmm(x[:, :, :3], x, x.transpose(1, 2), beta=0.5, alpha=2), F.linear(x, x[0], x[0, :, 0]),
    ),
    "attention": lambda x: (
        F.scaled_dot_product_attention(x, x, x), F.scaled_dot_product_attention(x, x, x, is_causal=True),
        F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(3, 3).tril().bool()),
    ),
    "types": lambda x: (x.double() + 1, x.to(torch.int32), x.half().float(), x.bool(), x.type_as(x.long())),
    "nested": lambda x: {"a": x + 1, "b": [x * 2, x], "c": None, "constant": torch.ones(3)},
    "running": lambda x: (
        x.cumprod(0), (x * 3).long().cumprod(1), x.cumprod(1, dtype=torch.float64), x[0, 0, 0].cumprod(0), *x.cummax(1), *x.cummin(0),
        *(x * 2).long().cummax(2), *(x > 0).cummax(2), *(x * 3).to(torch.int8).cummin(1), *torch.where(x > 0.5, NAN, x).cummax(1),
        (x * 200).logcumsumexp(2), torch.where(x > 0, -INFINITY, x).logcumsumexp(1),
    ),
    "searches": lambda x: (
        torch.searchsorted(x.sort(-1).values, x + 0.1), torch.searchsorted(x.sort(-1).values, x, right=True),
        torch.searchsorted(torch.tensor([0.0, 1, 2]), x.floor(), side="right", out_int32=True), torch.bucketize(x, torch.tensor([0.0, 0.5])),
        torch.searchsorted(torch.tensor([0.0, 1, 2]) + x[0, 0, 0], 1.5), torch.searchsorted(x[0, 0].sort().values, x * NAN),
        torch.searchsorted(torch.tensor([2.0, 0, 1]), x, sorter=torch.tensor([1, 2, 0])), torch.isin((x * 2).long(), torch.tensor([0, 1])),
        torch.isin((x * 2).long(), 1, invert=True), torch.bincount((x * 2).abs().long().flatten(), x.flatten(), minlength=3),
        x.take((x * 2).long()), x.put((x[0] * 0).long()[:1, :1], x[0, :1, :1]), x.masked_scatter(x > 0, x.flip(0)), x.histc(5, -1, 1),
    ),
    "numbers apart": lambda x: (
        torch.where(x > 0, NAN, x / 0).nan_to_num(1.0, 2.0), (x / 0).nan_to_num(), (x / 0).isposinf(), (x / 0).isneginf(),
        torch.fmax(x, torch.where(x > 0, NAN, x)), torch.fmin(x, x * 2), torch.heaviside(x, x), torch.hypot(x, x * 2), torch.hypot(x * 0, x * 0),
        torch.deg2rad(x), torch.xlogy(x * 0, x), torch.sinc(x), torch.sinc(x * 0), torch.copysign(x, -x.flip(0) * 0), (x * 9).long() << 2,
        (x * 9).long() >> 1, torch.logaddexp(x * 99, x), torch.logaddexp2(x, x * 3), *torch.aminmax(x, dim=1), x.count_nonzero(),
        torch.where(x > 0, NAN, x).nansum(1), torch.diag_embed(x, offset=1, dim1=0, dim2=2), torch.diag_embed(x, offset=-2), x.fliplr(),
        x[0].trace(), x.diagonal(1, 1, 2), x.diagonal(-1), x.diagonal(2, 2, 1), x[:, :, :3] * torch.eye(x.size(1), dtype=torch.bool), torch.moveaxis(x, 0, 1), x.ravel(), torch.clip(x, 0, 1),
    ),
    "losses": lambda x: (
        F.mse_loss(x, x * 2), F.l1_loss(x, x * 3, reduction="sum"), F.huber_loss(x, x * 3, delta=0.5), F.smooth_l1_loss(x, x * 3, beta=0.7),
        F.binary_cross_entropy(x.sigmoid(), (x > 0).float(), weight=x.abs()), F.binary_cross_entropy((x > 0.5).float(), (x > 0).float()),
        F.binary_cross_entropy_with_logits(x * 50, x.sigmoid(), pos_weight=torch.arange(4.0)), F.cross_entropy(x[0], torch.tensor([1, -100, 3])),
        F.cross_entropy(x, x[:, 0].abs().long(), weight=torch.tensor([1.0, 2, 3])), F.cross_entropy(x, x.softmax(1)),
        F.nll_loss(x[0], torch.tensor([1, 2, 3]), reduction="none"), F.kl_div(x, x, log_target=True, reduction="batchmean"),
        F.kl_div(x, F.relu(x), reduction="sum"), F.mse_loss(x, x * 2, weight=x.abs()),
    ),
    "others": lambda x: (torch.lerp(x, x * 2, 0.3), torch.addcmul(x, x, x, value=2), F.one_hot(x.argmax(1), 4), F.rms_norm(x, (4,)), F.rrelu(x), F.rrelu(x, 0.2, 0.6)),
}  # fmt: skip
IMAGES = {
    "pooling": lambda x: (
        F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, (3, 5)), F.adaptive_avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1),
        F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, ceil_mode=True), F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
        F.max_pool1d(x[0], 2),
    ),
    "resizing": lambda x: (
        F.interpolate(x, scale_factor=2), F.interpolate(x, size=(5, 9), mode="bilinear"), F.interpolate(x, scale_factor=1.5),
        F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True), F.interpolate(x, size=(9, 9), mode="bicubic"),
    ),
    "normalisation": lambda x: (F.group_norm(x, 2), F.instance_norm(x), F.layer_norm(x, (7,)), F.local_response_norm(x, 3)),
    "padding": lambda x: (
        F.pad(x, (1, 2)), F.pad(x, (1, 2, 3, 0), mode="reflect"), F.pad(x, (0, -1)), F.pad(x, (1, 1, 2, 2), value=3.0),
    ),
    "channels": lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x[..., :6], 2), F.channel_shuffle(x, 2), F.glu(x, 1)),
    "convolutions": lambda x: (
        F.conv2d(x, torch.ones(2, 4, 3, 3), padding="same"), F.conv2d(x, torch.ones(4, 1, 3, 3), groups=4, dilation=2),
        F.conv_transpose2d(x, torch.ones(4, 2, 3, 3), stride=2, output_padding=1), F.conv1d(x[0], torch.ones(1, 6, 3)),
    ),
    "adaptive": lambda x: (
        F.adaptive_max_pool2d(x, 1), F.adaptive_max_pool2d(x, (3, 7)), F.adaptive_avg_pool2d(x, (None, 3)), F.interpolate(x, size=(3, 5), mode="area"),
        F.interpolate(x, scale_factor=0.5, mode="area"),
    ),
    "columns": lambda x: (
        F.unfold(x, (2, 3), dilation=2, padding=1), F.unfold(x, 2, stride=2), F.fold(F.unfold(x, 2), (6, 7), 2),
    ),
    "every padding": lambda x: tuple(F.pad(x, (1, 2, 2, 1), mode=m) for m in ("constant", "reflect", "replicate", "circular")),
    "any image": lambda x: (
        *[F.interpolate(x, size=s, mode=m) for m in ("nearest", "nearest-exact", "bilinear", "bicubic") for s in ((5, 9), (1, 1), (11, 2))],
        *[F.interpolate(x, scale_factor=s, mode=m) for m in ("nearest", "bilinear", "bicubic") for s in (0.5, 1.7)],
        *[F.interpolate(x, size=(3, 5), mode=m, antialias=True) for m in ("bilinear", "bicubic")],
        F.interpolate(x, scale_factor=1.7, recompute_scale_factor=True), F.interpolate(F.max_pool2d(x, 2), size=x.shape[2:], mode="bilinear"),
        *[
            F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1) * 0.8, mode=m, padding_mode=p, align_corners=a)
            for m in ("bilinear", "nearest", "bicubic") for p in ("zeros", "border", "reflection") for a in (False, True)
        ],
        F.affine_grid(x[:, 0, :2, :3], x.shape, align_corners=False), F.affine_grid(x[:, 0, :2, :3], x.shape, align_corners=True),
        F.pad(x, (1, 1, 0, 2), mode="circular"), F.unfold(x, 3), F.pixel_unshuffle(F.pad(x, (0, x.size(3), 0, x.size(2))), 2), F.group_norm(x, 2),
        F.adaptive_max_pool2d(x, 1), F.max_pool2d(x, 3, 2, 1, ceil_mode=True), torch.roll(x, (-1, 2), (2, 3)), x.flatten(2).var(-1),
    ),
    "sampling": lambda x: F.grid_sample(x, torch.linspace(-1, 1, 18).view(1, 3, 3, 2).expand(x.size(0), 3, 3, 2), align_corners=False),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rows(name):
    compare(Called(CASES[name]), (sample(2, 3, 4),))


@pytest.mark.parametrize("name", IMAGES)
def test_rows_of_images(name):
    compare(Called(IMAGES[name]), (sample(1, 4, 6, 7),))


@pytest.mark.parametrize(
    "name",
    [
        "views",
        "parts",
        "slices",
        "made",
        "attention",
        "reductions",
        "writes in place",
        "order",
        "rounding",
        "statistics",
        "found",
        "rolled",
        "distances",
        "sums of products",
        "running",
        "searches",
        "losses",
    ],
)
def test_the_first_size_may_change(name):
    compare(Called(CASES[name]), (sample(2, 3, 4),), (sample(5, 3, 4),), shapes=(({0: "batch"},),))


@pytest.mark.parametrize("name", ["numbers of sizes", "cut"])
def test_any_size(name):
    others = [(sample(n, 3, 4),) for n in (2, 3, 4, 5, 7)]
    for count in (3, 4, 6):
        compare(Called(CASES[name]), (sample(count, 3, 4),), *others, shapes=(({0: "n"},),))


@pytest.mark.parametrize("opset", [18, 23])
def test_any_image(opset):
    others = [(sample(1, 4, 9, 8),), (sample(3, 4, 12, 5),)]
    shapes = (({0: "batch", 2: "height", 3: "width"},),)
    compare(Called(IMAGES["any image"]), (sample(2, 4, 6, 7),), *others, shapes=shapes, opset=opset, tolerance=1e-4)


def test_writes_at_any_size():
    others = [(sample(n, 3, 4),) for n in (1, 2, 3, 5)]
    for count in (1, 2, 4):  # of the example
        compare(Called(written_from_the_end), (sample(count, 3, 4),), *others, shapes=(({0: "batch"},),))


@pytest.mark.parametrize("name", ["pooling", "resizing", "normalisation"])
def test_the_batch_of_images_may_change(name):
    compare(Called(IMAGES[name]), (sample(1, 4, 6, 7),), (sample(3, 4, 6, 7),), shapes=(({0: "batch"},),))


def test_places_where_a_condition_holds():
    def found(x):
        return torch.where(x > 0), x.long().nonzero(as_tuple=True), torch.nonzero(x > 1, as_tuple=True)[1] * 2

    compare(Called(found), (sample(2, 3, 4),), (sample(5, 3, 4),), shapes=(({0: "batch"},),))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_with_padding_and_a_last_offset(mode):
    weight = sample(9, 4)
    matrices = torch.tensor([[2, 2, 2], [1, 2, 3]]), torch.tensor([[4, 5, 6, 2], [2, 2, 2, 2], [7, 7, 2, 1]])
    bags = Called(lambda x: F.embedding_bag(x, weight, mode=mode, padding_idx=2))
    compare(bags, *((x,) for x in matrices), shapes=(({0: "bags", 1: "length"},),))
    flat = torch.tensor([1, 2, 3, 2, 2, 5]), torch.tensor([0, 3, 3, 6])
    other = torch.tensor([2, 2, 3, 2]), torch.tensor([0, 2, 4])
    bags = Called(lambda x, at: F.embedding_bag(x, weight, at, mode=mode, include_last_offset=True, padding_idx=2))
    compare(bags, flat, other, shapes=(({0: "n"}, {0: "bags"}),))


@pytest.mark.parametrize("how", ["prod", "mean", "amax", "amin"])
def test_slices_reduced_by_an_index(how):
    def reduced(x, index, source):
        return [x.index_reduce(1, index, source, how, include_self=own) for own in (True, False)]

    x, index = sample(2, 3, 4), torch.tensor([2, 0, 2, 2])
    shapes = (({}, {0: "n"}, {1: "n"}),)
    compare(Called(reduced), (x, index, sample(2, 4, 4)), (x, index[:2], sample(2, 2, 4)), shapes=shapes)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiasing_with_aligned_corners(mode):
    """ONNX's Resize has its filters elsewhere: 0.5 away."""
    options = {"mode": mode, "antialias": True}
    resized = Called(
        lambda x: [F.interpolate(x, (3, 9), align_corners=aligned, **options) for aligned in (True, False)]
    )
    compare(resized, (sample(1, 2, 9, 8),), (sample(3, 2, 9, 8),), shapes=(({0: "batch"},),))


def test_a_vector_product_along_the_first_dimension_of_three():
    with pytest.warns(UserWarning, match="without specifying the dim arg"):
        compare(Called(lambda x: torch.cross(x, x.flip(0))), (sample(2, 3, 4),))


def test_what_onnx_does_not_have_is_named():
    layers = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    with pytest.warns(DeprecationWarning):
        layers = torch.ao.quantization.quantize_dynamic(layers, {nn.Linear})
    with pytest.raises(
        torch.onnx.OnnxExporterError, match=r"linear_dynamic\(\) has no ONNX form here: .* PackedLinear"
    ):
        torch.onnx.export(layers.eval(), (sample(2, 4),))
    drawn = Called(lambda x: F.rrelu(x, training=True)).train()
    with pytest.raises(torch.onnx.OnnxExporterError, match="slopes that are drawn"):
        torch.onnx.export(drawn, (sample(2, 4),), training=torch.onnx.TrainingMode.TRAINING)


def test_packed_sequences_are_refused():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.GRU(3, 4)

        def forward(self, x, lengths):
            return self.net(nn.utils.rnn.pack_padded_sequence(x, lengths))[1]

    line = Packed.forward.__code__.co_firstlineno + 1  # the program's, not one of the layer's file
    with pytest.raises(torch.onnx.OnnxExporterError, match=rf"test_rows\.py:{line}:0: gru\(\) .*packed sequences"):
        torch.onnx.export(Packed(), (sample(4, 2, 3), torch.tensor([4, 2])))


@pytest.mark.parametrize("opset", [19, 20, 21, 22, 23])
def test_later_opsets(opset):
    compare(Called(CASES["activations"]), (sample(2, 3, 4),), opset=opset)
    compare(Called(IMAGES["sampling"]), (sample(1, 4, 6, 7),), opset=opset)


def randomised(model):
    """Weights that make every layer count: the heads of some networks begin as zeros."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.1 * torch.randn(p.shape, generator=generator))
    return model


NETWORKS = {
    "MLP": (lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(), nn.Linear(8, 3), nn.Softmax(-1)), (4,)),
    "CIFAR-10": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 10),
        ),
        (3, 32, 32),
    ),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2), (3, 8)),
    **{
        f"{kind.__name__}{tuple(options.values())}": (lambda kind=kind, options=options: kind(3, 5, batch_first=True, **options), (4, 3))
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
        for options in ({}, {"num_layers": 2, "bidirectional": True}, {"bias": False})
    },
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name):
    make, shape = NETWORKS[name]
    compare(randomised(make()), (sample(2, *shape),), (sample(5, *shape),), shapes=(({0: torch.export.Dim("batch")},)))


def test_relu_rnn_and_given_states():
    compare(randomised(nn.RNN(3, 5, nonlinearity="relu")), (sample(4, 2, 3), sample(1, 2, 5)))
    compare(randomised(nn.LSTM(3, 5, 2)), (sample(4, 2, 3), (sample(2, 2, 5), sample(2, 2, 5))))


def test_one_step_of_a_recurrent_layer():
    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.gru, self.tanh = nn.LSTMCell(4, 3), nn.GRUCell(4, 3), nn.RNNCell(4, 3)
            self.relu = nn.RNNCell(4, 3, nonlinearity="relu", bias=False)

        def forward(self, x):
            h = x[:, :3]
            return (
                *self.lstm(x),
                *self.lstm(x, (h, h * 2)),
                self.gru(x, h),
                self.gru(x),
                self.tanh(x, h),
                self.relu(x, h),
            )

    compare(Cells(), (sample(2, 4),), (sample(5, 4),), shapes=({0: "batch"},))


def test_vision_transformer():
    from rushlight.vision.models import VisionTransformer

    model = VisionTransformer(
        image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32, num_classes=5
    )
    compare(randomised(model), (sample(1, 3, 32, 32),), (sample(2, 3, 32, 32),), shapes=({0: "batch"},))


@pytest.mark.parametrize("mode", ["linear", "bilinear", "bicubic", "trilinear"])
@pytest.mark.parametrize("aligned", [False, True])
def test_images_of_fixed_sizes_have_the_places_of_pixels_that_are_here(mode, aligned):
    """`Resize` of ONNX Runtime rounds them in another way: by 2e-5 for these sizes."""
    rank = {"linear": 1, "trilinear": 3}.get(mode, 2)
    sizes, small = (160, 31, 7)[:rank], (64, 64, 3)[:rank]
    resized = Called(lambda x: F.interpolate(x, sizes, mode=mode, align_corners=aligned))
    program = compare(resized, (sample(2, 3, *small),), (sample(4, 3, *small),), shapes=(({0: "batch"},),))
    x = sample(4, 3, *small) + 1
    assert (program(x)[0] - resized(x)).abs().max() < 2e-6


@pytest.mark.parametrize("mode", ["linear", "bilinear", "bicubic", "trilinear"])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("by", ["size", "image", "factor"])
def test_images_of_sizes_that_depend_on_the_input_have_the_same_places(mode, aligned, by):
    """The result's size, the image's, or both by a factor, known when the graph runs: `Resize` would be 2e-5 away."""
    rank = {"linear": 1, "trilinear": 3}.get(mode, 2)

    def resized(x, like):
        if by == "factor":
            return F.interpolate(x, scale_factor=1.7, mode=mode, align_corners=aligned)
        size = like.shape[2:] if by == "size" else (160, 31, 7)[:rank]
        return F.interpolate(x, size, mode=mode, align_corners=aligned)

    def given(n, m):
        return sample(2, 3, *(n, n + 5, 3)[:rank]), sample(2, 3, *(m, 31, 7)[:rank])

    of_x = {2: "n", **({3: "w"} if rank > 1 else {})} if by != "size" else {}
    of_like = {2: "m"}
    others = [given(64, 160), given(64, 1)] if by == "size" else [given(80, 9), given(1, 9)]
    program = compare(Called(resized), given(64, 20), *others, shapes=((of_x, of_like),))
    assert not {node.op_type for node in program.model_proto.graph.node} & {"Resize"}
    for x, like in (given(64, 20), *others):
        assert (program(x + 1, like)[0] - resized(x + 1, like)).abs().max() < 5e-6


def test_images_twice_as_large_stay_one_node():
    resized = Called(lambda x: F.interpolate(x, (16, 32), mode="bilinear"))
    program = compare(resized, (sample(2, 3, 8, 8),))
    assert [node.op_type for node in program.model_proto.graph.node][-1] == "Resize"
