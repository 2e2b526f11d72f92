"""A module whose gradients are averaged over processes."""

from __future__ import annotations

import inspect
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy as np

from rushlight.core.dispatch.inplace import uncounted_writes
from rushlight.core.dispatch.mode import emit_event, is_grad_enabled, no_grad, thread
from rushlight.core.tensor.storage import storage_of
from rushlight.core.tensor.strides import strides_of
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.modules.batchnorm import SyncBatchNorm
from rushlight.nn.modules.module import Module
from rushlight.nn.modules.sparse import Embedding, EmbeddingBag
from rushlight.ops import cat

from .grad_bucket import GradBucket
from .join import Join, Joinable, JoinHook, distributed_package, total
from .reducer import Reducer, nothing

__all__ = ["DistributedDataParallel"]

_DEFAULT_BUCKET_MB = 25
_WRITER = "DistributedDataParallel"
_SMALL_BYTES = 1 << 16  # of a tensor that is copied to travel together with others


class _Hook(JoinHook):
    """The collectives of `DistributedDataParallel`, for a process that has no more batches."""

    def __init__(self, model: DistributedDataParallel):
        self.model = model

    def main_hook(self) -> None:
        """Those of a forward and a backward pass."""
        model = self.model
        averaging = bool(total(model.process_group, 0.0))
        if model.forward_sync_buffers and model.require_forward_param_sync:
            model._take_buffers(is_joined=True)
        model.require_forward_param_sync = averaging
        if averaging:
            model.reducer.take_part(model._looks_for_unused)

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take the parameters and buffers of one of the last processes."""
        model = self.model
        with no_grad():
            model._broadcast(model._states(model.forward_sync_buffers), model._last_of(is_last_joiner))


class _Pass:
    """What a forward pass changes in the objects of this folder; done in each replay of a program."""

    name, writes = "DistributedDataParallel", False

    def __init__(self, model: DistributedDataParallel, averaging: bool):
        self.model, self.averaging = model, averaging
        self.group, self.reducer = model.process_group, model.reducer
        self.assigns = ((model.__dict__, "require_forward_param_sync"),)
        syncs, is_repeatable = model.require_forward_param_sync, model._is_repeatable
        reducer = model.reducer
        self.condition = (
            ("pass", id(model)),
            lambda: model.require_forward_param_sync is syncs and is_repeatable(reducer),
        )

    def act(self) -> None:
        """As `forward` does."""
        model, averaging = self.model, self.averaging
        if averaging:
            self.reducer.prepare()
        else:
            self.reducer.rest()
        if model.require_forward_param_sync is not averaging:
            model.require_forward_param_sync = averaging


class DistributedDataParallel(Module, Joinable):
    """`module` behind `.module`; after backward every process has the average of all processes' gradients.

    At the start every process takes the parameters and buffers of the first one (init_sync=False: not), and before each
    forward pass its buffers (forward_sync_buffers=False: not). broadcast_buffers, which is deprecated: False leaves the
    buffers out of both. Within `no_sync()` gradients accumulate without being averaged; the next backward pass outside
    averages all that has accumulated.

    find_unused_parameters: look, after each forward pass, which parameters its result does not depend on, and do not
    wait for their gradients. static_graph: average when the whole backward pass is over, which may reach a parameter several
    times (reentrant checkpoints) or never. bucket_cap_mb: how much travels at once; of bucket_cap_mb_list the last
    number counts. batched_grad_copy: accepted, since copies are made together in any case. process_group: by default the
    default group. gradient_as_bucket_view: gradients are parts of the flat tensors that travel, which saves memory and
    copies; the next backward pass writes there again.

    device_mesh: a mesh of one dimension, in the place of its group.

    delay_all_reduce_named_params: names and parameters whose averages begin after all others'. torch begins when the gradient
    of param_to_hook_all_reduce is there; the results are the same.

    Raises RuntimeError for a module without parameters that require gradients, or whose parameters differ between
    processes in number, type or shape, ValueError for device_ids (the CPU has
    none) and for SyncBatchNorm, NotImplementedError for options that are not implemented.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: int | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        _refuse(mixed_precision=mixed_precision, skip_all_reduce_unused_params=skip_all_reduce_unused_params)
        if check_reduction:
            text = "The `check_reduction` argument in `DistributedDataParallel` module is deprecated. Please avoid using it."
            warnings.warn(text, FutureWarning, stacklevel=2)
        if broadcast_buffers is not None:
            warnings.warn(_BOTH_GIVEN if forward_sync_buffers is not None else _DEPRECATED, FutureWarning, stacklevel=2)
        self.device_mesh = device_mesh
        if device_mesh is not None:
            process_group = _group_of_mesh(device_mesh, process_group)
        self.process_group = distributed_package().world.group_of(process_group)
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(n, p) for n, p in module.named_parameters() if p.requires_grad and n not in ignored]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        if device_ids or output_device is not None:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-"
                f"device GPU modules or CPU modules, but got device_ids {device_ids}, output_device {output_device}, and "
                "module parameters {device(type='cpu')}. On the CPU leave both out."
            )
        if any(isinstance(layer, SyncBatchNorm) for layer in module.modules()):
            raise ValueError("SyncBatchNorm layers only work with GPU modules")
        self.module, self.dim, self.device_ids, self.output_device = module, dim, None, None
        takes_buffers = forward_sync_buffers is not None or broadcast_buffers is not False  # at the start
        self.forward_sync_buffers = takes_buffers if forward_sync_buffers is None else forward_sync_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self.device = named[0][1].device
        self.device_type = self.device.type
        self.parameters_to_ignore = ignored
        self._divides_by_all = True
        if init_sync:
            self._check_shapes([p for _, p in named])
            self._broadcast(self._states(takes_buffers))
        cap = bucket_cap_mb_list[-1] if bucket_cap_mb_list else bucket_cap_mb
        cap = _DEFAULT_BUCKET_MB if cap is None else cap
        self._bucket_cap = int(cap * (1 << 20))
        names, parameters = [n for n, _ in named], [p for _, p in named]
        late = _delayed(parameters, delay_all_reduce_named_params, param_to_hook_all_reduce)
        self._late_names = {n for n, p in named if id(p) in late}
        object.__setattr__(self, "reducer", self._reducer(parameters, names))

    @property
    def broadcast_buffers(self) -> bool:
        """The older name of `forward_sync_buffers`: whether forward passes take the first process's buffers."""
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward pass takes the first process's buffers, and there are any."""
        return self.require_forward_param_sync and self.forward_sync_buffers and bool(self._buffers_to_take())

    def _buffers_to_take(self) -> list[Tensor]:
        return [b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore]

    def _states(self, with_buffers: bool) -> list[Tensor]:
        """What all processes have alike: parameters, and buffers, those that states leave out as well."""
        parameters = [p for n, p in self.module.named_parameters() if n not in self.parameters_to_ignore]
        return parameters + (self._buffers_to_take() if with_buffers else [])

    def _reducer(self, parameters: list[Any], names: list[str]) -> Reducer:
        late = {id(p) for n, p in zip(names, parameters, strict=True) if n in self._late_names}
        sum_op = distributed_package().ReduceOp.SUM
        sparse = {id(p) for m in self.module.modules() if _has_sparse_gradients(m) for p in m.parameters(recurse=False)}
        as_views = self.gradient_as_bucket_view
        return Reducer(parameters, names, self.process_group, sum_op, self._bucket_cap, late, as_views, sparse)

    def _broadcast(self, tensors: list[Any], root: int = 0) -> None:
        """Take the values of one process; small tensors of one type travel together."""
        broadcast = self._broadcast_captured if thread.state.level > 1 else self._broadcast_arrays
        with no_grad():
            for together in _together([t for t in tensors if isinstance(t, Tensor)]):
                broadcast(together, root)

    def _broadcast_arrays(self, tensors: list[Tensor], root: int) -> None:
        group, arrays = self.process_group, [t._array for t in tensors]
        flat = arrays[0] if len(arrays) == 1 else np.concatenate([a.reshape(-1) for a in arrays])
        key = group.key()
        values = group.run(lambda: group.broadcast_array(key, flat, root))
        if group.rank() == root:
            return
        if len(arrays) == 1:
            np.copyto(arrays[0], values)
        else:
            for array, place in zip(arrays, _places(tensors), strict=True):
                np.copyto(array, values[place].reshape(array.shape))
        for t in tensors:
            storage_of(t).wrote_unseen(_WRITER)  # backward of an earlier pass may go on, as in torch

    def _broadcast_captured(self, tensors: list[Tensor], root: int) -> None:
        """The same in operators, and a collective, that a recorder hears of."""
        group, broadcast = self.process_group, distributed_package().broadcast
        if len(tensors) == 1:
            with uncounted_writes(tensors[0], _WRITER):
                broadcast(tensors[0], group=group, group_src=root)
            return
        flat = cat([t.reshape(-1) for t in tensors])
        broadcast(flat, group=group, group_src=root)
        for t, place in zip(tensors, _places(tensors), strict=True):
            if group.rank() != root:
                with uncounted_writes(t, _WRITER):
                    t.copy_(flat[place].view(t.shape))

    def _check_shapes(self, parameters: list[Tensor]) -> None:
        """Raises RuntimeError where another process has other parameters, in that one as well."""
        group = self.process_group
        counts = _gathered(group, [len(parameters)])
        for rank, (count,) in enumerate(counts):
            if count != counts[0][0]:
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank {rank} has {count} params, while rank 0 has "
                    f"inconsistent {counts[0][0]} params."
                )
        about = {
            "sizes": [f"{p.dtype} {list(p.shape)}" for p in parameters],
            "strides": [f"{list(strides_of(p))}" for p in parameters],
        }
        known = _gathered(group, [zlib.crc32(text.encode()) for texts in about.values() for text in texts])
        for rank, theirs in enumerate(known):
            for i, (one, other) in enumerate(zip(known[0], theirs, strict=True)):
                if one != other:
                    what, i = "sizes" if i < len(parameters) else "strides", i % len(parameters)
                    own = list(parameters[i].shape if what == "sizes" else strides_of(parameters[i]))
                    raise RuntimeError(
                        f"[{rank}]: params[{i}] in this process with {what} {own} appears not to match {what} of the same param "
                        f"in process 0. (These are the {what} in process {group.rank()}.)"
                    )

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        averaging = is_grad_enabled() and self.require_backward_grad_sync
        if thread.state.level > 1:
            self._tell_recorder(averaging)
        self._tell_joined(averaging)
        self.reducer.looks_for_unused = self._looks_for_unused
        if averaging:
            self.reducer.prepare(waits_for_end=self.static_graph)
        else:
            self.reducer.rest()
        if self.forward_sync_buffers and self.require_forward_param_sync:
            self._take_buffers(is_joined=False)
        output = self.module(*inputs, **kwargs)
        if self.require_forward_param_sync is not averaging:
            self.require_forward_param_sync = averaging
        if averaging and self.find_unused_parameters and not self.static_graph:
            self.reducer.prepare(output)
        return output

    def _tell_recorder(self, averaging: bool) -> None:
        """What a replay has to do of a forward pass besides its operators and collectives; else, that it cannot be repeated."""
        reducer, listener = self.reducer, thread.state.listener
        if self._is_repeatable(reducer) and emit_event("exchanged", "effect", None, _Pass(self, averaging)):
            reducer.heard_by = ref(listener)
            return
        reducer.heard_by = nothing
        emit_event(
            "left",
            "DistributedDataParallel with find_unused_parameters, static_graph, a communication hook or join() decides in "
            "each pass what the processes exchange, which the compiled program would not do",
        )

    def _is_repeatable(self, reducer: Reducer) -> bool:
        return (
            self.reducer is reducer and reducer.holds() and not self._looks_for_unused and not self._join_config.enable
        )

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within the context, forward passes are followed by backward passes that do not average."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @property
    def _looks_for_unused(self) -> bool:
        return self.find_unused_parameters or self.static_graph

    # ------------------------------------------------------------------------------------------ unequal numbers of batches

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """A context for processes with unequal numbers of batches: those that have no more give zeros to the averages.

        divide_by_initial_world_size: sums are divided by the number of all processes, else by that of those that have
        batches. At the end all take the parameters of one of those that had the most.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, divide_by_initial_world_size: bool = True, **kwargs: Any) -> JoinHook:
        """What a process does that has no more batches."""
        self._divides_by_all = divide_by_initial_world_size
        return _Hook(self)

    @property
    def join_device(self) -> Any:
        """The CPU."""
        return next(self.module.parameters()).device

    @property
    def join_process_group(self) -> Any:
        """The module's group."""
        return self.process_group

    def _tell_joined(self, averaging: bool) -> None:
        """Within `Join`: say that this process goes on, and whether it averages in this iteration."""
        active = Join.notify_join_context(self)
        self.reducer.share = 1.0 / (active if active and not self._divides_by_all else self.process_group.size())
        if self._join_config.enable:
            total(self.process_group, float(averaging))

    def _take_buffers(self, is_joined: bool) -> None:
        buffers = self._buffers_to_take()
        if not buffers:
            return
        with no_grad():
            self._broadcast(buffers, self._last_of(not is_joined) if self._join_config.enable else 0)

    def _last_of(self, is_candidate: bool) -> int:
        """The highest rank among the candidates."""
        group = self.process_group
        return int(total(group, group.rank() if is_candidate else -1, "MAX", np.int64))

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Let `hook(state, bucket)` combine the gradients of each bucket, a `torch.distributed.GradBucket`.

        The hook returns a future of the flat result. Without a hook gradients are averaged; a hook divides by itself.

        Raises TypeError for a hook that cannot be called, RuntimeError for a second one.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        annotation = inspect.signature(hook).parameters["bucket"].annotation
        if annotation not in (inspect.Parameter.empty, GradBucket) and not isinstance(annotation, str):
            raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook, self.reducer.hook_state = hook, state

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """What is known about this module's averaging, by the names of torch's own log; it measures no times."""
        parameters = [
            p for n, p in self.module.named_parameters() if p.requires_grad and n not in self.parameters_to_ignore
        ]
        size = sum(p.numel() * p.element_size() for p in parameters)
        return {
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(),
            "total_parameter_size_bytes": size,
            "num_parameter_tensors": len(parameters),
            "bucket_cap_bytes": self._bucket_cap,
            "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
            "broadcast_buffers": int(self.forward_sync_buffers),
            "device_ids": "",
            "output_device": -1,
            "is_multi_device_module": 0,
        }

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: list[str]) -> None:
        """Leave parameters and buffers, by their names in `module`, out of what the processes exchange."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _set_static_graph(self) -> None:
        self.static_graph = True

    def train(self, mode: bool = True) -> DistributedDataParallel:
        super().train(mode)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("reducer", "process_group"):
            state.pop(name, None)
        return {**state, "broadcast_buffers": self.forward_sync_buffers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        state.setdefault("forward_sync_buffers", state.pop("broadcast_buffers", True))
        super().__setstate__(state)  # type: ignore[misc]
        self.process_group = distributed_package().world.default_group()
        named = [(n, p) for n, p in self.module.named_parameters() if p.requires_grad]
        names, parameters = [n for n, _ in named], [p for _, p in named]
        object.__setattr__(self, "reducer", self._reducer(parameters, names))


def _together(tensors: list[Tensor]) -> list[list[Tensor]]:
    """What travels at once: small tensors of one type."""
    parts: list[list[Tensor]] = []
    small: dict[Any, list[Tensor]] = {}
    for t in tensors:
        if t.nbytes > _SMALL_BYTES:
            parts.append([t])
            continue
        if t.dtype not in small:
            small[t.dtype] = []
            parts.append(small[t.dtype])
        small[t.dtype].append(t)
    return parts


def _places(tensors: list[Tensor]) -> Iterator[slice]:
    """Where each tensor is in a flat one of all."""
    at = 0
    for t in tensors:
        yield slice(at, at + t.numel())
        at += t.numel()


def _gathered(group: Any, numbers: list[int]) -> list[list[int]]:
    """The numbers of each process."""
    key, array = group.key(), np.array(numbers, np.int64)
    return [theirs.tolist() for theirs in group.run(lambda: group.all_gather(key, array))]


def _group_of_mesh(mesh: Any, group: Any) -> Any:
    if group is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if mesh.ndim != 1:
        raise RuntimeError(f"Only 1D device mesh is supported, but got {mesh}.")
    return mesh.get_group(mesh_dim=0)


def _has_sparse_gradients(module: Module) -> bool:
    return isinstance(module, (Embedding, EmbeddingBag)) and module.sparse


def _delayed(parameters: list[Any], named: Any, hooked: Any) -> set[int]:
    """The identities of the parameters whose averages begin late. Raises ValueError for one that is not the module's."""
    if named is None:
        if hooked is not None:
            raise ValueError("param_to_hook_all_reduce needs delay_all_reduce_named_params")
        return set()
    if hooked is None:
        raise ValueError("delay_all_reduce_named_params needs param_to_hook_all_reduce")
    known, late = set(map(id, parameters)), {id(p) for _, p in named}
    if not late | {id(hooked)} <= known:
        raise ValueError("delay_all_reduce_named_params: not all are parameters of the module that require gradients")
    return late


_DEPRECATED = (
    "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike `broadcast_buffers=False`, "
    "`forward_sync_buffers=False` still syncs buffers at init. If you rely on buffers NOT being synced at init (e.g. "
    "rank-local buffers), keep using `broadcast_buffers=False` until `init_sync_buffers` is available."
)

_BOTH_GIVEN = (
    "Both `broadcast_buffers` and `forward_sync_buffers` were specified. `broadcast_buffers` is deprecated and its value is "
    "ignored when `forward_sync_buffers` is provided."
)


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value not in (None, False):
            raise NotImplementedError(f"DistributedDataParallel({name}=...) is not implemented")
