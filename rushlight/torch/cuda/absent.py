"""What `torch.cuda` answers without a device, and the errors of what needs one."""

from __future__ import annotations

from typing import Any, NoReturn

ABSENT = (
    "Torch not compiled with CUDA enabled: there is no CUDA device here, and {} needs one. Guard the call with "
    "torch.cuda.is_available(), or run on the CPU."
)


def needs_device(name: str, doc: str) -> Any:
    """A function of torch.cuda that raises AssertionError, as torch's does in a build without CUDA."""

    def f(*args: Any, **keywords: Any) -> NoReturn:
        raise AssertionError(ABSENT.format(f"torch.cuda.{name}()"))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{doc} Raises AssertionError: there is no CUDA device."
    return f


def is_available() -> bool:
    """Whether a CUDA device can be used: False."""
    return False


def device_count() -> int:
    """How many CUDA devices there are: 0."""
    return 0


_initialized = False  # some programs ask so, as torch.utils.checkpoint once did


def is_initialized() -> bool:
    """Whether CUDA has been started: False."""
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


init = needs_device("init", "Start CUDA.")
current_device = needs_device("current_device", "The index of the selected device.")
set_device = needs_device("set_device", "Select a device.")
get_device_name = needs_device("get_device_name", "The name of a device.")
get_device_properties = needs_device("get_device_properties", "What a device can do.")
get_device_capability = needs_device("get_device_capability", "The compute capability of a device.")
synchronize = needs_device("synchronize", "Wait for a device's kernels.")
current_stream = needs_device("current_stream", "The selected stream.")
default_stream = needs_device("default_stream", "The stream selected at the start.")
ipc_collect = needs_device("ipc_collect", "Free memory shared with dead processes.")
current_blas_handle = needs_device("current_blas_handle", "The cuBLAS handle.")
can_device_access_peer = needs_device("can_device_access_peer", "Whether one device reads another's memory.")
utilization = needs_device("utilization", "How busy a device is, in per cent.")


class OutOfMemoryError(RuntimeError):
    """A device's memory is full."""

    __module__ = "torch"


class AcceleratorError(RuntimeError):
    """A device reported an error."""

    __module__ = "torch"


class _NeedsDevice:
    def __init__(self, *args: Any, **keywords: Any):
        raise RuntimeError(
            f"torch.cuda.{type(self).__name__} requires CUDA support: "
            + ABSENT.format(f"torch.cuda.{type(self).__name__}")
        )


class Stream(_NeedsDevice):
    """A queue of kernels. Raises RuntimeError: there is no CUDA device."""


class Event(_NeedsDevice):
    """A mark in a stream. Raises RuntimeError: there is no CUDA device."""


def set_stream(stream: None) -> None:
    """Select a stream; only None, which changes nothing, can be given without a device."""
    if stream is not None:
        raise AssertionError(ABSENT.format("torch.cuda.set_stream()"))


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
    """Context manager that selects a device by index; a negative index or None changes nothing, others raise."""

    def __init__(self, device: Any):
        index = getattr(device, "index", device)
        self.index = -1 if device is None else index if isinstance(index, int) else 0

    def __enter__(self) -> None:
        if self.index >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support: " + ABSENT.format("torch.cuda.device"))

    def __exit__(self, *error: object) -> None:
        pass


class device_of(device):
    """Context manager that selects the device of a tensor; that of a CPU tensor changes nothing."""

    def __init__(self, obj: Any):
        super().__init__(obj.get_device() if obj.is_cuda else -1)
