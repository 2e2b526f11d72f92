"""Makes memory_order.json: what torch gives where the order of a tensor's memory decides.

Draws into layouts other than the contiguous one, and writes into memory that the same call reads. Run where torch 2.13 is
installed: python tests/golden/make_memory_order.py
"""

import json
from pathlib import Path

LAYOUTS = {
    "permuted": "torch.ones(3, 4, 5).permute(2, 0, 1)",
    "small": "torch.ones(2, 3).t()",
    "channels last": "torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)",
    "computed": "torch.ones(5, 3, 4, 2).permute(0, 3, 1, 2).exp()",
    "strided": "torch.ones(6, 8)[:, ::2]",
    "expanded": "torch.ones(3, 1).expand(3, 8)",
    "rows repeated": "torch.ones(1, 8).expand(3, 8)",
    "one row": "torch.ones(1, 64)",
    "one channel": "torch.ones(2, 1, 4, 5)",
    "one channel, of several": "torch.ones(2, 3, 4, 5)[:, :1]",
    "images repeated": "torch.ones(1, 3, 1, 2).expand(2, 3, 4, 2)",
}
DRAWS = [
    "torch.randn_like(t)",
    "torch.rand_like(t)",
    "torch.randn_like(t, dtype=torch.float64)",
    "torch.randint_like(t, 0, 100)",
    "torch.randint_like(t, 7, dtype=torch.int64)",
    "torch.multinomial(t.flatten(1), 2)",
    "t.clone().normal_()",
    "torch.nn.functional.dropout(t, 0.5)",
    "torch.nn.functional.alpha_dropout(t, 0.5, True)",
]
WRITES = [
    ("torch.arange(6.0)", "x[1:] = x[:-1]"),
    ("torch.arange(6.0)", "x[:-1] = x[1:]"),
    ("torch.arange(12.0).view(4, 3)", "x[1:] = x[:-1]"),
    ("torch.arange(12.0).view(3, 4)", "x[:, 1:] = x[:, :-1]"),
    ("torch.arange(12.0).view(3, 4)", "x[:, :-1] = x[:, 1:]"),
    ("torch.arange(12).view(4, 3)", "x[1:, :2] = x[:-1, :2]"),
    ("torch.arange(12.0).view(4, 3)", "x[1:, :2].copy_(x[:-1, :2])"),
    ("torch.arange(12.0).view(4, 3)", "x[1:, :2] += x[:-1, :2]"),
    ("torch.arange(12.0).view(4, 3)", "x[1:, :2].mul_(x[:-1, :2])"),
    ("torch.arange(12.0).view(4, 3)", "x[1:, 0] = x[:-1, 0]"),
    ("torch.arange(12.0).view(4, 3)", "x[1:, :2] = x[0, :2]"),
    ("torch.arange(9.0).view(3, 3)", "x[:] = x.t()"),
    ("torch.arange(9.0).view(3, 3)", "x += x.t()"),
    ("torch.arange(9.0).view(3, 3)", "x += x.view(3, 3)"),
    ("torch.arange(20.0)", "x[::2] = x[1::2]"),
    ("torch.arange(20.0)", "x[2:12:2] = x[0:10:2]"),
    ("torch.arange(24.0).view(2, 4, 3).permute(0, 2, 1)", "x[:, 1:, :2] = x[:, :-1, :2]"),
    ("torch.arange(40.0).view(2, 20)", "x[:, 1:] = x[:, :-1]"),
    ("torch.arange(200.0).view(2, 100)", "x[:, 3:90] = x[:, :87]"),
    ("torch.arange(200).view(2, 100)", "x[:, 5:90] = x[:, :85]"),
    ("torch.arange(120.0).view(2, 6, 10)", "x[:, 1:] = x[:, :-1]"),
    ("torch.arange(120.0).view(2, 6, 10)", "x[:, 1:, :7] = x[:, :-1, :7]"),
    ("torch.arange(12.0)", "x[1:].clamp_(max=x[:-1])"),
    ("torch.arange(12.0)", "torch.add(x[:-1], x[:-1], out=x[1:])"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.add_(1)"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x += 1"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.mul_(torch.arange(4.0))"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.lerp_(torch.ones(3, 4), 0.5)"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.clamp_(1, 2)"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.fill_(2)"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.copy_(torch.arange(12.0).view(3, 4))"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.index_fill_(0, torch.tensor([1]), 9)"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.index_add_(0, torch.tensor([0, 2]), torch.ones(2, 4))"),
    (
        "torch.arange(12.0).as_strided((3, 4), (2, 1))",
        "x.index_put_((torch.tensor([0, 2]),), torch.tensor(5.0), accumulate=True)",
    ),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.scatter_(0, torch.zeros(1, 4, dtype=torch.long), 3)"),
    (
        "torch.arange(12.0).as_strided((3, 4), (2, 1))",
        "x.scatter_add_(0, torch.zeros(2, 4, dtype=torch.long), torch.ones(2, 4))",
    ),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.put_(torch.tensor([0, 5]), torch.tensor([3.0, 4.0]))"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.tril_()"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.masked_fill_(x > 2, 7)"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x[0] = 5"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x[torch.tensor([0, 1])] = 5"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.masked_scatter_(x > 2, torch.arange(12.0))"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "torch.add(x, 1, out=x)"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "torch.eye(3, 4, out=x)"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "torch.arange(12, out=x)"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "torch.nn.init.eye_(x)"),
    ("torch.arange(12.0).as_strided((3, 4), (2, 1))", "x.apply_(lambda v: v + 1)"),
    ("torch.arange(12.0).as_strided((3, 4), (1, 1))", "x.sub_(1)"),
    ("torch.arange(12.0).as_strided((3, 4), (1, 1))", "x.copy_(torch.arange(12.0).view(3, 4))"),
    ("torch.arange(12.0).as_strided((3, 4), (1, 1))", "x.neg_()"),
    ("torch.arange(12.0).as_strided((3, 4), (1, 2))", "x.add_(1)"),
    ("torch.arange(12.0).as_strided((3, 4), (1, 2))", "torch.eye(3, 4, out=x)"),
    ("torch.arange(12.0).unfold(0, 4, 2)", "x.mul_(2)"),
    ("torch.arange(12.0).unfold(0, 4, 2)", "x.square_()"),
    ("torch.arange(12.0).unfold(0, 4, 2)", "x.sigmoid_()"),
    ("torch.arange(4.0).expand(3, 4)", "x.index_fill_(1, torch.tensor([1]), 9)"),
    ("torch.arange(4.0).expand(3, 4)", "x[torch.tensor([0, 1])] = 5"),
    ("torch.arange(4.0).expand(3, 4)", "x.index_put_((torch.tensor([0, 2]),), torch.tensor(5.0), accumulate=True)"),
    ("torch.arange(4.0).expand(3, 4)", "x.tril_()"),
    ("torch.arange(4.0).expand(3, 4)", "x.triu_(1)"),
    ("torch.arange(4.0).expand(3, 4)", "torch.eye(3, 4, out=x)"),
    ("torch.arange(4.0).expand(3, 4)", "torch.nn.functional.threshold_(x, 1, 5)"),
    ("torch.arange(4.0).expand(3, 4)", "x.add_(1)"),
    ("torch.arange(4.0).expand(3, 4)", "x.copy_(torch.ones(3, 4))"),
    ("torch.arange(4.0).expand(3, 4)", "x.scatter_(0, torch.zeros(1, 4, dtype=torch.long), 3)"),
    ("torch.arange(4.0).expand(3, 4)", "x.index_add_(0, torch.tensor([0]), torch.ones(1, 4))"),
    ("torch.arange(12.0).view(4, 3)", "x[1:, :2].lerp_(x[:-1, :2], 0.5)"),
    ("torch.arange(12.0).view(4, 3)", "x[1:, :2].addcmul_(x[:-1, :2], x[:-1, :2])"),
    ("torch.arange(12.0).view(4, 3)", "x[1:, :2].remainder_(x[:-1, :2] + 1)"),
    ("torch.arange(12.0).view(4, 3)", "x[1:, :2].sub_(x[:-1, :2], alpha=2)"),
    ("torch.arange(12.0).view(4, 3)", "x[1:, :2].index_add_(0, torch.arange(3), x[:-1, :2])"),
    ("torch.arange(12.0).view(4, 3)", "x[1:, :2].put_(torch.arange(6), x[:-1, :2])"),
    ("torch.arange(12.0).view(4, 3)", "x[:, 1:].pow_(x[:, :1])"),
    ("torch.arange(12.0).view(4, 3)", "x[:] = x[0]"),
    ("torch.arange(12.0).view(4, 3)", "x[:] = x[:, 1:2]"),
    ("torch.arange(12.0).view(4, 3)", "torch.mul(x[:-1, :2], x[:-1, :2], out=x[1:, :2])"),
    ("torch.arange(12.0).view(4, 3)", "torch.neg(x[:, :2], out=x[:, 1:])"),
    ("torch.arange(12.0).view(4, 3)", "torch.cat([x[:, :1], x[:, :1]], 1, out=x[:, 1:])"),
    ("torch.arange(40.0).view(2, 20)", "torch.sub(x[:, :-1], 1, out=x[:, 1:])"),
    ("torch.arange(12)", "x[1:].add_(x[:-1], alpha=2)"),
]

LAID_OUT = {
    "permuted": "torch.ones(2, 3, 4, 5).permute(0, 2, 1, 3)",
    "rotated": "torch.ones(3, 4, 5).permute(2, 0, 1)",
    "transposed": "torch.ones(4, 3).t()",
    "channels last": "torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)",
}
RESULTS = [
    "t.softmax(-1)", "t.softmax(0)", "t.log_softmax(-1)", "torch.nn.functional.gelu(t)",
    "torch.nn.functional.gelu(t, approximate='tanh')", "t.erf()", "t.exp()", "t + 1", "torch.cat([t, t])",
    "torch.cat([t, t], -1)", "torch.stack([t, t])", "torch.nn.functional.layer_norm(t, t.shape[-1:])", "t.cumsum(0)",
    "t.cumprod(-1)", "t.masked_fill(t > 2, 0.0)", "t.roll(1, 0)", "t.tril()", "t.triu()", "t.repeat(*[1] * t.dim())",
    "torch.nn.functional.dropout(t, 0.5)", "t.clone()", "torch.zeros_like(t)", "t.sort(-1)[0]", "t.clamp(0, 1)",
    "torch.where(t > 0, t, 0.0)", "t.flip(0)", "torch.addcmul(t, t, t)", "torch.lerp(t, t, 0.3)", "2.0 ** t",
    "torch.nn.functional.logsigmoid(t)", "t.cummax(0)[0]", "t.logcumsumexp(0)", "t.narrow_copy(0, 0, 2)",
    "torch.nn.functional.rms_norm(t, t.shape[-1:])", "t.mvlgamma(1)", "torch.transpose_copy(t, 0, 1)",
    "torch.nn.functional.batch_norm(t, None, None, training=True)", "torch.kron(t.clone(), t.clone())",
    "torch.kron(torch.ones(1), t)",
    "torch.unique_consecutive(t, dim=-1)", "torch.unique(t, dim=0)", "torch.stack([t, t], 1)", "torch.stack([t, t], -1)",
    "torch.nn.functional.rrelu(t)", "torch.nn.functional.group_norm(t, 1)", "torch.nn.functional.pad(t, (-1, 0))",
    "torch.nn.functional.pad(t, (0, 0))", "torch.select_scatter(t, t[0], 0, 0)", "t.roll(1)",
    "torch.select_scatter(t[::2], t[0], 0, 0)", "torch.slice_scatter(t[..., ::2], t[:1, ..., ::2], 0, 0, 1)", "t.rot90()",
    "torch.diagonal_scatter(t[:, 1:], t[:, 1:].diagonal())", "t.index_fill(0, torch.tensor([0]), 2.0)",
    "torch.nn.functional.scaled_dot_product_attention(t, t, t)",
]  # fmt: skip
EMPTY = {
    "rows": "torch.zeros(0, 4)",
    "columns": "torch.zeros(3, 0, 5)",
    "between": "torch.ones(3, 4, 5)[:, 2:2]",
    "turned": "torch.zeros(2, 0, 4).permute(2, 0, 1)",
    "repeated": "torch.zeros(1, 4).expand(0, 4)",
    "channels last": "torch.zeros(0, 3, 2, 4).contiguous(memory_format=torch.channels_last)",
}
OF_EMPTY = [
    "t", "t[1:]", "t[..., 0:0]", "t.transpose(0, 1)", "t.movedim(-1, 0)", "t.unsqueeze(0)", "t.unsqueeze(-1)",
    "t[None, :, None]", "t.unsqueeze(1).expand(-1, 5, *t.shape[1:])", "t.view(t.shape)", "t.reshape(-1)", "t.squeeze()",
    "t.split(1)[-1]", "t.diagonal()", "t.view(*t.shape, 1)", "t.contiguous()", "t.sum(0)",
    "t.mT", "t.abs()",
]  # fmt: skip
REPEATED = {
    "rows": "torch.ones(1, 4).expand(3, 4)",
    "images": "torch.ones(1, 3, 1, 5).expand(2, 3, 4, 5)",
    "pixels": "torch.ones(1, 3, 1, 1).expand(2, 3, 4, 5)",
    "between": "torch.ones(4, 3).t().unsqueeze(1).expand(3, 5, 4)",
    "channels last": "torch.ones(1, 3, 4, 5).to(memory_format=torch.channels_last).expand(2, 3, 4, 5)",
    "equal strides": "torch.ones(7).as_strided((2, 3, 1, 4), (1, 1, 5, 0))",
    "number": "torch.ones(1).expand(3, 4)",
}
OF_REPEATED = [
    "torch.empty_like(t)", "torch.zeros_like(t, dtype=torch.int64)", "torch.full_like(t, 3)", "t.clone()", "t.double()",
    "t.bool()", "t.to(torch.uint8)", "t.to(torch.bfloat16)", "torch.rand_like(t)", "t.index_fill(0, torch.tensor([0]), 2.0)",
    "t.index_put((torch.tensor([0]),), torch.tensor(1.0))", "t.rot90()", "t.rot90(2)", "t.roll(1, 0)",
]  # fmt: skip
IMAGES = {
    "channels last": "torch.ones(2, 4, 6, 6).to(memory_format=torch.channels_last)",
    "some channels": "torch.ones(2, 6, 6, 6).to(memory_format=torch.channels_last)[:, :4]",
    "reversed": "torch.ones(6, 6, 4, 2).permute(3, 2, 1, 0)",
}
OF_IMAGES = [
    "F.conv2d(t, torch.ones(3, 4, 3, 3))",
    "F.conv2d(t.contiguous(), torch.ones(3, 4, 3, 3).to(memory_format=torch.channels_last))",
    "F.conv_transpose2d(t, torch.ones(4, 3, 3, 3))", "F.max_pool2d(t, 2)", "F.max_pool2d(t, 3, 2)",
    "F.max_pool2d(t.clone().requires_grad_(), 2)", "F.avg_pool2d(t, 2)", "F.adaptive_avg_pool2d(t, 3)",
    "F.adaptive_max_pool2d(t, 3)", "F.interpolate(t, scale_factor=2)",
    "F.interpolate(t, scale_factor=2, mode='bilinear')", "F.interpolate(t, scale_factor=2, mode='bicubic')",
    "F.pixel_unshuffle(t, 2)", "F.channel_shuffle(t, 2)", "F.group_norm(t, 2)", "F.instance_norm(t)",
    "F.pad(t, (1, 1))", "F.pad(t, (1, 1, 1, 1), mode='reflect')", "F.pad(t, (1, 1, 1, 1), mode='circular')",
    "F.batch_norm(t, None, None, training=True)", "F.prelu(t, torch.ones(4))", "t + torch.ones(4, 1, 1)",
    "torch.ones(4, 1, 1) * t", "t.mean(1, keepdim=True)", "F.max_pool2d(t, 2, return_indices=True)[1]",
    "F.max_unpool2d(*F.max_pool2d(t, 2, return_indices=True), 2)", "torch.stack([t, t], 1)", "t[:1].roll(1, 0)",
    "F.avg_pool1d(t[0].mT, 2)", "F.max_pool1d(t[0].mT, 2)", "F.adaptive_avg_pool1d(t[0].mT, 2)", "F.lp_pool1d(t[0].mT, 2, 2)",
]  # fmt: skip


VOLUME = "torch.ones(2, 4, 6, 6, 6).to(memory_format=torch.channels_last_3d)"
WITH_GRADIENTS = {  # of their inputs, which are IMAGES, volumes or other batches
    **{name: (start, [
        "F.max_pool2d(t, 2)", "F.max_pool2d(t, 3, 1, 1)", "F.avg_pool2d(t, 2)", "F.avg_pool2d(t, 3, 1, 1)", "F.lp_pool2d(t, 2, 2)",
        "F.adaptive_avg_pool2d(t, 2)", "F.adaptive_max_pool2d(t, 2)", "F.interpolate(t, size=3, mode='area')",
        "F.fractional_max_pool2d(t, 2, output_size=2)", "F.pad(t, (1, 1, 1, 1), mode='reflect')",
        "F.pad(t, (1, 1, 1, 1), mode='replicate')", "F.pad(t, (1, 1, 1, 1), mode='circular')", "F.group_norm(t, 2)",
        "F.batch_norm(t, None, None, training=True)", "F.batch_norm(t, torch.zeros(4), torch.ones(4))", "F.instance_norm(t)",
    ]) for name, start in IMAGES.items()},
    "volumes": (VOLUME, [
        "F.max_pool3d(t, 2)", "F.avg_pool3d(t, 2)", "F.adaptive_avg_pool3d(t, 2)", "F.adaptive_max_pool3d(t, 2)",
        "F.pad(t, (1, 1, 1, 1, 1, 1), mode='replicate')", "F.group_norm(t, 2)", "F.batch_norm(t, None, None, training=True)",
    ]),
    "repeated": ("torch.rand(1, 4, 1, 6).expand(2, 4, 6, 6)", ["t.erf()", "t.lgamma()", "t.digamma()", "t.erfinv()"]),
}  # fmt: skip


def strides_with_gradient(torch, start, result):
    """The strides of a result, and of the gradient of its sum."""
    t = eval(start, {"torch": torch}).requires_grad_()
    out = eval(result, {"torch": torch, "t": t, "F": torch.nn.functional})
    (g,) = torch.autograd.grad(out, t, torch.ones(out.shape))
    return [list(out.stride()), list(g.stride())]


def stride_of(torch, start, result):
    """The strides of a result of the tensor that `start` makes."""
    t = eval(start, {"torch": torch})
    return list(eval(result, {"torch": torch, "t": t, "F": torch.nn.functional}).stride())


def drawn(torch, layout, draw):
    """The strides and the numbers of a draw with a fixed seed."""
    t = eval(LAYOUTS[layout], {"torch": torch})
    torch.manual_seed(1)
    out = eval(draw, {"torch": torch, "t": t})
    return {"stride": list(out.stride()), "values": out.double().tolist()}


def written(torch, start, write):
    """The numbers after a write, or the first words of the error."""
    scope = {"torch": torch, "x": eval(start, {"torch": torch})}
    try:
        exec(write, scope)
    except RuntimeError as error:
        return str(error)[:70]
    return scope["x"].double().tolist()


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    answers = {
        "draws": {f"{draw} {layout}": drawn(torch, layout, draw) for layout in LAYOUTS for draw in DRAWS},
        "strides": {f"{r} {layout}": stride_of(torch, start, r) for layout, start in LAID_OUT.items() for r in RESULTS},
        "repeated": {
            f"{r} {layout}": stride_of(torch, start, r) for layout, start in REPEATED.items() for r in OF_REPEATED
        },
        "empty": {f"{r} {layout}": stride_of(torch, start, r) for layout, start in EMPTY.items() for r in OF_EMPTY},
        "images": {f"{r} {layout}": stride_of(torch, start, r) for layout, start in IMAGES.items() for r in OF_IMAGES},
        "gradients": {
            f"{r} {layout}": strides_with_gradient(torch, start, r)
            for layout, (start, results) in WITH_GRADIENTS.items()
            for r in results
        },
        "writes": {f"{start}; {write}": written(torch, start, write) for start, write in WRITES},
    }
    lines = [f'"{k}": ' + "{\n" + ",\n".join(f"{json.dumps(n)}: {json.dumps(v)}" for n, v in part.items()) + "\n}"
             for k, part in answers.items()]  # fmt: skip
    Path(__file__).with_name("memory_order.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
