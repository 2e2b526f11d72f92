"""Collectives among three processes, against arithmetic."""

import pickle
import warnings
from datetime import timedelta

import pytest
from several import results_of

import rushlight as torch
import rushlight.distributed as dist

SIZE = 3


def reductions(rank, size):
    out = {}
    for name in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
        x = torch.tensor([rank + 1.0, 2.0])
        dist.all_reduce(x, op=getattr(dist.ReduceOp, name))
        out[name] = x.tolist()
    for name in ("BAND", "BOR", "BXOR"):
        x = torch.tensor([rank + 1])
        dist.all_reduce(x, op=getattr(dist.ReduceOp, name))
        out[name] = x.item()
    return out


def large_sum(rank, size):
    x = torch.arange(100_001.0) * (rank + 1)  # longer than what is sent whole, and not divisible by the processes
    dist.all_reduce(x)
    return (x == torch.arange(100_001.0) * 6).all().item()


def strided_sum(rank, size):
    x = torch.zeros(2, 3)
    y = x.t()
    y += rank
    dist.all_reduce(y)
    return x.tolist()


def overlapping_calls(rank, size):
    tensors = [torch.full((4,), float(rank + i)) for i in range(5)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    for work in reversed(works):
        assert work.wait() is True
    assert all(work.is_completed() for work in works)
    return [t[0].item() for t in tensors]


def broadcast(rank, size):
    x = torch.tensor([float(rank)])
    dist.broadcast(x, src=2)
    return x.item()


def reduce_to_one(rank, size):
    x = torch.tensor([float(rank)])
    dist.reduce(x, dst=1, op=dist.ReduceOp.MAX)
    return x.item()


def gathers(rank, size):
    own = torch.tensor([rank, 10 * rank])
    lists = [torch.zeros(2, dtype=torch.int64) for _ in range(size)]
    dist.all_gather(lists, own)
    joined = torch.zeros(2 * size, dtype=torch.int64)
    dist.all_gather_single(joined, own)
    at_one = [torch.zeros(2, dtype=torch.int64) for _ in range(size)] if rank == 1 else None
    dist.gather(own, at_one, dst=1)
    return [t.tolist() for t in lists], joined.tolist(), at_one and [t.tolist() for t in at_one]


def scatters(rank, size):
    x = torch.zeros(1)
    dist.scatter(x, [torch.tensor([10.0 * i]) for i in range(size)] if rank == 0 else None, src=0)
    y = torch.zeros(2)
    dist.reduce_scatter(y, [torch.tensor([float(i), float(rank)]) for i in range(size)])
    z = torch.zeros(1)
    dist.reduce_scatter_single(z, torch.arange(3.0) + rank)
    return x.item(), y.tolist(), z.item()


def scattered_layouts(rank, size):
    """Parts whose dimensions have another order in memory."""
    found = []
    for part in (torch.arange(12.0).reshape(3, 4).t(), torch.arange(16.0).reshape(1, 2, 4, 2).permute(0, 3, 1, 2)):
        x = torch.zeros(part.shape)
        dist.scatter(x, [part + i for i in range(size)] if rank == 0 else None, src=0)
        y = torch.zeros_like(part)
        dist.scatter(y, [part + i for i in range(size)] if rank == 0 else None, src=0)
        found.append(torch.equal(x, part + rank) and torch.equal(y, part + rank))
    return found


def all_to_all(rank, size):
    x = torch.zeros(size)
    dist.all_to_all_single(x, torch.arange(float(size)) + 10 * rank)
    y = torch.zeros(3 * (rank + 1))
    dist.all_to_all_single(y, torch.full((6,), float(rank)), [rank + 1] * 3, [1, 2, 3])
    return x.tolist(), y.tolist()


def messages(rank, size):
    following, before = (rank + 1) % size, (rank - 1) % size
    x = torch.zeros(2)
    sent = dist.isend(torch.tensor([float(rank), 1.0]), following, tag=7)
    received = dist.irecv(x, before, tag=7)
    received.wait()
    sent.wait()
    y = torch.zeros(1)
    if rank == 0:
        sources = sorted(dist.recv(y) for _ in range(size - 1))
    else:
        dist.send(torch.ones(1), 0)
        sources = None
    return x.tolist(), received.source_rank(), sources


def messages_in_order(rank, size):
    if rank == 0:
        works = [dist.isend(torch.full((50_000,), float(i)), 1) for i in range(8)]
        return [work.wait() for work in works] == [True] * 8
    if rank == 1:
        got = torch.empty(50_000)
        return [dist.recv(got, 0) or got[0].item() for _ in range(8)] == [float(i) for i in range(8)]
    return True


def monitored(rank, size):
    dist.monitored_barrier()
    group = dist.new_group()  # calls that fail do not disturb those of another group
    if rank:
        return ""
    try:
        dist.monitored_barrier(group, timedelta(seconds=0.05), wait_all_ranks=True)
    except RuntimeError as error:
        return str(error)


def objects(rank, size):
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank})
    told = [rank, "x" * rank]
    dist.broadcast_object_list(told, src=1)
    own = [None]
    dist.scatter_object_list(own, ["a", "b", "c"] if rank == 2 else None, src=2)
    parts = [None] * size if rank == 1 else None
    dist.gather_object({rank}, parts, dst=1)
    assert parts == ([{0}, {1}, {2}] if rank == 1 else None)
    if rank == 0:
        dist.send_object_list(["over", 1], dst=2)
    elif rank == 2:
        received = [None, None]
        assert dist.recv_object_list(received, src=0) == 0 and received == ["over", 1]
    return gathered, told, own


def groups(rank, size):
    pair = dist.new_group([2, 0])
    if rank == 1:
        assert pair is dist.GroupMember.NON_GROUP_MEMBER
        dist.new_group([0])  # torch has one object for all groups that a process is outside of: the last one's members
        assert dist.get_process_group_ranks(pair) == [0]
        dist.new_group([0, 2])
        found = dist.get_rank(pair), dist.get_group_rank(pair, 2), dist.get_global_rank(pair, 1)
        with pytest.raises(ValueError, match="Global rank 1 is not part of group -100"):
            dist.get_group_rank(pair, 1)
        return found
    dist.new_group([0])
    dist.new_group([0, 2])
    x = torch.tensor([rank + 1.0])
    dist.all_reduce(x, group=pair)
    assert dist.get_process_group_ranks(pair) == [0, 2]
    return x.item(), dist.get_rank(pair), dist.get_world_size(pair)


def splits(rank, size):
    """Groups that only some processes make do not change the names of the later ones."""
    part = dist.split_group(split_ranks=[[2, 0], [1]])
    x = torch.tensor([rank + 1.0])
    dist.all_reduce(x, group=part)
    below = dist.split_group(part, [[0]], group_desc="first")
    alone = None if below is None else (below.group_desc, dist.get_process_group_ranks(below))
    everyone = dist.new_group()
    y = torch.ones(1)
    dist.all_reduce(y, group=everyone)
    with pytest.raises(ValueError, match="at most once"):
        dist.split_group(split_ranks=[[0, 1], [1]])
    return dist.get_process_group_ranks(part), x.item(), alone, y.item()


def checked_in_detail(rank, size):
    """A level that the program sets holds for groups that there are."""
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    pair = dist.new_group()
    for _ in range(150):
        dist.all_reduce(torch.ones(1), group=pair)
    x = torch.ones(2) if rank else torch.ones(2, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="different collective calls"):
        dist.all_reduce(x, group=pair)
    dist.set_debug_level_from_env()
    return str(dist.get_debug_level())


def mistakes(rank, size):
    """Each has to raise, and leaves the group as it was."""
    said = []
    for call in (
        lambda: dist.all_reduce([torch.ones(1)]),
        lambda: dist.all_gather([torch.ones(1)] * 2, torch.ones(1)),
        lambda: dist.all_gather([torch.ones(2)] * 3, torch.ones(1)),
        lambda: dist.broadcast(torch.ones(1), src=3),
        lambda: dist.send(torch.ones(1), rank),
        lambda: dist.all_reduce(torch.ones(1), op=dist.ReduceOp.BOR),
        lambda: dist.all_reduce(torch.ones(1, dtype=torch.complex64), op=dist.ReduceOp.MAX),
        lambda: dist.all_gather([torch.ones(1)] * 3, torch.ones(1, dtype=torch.float64)),
        lambda: dist.get_group_rank(5, 0),
        lambda: dist.all_reduce(torch.ones(1), async_op=True).source_rank(),
        lambda: dist.new_group([0, 1, 2, 3]),
        lambda: dist.init_process_group("gloo"),
        lambda: dist.barrier(device_ids=["a"]),
        lambda: dist.barrier(device_ids=[]),
        lambda: dist._make_nccl_premul_sum(2),
        lambda: dist.all_reduce(torch.ones(1), dist._make_nccl_premul_sum(0.5)),
        lambda: dist.reduce(torch.ones(1), 0, dist.distributed_c10d._make_nccl_premul_sum(torch.ones(1))),
    ):
        with pytest.raises((TypeError, RuntimeError, ValueError, IndexError)) as caught:
            call()
        said.append(type(caught.value).__name__)
    for devices in (1, (0,), [0]):  # the first two do not count, the third has no meaning for the CPU
        dist.barrier(device_ids=devices)
    return said


def mistakes_before_anything_is_sent(rank, size):
    """Of one process alone: it raises, the others hear nothing of it, and the next calls belong together."""
    x, said = torch.ones(2), []
    calls = [
        lambda: dist.scatter(x, [x], src=1),
        lambda: dist.scatter(x, [x] * 4, src=1),
        lambda: dist.gather(x, [x], dst=1),
        lambda: dist.gather(x, [x] * 4, dst=1),
        lambda: dist.all_gather([torch.ones(3)] * size, x),
        lambda: dist.all_gather_object([None] * size, lambda: 0),
        lambda: dist.broadcast_object_list([lambda: 0], src=1),
        lambda: dist.broadcast_object_list(5, src=1),
        lambda: dist.scatter_object_list([None], [lambda: 0] * size, src=1),
        lambda: dist.scatter_object_list([None], [0], src=1),
        lambda: dist.gather_object(lambda: 0, dst=0),
        lambda: dist.gather_object(0, [None], dst=9),
        lambda: dist.barrier(group=5),
        lambda: dist.get_rank("x"),
    ]
    for call in calls if rank == 1 else ():
        try:
            said.append(call())
        except (AttributeError, pickle.PicklingError):
            said.append("not pickled")
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}".partition(". Please")[0])
    everyone = [None] * size
    dist.all_gather_object(everyone, rank)
    dist.all_reduce(x)
    return said, everyone, x.tolist()


def older_names(rank, size):
    """They warn in torch's words, and do what the newer names do; groups of several calls use none of them."""
    x, whole, lists = torch.ones(2), torch.empty(2 * size), [[torch.empty(2)] for _ in range(size)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dist.all_gather_into_tensor(whole, x * rank)
        dist.reduce_scatter_tensor(x, whole)
        dist._all_gather_base(whole, x)
        dist._reduce_scatter_base(x, whole)
        dist.all_reduce_coalesced([x])
        dist.all_gather_coalesced(lists, [x])
        assert dist.distributed_c10d._get_global_rank(dist.group.WORLD, rank) == rank
        assert dist.reduce_op.MAX is dist.ReduceOp.MAX
        with dist._coalescing_manager():
            dist.all_reduce(x)
            dist.all_reduce(whole)
        dist.group.WORLD.allreduce_coalesced([x]).wait()
    said = [(w.category.__name__, str(w.message).removeprefix("`torch.distributed."), w.filename) for w in caught]
    assert all(category == "FutureWarning" and name == __file__ for category, _, name in said)
    return [text for _, text, _ in said], x.tolist()


def wrong_lists(rank, size):
    group = dist.new_group(list(range(size)))
    one, other = (dist.P2POp(dist.isend, torch.ones(1), (rank + 1) % size, g) for g in (None, group))
    calls = [
        lambda: dist.batch_isend_irecv([1]),
        lambda: dist.batch_isend_irecv((one,)),
        lambda: dist.batch_isend_irecv([one, other]),
        lambda: dist.batch_isend_irecv([]),
        lambda: dist.all_reduce(torch.ones(2, dtype=torch.bool), dist.ReduceOp.AVG),
    ]
    said = []
    for call in calls:
        try:
            call()
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    return said, group.bound_device_id


def outside(rank, size):
    """Calls of a process that the group does not have: warnings in torch's words, and nothing; `send` raises."""
    group, x = dist.new_group([0]), torch.ones(1)
    if rank == 0:
        return None
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in (
            lambda: dist.all_reduce(x, group=group, async_op=True),
            lambda: dist.all_gather_into_tensor(x, x, group=group),
            lambda: dist.batch_isend_irecv([dist.P2POp(dist.irecv, x, 0, group)]),
        ):
            said.append(call())
    with pytest.raises(ValueError, match="Invalid process group specified"):
        dist.send(x, 0, group=group)
    return said, [str(w.message) for w in caught if "does not belong" in str(w.message)]


def others_in_a_group(rank, size):
    """`new_group` whose ranks differ: all raise, and the other groups go on."""
    with pytest.raises(dist.DistBackendError) as caught:
        dist.new_group([0, 1] if rank == 2 else [0, 2])
    x = torch.ones(1)
    dist.all_reduce(x)
    return all(f"new_group([0, {i}])" in str(caught.value) for i in (1, 2)), x.item()


FUNCTIONS = [
    reductions, large_sum, strided_sum, overlapping_calls, broadcast, reduce_to_one, gathers, scatters, scattered_layouts,
    all_to_all, messages, messages_in_order, monitored, objects, groups, splits, checked_in_detail, mistakes,
    mistakes_before_anything_is_sent, older_names, wrong_lists, outside, others_in_a_group,
]  # fmt: skip
EVERYWHERE = {
    "reductions": {
        "SUM": [6, 6], "AVG": [2, 2], "PRODUCT": [6, 8], "MIN": [1, 2], "MAX": [3, 2], "BAND": 0, "BOR": 3, "BXOR": 0,
    },
    "large_sum": True,
    "strided_sum": [[3, 3, 3], [3, 3, 3]],
    "overlapping_calls": [3, 6, 9, 12, 15],
    "broadcast": 2,
    "messages_in_order": True,
    "others_in_a_group": (True, 3.0),
    "scattered_layouts": [True, True],
    "checked_in_detail": "DebugLevel.OFF",
    "older_names": ([
        "all_gather_into_tensor` is deprecated. Please use `torch.distributed.all_gather_single` instead.",
        "reduce_scatter_tensor` is deprecated. Please use `torch.distributed.reduce_scatter_single` instead.",
        "_all_gather_base` is a private function and will be deprecated. "
        "Please use `torch.distributed.all_gather_single` instead.",
        "_reduce_scatter_base` is a private function and will be deprecated. "
        "Please use `torch.distributed.reduce_scatter_single` instead.",
        *[
            f"{name}` will be deprecated. If you must use it, please revisit our documentation later at "
            "https://pytorch.org/docs/main/distributed.html#collective-functions"
            for name in ("all_reduce_coalesced", "all_gather_coalesced")
        ],
        "distributed_c10d._get_global_rank` is deprecated, please use `torch.distributed.distributed_c10d.get_global_rank` instead",
        "reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead",
    ], [243, 243]),
    "wrong_lists": ([
        *["ValueError: Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``."] * 2,
        "ValueError: All ops need to use the same group.", "IndexError: list index out of range",
        "RuntimeError: result type Float can't be cast to the desired output type Bool",
    ], None),
    "mistakes": ["TypeError", "RuntimeError", "RuntimeError", "RuntimeError", "ValueError", "RuntimeError",
                 "ValueError", "ValueError", "ValueError", "RuntimeError", "ValueError", "ValueError",
                 "TypeError", "IndexError", "TypeError", "RuntimeError", "RuntimeError"],
}  # fmt: skip
_LISTS = "RuntimeError: ProcessGroupGloo::{}: Incorrect {} list size {}. {} list size should be 3, same as size of the process group."
MISTAKES_OF_ONE = [
    *[_LISTS.format("scatter", "input", n, "Input") for n in (1, 4)],
    *[_LISTS.format("gather", "output", n, "Output") for n in (1, 4)],
    "RuntimeError: ProcessGroupGloo::allgather: invalid tensor size at index 0 (expected (2), got (3))",
    "not pickled",
    "not pickled",
    "TypeError: 'int' object is not iterable",
    "not pickled",
    "ValueError: source rank must provide non-None scatter_object_input_list, an object for each process",
    "not pickled",
    "RuntimeError: ProcessGroupGloo::gather: invalid root rank: 9",
    "ValueError: Process group 5 is not initialized in the world group map",
    "ValueError: Group x is not registered, please create group with torch.distributed.new_group API",
]
OWN = {
    "reduce_to_one": [0, 2, 2],
    "gathers": [
        ([[0, 0], [1, 10], [2, 20]], [0, 0, 1, 10, 2, 20], [[0, 0], [1, 10], [2, 20]] if rank == 1 else None)
        for rank in range(SIZE)
    ],
    "scatters": [(10 * rank, [3 * rank, 3], 3 * rank + 3) for rank in range(SIZE)],
    "all_to_all": [
        ([rank, 10 + rank, 20 + rank], [i for i in range(SIZE) for _ in range(rank + 1)]) for rank in range(SIZE)
    ],
    "messages": [([2, 1], 2, [1, 2]), ([0, 1], 0, None), ([1, 1], 1, None)],
    "objects": [([{"rank": 0}, {"rank": 1}, {"rank": 2}], [1, "x"], [own]) for own in "abc"],
    "splits": [([0, 2], 4, ("first", [0]), 3), ([1], 2, ("first", [1]), 3), ([0, 2], 4, None, 3)],
    "outside": [
        None,
        *[
            (
                [None, None, []],
                [
                    f"Running {name} on global rank {rank} which does not belong to the given group."
                    for name in ("all_reduce", "all_gather_single", "irecv")
                ],
            )
            for rank in (1, 2)
        ],
    ],
    "groups": [(4, 0, 2), (-1, 1, 2), (4, 1, 2)],
    "mistakes_before_anything_is_sent": [
        ([], [0, 1, 2], [3, 3]),
        (MISTAKES_OF_ONE, [0, 1, 2], [3, 3]),
        ([], [0, 1, 2], [3, 3]),
    ],
    "monitored": ["[Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 50 ms", "", ""],
}


def test_names_of_reductions():
    assert f"{dist.ReduceOp.SUM} {dist.ReduceOp.AVG!s}" == "RedOpType.SUM RedOpType.AVG"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return results_of(FUNCTIONS, SIZE, tmp_path_factory.mktemp("several"))


@pytest.mark.parametrize("name", EVERYWHERE)
def test_everywhere_the_same(results, name):
    assert [result[name] for result in results] == [EVERYWHERE[name]] * SIZE


@pytest.mark.parametrize("name", OWN)
def test_each_its_own(results, name):
    assert [result[name] for result in results] == OWN[name]
