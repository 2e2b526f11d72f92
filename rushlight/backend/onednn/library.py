"""Finding libdnnl, loading it on first use, and turning its status codes into exceptions.

The PyPI package `onednn-cpu-gomp` puts libdnnl.so.3 into the environment's lib folder; a system libdnnl.so.3 serves as
well. Nothing is loaded at import. `RUSHLIGHT_ONEDNN=0` in the environment turns the library off.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager

from ...core.foreign import HAS_CTYPES, ctypes
from ...core.locks import made_once
from .. import isa, quota
from .address import is_readable

c_char_p, c_float, c_int, c_size_t, c_uint, c_void_p = (
    ctypes.c_char_p,
    ctypes.c_float,
    ctypes.c_int,
    ctypes.c_size_t,
    ctypes.c_uint,
    ctypes.c_void_p,
)

__all__ = [
    "PACKAGE",
    "OneDNNError",
    "available",
    "check",
    "is_loaded",
    "load",
    "load_holding_lock",
    "reason_unavailable",
]

_FILE = "libdnnl.so.3"
PACKAGE = "onednn-cpu-gomp"
_OWN_CAPS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")  # what a user sets of oneDNN's own stays


class OneDNNError(RuntimeError):
    """A oneDNN call failed: the message names the call and the status."""


def available() -> bool:
    """Whether oneDNN can be used in this process; the first call loads the library."""
    return _open()[0] is not None


def is_loaded() -> bool:
    """Whether the library is here and has been loaded."""
    return _open.cache_info().currsize > 0 and available()


def reason_unavailable() -> str:
    """Why `available()` is False, in a sentence; empty when it is True."""
    return _open()[1]


def version() -> str:
    """The loaded library's version. Raises OneDNNError where there is none."""
    found = load().dnnl_version().contents
    return f"{found.major}.{found.minor}.{found.patch}"


def load() -> ctypes.CDLL:
    """The library, its functions typed; raises OneDNNError with the reason where there is none."""
    library, reason = _open()
    if library is None:
        raise OneDNNError(reason)
    return library


@made_once
def load_holding_lock() -> ctypes.PyDLL:
    """The same library, called without releasing the interpreter's lock: cheaper for what takes nanoseconds."""
    library = ctypes.PyDLL(load()._name)
    for name in ("dnnl_memory_set_data_handle", "omp_get_max_threads", "omp_set_num_threads"):
        _declare(library, name)
    return library


def check(status: int, call: str) -> None:
    """Raise OneDNNError unless `status`, which the oneDNN function `call` returned, says success."""
    if status:
        raise OneDNNError(f"oneDNN: {call} returned {_STATUS.get(status, status)}")


_STATUS = {
    1: "out_of_memory",
    2: "invalid_arguments",
    3: "unimplemented",
    4: "last_impl_reached",
    5: "runtime_error",
    6: "not_required",
}


@made_once
def _open() -> tuple[ctypes.CDLL | None, str]:
    """(library, "") or (None, reason)."""
    if os.environ.get("RUSHLIGHT_ONEDNN", "1") == "0":
        return None, "oneDNN is turned off by RUSHLIGHT_ONEDNN=0"
    if not HAS_CTYPES:
        return None, "oneDNN is called through ctypes, which this Python lacks"
    if not is_readable():
        return None, "oneDNN is used on CPython only: this interpreter keeps arrays in another way"
    unusable = ""
    for path in _candidates():
        try:
            with _openmp_settings():
                library = ctypes.CDLL(path)
        except OSError as error:
            unusable = unusable or _why_not(path, str(error))
            continue
        accepted, reason = _accept(library)
        if accepted is not None:
            return accepted, ""
        unusable = unusable or reason
    reason = unusable or f"{_FILE} was not found; pip install {PACKAGE} provides it"
    if unusable or _is_required():
        warnings.warn(f"{reason}. Rushlight goes on without oneDNN, more slowly.", RuntimeWarning, stacklevel=2)
    return None, reason


def _is_required() -> bool:
    """Whether pyproject.toml requires the package on this platform."""
    return sys.platform == "linux" and os.uname().machine == "x86_64"


def _why_not(path: str, error: str) -> str:
    """Why a file that is there does not load, and what helps; empty where none is there."""
    if "libgomp" in error:
        return f"oneDNN ({path}) needs libgomp.so.1, which this system lacks; on Debian: apt install libgomp1"
    if not os.path.exists(path):
        return ""
    return f"oneDNN ({path}) does not load: {error}; pip install --force-reinstall {PACKAGE} puts the right file there"


def _candidates():
    """Paths to try, cheapest first. A bare name makes the system's loader search."""
    in_prefix = os.path.join(sys.prefix, "lib", _FILE)
    if os.path.exists(in_prefix):
        yield in_prefix
    yield from _installed_files()
    yield _FILE


def _installed_files():
    from importlib import metadata  # 20 ms: only when the library is not in its usual place

    try:
        files = metadata.files(PACKAGE) or ()
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == _FILE:
            yield os.fspath(file.locate())


@contextmanager
def _openmp_settings():
    """What a libgomp that is loaded within reads, once: settings for shared machines, but where the user has set one.

    An idle thread spins for 0.3 ms, not for tens of ms, before it sleeps. With another process busy on two cores, libgomp's
    own default made convolutions of 0.5 ms take 10 to 50 ms; with 10,000 turns they take 1 to 2 ms, and as before on a
    quiet machine. There are no more threads than the processors that a container's quota amounts to.
    """
    settings = {}
    if "GOMP_SPINCOUNT" not in os.environ and "OMP_WAIT_POLICY" not in os.environ:
        settings["GOMP_SPINCOUNT"] = "10000"
    if "OMP_NUM_THREADS" not in os.environ and (limit := quota.processors()) is not None:
        settings["OMP_NUM_THREADS"] = str(min(limit, len(os.sched_getaffinity(0))))
    os.environ.update(settings)
    try:
        yield
    finally:
        for name in settings:
            del os.environ[name]


def _accept(library: ctypes.CDLL) -> tuple[ctypes.CDLL | None, str]:
    """`library` with its functions typed, if it is a oneDNN 3.x that runs on OpenMP."""
    library.dnnl_version.restype = ctypes.POINTER(_Version)
    library.dnnl_version.argtypes = ()
    version = library.dnnl_version().contents
    if version.major != 3:
        return None, f"oneDNN 3.x is needed, found {version.major}.{version.minor}.{version.patch}"
    if version.cpu_runtime != _RUNTIME_OPENMP:
        return None, "oneDNN is built for another threading runtime than OpenMP, whose pool Rushlight shares"
    for name in _SIGNATURES:
        if not hasattr(library, name):
            return None, f"oneDNN, or the OpenMP library it is linked with, lacks {name}"
        _declare(library, name)
    capped = isa.cap()
    if capped is not None and not any(name in os.environ for name in _OWN_CAPS):
        status = library.dnnl_set_max_cpu_isa(capped.onednn)
        if status:
            return (
                None,
                f"oneDNN is in use in this process already: RUSHLIGHT_ISA={capped.name} cannot limit it any more",
            )
    # A fork copies the thread pool's records but not its threads: the child's first parallel loop would wait for ever.
    # Released before the fork, the pool starts again on both sides when it is next needed (0.1 ms).
    if hasattr(os, "register_at_fork"):  # Windows has no forks
        os.register_at_fork(before=lambda: library.omp_pause_resource_all(_PAUSE_SOFT))
    return library, ""


def _declare(library, name: str) -> None:
    function = getattr(library, name)
    function.argtypes = _SIGNATURES[name]
    function.restype = _RESULTS.get(name, c_int)


class _Version(ctypes.Structure):
    _fields_ = (
        ("major", c_int),
        ("minor", c_int),
        ("patch", c_int),
        ("hash", c_char_p),
        ("cpu_runtime", c_uint),
        ("gpu_runtime", c_uint),
    )


_RUNTIME_OPENMP = 2
_PAUSE_SOFT = 1

# Handles (dnnl_*_t) and pointers are c_void_p, enumerations c_int, dnnl_dims_t an array passed as a pointer. The
# omp_* functions are looked up through libdnnl itself, which finds them in the very libgomp that libdnnl is bound to.
_P, _I = c_void_p, c_int
_SIGNATURES = {
    "dnnl_engine_create": (_P, _I, c_size_t),
    "dnnl_stream_create": (_P, _P, c_uint),
    "dnnl_stream_destroy": (_P,),
    "dnnl_memory_desc_create_with_strides": (_P, _I, _P, _I, _P),
    "dnnl_memory_desc_create_with_tag": (_P, _I, _P, _I, _I),
    "dnnl_memory_desc_destroy": (_P,),
    "dnnl_memory_desc_equal": (_P, _P),
    "dnnl_memory_desc_get_size": (_P,),
    "dnnl_memory_create": (_P, _P, _P, _P),
    "dnnl_memory_destroy": (_P,),
    "dnnl_memory_set_data_handle": (_P, _P),
    "dnnl_primitive_attr_create": (_P,),
    "dnnl_primitive_attr_destroy": (_P,),
    "dnnl_primitive_attr_set_scratchpad_mode": (_P, _I),
    "dnnl_primitive_attr_set_fpmath_mode": (_P, _I),
    "dnnl_primitive_desc_query": (_P, _I, _I, _P),
    "dnnl_primitive_desc_query_md": (_P, _I, _I),
    "dnnl_primitive_desc_destroy": (_P,),
    "dnnl_primitive_create": (_P, _P),
    "dnnl_primitive_destroy": (_P,),
    "dnnl_primitive_execute": (_P, _P, _I, _P),
    "dnnl_reorder_primitive_desc_create": (_P, _P, _P, _P, _P, _P),
    "dnnl_convolution_forward_primitive_desc_create": (_P, _P, _I, _I, *[_P] * 9),
    "dnnl_convolution_backward_data_primitive_desc_create": (_P, _P, _I, *[_P] * 9),
    "dnnl_convolution_backward_weights_primitive_desc_create": (_P, _P, _I, *[_P] * 10),
    "dnnl_pooling_forward_primitive_desc_create": (_P, _P, _I, _I, *[_P] * 8),
    "dnnl_pooling_backward_primitive_desc_create": (_P, _P, _I, *[_P] * 9),
    "dnnl_matmul_primitive_desc_create": (_P, _P, *[_P] * 5),
    "dnnl_layer_normalization_forward_primitive_desc_create": (_P, _P, _I, *[_P] * 3, c_float, c_uint, _P),
    "dnnl_layer_normalization_backward_primitive_desc_create": (_P, _P, _I, *[_P] * 4, c_float, c_uint, _P, _P),
    "dnnl_softmax_forward_primitive_desc_create": (_P, _P, _I, _I, _P, _P, _I, _P),
    "dnnl_softmax_backward_primitive_desc_create": (_P, _P, _I, *[_P] * 3, _I, _P, _P),
    "dnnl_binary_primitive_desc_create": (_P, _P, _I, *[_P] * 4),
    "dnnl_post_ops_create": (_P,),
    "dnnl_post_ops_destroy": (_P,),
    "dnnl_post_ops_append_binary": (_P, _I, _P),
    "dnnl_primitive_attr_set_post_ops": (_P, _P),
    "dnnl_eltwise_forward_primitive_desc_create": (_P, _P, _I, _I, _P, _P, c_float, c_float, _P),
    "dnnl_eltwise_backward_primitive_desc_create": (_P, _P, _I, *[_P] * 3, c_float, c_float, _P, _P),
    "dnnl_get_primitive_cache_capacity": (_P,),
    "dnnl_set_primitive_cache_capacity": (_I,),
    "dnnl_set_max_cpu_isa": (_I,),
    "dnnl_get_effective_cpu_isa": (),
    "omp_set_num_threads": (_I,),
    "omp_get_max_threads": (),
    "omp_pause_resource_all": (_I,),
}
_RESULTS = {
    "dnnl_memory_desc_get_size": c_size_t,
    "dnnl_primitive_desc_query_md": _P,
    "omp_set_num_threads": None,
}
