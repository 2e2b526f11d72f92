"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from rushlight import ops
from rushlight.nn.modules.batchnorm import _BatchNorm
from rushlight.nn.utils.stateless import call_with

_REMOVED = ("mutations", "mutations_and_views")


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """`func` as a function of the same results whose writes to its arguments are made, too.

    torch makes operators without writes of those that it calls, for backends that know no others; here they run as they are.

    Args:
        remove: "mutations" or "mutations_and_views".
    Shape: a function (*) -> (*) -> one of the same shapes
    Raises:
        RuntimeError: `remove` is another text, as in `functionalize(abs, remove="x")`.

    >>> functionalize(lambda x: x.clone().add_(1))(tensor([1.0]))
    tensor([2.])
    """
    if remove not in _REMOVED:
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with "
            "their out-of-place equivalents.\n     remove='mutations_and_views': In addition to the above, all aliasing "
            "operators {view} will be replaced with their {view}_copy equivalents."
        )

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return call


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True,
    strict: bool = False,
) -> Any:  # fmt: skip
    """`module(*args, **kwargs)` with other parameters and buffers.

    Args:
        parameter_and_buffer_dicts: a dict by name, or several with distinct keys.
        args: a tuple, or a single argument.
        tie_weights: what is one tensor under two names stays one.
        strict: the names must be exactly the module's.
    Shape: as the module's (*) -> (*)
    Raises:
        RuntimeError: names are missing under `strict`, as in
            `functional_call(nn.Linear(2, 1), {}, ones(2), strict=True)`.

    >>> functional_call(nn.Linear(2, 1, bias=False), {"weight": ones(1, 2)}, tensor([3.0, 4.0]))
    tensor([7.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        keys = [k for d in parameter_and_buffer_dicts for k in d]
        repeated = [k for k in dict.fromkeys(keys) if keys.count(k) > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        tensors = {k: v for d in parameter_and_buffer_dicts for k, v in d.items()}
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return call_with(module, tensors, args, kwargs, tie_weights, strict)


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of models of one class, stacked by name, for `vmap` over an ensemble.

    Args:
        models: a list of modules, all in training or all not.
    Shape: parameters (*) of n models -> (n, *)
    Raises:
        RuntimeError: there are no models, as in `stack_module_state([])`.

    >>> stack_module_state([nn.Linear(2, 1), nn.Linear(2, 1)])[0]["weight"].shape
    torch.Size([2, 1, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return _stacked([dict(m.named_parameters()) for m in models]), _stacked([dict(m.named_buffers()) for m in models])


def _stacked(tables: list[dict[str, Any]]) -> dict[str, Any]:
    stacked = {}
    for name in tables[0]:
        tensors = [table[name] for table in tables]
        wanted = {t.requires_grad for t in tensors}
        if len(wanted) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        result = ops.stack(tensors)
        stacked[name] = result.detach().requires_grad_() if wanted == {True} else result
    return stacked


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let every batch norm below `root` use the batch's statistics only, in place: the running ones are removed.

    Shape: running statistics (C) -> None, in place of (C)

    >>> replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))[0].running_mean is None
    True
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The tensor itself: transforms here do not wrap tensors."""
    return tensor
