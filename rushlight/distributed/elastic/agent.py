"""The launcher of one machine in a job whose machines may come and go: `torchrun --nnodes 1:4 --rdzv-endpoint host:port`.

The first launcher that can listen at the endpoint keeps the store, through which all meet, and decides (`coordinator.py`). In each round
new processes start, with new ranks; a program goes on from its last checkpoint.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any

from ..errors import DistError, DistNetworkError
from ..store import PrefixStore, TCPStore
from .coordinator import BEAT_S, Coordinator, options_of
from .settings import endpoint_of, environment_of, free_port, nodes_of
from .workers import POLL_S, Workers

__all__ = ["Agent"]

_LOOK_S = 0.1
_CUT_MS = 10_000  # without an acknowledgement from the machine of the store


class Agent:
    """Starts `processes` processes of a job on this machine, round after round."""

    def __init__(self, args: argparse.Namespace, processes: int):
        self._args, self._processes = args, processes
        self._least, self._most = nodes_of(args)
        self._options = options_of(args.rdzv_conf)
        os.environ["TORCHELASTIC_RUN_ID"] = str(args.rdzv_id)  # by which launchers of another job are refused
        host, port = endpoint_of(args)
        self._connection = self._meet(host, port)
        self._store = PrefixStore("elastic", self._connection)
        self.workers: Workers | None = None  # those of the last round
        self._beating = threading.Event()
        self._number = self._store.add("come", 1)
        self._connection.leave_behind(f"elastic/gone/{self._number}")
        self._tell_who()
        if self._connection.is_master:
            Coordinator(self._store_of_thread(host, port), args, self._least, self._most)

    def _meet(self, host: str, port: int) -> TCPStore:
        """The store at the endpoint, kept by this launcher where it is the first one on the endpoint's machine."""
        limit = timedelta(seconds=self._options["join_timeout"])
        try:
            return TCPStore(host, port, is_master=True, timeout=limit)
        except DistNetworkError as error:
            if "failed to listen" not in str(error):
                raise
        return _impatient(TCPStore(host, port, is_master=False, timeout=limit))

    def _store_of_thread(self, host: str, port: int) -> PrefixStore:
        """Another connection, since calls of one wait for each other."""
        limit = timedelta(seconds=self._options["read_timeout"])
        return PrefixStore("elastic", _impatient(TCPStore(host, self._connection.port or port, timeout=limit)))

    def _tell_who(self) -> None:
        address = self._connection._connection.getsockname()[0]
        who = {"host": socket.gethostname(), "pid": os.getpid(), "processes": self._processes, "address": address}
        own = self._store_of_thread(self._connection.host, self._connection.port)

        def beat() -> None:
            with suppress(DistError):
                while not self._beating.wait(BEAT_S):
                    own.add(f"beat/{self._number}", 1)

        self._store.set(f"member/{self._number}", json.dumps(who))
        threading.Thread(target=beat, daemon=True, name="torchrun-beat").start()

    # ------------------------------------------------------------------------------------------ rounds

    def run(self) -> int:
        """Take part until the job ends; its status."""
        number = 0
        try:
            while self._store.check([f"stop/{number}"]):  # of a machine that comes later
                number += 1
            if self._store.check([f"round/{number}"]):
                self._await(f"stop/{number}")
                number += 1
            while (status := self._round(number)) is None:
                number += 1
        except DistError as error:
            self._say(f"the launcher that keeps the store is gone: {error}")
            status = 1
        finally:
            self._beating.set()
        return status

    def _round(self, number: int) -> int | None:
        """The status of the job where it has ended, or None."""
        self._store.set(f"ready/{number}/{self._number}", str(free_port()))
        if not self._await(f"round/{number}"):
            return self._leave()
        decision = json.loads(self._store.get(f"round/{number}"))
        if self._number not in decision["members"]:  # there are enough
            return None if self._await(f"stop/{number}") else self._leave()
        workers = self._start(decision)
        try:
            reported = False
            while not self._store.check([f"stop/{number}"]):
                if self._store.check(["end"]):
                    return self._leave(workers)
                status = workers.status()
                if status is not None and not reported:
                    reported = True
                    report = {"status": status, "why": workers.death}
                    self._store.set(f"report/{number}/{self._number}", json.dumps(report))
                time.sleep(POLL_S)
        finally:
            workers.end()
        if self._connection.is_master:
            self._say(f"new round: {self._store.get(f'stop/{number}').decode()}")
        return None

    def _start(self, decision: dict[str, Any]) -> Workers:
        members, sizes = decision["members"], decision["sizes"]
        place = members.index(self._number)
        master = decision["address"], decision["port"]
        environment = environment_of(
            self._args, decision["attempt"], master, (place, len(members)), self._processes, sum(sizes)
        )
        self.workers = Workers(self._args, environment, self._processes, sum(sizes[:place]))
        return self.workers

    def _await(self, key: str) -> bool:
        """Wait for a key; False where the job ends before."""
        while not self._store.check([key]):
            if self._store.check(["end"]):
                return False
            time.sleep(_LOOK_S)
        return True

    def _leave(self, workers: Workers | None = None) -> int:
        end = json.loads(self._store.get("end"))
        if workers is not None:
            workers.end()
        if end["why"] and self._connection.is_master:
            self._say(end["why"])
        self._store.set(f"left/{self._number}", "1")
        if self._connection.is_master:
            self._store.wait(["over"], timedelta(seconds=self._options["read_timeout"]))
        return end["status"]

    def _say(self, text: str) -> None:
        print(f"torch.distributed.run: {text}", file=sys.stderr, flush=True)


def _impatient(store: TCPStore) -> TCPStore:
    """Let calls fail where the machine of the store cannot be reached any more (Linux)."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        store._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _CUT_MS)
    return store
