"""Parameters have the same bits in all processes after each step, while one process replays a program and another one does not.

In turn one process is the odd one out: it has smaller batches, so that it captures or runs eagerly, runs the plain function for some
steps, and meets a guard that fails.
"""

import warnings

import pytest
from several import results_of

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.core.jit_switch import jit
from rushlight.nn.parallel import DistributedDataParallel

STEPS = 45
MAKE = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.003, foreach=False),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.003, weight_decay=0.02, foreach=True),
    "Muon": lambda p: torch.optim.Muon([q for q in p if q.ndim == 2], lr=0.003),
}
CASES = {  # (optimizer, what gradients are clipped by, the odd process)
    2: [("AdamW", "norm", 0), ("Muon", "by hand", 1)],
    3: [("SGD", "norm", 2)],
}
LOOPS = ("Adam", "norm", 0)
WIDTH = 140  # so that a norm is made of several pieces


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU(), nn.Linear(WIDTH, 4))


def differing(rank, size, optimizer, clip, odd, compiled):
    """The steps after which some process has other parameters, or another norm, than process 0; and which ran natively."""
    model = DistributedDataParallel(network())
    update = MAKE[optimizer](list(model.parameters()))
    state = {"scale": 1.0}

    def step(x, y):
        update.zero_grad()
        (nn.functional.cross_entropy(model(x), y) * state["scale"]).backward()
        norm = torch.zeros(())
        if clip == "norm":
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        elif clip == "by hand":
            norm = sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt()
            for p in model.parameters():
                p.grad.mul_((0.5 / (norm + 1e-6)).clamp(max=1.0))
        update.step()
        return norm.detach()

    function = torch.compile(step) if compiled else step
    generator = torch.Generator().manual_seed(rank)
    wrong = []
    for i in range(STEPS):
        is_odd = rank == odd and i > 1
        n = 5 + i % 3 if is_odd and (i % 9 == 8 or i in (2, 4, 5)) else 8
        state["scale"] = 2.0 if is_odd and i in (40, 41, 42, 43) else 1.0
        x = torch.randn(n, WIDTH, generator=generator)
        y = torch.randint(0, 4, (n,), generator=generator)
        norm = (step if is_odd and 20 <= i < 25 else function)(x, y)
        flat = torch.cat([*(p.detach().reshape(-1) for p in model.parameters()), norm.reshape(1)])
        found = [torch.empty_like(flat) for _ in range(size)]
        dist.all_gather(found, flat)
        if any(not torch.equal(one, found[0]) for one in found):
            wrong.append(i)
    return wrong, sum(c.program is not None for c in function.captured) if compiled else None


def separate_update(rank, size):
    """An update that is a compiled function of its own, in process 1 behind a guard that fails; and what is left to kernels."""
    model, data = DistributedDataParallel(network()), torch.randn(8, WIDTH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    state = {"calls": 0}

    @torch.compile
    def update():
        nn.utils.clip_grad_norm_(model.parameters(), 0.5 + 0.0 * state["calls"])
        optimizer.step()

    wrong = []
    for i in range(12):
        optimizer.zero_grad()
        model(data).square().mean().backward()
        state["calls"] = i % 3 * rank
        update()
        flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
        found = [torch.empty_like(flat) for _ in range(size)]
        dist.all_gather(found, flat)
        wrong += [] if torch.equal(*found) else [i]

    def whole():
        optimizer.zero_grad()
        loss = model(data).square().mean()
        loss.backward()
        update()
        return loss

    compiled = torch.compile(whole)
    for _ in range(4):
        compiled()
    text = str(torch.compile.explain(compiled)())
    return wrong, next(line.strip() for line in text.splitlines() if "in Python" in line)


def buffers_sent(rank, size):
    """Steps whose forward pass writes buffers that the first process has sent: power iterations of spectral norms."""
    torch.manual_seed(0)
    spectral = nn.utils.parametrizations.spectral_norm
    net = nn.Sequential(
        spectral(nn.Linear(24, 24)), nn.Tanh(), spectral(nn.Linear(24, 24)), nn.Tanh(), nn.Linear(24, 4)
    )
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(rank)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    wrong = []
    for i in range(8):
        step(torch.randn(8, 24, generator=generator))
        flat = torch.cat([t.detach().reshape(-1) for t in (*model.parameters(), *model.buffers())])
        found = [torch.empty_like(flat) for _ in range(size)]
        dist.all_gather(found, flat)
        wrong += [i] if any(not torch.equal(one, found[0]) for one in found) else []
    return wrong, sum(c.program is not None for c in step.captured)


def compiled_steps(rank, size):
    warnings.simplefilter("ignore")  # that the odd one's steps run eagerly
    return {case: differing(rank, size, *case, True) for case in CASES[size]}


def loops(rank, size):
    """Nothing is compiled by name. Process 1 has worked before, so that its kernels of large arrays become programs sooner."""
    jit.on = True
    large = torch.randn(1 << 18)
    if rank == 1:
        for _ in range(100):
            large.logsumexp(0), large.norm()
    norms = []
    for i in range(25):
        whole = (large * (1 + i)).clone()
        dist.broadcast(whole, 0)
        with torch.no_grad():
            norms.append((whole.norm().item(), whole.pow(1.5).nansum().item(), whole.sum().item()))
        norms[-1] += (whole.norm().item(), whole.sum().item())
    return norms, differing(rank, size, *LOOPS, False)[0]


@pytest.fixture(scope="module")
def of_two(tmp_path_factory):
    functions = [loops, separate_update, buffers_sent, compiled_steps]  # loops: before other programs
    return results_of(functions, 2, tmp_path_factory.mktemp("alike"))


@pytest.mark.parametrize("size", [2, 3])
def test_compiled_steps(size, of_two, tmp_path):
    results = of_two if size == 2 else results_of([compiled_steps], size, tmp_path)
    found = [result["compiled_steps"] for result in results]
    assert {case: wrong for case, (wrong, _) in found[0].items() if wrong} == {}
    assert all(count >= 1 for result in found for case, (_, count) in result.items())


def test_loops(of_two):
    first, second = (result["loops"] for result in of_two)
    assert first[0] == second[0]
    assert first[1] == second[1] == []
    for result in of_two:
        wrong, in_python = result["separate_update"]
        assert wrong == [] and in_python.startswith("in Python: 7 linalg_vector_norm (") and in_python.count(" (") == 1


def test_buffers_that_one_process_sends(of_two):
    assert [result["buffers_sent"] for result in of_two] == [([], 1)] * 2
