"""When a unit is gathered and given back: around its module's forward pass, and while backward is in it.

The outermost module that is called is the root. Its units are averaged at the latest when backward is over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any
from weakref import ref

from ...autograd.function import Function
from ...autograd.pass_hooks import when_done
from ...core.dispatch.mode import emit_event, is_grad_enabled, thread
from ...core.tensor.tensor import Tensor
from ...nn.modules.module import Module
from ...utils._pytree import tree_map
from ._unit import Unit

__all__ = ["Root", "State", "states_of"]

_LEFT = "a module whose parameters are sharded gathers and frees them while it runs, which the compiled program would not do"


class Root:
    """The states of the outermost module and of the modules in it."""

    def __init__(self, states: list[State]):
        self.states = states
        self.order: list[State] = []  # of this forward pass, as far as it has come
        self.known: list[State] = []  # of the one before
        self.is_waiting = False  # for the end of a backward pass

    def expect_end(self) -> None:
        """See to it that what is left is done when the backward pass is over."""
        if not self.is_waiting:
            self.is_waiting = True
            when_done(self._end)

    def _end(self, succeeded: bool) -> None:
        self.is_waiting = False
        for state in self.states:
            if succeeded:
                state.after_backward(is_over=True)
            else:
                state.drop()
        for state in self.states:
            if state.unit is not None:
                state.unit.finish_reduce()


class State:
    """The unit of a module (or of several, that have one together), and what is to be done with it."""

    def __init__(self, modules: tuple[Module, ...], unit: Unit | None, reshard_after_forward: bool | None, policy: Any):
        self.modules, self.unit, self.policy = [ref(m) for m in modules], unit, policy
        self.reshard_after_forward = reshard_after_forward
        self.reshard_after_backward = self.syncs = True
        self.root: Root | None = None
        self.is_root = self.is_backward = self.was_called = False
        self.is_inside: set[int] = set()  # of several modules, those that have been called
        self.hides = False  # whether modules have their parts again after each forward pass, whatever is freed
        self.casts_as_root = self.is_summoned = False
        self.gathers_ahead = unit is not None and not unit.is_local()
        self.next_forward: list[State] | None = None
        self.next_backward: list[State] | None = None

    # ------------------------------------------------------------------------------------------ forward

    def before_forward(self, module: Module, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Gather the unit."""
        if thread.state.level > 1:
            emit_event("left", _LEFT)
        if self.is_backward:  # checkpoint() calls the module again
            self._make_ready()
            return args, kwargs
        if self.root is None:
            self.become_root(module)
        root: Root = self.root  # type: ignore[assignment]
        if self.is_root:
            root.known, root.order = root.order, []
        if self.unit is not None and self not in root.order:
            root.order.append(self)
        args, kwargs = self._cast(args), self._cast(kwargs)
        if self.unit is not None:
            self._make_ready()
            for state in self._following():
                state.unit.gather(ahead=True)  # type: ignore[union-attr]
            if is_grad_enabled() and any(m.whole.requires_grad for m in self.unit.members):
                self.was_called = True
                args, kwargs = self._watched(args, kwargs)
        return args, kwargs

    def _following(self) -> list[State]:
        """Whose units to gather while this one computes: by default, between hosts, the next one of the last pass."""
        if self.next_forward is not None:
            return self.next_forward
        return self._beside(1) if self.gathers_ahead else []

    def _preceding(self) -> list[State]:
        if self.next_backward is not None:
            return self.next_backward
        return self._beside(-1) if self.gathers_ahead else []

    def _beside(self, step: int) -> list[State]:
        order = self.root.known  # type: ignore[union-attr]
        at = order.index(self) + step if self in order else -1
        return [order[at]] if 0 <= at < len(order) else []

    def _make_ready(self) -> None:
        if self.unit is not None:
            self.unit.gather()
            self.unit.show_whole()

    def become_root(self, module: Module) -> None:
        """Take the states of all modules in this one along."""
        states = list(dict.fromkeys(s for m in module.modules() if (s := states_of.get(m)) is not None))
        root = Root(states)
        for state in states:
            state.root, state.is_root = root, state is self

    def _cast(self, values: Any) -> Any:
        casts = self.policy.cast_forward_inputs or (self.is_root and self.casts_as_root)
        kind = self.policy.param_dtype if casts else None
        return values if kind is None else _as_type(values, kind)

    def _watched(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments, such that the unit is told when backward has left it."""
        found = [t for t in _tensors_in((args, kwargs)) if t.requires_grad]
        if not found:
            return args, kwargs
        made = _Leaving.apply(self, *found)
        given = {id(t): new for t, new in zip(found, made, strict=True)}
        replace = lambda v: given.get(id(v), v) if isinstance(v, Tensor) else v  # noqa: E731
        return tree_map(replace, args), tree_map(replace, kwargs)

    def after_forward(self, module: Module, output: Any) -> Any:
        """Give the unit back, unless it is needed soon."""
        if self.is_backward:
            return output
        if len(self.modules) > 1:
            self.is_inside.add(id(module))
            if len(self.is_inside) < len(self.modules):
                return self._expecting(output)
            self.is_inside.clear()
        output = self._expecting(output)
        if self.unit is not None and self._frees_after_forward() and not self.is_summoned:
            if any(self.unit.shares_memory(t._array) for t in _tensors_in(output)):
                return output  # a parameter, or a view of one, is the result
            self.unit.give_back()
        elif self.unit is not None and self.hides and not self.is_summoned:
            self.unit.show_shards()
        kind = self.policy.output_dtype
        return output if kind is None else _as_type(output, kind)

    def _frees_after_forward(self) -> bool:
        return (not self.is_root) if self.reshard_after_forward is None else self.reshard_after_forward

    def _expecting(self, output: Any) -> Any:
        if is_grad_enabled():
            for t in _tensors_in(output):
                if t.requires_grad:
                    t.register_hook(self._before_backward)
        return output

    # ------------------------------------------------------------------------------------------ backward

    def _before_backward(self, g: Tensor) -> None:
        if thread.state.level > 1:
            emit_event("left", _LEFT)
        assert self.root is not None
        self.root.expect_end()
        if self.is_backward:
            return
        self.is_backward = True
        self._make_ready()
        if self.unit is not None and self.syncs:
            self.unit.expect_gradients()
        for state in self._preceding():
            state.unit.gather(ahead=True)  # type: ignore[union-attr]

    def after_backward(self, is_over: bool = False) -> None:
        """Average the gradients, and give the unit back. is_over: the whole pass is, so that no gradients follow."""
        unit = self.unit
        if unit is None:
            self.is_backward = False
            return
        averages = self.syncs and (unit.has_gradients() or (is_over and self.was_called))
        if averages:
            unit._follow_flags()
        if self.reshard_after_backward and (self.is_backward or is_over) and not self.is_summoned:
            unit.give_back()  # before the gradients are collected, which takes memory as well
        if averages:
            unit.reduce()
        elif is_over:
            unit.expect_no_more()
        self.is_backward = False
        if averages or is_over:
            self.was_called = False

    def drop(self) -> None:
        """After an error: what was begun is not finished."""
        self.is_backward = self.was_called = False
        if self.unit is not None:
            self.unit.drop()


class _Leaving(Function):
    """The arguments of a module as they are. Its node is older than the module's, so that backward comes here last."""

    @staticmethod
    def forward(ctx: Any, state: State, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.state = state
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        ctx.state.after_backward()
        return (None, *grads)


class _States:
    """The states of modules, held by the modules."""

    def get(self, module: Module) -> State | None:
        return module.__dict__.get("_fsdp_state")

    def set(self, module: Module, state: State) -> None:
        object.__setattr__(module, "_fsdp_state", state)


states_of = _States()


def _as_type(values: Any, kind: Any) -> Any:
    return tree_map(lambda v: v.to(kind) if isinstance(v, Tensor) and v.is_floating_point() else v, values)


def _tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _tensors_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _tensors_in(inner)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _tensors_in(getattr(value, field.name))
