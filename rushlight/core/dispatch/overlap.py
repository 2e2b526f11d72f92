"""Writing into memory that the same call reads, such as `x[:, 1:] = x[:, :-1]`, or in which elements share a place.

torch refuses it where both tensors fill their memory without gaps, and where a tensor was expanded. Elsewhere, as with
the windows that `as_strided` and `unfold` show, it does not look, and goes through the elements in the order of the
memory: what was written before is read again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from ..device.buffer import Buffer, as_array, outline_of
from ..tensor import dtype as dtypes
from ..tensor.casting import castable, copy_into
from ..tensor.placeholder import flags_of, has_places
from ..tensor.storage import address_of
from ..tensor.strides import innermost_first
from ..tensor.tensor import type_word

if TYPE_CHECKING:
    from .op import Op

_BLOCK_BYTES = 64  # what torch's copy reads before it writes, in a row without gaps (measured with 2.13 on x86)


def check_apart(out: np.ndarray) -> None:
    """Raise RuntimeError where `out` is an expanded tensor, whose elements share places."""
    if is_expanded(out):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def is_expanded(a: np.ndarray) -> bool:
    """Whether an array repeats elements along a dimension, as `expand` makes it."""
    return (
        0 in a.strides
        and a.size > 0
        and any(not stride and n > 1 for stride, n in zip(a.strides, a.shape, strict=True))
    )


def shares_places(a: Any) -> bool:
    """Whether two elements of `a` may be at one place in memory: those of an array that is expanded, or shows windows.

    The dimensions of all others can be ordered so that each steps over what those before it cover.
    """
    if not has_places(a) or flags_of(a).forc or not a.size:
        return False
    strides, shape = a.strides, a.shape
    if len(shape) == 2 and strides[0] >= strides[1] * shape[1] and strides[1] > 0:
        return False  # rows of a matrix with gaps, the usual case
    return _shares_places(shape, strides, a.itemsize)


@functools.lru_cache(1024)
def _shares_places(shape: tuple[int, ...], strides: tuple[int, ...], reach: int) -> bool:
    """`shares_places` of a shape; reach: the bytes of an element."""
    for stride, n in sorted((abs(stride), n) for stride, n in zip(strides, shape, strict=True) if n != 1):
        if stride < reach:
            return True
        reach = stride * (n - 1) + reach
    return False


def is_read_again(out: np.ndarray, x: np.ndarray) -> bool:
    """Whether `out` is written over parts of `x` that other elements of it depend on.

    Raises RuntimeError where both are dense and overlap in part, as torch does.
    """
    out, x = outline_of(out), outline_of(x)
    if not np.may_share_memory(out, x) or not out.size:
        return False
    same_bounds = byte_bounds(out) == byte_bounds(x)
    same = same_bounds and out.shape == x.shape and _strides(out) == _strides(x)
    if not same and _is_dense(out) and _is_dense(x):
        raise _overlapping()
    return not same and share_elements(out, x)


def check_disjoint(out: np.ndarray, x: np.ndarray) -> None:
    """Raise RuntimeError where torch sees that `x` is in the memory that is written: both are dense, or one and the same."""
    if type(out) is not np.ndarray or type(x) is not np.ndarray:
        out, x = outline_of(out), outline_of(x)
    if out is x or (
        isinstance(x, np.ndarray) and np.may_share_memory(out, x) and x.size and _is_dense(out) and _is_dense(x)
    ):
        raise _overlapping()


def _overlapping() -> RuntimeError:
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation."
    )


def is_overlapping(out: Any, x: Any) -> bool:
    """Whether arrays have elements in common."""
    out, x = outline_of(out), outline_of(x)
    return np.may_share_memory(out, x) and bool(out.size) and bool(x.size) and share_elements(out, x)


def share_elements(out: np.ndarray, x: np.ndarray) -> bool:
    """Whether they have an element in common; True where that takes too long to find out."""
    try:
        return np.shares_memory(out, x, max_work=10_000)  # pyright: ignore[reportArgumentType]: NumPy has any number
    except np.exceptions.TooHardError:
        return True


def _strides(a: np.ndarray) -> list[int]:
    return [stride for stride, n in zip(a.strides, a.shape, strict=True) if n != 1]


def _is_dense(a: np.ndarray) -> bool:
    expected = a.itemsize
    for stride, n in sorted((stride, n) for stride, n in zip(a.strides, a.shape, strict=True) if n != 1):
        if stride != expected:
            return False
        expected *= n
    return True


def write_in_order(function: Callable, out: np.ndarray, *sources: Any, block: int = 1) -> None:
    """`out[...] = function(*sources)`, element after element in the order in which torch goes through them.

    block: how many elements of a row are read before those of them are written.
    """
    if isinstance(out, Buffer):
        return out.backend.apply(write_in_order, (function, out, *sources), {"block": block})
    with np.errstate(all="ignore"):
        _in_order(function, block, *_rows([out, *(np.broadcast_to(x, out.shape) for x in sources)]))


# operators of one tensor that torch computes a part of a row at a time, in a buffer (measured with 2.13)
_BUFFERED = frozenset({
    "acos", "asin", "atan", "ceil", "cos", "erf", "erfc", "erfinv", "exp", "expm1", "floor", "i0", "lgamma", "log", "log10",
    "log1p", "log2", "round", "sin", "sqrt", "tan", "tanh", "trunc",
})  # fmt: skip
_BUFFER_BYTES = 8192


# operators of single elements that are no rows of the table of unary and binary ones
_BY_ELEMENT = frozenset({
    "add.scaled", "addcdiv", "addcmul", "celu", "clamp", "clamp.tensor", "clamp_max", "clamp_min", "elu", "gelu", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "heaviside", "leaky_relu", "lerp.scalar", "lerp.tensor", "logit", "masked_fill",
    "mish", "nan_to_num", "polygamma", "prelu_kernel", "pow.scalar", "pow.tensor", "round", "silu", "softplus", "softshrink", "sub.scaled", "threshold",
})  # fmt: skip


def is_by_element(record: Op) -> bool:
    """Whether an operator's results depend on one element of each input."""
    return record.kind != "general" or record.name in _BY_ELEMENT


def out_of_order(name: str) -> NotImplementedError:
    """The error of an operator whose order of reading and writing is not followed here."""
    return NotImplementedError(
        f"{name}() into a tensor whose elements share memory with each other or with another input: clone() it first"
    )


def store(out: np.ndarray, a: Any) -> None:
    """`out[...] = a`, cast; where elements of `out` share places, the last in torch's order stays."""
    if isinstance(out, np.ndarray) and shares_places(out):
        write_in_order(np.asarray, out, castable(as_array(a), out.dtype))
    else:
        copy_into(out, a)


_SIZED_BY_RESULT = ("addmm", "addmv", "baddbmm")  # torch's kernels that check the memory and not the broadcast


def check_stored(target: np.ndarray, r: np.ndarray, name: str) -> None:
    """Raise RuntimeError where a result has another shape or a type that cannot be cast to that of `target`."""
    if r.shape != target.shape:
        if name in _SIZED_BY_RESULT:
            sizes = f"input tensor size {list(target.shape)} and output tensor size {list(r.shape)}"
            raise RuntimeError(f"Bad in-place call: {sizes} should match")
        check_broadcast(target.shape, r.shape)
    if r.dtype is not target.dtype:
        result, to = dtypes.from_numpy(r.dtype), dtypes.from_numpy(target.dtype)
        of_bools = result is dtypes.int8 and name.startswith("pow")  # NumPy's power of booleans
        if not dtypes.can_cast(result, to) and not of_bools:
            raise RuntimeError(
                f"result type {type_word(result)} can't be cast to the desired output type {type_word(to)}"
            )


def check_broadcast(shape: tuple[int, ...], result: tuple[int, ...]) -> None:
    """Raise RuntimeError where a result of this shape does not fit into a tensor's."""
    if np.broadcast_shapes(result, shape) != shape:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(result)}")


def by_element(record: Op, target: np.ndarray, arrays: list, compute: Callable) -> None:
    """`target[...] = compute(arrays)` of a function of single elements, in torch's order; numbers stay as they are."""
    given = [i for i, a in enumerate(arrays) if isinstance(a, np.ndarray)]

    def part(*blocks: np.ndarray) -> Any:
        whole = list(arrays)
        for i, block in zip(given, blocks, strict=True):
            whole[i] = block
        return castable(compute(whole), target.dtype)

    block = _BUFFER_BYTES // target.itemsize if record.name in _BUFFERED else 1
    write_in_order(part, target, *(arrays[i] for i in given), block=block)


def at_places(target: np.ndarray, arrays: list, find: Callable) -> None:
    """Write at named places of a tensor whose elements share memory, one after the other.

    find: from the place of each element and the arrays, the places written, the values, and the ufunc that joins each value
    with what is there, or None.
    """
    item = target.itemsize
    places = np.zeros((), np.int64)
    for n, stride in zip(target.shape, target.strides, strict=True):
        places = places[..., None] + np.arange(n, dtype=np.int64) * (stride // item)
    memory = as_strided(target, (int(places.max(initial=-1)) + 1,), (item,))
    where, values, join = find(places, arrays)
    values = np.broadcast_to(np.asarray(values, None if isinstance(values, np.ndarray) else target.dtype), where.shape)
    with np.errstate(all="ignore"):
        for i in np.ndindex(where.shape):  # values may be read from the memory itself
            k = where[i]
            memory[k] = values[i] if join is None else join(memory[k], values[i])


def _rows(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The arrays with the dimensions in the order of torch's iteration, those that continue each other joined."""
    order = innermost_first(arrays[0].shape, [a.strides for a in arrays])[::-1]
    shape, strides = [], []
    for dim in order:
        n, steps = arrays[0].shape[dim], [a.strides[dim] for a in arrays]
        if n == 1:
            continue
        if shape and all(before == n * step for before, step in zip(strides[-1], steps, strict=True)):
            shape[-1], strides[-1] = shape[-1] * n, steps
        else:
            shape.append(n)
            strides.append(steps)
    return [as_strided(a, shape, [steps[i] for steps in strides]) for i, a in enumerate(arrays)]


def _in_order(function: Callable, block: int, out: np.ndarray, *sources: np.ndarray) -> None:
    if not out.size:
        return
    if out.ndim > 1:
        if _in_any_order(out, sources):
            out[...] = function(*sources)
            return
        for i in range(len(out)):
            _in_order(function, block, out[i], *(x[i] for x in sources))
        return
    if out.ndim == 0 or not any(_reads_from(out, x) for x in sources):
        out[...] = function(*sources)
        return
    step = max(block, _BLOCK_BYTES // out.itemsize if _is_vectorized(out, sources) else 1)
    whole = len(out) - len(out) % step
    rest = block if block > 1 else 1
    for i in (*range(0, whole, step), *range(whole, len(out), rest)):
        part = slice(i, i + (step if i < whole else rest))
        out[part] = function(*(x[part] for x in sources))


def _is_vectorized(out: np.ndarray, sources: tuple[np.ndarray, ...]) -> bool:
    """Whether torch reads a block of a row before it writes: rows without gaps, of which one may be a single value."""
    gaps = [x for x in (out, *sources) if x.strides[0] != x.itemsize]
    return not gaps or (len(gaps) == 1 and gaps[0] is not out and not gaps[0].strides[0])


def _in_any_order(out: np.ndarray, sources: tuple[np.ndarray, ...]) -> bool:
    return not shares_places(out) and not any(_reads_from(out, x) for x in sources)


def _reads_from(out: np.ndarray, x: np.ndarray) -> bool:
    """Whether `x` has elements of `out` at other positions than their own."""
    same = out.strides == x.strides and address_of(out) == address_of(x)
    return not same and np.may_share_memory(out, x)
