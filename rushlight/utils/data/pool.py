"""The worker processes of one iterator: started, fed, listened to, and cleared away."""

import os
import time
from typing import Any

from rushlight.utils.data.fetch import shorten
from rushlight.utils.data.lifeline import interrupts_held, start_servers, stop_watching, watch_process
from rushlight.utils.data.native_threads import one_native_thread
from rushlight.utils.data.transport import Channel, channel_over, open_channel_pair
from rushlight.utils.data.waiting import READABLE, WRITABLE, open_poll
from rushlight.utils.data.worker import Job, run_worker

# A worker may finish the sample at hand and clean up; after that it is asked by a signal, then killed.
_GRACE_S = 5.0
_SIGNAL_GRACE_S = 1.0
# When one has died, the others must not hold up the report.
_GRACE_AFTER_DEATH_S = 0.2
# How soon a Ctrl-C cuts the waiting short, and what a worker is left to exit then.
_HURRY_S = 0.1
_LAST_S = 0.1


class WorkerPool:
    """`job.num_workers` processes, each with a channel of its own: no locks, queues or threads are shared.

    A worker is waited for by its channel and by its process together, so that its death is noticed at once.
    """

    def __init__(self, context, job: Job) -> None:
        self.processes: list = []
        self._channels: list[Channel] = []
        self._watches: list[int] = []
        self._poll = open_poll()
        self._worker_by_channel: dict[int, int] = {}
        self._worker_by_watch: dict[int, int] = {}
        self._owner = os.getpid()
        self._closed = self._ended = self._hurries = False
        # task -> (worker, index) of what has not been answered; whoever posts requests keeps it
        self.requests: dict[int, tuple[int, object]] = {}
        try:
            self._start_all(context, job)
        except BaseException:
            self.close()
            raise

    def _start_all(self, context, job: Job) -> None:
        import threading

        import numpy as np

        np.random  # noqa: B018  loaded here, once, and not in every forked worker
        tied_to_thread = threading.current_thread() is threading.main_thread()
        start_servers(context)
        with one_native_thread():
            for worker in range(job.num_workers):
                self._start(context, job, worker, tied_to_thread)

    def _start(self, context, job: Job, worker: int, tied_to_thread: bool) -> None:
        here, there = open_channel_pair()
        channel = channel_over(here)
        self._channels.append(channel)
        try:
            arguments = (job, worker, there, self._owner, tied_to_thread)
            process = context.Process(target=run_worker, args=arguments, daemon=True)
            with interrupts_held():
                process.start()
                self.processes.append(process)  # known, whatever is raised next
        finally:
            there.close()
        watch = watch_process(process.pid, process.sentinel)
        self._watches.append(watch)
        self._worker_by_channel[channel.fileno()] = worker
        self._worker_by_watch[watch] = worker
        self._poll.register(channel, READABLE)
        self._poll.register(watch, READABLE)

    @property
    def is_usable(self) -> bool:
        return not self._closed and self._owner == os.getpid()

    def post(self, worker: int, message) -> None:
        """Send a message to a worker, now or as soon as its channel has room."""
        channel = self._channels[worker]
        try:
            if not channel.post(message):
                self._poll.modify(channel, READABLE | WRITABLE)
        except ConnectionError:
            self._report_dead([worker])

    def receive(self, timeout_s: float | None = None) -> list:
        """(worker, message) of every worker that has one ready, at least one unless the time runs out.

        RuntimeError if a worker has died that should be at work.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = self._poll.poll(None if left_s is None else left_s * 1000)
            dead = [self._worker_by_watch[fd] for fd, _ in ready if fd in self._worker_by_watch]
            received = self._read([entry for entry in ready if entry[0] in self._worker_by_channel])
            if dead and not received:  # what it sent before is taken first: it is not at work on that
                self._report_dead(dead)
            if received or left_s == 0.0:
                return received

    def _read(self, ready) -> list:
        received = []
        for fd, event in ready:
            worker = self._worker_by_channel[fd]
            channel = self._channels[worker]
            try:
                if event & WRITABLE and channel.flush():
                    self._poll.modify(channel, READABLE)
                if event & ~WRITABLE:
                    received.append((worker, channel.receive()))
            except BlockingIOError:  # of a stream, a part of a message
                pass
            except (EOFError, ConnectionError):
                self._report_dead([worker])
            except BaseException:  # a batch that cannot be unpickled, or an interrupt: its message is lost
                self.close()
                raise
        return received

    def _report_dead(self, workers: list[int]) -> None:
        """Clear away the pool and raise: which workers died, and of what."""
        processes = [self.processes[worker] for worker in workers]
        for process in processes:
            process.join(_GRACE_AFTER_DEATH_S)
        self.close(_GRACE_AFTER_DEATH_S)
        pids = ", ".join(str(process.pid) for process in processes)
        facts = "; ".join(
            f"worker {worker} {_fate(self.processes[worker])}{self.at_work(worker)}" for worker in workers
        )
        causes = " ".join(_cause_of_death(process) for process in processes)
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly: {facts}") from RuntimeError(causes)

    def at_work(self, worker: int) -> str:
        """What a worker has been asked for and has not answered, as the end of a sentence."""
        indices = [index for owner, index in self.requests.values() if owner == worker]
        if not indices:
            return ", with nothing to load"
        if all(index is None or (isinstance(index, list) and set(index) == {None}) for index in indices):
            return f" while it had to load {len(indices)} batches of its iterable dataset"
        first, *others = map(shorten, indices)
        return f" while it had to load the samples at indices {first}" + (
            f", then {', '.join(others)}" if others else ""
        )

    def retire(self, worker: int) -> None:
        """Let a worker go that has nothing left to do."""
        channel, watch = self._channels[worker], self._watches[worker]
        for fd, workers in ((channel.fileno(), self._worker_by_channel), (watch, self._worker_by_watch)):
            if workers.pop(fd, None) is not None:
                self._poll.unregister(fd)
        channel.close()

    def close(self, grace_s: float | None = None) -> None:
        """Hang up, wait for the workers to exit, end those that do not. What an interrupt leaves, another call does."""
        self._closed = True
        is_owner = self._owner == os.getpid()  # else this is a forked copy: the workers are not its own
        while self._channels:
            self._channels[-1].close(hang_up=is_owner)
            self._channels.pop()
        while self._watches:
            stop_watching(self._watches.pop())
        if is_owner and not self._ended:
            self._end_processes(_GRACE_S if grace_s is None else grace_s)
            self._ended = True

    def hurry(self) -> None:
        """Let a `close` that is under way wait no longer for workers to exit by themselves."""
        self._hurries = True

    def _end_processes(self, grace_s: float) -> None:
        self._join_all(self.processes, grace_s)
        for stop in ("terminate", "kill"):
            alive = [process for process in self.processes if process.is_alive()]
            for process in alive:
                getattr(process, stop)()
            self._join_all(alive, _SIGNAL_GRACE_S)
        for process in self.processes:
            _finish(process)

    def _join_all(self, processes: list, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        for process in processes:
            while process.is_alive() and not self._hurries and (left_s := deadline - time.monotonic()) > 0:
                process.join(min(left_s, _HURRY_S))
            process.join(_LAST_S if self._hurries else 0)


def _finish(process) -> None:
    """Do now what multiprocessing would do by callbacks when the object dies, where an interrupt would be lost."""
    import multiprocessing.process

    finalizer = getattr(getattr(process, "_popen", None), "finalizer", None)
    if finalizer is not None and process.exitcode is not None:
        finalizer()
    objects: Any = getattr(multiprocessing.process, "_dangling", set())
    objects.discard(process)


def _fate(process) -> str:
    import signal

    code = process.exitcode
    if code is None:
        return f"(pid {process.pid}) closed its connection"
    if code < 0:
        return f"(pid {process.pid}) was killed by signal {-code} ({signal.strsignal(-code)})"
    return f"(pid {process.pid}) exited with code {code}"


def _cause_of_death(process) -> str:
    import signal

    code = process.exitcode
    if code is not None and code < 0:
        return f"DataLoader worker (pid {process.pid}) is killed by signal: {signal.strsignal(-code)}. "
    return (
        f"DataLoader worker (pid {process.pid}) exited unexpectedly with exit code {code}. "
        "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give better error trace."
    )
