"""`python -m tools.release VERSION [PYTEST_ARGUMENT ...]`: make and try the files of a release; nothing is uploaded.

In a clean checkout: writes the version (pyproject.toml alone has it) and the changelog (towncrier), commits, builds wheel
and sdist into dist/, and tries both outside of the checkout, each in a virtual environment of its own: README's training
loop must print what README shows, and the sdist's tests (or what the arguments name) pass with the wheel, but for those of
the sources and pages, which tests/conftest.py names. Then tags the commit, and prints the two commands that are left. What
fails leaves the commit, without a tag. Needs the packages `build` and `towncrier`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from .pythons import readme_loop

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
_VERSION = re.compile(r'^version = "(.*)"$', re.MULTILINE)


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints. Raises CalledProcessError if it fails, after showing its errors."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, text=True, stdout=subprocess.PIPE)
    done.check_returncode()
    return done.stdout


def set_version(version: str) -> None:
    """Write it, and the changelog's section, and commit both."""
    if run("git", "status", "--porcelain"):
        raise SystemExit("the checkout has changes that are not committed")
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        raise SystemExit(f"{version!r} is no version such as 0.2.0 or 0.2.0rc1")
    file = ROOT / "pyproject.toml"
    file.write_text(_VERSION.sub(f'version = "{version}"', file.read_text(), count=1))
    run(sys.executable, "-m", "towncrier", "build", "--yes", "--version", version)
    run("git", "commit", "-qam", f"Release {version}")


def build() -> tuple[Path, Path]:
    """The wheel and the sdist, made from the last commit."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="rushlight-release-") as folder:
        run("git", "clone", "-q", ROOT, Path(folder) / "rushlight")
        run(sys.executable, "-m", "build", "-o", DIST, cwd=Path(folder) / "rushlight")
    return next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))


def try_out(package: Path, sdist: Path, tests: list[str] | None) -> None:
    """Install a package where the checkout cannot be seen, run README's loop, and the sdist's tests."""
    with tempfile.TemporaryDirectory(prefix="rushlight-release-") as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", folder / "venv")
        binaries = folder / "venv" / "bin"
        run(binaries / "pip", "install", "-q", f"{package}[test]" if tests is not None else package)
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        source = folder / sdist.name.removesuffix(".tar.gz")
        for installed in ("rushlight", "rushlight_vision"):
            shutil.rmtree(source / installed)
        program, expected = readme_loop((source / "README.md").read_text())
        (folder / "spirals.py").write_text(program)
        printed = run(binaries / "rushlight", "run", "spirals.py", cwd=folder)
        if printed != expected:
            raise SystemExit(f"{package.name}: README's loop printed\n{printed}instead of\n{expected}")
        if tests is not None:
            subprocess.run([str(binaries / "python"), "-m", "pytest", *tests], cwd=source, check=True)


def main(arguments: list[str]) -> int:
    """Do all; 2 without a version."""
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    version, tests = arguments[0], arguments[1:]
    set_version(version)
    wheel, sdist = build()
    try_out(sdist, sdist, None)
    try_out(wheel, sdist, tests)
    run("git", "tag", "-a", f"v{version}", "-m", f"Rushlight {version}")
    print(f"tried: {wheel.name}, {sdist.name}\nleft: git push --follow-tags; twine upload {DIST.name}/*")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
