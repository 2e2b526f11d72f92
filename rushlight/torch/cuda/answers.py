"""What `torch.cuda` says of GPUs."""

from __future__ import annotations

from typing import Any

from ...backend import gpus
from ...backend.gpus import OutOfMemoryError as OutOfMemoryError
from ...core.device.devices import opened
from ..unavailable import NO_CUDA, NO_CUDA_SWITCH, Row
from .selected import gpu


def is_available() -> bool:
    """Whether a CUDA device can be used: with CuPy, a GPU, and RUSHLIGHT_CUDA=1 in the environment."""
    return gpus.count() > 0


def device_count() -> int:
    """How many CUDA devices there are to use: 0 where `is_available()` is False."""
    return gpus.count()


def current_device():
    """The index of the GPU that is meant where none is named: 0. Raises AssertionError where there is none."""
    return gpu(None, "cuda.current_device").device.index


def set_device(device):
    """Select a GPU: the first one is selected. Raises AssertionError where there is none, NotImplementedError for others."""
    where = gpu(device, "cuda.set_device")
    if where.device.index:
        raise NotImplementedError(
            f"torch.cuda.set_device({device!r}): name the GPU in each call; cuda:0 stays selected"
        )


def get_device_name(device=None):
    """What the maker calls a GPU. Raises AssertionError where there is none."""
    return gpu(device, "cuda.get_device_name").name()


def synchronize(device=None):
    """Wait until a GPU has done all that was started. Raises AssertionError where there is none."""
    gpu(device, "cuda.synchronize").synchronize()


_initialized = False  # some programs ask so, as torch.utils.checkpoint once did


def is_initialized() -> bool:
    """Whether a GPU has been used."""
    return any(where.device.type == "cuda" for where in opened())


def _is_in_bad_fork() -> bool:
    """Whether this process was forked from one that had used a GPU of torch's: False, as no such state is inherited."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the device computes in bfloat16: False."""
    return False


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for: none."""
    return []


def get_gencode_flags() -> str:
    """The compiler's flags for these architectures: none."""
    return ""


def is_tf32_supported() -> bool:
    """Whether the device computes in TensorFloat32: False."""
    return False


def list_gpu_processes(device: Any = None) -> str:
    """A table of the processes on a device, or why there is none."""
    return "no CUDA device is available"


class AcceleratorError(RuntimeError):
    """A device reported an error."""

    __module__ = "torch"


class CudaError(RuntimeError):
    """An error code of the CUDA runtime."""

    def __init__(self, code: int):
        super().__init__(f"CUDA error {code}")


class DeferredCudaCallError(Exception):
    """A call that was kept until CUDA started has failed."""


class cudaStatus:
    """Codes of the CUDA runtime."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


def set_stream(stream: None) -> None:
    """Select a stream; only None, which changes nothing, can be given without a device."""
    if stream is not None:
        raise Row("cuda.set_stream", "function", NO_CUDA).error()


class StreamContext:
    """Context manager that selects a stream; only None, which changes nothing, can be given without a device."""

    def __init__(self, stream: None):
        set_stream(stream)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def stream(stream: None) -> StreamContext:
    """Select a stream for a `with` block."""
    return StreamContext(stream)


class device:
    """Context manager that selects a GPU by index; a negative index or None changes nothing, nor does 0 where there is a GPU."""

    def __init__(self, device: Any):
        index = getattr(device, "index", device)
        self.index = -1 if device is None else index if isinstance(index, int) else 0

    def __enter__(self) -> None:
        if self.index == 0 and gpus.count():
            return
        if self.index >= 0:
            raise Row("cuda.device", "class", NO_CUDA_SWITCH).error()

    def __exit__(self, *error: object) -> None:
        pass


class device_of(device):
    """Context manager that selects the device of a tensor; that of a CPU tensor changes nothing."""

    def __init__(self, obj: Any):
        super().__init__(obj.get_device() if obj.is_cuda else -1)
