"""The doctor: it follows a program's training loop, keeps the accounts, and asks the checks."""

from __future__ import annotations

import os
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.dispatch.extension_points import distributed, module_caller, training_observer
from ..core.dispatch.mode import thread
from ..core.tensor.tensor import Tensor
from . import names
from .events import Assign, Backward, Batch, Clip, Epoch, Forward, Mode, Schedule, Step, Zero
from .ledger import Contribution, Entry, Watched, stamp_of, writer_of
from .observer import Observer
from .places import (
    Place,
    called_name,
    caller_of,
    here,
    is_of_program,
    is_with,
    own_code_called,
    place_of,
    returns,
)
from .tape import Tape, constant_factor

__all__ = ["Doctor"]

_MOST_OPTIMIZERS = 256  # that are remembered
_NAMED_OPTIMIZERS = 8  # whose models are looked for, which takes some 20 ms each


def _lane(entries: list[Entry]) -> int:
    """The number of the optimizer that tensors belong to, 0 for none."""
    return next((o.number for e in entries for ref in e.owners if (o := ref()) is not None), 0)


def _feeds(backward: Backward, watched: Watched) -> bool:
    """Whether gradients of a backward wait in an optimizer's tensors."""
    return any(e.contributions for e in backward.entries if any(ref() is watched for ref in e.owners))


def _sequence(value: Any) -> Any:
    return (value,) if isinstance(value, Tensor) else value


class Doctor(Observer):
    """The observer of a program's training."""

    # ------------------------------------------------------------------------------------------ start and end

    def start(self) -> None:
        """Observe from now on."""
        training_observer.register(self)
        module_caller.register(self.call_module)
        self.lines.resume()

    def stop(self) -> None:
        """Observe no longer; what was suspected is judged as at the end of a program."""
        if training_observer.value is self:
            training_observer.register(None)
            module_caller.register(None)
        self.lines.pause()
        self.finish()

    # ------------------------------------------------------------------------------------------ backward

    @contextmanager
    def backward(
        self, roots: Any, grads: Any, inputs: Any, retain: bool, create: bool, /, *, accumulates: bool
    ) -> Iterator[None]:
        """Around `backward()` and `grad()`."""
        here_now = self.here
        outer = here_now.backward
        if outer is not None or os.getpid() != self.process:
            with self._inner_backward(roots, outer, accumulates):
                yield
            return
        self.lines.pause()
        with self.lock:
            event = self._begin(roots, retain, create, accumulates)
            if event is not None:
                event.weighted = grads is not None and any(g is not None for g in _sequence(grads))
        if event is None:
            yield
            return
        here_now.backward = event
        if self.lines.windows:
            self.lines.pause()  # again: a check may have asked for lines just now, and the backward is to run as without the doctor
        try:
            yield
        except BaseException as error:
            here_now.backward = None
            with self.lock:
                for handler in self.handlers["failed"]:
                    self._tell(handler, event, error)
            event.tape, event.roots = None, []
            raise
        else:
            here_now.backward = None
            with self.lock:
                self._end(event, inputs)
        finally:
            event.tape, event.roots = None, []
            self.lines.resume()

    def _begin(self, roots: Any, retain: bool, create: bool, accumulates: bool) -> Backward | None:
        place = here(2)
        if place is None:
            return None
        self.backwards += 1
        tensors = [roots] if isinstance(roots, Tensor) else [t for t in roots if isinstance(t, Tensor)]
        event = Backward(self.backwards, place, accumulates, retain, create, self.steps, self.batches, tensors)
        event.in_step = self.here.step is not None
        if retain:
            self.happened("retained")
        scales = [scale for t in tensors if (scale := self._scale_of(t))]
        event.scaled = bool(scales)
        event.tape = tape = Tape([t._edge for t in tensors])
        event.signature, event.kinds = tape.signature, tape.kinds
        if tape.roots:
            event.factor = constant_factor(tape.roots[0])[0] / (scales[0] if scales else 1.0)
        for leaf in tape.leaves:
            tensor = leaf.ref()
            if tensor is not None:
                self._check_manual(self.ledger.entry(tensor))
        key = tape.signature, id(place)
        seen = self.seen_tapes[key] = self.seen_tapes.get(key, 0) + 1
        has_lines = self.lines.learn(tape)
        self.cuts.note_backward(place, tensors, self.lines.witness)
        if has_lines and (seen <= 2 or self.lines.are_taken or tape.kinds in self.untold):
            self.untold.discard(tape.kinds)
            self.emit("tape", event)
        elif not has_lines:
            self.untold.add(tape.kinds)
        self.emit("before_backward", event)
        return event

    def _scale_of(self, tensor: Any) -> float:
        """What a GradScaler has multiplied a tensor by, 0 where it has not."""
        ref, scale = self.scaled_results.get(id(tensor), (None, 0.0))
        return scale if ref is not None and ref() is tensor else 0.0

    def _end(self, event: Backward, inputs: Any) -> None:
        if event.accumulates and event.tape is not None:
            wanted = None if inputs is None else {id(t) for t in ([inputs] if isinstance(inputs, Tensor) else inputs)}
            for leaf in event.tape.leaves:
                tensor = leaf.ref()
                if tensor is None or tensor._grad is None or (wanted is not None and id(tensor) not in wanted):
                    continue
                self._contribute(event, self.ledger.entry(tensor))
        lanes = sorted([o.number for o in self.optimizers if o.window and o.window[-1] is event])
        kind = "backward" if event.accumulates else "grad"
        self.history.note(kind, event.place, lanes[0] if lanes else 0, n=event.number, lanes=lanes)
        self.emit("backward", event)

    def _contribute(self, event: Backward, entry: Entry) -> None:
        if event.entries and event.entries[-1] is entry:
            return
        made = event.contribution
        if made is None:
            made = event.contribution = Contribution(
                event.number, event.place, event.signature, event.factor, event.batches, event.steps, event.kinds
            )
        entry.contributions.append(made)
        entry.total += 1
        entry.latest = self.steps
        event.entries.append(entry)
        self.ledger.note(entry)
        for ref in entry.owners:
            watched = ref()
            if watched is not None and (not watched.window or watched.window[-1] is not event):
                watched.window.append(event)

    @contextmanager
    def _inner_backward(self, roots: Any, outer: Backward | None, accumulates: bool) -> Iterator[None]:
        """A backward within another: what it adds belongs to the outer one."""
        tape = None
        if outer is not None and accumulates:
            tensors = [roots] if isinstance(roots, Tensor) else [t for t in roots if isinstance(t, Tensor)]
            tape = Tape([t._edge for t in tensors])
        yield
        if tape is not None and outer is not None:
            with self.lock:
                for leaf in tape.leaves:
                    tensor = leaf.ref()
                    if tensor is not None and tensor._grad is not None:
                        self._contribute(outer, self.ledger.entry(tensor))

    def _check_manual(self, entry: Entry) -> None:
        """Whether the program has stepped this tensor by hand, and cleared or changed its gradient, since its backward."""
        if not entry.contributions:
            return
        by_hand = not entry.owners and not any(
            o.steps for o in self.optimizers
        )  # else a copy: a target network, an average
        if by_hand and self.ledger.was_written(entry):
            tensor, pending = entry.tensor, entry.pending
            grad = tensor._grad
            place = writer_of(tensor)
            cleared_first = grad is not None and 0 < stamp_of(grad) < stamp_of(tensor)
            what = self.ledger.reconcile(entry)
            if what == "cleared" and cleared_first and pending:
                self.emit("zero", Zero(entry.cleared, [entry], [entry], "zeros written in place"))
            self._stepped_by_hand(entry, place or here(2))
        else:
            self.ledger.reconcile(entry)

    def _stepped_by_hand(self, entry: Entry, place: Place | None) -> None:
        entry.own_mark = None
        if place is None:
            return
        event = Step(self.steps, place, None, [entry], [], manual=True)
        self.emit("step", event)
        entry.used = len(entry.contributions)
        entry.used_at = place
        entry.steps += 1
        if entry.steps > self.steps:
            self.steps += 1
            self._window_over()

    # ------------------------------------------------------------------------------------------ optimizers

    def watched(self, optimizer: Any) -> Watched:
        """The record of an optimizer, made when it is first seen."""
        for known in self.optimizers:
            if known.ref() is optimizer:
                self._take_groups(known, optimizer)
                return known
        place = here(2)
        self.made += 1
        if self.made == 2:
            self.happened("second_optimizer")
        made = Watched(optimizer, place, self.made)  # type: ignore[arg-type]
        if len(self.optimizers) >= _MOST_OPTIMIZERS:
            self.optimizers = [o for o in self.optimizers if o.ref() is not None][-_MOST_OPTIMIZERS:]
        self.optimizers.append(made)
        self._take_groups(made, optimizer)
        return made

    def _take_groups(self, watched: Watched, optimizer: Any) -> None:
        sizes = [len(group["params"]) for group in optimizer.param_groups]
        if sizes == watched.groups and watched.steps:
            return
        watched.groups = sizes
        watched.entries = [self.ledger.entry(p) for group in optimizer.param_groups for p in group["params"]]
        for entry in watched.entries:
            if not any(ref() is watched for ref in entry.owners):
                entry.owners.append(weakref.ref(watched))

    def optimizer_made(self, optimizer: Any, /) -> None:
        """An optimizer has its parameters."""
        with self.lock:
            watched = self.watched(optimizer)
            if watched.place is not None and returns(watched.place):
                watched.caller = caller_of(sys._getframe(1), watched.place)
            if watched.number <= _NAMED_OPTIMIZERS:
                watched.models = names.models_of({id(e.ref()) for e in watched.entries})
            if not self.steps:
                self.lines.begin(self.made)
            if distributed.value is not None:
                self.happened("distributed")
            self.emit("optimizer", watched)

    @contextmanager
    def step(self, optimizer: Any, args: tuple, kwargs: dict[str, Any], /) -> Iterator[None]:
        """Around a step."""
        here_now = self.here
        place = here(2)
        if here_now.step is not None or place is None or os.getpid() != self.process:
            yield
            return
        closure = bool(args and args[0] is not None) or kwargs.get("closure") is not None
        here_now.step = optimizer
        if not closure:
            self.lines.pause()
        with self.lock:
            watched = self.watched(optimizer)
            event = Step(self.steps + 1, place, watched, [], watched.window, closure)
            if not closure:
                self._look_at_gradients(event)
                self.history.note_step(event)
                self.emit("step", event)
                if self.lines.windows:
                    self.lines.pause()  # again, as above
        try:
            yield
        finally:
            here_now.step = None
            with self.lock:
                self._stepped(event, closure)
            self.lines.resume()

    def _look_at_gradients(self, event: Step) -> None:
        assert event.optimizer is not None
        for entry in event.optimizer.entries:
            tensor = entry.ref()
            if tensor is None:
                continue
            held, pending = entry.contributions, entry.pending
            if self.ledger.reconcile(entry) == "cleared" and pending and entry.cleared is not None:
                cleared, entry.contributions = entry.cleared, held
                self.emit("zero", Zero(cleared, [entry], [entry], "writing zeros into .grad"))
                entry.clear(cleared)
            if tensor._grad is not None:
                event.entries.append(entry)

    def _stepped(self, event: Step, closure: bool) -> None:
        watched = event.optimizer
        assert watched is not None
        if closure:
            self._look_at_gradients(event)
            self.history.note_step(event)
            self.emit("step", event)
        place = event.place
        for entry in watched.entries:
            entry.used = len(entry.contributions)
            entry.used_at = place
        if closure or not watched.keeps_gradients:
            for entry in watched.entries:
                self.ledger.note(entry)
        watched.steps += 1
        watched.step_place = event.place
        watched.recent.append(self.steps)
        self.latest.note(watched.optimizer, self.steps, watched.models)
        watched.models = []
        if len(watched.window) == 1:
            watched.windows.append(1)
            watched.usual_place = watched.window[0].place
        else:
            places = Counter(b.place for b in watched.window)
            watched.windows.append(max(places.values(), default=0))
            watched.usual_place = places.most_common(1)[0][0] if places else None
        self.steps += 1
        self.emit("stepped", event)
        watched.window = []
        self._window_over()

    def clearing(self, params: Iterable[Tensor], to_none: bool, /) -> None:
        """`zero_grad` of an optimizer or a module."""
        if os.getpid() != self.process:
            return
        with self.lock:
            entries = [entry for p in params if (entry := self.ledger.known(p)) is not None]
            for entry in entries:
                if len(entry.contributions) > entry.used or not entry.owners:
                    self._check_manual(entry)
            self._cleared(entries, "zero_grad()", here(2))

    def _cleared(self, entries: list[Entry], how: str, place: Place | None) -> None:
        held = [e for e in entries if e.ref() is not None and e.contributions]
        event = Zero(place, entries, [e for e in held if e.pending > 0], how)
        if held or how == "zero_grad()":
            self.history.note("zero", place, _lane(entries), lost=len(event.pending))
        self.emit("zero", event)
        for entry in entries:
            entry.clear(place)
            if how == "zero_grad()":
                entry.grad_mark = None
        for watched in self.optimizers:
            if watched.window and any(ref() is watched for e in held for ref in e.owners):
                watched.window = [b for b in watched.window if _feeds(b, watched)]
        self.emit("cleared", event)

    def assigned(self, tensor: Tensor, value: Tensor | None, /) -> None:
        """`tensor.grad = value`."""
        if value is None:
            entry = self.ledger.known(tensor)
            if entry is None or not entry.contributions:
                return
        if self.here.backward is not None or os.getpid() != self.process:
            return
        with self.lock:
            entry = self.ledger.known(tensor) if value is None else self.ledger.entry(tensor)
            if entry is None or (value is None and tensor._grad is None):
                return
            place = here(2)
            if value is None:
                if entry.contributions:
                    self._check_manual(entry)
                    self._cleared([entry], "= None", place)
                return
            if place is None:
                return
            made = Contribution(self.backwards, place, 0, 1.0, self.batches, self.steps, assigned=True)
            entry.contributions, entry.used = [made], 0
            entry.total += 1
            entry.latest = self.steps
            entry.grad_mark = None
            entry.edited = True
            self.emit("assign", Assign(place, entry))

    def grad_of_non_leaf(self, tensor: Tensor, /) -> None:
        """`.grad` of a tensor was read in which none is kept."""
        with self.lock:
            for handler in self.handlers["non_leaf"]:
                self._tell(handler, here(2), tensor)

    def clipping(self, params: list[Tensor], what: str, limit: float, /) -> None:
        """Gradients are about to be limited."""
        with self.lock:
            entries = [entry for p in params if (entry := self.ledger.known(p)) is not None]
            for entry in entries:
                self.ledger.reconcile(entry)
            place = here(2)
            if place is not None:
                self.history.note("clip", place, _lane(entries))
                self.emit("clip", Clip(place, entries, what, limit))
            for entry in entries:
                entry.forgives = True

    # ------------------------------------------------------------------------------------------ loss scaling

    def scaled(self, scaler: Any, result: Any, /) -> None:
        """`scaler.scale(loss)`."""
        with self.lock:
            if len(self.scaled_results) > 64:
                self.scaled_results = {k: v for k, v in self.scaled_results.items() if v[0]() is not None}
            self.scaled_results[id(result)] = weakref.ref(result), float(scaler._scale._array)
            self.happened("scaled")

    def unscaling(self, scaler: Any, optimizer: Any, /) -> None:
        """`scaler.unscale_(optimizer)`."""
        with self.lock:
            watched = self.watched(optimizer)
            self.emit("unscale", watched)
            for entry in watched.entries:
                entry.forgives = True

    @contextmanager
    def scaler_step(self, scaler: Any, optimizer: Any, /) -> Iterator[None]:
        """Around `scaler.step(optimizer)`."""
        with self.lock:
            watched = self.watched(optimizer)
            before = watched.steps
            place = here(2)
        self.here.scaler_step = scaler
        try:
            yield
        finally:
            self.here.scaler_step = None
            if watched.steps == before and place is not None:
                with self.lock:
                    self.skipped += 1
                    event = Step(self.steps, place, watched, [], watched.window, skipped=True)
                    self.emit("skipped", event)
                    for entry in watched.entries:
                        entry.used = len(entry.contributions)
                        entry.used_at = place
                    watched.window = []

    def scaler_updated(self, scaler: Any, /) -> None:
        """`scaler.update()`."""
        with self.lock:
            self.emit("scaler_updated", scaler)

    # ------------------------------------------------------------------------------------------ the loop around

    def scheduler_made(self, scheduler: Any, /) -> None:
        """A scheduler was made."""
        self._schedule(scheduler, True)

    def scheduled(self, scheduler: Any, /) -> None:
        """A scheduler's step."""
        self._schedule(scheduler, False)

    def _schedule(self, scheduler: Any, made: bool) -> None:
        place = here(2)
        if not made and own_code_called(4):
            return  # one scheduler steps another
        optimizer = getattr(scheduler, "optimizer", None)
        if place is None:
            return
        with self.lock:
            watched = None if optimizer is None else self.watched(optimizer)
            self.emit("schedule", Schedule(place, scheduler, watched, made))

    def epoch_begins(self, loader: Any, iterator: Any, /) -> None:
        """An iteration over a loader begins."""
        with self.lock:
            numbers = {n for n, *_ in self.loaders.values()}
            known = next((v[0] for k, v in self.loaders.items() if v[2] == id(loader)), max(numbers, default=0) + 1)
            self.loaders[iterator] = [known, 0, id(loader)]

    def batch(self, iterator: Any, data: Any, /) -> None:
        """A batch was handed out."""
        with self.lock:
            found = self.loaders.get(iterator)
            place = here(2)
            if found is None or place is None:
                return
            self.batches += 1
            self.emit("batch", Batch(place, found[0], found[1], data))
            found[1] += 1

    def epoch_ends(self, iterator: Any, /) -> None:
        """A loader is exhausted."""
        with self.lock:
            found = self.loaders.get(iterator)
            place = here(2)
            if found is not None and place is not None:
                self.emit("epoch_end", Epoch(place, found[0], found[1]))

    def mode_set(self, module: Any, training: bool, /) -> None:
        """`train()` or `eval()`."""
        place = here(2)
        if place is not None:
            with self.lock:
                self.emit("mode", Mode(place, module, training))

    def attribute_set(self, module: Any, name: str, value: Any, /) -> None:
        """`module.requires_grad = ...`."""
        with self.lock:
            for handler in self.handlers["attribute"]:
                self._tell(handler, here(2), module, name, value)

    def acts_by_mode(self, module: Any, /) -> None:
        """A layer acts as in training; None: a call of a dropout function, by the outermost module that is being called."""
        here_now = self.here
        if module is not None:
            here_now.layers.append(module)
        elif (outer := here_now.module) is not None and outer.training and outer not in here_now.layers:
            here_now.layers.append(outer)
            self.with_dropout.add(outer)
        elif outer is not None and not outer.training and self.handlers["dropout_in_eval"]:
            with self.lock:
                for handler in self.handlers["dropout_in_eval"]:
                    self._tell(handler, here(2), outer)

    def call_module(self, module: Any, call: Callable, hooked: Any, args: tuple, kwargs: dict[str, Any], /) -> Any:
        """A module is called. Only the outermost call is an event."""
        here_now = self.here
        if here_now.module is not None or not self.handlers["forward"]:
            if self.lines.windows and self.handlers["inner_call"]:
                with self.lock:
                    for handler in self.handlers["inner_call"]:
                        self._tell(handler, here(2), module, here_now.module)
            return call(module, hooked, args, kwargs)
        place = here(2)
        if id(module) not in self.latest.used:
            self.variables[id(module)] = "" if place is None else called_name(place)
        self.latest.note(module, self.steps)
        here_now.module = module
        here_now.layers = []
        here_now.outer = place
        try:
            result = call(module, hooked, args, kwargs)
        finally:
            here_now.module = here_now.outer = None
        if place is not None and here_now.backward is None and os.getpid() == self.process:
            with self.lock:
                self.history.note("forward", place, recording=thread.state.grad, training=bool(module.training))
                event = Forward(
                    place, module, thread.state.grad, args, result, here_now.layers, self.steps, self.batches
                )
                self.emit("forward", event)
        return result

    def frozen(self, tensor: Tensor, /) -> None:
        """`requires_grad_(False)`."""
        with self.lock:
            self.happened("frozen")
            for handler in self.handlers["frozen"]:
                self._tell(handler, here(2), tensor)

    def grad_mode_set(self, mode: bool, /) -> None:
        """`set_grad_enabled(mode)`: where it was called as a function, it holds until the next call."""
        frame = sys._getframe(2)
        if is_of_program(frame):
            place = place_of(frame.f_code, frame.f_lasti)
            self.lines.witness.switched_off = None if mode or is_with(place) else place

    def refused(self, tensor: Tensor, error: Exception, /) -> None:
        """An optimizer was given a tensor that is no leaf."""
        with self.lock:
            for handler in self.handlers["refused"]:
                self._tell(handler, here(2), tensor, error)

    def differentiated(self, results: tuple, /) -> None:
        """What `grad()` returned."""
        with self.lock:
            for handler in self.handlers["differentiated"]:
                self._tell(handler, here(2), results)

    def function_applied(self, function: Any, inputs: tuple, result: Any, /) -> None:
        """A custom Function was called."""
        if self.handlers["function"]:
            with self.lock:
                for handler in self.handlers["function"]:
                    self._tell(handler, here(2), function, inputs, result)
