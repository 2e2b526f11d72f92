"""What entry points leave out: numbers for tensors, mixed types, listeners, errors, `out=`, several results.

`call` does all that a specialised entry point does, by looking at the operator's record. Nothing here is specific to
an operator.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..device import conjugated
from ..device.backend import backend_of, operands
from ..device.buffer import as_array, outline_of
from ..device.conjugated import is_conjugated, view_of
from ..interrupts import raise_if_interrupted
from ..tensor import dtype as dtypes
from ..tensor.casting import cast, copy_in_rows, dense_like
from ..tensor.dtype import c_word
from ..tensor.node import Leaf, Output
from ..tensor.placeholder import call_without_array
from ..tensor.resizing import resize
from ..tensor.size import broadcast_shapes, missing
from ..tensor.storage import Storage, storage_of, tick
from ..tensor.strides import ordered_among
from ..tensor.tensor import Tensor, type_word, wrap
from ..warn import warn
from .autocast import Off
from .errors import argument_type, explain, type_error
from .extension_points import pack_saved, trace_results
from .mode import emit_event, in_kernel, may_branch_on_data, thread
from .number_options import check_read, held
from .overlap import (
    by_element,
    check_apart,
    check_disjoint,
    is_by_element,
    is_overlapping,
    is_read_again,
    out_of_order,
    shares_places,
    store,
)
from .python_signatures import call_error, raise_call_error
from .return_types import of_out
from .scalars import flag_type, number_as
from .torch_kernels import error_of, kernel_word, lacks
from .wrong_arguments import wrong_flag

if TYPE_CHECKING:
    from .op import Op


_new = object.__new__
_OPERANDS = (Tensor, bool, int, float, complex, np.generic)


# By an operator's name: what it gives by other operators, where a number among its options is a tensor.
_BY_OTHERS: dict[str, Callable[..., Any]] = {}


def by_others(name: str) -> Callable[[Callable], Callable]:
    """Decorator: operator `name` as a function of tensors, for options that are tensors without dimensions.

    A program computes such a number in each run, so that no kernel may be given the one of the run that was captured.
    """

    def add(f: Callable) -> Callable:
        _BY_OTHERS[name] = f
        return f

    return add


def is_computed(number: Any) -> bool:
    """Whether a number is a tensor without dimensions whose value is not to be looked at: a recorder listens."""
    if thread.state.listener is None or not isinstance(number, Tensor):
        return False
    return not number._array.ndim and not may_branch_on_data(number)


def composed(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """The result by other operators where a number among the options is computed by a program; None elsewhere."""
    f = _BY_OTHERS.get(record.name)
    if f is None or not any(map(is_computed, metadata)):
        return None
    return record.invoke(f, tensors, metadata)


def call(record: Op, tensors: tuple, metadata: tuple, error: Exception | None) -> Any:
    """Call operator `record`. `error` is what the fast path met, or None where it did not apply."""
    state = thread.state
    if error is not None:
        raise_if_interrupted(error)
    elif record.kind == "binary" and state.level <= 1 and isinstance(tensors[0], Tensor):
        result = _of_two_types(record, tensors[0], tensors[1], metadata, state)
        if result is not None:
            return result
    if record.signature.flags:
        name = record.name.partition(".")[0]
        if wrong := wrong_flag(name, [(n, metadata[i]) for i, n in record.signature.flags]):
            raise flag_type(name, *wrong) from None
    if record.options:
        check_read(record.options, metadata)
    if state.dispatching:
        return state.dispatching.call(record, tensors, metadata)
    if conjugated.exist and any(map(is_conjugated, tensors)):
        return _call_conjugated(record, tensors, metadata, state)
    if state.listener is not None and (result := composed(record, tensors, metadata)) is not None:
        return result
    if state.autocast is not None:
        tensors = state.autocast.inputs(record, tensors)
        if state.level > 1 and state.witness is None and not state.is_watched():
            return _in_region(record, tensors, metadata, state)
    try:
        arrays = prepare(record, tensors)
        r = execute(record, arrays, metadata)
        if type(r) is np.ndarray and r.ndim > 1 and is_by_element(record) and record.laid_as is None:
            r = ordered_among(r, arrays)
        if record.unrounded:
            r = _narrowed(r, arrays)
    except Exception as better:
        raise_if_interrupted(better)
        if _any_asks(tensors):
            return _asked(record, tensors, metadata)
        numbers = tuple([dtypes.of_argument(number_in(m)) for m in metadata])
        if any(a is not b for a, b in zip(numbers, metadata, strict=True)):
            return call(record, tensors, numbers, error)
        raise_call_error(better)
        better.__suppress_context__ = True  # what the fast path met says less
        return call_without_array(record, tensors, metadata, better)
    if state.level > 1 and type(r) is tuple:  # a result and what a gradient rule keeps of it must be one array
        r = tuple([np.asarray(x) if isinstance(x, (np.generic, tuple)) else x for x in r])
    result = _finish(record, tensors, arrays, metadata, r, state)
    if state.level > 1:
        observe(state, record, tensors, metadata, result, r)
    return result


# (operator, type, has dimensions, the other's type, has dimensions) -> the type of both; None where there is more to it
_common: dict[tuple, np.dtype | None] = {}


def _of_two_types(record: Op, x: Tensor, y: Any, metadata: tuple, state: Any) -> Any:
    """The result for arrays of two types, or whole numbers and a float, by the entry point for one type: 5 us instead of 14."""
    a, is_tensor = x._array, isinstance(y, Tensor)
    if type(a) is not np.ndarray:
        return None
    if is_tensor:
        b = y._array
        if type(b) is not np.ndarray:
            return None
        key: tuple = record, a.dtype, a.ndim > 0, b.dtype, b.ndim > 0
    elif type(y) is float or (type(y) is int and record.promote == "float"):
        key = record, a.dtype, a.ndim > 0, type(y), dtypes.get_default_dtype()
    else:
        return None
    d = _common.get(key, ...)
    if d is ...:
        d = _common[key] = _simple_type(record, x, y)
    if d is None:
        return None
    arrays = [cast(a, d), cast(b, d) if is_tensor else y]
    result = record.function(wrap(arrays[0]), wrap(arrays[1]) if is_tensor else y, *metadata)
    if x._edge is None and not (isinstance(y, Tensor) and y._edge is not None):
        return result
    return _finish(record, (x, y), arrays, metadata, result._array, state)


def _simple_type(record: Op, x: Tensor, y: Any) -> np.dtype | None:
    """The type that two operands are brought to; None for those that round in another way, or depend on the default type."""
    if record.promote == "bool" or record.lacks:
        return None
    types = {t.dtype for t in (x, y) if isinstance(t, Tensor)}
    d = common_type(record, (x, y))
    assert d is not None  # of two operands
    by_default = len(types) == 2 and d.category >= 2 and all(t.category < 2 for t in types)
    if by_default or types == {d} or d.category > 2 or d in dtypes.FLOAT8 or types & set(dtypes.FLOAT8):
        return None
    return None if d.category == 2 and d.itemsize == 2 else d.numpy


def _call_conjugated(record: Op, tensors: tuple, metadata: tuple, state: Any) -> Any:
    """The call of an operator among whose tensors are conjugated ones: a view of one is another."""
    first = tensors[0]
    if not (record.view and is_conjugated(first)):
        return record.invoke(record.function, [plain(t) for t in tensors], metadata)
    r = view_of(record.name, record.outputs is not None, first._array, lambda a: execute(record, [a], metadata))
    result = _finish(record, tensors, [first._array.outline], metadata, r, state)
    if state.level > 1:
        observe(state, record, tensors, metadata, result, r)
    return result


def plain(t: Any) -> Any:
    """A tensor with the elements of a conjugated one, and its history; anything else itself."""
    if not is_conjugated(t):
        return t
    out = wrap(t._array.elements())
    out._edge, out._storage = t._edge, t._storage  # the record tells backward of writes
    return out


def number_in(value: Any) -> Any:
    """The number in a tensor without dimensions and without a gradient, which torch takes for an option; others as they are."""
    if isinstance(value, Tensor) and not value._array.ndim and not value.requires_grad:
        return value.item()
    return value


def _in_region(record: Op, tensors: tuple, metadata: tuple, state: Any) -> Any:
    """Call an operator whose inputs autocast has brought to their types, by the fast path: 3 us instead of 8."""
    level, state.level = state.level, state.base_level()
    try:
        return record.invoke(record.function, tensors, metadata)
    finally:
        state.level = level


def operator(record: Op, tensors: tuple, metadata: tuple, error: Exception | None) -> Any:
    """As `call`, for Python's operators: an operand of a foreign type gives NotImplemented."""
    if are_operands(tensors):
        return call(record, tensors, metadata, error)
    if error is not None:
        raise_if_interrupted(error)
    return _asked(record, tensors, metadata) if _any_asks(tensors) else NotImplemented


def _any_asks(values: tuple) -> bool:
    """Whether a value's class has a `__torch_function__` of its own."""
    return any(not isinstance(v, _OPERANDS) and hasattr(type(v), "__torch_function__") for v in values)


def _asked(record: Op, tensors: tuple, metadata: tuple) -> Any:
    from .torch_function import ask_operands

    return ask_operands(record, tensors, metadata)


def are_operands(values: tuple) -> bool:
    """Whether Python's operators take these values; any other is offered to the other side's operator."""
    return all(isinstance(v, _OPERANDS) for v in values)


def execute(record: Op, arrays: list, metadata: tuple) -> Any:
    """Run the kernel without NumPy's floating-point warnings; errors have torch's message."""
    if record.lacks:
        _refuse_lacking(record, arrays, metadata)
    if record.options:
        metadata = held(record.options, metadata, arrays[0].dtype)
    try:
        where = backend_of(arrays)
        if where is None and not in_kernel.get():
            return thread.state.run(record.invoke, record.kernel_for(arrays[record.sized_by]), arrays, metadata)
        with np.errstate(all="ignore"):
            if where is None:
                return record.invoke(record.kernel_for(arrays[record.sized_by]), arrays, metadata)
            return record.invoke(where.kernel(record), operands(where, record, arrays), metadata)
    except Exception as error:
        raise_if_interrupted(error)
        better = explain(record.name, arrays, error, metadata)
        try:
            if better is error:
                raise
            raise better from None
        finally:
            del better  # this frame is in its traceback: together they would keep the tensors until a collection


def _refuse_lacking(record: Op, arrays: list, metadata: tuple) -> None:
    """Raise torch's error where the arrays are of a type that its kernel lacks, after its errors of wrong shapes."""
    first = arrays if record.kind == "binary" else arrays[:1]
    wrong = next((a.dtype for a in first if hasattr(a, "dtype") and lacks(record.lacks, a.dtype)), None)
    if wrong is None:
        return
    if record.kind == "binary":
        broadcast_shapes(*(np.shape(a) for a in arrays))
    elif not record.draws:
        _refuse_other(record, arrays, metadata, wrong)
    raise error_of(record.name, wrong)


def _refuse_other(record: Op, arrays: list, metadata: tuple, wrong: np.dtype) -> None:
    """Raise what the kernel would say to floats of these shapes. Arrays of the type `wrong` may be meant: indices stay."""
    floats = [np.broadcast_to(_F32_ZERO, a.shape) if getattr(a, "dtype", None) == wrong else a for a in arrays]
    said = None if type(arrays[0]) is not np.ndarray else _error(record, [floats[0], *arrays[1:]], metadata)
    try:
        if said is not None and _error(record, floats, metadata) is not None:
            raise said
    finally:
        del said  # this frame is in its traceback: together they would keep the tensors until a collection


def _error(record: Op, arrays: list, metadata: tuple) -> Exception | None:
    try:
        with np.errstate(all="ignore"):
            record.invoke(record.kernel, arrays, metadata)
    except Exception as error:
        raise_if_interrupted(error)
        return error.with_traceback(None)
    return None


_F32_ZERO = np.zeros((), np.float32)


def _finish(record: Op, tensors: tuple, arrays: list, metadata: tuple, r: Any, state: Any) -> Any:
    level = -1 if state.inference else 1 if state.grad else 0
    return finish(record, r, level, tensors, arrays, metadata)


def finish(record: Op, r: Any, level: int, tensors: tuple, arrays: list, metadata: tuple) -> Any:
    """The tensor (or tensors) of a kernel's result `r`, with its node where level is 1."""
    if "finish" not in record.scope:
        record.specialise()
    if record.signature.variadic:
        return record.scope["finish"](r, level, tensors, arrays, *metadata)
    return record.scope["finish"](r, level, *tensors, *arrays, *metadata)


def observe(state: Any, record: Op, tensors: tuple, metadata: tuple, result: Any, r: Any) -> None:
    """Tell the listener of a finished call; `r` is what the kernel returned."""
    if state.listener is not None:  # first: a packing hook may end the call by an exception, as checkpoints do
        emit_event("returned", r)
        state.listener(record, tensors, metadata, result)
    if state.witness is not None:
        state.witness(record, tensors, metadata, result)
    if state.anomaly and trace_results.value is not None:
        trace_results.value(result)
    if state.hooks_saved and pack_saved.value is not None:
        pack_saved.value(result)


# ---------------------------------------------------------------------------------------------- bringing inputs together


def prepare(record: Op, tensors: tuple) -> list:
    """The arrays of the inputs, converted and promoted as the operator declares. Raises TypeError on foreign types."""
    if record.kind == "general" and record.promote is None:
        return [_array_of(record, i, t) for i, t in enumerate(tensors)]
    if record.signature.variadic:
        for i, t in enumerate(tensors):
            if not isinstance(t, Tensor):
                raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    for i, t in enumerate(tensors):
        if not isinstance(t, _OPERANDS) and not (t is None and _optional(record, i)):
            raise _no_tensor(record, i, t)
    if not any(isinstance(t, Tensor) for t in tensors):
        if not record.numbers:
            raise _no_tensor(record, 0, tensors[0])
        tensors = tuple(wrap(number_as(t, dtypes.of_number(t))) for t in tensors)
    d = common_type(record, tensors)
    if d in dtypes.FLOAT8 and record.promote != "bool":
        raise NotImplementedError(f"\"{kernel_word(record.name)}\" not implemented for '{type_word(d)}'")
    if record.unrounded and d is not None and d.itemsize == 2:
        after_number = not isinstance(tensors[0], Tensor)  # the tensor has the result's type then
        return [
            _as_type(t, d if i and after_number else operand_type(record, i, _dims(t), d))
            for i, t in enumerate(tensors)
        ]
    return [t if t is None else _as_type(t, d) for t in tensors]


def _argument(record: Op, i: int) -> str:
    if record.signature.variadic:
        return record.signature.arrays[0]
    return record.signature.arrays[i] if record.kind == "general" else record.shown[i]


def _optional(record: Op, i: int) -> bool:
    return record.signature.variadic or record.signature.arrays[i] in record.signature.optional


def _array_of(record: Op, i: int, t: Any) -> Any:
    if isinstance(t, Tensor):
        return t._array
    if t is None and _optional(record, i):
        return None
    raise _no_tensor(record, i, t)


def _no_tensor(record: Op, i: int, t: Any) -> TypeError:
    if t is ...:  # as entry points have what was not given
        return type_error(missing(record.name, _argument(record, i)))
    return argument_type(record.name, _argument(record, i), i + 1, t)


def common_type(record: Op, tensors: tuple) -> dtypes.dtype | None:
    """The type that the operator's inputs are brought to."""
    p = dtypes.Promotion()
    for t in tensors:
        if isinstance(t, Tensor):
            p.add_array(t.dtype, t._array.ndim)
        elif t is not None:
            p.add_number(t)
    d = p.result()
    return dtypes.get_default_dtype() if record.promote == "float" and d.category < 2 else d


def operand_type(record: Op, i: int, ndim: int | None, d: dtypes.dtype) -> dtypes.dtype:
    """The type of the i-th of an operator's inputs (ndim: of a tensor, None of a number) whose common type is `d`.

    torch multiplies and divides 16-bit floats by a number as float32 has it, and rounds once.
    """
    if not record.unrounded or d.itemsize != 2 or d.category != 2:
        return d
    return dtypes.float32 if (i == 1 and not ndim) or (ndim is None and record.unrounded == "any") else d


def _dims(t: Any) -> int | None:
    return t._array.ndim if isinstance(t, Tensor) else None


def _narrowed(r: Any, arrays: list) -> Any:
    """A result of 16-bit floats and a number, in their type."""
    short = [a.dtype for a in arrays if a.dtype.itemsize == 2]
    return thread.state.run(as_array(r).astype, short[0]) if short and r.dtype.itemsize == 4 else r


def _as_type(t: Any, d: Any) -> Any:
    if isinstance(t, Tensor):
        return cast(t._array, d.numpy)
    return number_as(t, d)


# ---------------------------------------------------------------------------------------------- results


def watch_view(s: Storage, view: Tensor) -> None:
    """Remember a differentiable view, so that an in-place write can give it its new history."""
    views = s.views
    if views is None:
        s.views = [weakref.ref(view)]
        return
    views.append(weakref.ref(view))
    if len(views) > s.prune_at:
        s.views = [r for r in views if r() is not None]
        s.prune_at = max(64, 2 * len(s.views))


def unrecorded(view: Tensor) -> Leaf | None:
    """The history of a view made without recording: it says that it requires grad if its base does."""
    return None if view._base._edge is None else Leaf(None, view._array)  # type: ignore[union-attr]


def mark_inference(t: Tensor) -> None:
    """Flag a tensor as made in inference mode."""
    storage_of(t).inference = True


def check_inference(t: Tensor) -> None:
    """Raise torch's error where a tensor that was made in inference mode is to be kept for backward."""
    s = t._storage
    if s is not None and s.inference:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it "
            f"in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`. (a tensor of shape {list(t.shape)})"
        )


def finish_many(record: Op, results: Any, node: Any, first: Tensor, metadata: tuple, level: int) -> tuple:
    """The tensors of an operator with several results. The first `record.outputs` are differentiable (-1: all)."""
    outputs = -1 if record.outputs is None else record.outputs
    n = len(results) if outputs < 0 else outputs
    if node is not None:
        node.shape = tuple(None if r is None else r.shape for r in results[:n])
    out, shared = [], storage_of(first) if record.view else None
    for i, r in enumerate(results):
        t = wrap(r if type(r) is np.ndarray else as_array(r))
        if shared is not None:
            t._storage = shared
            t._view = (first, record, (*metadata, i), level)
            watch_view(shared, t)
        if node is not None and i < n:
            t._edge = _output_edge(node, i, t._array)
        elif record.view and level <= 0 and first._edge is not None:
            t._edge = unrecorded(t)
        if level < 0 and not record.view:
            mark_inference(t)
        out.append(t)
    return record.bundle(out)


def _output_edge(node: Any, index: int, array: np.ndarray) -> Output:
    e = _new(Output)
    e.seq, e.edges, e.index = tick(), (node,), index
    e.saved, e.storage, e.hooks = (), None, None
    e.shape, e.dtype = array.shape, array.dtype
    return e


def as_kept(record: Op, t: Tensor, array: Any, name: str) -> Tensor:
    """A saved tensor as it was in the call where torch has saved a view of it, which `t.data = ...` does not reach."""
    applies = record.keeps[name]
    if applies is not None and not applies(array):
        return t
    out = wrap(array)
    out._edge = t._edge
    return out


def relink(node: Any, saved: Any, name: str) -> Any:
    """The tensor of a saved result: with its history while a backward is itself recorded."""
    if isinstance(saved, tuple):
        return tuple(relink(node, r, f"out{i}") for i, r in enumerate(saved))
    if isinstance(saved, Tensor):
        return saved
    t = wrap(as_array(saved))
    if node.op.outputs is None:
        t._storage = node.storage
        if thread.state.grad:
            outer = getattr(node, "outer", None)
            t._edge = node if outer is None else outer().edge_of_part()
    elif thread.state.grad:
        i = int(name[3:] or 0)
        if node.op.outputs < 0 or i < node.op.outputs:
            t._edge = _output_edge(node, i, t._array)
    return t


def wrap_extra(array: np.ndarray) -> Tensor:
    """The tensor of an array that a kernel returned for backward's use only."""
    return wrap(as_array(array))


def keeps_history(record: Op, dtype: Any) -> bool:
    """Whether a result of this type, asked for by an option, has a gradient: integers and bools never have one."""
    if dtype is None or dtype.numpy.kind not in "biu":
        return True
    if record.name == "_to_copy":
        return False
    raise RuntimeError(f"Autograd not support dtype: {type_word(dtype)}")


def no_rule(record: Op, array: str) -> Any:
    raise NotImplementedError(f"the derivative of '{record.name}' with respect to '{array}' is not implemented")


# ---------------------------------------------------------------------------------------------- out=


_OUT_DECIDES = ("cumsum", "cumprod")  # they compute in the dtype of `out`


def into_out(record: Op, tensors: tuple, metadata: tuple, out: Any) -> Any:
    """Call an operator and put its result into `out`. An autocast region does not touch such a call."""
    if record.name in _OUT_DECIDES and isinstance(out, Tensor):
        asked = out.dtype if metadata[-1] is None else metadata[-1]
        if asked is not out.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {c_word(asked)}, but got {c_word(out.dtype)} instead"
            )
        metadata = (*metadata[:-1], asked)
    with Off():
        result = call(record, tensors, metadata, None)

    def in_order() -> None:
        by_element(record, out._array, prepare(record, tensors), lambda part: execute(record, part, metadata))

    ordered_by = in_order if is_by_element(record) and isinstance(out, Tensor) else None
    return write_out(
        record.name,
        tensors,
        result,
        out,
        record.kind != "general",
        ordered_by,
        partial(call, record, tensors, metadata, None),
    )


# torch copies a finished result into memory of its own order
_IN_ROWS = (
    "fft_fft", "fft_hfft", "fft_ifft2", "fft_ifftn", "fft_ihfft", "fft_irfft", "fft_rfft", "linalg_tensorinv", "slice_scatter",
)  # fmt: skip


def write_out(
    name: str,
    inputs: tuple,
    result: Any,
    out: Any,
    elementwise: bool = False,
    in_order: Callable | None = None,
    again: Callable | None = None,
) -> Any:
    """Copy `result` into the tensor (or tuple of tensors) `out`, which is resized where its shape differs.

    elementwise: of an operator that torch runs element by element, which looks at the memory of `out` before that.
    in_order: computes into `out` element after element, where what it reads is in the memory that it writes.
    again: computes the result of what is in the inputs' memory by then.
    """
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise call_error() or TypeError(
                f"{name}(): argument 'out' must be tuple of {len(result)} Tensors, not {type(out).__name__}"
            )
        for r, o in zip(result, out, strict=True):
            write_out(f"{name}.dim" if name in ("max", "min") else name, inputs, r, o)
        return type(result)(out) if type(result) is tuple else of_out(type(result))(*out)
    if not isinstance(out, Tensor):
        raise call_error() or TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if name in _OUT_BY_OVERLOAD and (error := call_error()) is not None:
        raise error
    _check_out(name, result, out)
    storage = storage_of(out)
    written_last = is_conjugated(out)  # its elements are worked out first
    if name in _CHECKED_FIRST and not written_last:
        check_apart(out._array)
    for t in inputs:
        if isinstance(t, Tensor) and t._storage is storage and not written_last:
            _check_reading(name, result, out, t, t is inputs[0])
    by_slices = None
    resized = out._array.shape != result._array.shape
    if resized and any(t is out for t in inputs) and name not in _COMPUTED_FIRST and not written_last:
        result = _of_resized(name, result, out, again)
        resized = out._array.shape != result._array.shape
    if name in _SLICE_BY_SLICE and again is not None and result._array.ndim and not written_last:
        shared = [t for t in inputs if isinstance(t, Tensor) and t._storage is storage]
        if any(is_overlapping(out._array, t._array) for t in shared):
            by_slices = partial(_write_slices, name, out, again)
    if name in _INTO_READ:  # the result is there already
        inputs = ()
    if resized and (elementwise or name in _BROADCAST or name in _CHECKED_FIRST) and not written_last:
        _check_memory(out, inputs, storage)
    if resized:
        resize_out(out, copy_in_rows(result._array) if name.startswith(_IN_ROWS) else result._array)
    if written_last:
        check_apart(out._array)
        in_order = None
    elif not (read_again := _check_memory(out, inputs, storage)) and not shares_places(outline_of(out._array)):
        in_order = None
    elif in_order is None and (read_again or name not in _BROADCAST):
        raise out_of_order(name)
    if by_slices is not None:
        by_slices()
    elif in_order is not None:
        in_order()
    else:
        store(out._array, result._array)
    storage.wrote(f"{name}(out=...)")
    if thread.state.level > 1:
        emit_event("wrote", out, result._array, (result,))
    return out


# operators that torch gives `out` in some of their overloads only, as where `dim` is given, or in none
_OUT_BY_OVERLOAD = frozenset({"masked_fill", "median", "nanmedian", "nansum", "prod", "std", "sum", "var"})
# operators of torch that may not write to what they read, not even to all of it
_NOT_ONTO = frozenset({
    "cat", "column_stack", "cross", "dstack", "gather", "hstack", "index_select", "linalg_cross", "masked_select", "nonzero",
    "stack", "take", "take_along_dim", "vstack",
})  # fmt: skip
# operators that write at places which other tensors name: torch refuses these where they share memory with what is written,
# which may be the first input
READS_ELSEWHERE = frozenset({
    "index_add", "index_copy", "index_fill", "index_put", "index_reduce", "put", "scatter", "scatter.reduce", "scatter.value",
    "scatter_add", "scatter_reduce",
})  # fmt: skip
# products whose factors torch reads again after writing
_READ_AGAIN = frozenset(
    {"addbmm", "addmm", "addmv", "baddbmm", "bmm", "linalg_solve_triangular", "linear", "mv", "solve_triangular"}
)
_BROADCAST = frozenset({
    "add", "addcdiv", "addcmul", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "clamp", "copysign", "div", "eq", "fmax",
    "fmin", "fmod", "ge", "gt", "hypot", "ldexp", "le", "lerp", "logaddexp", "logical_and", "logical_or", "logical_xor", "lt",
    "maximum", "minimum", "mul", "ne", "nextafter", "pow", "remainder", "sub", "where", "xlogy",
})  # fmt: skip


# reductions of torch that write their numbers once they are there, also to what they have read (sum, mean, prod, amax and
# amin begin by writing to `out`, and read that again)
_INTO_READ = frozenset({
    "dot", "logsumexp", "median", "nanmedian", "nanquantile", "norm", "quantile", "special_ndtr", "std", "var", "vdot",
    "vector_norm",
})  # fmt: skip
_CHECKED_FIRST = frozenset({"index_select", "outer", "take"})  # so do these, as does all in `_BROADCAST`


# of these, those that write each number before they read the next one's slice
_SLICE_BY_SLICE = frozenset({"linalg_vector_norm", "std", "var", "vector_norm"})
_MOST_SLICES = 4096  # each is computed again, with all others
# those that read an input which is also `out` before that takes the shape of the result
_COMPUTED_FIRST = frozenset({
    "diag", "diagonal_copy", "dot", "logsumexp", "matrix_norm", "narrow_copy", "norm", "select_copy", "slice_copy", "unfold_copy",
    "unsqueeze_copy", "vdot", "view_copy",
})  # fmt: skip
# what reductions write to `out` before they read
_BEGIN_WITH: dict[str, Callable[[np.dtype], Any]] = {
    "all": lambda d: True,
    "amax": lambda d: -np.inf if d.kind in "fV" else False if d.kind == "b" else np.iinfo(d).min,
    "amin": lambda d: np.inf if d.kind in "fV" else True if d.kind == "b" else np.iinfo(d).max,
    "any": lambda d: False,
    "argmax": lambda d: 0,
    "argmin": lambda d: 0,
    "mean": lambda d: 0,
    "nansum": lambda d: 0,
    "prod": lambda d: 1,
    "sum": lambda d: 0,
}


def _of_resized(name: str, result: Tensor, out: Tensor, again: Callable | None) -> Tensor:
    """The result of an operator whose input is `out`, where torch gives that the result's shape before it reads it.

    Reductions then read what they began with, and have an IndexError where their dimension is gone.
    """
    if not out._array.size and not result._array.size:
        return result
    begin = _BEGIN_WITH.get(name)
    if again is None or begin is None and (name not in _SLICE_BY_SLICE or result._array.ndim):
        raise NotImplementedError(
            f"{name}(): `out` is an input of another shape than the result's, {list(result._array.shape)}, and would be "
            "resized before it is read: give another tensor"
        )
    resize_out(out, result._array)
    with Off():
        whole = again()
        while name == "mean" and whole._array.shape != out._array.shape:  # a sum into `out`, which is resized once more
            resize_out(out, whole._array)
            whole = again()
    if begin is None:
        return whole
    first = begin(out._array.dtype)
    return wrap(np.full(out._array.shape, first, out._array.dtype))


def _write_slices(name: str, out: Tensor, again: Callable) -> None:
    """Write the numbers of a reduction one after the other, each of what is in the memory by then."""
    if out._array.size > _MOST_SLICES:
        raise out_of_order(name)
    with Off():
        for i in np.ndindex(out._array.shape):
            out._array[i] = again()._array[i]


def _check_memory(out: Tensor, inputs: tuple, storage: Any) -> bool:
    """Whether `out` is written over what is still to be read.

    Raises RuntimeError where two elements of `out` share a place, or it overlaps what is read in a way torch refuses.
    """
    check_apart(out._array)
    again = [
        is_read_again(out._array, t._array)
        for t in inputs
        if isinstance(t, Tensor) and t is not out and t._storage is storage
    ]
    return any(again)


def _check_reading(name: str, result: Tensor, out: Tensor, t: Tensor, first: bool) -> None:
    """Raise RuntimeError where torch does not let an operator write to an input `t`."""
    if name in _NOT_ONTO or name in READS_ELSEWHERE and not first:
        of_none = not result._array.size and (
            name in ("stack", "take_along_dim") or name in _JOINED and t._array.ndim == 1
        )
        if out._array.size or t is out and not of_none:  # torch looks at the size of others only
            check_disjoint(out._array, t._array)
    if (
        name in _READ_AGAIN
        and not (first and name.startswith(("add", "badd")))
        and is_overlapping(out._array, t._array)
    ):
        raise out_of_order(name)
    shape = result._array.shape
    if t is out and name in _BROADCAST and out._array.shape != shape:
        raise RuntimeError(f"output with shape {list(out.shape)} doesn't match the broadcast shape {list(shape)}")


# operators of torch that write their result as it is: their `out` has to have its dtype; all others cast
_EXACT_OUT = frozenset({
    "abs", "addbmm", "addmm", "addmv", "all", "amax", "amin", "any", "argmax", "argmin", "baddbmm", "bmm", "cholesky", "clamp",
    "clamp_max", "clamp_min", "cross", "diag", "diagonal_copy", "dot", "eigvalsh", "expand_copy", "heaviside", "histc",
    "index_add", "index_copy", "index_reduce", "index_select", "inner", "inv", "inverse", "isin", "isneginf", "isposinf",
    "linalg_det", "log_softmax", "logcumsumexp", "masked_select", "matmul", "matrix_norm", "matrix_power", "max.dim", "min.dim", "mm",
    "mode", "msort", "multi_dot", "mv", "nan_to_num", "nanquantile", "narrow_copy", "nonzero", "norm", "permute_copy",
    "quantile", "renorm", "round", "scatter", "scatter_add", "scatter_reduce", "searchsorted", "select_copy", "signbit",
    "slice_copy", "softmax", "solve", "sort", "squeeze_copy", "svdvals", "t_copy", "take", "take_along_dim", "tensordot",
    "topk", "transpose_copy", "tril", "triu", "unfold_copy", "unsqueeze_copy", "vdot", "vector_norm", "view_copy", "where",
})  # fmt: skip


_UNNAMED = frozenset({"argmax", "argmin", "isin", "max.dim", "min.dim", "sort", "topk", "vector_norm"})  # in that error
_JOINED = frozenset({"cat", "column_stack", "dstack", "hstack", "stack", "vstack"})
# operators of torch whose kernel writes elements of the input's type
_UNARY_OUT = frozenset({"bitwise_not", "ceil", "conj_physical", "floor", "frac", "neg", "sgn", "sign", "trunc"})


def _takes_out(name: str, d: dtypes.dtype) -> bool:
    return d.is_complex if name == "abs" else d in (dtypes.uint8, dtypes.bool_) and name in ("any", "all")


def _check_out(name: str, result: Tensor, out: Tensor) -> None:
    if name in _EXACT_OUT and result.dtype is not out.dtype and not _takes_out(name, out.dtype):
        if name in ("amax", "amin"):
            words = type_word(result.dtype), type_word(out.dtype)
            raise RuntimeError(
                "Expected the dtype for input and out to match, but got {} for input's dtype and {} for out's dtype.".format(
                    *words
                )
            )
        if name in ("all", "any"):
            raise RuntimeError(f"{name} only supports bool tensor for result, got: {type_word(out.dtype)}")
        prefix = "" if name in _UNNAMED else f"{name}(): "
        raise RuntimeError(
            f"{prefix}Expected out tensor to have dtype {c_word(result.dtype)}, but got {c_word(out.dtype)} instead"
        )
    if name in _UNARY_OUT and result.dtype is not out.dtype:
        raise RuntimeError(f"Found dtype {type_word(out.dtype)} but expected {type_word(result.dtype)}")
    if not dtypes.can_cast(result.dtype, out.dtype) and not (name in _EXACT_OUT and _takes_out(name, out.dtype)):
        if name in _JOINED:
            word = type_word(out.dtype)
            raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {word}")
        raise RuntimeError(
            f"result type {type_word(result.dtype)} can't be cast to the desired output type {type_word(out.dtype)}"
        )
    if thread.state.grad and result.dtype.category and (result._edge is not None or out._edge is not None):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )


def resize_out(out: Tensor, like: np.ndarray) -> None:
    """Give `out` the shape of the result `like`, and its order in memory where its elements fill that."""
    shape = like.shape
    if out._array.size:
        warn(
            "An output with one or more elements was resized since it had shape "
            f"{list(out._array.shape)}, which does not match the required output shape {list(shape)}. This behavior is "
            "deprecated, and in a future PyTorch release outputs will not be resized unless they have zero elements. "
            "You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
        )
    dense = dense_like(like, out._array.dtype)
    resize(out, shape, dense.strides)
