"""`assert_close`: compare tensors, numbers and containers of them, and say by how much they differ."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..core.tensor import dtype as dtypes
from ..core.tensor.tensor import Tensor, wrap

if TYPE_CHECKING:
    from ..core.types import Array


__all__ = ["assert_allclose", "assert_close"]

_TOLERANCES = {  # element type: (rtol, atol)
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (0.016, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}
_NUMBER_TYPES: dict[type, dtypes.dtype] = {int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}


class _Mismatch(Exception):
    """One difference: the error to raise, its text, and where in the containers it is."""

    def __init__(self, kind: type[Exception], text: str, place: tuple = ()):
        super().__init__(text)
        self.kind, self.text, self.place = kind, text, place

    def error(self, msg: Any) -> Exception:
        text = self.text
        if self.place:
            text += f"\n\nThe failure occurred for item {''.join(str([i]) for i in self.place)}"
        return self.kind(msg if isinstance(msg, str) else msg(text) if callable(msg) else text)


class _Options:
    """How to compare."""

    def __init__(self, rtol, atol, equal_nan, allow_subclasses, device, dtype, layout, stride):
        self.rtol, self.atol, self.equal_nan = rtol, atol, equal_nan
        self.allow_subclasses = allow_subclasses
        self.check_device, self.check_dtype, self.check_layout, self.check_stride = device, dtype, layout, stride

    def check_tolerances(self, place: tuple) -> None:
        """Raise unless both tolerances were given, or none."""
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            text = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
            raise _Mismatch(ValueError, text, place)

    def tolerances(self, *kinds: dtypes.dtype) -> tuple[float, float]:
        """(rtol, atol): the given ones, or the loosest of the element types'."""
        if self.rtol is not None:
            return self.rtol, self.atol
        pairs = [_TOLERANCES.get(k, (0.0, 0.0)) for k in kinds]
        return max(r for r, _ in pairs), max(a for _, a in pairs)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol |expected| for every element.

    actual, expected: tensors, numbers, arrays, None, or sequences and mappings of them, compared item by item.
    rtol, atol: both or none; by default they follow from the element types (float32: 1.3e-6 and 1e-5, float64: 1e-7
    and 1e-7, float16: 1e-3 and 1e-5, bfloat16: 0.016 and 1e-5, integers and bool: 0).
    msg: a text, or a function of the generated text, for the error.
    Raises TypeError for values that cannot be compared.
    >>> assert_close(ones(2), ones(2) + 1e-7)
    """
    __tracebackhide__ = True
    options = _Options(rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_layout, check_stride)
    try:
        pairs = list(_pairs(actual, expected, (), options))
    except _Mismatch as mismatch:
        raise mismatch.error(None) from None
    for compare, a, b, place in pairs:
        try:
            compare(a, b, options)
        except _Mismatch as mismatch:
            mismatch.place = place
            raise mismatch.error(msg) from None


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: `assert_close` with looser tolerances that ignores element types."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
        "`torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, Tensor):
        actual = ops.tensor(actual)
    if not isinstance(expected, Tensor):
        expected = ops.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        loose = {dtypes.float16: (1e-3, 1e-3), dtypes.float32: (1e-4, 1e-5), dtypes.float64: (1e-5, 1e-8)}
        pairs = [loose.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(r for r, _ in pairs), max(a for _, a in pairs)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


# ---------------------------------------------------------------------------------------------- what is compared how


def _pairs(actual: Any, expected: Any, place: tuple, options: _Options) -> Iterator[tuple]:
    """(comparison, actual, expected, place in the containers) for every item."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _Mismatch(
                AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", place
            )
        for i in range(len(actual)):
            yield from _pairs(actual[i], expected[i], (*place, i), options)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        for key in _common_keys(set(actual), set(expected), place):
            yield from _pairs(actual[key], expected[key], (*place, key), options)
    else:
        yield (*_leaf_pair(actual, expected, place, options), place)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _common_keys(actual: set, expected: set, place: tuple) -> Any:
    if actual != expected:
        raise _Mismatch(
            AssertionError,
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(expected - actual)}\n"
            f"Additional keys in the actual mapping: {sorted(actual - expected)}",
            place,
        )
    try:
        return sorted(actual)
    except Exception:  # keys without an order
        return actual


def _leaf_pair(actual: Any, expected: Any, place: tuple, options: _Options) -> tuple:
    """(comparison, actual, expected) of two single values, converted to what the comparison takes."""
    if actual is None or expected is None:
        return _compare_none, actual, expected
    both = (actual, expected)
    if all(isinstance(v, (bool, np.bool_)) for v in both):
        return _compare_bools, bool(actual), bool(expected)
    if all(isinstance(v, (int, float, complex, np.number)) for v in both):
        options.check_tolerances(place)
        return _compare_numbers, *[v.item() if isinstance(v, np.number) else v for v in both]
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and (options.allow_subclasses or type(actual) is type(expected)):
        try:
            tensors = [v if isinstance(v, Tensor) else ops.as_tensor(v) for v in both]
        except Exception:  # no tensor: refused below, with torch's message
            pass
        else:
            options.check_tolerances(place)
            return _compare_tensors, *tensors
    raise _Mismatch(
        TypeError,
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
        place,
    )


# ---------------------------------------------------------------------------------------------- the comparisons


def _compare_none(actual: Any, expected: Any, options: _Options) -> None:
    if actual is not expected:
        raise _Mismatch(AssertionError, f"None mismatch: {actual} is not {expected}")


def _compare_bools(actual: bool, expected: bool, options: _Options) -> None:
    if actual is not expected:
        raise _Mismatch(AssertionError, f"Booleans mismatch: {actual} is not {expected}")


def _compare_numbers(actual: Any, expected: Any, options: _Options) -> None:
    rtol, atol = options.tolerances(*[_NUMBER_TYPES.get(type(v), dtypes.int64) for v in (actual, expected)])
    if options.check_dtype and type(actual) is not type(expected):
        raise _Mismatch(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    if actual == expected or (options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    difference = abs(actual - expected)
    if not (cmath.isfinite(difference) and difference <= atol + rtol * abs(expected)):
        raise _Mismatch(AssertionError, _scalar_text(actual, expected, rtol, atol))


def _compare_tensors(actual: Tensor, expected: Tensor, options: _Options) -> None:
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    for name, wanted in (
        ("shape", True),
        ("layout", options.check_layout),
        ("stride()", options.check_stride),
        ("device", options.check_device),
        ("dtype", options.check_dtype),
    ):
        a, b = (t.stride() if name == "stride()" else getattr(t, name, None) for t in (actual, expected))
        if wanted and a != b:
            raise _Mismatch(AssertionError, f"The values for attribute '{name}' do not match: {a} != {b}.")
    if actual.dtype is not expected.dtype:
        common = dtypes.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)  # type: ignore[attr-defined]
    matches = ops.isclose(wrap(actual._array), wrap(expected._array), rtol, atol, options.equal_nan)._array
    if matches.all():
        return
    if not actual.ndim:
        raise _Mismatch(AssertionError, _scalar_text(actual.item(), expected.item(), rtol, atol))
    raise _Mismatch(AssertionError, _tensor_text(actual._array, expected._array, matches, rtol, atol))


# ---------------------------------------------------------------------------------------------- texts


def _scalar_text(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    header = f"Expected {expected} but got {actual}."
    return _text("Scalars", header, (absolute, None, atol), (relative, None, rtol))


def _tensor_text(actual: Array, expected: Array, matches: np.ndarray, rtol: float, atol: float) -> str:
    wrong, total = int(matches.size - matches.sum()), matches.size
    if actual.dtype.kind in "biu":
        actual, expected = actual.astype(np.int64), expected.astype(np.int64)
    with np.errstate(all="ignore"):
        absolute = np.where(matches, actual.real.dtype.type(0), np.abs(actual - expected))
        relative = np.where(matches, _float(absolute) * 0, _float(absolute) / _float(np.abs(expected)))
    header = f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"
    return _text("Tensor-likes", header, (*_greatest(absolute), atol), (*_greatest(relative), rtol))


def _float(a: np.ndarray) -> np.ndarray:
    """Integers divide into the default float type."""
    return a.astype(np.float32) if a.dtype.kind in "iu" else a


def _greatest(a: np.ndarray) -> tuple[Any, tuple[int, ...]]:
    """The greatest value (the first NaN counts as that) and its index."""
    index = np.unravel_index(int(np.argmax(a)), a.shape)
    value = a[index]
    return value.item() if isinstance(value.item(), (int, float)) else float(value), tuple(int(i) for i in index)


def _text(subject: str, header: str, absolute: tuple, relative: tuple) -> str:
    equality = absolute[2] == 0 and relative[2] == 0
    lines = [f"{subject} are not {'equal' if equality else 'close'}!\n", header]
    for name, (value, index, limit) in (("absolute", absolute), ("relative", relative)):
        line = (
            f"{name.title()} difference: {value}"
            if index is None
            else f"Greatest {name} difference: {value} at index {index}"
        )
        lines.append(line if equality else f"{line} (up to {limit} allowed)")
    return "\n".join(lines)
