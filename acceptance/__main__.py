"""`python -m acceptance`: list the programs, run them, look into one, write the report."""

import argparse
import json
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock

from acceptance import compare, manifest, report, runner, steps

_RESULTS = Path(__file__).parent / "results.json"


def main(argv=None):
    args = _arguments().parse_args(argv)
    try:
        return {"run": run_programs, "steps": show_steps, "report": write_report, "list": list_programs}[args.command](
            args
        )
    except KeyError as error:
        if not (error.args and isinstance(error.args[0], str) and " " in error.args[0]):
            raise
        print(error.args[0], file=sys.stderr)
        return 2


def _arguments():
    parser = argparse.ArgumentParser(prog="python -m acceptance", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run programs under Rushlight and, with --torch, under torch")
    run.add_argument("ids", nargs="*", help="programs, or program/variant; all of them by default")
    run.add_argument("--wave", action="append", default=[], choices=manifest.WAVES)
    run.add_argument("--results", default=str(_RESULTS), help="JSON file that takes in what was found")
    run.add_argument("--jobs", type=int, default=1, help="programs that run at a time (default 1)")
    run.add_argument(
        "--again", action="store_true", help="where a number differs: torch twice more, rounding otherwise"
    )
    run.add_argument(
        "--float64", action="store_true", help="where a number differs: both once more in double precision"
    )
    run.add_argument("--reuse", action="store_true", help="take torch's side from an earlier run kept in --work")
    look = commands.add_parser("steps", help="where one program parts: digits of losses and gradients, step by step")
    look.add_argument("ids", nargs="+", metavar="id")
    for command in (run, look):
        command.add_argument("--clones", required=True, help="folder of clones, each named owner+name")
        command.add_argument(
            "--torch", required=command is look, help="a Python interpreter with torch and torchvision, the reference"
        )
        command.add_argument("--python", default=sys.executable, help="the one that runs Rushlight (default: this one)")
        command.add_argument("--work", help="folder for copies and outputs, kept (default: a temporary one)")
        command.add_argument("--threads", type=int, default=1, help="threads of both (default 1)")
    show = commands.add_parser("report", help="write docs/programs.md from the results")
    show.add_argument("--results", default=str(_RESULTS))
    show.add_argument("--to", default=str(Path(__file__).parent.parent / "docs" / "programs.md"))
    listing = commands.add_parser("list", help="the programs of the manifest")
    listing.add_argument("--wave", action="append", default=[], choices=manifest.WAVES)
    return parser


def list_programs(args):
    for program in manifest.load().values():
        if not args.wave or program.wave in args.wave:
            print(f"{program.wave:6} {program.id:20} {program.repository:40} {program.what}")
    return 0


def write_report(args):
    results = json.loads(Path(args.results).read_text())
    Path(args.to).write_text(report.page(manifest.load(), results))
    return 0


def run_programs(args):
    chosen = manifest.select(manifest.load(), args.ids, args.wave)
    path, lock = Path(args.results), Lock()

    def run_program(entry):
        found = run_one(entry, Sides(entry, args, work))
        with lock:
            results = json.loads(path.read_text()) if path.exists() else {}
            results[entry.name] = found
            path.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
            print(f"{entry.name:36} {report.verdict(found):8} {report.summary(found)}", flush=True)

    with _workplace(args.work) as work, ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(run_program, chosen))
    return 0


def show_steps(args):
    chosen = manifest.select(manifest.load(), args.ids)
    with _workplace(args.work) as work:
        for entry in chosen:
            print("\n".join(steps.table(entry, Sides(entry, args, work))), flush=True)
    return 0


class _workplace:
    """The folder given, or a temporary one that goes away."""

    def __init__(self, given):
        self.given = given

    def __enter__(self):
        self.folder = Path(self.given or tempfile.mkdtemp(prefix="acceptance-"))
        return self.folder

    def __exit__(self, *error):
        if not self.given:
            shutil.rmtree(self.folder, ignore_errors=True)


class Sides:
    """The runs of one program that are compared: under Rushlight, under torch, and either one varied."""

    def __init__(self, entry, args, work):
        self.entry, self.args = entry, args
        self.folder = work / entry.name.replace("/", "__")
        self.folder.mkdir(parents=True, exist_ok=True)

    def ours(self, label="rushlight", **options):
        return self._run(label, "rushlight", self.args.python, options)

    def theirs(self, label="torch", **options):
        kept = self.folder / f"{label}.json"
        if getattr(self.args, "reuse", False) and kept.exists():
            return json.loads(kept.read_text())
        return self._run(label, "torch", self.args.torch, options)

    def _run(self, label, backend, python, options):
        place = self.folder / "run"  # the same for all, so that printed paths agree
        options = {"threads": self.args.threads, **options}
        result = runner.run(self.entry, backend, python, self.args.clones, place, **options)
        shutil.rmtree(place, ignore_errors=True)
        if "kept" not in result:
            (self.folder / f"{label}.json").write_text(json.dumps(result))
        return result

    def yardsticks(self, **options):
        """torch with other kernels on more threads, and torch from parameters one unit in the last place away."""
        plain = {"threads": 2 * self.args.threads, "variation": "without_onednn"}
        return [
            self.theirs("plain", **{**plain, **options}),
            self.theirs("nudged", **{"variation": "nudge", **options}),
        ]

    def exact(self, **options):
        """torch from the same parameters and random numbers, computed in double precision."""
        return self.theirs("exact", variation="exact", **options)

    def in_float64(self, **options):
        """(torch's, Rushlight's) run in double precision."""
        return (
            self.theirs("torch64", variation="float64", **options),
            self.ours("rushlight64", variation="float64", **options),
        )


def run_one(entry, sides):
    """Both sides of one run, and their comparison, as it goes into the results."""
    args, compared = sides.args, partial(compare.compare, ignore=entry.program.ignore, lines=entry.program.lines)
    ours = sides.ours()
    found = {"rushlight": _facts(ours), "threads": args.threads, "deterministic": entry.deterministic}
    if not args.torch:
        return found
    theirs = sides.theirs()
    found["torch"] = _facts(theirs)
    if not theirs["status"] == ours["status"] == "ok":
        return found
    found["compared"] = compared(theirs, ours)
    if found["compared"]["equal"] or not entry.deterministic:
        return found
    if args.again:
        found["yardsticks"] = [compared(theirs, other) for other in sides.yardsticks()]
        found["exact"] = _against_exact(sides.exact(), theirs, ours, found["compared"]["apart_at"])
        found["rounding"] = compare.is_rounding(found["compared"], found["yardsticks"], found["exact"])
    if args.float64:
        found["float64"] = _compared_in_float64(*sides.in_float64(), compared)
    return found


def _against_exact(exact, theirs, ours, steps):
    """The digits that either run shares with the exact one up to step `steps`, or None where that does not run."""
    if exact["status"] != "ok":
        return None
    digits = {
        name: compare.digits_of_losses(exact, run, steps) for name, run in (("torch", theirs), ("rushlight", ours))
    }
    return None if digits["torch"] is None else digits


def _compared_in_float64(theirs, ours, compared):
    sides = {"torch": theirs["error"], "rushlight": ours["error"]}
    errors = {name: _last_line(error) for name, error in sides.items() if error}
    return {"errors": errors} if errors else compared(theirs, ours)


def _facts(run):
    facts = {key: _short(run[key]) for key in ("status", "steps", "seconds", "cpu_s", "peak_mb")}
    facts["error"] = _last_line(run["error"])  # not the traceback, which names this machine's folders
    facts["first_loss"] = next((record["losses"][0] for record in run["records"] if record["losses"]), None)
    return facts


def _last_line(error):
    return (error.splitlines() or [""])[-1]


def _short(value):
    return round(value, 3) if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main())
