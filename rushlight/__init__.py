"""Rushlight: PyTorch's way of training in a small package. The names are torch's."""

from .core import dtype as _dtypes
from .core.device import device
from .core.dtype import (
    bfloat16, can_cast, cdouble, cfloat, complex64, complex128, double, dtype, float16, float32, float64,
    get_default_dtype, half, int8, int16, int32, int64, long, promote_types, set_default_dtype, short, uint8, uint16,
    uint32, uint64,
)  # fmt: skip
from .core.layout import (
    channels_last, channels_last_3d, contiguous_format, finfo, iinfo, layout, memory_format, preserve_format,
    sparse_coo, sparse_csr, strided,
)  # fmt: skip
from .core.mode import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .core.printing import set_printoptions
from .core.random import Generator, default_generator, initial_seed, manual_seed, seed
from .core.size import Size
from .core.tensor import Tensor
from . import autograd, ops
from .ops import *
from .ops.sample import get_rng_state, set_rng_state

float = _dtypes.float32
int = _dtypes.int32
bool = _dtypes.bool_
is_anomaly_enabled = autograd.anomaly.is_anomaly_enabled

def __getattr__(name):
    import importlib
    if name in ("nn", "optim", "utils", "vision", "serialization", "compat", "testing", "backend"):
        return importlib.import_module("." + name, __name__)
    if name in ("save", "load"):
        return getattr(importlib.import_module(".serialization", __name__), name)
    raise AttributeError(f"module 'rushlight' has no attribute {name!r}")
