"""Jobs of so many processes that they are connected to one of them only, the hub."""

import os
import signal
import sys
from pathlib import Path

import pytest

import rushlight as torch
import rushlight.distributed as dist

sys.path.insert(0, str(Path(__file__).parent))
from many_clients import measure
from ports import free_port
from several import results_of, started

sys.path.pop(0)


def test_a_hundred_clients():
    """A thousand: `python tests/distributed/many_clients.py 1000`, which took 5.6 s, 18 MB, 0.3 % of a core and 0.1 s."""
    found = measure(100, 0.2)
    assert found["memory_mb"] < 64 and found["start_s"] < 30 and found["death_s"] < 20


def is_star(rank, size):
    return dist.group.WORLD.mesh.is_star, len(dist.group.WORLD.mesh._peers)


def collectives(rank, size):
    x = torch.arange(4.0) * (rank + 1)
    dist.all_reduce(x)
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank})
    pair = dist.new_group([1, 2])  # without the hub
    y = torch.tensor([rank + 1.0])
    if rank:
        dist.all_reduce(y, group=pair)
        dist.barrier(group=pair)
    return x.tolist(), [each["rank"] for each in gathered], y.item()


def messages(rank, size):
    """Through the hub, large ones in both directions at the same time."""
    x, y = torch.full((300_000,), float(rank)), torch.zeros(300_000)
    if rank:
        work = dist.isend(x, 3 - rank)
        dist.recv(y, 3 - rank)
        work.wait()
    return y.unique().tolist()


def different_calls(rank, size):
    try:
        dist.all_reduce(torch.ones(2 + (rank == 2)), group=dist.new_group())
    except dist.DistBackendError as error:
        return "different collective calls" in str(error)


@pytest.mark.parametrize("mpi", ["0", "1"])
def test_a_job_with_a_hub(tmp_path, monkeypatch, mpi):
    monkeypatch.setenv("RUSHLIGHT_MPI", mpi)
    monkeypatch.setenv("RUSHLIGHT_DIRECT_RANKS", "2")
    results = results_of([is_star, collectives, messages, different_calls], 3, tmp_path)
    assert [each["is_star"] for each in results] == [(True, 2), (True, 1), (True, 1)]
    for rank, each in enumerate(results):
        assert each["collectives"] == ([0.0, 6.0, 12.0, 18.0], [0, 1, 2], 5.0 if rank else 1.0)
        assert each["messages"] == [[0.0], [2.0], [1.0]][rank]
        assert each["different_calls"]


def until_a_death(rank, folder, victim):
    os.environ["RANK"] = str(rank)
    dist.init_process_group("gloo")
    x = torch.ones(2)
    try:  # the first call, too: the victim may have left it and be dead before the others have announced theirs
        dist.all_reduce(x)
        if rank == victim:
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            dist.all_reduce(x)
    except dist.DistBackendError as error:
        with open(f"{folder}/{rank}", "w") as file:
            file.write(str(error))


@pytest.mark.parametrize("victim", [0, 2])
def test_all_hear_of_a_death(tmp_path, monkeypatch, victim):
    environment = {"RUSHLIGHT_DIRECT_RANKS": "2", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1"}
    environment["MASTER_PORT"] = str(free_port())
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    processes = started(until_a_death, (str(tmp_path), victim), 3).processes
    for process in processes:
        process.join(60)
    said = {int(path.name): path.read_text() for path in tmp_path.iterdir()}
    assert sorted([*said, victim]) == [0, 1, 2]
    assert all(f"process {victim} (pid {processes[victim].pid}" in text for text in said.values())
