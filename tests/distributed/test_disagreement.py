"""Processes that make different collective calls: each of them gets an error that names both calls."""

import re
import threading
import time
from datetime import timedelta

import numpy as np
import pytest

from rushlight.distributed import DistBackendError, HashStore, ReduceOp
from rushlight.distributed.control.ledger import REMEMBERED, Ledger
from rushlight.distributed.mesh import Mesh
from rushlight.distributed.process_group import ProcessGroup

SUM, MAX = ReduceOp.SUM, ReduceOp.MAX
LIMIT = timedelta(seconds=20)  # far more than any case takes: a wait until then is a failure


def f32(*shape):
    return np.ones(shape, np.float32)


def i32(*shape):
    return np.ones(shape, np.int32)


def in_ranks(size, act):
    """What `act(group, rank)` returns or raises, for each of `size` ranks in threads of this process."""
    store, outcomes, meshes = HashStore(), [None] * size, [None] * size

    def run(rank):
        try:
            meshes[rank] = Mesh(store, rank, size, LIMIT)
            outcomes[rank] = act(ProcessGroup(meshes[rank], list(range(size)), "0", "gloo", LIMIT), rank)
        except DistBackendError as error:
            outcomes[rank] = error

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    for mesh in meshes:
        mesh.close()
    return outcomes


CALLS = {
    "all_reduce(SUM) of float32 [2]": lambda g, k, r: g.all_reduce(k, f32(2), SUM),
    "all_reduce(MAX) of float32 [2]": lambda g, k, r: g.all_reduce(k, f32(2), MAX),
    "all_reduce(SUM) of int32 [2]": lambda g, k, r: g.all_reduce(k, i32(2), SUM),
    "all_reduce(SUM) of float32 [1, 2]": lambda g, k, r: g.all_reduce(k, f32(1, 2), SUM),
    "all_reduce(SUM) of float32 [100000]": lambda g, k, r: g.all_reduce(k, f32(100000), SUM),
    "all_reduce(SUM) of float64 [50000]": lambda g, k, r: g.all_reduce(k, np.ones(50000), SUM),
    "broadcast(src=0) of float32 [2]": lambda g, k, r: g.broadcast_array(k, f32(2), 0),
    "broadcast(src=1) of float32 [2]": lambda g, k, r: g.broadcast_array(k, f32(2), 1),
    "all_gather of float32 [2]": lambda g, k, r: g.all_gather(k, f32(2)),
    "gather(dst=0) of float32 [2]": lambda g, k, r: g.gather_arrays(k, f32(2), 0),
    "gather(dst=1) of float32 [2]": lambda g, k, r: g.gather_arrays(k, f32(2), 1),
    "reduce(SUM, dst=0) of float32 [2]": lambda g, k, r: g.reduce_array(k, f32(2), 0, SUM),
    "reduce(SUM, dst=1) of float32 [2]": lambda g, k, r: g.reduce_array(k, f32(2), 1, SUM),
    "scatter(src=0) of float32 [2]": lambda g, k, r: g.scatter_arrays(k, f32(2), [f32(2)] * g.size(), 0),
    "scatter(src=1) of float32 [2]": lambda g, k, r: g.scatter_arrays(k, f32(2), [f32(2)] * g.size(), 1),
    "reduce_scatter(SUM) of float32 [2], [2]": lambda g, k, r: g.reduce_scatter_arrays(k, [f32(2), f32(2)], SUM),
    "all_to_all of float32": lambda g, k, r: g.all_to_all(k, [f32(2)] * 2, [f32(2)] * 2),
    "all_to_all of int32": lambda g, k, r: g.all_to_all(k, [i32(2)] * 2, [i32(2)] * 2),
    "barrier()": lambda g, k, r: g.await_all(k),
}
NAMES = list(CALLS)
PAIRS = [(a, b) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]]


def test_every_pair_of_different_calls():
    """Both of two processes raise in this call or, where it waits for nothing, in the next one."""

    def act(world, rank):
        said = []
        for number, calls in enumerate(PAIRS):  # each pair in a group of its own, which then has failed
            group = ProcessGroup(world.mesh, [0, 1], str(number), "gloo", LIMIT)
            try:
                CALLS[calls[rank]](group, group.key(), rank)
                group.await_all(group.key())
                said.append("nothing")
            except DistBackendError as error:
                said.append(str(error))
        return said

    outcomes = in_ranks(2, act)
    for rank in range(2):
        for (first, second), text in zip(PAIRS, outcomes[rank], strict=True):
            assert f"process 0 calls {first}, process 1 calls {second}" in text


@pytest.mark.parametrize("odd", range(3))
@pytest.mark.parametrize(
    "usual, other",
    [
        ("all_reduce(SUM) of float32 [2]", "broadcast(src=0) of float32 [2]"),
        ("broadcast(src=0) of float32 [2]", "broadcast(src=1) of float32 [2]"),
        ("gather(dst=0) of float32 [2]", "gather(dst=1) of float32 [2]"),
        ("reduce(SUM, dst=1) of float32 [2]", "reduce(SUM, dst=0) of float32 [2]"),
        ("scatter(src=0) of float32 [2]", "scatter(src=1) of float32 [2]"),
        ("all_reduce(SUM) of float32 [100000]", "all_reduce(SUM) of float32 [2]"),
    ],
)
def test_one_of_three_differs(usual, other, odd):
    def act(group, rank):
        CALLS[other if rank == odd else usual](group, group.key(), rank)
        group.await_all(group.key())

    for outcome in in_ranks(3, act):
        assert re.search(f"process {odd} calls {re.escape(other)}", str(outcome))
        assert f"calls {usual}" in str(outcome)


def test_a_call_between_others_is_known_before_the_next_one_ends(monkeypatch):
    """Rank 2 exchanges nothing with the others in the differing call, and they read nothing until it has ended."""
    ended, read = threading.Event(), Mesh._read_message

    def read_late(self, peer, connection):
        self.rank == 2 or ended.wait(5)
        read(self, peer, connection)

    monkeypatch.setattr(Mesh, "_read_message", read_late)

    def act(group, rank):
        try:
            CALLS[f"reduce(SUM, dst={0 if rank == 1 else 1}) of float32 [2]"](group, group.key(), rank)
            group.await_all(group.key())
        finally:
            rank != 2 or ended.set()

    assert all("process 1 calls reduce(SUM, dst=0)" in str(outcome) for outcome in in_ranks(3, act))


def test_parts_of_other_sizes():
    def act(group, rank):
        group.all_to_all(group.key(), [f32(2), f32(2) if rank else f32(3)], [f32(2), f32(2)])
        group.await_all(group.key())

    outcomes = in_ranks(2, act)
    assert all(
        "process 0 sent float32 [3] to process 1, which expected float32 [2] (8 bytes)" in str(o) for o in outcomes
    )


def test_groups_of_other_members():
    def act(group, rank):
        part = ProcessGroup(group.mesh, [0, 1] if rank else [0, 1, 2], "1", "gloo", LIMIT)
        part.all_reduce(part.key(), f32(2), SUM) if rank < 2 else None

    outcomes = in_ranks(3, act)
    assert "process 1 calls all_reduce(SUM) of float32 [2] among processes [0, 1]" in str(outcomes[0])


def test_equal_calls_and_calls_far_apart():
    """A process may be thousands of calls ahead; what it has forgotten is not compared, and nothing is kept for ever."""

    def act(group, rank):
        for _ in range(REMEMBERED + 500):
            group.broadcast_array(group.key(), f32(1), 0)
        total = group.all_reduce(group.key(), f32(2) * (rank + 1), SUM)
        ledger = group.mesh._ledger
        return total.tolist(), len(ledger._ours) <= REMEMBERED, not ledger._early

    assert in_ranks(2, act) == [([3.0, 3.0], True, True)] * 2


def test_a_late_message_of_a_forgotten_call_is_dropped():
    ledger = Ledger(0)
    for i in range(REMEMBERED + 10):
        assert ledger.ours(b"0#%d" % i, b"barrier()") is None
    assert ledger.theirs(1, b"0#3", b"other()") is None and not ledger._early
    assert "number 100 of group 0" in ledger.theirs(1, b"0#100", b"other()")
    assert ledger.theirs(2, b"0#101", b"other()") is None  # said once
    assert ledger.failure(b"0#7") and ledger.failure(b"1#7") is None and ledger.failure(b"0@7") is None


def test_a_call_that_all_have_made_ends_well_though_a_later_one_differs():
    def act(group, rank):
        limit, take = timedelta(seconds=20), group.take
        if rank == 1:  # it hears of the later call before it looks at the messages of this one

            def late(*arguments):
                time.sleep(0.3)
                return take(*arguments)

            group.take = late
        group.compare(group.key(), "first()", limit)
        with pytest.raises(DistBackendError, match=r"different collective calls \(number 1 of group 0\)"):
            group.compare(group.key(), f"second({rank == 2})", limit)
        return True

    assert in_ranks(3, act) == [True] * 3
