"""Starts one process for each rank: `rushlight run -m torch.distributed.run --nproc_per_node 2 script.py arguments`.

Each process finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment, which
is where `init_process_group("gloo")` looks. When one fails, the others are ended.

With `--nnodes MIN:MAX`, or `--rdzv-backend c10d` for several machines, the launchers meet (`elastic/`): machines may come and go.
"""

from __future__ import annotations

import argparse
import os

from .elastic.agent import Agent
from .elastic.settings import endpoint_of, environment_of, free_port, local_size_of, nodes_of
from .elastic.workers import Workers

__all__ = ["get_args_parser", "main", "parse_args", "run", "run_job"]


def get_args_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="torchrun", description="Start one process for each rank.")
    add = parser.add_argument
    add("--nnodes", default="1", help="how many machines, or MIN:MAX")
    add("--nproc-per-node", "--nproc_per_node", default="1", help="processes on this machine; 'auto': its CPUs")
    add("--node-rank", "--node_rank", type=int, default=0, help="which machine this is")
    add("--master-addr", "--master_addr", default="127.0.0.1", help="where process 0 runs")
    add("--master-port", "--master_port", type=int, default=29500, help="the port on which it waits")
    add("--standalone", action="store_true", help="one machine, any free port")
    add(
        "--rdzv-backend",
        "--rdzv_backend",
        default="static",
        help="'static', or 'c10d': the launchers number the machines",
    )
    add("--rdzv-endpoint", "--rdzv_endpoint", default="", help="host:port of process 0, or where launchers meet")
    add(
        "--rdzv-conf",
        "--rdzv_conf",
        default="",
        help="join_timeout, last_call_timeout, read_timeout (seconds): k=v,k=v",
    )
    add("--rdzv-id", "--rdzv_id", default="none", help="a name of the run: processes of another name are refused")
    add("--max-restarts", "--max_restarts", type=int, default=0, help="how often to start all again after a failure")
    add("--log-dir", "--log_dir", default=None, help="a folder for what each process prints")
    add(
        "-t", "--tee", default="0", help="streams to show and to write to files: 1 stdout, 2 stderr, 3 both, or 0:1,1:3"
    )
    add("-r", "--redirects", default="0", help="streams to write to files")
    add("--local-ranks-filter", "--local_ranks_filter", default="", help="whose output is shown here: 0,2")
    add("--role", default="default", help="a name of the processes: ROLE_NAME, and in front of lines that are shown")
    for name in ("monitor-interval", "start-method"):  # torch's, of functions that it starts
        add(f"--{name}", f"--{name.replace('-', '_')}", help=argparse.SUPPRESS)
    add("-m", "--module", action="store_true", help="the program is a module's name")
    add("--no-python", "--no_python", action="store_true", help="the program is no Python program")
    add("--use-env", "--use_env", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(function=None)  # what the processes call in place of a program: `launcher.api`
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
    status, _ = run_job(args)
    if status:
        raise SystemExit(status)


def run_job(args: argparse.Namespace) -> tuple[int, Workers | None]:
    """The job's status, 0 where all processes have ended well, and this machine's last processes, if it has had any."""
    if args.rdzv_backend not in ("static", "c10d"):
        raise NotImplementedError(f"torch.distributed.run: --rdzv-backend {args.rdzv_backend} is not implemented")
    least, most = nodes_of(args)
    if not args.standalone and (least < most or (most > 1 and args.rdzv_backend == "c10d")):
        agent = Agent(args, local_size_of(args))
        return agent.run(), agent.workers
    for attempt in range(args.max_restarts + 1):
        status, workers = _run_once(args, attempt)
        if not status:
            break
    return status, workers


def _run_once(args: argparse.Namespace, attempt: int) -> tuple[int, Workers]:
    local_size, environment = _environment(args, attempt)
    workers = Workers(args, environment, local_size, args.node_rank * local_size)
    try:
        return workers.wait(), workers
    finally:
        workers.end()


def _environment(args: argparse.Namespace, attempt: int) -> tuple[int, dict[str, str]]:
    nodes, local_size = nodes_of(args)[0], local_size_of(args)
    host, port = endpoint_of(args)
    if args.standalone or (nodes == 1 and (args.rdzv_backend == "c10d" or port == 0)):
        host, port = "127.0.0.1", free_port()
    environment = environment_of(args, attempt, (host, port), (args.node_rank, nodes), local_size, nodes * local_size)
    if nodes == 1:  # several launchers of one job would have to agree; there --rdzv-id is the name
        environment["RUSHLIGHT_JOB_ID"] = f"{args.rdzv_id}-{os.urandom(4).hex()}"
    return local_size, environment


if __name__ == "__main__":
    main()
