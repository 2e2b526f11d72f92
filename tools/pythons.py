"""`python -m tools.pythons INTERPRETER ... [-- PYTEST_ARGUMENT ...]`: the tests under other Pythons.

INTERPRETER: a command or path (`python3.13`). For each a fresh clone of the last commit is installed into a virtual environment
of its own, in a folder that is removed at the end, and pytest runs there with the arguments after `--` (none: the whole
suite). Prints a line for each; exits with 1 if one failed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run_under(interpreter: str, folder: Path, arguments: list[str]) -> str:
    """What came of it, in a line that begins with "passed" or "failed"."""
    clone, python = folder / "rushlight", folder / "venv" / "bin" / "python"
    for step, command in {
        "making the virtual environment": [interpreter, "-m", "venv", str(folder / "venv")],
        "cloning": ["git", "clone", "-q", str(ROOT), str(clone)],
        "installing": [str(python), "-m", "pip", "install", "-q", "-e", f"{clone}[examples,test]"],
    }.items():
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"failed at {step}: {error}"
    start = time.perf_counter()
    done = subprocess.run([str(python), "-m", "pytest", *arguments], cwd=clone, capture_output=True, text=True)
    print(done.stdout[-20_000:], end="", flush=True)
    last = done.stdout.strip().rpartition("\n")[2].strip("= ")
    return f"{'failed' if done.returncode else 'passed'}: {last} ({time.perf_counter() - start:.0f} s)"


def main(arguments: list[str]) -> int:
    """Run all; 1 if one failed, 2 where none is named."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    interpreters, rest = arguments[:at], arguments[at + 1 :]
    if not interpreters:
        print(__doc__, file=sys.stderr)
        return 2
    said = {}
    for interpreter in interpreters:
        print(f"--- {interpreter}", flush=True)
        with tempfile.TemporaryDirectory(prefix="rushlight-python-") as folder:
            said[interpreter] = run_under(interpreter, Path(folder), rest)
    for interpreter, text in said.items():
        print(f"{interpreter}: {text}")
    return int(any(not text.startswith("passed") for text in said.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
