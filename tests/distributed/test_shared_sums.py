"""Sums in memory that the processes of a host share: the numbers of MPI's, labels of calls, deaths, and nothing left behind."""

import sys
import warnings

import numpy as np
import pytest
import shared_memory
from failing_calls import WAYS, check_that_all_raise, tell_errors
from several import results_of

import rushlight as torch
import rushlight.distributed as dist

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory without a name is Linux's")

SIZE = 3
SIZES = [1024, 1025, 3_000, 131_072, 131_073, 700_001]  # of numbers: around a page, and a chunk


def allow(more=True):
    """Share memory although there are more processes than processors; or never."""
    from rushlight.distributed.mpi import shared_sums

    shared_sums._is_possible = lambda processes: more


def values(rank, dtype, n):
    x = np.random.default_rng(rank).standard_normal(n) * 100
    return torch.tensor(x.astype(dtype))


def _every_sum(rank):
    group, out = dist.new_group(), {}
    for dtype in ("float32", "float64", "int32", "complex64"):
        for n in SIZES:
            for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG) if dtype.startswith("float") else (dist.ReduceOp.SUM,):
                x = values(rank, dtype, n)
                dist.all_reduce(x, op, group=group)
                out[dtype, n, str(op)] = x.numpy().tobytes()
    return group.wire._sums is not None, out


def in_shared_memory(rank, size):
    allow()
    return _every_sum(rank)


def by_messages(rank, size):
    allow(rank == 1)  # if one cannot, none does
    return _every_sum(rank)


def times_a_factor(rank, size):
    allow()
    group, out = dist.new_group(), []
    for n in (5, 3_000, 200_003):
        x = values(rank, "float32", n).numpy()
        returned = group.all_reduce(group.key(), x, dist.ReduceOp.SUM, 0.3)
        out.append((returned is x, x.tobytes()))
    return out


PARTS = [
    (1024, 0, 1025),
    (7, 3_000, 10, 1),
    (131_000, 90, 300_001, 3),
    (3, 4),
]  # numbers; the last ones go by MPI where they are integers


def of_several_arrays(rank, size):
    """One array of the same numbers is summed next to them, and other processes take the slower way."""
    allow()
    out = {}
    for way in ("code", "NumPy"):
        group = dist.new_group()
        for dtype in ("float32", "float64", "int32"):
            for sizes in PARTS:
                whole = values(rank, dtype, sum(sizes)).numpy()
                parts = [part.copy() for part in np.split(whole, np.cumsum(sizes)[:-1])]
                if way == "NumPy" and rank == 1 and group.wire._sums is not None:
                    group.wire._sums._step = lambda *kind: None
                factor = 0.3 if dtype != "int32" else 1
                group.sum_in_place(group.key(), parts, factor)
                group.all_reduce(group.key(), whole, dist.ReduceOp.SUM, factor)
                out[way, dtype, sizes] = b"".join(part.tobytes() for part in parts), whole.tobytes()
    return out


def small_ones(rank, size):
    """How many chunks go by memory: of floating-point numbers each, of others none."""
    allow()
    group, found = dist.new_group(), []
    for dtype in (torch.float32, torch.float64, torch.int64, torch.float16):
        for shape in ((), (1,), (0,), (3, 5)):
            x = torch.ones(shape, dtype=dtype)
            dist.all_reduce(x, group=group)
            assert (x == SIZE).all()
            found.append((str(dtype), shape, group.wire._sums._done if group.wire._sums else 0))
    return found


def parts_for_each(rank, size):
    """Reduce-scatter: in the memory of parts that may be overwritten, else by messages, which leave them alone."""
    allow()
    group, out = dist.new_group(), []
    for dtype in ("float32", "float64", "int32"):
        for sizes in ((1024, 1025, 0), (300_001, 7, 131_072), (1, 2, 3)):
            whole = values(rank, dtype, sum(sizes)).numpy()
            for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG)[: 1 if dtype == "int32" else 2]:
                given, results = np.split(whole, np.cumsum(sizes)[:-1]), []
                for may_overwrite, into in ((True, None), (True, np.empty(sizes[rank], dtype)), (False, None)):
                    mine, done = [part.copy() for part in given], group.wire._sums._done if group.wire._sums else 0
                    result = group.reduce_scatter_arrays(group.key(), mine, op, into, may_overwrite)
                    kept = all((a == b).all() for a, b in zip(mine, given, strict=True))
                    shares = (group.wire._sums._done if group.wire._sums else 0) > done
                    results.append((result.tobytes(), kept, shares, into is None or result is into))
                out.append((dtype, sizes, str(op), results))
    return out


def of_other_parts(rank, size):
    """As many numbers in all, in other parts."""
    allow()
    group = dist.new_group()
    for _ in range(101):  # more than are compared
        group.sum_in_place(group.key(), [np.ones(2_000, np.float32)])
    group.wire.mesh.trouble = lambda key, peers: None
    from rushlight.distributed.mpi import shared_sums

    shared_sums._DIFFERENT_S = 0.1
    parts = [np.ones(n, np.float32) for n in ((1_000, 2_000) if rank else (2_000, 1_000))]
    try:
        group.sum_in_place(group.key(), parts)
    except dist.DistBackendError as error:
        return str(error)
    return "no error"


def many_in_a_row(rank, size):
    """No slot is written before all have read it, whoever is late."""
    allow()
    group, found = dist.new_group(), []
    for i in range(200):
        x = torch.full((1 + 1100 * (i % 300),), float(i + rank))
        dist.all_reduce(x, group=group)
        if i % 3 == rank:
            x.sort()
        found.append(x.unique().tolist() == [3.0 * i + 3.0])
    return all(found)


def strided(rank, size):
    allow()
    group, whole = dist.new_group(), torch.zeros(200, 300)
    part = whole.t()[::2]
    part += rank + 1
    dist.all_reduce(part, group=group)
    return whole[:, ::2].unique().tolist(), whole[:, 1::2].unique().tolist()


def not_finite(rank, size):
    """Sums that are too large, and those of infinities of both signs, in each of the ways: no warning."""
    allow()
    group, found = dist.new_group(), []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype, n in ((torch.float32, 5_000), (torch.float32, 3), (torch.float16, 5_000), (torch.float16, 3)):
            for value in (torch.finfo(dtype).max, torch.inf * (-1) ** rank):
                for later in (False, True):
                    x = torch.full((n,), value, dtype=dtype)
                    work = dist.all_reduce(x, group=group, async_op=later)
                    if later:
                        work.wait()
                    found.append(str(x[-1].item()))
    return found


FUNCTIONS = [
    in_shared_memory,
    by_messages,
    times_a_factor,
    of_several_arrays,
    small_ones,
    parts_for_each,
    many_in_a_row,
    strided,
    not_finite,
    of_other_parts,
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    before = shared_memory.names()
    found = results_of(FUNCTIONS, SIZE, tmp_path_factory.mktemp("sums"))
    assert not shared_memory.left_since(before)
    return found


def test_all_share_memory_or_none_does(results):
    assert [r["in_shared_memory"][0] for r in results] == [True] * SIZE
    assert [r["by_messages"][0] for r in results] == [False] * SIZE


def test_sums_are_in_the_order_of_ranks(results):
    for r in results:
        for (dtype, n, op), found in r["in_shared_memory"][1].items():
            a, b, c = (values(rank, dtype, n).numpy() for rank in range(SIZE))
            expected = (a + b) + c
            if "AVG" in op:
                expected = expected / np.asarray(SIZE, dtype)
            assert found == expected.tobytes(), (dtype, n, op)


def test_messages_give_the_same_to_rounding(results):
    for key, found in results[0]["by_messages"][1].items():
        mine = np.frombuffer(results[0]["in_shared_memory"][1][key], key[0])
        np.testing.assert_allclose(mine, np.frombuffer(found, key[0]), rtol=1e-4, atol=1e-4)


def test_factors_are_in_the_arrays_own_memory(results):
    for i, n in enumerate((5, 3_000, 200_003)):
        a, b, c = (values(rank, "float32", n).numpy() * np.float32(0.3) for rank in range(SIZE))
        assert [r["times_a_factor"][i] for r in results] == [(True, ((a + b) + c).tobytes())] * SIZE


def test_several_arrays_are_summed_as_one(results):
    for r in results:
        for key, (parts, whole) in r["of_several_arrays"].items():
            assert parts == whole, key
        assert r["of_several_arrays"] == results[0]["of_several_arrays"]


def test_small_arrays_of_floating_point_numbers_go_by_memory(results):
    for r in results:
        assert [done for _, _, done in r["small_ones"]] == [1, 2, 2, 3, 4, 5, 5, 6, *[6] * 8]


def test_parts_that_may_be_overwritten_are_reduced_in_their_memory(results):
    for rank, r in enumerate(results):
        for dtype, sizes, op, found in r["parts_for_each"]:
            a, b, c = (values(other, dtype, sum(sizes)).numpy() for other in range(SIZE))
            expected = np.split((a + b) + c, np.cumsum(sizes)[:-1])[rank]
            expected = expected / np.asarray(SIZE, dtype) if "AVG" in op else expected
            (first, _, shares, _), (second, _, _, is_into), (plain, is_kept, by_memory, _) = found
            assert shares == (sum(sizes) > 6 or dtype != "int32") and is_into and is_kept and not by_memory
            assert first == second
            if shares:
                assert first == expected.tobytes()
            close = np.testing.assert_allclose
            close(np.frombuffer(plain, dtype), expected, rtol=1e-4, atol=1e-4)


def test_other_parts_are_refused(results):
    assert ["makes another call than all_reduce(SUM) of float32 [3000]" in r["of_other_parts"] for r in results] == [
        True
    ] * SIZE


def test_slots_are_used_again(results):
    assert [r["many_in_a_row"] for r in results] == [True] * SIZE


def test_strided(results):
    assert [r["strided"] for r in results] == [([6.0], [0.0])] * SIZE


def test_no_warning_of_what_is_not_finite(results):
    assert [r["not_finite"] for r in results] == [["inf", "inf", "nan", "nan"] * 4] * SIZE


def act(rank, size, folder, way):
    allow()
    dist.init_process_group("mpi", f"file://{folder}/meet", world_size=size, rank=rank)
    dist.all_reduce(torch.ones(5_000))
    assert dist.group.WORLD.wire._sums is not None
    tell_errors(rank, size, folder, way)


@pytest.mark.parametrize("way", WAYS)
def test_the_others_raise(way, tmp_path):
    check_that_all_raise(act, way, tmp_path)
