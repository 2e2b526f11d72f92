"""How many threads oneDNN's kernels use."""

from ...core.dispatch.extension_points import thread_count
from ...core.dispatch.scalars import type_name
from . import calls
from .blas import leave_cores_to_openmp, limit_blas_threads
from .library import available, load, load_holding_lock

__all__ = ["get_num_threads", "set_num_threads", "settled_threads"]


def set_num_threads(n: int) -> None:
    """Let kernels use n >= 1 threads, in every Python thread, from their next call on: oneDNN's, or else NumPy's BLAS."""
    if not isinstance(n, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type_name(n)}")
    if n < 1:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {n}")
    calls.start_over(n)
    if available():
        load().omp_set_num_threads(n)
        leave_cores_to_openmp()
    else:
        limit_blas_threads(n)


def settled_threads() -> int:
    """How many threads OpenMP starts from this Python thread, after it was told what `set_num_threads` wants.

    OpenMP keeps a number for each thread of the process; 1 where oneDNN is missing.
    """
    if not available():
        return 1
    library = load_holding_lock()
    wanted = calls.threads_wanted
    if wanted is None or library.omp_get_max_threads() == wanted:
        return wanted or library.omp_get_max_threads()
    library.omp_set_num_threads(wanted)
    return wanted


def get_num_threads() -> int:
    """How many threads oneDNN's kernels may use; 1 where oneDNN is missing and no number has been set."""
    if calls.threads_wanted is not None:
        return calls.threads_wanted
    return load().omp_get_max_threads() if available() else 1


thread_count.register(get_num_threads)
