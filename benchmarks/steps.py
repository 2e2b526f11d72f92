"""`python -m benchmarks steps`: whole training steps, eager and compiled, of Rushlight, torch and JAX in one run."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import sleep

from . import step_limits
from .paired import Runner, compare, installed, need_torch
from .step_cases import CASES
from .step_worker import FIRST_STEPS, FirstSteps

# name -> (library, how its process builds the step, what was compiled)
VARIANTS = {
    "rushlight": ("rushlight", "eager", ""),
    "rushlight.compile": ("rushlight", "rushlight.compile", "the step"),
    "torch": ("torch", "eager", ""),
    "torch.compile": ("torch", "torch.compile", "each network"),
    "jax.jit": ("jax", "jax.jit", "the step"),
}
# case -> (times faster than the better of torch's two, seconds of compiling): what rushlight.compile is to reach
TARGETS = {
    "cifar10-4": (5.0, 2.0),
    "cifar10-64": (2.0, 2.0),
    "mlp": (3.5, 1.0),
    "resnet18": (1.25, 10.0),
    "gpt": (1.35, 6.0),
    "lstm": (1.3, 6.0),
    "dcgan": (1.2, 6.0),
}
LOSS_STEP = 3  # the first loss that has seen the optimizer's state at work


@dataclass
class Row:
    """One variant of one case: seconds per step, one of each repetition; or why there are none."""

    variant: str
    times: list[float]
    first: FirstSteps | None
    missing: str = ""

    @property
    def seconds(self) -> float:
        """The median step."""
        return statistics.median(self.times)


@dataclass
class Result:
    """One case, the rows in the order of VARIANTS."""

    case: str
    rows: list[Row]
    work: step_limits.Work | None = None

    def measured(self) -> list[Row]:
        """The rows that have times."""
        return [row for row in self.rows if row.times]

    def faster(self, row: Row) -> float | None:
        """How many times faster than the better of torch's two, the median over the repetitions."""
        torch = [r for r in self.measured() if r.variant.startswith("torch")]
        if not torch:
            return None
        better = min(torch, key=lambda r: r.seconds)
        return statistics.median(b / t for b, t in zip(better.times, row.times, strict=True))


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command line."""
    add_common_options(parser, VARIANTS)
    parser.add_argument("--threads", type=int, help="for every variant (default: each library's own choice)")
    parser.add_argument("--picture", type=Path, default=Path("build/steps.png"), help="where it goes (build/steps.png)")


def add_common_options(parser: argparse.ArgumentParser, variants: Iterable[str]) -> None:
    """The options of every benchmark of training steps. variants: those that run by default."""
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all where none is named")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(variants), help="what is to run")
    parser.add_argument("--pairs", type=int, default=7, help="repetitions, taken in turn (7)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of the slowest variant's turn in each (0.5)")
    parser.add_argument("--json", type=Path, help="a file for the figures")


def check_cases(cases: list[str]) -> None:
    """Stop where a name is none of a case."""
    if unknown := set(cases) - set(CASES):
        raise SystemExit(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")


def main(
    cases: list[str],
    variants: list[str],
    pairs: int,
    seconds: float,
    threads: int | None,
    picture: Path,
    json: Path | None,
) -> None:
    """Print a table per case as it is measured, then how far each is from the machine's limits, and save the picture."""
    check_cases(cases)
    need_torch()
    print(f"{platform.machine()}, {os.cpu_count()} processors, threads: {threads or 'as each library chooses'}")
    results = []
    for case in cases or CASES:
        if (others := busy_share()) > 0.1:
            print(
                f"\nWARNING: other programs keep the processors {others:.0%} busy; threads that wait for each other suffer"
            )
        results.append(run_case(case, [v for v in VARIANTS if v in variants], pairs, seconds, threads))
        print(table(results[-1]), flush=True)
    machine = step_limits.measure([library for library in ("rushlight", "torch") if installed(library)], threads)
    print(limits(results, machine))
    if json:
        save(json, results, machine)
    if any(result.measured() for result in results):
        from .step_picture import draw

        print(f"picture: {draw(results, picture)}")


def run_case(case: str, variants: list[str], pairs: int, seconds: float, threads: int | None) -> Result:
    """Start the variants one after the other, then let them take turns."""
    runners: list[Runner] = []
    rows = []
    for variant in variants:
        library, how, _ = VARIANTS[variant]
        row = Row(variant, [], None)
        rows.append(row)
        if not installed(library):
            row.missing = f"{library} is not installed"
            continue
        runner = Runner(library, "benchmarks.step_worker", threads, variant, case=case, how=how)
        try:
            row.first = runner.call("first")
            runners.append(runner)
        except RuntimeError as error:
            row.missing = str(error)
            runner.close()
    result = Result(case, rows)
    try:
        times = compare(runners, "step", seconds, pairs) if runners else {}
        for row in rows:
            row.times = times.get(row.variant, [])
        eager = next((r for r in runners if VARIANTS[r.name][1] == "eager"), None)
        result.work = eager and eager.call("work")
    except RuntimeError as error:
        print(f"{case}: {error}")
    for runner in runners:
        runner.close()
    return result


def busy_share(wait_s: float = 0.3) -> float:
    """The share of the processors' time that is in use while this program waits; 0 where Linux does not tell."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    before = _ticks(stat)
    sleep(wait_s)
    total, idle = (b - a for a, b in zip(before, _ticks(stat), strict=True))
    return 1 - idle / max(total, 1)


def _ticks(stat: Path) -> tuple[int, int]:
    fields = [int(field) for field in stat.read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields), fields[3] + fields[4]


def table(result: Result) -> str:
    """The rows in text, with what was missing, warned of, or did not agree below them."""
    head = ("ms/step", "x torch", "start s", "compile s", "step MB", "first MB", f"loss {LOSS_STEP}")
    lines = [f"\n{result.case:<33}" + "".join(f"{name:>10}" for name in head)]
    for row in result.rows:
        compiled = VARIANTS[row.variant][2]
        label = f"{row.variant} ({compiled})" if compiled else row.variant
        lines.append(f"  {label:<31}" + "".join(f"{cell:>10}" for cell in _cells(result, row)))
    if result.case in TARGETS:
        faster, compile_s = TARGETS[result.case]
        lines.append(f"  rushlight.compile is to reach {faster:g} x torch, compiling in {compile_s:g} s")
    for row in result.rows:
        lines += [f"  - {row.variant}: {note}" for note in filter(None, [row.missing, *_notes(row)])]
    return "\n".join(lines + [f"  WARNING: {text}" for text in disagreements(result)])


def _cells(result: Result, row: Row) -> list[str]:
    if not row.times or row.first is None:
        return ["-"] * 7
    figures = row.first
    faster, megabytes = result.faster(row), (figures.step_mb, figures.first_mb)
    return [
        f"{row.seconds * 1e3:.3f}",
        "-" if faster is None else f"{faster:.2f}",
        f"{figures.start_s:.2f}",
        f"{figures.compile_s:.2f}",
        *("-" if mb is None else f"{mb:.1f}" for mb in megabytes),
        f"{figures.losses[LOSS_STEP - 1]:.5f}",
    ]


def _notes(row: Row) -> list[str]:
    return row.first.notes if row.first else []


def disagreements(result: Result) -> list[str]:
    """Which variants' losses part from the first one's by more than rounding, which grows from step to step.

    The bound is 2e-5 of the loss at the first step and ten times more at each further one. Measured, torch in float32
    against float64: ResNet-18 parts by 1e-7, 1e-7, 4e-7, 6e-6, 2e-4. DCGAN's bound is ten times wider: its first loss
    follows an Adam step, which is as large for a gradient of rounding errors as for any. Its weights times 1 + 2e-7
    part torch from itself by 2e-5, 5e-4, 4e-3.
    """
    bound = 2e-4 if result.case == "dcgan" else 2e-5
    rows = [row for row in result.rows if row.first]
    found = []
    for row in rows[1:]:
        for k, (a, b) in enumerate(zip(rows[0].first.losses[:LOSS_STEP], row.first.losses)):
            if not abs(a - b) <= bound * 10**k * abs(a):
                found.append(f"loss {k + 1}: {row.variant} has {b:.7g} where {rows[0].variant} has {a:.7g}")
                break
    return found


def limits(results: list[Result], machine: step_limits.Machine) -> str:
    """The time that the operations and the bytes would take alone, and the fastest variant's."""
    lines = [
        f"\nlimits: {machine.operations / 1e9:.0f} GFLOP/s in a large product, {machine.bytes / 1e9:.1f} GB/s copied"
    ]
    lines.append(f"{'':<12}{'GFLOP':>9}{'ms':>9}{'MB':>9}{'ms':>9}{'fastest':>10}{'of limit':>10}")
    for result in results:
        if result.work is None or not result.measured():
            continue
        fastest = min(result.measured(), key=lambda row: row.seconds)
        compute, move = machine.seconds(result.work)
        share = max(compute, move) / fastest.seconds
        lines.append(
            f"{result.case:<12}{result.work.operations / 1e9:9.3f}{compute * 1e3:9.3f}{result.work.bytes / 1e6:9.2f}"
            f"{move * 1e3:9.3f}{fastest.seconds * 1e3:10.3f}{share:10.0%}  {fastest.variant}"
        )
    return "\n".join(lines)


def save(path: Path, results: list[Result], machine: step_limits.Machine) -> None:
    """Write every figure, times in seconds, as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "machine": dataclasses.asdict(machine),
        "first_steps": FIRST_STEPS,
        "results": [dataclasses.asdict(result) for result in results],
    }
    path.write_text(json.dumps(content, indent=1))
