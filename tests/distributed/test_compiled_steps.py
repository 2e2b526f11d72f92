"""Compiled steps of several processes, other data on each: the numbers of eager ones, and the same bits in all processes.

One process has a smaller batch now and then, or calls the plain function in the second half: the others replay, or capture,
or run eagerly, and all make the same collectives in the same order.
"""

import hashlib
import warnings

import pytest
from several import results_of

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed.algorithms.ddp_comm_hooks import default_hooks
from rushlight.nn.parallel import DistributedDataParallel

STEPS = 12
FORMS = ["the whole step", "the wrapped network", "the network inside", "averages by hand"]
CASES = {
    "plain": {},
    "a hook": {"hook": default_hooks.fp16_compress_hook},
    "no_sync": {"accumulates": True},
    "Adam": {"optimizer": torch.optim.Adam},
    "a smaller batch in process 0": {"smaller": 0},
    "a smaller batch in process 1": {"smaller": 1},
    "process 0 goes on eagerly": {"eager": 0},
    "process 1 goes on eagerly": {"eager": 1},
}


_MIXED = [case for case in CASES if "process" in case]
CASES_AND_FORMS = {  # each takes a second or two
    2: {
        "plain": FORMS,
        "a hook": FORMS[:1],
        "no_sync": FORMS[:1],
        "Adam": FORMS[:1],
        **{case: [FORMS[0], FORMS[3]] for case in _MIXED},
        "process 1 goes on eagerly": FORMS,
    },
    3: {"a smaller batch in process 1": FORMS[:2]},
}


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 30), nn.Tanh(), nn.Linear(30, 4))


def batch(rank, step, n):
    generator = torch.Generator().manual_seed(1000 * rank + step)
    return torch.randn(n, 20, generator=generator), torch.randint(0, 4, (n,), generator=generator)


def trained(form, rank, size, hook=None, accumulates=False, optimizer=torch.optim.SGD, smaller=None, eager=None):
    """The parameters after twelve steps."""
    net = network()
    if form != "averages by hand":
        net = DistributedDataParallel(torch.compile(net) if form == "the network inside" else net)
        if hook is not None:
            net.register_comm_hook(None, hook)
    call = torch.compile(net) if form == "the wrapped network" else net
    update = optimizer(net.parameters(), lr=0.05)

    def step(x, y):
        update.zero_grad()
        if accumulates:
            with net.no_sync():
                nn.functional.cross_entropy(call(x), y).backward()
        nn.functional.cross_entropy(call(x), y).backward()
        if form == "averages by hand":
            for p in net.parameters():
                dist.all_reduce(p.grad)
                p.grad /= size
        update.step()

    compiled = torch.compile(step) if form in ("the whole step", "averages by hand") else step
    for i in range(STEPS):
        n = 5 if rank == smaller and i in (5, 9) else 8
        (step if rank == eager and i >= STEPS // 2 else compiled)(*batch(rank, i, n))
    return torch.cat([p.detach().reshape(-1) for p in net.parameters()])


def compared(rank, size):
    """{(case, form): (digest of the parameters, greatest difference from those of eager steps)}"""
    warnings.simplefilter("ignore")  # that a step runs eagerly: `test_data_parallel` looks at it
    found = {}
    for case, forms in CASES_AND_FORMS[size].items():
        options = CASES[case]
        expected = trained("eager", rank, size, **options)
        for form in forms:
            values = trained(form, rank, size, **options)
            digest = hashlib.sha256(values.numpy().tobytes()).hexdigest()
            found[case, form] = digest, float((values - expected).abs().max())
    return found


@pytest.mark.parametrize("size", [2, 3])
def test_compiled_steps_average_as_eager_ones(size, tmp_path):
    first, *others = [result["compared"] for result in results_of([compared], size, tmp_path)]
    tolerances = {key: 1e-4 if key[0] == "a hook" else 1e-5 for key in first}
    assert {key: difference for key, (_, difference) in first.items() if difference > tolerances[key]} == {}
    for other in others:
        assert {key for key, (digest, _) in first.items() if other[key][0] != digest} == set()
    # what is compared does depend on the averages
    assert len({digest for digest, _ in first.values()}) >= (5 if size == 2 else 1)
