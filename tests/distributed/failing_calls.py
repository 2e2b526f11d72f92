"""Calls of two processes that fail, by a death or since they are not the same ones, and what both of them are told."""

import os
import signal

import shared_memory
from several import gather_by_files, started

import rushlight as torch
import rushlight.distributed as dist


def tell_errors(rank, size, folder, way):
    """In one of the processes, after `init_process_group`: call twice, and write what is raised into a file."""
    dist.group.WORLD._made = 105  # the first calls are compared, and each thousandth
    gather_by_files(rank, size, folder)
    said = []
    for _ in range(2):
        try:
            WAYS[way](rank)
            said.append("nothing")
        except dist.DistBackendError as error:
            said.append(str(error))
    with open(f"{folder}/{rank}", "w") as file:
        file.write(" | ".join(said))
    dist.destroy_process_group()


def check_that_all_raise(act, way, folder):
    """Two processes of `act(rank, size, folder, way)`: those that live are told why, twice, and nothing is left behind."""
    before = shared_memory.names()
    processes = started(act, (2, str(folder), way), 2).processes
    for process in processes:
        process.join(60)
    died = way == "killed"
    assert [process.exitcode for process in processes] == [0, -signal.SIGKILL if died else 0]
    told = [(folder / str(rank)).read_text() for rank in range(1 if died else 2)]
    expected = "Connection closed by peer: process 1" if died else "the processes make different collective calls"
    for text in told:
        first, second = text.split(" | ", 1)
        assert expected in first and second != "nothing"
    assert not shared_memory.left_since(before)


def killed(rank):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(torch.ones(500_000))


def other_shape(rank):
    dist.all_reduce(torch.ones(500_000 if rank else 400_000))


def other_type(rank):
    dist.all_reduce(torch.ones(500_000, dtype=torch.float32 if rank else torch.int32))


def other_operation(rank):
    dist.all_reduce(torch.ones(500_000), dist.ReduceOp.SUM if rank else dist.ReduceOp.AVG)


def other_call(rank):
    x = torch.ones(500_000)
    dist.all_reduce(x) if rank else dist.broadcast(x, 0)
    dist.all_reduce(x)


WAYS = {f.__name__: f for f in (killed, other_shape, other_type, other_operation, other_call)}
