"""What optimizers written outside of this package import from `torch.optim.optimizer`, by torch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

_foreach_doc = "foreach (bool, optional): accepted; every form of the step computes the same numbers (default: None)"
_fused_doc = "fused (bool, optional): whether the whole step is one call (default: None)"
_capturable_doc = "capturable (bool, optional): a CUDA graph may hold the step; False on the CPU (default: False)"
_differentiable_doc = "differentiable (bool, optional): record the step for autograd (default: False)"
_maximize_doc = "maximize (bool, optional): go up the objective instead of down (default: False)"
_params_doc = "params (iterable): tensors, (name, tensor) pairs or dicts that define parameter groups"


def _get_value(x: Any) -> Any:
    """The number in a tensor of one element; anything else as it is."""
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Any) -> Any:
    """A one-element tensor without dimensions; anything else as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() else x


def _stack_if_compiling(x: Any) -> Any:
    """`x` itself: steps are never traced as a graph of their own."""
    return x


def _view_as_real(params: list, *state_and_grads: list) -> None:
    """Put views as pairs of reals in the place of complex tensors, in every list."""
    for i, complex_one in enumerate([p.is_complex() for p in params]):
        if complex_one:
            for tensors in (params, *state_and_grads):
                tensors[i] = ops.view_as_real(tensors[i])


def _disable_dynamo_if_unsupported(single_tensor_fn: Callable | None = None) -> Callable[[Callable], Callable]:
    """A decorator that returns the function: nothing here depends on the device of the step counters."""
    return lambda function: function


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """(fused, foreach) for these parameters: on the CPU, fused where it is asked for and all are floating, else neither."""
    given = [p for p in params if p is not None]
    fused = use_fused and not differentiable and all(p.is_floating_point() for p in given)
    return fused, not (fused or differentiable or given)


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Raise RuntimeError unless a fused step takes the parameter."""
    devices = [d for d in _get_fused_kernels_supported_devices() if not (cuda_unsupported and d == "cuda")]
    if not (p.device.type in devices and p.is_floating_point()):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: {devices} but {p.dtype} and {p.device.type}"
        )
