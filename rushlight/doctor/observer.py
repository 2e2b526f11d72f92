"""What an observer of training keeps, and how it tells the checks and takes their suspicions."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ..core.dispatch.extension_points import distributed, module_caller, training_observer
from ..core.interrupts import raise_if_interrupted
from . import names
from .cuts import Cuts
from .events import OF_EACH_STEP, Backward, Call
from .findings import Finding, Findings, Related
from .history import History
from .idle import idle_for
from .latest import Latest
from .ledger import Ledger, Watched
from .lines import Lines
from .places import Place, assigned_name, is_caught_outside_loop, is_in_loop

__all__ = ["Observer"]


class _Thread(threading.local):
    """What nests within one thread."""

    def __init__(self) -> None:
        self.backward: Backward | None = None
        self.step: Any = None
        self.scaler_step: Any = None
        self.module: Any = None  # the outermost that is being called
        self.outer: Place | None = None  # its call
        self.layers: list[Any] = []  # of the running call of a module: those that act as in training


class Observer:
    """The state of a doctor, its end, and its checks. checks: instances of the classes of `checks/`, made for this doctor."""

    def __init__(self, checks: Iterable[Callable[[Any], Any]]) -> None:
        self.ledger = Ledger()
        self.cuts = Cuts(self.ledger)
        self.findings = Findings()
        self.lines = Lines(self._called, lambda: self.here.outer)
        self.optimizers: list[Watched] = []
        self.made = 0  # optimizers
        self.backwards = 0
        self.steps = 0  # of optimizers and by hand
        self.batches = 0
        self.skipped = 0
        self.latest = Latest()
        self.variables: dict[int, str] = {}  # of the program, that hold models: by the model's identity
        self.loaders: weakref.WeakKeyDictionary[Any, list[int]] = weakref.WeakKeyDictionary()
        self.is_cut_short = False  # an error or an exit has ended the program in a loop over a loader's batches
        self.caught: dict[Place, int] = {}
        self.abandoned: tuple[int, Callable[[], Any]] | None = (
            None  # (backwards then, report) of a caught error that left a loop
        )
        self.untold: set[int] = set()  # kinds of tapes that checks are to be told of once the lines are known
        self.scaled_results: dict[int, tuple[Any, float]] = {}  # by identity: (weak reference, scale)
        self.seen_tapes: dict[tuple[int, int], int] = {}
        self.on_certain: Callable[[Finding], None] | None = None
        self.process = os.getpid()
        self.with_dropout: weakref.WeakSet[Any] = weakref.WeakSet()  # modules whose forward calls a dropout function
        self.here = _Thread()
        self.lock = threading.RLock()
        self.handlers: dict[str, list[Callable]] = defaultdict(list)
        self.checks = [make(self) for make in checks]
        self.awaited = {check.waits_for for check in self.checks} - {""}  # events that have not happened yet
        self.broken: set[Any] = set()  # checks that are off
        self.idle: dict[tuple[str, Place], tuple[Place, str, str] | None] = {}  # by check and place of a suspicion
        self._subscribe()
        self.finished = False
        self.history = History(self)

    # ------------------------------------------------------------------------------------------ start and end

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """A check runs code of the program itself, which is no part of its training."""
        observer, caller = training_observer.value, module_caller.value
        training_observer.register(None)
        module_caller.register(None)
        was_on = self.lines.pause()
        try:
            yield
        finally:
            training_observer.register(observer)
            module_caller.register(caller)
            if was_on:
                self.lines.resume()

    @property
    def accumulates(self) -> bool:
        """Whether a step may have several backwards: what this asks of each backward is spared otherwise."""
        return any(o.window or not o.windows or o.windows[-1] > 1 for o in self.optimizers)

    def finish(self) -> None:
        """Judge: after it `findings.listed()` is complete."""
        if self.finished:
            return
        self.finished = True
        if self.abandoned is not None and self.abandoned[0] == self.backwards:
            self.abandoned[1]()
        names.give(self.ledger, self.variables)
        for check in sorted(self.checks, key=lambda check: check.is_last):
            finish = getattr(check, "finish", None)
            if finish is not None:
                self._tell(finish)
        self.findings.over = True
        self.latest.clear()

    def left(self, frames: Iterable[tuple[FrameType, int]]) -> None:
        """An error, an exit or a signal has ended the program in these frames, each with its line.

        What only a whole epoch shows is not judged in the middle of one.
        """
        self.is_cut_short = self.batches > 0 and is_in_loop(frames)

    def failed(self, error: BaseException) -> None:
        """The program ended by an error that nothing caught."""
        self.abandoned = None
        seen: set[int] = set()
        link: BaseException | None = error
        while link is not None and id(link) not in seen:
            seen.add(id(link))
            for report in getattr(link, "_reports", ()):
                report()
            link = link.__cause__ or link.__context__
        for handler in self.handlers["uncaught"]:
            self._tell(handler, error)

    def report_if_uncaught(self, error: BaseException, report: Callable[[], Any], place: Place) -> None:
        """Report where an error ends the program or its training, or is caught at the same place time and again."""
        reports = error.__dict__.setdefault("_reports", [])
        reports.append(report)
        self.caught[place] = self.caught.get(place, 0) + 1
        self.abandoned = (self.backwards, report) if is_caught_outside_loop(sys._getframe(1), error) else None
        if self.caught[place] >= 3:
            reports.remove(report)
            report()

    def _subscribe(self) -> None:
        """Who hears what: a check that waits for an event is not told of each step meanwhile."""
        handlers: dict[str, list[Callable]] = defaultdict(list)
        for check in self.checks:
            if check in self.broken:
                continue
            for method in dir(check):
                name = method.removeprefix("on_")
                if name != method and not (check.waits_for in self.awaited and name in OF_EACH_STEP):
                    handlers[name].append(getattr(check, method))
        self.handlers = handlers

    def happened(self, name: str) -> None:
        """An event that checks may wait for."""
        if name in self.awaited:
            self.awaited.discard(name)
            self._subscribe()

    def emit(self, name: str, event: Any) -> None:
        """Tell the checks that want this event."""
        if name in self.awaited:
            self.happened(name)
        for handler in self.handlers[name]:
            try:
                handler(event)
            except Exception as error:
                self._broke(handler, error)

    def _tell(self, handler: Callable, *values: Any) -> None:
        """Tell one check."""
        try:
            handler(*values)
        except Exception as error:
            self._broke(handler, error)

    def _broke(self, handler: Callable, error: Exception) -> None:
        """A mistake of a check's own never reaches the program: the check is off from now on."""
        raise_if_interrupted(error)
        if os.environ.get("RUSHLIGHT_CHECK") == "1":
            raise error
        check = getattr(handler, "__self__", None)
        self.broken.add(check)
        self._subscribe()
        name = getattr(check, "name", "a check")
        print(f"gradient doctor: {name} failed and is off: {type(error).__name__}: {error}", file=sys.stderr)

    def report(
        self,
        check: Any,
        place: Place | None,
        message: str,
        mend: str,
        related: Iterable[tuple[Place | None, str]] = (),
        *,
        severity: str = "",
        after: int = 3,
        at_end: int = 1,
    ) -> Finding | None:
        """Suspect one thing at one line; it is certain after so many times, or at the end after `at_end`."""
        if place is None:
            return None
        others = [Related(p, role) for p, role in related if p is not None]
        if (idle := self._idle_for(check.name, place, others)) is not None:
            place, message, mend = idle[0], f"{idle[1]}; so at line {place.line}: {message}", idle[2]
        finding = Finding(
            check.name,
            place,
            severity or check.severity,
            message,
            mend,
            max(1, self.steps + (not self.finished)),
            0,
            others,
            after,
            at_end,
        )
        known = self.findings.suspect(finding)
        if len(known.moments) < 50 and not self.finished:  # what is known only at the end has no moment
            known.moments.append(max(0, self.history.count - 1))
        if not known.told and self.findings.is_certain(known):
            known.told = True
            if self.on_certain is not None:
                self.on_certain(known)
        return known

    def _idle_for(self, check: str, place: Place, others: list[Related]) -> tuple[Place, str, str] | None:
        """(a statement without an effect that the suspicion comes from, what it is, what to write instead)."""
        key = check, place
        if key not in self.idle:
            owner = assigned_name(place) if check == "scheduler-never-stepped" else ""
            found = idle_for(check, place, [r.place for r in others], owner)
            text = "" if found is None else found[0].text.partition("  #")[0]
            self.idle[key] = None if found is None else (found[0], found[1].message(text), found[1].mend(text))
        return self.idle[key]

    # ------------------------------------------------------------------------------------------ windows

    def _called(self, call: Call, inputs: tuple, results: tuple) -> None:
        if call.had_history and not call.has_history:
            self.cuts.note_call(call, inputs)
        for handler in self.handlers["call"]:
            self._tell(handler, call, inputs, results)

    def _window_over(self) -> None:
        """A step has ended: one window less in which lines are taken."""
        if distributed.value is not None:
            self.happened("distributed")
        self.lines.window_over(self.steps)
        self.cuts.window_over()

    def calls_plainly(self) -> bool:
        """Compiled functions run as they are written."""
        return True
