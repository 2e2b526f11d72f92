"""oneDNN's kernels for x86-64, called through ctypes; loaded on first use. `register` says which operators use them.

Every kernel works on raw float32 arrays, returns new contiguous ones, and returns NotImplemented where it cannot serve:
the caller then runs the reference kernel.
"""

from .blas import limit_blas_threads
from .convolution import conv_backward_input, conv_backward_weight, conv_forward
from .library import OneDNNError, available, reason_unavailable
from .matmul import matmul
from .pooling import avg_pool_backward, avg_pool_forward, max_pool_backward, max_pool_forward, max_pool_indices
from .threads import get_num_threads, set_num_threads

__all__ = [
    "OneDNNError",
    "available",
    "avg_pool_backward",
    "avg_pool_forward",
    "conv_backward_input",
    "conv_backward_weight",
    "conv_forward",
    "get_num_threads",
    "limit_blas_threads",
    "matmul",
    "max_pool_backward",
    "max_pool_forward",
    "max_pool_indices",
    "reason_unavailable",
    "set_num_threads",
]
