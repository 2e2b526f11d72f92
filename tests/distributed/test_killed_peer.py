"""A process that is killed within a step: the others get an error that names it, and nothing stays behind."""

import os
import signal
import socket

import shared_memory
from several import started

import rushlight as torch
import rushlight.distributed as dist
from rushlight.nn.parallel import DistributedDataParallel

VICTIM = 1


def train(rank, folder):
    dist.init_process_group("gloo", f"file://{folder}/meet", world_size=3, rank=rank)
    model = DistributedDataParallel(torch.nn.Linear(300, 300))
    for step in range(100):
        if rank == VICTIM and step == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            model(torch.ones(2, 300)).sum().backward()
        except dist.DistBackendError as error:
            with open(f"{folder}/{rank}", "w") as file:
                file.write(str(error))
            dist.destroy_process_group()
            return


def test_the_others_say_who_is_gone(tmp_path):
    before = shared_memory.names()
    processes = started(train, (str(tmp_path),), 3).processes
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, -signal.SIGKILL, 0]
    told = {rank: (tmp_path / str(rank)).read_text() for rank in (0, 2)}
    name = f"Connection closed by peer: process {VICTIM} (pid {processes[VICTIM].pid} on host {socket.gethostname()}): "
    assert all(text.startswith(name) and "it was killed" in text for text in told.values()), told
    assert not shared_memory.left_since(before)
