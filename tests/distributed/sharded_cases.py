"""Models and steps with sharded parameters, the same under torch (`tests/golden/make_sharded.py`) and Rushlight."""

from contextlib import contextmanager

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
FLAT_CASES = (
    "flat", "flat originals clip", "flat grad_op originals", "flat no_shard clip", "flat twice", "flat frozen originals",
    "flat conv", "flat text originals", "flat mixed", "flat accumulate",
)  # fmt: skip


def shard(torch, name):
    """The model of a case, sharded."""
    fsdp = torch.distributed.fsdp
    torch.manual_seed(0)
    net, parts = make(torch, name.split()[1] if name.startswith("flat ") else name)
    if name.startswith("flat"):
        return flat(torch, name, net, {type(part) for part in parts})
    options = {}
    if name == "mixed":
        options["mp_policy"] = fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for part in parts:
        fsdp.fully_shard(part, **options)
    return fsdp.fully_shard(net, **options)


def flat(torch, name, net, classes):
    """A model in FullyShardedDataParallel."""
    fsdp, options = torch.distributed.fsdp, {"use_orig_params": "originals" in name, "device_id": torch.device("cpu")}
    if "mixed" in name:
        options["mixed_precision"] = fsdp.MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    kinds = fsdp.ShardingStrategy
    strategy = kinds.NO_SHARD if "no_shard" in name else kinds.SHARD_GRAD_OP if "grad_op" in name else kinds.FULL_SHARD
    policy = torch.distributed.fsdp.wrap.ModuleWrapPolicy(classes)
    return fsdp.FullyShardedDataParallel(net, sharding_strategy=strategy, auto_wrap_policy=policy, **options)


def losses(torch, name, rank, size, net=None):
    """A process's losses; the last one in eval mode."""
    net = shard(torch, name) if net is None else net
    trained = [p for p in net.parameters() if p.requires_grad]
    kind = name.removeprefix("flat ").split()[0]
    make_optimizer = torch.optim.SGD if kind == "conv" else torch.optim.AdamW
    optimizer = make_optimizer(trained, lr=0.01)
    x, y = batch(torch, kind, rank, size)
    found = []
    for _ in range(STEPS):
        if kind == "accumulate":
            with without_sync(net):
                loss_of(torch, net, x, y).backward()
        loss = loss_of(torch, net, x * 0.5 if kind == "accumulate" else x, y)
        loss.backward()
        if "clip" in name:
            clip = getattr(net, "clip_grad_norm_", None)
            clip(0.3) if clip is not None else torch.nn.utils.clip_grad_norm_(trained, 0.3)
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    net.eval()
    with torch.no_grad():
        found.append(loss_of(torch, net, x, y).item())
    return found


@contextmanager
def without_sync(net):
    if hasattr(net, "no_sync"):
        with net.no_sync():
            yield
        return
    net.set_requires_gradient_sync(False)
    yield
    net.set_requires_gradient_sync(True)
