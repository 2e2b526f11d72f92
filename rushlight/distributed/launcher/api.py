"""Starts a function or a program in one process for each rank, and gives back what the functions return.

    outputs = elastic_launch(LaunchConfig(1, 1, nproc_per_node=2, rdzv_backend="c10d"), train)(1e-3)   # {rank: value}

It is `torch.distributed.run` from within a program: the same processes, environments, restarts and machines that come and go.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..elastic.functions import Function
from ..elastic.multiprocessing import DefaultLogsSpecs, LogsSpecs
from ..elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from ..elastic.workers import Workers
from ..run import get_args_parser, run_job

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]

_log = logging.getLogger(__name__)
_CONFIGS = ("join_timeout", "last_call_timeout", "read_timeout")  # what our meeting has of torch's options


@dataclass
class LaunchConfig:
    """How many machines and processes, where they meet, and how often they are started again, by torch's names.

    min_nodes, max_nodes: machines. nproc_per_node: processes of each. rdzv_backend: "c10d" or "static" (its default,
    "etcd", is torch's, and is not available). rdzv_endpoint: host:port; on one machine any free port, if it is not "static".
    rdzv_configs: `rank` of this machine for "static", join_timeout, last_call_timeout, read_timeout (seconds).
    max_restarts: of all processes, after one of them has failed. start_method: of functions. Ignored: monitor_interval,
    metrics_cfg, event_log_handler, numa_options, log_line_prefix_template, signals_to_handle, shutdown_timeout.

    Raises ValueError for a negative `shutdown_timeout`.
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: LogsSpecs | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None

    def __post_init__(self) -> None:
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        else:
            self.rdzv_configs.setdefault("timeout", 900)
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()
        if self.shutdown_timeout is None:
            self.shutdown_timeout = int(os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "30"))
        elif self.shutdown_timeout < 0:
            raise ValueError(f"shutdown_timeout must be non-negative, got {self.shutdown_timeout}")


class elastic_launch:
    """`elastic_launch(config, entrypoint)(*args)`: `launch_agent`."""

    def __init__(
        self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, health_check_server: Any = None
    ):
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(
    config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, args: list[Any], health_check_server: Any = None
) -> dict[int, Any]:
    """What the function has returned, of each rank of this machine; None of each for a program.

    entrypoint: a function, called in the new processes with `args`, or a command, whose arguments these are.

    Raises ChildFailedError with the processes that have failed, after `max_restarts`; ValueError for a configuration that
    does not fit together, NotImplementedError for another way to meet than "c10d" and "static", and where a function's
    output should go to files.
    """
    if not config.run_id:
        config.run_id = str(uuid.uuid4().int)
        _log.warning("config has no run_id, generated a random run_id: %s", config.run_id)
    _check(config, entrypoint)
    options = _options(config, entrypoint, args)
    try:
        status, workers = run_job(options)
        if not status and workers is not None:
            ranks = range(workers.first_rank, workers.first_rank + config.nproc_per_node)
            return {rank: options.function.value(rank) if options.function else None for rank in ranks}
        if status:
            raise ChildFailedError(_name_of(entrypoint, args), _failures(workers, status))
        return {}  # there were enough machines without this one
    finally:
        if options.function is not None:
            options.function.close()


def _check(config: LaunchConfig, entrypoint: Any) -> None:
    if config.rdzv_backend == "static":
        if not config.rdzv_endpoint.strip():
            raise ValueError("Endpoint is missing in endpoint. Try to add --master-addr and --master-port")
        if ":" not in config.rdzv_endpoint:
            text = f"port is missing in endpoint: {config.rdzv_endpoint}. Try to specify --master-port"
            raise ValueError(text)
    elif config.rdzv_backend in ("etcd", "etcd-v2"):
        raise NotImplementedError(f'rdzv_backend="{config.rdzv_backend}" is not implemented: use "c10d" or "static"')
    elif config.rdzv_backend != "c10d":
        raise ValueError(
            f"The rendezvous backend '{config.rdzv_backend}' is not registered. Did you forget to call `register`?"
        )
    if config.max_nodes < config.min_nodes:
        raise ValueError(
            f"The maximum number of rendezvous nodes ({config.max_nodes}) must be greater than or equal to the minimum number "
            f"of rendezvous nodes ({config.min_nodes})."
        )
    if config.nproc_per_node < 1:
        raise AssertionError("nproc_per_node is less than 1")
    logs = config.logs_specs
    if callable(entrypoint) and logs is not None and (logs.redirects or logs.tee):
        raise NotImplementedError("elastic_launch: the output of functions is not redirected; start a program")


def _options(config: LaunchConfig, entrypoint: Any, args: list[Any]) -> argparse.Namespace:
    """The command line that says the same."""
    options = get_args_parser().parse_args(["program"])
    if callable(entrypoint):
        options.function = Function(entrypoint, tuple(args), config.start_method)
    options.training_script, options.training_script_args = entrypoint or sys.executable, list(map(str, args))
    options.no_python = True
    options.nnodes = f"{config.min_nodes}:{config.max_nodes}"
    options.nproc_per_node, options.role, options.rdzv_id = str(config.nproc_per_node), config.role, config.run_id
    options.rdzv_backend, options.rdzv_endpoint = config.rdzv_backend, config.rdzv_endpoint
    options.max_restarts, options.node_rank = config.max_restarts, int(config.rdzv_configs.get("rank", 0))
    known = {name: config.rdzv_configs[name] for name in _CONFIGS if name in config.rdzv_configs}
    options.rdzv_conf = ",".join(f"{name}={value}" for name, value in known.items())
    logs = config.logs_specs
    if logs is not None and not callable(entrypoint):
        options.log_dir = logs.root_log_dir if logs.redirects or logs.tee else None
        options.redirects, options.tee = logs.as_option(logs.redirects), logs.as_option(logs.tee)
        options.local_ranks_filter = ",".join(map(str, sorted(logs.local_ranks_filter or ())))
    return options


def _name_of(entrypoint: Any, args: list[Any]) -> str:
    """As torch's errors call it."""
    if callable(entrypoint):
        return entrypoint.__name__
    return next((a for a in args if a[0] != "-"), "") if entrypoint == sys.executable else entrypoint or ""


def _failures(workers: Workers | None, status: int) -> dict[int, ProcessFailure]:
    if workers is None or not workers.failed:  # of another machine
        return {-1: ProcessFailure(-1, -1, status, "")}
    function, first = workers.function, workers.first_rank
    return {
        first + local: ProcessFailure(local, pid, code, function.error_file(first + local) if function else "")
        for local, pid, code in workers.failed
    }
