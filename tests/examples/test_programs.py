"""Every program prints and computes under Rushlight what it does under torch for the same seed."""

import json
import os
import subprocess
import sys

import pytest
from agreement import check_numbers, check_printed
from program_runs import CIFAR, GOLDEN, PROGRAMS_BY_RUN, ROOT, SERVED_LOSSES


def check(name, found, expected):
    for loss in SERVED_LOSSES.get(name, ()):
        found["losses"].remove(loss)
    check_numbers(found, expected)
    check_printed(found["printed"], expected["printed"], expected.get("rounding"))


def golden(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())


@pytest.mark.parametrize("name", PROGRAMS_BY_RUN)
def test_numbers_are_torchs(rushlight, name):
    check(name, rushlight(PROGRAMS_BY_RUN[name]), golden(name))


@pytest.mark.parametrize("name", PROGRAMS_BY_RUN)
def test_beside_a_living_torch(torch, rushlight, name):
    check(name, rushlight(PROGRAMS_BY_RUN[name]), torch(PROGRAMS_BY_RUN[name]))


def test_cifar10(rushlight, cifar_site):
    facts, asked = cifar_site
    found, expected = rushlight(CIFAR, "--cifar", facts), golden("cifar10")
    check("cifar10", found, expected)
    assert asked == ["/cifar-10-python.tar.gz"]

    again = rushlight((*CIFAR, "--workers", "0"), "--cifar", facts)
    assert again["losses"] == found["losses"]
    assert again["printed"] == found["printed"]
    assert len(asked) == 1


def test_by_the_command(tmp_path):
    """`rushlight run` and the picture."""
    command = [sys.executable, "-m", "rushlight", "run", *PROGRAMS_BY_RUN["detach_and_numpy"]]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    check_printed(done.stdout.splitlines(), golden("detach_and_numpy")["printed"])
    assert (tmp_path / "made" / "detach_and_numpy.png").read_bytes().startswith(b"\x89PNG")
