"""What a tensor is: an array, its history, its accumulated gradient, and the record it shares with its aliases.

This file holds what every tensor has whatever operators exist. Operators add their methods when they are registered
(`dispatch/op.py`), and `backward` is added by the engine (`autograd/`).
"""

from __future__ import annotations

import weakref
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import own_code
from ..device.buffer import Buffer, as_array
from ..device.conjugated import Conjugated
from ..device.devices import CPU
from ..dispatch.extension_points import size_observer, training_observer
from ..dispatch.mode import emit_event, thread
from ..warn import warn, warn_once
from . import dtype as dtypes
from .dtype import c_word, type_word
from .layout import strided
from .node import Leaf, Output, follow_base, hooks_of, is_detached, leaf_before, leaf_of, leave_leaf
from .placeholder import Placeholder
from .printing import describe_tensor
from .size import Size, check_dim, size_of, wrap_dim
from .storage import Storage, address_of, content_of, expose, moves, private_storage, shared_storage, storage_of
from .strides import strides_of

_new = object.__new__
_new_size = tuple.__new__


def version_of(t: Tensor) -> int:
    """How often the memory of a tensor has been written."""
    return 0 if t._storage is None else t._storage.version


@cache
def _torch_function() -> ModuleType:
    """How classes of tensors are asked: above this file, and needed once there is a subclass."""
    from ..dispatch import torch_function

    return torch_function


@cache
def _pickling() -> ModuleType:
    from . import pickling

    return pickling


def let_functions_ask(cls: type) -> None:
    """See to it that public functions ask a class of tensors that wants to be asked."""
    if _torch_function().has_override(cls):
        _torch_function().activate()


_TO_NUMBER = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)
_ADDRESS = "the address of a tensor's memory, which differs in the next call"


class Tensor:
    """A multi-dimensional array that can record its history for backward."""

    __slots__ = ("_array", "_edge", "_grad", "_storage", "_view", "__dict__", "__weakref__")
    __array_priority__ = 1000  # NumPy lets the tensor's reflected operators decide
    __hash__ = object.__hash__

    _array: np.ndarray
    _edge: Any  # Node, Output, Leaf or None
    _grad: Tensor | None
    _storage: Storage | None
    _view: tuple | None  # (the tensor this is a view of, the view operator's record, its arguments, the mode's level)

    if TYPE_CHECKING:  # an operator

        def __eq__(self, other: object) -> Any: ...

    def __new__(cls, *args: Any, device: Any = None):
        return legacy_constructor(cls, args, device)

    def __init__(self, *args: Any, **kwargs: Any):
        pass

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        own = getattr(cls.__torch_function__, "__func__", None)
        if hasattr(cls, "__torch_dispatch__") and own is Tensor.__dict__["__torch_function__"].__func__:
            cls.__torch_function__ = staticmethod(_torch_function().disabled_impl)  # as torch's metaclass does
        if not cls.__module__.startswith(own_code.MODULES):
            let_functions_ask(cls)  # a class of Rushlight's own does so with its first instance

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """How a call of `func` goes that has instances of subclasses among its arguments: results get the subclass."""
        return _torch_function().default_impl(cls, func, types, args, kwargs)

    @staticmethod
    def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:  # pyright: ignore[reportSelfClsParameterName]: torch's name
        """An alias of `data` without history, of class `cls`."""
        t = alias(data, cls)
        if require_grad:
            t.requires_grad_(True)
        return t

    def as_subclass(self, cls: type) -> Any:
        """An alias of the tensor, with its history, of class `cls`."""
        if cls.__module__.startswith(own_code.MODULES):
            let_functions_ask(cls)
        t = alias(self, cls)
        t._edge = self._edge
        return t

    # ---------------------------------------------------------------- shape and type

    @property
    def shape(self) -> Size:
        if size_observer.value is not None and (traced := size_observer.value(self, None)) is not None:
            return traced
        return _new_size(Size, self._array.shape)  # ints: `size_of` takes 30 ns more

    def size(self, dim: int | None = None) -> Any:
        """The shape, or its entry `dim`."""
        if size_observer.value is not None and (traced := size_observer.value(self, dim)) is not None:
            return traced
        if dim is None:
            return size_of(self._array.shape)
        shape = self._array.shape
        if type(dim) is int:
            try:
                return shape[dim]
            except IndexError:
                pass
        check_dim("size", dim)
        if not shape:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        return shape[wrap_dim(dim, len(shape))]

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def dim(self) -> int:
        """How many dimensions the tensor has."""
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        """How many elements the tensor has."""
        return self._array.size

    nelement = numel

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.from_numpy(self._array.dtype)

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    def element_size(self) -> int:
        """The size of one element in bytes."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    @property
    def device(self):
        a = self._array
        return CPU if isinstance(a, np.ndarray) else a.device

    @property
    def is_meta(self) -> bool:
        return self.device.type == "meta"

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    is_cuda = is_sparse = is_quantized = is_mkldnn = is_nested = is_mps = is_xpu = False
    is_sparse_csr = is_ipu = is_maia = is_mtia = is_vulkan = is_xla = False
    layout = strided
    names: Any = property(lambda self: (None,) * self._array.ndim)

    def is_floating_point(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the elements are complex numbers."""
        return self._array.dtype.kind == "c"

    def is_signed(self) -> bool:
        """Whether the elements can be negative."""
        return self.dtype.is_signed

    def is_conj(self) -> bool:
        """Whether the elements are those of another tensor, conjugated when they are read."""
        return type(self._array) is Conjugated and self._array.conj

    def is_neg(self) -> bool:
        """Whether the elements are those of another tensor, negated when they are read."""
        return type(self._array) is Conjugated and self._array.neg

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return self._storage is not None and self._storage.inference

    # ---------------------------------------------------------------- memory

    def stride(self, dim: int | None = None) -> Any:
        """The strides in elements, or that of `dim`."""
        strides = strides_of(self)
        if type(dim) is int and -len(strides) <= dim < len(strides):
            return strides[dim]
        if dim is None:
            return strides
        check_dim("stride", dim)
        return strides[wrap_dim(dim, self._array.ndim)]

    def storage_offset(self) -> int:
        """How many elements are before the first one in the shared memory."""
        root = storage_of(self).root
        a = self._array
        return (address_of(a) - address_of(root)) // a.itemsize if a.size else 0

    def const_data_ptr(self) -> int:
        """The address of the first element, to be read only."""
        return self.data_ptr()

    def data_ptr(self) -> int:
        """The address of the first element."""
        if thread.state.level > 1:
            emit_event("left", _ADDRESS)
        expose(self)
        return address_of(self._array) if self._array.size and not self.is_meta else 0

    @property
    def _cdata(self) -> int:
        """A number that identifies a tensor: torch's address of its implementation."""
        return id(self)

    @property
    def _version(self) -> int:
        if thread.state.level > 1:
            emit_event("left", "_version of a tensor, which differs in the next call")
        if self.is_inference() and (not self._storage.counted or self._view is not None):  # pyright: ignore[reportOptionalMemberAccess]
            raise RuntimeError("Inference tensors do not track version counter.")
        return version_of(self)

    @property
    def name(self) -> None:
        """None: names of tensors are of torch's earliest versions."""
        return None

    @property
    def volatile(self) -> bool:
        """False, with a warning: torch removed it in version 0.4."""
        warn("volatile was removed (Variable.volatile is always False)")
        return False

    @property
    def _base(self) -> Tensor | None:
        view = self._view
        if view is None:
            return None
        while view is not None:
            base = view[0]
            view = base._view
        return base

    def _is_view(self) -> bool:
        return self._view is not None

    # ---------------------------------------------------------------- history

    @property
    def requires_grad(self) -> bool:
        return self._edge is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value is not True and value is not False:
            raise RuntimeError("requires_grad must be a bool")
        if value and not self.is_leaf:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        Tensor.requires_grad_(self, value)  # a subclass may write the method by this attribute, as fastai's does

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Say in place whether operations on this leaf are recorded. Returns the tensor."""
        edge = self._edge
        if requires_grad is not True and requires_grad is not False:
            kind = "numpy.bool" if isinstance(requires_grad, np.bool_) else type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}")
        if requires_grad:
            if edge is None or is_detached(edge):
                self._check_can_require_grad()
                self._edge = leaf_of(self)
                follow_base(self)
        elif edge is not None and not is_detached(edge):
            if type(edge) is not Leaf:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                    "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            observer = training_observer.value
            if observer is not None:
                observer.frozen(self)
            leave_leaf(self, edge)
            self._edge = None
            follow_base(self)
        return self

    def _check_can_require_grad(self) -> None:
        if not (self.is_floating_point() or self.is_complex()):
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self.is_inference() and not thread.state.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")

    @property
    def is_leaf(self) -> bool:
        edge = self._edge
        return edge is None or type(edge) is Leaf

    @property
    def grad_fn(self) -> Any:
        edge = self._edge
        if edge is None or type(edge) is Leaf:
            return None
        return edge.edges[0].function(edge.index)[0] if type(edge) is Output else edge

    @property
    def output_nr(self) -> int:
        edge = self._edge
        return edge.edges[0].function(edge.index)[1] if type(edge) is Output else 0

    @property
    def grad(self) -> Tensor | None:
        if self._grad is None and self._edge is not None and type(self._edge) is not Leaf:
            _warn_non_leaf_grad(self)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            _check_grad(self, value)
        observer = training_observer.value
        if observer is not None:
            observer.assigned(self, value)
        self._grad = value
        if thread.state.level > 1:
            emit_event("graded", self)

    @grad.deleter
    def grad(self) -> None:
        observer = training_observer.value
        if observer is not None:
            observer.assigned(self, None)
        self._grad = None
        if thread.state.level > 1:
            emit_event("graded", self)

    @property
    def grad_dtype(self) -> Any:
        """The dtype that `.grad` of this leaf takes: the tensor's own unless it was set; None where any will do."""
        edge = self._edge
        if edge is not None and type(edge) is not Leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        leaf = leaf_before(self) if edge is None else edge
        kept = () if leaf is None or leaf.hooks is None else leaf.hooks.grad_dtype
        return self.dtype if kept == () else kept

    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None:
        if value is not None and type(value) is not dtypes.dtype:
            raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
        if self._edge is not None and type(self._edge) is not Leaf:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if value is not None and self._grad is not None and self._grad.dtype is not value:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{type_word(value)}' because there is already a gradient with dtype "
                f"'{c_word(self._grad.dtype)}'. Please clear the gradient (.grad = None) before changing grad_dtype, or "
                "ensure the new grad_dtype matches the existing gradient's dtype."
            )
        leaf = leaf_of(self) if self._edge is None else self._edge
        hooks_of(leaf).grad_dtype = value
        if self._edge is None:
            leave_leaf(self, leaf)

    def retain_grad(self) -> None:
        """Keep `.grad` of this non-leaf tensor in backward. Does nothing for a leaf."""
        if self._edge is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if type(self._edge) is not Leaf:
            from weakref import ref

            hooks_of(self._edge).retain = ref(self)

    @property
    def retains_grad(self) -> bool:
        edge = self._edge
        if edge is None or type(edge) is Leaf or edge.hooks is None:
            return False
        return edge.hooks.retain is not None and edge.hooks.retain() is self

    def register_hook(self, hook: Any) -> Any:
        """Call `hook(grad)` whenever a gradient of this tensor is computed; it may return another one."""
        if self._edge is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return hooks_of(self._edge).add("tensor", hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """Call `hook(tensor)` after `.grad` of this leaf was accumulated."""
        if self._edge is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if type(self._edge) is not Leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return hooks_of(self._edge).add("accumulated", hook)

    def detach_(self) -> Tensor:
        """Cut the tensor from its history in place."""
        if self._view is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        if thread.state.level > 1 and self._edge is not None:
            emit_event("cut", self, self, "detach_()")
        if type(self._edge) is Leaf:
            leave_leaf(self, self._edge)
        self._edge = None
        follow_base(self)
        return self

    @property
    def data(self) -> Tensor:
        result = alias(self, Tensor, share_version=False)
        if self.is_inference():
            result._storage.inference = result._storage.counted = True
        if thread.state.level > 1 and self._edge is not None:
            emit_event("cut", self, result, ".data")
        return result

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if type(self._edge) is Leaf and value.dtype.category < 2:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        array = value._array
        array = array.adopted_by(self) if isinstance(array, Placeholder) and array.adopted_by else array
        show_memory(self, array, storage_of(value))
        if thread.state.level > 1:
            emit_event("rebound", self)

    # ---------------------------------------------------------------- Python's and NumPy's view of it

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number."""
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        if thread.state.level > 1 and (told := emit_event("read", self, "item()")) is not None:
            return told
        return _python_number(self._array.item())

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers; a number for a 0-d tensor."""
        if thread.state.level > 1:
            emit_event("read", self, "tolist()")
        a = self._array
        if not isinstance(a, np.ndarray) and hasattr(a, "no_numpy"):
            raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")
        return (a.astype(np.float32) if a.dtype.kind == "V" else a).tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The values as an ndarray that shares the tensor's memory, a new object at each call."""
        if self._edge is not None and thread.state.grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if isinstance(self._array, Buffer):
            return self._array.backend.to_host(self._array) if force else self._array.__array__()
        if type(self._array) is Conjugated:
            if force:
                return self._array.elements()
            word, name = ("conjugate", "conj") if self._array.conj else ("negative", "neg")
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {word} bit set. Use tensor.resolve_{name}().numpy() instead."
            )
        if not isinstance(self._array, np.ndarray) and (refused := getattr(self._array, "no_numpy", None)):
            raise RuntimeError(refused)
        if self._array.dtype.kind == "V" or self._array.dtype.num > 255:
            raise TypeError(f"Got unsupported ScalarType {type_word(self.dtype)}")
        if thread.state.level > 1:
            emit_event("read", self, "numpy()")
        expose(self)  # also, no gradient buffer may be taken over in place any more
        self._storage.resizable = False  # type: ignore[union-attr]
        a = self._array
        return a[...] if type(a) is np.ndarray else a  # whose shape and flags the user may change

    # NumPy asks the instance for these before `__array__`, and reads and writes whatever address they name: a file that
    # sets attributes must not get there. What is defined here comes before an instance's attributes; it costs np.asarray
    # 0.6 us, which then takes as long as torch's.
    __array_struct__ = __array_interface__ = property()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        a = self.numpy()
        if dtype is not None and a.dtype != dtype:
            return a.astype(dtype)
        return a.copy() if copy else a

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
        """The result of a NumPy function of tensors, as a tensor: `np.exp(t)`, `t + array`."""
        return wrap(np.asarray(array, np.uint8) if array.dtype.kind == "b" else as_array(array))

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __bool__(self) -> bool:
        if self._array.size != 1:
            if not self._array.size:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        if thread.state.level > 1:
            emit_event("read", self, "bool()")
        return bool(self._array.item())

    def _one_value(self, how: str) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        if thread.state.level > 1 and (told := emit_event("read", self, how)) is not None:
            return told
        return _python_number(self._array.item())

    def __float__(self) -> float:
        if self.requires_grad and thread.state.grad:
            warn_once(_TO_NUMBER)
        return float(_real_number(self._one_value("float()"), "double"))

    def __int__(self) -> int:
        return int(_real_number(self._one_value("int()"), "int64_t"))

    def __complex__(self) -> complex:
        if self.requires_grad and thread.state.grad:
            warn_once(_TO_NUMBER)
        return complex(self._one_value("complex()"))

    def __index__(self) -> int:
        if self._array.dtype.kind not in "iub" or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        if thread.state.level > 1:
            emit_event("read", self, "an index")
        return int(self._array.item())

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, Tensor):
            return bool((self == element).any().item())
        if isinstance(element, (int, float, complex, bool)):
            if thread.state.level > 1:
                emit_event("read", self, "in")
            return bool((self == element).any().item())  # type: ignore[attr-defined]
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __iter__(self):
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        if thread.state.level > 1:
            emit_event("iterated", self)
        return iter(self.unbind(0))  # type: ignore[attr-defined]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if thread.state.level > 1:
            emit_event("read", self, "printing")
        return describe_tensor(self, tensor_contents)

    def __reduce_ex__(self, protocol: Any):
        return _pickling().reduce_tensor(self, protocol)

    def __deepcopy__(self, memo: dict) -> Any:
        return _pickling().deepcopy_tensor(self, memo)

    def __format__(self, spec: str) -> str:
        if not self._array.ndim and type(self) is Tensor and not self.is_meta:
            return self.item().__format__(spec)
        return object.__format__(self, spec)


def wrap(array: Any) -> Tensor:
    """A fresh tensor around `array`, sharing its memory, without history."""
    t = _new(Tensor)
    t._array = array
    t._edge = t._grad = t._storage = t._view = None
    return t


def constant(array: Any) -> Tensor:
    """`wrap` of an array that Python's values alone determine, so that a recorder of calls knows where it comes from."""
    t = wrap(array)
    if thread.state.level > 1:
        emit_event("created", t)
    return t


def alias(t: Tensor, cls: type, share_version: bool = True) -> Any:
    """A tensor of class `cls` on the memory of `t`, without history.

    `.data` does not share the version counter (torch's rule: writes through it go unnoticed by backward).
    """
    out = _new(cls)
    out._array = t._array
    out._edge = out._grad = out._view = None
    s = shared_storage(t)
    out._storage = s if share_version else private_storage(s)
    return out


def show_memory(t: Tensor, array: Any, s: Storage) -> None:
    """Give a tensor the memory that record `s` is of. The counter of writes stays its own: those to `s` do not count."""
    new, old = private_storage(s, version_of(t)), t._storage
    if old is not None:
        new.stamp, new.writes, new.former = old.stamp, old.writes, content_of(old)
        new.former_record = weakref.ref(old)
    t._array, t._storage = array, new
    if type(t._edge) is Leaf:
        t._edge = t._edge.shown(array)
    moves.note()


def legacy_constructor(cls: type, args: tuple, device: Any) -> Any:
    """`Tensor(2, 3)`, `Tensor([1, 2])`, `Tensor(other)`, `Tensor()`: float tensors of the default type."""
    from .legacy_types import construct

    t = construct(dtypes.get_default_dtype(), args, device=device, convert=True)
    return t if cls is Tensor else t.as_subclass(cls)


def _python_number(value: Any) -> Any:
    return value if isinstance(value, (int, float, complex, bool)) else float(value)


def _real_number(value: Any, kind: str) -> Any:
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
        return value.real
    return value


def _check_grad(t: Tensor, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is t:
        raise RuntimeError("can't assign Variable as its own grad")
    if value._array.dtype != t._array.dtype or t._edge is None or (type(t._edge) is Leaf and t._edge.hooks is not None):
        expected = t.grad_dtype if t._edge is None or type(t._edge) is Leaf else t.dtype
        if expected is not None and value.dtype is not expected:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{c_word(value.dtype)}' to a tensor with grad_dtype "
                f"'{type_word(expected)}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype): "
                "cast the gradient first, for example with grad.to(tensor.dtype), or set grad_dtype."
            )
    if value._array.shape != t._array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(t.shape)}'. Please "
            "ensure that the gradient and the tensor are the same size"
        )


def _warn_non_leaf_grad(t: Tensor) -> None:
    if not t.retains_grad:
        observer = training_observer.value
        if observer is not None:
            observer.grad_of_non_leaf(t)
        warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
            "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
            "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make "
            "sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more "
            "information.",
        )
