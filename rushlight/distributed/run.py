"""Starts one process for each rank: `rushlight run -m torch.distributed.run --nproc_per_node 2 script.py arguments`.

Each process finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment, which
is where `init_process_group("gloo")` looks. When one fails, the others are ended.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from typing import Any

from ..core.foreign import loaded_functions
from .control.process_state import KILLED_LOOKS, LOOK_S, Looks, birth
from .process_output import Output, streams_of

__all__ = ["get_args_parser", "main", "parse_args", "run"]

_POLL_S = 0.05
_RAISE_S = 2.0  # after a failure, for the others to raise by themselves what they know of it
_GRACE_S = 5.0  # between asking a process to end and killing it


def get_args_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="torchrun", description="Start one process for each rank.")
    add = parser.add_argument
    add("--nnodes", default="1", help="how many machines")
    add("--nproc-per-node", "--nproc_per_node", default="1", help="processes on this machine; 'auto': its CPUs")
    add("--node-rank", "--node_rank", type=int, default=0, help="which machine this is")
    add("--master-addr", "--master_addr", default="127.0.0.1", help="where process 0 runs")
    add("--master-port", "--master_port", type=int, default=29500, help="the port on which it waits")
    add("--standalone", action="store_true", help="one machine, any free port")
    add("--rdzv-backend", "--rdzv_backend", default="static", help="accepted: 'static' and 'c10d'")
    add("--rdzv-endpoint", "--rdzv_endpoint", default="", help="host:port of process 0")
    add("--rdzv-id", "--rdzv_id", default="none", help="a name of the run: processes of another name are refused")
    add("--max-restarts", "--max_restarts", type=int, default=0, help="how often to start all again after a failure")
    add("--log-dir", "--log_dir", default=None, help="a folder for what each process prints")
    add(
        "-t", "--tee", default="0", help="streams to show and to write to files: 1 stdout, 2 stderr, 3 both, or 0:1,1:3"
    )
    add("-r", "--redirects", default="0", help="streams to write to files")
    add("-m", "--module", action="store_true", help="the program is a module's name")
    add("--no-python", "--no_python", action="store_true", help="the program is no Python program")
    add("--use-env", "--use_env", action="store_true", help=argparse.SUPPRESS)
    add("training_script", help="the program")
    add("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: list[str] | None = None) -> argparse.Namespace:
    """The arguments of the command line."""
    return get_args_parser().parse_args(args)


def main(args: list[str] | None = None) -> None:
    """Carry out the command line. Raises SystemExit with a process's status where one failed."""
    run(parse_args(args))


def run(args: argparse.Namespace) -> None:
    """Start the processes and wait for them. Raises SystemExit where one failed."""
    if ":" in str(args.nnodes) and len(set(str(args.nnodes).split(":"))) > 1:
        raise NotImplementedError(
            "torch.distributed.run: --nnodes MIN:MAX is not implemented; give the number of machines"
        )
    if args.rdzv_backend not in ("static", "c10d"):
        raise NotImplementedError(f"torch.distributed.run: --rdzv-backend {args.rdzv_backend} is not implemented")
    for attempt in range(args.max_restarts + 1):
        status = _run_once(args, attempt)
        if not status:
            return
    raise SystemExit(status)


def _run_once(args: argparse.Namespace, attempt: int) -> int:
    local_size, environment = _environment(args, attempt)
    processes: list[Any] = []
    outputs: list[Output] = []
    ends = None if _prctl is None else partial(_ends_with, os.getpid())
    try:
        for local_rank in range(local_size):
            own = {**environment, "LOCAL_RANK": str(local_rank), "RANK": str(_rank(args, local_size, local_rank))}
            own["ROLE_RANK"] = own["RANK"]
            chosen = (streams_of(text, local_rank) for text in (args.redirects, args.tee))
            outputs.append(Output(args.log_dir, own["RANK"], local_rank, *chosen))
            processes.append(subprocess.Popen(_command(args), env=own, preexec_fn=ends, **outputs[-1].arguments))
            outputs[-1].begin(processes[-1])
        return _wait(processes, _rank(args, local_size, 0))
    finally:
        _end(processes)
        for output in outputs:
            output.end()


_PR_SET_PDEATHSIG = 1
_prctl = getattr(loaded_functions(), "prctl", None)  # Linux's


def _ends_with(parent: int) -> None:
    """In a new process: the system kills it when the launcher dies, so that none stays behind."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # type: ignore[misc]
    if os.getppid() != parent:  # it died before the system knew
        os._exit(1)


def _environment(args: argparse.Namespace, attempt: int) -> tuple[int, dict[str, str]]:
    nodes = int(str(args.nnodes).partition(":")[0])
    local_size = os.cpu_count() or 1 if args.nproc_per_node in ("auto", "cpu") else int(args.nproc_per_node)
    host, port = args.master_addr, args.master_port
    if args.rdzv_endpoint:
        host, _, text = args.rdzv_endpoint.partition(":")
        port = int(text or port)
    if args.standalone or (nodes == 1 and (args.rdzv_backend == "c10d" or port == 0)):
        host, port = "127.0.0.1", _free_port()
    environment = {
        **os.environ,
        "MASTER_ADDR": host,
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(nodes * local_size),
        "LOCAL_WORLD_SIZE": str(local_size),
        "GROUP_RANK": str(args.node_rank),
        "GROUP_WORLD_SIZE": str(nodes),
        "ROLE_NAME": "default",
        "ROLE_WORLD_SIZE": str(nodes * local_size),
        "TORCHELASTIC_RUN_ID": str(args.rdzv_id),
        "TORCHELASTIC_RESTART_COUNT": str(attempt),
        "TORCHELASTIC_MAX_RESTARTS": str(args.max_restarts),
        "RUSHLIGHT_AGENT": str(os.getpid()),  # who looks after the processes
    }
    if nodes == 1:  # several launchers of one job would have to agree; there --rdzv-id is the name
        environment["RUSHLIGHT_JOB_ID"] = f"{args.rdzv_id}-{os.urandom(4).hex()}"
    if local_size > 1:
        environment.setdefault("OMP_NUM_THREADS", "1")
    return local_size, environment


def _rank(args: argparse.Namespace, local_size: int, local_rank: int) -> int:
    return args.node_rank * local_size + local_rank


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _command(args: argparse.Namespace) -> list[str]:
    python = [] if args.no_python else [sys.executable, "-u", *(["-m"] if args.module else [])]
    return [*python, args.training_script, *args.training_script_args]


def _wait(processes: list[Any], first_rank: int) -> int:
    """The status of the first process that fails; 0 when all have ended well. A process that stays stopped is killed."""
    looks, next_look = Looks(KILLED_LOOKS), 0.0
    births = [birth(process.pid) for process in processes]
    while True:
        states = [process.poll() for process in processes]
        failed = [(local_rank, state) for local_rank, state in enumerate(states) if state]
        if failed:
            local_rank, state = failed[0]
            how = f"exit status {state}" if state > 0 else f"signal {-state} ({signal.strsignal(-state)})"
            print(
                f"torch.distributed.run: rank {first_rank + local_rank} (local rank {local_rank}, pid "
                f"{processes[local_rank].pid}) on host {socket.gethostname()} has ended by {how}",
                file=sys.stderr,
            )
            return state if state > 0 else 1
        if all(state == 0 for state in states):
            return 0
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + LOOK_S
            for local_rank, process in enumerate(processes):
                if states[local_rank] is None and looks.given_up(process.pid, births[local_rank]):
                    print(f"torch.distributed.run: local rank {local_rank} stays stopped: killed", file=sys.stderr)
                    process.kill()
        time.sleep(_POLL_S)


def _end(processes: list[Any]) -> None:
    """Let all end: by themselves where one has failed, then by SIGTERM, which wakes a stopped one, then by SIGKILL."""
    if any(process.poll() for process in processes):
        _wait_all(processes, _RAISE_S)
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            if hasattr(signal, "SIGCONT"):
                process.send_signal(signal.SIGCONT)
    _wait_all(processes, _GRACE_S)
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()


def _wait_all(processes: list[Any], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline and any(process.poll() is None for process in processes):
        time.sleep(_POLL_S)


if __name__ == "__main__":
    main()
