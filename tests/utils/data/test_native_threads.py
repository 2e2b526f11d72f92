"""Workers compute with one thread; the loader's process keeps its own."""

import numpy as np
import pytest

from rushlight.utils.data import DataLoader
from rushlight.utils.data.native_threads import _loaded_libraries, one_native_thread


def counts(_=None):
    return [get() for get, _ in _loaded_libraries()]


class Product:
    """Matrix products large enough for the library to use all its threads, if it has several."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return (np.ones((300, 300)) @ np.ones((300, 300)))[0, 0]


def test_a_process_is_limited_for_a_while():
    before = counts()
    with one_native_thread():
        assert counts() == [1] * len(before)
    assert counts() == before


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_workers_have_one_thread(method):
    before = counts()
    loader = DataLoader(range(2), num_workers=1, multiprocessing_context=method, collate_fn=counts)
    assert {count for batch in loader for count in batch} <= {1}
    assert counts() == before


def test_products_before_and_after_a_fork():
    assert Product()[0] == 300
    assert [batch.item() for batch in DataLoader(Product(), num_workers=2)] == [300] * 4
    assert Product()[0] == 300
