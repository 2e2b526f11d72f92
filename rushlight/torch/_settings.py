"""Process-wide settings of torch's top level. A setting that this build cannot honour raises rather than being ignored."""

from __future__ import annotations

from typing import Any

from ..backend.onednn import calls
from ..backend.onednn.blas import leave_cores_to_openmp
from ..backend.onednn.library import available
from ..backend.onednn.precision import set_fpmath
from ..core import determinism
from ..core.device import devices
from ..core.dispatch.mode import emit_event, thread
from ..core.dispatch.scalars import check_flag
from ..core.tensor.legacy_types import set_default_tensor_type, typename
from ..core.warn import Once

__all__ = [
    "are_deterministic_algorithms_enabled",
    "compiled_with_cxx11_abi",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_vulkan_available",
    "is_warn_always_enabled",
    "set_default_device",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_warn_always",
    "typename",
    "use_deterministic_algorithms",
]


class _Settings:
    precision = "highest"
    interop_threads = 0


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Make results depend on nothing but the inputs, the random streams and the number of threads.

    Every operator here is deterministic, so none raises (torch's `put_` and `max_unpool` do), and `warn_only` changes
    nothing. But native programs take the place of eager kernels after a few steps, and differ from them by rounding: a
    run that is resumed from a checkpoint, whose first steps are eager again, ends with other digits. With this mode on

    - backward and single operators are not replaced by programs, as with `RUSHLIGHT_JIT=0`; optimizers' steps, which
      give the same bits, are;
    - functions and modules from `torch.compile` run eagerly;
    - `torch.empty` and the like fill their memory, unless `torch.utils.deterministic.fill_uninitialized_memory` is False.

    It holds in all threads from the next call on. docs/reproducibility.md has the whole way.
    """
    if not isinstance(mode, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}"
        )
    check_flag("_set_deterministic_algorithms", "warn_only", warn_only)
    if thread.state.level > 1:
        emit_event("left", "use_deterministic_algorithms() is called")
    if determinism.mode.on != bool(mode):
        calls.forget()  # some were made for one mode only
    determinism.mode.on, determinism.mode.warn_only = bool(mode), bool(warn_only)
    if mode and available():
        leave_cores_to_openmp()  # at once, and not with the first call of oneDNN: sums of parts round


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was last called with."""
    return determinism.mode.on


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The `warn_only` that `use_deterministic_algorithms` was last called with."""
    return determinism.mode.warn_only


def get_deterministic_debug_mode() -> int:
    """0 (off), 1 (warn) or 2 (raise), from `use_deterministic_algorithms`."""
    return 0 if not determinism.mode.on else 1 if determinism.mode.warn_only else 2


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set `use_deterministic_algorithms` by number or name."""
    level = {"default": 0, "warn": 1, "error": 2}.get(debug_mode, debug_mode)  # type: ignore[call-overload]
    if level not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def set_float32_matmul_precision(precision: str) -> None:
    """How exactly float32 matrix products are computed.

    'highest' and 'high': in float32 ('high' allows TensorFloat32, which no CPU has). 'medium': the factors of large
    products may be rounded to bfloat16, where the processor multiplies these faster. Another word: a warning only.
    """
    if precision not in ("highest", "high", "medium"):
        import warnings

        words = f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
        warnings.warn(f"{words}setFloat32MatmulPrecision call has no effect.", stacklevel=2)
        return
    _Settings.precision = precision
    set_fpmath(precision)


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was last called with."""
    return _Settings.precision


def get_default_device() -> devices.device:
    """The device of new tensors: that of the innermost `with device(...)`, else the default one."""
    return devices.default()


def set_default_device(device: Any) -> None:
    """Set the device of new tensors in this thread; None: the CPU. Raises for a device that is not here."""
    devices.set_default(device)


def set_flush_denormal(mode: bool) -> bool:
    """Returns False: denormal numbers are never flushed here."""
    return False


def is_warn_always_enabled() -> bool:
    """Whether the warnings that are given once in a process are given each time."""
    return Once.always


def set_warn_always(b: bool, /) -> None:
    """Whether the warnings that are given once in a process are given each time; then Python's filters decide."""
    Once.always = bool(b)


def get_num_interop_threads() -> int:
    """How many calls torch may run side by side (`torch.jit.fork`), as set; here they run one after the other."""
    import os

    return _Settings.interop_threads or os.cpu_count() or 1


def set_num_interop_threads(num_threads: int, /) -> None:
    """Set what `get_num_interop_threads` says. RuntimeError for less than one thread, or the second time."""
    if num_threads < 1:
        raise RuntimeError("Expected positive number of threads")
    if _Settings.interop_threads:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or set_num_interop_threads called"
        )
    _Settings.interop_threads = num_threads


def compiled_with_cxx11_abi() -> bool:
    """True, as of every torch of today."""
    return True


def is_vulkan_available() -> bool:
    """False: there is no Vulkan device."""
    return False


def get_device_module(device: Any = None) -> Any:
    """The module for a kind of device, such as `torch.cpu`; without argument that of the default device."""
    from importlib import import_module

    kind = "cpu" if device is None else devices.device(device).type
    if kind not in ("cpu", "cuda", "mps", "mtia", "xpu"):
        raise RuntimeError(f"Invalid device '{kind}' encountered. You must have a module torch.{kind}")
    return import_module(f".{kind}", __package__)
