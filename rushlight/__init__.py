"""Rushlight: PyTorch's way of training in a small package. The names are torch's.

`nn`, `optim`, `utils`, `vision` and the other packages load when they are first named.
"""

import sys as _sys
from math import e, inf, nan, pi

from . import autograd, ops
from . import torch as _torch
from .torch import _lazy, random
from .autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from .backend.onednn import register as _register
from .backend.onednn.threads import get_num_threads, set_num_threads
from .torch.version import __version__
from .compile.install import install as _install_compiler
from .core.dispatch import extension_points as _extension_points
from .core.tensor import dtype as _dtypes
from .core.device.devices import device
from .core.tensor.dtype import (
    bfloat16, can_cast, cdouble, cfloat, chalf, complex32, complex64, complex128, double, dtype, float8_e4m3fn, float8_e4m3fnuz,
    float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, float16, float32, float64, get_default_dtype, half, int8, int16, int32, int64, long, promote_types,
    qint8, qint32, quint4x2, quint8, set_default_dtype, short, uint8, uint16, uint32, uint64,
)  # fmt: skip
from .core.tensor.layout import (
    channels_last, channels_last_3d, contiguous_format, finfo, iinfo, jagged, layout, memory_format, per_channel_affine,
    per_channel_affine_float_qparams, per_channel_symmetric, per_tensor_affine, per_tensor_symmetric, preserve_format, qscheme,
    sparse_coo, sparse_csc, sparse_csr, strided,
)  # fmt: skip
from .core.tensor.legacy_types import (
    BFloat16Tensor, BoolTensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor,
    ShortTensor,
)  # fmt: skip
from .core.dispatch.mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .core.tensor.printing import set_printoptions
from .core.random import Generator, default_generator, initial_seed, manual_seed, seed
from .core.tensor.size import Size
from .core.tensor.tensor import Tensor
from .ops import *
from .ops.core_forms import *
from .ops.random.sample import get_rng_state, set_rng_state
from .torch._settings import *

float, int, bool = _dtypes.float32, _dtypes.int32, _dtypes.bool_
newaxis = None
_LAZY_PACKAGES = {
    *_torch.NAMES,
    "alias",
    "amp",
    "backend",
    "compat",  # the name that `alias` had
    "compile",
    "distributions",
    "distributed",
    "doctor",
    "func",
    "fx",
    "nn",
    "optim",
    "serialization",
    "sparse",
    "testing",
    "utils",
    "vision",
}
_LAZY_NAMES = {
    **_lazy.NAMES,
    "save": "serialization",
    "load": "serialization",
    "autocast": "amp",
    "GradScaler": "amp",
    "_assert": "fx.assertions",
    "_assert_async": "torch.overrides",
    "_disable_dynamo": "torch.compiler",
    "summary": "utils.display",
    "cond": "torch._higher_order_ops.cond",
    "OutOfMemoryError": "torch.cuda",
    "AcceleratorError": "torch.cuda",
    **dict.fromkeys(
        (
            "BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage",
            "ComplexFloatStorage", "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage", "LongStorage",
            "ShortStorage", "TypedStorage", "UntypedStorage", "is_storage",
        ),
        "core.tensor.typed_storage",
    ),
    **dict.fromkeys(
        (
            "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype",
            "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
            "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
            "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
        ),
        "amp.modes",
    ),
}  # fmt: skip
_register.install()
_torch.install()
_lazy.install()
_install_compiler()
_extension_points.namespace.register(_sys.modules[__name__])
if hasattr(_sys.modules.get("IPython"), "get_ipython"):
    from .alias import notebook as _notebook

    _notebook.install()
if "RUSHLIGHT_DOCTOR_FOLDER" in _sys.modules["os"].environ:  # started by a process that the doctor follows
    from .doctor.processes import follow as _follow

    _follow()


def __getattr__(name):
    from importlib import import_module

    if name in _LAZY_PACKAGES:
        return import_module("." + name, __name__)
    if name in _LAZY_NAMES:
        own = name in _lazy.NAMES
        value = _lazy.function(name) if own else getattr(import_module("." + _LAZY_NAMES[name], __name__), name)
        globals()[name] = value
        return value
    if name.startswith("_foreach_"):
        return getattr(import_module(".ops.foreach", __name__), name)
    raise AttributeError(f"module 'rushlight' has no attribute {name!r}")
