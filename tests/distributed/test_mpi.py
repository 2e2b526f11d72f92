"""Collectives by MPI: the same results as over TCP, for all types and shapes, the same bits in all processes, and ends."""

import os
import time
import warnings

import pytest
from rushlight.multiprocessing import start_processes
from several import results_of

import rushlight as torch
import rushlight.distributed as dist

pytest.importorskip("mpi4py")

SIZE = 3
TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
SHAPES = [(), (0,), (5,), (2, 3), (40_001,)]


def values(rank, dtype, shape):
    torch.manual_seed(rank)
    x = torch.randint(0, 5, shape) - 2 * (dtype not in ("bool", "uint8"))
    x = x.to(getattr(torch, dtype))
    return x * (1 + 1j) if dtype == "complex64" else x


def raw(tensor):
    return tensor.contiguous().view(torch.uint8).numpy().tobytes() if tensor.dim() and tensor.numel() else repr(tensor)


def every_call(rank, size):
    """{(call, type, shape): the bytes of its result}"""
    out = {}
    for dtype in TYPES:
        for shape in SHAPES:

            def done(name, *tensors, at=(dtype, shape)):
                out[name, *at] = [raw(t) for t in tensors]

            x = values(rank, dtype, shape)
            operations = ["SUM"] if dtype == "complex64" else ["SUM", "PRODUCT", "MIN", "MAX"]
            for name in operations:
                y, z = x.clone(), x.clone()
                dist.all_reduce(y, getattr(dist.ReduceOp, name))
                dist.reduce(z, 1, getattr(dist.ReduceOp, name))
                done(f"all_reduce {name}", y)
                done(f"reduce {name}", z if rank == 1 else x)
            y = x.clone()
            dist.broadcast(y, 2)
            done("broadcast", y)
            parts = [torch.zeros_like(x) for _ in range(size)]
            dist.all_gather(parts, x)
            done("all_gather", *parts)
            dist.gather(x, parts if rank == 0 else None, 0)
            done("gather", *parts)
            dist.scatter(y, [p + p for p in parts] if rank == 0 else None, 0)
            done("scatter", y)
            dist.reduce_scatter(y, parts)
            done("reduce_scatter", y)
            dist.all_to_all(parts, [values(rank + i, dtype, shape) for i in range(size)])
            done("all_to_all", *parts)
    return out


def is_by_mpi(rank, size):
    return dist.group.WORLD.wire is not None


def strided(rank, size):
    whole = torch.zeros(4, 6)
    part = whole.t()[::2]
    part += rank + 1
    dist.all_reduce(part)
    received = torch.full((6, 4), 1.0 - rank).t()
    dist.broadcast(received, 0)
    return whole.tolist(), received.tolist()


def not_a_number(rank, size):
    """The smallest of numbers with NaN is NaN everywhere, which MPI alone would not do."""
    x = torch.tensor([float("nan") if rank == 1 else float(rank), rank])
    dist.all_reduce(x, dist.ReduceOp.MIN)
    return str(x.tolist())


def half_sums(rank, size):
    """2048 + 1 + 1 is 2050 in float16 only where it is added in float32."""
    out = []
    for n in (3, 20_000):
        x = torch.full((n,), 2048.0 if rank == 0 else 1.0, dtype=torch.float16)
        dist.all_reduce(x)
        out.append(x.unique().tolist())
    return out


def in_order(rank, size):
    """Calls that are begun without waiting come before later ones that are waited for, whatever their sizes."""
    order, tensors = [], [torch.full((n,), float(rank)) for n in (300_000, 3, 70_000)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    for i, work in enumerate(works):
        work.get_future().add_done_callback(lambda _, i=i: order.append(i))
    last = torch.ones(1)
    dist.all_reduce(last)
    assert all(work.is_completed() for work in works)
    following = works[0].get_future().then(lambda f: f.value()[0].sum().item()).then(lambda f: f.wait() / 3)
    return [t[0].item() for t in tensors], last.item(), sorted(order), following.wait()


def groups(rank, size):
    pair, all_again = dist.new_group([0, 2]), dist.new_group()
    x, y = torch.ones(2) * rank, torch.ones(70_000) * rank
    if rank != 1:
        dist.all_reduce(x, group=pair)
    dist.all_reduce(y, group=all_again)
    return x.tolist(), y[-1].item(), all_again.wire is not None


def one_processor(rank, size):
    """Seconds of processor time for 100 calls, where all processes share one processor; 0 where it cannot be given away."""
    if not hasattr(os, "sched_setaffinity") or not dist.group.WORLD.wire.library.polls_requests:
        return 0.0
    before, x = os.sched_getaffinity(0), torch.ones(1)
    os.sched_setaffinity(0, {min(before)})
    try:
        dist.all_reduce(x)
        begun = time.process_time()
        for _ in range(100):
            dist.all_reduce(x)
        return time.process_time() - begun
    finally:
        os.sched_setaffinity(0, before)


def mixed_types(rank, size):
    """Every process raises before anything is sent, so that the group goes on."""
    f, d = torch.zeros(size), torch.zeros(size, dtype=torch.float64)
    calls = {
        "all_gather": lambda: dist.all_gather([f, d, f], f),
        "gather": lambda: dist.gather(f, [f, d, f] if rank == 0 else None, 0),
        "scatter": lambda: dist.scatter(f, [f, d, f] if rank == 0 else None, 0),
        "reduce_scatter": lambda: dist.reduce_scatter(f, [f, d, f]),
        "all_to_all": lambda: dist.all_to_all([f, d, f], [f, f, f]),
        "all_to_all_single": lambda: dist.all_to_all_single(f, d),
        "all_reduce_coalesced": lambda: dist.all_reduce_coalesced([f, d]),
        "reduce_scatter_single": lambda: dist.reduce_scatter_single(f[:1], d),
        "all_gather_coalesced": lambda: dist.all_gather_coalesced([[f]] * size, [f, f]),
    }
    told = {}
    for name, call in calls.items():
        if rank and name in ("gather", "scatter"):
            continue
        try:
            call()
        except (ValueError, RuntimeError) as error:
            told[name] = type(error).__name__
    dist.all_reduce(f)
    return told


def destroyed_groups(rank, size):
    """MPI's communicators come back, also to a process that is still to receive what another one has sent before."""
    communicators, found = set(), []
    for i in range(30):
        group = dist.new_group()
        x, y = torch.full((50,), float(i * (rank == 0))), torch.ones(50)
        dist.broadcast(x, 0, group=group)
        dist.reduce(y, size - 1, group=group)
        late = dist.all_reduce(torch.ones(5_000), group=group, async_op=True) if i == 29 else None
        communicators.add(group.wire._comm)
        dist.destroy_process_group(group)
        if late is not None:
            late.wait()
        found.append((x[0].item(), y[0].item() if rank == size - 1 else float(size)) == (i, size))
    with pytest.raises(RuntimeError, match="destroyed"):
        dist.all_reduce(x, group=previous_of(group))
    return len(communicators), all(found)


def previous_of(group):
    """A group that has been destroyed while no call was under way."""
    gone = dist.new_group(group.ranks)
    dist.destroy_process_group(gone)
    return gone


FUNCTIONS = [
    destroyed_groups,
    is_by_mpi,
    every_call,
    strided,
    not_a_number,
    half_sums,
    in_order,
    groups,
    one_processor,
    mixed_types,
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return results_of(FUNCTIONS, SIZE, tmp_path_factory.mktemp("mpi"))


@pytest.fixture(scope="module")
def over_tcp(tmp_path_factory):
    os.environ["RUSHLIGHT_MPI"] = "0"
    try:
        return results_of([is_by_mpi, every_call, half_sums, not_a_number], SIZE, tmp_path_factory.mktemp("tcp"))
    finally:
        del os.environ["RUSHLIGHT_MPI"]


def test_both_ways_are_taken(results, over_tcp):
    assert [r["is_by_mpi"] for r in results] == [True] * SIZE
    assert [r["is_by_mpi"] for r in over_tcp] == [False] * SIZE


def test_results_equal_those_over_tcp(results, over_tcp):
    for rank in range(SIZE):
        mine, other = results[rank]["every_call"], over_tcp[rank]["every_call"]
        assert mine.keys() == other.keys() and len(mine) == len(TYPES) * len(SHAPES) * 14 - 6 * len(SHAPES)
        assert not [key for key in mine if mine[key] != other[key]]


def test_the_same_bits_everywhere(results):
    for key in results[0]["every_call"]:
        if key[0].startswith(("all_reduce", "broadcast", "all_gather")):
            assert len({str(r["every_call"][key]) for r in results}) == 1, key


def test_strided(results):
    for r in results:
        whole, received = r["strided"]
        assert whole == [[6.0, 0.0] * 3] * 4 and received == [[1.0] * 6] * 4


def test_numbers_that_are_none(results, over_tcp):
    assert {r["not_a_number"] for r in results + over_tcp} == {"[nan, 0.0]"}


def test_half_precision_is_added_in_float32(results, over_tcp):
    assert [r["half_sums"] for r in results + over_tcp] == [[[2050.0], [2050.0]]] * 2 * SIZE


def test_order_and_futures(results):
    assert [r["in_order"] for r in results] == [([3.0, 3.0, 3.0], 3.0, [0, 1, 2], 300_000.0)] * SIZE


def test_lists_of_mixed_types_are_refused_everywhere(results):
    of_values = ["all_gather", "reduce_scatter", "all_to_all", "all_to_all_single", "all_reduce_coalesced"]
    expected = dict.fromkeys(of_values, "ValueError")
    expected |= {"reduce_scatter_single": "RuntimeError", "all_gather_coalesced": "RuntimeError"}
    assert results[1]["mixed_types"] == results[2]["mixed_types"] == expected
    assert results[0]["mixed_types"] == expected | {"gather": "ValueError", "scatter": "ValueError"}


def test_groups(results):
    assert [r["groups"] for r in results] == [([2, 2], 3, True), ([1, 1], 3, True), ([2, 2], 3, True)]


def test_destroyed_groups_give_communicators_back(results):
    for r in results:
        count, were_right = r["destroyed_groups"]
        assert count < 10 and were_right


def test_who_waits_gives_the_processor_away(results):
    """0.002 s; by MPICH's own waiting, which keeps the processor until the scheduler takes it, 0.4."""
    assert max(r["one_processor"] for r in results) < 0.1


def _has_mpi_already(rank, folder):
    if rank == 1:
        from mpi4py import MPI

        assert MPI.Is_initialized() and MPI.COMM_WORLD.Get_size() == 1
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        dist.init_process_group("gloo", f"file://{folder}/meet", world_size=2, rank=rank)
    total = torch.ones(1)
    dist.all_reduce(total)
    dist.destroy_process_group()
    texts = [str(w.message) for w in seen]
    assert total.item() == 2
    assert rank or "process 1 had started MPI before, by itself" in texts[0]


def test_a_process_that_has_started_mpi_itself(tmp_path):
    start_processes(_has_mpi_already, (str(tmp_path),), nprocs=2, start_method="spawn")  # which finalizes MPI
