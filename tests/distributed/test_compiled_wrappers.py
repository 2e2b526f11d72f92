"""Compiled steps whose optimizer is a wrapper of Rushlight's own, which does more at each step than an optimizer's update."""

import warnings

import pytest
from several import results_of

import rushlight as torch
from rushlight import nn
from rushlight.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from rushlight.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer, zero_redundancy_optimizer
from rushlight.nn.parallel import DistributedDataParallel

STEPS = 9


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))


def trained(rank, model, optimizer, schedule, compiled):
    """The parameters after some steps with a learning rate that changes, how many programs there are, and the warnings."""

    def step(x):
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()

    function = torch.compile(step) if compiled else step
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for i in range(STEPS):
            schedule(i)
            function(torch.randn(3, 4, generator=torch.Generator().manual_seed(10 * i + rank)))
    values = torch.cat([p.detach().reshape(-1) for p in model.parameters()]).numpy()
    programs = sum(c.program is not None for c in function.captured) if compiled else 0
    return values, programs, [str(w.message) for w in seen if "runs eagerly" in str(w.message)]


def set_options(optimizer):
    """Learning rates from one step to the next, in the ways in which programs set them."""

    def schedule(i):
        group = optimizer.param_groups[0]
        if i == 4:
            group["lr"] = 0.5
        elif i == 6:
            group.update(lr=0.2)
        elif i == 7:
            group |= {"lr": 0.3}
        elif i == 8:
            optimizer.load_state_dict({"state": {}, "param_groups": [{**group, "lr": 0.1, "params": [0, 1, 2, 3]}]})
            optimizer.param_groups[0]["lr"] = 0.4

    return schedule


def zero(rank, size, compiled=True, as_view=False):
    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), torch.optim.SGD, parameters_as_bucket_view=as_view, lr=0.05, momentum=0.9
    )
    values, programs, texts = trained(rank, model, optimizer, set_options(optimizer), compiled)
    return values, programs, texts, optimizer.optim.param_groups[0]["lr"]


def zero_eagerly(rank, size):
    return zero(rank, size, compiled=False)


def zero_of_views(rank, size):
    return zero(rank, size, as_view=True)


def zero_of_large(rank, size):
    """Steps of large parameters and small ones: the largest difference from the plain optimizer's, eagerly and compiled; the
    most bytes of a tensor that an exchange makes, and those of all parameters."""
    differences, made, whole = [], [], 0
    for spread, compiled in ((False, False), (True, False), (True, True)):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 512), nn.Linear(512, 512), nn.Linear(512, 512), nn.Linear(512, 2))
        model = DistributedDataParallel(model)
        whole = sum(p.nbytes for p in model.parameters())
        inner = torch.optim.Adam
        optimizer = (
            ZeroRedundancyOptimizer(model.parameters(), inner, lr=1e-3) if spread else inner(model.parameters(), 1e-3)
        )
        values, programs, _ = trained(rank, model, optimizer, lambda i: None, compiled)
        assert bool(programs) == compiled
        differences.append(values)
        if spread and not compiled:
            joined = zero_redundancy_optimizer.cat

            def counted(tensors, joined=joined):
                made.append(sum(t.nbytes for t in tensors))
                return joined(tensors)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(zero_redundancy_optimizer, "cat", counted)
                optimizer.step()
    plain, eager, replayed = differences
    return abs(eager - plain).max(), abs(replayed - plain).max(), made, whole


def averager(rank, size, compiled=True):
    model = network()
    inner = torch.optim.SGD(model.parameters(), lr=0.05)
    optimizer = PostLocalSGDOptimizer(inner, PeriodicModelAverager(period=1, warmup_steps=6))
    return trained(rank, model, optimizer, lambda i: None, compiled)


def averager_eagerly(rank, size):
    return averager(rank, size, compiled=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    functions = [zero, zero_of_views, zero_eagerly, zero_of_large, averager, averager_eagerly]
    return results_of(functions, 2, tmp_path_factory.mktemp("wrappers"))


def test_the_learning_rate_of_a_spread_optimizer(results):
    for result in results:
        for name in ("zero", "zero_of_views"):
            values, programs, texts, lr = result[name]
            assert abs(values - result["zero_eagerly"][0]).max() < 1e-6
            assert (programs >= 1, texts, lr) == (True, [], 0.4)


def test_the_exchange_of_large_parameters_makes_no_copy_of_them(results):
    for result in results:
        eager, replayed, made, whole = result["zero_of_large"]
        assert eager < 1e-6 and replayed < 1e-6
        assert made and sum(made) < whole / 50


def test_an_averager_counts_each_step(results):
    for result in results:
        values, programs, texts = result["averager"]
        assert abs(values - result["averager_eagerly"][0]).max() < 1e-6
        assert programs == 0 and len(texts) == 1 and "PeriodicModelAverager counts steps" in texts[0]
