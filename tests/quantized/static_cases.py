"""Programs of static quantization, which run under torch (tests/golden/make_quantized.py) and under Rushlight."""

import numpy as np


def rows(torch, shape, seed, spread=1.0):
    return torch.from_numpy((np.random.default_rng(seed).standard_normal(shape) * spread).astype(np.float32))


def _levels(t):
    return [t.int_repr().flatten().tolist(), round(t.q_scale(), 9), t.q_zero_point()]


def _unary(torch):
    F = torch.nn.functional
    return {
        "relu": torch.relu, "relu6": F.relu6, "clamp": lambda t: t.clamp(-1, 1.5), "sigmoid": torch.sigmoid,
        "tanh": torch.tanh, "leaky_relu": lambda t: F.leaky_relu(t, 0.1), "mean": lambda t: t.mean([2, 3]),
        "max_pool": lambda t: F.max_pool2d(t, 2), "avg_pool": lambda t: F.avg_pool2d(t, 3, 2, 1),
        "adaptive": lambda t: F.adaptive_avg_pool2d(t, (3, 2)), "cat": lambda t: torch.cat([t, t], 1),
        "slice": lambda t: t[:, 1:, ::2], "flatten": lambda t: torch.flatten(t, 1), "permute": lambda t: t.permute(0, 2, 3, 1),
        "pad": lambda t: F.pad(t, (1, 0), value=0.4), "nearest": lambda t: F.interpolate(t, scale_factor=2),
        "bilinear": lambda t: F.interpolate(t, scale_factor=2, mode="bilinear"), "max": lambda t: t.max(),
        "sort": lambda t: t.sort(-1)[0], "add": lambda t: torch.ops.quantized.add(t, t, 0.25, 60),
        "mul": lambda t: torch.ops.quantized.mul(t, t, 0.25, 60), "add_scalar": lambda t: torch.ops.quantized.add_scalar(t, 9.0),
        "mul_scalar": lambda t: torch.ops.quantized.mul_scalar(t, -0.5),
        "hardswish": lambda t: torch.ops.quantized.hardswish(t, 0.0625, 20),
    }  # fmt: skip


def operators(torch):
    """The levels, scale and zero point that operators give: two types of levels, scales with many ties."""
    out = {}
    for dtype in (torch.quint8, torch.qint8):
        t = torch.quantize_per_tensor(rows(torch, (2, 3, 6, 6), 1, 3), 0.125, 40, dtype)
        for name, run in _unary(torch).items():
            out[f"{name} {dtype}"] = _levels(run(t))
    return out


def engines(torch):
    """The levels of products, for each engine."""
    q, out = torch.ops.quantized, {}
    before = torch.backends.quantized.engine
    for engine in ("x86", "fbgemm", "onednn", "qnnpack"):
        torch.backends.quantized.engine = engine
        w = torch.quantize_per_channel(
            rows(torch, (7, 30), 2),
            torch.linspace(0.01, 0.03, 7).double(),
            torch.zeros(7, dtype=torch.int64),
            0,
            torch.qint8,
        )
        x = torch.quantize_per_tensor(rows(torch, (9, 30), 3), 0.04, 50, torch.quint8)
        out[f"linear {engine}"] = _levels(q.linear(x, q.linear_prepack(w, rows(torch, 7, 4)), 0.11, 70))
        w = torch.quantize_per_tensor(rows(torch, (4, 2, 3, 3), 5), 0.025, 0, torch.qint8)
        x = torch.quantize_per_tensor(rows(torch, (1, 4, 7, 6), 6), 0.04, 50, torch.quint8)
        packed = q.conv2d_prepack(w, rows(torch, 4, 7), [2, 1], [1, 1], [1, 1], 2)
        out[f"conv {engine}"] = _levels(q.conv2d_relu(x, packed, 0.09, 30))
    torch.backends.quantized.engine = before
    return out


def network(torch):
    """A class of networks with all that is fused."""
    nn, quant = torch.nn, torch.ao.quantization

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = quant.QuantStub(), quant.DeQuantStub()
            self.conv, self.bn, self.relu = nn.Conv2d(2, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU()
            self.depthwise, self.norm = nn.Conv2d(6, 6, 3, padding=1, groups=6), nn.BatchNorm2d(6)
            self.skip, self.drop = nn.quantized.FloatFunctional(), nn.Dropout(0.2)
            self.fc, self.act, self.last = nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)

        def forward(self, x):
            x = self.relu(self.bn(self.conv(self.quant(x))))
            x = self.skip.add_relu(x, self.norm(self.depthwise(x))).mean([2, 3])
            return self.dequant(self.last(self.act(self.fc(self.drop(x)))))

    return Net


GROUPS = [["conv", "bn", "relu"], ["depthwise", "norm"], ["fc", "act"]]


def _filled(torch, net):
    for k, (_, p) in enumerate(sorted(net.state_dict().items())):
        if p.dtype is torch.float32:
            p.copy_(
                rows(torch, tuple(p.shape), 20 + k, 0.4).abs() + 0.2
                if p.dim() == 1
                else rows(torch, tuple(p.shape), 20 + k, 0.4)
            )
    return net


def static(torch, backend):
    """(printed form, results) of a network that is fused, calibrated and converted."""
    quant = torch.ao.quantization
    net = quant.fuse_modules(_filled(torch, network(torch)()).eval(), GROUPS)
    net.qconfig = quant.default_qconfig if backend == "default" else quant.get_default_qconfig(backend)
    model = quant.prepare(net)
    for seed in range(3):
        model(rows(torch, (4, 2, 8, 8), 50 + seed))
    model = quant.convert(model)
    return repr(model), model(rows(torch, (4, 2, 8, 8), 50)).flatten().tolist()


def aware(torch):
    """(losses, results) of a network that is trained with rounded weights, then converted."""
    nn, quant = torch.nn, torch.ao.quantization
    net = quant.fuse_modules_qat(_filled(torch, network(torch)()).train(), GROUPS)
    net.drop.p = 0.0
    net.qconfig = quant.get_default_qat_qconfig("x86")
    model = quant.prepare_qat(net)
    optimizer, losses = torch.optim.SGD(model.parameters(), 0.05), []
    for step in range(8):
        if step == 5:
            model.apply(quant.disable_observer)
            model.apply(nn.intrinsic.qat.freeze_bn_stats)
        loss = nn.functional.cross_entropy(model(rows(torch, (8, 2, 8, 8), 60 + step)), torch.arange(8) % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model = quant.convert(model.eval())
    return losses, model(rows(torch, (4, 2, 8, 8), 60)).flatten().tolist()


BACKENDS = ("default", "x86", "qnnpack")


def everything(torch):
    return {
        "operators": operators(torch), "engines": engines(torch), "aware": aware(torch),
        "static": {backend: static(torch, backend) for backend in BACKENDS},
    }  # fmt: skip
