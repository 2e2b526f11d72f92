"""Killed trainings end with the digits of undisturbed ones: see `kill_resume.py`, which also makes many more runs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import kill_resume


@pytest.mark.parametrize("form", kill_resume.FORMS)
def test_a_resumed_run_ends_with_the_same_digits(form, monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_CHECK", raising=False)
    if Path("/dev/shm").is_dir():
        monkeypatch.setattr("tempfile.tempdir", "/dev/shm")  # each of 60 checkpoints is synchronised with the disk
    assert not kill_resume.compare(1, 3, (form,))
