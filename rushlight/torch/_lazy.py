"""Names of packages that load at their first use: functions of the top package, and methods of tensors.

A method listed here is a stub that loads its module, puts what it finds there in its place, and calls it. A module above
the decorators of operators uses those instead.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..core.dispatch.torch_function import publish_late
from ..core.tensor.tensor import Tensor

# name in the top package -> module that has it
NAMES = {
    **dict.fromkeys(("sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_compressed_tensor"), "sparse.create"),
    **dict.fromkeys(("spmm", "dsmm", "hspmm", "smm", "sspaddmm", "saddmm"), "sparse.products"),
    **dict.fromkeys(("_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"), "sparse.indices"),
    **dict.fromkeys(("eig", "lstsq", "matrix_rank", "solve", "symeig"), "torch._stand_ins"),
    **dict.fromkeys(
        ("sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"), "torch._sym"
    ),
    **dict.fromkeys(("from_dlpack", "to_dlpack"), "utils.dlpack"),
    **dict.fromkeys(("quantize_per_tensor", "dequantize", "int_repr", "q_scale", "q_zero_point"), "ops.quantized.tensor"),
    **dict.fromkeys(
        ("quantize_per_channel", "q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis"),
        "ops.quantized.channels",
    ),
    **dict.fromkeys(("fake_quantize_per_tensor_affine", "fake_quantize_per_channel_affine"), "ops.quantized.fake"),
    "convolution": "ops.aten_forms",
    **dict.fromkeys(("_log_softmax_backward_data", "_shape_as_tensor", "_softmax_backward_data"), "ops.aten_forms"),
    **dict.fromkeys(("ScriptDict", "ScriptList"), "torch.jit.containers"),
    "from_file": "core.tensor.typed_storage",
    **dict.fromkeys(("cudnn_is_acceptable", "is_distributed"), "core.tensor.memory_order"),
    **dict.fromkeys(("norm_except_dim", "_weight_norm"), "nn.utils.weight_norm"),
    **dict.fromkeys(
        (
            "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all",
            "_check_tensor_all_with", "_check_type", "_check_value", "_check_with",
        ),
        "torch._checks",
    ),
    **dict.fromkeys(("SymBool", "SymFloat", "SymInt"), "torch._sym"),
    "while_loop": "torch._higher_order_ops.while_loop",
    "vmap": "func.vectorize",
    "Future": "torch._C",
    **dict.fromkeys(("stft", "istft"), "ops.signal.stft"),
    **dict.fromkeys(
        (
            "_sobol_engine_draw", "_sobol_engine_ff_", "_sobol_engine_initialize_state_", "_sobol_engine_scramble_",
        ),
        "ops.random.sobol",
    ),
    **dict.fromkeys(
        ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"), "ops.signal.window"
    ),
    **dict.fromkeys(
        (
            "sparse_bsr_tensor", "sparse_bsc_tensor", "hsmm",
            "resize_as_sparse_",
        ),
        "torch._stand_ins",
    ),
}  # fmt: skip

# module -> the methods that tensors have from it
METHODS = {
    "sparse.methods": (
        "to_sparse to_sparse_coo to_sparse_csr to_dense sparse_mask smm sspaddmm coalesce is_coalesced indices _indices "
        "_values _coalesced_ _dimI _dimV values _nnz sparse_dim dense_dim crow_indices col_indices "
        "to_sparse_csc ccol_indices row_indices "
        "_as_sparse_rows"
    ),
    "ops.quantized.tensor": (
        "int_repr q_scale q_zero_point qscheme q_per_channel_scales q_per_channel_zero_points q_per_channel_axis dequantize"
    ),
    "ops.signal.stft": "stft istft",
    "core.tensor.dlpack": "__dlpack__ __dlpack_device__",
    "core.tensor.memory_order": "__reversed__ dim_order is_distributed is_set_to module_load new_empty_strided resize resize_as",
    "core.tensor.apply_map": "apply_ map_ map2_",
    "torch._stand_ins": (
        "eig lstsq reinforce solve symeig to_sparse_bsr to_sparse_bsc sparse_resize_ "
        "sparse_resize_and_clear_ resize_as_sparse_"
    ),
    "core.tensor.shared_memory": "share_memory_ is_shared untyped_storage storage _typed_storage storage_type",
}


_STUBS: dict[str, Any] = {}


def install() -> None:
    """Give tensors the stubs."""
    for module, names in METHODS.items():
        for name in names.split():
            if name not in Tensor.__dict__:
                _STUBS[name] = _stub(name, module)
                setattr(Tensor, name, _STUBS[name])


def load(module: str) -> None:
    """Load one of the modules of `METHODS`, so that tensors have its methods."""
    loaded = import_module("rushlight." + module)
    for name in METHODS[module].split():
        if name in vars(loaded) and vars(Tensor)[name] is _STUBS.get(name):
            setattr(Tensor, name, vars(loaded)[name])
    publish_late({name: vars(Tensor)[name] for name in METHODS[module].split()})


def function(name: str) -> Any:
    """A function of `NAMES`, from its module."""
    module = NAMES[name]
    found = getattr(import_module("rushlight." + module), name)
    if module in METHODS:
        load(module)
    elif module.startswith("ops."):
        publish_late({name: found})
    return found


def _stub(name: str, module: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        load(module)
        return getattr(self, name)(*args, **kwargs)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"See `rushlight.{module}`, which loads at the first call."
    return method
