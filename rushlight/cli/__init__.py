"""The command `rushlight`: run a PyTorch program with Rushlight in torch's place, check one, or say what is installed."""

import argparse
import os
import sys

from ..torch.utils.collect_env import print_environment, version

__all__ = ["main"]


def main(argv=None):
    """Carry out the command line `argv` (sys.argv's arguments by default); returns the exit status."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and os.path.isfile(argv[0]):  # a command is no file's name
        _parser().error(f"a command comes first: rushlight run {' '.join(argv)}")
    args = _parser().parse_args(argv)
    if args.version:
        print(f"rushlight {version('rushlight') or 'from source'}")
    elif args.command == "run":
        from .run import run_program, start_hints

        start_hints()
        return run_program(args.program, args.arguments, args.as_module, args.missing)
    elif args.command in ("doctor", "explain"):
        from . import doctor

        return doctor.explain(args.words) if args.command == "explain" else doctor.doctor_program(args)
    elif args.command == "check":
        from .check import check_programs

        return check_programs(args.paths, args.json)
    elif args.command == "env" and args.link_copies:
        return _link_copies()
    elif args.command == "env":
        print_environment()
    else:
        _parser().print_help()
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="rushlight", description=__doc__)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="command")
    run = commands.add_parser(
        "run",
        help="run a program with `torch` and `torchvision` served by Rushlight",
        usage="rushlight run [-h] [--missing report.json] (script.py | folder | - | -m module) [arguments ...]",
    )
    run.add_argument("--missing", metavar="report.json", help="record in a file which missing names the program uses")
    run.add_argument("-m", dest="as_module", action="store_true", help="the program is a module's name")
    run.add_argument(
        "program", help="a script, a folder or zip file with a __main__.py, - for stdin, or a module's name"
    )
    _add_arguments(run)
    doctor = commands.add_parser(
        "doctor",
        help="run a program and report which lines of its training loop handle gradients wrongly",
        usage="rushlight doctor [-h] [--strict] [--json F] [--sarif F] [--report F.html] [--missing F] "
        "(script.py | folder | - | -m module) [arguments ...]",
    )
    doctor.add_argument("--strict", action="store_true", help="exit with 1 if there are findings but for infos")
    doctor.add_argument("--json", metavar="out.json", help="write the findings as JSON, also while the program runs")
    doctor.add_argument(
        "--sarif", metavar="out.sarif", help="write the findings as SARIF 2.1.0, for code hosts and editors"
    )
    doctor.add_argument("--report", metavar="out.html", help="write a page with the loop's timeline")
    doctor.add_argument("--missing", metavar="report.json", help="as for run")
    doctor.add_argument("-m", dest="as_module", action="store_true", help="the program is a module's name")
    doctor.add_argument("program", help="as for run")
    _add_arguments(doctor)
    explain = commands.add_parser("explain", help="print the page of a check of the doctor, or of an error of backward")
    explain.add_argument("words", nargs="+", metavar="name or message", help="such as stale-grad, or the error's text")
    check = commands.add_parser("check", help="read programs without running them, and list the names that are absent")
    check.add_argument("paths", nargs="+", metavar="path", help="a script, or a folder with all of its Python files")
    check.add_argument("--json", action="store_true", help="print the list as JSON")
    env = commands.add_parser("env", help="print versions and which optional libraries are present")
    env.add_argument(
        "--link-copies",
        action="store_true",
        help="instead, make one file of the three copies of oneDNN's library that its wheel installs (hard links; 109 MB less)",
    )
    return parser


def _link_copies():
    from ..backend.onednn.copies import link_copies  # 40 ms, for importlib.metadata

    try:
        count, freed = link_copies()
    except OSError as error:
        print(f"rushlight env: {error}", file=sys.stderr)
        return 1
    print(f"{count} copies of oneDNN's library became links, {freed / 1e6:.1f} MB became free")
    return 0


def _add_arguments(command):
    """The rest of the line; argparse names it among the required arguments, which it is not."""
    command.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments").required = False
