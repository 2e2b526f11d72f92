"""`torch._subclasses.fake_tensor`: tensors with a shape, a type, strides and a device, and no numbers.

A `FakeTensor` wraps a tensor of the meta device and says that it is elsewhere. Its operators run on the meta device; what
needs numbers raises.
"""

from __future__ import annotations

from typing import Any

from ...core.device.by_item import NumberByItem
from ...core.device.devices import device as Device
from ...core.dispatch import torch_function
from ...core.dispatch.aten.operators import operator
from ...core.dispatch.aten.wrapper import own
from ...core.tensor.dtype import get_default_dtype
from ...core.tensor.placeholder import NoArray
from ...core.tensor.tensor import Tensor
from ...nn.parameter import Parameter
from ...utils._python_dispatch import TorchDispatchMode, _disable_current_modes, active_modes
from ...utils._pytree import tree_flatten, tree_map
from .._C import _disabled_torch_function_impl

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
]

_META = Device("meta")
_LIFT = operator("lift_fresh").default


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor cannot be made a fake one."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


class DynamicOutputShapeException(RuntimeError):
    """The shape of a result depends on numbers."""

    def __init__(self, func: Any):
        super().__init__(func)
        self.func = func


class DataDependentOutputException(RuntimeError):
    """A result is a number."""

    def __init__(self, func: Any):
        super().__init__(func)
        self.func = func


class _NoNumbers(DataDependentOutputException, NoArray):
    """The same below the operators, for whose callers it is that there is no array."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """The arguments of an operator are on two devices."""


_NUMBERS = ("_local_scalar_dense", "item", "equal", "allclose", "is_nonzero")
_SHAPES = (
    "nonzero",
    "_unique2",
    "unique2",
    "unique",
    "unique_dim",
    "unique_consecutive",
    "masked_select",
    "repeat_interleave",
    "bincount",
)


class FakeTensor(NumberByItem, Tensor):
    """What `FakeTensorMode` makes. fake_mode: the mode; fake_device: where it says that it is."""

    __torch_function__ = staticmethod(_disabled_torch_function_impl)  # type: ignore[assignment]
    fake_mode: FakeTensorMode
    fake_device: Device
    constant: Tensor | None

    @staticmethod
    def __new__(
        cls: type, fake_mode: FakeTensorMode, elem: Tensor, device: Any, constant: Tensor | None = None
    ) -> FakeTensor:
        options: dict[str, Any] = {"dtype": elem.dtype, "strides": elem.stride(), "device": device}
        return Tensor._make_wrapper_subclass(cls, elem.shape, storage_offset=elem.storage_offset(), **options)  # type: ignore[attr-defined]

    def __init__(self, fake_mode: FakeTensorMode, elem: Tensor, device: Any, constant: Tensor | None = None):
        where = Device(device)
        self.fake_mode, self.elem, self.constant = fake_mode, elem, constant
        self.fake_device = Device("cuda", 0) if where.type == "cuda" and where.index is None else where

    @property
    def device(self) -> Any:
        """Where the numbers would be."""
        return self.fake_device

    def tolist(self) -> Any:
        """Raises DataDependentOutputException, unless the numbers were written in the program."""
        return _constant(self, _overload("_local_scalar_dense")).tolist()

    def item(self) -> Any:
        """The same of the one number."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        known = _constant(self, _overload("_local_scalar_dense"))
        with _disable_current_modes(), torch_function.DisableTorchFunction():
            return known.item()

    def _drawn(self, *args: Any, **kwargs: Any) -> Any:
        """The same, whose numbers would now be random."""
        self.constant = None
        return self

    uniform_ = normal_ = bernoulli_ = random_ = exponential_ = cauchy_ = geometric_ = log_normal_ = _drawn

    @staticmethod
    def _no_elements(name: str) -> Exception:
        """The error of an operator that looks at numbers."""
        return _NoNumbers(name)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        parts = [f"size={tuple(self.shape)}"]
        if self.fake_device.type != "cpu":
            parts.insert(0, f"device='{self.fake_device}'")
        if self.dtype is not get_default_dtype():
            parts.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        return f"FakeTensor(..., {', '.join(parts)})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        """The operator on the meta device."""
        fake = next(t for t in tree_flatten((args, kwargs))[0] if isinstance(t, FakeTensor))
        return fake.fake_mode._run(func, args, kwargs or {})


class FakeTensorMode(TorchDispatchMode):
    """A context in which tensors have no numbers: models tell the shapes, types and devices of their results.

    allow_non_fake_inputs: whether other tensors may be arguments; they are taken for fake ones. allow_fallback_kernels,
    static_shapes: taken; operators always run on the meta device, and shapes are always numbers.

    Raises DataDependentOutputException where a number is asked for, DynamicOutputShapeException where numbers decide a
    shape, AssertionError for other tensors and for those of another mode.

    >>> from rushlight import nn, ones
    >>> with FakeTensorMode():
    ...     nn.Linear(3, 4)(ones(2, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ):
        if shape_env is not None or static_shapes is False:
            raise NotImplementedError("FakeTensorMode(shape_env=...): shapes that are symbols are not implemented")
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.static_shapes, self.shape_env, self.export = True, None, export
        self._makers: list[_Makers] = []

    def __enter__(self) -> FakeTensorMode:
        super().__enter__()
        self._makers.append(_Makers(self))
        torch_function.modes().append(self._makers[-1])
        return self

    def __exit__(self, *error: object) -> None:
        torch_function.modes().remove(self._makers.pop())
        super().__exit__(*error)

    def from_tensor(self, tensor: Tensor, *, static_shapes: bool | None = None, **options: Any) -> Any:
        """A fake tensor like `tensor`, which requires grad and is a Parameter where that is.

        Raises UnsupportedFakeTensorException for what has no strides, NotImplementedError for other options.
        """
        if options:
            raise NotImplementedError(f"from_tensor({next(iter(options))}=...) is not implemented")
        if isinstance(tensor, FakeTensor):
            return self._own(tensor)
        with _disable_current_modes(), torch_function.DisableTorchFunction():
            if tensor.is_sparse or tensor.is_nested:
                raise UnsupportedFakeTensorException("sparse and nested tensors have no fake ones")
            elem = tensor.detach().to(_META)
        made: Any = FakeTensor(self, elem, tensor.device)
        if isinstance(tensor, Parameter):
            return Parameter(made, requires_grad=tensor.requires_grad)
        return made.requires_grad_() if tensor.requires_grad else made

    def _own(self, fake: FakeTensor) -> FakeTensor:
        if fake.fake_mode is not self:
            raise AssertionError(f"Mixing fake modes NYI x.fake_mode={fake.fake_mode} vs self={self}")
        return fake

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        """The operator on the meta device; its history is kept by the class of fake tensors."""
        given: dict[str, Any] = kwargs or {}
        if not any(isinstance(t, Tensor) for t in tree_flatten((args, given))[0]):
            return self._made(func, args, given)
        if func is _LIFT:  # of `torch.tensor(...)`: its numbers are known
            made = self.from_tensor(args[0])
            made.constant = args[0].constant if isinstance(args[0], FakeTensor) else args[0]
            return made
        args, options = tree_map(lambda t: self._taken(func, t, args, given), (args, given))
        return func(*args, **options)

    def _taken(self, func: Any, t: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        t = own(t)  # what a gradient rule kept comes as a plain tensor
        if not isinstance(t, Tensor) or isinstance(t, FakeTensor):
            return self._own(t) if isinstance(t, FakeTensor) else t
        if not self.allow_non_fake_inputs and t.dim():  # one without dimensions may be a number of the call
            shown = ", ".join(_shown(a) for a in (*args, *kwargs.values()))
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                f"'allow_non_fake_inputs'. Found in {func}({shown})"
            )
        return self.from_tensor(t)

    def _made(self, func: Any, args: tuple, kwargs: dict[str, Any]) -> FakeTensor:
        """A tensor that a function makes of sizes."""
        where = kwargs.get("device") or "cpu"
        with torch_function.DisableTorchFunction():
            return FakeTensor(self, func(*args, **{**kwargs, "device": _META}), where)

    def _run(self, func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        fakes = [self._own(t) for t in tree_flatten((args, kwargs))[0] if isinstance(t, FakeTensor)]
        args, kwargs = tree_map(lambda t: self._taken(func, t, args, kwargs), (args, kwargs))
        name = func.overloadpacket.__name__
        if name in _NUMBERS:
            raise DataDependentOutputException(func)
        if name in _SHAPES or (name.startswith("index") and any(t.dtype.itemsize == 1 for t in fakes[1:])):
            raise DynamicOutputShapeException(func)
        given = args, kwargs
        where = kwargs.get("device") or _common_device(fakes)
        if "device" in kwargs:
            kwargs = {**kwargs, "device": _META}
        known = {id(t.elem): t for t in fakes}  # what is written into is the result itself

        def fake(t: Any) -> Any:
            if not isinstance(t, Tensor):
                return t
            return known[id(t)] if id(t) in known else FakeTensor(self, t, where)

        with _disable_current_modes(), torch_function.DisableTorchFunction():
            result = tree_map(fake, func(*tree_map(_bare, args), **tree_map(_bare, kwargs)))
            if isinstance(result, FakeTensor):
                are_known = fakes and all(t.constant is not None and t.constant.numel() == 1 for t in fakes)
                result.constant = (
                    func(*tree_map(_number, given[0]), **tree_map(_number, given[1])) if are_known else None
                )
            return result


class _Makers:
    """Sees calls that make tensors of what is no tensor, such as `tensor` and `from_numpy`: their results become fake."""

    def __init__(self, mode: FakeTensorMode):
        self.mode = mode

    def __torch_function__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        if self.mode not in active_modes() or type(result) is not Tensor:
            return result
        if any(isinstance(t, Tensor) for t in tree_flatten((args, kwargs or {}))[0]):
            return result
        made = self.mode.from_tensor(result)
        made.constant = result
        return made


def _bare(value: Any) -> Any:
    return value.elem if isinstance(value, FakeTensor) else value


def _number(value: Any) -> Any:
    return value.constant if isinstance(value, FakeTensor) else value


def _shown(value: Any) -> str:
    if isinstance(value, FakeTensor) or not isinstance(value, Tensor):
        return str(value)
    return f"tensor([...], size={tuple(value.shape)})"


def _common_device(fakes: list[FakeTensor]) -> Any:
    """Where the result of an operator is. A number's tensor goes along with others."""
    found: Any = None
    for t in sorted(fakes, key=lambda t: t.dim() == 0):
        if found is None:
            found = t.fake_device
        elif t.fake_device != found and t.dim():
            raise FakeTensorDeviceMismatchError(
                f"Expected all tensors to be on the same device, but found at least two devices, {found} and "
                f"{t.fake_device}!"
            )
    return found


def _constant(fake: FakeTensor, func: Any) -> Tensor:
    if fake.constant is None:
        raise DataDependentOutputException(func)
    return fake.constant


def _overload(name: str) -> Any:
    return operator(name).default
