"""The first program of the README: examples/digits.py under `rushlight run`, against what it printed under torch."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXPECTED = (ROOT / "tests" / "golden" / "digits.txt").read_text().splitlines()


def numbers(line):
    """(epoch, loss, accuracy in per cent)."""
    return tuple(map(float, re.fullmatch(r"epoch +(\d+)  loss ([\d.]+)  held-out accuracy ([\d.]+) %", line).groups()))


def test_digits_example(program):
    pytest.importorskip("matplotlib")
    done = program.run(ROOT / "examples" / "digits.py", "--out", "made")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    found = [numbers(line) for line in lines if line.startswith("epoch")]
    expected = [numbers(line) for line in EXPECTED]
    assert found[0] == expected[0]
    for mine, torchs in zip(found[:4], expected[:4], strict=True):  # 180 steps, then float rounding parts them
        assert mine == pytest.approx(torchs, rel=2e-3)
    assert len(found) == len(expected) == 20
    assert found[-1][2] >= 97
    assert not done.stderr  # progress bars are for terminals
    assert lines[-2:] == ["loss curve saved to made/digits_loss.png", "model saved to made/digits.pt"]
    assert (program.folder / "made" / "digits_loss.png").read_bytes().startswith(b"\x89PNG")
    assert (program.folder / "made" / "digits.pt").stat().st_size > 100_000
