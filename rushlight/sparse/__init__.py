"""Sparse tensors: the names of `torch.sparse`."""

from .create import OLD_TYPES as _OLD_TYPES
from .functions import (
    SparseSemiStructuredTensor,
    addmm,
    as_sparse_gradcheck,
    check_sparse_tensor_invariants,
    log_softmax,
    mm,
    sampled_addmm,
    softmax,
    spdiags,
    spsolve,
    sum,
    to_sparse_semi_structured,
)

globals().update(_OLD_TYPES)
__all__ = [
    "SparseSemiStructuredTensor",
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
    "to_sparse_semi_structured",
]
