"""What all tests share: memory that has not been written holds signalling nans and large integers.

A kernel, a program, or a test that reads it fails each time then, not once in a hundred runs: a signalling nan makes
NumPy warn as soon as it is converted, and warnings are errors here.
"""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

_BITS = {"f2": 0x7D00, "f4": 0x7FA00000, "f8": 0x7FF4000000000000}
_UNWRITTEN = {np.dtype(kind): np.array(bits, f"u{kind[1]}").view(kind) for kind, bits in _BITS.items()}
_UNWRITTEN[np.dtype(ml_dtypes.bfloat16)] = np.array(0x7FA0, np.uint16).view(ml_dtypes.bfloat16)
for _kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
    _UNWRITTEN[np.dtype(_kind)] = np.array(int("7d" * int(_kind[1]), 16), _kind)


def _unwritten(make):
    @functools.wraps(make)
    def made(*args, **kwargs):
        array = make(*args, **kwargs)
        value = _UNWRITTEN.get(array.dtype)
        if value is not None and type(array) is np.ndarray:
            array[...] = value
        return array

    return made


np.empty, np.empty_like = _unwritten(np.empty), _unwritten(np.empty_like)


_ROOT = Path(__file__).parents[1]
_CODE = _ROOT / ".pytest_cache" / "rushlight-code"
os.environ.setdefault("RUSHLIGHT_CACHE", str(_CODE))  # not the user's; the tests start Rushlight 300 times
os.environ.setdefault("RUSHLIGHT_JIT", "always")  # the tests' tapes are tiny and few
os.environ.setdefault("RUSHLIGHT_TRACEBACK", "full")  # whoever tests Rushlight wants to see its frames

# what reads the package's source finds it in a checkout, not where a release is tried (`tools.release`)
_OF_THE_SOURCE = (
    "core/test_declared_names.py",
    "core/test_extension_points.py",
    "docs",
    "test_house.py",
    "test_layers.py",
    "typing",
)
collect_ignore = [] if (_ROOT / "rushlight").is_dir() else list(_OF_THE_SOURCE)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # while the tests are collected: nearly everything that is made stays


def pytest_collection_modifyitems(config, items):
    """Of all tests a part, where RUSHLIGHT_TESTS_PART says "i/n": those whose name's checksum is i modulo n."""
    part, _, parts = os.environ.get("RUSHLIGHT_TESTS_PART", "").partition("/")
    if parts:
        chosen = [zlib.crc32(item.nodeid.encode()) % int(parts) == int(part) for item in items]
        config.hook.pytest_deselected(items=[item for item, kept in zip(items, chosen, strict=True) if not kept])
        items[:] = [item for item, kept in zip(items, chosen, strict=True) if kept]


def pytest_collection_finish():
    """Collect as usual again."""
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _small_heap():
    """A capture may look through all objects: not through five million that pytest and other files made."""
    gc.freeze()
    live_objects = sys.modules.get("rushlight.core.live_objects")
    if live_objects is not None:
        live_objects.nothing_frozen()
    yield
    gc.collect()
    gc.unfreeze()
