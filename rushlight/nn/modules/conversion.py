"""Moving a module tree's tensors to another dtype or device."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Self, overload

from rushlight import ops
from rushlight.core.device.devices import device as Device
from rushlight.core.dispatch.aten.wrapper import wrapped_by
from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor.dtype import dtype as DType
from rushlight.core.tensor.dtype import of_argument
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.parameter import Parameter
from rushlight.nn.swapping import swap_tensors

__all__ = ["Convertible", "conversion"]


class _Conversion:
    """How parameters are replaced where a module is converted: what `torch.__future__` sets."""

    overwrites = False  # new parameters take the places of the old ones
    swaps = False  # parameters stay the objects that they are and get another content by `swap_tensors`

    def set(self, *, overwrites: bool | None = None, swaps: bool | None = None) -> None:
        """Change what is given."""
        self.overwrites = self.overwrites if overwrites is None else overwrites
        self.swaps = self.swaps if swaps is None else swaps


conversion = _Conversion()


class Convertible:
    """The part of `Module` that converts parameters and buffers, in place: each method returns the module."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    children: Callable[[], Iterator[Any]]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Replace the memory of every parameter, gradient and buffer by what ``fn`` makes of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is not None:
                with no_grad():
                    self._replace(name, param, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _replace(self, name: str, param: Parameter, fn: Callable[[Tensor], Tensor]) -> None:
        converted, grad = fn(param), param.grad
        if conversion.swaps or (wrapped_by(converted) is not None and hasattr(converted, "__tensor_flatten__")):
            swap_content(f"{type(self).__name__}.{name}", param, converted, None if grad is None else fn(grad))
        elif conversion.overwrites:
            made = self._parameters[name] = Parameter(converted, param.requires_grad)
            if grad is not None:
                made.grad = fn(grad).requires_grad_(grad.requires_grad)
        else:
            if converted is not param:
                param.data = converted
            if grad is not None:
                _replace_memory(grad, fn)

    @overload
    def to(
        self, device: Any = ..., dtype: DType | None = ..., non_blocking: bool = ..., *, memory_format: Any = ...
    ) -> Self: ...
    @overload
    def to(self, dtype: DType, non_blocking: bool = ..., *, memory_format: Any = ...) -> Self: ...
    @overload
    def to(self, tensor: Tensor, non_blocking: bool = ..., *, memory_format: Any = ...) -> Self: ...
    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Convert floating-point parameters and buffers to a dtype, and everything to a device.

        ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype, non_blocking=False)`` or
        ``to(tensor, non_blocking=False)``, each with ``memory_format``. TypeError for an integer dtype.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None:
            _check_module_dtype(dtype)

        def convert(tensor: Tensor) -> Tensor:
            if tensor.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            if memory_format is not None and tensor.dim() in (4, 5):
                return tensor.to(device, wanted, non_blocking, memory_format=memory_format)
            return tensor.to(device, wanted, non_blocking)

        return self._apply(convert)

    def type(self, dst_type: Any) -> Any:
        """Convert every parameter and buffer, integers too, to the dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Any:
        """Convert floating-point parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Any:
        """Convert floating-point parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Any:
        """Convert floating-point parameters and buffers to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Any:
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def cpu(self) -> Any:
        """Move to main memory."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Any:
        """Move to a CUDA device; raises where there is none."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Move to a device without the values: the new memory is uninitialised."""
        return self._apply(lambda tensor: ops.empty_like(tensor, device=device), recurse=recurse)

    def share_memory(self) -> Any:
        """Move every tensor into memory that child processes share."""
        return self._apply(lambda tensor: tensor.share_memory_())


def swap_content(place: str, param: Tensor, value: Tensor, grad: Tensor | None = None) -> None:
    """Give a parameter or buffer the content of `value`, and a parameter this gradient. RuntimeError where that cannot be."""
    before, param.grad = param.grad, None
    try:
        new = value
        if isinstance(param, Parameter):
            if isinstance(new, Parameter):
                new.requires_grad_(param.requires_grad)
            else:
                new = Parameter(new, requires_grad=param.requires_grad)
        swap_tensors(param, new)
    except Exception as error:
        param.grad = before
        raise RuntimeError(f"_apply(): Couldn't swap {place}") from error
    if before is not None and grad is not None:
        param.grad = grad


def _replace_memory(tensor: Tensor, fn: Callable[[Tensor], Tensor]) -> None:
    converted = fn(tensor)
    if converted is not tensor:
        tensor.data = converted


def _check_module_dtype(dtype: DType) -> None:
    if not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
    if dtype.is_complex:
        warnings.warn(
            "Complex modules are a new feature under active development whose design may change, and some modules "
            "might not work as expected when using complex tensors as parameters or buffers.",
            stacklevel=3,
        )


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, DType | None, bool, Any]:
    """The arguments of the three forms of ``to`` as (device, dtype, non_blocking, memory_format)."""
    memory_format = kwargs.pop("memory_format", None)
    args, kwargs = tuple(map(of_argument, args)), {name: of_argument(value) for name, value in kwargs.items()}
    first = args[0] if args else None
    if isinstance(first, Tensor) or "tensor" in kwargs:
        given = _bind(("tensor", "non_blocking"), args, kwargs)
        return given["tensor"].device, given["tensor"].dtype, given.get("non_blocking", False), memory_format
    if isinstance(first, DType):
        given = _bind(("dtype", "non_blocking"), args, kwargs)
    else:
        given = _bind(("device", "dtype", "non_blocking"), args, kwargs)
    device, dtype = given.get("device"), given.get("dtype")
    if not (device is None or isinstance(device, (str, int, Device))) or not (
        dtype is None or isinstance(dtype, DType)
    ):
        raise _bad_to(args, kwargs)
    if isinstance(device, (str, int)):
        device = Device(device)
    return device, dtype, given.get("non_blocking", False), memory_format


def _bind(names: tuple[str, ...], args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names) or set(kwargs) & set(given) or not set(kwargs) <= {*names, "copy"}:
        raise _bad_to(args, kwargs)
    return {**given, **kwargs}


def _bad_to(args: tuple, kwargs: dict[str, Any]) -> TypeError:
    got = ", ".join([type(arg).__name__ for arg in args] + [f"{key}={type(v).__name__}" for key, v in kwargs.items()])
    return TypeError(
        f"to() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False)\n"
        " * (torch.dtype dtype, bool non_blocking = False)\n"
        " * (Tensor tensor, bool non_blocking = False)\n"
    )
