"""The examples for Ray, where it is installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def said_by(name):
    pytest.importorskip("ray")
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"}
    command = [sys.executable, "-m", "rushlight", "run", str(EXAMPLES / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_actors():
    said = said_by("ray_two_actors.py")
    ends = re.findall(r"process (\d): .* weight and bias \[(\S+), (\S+)\]", said)
    assert [end[0] for end in ends] == ["0", "1"]
    assert ends[0][1:] == ends[1][1:]  # the same bits
    assert abs(float(ends[0][1]) - 3) < 0.01 and abs(float(ends[0][2]) + 1) < 0.01


def test_a_sweep():
    said = said_by("ray_sweep.py")
    losses = {rate: float(loss) for rate, loss in re.findall(r"lr (\S+): loss (\S+)", said)}
    assert len(losses) == 4 and f"best: {min(losses, key=losses.__getitem__)}" in said
