"""Small modules for `torch.export`, made with the torch that is given: {name: (module, args, kwargs, dynamic_shapes)}."""


def programs(torch):
    nn, functional = torch.nn, torch.nn.functional

    class Called(nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, x, y):
            return self.function(x, y)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn, self.fc = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(4, 2)
            self.register_buffer("scale", torch.ones(2))

        def forward(self, x):
            h = functional.relu(self.bn(self.conv(x))).mean((2, 3))
            return self.fc(h) * self.scale, h.view(-1)

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.l, self.o = nn.Embedding(10, 4), nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 10)

        def forward(self, ids):
            return self.o(self.l(self.e(ids))[0][:, -1])

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.self_o, self.n = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)

        def forward(self, x):
            b, t, c = x.shape
            heads = [z.view(b, t, 2, 4).transpose(1, 2) for z in self.q(self.n(x)).chunk(3, dim=-1)]
            y = functional.scaled_dot_product_attention(*heads, is_causal=True)
            return x + self.self_o(y.transpose(1, 2).reshape(b, t, c))

    class Constants(nn.Module):
        def __init__(self):
            super().__init__()
            self.t = torch.arange(3.0)

        def forward(self, x):
            return x * self.t + torch.tensor([1.0, 2.0, 3.0])

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.o = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
            self.o.weight = self.e.weight

        def forward(self, i):
            return self.o(self.e(i))

    class Nested(nn.Module):
        def forward(self, d, pair, n, *, k):
            return {"out": d["a"] + pair[0] * pair[1], "k": k * n, "n": 3}

    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(3))
            self.register_buffer("m", torch.ones(3), persistent=False)

        def forward(self, x):
            self.n.add_(x.sum(0))
            return x * self.n * self.m

    x, y, index = torch.ones(3, 4), torch.ones(4, 3), torch.tensor([0, 2, 1])
    layers = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.GELU(), nn.Dropout(0.1), nn.Softmax(-1))
    images = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding="same"), nn.GroupNorm(2, 4), nn.MaxPool2d(2), nn.ConvTranspose2d(4, 2, 3, stride=2),
        nn.Upsample(scale_factor=2, mode="bilinear"), nn.LeakyReLU(0.2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )  # fmt: skip
    return {
        "network": (Net().eval(), (torch.ones(2, 3, 8, 8),), {}, None),
        "any_batch": (Net().eval(), (torch.ones(2, 3, 8, 8),), {}, ({0: torch.export.Dim("batch", max=64)},)),
        "words": (Words().eval(), (torch.zeros(2, 3, dtype=torch.long),), {}, None),
        "attention": (Attention(), (torch.ones(2, 3, 8),), {}, None),
        "any_length": (Attention(), (torch.ones(2, 3, 8),), {}, ({0: torch.export.Dim("b"), 1: torch.export.Dim("t")},)),
        "constants": (Constants(), (torch.ones(2, 3),), {}, None),
        "tied": (Tied(), (torch.tensor([1, 2]),), {}, None),
        "nested": (Nested(), ({"a": x + 1}, (x + 2, x + 3), 2), {"k": x}, None),
        "counting": (Counting(), (torch.ones(2, 3),), {}, None),
        "training": (layers, (torch.ones(2, 3),), {}, None),
        "images": (images.eval(), (torch.ones(2, 3, 16, 16),), {}, None),
        "half": (nn.Conv1d(3, 2, 3, stride=2, padding=1), (torch.ones(1, 3, 16),), {}, ({2: torch.export.Dim("length", min=8)},)),
        "places": (
            Called(lambda x, i: (x[i], x[1:, ..., 0], x.gather(1, i[:, None]), torch.where(x > 0, x, 0.0), x[None] ** 2)),
            (x, index), {}, None,
        ),
        "several": (Called(lambda x, y: (*x.max(1), *x.topk(2), x.std(0), torch.cat([x, x], 1), 1 / (x @ y))), (x, y), {}, None),
        "made": (Called(lambda x, y: (torch.zeros(2) + 1, torch.arange(2), x.new_zeros(3), -x.clamp(0, 1))), (x, y), {}, None),
    }  # fmt: skip


def text(torch, program):
    """What torch prints of one, without the lines of files, of which Rushlight has others."""
    module, args, kwargs, shapes = program
    exported = torch.export.export(module, args, kwargs, dynamic_shapes=shapes)
    lines = f"{exported}\n{exported.graph_module.code}\n{exported.module()}".split("\n")
    return "\n".join(line.rstrip() for line in lines if line.strip() and "# File" not in line)
