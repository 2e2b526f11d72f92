"""Sparse tensors: the names of `torch.sparse`."""

from .create import OLD_TYPES as _OLD_TYPES
from .functions import (
    addmm,
    check_sparse_tensor_invariants,
    log_softmax,
    mm,
    sampled_addmm,
    softmax,
    spdiags,
    sum,
)

globals().update(_OLD_TYPES)
__all__ = [
    "addmm",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]
