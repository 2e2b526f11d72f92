"""Each test names the classes of its traces as a new process would."""

from itertools import count

import pytest

from rushlight.torch.jit.ir.class_names import TRACED


@pytest.fixture(autouse=True)
def new_class_names(monkeypatch):
    monkeypatch.setattr(TRACED, "names", set())
    monkeypatch.setattr(TRACED, "mangled", count())
