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
from ...core.dispatch.mode import thread
from ...core.dispatch.op import Op
from ...core.tensor.casting import copy_in_rows
from ...ops.pointwise.building_blocks import MANY
from ..capture.sources import Argument, Fresh
from ..ir.graph import Call, Graph, Value
from ..lower.eager import bilinear, copies, recurrent, rows, selection
from ..passes.replicated import is_rounded_alike
from ..runtime.native import Native
from . import eager_sums, flat
from .cache import Entry, Refused, Route
from .layout import Layout, layout_of

__all__ = ["bilinear", "copies", "eager_sums", "recurrent", "rows", "run", "selection"]

_LAYERS = tuple(f"rushlight.ops.{folder}." for folder in ("nn", "spatial"))
_AT_LEAST = 1 << 15  # elements that a call counts for

# By an operator's name, arrays' shapes, and other arguments.
_route: Route[_Program] = Route("eager")
_state = _route.state


def run(record: Op, arguments: tuple, keywords: dict[str, Any]) -> Any:
    """What an operator's kernel gives for these arguments: by a program, once they have come often enough."""
    if mode.on:
        return record.compute(arguments, keywords)
    first = None
    for a in arguments:
        if type(a) is np.ndarray and a.ndim:
            first = a if first is None else first
            if not a.flags.c_contiguous or a.shape != first.shape:
                return _in_rows(record, arguments, keywords)
    return _run(record, arguments, keywords, partial(record.compute, arguments, keywords))


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


def _in_rows(record: Op, arguments: tuple, keywords: dict[str, Any]) -> Any:
    """A call with arrays that are not C-contiguous, or not of one shape: by a program of an elementwise operator, row by row."""
    compute = partial(record.compute, arguments, keywords)
    layout = _layout(record, arguments)
    if layout is None:
        return compute() if record.kind != "general" else _run(record, arguments, keywords, compute)
    if layout.is_one and record.kind != "general" and not layout.is_written:
        one = [a[(slice(1),) * a.ndim] if type(a) is np.ndarray else a for a in arguments]
        return copy_in_rows(np.broadcast_to(record.kernel(*one), layout.result_shape))
    try:
        outline = flat.outline(record, arguments, keywords, layout)
        if layout.rows is None or not flat.may_serve(outline):
            outline = None
    except TypeError:  # a list among the arguments
        return compute()
    if outline is None:
        return _otherwise(record, arguments, keywords, layout, compute)
    program = flat.find(outline)
    if program is not None and (program.is_exact or not _is_shared(record)):
        result = program.over(arguments, layout)
        return compute() if result is None else result
    results = compute()
    if program is None:
        flat.consider(record, outline, arguments, keywords, results, layout)
    return results


def _layout(record: Op, arguments: tuple) -> Layout | None:
    """How a call goes through its arrays; None where they do not fit one another."""
    places = [i for i, a in enumerate(arguments) if type(a) is np.ndarray and a.ndim]
    deciding = None
    if record.laid_as is not None:
        deciding = tuple([places.index(i) for i in record.laid_as(arguments) if i in places])
    return layout_of([arguments[i] for i in places], thread.state.target is arguments[0], deciding)


def _otherwise(
    record: Op, arguments: tuple, keywords: dict[str, Any], layout: Layout, compute: Callable[[], Any]
) -> Any:
    """Where rows are too short, or an element depends on others: a program of these shapes.

    An operator of the table is given its arrays in the order of their memory, if they have none else there.
    """
    arrays = [a for a in arguments if type(a) is np.ndarray and a.ndim]
    if record.kind == "general" or any(a.shape != layout.result_shape for a in arrays):
        is_one = len(record.signature.arrays) == 1
        return compute() if is_one else _run(record, arguments, keywords, compute)
    moved = tuple([layout.transposed(a) if type(a) is np.ndarray and a.ndim else a for a in arguments])
    if not _are_contiguous(moved):
        return compute()
    return layout.restored(_run(record, moved, keywords, lambda: layout.transposed(compute())))


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
