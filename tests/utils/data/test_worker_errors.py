"""Exceptions in workers arrive in the loader's process, with their type, traceback and sample."""

import pickle
import re

import pytest

from rushlight import ops
from rushlight.utils.data import DataLoader, Dataset, IterableDataset, Subset

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")


class TwoArgumentsError(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)


class MessageError(Exception):
    message = "default"

    def __init__(self, *, message):
        super().__init__(message)


class Failing(Dataset):
    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 10

    def __getitem__(self, index):
        if index == 7:
            raise self.error
        return index


class FailingStream(IterableDataset):
    def __iter__(self):
        yield from range(5)
        raise ValueError("dry")


def local_error():
    class LocalError(ValueError):
        pass

    return LocalError("bad")


def raised(loader, error):
    with pytest.raises(error) as caught:
        list(loader)
    assert type(caught.value) is error
    return str(caught.value)


@pytest.mark.parametrize(
    ("error", "arrives_as"),
    [
        (ValueError("bad"), ValueError),
        (KeyError("bad"), KeyError),
        (IndexError("bad"), IndexError),
        (MemoryError("bad"), MemoryError),
        (MessageError(message="bad"), MessageError),
        (TwoArgumentsError(1, "bad"), RuntimeError),
        (UnicodeDecodeError("utf-8", b"bad", 0, 1, "bad"), RuntimeError),
        (local_error(), RuntimeError),
    ],
    ids=lambda value: type(value).__name__,
)
def test_type_traceback_and_index(error, arrives_as):
    message = raised(DataLoader(Failing(error), batch_size=2, num_workers=2), arrives_as)
    name = type(error).__name__
    assert message.startswith(f"Caught {name} in DataLoader worker process 1.\nOriginal Traceback (most recent call")
    assert "    raise self.error\n" in message
    assert f"{name}: " in message and "bad" in message
    assert message.endswith("This happened while loading the sample at index 7.")


def bad_collate(samples):
    if 7 in samples:
        raise ValueError("bad")
    return samples


def bad_start(worker_id):
    if worker_id == 1:
        raise ValueError("bad")


class Plural(Failing):
    def __getitems__(self, indices):
        return [self[index] for index in indices]


ERROR = ValueError("bad")


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        ({"dataset": range(10), "collate_fn": bad_collate, "batch_size": 2}, "collating the samples at indices [6, 7]"),
        ({"dataset": range(10), "worker_init_fn": bad_start}, "starting the worker"),
        ({"dataset": Plural(ERROR), "batch_size": 2}, "loading the samples at indices [6, 7]"),
        ({"dataset": Failing(ERROR), "batch_size": None}, "loading the sample at index 7"),
        ({"dataset": Failing(ERROR), "batch_sampler": [[*range(7)] * 9 + [7]]}, "loading the sample at index 7"),
        ({"dataset": FailingStream(), "batch_size": 2}, "loading sample number 5 of the iterable dataset"),
    ],
)
def test_what_the_worker_was_doing(arguments, subject):
    message = raised(DataLoader(num_workers=2, **arguments), ValueError)
    assert message.endswith(f"This happened while {subject}.")


def test_the_sample_inside_a_subset():
    subset = Subset(Failing(ValueError("bad")), [1, 2, 7])
    message = raised(DataLoader(subset, batch_size=3, num_workers=1), ValueError)
    assert "Raised by sample 7 of Failing." in message
    assert message.endswith("loading the samples at indices [0, 1, 2].")


def test_long_lists_of_indices_are_shortened():
    def collate(samples):
        raise ValueError("bad")

    message = raised(DataLoader(range(100), batch_size=100, num_workers=1, collate_fn=collate), ValueError)
    assert message.endswith("30, 31, ...] (100 in all).")


@pytest.mark.parametrize("batch", [lambda: None, (i for i in [0])], ids=["function", "generator"])
def test_batches_that_cannot_travel(batch):
    loader = DataLoader(range(1), num_workers=1, collate_fn=lambda samples: batch)
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)) as caught:
        list(loader)
    assert str(caught.value).endswith("This happened while sending the batch to the loader's process.")


class Spoiled:
    def __reduce__(self):
        return int, ("not a number",)


def test_batches_that_cannot_be_read():
    iterator = iter(DataLoader(range(4), num_workers=1, collate_fn=lambda samples: Spoiled()))
    with pytest.raises(ValueError, match="not a number"):
        next(iterator)
    with pytest.raises(RuntimeError, match="no workers left"):
        next(iterator)


def test_tensors_with_a_history_cannot_travel():
    def collate(samples):
        return ops.ones(1).requires_grad_() * 2

    message = raised(DataLoader(range(1), num_workers=1, collate_fn=collate), RuntimeError)
    assert "Cowardly refusing to serialize non-leaf tensor which requires_grad" in message


def test_the_loop_may_go_on_after_an_error():
    iterator = iter(DataLoader(Failing(ValueError("bad")), num_workers=2))
    received = []
    for _ in range(10):
        try:
            received.append(next(iterator).item())
        except ValueError:
            received.append(None)
    assert received == [0, 1, 2, 3, 4, 5, 6, None, 8, 9]
    assert next(iterator, "end") == "end"


def test_in_the_loaders_own_process_errors_pass_through():
    error = ValueError("bad")
    with pytest.raises(ValueError, match=r"^bad$") as caught:
        list(DataLoader(Failing(error)))
    assert caught.value is error


# ---------------------------------------------------------------- StopIteration


class StopsAt(Dataset):
    """A map dataset whose sample 3, or whose other ways to fail, raise StopIteration."""

    def __init__(self, many=False):
        if many:
            self.__getitems__ = lambda indices: [self[i] for i in indices]

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return next(iter([])) if index == 3 else index


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(6))


class StopsAtStart(IterableDataset):
    def __iter__(self):
        raise StopIteration


class BadSampler:
    def __len__(self):
        return 6

    def __iter__(self):
        raise StopIteration


def stop(*_):
    raise StopIteration("early")


def stop_at_three(samples):
    return stop() if 3 in samples else samples


WAYS_TO_STOP = {
    "sample": (StopsAt(), {}, "loading the sample at index 3"),
    "samples": (StopsAt(many=True), {}, r"loading the samples at indices \[2, 3\]"),
    "unbatched sample": (StopsAt(), {"batch_size": None}, "loading the sample at index 3"),
    "collate": (list(range(6)), {"collate_fn": stop_at_three}, r"collating the samples at indices \[2, 3\]"),
    "collate of a stream": (Stream(), {"collate_fn": stop_at_three}, "collating the samples up to number 3"),
    "convert": (list(range(6)), {"batch_size": None, "collate_fn": stop}, "converting sample 0"),
    "iter": (StopsAtStart(), {}, "making the iterator of the dataset"),
    "sampler": (list(range(6)), {"sampler": BadSampler(), "batch_size": None}, "starting the sampler"),
    "sampler in batches": (list(range(6)), {"sampler": BadSampler()}, "StopIteration"),
    "subset": (Subset(StopsAt(), [0, 3]), {}, "loading the sample"),
}


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("name", WAYS_TO_STOP)
def test_stop_iteration_is_an_error(name, num_workers):
    dataset, options, words = WAYS_TO_STOP[name]
    options = {"batch_size": 2, **options}
    with pytest.raises(RuntimeError, match=words):
        for _ in DataLoader(dataset, num_workers=num_workers, **options):
            pass


def test_stop_iteration_in_worker_init_fn():
    with pytest.raises(RuntimeError, match=r"(?s)Caught StopIteration.*while starting the worker"):
        for _ in DataLoader(StopsAt(), num_workers=1, worker_init_fn=stop):
            pass


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_stream_ends_by_stop_iteration(num_workers):
    assert len(list(DataLoader(Stream(), 2, num_workers=num_workers))) == (num_workers or 1) * 3


class Ragged(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return ops.ones(index + 1)


def test_the_original_traceback_is_the_programs(monkeypatch):
    """Rushlight's frames are counted in a line, also where the program has none, unless all are wanted."""
    monkeypatch.delenv("RUSHLIGHT_TRACEBACK", raising=False)
    message = raised(DataLoader(Failing(ValueError("bad")), batch_size=2, num_workers=1), ValueError)
    assert message.count("  File ") == 1 and "in __getitem__\n" in message
    assert re.search(r"\nValueError: bad\n\(\d frames inside Rushlight left out: ", message)
    message = raised(DataLoader(Ragged(), batch_size=2, num_workers=1), RuntimeError)
    assert "  File " not in message and " frames inside Rushlight left out: " in message
    assert "RuntimeError: stack expects each tensor to be equal size" in message
    monkeypatch.setenv("RUSHLIGHT_TRACEBACK", "full")
    message = raised(DataLoader(Ragged(), batch_size=2, num_workers=1), RuntimeError)
    assert "in collate_tensor_fn\n" in message and "left out" not in message
