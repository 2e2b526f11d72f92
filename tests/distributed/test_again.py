"""One group after another at one address, where some processes are faster than the one that keeps the store."""

import os
import threading
from datetime import timedelta

import pytest
from ports import free_port
from several import started

from rushlight.distributed import TCPStore, handshake

SHORT = timedelta(seconds=20)


def _store(port, number, is_master):
    with handshake.starting(number):
        return TCPStore("127.0.0.1", port, is_master=is_master, timeout=SHORT)


def test_the_next_group_waits_for_its_own_store():
    port, came = free_port(), []
    first = _store(port, 0, True)
    fast = threading.Thread(target=lambda: came.append(_store(port, 1, False)))
    fast.start()
    fast.join(0.2)
    assert not came  # the store of the first group does not take it
    first.close()
    second = _store(port, 1, True)
    second.set("here", "second")
    fast.join()
    assert came[0].get("here") == b"second"
    came[0].close()
    second.close()


def test_stores_made_by_the_program_take_processes_at_any_group():
    store = TCPStore("127.0.0.1", 0, is_master=True, timeout=SHORT)
    member = _store(store.port, 3, False)
    member.set("a", "1")
    assert store.get("a") == b"1"
    member.close()
    store.close()


def test_a_closed_store_says_what_it_has_and_ends_waits():
    store = TCPStore("127.0.0.1", 0, is_master=True, timeout=SHORT)
    slow = TCPStore("127.0.0.1", store.port, timeout=SHORT)
    slow.set("there", "1")
    problems = []

    def wait():
        with pytest.raises(RuntimeError, match="has closed it, and the key 'missing' is not there") as caught:
            slow.get("missing")
        problems.append(caught)

    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join(0.1)
    store.close()
    waiting.join()
    assert problems and slow.get("there") == b"1"
    slow.close()


def _again(rank, size, port, times):
    import rushlight as torch
    import rushlight.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(size))
    for i in range(times):
        dist.init_process_group("gloo", timeout=SHORT)
        total = torch.ones(2) * (rank + i)
        dist.all_reduce(total)
        assert total[0].item() == i * size + sum(range(size))
        dist.destroy_process_group()


def test_a_hundred_groups_at_one_port():
    started(_again, (2, free_port(), 100), 2, join=True)
