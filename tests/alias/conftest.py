"""Running programs in fresh interpreters, next to a real torch that must not be imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def program(tmp_path):
    """Writes files below tmp_path/work and runs a command line there; the parts of Program.run say how."""
    return Program(tmp_path)


class Program:
    def __init__(self, folder):
        self.folder = folder / "work"
        self.folder.mkdir()
        for name in ("torch", "torchvision"):
            real = folder / "real" / name
            real.mkdir(parents=True)
            (real / "__init__.py").write_text("raise SystemExit('the real one was imported')")
        paths = [str(ROOT), str(folder / "real")]
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "error"}

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def python(self, *arguments):
        """The finished `python arguments...`."""
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)

    def run(self, *arguments):
        """The finished `rushlight run arguments...`."""
        return self.python("-m", "rushlight", "run", *arguments)

    def prints(self, text, *arguments):
        """What the script with this text prints under `rushlight run`; it must succeed."""
        done = self.run(self.write("script.py", text), *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout
