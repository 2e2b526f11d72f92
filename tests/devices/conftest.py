"""Devices of tests go with their file: tensors of the CPU know of an accelerator as soon as one was used."""

import pytest

from rushlight.core.device import devices


@pytest.fixture(scope="module", autouse=True)
def _devices_of_this_file():
    before = dict(devices._backends)
    yield
    devices._backends.clear()
    devices._backends.update(before)
