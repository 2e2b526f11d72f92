"""The command line: `rushlight run` against `python`, --version, env."""

import signal
import subprocess
import sys

import pytest

from rushlight import cli

FACTS = """
import os, sys
print(__name__, __file__, __package__, __spec__, __builtins__ is not None)
print(sys.argv, os.path.realpath(sys.path[0]), sys.modules["__main__"].__dict__ is globals())
print(sorted(name for name in globals() if name.startswith("__") and name != "__annotations__"))
"""


@pytest.mark.parametrize("place", ["script.py", "sub/folder/script.py"])
def test_script_finds_what_it_finds_under_python(program, place):
    program.write(place, FACTS)
    for arguments in ([], ["-x", "--help", "--", "a b", "-m"]):
        expected, found = program.python(place, *arguments), program.run(place, *arguments)
        assert (found.stdout, found.stderr, found.returncode) == (expected.stdout, expected.stderr, 0)


def test_module_finds_what_it_finds_under_python(program):
    program.write("pack/__init__.py", "")
    program.write("pack/__main__.py", "import sys; print('main', sys.argv, __package__)")
    program.write(
        "pack/mod.py", "import sys; from . import other; print(__name__, __spec__.name, sys.argv, sys.path[0])"
    )
    program.write("pack/other.py", "")
    for name in ("pack", "pack.mod"):
        expected, found = program.python("-m", name, "-q", "x"), program.run("-m", name, "-q", "x")
        assert (found.stdout, found.stderr, found.returncode) == (expected.stdout, expected.stderr, 0)


def test_neighbouring_modules_are_imported(program):
    program.write("sub/neighbour.py", "value = 42")
    script = program.write("sub/script.py", "import neighbour; print(neighbour.value)")
    assert program.run(script).stdout == "42\n"


FAILURES = {
    "raise": "def f():\n    raise ValueError('text')\n\nf()\n",
    "chain": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('x') from error\n",
    "syntax": "x = (1,\n",
    "exit 3": "import sys; sys.exit(3)",
    "exit text": "raise SystemExit('a message')",
    "exit none": "exit()",
    "hook": "import sys\nsys.excepthook = lambda kind, *rest: print('mine', kind.__name__)\n1 / 0\n",
    "at exit": "import atexit\natexit.register(print, 'bye')\nraise OSError(2, 'gone')\n",
    "what was raised": "import atexit, sys\natexit.register(lambda: print(sys.last_value, sys.last_traceback.tb_lineno))\n1 / 0\n",
    "encoding": "# coding: latin-1\nprint('\\u00e9')\n",
    "future": "from __future__ import annotations\nx: undefined\nprint(__annotations__)\n",
}


@pytest.mark.parametrize("name", FAILURES)
def test_endings_are_pythons(program, name):
    program.write("script.py", FAILURES[name])
    expected, found = program.python("script.py"), program.run("script.py")
    assert (found.stdout, found.stderr) == (expected.stdout, expected.stderr)
    assert found.returncode == expected.returncode


def test_an_interactive_python(program):
    command = [sys.executable, "-m", "rushlight", "run", "-m", "code"]
    typed = "import torch\nif True:\n    print(torch.ones(2).tolist())\n\n"
    done = subprocess.run(
        command, cwd=program.folder, env=program.environment, input=typed, capture_output=True, text=True
    )
    assert "[1.0, 1.0]" in done.stdout and "Error" not in done.stderr


def test_traceback_of_a_module(program):
    program.write("mod.py", "1 / 0")
    found = program.run("-m", "mod")
    assert "rushlight" not in found.stderr
    assert found.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert found.returncode == 1


def test_interrupt(program):
    program.write("script.py", "print('ready', flush=True)\nimport threading\nthreading.Event().wait()\n")
    command = [sys.executable, "-m", "rushlight", "run", "script.py"]

    def heed() -> None:
        """A job in a shell's background ignores Ctrl-C, and its children with it: this one must not."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    process = subprocess.Popen(
        command, cwd=program.folder, env=program.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=heed,
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert errors.endswith("KeyboardInterrupt\n")
    assert "rushlight" not in errors
    assert process.returncode == -signal.SIGINT


def test_missing_script(program):
    found = program.run("absent.py")
    assert found.returncode == 2
    assert f"can't open file '{program.folder / 'absent.py'}'" in found.stderr


def test_line_without_a_command_or_program(program, capsys):
    """The message gives the line to write, and asks for nothing that may be left out."""
    script = program.write("train.py", "")
    for line, message in (
        ([str(script), "--epochs", "3"], f"a command comes first: rushlight run {script} --epochs 3\n"),
        (["run"], "the following arguments are required: program\n"),
        (["doctor", "--strict"], "the following arguments are required: program\n"),
    ):
        with pytest.raises(SystemExit) as end:
            cli.main(line)
        assert end.value.code == 2 and capsys.readouterr().err.endswith(message)


def test_environment_and_version(capsys):
    assert cli.main(["env"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["python"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")
    assert {"rushlight", "numpy", "pillow", "tqdm", "matplotlib"} <= set(lines)
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("rushlight ")
    assert cli.main([]) == 0
    assert "run" in capsys.readouterr().out
