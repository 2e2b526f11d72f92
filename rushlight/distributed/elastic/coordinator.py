"""Which machines a job has: decided by the launcher that keeps the store, in rounds. A round ends when a machine comes or goes.

Keys of the store, of launcher i and round r:

    come            how many launchers have come; each takes the next number
    member/i        who it is: {"host", "pid", "processes", "address"}
    beat/i          counts up while its host is there
    gone/i          its connection has ended
    ready/r/i       it has no processes any more, and takes part in round r: a port for the job's process 0
    round/r         the decision: {"members", "sizes", "address", "port", "attempt"}
    report/r/i      its processes have ended: {"status", "why"}
    stop/r          round r ends: why
    end             the job ends: {"status", "why"}
    left/i          it has read that
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from typing import Any

from ..store import Store

__all__ = ["BEAT_S", "Coordinator", "options_of"]

BEAT_S = 1.0
_DEAD_S = 6.0  # without a beat
_LOOK_S = 0.1
_LEAVE_S = 5.0  # for the others to read that the job has ended


def options_of(text: str) -> dict[str, float]:
    """`--rdzv-conf` with torch's defaults: seconds until enough machines have come, and for more of them after that.

    Raises ValueError for another option.
    """
    options = {"join_timeout": 600.0, "last_call_timeout": 30.0, "read_timeout": 60.0}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name.strip() not in options:
            raise ValueError(f"--rdzv-conf {name}: not one of {', '.join(options)}")
        options[name.strip()] = float(value)
    return options


class Coordinator:
    """Decides; `run` returns when the job has ended."""

    def __init__(self, store: Store, args: argparse.Namespace, least: int, most: int):
        self._store, self._least, self._most = store, least, most
        self._options, self._restarts_left, self._max = options_of(args.rdzv_conf), args.max_restarts, args.max_restarts
        self._beats: dict[int, tuple[bytes, float]] = {}  # the last count of a launcher, and when it was seen to change
        self._known: dict[int, dict[str, Any]] = {}
        self._dead: set[int] = set()
        threading.Thread(target=self.run, daemon=True, name="torchrun-coordinator").start()

    def run(self) -> None:
        """Hold one round after another."""
        number = 0
        status, why = 0, ""
        while True:
            members = self._gather(number)
            if members is None:
                words = f"{self._least} machines have not come within {self._options['join_timeout']:g} s"
                status, why = 1, f"RendezvousTimeoutError: {words}, but {len(self._alive())}"
                break
            self._begin(number, members)
            outcome = self._watch(number, members)
            if isinstance(outcome, dict):
                status, why = outcome["status"], outcome["why"]
                break
            self._store.set(f"stop/{number}", outcome)
            number += 1
        self._store.set("end", json.dumps({"status": status, "why": why}))
        deadline = time.monotonic() + _LEAVE_S
        while time.monotonic() < deadline and any(not self._store.check([f"left/{i}"]) for i in self._alive()):
            time.sleep(_LOOK_S)
        self._store.set("over", "1")

    def _alive(self) -> list[int]:
        """The launchers that there are, in the order in which they have come."""
        now = time.monotonic()
        for i in range(1, self._store.add("come", 0) + 1):
            if i not in self._known and self._store.check([f"member/{i}"]):
                self._known[i] = json.loads(self._store.get(f"member/{i}"))
            if i in self._known:
                beat = self._store.get(f"beat/{i}") if self._store.check([f"beat/{i}"]) else b""
                if i not in self._beats or self._beats[i][0] != beat:
                    self._beats[i] = beat, now
                elif now - self._beats[i][1] > _DEAD_S or self._store.check([f"gone/{i}"]):
                    self._dead.add(i)
        return [i for i in self._known if i not in self._dead]

    def _gather(self, number: int) -> list[int] | None:
        """The members of a round, once all who live are ready; None where too few come."""
        begun, enough_since = time.monotonic(), None
        while True:
            alive = self._alive()
            ready = [i for i in alive if self._store.check([f"ready/{number}/{i}"])]
            now = time.monotonic()
            if len(ready) >= self._least:
                enough_since = enough_since or now
                # a later round need not wait for machines that are not known
                patience = self._options["last_call_timeout"] if number == 0 else 0.0
                if len(ready) >= self._most or (len(ready) == len(alive) and now - enough_since >= patience):
                    return ready[: self._most]
            elif now - begun > self._options["join_timeout"]:
                return None
            time.sleep(_LOOK_S)

    def _begin(self, number: int, members: list[int]) -> None:
        first = members[0]
        decision = {
            "members": members,
            "sizes": [self._known[i]["processes"] for i in members],
            "address": self._known[first]["address"],
            "port": int(self._store.get(f"ready/{number}/{first}")),
            "attempt": self._max - self._restarts_left,
        }
        self._store.set(f"round/{number}", json.dumps(decision))

    def _watch(self, number: int, members: list[int]) -> dict[str, Any] | str:
        """What ends a round: {"status", "why"} of the job, or why another round begins."""
        while True:
            reports = {}
            for i in members:
                if self._store.check([f"report/{number}/{i}"]):
                    reports[i] = json.loads(self._store.get(f"report/{number}/{i}"))
            failed = next((report for report in reports.values() if report["status"]), None)
            if failed is not None:
                if not self._restarts_left:
                    return failed
                self._restarts_left -= 1
                return f"{failed['why']}; {self._restarts_left} of {self._max} restarts are left"
            if len(reports) == len(members):
                return {"status": 0, "why": ""}
            alive = self._alive()
            gone = [self._known[i] for i in members if i not in alive and i not in reports]
            if gone:
                return f"the launcher on host {gone[0]['host']} (pid {gone[0]['pid']}) is gone"
            new = [i for i in alive if i not in members]
            if new and len(members) < self._most and not reports:
                return f"the launcher on host {self._known[new[0]]['host']} (pid {self._known[new[0]]['pid']}) has come"
            time.sleep(_LOOK_S)
