"""oneDNN's descriptors of refs and of primitives with operations after the product.

A ref's strides go into its memory descriptor as they are, so that transposed, sliced and channels-last operands cost
nothing. Adds to `backend/onednn/primitives.py` what eager calls never need: other types than float32, and post-ops.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ....backend.onednn.library import available, check, load
from ....backend.onednn.primitives import Owned, create, dims, engine, implementation
from ....core.foreign import ctypes
from ....core.locks import made_once, making
from ....core.tensor.dtype import bfloat16
from ...ir.graph import Ref, is_dense, same_strides

byref, c_float, c_int, c_void_p = ctypes.byref, ctypes.c_float, ctypes.c_int, ctypes.c_void_p

__all__ = ["DATA_TYPES", "Operation", "channels_last_order", "free", "layout", "packed", "primitive_desc", "strided"]

# by dtype: to make the name of one takes NumPy as long as oneDNN takes for a descriptor
DATA_TYPES = {bfloat16.numpy: 2, np.dtype(np.float32): 3, np.dtype(np.int32): 4, np.dtype(np.uint8): 6}

_TAG_ANY = 1
_SCRATCHPAD_USER = 1
_REFUSALS = (2, 3)  # invalid_arguments, unimplemented
_UNDEFINED_TYPE = 0
_BFLOAT16 = 1
_ELEMENTWISE = {"gelu_tanh": (0x2B, 0.0), "linear": (0x26, None)}
_BINARY_ADD = 0x1FFF0

Operation = tuple  # ("gelu_tanh",), ("linear", factor), ("sum",) or ("add", Owned descriptor)
# ("rounded",) is none: the factors may be rounded to bfloat16


# -- memory ------------------------------------------------------------------------------------------------------------
def packed(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of gapless memory whose axes, slowest first, are `order`."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def channels_last_order(ndim: int) -> tuple[int, ...]:
    """The axes of (N, C, *) memory, slowest first, with channels innermost."""
    return (0, *range(2, ndim), 1)


def layout(ref: Ref, order: tuple[int, ...] | None = None) -> Owned | None:
    """The descriptor of a ref, or None where oneDNN is missing or has none: a negative stride, an unknown type, nothing in it.

    The strides of axes of length 1 say nothing and are set as in memory of `order` (default: row-major) if that is what
    the other axes show: implementations are chosen by comparing strides.
    """
    strides = tidy(ref.shape, ref.strides, order or tuple(range(ref.ndim)))
    if not available() or ref.dtype not in DATA_TYPES or not ref.size or min(strides, default=0) < 0:
        return None
    return strided(ref.shape, strides, ref.dtype)


def tidy(shape: tuple[int, ...], strides: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """`strides` with sensible ones for axes of length 1."""
    for axes in (order, tuple(range(len(shape)))):
        dense = packed(shape, axes)
        if same_strides(shape, strides, dense):
            return dense
    span = max((n * s for n, s in zip(shape, strides, strict=True) if n != 1), default=1)
    return tuple(span if n == 1 else s for n, s in zip(shape, strides, strict=True))


@functools.lru_cache(maxsize=256)  # the time steps of a recurrent layer differ in nothing
def strided(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype) -> Owned:
    """Descriptor of memory with `strides` counted in elements."""
    kind = DATA_TYPES[dtype]
    return create("memory_desc", len(shape), dims(shape), kind, dims(strides), verb="create_with_strides")


def free(shape: tuple[int, ...], dtype: np.dtype) -> Owned:
    """Descriptor of memory whose layout the primitive is to choose."""
    return create("memory_desc", len(shape), dims(shape), DATA_TYPES[dtype], _TAG_ANY, verb="create_with_tag")


def is_in_order(ref: Ref, order: tuple[int, ...]) -> bool:
    """Whether a ref's memory is dense with its axes, slowest first, in `order`."""
    return is_dense(ref.shape, ref.strides) and same_strides(ref.shape, ref.strides, packed(ref.shape, order))


# -- primitives --------------------------------------------------------------------------------------------------------
def primitive_desc(kind: str, *arguments, operations: tuple[Operation, ...] = ()) -> Owned | None:
    """Descriptor of a primitive of `kind` whose result passes through `operations`, or None where oneDNN refuses.

    oneDNN's own reference implementations count as a refusal. `arguments` are those of
    dnnl_<kind>_primitive_desc_create between the engine and the attributes.
    """
    library, handle, attributes = _library(), c_void_p(), _attributes(operations)
    name = f"dnnl_{kind}_primitive_desc_create"
    values = (argument.value if isinstance(argument, Owned) else argument for argument in arguments)
    with making:
        status = getattr(library, name)(byref(handle), engine(), *values, attributes.value)
    if status in _REFUSALS:
        return None
    check(status, name)
    desc = Owned(handle.value or 0, library.dnnl_primitive_desc_destroy)
    return None if implementation(desc).startswith("ref") else desc


def _attributes(operations: tuple[Operation, ...]) -> Owned:
    library = _library()
    attributes = create("primitive_attr")
    check(library.dnnl_primitive_attr_set_scratchpad_mode(attributes.value, _SCRATCHPAD_USER), "scratchpad mode")
    if ("rounded",) in operations:
        check(
            library.dnnl_primitive_attr_set_fpmath_mode(attributes.value, _BFLOAT16),
            "dnnl_primitive_attr_set_fpmath_mode",
        )
        operations = tuple(o for o in operations if o != ("rounded",))
    if operations:
        chain = create("post_ops")
        for operation in operations:
            check(_append(library, chain.value, *operation), f"dnnl_post_ops_append {operation[0]}")
        check(
            library.dnnl_primitive_attr_set_post_ops(attributes.value, chain.value), "dnnl_primitive_attr_set_post_ops"
        )
    return attributes


def _append(library: Any, chain: int, name: str, argument: Any = None) -> int:
    if name == "sum":
        return library.dnnl_post_ops_append_sum(chain, 1.0, 0, _UNDEFINED_TYPE)
    if name == "add":
        return library.dnnl_post_ops_append_binary(chain, _BINARY_ADD, argument.value)
    number, alpha = _ELEMENTWISE[name]
    return library.dnnl_post_ops_append_eltwise(chain, number, argument if alpha is None else alpha, 0.0)


_P, _I, _F = c_void_p, c_int, c_float
_SIGNATURES = {
    "dnnl_post_ops_create": (_P,),
    "dnnl_post_ops_destroy": (_P,),
    "dnnl_post_ops_append_sum": (_P, _F, _I, _I),
    "dnnl_post_ops_append_binary": (_P, _I, _P),
    "dnnl_post_ops_append_eltwise": (_P, _I, _F, _F),
    "dnnl_primitive_attr_set_post_ops": (_P, _P),
    "dnnl_primitive_attr_set_fpmath_mode": (_P, _I),
}


@made_once
def _library():
    """The loaded library, with the functions typed that only compiled steps use."""
    library = load()
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, c_int
    return library
