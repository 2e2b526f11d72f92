"""What runs in a worker process: seed, fetch, send, until the loader hangs up."""

from __future__ import annotations

from typing import Any

from rushlight.utils.data.failure import ExceptionWrapper
from rushlight.utils.data.fetch import IterableFetcher, MapFetcher
from rushlight.utils.data.lifeline import die_with_parent, release_interrupts, watch_process
from rushlight.utils.data.native_threads import use_one_native_thread
from rushlight.utils.data.seeding import seed_worker
from rushlight.utils.data.transport import Channel, channel_over
from rushlight.utils.data.waiting import GONE, READABLE, WRITABLE, open_poll

__all__ = ["WorkerInfo", "get_worker_info"]


class WorkerInfo:
    """What a worker process knows about itself: `id` (0 to num_workers - 1), `num_workers`, `seed`, `dataset` (its
    own copy). `rng` is None and `worker_method` "multiprocessing": there are no worker threads.
    """

    __slots__ = ("dataset", "id", "num_workers", "rng", "seed", "worker_method")

    def __init__(self, id, num_workers, seed, dataset, rng=None, worker_method="multiprocessing") -> None:
        values = {"id": id, "num_workers": num_workers, "seed": seed, "dataset": dataset}
        for name, value in {**values, "rng": rng, "worker_method": worker_method}.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __delattr__(self, name) -> None:
        raise AttributeError(f"cannot delete field {name!r}")

    def __repr__(self) -> str:
        names = ("id", "num_workers", "seed", "dataset", "rng", "worker_method")
        return f"WorkerInfo({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The running DataLoader worker's `WorkerInfo`; None outside of worker processes."""
    return _worker_info


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        fetcher = MapFetcher if kind == _DatasetKind.Map else IterableFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


class EndOfData:
    """A worker's answer when its copy of an iterable dataset is exhausted."""


class Job:
    """All that a worker needs to know; it is pickled if the worker is not forked."""

    def __init__(self, loader_iter, worker_init_fn) -> None:
        self.fetcher_arguments = (
            loader_iter._dataset_kind,
            loader_iter._dataset,
            loader_iter._auto_collation,
            loader_iter._collate_fn,
            loader_iter._drop_last,
        )
        self.dataset = loader_iter._dataset
        self.is_iterable = loader_iter._dataset_kind == _DatasetKind.Iterable
        self.num_workers = loader_iter._num_workers
        self.base_seed = loader_iter._base_seed
        self.worker_init_fn = worker_init_fn


def run_worker(job: Job, worker_id: int, connection, parent: int, tied_to_thread: bool) -> None:
    """A worker process's whole life. It ends when the loader closes the connection, or dies."""
    try:
        _settle(parent, tied_to_thread)
        release_interrupts()
        _Worker(job, worker_id, channel_over(connection), parent).run()
    except (KeyboardInterrupt, ConnectionError, EOFError):
        pass  # the loader's process has the same interrupt; or it hung up while a message was on its way


def _settle(parent: int, tied_to_thread: bool) -> None:
    """Turn a fresh copy of the loader's process into a worker."""
    import gc
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # not the handler that the training script may have set
    die_with_parent(parent, tied_to_thread)
    gc.freeze()  # what the loader's process made need not be traversed, and copied on write, here
    use_one_native_thread()


class _Worker:
    """Answers each request (epoch, task, index) by (epoch, task, batch); (epoch, None, None) starts an epoch."""

    def __init__(self, job: Job, worker_id: int, channel: Channel, parent: int) -> None:
        from multiprocessing import parent_process

        self._job = job
        self._id = worker_id
        self._channel = channel
        process = parent_process()
        assert process is not None  # a worker has one
        self._parent = watch_process(parent, process.sentinel)
        self._poll = open_poll()
        self._poll.register(self._parent, READABLE)
        self._poll.register(channel, READABLE)
        self._fetcher: Any = None
        self._broken, self._ended = None, False

    def run(self) -> None:
        global _worker_info
        seed = seed_worker(self._job.base_seed, self._id)
        _worker_info = WorkerInfo(self._id, self._job.num_workers, seed, self._job.dataset)
        self._start(initialise=True)
        while self._wait(READABLE):
            try:
                epoch, task, index = self._channel.receive()
            except BlockingIOError:  # of a stream, a part of a message
                continue
            if task is None:
                self._start(initialise=False)
            elif not self._ended:
                self._answer(epoch, task, self._load(index))
                if not self._wait_until_sent():
                    return

    def _wait(self, event: int) -> bool:
        """Wait until the channel is ready for `event`; False if the loader hung up or died."""
        self._poll.modify(self._channel, event)
        ready = dict(self._poll.poll())
        return self._parent not in ready and not ready[self._channel.fileno()] & GONE

    def _wait_until_sent(self) -> bool:
        while not self._channel.flush():
            if not self._wait(WRITABLE):
                return False
        return True

    def _start(self, initialise: bool) -> None:
        """Prepare for an epoch. A failure is the answer to the epoch's requests."""
        self._broken, self._ended = None, False
        try:
            if initialise and self._job.worker_init_fn is not None:
                self._job.worker_init_fn(self._id)
            self._fetcher = _DatasetKind.create_fetcher(*self._job.fetcher_arguments)
        except Exception as error:  # it is raised in the loader's process
            self._broken = self._failure(error, "starting the worker")

    def _load(self, index):
        if self._broken is not None:
            return self._broken
        try:
            return self._fetcher.fetch(index)
        except Exception as error:  # it is raised in the loader's process
            if isinstance(error, StopIteration) and self._job.is_iterable:
                self._ended = True
                return EndOfData()
            return self._failure(error, self._fetcher.subject())

    def _answer(self, epoch: int, task: int, result) -> None:
        try:
            self._channel.post((epoch, task, result))
        except ConnectionError:
            raise
        except Exception as error:  # the batch cannot be pickled, or there is no memory for it
            self._channel.post((epoch, task, self._failure(error, "sending the batch to the loader's process")))

    def _failure(self, error: Exception, subject: str) -> ExceptionWrapper:
        return ExceptionWrapper(error, f"in DataLoader worker process {self._id}", subject)
