"""What all tests of compiling share."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def _small_heap():
    """Captures look through all objects: those that were there before cannot matter."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
