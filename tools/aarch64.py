"""`python -m tools.aarch64 FOLDER [PYTEST_ARGUMENT ...]`: tests on 64-bit ARM, emulated (Debian as root).

FOLDER: where a Debian for arm64 is made at the first run (1 GB), with the last commit and the wheels that it needs. The
arguments go to pytest; without any, what depends on the processor runs. Needs `debootstrap` and `qemu-user-static`, and
a kernel with binfmt_misc. An emulated processor takes 10 to 50 times as long; no speed can be read from it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
DEBIAN, PYTHON = "trixie", "3.13"
PACKAGES = "python3,python3-venv,libgomp1,ca-certificates"
WHEELS = (
    "numpy",
    "llvmlite",
    "ml_dtypes",
    "pillow",
    "safetensors",
    "tqdm",
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "rich",
)
TESTS = (
    "tests/core/test_casting.py", "tests/compile/test_llvm_math.py", "tests/compile/test_short_floats.py",
    "tests/compile/test_update.py", "tests/compile/test_draws.py", "tests/compile/test_im2col.py",
)  # fmt: skip
BINFMT = Path("/proc/sys/fs/binfmt_misc")
# An ELF file of 64 bits for machine 0xb7; F: the emulator is opened now, so that a chroot need not hold it.
MAGIC = (
    r":qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    r":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:F"
)


def run(*command: str | Path) -> None:
    """Raises CalledProcessError if it fails."""
    subprocess.run([str(part) for part in command], check=True)


def make_system(system: Path) -> None:
    """A Debian for arm64. Its packages are unpacked, not configured: their scripts would take an hour."""
    run("debootstrap", "--foreign", "--arch=arm64", "--variant=minbase", f"--include={PACKAGES}", DEBIAN, system)
    for package in sorted((system / "var/cache/apt/archives").glob("*.deb")):
        run("dpkg-deb", "-x", package, system)


def install(wheels: Path) -> None:
    """What Rushlight and its tests import, as wheels for ARM."""
    platforms = (f"--platform={name}_aarch64" for name in ("manylinux2014", "manylinux_2_27", "manylinux_2_28"))
    options = (*platforms, f"--python-version={PYTHON}", "--only-binary=:all:")
    run(sys.executable, "-m", "pip", "install", "-q", "--target", wheels, *options, *WHEELS)


def main(arguments: list[str]) -> int:
    """Make what is missing, and run the tests; their exit status."""
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    system = Path(arguments[0]).resolve()
    if not (BINFMT / "register").exists():
        run("mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT)
    if not (BINFMT / "qemu-aarch64").exists():
        (BINFMT / "register").write_text(MAGIC)
    if not (system / "usr/bin/python3").exists():
        make_system(system)
    if not (system / "opt/wheels/pytest").exists():
        install(system / "opt/wheels")
    run("rm", "-rf", system / "opt/rushlight")
    run("git", "clone", "-q", ROOT, system / "opt/rushlight")
    mounted = [folder for folder in ("proc", "sys", "dev", "dev/shm") if not (system / folder).is_mount()]
    for folder in mounted:
        run("mount", "--bind", f"/{folder}", system / folder)
    tests = " ".join(arguments[1:] or TESTS)
    command = f"cd /opt/rushlight && exec python3 -m pytest -n 0 -p no:cacheprovider {tests}"
    try:
        paths = "PYTHONPATH=/opt/wheels:/opt/rushlight"
        return subprocess.run(["chroot", str(system), "/usr/bin/env", paths, "sh", "-c", command]).returncode
    finally:
        for folder in reversed(mounted):
            subprocess.run(["umount", str(system / folder)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
