"""`out=` of functions that make their numbers from no tensor: made in the type of `out`, which takes their shape."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import emit_event, thread
from ...core.dispatch.overlap import check_apart, store
from ...core.tensor.resizing import resize
from ...core.tensor.storage import storage_of
from ...core.tensor.tensor import Tensor, type_word


def kind_of(name: str, out: Any, dtype: Any = None) -> np.dtype:
    """The type of the numbers that go into `out`. Raises torch's errors for what cannot take them."""
    if not isinstance(out, Tensor):
        raise type_error(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if dtype not in (None, out.dtype):
        words = f"{type_word(dtype)} does not match dtype of out parameter ({type_word(out.dtype)})"
        raise RuntimeError(f"dtype {words}")
    if thread.state.grad and out._edge is not None:
        raise RuntimeError(
            f"aten::{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    return out._array.dtype


def sized(out: Tensor, shape: tuple[int, ...], flat: bool = False) -> Tensor:
    """`out` with this shape; flat: any shape with as many elements will do."""
    if out._array.shape != shape and not (flat and out._array.size == prod(shape)):
        resize(out, shape)
    return out


def put(name: str, out: Tensor, t: Tensor, requires_grad: bool = False, may_share: bool = False) -> Tensor:
    """Write `t`, of the type and as many elements as `out`, into `out` in the order of rows.

    may_share: for one value, which may be written to elements that share a place, as torch does.
    """
    if not may_share:
        check_apart(out._array)
    if t._array.shape != out._array.shape:
        t = t.view(out._array.shape)  # type: ignore[attr-defined]
    store(out._array, t._array)
    storage_of(out).wrote(f"{name}(out=...)")
    if thread.state.level > 1:
        emit_event("wrote", out, t._array, (t,))
    return out.requires_grad_() if requires_grad else out
