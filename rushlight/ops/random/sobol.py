"""Sobol' sequences: the operators below `torch.quasirandom.SobolEngine`, with the direction numbers of Joe and Kuo (2008).

Point k of a dimension is the exclusive or of the direction numbers, 30 bits each, where the Gray code of k has a one. From
a point to the next changes one bit of the code, that of the lowest zero of k (Antonov and Saleev, 1979).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...core.dispatch.errors import argument_type
from ...core.dispatch.op import primitive
from ...core.tensor import dtype as dtypes
from ...core.tensor.dtype import type_word
from ...core.tensor.tensor import Tensor

BITS, DIMENSIONS, DEGREE = 30, 21201, 18
_FILE = Path(__file__).with_name("sobol_numbers.bin")
_CHUNK = 1 << 15  # numbers of a part that is computed in the processor's cache
_POINTS = (1 << BITS) - 1  # after so many steps no direction number is left


# ---------------------------------------------------------------------------------------------- direction numbers


@cache
def _tables() -> list[tuple[np.ndarray, np.ndarray]]:
    """By degree s: polynomials (n,) and their initial numbers (n, s), from a file of packed bits.

    It begins with a bit for each odd number below 2**19: whether it is one of the polynomials. Then come, by degree and
    column, the bits of the initial numbers between the lowest, which is one, and the highest that there can be.
    """
    packed = np.fromfile(_FILE, np.uint8)
    at = 1 << (DEGREE - 3)
    polynomials = 2 * np.flatnonzero(np.unpackbits(packed[:at])) + 1
    tables = []
    for degree in range(DEGREE + 1):
        own = polynomials[polynomials >> degree == 1]
        numbers = np.ones((len(own), degree), np.int64)
        for k in range(1, degree):
            size = (len(own) * k + 7) // 8
            bits = np.unpackbits(packed[at : at + size], count=len(own) * k).reshape(-1, k)
            numbers[:, k] += bits @ (1 << np.arange(k, 0, -1))
            at += size
        tables.append((own, numbers))
    return tables


def _direction_numbers(dimension: int) -> np.ndarray:
    """m of Sobol's recurrence, below 2**(column + 1). Shape: -> (dimension, 30)"""
    parts, left = [], dimension
    for degree, (polynomials, initial) in enumerate(_tables()):
        n = min(left, len(polynomials))
        parts.append(_continued(polynomials[:n], initial[:n], degree))
        left -= n
    return np.concatenate(parts)


def _continued(polynomials: np.ndarray, initial: np.ndarray, degree: int) -> np.ndarray:
    """All 30 numbers of dimensions from their first ones. Shape: (n), (n, degree) -> (n, 30)"""
    numbers = np.ones((len(polynomials), BITS), np.int64)  # of degree 0, the first dimension, all are 1
    numbers[:, :degree] = initial
    for j in range(degree, BITS) if degree else ():
        new = numbers[:, j - degree].copy()
        for k in range(1, degree + 1):
            new ^= (polynomials >> (degree - k) & 1) * numbers[:, j - k] << k
        numbers[:, j] = new
    return numbers


# ---------------------------------------------------------------------------------------------- arguments

_TENSORS = ("input", "quasi", "sobolstate", "ltm")


def _check(name: str, **given: Any) -> None:
    """Raise torch's errors for arguments of wrong types, which are given in torch's order."""
    for position, (argument, value) in enumerate(given.items(), 1):
        if argument in _TENSORS and not isinstance(value, Tensor):
            raise argument_type(name, argument, position, value)
        if argument not in _TENSORS and (isinstance(value, bool) or not hasattr(value, "__index__")):
            raise argument_type(name, argument, position, value, "int")


def _check_long(t: Tensor, argument: str) -> None:
    if t.dtype is not dtypes.int64:
        raise RuntimeError(f"{argument} needs to be of type Long")


def _check_size(name: str, t: Tensor, argument: str, shape: tuple[int, ...]) -> None:
    """Torch reads beyond the end of smaller tensors."""
    own = t._array.shape
    if len(own) != len(shape) or own[0] < shape[0] or own[1:] != shape[1:]:
        raise RuntimeError(f"{name}(): {argument} of shape {list(own)}, expected at least {list(shape)}")


def _check_steps(name: str, n: int, num_generated: int) -> None:
    """Torch reads beyond the direction numbers from here on."""
    if n > 0 and num_generated + n > _POINTS:
        raise RuntimeError(
            f"{name}(): the sequence has 2**{BITS} points, and {n} more after {num_generated + 1} are too many"
        )


def _check_state(name: str, n: int, quasi: Tensor, sobolstate: Tensor, dimension: int, num_generated: int) -> None:
    _check_long(sobolstate, "sobolstate")
    _check_long(quasi, "quasi")
    _check_size(name, quasi, "quasi", (dimension,))
    _check_size(name, sobolstate, "sobolstate", (dimension, BITS))
    _check_steps(name, n, num_generated)


# ---------------------------------------------------------------------------------------------- operators


@primitive(name="_sobol_engine_initialize_state", public=False, differentiable=False)
def _initialized(sobolstate, /, dimension):
    state = sobolstate.copy()
    state[:dimension] = _direction_numbers(dimension)
    state[0] = 1  # also with no dimension
    state <<= np.arange(BITS - 1, -1, -1)
    return state


def _sobol_engine_initialize_state_(input, dimension):
    """Write the direction numbers of the first dimensions into `input`, as integers below 2**30.

    Shape: (at least dimension, 30) int64 -> the same
    Raises:
        RuntimeError: `input` is not of int64, as in `_sobol_engine_initialize_state_(zeros(2, 30), 2)`.
        RuntimeError: there are no numbers for so many dimensions, or `input` has another shape, as in
            `_sobol_engine_initialize_state_(zeros(2, 30, dtype=int64), 3)`.

    >>> _sobol_engine_initialize_state_(zeros(2, 30, dtype=int64), 2)[:, :3] / 2**30
    tensor([[0.5000, 0.2500, 0.1250],
            [0.5000, 0.7500, 0.6250]])
    """
    name = "_sobol_engine_initialize_state_"
    _check(name, input=input, dimension=dimension)
    _check_long(input, "sobolstate")
    _check_size(name, input, "sobolstate", (max(dimension, 1), BITS))
    if dimension > DIMENSIONS:
        raise RuntimeError(f"{name}(): there are {DIMENSIONS} dimensions, not {dimension}")
    return input.copy_(_initialized(input, int(dimension)))


@primitive(name="_sobol_engine_draw", public=False, differentiable=False, outputs=2)
def _drawn(quasi, sobolstate, /, n, dimension, num_generated, dtype):
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}, {dimension}]")
    quasi, result = quasi.copy(), np.empty((n, dimension), dtype.numpy)
    point, columns = quasi[:dimension], sobolstate[:dimension].T
    rows = max(1, _CHUNK // max(dimension, 1))
    for first in range(0, n, rows):
        steps = columns[_changed_bits(num_generated + first, min(rows, n - first))]
        steps[0] ^= point
        np.bitwise_xor.accumulate(steps, axis=0, out=steps)
        point[:] = steps[-1]
        result[first : first + rows] = steps
    result *= dtype.numpy.type(0.5**BITS)
    return result, quasi


def _changed_bits(start: int, n: int) -> np.ndarray:
    """Which bit of the Gray code changes after each of the points start ... start + n - 1. Torch's is 0 below 0."""
    k = np.arange(start, start + n)
    return np.where(k < 0, 0, np.bitwise_count(k & ~(k + 1)))


def _sobol_engine_draw(quasi, n, sobolstate, dimension, num_generated, dtype):
    """The `n` points after `quasi`, which is point `num_generated`: (points, the last point as integers).

    Shape: (at least dimension), (at least dimension, 30) int64 -> (n, dimension), the shape of `quasi`
    Raises:
        RuntimeError: `quasi` or `sobolstate` is not of int64, as in
            `_sobol_engine_draw(zeros(2), 1, zeros(2, 30, dtype=int64), 2, 0, None)`.
        NotImplementedError: `dtype` is neither float32 nor float64, as in
            `_sobol_engine_draw(zeros(2, dtype=int64), 1, zeros(2, 30, dtype=int64), 2, 0, float16)`.

    >>> state = _sobol_engine_initialize_state_(zeros(2, 30, dtype=int64), 2)
    >>> _sobol_engine_draw(zeros(2, dtype=int64), 2, state, 2, 0, None)
    (tensor([[0.5000, 0.5000],
            [0.7500, 0.2500]]), tensor([805306368, 268435456]))
    """
    name = "_sobol_engine_draw"
    _check(name, quasi=quasi, n=n, sobolstate=sobolstate, dimension=dimension, num_generated=num_generated)
    dtype = dtypes.float32 if dtype is None else dtype
    if not isinstance(dtype, dtypes.dtype):
        raise argument_type(name, "dtype", 6, dtype, "torch.dtype")
    _check_state(name, n, quasi, sobolstate, dimension, num_generated)
    if dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_word(dtype)}'")
    return _drawn(quasi, sobolstate, int(n), int(dimension), int(num_generated), dtype)


@primitive(name="_sobol_engine_ff", public=False, differentiable=False)
def _forwarded(quasi, sobolstate, /, n, dimension, num_generated):
    quasi = quasi.copy()
    for bit in _gray_code_changes(num_generated, n):
        quasi[:dimension] ^= sobolstate[:dimension, bit]
    return quasi


def _gray_code_changes(start: int, n: int) -> list[int]:
    """The bits that change an odd number of times in `n` steps from point `start`."""
    below = min(max(-start, 0), max(n, 0))  # steps from points below 0, where torch's changed bit is 0
    first, last = max(start, 0), max(start + n, 0)
    changed = first ^ first >> 1 ^ last ^ last >> 1 if n > 0 else 0
    return [bit for bit in range(BITS) if (changed ^ below & 1) >> bit & 1]


def _sobol_engine_ff_(input, n, sobolstate, dimension, num_generated):
    """Move `input`, which is point `num_generated` as integers, forward by `n` points.

    Shape: (at least dimension), (at least dimension, 30) int64 -> the same
    Raises:
        RuntimeError: `input` or `sobolstate` is not of int64, as in
            `_sobol_engine_ff_(zeros(2), 1, zeros(2, 30, dtype=int64), 2, 0)`.

    >>> state = _sobol_engine_initialize_state_(zeros(2, 30, dtype=int64), 2)
    >>> _sobol_engine_ff_(zeros(2, dtype=int64), 2, state, 2, 0) / 2**30
    tensor([0.7500, 0.2500])
    """
    name = "_sobol_engine_ff_"
    _check(name, input=input, n=n, sobolstate=sobolstate, dimension=dimension, num_generated=num_generated)
    _check_state(name, n, input, sobolstate, dimension, num_generated)
    return input.copy_(_forwarded(input, sobolstate, int(n), int(dimension), int(num_generated)))


@primitive(name="_sobol_engine_scramble", public=False, differentiable=False)
def _scrambled(sobolstate, ltm, /, dimension):
    """Bit 29 - p of the result is the product of row p of the matrix and the vector of bits, modulo 2."""
    powers = 1 << np.arange(BITS - 1, -1, -1)
    rows = ltm @ powers + (1 - np.diagonal(ltm, axis1=1, axis2=2).astype(np.int64)) * powers
    state = sobolstate.copy()
    numbers, result = sobolstate[:dimension], state[:dimension]
    result[:] = 0
    for p in range(BITS):
        odd = np.bitwise_count(numbers & rows[:dimension, p : p + 1]) & 1
        result |= odd.astype(np.int64) << (BITS - 1 - p)
    return state


def _sobol_engine_scramble_(input, ltm, dimension):
    """Multiply the direction numbers in `input`, as vectors of bits, by lower triangular matrices of zeros and ones.

    Args:
        ltm: the matrices. Their diagonals count as ones.
    Shape: (at least dimension, 30) int64, (at least dimension, 30, 30) -> the first
    Raises:
        RuntimeError: `input` is not of int64, as in
            `_sobol_engine_scramble_(zeros(2, 30), zeros(2, 30, 30, dtype=int64), 2)`.

    >>> state = _sobol_engine_initialize_state_(zeros(1, 30, dtype=int64), 1)
    >>> _sobol_engine_scramble_(state, ones(1, 30, 30, dtype=int64).tril(), 1)[0, :3]
    tensor([1073741823,  536870911,  268435455])
    """
    name = "_sobol_engine_scramble_"
    _check(name, input=input, ltm=ltm, dimension=dimension)
    _check_long(input, "sobolstate")
    if ltm.is_floating_point() or ltm.is_complex():  # type: ignore[attr-defined]
        raise RuntimeError(f"expected scalar type Long but found {type_word(ltm.dtype)}")
    _check_size(name, input, "sobolstate", (dimension, BITS))
    _check_size(name, ltm, "ltm", (dimension, BITS, BITS))
    return input.copy_(_scrambled(input, ltm, int(dimension)))
