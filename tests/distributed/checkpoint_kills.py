"""Jobs that save checkpoints without end are killed by SIGKILL at random moments: the last complete one loads, whole.

Each job has one to three processes, whose steps add 1 to all numbers, and save them into one folder. It writes the step down after each save. All processes are killed a random while after the first save of
theirs. Then the folder is loaded by one process: every number has to be of one step, which is the one written down, or the
next. The next job goes on from there, with another number of processes.

    python tests/distributed/checkpoint_kills.py --kills 100
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import rushlight as torch
import rushlight.distributed as dist
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys

warnings.simplefilter("ignore")  # of a checkpoint that is there, and of a process alone

SHAPES = [(300, 300), (7,), (), (1000, 50), (3, 5, 2)]


def state_of(step: int) -> dict:
    """What a step saves."""
    tensors = {f"t{i}": torch.full(shape, float(step)) for i, shape in enumerate(SHAPES)}
    return {"model": tensors, "step": step, "notes": [step, str(step)]}


def train(folder: Path, rank: int, size: int) -> None:
    """One process of a job."""
    if size > 1:
        dist.init_process_group("gloo", f"file://{folder}/meet", world_size=size, rank=rank)
    step = last_step(folder)
    while True:
        step += 1
        if step % 3:
            dcp.save(state_of(step), checkpoint_id=folder / "checkpoint")
        else:
            dcp.async_save(state_of(step), checkpoint_id=folder / "checkpoint").result()
        if rank == 0:
            with open(folder / "log", "a") as file:
                file.write(f"{step}\n")


def last_step(folder: Path) -> int:
    """The last step that a job has written down; a killed one may have left half a line."""
    path = folder / "log"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return int(lines[-1]) if lines else 0


def fault(folder: Path) -> str:
    """What is wrong with the checkpoint of a killed job."""
    last = last_step(folder)
    try:
        loaded = _load_state_dict_from_keys(checkpoint_id=folder / "checkpoint")
    except dcp.CheckpointException as error:
        ((e, _),) = error.failures.values()
        return "" if last == 0 and "No such file" in str(e) else f"after step {last}: {e}"
    found = {loaded["step"], *loaded["notes"][:1], int(loaded["notes"][1])}
    found |= {value for tensor in loaded["model"].values() for value in tensor.unique().tolist()}
    return "" if len(found) == 1 and loaded["step"] in (last, last + 1) else f"after step {last}: {sorted(found)}"


def forked(function: Callable[..., None], *args: object, group: int | None = None) -> int:
    """The process in which a function runs. This one does nothing but fork, so that it has no threads.

    group: of the system's process groups the one that it joins; 0 begins one of its own.
    """
    pid = os.fork()
    if pid:
        return pid
    try:
        if group is not None:
            os.setpgid(0, group)
        function(*args)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def kill(folder: Path, size: int, wait_s: float) -> int:
    """Start a job, wait until it has saved once and then a while, and kill it; how many processes of it were alive."""
    with open(folder / "log", "a") as file:
        began = file.tell()
    (folder / "meet").unlink(missing_ok=True)
    processes = [forked(train, folder, 0, size, group=0)]
    os.setpgid(processes[0], 0)  # whichever of the two is first
    processes += [forked(train, folder, rank, size, group=processes[0]) for rank in range(1, size)]
    end = time.monotonic() + 120
    while (folder / "log").stat().st_size == began and time.monotonic() < end:
        time.sleep(0.002)
    time.sleep(wait_s)
    os.killpg(processes[0], signal.SIGKILL)  # at once: one that outlives another ends by an error
    return sum(os.WIFSIGNALED(os.waitpid(process, 0)[1]) for process in processes)


def check(folder: Path) -> None:
    """Write into the file `fault` what is wrong."""
    (folder / "fault").write_text(fault(folder))


def faults(kills: int, seed: int, sizes: tuple[int, ...] = (1, 2, 1, 3)) -> list[str]:
    """Kill that many jobs, which go on from each other's checkpoints; what was wrong."""
    rng, wrong = random.Random(seed), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i in range(kills):
            size = sizes[i % len(sizes)]
            (folder / "fault").write_text("the check ended early")
            alive = kill(folder, size, rng.uniform(0, 0.1))
            if alive != size:
                wrong.append(f"kill {i}: {size - alive} of {size} processes had ended before")
            os.waitpid(forked(check, folder), 0)
            if found := (folder / "fault").read_text():
                wrong.append(f"kill {i}, {size} processes: {found}")
        left = len(os.listdir(folder / "checkpoint"))
        if left > 40:
            wrong.append(f"{left} files are left")
        print(f"{kills} kills, {last_step(folder)} steps, {len(wrong)} faults")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found = faults(args.kills, args.seed)
    print("\n".join(found))
    sys.exit(bool(found))
