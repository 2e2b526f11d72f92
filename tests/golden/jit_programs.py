"""The functions and modules that make_jit.py traces with torch, and tests/jit with Rushlight. `torch` is given."""


def programs(torch):
    """name -> (function or module, example inputs, inputs of other sizes)."""
    nn, F = torch.nn, torch.nn.functional

    def sizes(x):
        n = x.size(0)
        return x.view(n * 2, -1).clamp(min=0)[:, 1:] * (x.shape[1] // 2) - n**2 + n % 2, torch.zeros(
            n + 1, (-n) // -2 + 1
        )

    def views(x):
        y = x.clone()
        y[:, 0] = x[:, 1] * 2
        y[x > 0.5] = 0
        y[0, 1] += 3
        parts = torch.cat([y, x], 1).split(2, 1)
        return y.t(), parts[0], x.transpose(0, 1)[..., None].expand(-1, -1, 2).reshape(-1, 2), x[[1, 0]], x[-1, ::2]

    def containers(pair, table):
        a, (b, c) = pair
        return {"sum": a + b, "product": table["x"] * c}, [a, table["y"].max(1)[0]]

    class Convolutional(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3, padding=1)
            self.norm = nn.BatchNorm2d(4)
            self.pool = nn.MaxPool2d(2)
            self.drop = nn.Dropout(0.5)
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            x = self.pool(F.relu(self.norm(self.conv(x))))
            return self.head(self.drop(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1)))

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(6, 2)

        def forward(self, x):
            y, (h, _) = self.lstm(x)
            return self.head(y), h

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.second = nn.Linear(4, 4, bias=False)
            self.second.weight = self.first.weight
            self.layers = nn.ModuleList([self.first, nn.ReLU()])
            self.register_buffer("scale", torch.full((4,), 0.5))

        def forward(self, x):
            return self.layers[1](self.first(x)) + self.second(self.layers[0](x)) * self.scale

    g = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.rand(*shape, generator=g) * 2 - 1  # noqa: E731
    pair, table = (draw(2, 3), (draw(2, 3), draw(2, 3))), {"x": draw(2, 3), "y": draw(2, 3)}
    other = (draw(4, 5), (draw(4, 5), draw(4, 5))), {"x": draw(4, 5), "y": draw(4, 5)}
    return {
        "sizes": (sizes, (draw(2, 4),), (draw(3, 6),)),
        "views": (views, (draw(2, 4),), (draw(5, 4),)),
        "containers": (containers, (pair, table), other),
        "mlp": (nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)), (draw(2, 4),), (draw(5, 4),)),
        "cnn": (Convolutional().eval(), (draw(2, 3, 6, 6),), (draw(3, 3, 8, 9),)),
        "cnn_training": (Convolutional(), (draw(2, 3, 6, 6),), (draw(3, 3, 8, 9),)),
        "lstm": (Recurrent(), (draw(2, 5, 4),), (draw(3, 7, 4),)),
        "encoder": (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(), (draw(2, 5, 4),), (draw(3, 7, 4),)),
        "shared": (Shared(), (draw(2, 4),), (draw(5, 4),)),
    }
