"""One thread per worker process in the native libraries that NumPy and the backends compute with."""

import os
import sys
from contextlib import contextmanager

from rushlight.core.foreign import HAS_CTYPES, ctypes

# (part of the library's file name, names of its getter and setter; NumPy's wheels prefix OpenBLAS's names)
_LIBRARIES = (
    ("openblas", "scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("openblas", "openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas", "openblas_get_num_threads", "openblas_set_num_threads"),
    ("mkl_rt", "MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("libgomp", "omp_get_max_threads", "omp_set_num_threads"),
    ("libomp", "omp_get_max_threads", "omp_set_num_threads"),
    ("libiomp5", "omp_get_max_threads", "omp_set_num_threads"),
)

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def use_one_native_thread() -> None:
    """Limit this process to one native thread: loaded libraries, and those that are loaded later."""
    for variable in _VARIABLES:
        os.environ[variable] = "1"
    for get, put in _loaded_libraries():
        if get() > 1:
            put(1)
    calls = sys.modules.get("rushlight.backend.onednn.calls")  # not imported here: that would load the library
    if calls is not None:
        calls.start_over(1)


@contextmanager
def one_native_thread():
    """Limit this process to one native thread for a while, so that what it forks meanwhile starts with one.

    A forked child must not lower the number itself: OpenBLAS first starts its threads again, which then spin, and a
    GNU OpenMP team that was started before the fork can never be used again. Where loaded libraries are not known
    (outside of Linux), a process that is started meanwhile is told by its environment.
    """
    before = [(put, get()) for get, put in _loaded_libraries()]
    variables = {} if before or _library_paths() else {name: os.environ.get(name) for name in _VARIABLES}
    for put, _ in before:
        put(1)
    os.environ.update(dict.fromkeys(variables, "1"))
    try:
        yield
    finally:
        for put, count in before:
            put(count)
        for name, value in variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _loaded_libraries() -> list:
    """(getter, setter) of each known library that this process has loaded. Empty where that cannot be found out."""
    found = []
    for path in _library_paths() if HAS_CTYPES else ():
        name = os.path.basename(path)
        for part, get, put in _LIBRARIES:
            if part not in name:
                continue
            library = ctypes.CDLL(path)
            if hasattr(library, get) and hasattr(library, put):
                found.append((getattr(library, get), getattr(library, put)))
                break
    return found


def _library_paths() -> set[str]:
    try:
        with open("/proc/self/maps") as maps:
            lines = maps.read().splitlines()
    except OSError:
        return set()
    return {line.split(maxsplit=5)[5] for line in lines if ".so" in line and line.count(" ") >= 5}
