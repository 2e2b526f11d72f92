"""The one table of torch's names that Rushlight cannot serve: what using one raises, and what to use instead.

Each row has a dotted name below the package, a kind, a reason, and what the reason's texts leave open. `_stand_ins.py`
makes what takes the names' places: it can be imported, passed on, subclassed and used in annotations, and raises when it
is called. (Of names that are not here Rushlight knows by torch's own list only that they are missing: `rushlight.alias`.)

Kinds: function, class, method (of a class that exists or is in the table), module (of nothing but stand-ins), namespace
(an object with functions, such as `torch.cuda.profiler`).
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["ROWS", "Reason", "Row", "exported", "names_of"]


class Reason(NamedTuple):
    """Why names are unavailable: the exception of using one, its message, and the docstring of the stand-in.

    In the texts {name} is the last part of the row's name, {path} all of it, {says} and {more} the row's own words.
    """

    error: type[Exception]
    message: str
    doc: str


class Row(NamedTuple):
    """One unavailable name."""

    path: str
    kind: str
    reason: Reason
    says: str = ""
    more: str = ""

    def error(self) -> Exception:
        """The exception that using the name raises."""
        return self.reason.error(self._fill(self.reason.message))

    def doc(self) -> str:
        """The stand-in's docstring."""
        return self._fill(self.reason.doc).strip()

    def _fill(self, text: str) -> str:
        name = self.path.rpartition(".")[2]
        return text.format(name=name, path=self.path, says=self.says, more=self.more)


# ---------------------------------------------------------------------------------------------- devices

_CUDA = (
    "Torch not compiled with CUDA enabled: there is no CUDA device here, and torch.cuda.{call} needs one. Guard the call "
    "with torch.cuda.is_available(), or run on the CPU."
)
NO_CUDA = Reason(
    AssertionError, _CUDA.replace("{call}", "{name}()"), "{says} Raises AssertionError: there is no CUDA device."
)
NO_CUDA_CLASS = Reason(
    RuntimeError,
    "torch.cuda.{name} requires CUDA support: " + _CUDA.replace("{call}", "{name}"),
    "{says} Raises RuntimeError: there is no CUDA device.",
)
NO_CUDA_SWITCH = NO_CUDA_CLASS._replace(
    message="PyTorch was compiled without CUDA support: " + _CUDA.replace("{call}", "{name}")
)
NO_CUDA_PROFILER = NO_CUDA._replace(message=_CUDA.replace("{call}", "profiler.{name}()"))
NO_NVTX = Reason(
    RuntimeError,
    "NVTX functions not installed. Are you sure you have a CUDA build? torch.cuda.nvtx.{name}() needs one.",
    "{says} Raises RuntimeError: there is no CUDA device.",
)
NO_XPU = Reason(
    AssertionError,
    "Torch not compiled with XPU enabled: there is no Intel GPU here, and torch.xpu.{name}() needs one. Guard the call "
    "with torch.xpu.is_available().",
    "{says} Raises AssertionError: there is no Intel GPU.",
)
NO_XPU_CLASS = Reason(
    RuntimeError,
    "Tried to instantiate dummy base class {name}: torch.xpu.{name} needs an Intel GPU, and there is none.",
    "{says} Raises RuntimeError: there is no Intel GPU.",
)
_MTIA = ": torch.mtia.{name}() needs a device. Guard the call with torch.mtia.is_available()."
NO_MTIA = Reason(RuntimeError, "No MTIA backend" + _MTIA, "{says} Raises RuntimeError: there is no MTIA device.")
NO_MTIA_BUILD = Reason(
    AssertionError,
    "Torch not compiled with MTIA enabled" + _MTIA,
    "{says} Raises AssertionError: there is no MTIA device.",
)
_MPS = (
    "Cannot execute {more}() without MPS backend. torch.{path}() needs an Apple GPU: guard the call with "
    "torch.backends.mps.is_available()."
)
NO_MPS = Reason(RuntimeError, _MPS, "{says} Raises RuntimeError: there is no Apple GPU.")
NO_MPS_BACKEND = NO_MPS._replace(message="{more}")
_ACCELERATOR = (
    "Cannot access accelerator device when none is available. torch.accelerator.{name}() needs one: guard the call with "
    "torch.accelerator.is_available()."
)
NO_ACCELERATOR = Reason(RuntimeError, _ACCELERATOR, "{says} Raises RuntimeError: there is no accelerator.")

# ---------------------------------------------------------------------------------------------- what is not implemented

NOT_IMPLEMENTED = Reason(NotImplementedError, "{more}", "{says} Raises NotImplementedError.")
REMOVED = Reason(
    RuntimeError,
    "This function was deprecated since version 1.9 and is now removed. {says}",
    "Raises RuntimeError: {says}",
)
REINFORCE = Reason(
    RuntimeError,
    "reinforce() was removed.\nUse torch.distributions instead.\n"
    "See https://pytorch.org/docs/main/distributions.html\n\n"
    "m = Categorical(policy_network(state)); action = m.sample(); loss = -m.log_prob(action) * reward; loss.backward()",
    "Raises RuntimeError: `torch.distributions` draws actions, and its `log_prob` gives the loss.",
)
NO_LAYOUT = Reason(
    NotImplementedError,
    "torch.{name} is not implemented: there are the sparse layouts COO, CSR and CSC",
    "Raises NotImplementedError: there are the sparse layouts COO, CSR and CSC.",
)
NO_METHOD = Reason(
    NotImplementedError, "Tensor.{name} is not implemented: {says}", "Raises NotImplementedError: {says}."
)
NOT_IN_LIBRARY = Reason(NotImplementedError, "torch.library.{name}: {says}", "Raises NotImplementedError: {says}.")
NO_EXTENSIONS = Reason(
    NotImplementedError,
    "torch.utils.cpp_extension.{name}: an extension in C++ or CUDA is compiled against torch's library, which Rushlight "
    "does not have. Use the program's Python implementation, or write the function with torch.autograd.Function.",
    "{says} Raises NotImplementedError.",
)
NOT_DISTRIBUTED = Reason(
    NotImplementedError,
    "torch.{path} is not implemented. Rushlight has DistributedDataParallel and the collectives of torch.distributed.",
    "torch's {name}. Raises NotImplementedError when it is called.",
)
NOT_IN_DISTRIBUTED = Reason(
    NotImplementedError, "torch.distributed.{name} is not implemented{says}", "Raises NotImplementedError."
)
MODULE = Reason(NotImplementedError, "torch.{path} is not implemented", "`torch.{path}`: {says}")

# ---------------------------------------------------------------------------------------------- the table

_LAYOUTS, _SIZE = "there are the sparse layouts COO, CSR and CSC", "sparse tensors keep their size"
_OWN_NAMES = "Its names raise NotImplementedError when they are called."
_NOT_REGISTERED = {
    "register_torch_dispatch": "Rushlight has no __torch_dispatch__",
    "register_autocast": "operators of programs take no part in autocast",
}
_REMOVED = {
    "eig": "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking "
    "complex tensors: L, V = torch.linalg.eig(A), or L = torch.linalg.eigvals(A) without eigenvectors.",
    "lstsq": "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, which has reversed arguments and does not return "
    "the QR decomposition in the returned tuple: X = torch.linalg.lstsq(B, A).solution.",
    "solve": "`torch.solve` is deprecated in favor of `torch.linalg.solve`, which has its arguments reversed and does not "
    "return the LU factorization: X = torch.linalg.solve(A, B).",
    "symeig": "The default behavior has changed from using the upper triangular portion of the matrix by default to using the "
    "lower triangular portion: L, V = torch.linalg.eigh(A, UPLO='U'), or torch.linalg.eigvalsh without eigenvectors.",
}

# what the functions of devices do, in all of torch's modules for kinds of devices
_DEVICE = {
    "init": "Start the device.", "synchronize": "Wait for a device's kernels.", "set_device": "Select a device.",
    "current_device": "The index of the selected device.", "current_stream": "The selected stream.",
    "default_stream": "The stream selected at the start.", "set_stream": "Select a stream.",
    "stream": "Select a stream within a context.", "get_stream_from_external": "A stream made elsewhere.",
    "get_device_name": "The name of a device.", "get_device_properties": "What a device can do.",
    "get_device_capability": "What a device can do.", "can_device_access_peer": "Whether one device reads another's memory.",
    "get_rng_state": "The state of a device's generator.", "set_rng_state": "Restore a device's generator.",
    "initial_seed": "The seed of a device's generator.", "seed": "Seed a device's generator at random.",
    "mem_get_info": "Free and total bytes of a device.", "get_memory_info": "Free and total bytes of a device.",
    "reset_peak_memory_stats": "Reset the maxima.", "reset_accumulated_memory_stats": "Reset the sums.",
    "set_per_process_memory_fraction": "Limit this process's memory.", "get_per_process_memory_fraction": "This process's limit.",
    "empty_cache": "Give cached memory back.", "empty_host_cache": "Give cached pinned memory back.",
    "snapshot": "The allocator's segments.", "record_memory_history": "Record allocations.",
    "attach_out_of_memory_observer": "Be notified when memory is full.", "Stream": "A queue of kernels.", "Event": "A mark in a stream.",
    "memory_stats": "The allocator's counters.", "memory_allocated": "Bytes of a device's memory in tensors.",
    "max_memory_allocated": "The maximum of `memory_allocated`.", "memory_reserved": "Bytes held by the allocator.",
    "max_memory_reserved": "The maximum of `memory_reserved`.", "current_device_index": "The index of the selected device.",
    "set_device_index": "Select a device.", "ipc_collect": "Free memory shared with dead processes.",
    "current_blas_handle": "The cuBLAS handle.", "current_solver_handle": "The cuSOLVER handle.", "cudart": "The CUDA runtime library.",
    "check_error": "Raise for an error code of the CUDA runtime.", "utilization": "How busy a device is, in per cent.",
    "memory_usage": "How busy a device's memory is, in per cent.", "clock_rate": "A device's clock, in MHz.",
    "power_draw": "A device's power, in mW.", "temperature": "A device's temperature, in degrees Celsius.",
    "device_memory_used": "Bytes of a device in use.", "get_allocator_backend": "The allocator's name.",
    "get_sync_debug_mode": "What synchronizing calls report.", "set_sync_debug_mode": "Let synchronizing calls report.",
    "graph_pool_handle": "A memory pool for graphs.", "is_current_stream_capturing": "Whether a graph is being captured.",
    "make_graphed_callables": "Callables that replay graphs.", "caching_allocator_alloc": "Allocate bytes.",
    "caching_allocator_delete": "Free bytes.", "change_current_allocator": "Use another allocator.",
    "reset_accumulated_host_memory_stats": "Reset the sums.", "reset_peak_host_memory_stats": "Reset the maxima.",
    "use_mem_pool": "Allocate from a pool.", "memory_summary": "The allocator's counters as a table.",
    "memory_snapshot": "The allocator's segments.", "reset_max_memory_allocated": "Reset the maxima.",
    "reset_max_memory_cached": "Reset the maxima.", "CUDAGraph": "Recorded kernels.", "Graph": "Recorded kernels.",
    "graph": "Context manager that records kernels.", "MemPool": "A memory pool.", "ExternalStream": "A stream made elsewhere.",
    "CUDAPluggableAllocator": "An allocator from a library.", "start": "Start the device's profiler.", "stop": "Stop it.",
    "profile": "Profile a block.", "range_push": "Open a nested range.", "range_pop": "Close the innermost range.",
    "range_start": "Open a range that another thread may close.", "range_end": "Close a range by its number.",
    "mark": "Mark a moment.", "current_allocated_memory": "Bytes in tensors.", "driver_allocated_memory": "Bytes held.",
    "recommended_max_memory": "Bytes to stay below.", "compile_shader": "Compile Metal source.",
    "load_metallib": "Load a compiled Metal library.", "profiler": "The device's profiler.",
}  # fmt: skip

# (module, kind, reason, names: each with what the reason's texts leave open, or with what `_DEVICE` says)
_GROUPS: tuple[tuple[str, str, Reason, dict[str, Any] | str], ...] = (
    ("cuda", "function", NO_CUDA, """init current_device set_device get_device_name get_device_properties
        get_device_capability synchronize current_stream default_stream ipc_collect current_blas_handle
        can_device_access_peer utilization cudart check_error current_solver_handle clock_rate power_draw temperature
        memory_usage device_memory_used get_allocator_backend get_per_process_memory_fraction get_stream_from_external
        get_sync_debug_mode set_sync_debug_mode graph_pool_handle is_current_stream_capturing make_graphed_callables
        caching_allocator_alloc caching_allocator_delete change_current_allocator reset_accumulated_memory_stats
        reset_accumulated_host_memory_stats reset_peak_host_memory_stats use_mem_pool"""),
    ("cuda.memory", "function", NO_CUDA, """mem_get_info memory_summary memory_snapshot reset_peak_memory_stats
        reset_max_memory_allocated reset_max_memory_cached set_per_process_memory_fraction"""),
    ("cuda.random", "function", NO_CUDA, "get_rng_state initial_seed"),
    ("cuda", "class", NO_CUDA_CLASS, "Stream Event CUDAGraph graph MemPool CUDAPluggableAllocator ExternalStream"),
    ("cuda", "namespace", NO_CUDA, "profiler"),
    ("cuda.profiler", "function", NO_CUDA_PROFILER, "start stop profile"),
    ("cuda.nvtx", "function", NO_NVTX, "range_push range_pop range_start range_end mark"),
    ("xpu", "function", NO_XPU, """init current_device set_device get_device_name get_device_properties
        get_device_capability synchronize current_stream set_stream get_stream_from_external get_rng_state initial_seed
        mem_get_info reset_peak_memory_stats reset_accumulated_memory_stats set_per_process_memory_fraction
        get_per_process_memory_fraction can_device_access_peer"""),
    ("xpu", "class", NO_XPU_CLASS, "Stream Event"),
    ("mtia", "function", NO_MTIA_BUILD, "init get_rng_state initial_seed"),
    ("mtia", "function", NO_MTIA, """synchronize current_device set_device current_stream default_stream set_stream
        stream get_device_capability get_device_properties empty_cache snapshot record_memory_history
        attach_out_of_memory_observer Stream Event"""),
    ("mps", "function", NO_MPS, {
        "synchronize": "deviceSynchronize", "seed": "getDefaultGenerator", "get_rng_state": "getDefaultGenerator",
        "set_rng_state": "getDefaultGenerator", "empty_cache": "emptyCache", "set_per_process_memory_fraction": "setMemoryFraction",
        "current_allocated_memory": "getCurrentAllocatedMemory", "driver_allocated_memory": "getDriverAllocatedMemory",
        "recommended_max_memory": "getRecommendedMaxMemory", "compile_shader": "compileShader", "load_metallib": "loadMetallib",
    }),
    ("mps", "class", NO_MPS, {"Event": "acquireEvent"}),
    ("mps", "namespace", NO_MPS, "profiler"),
    ("mps.profiler", "function", NO_MPS, {
        "start": "profilerStartTrace", "stop": "profilerStopTrace", "profile": "profilerStartTrace",
    }),
    ("backends.mps", "function", NO_MPS_BACKEND, {
        "is_macos_or_newer": ("Whether this is that macOS or a later one.", "Cannot execute isOnMacOSorNewer() without MPS backend."),
        "get_name": ("The GPU's name.", "torch.backends.mps.get_name() needs an Apple GPU: there is no MPS backend."),
        "get_core_count": ("How many cores it has.", "torch.backends.mps.get_core_count() needs an Apple GPU: there is no MPS backend."),
    }),
    ("accelerator", "function", NO_ACCELERATOR, """current_device_index set_device_index current_stream set_stream
        synchronize get_device_capability get_memory_info empty_cache empty_host_cache memory_allocated
        max_memory_allocated memory_reserved max_memory_reserved memory_stats reset_peak_memory_stats
        reset_accumulated_memory_stats"""),
    ("accelerator", "class", NO_ACCELERATOR, "Graph"),
    ("", "function", REMOVED, {
        **_REMOVED,
        "matrix_rank": "Please use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed "
        "in `torch.linalg.matrix_rank()` to 'hermitian'.",
    }),
    ("Tensor", "method", REMOVED, _REMOVED),
    ("Tensor", "method", REINFORCE, "reinforce"),
    ("", "function", NO_LAYOUT, "sparse_bsr_tensor sparse_bsc_tensor hsmm "
     "resize_as_sparse_"),
    ("Tensor", "method", NO_METHOD, {
        **dict.fromkeys(("to_sparse_bsr", "to_sparse_bsc"), _LAYOUTS),
        **dict.fromkeys(("sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_"), _SIZE),
    }),
    ("sparse", "function", NOT_IMPLEMENTED, {
        "as_sparse_gradcheck": ("Let gradcheck take sparse tensors, where it compares dense ones.",
         "torch.sparse.as_sparse_gradcheck is not implemented; check a function of the values"),
        "spsolve": ("Solve a sparse system, for which torch has a direct solver on CUDA only.",
         "torch.sparse.spsolve is not implemented"),
        "to_sparse_semi_structured": ("2:4 sparsity, a format of CUDA devices.",
         "torch.sparse.to_sparse_semi_structured needs a CUDA device"),
    }),
    ("sparse", "class", NOT_IMPLEMENTED, {
        "SparseSemiStructuredTensor": ("2:4 sparsity, a format of CUDA devices.",
         "torch.sparse.SparseSemiStructuredTensor needs a CUDA device"),
    }),
    ("func", "function", NOT_IMPLEMENTED, {
        "rearrange": ("The package einops has it, and works with these tensors.",
         "torch.func.rearrange is not implemented; use einops.rearrange"),
    }),
    ("library", "function", NOT_IN_LIBRARY, {
        "get_ctx": "there are no fake tensors here",
        "get_kernel": "the kernels of torch's own operators have no dispatch keys here",
        "wrap_triton": "there is no Triton here",
        "fallthrough_kernel": "it marks a kernel and is never called",
        **_NOT_REGISTERED,
    }),
    ("library.CustomOpDef", "method", NOT_IN_LIBRARY, _NOT_REGISTERED),
    ("library.Library", "method", NOT_IMPLEMENTED, {
        "fallback": ("A kernel for all operators.", "torch.library.Library.fallback is not implemented"),
    }),
    ("jit", "class", NOT_IMPLEMENTED, {
        "CompilationUnit": ("Functions from TorchScript's text.",
         "torch.jit.CompilationUnit: TorchScript's text is read from files only; write Python functions"),
    }),
    ("profiler.profile", "method", NOT_IMPLEMENTED, {
        "export_memory_timeline": ("Write the use of memory.",
         "torch.profiler.profile.export_memory_timeline: memory is not recorded"),
    }),
    ("onnx", "function", NOT_IMPLEMENTED, {
        "dynamo_export": ("Another way to export.", "torch.onnx.dynamo_export is not implemented"),
        "register_custom_op_symbolic": ("Tell the exporter about an operator.",
         "torch.onnx.register_custom_op_symbolic is not implemented: rows of operators are in rushlight/torch/onnx/rows"),
    }),
    ("utils._pytree", "function", NOT_IMPLEMENTED, {
        "treespec_dumps": ("The nesting as JSON.",
         "torch.utils._pytree.treespec_dumps is not implemented; pickle the tree instead"),
        "treespec_loads": ("The nesting from JSON.",
         "torch.utils._pytree.treespec_loads is not implemented; pickle the tree instead"),
    }),
    ("utils.flop_counter", "function", NOT_IMPLEMENTED, {
        "register_flop_formula": ("Count another operator.",
         "torch.utils.flop_counter.register_flop_formula is not implemented"),
    }),
    ("utils", "module", MODULE, {
        "mobile_optimizer": "rewriting TorchScript programs for phones; there is no TorchScript here.",
    }),
    ("utils.mobile_optimizer", "function", NOT_IMPLEMENTED, {
        "optimize_for_mobile": ("Rewrite a scripted module.",
         "torch.utils.mobile_optimizer.optimize_for_mobile: there are no TorchScript programs here"),
    }),
    ("utils.cpp_extension", "function", NO_EXTENSIONS, {
        "load": "Compile source files and import the result.",
        "load_inline": "Compile source text and import the result.",
        "CppExtension": "An extension in C++ for setuptools.",
        "CUDAExtension": "An extension in CUDA for setuptools.",
        "include_paths": "Where torch's headers are.",
        "library_paths": "Where torch's libraries are.",
        "check_compiler_abi_compatibility": "Whether a compiler fits.",
        "verify_ninja_availability": "Check that ninja is installed.",
    }),
    ("utils.cpp_extension", "class", NO_EXTENSIONS, {"BuildExtension": "The setuptools command that builds extensions."}),
    ("utils.cpp_extension.BuildExtension", "method", NO_EXTENSIONS._replace(
        message=NO_EXTENSIONS.message.replace("{name}", "BuildExtension")), {"with_options": "The command with options."}),
    ("distributed", "function", NOT_IN_DISTRIBUTED, {
        "breakpoint": "",
    }),
    ("distributed", "module", MODULE, {
        "tensor.parallel": "layers that are spread over processes. " + _OWN_NAMES,
    }),
    ("distributed.optim", "class", NOT_DISTRIBUTED, "DistributedOptimizer"),
    ("distributed.rpc", "class", NOT_DISTRIBUTED, "BackendType RRef TensorPipeRpcBackendOptions WorkerInfo "
     "get_worker_info init_rpc remote rpc_async rpc_sync shutdown"),
    ("distributed.tensor", "class", NOT_DISTRIBUTED, "distribute_module"),
    ("distributed.tensor.parallel", "class", NOT_DISTRIBUTED, "ColwiseParallel PrepareModuleInput PrepareModuleOutput "
     "RowwiseParallel SequenceParallel loss_parallel parallelize_module"),
)  # fmt: skip


_DEVICES = ("accelerator", "cuda", "mps", "mtia", "xpu")


def _rows() -> Iterator[Row]:
    for module, kind, reason, names in _GROUPS:
        texts = names if isinstance(names, dict) else dict.fromkeys(names.split(), "")
        for name, text in texts.items():
            if module.startswith(_DEVICES):
                text = _DEVICE[name], text
            yield Row(f"{module}.{name}".lstrip("."), kind, reason, *(text if isinstance(text, tuple) else (text,)))


ROWS = {row.path: row for row in _rows()}


def names_of(path: str) -> list[str]:
    """The names, within the module or class at a dotted name, that have a row."""
    below = [row.path.rpartition(".") for row in ROWS.values() if row.kind != "module"]
    return [name for parent, _, name in below if parent == path]


def exported(path: str) -> list[str]:
    """Those for the module's `__all__`: no private names, and none that would hide a built-in in a star import."""
    return [name for name in names_of(path) if not name.startswith("_") and not hasattr(builtins, name)]
