"""The frame that the algorithms share: closure, gradients and state of a group, options of older checkpoints."""

from __future__ import annotations

import dis
from collections.abc import Callable
from contextlib import nullcontext
from inspect import Parameter, signature
from itertools import repeat
from typing import Any, TypeGuard

from rushlight import ops
from rushlight.core.dispatch.mode import emit_event, enable_grad, thread
from rushlight.core.tensor.dtype import float32, float64, get_default_dtype
from rushlight.core.tensor.tensor import Tensor

from .dense import Dense, run
from .optimizer import Optimizer, _use_grad_for_differentiable

# torch's lists, for its messages
CAPTURABLE_DEVICES = ["cuda", "xpu", "hpu", "privateuseone", "xla"]
FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]

# options that checkpoints of older versions lack, and what held before there was a choice
_BEFORE = {
    "momentum": 0,
    "nesterov": False,
    "centered": False,
    "amsgrad": False,
    "decoupled_weight_decay": False,
    "maximize": False,
    "foreach": None,
    "capturable": False,
    "differentiable": False,
    "fused": None,
}


class Algorithm(Optimizer):
    """An optimizer that updates the parameters of one group after the other.

    A subclass writes ``_new_state(p, group)``, the state of a parameter on its first step, and ``_rule``, a static method
    that updates one parameter and its state in place. As with gradient rules the names of its parameters say what it
    gets: first the parameter and its gradient, then entries of the state, and after ``*`` options of the group
    (``beta1`` and ``beta2`` are those of ``betas``; ``lr`` annotated as a float is one even where the user gave a tensor).
    What does not fit into that is a ``_perform`` of its own (sparse gradients), or an ``_update(group)``.

    ``foreach`` and ``fused`` choose between implementations in torch; here one loop serves all of them.
    """

    _rule: Any = None
    _over_lists: Any = None  # the rule over lists

    _without: tuple[str, ...] = ()  # options that it has never had
    _counters: tuple[str, ...] = ("step",)  # state that checkpoints of older versions hold as numbers
    _refuses_sparse: str | None = "{} does not support sparse gradients"  # None: it takes them
    _optional: tuple[str, ...] = ()  # state that a parameter may lack, for which the rule gets None
    _started: str | None = None  # state that the rule makes: the last of its entries, which it returns the first time

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in _BEFORE.items():
                if name in self.defaults and name not in self._without:
                    group.setdefault(name, value)
            for p in group["params"]:
                p_state = self.state.get(p) or {}
                for name in self._counters if p_state else ():
                    if not isinstance(p_state[name], Tensor):
                        p_state[name] = scalar(float(p_state[name]), group)

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once. ``closure`` re-evaluates the model and returns the loss, which step returns."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        watched = thread.state.level > 1
        for group in self.param_groups:
            if watched:
                emit_event("updating", self, group)
            self._update(group)
        return loss

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def _unused(self, group: dict[str, Any]) -> tuple[str, ...]:
        """Entries of the state that the rule gets as None, since the group's options want none."""
        return ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls._rule is not None:
            cls._over_lists = over_lists(cls._rule)

    def _update(self, group: dict[str, Any]) -> None:
        update, optional, unused = self._over_lists, self._optional, self._unused(group)
        params, grads, states = self._gather(group)
        if "fused" in group and not self._unscale(group, grads):
            return
        if len({*map(id, params)}) != len(params) and self._in_lockstep(group):
            raise NotImplementedError(
                f"{type(self).__name__} with foreach=True or fused=True and a parameter given twice: each operation of "
                "the update would run for both before the next; give the parameter once, or pass foreach=False"
            )
        lists: list[list | None] = [params, grads]
        for name in update.state:
            if name in unused:
                lists.append(None)
            elif name in optional:
                lists.append([state.get(name) for state in states])
            else:
                lists.append([state[name] for state in states])
        started = self._started
        if started is not None and not any(entry is None for entry in lists[-1] or ()):
            started = None
        options = update.options(group)
        if "differentiable" in options and hasattr(thread.state.listener, "plainly"):
            options["differentiable"] = True  # reads no numbers from tensors, as torch's compiled steps
        self._perform(update, lists, options)
        if started is not None:
            for state, entry in zip(states, lists[-1] or (), strict=True):
                state[started] = entry

    def _in_lockstep(self, group: dict[str, Any]) -> bool:
        """Whether torch, by operations over lists, updates a parameter that is given twice to other numbers."""
        return bool(group.get("foreach") or (group.get("fused") and "step" in self._over_lists.state))

    def _perform(self, update: Callable, lists: list[Any], options: dict[str, Any]) -> None:
        """Call ``update``, the rule over lists: of parameters, of their gradients, and of each entry of the state."""
        run(update, *lists, **options)

    def _gather(self, group: dict[str, Any]) -> tuple[list[Tensor], list[Tensor], list[dict[str, Any]]]:
        """The group's parameters that have a gradient, with their gradients and states."""
        params, grads, states = [], [], []
        all_states = self.state
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if grad.is_sparse and self._refuses_sparse is not None:
                raise RuntimeError(self._refuses_sparse.format(type(self).__name__))
            state = all_states[p]
            if not state:
                if group.get("fused"):
                    check_fused(p)
                listener = thread.state.listener
                with listener.plainly() if hasattr(listener, "plainly") else nullcontext():
                    state.update(self._new_state(p, group))
            params.append(p)
            grads.append(grad)
            states.append(state)
        if params:
            self._check_flags(group, params)
        return params, grads, states

    def _check_flags(self, group: dict[str, Any], params: list[Tensor]) -> None:
        if group.get("foreach") and group.get("differentiable"):
            raise AssertionError("_foreach ops don't support autograd")
        if group.get("capturable"):
            check_capturable(params)

    def _check_fused_options(self, fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
        """Refuse what excludes ``fused``; a fused step takes ``grad_scale`` and ``found_inf`` from a scaler."""
        if not fused:
            return
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        self._step_supports_amp_scaling = True

    def _unscale(self, group: dict[str, Any], grads: list[Tensor]) -> bool:
        """Divide the gradients by a gradient scaler's factor, if one drives this step; false to skip it."""
        grad_scale, found_inf = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        if grad_scale is None and found_inf is None:
            return True
        if not group["fused"]:
            raise AssertionError("Expected grad_scale and found_inf to be None")
        if found_inf is not None and found_inf.item():
            return False
        if grad_scale is not None:
            for grad in grads:
                grad.div_(grad_scale)
        return True


class over_lists:
    """A rule for one parameter as an update of lists. There is one for each rule, by which native code knows it again."""

    _known: dict[Callable, over_lists] = {}

    def __new__(cls, rule: Callable) -> over_lists:
        made = cls._known.get(rule)
        if made is None:
            made = super().__new__(cls)
            parameters = [*signature(rule).parameters.values()]
            made.rule = rule
            made.__qualname__ = rule.__qualname__.removesuffix("._rule")  # in the compiler's log
            made.state = [p.name for p in parameters[2:] if p.kind is p.POSITIONAL_OR_KEYWORD]
            made.names, made.converted = [], []
            for p in parameters:
                if p.kind is p.KEYWORD_ONLY:
                    convert = _conversion(p)
                    made.names.append(p.name) if convert is None else made.converted.append((p.name, convert))
            # what Dense cannot do (it has what the rules here need) is done on tensors
            made.on_tensors = any(hasattr(Tensor, n) and not hasattr(Dense, n) for n in _attributes(rule))
            cls._known[rule] = made
        return made

    rule: Callable
    __qualname__: str
    on_tensors: bool
    state: list[str]
    names: list[str]  # of the options that are the group's as they are
    converted: list[tuple[str, Callable[[dict[str, Any]], Any]]]

    def options(self, group: dict[str, Any]) -> dict[str, Any]:
        """What the rule gets of a group."""
        found = {name: group[name] for name in self.names}
        for name, get in self.converted:
            found[name] = get(group)
        return found

    def __call__(self, params: list[Tensor], grads: list[Tensor], *state: list | None, **options: Any) -> None:
        rule = self.rule
        entries = [repeat(None) if entries is None else entries for entries in state]
        for i, row in enumerate(zip(params, grads, *entries)):  # what has no state at all goes on for ever
            started = rule(*row, **options)
            if started is not None:
                state[-1][i] = started  # pyright: ignore[reportOptionalSubscript]


def _attributes(rule: Callable) -> set[str]:
    """The names of the methods that a rule's code calls."""
    return {i.argval for i in dis.get_instructions(rule) if i.opname in ("LOAD_ATTR", "LOAD_METHOD")}


def _conversion(parameter: Parameter) -> Callable[[dict[str, Any]], Any] | None:
    """What takes a rule's option from a group; None for an option that is there as it is."""
    if parameter.name == "lr":
        return _number_of_lr if parameter.annotation == "float" else _scalar_of_lr
    return {"beta1": _beta1, "beta2": _beta2}.get(parameter.name)


def _number_of_lr(group: dict[str, Any]) -> Any:
    return number(group["lr"])


def _scalar_of_lr(group: dict[str, Any]) -> Any:
    return to_scalar(group["lr"])


def _beta1(group: dict[str, Any]) -> Any:
    return to_scalar(group["betas"][0])


def _beta2(group: dict[str, Any]) -> Any:
    return to_scalar(group["betas"][1])


def options_of(arguments: dict[str, Any], names: str) -> dict[str, Any]:
    """An optimizer's options from its constructor's ``locals()``, in the order of torch's groups."""
    return {name: arguments[name] for name in names.split()}


def check_lr(lr: float | Tensor, message: str = "Invalid learning rate: {}") -> None:
    """Raise ValueError unless ``lr`` is a number >= 0, or a tensor with one such element."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(message.format(lr))


def check_nonnegative(**options: Any) -> None:
    """Raise ValueError naming the first option that is below zero; ``weight_decay`` is called "weight_decay value"."""
    for name, value in options.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {name} value: {value}")


def check_betas(betas: tuple) -> None:
    """Raise ValueError unless both coefficients are in [0, 1)."""
    for i in (0, 1):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_capturable(params: list[Tensor]) -> None:
    """Raise AssertionError for a parameter whose device has no graphs to be captured into, the CPU among them."""
    if any(p.device.type not in CAPTURABLE_DEVICES for p in params):
        raise AssertionError(
            f"If capturable=True, params and state_steps must be on supported devices: {CAPTURABLE_DEVICES}."
        )


def check_fused(p: Tensor) -> None:
    """Raise RuntimeError unless ``p`` is a floating point tensor on a device that torch has fused steps for."""
    if not (p.is_floating_point() and p.device.type in FUSED_DEVICES):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: {FUSED_DEVICES} but {p.dtype} and {p.device.type}"
        )


def scalar(value: float, group: dict[str, Any]) -> Tensor:
    """A 0-d counter: float64 where that is the default dtype, else float32, which a fused group always takes."""
    double = get_default_dtype() is float64 and not group.get("fused")
    return ops.tensor(value, dtype=float64 if double else float32)


def to_scalar(x: Any) -> Any:
    """A tensor of one element as a 0-d tensor; anything else as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def is_recorded(x: Any) -> TypeGuard[Tensor]:
    """Whether gradients flow to an option."""
    return isinstance(x, Tensor) and x.requires_grad


def number(x: Any) -> Any:
    """The Python number of a one-element tensor; anything else as it is."""
    return x.item() if isinstance(x, Tensor) else x


def as_real(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Complex tensors as real views with a last axis of 2: an update treats the two parts as two parameters."""
    if not tensors[0].is_complex():
        return tensors
    return tuple(ops.view_as_real(t) if t.is_complex() else t for t in tensors)
