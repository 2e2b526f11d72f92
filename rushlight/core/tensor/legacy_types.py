"""The old tensor types: `FloatTensor`, `LongTensor`, ..., their constructors, and `tensor.type()`.

A class of this kind has no instances of its own: calling it makes a plain tensor, and `isinstance` asks for the element
type and the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..device.backend import run_on
from ..device.devices import device
from ..dispatch.op import OPS, composite
from ..dispatch.scalars import check_flag
from ..warn import warn
from . import dtype as dtypes
from .size import Size
from .tensor import Tensor, constant, type_word


class tensortype(type):
    """The class of the old tensor types."""

    dtype: dtypes.dtype
    is_cuda: bool

    def __new__(cls, kind: dtypes.dtype, module: str):
        name = type_word(kind) + "Tensor"
        return super().__new__(cls, name, (), {"dtype": kind, "is_cuda": module == "torch.cuda", "__module__": module})

    def __init__(cls, kind: dtypes.dtype, module: str):
        super().__init__(cls.__name__, (), {})

    def __call__(cls, *args: Any, **keywords: Any) -> Tensor:
        if cls.is_cuda:
            raise TypeError(_no_cuda(_full_name(cls)))
        return construct(cls.dtype, args, **keywords)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype and value.is_cuda is cls.is_cuda

    def __getattr__(cls, name: str) -> Any:
        """A tensor's methods, as functions: `FloatTensor.add(a, b)`."""
        try:
            return getattr(Tensor, name)
        except AttributeError:
            raise AttributeError(f"type object '{_full_name(cls)}' has no attribute '{name}'") from None


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


def _no_cuda(name: str) -> str:
    return (
        f"type {name} not available. Torch not compiled with CUDA enabled: there is no CUDA device here. Use "
        f"{name.replace('cuda.', '')}, or ask torch.cuda.is_available() first."
    )


_KINDS = (
    dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.uint8, dtypes.int8, dtypes.int16,
    dtypes.int32, dtypes.int64, dtypes.bool_,
)  # fmt: skip
CPU_TYPES = tuple(tensortype(d, "torch") for d in _KINDS)
CUDA_TYPES = tuple(tensortype(d, "torch.cuda") for d in _KINDS)
(
    FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor,
    BoolTensor,
) = CPU_TYPES  # fmt: skip
_BY_NAME = {_full_name(t): t for t in (*CPU_TYPES, *CUDA_TYPES)}


# ---------------------------------------------------------------------------------------------- construction


def construct(
    kind: dtypes.dtype, args: tuple[Any, ...], *, size: Any = None, device: Any = None, convert: bool = False
) -> Tensor:
    """What the old constructors make of their arguments, for element type `kind`.

    `(2, 3)` and `(Size([2, 3]))` give that shape, of undefined values; `([2, 3])` gives those values; `(tensor)` an
    alias of a tensor that has the type already (of any tensor with convert=True: `Tensor(other)`).
    """
    _check_device(device)
    if size is not None:
        args = (Size(size),)
    if len(args) == 1 and isinstance(args[0], Tensor):
        return _alias_of(args[0], kind, convert)
    if not args:
        return constant(np.zeros(0, kind.numpy))
    if len(args) == 1 and isinstance(args[0], Size):
        return _of_shape(args[0], kind)
    if _is_size(args[0]):
        return _of_shape(args, kind)
    if len(args) == 1:
        return _of_values(args[0], kind)
    raise TypeError(
        f"new() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)}), but "
        "expected sizes (ints), one sequence of values or one tensor"
    )


def _check_device(where: Any) -> None:
    kind = "cpu" if where is None else device(where).type
    if kind != "cpu":
        raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {kind} was passed")


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _alias_of(other: Tensor, kind: dtypes.dtype, convert: bool) -> Tensor:
    if not convert and other.dtype is not kind:
        raise TypeError(
            f"expected TensorOptions(dtype={dtypes.c_word(kind)}, device=cpu, layout=Strided) (got "
            f"TensorOptions(dtype={dtypes.c_word(other.dtype)}, device=cpu, layout=Strided)). Convert with "
            f"tensor.to({kind!r}) instead."
        )
    return other.as_subclass(Tensor)


def _of_shape(shape: tuple[Any, ...], kind: dtypes.dtype) -> Tensor:
    sizes = []
    for position, n in enumerate(shape, 1):
        if not hasattr(type(n), "__index__") or (isinstance(n, Tensor) and (n.ndim or n.is_floating_point())):
            raise TypeError(
                f"new(): argument 'size' failed to unpack the object at pos {position} with error \"type must be "
                f'tuple of ints,but got {type(n).__name__}"'
            )
        sizes.append(n.__index__())
    if any(n < 0 for n in sizes):
        wrong = next(n for n in sizes if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {wrong}: {sizes}")
    return constant(run_on(None, np.zeros, sizes, kind.numpy))


def _of_values(data: Any, kind: dtypes.dtype) -> Tensor:
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    is_sequence = hasattr(data, "__len__") and hasattr(data, "__getitem__")
    if not is_sequence or isinstance(data, (np.generic, dict)):
        raise TypeError(f"new(): data must be a sequence (got {_qualified(type(data))})")
    make = OPS["as_tensor"] if isinstance(data, np.ndarray) else OPS["tensor"]  # an array's memory is shared
    return make(data, dtype=kind, device="cpu")  # type: ignore[operator]


def _qualified(cls: type) -> str:
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


# ---------------------------------------------------------------------------------------------- tensor.type()


@composite(name="type", method=True, function=False)
def tensor_type(self: Tensor, dtype: Any = None, non_blocking: bool = False, **old: Any) -> Any:
    """The old name of the tensor's type, 'torch.FloatTensor'; or, with `dtype`, the tensor as that type.

    dtype: a dtype, an old tensor type or its name. non_blocking (once `async`): nothing to do on one device.
    """
    if set(old) - {"async"}:
        raise TypeError(f"type() got an unexpected keyword argument '{next(iter(old))}'")
    check_flag("type", "non_blocking", old.get("async", non_blocking), 2)
    if dtype is None:
        return f"torch.{'' if self.is_cpu else self.device.type + '.'}{type_word(self.dtype)}Tensor"
    return self.to(_wanted(dtype))  # type: ignore[attr-defined]


def _wanted(kind: Any) -> dtypes.dtype:
    if isinstance(kind, dtypes.dtype):
        return kind
    if kind is Tensor or kind == "torch.Tensor":
        return dtypes.get_default_dtype()
    if not isinstance(kind, (str, type)):
        raise TypeError("dtype must be a type, str, or dtype object")
    found = _BY_NAME.get(kind) if isinstance(kind, str) else kind
    if not isinstance(found, tensortype):
        name = kind if isinstance(kind, str) else _qualified(kind)
        raise ValueError(f"invalid type: '{name}'")
    if found.is_cuda:
        raise RuntimeError(_no_cuda(_full_name(found)))
    return found.dtype


@composite(method=True)
def get_device(input: Tensor) -> int:
    """The index of the tensor's device; -1 for the CPU and for devices without one.

    Shape: (*) -> int

    >>> get_device(ones(2))
    -1
    """
    index = input.device.index
    return -1 if index is None else index


# ---------------------------------------------------------------------------------------------- names and defaults


def typename(obj: Any, /) -> str:
    """The name of an object's class with its module; of a tensor, the old type's: 'torch.FloatTensor'."""
    if isinstance(obj, Tensor):
        return obj.type()  # type: ignore[attr-defined]
    if isinstance(obj, dtypes.dtype):
        return "torch.dtype"
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in (None, "builtins", "__builtin__") else f"{module}.{named.__qualname__}"


def set_default_tensor_type(t: Any, /) -> None:
    """Set the default floating type by an old tensor type or its name. Deprecated: use `set_default_dtype`."""
    warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
    )
    found = _BY_NAME.get(t) if isinstance(t, str) else t
    if not isinstance(found, tensortype):
        raise TypeError(f"invalid type object: only floating-point types are supported as the default type, got {t!r}")
    if found.is_cuda:
        raise TypeError(_no_cuda(_full_name(found)))
    if not found.dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {_full_name(found)}")
    dtypes.set_default_dtype(found.dtype)
