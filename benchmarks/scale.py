"""`python -m benchmarks scale`: collectives and DistributedDataParallel among processes of this host, against torch's gloo.

The jobs take turns. Rushlight's ratios to mpi4py are of numbers from the same processes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_WORKER = Path(__file__).with_name("scale_worker.py")
_CALLS = ("4 KB", "1 MB", "64 MB")
_STEPS = ("MLP", "CIFAR-10 network")
_LIMIT_S = 300


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command line."""
    parser.add_argument("--ranks", type=int, default=2, help="processes of a job")
    parser.add_argument("--rounds", type=int, default=3, help="how often each library has its turn")
    parser.add_argument("--torch-python", default=sys.executable, help="a Python in which torch is installed")


def main(ranks: int = 2, rounds: int = 3, torch_python: str = sys.executable) -> None:
    """Print a table: for each measure the best of the rounds, and the ratios."""
    pythons = {"rushlight": sys.executable, "torch": torch_python}
    if subprocess.run([torch_python, "-c", "import torch"], capture_output=True).returncode:
        del pythons["torch"]
        print("without torch: only Rushlight is measured")
    best: dict[str, dict[str, float]] = {library: {} for library in pythons}
    for _ in range(rounds):
        for library, python in pythons.items():
            for name, seconds in _job(python, library, ranks).items():
                best[library][name] = min(seconds, best[library].get(name, seconds))
    ours, theirs = best["rushlight"], best.get("torch", {})
    print(f"{ranks} processes, one thread each; milliseconds, the best of {rounds} rounds' medians")
    print(f"{'':24}{'Rushlight':>10}{'torch gloo':>12}{'mpi4py':>9}{'/ gloo':>8}{'/ mpi4py':>10}")
    for name in ("start", *_CALLS, *_STEPS):
        label = f"all_reduce {name}" if name in _CALLS else f"DDP {name}" if name in _STEPS else "init, first call"
        print(_row(label, ours[name], theirs.get(name), ours.get(f"{name} mpi4py")))


def _row(label: str, own: float, gloo: float | None, mpi4py: float | None) -> str:
    cells = [f"{label:24}{own * 1e3:10.3f}"]
    cells += [f"{'' if value is None else format(value * 1e3, '.3f'):>{n}}" for value, n in ((gloo, 12), (mpi4py, 9))]
    cells += [f"{'' if value is None else format(own / value, '.2f'):>{n}}" for value, n in ((gloo, 8), (mpi4py, 10))]
    return "".join(cells)


def _job(python: str, library: str, ranks: int) -> dict[str, float]:
    """What rank 0 of a new job has measured."""
    root = str(_WORKER.parent.parent)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if library == "rushlight":
        environment["PYTHONPATH"] = root
    with tempfile.TemporaryDirectory() as folder:
        command = [python, str(_WORKER), library]
        processes = [
            subprocess.Popen(
                [*command, str(rank), str(ranks), f"file://{folder}/meet"], env=environment, stdout=subprocess.PIPE
            )
            for rank in range(ranks)
        ]
        try:
            said = [process.communicate(timeout=_LIMIT_S)[0] for process in processes]
        finally:
            for process in processes:
                process.kill()
    if any(process.returncode for process in processes):
        raise RuntimeError(f"a job of {library} failed: {[process.returncode for process in processes]}")
    return json.loads(said[0])
