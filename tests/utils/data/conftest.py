"""Workers are forked: the tests give them functions, classes and descriptors that only a fork can see.

Python 3.14 starts processes from a server unless it is told otherwise; `test_other_start_methods` covers that.
"""

import multiprocessing
import sys

import pytest


@pytest.fixture(autouse=True, scope="module")
def _fork():
    if sys.platform != "linux":
        yield
        return
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method("fork", force=True)
    yield
    multiprocessing.set_start_method(before, force=True)
