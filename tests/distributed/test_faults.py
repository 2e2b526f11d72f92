"""Faults of processes: some cases of `fault_matrix.py`, which runs hundreds, and others with shorter times."""

import ctypes
import json
import os
import re
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from several import gather_by_files, started

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.control import process_state

sys.path.insert(0, str(Path(__file__).parent))
import fault_matrix

sys.path.pop(0)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
CASES = [
    ("kill", "checkpoint", "env", 3),
    ("rank 0", "init", "env", 3),
    ("launcher", "barrier", "torchrun", 2),
    ("exit 0", "forward", "mpiexec", 2),
    ("kill", "bucket", "restarts", 2),
    ("memory", "forward", "env", 2),
]


@pytest.mark.parametrize("fault, moment, start, ranks", CASES)
def test_the_promise_holds(fault, moment, start, ranks):
    transport = "MPI" if dist.is_mpi_available() else "TCP"
    if start == "mpiexec" and (transport == "TCP" or fault_matrix.mpiexec() is None):
        pytest.skip("needs mpiexec of the mpich wheel")
    expected = fault_matrix.unbroken(transport, ranks) if start == "restarts" else None
    wrong, _ = fault_matrix.run(fault, moment, start, transport, expected, ranks)
    assert not wrong, "\n".join(wrong)


# ---------------------------------------------------------------------------------------------- shorter times


def act(rank, size, folder, way, look_s):
    process_state.LOOK_S = look_s
    dist.init_process_group("gloo", f"file://{folder}/meet", world_size=size, rank=rank, timeout=timedelta(seconds=30))
    gather_by_files(rank, size, folder)  # nobody may be dead before all have begun
    said = "nothing"
    try:
        WAYS[way](rank, folder)
    except dist.DistBackendError as error:
        said = str(error)
    with open(f"{folder}/{rank}", "w") as file:
        json.dump([said, time.monotonic()], file)
    dist.destroy_process_group()


def outcomes(way, folder, look_s, size=2):
    """What each rank said, and when; the processes, which have ended."""
    processes = started(act, (size, str(folder), way, look_s), size).processes
    for process in processes:
        process.join(60)
    told = {rank: json.loads((folder / str(rank)).read_text()) for rank in range(size) if (folder / str(rank)).exists()}
    return told, processes


def slow(rank, folder):
    if rank:
        time.sleep(1.2)
        ctypes.PyDLL(None).usleep(900_000)  # the interpreter's lock is held
        ctypes.PyDLL(None).usleep(900_000)
    x = torch.ones(100_000)
    dist.all_reduce(x)
    assert x.sum() == 200_000


def stopped(rank, folder):
    if rank:
        os.kill(os.getpid(), signal.SIGSTOP)
    dist.all_reduce(torch.ones(1))


def late(rank, folder):
    """Process 1 does not come to the second call before the others have given it up."""
    group = dist.new_group([0, 1, 2])
    dist.all_reduce(torch.ones(1), group=group)
    group.timeout = timedelta(seconds=1)
    if rank == 1:
        while not all((Path(folder) / str(other)).exists() for other in (0, 2)):
            time.sleep(0.01)
    dist.all_reduce(torch.ones(3), group=group)


def endless(rank, folder):
    if rank == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        pass


WAYS = {function.__name__: function for function in (slow, stopped, late, endless)}


def test_a_slow_process_is_no_fault(tmp_path):
    """Sixty looks long it makes no call, and ninety more it holds the interpreter's lock: minutes, by the usual times."""
    told, processes = outcomes("slow", tmp_path, 0.02)
    assert [said for said, _ in told.values()] == ["nothing"] * 2 and [p.exitcode for p in processes] == [0, 0]


def test_a_stopped_process_counts_as_dead_and_ends(tmp_path):
    told, processes = outcomes("stopped", tmp_path, 0.1)
    assert [p.exitcode for p in processes] == [0, -signal.SIGKILL]
    who = rf"process 1 \(pid {processes[1].pid} on host .*\)"
    assert re.match(rf"Connection closed by peer: {who}: it has been stopped by a signal", told[0][0])


def test_an_error_for_lack_of_time_says_what_each_process_does(tmp_path):
    told, _ = outcomes("late", tmp_path, 1.0, 3)
    place = rf"{re.escape(__file__)}:\d+"
    call = r"all_reduce\(SUM\) of float32 \[1\] \(number 0 of group 1\)"
    texts = [told[rank][0] for rank in (0, 2)]
    assert any(
        re.search(rf"process 1 \(pid \d+ on host .*?\): last call: {call}, begun .* now at {place}", t) for t in texts
    )
    assert all("Timed out waiting 1000ms" in text for text in texts)


def test_a_process_that_computes_and_calls_nothing_hears_of_a_death(tmp_path):
    told, processes = outcomes("endless", tmp_path, 0.1)
    assert [p.exitcode for p in processes] == [-signal.SIGKILL, 0]
    assert told[1][0].startswith("Connection closed by peer: process 0 (pid ") and "it was killed" in told[1][0]
