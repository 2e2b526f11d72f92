"""Losses of sharded models under torch 2.13 with gloo in two processes: `sharded.json`, {case: [losses of each rank]}."""

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.fsdp.wrap
from torch.multiprocessing import start_processes

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "distributed"))
from sharded_cases import CASES, FLAT_CASES, losses  # noqa: E402


def run(rank, size):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29571", RANK=str(rank), WORLD_SIZE=str(size))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    parts = [None] * size
    dist.all_gather_object(parts, {name: losses(torch, name, rank, size) for name in CASES + FLAT_CASES})
    if not rank:
        found = {name: [part[name] for part in parts] for name in CASES + FLAT_CASES}
        lines = [f'"{name}": {json.dumps(rows)}' for name, rows in found.items()]
        (HERE / "sharded.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    start_processes(run, (2,), nprocs=2, start_method="spawn")
