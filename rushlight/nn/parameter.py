"""Tensors that a module adopts when they are assigned to it: parameters and buffers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rushlight import ops
from rushlight.core.dispatch.extension_points import training_observer
from rushlight.core.dispatch.torch_function import disabled_impl
from rushlight.core.jit_switch import jit
from rushlight.core.tensor.layout import strided
from rushlight.core.tensor.pickling import as_torchs
from rushlight.core.tensor.placeholder import NoArray, Placeholder, operator_above
from rushlight.core.tensor.tensor import Tensor

if TYPE_CHECKING:
    from rushlight.core.dispatch.op import Op


__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class _FlaggedType(type(Tensor)):
    """Lets a tensor of another class count as an instance of the class through a flag it carries."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        flag = cls.__dict__.get("_flag")
        return flag is not None and isinstance(instance, Tensor) and getattr(instance, flag, False)


class Parameter(Tensor, metaclass=_FlaggedType):
    """A tensor that a `Module` registers as trainable when it is assigned as an attribute.

    `data`: any tensor; its memory is shared, its history is not. Default: an empty one.
    `requires_grad`: holds whether or not `no_grad` is active.

    Shape: a tensor (*) -> the same
    Raises:
        RuntimeError: `data` is of integers, as in `Parameter(tensor([1]))`.

    >>> Parameter(ops.zeros(2)).requires_grad
    True
    """

    _flag = "_is_param"
    __torch_function__: Any = staticmethod(disabled_impl)  # results are plain tensors

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = ops.empty(0)
        if not isinstance(requires_grad, bool):
            kind = type(requires_grad).__name__
            raise TypeError(f"_make_subclass(): argument 'require_grad' (position 3) must be bool, not {kind}")
        if type(data) is Tensor or type(data) is Parameter:
            if requires_grad and not (data.is_floating_point() or data.is_complex()):
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            return Tensor._make_subclass(cls, data, requires_grad)
        return _flagged(data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, **kwargs: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(**kwargs)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        # a parameter that a hook watches is written without the hook, as torch writes it
        arguments = (self.data, self.requires_grad, OrderedDict())
        if jit.for_torch:
            as_torchs(_rebuild_parameter, "torch._utils._rebuild_parameter")
            as_torchs(_rebuild_parameter_with_state, "torch._utils._rebuild_parameter_with_state")
        if not self.__dict__:
            return _rebuild_parameter, arguments
        return _rebuild_parameter_with_state, (*arguments, dict(self.__dict__))


def _flagged(data: Any, requires_grad: bool) -> Any:
    """A parameter of the data's own class: the class is kept, a flag makes ``isinstance`` say yes."""
    param = data.detach().requires_grad_(requires_grad)
    if type(param) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
            f"instance of the same type, but return type {type(param).__name__} was found instead. To use the type as "
            "a Parameter, please correct the detach() semantics defined by its class."
        )
    param._is_param = True
    if param.layout is not strided:
        param._reduce_parameter = _reduce_flagged
    return param


def _reduce_flagged(data: Any, requires_grad: bool) -> tuple:
    """How a parameter of another class is pickled: `data` is what it holds."""
    return _rebuild_parameter, (data, requires_grad, OrderedDict())


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: OrderedDict) -> Parameter:
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: OrderedDict, state: dict[str, Any]
) -> Parameter:
    param = Parameter(data, requires_grad)
    param.__dict__.update(state)
    return param


class Buffer(Tensor, metaclass=_FlaggedType):
    """A tensor that a `Module` registers as a buffer when it is assigned as an attribute.

    Not trained, but part of the module's state, like a running mean. The call returns a tensor of the data's own class
    that carries a mark, as torch's does. `persistent`: whether `Module.state_dict` contains it.

    Shape: a tensor (*) -> the same

    >>> Buffer(ones(2))
    tensor([1., 1.])
    """

    _flag = "_is_buffer"
    __torch_function__: Any = staticmethod(disabled_impl)  # results are plain tensors
    persistent: bool
    _is_buffer: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = ops.empty(0)
        buffer: Any = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def reset_grads(params: Iterable[Tensor], set_to_none: bool) -> None:
    """Drop the gradients, or without ``set_to_none`` fill those that there are with zeros in place."""
    observer = training_observer.value
    if observer is not None:
        params = list(params)
        observer.clearing(params, set_to_none)
    for p in params:
        grad = p.grad
        if grad is None:
            continue
        if set_to_none:
            p.grad = None
            continue
        if grad.grad_fn is not None:
            grad.detach_()
        else:
            grad.requires_grad_(False)
        grad.zero_()


# ---------------------------------------------------------------------------------------------- not yet of a size


class UninitializedError(NoArray, ValueError):
    """torch's ValueError, which operators that look for an array know as well."""


class _NoMemory(Placeholder):
    """The array of a parameter or buffer of unknown size."""

    def _error(self) -> NoArray:
        return UninitializedError(_refusal(operator_above(), "UninitializedParameter"))


def _refusal(name: str, kind: str) -> str:
    return (
        f"Attempted to use an uninitialized parameter in {name}. This error happens when you are using a `LazyModule` or "
        f"explicitly manipulating `torch.nn.parameter.{kind}` objects. When using LazyModules Call `forward` with a dummy "
        "batch to initialize the parameters before calling torch functions"
    )


def _refused(name: str) -> Any:
    def method(self: _Uninitialized, *args: Any, **kwargs: Any) -> Any:
        raise self._refusal(name)

    return method


class _Uninitialized(Tensor):
    """What parameters and buffers of unknown size have in common: they hold no values, and operators refuse them."""

    __torch_function__: Any = staticmethod(disabled_impl)
    cls_to_become: type

    if TYPE_CHECKING:

        def __new__(cls, requires_grad: bool = ..., device: Any = None, dtype: Any = None) -> Any: ...

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` to "
            "initialize the parameters before accessing their attributes."
        )

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a tensor of `shape`, of undefined values, in place."""
        wanted = self._edge is not None
        self._edge = None
        self._array = ops.empty(shape, device=device, dtype=dtype or self.dtype)._array  # type: ignore[arg-type]
        self._storage = None
        self.__class__ = self.cls_to_become  # type: ignore[assignment]
        if wanted:
            self.requires_grad_(True)

    def _call_operator(self, record: Op, tensors: tuple, metadata: tuple) -> Any:
        if record.name == "_to_copy":
            return type(self)(self.requires_grad, dtype=metadata[0])
        raise self._refusal(record.name)

    def _write_operator(self, record: Op, target: Any, others: tuple, metadata: tuple) -> Any:
        raise self._refusal(record.name + "_")

    def _refusal(self, name: str) -> ValueError:
        return ValueError(_refusal(name, type(self).__name__))

    @property
    def data(self) -> Tensor:
        """A tensor without elements, of which writes change nothing: a buffer's refuses them."""
        return self._nothing() if type(self._array) is _NoMemory else Tensor.data.__get__(self)

    @data.setter
    def data(self, value: Tensor) -> None:
        Tensor.data.__set__(self, value)

    def _nothing(self) -> Tensor:
        """What `data` is as long as it was not set."""
        return ops.empty(0, device=self.device, dtype=self.dtype)

    numel = nelement = _refused("numel")
    dim = ndimension = _refused("dim")
    stride, storage_offset, data_ptr = map(_refused, ("stride", "storage_offset", "data_ptr"))
    element_size, is_contiguous = map(_refused, ("element_size", "is_contiguous"))
    requires_grad_, clone = map(_refused, ("requires_grad_", "clone"))
    __len__, __getitem__, __bool__ = map(_refused, ("__len__", "__getitem__", "__bool__"))

    def detach(self) -> Any:
        """Another one without history."""
        return UninitializedBuffer(dtype=self.dtype)

    def share_memory_(self) -> Any:
        """Raises RuntimeError: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before "
            "calling `module.share_memory()`."
        )

    def __repr__(self, **kwargs: Any) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return type(self), (self.requires_grad,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, dtype=self.dtype)
        return memo[id(self)]


def _make_uninitialized(cls: type, requires_grad: bool, device: Any, dtype: Any) -> Any:
    plain = ops.empty(0, device=device, dtype=dtype)
    t = Tensor._make_subclass(cls, plain)
    t._array = _NoMemory((0,), plain._array.dtype)
    return Tensor.requires_grad_(t, True) if requires_grad else t


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is not known yet; a lazy module gives it one at its first call."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _make_uninitialized(cls, requires_grad, device, dtype)


class UninitializedBuffer(_Uninitialized):
    """A buffer whose shape is not known yet; a lazy module gives it one at its first call."""

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        t = _make_uninitialized(cls, requires_grad, device, dtype)
        t.persistent = persistent
        t._is_buffer = True
        return t

    def _nothing(self) -> Tensor:
        return self.detach()


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, _Uninitialized)
