"""One rank of a job of `fault_matrix.py`: it trains, saves checkpoints, and one rank makes a fault at a given moment.

    python fault_worker.py FAULT MOMENT FOLDER

What a rank sees is written into the folder: `fault` (when), `error-<rank>` (when and what), `losses`.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import sys
import threading
import time
import warnings
from datetime import timedelta
from pathlib import Path

import rushlight as torch
import rushlight.distributed as dist
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed import world
from rushlight.distributed.control.meeting import Meeting

warnings.simplefilter("ignore")  # of a checkpoint that is there
FAULT, MOMENT, FOLDER = sys.argv[1], sys.argv[2], Path(sys.argv[3])
TIMEOUT_S = 4.0 if FAULT in ("loop", "deadlock") else 60.0
STEPS, FAULTY_STEP, SAVE_EACH = 6, 4, 2
VICTIM = 0 if FAULT == "rank 0" else 1
FIRST_LIFE = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"


def is_victim():
    """Whether this process makes the fault."""
    return FIRST_LIFE and MOMENT != "none" and int(os.environ.get("RANK", "-1")) == VICTIM


def write(name, *what):
    """A line of JSON under a name."""
    (FOLDER / f".{name}").write_text(json.dumps([time.monotonic(), *what]))
    os.replace(FOLDER / f".{name}", FOLDER / name)


def fault():
    """Make it."""
    write("fault")
    if FAULT in ("kill", "rank 0"):
        os.kill(os.getpid(), signal.SIGKILL)
    if FAULT == "_exit":
        os._exit(5)
    if FAULT == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if FAULT == "exception":
        raise ValueError("made by the test")
    if FAULT == "memory":
        exhaust_memory()
    if FAULT == "exit 0":
        sys.exit(0)
    if FAULT == "launcher":
        os.kill(int(os.environ["FAULT_LAUNCHER"]), signal.SIGKILL)
        time.sleep(60)
    if FAULT == "loop":
        while True:
            pass
    if FAULT == "deadlock":
        dist.all_gather_object([None] * dist.get_world_size(), "another call")


KEPT = []


def exhaust_memory():
    """Raise MemoryError where the process has hardly any memory left, which it keeps."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    size = 32 << 20
    while True:
        try:
            KEPT.append(bytearray(size))
        except MemoryError:
            if size < 1 << 16:
                raise
            size //= 2


def at(moment):
    """The place in the program of a moment."""
    if is_victim() and moment == MOMENT:
        fault()


def patched(owner, name, moment):
    """Let a function of the package begin with a moment."""
    plain = getattr(owner, name)

    def function(*args, **kwargs):
        at(moment)
        return plain(*args, **kwargs)

    setattr(owner, name, function)


def in_a_bucket():
    """Make the fault while a large all_reduce is under way, which the others make as well."""
    x = torch.ones(4_000_000)
    if is_victim() and MOMENT == "bucket":
        if FAULT in ("kill", "rank 0", "stop", "_exit"):
            threading.Timer(0.02, fault).start()
            while True:
                dist.all_reduce(x)
        work = dist.all_reduce(x, async_op=True)
        fault()
        work.wait()
    for _ in range(40 if MOMENT == "bucket" and FIRST_LIFE else 1):
        dist.all_reduce(x)


def train():
    """The program: a job that goes on from its last checkpoint."""
    dist.init_process_group("gloo", timeout=timedelta(seconds=TIMEOUT_S))
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)), bucket_cap_mb=0.004
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    step, where = 0, FOLDER / "checkpoint"
    if (where / ".metadata").exists():
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 0}
        for p in model.parameters():  # so that there is a state to load into
            p.grad = torch.zeros_like(p)
        optimizer.step()
        state["optimizer"] = optimizer.state_dict()
        dcp.load(state, checkpoint_id=where)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    dist.barrier()
    while step < STEPS:
        step += 1
        generator = torch.Generator().manual_seed(100 * step + rank)
        x = torch.randn(16, 64, generator=generator)
        loss = (model(x) - 1).square().mean()
        if step == FAULTY_STEP:
            at("forward")
            in_a_bucket()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with open(FOLDER / f"losses-{rank}", "a") as file:
            file.write(f"{step} {loss.item().hex()}\n")
        if step == FAULTY_STEP:
            at("barrier")
            dist.barrier()
        if step % SAVE_EACH == 0:
            if step == FAULTY_STEP and MOMENT == "checkpoint":
                patched(os, "fsync", "checkpoint")
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            dcp.save(state, checkpoint_id=where)
    dist.barrier()
    at("exit")
    dist.destroy_process_group()


def main():
    """Train, and write down what ends the training."""
    faulthandler.dump_traceback_later(30)  # what a job does that hangs
    patched(Meeting, "_accept_all", "init")
    patched(world, "join", "start")
    try:
        train()
    except BaseException as error:
        if not is_victim() or FAULT in ("loop", "deadlock", "launcher"):
            write(f"error-{os.environ.get('RANK', '?')}-{int(FIRST_LIFE)}", f"{type(error).__name__}: {error}")
        raise


if __name__ == "__main__":
    main()
