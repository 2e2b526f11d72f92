"""`fully_shard`: spreads the parameters of a module over processes, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.dispatch.mode import no_grad
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module
from ...nn.parameter import Parameter, is_lazy
from .. import world
from ..device_mesh import DeviceMesh, init_device_mesh
from ..tensor._dtensor import DTensor
from ._policies import MixedPrecisionPolicy, OffloadPolicy
from ._state import State, states_of
from ._unit import MANAGED, Member, RowUnit, members_of, own_modules

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]

_classes: dict[type, type] = {}  # the class of a module: that of its sharded kind


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Parameter], Any] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),  # noqa: B008  frozen
    offload_policy: OffloadPolicy = OffloadPolicy(),  # noqa: B008  nothing changes it
    ignored_params: set[Parameter] | None = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """Spread the parameters of a module, or of several as one, over the processes of a mesh. Returns the argument.

    The parameters become `DTensor`s, of which each process has its rows, and so do gradients and what optimizers keep. They
    are gathered before the module's forward and backward passes and freed after them; gradients are averaged. Apply it
    to the inner modules first: what they have is not the outer one's. Make optimizers afterwards.

    mesh: of one dimension, by default of all processes; or of two, of which the second one spreads the parameters, and along
    the first one processes have the same, whose gradients are averaged as well (hybrid sharding). reshard_after_forward: whether the whole is freed between
    forward and backward; by default in all modules but the outermost. ignored_params: parameters that stay as they are.

    Raises ValueError for lists of modules and other containers, and for parameters that another call has spread
    and meshes of more than two dimensions; AssertionError for a module given twice; NotImplementedError for other layouts than
    rows and numbers in `reshard_after_forward`, for parameters without values.
    """
    if isinstance(module, (ModuleList, ModuleDict)):
        raise ValueError(f"fully_shard does not support containers that do not implement forward: {module}")
    if dp_mesh_dims is not None or shard_placement_fn is not None:
        raise NotImplementedError("fully_shard(dp_mesh_dims=..., shard_placement_fn=...) is not implemented")
    if reshard_after_forward is not None and not isinstance(reshard_after_forward, bool):
        raise NotImplementedError("fully_shard(reshard_after_forward=an integer) is not implemented: use True or False")
    modules = tuple(module) if isinstance(module, (list, tuple)) else (module,)
    for each in modules:
        if states_of.get(each) is not None:
            raise AssertionError(
                "Each distinct composable distributed API can only be applied to a module once. fully_shard has already been "
                f"applied to the following module:\n{each}"
            )
    if mesh is None:
        world.default_group()
        mesh = init_device_mesh("cpu", (world.get_world_size(),))
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    members = _members(modules, ignored_params or set(), mp_policy)
    unit = RowUnit(members, mesh, mp_policy.reduce_dtype) if members else None
    state = State(modules, unit, reshard_after_forward, mp_policy)
    for each in modules:
        _install(each, state)
    for owner in dict.fromkeys(owner for member in members for owner, _ in member.places):
        _watch_states(owner, unit)
    return module


def _members(modules: tuple[Module, ...], ignored: set[Parameter], policy: MixedPrecisionPolicy) -> list[Member]:
    """The parameters of modules, without those of modules in them that have a unit of their own."""
    seen: set[Module] = set()
    own = (pair for root in modules for pair in own_modules(root, lambda m: states_of.get(m) is not None, seen))
    return members_of(own, lambda p: p in ignored or isinstance(p, DTensor), _check, policy.param_dtype)


def _check(fqn: str, p: Parameter) -> None:
    if getattr(p, MANAGED, False):
        raise ValueError(
            f"Parameter '{fqn}' is shared with a parameter already managed by another FSDP group. For shared/tied "
            "parameters, use fully_shard([module_a, module_b]) to place them in the same FSDP group."
        )
    if is_lazy(p) or p.device.type != "cpu":
        raise NotImplementedError(
            f"fully_shard: parameter {fqn!r} has no values on the CPU ({p.device}); make them first"
        )
    if not p.ndim:
        raise ValueError(
            f"fully_shard doesn't support scalar parameters. Change {fqn} to a 1D tensor with numel equal to 1."
        )


def _install(module: Module, state: State) -> None:
    states_of.set(module, state)
    module.register_forward_pre_hook(state.before_forward, prepend=True, with_kwargs=True)
    module.register_forward_hook(lambda m, args, output: state.after_forward(m, output))
    cls = type(module)
    if cls not in _classes:
        _classes[cls] = type(
            f"FSDP{cls.__name__}", (FSDPModule, cls), {"__deepcopy__": _no_copy, "__doc__": cls.__doc__}
        )
    module.__class__ = _classes[cls]


def _no_copy(module: Module, memo: Any) -> Any:
    raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


def _watch_states(owner: Module, unit: Any) -> None:
    """A module's state is of the parts, whatever it computes with now."""
    owner.register_state_dict_pre_hook(lambda *_: unit.show_shards())
    owner.register_load_state_dict_pre_hook(lambda *_: unit.give_back())


class UnshardHandle:
    """What `unshard(async_op=True)` returns."""

    def __init__(self, state: State):
        self._state: State | None = state

    def wait(self) -> None:
        """Wait until the parameters are there."""
        if self._state is not None:
            self._state._make_ready()
            self._state = None


class FSDPModule:
    """What a module can do besides after `fully_shard`."""

    _orig_cls_mro_index = 2

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A new module, such as a slice of a Sequential, is of the plain class."""
        plain = cls.__mro__[cls._orig_cls_mro_index]
        self = plain.__new__(plain, *args, **kwargs)
        self.__init__(*args, **kwargs)
        return self

    def _get_fsdp_state(self) -> State:
        state = states_of.get(self)  # type: ignore[arg-type]
        assert state is not None
        return state

    def _states(self, recurse: bool) -> list[State]:
        if not recurse:
            return [self._get_fsdp_state()]
        return list(dict.fromkeys(s for m in self.modules() if (s := states_of.get(m)) is not None))  # type: ignore

    def reshard(self) -> None:
        """Free the whole parameters, and let the module have the parts again."""
        if (unit := self._get_fsdp_state().unit) is not None:
            unit.give_back()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the parameters; async_op: begin to, and return what waits for them."""
        state = self._get_fsdp_state()
        if async_op:
            if state.unit is not None:
                state.unit.gather(ahead=True)
            return UnshardHandle(state)
        state._make_ready()
        return None

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Takes what torch's method does; each backward pass averages by itself here, unless syncing is off."""

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward averages gradients, or lets the whole ones add up in each process."""
        for state in self._states(recurse):
            state.syncs = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Of meshes of two dimensions. Raises NotImplementedError for False: each backward pass sums over both."""
        if not requires_all_reduce:
            raise NotImplementedError(
                "set_requires_all_reduce(False): gradients are summed over both dimensions of a mesh"
            )

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether parameters are freed between forward and backward."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}")
        for state in self._states(recurse):
            state.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether parameters are freed after backward."""
        for state in self._states(recurse):
            state.reshard_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Gather these modules' parameters, in the background, when this one's forward begins."""
        self._get_fsdp_state().next_forward = _with_units(modules)

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Gather these modules' parameters, in the background, when this one's backward begins."""
        self._get_fsdp_state().next_backward = _with_units(modules)

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide sums of gradients by `factor` in place of the number of processes."""
        if (unit := self._get_fsdp_state().unit) is not None:
            unit.share = 1.0 / factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Takes what torch's method does, which changes no result: backward gathers what it needs."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Takes what torch's method does: reductions are sums already."""

    def set_allocate_memory_from_process_group_for_comm(self, enable: bool) -> None:
        """Takes what torch's method does: the process group has no allocator of its own."""

    def set_all_reduce_hook(self, hook: Any, *, stream: Any = None) -> None:
        """Of meshes of two dimensions. Raises NotImplementedError."""
        raise NotImplementedError("set_all_reduce_hook: gradients are summed by the process group only")

    def set_custom_all_gather(self, comm: Any) -> None:
        """Raises NotImplementedError: parameters are gathered by the process group."""
        raise NotImplementedError("set_custom_all_gather: parameters are gathered by the process group only")

    def set_custom_reduce_scatter(self, comm: Any) -> None:
        """Raises NotImplementedError: gradients are reduced by the process group."""
        raise NotImplementedError("set_custom_reduce_scatter: gradients are reduced by the process group only")

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        """Of `to()` and its relatives: change the parts."""
        self.reshard()
        with no_grad():
            result = super()._apply(fn, recurse)  # type: ignore[misc]
        if (unit := self._get_fsdp_state().unit) is not None:
            unit.take_shards()  # type: ignore[attr-defined]
        return result


def _with_units(modules: list[Any]) -> list[State]:
    states = [module._get_fsdp_state() for module in modules]
    return [state for state in states if state.unit is not None]


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Let another method of a module gather and free the parameters as `forward` does. Nothing for plain modules."""
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)
    state = module._get_fsdp_state()

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.before_forward(module, args, kwargs)
        return state.after_forward(module, method(*args, **kwargs))

    object.__setattr__(module, method_name, wrapped)
