"""`python -m tools.pythons [INTERPRETER[+REQUIREMENT...] ...] [-- PYTEST_ARGUMENT ...]`: Rushlight under other Pythons.

INTERPRETER: a command or path (`python3.13`); REQUIREMENT: what pip installs besides (`python3.11+numpy==2.3.*`). Without
any: the Pythons of `VERSIONS` that are in PATH, and the first of them with the oldest NumPy that pyproject.toml admits. For
each, a fresh clone of the last commit is installed into a virtual environment of its own, in a folder that is removed at
the end. README's first command and its training loop run there and must print what README shows; then pytest runs `PART`
of the tests, or what the arguments after `--` say (`-- tests`: the whole suite).

Nothing is built from source but Rushlight: what has no wheel for an interpreter is named in its line and left out, and so
are the tests that need it. Where that is something Rushlight cannot do without, the interpreter is `not run`, which is no
failure. An interpreter needs neither pip nor ensurepip. Prints a line for each; exits with 1 if one failed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t")
NEEDED = ("numpy", "ml_dtypes")  # `import rushlight` imports them; it does without its other requirements
# what depends on the interpreter or NumPy most: references, frames, code objects, dictionaries, arrays, processes, pickles;
# without files that make many processes or wait, which took half of the time
PART = (
    "-n", "1", "tests/core", "tests/autograd", "tests/nn", "tests/optim", "tests/utils/data/test_dataloader.py",
    "tests/utils/data/test_transport.py", "tests/utils/data/test_worker_errors.py", "tests/serialization/test_round_trip.py",
    "tests/serialization/test_refusals.py", "tests/serialization/test_torch_files.py", "tests/top/test_custom_backend.py",
    "tests/top/test_profiler.py", "tests/top/test_rest.py", "tests/ops/test_pointwise.py", "tests/ops/test_reduction.py",
    "tests/ops/test_index.py", "tests/ops/test_create.py", "tests/ops/test_view.py", "tests/compile/test_capture_steps.py",
    "tests/compile/test_module_calls.py", "tests/compile/test_python_changes.py", "tests/compile/test_result_objects.py",
    "tests/compile/test_threads.py", "tests/compile/test_threads_stress.py", "--ignore=tests/core/test_overriding.py",
    "--ignore=tests/core/test_torch_dispatch.py", "--ignore=tests/core/test_extension_points.py",
)  # fmt: skip


class Failed(Exception):
    """A step that went wrong."""


@dataclass
class Environment:
    """A virtual environment and the clone that is tried in it."""

    folder: Path
    variables: dict[str, str]

    @property
    def clone(self) -> Path:
        """The clone's root."""
        return self.folder / "rushlight"

    @property
    def binaries(self) -> Path:
        """Where the environment's commands are."""
        return self.folder / "venv" / "bin"

    def run(self, *command: object) -> subprocess.CompletedProcess[str]:
        """What a command did in the clone, started with the environment's variables."""
        words = [str(word) for word in command]
        return subprocess.run(words, cwd=self.clone, env=self.variables, capture_output=True, text=True)

    def pip_install(self, *requirements: object) -> subprocess.CompletedProcess[str]:
        """What pip did; it takes wheels only."""
        return self.run(self.binaries / "python", "-m", "pip", "install", "-q", "--only-binary", ":all:", *requirements)


def checked(done: subprocess.CompletedProcess[str], step: str) -> str:
    """What a command printed, if it succeeded."""
    if done.returncode:
        raise Failed(f"{step}: {(done.stderr or done.stdout).strip()[-3000:]}")
    return done.stdout


def make_environment(interpreter: str, folder: Path) -> Environment:
    """A clone of the last commit, and a virtual environment with this Python's newest pip.

    pip is the same files for each Python, so that this one can put it there: Debian's Pythons come without ensurepip.
    """
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    variables["PATH"] = f"{folder / 'venv' / 'bin'}{os.pathsep}{variables.get('PATH', '')}"
    made = Environment(folder, variables)
    made.clone.mkdir()
    checked(made.run("git", "clone", "-q", ROOT, "."), "cloning")
    checked(made.run(interpreter, "-m", "venv", "--without-pip", folder / "venv"), "making the virtual environment")
    where = made.run(made.binaries / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    packages = checked(where, "looking for its packages").strip()
    pip = made.run(sys.executable, "-m", "pip", "install", "-q", "--target", packages, "pip")
    checked(pip, "installing pip")
    return made


def distribution(requirement: str) -> str:
    """The name that a requirement begins with."""
    return re.split(r"[^\w-]", requirement, maxsplit=1)[0]


def wanted(pyproject: dict, extras: tuple[str, ...]) -> list[str]:
    """What pyproject.toml requires, with those extras."""
    project = pyproject["project"]
    return project["dependencies"] + [each for extra in extras for each in project["optional-dependencies"][extra]]


def install(made: Environment, requirements: list[str], extras: tuple[str, ...]) -> list[str]:
    """Install Rushlight and what it wants; the distributions without a wheel for this Python, which are left out."""
    done = made.pip_install(*requirements, "-e", f".[{','.join(extras)}]")
    if "No matching distribution found" not in done.stderr:
        checked(done, "installing")
        return []
    pyproject = tomllib.loads((made.clone / "pyproject.toml").read_text())
    there, missing = list(requirements), []
    for requirement in dict.fromkeys(wanted(pyproject, extras)):
        tried = made.pip_install("--dry-run", *requirements, requirement)
        if "No matching distribution found" in tried.stderr:
            missing.append(distribution(requirement))
        else:
            checked(tried, f"looking for {requirement}")
            there.append(requirement)
    if not set(missing) & set(NEEDED):
        checked(made.pip_install(*there), "installing what has wheels")
        checked(made.pip_install("--no-deps", "-e", "."), "installing Rushlight alone")
    return missing


def readme_loop(readme: str) -> tuple[str, str]:
    """README's first Python program, and what is printed below it."""
    found = re.search(r"^```python\n(.*?)^```\n\s*```text\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError("README.md has no Python block followed by a text block")
    return found[1], found[2]


def as_a_user(made: Environment, silent: bool) -> None:
    """Run what README says after the installation: the same lines, and warnings only where something is missing."""
    program, expected = readme_loop((made.clone / "README.md").read_text())
    (made.clone / "spirals.py").write_text(program)
    for script in "examples/digits.py", "spirals.py":
        done = made.run(made.binaries / "rushlight", "run", script)
        checked(done, script)
        if silent and "Warning" in done.stderr:  # progress is written there as well
            raise Failed(f"{script}: {done.stderr[-3000:]}")
    (made.clone / "spirals.py").unlink()
    if done.stdout != expected:
        raise Failed(f"spirals.py printed\n{done.stdout}instead of\n{expected}")


def last_line(made: Environment, arguments: list[str]) -> str:
    """pytest's last line; what it prints is printed."""
    last = ""
    command = [str(made.binaries / "python"), "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    with subprocess.Popen(
        command, cwd=made.clone, env=made.variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        for line in running.stdout or ():
            print(line, end="", flush=True)
            last = line.strip("= \n") or last
    if running.returncode:
        raise Failed(last)
    return last


def run_under(interpreter: str, requirements: list[str], folder: Path, arguments: list[str]) -> str:
    """What came of it, in a line that begins with "passed", "not run" or "failed"."""
    start = time.perf_counter()
    try:
        made = make_environment(interpreter, folder)
        missing = install(made, requirements, ("examples", "test"))
        tag = "import sys, sysconfig; print('cp' + sysconfig.get_config_var('py_version_nodot') + sys.abiflags)"
        without = f"no wheel of {', '.join(missing)} for {checked(made.run(made.binaries / 'python', '-c', tag), 'tag').strip()}"
        if set(missing) & set(NEEDED):
            return f"not run: {without}"
        as_a_user(made, silent=not missing)
        versions = "import platform, numpy; print(platform.python_version(), 'with NumPy', numpy.__version__)"
        about = checked(made.run(made.binaries / "python", "-c", versions), "versions").strip()
        last = last_line(made, arguments)
    except (OSError, Failed) as error:
        return f"failed: {error}"
    return f"passed: {about}{f' ({without})' if missing else ''}: {last}; {time.perf_counter() - start:.0f} s in all"


def in_path() -> list[str]:
    """The Pythons that are there, and the first of them with the oldest NumPy."""
    found = [f"python{version}" for version in VERSIONS if shutil.which(f"python{version}")]
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    oldest = next(each for each in pyproject["project"]["dependencies"] if distribution(each) == "numpy")
    return found + [f"{found[0]}+{oldest.replace('>=', '==')}.*"] if found else []


def main(arguments: list[str]) -> int:
    """Run all; 1 if one failed, 2 where there is none."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    interpreters, rest = arguments[:at] or in_path(), arguments[at + 1 :] or [*PART]
    if not interpreters or {"-h", "--help"} & {*interpreters}:
        print(__doc__, file=sys.stderr)
        return 2
    said = {}
    for named in interpreters:
        print(f"--- {named}", flush=True)
        interpreter, *requirements = named.split("+")
        with tempfile.TemporaryDirectory(prefix="rushlight-python-") as folder:
            said[named] = run_under(interpreter, requirements, Path(folder), rest)
    for named, text in said.items():
        print(f"{named}: {text}")
    return int(any(text.startswith("failed") for text in said.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
