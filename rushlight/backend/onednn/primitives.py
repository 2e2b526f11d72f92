"""oneDNN's engine, memory descriptors and primitive descriptors as Python values.

Numbers of enumerations and argument kinds are those of the C API's headers, version 3.
"""

from __future__ import annotations

import weakref
from collections import deque
from contextlib import suppress
from typing import Any

from ...core.foreign import ctypes
from ...core.locks import made_once, making
from .library import check, is_loaded, load

__all__ = [
    "Argument",
    "Owned",
    "any_layout",
    "channels_last",
    "dims",
    "engine",
    "forget_unused",
    "implementation",
    "plain",
    "primitive_desc",
    "writes_outside",
]

SRC_1, _POST_OP = 2, 32768
SRC, DST, WEIGHTS, BIAS, WORKSPACE, SCRATCHPAD = 1, 17, 33, 41, 64, 80
DIFF_SRC, DIFF_DST, DIFF_WEIGHTS, DIFF_BIAS = 129, 145, 161, 169
MEAN, VARIANCE, SCALE, SHIFT, DIFF_SCALE, DIFF_SHIFT = 49, 50, 51, 52, 255, 256
BF16, F32, S32, S8, U8 = 2, 3, 4, 5, 6
STRICT, ALLOW_BF16 = 0, 1  # fpmath modes: float32 as it is, or rounded to bfloat16 before multiplication
FORWARD_TRAINING, BACKWARD = 64, 128

_MAX_DIMS = 12
_TAG_ANY = 1
_CPU_ENGINE = 1
_SCRATCHPAD_USER = 1
_QUERY_IMPLEMENTATION = 8
_QUERY_EXEC_ARG_DESC = 255
_REFUSALS = (2, 3)  # invalid_arguments, unimplemented


class Argument(ctypes.Structure):
    """dnnl_exec_arg_t."""

    _fields_ = (("kind", ctypes.c_int), ("memory", ctypes.c_void_p))


class Owned:
    """A oneDNN object; `value` is its handle. After its last reference it is destroyed when the next one is made.

    Not at once: `__del__` in Python would swallow a KeyboardInterrupt that comes meanwhile.
    """

    __slots__ = ("__weakref__", "value")

    def __init__(self, value: Any, destroy):
        destroy_dead()
        self.value = value
        handle = _Handle(self, _dead.append)
        handle.value, handle.destroy = value, destroy
        _handles.add(handle)


class _Handle(weakref.ref):
    """A reference that knows what is to be destroyed."""

    __slots__ = ("destroy", "value")

    __hash__ = object.__hash__
    __eq__ = object.__eq__


_handles: set[_Handle] = set()
_dead: deque[_Handle] = deque()


def destroy_dead() -> None:
    """Destroy the objects that nothing refers to any more."""
    while _dead:
        with suppress(IndexError):  # another thread was quicker
            handle = _dead.popleft()
            _handles.discard(handle)
            handle.destroy(handle.value)


def create(kind: str, *arguments, verb: str = "create") -> Owned:
    """Call dnnl_<kind>_<verb>(&handle, *arguments) and own the handle."""
    library, handle = load(), ctypes.c_void_p()
    name = f"dnnl_{kind}_{verb}"
    with making:  # a forked child must not wait for what another thread was adding to oneDNN's cache
        check(getattr(library, name)(ctypes.byref(handle), *arguments), name)
    return Owned(handle.value, getattr(library, f"dnnl_{kind}_destroy"))


@made_once
def engine() -> int:
    """The CPU engine's handle; one for the process, never destroyed, so that no object outlives it."""
    handle = ctypes.c_void_p()
    check(load().dnnl_engine_create(ctypes.byref(handle), _CPU_ENGINE, 0), "dnnl_engine_create")
    assert handle.value is not None
    return handle.value


def dims(values):
    """A dnnl_dims_t."""
    return (ctypes.c_int64 * _MAX_DIMS)(*values)


# -- memory descriptors ----------------------------------------------------------------------------------------------
def strided(shape, strides, data_type=F32) -> Owned:
    """Descriptor of memory with `strides` counted in elements."""
    return create("memory_desc", len(shape), dims(shape), data_type, dims(strides), verb="create_with_strides")


def plain(shape, data_type=F32) -> Owned:
    """Descriptor of row-major memory."""
    return strided(shape, _packed(shape, range(len(shape))), data_type)


def channels_last(shape, data_type=F32) -> Owned:
    """Descriptor of memory for the logical shape (N, C, *) that is stored as (N, *, C)."""
    return strided(shape, _packed(shape, (0, *range(2, len(shape)), 1)), data_type)


def equal(first: int, second: int) -> bool:
    """Whether two memory descriptors describe the same shape, type and layout."""
    return bool(load().dnnl_memory_desc_equal(first, second))


def any_layout(shape, data_type=F32) -> Owned:
    """Descriptor of memory whose layout the primitive is to choose."""
    return create("memory_desc", len(shape), dims(shape), data_type, _TAG_ANY, verb="create_with_tag")


def _packed(shape, order):
    """Strides of gapless memory whose axes, slowest first, are `order`."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return strides


# -- primitive descriptors -------------------------------------------------------------------------------------------
def primitive_desc(kind: str, *arguments, then=(), fpmath=STRICT) -> Owned | None:
    """Descriptor of a primitive of `kind` ("convolution_forward", ...), or None where oneDNN refuses.

    `then`: pairs (algorithm, memory descriptor): binary operations that the result passes through, one after another;
    the second operand of the i-th is the argument `operand(i)`. fpmath: STRICT, or ALLOW_BF16 for products of float32.

    oneDNN's own reference implementations (a convolution: 100 times slower than NumPy's) count as a refusal.
    `arguments` are those of dnnl_<kind>_primitive_desc_create between the engine and the attributes.
    """
    library, handle, attributes = load(), ctypes.c_void_p(), _caller_keeps_scratchpad()
    if then:
        _append(attributes, then)
    if fpmath:
        name = "dnnl_primitive_attr_set_fpmath_mode"
        check(library.dnnl_primitive_attr_set_fpmath_mode(attributes.value, fpmath), name)
    name = f"dnnl_{kind}_primitive_desc_create"
    values = (argument.value if isinstance(argument, Owned) else argument for argument in arguments)
    with making:
        status = getattr(library, name)(ctypes.byref(handle), engine(), *values, attributes.value)
    if status in _REFUSALS:
        return None
    check(status, name)
    desc = Owned(handle.value, library.dnnl_primitive_desc_destroy)
    return None if implementation(desc).startswith("ref") else desc


def reorder_desc(source: int, target: int) -> Owned:
    """Descriptor of the copy from one memory descriptor's layout to another's."""
    library, handle = load(), ctypes.c_void_p()
    name = "dnnl_reorder_primitive_desc_create"
    check(getattr(library, name)(ctypes.byref(handle), source, engine(), target, engine(), None), name)
    return Owned(handle.value, library.dnnl_primitive_desc_destroy)


def forget_unused() -> None:
    """Free the code of primitives that only oneDNN's cache, of the latest 1024, still holds."""
    if not is_loaded():
        return
    destroy_dead()
    library, capacity = load(), ctypes.c_int()
    check(library.dnnl_get_primitive_cache_capacity(ctypes.byref(capacity)), "dnnl_get_primitive_cache_capacity")
    with making:
        for n in (0, capacity.value):
            check(library.dnnl_set_primitive_cache_capacity(n), "dnnl_set_primitive_cache_capacity")


def _caller_keeps_scratchpad() -> Owned:
    """Attributes. oneDNN's own scratchpad is counted per thread and breaks when another thread frees a primitive."""
    attributes = create("primitive_attr")
    name = "dnnl_primitive_attr_set_scratchpad_mode"
    check(load().dnnl_primitive_attr_set_scratchpad_mode(attributes.value, _SCRATCHPAD_USER), name)
    return attributes


def _append(attributes: Owned, then) -> None:
    library, chain = load(), create("post_ops")
    for algorithm, layout in then:
        check(library.dnnl_post_ops_append_binary(chain.value, algorithm, layout.value), "dnnl_post_ops_append_binary")
    status = library.dnnl_primitive_attr_set_post_ops(attributes.value, chain.value)
    check(status, "dnnl_primitive_attr_set_post_ops")


def operand(i: int) -> int:
    """The argument kind of the i-th binary operation after a primitive."""
    return _POST_OP * (i + 1) | SRC_1


def implementation(desc: Owned) -> str:
    """The implementation oneDNN picked, such as "jit:avx512_core"."""
    text = ctypes.c_char_p()
    status = load().dnnl_primitive_desc_query(desc.value, _QUERY_IMPLEMENTATION, 0, ctypes.byref(text))
    check(status, "dnnl_primitive_desc_query")
    return (text.value or b"").decode()


def writes_outside(desc: Owned, channels: int, stride) -> bool:
    """Whether a convolution's gradient of the weight writes beyond its scratchpad.

    oneDNN 3.x with AVX2 gathers the strided input of a 1 x 1 kernel in whole vectors of 8 channels, and counts room for
    those that there are: with fewer than 8 it overwrites up to 264 bytes past its end (all of 738 out of 13,671 geometries that
    did so). Values there come out wrong, such as the gradient that the bias's is summed from.
    """
    return channels < 8 and max(stride) > 1 and implementation(desc) == "jit_1x1:avx2"


def wanted_desc(desc: Owned, argument: int) -> int:
    """The memory descriptor that the primitive wants for `argument`, 0 for an `operand`, which it takes as it is.

    The handle lives as long as `desc`.
    """
    if argument >= _POST_OP:
        return 0
    return load().dnnl_primitive_desc_query_md(desc.value, _QUERY_EXEC_ARG_DESC, argument)


def size_bytes(memory_desc: int) -> int:
    """How much memory a descriptor describes."""
    return load().dnnl_memory_desc_get_size(memory_desc)
