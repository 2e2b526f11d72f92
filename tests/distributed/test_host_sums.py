"""Sums of processes that share hosts, by processes that take each other for those of two hosts: numbers, bits, deaths, other calls."""

import os
import pickle
import signal
import sys

import numpy as np
import pytest
import shared_memory
from several import gather_by_files, started

import rushlight as torch
import rushlight.distributed as dist

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the processes are forks")

SIZES = [5_000, 10_007, 65_537]  # of numbers: a piece and many, equal ones and not
WORLDS = {"interleaved": [0, 1, 0, 1], "unequal": [0, 0, 1]}  # the host of each process


def enter(rank, hosts, folder):
    """Small arrays go around the ring in pieces of 4 KB."""
    from rushlight.distributed.mpi import ring, start

    start.host_name = lambda: f"host{hosts[rank]} {hosts[rank]}"
    ring._LEAST_CHUNK_BYTES, ring._PIECE_BYTES = 1 << 12, 1 << 12
    dist.init_process_group("mpi", f"file://{folder}/meet", world_size=len(hosts), rank=rank)


def values(rank, dtype, n):
    x = np.random.default_rng(rank).standard_normal(n) * 100
    return torch.tensor(x).to(getattr(torch, dtype))


def sums(rank):
    out = {}
    for dtype in ("float32", "float64", "int32", "complex64", "bfloat16"):
        for n in SIZES:
            for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG) if dtype.startswith("float") else (dist.ReduceOp.SUM,):
                x = values(rank, dtype, n)
                dist.all_reduce(x, op)
                out[dtype, n, str(op)] = (x.float() if dtype == "bfloat16" else x).numpy()
    return out


def twice(rank):
    """In a row, and begun ahead of other calls."""
    found = []
    for _ in range(2):
        x, y = values(rank, "float32", 65_537), values(rank + 10, "float32", 20_000)
        works = [dist.all_reduce(x, async_op=True), dist.all_reduce(y, async_op=True)]
        flag = torch.ones(2)
        dist.all_reduce(flag)
        for work in reversed(works):
            work.wait()
        found.append((x.numpy().tobytes(), y.numpy().tobytes(), flag.tolist()))
    return found


def pairs(rank):
    """Groups of the first two processes and of all but the first: of one host, or of two."""
    found = []
    for ranks in ([0, 1], [*range(1, dist.get_world_size())]):
        group = dist.new_group(ranks)
        if rank in ranks:
            x = torch.full((20_000,), rank + 1.0)
            dist.all_reduce(x, group=group)
            found.append((ranks, x.unique().tolist()))
    return found


def factors(rank):
    group, x = dist.group.WORLD, np.full(20_000, rank + 1.0, np.float32)
    returned = group.all_reduce(group.key(), x, dist.ReduceOp.SUM, 0.25)
    return returned is x, set(x.tolist())


FUNCTIONS = [sums, twice, pairs, factors]


def run(rank, hosts, folder):
    enter(rank, hosts, folder)
    found = {f.__name__: f(rank) for f in FUNCTIONS}
    wire = dist.group.WORLD.wire
    between = wire.host_sums.between
    found["ways"] = wire._ring is not None, between is not None and between._ring is not None
    dist.barrier()
    dist.destroy_process_group()
    with open(f"{folder}/{rank}", "wb") as file:
        pickle.dump(found, file)


@pytest.fixture(scope="module", params=WORLDS)
def results(request, tmp_path_factory):
    hosts, folder, before = WORLDS[request.param], tmp_path_factory.mktemp("hosts"), shared_memory.names()
    started(run, (hosts, str(folder)), len(hosts), join=True)
    assert not shared_memory.left_since(before)
    return hosts, [pickle.loads((folder / str(rank)).read_bytes()) for rank in range(len(hosts))]


def test_one_process_of_each_host_uses_the_link(results):
    hosts, found = results
    assert [r["ways"] for r in found] == [(False, hosts.index(host) == rank) for rank, host in enumerate(hosts)]


def test_sums_have_the_same_bits_everywhere(results):
    hosts, ranks = results
    for (dtype, n, op), found in ranks[0]["sums"].items():
        assert {r["sums"][dtype, n, op].tobytes() for r in ranks} == {found.tobytes()}, (dtype, n, op)
        parts = [values(rank, dtype, n) for rank in range(len(hosts))]
        expected = np.sum([(p.float() if dtype == "bfloat16" else p).numpy() for p in parts], axis=0, dtype=found.dtype)
        if "AVG" in op:
            expected = expected / len(hosts)
        np.testing.assert_allclose(found, expected, rtol=8e-3 if dtype == "bfloat16" else 1e-6, atol=1e-4)
        if dtype == "int32":
            assert (found == expected).all()


def test_each_run_has_the_same_bits(results):
    hosts, found = results
    assert all(r["twice"][0] == r["twice"][1] == found[0]["twice"][0] for r in found)
    assert found[0]["twice"][0][2] == [float(len(hosts))] * 2


def test_groups_of_some(results):
    for r in results[1]:
        assert all(values == [sum(ranks) + len(ranks)] for ranks, values in r["pairs"])


def test_factors(results):
    n = len(results[0])
    assert [r["factors"] for r in results[1]] == [(True, {n * (n + 1) / 8})] * n


def fail(rank, hosts, folder, way):
    enter(rank, hosts, folder)
    dist.all_reduce(torch.ones(50_000))
    dist.group.WORLD._made = 105  # the first calls are compared, and each thousandth
    gather_by_files(rank, len(hosts), folder)
    said = []
    for _ in range(2):
        try:
            if rank == 2 and way == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            dist.all_reduce(torch.ones(500_000 if rank == 2 else 400_000))
            said.append("nothing")
        except dist.DistBackendError as error:
            said.append(str(error))
    with open(f"{folder}/{rank}", "w") as file:
        file.write(" | ".join(said))
    dist.destroy_process_group()


@pytest.mark.parametrize("way", ["killed", "other shape"])
@pytest.mark.parametrize("world", WORLDS)
def test_all_others_raise(world, way, tmp_path):
    """Also those that wait within their host for the one that waits for another host."""
    hosts, before = WORLDS[world], shared_memory.names()
    processes = started(fail, (hosts, str(tmp_path), way), len(hosts)).processes
    for process in processes:
        process.join(60)
    died = way == "killed"
    assert [p.exitcode for p in processes] == [
        -signal.SIGKILL if died and rank == 2 else 0 for rank in range(len(hosts))
    ]
    expected = "Connection closed by peer: process 2" if died else "the processes make different collective calls"
    for rank in range(len(hosts)):
        if not died or rank != 2:
            first, second = (tmp_path / str(rank)).read_text().split(" | ", 1)
            assert expected in first and second != "nothing", rank
    assert not shared_memory.left_since(before)
