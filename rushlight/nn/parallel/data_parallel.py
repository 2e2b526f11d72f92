"""A module on several devices in one process. There is one device, the CPU, on which the module simply runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]

_NO_DEVICE = (
    "torch.nn.parallel.{} splits work among CUDA devices, and there is none. Call the module itself, or guard the call "
    "with torch.cuda.is_available()."
)


class DataParallel(Module):
    """`module` behind `.module`, run on the CPU as torch does without a device, whatever `device_ids` says.

    The names of its parameters begin with "module.", as in the files that torch saves of it.

    Shape: (N, *) -> (N, *), as the module's

    >>> DataParallel(nn.Linear(3, 2))(ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Tensor:
    """The module's result for inputs that are split among devices. Raises RuntimeError: there is no such device."""
    raise RuntimeError("device type could not be determined: " + _NO_DEVICE.format("data_parallel"))


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Copies of a module on devices. Raises AssertionError where there are none."""
    raise AssertionError("Torch not compiled with CUDA enabled: " + _NO_DEVICE.format("replicate"))


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """Parts of tensors on devices. Raises AssertionError where there are none."""
    raise AssertionError("Torch not compiled with CUDA enabled: " + _NO_DEVICE.format("scatter"))


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Tensors of several devices, joined on one of them. Raises AssertionError: there are no such devices."""
    raise AssertionError("Torch not compiled with CUDA enabled: " + _NO_DEVICE.format("gather"))


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """The results of modules, each for its inputs. Without devices they run one after the other."""
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    if devices is not None and any(device is not None for device in devices):
        raise AssertionError("Torch not compiled with CUDA enabled: " + _NO_DEVICE.format("parallel_apply"))
    options = kwargs_tup or [{}] * len(modules)
    return [
        module(*(i if isinstance(i, (list, tuple)) else (i,)), **k)
        for module, i, k in zip(modules, inputs, options, strict=True)
    ]
