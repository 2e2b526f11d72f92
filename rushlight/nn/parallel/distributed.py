"""A module whose gradients are averaged over processes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rushlight.core.dispatch.extension_points import distributed
from rushlight.core.dispatch.mode import emit_event, is_grad_enabled, no_grad, thread
from rushlight.core.tensor.storage import storage_of
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.modules.module import Module

from .grad_bucket import GradBucket
from .reducer import Reducer

__all__ = ["DistributedDataParallel"]

_DEFAULT_BUCKET_MB = 25


class DistributedDataParallel(Module):
    """`module` behind `.module`; after backward every process has the average of all processes' gradients.

    At the start every process takes the parameters and buffers of the first one, and before each forward pass its
    buffers (broadcast_buffers=False: not). Within `no_sync()` gradients accumulate without being averaged; the next
    backward pass outside averages all that has accumulated.

    find_unused_parameters: look, after each forward pass, which parameters its result does not depend on, and do not
    wait for their gradients. bucket_cap_mb: how much travels at once. process_group: by default the default group.

    Raises RuntimeError for a module without parameters that require gradients, ValueError for device_ids (the CPU has
    none), NotImplementedError for options that are not implemented.
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
        **rare: Any,
    ) -> None:
        super().__init__()
        _refuse(
            delay_all_reduce_named_params=delay_all_reduce_named_params,
            param_to_hook_all_reduce=param_to_hook_all_reduce,
            mixed_precision=mixed_precision,
            device_mesh=device_mesh,
            skip_all_reduce_unused_params=skip_all_reduce_unused_params,
            **rare,
        )
        self.process_group = _distributed().world.group_of(process_group)
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(n, p) for n, p in module.named_parameters() if p.requires_grad and n not in ignored]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient."
            )
        if device_ids or output_device is not None:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-"
                f"device GPU modules or CPU modules, but got device_ids {device_ids}, output_device {output_device}, and "
                "module parameters {device(type='cpu')}. On the CPU leave both out."
            )
        self.module, self.dim, self.device_ids, self.output_device = module, dim, None, None
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self.parameters_to_ignore = ignored
        if init_sync:
            self._broadcast([t for n, t in module.state_dict(keep_vars=True).items() if n not in ignored])
        cap = _DEFAULT_BUCKET_MB if bucket_cap_mb is None else bucket_cap_mb
        self._bucket_cap = int(cap * (1 << 20))
        names, parameters = [n for n, _ in named], [p for _, p in named]
        object.__setattr__(self, "reducer", _reducer(parameters, names, self.process_group, self._bucket_cap))

    def _broadcast(self, tensors: list[Any]) -> None:
        """Take the values of the first process."""
        group = self.process_group
        for t in tensors:
            if isinstance(t, Tensor):
                key, array = group.key(), t._array
                values = group.run(lambda key=key, array=array: group.broadcast(key, array, 0))
                if values is not t._array:
                    t._array[...] = values
                    storage_of(t).wrote("DistributedDataParallel")

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if thread.state.level > 1:
            emit_event(
                "left",
                "DistributedDataParallel averages gradients between processes, which the compiled program would not do",
            )
        averaging = is_grad_enabled() and self.require_backward_grad_sync
        if averaging:
            self.reducer.prepare()
        else:
            self.reducer.rest()
        if self.broadcast_buffers and self.require_forward_param_sync:
            with no_grad():
                self._broadcast([b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore])
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = averaging
        if averaging and self.find_unused_parameters and not self.static_graph:
            self.reducer.prepare(output)
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within the context, forward passes are followed by backward passes that do not average."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ):
        """A context for processes with unequal numbers of batches. Raises NotImplementedError unless enable=False."""
        if enable and self.process_group.size() > 1:
            raise NotImplementedError(
                "DistributedDataParallel.join() is not implemented: give every process the same number of batches, for "
                "example with DistributedSampler"
            )
        from contextlib import nullcontext

        return nullcontext()

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
            "broadcast_buffers": int(self.broadcast_buffers),
            "device_ids": "",
            "output_device": -1,
            "is_multi_device_module": 0,
        }

    def _set_static_graph(self) -> None:
        self.static_graph = True

    def train(self, mode: bool = True) -> DistributedDataParallel:
        super().train(mode)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("reducer", "process_group"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        self.process_group = _distributed().world.default_group()
        named = [(n, p) for n, p in self.module.named_parameters() if p.requires_grad]
        names, parameters = [n for n, _ in named], [p for _, p in named]
        object.__setattr__(self, "reducer", _reducer(parameters, names, self.process_group, self._bucket_cap))


def _distributed() -> Any:
    """`rushlight.distributed`, which the program has loaded to make a group; it is not imported from this layer."""
    if distributed.value is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return distributed.value


def _reducer(parameters: list[Any], names: list[str], group: Any, limit: int) -> Reducer:
    module = _distributed()
    return Reducer(parameters, names, group, module.ReduceOp.SUM, limit)


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value not in (None, False):
            raise NotImplementedError(f"DistributedDataParallel({name}=...) is not implemented")
