"""Writing into a tensor that exists: checks, the version, and the history that follows from it.

After `x.mul_(y)` the history of `x` is that of `x * y`. When `x` is a view, its base was changed too: the base gets a
`CopySlices` node, which applies the operator's gradient rule to that part of the base's gradient, and every live view of
the memory gets a new history from the base's. The views are found through the storage (`Storage.views`) at the time of
the write, so that reading a tensor's history never has to ask whether it is up to date.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from sys import _getframe
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..device import conjugated
from ..device.buffer import Buffer, as_array, outline_of
from ..device.conjugated import elements_of
from ..interrupts import raise_if_interrupted
from ..tensor import dtype as dtypes
from ..tensor.casting import copy_into
from ..tensor.channels_last import follow_channels
from ..tensor.node import Leaf, Node, Output, show_as
from ..tensor.placeholder import NoArray, write_without_array
from ..tensor.resizing import resize
from ..tensor.storage import LATEST, describe, storage_of, tick, user_line
from ..tensor.strides import return_columns
from ..tensor.tensor import Tensor, alias, type_word, wrap
from ..warn import warn
from . import number_first
from .docs import of_inplace
from .extension_points import profiled_pass
from .mode import State, emit_event, thread
from .number_options import SHORT, check_read
from .overlap import (
    at_places,
    by_element,
    check_apart,
    check_broadcast,
    check_disjoint,
    check_stored,
    is_by_element,
    is_expanded,
    is_read_again,
    out_of_order,
    share_elements,
    shares_places,
    store,
)
from .python_signatures import PARSED_FIRST, call_error, raise_call_error, refused
from .scalars import check_parsed, number_as
from .signatures import OfInplace, binary_operator
from .slow_path import (
    READS_ELSEWHERE,
    are_operands,
    call,
    common_type,
    composed,
    execute,
    finish,
    number_in,
    observe,
    plain,
    prepare,
)

if TYPE_CHECKING:
    from .op import Op


_new = object.__new__
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def make_inplace(record: Op) -> Any:
    """The method `name_` of an operator: its result is written into the first input."""
    make = {"unary": _unary_method, "binary": _binary_method}.get(record.kind, _general_method)
    method = make(record)
    method.__name__ = method.__qualname__ = record.name + "_"
    method.__doc__ = of_inplace(record.name, record.kind, record.promote, record.differentiable, record.doc or "")
    method.record, method.__wrapped__ = record, OfInplace(record)  # type: ignore[attr-defined]
    return method


def _general_method(record: Op) -> Any:
    n = len(record.signature.arrays)
    metadata_names = record.signature.metadata

    def method(self, *args, **kwargs):
        if record.number_first and len(args) >= n:
            tensors, named = number_first.arguments(f"{record.name}_", (self, *args), n, record.number_first)
            args, kwargs = tuple(tensors[1:]), {**kwargs, **named}
        if kwargs or len(args) != n - 1 + len(metadata_names) or record.signature.star:
            args = _bind(record, args, kwargs)
        return write(record, self, args[: n - 1], args[n - 1 :])

    return method


def _unary_method(record: Op) -> Any:
    least = record.jit_min_elements or 0

    def method(input=..., *more):
        if more or input is ...:
            raise refused(f"{record.name}_", ("input",), more)
        state = thread.state
        a = input._array
        d = a.dtype
        if (d is F32 or d is F64) and (
            state.level == 0
            or (state.level == 1 and input._edge is None and (input._view is None or not _is_of_leaf(input._view)))
        ):
            s = input._storage or storage_of(input)
            if not s.inference and (a.flags.forc or not shares_places(a)) and record.promote != "bool":
                kernel = record.kernel
                if type(kernel) is np.ufunc and a.size < least:
                    state.run(kernel, a, a)
                else:
                    _run_into(state, record.kernel_for(a), a)
                _wrote(s, state)
                return input
        return write(record, input, (), ())

    return method


def make_inplace_operator(record: Op) -> Any:
    """The method behind Python's in-place operator, such as `+=`: an operand of a foreign type gives NotImplemented."""
    name = record.name + "_"

    def careful(record, self, others, metadata):
        return getattr(Tensor, name)(self, *others) if are_operands(others) else NotImplemented

    method = _binary_method(record, careful)
    method.__wrapped__ = binary_operator  # type: ignore[attr-defined]
    return method


_I64 = np.dtype(np.int64)
_RING = frozenset((np.add, np.subtract, np.multiply))  # of integers: they wrap around and never raise


def _binary_method(record: Op, careful: Any = None) -> Any:
    careful = careful or write
    least = record.jit_min_elements or 0

    def method(self, other=..., *more):
        if more:
            raise refused(f"{record.name}_", ("self", "other"), more)
        state = thread.state
        level = state.level
        if level == 0 or (level == 1 and self._edge is None and (self._view is None or not _is_of_leaf(self._view))):
            a = self._array
            d = a.dtype
            kind = type(other)
            if kind is float or (kind is int and -SHORT < other < SHORT):  # type: ignore[operator]
                is_whole = kind is int and d is _I64 and record.kernel in _RING
                b = other if d is F32 or d is F64 or is_whole else None
            elif (
                isinstance(other, Tensor)
                and (level == 0 or other._edge is None)
                and other._array.dtype is d
                and (d.kind == "f" or (d is _I64 and record.kernel in _RING))
                and (other._storage is None or other._storage is not self._storage)
            ):
                b = other._array
            else:
                b = None
            if b is not None:
                s = self._storage or storage_of(self)
                kernel = record.kernel
                if not s.inference and type(kernel) is np.ufunc and record.promote != "bool":
                    try:
                        if a.flags.forc or not shares_places(a):
                            if a.size < least or (type(b) is np.ndarray and np.may_share_memory(a, b)):
                                state.run(kernel, a, b, a)
                            else:
                                _run_into(state, record.kernel_for(a), a, b)
                            _wrote(s, state)
                            return self
                    except (ValueError, NoArray) as error:  # shapes that do not fit: explained below
                        raise_if_interrupted(error)
        return careful(record, self, (other,), ())

    return method


def _run_into(state: State, kernel: Any, a: np.ndarray, *others: Any) -> None:
    """Write a kernel's result into the first of its arrays, which no other one shares memory with."""
    state.target = a
    try:
        r = state.run(kernel, a, *others)
    finally:
        state.target = None
    if r is not a:
        np.copyto(a, r)


def accept_inplace(self: Tensor, x: Tensor | None = None, y: Tensor | None = None) -> State | None:
    """The thread's state if a write from `x` and `y`, floats of the same type and shape, needs no checks and no history.

    The write counts as made: the caller does it at once. None means that `write` has to look closer.
    """
    state = thread.state
    level = state.level
    a = self._array
    d = a.dtype
    if (d is not F32 and d is not F64) or not _is_plain_target(self, a, level):
        return None
    try:
        if x is not None:
            b = x._array
            if b.dtype is not d or b.shape != a.shape or (level and x._edge is not None) or _is_view_of(x, self):
                return None
            if y is not None:
                b = y._array
                if b.dtype is not d or b.shape != a.shape or (level and y._edge is not None) or _is_view_of(y, self):
                    return None
    except AttributeError:  # a number for a tensor
        return None
    return _accepted(self, state)


def accept_write(self: Tensor) -> State | None:
    """`accept_inplace` for elements of any type, written from what the caller has looked at; the tensor is on the host."""
    state = thread.state
    if not _is_plain_target(self, self._array, state.level):
        return None
    return _accepted(self, state)


def _accepted(t: Tensor, state: State) -> State | None:
    """Count the write whose caller's caller is the function that makes it; None for an inference tensor."""
    s = t._storage or storage_of(t)
    if s.inference:
        return None
    _wrote(s, state, 4)
    return state


def _is_plain_target(t: Tensor, a: np.ndarray, level: int) -> bool:
    """Whether nothing else looks at a write to the tensor's elements, and each has a place of its own."""
    return (
        0 <= level <= 1
        and (not level or (t._edge is None and (t._view is None or not _is_of_leaf(t._view))))
        and (a.flags.forc or not shares_places(a))
        and profiled_pass.value is None  # whose events are calls of kernels
    )


def _is_view_of(x: Tensor, self: Tensor) -> bool:
    return x._storage is not None and x._storage is self._storage and x is not self


def check_order(name: str, self: Tensor, other: Any) -> None:
    """Raise where the order of a write into `self` matters, of which an intermediate result is made that does not keep it."""
    if isinstance(other, Tensor) and _is_view_of(other, self) and is_read_again(self._array, other._array):
        raise out_of_order(name)
    if shares_places(outline_of(self._array)):
        raise out_of_order(name)


def is_written_by(depth: int) -> bool:
    """Whether the kernel that frame `depth` runs was called to write its result into the first input."""
    frame = _getframe(depth)
    while frame is not None and frame.f_code.co_filename in _BETWEEN:
        if frame.f_code in _WRITERS:
            return True
        frame = frame.f_back
    return False


def _wrote(s: Any, state: State, depth: int = 2) -> None:
    """`s.wrote(...)`, with the user's line looked up from frame `depth` on, in one function."""
    writer = state.writer
    if writer is None:
        writer = user_line(depth + 1)
    s.version += 1
    s.stamp = stamp = tick()
    s.writes = (*s.writes[LATEST], (stamp, writer))
    if s.content is not None:
        s.content.stamp, s.content.writer = stamp, writer


def _bind(record: Op, args: tuple, kwargs: dict) -> tuple:
    """The arguments after the first, in the order of the signature, with defaults."""
    sig = record.signature
    names = [*sig.arrays[1:], *sig.positional]
    values = dict(zip(names, args, strict=False))
    star = args[len(names) :]
    if star and not sig.star:
        raise call_error() or TypeError(
            f"{record.name}_() takes {len(names)} positional arguments but {len(args)} were given"
        )
    for k, v in kwargs.items():
        if k in values or k not in (*names, *sig.keyword):
            raise call_error() or TypeError(f"{record.name}_() got an unexpected keyword argument '{k}'")
        values[k] = v
    defaults = {**sig.defaults, **sig.keyword_defaults}
    ordered = [*names, *([sig.star] if sig.star else []), *sig.keyword]
    if sig.star:
        values[sig.star] = star
    missing = [k for k in ordered if k not in values and k not in defaults]
    if missing:
        raise call_error() or TypeError(f"{record.name}_() missing required argument: '{missing[0]}'")
    return tuple(values[k] if k in values else defaults[k] for k in ordered)


def write(record: Op, self: Tensor, others: tuple, metadata: tuple) -> Tensor:
    """Write the result of `record(self, *others, *metadata)` into `self`."""
    state = thread.state
    if conjugated.exist:
        others = tuple(map(plain, others))
    tensors = (self, *others)
    if record.options:
        check_read(record.options, metadata)
    if state.dispatching:
        return state.dispatching.call(record, tensors, metadata, writes=True)
    if state.listener is not None and (result := composed(record, tensors, metadata)) is not None:
        return self.copy_(result)
    recording = False
    for t in tensors if state.grad else ():
        if getattr(t, "_edge", None) is not None:
            recording = True
    try:
        check_writable(self, state, record.name in _OF_EXPANDED)
        if record.name in _WARNED and is_expanded(self._array):
            warn(_DEPRECATED.format(record.name, _WARNED[record.name]))
        arrays = _prepare(record, self, tensors)
        before = self
        if recording and rule_reads_first(record):
            before = wrap(self._array.copy("K"))
            before._edge = self._edge
            if state.level > 1:
                emit_event("copied", before, self)
            arrays[0] = before._array if arrays[0] is self._array else arrays[0]
        arrays[0] = elements_of(arrays[0])
        if record.name in READS_ELSEWHERE:
            for t in others:
                if isinstance(t, Tensor):
                    check_disjoint(self._array, t._array)
        own = self._array
        is_dense = type(own) is np.ndarray and own.flags.forc  # looked at first: it is so nearly always
        compute = _compute if is_dense or not shares_places(outline_of(own)) else _compute_in_order
        for t in others:
            shares = isinstance(t, Tensor) and _is_view_of(t, self)
            if shares and (is_read_again(own, t._array) or record.places is not None):
                compute = _compute_in_order
        if record.kind != "binary" and compute is _compute and state.level <= 1 and _is_alone(arrays, own):
            state.target = own
        r = compute(record, arrays, metadata, own)
    except NoArray as error:
        return write_without_array(record, self, others, metadata, error)
    except PARSED_FIRST as error:
        numbers = _numbers_instead(record, tensors, metadata, error)
        if numbers is None:
            raise
        return write(record, self, others, numbers)
    finally:
        state.target = None
    if r is not self._array:
        r = as_array(r)
        if record.name in _RESIZED and r.shape != own.shape and _is_row_of(own, r):
            if recording and before is self and self._view is None:
                before = wrap(own)
                before._edge = self._edge
            if not recording or before is not self:
                resize(self, r.shape)
        check_stored(self._array, r, record.name)
        if is_dense and type(r) is np.ndarray:
            copy_into(self._array, r)
        else:
            store(self._array, r)
    s = storage_of(self)
    s.wrote(state.writer or user_line(2))
    if recording:
        _record_write(record, self, before, others, arrays, metadata)
    if state.level > 1:
        observe(state, record, tensors, metadata, self, r)
    return self


def _numbers_instead(record: Op, tensors: tuple, metadata: tuple, error: Exception) -> tuple | None:
    """The options with numbers for tensors without dimensions, where those made a TypeError.

    Else None, or torch's error where another one comes first there.
    """
    raise_if_interrupted(error)
    if isinstance(error, TypeError):
        numbers = tuple([number_in(m) for m in metadata])
        if any(a is not b for a, b in zip(numbers, metadata, strict=True)):
            return numbers
        for check in record.checks:
            check(tensors)
    raise_call_error(error)
    if isinstance(error, NotImplementedError) and (record.kind == "binary" or record.name in _SIZED_FIRST):
        own, *others = [t._array.shape for t in tensors if isinstance(t, Tensor)]
        check_broadcast(own, np.broadcast_shapes(own, *others))
    return None


_SIZED_FIRST = ("clamp.tensor",)  # as binary operators: sizes are looked at before types


def _is_alone(arrays: list, own: np.ndarray) -> bool:
    """Whether the first input is NumPy's array `own`, and no other input shares its memory: a kernel may write there."""
    if arrays[0] is not own or type(own) is not np.ndarray:
        return False
    return not any(isinstance(a, np.ndarray) and share_elements(own, a) for a in arrays[1:])


# those that torch lets write to expanded tensors, and about which of them it warns
_OF_EXPANDED = frozenset({"index_fill", "index_put", "threshold", "tril", "triu"})
_SAVE_RESULT = frozenset({"celu", "elu", "leaky_relu", "rrelu_with_noise"})  # written in place: in torch
_WARNED = {"index_fill": "tensor[mask] = scalar", "index_put": "tensor[indices] = tensor"}
_DEPRECATED = (
    "Use of {}_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This also "
    "applies to advanced indexing e.g. {}"
)


def rule_reads_first(record: Op) -> bool:
    """Whether the gradient of an operator needs its first input, which a write of the result would change."""
    if not record.node_class.saved_names and record.rules and "finish" not in record.scope:
        record.specialise()
    return record.signature.arrays[0] in record.node_class.saved_names


@contextmanager
def uncounted_writes(t: Any, writer: str) -> Iterator[None]:
    """Within the block writes to `t` count no version, so that a backward pass that has saved it goes on with what is there then."""
    s = storage_of(t)
    before = s.version, s.stamp, s.writes
    try:
        yield
    finally:
        emit_event("unseen", t, s.version - before[0])
        s.version, s.stamp, s.writes = before
        s.wrote_unseen(writer)


def check_writable(self: Tensor, state: State, may_share: bool = False) -> None:
    """Raise torch's errors where an in-place write would break a graph, or, unless `may_share`, where elements share a place."""
    if state.listener is not None:
        emit_event("writing", self)
    edge = self._edge
    view = self._view
    if state.grad:
        if type(edge) is Leaf and view is None:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation. To update a parameter by "
                "hand, write inside torch.no_grad(): `with torch.no_grad(): w -= lr * w.grad`."
            )
        if view is not None and (edge is not None or view[3] > 0 and _is_of_leaf(view)):
            _check_view(self, view)
    s = self._storage
    if s is not None and s.inference and not state.inference and (view is not None or not s.counted):
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )
    if 0 in self._array.strides and not may_share:
        check_apart(self._array)


def _is_of_leaf(view: tuple | None) -> bool:
    """Whether the memory is a leaf's that requires grad, which it may have become after the view was made."""
    base = None
    while view is not None:
        base = view[0]
        view = base._view
    return base is not None and type(base._edge) is Leaf


def _is_part_of_several(view: tuple | None) -> bool:
    """Whether a view is one of several that an operator returned, or a view of one."""
    while view is not None:
        if view[1].outputs is not None:
            return True
        view = view[0]._view
    return False


def _check_view(self: Tensor, view: tuple) -> None:
    if view[3] == 0 and hasattr(self.grad_fn, "forward_cls"):
        raise RuntimeError(
            f"Output {getattr(self._edge, 'index', 0)} of {self.grad_fn.name().removesuffix('Backward')} is a view and is being modified inplace. This view "
            "was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
            "view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
            "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
        )
    if view[3] <= 0:
        raise RuntimeError(
            f"A view was created in {'no_grad' if view[3] == 0 else 'inference'} mode and is being modified inplace with grad mode enabled. Given that this "
            "use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view "
            "and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both "
            "outside (if you want the inplace to be tracked)."
        )
    if type(self._edge) is Output or self._edge is not None and _is_part_of_several(view):
        raise RuntimeError(
            f"Output {getattr(self._edge, 'index', 0)} of {self.grad_fn.name().removesuffix('Backward0')} is a view and is being modified inplace. This view is "
            "the output of a function that returns multiple views. Such functions do not allow the output views to be "
            "modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    base = self._base
    if base is None or base._edge is None or type(base._edge) is Leaf:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation. To write into part "
            "of a parameter by hand, do it inside torch.no_grad()."
        )


def _prepare(record: Op, self: Tensor, tensors: tuple) -> list:
    if record.kind == "general" and record.promote is None:
        return prepare(record, tensors)
    a = self._array
    if len(tensors) == 2 and record.promote != "bool" and a.dtype.kind == "f":
        other = tensors[1]
        if isinstance(other, Tensor):
            if other._array.dtype is a.dtype:
                return [a, other._array]
        elif (type(other) is float or type(other) is int) and not (record.unrounded and a.itemsize == 2):
            check_parsed(other)
            return [a, other]
    arrays = prepare(record, tensors)
    result = dtypes.bool_ if record.promote == "bool" else common_type(record, tensors)
    if not dtypes.can_cast(result, self.dtype):  # type: ignore[arg-type]
        raise RuntimeError(
            f"result type {type_word(result)} can't be cast to the desired output type {type_word(self.dtype)}"  # type: ignore[arg-type]
        )
    return arrays


# operators of torch that give what they write to the shape of the result
_RESIZED = frozenset({"addbmm"})


def _is_row_of(target: np.ndarray, r: np.ndarray) -> bool:
    """Whether `target` is one row, or one number, that every row of `r` had: torch writes others over before reading them."""
    return type(target) is np.ndarray and target.ndim <= r.ndim and all(n == 1 for n in target.shape[:-1])


def _compute(record: Op, arrays: list, metadata: tuple, target: np.ndarray) -> Any:
    """The result, in `target` itself where the kernel is a NumPy ufunc of the right type."""
    kernel = record.kernel_of(target)
    if type(kernel) is np.ufunc and target.dtype is arrays[0].dtype and record.promote != "bool":
        large = record.kernel_for(target)
        try:
            if large is not kernel and _is_alone(arrays, target):
                _run_into(thread.state, large, *arrays)
                return target
            return thread.state.run(kernel, *arrays, target)
        except Exception as error:  # the careful path below explains it
            raise_if_interrupted(error)
    return execute(record, arrays, metadata)


def _compute_in_order(record: Op, arrays: list, metadata: tuple, target: np.ndarray) -> Any:
    """Write the result where elements of `target` share places, or inputs share its memory: one element after the other."""
    if not (record.places or is_by_element(record)) or isinstance(target, Buffer):
        raise out_of_order(f"{record.name}_")
    own = arrays[0].dtype is target.dtype
    # raises what is wrong with the arguments
    check_stored(target, as_array(execute(record, arrays, metadata)), record.name)
    if (find := record.places) is not None:
        at_places(target, arrays[1:], lambda places, others: find(places, others, *metadata))
    else:
        by_element(
            record, target, [target if own else arrays[0], *arrays[1:]], lambda part: execute(record, part, metadata)
        )
    return target


# ---------------------------------------------------------------------------------------------- history


def _record_write(record: Op, self: Tensor, before: Tensor, others: tuple, arrays: list, metadata: tuple) -> None:
    """Build the node of the write and give `self`, its base and the other views their new histories."""
    old = self._edge
    if record.rules and not record.differentiable:
        set_history(self, _node_without_saved(record, (self, *others)))
        return
    result = finish(record, self._array, 1, (before, *others), arrays, metadata)
    node = result._edge
    if node is None:  # the rule wants no gradient from any input that has one
        return
    if record.outputs is None and ("out" in node.saved_names or record.name in _SAVE_RESULT):
        node.storage = self._storage
        node.saved = tuple(self._array if n == "out" else v for n, v in zip(node.saved_names, node.saved, strict=True))
    node.edges = (old, *node.edges[1:])
    s = self._storage
    if any(isinstance(t, Tensor) and t._storage is s for t in node.saved):  # x.mul_(x): a saved input was overwritten
        node.seq = s.stamp - 0.5  # type: ignore[assignment]
    set_history(self, node)


def _node_without_saved(record: Op, tensors: tuple) -> Node:
    """The node of a comparison's result, which has a history only where it is written into one of the tensors compared."""
    numbers = [i for i, t in enumerate(tensors) if not isinstance(t, Tensor)]
    node = _new(record.number_class(numbers[0]) if numbers else record.node_class)
    node.seq, node.edges = tick(), tuple(getattr(t, "_edge", None) for t in tensors)
    node.saved, node.storage, node.hooks = (), None, None
    return node


def set_history(self: Tensor, node: Node) -> None:
    """Make `node` the history of `self`, which was written in place; its base and sibling views follow.

    Integers and bools have no history, whatever was written into them.
    """
    if self._array.dtype.kind in "biu":
        return
    node.shape, node.dtype = self._array.shape, self._array.dtype
    s = storage_of(self)
    if self._view is None:
        follow(self, node)
    else:
        base, chain = _chain(self)
        slices = _new(CopySlices)
        slices.seq, slices.edges = tick(), (base._edge, *node.edges[1:])
        node.edges = (base._edge, *node.edges[1:])
        slices.inner, slices.chain = node, chain
        node.outer = weakref.ref(slices)
        slices.saved, slices.storage, slices.hooks = (), None, None
        slices.shape, slices.dtype = base._array.shape, base._array.dtype
        slices.strides = outline_of(base._array).strides
        follow(base, slices)
    if s.views:
        refresh_views(s)


def follow(t: Tensor, edge: Any) -> None:
    """Give `t` another history; what keeps its gradient goes with it, its hooks stay with what it was."""
    old = t._edge
    t._edge = edge
    if old is not None and old.hooks is not None and old.hooks.retain is not None and old.hooks.retain() is t:
        old.hooks.retain = None
        t.retain_grad()


def _chain(view: Tensor) -> tuple[Tensor, tuple]:
    """The base of a view, and the (record, arguments) of the views from the base to it."""
    steps = []
    t = view
    while t._view is not None:
        parent, record, metadata, _ = t._view
        steps.append((record, metadata))
        t = parent
    if any(record.name == "as_strided" for record, _ in steps):
        steps = [(record, _from_start_of(t, record, metadata)) for record, metadata in steps]
    return t, tuple(reversed(steps))


def _from_start_of(base: Any, record: Op, metadata: tuple) -> tuple:
    """The arguments of a view for a gradient of `base`, which begins where its memory does."""
    if record.name != "as_strided" or metadata[2] is None:
        return metadata
    return *metadata[:2], metadata[2] - base.storage_offset()


_SHOWN_AGAIN = ("view_as_real", "view_as_complex", "conj_view", "neg_view")


def refresh_views(s: Any) -> None:
    """Replay the live views of a memory from their parents' new histories, oldest first."""
    for ref in list(s.views):
        view = ref()
        if view is None or view._view is None:
            continue
        parent, record, metadata, level = view._view
        if level > 0:
            edge = replay(parent, record, metadata)._edge if parent._edge is not None else None
            if edge is not None and record.outputs is None and record.name not in _SHOWN_AGAIN:
                show_as(edge, "AsStridedBackward0")  # what torch derives it by
            follow(view, edge)


def replay(parent: Tensor, record: Op, metadata: tuple) -> Tensor:
    """The view operator `record` applied to `parent` again."""
    if record.outputs is not None:
        *arguments, index = metadata
        return record.invoke(record.function, [parent], tuple(arguments))[index]
    return record.invoke(record.function, [parent], metadata)


class CopySlices(Node):
    """The history of a base one of whose views was written: the write's rule acts on that part of the gradient.

    strides: of the base, in bytes, which its gradient has as in torch; None where they are not known.
    """

    __slots__ = ("inner", "chain", "strides")
    chooses = True
    inner: Any
    chain: tuple
    strides: tuple[int, ...] | None

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def edge_of_part(self) -> Any:
        """The history of the view that was written: that part of the base as it is since."""
        strided = any(record.name == "as_strided" for record, _ in self.chain)  # which looks at the memory
        part = wrap(
            np.zeros(self.shape, self.dtype) if strided else np.broadcast_to(np.zeros((), self.dtype), self.shape)
        )
        part._edge = self
        for record, metadata in self.chain:
            part = replay(part, record, metadata)
        return part._edge

    def backward(self, g: Tensor, edges: tuple | None = None) -> tuple:
        whole = part = self._copied(g)
        for record, metadata in self.chain:
            part = replay(part, record, metadata)
        inner, g = self.inner, part.clone()  # type: ignore[attr-defined]
        grads = inner.backward(g, edges) if inner.chooses else inner.backward(g)
        if (edges or self.edges)[0] is not None:
            if grads[0] is None:
                part.zero_()  # type: ignore[attr-defined]
            else:
                part.copy_(grads[0])  # type: ignore[attr-defined]
        return (whole, *grads[1:])

    def _copied(self, g: Any) -> Any:
        """A copy of the gradient in the memory order of the base."""
        a, strides = g._array, self.strides
        if type(a) is not np.ndarray or not strides or 0 in strides or a.strides == strides or not a.size:
            return g.clone()
        return g.new_empty_strided(a.shape, [s // self.dtype.itemsize for s in strides]).copy_(g)


__all__ = [
    "CopySlices",
    "accept_inplace",
    "accept_write",
    "alias",
    "call",
    "check_order",
    "check_writable",
    "describe",
    "make_inplace",
    "number_as",
    "rule_reads_first",
    "set_history",
    "write",
]


# files of what an in-place form calls on the way to the kernel, and the functions that are such forms
_BETWEEN = {f.__code__.co_filename for f in (write, execute, follow_channels, return_columns)}
_BETWEEN.add(os.path.join(os.path.dirname(write.__code__.co_filename), "op.py"))
_WRITERS = {write.__code__} | {
    constant
    for make in (_unary_method, _binary_method)
    for constant in make.__code__.co_consts
    if isinstance(constant, CodeType)
}
