"""Running a program under Rushlight, or under torch where an interpreter has it, and recording its numbers."""

import functools
import http.server
import json
import os
import subprocess
import sys
import threading
from importlib.util import find_spec

import cifar_archive
import pytest
from program_runs import ROOT

OBSERVE = ROOT / "tests" / "examples" / "observe.py"


class Observer:
    """Runs programs in a folder of their own."""

    def __init__(self, folder, python, *options):
        self.folder = folder
        self.command = [python, OBSERVE, "result.json", *options]
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def __call__(self, program, *options):
        """The record of the program."""
        done = subprocess.run(
            [*self.command, *options, *program], cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        self.errors = done.stderr
        return json.loads((self.folder / "result.json").read_text())


@pytest.fixture
def rushlight(tmp_path):
    return Observer(tmp_path, sys.executable, "--rushlight")


@pytest.fixture
def torch(tmp_path):
    """The same under torch: of this interpreter or of the one that RUSHLIGHT_TORCH_PYTHON names."""
    python = os.environ.get("RUSHLIGHT_TORCH_PYTHON") or (find_spec("torch") and sys.executable)
    if not python:
        pytest.skip("torch is not installed")
    return Observer(tmp_path, python)


@pytest.fixture
def cifar_site(tmp_path):
    """A web server with a small CIFAR-10 archive; gives (facts file for --cifar, paths that were asked for)."""
    folder = tmp_path / "site"
    folder.mkdir()
    facts = cifar_archive.write(folder)
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format, *args):
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    facts["url"] = f"http://127.0.0.1:{server.server_port}/{cifar_archive.ARCHIVE}"
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(facts))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield path, asked
    server.shutdown()
    server.server_close()
    thread.join()
