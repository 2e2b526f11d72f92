"""One host of `python -m benchmarks scale fit` or `link`: measures, and rank 0 prints a line of JSON. Run as a program.

`allreduces` has the three algorithms that the model in docs/scale.md describes, over TCP and by calls that wait: MPI's processes look for
messages all the time, which many on one machine of few cores cannot.
"""

import json
import os
import select
import socket
import struct
import sys
from time import perf_counter, sleep

import numpy as np

SIZES = (64, 4 << 10, 64 << 10, 512 << 10, 2 << 20)
TIMES = 3
PORT = 29512


def group_size(hosts):
    """How many hosts a group has where there are `hosts`: a divisor next to the square root."""
    return min((d for d in range(1, hosts + 1) if hosts % d == 0 and d > 1), key=lambda d: (d - 1 + hosts // d, d))


class Links:
    """Connections between each two hosts, by rank."""

    def __init__(self, rank, hosts):
        self.rank, self.size, self.to = rank, len(hosts), {}
        with socket.create_server((hosts[rank], PORT), backlog=self.size) as listener:
            for peer in range(rank):
                self.to[peer] = _connected(hosts[peer])
                self.to[peer].sendall(struct.pack("!I", rank))
            while len(self.to) < self.size - 1:
                link = listener.accept()[0]
                self.to[struct.unpack("!I", link.recv(4))[0]] = link
        for link in self.to.values():
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.setblocking(False)

    def exchange(self, sent, to, room, source):
        """Send an array to a host and receive one from a host at the same time; None: only one of them."""
        out = memoryview(sent).cast("B") if to is not None and sent.size else b""
        into = memoryview(room).cast("B") if source is not None and room.size else b""
        while out or into:
            reads, writes, _ = select.select([self.to[source]] if into else [], [self.to[to]] if out else [], [])
            if reads:
                into = into[reads[0].recv_into(into) :]
            if writes:
                out = out[writes[0].send(out) :]

    def barrier(self):
        """Wait for all."""
        mark = np.zeros(1, np.uint8)
        distance = 1
        while distance < self.size:
            self.exchange(mark, (self.rank + distance) % self.size, mark.copy(), (self.rank - distance) % self.size)
            distance *= 2


def _connected(host):
    while True:
        try:
            return socket.create_connection((host, PORT))
        except OSError:
            sleep(0.05)


def allreduces(links):
    """{name: all-reduce of a float32 array in place}"""
    n, rank, exchange = links.size, links.rank, links.exchange

    def rotate(pieces, members, first, adds):
        """A ring in which each member passes on a piece, beginning with its own number `first`; it adds, or takes over."""
        k, me = len(members), members.index(rank)
        after, before = members[(me + 1) % k], members[(me - 1) % k]
        room = np.empty(pieces[0].size, pieces[0].dtype)
        for step in range(k - 1):
            got = pieces[(me + first - step - 1) % k]
            exchange(pieces[(me + first - step) % k], after, room[: got.size], before)
            got[:] = got + room[: got.size] if adds else room[: got.size]

    def ring(x, members=None):
        members = members or list(range(n))
        pieces = np.array_split(x, len(members))
        rotate(pieces, members, 0, True)
        rotate(pieces, members, 1, False)

    def tree(x):
        room, distance = np.empty_like(x), 1
        while distance < n and not rank & distance:
            if rank + distance < n:
                exchange(None, None, room, rank + distance)
                x += room
            distance *= 2
        if rank:
            exchange(x, rank - distance, None, None)
            exchange(None, None, x, rank - distance)
        while distance > 1:
            distance //= 2
            if rank + distance < n:
                exchange(x, rank + distance, None, None)

    def hierarchical(x):
        """Each host sums its part within a group, then with the same part's hosts of the other groups."""
        g = group_size(n)
        group, across = [rank - rank % g + i for i in range(g)], list(range(rank % g, n, g))
        pieces = np.array_split(x, g)
        rotate(pieces, group, -1, True)
        if len(across) > 1:
            ring(pieces[rank % g], across)
        rotate(pieces, group, 0, False)

    return {"ring": ring, "tree": tree, "hierarchical": hierarchical}


def fit(mpi):
    """Seconds of each algorithm at each size: the best of some calls, as other programs only add. mpi: MPI's own."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    links = Links(rank, [f"10.92.1.{i + 1}" for i in range(size)])
    calls, found = allreduces(links), {}
    if mpi:
        import rushlight.distributed as dist

        dist.init_process_group("gloo")
        from mpi4py import MPI

        calls = {"MPI's own": lambda x: MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, x)}
    for name, call in calls.items():
        for bytes_ in SIZES:
            x = np.full(bytes_ // 4, rank + 1.0, np.float32)
            call(x)
            assert (x == size * (size + 1) / 2).all(), name
            best = float("inf")
            for _ in range(TIMES if bytes_ > 1 << 18 else 5 * TIMES):
                links.barrier()
                start = perf_counter()
                call(x)
                links.barrier()  # of all hosts, the last one counts; of an array of no bytes, it is taken away below
                best = min(best, perf_counter() - start)
            found[f"{name} {bytes_}"] = best
    times = []
    for _ in range(10):
        start = perf_counter()
        links.barrier()
        times.append(perf_counter() - start)
    return {name: seconds - min(times) for name, seconds in found.items()}


def costs():
    """Seconds per gradient that a communication hook takes by itself, in a job of one process: {hook: seconds}"""
    import rushlight as torch
    from rushlight.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    from rushlight.nn.parallel.grad_bucket import GradBucket

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    shapes = [(512, 512, 3, 3)] * 2 + [(1024, 1024)] * 2
    parameters = [torch.nn.Parameter(torch.zeros(shape)) for shape in shapes]
    flat = torch.randn(sum(p.numel() for p in parameters))
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
    hooks = {
        "bf16": lambda: default_hooks.bf16_compress_hook(None, GradBucket(0, 1, flat, parameters)).wait(),
        "PowerSGD": lambda: powerSGD_hook.powerSGD_hook(state, GradBucket(0, 1, flat, parameters)).wait(),
    }
    found = {}
    for name, hook in hooks.items():
        times = []
        for _ in range(30):
            start = perf_counter()
            hook()
            times.append(perf_counter() - start)
        found[name] = min(times[3:]) / flat.numel()
    return found


def link(library):
    """Seconds of an all_reduce of 32 MB, of a step of a 15M-parameter MLP, and of the same with bfloat16 sums."""
    import statistics

    torch = __import__(library)
    dist = __import__(f"{library}.distributed").distributed
    hooks = __import__(f"{library}.distributed.algorithms.ddp_comm_hooks.default_hooks", fromlist=["*"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")

    def median(act, repeats=5):
        act()
        times = []
        for _ in range(repeats):
            dist.barrier()
            start = perf_counter()
            act()
            times.append(perf_counter() - start)
        return statistics.median(times)

    x = torch.zeros(8 << 20)
    found = {"32 MB": median(lambda: dist.all_reduce(x))}
    inputs, targets = torch.randn(64, 1024), torch.randint(0, 10, (64,))
    # torch's hook refuses gloo
    for name in ("alone", "DDP float32", *(["DDP bf16"] if library == "rushlight" else [])):
        torch.manual_seed(0)
        layers = [torch.nn.Linear(1024, 2900), torch.nn.ReLU(), torch.nn.Linear(2900, 4096), torch.nn.ReLU()]
        model = torch.nn.Sequential(*layers, torch.nn.Linear(4096, 10))
        if name != "alone":
            model = torch.nn.parallel.DistributedDataParallel(model)
        if name == "DDP bf16":
            model.register_comm_hook(None, hooks.bf16_compress_hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def step(model=model, optimizer=optimizer):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

        median(step, 3)
        found[name] = median(step)
    found["parameters"] = sum(p.numel() for p in model.parameters())
    found["last"] = 4 * layers[0].weight.numel()  # bytes of the gradient that backward reaches last
    return found


def main(what):
    """Measure `fit`, `MPI`, `costs`, or a link under a library."""
    found = fit(what == "MPI") if what in ("fit", "MPI") else costs() if what == "costs" else link(what)
    if os.environ["RANK"] == "0":
        print(json.dumps(found), flush=True)
    for name in ("torch", "rushlight"):
        if f"{name}.distributed" in sys.modules and (dist := sys.modules[f"{name}.distributed"]).is_initialized():
            dist.barrier()
            dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
