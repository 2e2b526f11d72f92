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
        dist.all_gather_into_tensor(gathered[0], torch.ones(3) * rank)
        dist.all_gather_into_tensor(gathered[1], torch.ones(2) * -rank)
    works.wait()
    pair = dist.new_group([0, 1], use_local_synchronization=True) if rank < 2 else None
    local = torch.ones(1) * (rank + 1)
    if pair is not None:
        dist.all_reduce(local, group=pair)
    return [t.tolist() for t in [*sums, *gathered, local]]


CASES = [functional, coalesced]
