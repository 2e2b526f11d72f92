"""`python -m benchmarks scale [PART ...]`: training on several processes and hosts, against torch's gloo.

calls: collectives and steps with DistributedDataParallel among processes of this host; the jobs take turns, and Rushlight's ratios to
mpi4py are of numbers from the same processes. link: two hosts with a link of 1 Gbit/s and of 200 Mbit/s. explain: what a compiled step
exchanges. model: the tables of docs/scale.md, by recorded numbers. Those four unless some are named. Two have to be named: steps
takes those of ResNet-18 and other networks behind DistributedDataParallel, eager and compiled, with the processor's time; fit takes
the model's numbers again and writes them into scale_numbers.json. Hosts are network namespaces (root, Linux).
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import scale_model
from .hosts import Hosts, missing

_WORKER = Path(__file__).with_name("scale_worker.py")
_CALLS = ("4 KB", "1 MB", "64 MB")
_STEPS = ("MLP", "CIFAR-10 network")
_LIMIT_S = 300
_NAMED = ("fit", "steps")  # the parts that are left out where none is named
_LINK_WORKER = Path(__file__).with_name("scale_link_worker.py")
_FIT_MBIT, _FIT_HOSTS = 40, (2, 4, 8, 16)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command line."""
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(_PARTS)}; the first four where none is named")
    parser.add_argument("--ranks", type=int, default=2, help="processes of a job")
    parser.add_argument("--rounds", type=int, default=3, help="how often each library has its turn")
    parser.add_argument("--torch-python", default=sys.executable, help="a Python in which torch is installed")


def main(parts: Sequence[str] = (), ranks: int = 2, rounds: int = 3, torch_python: str = sys.executable) -> None:
    """Print the tables of some parts."""
    pythons = {"rushlight": sys.executable, "torch": torch_python}
    if subprocess.run([torch_python, "-c", "import torch"], capture_output=True).returncode:
        del pythons["torch"]
        print("without torch: only Rushlight is measured")
    unknown = [part for part in parts if part not in _PARTS]
    if unknown:
        raise SystemExit(f"no part {unknown[0]!r}: {', '.join(_PARTS)}")
    for part in parts or [part for part in _PARTS if part not in _NAMED]:
        print(f"--- {part}")
        if part in ("link", "fit") and missing():
            print(f"needs {missing()}")
        else:
            _PARTS[part](pythons, ranks, rounds)


def _calls(pythons: dict[str, str], ranks: int, rounds: int) -> None:
    """For each measure the best of the rounds, and the ratios."""
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


def _steps(pythons: dict[str, str], ranks: int, rounds: int) -> None:
    """Steps of larger networks; the libraries take turns, and the best of the rounds counts."""
    best: dict[str, dict[str, list[float]]] = {library: {} for library in pythons}
    for _ in range(rounds):
        for library, python in pythons.items():
            for name, times in _job(python, f"steps-{library}", ranks).items():
                best[library][name] = [min(pair) for pair in zip(times, best[library].get(name, times), strict=True)]
    theirs = best.get("torch", {})
    print(
        f"{ranks} processes, one thread each; milliseconds of a step, and of the processor in it; the best of {rounds} medians"
    )
    print(f"{'':24}{'Rushlight':>10}{'processor':>11}{'torch gloo':>12}{'processor':>11}{'/ gloo':>8}{'/ its':>7}")
    for name, own in best["rushlight"].items():
        other = theirs.get(f"{name.split()[0]} eager")
        cells = f"{name:24}{own[0] * 1e3:10.2f}{own[1] * 1e3:11.2f}"
        if other is not None:
            cells += f"{other[0] * 1e3:12.2f}{other[1] * 1e3:11.2f}{own[0] / other[0]:8.2f}{own[1] / other[1]:7.2f}"
        print(cells)


def _link(pythons: dict[str, str], ranks: int, rounds: int) -> None:
    """All-reduce and steps of a 15M-parameter MLP between two hosts, against torch and against what the link allows.

    with last: a step cannot end before the gradient that backward reaches last has travelled after it.
    """
    for mbit in (1000, 200):
        found = {}
        for library, python in pythons.items():
            with Hosts(2, mbit) as hosts:
                found[library] = json.loads(hosts.run(python, _LINK_WORKER, library))
        ours, theirs = found["rushlight"], found.get("torch", {})
        rate = mbit / 8 * 0.95e6  # what TCP leaves of a link
        sizes = {"32 MB": 32 << 20, "DDP float32": 4 * ours["parameters"], "DDP bf16": 2 * ours["parameters"]}
        print(
            f"{mbit} Mbit/s, 2 hosts, one thread each; milliseconds, medians of 5; a step alone {ours['alone'] * 1e3:.0f}"
        )
        print(f"{'':24}{'Rushlight':>10}{'torch gloo':>12}{'/ gloo':>8}{'/ ideal':>9}{'/ with last':>13}")
        for name, size in sizes.items():
            ideal = max(size / rate, 0.0 if name == "32 MB" else ours["alone"])
            last = 0.0 if name == "32 MB" else ours["last"] * size / sizes["DDP float32"] / rate
            cells = f"{name:24}{ours[name] * 1e3:10.0f}"
            cells += f"{theirs[name] * 1e3:12.0f}{ours[name] / theirs[name]:8.2f}" if name in theirs else " " * 20
            print(f"{cells}{ours[name] / ideal:9.2f}{ours[name] / (ideal + last):13.2f}")
        print(f"bf16 / float32: {ours['DDP bf16'] / ours['DDP float32']:.2f}")


def _explain(pythons: dict[str, str], ranks: int, rounds: int) -> None:
    """What the compiled steps of `calls` exchange."""
    for line in _job(sys.executable, "explain", ranks).items():
        print(*line, sep=": ")


def _model(pythons: dict[str, str], ranks: int, rounds: int) -> None:
    print(scale_model.tables(scale_model.load()))


def _fit(pythons: dict[str, str], ranks: int, rounds: int) -> None:
    """Take the numbers of the model again."""
    numbers = scale_model.load()
    for count in _FIT_HOSTS:
        with Hosts(count, _FIT_MBIT) as hosts:
            found = {}
            for what in ("fit", "MPI"):
                found |= json.loads(hosts.run(sys.executable, _LINK_WORKER, what))
        numbers["measured"][str(count)] = found
    with Hosts(1, _FIT_MBIT) as hosts:
        numbers["hooks"] = json.loads(hosts.run(sys.executable, _LINK_WORKER, "costs"))
    numbers |= {"mbit": _FIT_MBIT, "machine": _machine(), "date": datetime.date.today().isoformat()}
    scale_model.NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n")
    _model(pythons, ranks, rounds)


def _machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "a processor")
    return f"{name}, {os.cpu_count()} cores, Linux {os.uname().release.partition('-')[0]}"


_PARTS = {"calls": _calls, "link": _link, "explain": _explain, "model": _model, "steps": _steps, "fit": _fit}


def _row(label: str, own: float, gloo: float | None, mpi4py: float | None) -> str:
    cells = [f"{label:24}{own * 1e3:10.3f}"]
    cells += [f"{'' if value is None else format(value * 1e3, '.3f'):>{n}}" for value, n in ((gloo, 12), (mpi4py, 9))]
    cells += [f"{'' if value is None else format(own / value, '.2f'):>{n}}" for value, n in ((gloo, 8), (mpi4py, 10))]
    return "".join(cells)


def _job(python: str, library: str, ranks: int) -> dict[str, Any]:
    """What rank 0 of a new job has measured."""
    root = str(_WORKER.parent.parent)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if not library.endswith("torch"):
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
