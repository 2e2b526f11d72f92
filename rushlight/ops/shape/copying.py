"""Copies of tensors, as they are or as another type, and values written into tensors that exist."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.device import devices
from ...core.device.backend import Backend, on_device, run_on
from ...core.device.buffer import Buffer, outline_of
from ...core.device.conjugated import Conjugated, elements_of, seen_as
from ...core.dispatch.aten import operator
from ...core.dispatch.aten.torch_dispatch import ask_for, ask_mode, write_by_class
from ...core.dispatch.aten.wrapper import Wrapper
from ...core.dispatch.errors import type_error
from ...core.dispatch.extension_points import CALL, profiled_block
from ...core.dispatch.inplace import accept_inplace, check_writable, set_history
from ...core.dispatch.mode import emit_event, thread
from ...core.dispatch.op import MEMORY_BOUND, composite, primitive
from ...core.dispatch.overlap import is_read_again, store, write_in_order
from ...core.dispatch.scalars import NUMBERS, check_flag, filling, fits_floats, type_name
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import LARGE, cast_like, castable, copy_in_rows, copy_into, keep_strides
from ...core.tensor.channels_last import CHANNELS_LAST, is_channels_last
from ...core.tensor.layout import contiguous_format
from ...core.tensor.node import Node, show_as, shown_as
from ...core.tensor.placeholder import NoArray, flags_of
from ...core.tensor.resizing import resize
from ...core.tensor.size import new_shape_from
from ...core.tensor.storage import expose, shared_storage, storage_of, tick, user_line
from ...core.tensor.tensor import Tensor, alias, constant, show_memory, wrap
from ..creation.arguments import backend_like, check_rank, format_name
from ..pointwise.fused_loops import FusedLoop

# ---------------------------------------------------------------------------------------------- copied


@primitive(name="clone", public=False)
def _clone(input, /, order="K"):
    if order == "C":
        return copy_in_rows(input)
    if input.size >= LARGE or 0 in input.strides:
        return cast_like(input, input.dtype)
    return keep_strides(input.copy(order="K"), input)


@_clone.vjp
def _(g):
    return g


@composite(method=True)
def clone(input, *, memory_format=None):
    """A copy with its own memory, through which gradients flow.

    Args:
        memory_format: the order in memory: preserve_format (the default), contiguous_format, channels_last, ...
    Shape: (*) -> (*)
    Raises:
        RuntimeError: channels_last has not four dimensions, as in `clone(ones(2), memory_format=channels_last)`.

    >>> x = tensor([1.0, 2.0])
    >>> clone(x).zero_(), x
    (tensor([0., 0.]), tensor([1., 2.]))
    """
    if memory_format is None:
        return _clone(input)
    name = format_name(memory_format)
    check_rank(input._array.ndim, name)
    if name in CHANNELS_LAST:
        order, back = CHANNELS_LAST[name]
        return _clone(input.permute(order), "C").permute(back)
    return _clone(input, "C") if name == "contiguous_format" else _clone(input)


@composite(method=True, function=False)
def contiguous(self, *, memory_format=contiguous_format):
    """The tensor itself if it is contiguous, else a contiguous copy."""
    if not isinstance(memory_format, type(contiguous_format)):
        given = type(memory_format).__name__
        raise type_error(f"contiguous(): argument 'memory_format' must be torch.memory_format, not {given}")
    if memory_format is not contiguous_format and format_name(memory_format) != "contiguous_format":
        if memory_format.name == "preserve_format":
            if flags_of(self._array).c_contiguous:
                return self
            raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
        return self if self.is_contiguous(memory_format) else clone(self, memory_format=memory_format)
    return self if flags_of(self._array).c_contiguous else _clone(self, "C")


@primitive(name="_to_copy", public=False, node="ToCopyBackward0", **MEMORY_BOUND)
def _to_copy(input, /, dtype):
    new = dtype.numpy
    return _to_float8(castable(input, new), dtype) if dtype in dtypes.FLOAT8 else cast_like(input, new)


def _to_float8(a: np.ndarray, d: dtypes.dtype) -> np.ndarray:
    """torch's rounding: e4m3fn saturates where others have infinity or nan, e8m0fnu drops signs, nan is all ones."""
    if d is dtypes.float8_e4m3fn:
        a = np.clip(a, -448, 448)
    elif d is dtypes.float8_e8m0fnu:
        a = np.abs(a)
    out = a.astype(d.numpy)
    if d is dtypes.float8_e8m0fnu:
        out.view(np.uint8)[a == 0] = 0
    elif d is dtypes.float8_e5m2:
        out.view(np.uint8)[np.isnan(a)] = 0x7F
    return out


@_to_copy.vjp
def _(g):
    return g  # the engine casts it back


@primitive(name="_to_device", public=False, node="ToCopyBackward0")
def _to_device(input, /, where, back):
    if isinstance(input, Buffer):
        raise NoArray("the copy from another device is that device's")
    return on_device(input, where)


@_to_device.vjp
def _(g, where, back):
    return _to_device(g, back, where)


def moved(t: Tensor, where: Backend | None) -> Tensor:
    """The tensor on another device, through which gradients flow; the tensor itself where it is there already."""
    own = backend_like(t)
    return t if own is where else _to_device(t, where, own)


@composite(method=True, function=False)
def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """The tensor as another type or on another device: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`."""
    if args and (len(args) > 1 or dtype is not None or device is not None) and not _is_pair(args, dtype, device):
        _check_to(args, {"dtype": dtype, "device": device, "non_blocking": non_blocking, "copy": copy})
    if non_blocking is not False or copy is not False:
        _check_to(args, {"dtype": dtype, "device": device, "non_blocking": non_blocking, "copy": copy})
    dtype = dtypes.of_argument(dtype)
    for a in map(dtypes.of_argument, args):
        if isinstance(a, dtypes.dtype):
            dtype = a
        elif isinstance(a, Tensor):
            dtype, device = a.dtype, a.device
        elif isinstance(a, (str, int, devices.device)) and not isinstance(a, bool):
            device = a
        elif a is not None and not isinstance(a, bool):
            raise _no_form_of_to(args, {})
    if not (dtype is None or isinstance(dtype, dtypes.dtype)) or not (device is None or _fits_to("device", device)):
        named = {"device": device, "dtype": dtype}
        raise _no_form_of_to(args, {k: v for k, v in named.items() if v is not None})
    if len(args) > 2:
        flags = [a for a in args if isinstance(a, bool)]
        copy = copy or (len(flags) > 1 and flags[1])
    t = self if device is None else moved(self, devices.backend(device))
    kind = self.dtype
    t = _to_copy(t, kind if dtype is None else dtype) if copy and t is self or dtype not in (None, kind) else t
    return t if memory_format is None else _in_format(t, memory_format, t is not self)


_TO = (
    "device",
    "dtype",
    "non_blocking",
    "copy",
)  # torch's first form of `to`; two more begin with a dtype and a tensor


def _is_pair(args: tuple, dtype: Any, device: Any) -> bool:
    """Whether arguments of `to` are a device and a dtype by place, or the dtype by name, as they mostly are."""
    if not isinstance(args[0], (str, devices.device)) or device is not None:
        return False
    if len(args) == 1:
        return isinstance(dtype, dtypes.dtype)
    return len(args) == 2 and dtype is None and isinstance(args[1], dtypes.dtype)


def _check_to(args: tuple, named: dict[str, Any]) -> None:
    """Raise torch's TypeError where the arguments of `to` have no form in common: one twice, or of another type."""
    defaults = {"dtype": None, "device": None, "non_blocking": False, "copy": False}
    named = {k: v for k, v in named.items() if v is not defaults[k]}
    first = dtypes.of_argument(args[0]) if args else None
    names = ("dtype", *_TO[2:]) if isinstance(first, dtypes.dtype) else _TO
    if isinstance(first, Tensor):
        names = ("other", *_TO[2:])
    given = dict(zip(names, args, strict=False))
    taken = len(args) <= len(names) and all(k in names and k not in given for k in named)
    if not taken or not all(_fits_to(k, v) for k, v in (given | named).items()):
        raise _no_form_of_to(args, named)


def _no_form_of_to(args: tuple, named: dict[str, Any]) -> TypeError:
    got = ", ".join([*map(type_name, args), *(f"{k}={type_name(v)}" for k, v in named.items())])
    end = "" if args else ", "  # torch's
    return type_error(
        f"to() received an invalid combination of arguments - got ({got}{end}), but expected one of:{_FORMS}"
    )


def _fits_to(name: str, value: Any) -> bool:
    if name in _TO[2:]:
        return type(value) is bool
    kind = dtypes.of_argument(value)
    if name == "other":
        return isinstance(value, Tensor)
    if name == "dtype":
        return kind is None or isinstance(kind, dtypes.dtype)
    return value is None or (isinstance(value, (str, int, devices.device)) and not isinstance(value, bool))


_FORMS = (
    "\n * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n * (Tensor tensor, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n"
)


def _in_format(t: Tensor, memory_format: Any, fresh: bool) -> Tensor:
    """A tensor stored as `memory_format` says; `t` itself where its strides suggest that format, as torch reads them.

    Rows are suggested by all strides that are not channels-last. A `fresh` tensor has to have the format whole.
    """
    name = format_name(memory_format)
    check_rank(t._array.ndim, name)
    suggested = is_channels_last(t._array) if name in CHANNELS_LAST else not is_channels_last(t._array)
    kept = name == "preserve_format" or (suggested and not (fresh and not t.is_contiguous(memory_format)))
    return t if kept else clone(t, memory_format=memory_format)


def _cast_method(name: str, d: dtypes.dtype) -> None:
    def f(self, memory_format=None):
        if memory_format is not None:
            return to(self, d, memory_format=memory_format)
        kept = self._array.dtype is d.numpy or (type(self._array) is not np.ndarray and self.dtype is d)
        return self if kept else _to_copy(self, d)

    f.__name__, f.__doc__ = name, f"The tensor as {d}."
    composite(name=name, method=True, function=False)(f)


for _d in dtypes.ALL:
    if _d._aliases:
        _cast_method(_d._aliases[0], _d)


@composite(method=True, function=False)
def type_as(self, other):
    """The tensor as the type of `other`."""
    return to(self, other.dtype)


@composite(method=True, function=False)
def cpu(self, memory_format=None):
    """The tensor on the CPU: itself if it is there, and `memory_format` asks for no other order in memory."""
    t = moved(self, None)
    return t if memory_format is None else _in_format(t, memory_format, t is not self)


@composite(method=True, function=False)
def cuda(self, device=None, non_blocking=False, memory_format=None):
    """The tensor on a CUDA device. Raises when there is none, and RuntimeError for a device of another kind."""
    if device is not None and not isinstance(device, int) and devices.device(device).type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    return to(self, device="cuda" if device is None else device)


@composite(method=True, function=False)
def pin_memory(self, device=None):
    """The tensor where a device copies from fastest: itself where the device in use shares the host's memory.

    Raises RuntimeError without an accelerator.
    """
    where = devices.backend(device) if device is not None else devices.accelerator()
    if not self.is_cpu:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if where is None:
        raise RuntimeError(devices.NO_ACCELERATOR)
    return where.pin(self)


@composite(method=True, function=False)
def is_pinned(self, device=None):
    """Whether the memory is where a device copies from fastest."""
    where = devices.backend(device) if device is not None else devices.accelerator()
    return where is not None and self.is_cpu and where.is_pinned(self)


# ---------------------------------------------------------------------------------------------- written


@primitive(name="copy", public=False, node="CopyBackwards")
def copied_over(input, src, /):
    """The values of `src` in the shape and type of `input`."""
    return (
        src
        if src.shape == input.shape and src.dtype is input.dtype
        else castable(np.broadcast_to(src, input.shape), input.dtype).astype(input.dtype)
    )


@copied_over.vjp("input")
def _(g):
    return g.new_zeros(g.shape)


@copied_over.vjp("src")
def _(g):
    return g


def write_values(self: Tensor, a: Any, sources: tuple, node: Any, name: str | None = None) -> Tensor:
    """Overwrite `self` with `a`; `node()` gives the history if the write is recorded. name: what a profile calls it."""
    if name is not None and (block := profiled_block.value) is not None:
        with block(f"aten::{name}", CALL):
            return write_values(self, a, sources, node)
    state = thread.state
    recording = state.grad and (self._edge is not None or any(t._edge is not None for t in sources))
    check_writable(self, state, may_share=not sources and np.ndim(a) == 0)
    storage = storage_of(self)
    if type(self._array) is Conjugated:
        self._array.write(..., np.broadcast_to(elements_of(a), self._array.shape))
    elif type(a) is Conjugated:
        copy_into(self._array, a.elements())
    elif sources and sources[0]._storage is storage and is_read_again(self._array, a):
        write_in_order(np.asarray, self._array, castable(a, self._array.dtype))
    elif isinstance(a, (np.ndarray, Buffer)):
        store(self._array, a)
    elif isinstance(self._array, Buffer):
        self._array.backend.apply(np.copyto, (self._array, a, "unsafe"), {})
    else:
        state.run(np.copyto, self._array, a, "unsafe")
    storage.wrote(state.writer or user_line(3))
    if state.level > 1:
        emit_event("wrote", self, a, sources)
    if recording:
        set_history(self, node())
    return self


@composite(method=True, function=False)
def copy_(self, other, non_blocking=False):
    """Overwrite the tensor with the values of `other`, which is broadcast and cast."""
    if non_blocking is not False:
        check_flag("copy_", "non_blocking", non_blocking, 2)
    if isinstance(other, Tensor) and type(self._array) is type(other._array) is np.ndarray:
        state = accept_inplace(self, other)
        if state is not None:
            copy_into(self._array, other._array)
            return self
    if isinstance(other, NUMBERS):
        other = constant(np.asarray(other))
    if not isinstance(other, Tensor):
        raise type_error(f"copy_(): argument 'other' (position 1) must be Tensor, not {type_name(other)}")
    if type(self._array) is Wrapper or type(other._array) is Wrapper or thread.state.dispatching:
        return write_by_class("copy_", self, other)
    other = moved(other, backend_like(self))
    a = other._array
    if a.shape != self._array.shape:
        try:
            np.broadcast_to(outline_of(a), self._array.shape)
        except ValueError:
            raise RuntimeError(_cannot_expand(a.shape, self._array.shape)) from None
    return write_values(self, a, (other,), lambda: history_node(copied_over, (self._edge, other._edge)), "copy_")


def _cannot_expand(a: tuple, b: tuple) -> str:
    lead = len(b) - len(a)
    for i, n in enumerate(b):
        have = a[i - lead] if i >= lead >= 0 else 1
        if have not in (1, n):
            return f"The size of tensor a ({n}) must match the size of tensor b ({have}) at non-singleton dimension {i}"
    return f"output with shape {list(b)} doesn't match the broadcast shape {list(a)}"


def history_node(op: Any, edges: tuple, saved: tuple = ()) -> Node:
    """A node of the operator `op` for a write that was done by hand, with the edges to its sources."""
    node = object.__new__(op.record.node_class)
    if "finish" not in op.record.scope:
        op.record.specialise()
    node.seq, node.edges, node.saved, node.storage, node.hooks = tick(), edges, saved, None, None
    return node


def _fill(a: np.ndarray, value: float) -> None:
    """Overwrite all of an array of floats."""
    if a.size > _BY_ALL_CORES and type(a) is np.ndarray:
        _filled_many.kernel(a, value, out=a)
    else:
        a.fill(value)


def _filled(a: np.ndarray, value: float, out: np.ndarray | None = None) -> np.ndarray:
    if out is None:
        return np.full_like(a, value)
    out.fill(value)
    return out


_filled_many = FusedLoop("filled", 1, _filled)
_BY_ALL_CORES = 1 << 16  # elements: fewer take one core 5 us


@primitive(name="fill", public=False)
def filled(input, value, /):
    """One value in the shape and type of `input`."""
    return np.full_like(input, value)


@filled.vjp("input")
def _(g):
    return g.new_zeros(g.shape)


@filled.vjp("value")
def _(g):
    return g.sum()


@composite()
def fill(input, value):
    """A tensor in the shape and type of `input` filled with `value`.

    Args:
        value: a number or a 0-d tensor, to which gradients flow.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: `value` has dimensions, as in `fill(ones(2), ones(2))`.

    >>> fill(zeros(2), 3)
    tensor([3., 3.])
    """
    return shown_as(input.clone().fill_(value), f"FillBackward{int(isinstance(value, Tensor))}")


@composite(method=True)
def fill_(self, value):
    """Overwrite every element with `value`, a number or a 0-d tensor.

    Shape: (*) -> (*)
    Raises:
        RuntimeError: `value` has dimensions, as in `fill_(ones(2), ones(2))`.
        RuntimeError: the tensor is a leaf that requires grad, as in `fill_(ones(2, requires_grad=True), 0)`.

    >>> fill_(zeros(2), 3)
    tensor([3., 3.])
    """
    if fits_floats(value):
        a = self._array
        if type(a) is np.ndarray and accept_inplace(self) is not None:
            _fill(a, value)
            return self
    if type(self._array) is Wrapper or thread.state.dispatching:
        return write_by_class("fill_", self, value)
    source = ()
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions."
            )
        source, value = (value,), value._array.copy() if value._storage is self._storage else value._array
    elif isinstance(value, NUMBERS):
        value = filling(value, self._array.dtype, self._array.size)
    else:
        raise type_error(f"fill_(): argument 'value' (position 1) must be Number, not {type_name(value)}")
    edge, shown = source[0]._edge if source else None, "FillBackward3" if source else "FillBackward2"

    def node():
        made = history_node(filled, (self._edge, edge))
        show_as(made, shown)
        return made

    return write_values(self, value, source, node, "fill_")


@composite(method=True)
def zero_(self):
    """Overwrite every element with zero.

    Shape: (*) -> (*)
    Raises:
        RuntimeError: the tensor is a leaf that requires grad, as in `zero_(ones(2, requires_grad=True))`.

    >>> zero_(ones(2))
    tensor([0., 0.])
    """
    if type(self._array) is Wrapper or thread.state.dispatching:
        return write_by_class("zero_", self)
    if accept_inplace(self) is not None:
        _fill(self._array, 0.0)
        return self
    return write_values(self, 0, (), lambda: history_node(_zero, (self._edge,)), "zero_")


@primitive(name="zero", public=False)
def _zero(input, /):
    return np.zeros_like(input)


@_zero.vjp
def _(g):
    return g.new_zeros(g.shape)


@composite(method=True)
def detach(input):
    """An alias without history: it shares memory and version and requires no grad.

    Shape: (*) -> (*)

    >>> x = tensor([1.0], requires_grad=True)
    >>> detach(x * 2)
    tensor([2.])
    """
    if type(input._array) is Wrapper:
        return ask_for("detach", input)
    if thread.state.level > 1:
        return _watched_detach(input)
    return alias(input, Tensor) if input._storage is None or not input._storage.inference else input.data


def _watched_detach(input):
    """Detach where a mode or a listener wants to know."""
    if thread.state.dispatching:
        return ask_mode(operator("detach").default, (input,), {})
    result = alias(input, Tensor)
    if input._edge is not None:
        emit_event("cut", input, result, "detach()")
    return result


@composite(method=True, function=False)
def set_(self, source=..., storage_offset=0, size=None, stride=None):
    """Make the tensor use the memory, shape and strides of `source`, a tensor or a storage; without it it becomes empty.

    With `size`, the elements in that memory from `storage_offset` on.
    """
    if source is ...:
        empty = seen_as(self._array, run_on(backend_like(self), np.empty, 0, self.dtype.numpy))
        show_memory(self, empty, storage_of(wrap(empty)))
        self._storage.wrote(user_line())
        if thread.state.level > 1:
            emit_event("rebound", self)
        return self
    if not isinstance(source, Tensor) or (size is None and storage_offset != 0):
        if not hasattr(source, "_flat") or size is None and storage_offset != 0:
            given = type_name(source) + (
                f", {type_name(storage_offset)}" if size is None and storage_offset != 0 else ""
            )
            raise type_error(
                f"set_() received an invalid combination of arguments - got ({given}), but expected one of:\n"
                " * ()\n * (Tensor source)\n * (torch.Storage source)\n * (torch.Storage source, int storage_offset, "
                "tuple of ints size, tuple of ints stride)\n"
            )
        source = _of_storage(source, self._array.dtype)
    if size is not None:
        source = source.as_strided(size, stride or _dense_strides(size), storage_offset)
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {dtypes.c_word(source.dtype)} to a tensor of type {dtypes.c_word(self.dtype)}"
        )
    # As torch's bit, being conjugated stays the tensor's own, and so does the counter of writes.
    show_memory(self, seen_as(self._array, source._array), storage_of(source))
    self._storage.wrote(user_line())
    if thread.state.level > 1:
        emit_event("rebound", self)
    return self


def _of_storage(storage: Any, kind: np.dtype) -> Tensor:
    """All of a storage's memory as elements of one type."""
    flat = storage._flat
    whole = wrap(flat[: flat.size - flat.nbytes % kind.itemsize // flat.itemsize].view(kind))
    owner = getattr(storage, "_tensor", None)
    if owner is not None:
        whole._storage = shared_storage(owner)
    expose(whole)  # the storage may be written by its own methods
    return whole


def _dense_strides(size: Any) -> list[int]:
    strides, n = [], 1
    for k in reversed(tuple(size)):
        strides.append(n)
        n *= max(k, 1)
    return strides[::-1]


@composite(method=True, function=False)
def resize_(self, *sizes, memory_format=None):
    """Change the shape in place; the elements in memory stay, new ones are undefined.

    Views share the memory as before, also where it has to become longer.
    """
    name = format_name(memory_format, "contiguous_format")
    if self._edge is not None:
        raise RuntimeError("cannot resize variables that require grad")
    if name == "preserve_format":
        raise RuntimeError("Unsupported memory formatPreserve")
    return _resized(self, new_shape_from(sizes, "resize_"), name)


def _resized(self: Tensor, shape: tuple, name: str) -> Tensor:
    a, strides = self._array, None
    check_rank(len(shape), name)
    if name in CHANNELS_LAST:
        strides = _channels_last_strides(shape, name, a.itemsize)
    if shape != a.shape or strides is not None:
        resize(self, shape, strides)
        if shape != a.shape:
            storage_of(self).wrote(thread.state.writer or user_line(3))
    return self


def _channels_last_strides(shape: tuple, name: str, itemsize: int) -> tuple[int, ...]:
    order, back = CHANNELS_LAST[name]
    inner = [itemsize * n for n in _dense_strides([shape[d] for d in order])]
    return tuple([inner[d] for d in back])


@composite(method=True)
def resize_as_(self, other, memory_format=None):
    """`resize_` to the shape of `other`: the elements stay in memory, new ones are undefined.

    Args:
        memory_format: the order in memory; preserve_format for that of `other`.
    Shape: (*), other (*) -> (*), as `other`
    Raises:
        RuntimeError: the tensor requires grad, as in `resize_as_(ones(2, requires_grad=True), ones(3))`.

    >>> resize_as_(tensor([1, 2, 3, 4]), ones(2, 2))
    tensor([[1, 2],
            [3, 4]])
    """
    name = format_name(memory_format, "contiguous_format")
    if self._edge is not None:
        raise RuntimeError("cannot resize variables that require grad")
    if name == "preserve_format":
        name = next((n for n in CHANNELS_LAST if _is_channels_last(other, n)), "contiguous_format")
    return _resized(self, other._array.shape, name)


def _is_channels_last(t: Tensor, name: str) -> bool:
    order, _ = CHANNELS_LAST[name]
    a = t._array
    return a.ndim == len(order) and a.transpose(order).flags.c_contiguous and not a.flags.c_contiguous
