"""`torch.masked`: reductions and normalizations that leave elements out, and the tensor that carries its mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._masked_functions import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)
from ._masked_tensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor
from ._stand_ins import lookup

__all__ = [
    "MaskedTensor",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)
