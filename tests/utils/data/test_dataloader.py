"""The loader's arguments: what they do, and which combinations are refused."""

import pickle

import numpy as np
import pytest

from rushlight import ops
from rushlight.utils.data import DataLoader, IterableDataset, TensorDataset, get_worker_info

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")


class Stream(IterableDataset):
    def __init__(self, length=10, promised=None):
        self.length, self.promised = length, promised

    def __iter__(self):
        return iter(range(self.length))

    def __len__(self):
        return self.length if self.promised is None else self.promised

    def __repr__(self):
        return "Stream"


def batches(loader):
    return [batch.tolist() for batch in loader]


TEN = list(range(10))


# what workers call is here and not in the tests: from Python 3.14 on it reaches them by pickle
def add_up(samples):
    return ops.tensor([sum(samples)])


def share_out(worker_id):
    worker = get_worker_info()
    assert (worker_id, worker.num_workers) == (worker.id, 2)
    worker.dataset.length = 3 + worker_id


def report(samples):
    info = get_worker_info()
    with pytest.raises(AttributeError, match="cannot assign to field 'id'"):
        info.id = 3
    return info.id, info.num_workers, info.seed, info.dataset == TEN, info.rng, info.worker_method


class Sums:
    def __getitems__(self, indices):
        return [sum(indices)]


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"batch_size": 4}, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]),
        ({"batch_size": 4, "drop_last": True}, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ({"sampler": [5, 3, 1], "batch_size": 2}, [[5, 3], [1]]),
        ({"batch_sampler": [[9], [8, 7, 6]]}, [[9], [8, 7, 6]]),
        ({"batch_size": 3, "collate_fn": add_up}, [[3], [12], [21], [9]]),
    ],
)
def test_batches(arguments, expected, num_workers):
    loader = DataLoader(TEN, num_workers=num_workers, **arguments)
    assert batches(loader) == batches(loader) == expected
    assert len(loader) == len(expected) == len(iter(loader))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_no_automatic_batching(num_workers):
    loader = DataLoader([np.array([1, 2]), "a", (3, 4.5)], batch_size=None, num_workers=num_workers)
    array, text, pair = loader
    assert (array.tolist(), text, pair, len(loader)) == ([1, 2], "a", [3, 4.5], 3)


@pytest.mark.parametrize(
    ("arguments", "length", "first"),
    [
        ({"batch_size": 4}, 3, [0, 1, 2, 3]),
        ({"batch_size": 4, "drop_last": True}, 2, [0, 1, 2, 3]),
        ({"batch_size": None, "collate_fn": ops.tensor}, 10, 0),
    ],
)
def test_iterable_datasets(arguments, length, first):
    alone = DataLoader(Stream(), **arguments)
    assert (len(alone), len(batches(alone)), batches(alone)[0]) == (length, length, first)
    doubled = batches(DataLoader(Stream(), num_workers=2, **arguments))
    assert doubled == [batch for batch in batches(alone) for _ in range(2)]


class Shard(Stream):
    def __iter__(self):
        worker = get_worker_info()
        return iter(range(worker.id, self.length, worker.num_workers))


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("in_order", [False, True])
def test_workers_share_a_stream(persistent, in_order):
    loader = DataLoader(Shard(5), batch_size=2, num_workers=2, persistent_workers=persistent, in_order=in_order)
    for _ in range(3):
        received = batches(loader)
        assert sorted(received) == [[0, 2], [1, 3], [4]]
        assert not in_order or received == [[0, 2], [1, 3], [4]]


def test_worker_init_fn_may_share_out_the_stream():
    assert batches(DataLoader(Stream(), num_workers=2, worker_init_fn=share_out)) == [[0], [0], [1], [1], [2], [2], [3]]


def test_worker_info():
    first, second = DataLoader(TEN, batch_size=5, num_workers=2, collate_fn=report)
    assert first[:2] + first[3:] == (0, 2, True, None, "multiprocessing")
    assert second == (1, 2, first[2] + 1, True, None, "multiprocessing")
    assert get_worker_info() is None


def test_any_order_hands_out_every_batch():
    loader = DataLoader(TEN, batch_size=1, num_workers=2, in_order=False, prefetch_factor=3)
    assert sorted(batches(loader)) == [[i] for i in TEN]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_start_methods(method):
    dataset = TensorDataset(ops.arange(6), ops.arange(6) * 2)
    loader = DataLoader(dataset, batch_size=3, num_workers=1, multiprocessing_context=method)
    assert [[column.tolist() for column in batch] for batch in loader] == [
        [[0, 1, 2], [0, 2, 4]],
        [[3, 4, 5], [6, 8, 10]],
    ]


def test_what_cannot_be_pickled_cannot_be_spawned():
    loader = DataLoader(TEN, num_workers=1, multiprocessing_context="spawn", collate_fn=lambda samples: samples)
    with (
        pytest.warns(UserWarning, match="Got pickle error when attempting to start a worker Process"),
        pytest.raises((AttributeError, pickle.PicklingError)),
    ):
        iter(loader)


def test_requests_larger_than_the_connection():
    requests = [list(range(100_000)), *([i] for i in range(2000))]
    loader = DataLoader(Sums(), batch_sampler=requests, num_workers=1, prefetch_factor=1500)
    assert batches(loader) == [[sum(request)] for request in requests]


@pytest.mark.filterwarnings("default")
def test_warnings(monkeypatch):
    monkeypatch.setattr("rushlight.utils.data.pinning.accelerator", lambda: None)  # tests/devices registers one
    with pytest.warns(UserWarning, match="This DataLoader will create 1000 worker processes in total. Our suggested"):
        DataLoader(TEN, num_workers=1000)
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        assert next(iter(DataLoader(TEN, pin_memory=True))).tolist() == [0]
    with pytest.warns(UserWarning) as caught:
        iter(DataLoader(TEN, pin_memory=True, pin_memory_device="cuda"))
    assert "pin_memory_device is deprecated" in str(caught[0].message)
    for num_workers, advice in ((0, ""), (1, "not properly configuring the IterableDataset replica")):
        loader = DataLoader(Stream(4, promised=3), num_workers=num_workers)
        assert len(loader) == 3
        message = rf"Length of IterableDataset Stream was reported to be 3\(when .*but 4 samples.*{advice}"
        with pytest.warns(UserWarning, match=message):
            list(loader)


REFUSED = [
    ({"num_workers": -1}, ValueError, "num_workers option should be non-negative; use num_workers=0"),
    ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be specified in multiprocessing"),
    ({"prefetch_factor": -1, "num_workers": 1}, ValueError, "prefetch_factor option should be non-negative"),
    ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
    ({"sampler": [1], "shuffle": True}, ValueError, "sampler option is mutually exclusive with shuffle"),
    ({"batch_sampler": [[1]], "batch_size": 2}, ValueError, "batch_sampler option is mutually exclusive"),
    ({"batch_sampler": [[1]], "shuffle": True}, ValueError, "batch_sampler option is mutually exclusive"),
    ({"batch_sampler": [[1]], "sampler": [1]}, ValueError, "batch_sampler option is mutually exclusive"),
    ({"batch_sampler": [[1]], "drop_last": True}, ValueError, "batch_sampler option is mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, ValueError, "batch_size=None option disables auto-batching"),
    ({"batch_size": 0}, ValueError, "batch_size should be a positive integer value, but got batch_size=0"),
    ({"multiprocessing_context": "fork"}, ValueError, "multiprocessing_context can only be used with multi-process"),
    ({"multiprocessing_context": "x", "num_workers": 1}, ValueError, "should specify a valid start method in"),
    ({"multiprocessing_context": 3, "num_workers": 1}, TypeError, "should be a valid context object or a string"),
    ({"dataset": Stream(), "shuffle": True}, ValueError, "expected unspecified shuffle option, but got shuffle=True"),
    ({"dataset": Stream(), "sampler": [1]}, ValueError, "expected unspecified sampler option"),
    ({"dataset": Stream(), "batch_sampler": [[1]]}, ValueError, "expected unspecified batch_sampler option"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED, ids=str)
def test_refused_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        DataLoader(**{"dataset": TEN, **arguments})


def test_refused_at_iteration():
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(DataLoader(TEN, num_workers=1, prefetch_factor=0))
    with pytest.raises(AssertionError, match="requires timeout == 0"):
        iter(DataLoader(TEN, timeout=1))
    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(DataLoader(TEN)))


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_protected_attributes(name):
    loader = DataLoader(TEN)
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
        setattr(loader, name, None)
    loader.timeout = 3  # others may be set
