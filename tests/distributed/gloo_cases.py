"""Programs of several processes that run under torch, which gives the expected numbers, and under Rushlight.

Each takes the module torch and returns numbers. `tests/golden/make_distributed.py` writes what torch returns.
"""

import importlib
import warnings


def _part(torch, name):
    return importlib.import_module(f"{torch.__name__}.distributed.{name}")


def _leaf(torch, rank, *shape):
    numbers = torch.arange(float(torch.Size(shape).numel())).reshape(shape) + 1
    return (numbers * (rank + 1)).requires_grad_()


def _with_gradients(rank, function, *leaves):
    """What a function returns, and the gradients of its arguments."""
    results = function(*leaves)
    results = results if isinstance(results, (tuple, list)) else [results]
    sum(((t * (i + 1.5 + rank)) * t).sum() for i, t in enumerate(results)).backward()
    return [[t.detach().tolist() for t in results], [None if x.grad is None else x.grad.tolist() for x in leaves]]


def functional(torch):
    """Collectives with gradients."""
    dist, F, fc = torch.distributed, _part(torch, "nn.functional"), _part(torch, "_functional_collectives")
    rank, n, world = dist.get_rank(), dist.get_world_size(), dist.group.WORLD

    def leaf(*shape):
        return _leaf(torch, rank, *shape)

    mesh, grid = dist.init_device_mesh("cpu", (n,)), dist.init_device_mesh("cpu", (1, n))

    def empty(size):
        return torch.empty(size)

    calls = {
        "all_reduce": (lambda x: F.all_reduce(x, group=world), leaf(2, 2)),
        "maximum": (lambda x: F.all_reduce(x, dist.ReduceOp.MAX, group=world), leaf(2)),
        "broadcast": (lambda x: F.broadcast(x, 1, group=world), leaf(3)),
        "gather": (lambda x: F.gather(x, 1, group=world), leaf(3)),
        "scatter": (lambda *x: F.scatter(list(x), 1, group=world), *[leaf(2) for _ in range(n)]),
        "all_gather": (lambda x: F.all_gather(x, group=world), leaf(2, 1)),
        "all_to_all": (
            lambda *x: F.all_to_all([empty(2) for _ in range(n)], list(x), group=world),
            *[leaf(2) for _ in range(n)],
        ),
        "all_to_all_single": (lambda x: F.all_to_all_single(empty(2 * n), x, group=world), leaf(2 * n)),
        "reduced": (lambda x: fc.all_reduce(x, "sum", world), leaf(2, 2)),
        "rows": (lambda x: fc.all_gather_single(x, 0, world) * 1, leaf(2, 2)),
        "columns": (lambda x: fc.all_gather_single(x, 1, world) * 1, leaf(2, 2)),
        "scattered rows": (lambda x: fc.reduce_scatter_single(x, "sum", 0, world) * 1, leaf(2 * n, 2)),
        "scattered columns": (lambda x: fc.reduce_scatter_single(x, "sum", 1, world) * 1, leaf(2, 2 * n)),
        "exchanged": (lambda x: fc.all_to_all_single(x, None, None, world) * 1, leaf(2 * n)),
        "of a mesh": (
            lambda x: fc.all_reduce(x, "sum", mesh) + fc.all_gather_single(x, 0, (grid, 1)).sum(0),
            leaf(2, 2),
        ),
        "passed on": (lambda x: fc.permute_tensor(x.detach(), [*range(1, n), 0], world) * x, leaf(3)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return {name: _with_gradients(rank, function, *leaves) for name, (function, *leaves) in calls.items()}


def coalesced(torch):
    """Calls that are made together."""
    dist, manager = torch.distributed, _part(torch, "distributed_c10d")._coalescing_manager
    rank, n = dist.get_rank(), dist.get_world_size()
    sums = [torch.ones(3) * (rank + 1), torch.ones(2, 2) * (rank + 2)]
    with manager():
        for t in sums:
            dist.all_reduce(t)
    gathered = [torch.zeros(n * 3), torch.zeros(n * 2)]
    with manager(async_ops=True) as works:
        dist.all_gather_single(gathered[0], torch.ones(3) * rank)
        dist.all_gather_single(gathered[1], torch.ones(2) * -rank)
    works.wait()
    pair = dist.new_group([0, 1], use_local_synchronization=True) if rank < 2 else None
    local = torch.ones(1) * (rank + 1)
    if pair is not None:
        dist.all_reduce(local, group=pair)
    return [t.tolist() for t in [*sums, *gathered, local]]


# ---------------------------------------------------------------------------------------------- training


def _network(torch, seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(6, 10, bias=False),
        torch.nn.BatchNorm1d(10),
        torch.nn.Tanh(),
        torch.nn.Linear(10, 8),
        torch.nn.Linear(8, 2),
    )


def _batch(torch, step, size):
    """Numbers that need no generator."""
    x = torch.arange(float(size * 6)).reshape(size, 6)
    return torch.sin(x * (step + 1) * 0.37), torch.cos(x[:, :2] * 0.11 * (step + 1))


def _loss(torch, model, step, part=slice(None)):
    x, y = _batch(torch, step, 12)
    return torch.nn.functional.mse_loss(model(x[part]), y[part])


def _weights(model):
    return [p.detach().double().sum().item() for p in model.parameters()] + [
        model.state_dict()["module.1.running_mean"].tolist()
    ]


def _ddp(torch, **options):
    return torch.nn.parallel.DistributedDataParallel(_network(torch, torch.distributed.get_rank()), **options)


def _train(torch, model, optimizer, steps=6):
    rank, n = torch.distributed.get_rank(), torch.distributed.get_world_size()
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = _loss(torch, model, step, slice(rank, None, n))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def bucket_views(torch):
    """Gradients that are parts of their buckets, also while they accumulate."""
    model = _ddp(torch, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = _train(torch, model, optimizer, 3)
    with model.no_sync():
        _loss(torch, model, 3).backward()
    _loss(torch, model, 4).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    _loss(torch, model, 5).backward()
    places = {p.grad.untyped_storage().data_ptr() for p in model.parameters()}
    return [losses, _weights(model), len(places), [p.grad.sum().item() for p in model.parameters()]]


class _Branches:
    """A network of which each process may use a part only."""

    def __new__(cls, torch, rank):
        class Branches(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second, self.never = (torch.nn.Linear(6, 2) for _ in range(3))

            def forward(self, x, which):
                return self.first(x) if which == 0 else self.second(x)

        torch.manual_seed(rank)
        return Branches()


def static_graph(torch):
    """Parameters that no process uses, in a graph that stays the same."""
    model = torch.nn.parallel.DistributedDataParallel(_Branches(torch, torch.distributed.get_rank()), static_graph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        x, y = _batch(torch, step, 4)
        ((model(x, 0) - y) ** 2).sum().backward()
        optimizer.step()
    return [None if p.grad is None else p.detach().sum().item() for p in model.parameters()]


def reentrant(torch):
    """Reentrant checkpoints, whose backward passes run within the whole one, of a module that is called twice."""
    rank, found = torch.distributed.get_rank(), []
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint

    class Twice(torch.nn.Module):
        def __init__(self, calls):
            super().__init__()
            self.calls, self.inner, self.never = calls, torch.nn.Linear(6, 6), torch.nn.Linear(6, 2)
            self.last = torch.nn.Linear(6, 2)

        def forward(self, x):
            for _ in range(self.calls):
                x = checkpoint(self.inner, x, use_reentrant=True).tanh()
            return self.last(x)

    def trained(calls, **options):
        torch.manual_seed(0)
        module = Twice(calls)
        model = torch.nn.parallel.DistributedDataParallel(module, **options)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            optimizer.zero_grad()
            x, y = _batch(torch, step + 3 * rank, 4)
            ((model(x.requires_grad_()) - y) ** 2).sum().backward()
            optimizer.step()
        return [p.detach().sum().item() for p in model.parameters()] + [module.never.weight.grad is None]

    for calls in (1, 2):
        found.append([trained(calls, static_graph=True, gradient_as_bucket_view=views) for views in (False, True)])
    try:
        trained(1, find_unused_parameters=True)
    except RuntimeError as error:
        found.append(str(error)[:42])
    return found


def unused(torch):
    """Parameters that some processes use, or none."""
    rank = torch.distributed.get_rank()
    model = torch.nn.parallel.DistributedDataParallel(_Branches(torch, rank), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        x, y = _batch(torch, step, 4)
        ((model(x, rank if step % 2 else 0) - y) ** 2).sum().backward()
        optimizer.step()
    return [None if p.grad is None else p.detach().sum().item() for p in model.parameters()]


def partly_used(torch):
    """Parameters used within no_sync() only, by one process; outputs that are not part of the loss in one process or in all."""
    rank, found = torch.distributed.get_rank(), []

    def note(model):
        found.append([None if p.grad is None else p.grad.tolist() for p in model.parameters()])
        model.zero_grad()

    for views in (False, True):
        module = _Branches(torch, 0)
        model = torch.nn.parallel.DistributedDataParallel(
            module, find_unused_parameters=True, gradient_as_bucket_view=views
        )
        x, y = _batch(torch, rank, 4)
        for _ in range(2):
            with model.no_sync():
                ((model(x, min(rank, 1)) - y) ** 2).sum().backward()
            ((model(x, 1) - y) ** 2).sum().backward()
            note(model)
        module.forward = lambda x, module=module: [module.first(x), {"second": module.second(x)}]
        for step in range(4):
            first, others = model(x)
            loss = (first**2).sum()
            if rank == step:  # in the last step no process
                loss = loss + (others["second"] ** 3).sum()
            loss.backward()
            note(model)
    first, others = model(x)
    first.sum().backward()
    try:
        others["second"].sum().backward()
    except RuntimeError:
        found.append("the second backward pass raises")
    return found


def joined(torch):
    """Unequal numbers of batches, with both divisors."""
    rank, found = torch.distributed.get_rank(), []
    for divides in (True, False):
        model = _ddp(torch)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        with model.join(divide_by_initial_world_size=divides):
            for step in range(2 + 2 * rank):
                optimizer.zero_grad()
                loss = _loss(torch, model, step, slice(rank, None, 2))
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        found.append([losses, _weights(model)])
    return found


def joined_early(torch):
    """All processes raise when the first one has no more batches."""
    rank = torch.distributed.get_rank()
    model = _ddp(torch)
    try:
        with model.join(throw_on_early_termination=True):
            for step in range(2 + rank):
                _loss(torch, model, step).backward()
    except RuntimeError as error:
        return str(error)


def power_sgd(torch):
    """Gradients as two thin matrices."""
    hooks, found = _part(torch, "algorithms.ddp_comm_hooks.powerSGD_hook"), []
    for hook, options in (
        (hooks.powerSGD_hook, {"matrix_approximation_rank": 1}),
        (
            hooks.powerSGD_hook,
            {"matrix_approximation_rank": 2, "warm_start": False, "batch_tensors_with_same_shape": True},
        ),
        (
            hooks.powerSGD_hook,
            {"matrix_approximation_rank": 3, "min_compression_rate": 0.5, "orthogonalization_epsilon": 1e-6},
        ),
    ):
        model = _ddp(torch)
        state = hooks.PowerSGDState(None, start_powerSGD_iter=2, **options)
        model.register_comm_hook(state, hook)
        losses = _train(torch, model, torch.optim.SGD(model.parameters(), lr=0.05))
        found.append([losses, _weights(model), list(state.compression_stats())])
    return found


def local_sgd(torch):
    """Processes that train alone and average their parameters now and then."""
    hooks = _part(torch, "algorithms.ddp_comm_hooks.post_localSGD_hook")
    averagers, optim = _part(torch, "algorithms.model_averaging.averagers"), _part(torch, "optim")
    n = torch.distributed.get_world_size()
    alone, _ = torch.distributed.new_subgroups_by_enumeration([[rank] for rank in range(n)])
    model = _ddp(torch)
    model.register_comm_hook(hooks.PostLocalSGDState(None, alone, 2), hooks.post_localSGD_hook)
    averager = averagers.PeriodicModelAverager(period=3, warmup_steps=2)
    optimizer = optim.PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), averager)
    losses = _train(torch, model, optimizer, 8)
    return [losses, _weights(model), optimizer.state_dict()["step"]]


def zero(torch):
    """Optimizers whose state is spread over the processes."""
    optim, join, found = _part(torch, "optim"), _part(torch, "algorithms.join"), []
    rank = torch.distributed.get_rank()
    for options in ({}, {"parameters_as_bucket_view": True}):
        model = _ddp(torch)
        optimizer = optim.ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01, **options)
        losses = _train(torch, model, optimizer)
        optimizer.consolidate_state_dict(to=1)
        state = optimizer.state_dict() if rank == 1 else None
        every = [state]
        torch.distributed.broadcast_object_list(every, src=1)
        sums = {str(i): {k: v.sum().item() for k, v in s.items()} for i, s in every[0]["state"].items()}
        optimizer.load_state_dict(every[0])
        optimizer.param_groups[0]["lr"] = 0.02
        losses += _train(torch, model, optimizer, 2)
        with join.Join([model, optimizer]):
            for step in range(1 + rank):
                _loss(torch, model, step).backward()
                optimizer.step()
        found.append([losses, _weights(model), sums, len(optimizer.optim.state)])
    return found


def sparse(torch):
    """Sums of sparse tensors, and averages of the sparse gradients of tables."""
    dist, nn = torch.distributed, torch.nn
    rank, sums, losses = dist.get_rank(), [], []

    def entries(n):
        places = torch.tensor([[rank, 3, 3][:n]], dtype=torch.int64)
        return torch.sparse_coo_tensor(places, torch.arange(2.0 * n).view(n, 2) + rank, (4, 2))

    for n in (3, 1, 3 * (rank == 1), 0):  # as many in each process, and fewer, and none
        x, y = entries(n), entries(n).coalesce()
        dist.all_reduce(x)
        dist.all_reduce(y, async_op=True).wait()
        sums += [[t.is_coalesced(), t._nnz(), t._indices().tolist(), t._values().tolist()] for t in (x, y)]

    class Tables(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.tags = nn.Embedding(6, 3, sparse=True), nn.EmbeddingBag(5, 3, mode="sum", sparse=True)
            self.linear = nn.Linear(3, 1)

        def forward(self, i):
            tags = self.tags(i % 5, torch.arange(len(i)))
            return self.linear(self.words(i) + tags).square().sum()

    def model(hook=None, **options):
        torch.manual_seed(0)
        made = nn.parallel.DistributedDataParallel(Tables(), **options)
        if hook:
            made.register_comm_hook(None, hook)
        return made

    def train(net, optimizers):
        for step in range(3):
            for optimizer in optimizers:
                optimizer.zero_grad()
            torch.manual_seed(10 * step + rank)
            with net.no_sync():
                net(torch.randint(0, 6, (4,))).backward()
            loss = net(torch.randint(0, 6, (2,)))
            loss.backward()
            gradient = net.module.words.weight.grad
            losses.append([loss.item(), gradient.is_sparse, gradient._nnz(), gradient.to_dense().sum(1).tolist()])
            for optimizer in optimizers:
                optimizer.step()
        losses.append([p.tolist() for p in net.parameters()])

    net = model()
    tables = [net.module.words.weight, net.module.tags.weight]
    train(net, [torch.optim.SparseAdam(tables, 0.1), torch.optim.SGD(net.module.linear.parameters(), 0.1)])
    net = model(find_unused_parameters=True, gradient_as_bucket_view=True)
    train(net, [torch.optim.SGD(net.parameters(), 0.1)])
    net = model(_part(torch, "algorithms.ddp_comm_hooks.default_hooks").allreduce_hook)
    train(net, [torch.optim.SGD(net.parameters(), 0.1)])
    return [sums, losses]


CASES = [
    functional, coalesced, bucket_views, static_graph, reentrant, unused, partly_used, joined, joined_early, power_sgd, local_sgd,
    sparse, zero,
]  # fmt: skip
