"""`python -m acceptance`: list the programs, run them, write the report."""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from acceptance import compare, manifest, report, runner

_RESULTS = Path(__file__).parent / "results.json"


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m acceptance", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run programs under Rushlight and, with --torch, under torch")
    run.add_argument("ids", nargs="*", help="programs, or id/variant; all of them by default")
    run.add_argument("--clones", required=True, help="folder of clones, each named owner+name")
    run.add_argument("--torch", help="a Python interpreter with torch and torchvision, for the reference")
    run.add_argument("--python", default=sys.executable, help="the interpreter that runs Rushlight (default: this one)")
    run.add_argument("--wave", action="append", default=[], choices=manifest.WAVES)
    run.add_argument("--results", default=str(_RESULTS), help="JSON file that takes in what was found")
    run.add_argument("--work", help="folder for copies and outputs, kept (default: a temporary one)")
    run.add_argument("--threads", type=int, default=1, help="threads of both (default 1)")
    run.add_argument(
        "--again",
        action="store_true",
        help="where a number differs, run torch twice more with other rounding, as a yardstick",
    )
    run.add_argument("--reuse", action="store_true", help="take torch's side from an earlier run kept in --work")
    show = commands.add_parser("report", help="write docs/programs.md from the results")
    show.add_argument("--results", default=str(_RESULTS))
    show.add_argument("--to", default=str(Path(__file__).parent.parent / "docs" / "programs.md"))
    listing = commands.add_parser("list", help="the programs of the manifest")
    listing.add_argument("--wave", action="append", default=[], choices=manifest.WAVES)
    args = parser.parse_args(argv)
    if args.command == "run":
        return run_programs(args)
    if args.command == "report":
        results = json.loads(Path(args.results).read_text())
        Path(args.to).write_text(report.page(manifest.load(), results))
    else:
        for program in manifest.select(manifest.load(), waves=args.wave):
            print(f"{program.wave:6} {program.id:20} {program.repository:40} {program.what}")
    return 0


def run_programs(args):
    programs = manifest.load()
    try:
        chosen = manifest.select(programs, args.ids, args.wave)
    except KeyError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    work = Path(args.work) if args.work else Path(tempfile.mkdtemp(prefix="acceptance-"))
    path = Path(args.results)
    try:
        for program in chosen:
            for name, commands in program.runs():
                if any("/" in wanted and wanted != name and wanted.startswith(program.id + "/") for wanted in args.ids):
                    continue
                found = run_one(program, name, commands, args, work)
                results = json.loads(path.read_text()) if path.exists() else {}
                results[name] = found
                path.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
                print(f"{name:36} {report.verdict(found):8} {report.summary(found)}", flush=True)
    finally:
        if not args.work:
            shutil.rmtree(work, ignore_errors=True)
    return 0


def run_one(program, name, commands, args, work):
    """Both sides of one run, and their comparison, as it goes into the results."""
    folder = work / name.replace("/", "__")
    folder.mkdir(parents=True, exist_ok=True)

    def side(label, python, **options):
        kept = folder / f"{label}.json"
        if args.reuse and label != "rushlight" and kept.exists():
            return json.loads(kept.read_text())
        backend = "rushlight" if label == "rushlight" else "torch"
        place = folder / "run"  # the same for all, so that printed paths agree
        result = runner.run(
            program, commands, backend, python, args.clones, place, **{"threads": args.threads, **options}
        )
        shutil.rmtree(place, ignore_errors=True)
        kept.write_text(json.dumps(result))
        return result

    ours = side("rushlight", args.python)
    found = {"rushlight": _facts(ours), "threads": args.threads, "deterministic": program.deterministic}
    if args.torch:
        theirs = side("torch", args.torch)
        found["torch"] = _facts(theirs)
        if theirs["status"] == ours["status"] == "ok":
            found["compared"] = compare.compare(theirs, ours, program.ignore)
            if args.again and program.deterministic and not found["compared"]["equal"]:
                others = [
                    side("plain", args.torch, threads=2 * args.threads, variation="without_onednn"),
                    side("nudged", args.torch, variation="nudge"),
                ]
                found["yardsticks"] = [compare.compare(theirs, other, program.ignore) for other in others]
                found["rounding"] = compare.is_rounding(found["compared"], found["yardsticks"])
    return found


def _facts(run):
    facts = {key: _short(run[key]) for key in ("status", "steps", "seconds", "cpu_s", "peak_mb")}
    facts["error"] = (run["error"].splitlines() or [""])[-1]  # not the traceback, which names this machine's folders
    facts["first_loss"] = _first_loss(run)
    return facts


def _first_loss(run):
    return next((record["losses"][0] for record in run["records"] if record["losses"]), None)


def _short(value):
    return round(value, 3) if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main())
