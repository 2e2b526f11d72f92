"""A model whose layers are quantized in each of the usual ways, with weights that need no random numbers."""


def example(torch):
    """Its input (2, 2, 6, 6)."""
    return (torch.arange(144.0) % 7 / 7 - 0.4).reshape(2, 2, 6, 6)


def _fill(torch, model):
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(((torch.arange(float(p.numel())) * 5 % 11 - 5) / 11).reshape(p.shape))


def quantized(torch):
    """A convolution with ReLU, one with a reflected border, functions of levels, pooling and a linear layer."""
    nn, q = torch.nn, torch.ao.quantization

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.first, self.relu = nn.Conv2d(2, 4, 3, padding=1), nn.ReLU()
            self.second = nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect", bias=False)
            self.joined, self.pool = torch.ao.nn.quantized.FloatFunctional(), nn.MaxPool2d(2)
            self.curve, self.last = nn.Hardswish(), nn.Linear(36, 3)

        def forward(self, x):
            x = self.relu(self.first(self.quant(x)))
            x = self.curve(self.joined.add_relu(x, self.second(x)))
            return self.dequant(self.last(torch.flatten(self.pool(x), 1)))

    model = Model().eval()
    _fill(torch, model)
    model.qconfig = q.get_default_qconfig("fbgemm")
    model = q.prepare(q.fuse_modules(model, [["first", "relu"]]))
    model(example(torch))
    return q.convert(model)
