"""Arguments that functions which make tensors share: dtype, device, layout, memory_format; and a tensor of an array."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...core.device import devices
from ...core.device.backend import Backend, run_on
from ...core.device.buffer import Buffer, outline_of
from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import thread
from ...core.dispatch.op import OPS
from ...core.dispatch.scalars import type_name
from ...core.tensor import dtype as dtypes
from ...core.tensor.channels_last import CHANNELS_LAST, dense_rows
from ...core.tensor.layout import memory_format as MemoryFormat
from ...core.tensor.layout import strided
from ...core.tensor.storage import storage_of
from ...core.tensor.tensor import Tensor, constant


def fresh(array: Any, requires_grad: bool = False, where: Backend | None = None) -> Tensor:
    """A tensor on `array`, an inference tensor in inference mode; where: the device to copy it to first."""
    t = constant(array if where is None else where.from_host(array))
    if thread.state.inference:
        storage_of(t).inference = True
    return t if requires_grad is False else requiring_grad(t, requires_grad)


def requiring_grad(t: Tensor, requires_grad: Any = True) -> Tensor:
    """A new tensor, which requires grad if the option says so. Raises TypeError where that is neither a bool nor None."""
    if requires_grad is not True:
        if requires_grad is None:
            return t
        raise type_error(f"{_caller()}argument 'requires_grad' must be bool, not {type_name(requires_grad)}")
    if not (t.is_floating_point() or t.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t.requires_grad_()


def backend_for(device: Any) -> Backend | None:
    """The backend of a `device` argument, or for None of the device of new tensors; None for the CPU."""
    return named_backend(device) if device is not None or devices.redirected else None


def backend_like(t: Tensor, device: Any = None) -> Backend | None:
    """The backend of a `device` argument, or for None that of the tensor; None for the CPU."""
    if device is None:
        return t._array.backend if isinstance(t._array, Buffer) else None
    return named_backend(device)


def named_backend(device: Any) -> Backend | None:
    """The backend of a `device` argument. The TypeError of what is none names the function that was called."""
    try:
        return devices.backend(device)
    except TypeError:
        wrong = f"{_caller()}argument 'device' must be torch.device, not {type_name(device)}"
    raise type_error(wrong)


def numpy_type(dtype: Any, default: dtypes.dtype) -> np.dtype:
    """NumPy's type for a user's `dtype` argument, that of `default` for None. TypeError for anything else."""
    if dtype is None:
        return default.numpy
    kind = dtypes.of_argument(dtype)
    if isinstance(kind, dtypes.dtype):
        return kind.numpy
    raise type_error(f"{_caller()}argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")


def _caller() -> str:
    """The operator that was called, as messages begin with: "ones(): "."""
    frame = sys._getframe(2)
    while frame is not None:
        for name in (frame.f_code.co_name, frame.f_locals.get("name")):  # functions made in a loop know their name
            if isinstance(name, str) and (name in OPS or name in vars(Tensor)):
                return f"{name}(): "
        frame = frame.f_back
    return ""


def check_options(layout: Any, pin_memory: Any) -> None:
    """Raise for what no tensor here can have: sparse storage and page-locked memory."""
    if layout is not None and layout is not strided:
        if type(layout) is not type(strided):
            raise type_error(f"argument 'layout' must be torch.layout, not {type(layout).__name__}")
        raise NotImplementedError(f"layout={layout!r} is not implemented; use torch.strided")
    if pin_memory is not False and pin_memory is not None:
        if pin_memory is not True:
            raise type_error(f"{_caller()}argument 'pin_memory' must be bool, not {type_name(pin_memory)}")
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory is available"
        )


def format_name(memory_format: Any, default: str = "preserve_format") -> str:
    """The name of a user's `memory_format` argument, `default` for None. TypeError for anything else."""
    if memory_format is None:
        return default
    if not isinstance(memory_format, MemoryFormat):
        raise type_error(f"argument 'memory_format' must be torch.memory_format, not {type(memory_format).__name__}")
    return memory_format.name


def check_rank(ndim: int, name: str) -> None:
    """Raise where a tensor with `ndim` dimensions cannot have the memory format `name`."""
    if name in CHANNELS_LAST and ndim != len(CHANNELS_LAST[name][0]):
        raise RuntimeError(f"required rank {len(CHANNELS_LAST[name][0])} tensor to use {name} format")


def arranged(a: np.ndarray, memory_format: Any) -> np.ndarray:
    """The elements of `a`, copied where they are not stored as `memory_format` says."""
    name = format_name(memory_format)
    if name == "preserve_format":
        return a
    if isinstance(a, Buffer):
        return a.backend.apply(arranged, (a, memory_format), {})
    check_rank(a.ndim, name)
    if name in CHANNELS_LAST:
        order, back = CHANNELS_LAST[name]
        return dense_rows(a.transpose(order)).transpose(back)
    return np.asarray(a, order="C")


def made_like(make: Any, a: Any, kind: Any, device: Any) -> Any:
    """`make(a, kind)` on the device of `a`, or on the one that is asked for."""
    own = a.backend if isinstance(a, Buffer) else None
    where = own if device is None else named_backend(device)
    if where is own:
        return run_on(own, make, a, kind)
    return run_on(where, make, outline_of(a), dtypes.from_numpy(a.dtype if kind is None else kind).numpy)
