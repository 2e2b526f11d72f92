"""Programs of single operators, for eager kernels of many NumPy calls (`jit_min_elements` in their records).

They are made in loops whose backward is compiled (`backward.py`), since the compiler is loaded by then, and after much work of
such kernels (`compile/install.py`). A program is made once calls with arrays of the same shapes, and the same other arguments,
have worked on `jit_warmup` elements: for about as long as making it takes. Its results differ from the kernel's by rounding. It belongs to the thread in which it was
made. Decision 24.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core.determinism import mode
from ...core.dispatch.mode import take_target, thread
from ...core.dispatch.op import Op
from ...core.tensor.casting import broadcast_strides, copy_in_rows, innermost_first
from ...ops.pointwise.building_blocks import MANY
from ..capture.sources import Argument, Fresh
from ..ir.graph import Call, Graph, Value
from ..lower.eager import bilinear, copies, recurrent, rows, selection
from ..passes.replicated import is_rounded_alike
from ..runtime.native import Native
from . import eager_sums, flat
from .cache import Entry, Refused, Route

__all__ = ["bilinear", "copies", "eager_sums", "recurrent", "rows", "run", "selection"]

_LAYERS = tuple(f"rushlight.ops.{folder}." for folder in ("nn", "spatial"))
_AT_LEAST = 1 << 15  # elements that a call counts for

# By an operator's name, arrays' shapes, and other arguments.
_route: Route[_Program] = Route("eager")
_state = _route.state


def run(record: Op, arguments: tuple, keywords: dict[str, Any]) -> Any:
    """What an operator's kernel gives for these arguments: by a program, once they have come often enough."""
    if mode.on:
        return record.kernel(*arguments, **keywords)
    for a in arguments:
        if type(a) is np.ndarray and not a.flags.c_contiguous:
            return _in_order_of_memory(record, arguments, keywords)
    return _run(record, arguments, keywords, partial(record.kernel, *arguments, **keywords))


def _run(record: Op, arguments: tuple, keywords: dict[str, Any], compute: Callable[[], Any]) -> Any:
    key = None
    try:
        outline = flat.outline(record, arguments, keywords)
        program = None if outline is None else flat.find(outline)
        if program is None and (_elements(arguments) >= MANY or not flat.may_serve(outline)):
            key = record.name, *map(_outline, arguments), *map(_outline, keywords.values())
            program = _state.programs.get(key)
    except TypeError:  # a list among the arguments
        return compute()
    if program is not None and (program.is_exact or not _is_shared(record)):
        return program(arguments)
    results = compute()
    if program is not None:
        return results
    if outline is not None and flat.consider(record, outline, arguments, keywords, results):
        return results
    if key is None or (record.kind != "general" and not _are_contiguous(arguments)):
        return results
    if _route.is_due(key, max(_elements(arguments), _AT_LEAST), record.jit_warmup):
        _route.make(key, lambda: _Program(record, arguments, keywords, results), lambda: record.name)
    return results


def _in_order_of_memory(record: Op, arguments: tuple, keywords: dict[str, Any]) -> Any:
    """A call with arrays that are not C-contiguous: transposed as torch lays out the result, they are, or few are copied.

    That is for operators of each element by itself only: `flat` knows, and the kinds of records that are rows of a table.
    """
    kernel = partial(record.kernel, *arguments, **keywords)
    try:
        outline = flat.outline(record, arguments, keywords, any_order=True)  # it is the same for transposed arrays
        program = None if outline is None else flat.find(outline)
    except TypeError:  # a list among the arguments
        return kernel()
    is_map = outline is not None and flat.may_serve(outline)
    if not is_map and record.kind == "general":
        return kernel() if len(record.signature.arrays) == 1 else _run(record, arguments, keywords, kernel)
    arrays = [a for a in arguments if type(a) is np.ndarray]
    try:
        shape = arrays[0].shape if len(arrays) == 1 else np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:  # the kernel says it better
        return kernel()
    order = innermost_first(shape, [broadcast_strides(a, shape) for a in arrays])[::-1]
    back = np.argsort(order)
    moved = tuple([_transposed(a, order) if type(a) is np.ndarray and a.ndim else a for a in arguments])

    def compute() -> Any:
        result = kernel()
        return result.transpose(order) if type(result) is np.ndarray and result.shape == shape else result

    def restored(result: Any) -> Any:
        return result.transpose(back) if type(result) is np.ndarray and result.ndim == len(order) else result

    if not is_map:
        if not all(a.flags.c_contiguous for a in moved if type(a) is np.ndarray):
            return kernel()
        return restored(_run(record, moved, keywords, compute))
    if program is None or not (program.is_exact or not _is_shared(record)):
        results = compute()
        is_elsewhere = type(results) is np.ndarray and not results.flags.c_contiguous  # no reason to refuse all others
        if outline is not None and program is None and not is_elsewhere:
            flat.consider(record, outline, moved, keywords, results)
        return restored(results)
    own = [a if type(a) is not np.ndarray or a.flags.c_contiguous else copy_in_rows(a) for a in moved]
    if take_target(arguments[0]) and own[0] is moved[0]:
        thread.state.target = own[0]
    result = program(own)
    return arguments[0] if result is moved[0] else result.transpose(back)


def _transposed(a: np.ndarray, order: list[int]) -> np.ndarray:
    """The array as one of so many axes, in this order."""
    return (a if a.ndim == len(order) else a.reshape((1,) * (len(order) - a.ndim) + a.shape)).transpose(order)


def _is_shared(record: Op) -> bool:
    """Whether other processes may compute the same: not in the layers of a network that learns, each from its own batch."""
    return mode.shared and not (thread.state.grad and record.reference.__module__.startswith(_LAYERS))


def _elements(arguments: tuple) -> int:
    return next(a.size for a in arguments if type(a) is np.ndarray)


def _are_contiguous(arguments: tuple) -> bool:
    """Whether a program need copy none of the arrays."""
    return all(a.flags.c_contiguous for a in arguments if type(a) is np.ndarray)


def _outline(argument: Any) -> Any:
    """What of an argument a program is made for: -0.0 is not 0.0, nor is True 1."""
    if type(argument) is np.ndarray:
        return argument.shape, argument.dtype, argument.flags.c_contiguous
    return type(argument), argument.hex() if type(argument) is float else argument


class _Program(Entry):
    """Native code for a call of an operator with arrays of these shapes. It gives what the kernel gave."""

    def __init__(self, record: Op, arguments: tuple, keywords: dict[str, Any], results: Any):
        graph = Graph()
        graph.as_eager = True
        n = len(record.signature.arrays)
        self.places = [i for i, a in enumerate(arguments) if type(a) is np.ndarray]
        self.several = type(results) is tuple
        operands: list[Any] = list(arguments[:n])
        for place in self.places:
            value = Value(arguments[place].shape, arguments[place].dtype)
            graph.inputs[value] = Argument(place)
            operands[place] = value.ref()
        if not all(r.flags.c_contiguous for r in (results if self.several else (results,))):
            raise Refused("a result is not C-contiguous")
        outs = [Value(r.shape, r.dtype) for r in (results if self.several else (results,))]
        metadata = (*arguments[n:], *keywords.values())
        graph.nodes.append(Call(record, tuple(operands), metadata, None, tuple(v.ref() for v in outs)))
        graph.outputs += [(v.ref(), Fresh(i)) for i, v in enumerate(outs)]
        self.native = Native(graph, among_eager=True)
        made = self.native.graph
        if any(isinstance(node, Call) for node in made.nodes):
            raise Refused(str(made.reasons) or "the kernel reads tensor values")
        self.refused, self.kernel = tuple({error for _, error, _ in made.checks}), partial(record.kernel, **keywords)
        super().__init__(self.native.size_bytes)
        self.is_exact = is_rounded_alike(made.nodes)
        self.nothing: list[np.ndarray | None] = [None] * len(outs)

    def is_running(self) -> bool:
        return self.native.lock.locked()

    def __call__(self, arguments: tuple) -> Any:
        self.used = _state.clock()
        self.uses += 1
        arrays = [np.ascontiguousarray(arguments[place]) for place in self.places]
        try:
            results = self.native.run(arrays, self.nothing)
        except self.refused:  # an index that is outside: the kernel raises its own error
            return self.kernel(*arguments)
        return tuple(results) if self.several else results[0]
