"""`rushlight run`: a program as `python` runs it, with the alias installed."""

import linecache
import os
import sys
import types

from rushlight.alias import install, missing_report
from rushlight.alias.error_hints import advise, without_finder
from rushlight.core.own_code import in_package
from rushlight.core.tracebacks import shorten
from rushlight.doctor.hints import start_hints

__all__ = ["run_program", "start_hints"]

_FOLDER = in_package("cli")


def run_program(program, arguments, as_module=False, missing=None, failed=None):
    """Run a script, a folder or zip file with a `__main__.py`, "-" (the standard input), or a module, in this interpreter.

    The program finds its own sys.argv, sys.path[0] and `__main__`; an error's traceback begins at its code. `missing` is
    a path for the record of missing names. failed: called with an error that ends the program, once it is printed. Returns the exit status; SystemExit passes through, and so does
    KeyboardInterrupt once its traceback is printed, so that the process ends by the signal as Python's does.
    """
    is_container = not as_module and _has_main(program)
    if not as_module and not is_container and program != "-" and not os.path.isfile(program):
        print(f"rushlight run: can't open file '{os.path.abspath(program)}': no such file", file=sys.stderr)
        return 2
    _set_path(_first_path(program, as_module, is_container))
    if missing is not None:
        missing_report.start(missing)
    install()
    sys.argv = [program, *arguments]
    try:
        if as_module or is_container:
            _run_module(program if as_module else "__main__", alter_argv=as_module)
        else:
            _run_script(program)
    except SystemExit:
        raise
    except BaseException as error:
        return _report(error, failed)
    return 0


def _has_main(program):
    """Whether Python would look for a `__main__` in the program: a folder, or a zip file."""
    import zipfile

    return os.path.isdir(program) or (
        os.path.isfile(program) and not program.endswith(".py") and zipfile.is_zipfile(program)
    )


def _first_path(program, as_module, is_container):
    if as_module:
        return os.getcwd()
    if is_container:
        return os.path.abspath(program)
    return "" if program == "-" else os.path.dirname(os.path.realpath(program))


def _set_path(folder):
    """The program's folder takes the place of this command's; Rushlight stays importable."""
    import rushlight

    if sys.flags.safe_path:
        return
    ours = os.path.dirname(next(iter(rushlight.__path__)))
    sys.path[0] = folder
    if ours not in (os.path.abspath(entry or os.getcwd()) for entry in sys.path):
        sys.path.append(ours)


def _fresh_main():
    module = types.ModuleType("__main__")
    vars(module).update(__builtins__=sys.modules["builtins"], __annotations__={})
    sys.modules["__main__"] = module
    return module


def _run_module(name, alter_argv):
    """What `python -m` does, with the function that it uses: `__main__` stays until the process ends."""
    import runpy

    _fresh_main()
    runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]


def _run_script(program):
    """Execute the file in a fresh `__main__`."""
    from importlib.machinery import SourceFileLoader

    module = _fresh_main()
    if program == "-":
        source, path = sys.stdin.buffer.read(), "<stdin>"
        lines = source.decode(errors="replace").splitlines(keepends=True)
        linecache.cache[path] = len(source), None, lines, path  # for tracebacks and reports, as Python 3.13 does
    else:
        path = os.path.abspath(program)
        with open(path, "rb") as file:
            source = file.read()
    module.__file__ = path
    module.__loader__ = SourceFileLoader("__main__", path)
    vars(module)["__cached__"] = None
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def _report(error, failed=None):
    """Print the traceback that `python` would print, without Rushlight's frames, with advice; the exit status."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_FOLDER):
        traceback = traceback.tb_next
    if isinstance(error, ImportError):
        traceback = without_finder(traceback)
    error = error.with_traceback(traceback)
    advise(error)
    shorten(error)
    traceback = error.__traceback__
    _note(error)
    sys.excepthook(type(error), error, traceback)
    if failed is not None:
        failed(error)
    if isinstance(error, KeyboardInterrupt):
        sys.excepthook = lambda *args: None
        raise error
    return 1


def _note(error):
    """What Python notes of an error that nothing has caught: what runs at the end of the process looks there."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
