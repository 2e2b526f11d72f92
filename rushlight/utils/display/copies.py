"""A copy of a model, so that running it changes nothing of the model itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np

from ...core.dispatch.extension_points import module_caller, training_observer
from ...core.random import continue_from, states
from ...core.tensor.tensor import Tensor
from ...nn.modules.module import Module

__all__ = ["copied", "unobserved"]


def copied(model: Module, inputs: Any) -> tuple[Module, Any]:
    """Deep copies of a model and its inputs, which share nothing with them but what cannot be copied, such as locks.

    Tensors with a history, which `deepcopy` refuses, are copied without it.
    """
    memo = {id(t): t.detach().clone() for t in _with_history(model, inputs)}
    try:
        return deepcopy((model, inputs), dict(memo))
    except Exception:
        kept = {id(value): value for value in _attributes(model) if not _can_be_copied(value, memo)}
        return deepcopy((model, inputs), {**memo, **kept})


def _attributes(model: Module) -> Iterator[Any]:
    for module in model.modules():
        yield from (value for name, value in vars(module).items() if name != "_modules")


def _with_history(model: Module, inputs: Any) -> list[Tensor]:
    """The tensors that are not leaves, at any depth of lists, tuples and dicts."""
    found, todo, seen = [], [inputs, *_attributes(model)], set()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Tensor):
            found += [value] if not value.is_leaf else []
        elif isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, (list, tuple, set)):
            todo += value
    return found


def _can_be_copied(value: Any, memo: dict[int, Any]) -> bool:
    try:
        deepcopy(value, dict(memo))
    except Exception:
        return False
    return True


@contextmanager
def unobserved(caller: Callable[..., Any]) -> Iterator[None]:
    """Within the block nothing is part of the program's training: its observers see nothing, modules are called
    by `caller`, and all random streams (Rushlight's, Python's, NumPy's) are put back at its end.
    """
    observer, before = training_observer.value, module_caller.value
    streams = states(), random.getstate(), np.random.get_state()
    training_observer.register(None)
    module_caller.register(caller)
    try:
        yield
    finally:
        training_observer.register(observer)
        module_caller.register(before)
        continue_from(streams[0])
        random.setstate(streams[1])
        np.random.set_state(streams[2])
