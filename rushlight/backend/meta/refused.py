"""What a tensor without data cannot tell: operators and functions whose result has a shape that depends on values."""

from __future__ import annotations

import numpy as np

DATA_DEPENDENT = (
    "bincount", "masked_select", "nonzero", "segment_places", "unique2", "unique_consecutive", "unique_dim",
)  # fmt: skip

MASKED = frozenset(("index",))  # of which a mask as an index decides the shape

REFUSED_FUNCTIONS = frozenset(
    (np.nonzero, np.ndarray.nonzero, np.flatnonzero, np.argwhere, np.unique, np.array_equal, np.allclose)
)


def refused(name: str) -> NotImplementedError:
    """The error of an operator whose result is not known without data."""
    return NotImplementedError(
        f"aten::{name}: attempted to run this operator with Meta tensors, but its result depends on their values, which "
        "meta tensors do not have"
    )
