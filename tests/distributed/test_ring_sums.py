"""Sums around a ring, of processes that take each other for those of other hosts: numbers, bits, rounding, deaths, other calls."""

import pickle
import sys

import numpy as np
import pytest
import shared_memory
from failing_calls import WAYS, check_that_all_raise, tell_errors
from several import started

import rushlight as torch
import rushlight.distributed as dist

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the processes are forks")

SIZE = 3
SIZES = [3_000, 3_001, 10_007, 65_537]  # of numbers: a piece and many, equal ones and not


def enter(rank, size, folder):
    """Each process is a host, and small arrays go around the ring in pieces of 4 KB."""
    from rushlight.distributed.mpi import ring, start

    start.host_name = lambda: f"host{rank} {rank}"
    ring._LEAST_CHUNK_BYTES, ring._PIECE_BYTES = 1 << 12, 1 << 12
    dist.init_process_group("mpi", f"file://{folder}/meet", world_size=size, rank=rank)


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


def of_two(rank):
    """16 bits, which are added in float32 and rounded once, by the ring and in parts."""
    pair, out = dist.new_group([0, 1]), []
    if rank < 2:
        for is_ring in (True, False):
            pair.wire.spans_hosts = is_ring
            x = values(rank, "bfloat16", 30_001)
            dist.all_reduce(x, group=pair)
            out.append(x.float().numpy().tobytes())
    return out


def in_place(rank):
    """With a factor; and in every second column."""
    group, x = dist.group.WORLD, np.full(20_000, rank + 1.0, np.float32)
    returned = group.all_reduce(group.key(), x, dist.ReduceOp.SUM, 0.25)
    whole = torch.zeros(200, 300)
    part = whole.t()[::2]
    part += rank + 1
    dist.all_reduce(part)
    return returned is x, set(x.tolist()), whole[:, ::2].unique().tolist(), whole[:, 1::2].unique().tolist()


FUNCTIONS = [sums, twice, of_two, in_place]


def run(rank, size, folder):
    enter(rank, size, folder)
    found = {f.__name__: f(rank) for f in FUNCTIONS}
    found["ring"] = dist.group.WORLD.wire._ring is not None
    dist.barrier()
    dist.destroy_process_group()
    with open(f"{folder}/{rank}", "wb") as file:
        pickle.dump(found, file)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder, before = tmp_path_factory.mktemp("ring"), shared_memory.names()
    started(run, (SIZE, str(folder)), SIZE, join=True)
    assert not shared_memory.left_since(before)
    return [pickle.loads((folder / str(rank)).read_bytes()) for rank in range(SIZE)]


def test_the_ring_is_used_between_hosts(results):
    assert [r["ring"] for r in results] == [True] * SIZE


def test_sums_have_the_same_bits_everywhere(results):
    for (dtype, n, op), found in results[0]["sums"].items():
        assert {r["sums"][dtype, n, op].tobytes() for r in results} == {found.tobytes()}, (dtype, n, op)
        parts = [values(rank, dtype, n) for rank in range(SIZE)]
        expected = np.sum([(p.float() if dtype == "bfloat16" else p).numpy() for p in parts], axis=0, dtype=found.dtype)
        if "AVG" in op:
            expected = expected / SIZE
        # three bfloat16 round twice in the worst of ways
        np.testing.assert_allclose(found, expected, rtol=8e-3 if dtype == "bfloat16" else 1e-6, atol=1e-4)
        if dtype == "int32":
            assert (found == expected).all()


def test_each_run_has_the_same_bits(results):
    assert all(r["twice"][0] == r["twice"][1] == results[0]["twice"][0] for r in results)
    assert results[0]["twice"][0][2] == [3.0, 3.0]


def test_16_bits_of_two_are_rounded_once(results):
    first, second = results[0]["of_two"]
    assert first == second == results[1]["of_two"][0]


def test_factors_and_strides(results):
    assert [r["in_place"] for r in results] == [(True, {1.5}, [6.0], [0.0])] * SIZE


def act(rank, size, folder, way):
    enter(rank, size, folder)
    dist.all_reduce(torch.ones(50_000))
    tell_errors(rank, size, folder, way)


@pytest.mark.parametrize("way", WAYS)
def test_the_others_raise(way, tmp_path):
    check_that_all_raise(act, way, tmp_path)
