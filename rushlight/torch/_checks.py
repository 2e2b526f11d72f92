"""`torch._check` and its relatives: conditions that a program asserts, with the class of the error that torch raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dispatch.extension_points import tracer_of_programs
from ..core.tensor import dtype as dtypes
from ..core.tensor.tensor import Tensor

__all__ = [
    "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with",
    "_check_type", "_check_value", "_check_with",
]  # fmt: skip

_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement "
    "request to PyTorch.)"
)


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None) -> None:
    """Raise `error_type` with the text of `message()` unless `cond`, a bool, is true."""
    if not isinstance(cond, bool) and not _is_of_sizes(cond):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if issubclass(error_type, Warning) or not issubclass(error_type, Exception):
        raise TypeError(f"error_type must be an exception class, but got {error_type}")
    if message is None:
        raise error_type(_UNSAID)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _is_of_sizes(cond: Any) -> bool:
    """Whether a tracer runs for which sizes are tensors, and a condition was computed from sizes alone."""
    tracer = None if tracer_of_programs.value is None else tracer_of_programs.value()
    return isinstance(cond, Tensor) and tracer is not None and not tracer.is_of_data(cond)


def _check(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """RuntimeError unless `cond`.

    Raises:
        RuntimeError: the condition is false, as in `_check(False)`.
    """
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """IndexError unless `cond`."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """ValueError unless `cond`."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """TypeError unless `cond`."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """NotImplementedError unless `cond`."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Callable[[], Any] | None = None, *, max: int | None = None) -> None:
    """RuntimeError unless `i` is 0 or more, and at most `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise `error_type` unless all elements of a tensor of bools are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not dtypes.bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)  # type: ignore[attr-defined]


def _check_tensor_all(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """RuntimeError unless all elements of a tensor of bools are true."""
    _check_tensor_all_with(RuntimeError, cond, message)
