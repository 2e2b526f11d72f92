"""The command `rushlight`: run a PyTorch script with Rushlight in torch's place, or say what is installed."""

import argparse
import os
import sys
import types


def main(argv=None):
    """Carry out the command line `argv` (sys.argv's arguments by default); returns the exit status."""
    parser = argparse.ArgumentParser(prog="rushlight", description=__doc__)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="command")
    run = commands.add_parser(
        "run",
        help="run a script or module with `torch` and `torchvision` served by Rushlight",
        usage="rushlight run [-h] (script.py | -m module) [arguments ...]",
    )
    run.add_argument("-m", dest="as_module", action="store_true", help="the program is a module's name")
    run.add_argument("program", help="the script's path, or with -m the module's name")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program finds in sys.argv")
    commands.add_parser("env", help="print versions and which optional libraries are present")
    args = parser.parse_args(argv)
    if args.version:
        print(f"rushlight {_version('rushlight') or 'from source'}")
    elif args.command == "run":
        return run_program(args.program, args.arguments, args.as_module)
    elif args.command == "env":
        print_environment()
    else:
        parser.print_help()
    return 0


# rushlight run


def run_program(program, arguments, as_module=False):
    """Run a script (or a module) as `python` would, in this interpreter, with the alias installed.

    The program finds its own sys.argv, sys.path[0] and `__main__`; an error's traceback begins at its code. Returns the
    exit status; SystemExit passes through.
    """
    from rushlight.compat import install

    if not as_module and not os.path.isfile(program):
        print(f"rushlight run: can't open file '{os.path.abspath(program)}': no such file", file=sys.stderr)
        return 2
    _set_path(os.getcwd() if as_module else os.path.dirname(os.path.realpath(program)))
    install()
    sys.argv = [program, *arguments]
    try:
        if as_module:
            import runpy

            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            _run_script(os.path.abspath(program))
    except SystemExit:
        raise
    except BaseException as error:
        return _report(error)
    return 0


def _set_path(folder):
    """The program's folder takes the place of this command's; Rushlight stays importable."""
    import rushlight

    if sys.flags.safe_path:
        return
    ours = os.path.dirname(next(iter(rushlight.__path__)))
    sys.path[0] = folder
    if ours not in (os.path.abspath(entry or os.getcwd()) for entry in sys.path):
        sys.path.append(ours)


def _run_script(path):
    """Execute the file in a fresh `__main__`."""
    from importlib.machinery import SourceFileLoader

    module = types.ModuleType("__main__")
    module.__file__ = path
    module.__loader__ = SourceFileLoader("__main__", path)
    module.__builtins__ = sys.modules["builtins"]
    module.__cached__ = None
    sys.modules["__main__"] = module
    with open(path, "rb") as file:
        source = file.read()
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def _report(error):
    """Print the traceback that `python` would print, without this file's frames, with advice; the exit status."""
    from rushlight.compat.advice import advise

    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    advise(error)
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


# rushlight env

_LIBRARIES = {
    "numpy": "arrays",
    "ml_dtypes": "bfloat16 and other small types",
    "tqdm": "progress bars",
    "pillow": "images",
    "safetensors": "model files",
    "onednn-cpu-gomp": "fast convolutions, max pooling and matrix products",
    "matplotlib": "the pictures in the examples",
}


def print_environment():
    """Versions of Rushlight, Python and the libraries that Rushlight uses where they are present."""
    import platform

    rows = [
        ("rushlight", _version("rushlight") or "from source"),
        ("python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("platform", platform.platform()),
        ("cpus", str(os.cpu_count())),
    ]
    rows += [(name, _version(name) or f"not installed ({purpose})") for name, purpose in _LIBRARIES.items()]
    for name, value in rows:
        print(f"{name:16} {value}")


def _version(distribution):
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
