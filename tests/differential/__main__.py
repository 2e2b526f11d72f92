"""Runs random programs under torch and under Rushlight and says where they differ.

    python -m tests.differential --torch ../torch-env/bin/python --count 10000
    python -m tests.differential --torch ../torch-env/bin/python --theme views --seed 7 --show

`test_recorded.py` replays programs that were recorded with `--record`, without torch.

A program is made under torch, where each statement is filled in from the tensors that are alive (`generation.py`), and
replayed under Rushlight: the value, dtype, shape, strides and requires_grad of each statement have to be equal up to
rounding, or both have to raise. What was saved on either side is loaded on the other. A program is compared up to its first
such difference. The names of graph nodes and the classes of errors are compared as well, and counted by themselves.

Seed and theme make a program: `--theme T --seed N --count 1 --show` prints it with both sides.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from .comparison import compare
from .execution import Session
from .known import KNOWN, PAGE, page

ROOT = Path(__file__).parents[2]
_CHUNK = 50
_STRICT = ("double-backward", "func")  # themes that begin with float64
_MINOR = ("class", "node")  # differences that do not end a program, and are not counted among the statements' values


def make(torch: Any, seeds: list[int], theme: str, folder: Path) -> None:
    """Make programs under torch; a line of JSON for each."""
    from .generation import Ended, Program
    from .themes import ALL

    names = [theme] if theme else list(ALL)
    for seed in seeds:
        name = names[seed % len(names)]
        p = Program(torch, seed, folder / str(seed))
        with suppress(Ended):
            ALL[name](p)
        print(json.dumps({"seed": seed, "theme": name, "statements": p.statements, "outcomes": p.outcomes}), flush=True)


def replay(torch: Any, programs: list[dict], ours: Path, theirs: Path) -> None:
    """Run programs under Rushlight; a line of JSON with the outcomes of each. Files of torch's are loaded too."""
    for program in programs:
        session = Session(torch, program["seed"], ours / str(program["seed"]))
        outcomes = []
        for statement, expected in zip(program["statements"], program["outcomes"], strict=True):
            outcome = session.run(statement)
            if statement.startswith("load(") and not compare(expected, outcome):
                session.folder, own = theirs / str(program["seed"]), session.folder
                outcome = session.run(statement)
                session.folder = own
            outcomes.append(outcome)
        print(json.dumps(outcomes), flush=True)


def load_back(torch: Any, programs: list[dict], ours: Path) -> None:
    """Load what Rushlight has saved, under torch; a line of JSON with {number of the statement: outcome} of each."""
    for program in programs:
        session = Session(torch, program["seed"], ours / str(program["seed"]))
        loads = [i for i, s in enumerate(program["statements"]) if s.startswith("load(")]
        print(json.dumps({i: session.run(program["statements"][i]) for i in loads}), flush=True)


class Tester:
    """Counts and keeps the differences."""

    def __init__(self, torch_python: str, theme: str, show: bool) -> None:
        self.python, self.theme, self.show = torch_python, theme, show
        self.statements: Counter[str] = Counter()
        self.programs = 0
        self.found: dict[str, list[tuple[int, str, str, str]]] = defaultdict(
            list
        )  # kind: (seed, theme, statement, what)
        self.known: Counter[str] = Counter()
        self.agreed: list[dict] = []  # programs without a difference

    def run(self, seeds: list[int]) -> None:
        with tempfile.TemporaryDirectory() as name:
            theirs, ours = Path(name, "torch"), Path(name, "rushlight")
            asked = {"seeds": seeds, "theme": self.theme, "theirs": str(theirs), "ours": str(ours)}
            made = self._ask(self.python, "make", asked)
            programs = [json.loads(line) for line in made]
            replayed = [
                json.loads(line) for line in self._ask(sys.executable, "replay", {**asked, "programs": programs})
            ]
            for program, outcomes in zip(programs, replayed, strict=False):
                self._compare(program, outcomes)
            if len(replayed) < len(programs):
                self._tell(programs[len(replayed)], "", "crash: the process ended")
            saved = [p for p in programs if any(s.startswith("load(") for s in p["statements"])]
            back = self._ask(self.python, "load-back", {**asked, "programs": saved}) if saved else []
            for program, line in zip(saved, back, strict=False):
                for i, outcome in json.loads(line).items():
                    said = compare(program["outcomes"][int(i)], outcome)
                    if said:
                        self._tell(
                            program, program["statements"][int(i)], "saved: torch loads Rushlight's file: " + said
                        )

    def _ask(self, python: str, role: str, asked: dict) -> list[str]:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "RUSHLIGHT_TRACEBACK": "full", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [python, "-m", "tests.differential", "--role", role], input=json.dumps(asked), cwd=ROOT, env=environment, capture_output=True, text=True
        )  # fmt: skip
        if done.returncode:
            print(f"{role}: {done.stderr[-1500:]}", file=sys.stderr)
        return [line for line in done.stdout.splitlines() if line[:1] in "[{"]

    def _compare(self, program: dict, outcomes: list[dict]) -> None:
        self.programs += 1
        if not any(
            compare(a, b, program["theme"] in _STRICT) for a, b in zip(program["outcomes"], outcomes, strict=True)
        ):
            self.agreed.append(program)
        for statement, expected, found in zip(program["statements"], program["outcomes"], outcomes, strict=True):
            said = compare(expected, found, program["theme"] in _STRICT)
            if self.show:
                print(
                    f"{statement}\n    torch     {_shown(expected)}\n    rushlight {_shown(found)}"
                    + (f"\n    ** {said}" if said else "")
                )
            self.statements[program["theme"]] += 1
            if said:
                self._tell(program, statement, said)
                if said.partition(":")[0] not in _MINOR:
                    return

    def _tell(self, program: dict, statement: str, said: str) -> None:
        for theme, pattern, what, reason in KNOWN:
            if theme in ("", program["theme"]) and re.search(pattern, statement) and re.search(what, said):
                self.known[reason] += 1
                return
        self.found[said.partition(":")[0]].append((program["seed"], program["theme"], statement, said))

    def report(self) -> int:
        """Print what differs; the number of statements that do, without what is known."""
        different = 0
        for kind, all_found in sorted(self.found.items(), key=lambda item: len(item[1])):
            different += 0 if kind in _MINOR else len(all_found)
            print(f"\n=== {kind}: {len(all_found)}")
            for seed, theme, statement, said in sorted(all_found, key=lambda f: (f[1], f[2]))[:400]:
                print(f"{theme} {seed}: {statement[:200]!r}\n      {said[:330]}")
        for reason, count in self.known.items():
            print(f"known: {count}: {reason}")
        total = sum(self.statements.values())
        print(
            f"\n{self.programs} programs, {total} statements, {different} differ: {100 * (1 - different / max(1, total)):.2f} % agree"
        )
        return different


def _shown(outcome: dict) -> str:
    return str(outcome.get("value", outcome))[:200]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--torch",
        default=os.environ.get("RUSHLIGHT_TORCH_PYTHON"),
        metavar="PYTHON",
        help="an interpreter that has torch",
    )
    parser.add_argument("--count", type=int, default=1000, help="programs")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--theme", default="", help="only this one")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="print all statements and what both gave")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write the programs that agree, with torch's outcomes"
    )
    parser.add_argument("--list", action="store_true", help="write docs/differences.md, what differs and stays")
    parser.add_argument("--role", choices=["make", "replay", "load-back"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        return _serve(options.role)
    if options.list:
        PAGE.write_text(page())
        return 0
    if not options.torch:
        parser.error("--torch PYTHON, or RUSHLIGHT_TORCH_PYTHON, has to name an interpreter with torch")
    tester = Tester(options.torch, options.theme, options.show)
    seeds = list(range(options.seed, options.seed + options.count))
    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(tester.run, [seeds[i : i + _CHUNK] for i in range(0, len(seeds), _CHUNK)]))
    if options.record:
        agreed = sorted(tester.agreed, key=lambda p: p["seed"])
        options.record.write_bytes(gzip.compress(json.dumps(agreed).encode(), mtime=0))
    return 1 if tester.report() else 0


def _serve(role: str) -> int:
    asked = json.load(sys.stdin)
    if role == "replay":
        from rushlight.alias import install

        install()
    import torch

    torch.set_num_threads(1)
    ours, theirs = Path(asked["ours"]), Path(asked["theirs"])
    if role == "make":
        make(torch, asked["seeds"], asked["theme"], theirs)
    elif role == "replay":
        replay(torch, asked["programs"], ours, theirs)
    else:
        load_back(torch, asked["programs"], ours)
    return 0


if __name__ == "__main__":
    sys.exit(main())
