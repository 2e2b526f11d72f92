"""Jobs that are killed while they save: see `checkpoint_kills.py`, which also kills many more."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="kills forked processes")
def test_twenty_kills_leave_a_whole_checkpoint():
    script = Path(__file__).parent / "checkpoint_kills.py"
    done = subprocess.run(
        [sys.executable, script, "--kills", "20", "--seed", "5"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("20 kills, ")
