"""Iterating over a loader whose batches are made by worker processes."""

import itertools
import time
import warnings
from typing import Any

from rushlight.utils.data.closing import close_after
from rushlight.utils.data.failure import ExceptionWrapper
from rushlight.utils.data.iterator import _BaseDataLoaderIter
from rushlight.utils.data.pool import WorkerPool
from rushlight.utils.data.worker import EndOfData, Job

_STUCK_S = 30.0  # after which a batch that does not come is warned about


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Keeps `prefetch_factor` requests at every worker and hands out the batches in the order of the requests.

    A request is a number (its task), an index of the sampler, and the epoch, by which answers to the requests of an
    epoch that the user left early are recognised. The pool does not know the iterator, so that the workers go when
    the iterator does.
    """

    def __init__(self, loader) -> None:
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        if self._num_workers <= 0:
            raise AssertionError("num_workers must be greater than 0 for MultiProcessingDataLoaderIter")
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._worker_init_fn = loader.worker_init_fn
        self._pool = _start_workers(loader.multiprocessing_context, Job(self, self._worker_init_fn))
        close_after(self, self._pool)
        self._epoch, self._warned, self._warn_at = 0, False, None
        self._reset(loader, first_iter=True)

    def _shutdown_workers(self) -> None:
        self._pool.close()

    @property
    def _workers(self) -> list:
        return self._pool.processes

    def _reset(self, loader, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._epoch += 1
        self._send_idx = 0  # the next request's task
        self._pool.requests = {}
        self._worker_of: dict[int, int] = {}  # task -> worker, for all requests whose batch was not handed out yet
        self._arrived: dict = {}  # task -> batch, in the order of arrival
        self._is_active = [True] * self._num_workers
        self._num_tasks = [0] * self._num_workers
        self._worker_cycle = itertools.cycle(range(self._num_workers))
        if not first_iter:
            for worker in range(self._num_workers):
                self._pool.post(worker, (self._epoch, None, None))
        for _ in range(self._prefetch_factor * self._num_workers):
            self._send_request()

    def _next_data(self):
        self._collect(timeout_s=0)
        self._warn_at = None
        while self._worker_of:
            task: Any = next(iter(self._worker_of if self._in_order else self._arrived), None)
            if task not in self._arrived:
                self._wait(task)
                continue
            worker, result = self._worker_of.pop(task), self._arrived.pop(task)
            self._num_tasks[worker] -= 1
            if isinstance(result, EndOfData):
                self._retire(worker)
            self._send_request()
            if isinstance(result, ExceptionWrapper):
                result.reraise()
            if not isinstance(result, EndOfData):
                return result
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _wait(self, task: int | None) -> None:
        """Wait for a batch: for `timeout` seconds or, where there is none, without end and with one warning."""
        if self._timeout or self._warned:
            return self._collect(self._timeout or None)
        self._warn_at = self._warn_at or time.monotonic() + _STUCK_S
        self._collect(max(0.001, self._warn_at - time.monotonic()), is_limit=False)
        if time.monotonic() >= self._warn_at and task not in self._arrived and self._worker_of:
            self._warned = True
            warnings.warn(
                f"DataLoader {self._culprit(task)} has not answered for {_STUCK_S:g} seconds. If that is too long, "
                "DataLoader(timeout=seconds) raises an error instead.",
                stacklevel=4,
            )

    def _culprit(self, task: int | None) -> str:
        """The worker that is waited for, and what it has to load."""
        task = next(iter(self._pool.requests)) if task is None else task
        worker = self._worker_of[task]
        return f"worker {worker} (pid {self._workers[worker].pid}){self._pool.at_work(worker)}"

    def _collect(self, timeout_s: float | None, is_limit: bool = True) -> None:
        """Take in the batches that are there; without a time limit, or with one above 0, wait for one.

        Raises RuntimeError when none has come within the limit, if it is one.
        """
        if not self._pool.is_usable:
            if self._worker_of:
                raise RuntimeError("DataLoader iterator has no workers left: they were shut down or have died")
            return
        received = self._pool.receive(timeout_s)
        if timeout_s and not received and is_limit:
            task = next(iter(self._worker_of)) if self._in_order else None
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds: {self._culprit(task)}")
        for _, (epoch, task, result) in received:
            if epoch == self._epoch:
                self._arrived[task] = result
                self._pool.requests.pop(task, None)

    def _send_request(self) -> None:
        """Send the sampler's next index to the next worker in turn that still has data."""
        try:
            index = self._next_index()
        except StopIteration:
            return
        for worker in itertools.islice(self._worker_cycle, self._num_workers):
            if self._is_active[worker] and (self._in_order or self._has_room(worker)):
                break
        else:
            return
        self._worker_of[self._send_idx] = worker
        self._pool.requests[self._send_idx] = worker, index
        self._num_tasks[worker] += 1
        self._pool.post(worker, (self._epoch, self._send_idx, index))
        self._send_idx += 1

    def _has_room(self, worker: int) -> bool:
        return self._num_tasks[worker] < self._prefetch_factor * self._num_workers // sum(self._is_active)

    def _retire(self, worker: int) -> None:
        """A worker's iterable dataset is exhausted: its unanswered requests of this epoch will stay so."""
        self._is_active[worker] = False
        for task in [task for task, owner in self._worker_of.items() if owner == worker and task not in self._arrived]:
            del self._worker_of[task], self._pool.requests[task]
        if not self._persistent_workers:
            self._pool.retire(worker)


def _start_workers(context, job: Job) -> WorkerPool:
    from pickle import PicklingError

    if context is None:
        import multiprocessing

        context = multiprocessing.get_context()
    try:
        return WorkerPool(context, job)
    except (TypeError, AttributeError, PicklingError):
        warnings.warn(
            "Got pickle error when attempting to start a worker Process. "
            "This might be because the worker Process arguments are not picklable. "
            "Python 3.14+ changed the multiprocessing start method in non-Mac POSIX platforms "
            "to 'forkserver', which requires the worker Process arguments to be picklable. "
            "You can also try multiprocessing.set_start_method('fork').",
            stacklevel=4,
        )
        raise
