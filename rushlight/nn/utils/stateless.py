"""Calling a module with other parameters and buffers than its own."""

from __future__ import annotations

import warnings
from typing import Any

from rushlight.core.tensor.tensor import Tensor

__all__ = ["functional_call"]


def functional_call(
    module: Any, parameters_and_buffers: dict[str, Tensor], args: Any = None, kwargs: Any = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """`module(*args, **kwargs)` with other parameters and buffers. Deprecated: use `torch.func.functional_call`."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version "
        "of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call_with(module, parameters_and_buffers, args, kwargs, tie_weights, strict)


def call_with(
    module: Any, tensors: dict[str, Tensor], args: Any, kwargs: Any, tie_weights: bool = True, strict: bool = False
) -> Any:
    """`module(*args, **kwargs)` while `tensors` replace its parameters and buffers of those names.

    Buffers that the module replaces during the call are written back to `tensors`.
    """
    if not isinstance(args, tuple):
        args = () if args is None else (args,)
    wanted = _with_tied(module, tensors) if tie_weights else tensors
    if strict:
        _check_keys(module, wanted)
    places = {name: place for name in wanted if (place := _place(module, name)) is not None}
    before = {name: table[key] for name, (table, key) in places.items()}
    try:
        for name, (table, key) in places.items():
            table[key] = wanted[name]
        return module(*args, **(kwargs or {}))
    finally:
        for name, (table, key) in places.items():
            if name in tensors:
                tensors[name] = table[key]
            table[key] = before[name]


def _place(module: Any, name: str) -> tuple[Any, str] | None:
    """The table that holds the tensor `name`, and its key there; None where the module has no such tensor."""
    owner = module
    *path, key = name.split(".")
    for part in path:
        owner = getattr(owner, part, None)
        if owner is None:
            return None
    if not hasattr(owner, "_parameters"):
        return None
    for table in (owner._parameters, owner._buffers):
        if key in table:
            return table, key
    if isinstance(getattr(owner, key, None), Tensor):
        return owner.__dict__, key
    return None


def _names(module: Any) -> dict[str, Tensor]:
    """Every parameter and buffer by name, those of several names under each."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _with_tied(module: Any, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """`tensors`, and the other names of what they replace."""
    own = _names(module)
    groups: dict[int, list[str]] = {}
    for name, t in own.items():
        groups.setdefault(id(t), []).append(name)
    result = dict(tensors)
    for names in groups.values():
        given = [n for n in names if n in tensors]
        if len({id(tensors[n]) for n in given}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(given)}, which are tied. Consider using "
                             "tie_weights=False")  # fmt: skip
        if given:
            result.update(dict.fromkeys(names, tensors[given[0]]))
    return result


def _check_keys(module: Any, tensors: dict[str, Tensor]) -> None:
    own = _names(module)
    errors = []
    unexpected, missing = [k for k in tensors if k not in own], [k for k in own if k not in tensors]
    if unexpected:
        errors.append(f"Unexpected key(s): {', '.join(map(repr, unexpected))}.")
    if missing:
        errors.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
    if errors:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(errors))
