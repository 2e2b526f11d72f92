"""States of models and optimizers under the parameters' names in the plain model, however they are wrapped.

Such a state does not depend on the number of processes, nor on DistributedDataParallel or `compile`; the optimizer's has
names instead of numbers. A ZeroRedundancyOptimizer's has the part that its process keeps, so that a checkpoint gets all parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ...core.dispatch.mode import no_grad
from ...core.tensor.tensor import Tensor
from ...nn import Module
from ...nn.modules.compiled import OptimizedModule
from ...nn.parallel import DistributedDataParallel
from ...ops import tensor, zeros_like
from ...optim import Optimizer
from ...utils._pytree import tree_map_only
from ..fsdp.fully_sharded_data_parallel import FullyShardedDataParallel
from ..objects import all_gather_object, broadcast_object_list
from ..optim import ZeroRedundancyOptimizer
from ..tensor._dtensor import DTensor
from ..world import get_rank, is_initialized
from ._flat_optimizer import flattened, unflattened

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

PrimitiveType = Tensor | int | float | str
ValueType = PrimitiveType | list[PrimitiveType] | tuple[PrimitiveType] | dict[str, Any]
OptimizerStateType = dict[str, Any]
_EXTRA_STATE = "_extra_state"


@dataclass
class StateDictOptions:
    """How states are taken and set.

    full_state_dict: the whole state in every process, not a part. cpu_offload: tensors on the CPU; with full_state_dict, in
    process 0 alone, and empty in the others. ignore_frozen_params: without parameters that require no gradient.
    strict: as of `load_state_dict`. broadcast_from_rank0: process 0 has the state that is set, and the others take it from
    there; it needs full_state_dict. flatten_optimizer_state_dict: a flat dict of names such as `state.weight.step`.
    keep_submodule_prefixes: names with those of the submodules that were asked for. dsd_fqn_modifiers: the method by which
    a module says {its name of a child: the attribute that the names of a state do not contain}.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


@dataclass
class _Model:
    """A model, the names of its parameters and buffers, and the options."""

    model: Module
    options: StateDictOptions
    names: dict[Tensor, list[str]] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()


def _verified(model: Module, submodules: set[Module] | None = None, options: StateDictOptions | None = None) -> _Model:
    if any(isinstance(m, FullyShardedDataParallel) for m in model.modules()):
        raise NotImplementedError(
            "the functions of torch.distributed.checkpoint.state_dict for FullyShardedDataParallel are not implemented: use its "
            "state_dict(), with StateDictType.SHARDED_STATE_DICT, and FullyShardedDataParallel.optim_state_dict, or fully_shard"
        )
    info = _Model(model, options or StateDictOptions())
    if info.options.broadcast_from_rank0 and not info.options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    for name, value in _entries(model, "_fqn_modifiers"):
        if value is not None:
            info.names.setdefault(value, []).append(_fqn(model, name))
    if submodules:
        warnings.warn(
            "Getting submodules only model/optim state_dict is deprecated and will be removed in 2.5. This feature can be "
            "achieved by manually filtering out the state_dict returned from get_state_dict.",
            FutureWarning,
            stacklevel=3,
        )
        info.prefixes = tuple(f"{_fqn(model, name)}." for name, m in model.named_modules() if m in submodules)
    return info


def _entries(model: Module, modifiers: str) -> Iterator[tuple[str, Tensor | None]]:
    """(name, tensor) of what a state has; None for an extra state."""
    seen: set[Module] = set()

    def below(module: Module, prefix: str) -> Iterator[tuple[str, Tensor | None]]:
        seen.add(module)
        removed = getattr(module, modifiers)().values() if hasattr(module, modifiers) else ()
        for name, child in module.named_children():
            if child not in seen:
                yield from below(child, prefix if name in removed else f"{prefix}{name}.")
        own = chain(module.named_buffers(recurse=False), module.named_parameters(recurse=False))
        for name, value in own if not isinstance(module, OptimizedModule) else ():
            if name not in module._non_persistent_buffers_set:
                yield prefix + name, value
        if type(module).get_extra_state is not Module.get_extra_state:
            yield prefix + _EXTRA_STATE, None

    yield from below(model, "")


def _fqn(model: Module, name: str, modifiers: str = "_fqn_modifiers", *, plain: bool = True) -> str:
    """The name without what wrappers add to it; with plain=False, the name that `model.state_dict()` has."""
    parts: list[str] = []
    module: Any = model
    for part in name.split(".") if name else ():
        if isinstance(module, DistributedDataParallel | OptimizedModule):
            wrapped = "module" if isinstance(module, DistributedDataParallel) else "_orig_mod"
            if part == wrapped:
                module = getattr(module, part)
                parts += [] if plain else [part]
                continue
        if isinstance(module, Module) and hasattr(module, modifiers):
            removed = getattr(module, modifiers)().get(part)
            if removed and hasattr(module, removed):
                module = getattr(module, removed)
        parts.append(part)
        module = None if part == _EXTRA_STATE else getattr(module, part)
    return ".".join(parts)


# -------------------------------------------------------------------- taking states


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, ValueType]:
    """The state of a model, under the names of the plain one. submodules: of these alone (deprecated)."""
    info = _verified(model, submodules, options)
    return _required(_model_state(info), info)


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> OptimizerStateType:
    """The state of optimizers: {"state": {parameter's name: its state}, "param_groups": [...]}.

    An optimizer without state gets it by a step with gradients of zeros and a learning rate of 0, as in torch.
    """
    info = _verified(model, submodules, options)
    members = _tuple(optimizers)
    if not members:
        raise RuntimeError("Optimizers are not passed in but optim_only is set to True.")
    return _optimizer_state(info, members)


def get_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, ValueType], OptimizerStateType]:
    """(`get_model_state_dict`, `get_optimizer_state_dict`) of a model and its optimizers."""
    info = _verified(model, submodules, options)
    members = _tuple(optimizers)
    return _required(_model_state(info), info), _optimizer_state(info, members) if members else {}


def _tuple(optimizers: Optimizer | Iterable[Optimizer]) -> tuple[Optimizer, ...]:
    return (optimizers,) if isinstance(optimizers, Optimizer) else tuple(optimizers)


def _required(state: dict[str, Any], info: _Model) -> dict[str, Any]:
    """The state. Raises RuntimeError for one that is empty without a reason."""
    o = info.options
    has_reason = info.prefixes or o.ignore_frozen_params or (o.cpu_offload and o.full_state_dict) or not o.strict
    if not state and not has_reason and not o.broadcast_from_rank0:
        raise RuntimeError(
            "The option indicates that model state_dict is required to save or load, but model state_dict is empty."
        )
    return state


@no_grad()
def _model_state(info: _Model) -> dict[str, Any]:
    model, options = info.model, info.options
    state = {_fqn(model, key): value for key, value in model.state_dict().items()}
    if info.prefixes:
        chosen = [(key, prefix) for key in state for prefix in info.prefixes if key.startswith(prefix)]
        keep = options.keep_submodule_prefixes
        state = {key if keep else key.removeprefix(prefix): state[key] for key, prefix in chosen}
    if options.ignore_frozen_params:
        for key, parameter in model.named_parameters():
            if not parameter.requires_grad:
                state.pop(_fqn(model, key), None)
    return _placed(state, options)


def _placed(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """A state where the options want it, of which each process has its part or, if they want that, the whole."""
    if options.full_state_dict:
        state = tree_map_only(DTensor, lambda t: t.full_tensor(), state)
    if options.cpu_offload and options.full_state_dict and is_initialized() and get_rank() != 0:
        return {}
    return tree_map_only(Tensor, lambda t: t.cpu(), state) if options.cpu_offload else state


@no_grad()
def _optimizer_state(info: _Model, optimizers: tuple[Optimizer, ...]) -> OptimizerStateType:
    whole: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in optimizers:
        _initialize(optimizer)
        state = _state_of(optimizer, info.options.full_state_dict)
        names = _names_by_number(info, optimizer)
        whole["state"].update({names[number]: value for number, value in state["state"].items()})
        groups = [{**group, "params": [names[n] for n in group["params"]]} for group in state["param_groups"]]
        whole["param_groups"] += [{k: v for k, v in group.items() if k != "param_names"} for group in groups]
    if info.options.flatten_optimizer_state_dict:
        whole = flattened(whole)
    return _placed(whole, info.options)


def _names_by_number(info: _Model, optimizer: Optimizer) -> list[str]:
    """The names of an optimizer's parameters, in its order: of one with several, that of `named_parameters`."""
    first = {p: _fqn(info.model, key) for key, p in info.model.named_parameters()}
    return [first[p] for group in optimizer.param_groups for p in group["params"]]


def _state_of(optimizer: Optimizer, full: bool) -> dict[str, Any]:
    if not isinstance(optimizer, ZeroRedundancyOptimizer):
        return optimizer.state_dict()
    own = optimizer.own_state_dict()
    if full:
        parts: list[Any] = [None] * optimizer.world_size
        all_gather_object(parts, own["state"], optimizer.process_group)
        own["state"] = dict(sorted(item for part in parts for item in part.items()))
    return own


def _initialize(optimizer: Optimizer) -> None:
    """Let an optimizer make its state, by a step that changes nothing."""
    if isinstance(optimizer, ZeroRedundancyOptimizer):
        optimizer = optimizer.optim  # its share: no process waits for another one
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in parameters):
        return
    for p in parameters:
        if p.requires_grad:
            p.grad = zeros_like(p)
    rates = [group.get("lr") for group in optimizer.param_groups]
    for group, lr in zip(optimizer.param_groups, rates, strict=True):
        if lr is not None:
            group["lr"] = tensor(0.0) if isinstance(lr, Tensor) else 0.0
    optimizer.step(closure=None)
    for group, lr in zip(optimizer.param_groups, rates, strict=True):
        if lr is not None:
            group["lr"] = lr
    optimizer.zero_grad(set_to_none=True)


# -------------------------------------------------------------------- setting states


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, ValueType], *, options: StateDictOptions | None = None
) -> Any:
    """Give a model a state with the names of the plain one. Returns (missing_keys, unexpected_keys).

    Raises RuntimeError for keys that are missing, or too many, unless `strict=False`.
    """
    info = _verified(model, None, options)
    return _set_model(info, _required(_of_submodules(model, model_state_dict), info))


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: OptimizerStateType,
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Give optimizers a state that `get_optimizer_state_dict` returned, also with another number of processes."""
    info = _verified(model, None, options)
    members = _tuple(optimizers)
    if not members:
        raise RuntimeError("Optimizers are not passed in but optim_only is set to True.")
    _set_optimizers(info, members, optim_state_dict)


def set_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    model_state_dict: dict[str, ValueType],
    optim_state_dict: OptimizerStateType,
    options: StateDictOptions | None = None,
) -> Any:
    """`set_optimizer_state_dict` and `set_model_state_dict`. Returns (missing_keys, unexpected_keys) of the model."""
    info = _verified(model, None, options)
    members, state = _tuple(optimizers), _of_submodules(model, model_state_dict)
    if members:
        _set_optimizers(info, members, optim_state_dict)
    return _set_model(info, state)


def _of_submodules(model: Module, state: dict[Any, Any]) -> dict[str, Any]:
    """The state of the model, also where it was given as {submodule: its state} (deprecated)."""
    if not state or not isinstance(next(iter(state)), Module):
        return dict(state)
    warnings.warn(
        "Passing model_state_dict as a ``Dict[nn.Module, Dict[str, Any]]``is deprecated and will be removed in 2.5. If you "
        "need this feature, please preprocess the model_state_dict to achieve the same functionality.",
        FutureWarning,
        stacklevel=3,
    )
    names = {m: f"{_fqn(model, name)}." for name, m in model.named_modules()}
    return {names[m] + key: value for m, inner in state.items() for key, value in inner.items()}


def _from_rank_0(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    if not options.broadcast_from_rank0:
        return state
    box: list[Any] = [state]
    broadcast_object_list(box, 0)
    return box[0]


@no_grad()
def _set_model(info: _Model, state: dict[str, Any]) -> Any:
    options, model = info.options, info.model
    state = _from_rank_0(state, options)
    if not state:
        return model.load_state_dict({}, strict=False)._replace(missing_keys=[], unexpected_keys=[])
    for key, _ in _entries(model, options.dsd_fqn_modifiers):
        plain = _fqn(model, key, options.dsd_fqn_modifiers)
        full = _fqn(model, key, options.dsd_fqn_modifiers, plain=False)
        if plain != full and plain in state:
            state[full] = state.pop(plain)
        elif plain != full and options.strict:
            raise RuntimeError(f"Missing key: {plain}.")
    if options.full_state_dict:
        own = model.state_dict()
        state = {key: _like(own[key], value) if key in own else value for key, value in state.items()}
    on_meta = any(value.device.type == "meta" for value in info.names)
    assign = on_meta and options.full_state_dict
    return model.load_state_dict(state, strict=options.strict, assign=assign)


@no_grad()
def _set_optimizers(info: _Model, optimizers: tuple[Optimizer, ...], state: OptimizerStateType) -> None:
    options = info.options
    state = _from_rank_0(state, options)
    if not state:
        raise RuntimeError(
            f"The option indicates that model state_dict is required to save, or load but optim state_dict is empty. {state}"
        )
    for optimizer in optimizers:
        _initialize(optimizer)
        own = state if "state" in state else unflattened(state, optimizer, info.names)
        numbered = _numbered(info, optimizer, own)
        if options.full_state_dict:
            _spread(optimizer, numbered)
        optimizer.load_state_dict(numbered)


def _spread(optimizer: Optimizer, state: OptimizerStateType) -> None:
    """Take this process's part of the whole states of parameters that are spread over processes."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for number, values in state["state"].items():
        p = parameters[number]
        if isinstance(p, DTensor):
            state["state"][number] = {k: _like(p, v) if k != "step" else v for k, v in values.items()}


def _like(own: Any, value: Any) -> Any:
    """A whole value as a part, where `own` is one."""
    is_part = isinstance(own, DTensor) and isinstance(value, Tensor) and not isinstance(value, DTensor)
    return own._of_whole(value) if is_part and value.shape == own.shape else value


def _numbered(info: _Model, optimizer: Optimizer, state: OptimizerStateType) -> OptimizerStateType:
    """The part of a state that is of one optimizer, with numbers again.

    A group's options are those of the last of its parameters that is in a group of the state.

    Raises RuntimeError for a parameter without state, where others have some, unless `strict=False`; KeyError for a group of
    which no parameter is in one.
    """
    if state["state"] and all(isinstance(key, int) for key in state["state"]):
        return state
    groups_of = {name: group for group in state["param_groups"] for name in group["params"]}
    numbers: dict[str, Any] = {"state": {}, "param_groups": []}
    count = 0
    has_all = bool(state["state"]) and not isinstance(optimizer, ZeroRedundancyOptimizer)
    for group in optimizer.param_groups:
        loaded = {} if group["params"] else next((g for g in state["param_groups"] if not g["params"]), {})
        first = count
        for p in group["params"]:
            name = next((name for name in info.names[p] if name in groups_of), info.names[p][0])
            loaded = groups_of.get(name, loaded)
            if p.requires_grad and name in state["state"]:
                numbers["state"][count] = state["state"][name]
            elif p.requires_grad and has_all and info.options.strict:
                raise RuntimeError(
                    f"Missing optimizer state for parameter '{name}' in checkpoint. The parameter requires gradients but "
                    "has no saved optimizer state. To load anyway, use StateDictOptions(strict=False)."
                )
            count += 1
        if group["params"] and not loaded:
            raise KeyError(f"parameter {info.names[group['params'][0]][0]!r} is in no group of the optimizer's state")
        kept = {key: value for key, value in loaded.items() if key != "params"}
        numbers["param_groups"].append({**kept, "params": list(range(first, count))})
    return numbers
