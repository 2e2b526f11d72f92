"""States of modules with flat parameters, and of their optimizers, under the plain modules' names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core.dispatch.mode import no_grad
from ...core.tensor.storage import storage_of
from ...core.tensor.tensor import Tensor, wrap
from ..device_mesh import DeviceMesh
from ..objects import all_gather_object
from ..tensor._dtensor import DTensor
from ..tensor.placement_types import Replicate, Shard
from ._flat_unit import FLAT, FlatUnit
from ._state import states_of
from ._unit import Member
from .api import FullOptimStateDictConfig, FullStateDictConfig, StateDictSettings, StateDictType

WRAPPER = "_fsdp_wrapped_module."


def plain_name(name: str) -> str:
    """A name without those of the wrappers."""
    return name.replace(WRAPPER, "")


def _rows(whole: Tensor, mesh: DeviceMesh) -> Any:
    """A whole tensor's part along the last dimension of a mesh, as a DTensor; one without dimensions as it is."""
    if not whole.ndim:
        return whole.clone()
    placements = (*[Replicate()] * (mesh.ndim - 1), Shard(0))
    like = DTensor._make(whole, mesh, placements, whole.shape)
    return like._of_whole(whole)


# ---------------------------------------------------------------------------------------------- models


def model_state(module: Any, plain: Callable, destination: Any, prefix: str, keep_vars: bool, *args: Any) -> Any:
    """The entries of a module, and of those in it, in `destination`. plain: `Module.state_dict` of the module."""
    settings, unit = module._state_dict_settings, module._unit
    kind = settings.state_dict_type
    known: set[str] = set(destination or ())
    is_local = kind is StateDictType.LOCAL_STATE_DICT or unit is None
    was_whole = unit is not None and unit.is_whole
    if unit is not None and is_local:
        unit.show_shards()
    elif unit is not None:
        unit.gather()
        unit.show_whole()
    try:
        found = plain(*args, destination=destination, prefix=prefix, keep_vars=keep_vars)
        _own_entries(module, found, prefix, known, is_local)
    finally:
        if unit is not None and not module._state().is_summoned:
            unit.show_shards()
            if not was_whole:
                unit.give_back()
    return found


def _own_entries(module: Any, found: Any, prefix: str, known: set[str], is_local: bool) -> None:
    """Rename what the plain module has put there, and let it own its memory."""
    settings, unit = module._state_dict_settings, module._unit
    config = settings.state_dict_config
    drops = isinstance(config, FullStateDictConfig) and config.rank0_only and module.process_group.rank() != 0
    inside = prefix + WRAPPER
    for key in [key for key in found if key.startswith(inside) and key not in known]:
        value = found.pop(key)
        if drops or (is_local and unit is not None and _is_of(unit, value)):
            continue
        shown = None if is_local or not isinstance(value, Tensor) or isinstance(value, DTensor) else unit
        if shown is not None and shown.shares_memory(value._array):
            with no_grad():
                is_spread = settings.state_dict_type is StateDictType.SHARDED_STATE_DICT
                value = _rows(value.detach(), module._mesh()) if is_spread else value.detach().clone()
        found[prefix + key.removeprefix(inside)] = value
    if is_local and unit is not None:
        found[prefix + FLAT] = _flat_part(unit)


def _is_of(unit: FlatUnit, value: Any) -> bool:
    """Whether a value is this process's part, or a piece of it."""
    return any(isinstance(value, Tensor) and storage_of(value) is storage_of(p) for p in unit.optimized())


def _flat_part(unit: FlatUnit) -> DTensor:
    """The part of the flat parameter, such that others know what it is a part of."""
    mesh, placement = DeviceMesh.from_group(unit.group, "cpu"), Shard(0) if unit.pieces > 1 else Replicate()
    return DTensor._make(unit.flat.detach(), mesh, (placement,), (unit.length * unit.pieces,))


def load_own(module: Any, state: Any, prefix: str, strict: bool, missing: list[str], errors: list[str]) -> None:
    """Write a module's entries of a state into its part; the others get the names that they have inside."""
    unit, inside = module._unit, prefix + WRAPPER
    for key in [key for key in state if key.startswith(prefix) and not key.startswith(inside)]:
        state[inside + key.removeprefix(prefix)] = state.pop(key)
    if unit is None:
        return
    unit.give_back()
    if module._state_dict_settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
        _load_flat(module, state, prefix, strict, missing, errors)
        return
    for member in unit.members:
        for owner, name in member.places:
            key = _place_key(module, owner, name, inside)
            value = state.pop(key, None)
            if value is None:
                if strict:
                    missing.append(prefix + key.removeprefix(inside))
            elif tuple(value.shape) != member.shape:
                errors.append(
                    f"size mismatch for {prefix + key.removeprefix(inside)}: copying a param with shape {value.shape} from "
                    f"checkpoint, the shape in current model is torch.Size({list(member.shape)})."
                )
            else:
                _write_member(unit, member, value)
            if unit.uses_originals:
                state[key] = member.shard.detach()
    if not unit.uses_originals:
        state[_place_key(module, unit.module, FLAT, inside)] = unit.flat.detach()


def _load_flat(module: Any, state: Any, prefix: str, strict: bool, missing: list[str], errors: list[str]) -> None:
    """Of a state with parts of flat parameters: take the part, which has to be of as many processes."""
    unit, inside = module._unit, prefix + WRAPPER
    value, own = state.pop(inside + FLAT, None), _flat_part(unit)
    if value is None:
        if strict:
            missing.append(prefix + FLAT)
    elif not isinstance(value, DTensor) or value.shape != own.shape or value.placements != own.placements:
        errors.append(
            f"{prefix + FLAT}: the state has not the part of a flat parameter of {own.shape[0]} elements in {unit.pieces} processes"
        )
    else:
        with no_grad():
            own.copy_(value)  # type: ignore[attr-defined]
        for p in unit.optimized():
            storage_of(p).wrote("load_state_dict()")
    for member in unit.members if unit.uses_originals else ():
        for owner, name in member.places:
            state[_place_key(module, owner, name, inside)] = member.shard.detach()
    if not unit.uses_originals:
        state[_place_key(module, unit.module, FLAT, inside)] = unit.flat.detach()


def _place_key(module: Any, owner: Any, name: str, inside: str) -> str:
    at = next(path for path, m in module.module.named_modules(remove_duplicate=False) if m is owner)
    return inside + (f"{at}.{name}" if at else name)


@no_grad()
def _write_member(unit: FlatUnit, member: Member, value: Any) -> None:
    """Write a whole value, or one that is spread, into a process's part."""
    whole = value.full_tensor() if isinstance(value, DTensor) else value
    first, n, at = unit.local_range(member)
    if n:
        part = whole.detach().reshape(-1)[first : first + n].to(unit.dtype)
        unit.flat._array[at : at + n] = part._array
        target = member.shard if unit.uses_originals else unit.flat
        storage_of(target).wrote("load_state_dict()")


@contextmanager
def summoned(module: Any, writeback: bool, rank0_only: bool, with_grads: bool) -> Iterator[None]:
    """One module with its whole parameters."""
    unit, state = module._unit, module._state()
    if unit is None or state.is_summoned:
        yield
        return
    unit.gather()
    shows = not rank0_only or unit.group.rank() == 0
    if shows:
        unit.show_whole()
    state.is_summoned = True
    if with_grads:
        _give_gradients(unit)
    try:
        yield
    finally:
        state.is_summoned = False
        if writeback:
            for member in unit.members:
                with no_grad():
                    _write_member(unit, member, member.whole.detach())
        if with_grads:
            for member in unit.members:
                member.whole.grad = None
        unit.give_back()


def _give_gradients(unit: FlatUnit) -> None:
    grads = {id(m): m.shard.grad for m in unit.members}
    whole, present = _gathered(unit, [grads[id(m)] for m in unit.members])
    for member, flat, is_there in zip(unit.members, whole, present, strict=True):
        if is_there:
            member.whole.grad = flat.view(member.shape).to(member.whole_dtype)


def _gathered(unit: FlatUnit, pieces: list[Tensor | None]) -> tuple[list[Tensor], list[bool]]:
    """(the flat whole of each member's piece, whether any process had one)"""
    dtype = next((p._array.dtype for p in pieces if p is not None), unit.dtype.numpy)
    kinds: list[Any] = [None] * unit.group.size()
    all_gather_object(kinds, [None if p is None else p._array.dtype.str for p in pieces], unit.group)
    present = [any(kind[i] for kind in kinds) for i in range(len(pieces))]
    local = np.zeros(unit.length, dtype)
    for member, piece in zip(unit.members, pieces, strict=True):
        _, n, at = unit.local_range(member)
        if piece is not None and n:
            local[at : at + n] = piece.detach()._array.reshape(-1)
    whole = local
    if unit.pieces > 1:
        key = unit.group.key()
        whole = np.concatenate(unit.group.run(lambda: unit.group.all_gather(key, local)))
    return [
        wrap(whole[start : start + m.numel].copy()) for m, start in zip(unit.members, unit.starts, strict=True)
    ], present


# ---------------------------------------------------------------------------------------------- optimizers


def _names(model: Any) -> dict[int, str]:
    """The plain names of parameters that no unit has, by identity."""
    return {id(p): plain_name(name) for name, p in model.named_parameters()}


def _units(model: Any) -> list[tuple[str, FlatUnit, Any]]:
    """(the prefix of its names, the unit, its wrapper) of each wrapper in a model."""
    found = []
    for name, m in model.named_modules():
        state = states_of.get(m)
        if state is not None and isinstance(state.unit, FlatUnit):
            found.append((plain_name(f"{name}.") if name else "", state.unit, m))
    return [(prefix.removesuffix(WRAPPER), unit, m) for prefix, unit, m in found]


def _hide(model: Any) -> None:
    for _, unit, _ in _units(model):
        unit.show_shards()


@no_grad()
def optimizer_state(
    model: Any, optim: Any, given: dict[str, Any] | None, settings: StateDictSettings | None = None
) -> dict[str, Any]:
    """The state by names. settings: what it is like; by default as the model says."""
    _hide(model)
    wrappers = _units(model)
    if not wrappers:
        raise NotImplementedError("optim_state_dict: the model has no FullyShardedDataParallel with parameters")
    settings = settings or wrappers[0][2]._state_dict_settings
    assert settings is not None
    state = optim.state_dict() if given is None else given
    numbers = {id(p): i for i, p in enumerate(p for group in optim.param_groups for p in group["params"])}
    names, found, names_of = _names(model), {}, {}
    for prefix, unit, wrapper in wrappers:
        optimized = [p for p in unit.optimized() if id(p) in numbers]
        own = [state["state"].get(numbers[id(p)], {}) if id(p) in numbers else {} for p in unit.optimized()]
        for name, values in _by_members(unit, own).items():
            found[prefix + name] = {k: _as_wanted(v, settings, wrapper) for k, v in values.items()}
        for p in optimized:
            members = unit.members if not unit.uses_originals else [m for m in unit.members if m.shard is p]
            names_of[numbers[id(p)]] = [prefix + m.name for m in members]
    for p, number in numbers.items():
        if number not in names_of:
            names_of[number] = [names[p]]
            if number in state["state"]:
                found[names[p]] = state["state"][number]
    groups = [
        {**group, "params": [name for number in group["params"] for name in names_of[number]]}
        for group in state["param_groups"]
    ]
    config = settings.optim_state_dict_config
    if isinstance(config, FullOptimStateDictConfig) and config.rank0_only and wrappers[0][2].process_group.rank() != 0:
        return {}
    return {"state": found, "param_groups": groups}


def _as_wanted(value: Any, settings: Any, wrapper: Any) -> Any:
    is_spread = settings.state_dict_type is StateDictType.SHARDED_STATE_DICT
    return _rows(value, wrapper._mesh()) if is_spread and isinstance(value, Tensor) else value


def _by_members(unit: FlatUnit, own: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The state of each member, whole, of the states of the parameters that the optimizer has."""
    if not unit.uses_originals:
        own = [
            {k: v[at : at + n] if _is_spread(unit, v, unit.flat) else v for k, v in own[0].items()}
            for _, n, at in map(unit.local_range, unit.members)
        ]
    kinds: list[Any] = [None] * unit.group.size()
    sizes = [unit.local_range(m)[1] for m in unit.members]
    described = [
        {k: None if isinstance(v, Tensor) and v.ndim and v.numel() == n else v for k, v in values.items()}
        for values, n in zip(own, sizes, strict=True)
    ]
    all_gather_object(kinds, described, unit.group)
    merged = [{k: v for kind in reversed(kinds) for k, v in kind[i].items()} for i in range(len(own))]
    spread = sorted({k for kind in kinds for values in kind for k, v in values.items() if v is None})
    found = [{k: v for k, v in values.items() if v is not None and k not in spread} for values in merged]
    for key in spread:
        whole, present = _gathered(unit, [values.get(key) for values in own])
        for member, values, flat, is_there in zip(unit.members, found, whole, present, strict=True):
            if is_there:
                values[key] = flat.view(member.shape)
    return {m.name: values for m, values in zip(unit.members, found, strict=True) if values}


def _is_spread(unit: FlatUnit, value: Any, p: Tensor) -> bool:
    return isinstance(value, Tensor) and value.ndim == 1 and value.numel() == p.numel()


def groups_of(model: Any, optim: Any, optim_input: Any) -> list[dict[str, Any]]:
    """The groups of an optimizer, or of one that was made of `optim_input`, by default of all parameters."""
    if optim is not None:
        return optim.param_groups
    _hide(model)
    given = list(model.parameters() if optim_input is None else optim_input)
    groups = given if given and isinstance(given[0], dict) else [{"params": given}]
    return [{**group, "params": list(group["params"])} for group in groups]


@no_grad()
def to_load(model: Any, optimized: list[dict[str, Any]], given: dict[str, Any]) -> dict[str, Any]:
    """A state by names as one by numbers, of this process's parts. optimized: the optimizer's groups."""
    _hide(model)
    numbers = {id(p): i for i, p in enumerate(p for group in optimized for p in group["params"])}
    names, members_of = _names(model), {}
    for prefix, unit, _ in _units(model):
        for p in unit.optimized():
            members = unit.members if not unit.uses_originals else [m for m in unit.members if m.shard is p]
            members_of[id(p)] = (unit, members, prefix)
    state, first_names = {}, {}
    for p, number in numbers.items():
        if p in members_of:
            unit, members, prefix = members_of[p]
            first_names[number] = prefix + members[0].name
            values = _local_state(unit, members, [given["state"].get(prefix + m.name, {}) for m in members])
        else:
            first_names[number] = names[p]
            values = given["state"].get(names[p], {})
        if values:
            state[number] = values
    group_of = {name: group for group in given["param_groups"] for name in group["params"]}
    if len(given["param_groups"]) != len(optimized):
        raise ValueError(
            f"the optimizer's state has {len(given['param_groups'])} groups of parameters, the optimizer has {len(optimized)}"
        )
    groups = []
    for group in optimized:
        mine = [numbers[id(p)] for p in group["params"]]
        if mine and first_names[mine[0]] not in group_of:
            raise KeyError(f"parameter {first_names[mine[0]]!r} is in no group of the optimizer's state")
        groups.append({**(group_of[first_names[mine[0]]] if mine else group), "params": mine})
    return {"state": state, "param_groups": groups}


def _local_state(unit: FlatUnit, members: list[Member], states: list[dict[str, Any]]) -> dict[str, Any]:
    keys = dict.fromkeys(k for values in states for k in values)
    found: dict[str, Any] = {}
    sizes = [unit.local_range(m)[1] for m in members]
    for key in keys:
        values = [v.full_tensor() if isinstance(v := s.get(key), DTensor) else v for s in states]
        like = next(v for v in values if v is not None)
        shapes = [m.shape for m in members]
        if not any(
            isinstance(v, Tensor) and tuple(v.shape) == s and v.ndim for v, s in zip(values, shapes, strict=True)
        ):
            if any(sizes) or not unit.uses_originals:
                found[key] = like.clone() if isinstance(like, Tensor) else like  # optimizers count steps in it
            continue
        n = sum(sizes) if unit.uses_originals else unit.length
        local = np.zeros(n, like._array.dtype)
        for member, value in zip(members, values, strict=True):
            first, size, at = unit.local_range(member)
            if value is not None and size:
                start = 0 if unit.uses_originals else at
                local[start : start + size] = value.detach()._array.reshape(-1)[first : first + size]
        if n:
            found[key] = wrap(local)
    return found


def rekeyed(model: Any, optimized: list[dict[str, Any]], given: dict[str, Any], by_names: bool) -> dict[str, Any]:
    """A state by numbers as one by names, or the other way. Raises ValueError where some keys are names and some numbers."""
    kinds = {type(key) for key in given["state"]}
    if not kinds <= {str} and not kinds <= {int}:
        raise ValueError(f"Invalid parameter keys: {given['state'].keys()}")
    if kinds <= {str if by_names else int}:
        return given
    names = {id(p): plain_name(name) for name, p in model.named_parameters()}
    ordered = [names[id(p)] for group in optimized for p in group["params"]]
    new: dict[Any, Any] = dict(enumerate(ordered)) if by_names else {name: i for i, name in enumerate(ordered)}
    groups = [{**group, "params": sorted(new[key] for key in group["params"])} for group in given["param_groups"]]
    return {"state": {new[key]: values for key, values in given["state"].items()}, "param_groups": groups}
