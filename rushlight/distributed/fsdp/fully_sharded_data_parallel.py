"""`FullyShardedDataParallel`: a module whose parameters are parts of flat ones, spread over processes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from ...core.dispatch.mode import no_grad
from ...core.tensor.dtype import float32
from ...core.tensor.tensor import Tensor
from ...nn.modules.module import Module
from ...nn.parameter import Parameter, is_lazy
from ...ops import linalg, stack, tensor
from .. import world
from ..collectives import all_reduce, broadcast
from ..device_mesh import DeviceMesh
from ..objects import broadcast_object_list
from ..reduce_op import ReduceOp
from . import _flat_states as flat_states
from ._flat_unit import FlatUnit
from ._policies import MixedPrecisionPolicy
from ._state import State, states_of
from ._unit import MANAGED, Member, members_of, own_modules
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .wrap import CustomPolicy, wrap_inside

__all__ = ["FullyShardedDataParallel", "OptimStateKeyType"]

WRAPPED = "_fsdp_wrapped_module"
_HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
_CONFIGS = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
}


class FullyShardedDataParallel(Module):
    """`module`, whose parameters (but those of modules in it that are wrapped as well) are one unit.

    The unit is a flat parameter, of which each process has an equal part; it is gathered around the module's forward and
    backward passes and freed after them, and gradients are averaged. use_orig_params: modules keep parameters under their
    names, pieces of the part, for optimizers with several groups; else `parameters()` gives the flat parameter.

    auto_wrap_policy: which modules inside are wrapped with the same options (`torch.distributed.fsdp.wrap`).
    sync_module_states: take the first process's parameters and buffers. ignored_modules, ignored_states: what stays as it is.
    cpu_offload, device_id, limit_all_gathers: change nothing, since all is on the CPU.

    HYBRID_SHARD: device_mesh has two dimensions, and processes have other parts along the second one, the same along the first;
    or process_group is a pair of groups, of those with other parts and of those with the same.

    Raises NotImplementedError for HYBRID_SHARD without either, and for param_init_fn, ValueError for parameters of several types,
    or, without use_orig_params, of which some are frozen.
    """

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: DeviceMesh | None = None,
    ):
        super().__init__()
        strategy = ShardingStrategy.FULL_SHARD if sharding_strategy is None else sharding_strategy
        _check_options(param_init_fn, mixed_precision, device_id)
        if device_mesh is not None and process_group is not None:
            raise ValueError("Cannot pass both process_group and device_mesh at the same time.")
        self._device_mesh = device_mesh if strategy in _HYBRID else None
        replicas: Any = None
        if strategy in _HYBRID:
            self.process_group, replicas = _hybrid_groups(process_group, device_mesh, auto_wrap_policy)
        else:
            self.process_group = world.group_of(process_group if device_mesh is None else device_mesh.get_group(0))
            strategy = _strategy_for(strategy, self.process_group.size())
        self.sharding_strategy, self.mixed_precision = strategy, mixed_precision
        ignored, left_alone = _ignored(ignored_modules, ignored_states)
        if auto_wrap_policy is not None:
            options = {
                "process_group": process_group, "device_mesh": device_mesh, "sharding_strategy": strategy, "cpu_offload": cpu_offload,
                "backward_prefetch": backward_prefetch, "mixed_precision": mixed_precision,
                "ignored_modules": ignored_modules, "sync_module_states": sync_module_states,
                "forward_prefetch": forward_prefetch, "use_orig_params": use_orig_params, "ignored_states": ignored_states,
            }  # fmt: skip
            _wrap_inner(module, auto_wrap_policy, ignored, options)
        if sync_module_states:
            for group in (self.process_group, replicas):
                if group is not None:
                    _take_first(module, group)
        setattr(self, WRAPPED, module)
        self._use_orig_params, self._ignored = use_orig_params, left_alone
        self._state_dict_settings = _settings(StateDictType.FULL_STATE_DICT, None, None)
        policy = _policy(mixed_precision, module)
        members = _members(module, ignored, left_alone, policy)
        unit = None
        if not members:  # torch casts the arguments of such a module only where it is the outermost one
            policy = replace(policy, cast_forward_inputs=False)
        else:
            _check_uniform(members, use_orig_params)
            is_spread = (
                strategy is not ShardingStrategy.NO_SHARD and self.process_group.size() > 1
            )  # HYBRID_SHARD's may be 1
            unit = FlatUnit(
                module,
                members,
                self.process_group,
                policy.reduce_dtype,
                use_orig_params,
                is_spread,
                replicas,
                everyone=world.default_group().ranks if replicas is not None else (),
            )
        frees = strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)
        state = State((self,), unit, None if frees else False, policy)
        state.hides = True
        state.casts_as_root = mixed_precision is not None and mixed_precision.cast_root_forward_inputs
        state.gathers_ahead = state.gathers_ahead and (forward_prefetch or backward_prefetch is not None)
        states_of.set(self, state)
        if mixed_precision is not None and mixed_precision.buffer_dtype is not None:
            _cast_buffers(module, mixed_precision.buffer_dtype)

    # ------------------------------------------------------------------------------------------ as a module

    @property
    def module(self) -> Module:
        """The module inside."""
        return getattr(self, WRAPPED)

    @property
    def _unit(self) -> FlatUnit | None:
        return self._state().unit  # type: ignore[return-value]

    def _mesh(self) -> DeviceMesh:
        """That of the parts in a state: the one that was given for hybrid sharding, or a line of the processes with other parts."""
        return DeviceMesh.from_group(self.process_group, "cpu") if self._device_mesh is None else self._device_mesh

    def _state(self) -> State:
        return self.__dict__["_fsdp_state"]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        state = self._state()
        args, kwargs = state.before_forward(self, args, kwargs)
        return state.after_forward(self, self.module(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == WRAPPED:
                raise
            return getattr(super().__getattr__(WRAPPED), name)

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]  # type: ignore[index]

    def __deepcopy__(self, memo: Any) -> Any:
        raise NotImplementedError("FullyShardedDataParallel is not copied: use its state_dict()")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotImplementedError("FullyShardedDataParallel is not pickled: use its state_dict()")

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        unit = self._unit
        for p in [] if unit is None else [unit.flat]:
            changed = fn(p.detach())
            if changed.dtype is not p.dtype or changed.device != p.device:
                raise NotImplementedError(
                    "to() and its relatives do not change parameters that FullyShardedDataParallel has made flat: call them first"
                )
        for child in self.module.children() if recurse else ():
            child._apply(fn)
        for name, buffer in self.module._buffers.items():
            if buffer is not None:
                self.module._buffers[name] = fn(buffer)
        return self

    def apply(self, fn: Callable[[Module], None]) -> Any:
        """`Module.apply`, with whole parameters."""
        with self.summon_full_params(self, recurse=True):
            return super().apply(fn)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Parameter]]:
        """As of any module; within `summon_full_params`, with the names of the plain module."""
        plain = self._state().is_summoned
        for name, p in super().named_parameters(*args, **kwargs):
            yield (flat_states.plain_name(name) if plain else name), p

    def check_is_root(self) -> bool:
        """Whether this is the outermost module of its kind."""
        state = self._state()
        if state.root is None:
            state.become_root(self)
        return state.is_root

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The modules of this class in one."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        return [m for m in found if m.check_is_root()] if root_only else found

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Raises NotImplementedError."""
        raise NotImplementedError("FullyShardedDataParallel.register_comm_hook is not implemented")

    # ------------------------------------------------------------------------------------------ gradients

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within the context, backward adds up whole gradients in each process; the next backward after it averages them."""
        states = [m._state() for m in self.fsdp_modules(self)]
        before = [state.syncs for state in states]
        for state in states:
            state.syncs = False
        try:
            yield
        finally:
            for state, syncs in zip(states, before, strict=True):
                state.syncs = syncs

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale all gradients so that their norm, over all processes, is at most max_norm. Returns the norm before.

        Every process has to call it, on the outermost module. Raises RuntimeError on another one.
        """
        if not self.check_is_root():
            raise RuntimeError("`clip_grad_norm_()` should only be called on the root FSDP instance")
        p, spread = float(norm_type), set()
        for m in self.fsdp_modules(self):
            if m._unit is not None and m._unit.pieces > 1:
                spread.update(map(id, m._unit.optimized()))
        grads = [(q.grad, id(q) in spread) for q in self.parameters() if q.grad is not None]
        with no_grad():
            parts = _total_norm([g for g, is_part in grads if is_part], p)
            parts = parts if p in (float("inf"), -float("inf")) else parts**p
            op = {float("inf"): ReduceOp.MAX, -float("inf"): ReduceOp.MIN}.get(p, ReduceOp.SUM)
            all_reduce(parts, op, self.process_group)
            if op is ReduceOp.SUM:
                parts = parts ** (1.0 / p)
            others = [g for g, is_part in grads if not is_part]
            total = _total_norm([*others, parts.reshape(1)], p) if others else parts
            factor = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
            for g, _ in grads:
                g.mul_(factor.to(g.dtype))
        return total

    # ------------------------------------------------------------------------------------------ whole parameters

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module, recurse: bool = True, writeback: bool = True, rank0_only: bool = False,
        offload_to_cpu: bool = False, with_grads: bool = False,
    ) -> Iterator[None]:  # fmt: skip
        """Within the context modules have their whole parameters, in every process.

        writeback: what is written there is kept. rank0_only: other processes keep their parts. with_grads: whole gradients as
        well, which are not written back. Raises NotImplementedError for rank0_only together with writeback, as torch does.
        """
        if rank0_only and writeback:
            raise NotImplementedError("rank0_only=True and writeback=True are not supported together")
        if with_grads and (offload_to_cpu or not _all_keep_originals(module)):
            raise NotImplementedError("with_grads=True needs use_orig_params=True, without offload_to_cpu")
        with ExitStack() as stack_:
            for m in FullyShardedDataParallel.fsdp_modules(module):
                if recurse or m is module:
                    stack_.enter_context(flat_states.summoned(m, writeback, rank0_only, with_grads))
            yield

    # ------------------------------------------------------------------------------------------ states

    @staticmethod
    def set_state_dict_type(
        module: Module, state_dict_type: StateDictType, state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:  # fmt: skip
        """Say what `state_dict` gives of all modules of this class in one. Returns what it was. Warns as torch does."""
        warnings.warn(_OLD_STATE_DICTS, FutureWarning, stacklevel=2)
        new = _settings(state_dict_type, state_dict_config, optim_state_dict_config)
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for m in FullyShardedDataParallel.fsdp_modules(module):
            m._state_dict_settings = new
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """What `state_dict` gives."""
        for m in FullyShardedDataParallel.fsdp_modules(module):
            return m._state_dict_settings
        return _settings(StateDictType.FULL_STATE_DICT, None, None)

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Module, state_dict_type: StateDictType, state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:  # fmt: skip
        """`set_state_dict_type` for a context."""
        modules = FullyShardedDataParallel.fsdp_modules(module)
        before = [m._state_dict_settings for m in modules]
        FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for m, settings in zip(modules, before, strict=True):
                m._state_dict_settings = settings

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The state under the plain module's names, as `set_state_dict_type` says. Every process has to call it."""
        return flat_states.model_state(self, super().state_dict, destination, prefix, keep_vars, *args)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list, unexpected_keys: list,
        error_msgs: list,
    ) -> None:  # fmt: skip
        flat_states.load_own(self, state_dict, prefix, strict, missing_keys, error_msgs)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    @staticmethod
    def optim_state_dict(
        model: Module, optim: Any, optim_state_dict: dict[str, Any] | None = None, group: Any = None
    ) -> dict[str, Any]:
        """An optimizer's state under the plain module's names, as `set_state_dict_type` says. Every process has to call it."""
        return flat_states.optimizer_state(model, optim, optim_state_dict)

    @staticmethod
    def optim_state_dict_to_load(
        model: Module, optim: Any, optim_state_dict: dict[str, Any], is_named_optimizer: bool = False,
        load_directly: bool = False, group: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """What `optim.load_state_dict` takes, of what `optim_state_dict` gave, also in another number of processes."""
        if is_named_optimizer:
            raise NotImplementedError("optim_state_dict_to_load(is_named_optimizer=True) is not implemented")
        found = flat_states.to_load(model, optim.param_groups, optim_state_dict)
        if load_directly:
            optim.load_state_dict(found)
        return found

    # ------------------------------------------------------------------------------------------ states, by torch's older names

    @staticmethod
    def full_optim_state_dict(
        model: Module, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """`optim_state_dict` with whole tensors, whatever `set_state_dict_type` says; an empty dict in all processes but the first
        one, unless rank0_only is False. Every process has to call it. optim_input: not needed.
        """
        _deprecated("full_optim_state_dict", "optim_state_dict", optim_input)
        config = FullOptimStateDictConfig(rank0_only=rank0_only)
        settings = _settings(StateDictType.FULL_STATE_DICT, None, config)
        return flat_states.optimizer_state(model, optim, None, settings)

    @staticmethod
    def sharded_optim_state_dict(model: Module, optim: Any, group: Any = None) -> dict[str, Any]:
        """`optim_state_dict` with `DTensor`s, whatever `set_state_dict_type` says. Every process has to call it."""
        _deprecated("sharded_optim_state_dict", "optim_state_dict")
        settings = _settings(StateDictType.SHARDED_STATE_DICT, None, None)
        return flat_states.optimizer_state(model, optim, None, settings)

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any], model: Module, optim_input: Any = None, optim: Any = None
    ) -> dict[str, Any]:
        """What an optimizer's `load_state_dict` takes, of a whole state that each process has.

        optim: the optimizer; else optim_input, what it was made of, by default all parameters in one group. Raises ValueError where
        that has another number of groups than the state.
        """
        _deprecated("shard_full_optim_state_dict", "optim_state_dict_to_load", optim_input)
        return flat_states.to_load(model, flat_states.groups_of(model, optim, optim_input), full_optim_state_dict)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None, model: Module, optim_input: Any = None, optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """`shard_full_optim_state_dict` of the state that the first process has. Every process has to call it."""
        _deprecated("scatter_full_optim_state_dict", "optim_state_dict_to_load", optim_input)
        sent = [full_optim_state_dict]
        broadcast_object_list(sent, group=group, group_src=0)
        return flat_states.to_load(model, flat_states.groups_of(model, optim, optim_input), sent[0])  # type: ignore

    @staticmethod
    def flatten_sharded_optim_state_dict(
        sharded_optim_state_dict: dict[str, Any], model: Module, optim: Any
    ) -> dict[str, Any]:
        """What an optimizer's `load_state_dict` takes, of what `sharded_optim_state_dict` gave. Every process has to call it."""
        _deprecated("flatten_sharded_optim_state_dict", "optim_state_dict_to_load")
        return flat_states.to_load(model, flat_states.groups_of(model, optim, None), sharded_optim_state_dict)

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any], optim_state_key_type: OptimStateKeyType, model: Module, optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """An optimizer's state with names in place of numbers or the other way, of a model that may be a plain one.

        optim, optim_input: as of `shard_full_optim_state_dict`. Raises ValueError where some keys are names and some numbers.
        """
        by_names = optim_state_key_type is OptimStateKeyType.PARAM_NAME
        groups = flat_states.groups_of(model, optim, optim_input)
        return flat_states.rekeyed(model, groups, optim_state_dict, by_names)


_OLD_STATE_DICTS = (
    "FSDP.state_dict_type() and FSDP.set_state_dict_type() are being deprecated. Please use APIs, get_state_dict() and "
    "set_state_dict(), which can support different parallelisms, FSDP1, FSDP2, DDP. API doc: "
    "https://pytorch.org/docs/stable/distributed.checkpoint.html"
    "#torch.distributed.checkpoint.state_dict.get_state_dict .Tutorial: "
    "https://pytorch.org/tutorials/recipes/distributed_checkpoint_recipe.html ."
)


def _strategy_for(strategy: ShardingStrategy, size: int) -> ShardingStrategy:
    """The strategy in a group of a size: a process alone has nothing to share. Warns as torch does."""
    if size == 1:
        if strategy is not ShardingStrategy.NO_SHARD:
            text = f"FSDP is switching to use `NO_SHARD` instead of {strategy} since the world size is 1."
            warnings.warn(text, stacklevel=3)
        return ShardingStrategy.NO_SHARD
    if strategy is ShardingStrategy.NO_SHARD:
        warnings.warn(
            "The `NO_SHARD` sharding strategy is deprecated. If having issues, please use `DistributedDataParallel` instead.",
            FutureWarning,
            stacklevel=3,
        )
    return strategy


def _deprecated(name: str, new: str, optim_input: Any = None) -> None:
    warnings.warn(
        f"``FullyShardedDataParallel.{name}``is being deprecated and is replaced by ``FullyShardedDataParallel.{new}``. "
        f"``FullyShardedDataParallel.{name}`` may be removed after PyTorch 2.2.",
        FutureWarning,
        stacklevel=3,
    )
    if optim_input is not None:
        warnings.warn(
            "The `optim_input` argument is deprecated and will be removed after PyTorch 1.13. You may remove it from your code "
            "without changing its functionality.",
            FutureWarning,
            stacklevel=3,
        )


def _hybrid_groups(groups: Any, mesh: DeviceMesh | None, policy: Any) -> tuple[Any, Any]:
    """The group of the processes with other parts, and that of those with the same."""
    if mesh is not None:
        if mesh.ndim != 2:
            raise ValueError(f"Expected device_mesh to have ndim=2 but got {mesh.ndim}")
        return mesh.get_group(1), mesh.get_group(0)
    if groups is None and policy is None:
        raise ValueError(
            "Manual wrapping with ShardingStrategy.HYBRID_SHARD requires explicit specification of process group or device_mesh."
        )
    if groups is None:
        raise NotImplementedError(
            "FullyShardedDataParallel(sharding_strategy=ShardingStrategy.HYBRID_SHARD): which processes have other parts depends on "
            "the number of devices; give a device_mesh of two dimensions, or two groups"
        )
    if not isinstance(groups, tuple) or len(groups) != 2:
        raise ValueError(
            "Expected process_group to be passed in as either None or Tuple[dist.ProcessGroup, dist.ProcessGroup] but got "
            f"{type(groups)}"
        )
    return groups


def _check_options(param_init_fn: Any, mixed: MixedPrecision | None, device_id: Any) -> None:
    if param_init_fn is not None:
        raise NotImplementedError("FullyShardedDataParallel(param_init_fn=...) is not implemented")
    if mixed is not None and mixed.keep_low_precision_grads:
        raise NotImplementedError("MixedPrecision(keep_low_precision_grads=True) is not implemented")
    if device_id is not None and "cpu" not in str(device_id):
        raise NotImplementedError(f"FullyShardedDataParallel(device_id={device_id}): processes work on the CPU only")


def _wrap_inner(module: Module, policy: Any, ignored: set[Module], options: dict[str, Any]) -> None:
    """Wrap the modules inside that a policy takes."""
    if any(isinstance(m, FullyShardedDataParallel) for m in module.modules()):
        raise ValueError("FSDP auto wrapping requires modules to not already have FSDP applied")
    mixed = options["mixed_precision"]
    kept = () if mixed is None or mixed.param_dtype is None else tuple(mixed._module_classes_to_ignore)
    if any(isinstance(m, kept) for m in module.modules()):
        raise NotImplementedError(
            "FullyShardedDataParallel: mixed_precision with auto_wrap_policy for models with BatchNorm, which torch computes "
            "in float32, is not implemented"
        )
    if isinstance(policy, CustomPolicy) and policy.options(module):
        raise NotImplementedError("CustomPolicy: the outermost module's options are those of FullyShardedDataParallel")
    wrap_inside(module, policy, FullyShardedDataParallel, ignored, options)


def _all_keep_originals(module: Module) -> bool:
    return all(m._use_orig_params for m in FullyShardedDataParallel.fsdp_modules(module))


def _total_norm(tensors: list[Tensor], p: float) -> Tensor:
    tensors = [t for t in tensors if t.numel()]
    if not tensors:
        return tensor(0.0 if p > 0 else float("inf"))
    return linalg.vector_norm(stack([linalg.vector_norm(t.to(float32), p) for t in tensors]), p)


def _settings(kind: StateDictType, config: Any, optim_config: Any) -> StateDictSettings:
    ours, its = _CONFIGS[kind]
    config, optim_config = ours() if config is None else config, its() if optim_config is None else optim_config
    for given, expected in ((config, ours), (optim_config, its)):
        if type(given) is not expected:
            raise RuntimeError(f"Expected state_dict_config of type {expected} but got {type(given)}")
    return StateDictSettings(kind, config, optim_config)


def _ignored(modules: Iterable[Module] | None, states: Any) -> tuple[set[Module], set[Parameter]]:
    if modules is not None and states is not None:
        raise ValueError("Cannot pass both ignored_modules and ignored_states at the same time.")
    given = list(modules or ()) + list(states or ())
    found = {inner for m in given if isinstance(m, Module) for inner in m.modules()}
    left = {p for p in given if isinstance(p, Tensor)} | {
        p for m in found for p in m._parameters.values() if p is not None
    }
    return found, left  # type: ignore[return-value]


def _policy(given: MixedPrecision | None, module: Module) -> MixedPrecisionPolicy:
    if given is None:
        return MixedPrecisionPolicy(cast_forward_inputs=False)
    if isinstance(module, tuple(given._module_classes_to_ignore)):
        return MixedPrecisionPolicy(cast_forward_inputs=False)
    return MixedPrecisionPolicy(given.param_dtype, given.reduce_dtype, None, given.cast_forward_inputs)


def _members(module: Module, ignored: set[Module], left_alone: set, policy: MixedPrecisionPolicy) -> list[Member]:
    own = own_modules(module, lambda m: m in ignored or isinstance(m, FullyShardedDataParallel), set())
    return members_of(own, left_alone.__contains__, _check, policy.param_dtype)


def _check(name: str, p: Parameter) -> None:
    if getattr(p, MANAGED, False):
        raise ValueError(
            f"parameter {name!r} is that of another FullyShardedDataParallel as well: modules that share it have to be wrapped "
            "together"
        )
    if is_lazy(p) or p.device.type != "cpu":
        raise NotImplementedError(f"FullyShardedDataParallel: parameter {name!r} has no values on the CPU")


def _check_uniform(members: list[Member], uses_originals: bool) -> None:
    kinds = {member.dtype for member in members}
    if len(kinds) > 1:
        raise ValueError(f"Must flatten tensors with uniform dtype but got {' and '.join(sorted(map(str, kinds)))}")
    frozen = {owner._parameters[name].requires_grad for member in members for owner, name in member.places}  # type: ignore
    if len(frozen) > 1 and not uses_originals:
        raise ValueError("Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`")


def _take_first(module: Module, group: Any) -> None:
    with no_grad():
        for t in (*module.parameters(), *module.buffers()):
            if not getattr(t, MANAGED, False):
                broadcast(t, group_src=0, group=group)


def _cast_buffers(module: Module, kind: Any) -> None:
    for m in module.modules():
        for name, buffer in m._buffers.items():
            if buffer is not None and buffer.is_floating_point():
                m._buffers[name] = buffer.to(kind)
