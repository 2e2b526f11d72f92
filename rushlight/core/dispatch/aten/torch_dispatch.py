"""`__torch_dispatch__`: classes of tensors that wrap others, and modes, are asked what an operator gives.

Of a wrapper (`wrapper.py`) the class is asked below the recording of history, as in torch: the result is given
its node here. A mode (`TorchDispatchMode`) is asked for every operator while it is active; what it calls is recorded as
always, so its results have a history inside the mode already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...tensor.tensor import Tensor
from ..extension_points import class_dispatch
from ..mode import thread
from ..scalars import number_as
from ..slow_path import common_type, finish
from ..torch_function import DisableTorchFunctionSubclass
from .calls import as_aten, overload_of
from .operators import OpOverload, operator
from .wrapper import own, wrapped_by

if TYPE_CHECKING:
    from ..op import Op

__all__ = [
    "ask",
    "ask_for",
    "ask_mode",
    "call_operator",
    "decomposed",
    "decomposed_wrappers",
    "without_modes",
    "write_by_class",
    "write_operator",
]

decomposed: dict[str, Callable] = {}  # operators that are several of torch's: what they are in terms of those
decomposed_wrappers: dict[str, Callable] = {}  # and those that keep for their gradient what a class cannot give


def call_operator(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """The result of an operator on tensors of which some wrap others."""
    way = decomposed.get(record.name) or decomposed_wrappers.get(record.name)
    if way is not None:
        return way(*tensors, *metadata)
    tensors = tuple(map(own, tensors))
    result = ask(*as_aten(record, tensors, metadata), tensors)
    state = thread.state
    recorded = state.grad and not state.inference and any(getattr(t, "_edge", None) is not None for t in tensors)
    if not recorded or not record.rules:
        return result[0] if record.extras and type(result) is tuple else result
    return _with_history(record, tensors, metadata, result)


def _with_history(record: Op, tensors: tuple, metadata: tuple, result: Any) -> Any:
    several = isinstance(result, (tuple, list))
    if several:
        shown = record.bundle(list(range(len(result))))  # which result of the kernel each of the public ones is
        r = tuple([result[shown.index(i)]._array for i in range(len(shown))])
    else:
        r = result._array
    kind: Any = None if all(isinstance(t, Tensor) or t is None for t in tensors) else common_type(record, tensors)
    arrays = [t if t is None else t._array if isinstance(t, Tensor) else number_as(t, kind) for t in tensors]
    made = finish(record, r, 1, tensors, arrays, metadata)
    for t in made if several else (made,):
        own(t)
    return made


def write_operator(record: Op, target: Any, others: tuple, metadata: tuple) -> Any:
    """The form of an operator that writes into `target`."""
    tensors = tuple(map(own, (target, *others)))
    if thread.state.grad and any(getattr(t, "_edge", None) is not None for t in tensors):
        raise _unrecorded(f"{record.name}_", tensors[0])
    ask(*as_aten(record, tensors, metadata, writes=True), tensors)
    return target


class Modes:
    """The active modes of a thread, the innermost last: what `State.dispatching` holds."""

    def __init__(self, modes: Sequence[Any]):
        self.modes = tuple(modes)

    def call(self, record: Op, tensors: tuple, metadata: tuple, writes: bool = False) -> Any:
        """What the innermost mode makes of a call, during which it is not active itself."""
        way = decomposed.get(record.name)
        if way is not None and not writes:
            return way(*tensors, *metadata)
        result = ask_mode(*as_aten(record, tensors, metadata, writes))
        return result[0] if record.extras and type(result) is tuple else result  # the others are for torch's backward


def ask_mode(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What the innermost mode answers. Raises TypeError where that is NotImplemented."""
    state = thread.state
    *outer, mode = state.dispatching.modes
    kinds = tuple(dict.fromkeys(kind for kind in map(wrapped_by, _flat([*args, *kwargs.values()])) if kind))
    before, state.dispatching = state.dispatching, Modes(outer) if outer else None
    state.refresh()
    try:
        result = mode.__torch_dispatch__(func, kinds, tuple(args), kwargs)
    finally:
        state.dispatching = before
        state.refresh()
    if result is NotImplemented:
        raise TypeError(f"Multiple dispatch failed for 'torch._ops.{func}': the mode {mode} returned NotImplemented")
    return result


@contextmanager
def without_modes() -> Iterator[None]:
    """A context whose operators no mode is asked for."""
    state = thread.state
    before, state.dispatching = state.dispatching, None
    state.refresh()
    try:
        yield
    finally:
        state.dispatching = before
        state.refresh()


def write_by_class(name: str, target: Any, *args: Any) -> Any:
    """torch's `name`, such as `copy_`, on a tensor that wraps others, or while a mode is active."""
    overload = overload_of(name, (target, *args), {})
    if thread.state.dispatching:
        return ask_mode(overload, (target, *args), {})
    if thread.state.grad and any(getattr(t, "_edge", None) is not None for t in (target, *args)):
        raise _unrecorded(name, own(target))
    ask(overload, (own(target), *map(own, args)), {}, (target, *args))
    return target


def _unrecorded(name: str, target: Any) -> NotImplementedError:
    return NotImplementedError(
        f"{name}() of {type(target).__name__}, which wraps other tensors, is not recorded for backward: call the operator "
        "that gives a new tensor, or write inside torch.no_grad()"
    )


def ask_for(name: str, *args: Any, **kwargs: Any) -> Any:
    """What the classes of the arguments say to the default overload of an operator of torch."""
    return ask(operator(name).default, args, kwargs, args)


def ask(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], tensors: Sequence[Any]) -> Any:
    """What the first class says that does not answer NotImplemented; subclasses come before their bases.

    Raises TypeError where none of them takes the call.
    """
    kinds: list[type] = []
    for t in _flat(tensors):
        kind = wrapped_by(t)
        if kind is not None and kind not in kinds:
            place = next((i for i, other in enumerate(kinds) if issubclass(kind, other)), len(kinds))
            kinds.insert(place, kind)
    state = thread.state
    before = (state.grad, state.inference)
    state.set(False, state.inference)
    try:
        with DisableTorchFunctionSubclass():
            for kind in kinds:
                result = kind.__torch_dispatch__(func, tuple(kinds), tuple(args), kwargs)  # type: ignore[attr-defined]
                if result is not NotImplemented:
                    return result
    finally:
        state.set(*before)
    listed = "".join(f"\n  - tensor subclass {kind}" for kind in kinds)
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.{func}'; all __torch_dispatch__ handlers "
        f"returned NotImplemented:\n{listed}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def _flat(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for v in values:
        found += v if isinstance(v, (tuple, list)) else [v]
    return found


class_dispatch.register(sys.modules[__name__])
