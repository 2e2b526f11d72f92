"""Writes distributed.json: what torch computes in several processes. Run where torch 2.13 is installed."""

import json
import sys
from pathlib import Path

import torch
import torch.multiprocessing

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "distributed"))
SIZES = (2, 3)


def run(rank, size, folder):
    from gloo_cases import CASES

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{folder}/meet{size}", world_size=size, rank=rank)
    results = {case.__name__: case(torch) for case in CASES}
    torch.distributed.barrier()
    (Path(folder) / f"{size}.{rank}").write_text(json.dumps(results))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            torch.multiprocessing.spawn(run, (size, folder), nprocs=size)
        found = {
            case: {
                size: [json.loads(Path(folder, f"{size}.{rank}").read_text())[case] for rank in range(size)]
                for size in SIZES
            }
            for case in json.loads(Path(folder, f"{SIZES[0]}.0").read_text())
        }
    lines = [f"{json.dumps(case)}: {json.dumps(numbers)}" for case, numbers in found.items()]
    (HERE / "distributed.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
