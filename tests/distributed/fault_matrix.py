"""Jobs in which something goes wrong: each fault at each moment, under each way to start, over MPI and over TCP.

For each job: all ranks but the faulty one raise within 10 s an error that names its rank and host and a reason; the job ends
within 15 s; no process and no shared memory stays. With `--max-restarts` the job goes on from its last complete checkpoint,
and its losses have the bits of those of a job without a fault.

    python tests/distributed/fault_matrix.py [--faults kill,stop] [--moments init,bucket] [--starts torchrun] [--transports MPI]
        [--ranks 2]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import shared_memory
from ports import free_port

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("fault_worker.py")
RANKS = 3
RAISE_S, END_S, TIMEOUT_S = 10.0, 15.0, 4.0
LIMIT_S = 120.0  # for a job that starts again as well, on a busy machine

FAULTS = ("kill", "_exit", "exception", "exit 0", "memory", "stop", "loop", "deadlock", "launcher", "rank 0")
MOMENTS = ("init", "start", "forward", "bucket", "barrier", "checkpoint", "exit")
STARTS = ("torchrun", "restarts", "env", "mpiexec")
TRANSPORTS = ("MPI", "TCP")


def excluded(fault: str, moment: str, start: str, transport: str) -> str:
    """Why a case makes no sense, or ''."""
    if fault == "launcher" and start in ("env", "restarts"):
        return "there is no launcher" if start == "env" else "nothing restarts"
    if fault == "deadlock" and moment in ("init", "start"):
        return "there is no group yet"
    if fault in ("loop", "exit 0") and moment == "exit":
        return "a rank may work, or end well, after the last call"
    if fault == "loop" and moment == "init" and start == "env":
        return "it has not joined yet, and there is no launcher"
    if moment == "start" and transport == "TCP":
        return "MPI does not start"
    if start == "mpiexec" and (transport == "TCP" or moment == "start"):
        return "MPI runs before"
    return ""


def cases(options: argparse.Namespace) -> Iterator[tuple[str, str, str, str]]:
    """(fault, moment, start, transport) of what the options choose."""
    chosen = (getattr(options, name).split(",") for name in ("faults", "moments", "starts", "transports"))
    faults, moments, starts, transports = chosen
    for start in starts:
        if start == "mpiexec" and mpiexec() is None:
            continue
        for transport in transports:
            for fault in faults:
                for moment in moments:
                    if not excluded(fault, moment, start, transport):
                        yield fault, moment, start, transport


def mpiexec() -> Path | None:
    """The launcher of the MPI wheel."""
    path = Path(sys.executable).parent / "mpiexec"
    return path if path.exists() else None


# ---------------------------------------------------------------------------------------------- one job


class Job:
    """The processes of one start of the worker, which carry a mark in their environment."""

    def __init__(self, fault: str, moment: str, start: str, transport: str, folder: Path, ranks: int):
        self.mark = f"{os.getpid()}-{folder.name}"
        environment = {
            k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "MASTER_PORT", "RUSHLIGHT_JIT")
        }
        environment |= {"PYTHONPATH": str(ROOT), "RUSHLIGHT_FAULT_JOB": self.mark, "OMP_NUM_THREADS": "1"}
        environment |= {"RUSHLIGHT_MPI": "0"} if transport == "TCP" else {}
        self.output = open(folder / "output", "wb")  # noqa: SIM115 (closed by end)
        worker = [sys.executable, str(WORKER), fault, moment, str(folder)]
        self.processes = []
        if start == "env":
            environment |= {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
            for rank in range(ranks):
                self.begin(worker, {**environment, "RANK": str(rank)})
            return
        worker = ["sh", "-c", 'export FAULT_LAUNCHER=$1; shift; exec "$@"', "sh", "LAUNCHER", *worker]
        if start == "mpiexec":
            command = [str(mpiexec()), "-n", str(ranks)]
        else:
            command = [sys.executable, "-m", "rushlight.distributed.run", "--standalone", "--no-python"]
            command += ["--nproc-per-node", str(ranks), "--max-restarts", "1" if start == "restarts" else "0"]
        # the launcher's own number, which `exec` keeps
        script = 'for a; do shift; [ "$a" = LAUNCHER ] && a=$$; set -- "$@" "$a"; done; exec "$@"'
        self.begin(["sh", "-c", script, "sh", *command, *worker], environment)

    def begin(self, command: list[str], environment: dict[str, str]) -> None:
        """Start one process."""
        self.processes.append(
            subprocess.Popen(command, env=environment, stdout=self.output, stderr=self.output, start_new_session=True)
        )

    def members(self) -> dict[int, str]:
        """The processes that there are: their numbers, and their states as /proc has them."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if f"RUSHLIGHT_FAULT_JOB={self.mark}".encode() in (path / "environ").read_bytes():
                    found[int(path.name)] = (path / "stat").read_text().rpartition(") ")[2][:1]
            except OSError:
                continue
        return {pid: state for pid, state in found.items() if state != "Z" and pid != os.getpid()}

    def wait(self, limit_s: float) -> bool:
        """Wait until all its processes have ended; whether they have."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if all(p.poll() is not None for p in self.processes) and not self.members():
                return True
            time.sleep(0.05)
        return False

    def end(self) -> None:
        """Kill what there still is."""
        for pid in self.members():
            os.kill(pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()
        self.output.close()


def losses(folder: Path, ranks: int) -> dict[str, dict[str, str]]:
    """{rank: {step: loss}}; of a step that was made twice, the last one."""
    found = {}
    for rank in range(ranks):
        path = folder / f"losses-{rank}"
        lines = path.read_text().splitlines() if path.exists() else []
        found[str(rank)] = dict(line.split() for line in lines)
    return found


def run(
    fault: str, moment: str, start: str, transport: str, expected: dict | None = None, ranks: int = RANKS
) -> tuple[list[str], str]:
    """One job: (what does not hold, the times)."""
    before = shared_memory.names()
    folder = Path(tempfile.mkdtemp(prefix="rushlight-fault-"))
    job = Job(fault, moment, start, transport, folder, ranks)
    try:
        ended = job.wait(LIMIT_S)
        end = time.monotonic()
        left = job.members()
    finally:
        job.end()
    try:
        return _judged(fault, moment, start, folder, end if ended else None, left, before, expected, ranks)
    finally:
        shutil.rmtree(folder)


def _judged(fault, moment, start, folder, end, left, before, expected, ranks) -> tuple[list[str], str]:
    wrong = []
    if not (folder / "fault").exists():
        return ["the fault was not made: " + (folder / "output").read_text()[-800:]], ""
    (begun,) = json.loads((folder / "fault").read_text())
    waits = TIMEOUT_S if fault in ("loop", "deadlock") else 0.0
    victim = 0 if fault == "rank 0" else 1
    slowest = 0.0
    for rank in range(ranks):
        path = folder / f"error-{rank}-1"
        if rank == victim or fault == "launcher":
            continue
        if not path.exists():
            if moment != "exit" and start not in ("torchrun", "restarts", "mpiexec"):
                wrong.append(f"rank {rank} did not raise")
            continue
        when, text = json.loads(path.read_text())
        slowest = max(slowest, when - begun)
        if when - begun > RAISE_S + waits:
            wrong.append(f"rank {rank} raised after {when - begun:.1f} s")
        named = f"process {victim} " in text and socket.gethostname() in text
        named |= f"CheckpointException ranks:dict_keys([{victim}])" in text and moment == "checkpoint"
        if fault != "deadlock" and not named:
            wrong.append(f"rank {rank} does not name rank and host: {text[:400]}")
    if end is None:
        wrong.append(f"after {LIMIT_S:g} s there are {left}")
    elif start != "restarts" and end - begun > END_S + waits:
        wrong.append(f"the job ended after {end - begun:.1f} s")
    stays = shared_memory.left_since(before)
    if stays:
        wrong.append(f"shared memory stays: {stays}")
        for name in stays:
            os.unlink(f"/dev/shm/{name}")
    if start == "restarts" and losses(folder, ranks) != expected:
        wrong.append(f"the losses differ: {losses(folder, ranks)}")
    times = f"raise {slowest:4.1f} s, end {end - begun:4.1f} s" if end else ""
    if wrong:
        wrong.append("output: " + (folder / "output").read_text()[-1500:])
    return wrong, times


def unbroken(transport: str, ranks: int = RANKS) -> dict[str, dict[str, str]]:
    """The losses of a job without a fault."""
    folder = Path(tempfile.mkdtemp(prefix="rushlight-fault-"))
    job = Job("none", "none", "torchrun", transport, folder, ranks)
    try:
        assert job.wait(LIMIT_S), "a job without a fault does not end"
        found = losses(folder, ranks)
        assert all(len(each) == 6 for each in found.values()), (folder / "output").read_text()
        return found
    finally:
        job.end()
        shutil.rmtree(folder)


def main(options: argparse.Namespace) -> int:
    """Run the chosen jobs and print a line for each; how many break the promise."""
    expected: dict[str, dict] = {}
    faulty = 0
    for fault, moment, start, transport in cases(options):
        if start == "restarts" and transport not in expected:
            expected[transport] = unbroken(transport, options.ranks)
        wrong, times = run(fault, moment, start, transport, expected.get(transport), options.ranks)
        faulty += bool(wrong)
        print(f"{start:9} {transport:4} {fault:10} {moment:11} {'WRONG' if wrong else 'holds'}  {times}", flush=True)
        for text in wrong:
            print("    " + text.replace("\n", "\n    "), flush=True)
    print(f"{faulty} cases break the promise")
    return faulty


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, values in (("faults", FAULTS), ("moments", MOMENTS), ("starts", STARTS), ("transports", TRANSPORTS)):
        parser.add_argument(f"--{name}", default=",".join(values))
    parser.add_argument("--ranks", type=int, default=RANKS, help="processes of a job")
    sys.exit(bool(main(parser.parse_args())))
