"""`python -m tools.pythons INTERPRETER[+REQUIREMENT...] ... [-- PYTEST_ARGUMENT ...]`: Rushlight under other Pythons.

INTERPRETER: a command or path (`python3.13`); REQUIREMENT: what pip installs besides (`python3.11+numpy==2.3.*`). For each,
a fresh clone of the last commit is installed into a virtual environment of its own, in a folder that is removed at the
end. README's first command and its training loop run there and must print what README shows; then pytest runs with the
arguments after `--` (none: the whole suite; `-- --part`: what is in PART, in one process). Prints a line for each; exits
with 1 if one failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
# what depends on the interpreter most: references, frames, code objects, dictionaries
PART = (
    "tests/core", "tests/autograd", "tests/nn", "tests/top", "tests/compile/test_capture_steps.py",
    "tests/compile/test_module_calls.py", "tests/compile/test_python_changes.py", "tests/compile/test_repeated.py", "tests/compile/test_result_objects.py",
    "tests/compile/test_threads.py", "tests/compile/test_update.py", "-n", "1",
)  # fmt: skip


def readme_loop(readme: str) -> tuple[str, str]:
    """README's first Python program, and what is printed below it."""
    found = re.search(r"^```python\n(.*?)^```\n\s*```text\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError("README.md has no Python block followed by a text block")
    return found[1], found[2]


def as_a_user(clone: Path, binaries: Path) -> str | None:
    """Run what README says after the installation; what was wrong, or None."""
    program, expected = readme_loop((clone / "README.md").read_text())
    (clone / "spirals.py").write_text(program)
    for script in "examples/digits.py", "spirals.py":
        done = subprocess.run([str(binaries / "rushlight"), "run", script], cwd=clone, capture_output=True, text=True)
        if done.returncode or "Warning" in done.stderr:  # progress is written there as well
            return f"{script}: {(done.stderr or done.stdout)[-3000:]}"
    (clone / "spirals.py").unlink()
    return None if done.stdout == expected else f"spirals.py printed\n{done.stdout}instead of\n{expected}"


def run_under(interpreter: str, requirements: list[str], folder: Path, arguments: list[str]) -> str:
    """What came of it, in a line that begins with "passed" or "failed"."""
    clone, binaries = folder / "rushlight", folder / "venv" / "bin"
    pip = [str(binaries / "python"), "-m", "pip", "install", "-q", *requirements, "-e"]
    steps = {
        "making the virtual environment": [interpreter, "-m", "venv", str(folder / "venv")],
        "cloning": ["git", "clone", "-q", str(ROOT), str(clone)],
        "installing": [*pip, f"{clone}[examples]"],
        "README's programs": None,
        "installing what the tests need": [*pip, f"{clone}[examples,test]"],
    }
    for step, command in steps.items():
        try:
            if command is not None:
                subprocess.run(command, check=True)
            elif (wrong := as_a_user(clone, binaries)) is not None:
                return f"failed at {step}: {wrong}"
        except (OSError, subprocess.CalledProcessError) as error:
            return f"failed at {step}: {error}"
    start = time.perf_counter()
    test = [str(binaries / "python"), "-m", "pytest", *arguments]
    last = ""
    with subprocess.Popen(test, cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        for line in running.stdout or ():
            print(line, end="", flush=True)
            last = line.strip("= \n") or last
    return f"{'failed' if running.returncode else 'passed'}: {last} ({time.perf_counter() - start:.0f} s)"


def main(arguments: list[str]) -> int:
    """Run all; 1 if one failed, 2 where none is named."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    interpreters, rest = arguments[:at], arguments[at + 1 :]
    if not interpreters:
        print(__doc__, file=sys.stderr)
        return 2
    rest = [part for argument in rest for part in (PART if argument == "--part" else [argument])]
    said = {}
    for named in interpreters:
        print(f"--- {named}", flush=True)
        interpreter, *requirements = named.split("+")
        with tempfile.TemporaryDirectory(prefix="rushlight-python-") as folder:
            said[named] = run_under(interpreter, requirements, Path(folder), rest)
    for named, text in said.items():
        print(f"{named}: {text}")
    return int(any(not text.startswith("passed") for text in said.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
