"""Models and steps with sharded parameters, the same under torch (`tests/golden/make_sharded.py`) and Rushlight."""

STEPS = 12


def make(torch, name):
    """(a model, the modules in it that get a unit of their own)"""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down, self.norm = nn.Linear(9, 20), nn.Linear(20, 9), nn.LayerNorm(9)

        def forward(self, x):
            return x + self.down(F.gelu(self.up(self.norm(x))))

    class Blocks(nn.Module):
        def __init__(self, times=1):
            super().__init__()
            self.first, self.blocks, self.last = nn.Linear(5, 9), nn.ModuleList([Block(), Block()]), nn.Linear(9, 3)
            self.unused, self.times = nn.Linear(2, 2), times

        def forward(self, x):
            x = self.first(x)
            for block in self.blocks:
                for _ in range(self.times):
                    x = block(x)
            return self.last(x)

    class Conv(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(inplace=True), nn.Conv2d(6, 8, 3))
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            return self.head(self.body(x.view(-1, 1, 5, 5)).flatten(1))

    class Text(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(11, 8)
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
            self.last = nn.Linear(8, 11, bias=False)
            self.last.weight = self.table.weight

        def forward(self, x):
            return self.last(self.layer(self.table(x)))

    if name == "conv":
        net = Conv()
        return net, [net.body]
    if name == "text":
        net = Text()
        return net, [net.layer]
    net = Blocks(2 if name == "twice" else 1)
    if name == "frozen":
        for block in net.blocks:
            block.up.requires_grad_(False)
            block.norm.weight.requires_grad_(False)
    return net, list(net.blocks)


def batch(torch, name, rank, size):
    """This process's inputs and labels."""
    torch.manual_seed(1)
    if name == "text":
        x = torch.randint(0, 11, (4 * size, 6))
        return x[rank::size], x.roll(1, 1)[rank::size]
    x = torch.randn(4 * size, *((25,) if name == "conv" else (5,)))
    return x[rank::size], torch.randint(0, 3, (4 * size,))[rank::size]


def loss_of(torch, net, x, y):
    return torch.nn.functional.cross_entropy(net(x).float().flatten(0, -2), y.flatten())


CASES = ("plain", "clip", "twice", "frozen", "conv", "text", "mixed", "accumulate")


def shard(torch, name):
    """The model of a case, sharded."""
    from_fsdp = torch.distributed.fsdp
    torch.manual_seed(0)
    net, parts = make(torch, name)
    options = {}
    if name == "mixed":
        options["mp_policy"] = from_fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for part in parts:
        from_fsdp.fully_shard(part, **options)
    return from_fsdp.fully_shard(net, **options)


def losses(torch, name, rank, size, net=None):
    """A process's losses; the last one in eval mode."""
    net = shard(torch, name) if net is None else net
    trained = [p for p in net.parameters() if p.requires_grad]
    make_optimizer = torch.optim.SGD if name == "conv" else torch.optim.AdamW
    optimizer = make_optimizer(trained, lr=0.01)
    x, y = batch(torch, name, rank, size)
    found = []
    for _ in range(STEPS):
        if name == "accumulate":
            net.set_requires_gradient_sync(False)
            loss_of(torch, net, x, y).backward()
            net.set_requires_gradient_sync(True)
        loss = loss_of(torch, net, x * 0.5 if name == "accumulate" else x, y)
        loss.backward()
        if name == "clip":
            torch.nn.utils.clip_grad_norm_(trained, 0.3)
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    net.eval()
    with torch.no_grad():
        found.append(loss_of(torch, net, x, y).item())
    return found
