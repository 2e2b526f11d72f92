"""`torch.__config__`: how this build computes, in words."""

from __future__ import annotations

from ..backend import onednn
from ..backend.onednn.threads import get_num_threads
from .version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """What the library is made of: lines that begin as torch's do."""
    import platform
    from importlib.metadata import version

    native = onednn.available()
    return (
        f"PyTorch built with:\n  - Rushlight, in Python {platform.python_version()}\n  - NumPy {version('numpy')}\n"
        f"  - {'with' if native else 'without'} oneDNN\n  - Build settings: TORCH_VERSION={__version__}, USE_CUDA=0, USE_MKL=OFF, "
        f"USE_MKLDNN={'ON' if native else 'OFF'}, USE_OPENMP=ON, USE_ROCM=OFF, \n"
    )


def parallel_info() -> str:
    """How many threads compute."""
    import os

    variables = "".join(
        f"\t{name} : {os.environ.get(name, '[not set]')}\n" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    )
    return (
        f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\nstd::thread::hardware_concurrency() : "
        f"{os.cpu_count()}\nEnvironment variables:\n{variables}"
    )
