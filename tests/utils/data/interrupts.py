"""Sends Ctrl-C to a process that starts and clears away loaders all the time, and counts those that were lost.

python tests/utils/data/interrupts.py --count 60 --seed 0
"""

import argparse
import os
import random
import select
import signal
import subprocess
import sys

PATIENCE_S = 20  # a Ctrl-C that is not answered by then is lost
PROGRAM = """
import multiprocessing, os, sys
multiprocessing.set_start_method("fork")  # what is defined in `-c` is nowhere else
from rushlight.utils.data import DataLoader

class Data:
    def __len__(self): return 8
    def __getitem__(self, index): return index

def leave_early(loader):
    for batch in loader: break

def whole(loader):
    for batch in loader: pass

def drop(loader):
    iterator = iter(loader)
    next(iterator)
    del iterator

ways = {"break": leave_early, "whole": whole, "drop": drop}
way, persistent, owed = ways[sys.argv[1]], sys.argv[2] == "persistent", True
while True:
    try:
        if owed:
            os.write(1, b".")
            owed = False
        while True:
            way(DataLoader(Data(), 2, num_workers=2, persistent_workers=persistent))
    except KeyboardInterrupt:
        owed = True
"""


def lost(count: int, seed: int, way: str = "break", kind: str = "fresh") -> tuple[int, str]:
    """How many of `count` interrupts were not answered, and what the process wrote to its errors."""
    chance = random.Random(seed)
    command = [sys.executable, "-c", PROGRAM, way, kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        missing = 0
        try:
            for _ in range(count):
                if not _answers(process):
                    missing += 1
                    break
                select.select([], [], [], chance.random() * 0.06)  # anywhere in an epoch of about 30 ms
                os.kill(process.pid, signal.SIGINT)
            missing += not missing and not _answers(process)
        finally:
            process.kill()
        return missing, process.stderr.read().decode()


def _answers(process) -> bool:
    return bool(select.select([process.stdout], [], [], PATIENCE_S)[0]) and bool(os.read(process.stdout.fileno(), 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for way in ("break", "whole", "drop"):
        for kind in ("fresh", "persistent"):
            missing, errors = lost(arguments.count, arguments.seed, way, kind)
            print(
                f"{way}, {kind}: {arguments.count} interrupts, {missing} lost; errors: {errors[-2000:]!r}", flush=True
            )


if __name__ == "__main__":
    main()
