"""One rank of a job of `python -m benchmarks scale`: measures, and rank 0 prints a line of JSON. Run as a program."""

import json
import statistics
import sys
from pathlib import Path
from time import perf_counter, process_time

SIZES = {"4 KB": (4 << 10, 1000), "1 MB": (1 << 20, 100), "64 MB": (64 << 20, 5)}
STEPS = 30


def median(act, repeats, rounds=3):
    """Seconds per call: the median call of the best round, as other programs of the machine only add."""
    best = float("inf")
    for _ in range(rounds):
        times = []
        for _ in range(repeats):
            start = perf_counter()
            act()
            times.append(perf_counter() - start)
        best = min(best, statistics.median(times))
    return best


def networks(nn):
    """Name: (network, shape of a batch)"""
    return {
        "MLP": (nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)),
                (64, 784)),
        "CIFAR-10 network": (
            nn.Sequential(
                nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 64, 256), nn.ReLU(), nn.Linear(256, 10),
            ),
            (64, 3, 32, 32),
        ),
    }  # fmt: skip


def step_of(torch, network, shape):
    """A training step of the network behind DistributedDataParallel."""
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(shape), torch.randint(0, 10, shape[:1])

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def explain(rank, size, meet):
    """Print what each compiled step exchanges."""
    import rushlight as torch

    torch.distributed.init_process_group("gloo", meet, rank=rank, world_size=size)
    found = {}
    for name, (network, shape) in networks(torch.nn).items():
        step = torch.compile(step_of(torch, network, shape))
        for _ in range(3):
            step()
        text = str(torch.compile.explain(step)())
        found[name] = next(line.strip() for line in text.splitlines() if "exchanges" in line)
    if rank == 0:
        print(json.dumps(found), flush=True)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


NETWORKS = {"cifar10": 64, "mlp": 64, "lstm": 20, "resnet18": 32}  # of step_cases, and the batch of a process
SECONDS = 6.0  # of each way of each network


def steps(library, rank, size, meet):
    """Steps of larger networks: {"name way": (seconds, processor's seconds)}, medians; ways: eager, and Rushlight's compiled one."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from benchmarks import step_cases

    torch = __import__(library)
    dist = __import__(f"{library}.distributed").distributed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", meet, rank=rank, world_size=size)
    found = {}
    for name, batch in NETWORKS.items():
        for way in ("eager", "compiled") if library == "rushlight" else ("eager",):
            case = getattr(step_cases, name)(torch, torch.nn.parallel.DistributedDataParallel, batch)
            step = torch.compile(case.step) if way == "compiled" else case.step
            found[f"{name} {way}"] = _timed(dist, torch, step, case.batches)
    if rank == 0:
        print(json.dumps(found), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def _timed(dist, torch, step, batches):
    """The medians of a step's time and of its processor time, after five that warm it up; all processes make as many."""
    for i in range(5):
        begun = perf_counter()
        step(*batches[i % len(batches)])
    repeats = torch.tensor([max(5, min(60, int(SECONDS / (perf_counter() - begun))))])
    dist.broadcast(repeats, 0)
    times = []
    for i in range(int(repeats)):
        begun, used = perf_counter(), process_time()
        step(*batches[i % len(batches)])
        times.append((perf_counter() - begun, process_time() - used))
    return [statistics.median(column) for column in zip(*times)]


def main(library, rank, size, meet):
    """Measure under `library`; with Rushlight, mpi4py's own all_reduce too, in turn."""
    begun = perf_counter()
    torch = __import__(library)
    dist = __import__(f"{library}.distributed").distributed
    torch.set_num_threads(1)
    imported = perf_counter()
    dist.init_process_group("gloo", meet, rank=rank, world_size=size)
    dist.all_reduce(torch.ones(1))
    out = {"import": imported - begun, "start": perf_counter() - imported}
    by_mpi = library == "rushlight" and dist.group.WORLD.wire is not None
    for name, (size_bytes, repeats) in SIZES.items():
        x = torch.zeros(size_bytes // 4)
        median(lambda x=x: dist.all_reduce(x), 20 if repeats > 20 else 1, 1)
        out[name] = median(lambda x=x: dist.all_reduce(x), repeats)
        if by_mpi:
            from mpi4py import MPI

            array = x.numpy()
            out[f"{name} mpi4py"] = median(lambda a=array: MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, a), repeats)
    for name, (network, shape) in networks(torch.nn).items():
        step = step_of(torch, network, shape)
        median(step, 10, 1)
        out[name] = median(step, STEPS)
    if rank == 0:
        print(json.dumps(out), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    if sys.argv[1] == "explain":
        explain(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    elif sys.argv[1].startswith("steps-"):
        steps(sys.argv[1].removeprefix("steps-"), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
