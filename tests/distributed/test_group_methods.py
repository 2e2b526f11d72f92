"""The collectives as methods of a process group: the numbers of the functions, in the forms of torch's class."""

from datetime import timedelta

import pytest
from several import results_of

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.group_methods.options import AllgatherOptions


def of_lists(rank, size):
    """One tensor in a list, and options."""
    pg, out = dist.group.WORLD, {}
    mine = torch.tensor([rank + 1.0, rank])

    def options(kind, **values):
        opts = kind()
        for name, value in values.items():
            setattr(opts, name, value)
        return opts

    def done(name, work, *tensors):
        work.wait()
        out[name] = [t.tolist() for t in tensors]

    x = mine.clone()
    done("allreduce", pg.allreduce([x]), x)
    x = mine.clone()
    done("max", pg.allreduce([x], options(dist.AllreduceOptions, reduceOp=dist.ReduceOp.MAX)), x)
    x = mine.clone()
    done("broadcast", pg.broadcast([x], options(dist.BroadcastOptions, rootRank=1)), x)
    x = mine.clone()
    opts = options(dist.ReduceOptions, rootRank=1, reduceOp=dist.ReduceOp.PRODUCT)
    done("reduce", pg.reduce([x], opts), x if rank == 1 else mine)
    rows = [torch.zeros(2) for _ in range(size)]
    done("allgather", pg.allgather([rows], [mine], AllgatherOptions()), *rows)
    rows = [torch.zeros(2) for _ in range(size)]
    gathering = options(dist.GatherOptions, rootRank=1, timeout=timedelta(seconds=50))
    done("gather", pg.gather([rows] if rank == 1 else [], [mine], gathering), *rows)
    parts = [[mine * i for i in range(size)]]
    x = torch.zeros(2)
    done("scatter", pg.scatter([x], parts if rank == 1 else [], options(dist.ScatterOptions, rootRank=1)), x)
    x = torch.zeros(2)
    done("reduce_scatter", pg.reduce_scatter([x], parts), x)
    rows = [torch.zeros(2) for _ in range(size)]
    done("alltoall", pg.alltoall(rows, parts[0]), *rows)
    x, whole = torch.zeros(2 * size), torch.arange(2.0 * size) + rank
    done("alltoall_base", pg.alltoall_base(x, whole, [], []), x)
    x, y = mine.clone(), mine * 2
    done("allreduce_coalesced", pg.allreduce_coalesced([x, y]), x, y)
    x, y = torch.zeros(2 * size), torch.zeros(size)
    done("into_tensors", pg.allgather_into_tensor_coalesced([x, y], [mine, mine[:1]]), x, y)
    x = torch.zeros(2)
    done("scatter_tensors", pg.reduce_scatter_tensor_coalesced([x], [whole]), x)
    pg.barrier(dist.BarrierOptions()).wait()
    pg.barrier(timedelta(seconds=50)).wait()
    return out


def of_one_tensor(rank, size):
    pg, out, mine = dist.group.WORLD, {}, torch.tensor([rank + 1.0, rank])

    def done(name, work, *tensors):
        work.wait()
        out[name] = [t.tolist() for t in tensors]

    x = mine.clone()
    done("allreduce", pg.allreduce(x), x)
    x = mine.clone()
    done("max", pg.allreduce(x, dist.ReduceOp.MAX), x)
    x = mine.clone()
    done("max by name", pg.allreduce(x, op=dist.ReduceOp.MAX), x)
    x = mine.clone()
    done("broadcast", pg.broadcast(x, 1), x)
    x = mine.clone()
    done("reduce", pg.reduce(x, 1, dist.ReduceOp.PRODUCT), x if rank == 1 else mine)
    rows = [torch.zeros(2) for _ in range(size)]
    done("allgather", pg.allgather(rows, mine), *rows)
    rows = [torch.zeros(2) for _ in range(size)]
    done("gather", pg.gather(rows if rank == 1 else [], mine, 1), *rows)
    parts, x = [mine * i for i in range(size)], torch.zeros(2)
    done("scatter", pg.scatter(x, parts if rank == 1 else [], root=1), x)
    x = torch.zeros(2)
    done("reduce_scatter", pg.reduce_scatter(x, parts, dist.ReduceOp.SUM), x)
    if rank == 0:
        pg.send([mine], 1, 3).wait()
        pg.send([mine * 2], 1, 4).wait()
    else:
        x, y = torch.zeros(2), torch.zeros(2)
        pg.recv([x], 0, 3).wait()
        sender = pg.recv_anysource([y], 4)
        sender.wait()
        out["messages"] = x.tolist(), y.tolist(), sender.source_rank()
    return out


def errors(rank, size):
    """What both processes refuse before they exchange anything."""
    pg, x, said = dist.group.WORLD, torch.ones(2), []
    calls = [
        lambda: pg.allreduce([x, x]),
        lambda: pg.allreduce(3),
        lambda: pg.allreduce([x], 5),
        lambda: pg.broadcast(x, 5),
        lambda: pg.allgather([[x]], [x]),
        lambda: pg.reduce_scatter([x], [[x]]),
        lambda: setattr(dist.AllreduceOptions(), "rootRank", 1),
        lambda: pg.allreduce(x).get_future_result(),
    ]
    for call in calls:
        try:
            said.append(str(call()))
        except (TypeError, RuntimeError, AttributeError) as error:
            said.append(f"{type(error).__name__}: {error}")
    return said


def of_the_group(rank, size):
    pg = dist.group.WORLD
    store = pg.get_group_store()
    store.set(f"from {rank}", str(rank))
    backend = pg._get_backend(torch.device("cpu"))
    info = dist.distributed_c10d._world
    other = dist.new_group([1])
    ranks = [*info.pg_group_ranks.values()]
    message = dist.P2POp(dist.isend, torch.ones(2, 3), 1 - rank)
    return store.get(f"from {1 - rank}"), backend.name(), info.default_pg is pg, ranks, other != pg, repr(message)


def a_late_process(rank, size):
    """Rank 1 comes when rank 0 has stopped waiting; the call itself goes on."""
    if rank == 0:
        opts = dist.AllreduceOptions()
        opts.timeout = timedelta(milliseconds=50)
        x = torch.ones(1)
        work = dist.group.WORLD.allreduce([x], opts)
        try:
            work.wait()
        except RuntimeError as error:
            said = str(error)
        dist.group.WORLD.get_group_store().set("late", "1")
        work.wait(timedelta(seconds=50))
        return said, x.item()
    dist.group.WORLD.get_group_store().get("late")
    x = torch.ones(1)
    dist.all_reduce(x)
    return "", x.item()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return results_of([of_lists, of_one_tensor, errors, of_the_group, a_late_process], 2, tmp_path_factory.mktemp("m"))


EXPECTED = {  # torch 2.13's, rank 0 and rank 1
    "allreduce": [[[3, 1]]] * 2,
    "max": [[[2, 1]]] * 2,
    "broadcast": [[[2, 1]]] * 2,
    "reduce": [[[1, 0]], [[2, 0]]],
    "allgather": [[[1, 0], [2, 1]]] * 2,
    "gather": [[[0, 0], [0, 0]], [[1, 0], [2, 1]]],
    "scatter": [[[0, 0]], [[2, 1]]],
    "reduce_scatter": [[[0, 0]], [[3, 1]]],
    "alltoall": [[[0, 0], [0, 0]], [[1, 0], [2, 1]]],
    "alltoall_base": [[[0, 1, 1, 2]], [[2, 3, 3, 4]]],
    "allreduce_coalesced": [[[3, 1], [6, 2]]] * 2,
    "into_tensors": [[[1, 0, 2, 1], [1, 2]]] * 2,
    "scatter_tensors": [[[1, 3]], [[5, 7]]],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_numbers_of_torch(results, name):
    for rank, each in enumerate(results):
        assert each["of_lists"][name] == EXPECTED[name][rank]
        if name in each["of_one_tensor"]:
            assert each["of_one_tensor"][name] == EXPECTED[name][rank]


def test_forms_of_one_tensor(results):
    assert [each["of_one_tensor"]["max by name"] for each in results] == EXPECTED["max"]
    assert results[1]["of_one_tensor"]["messages"] == ([1, 0], [2, 0], 0)


def test_what_is_refused(results):
    for each in results:
        texts = each["errors"]
        assert texts[0] == "RuntimeError: ProcessGroupGloo::allreduce: requires a single-element tensor list"
        assert all(text.startswith("TypeError: allreduce(): incompatible function arguments") for text in texts[1:3])
        assert texts[3] == "RuntimeError: ProcessGroupGloo::broadcast: invalid root rank: 5"
        assert "(expected length 2, got 1)" in texts[4] and "must be world size" in texts[5]
        assert texts[6].startswith("AttributeError") and texts[7].endswith("getFutureResult not implemented.")


def test_what_a_group_says_of_itself(results):
    for rank, each in enumerate(results):
        value, backend, is_default, ranks, is_other, message = each["of_the_group"]
        assert (value, backend, is_default, is_other) == (str(1 - rank).encode(), "gloo", True, True)
        assert ranks == [{0: 0, 1: 1}, *([{1: 0}] if rank else [])]
        assert (
            message == f"P2POp(isend pg=0, group_src={rank}, group_dst={1 - rank},  torch.Size([2, 3]), torch.float32)"
        )


def test_a_limit_of_waiting(results):
    (said, total), (_, other) = (each["a_late_process"] for each in results)
    assert "Wait timeout" in said and total == other == 2


def test_functional_collectives_refuse_a_reduction_that_they_do_not_know():
    from rushlight.distributed import _functional_collectives

    assert _functional_collectives._op("SUM") is dist.ReduceOp.SUM
    with pytest.raises(RuntimeError, match="Unrecognized reduce_op: foo"):
        _functional_collectives._op("foo")
