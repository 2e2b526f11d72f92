"""Programs of elementwise operators for arrays of any number of elements, which eager calls run on all cores.

A program serves every shape: of its arrays it wants only that they are C-contiguous and alike, or that a `Layout` says how they
are gone through in rows. A number that meets an array of floats in a row of the table is an input, other numbers are part of
what a program is made for, and so is which arrays are one element along a row. It is made once its operator has
worked on a fifth of `jit_warmup` elements. Decision 39.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ...backend.onednn.address import address
from ...core import poison
from ...core.dispatch.mode import take_target
from ...core.dispatch.op import Op
from ...ops.pointwise.building_blocks import LEAST_COUNTED
from ..capture.sources import Argument, Fresh
from ..ir.graph import Call, Graph, Loop, Nest, Ref, Value
from ..lower.eager.flat import LENGTH, emitted
from ..lower.llvm.nest import values_of
from ..passes.replicated import is_rounded_alike
from ..runtime.native import optimise
from .cache import Entry, Refused, Route
from .layout import Layout

__all__ = ["WARMUP", "consider", "find", "may_serve", "outline"]

WARMUP = 5  # what part of `jit_warmup` is enough: making a program takes 2 ms where its code is on disk, else 10 to 40

_TRIAL = 1 << 12  # elements: at `LENGTH`, a kernel that makes arrays like its operands would fill the memory

_route: Route[_Program] = Route("flat")
_state = _route.state


def outline(
    record: Op, arguments: Sequence[Any], keywords: dict[str, Any], layout: Layout | None = None
) -> tuple[Hashable, ...] | None:
    """What a program is made for; None where the arrays are not alike, or not C-contiguous, without a layout."""
    is_row = record.kind != "general"
    shape = None
    key: list[Hashable] = [record.name]
    repeated = iter(()) if layout is None else iter(layout.repeated)
    for a in (*arguments, *keywords.values()):
        if type(a) is np.ndarray and not a.ndim:
            key += [None, a.dtype]
        elif type(a) is np.ndarray:
            if shape is None:
                shape = a.shape if layout is None else layout.shape
                if not is_row:
                    key.append(len(shape))
            if layout is not None:
                key.append((a.dtype,) if next(repeated, False) else a.dtype)
                continue
            if a.shape != shape or not a.flags.c_contiguous:
                return None
            key.append(a.dtype)
        elif is_row and (type(a) is float or type(a) is int):
            key.append(None)
        else:
            key += [type(a), a.hex() if type(a) is float else a]
    return None if shape is None else tuple(key)


def find(key: tuple[Hashable, ...]) -> _Program | None:
    """The program that was made for an outline."""
    return _state.programs.get(key)


def may_serve(key: tuple[Hashable, ...] | None) -> bool:
    """Whether there can be a program for an outline: not for what needs more than the elements at their own places."""
    return key is not None and key not in _state.refused


def consider(
    record: Op,
    key: tuple[Hashable, ...],
    arguments: Sequence[Any],
    keywords: dict[str, Any],
    results: Any,
    layout: Layout | None = None,
) -> bool:
    """Count a call that the kernel has served, and make a program when it is time. Whether no other one should be made."""
    if key in _state.refused:
        return False
    size = results.size if type(results) is np.ndarray else record.jit_warmup
    if _route.is_due(key, max(LEAST_COUNTED, size), record.jit_warmup // WARMUP):
        _route.make(key, lambda: _Program(record, arguments, keywords, results, layout), lambda: record.name)
    return record.kind != "general" or key in _state.programs


class _Program(Entry):
    """Native code for an operator and arrays of these types. It gives what the kernel gave."""

    __slots__ = ("_flat", "_takes", "_places", "_numbers", "_dtype", "_first", "is_exact")

    def __init__(
        self, record: Op, arguments: Sequence[Any], keywords: dict[str, Any], result: Any, layout: Layout | None = None
    ):
        super().__init__()
        n = len(record.signature.arrays)
        arrays = [i for i, a in enumerate(arguments) if type(a) is np.ndarray]
        whole = [i for i in arrays if arguments[i].ndim]
        self._first = whole[0]
        shape = arguments[self._first].shape
        is_like = type(result) is np.ndarray and result.shape == (shape if layout is None else layout.result_shape)
        if not is_like or (layout is None and not result.flags.c_contiguous):
            raise Refused("the result is not like its operands")
        self._dtype = result.dtype
        is_row = record.kind != "general"
        first = arguments[self._first].dtype
        number = first if is_row and first.kind == "f" else None
        self._numbers = [(i, number) for i in range(n) if number and i not in arrays and arguments[i] is not None]
        metadata = (*arguments[n:], *keywords.values())
        ndim = 1 if is_row else len(shape if layout is None else layout.shape)
        repeated = () if layout is None else [i for i, one in zip(whole, layout.repeated, strict=True) if one]
        found = [
            _nest(record, arguments[:n], metadata, result.dtype, _halved(size, ndim), number, repeated)
            for size in (_TRIAL, LENGTH)
        ]
        nest, places = found[-1]
        self._flat, self.is_exact = emitted(nest), is_rounded_alike([nest])
        self._takes = [places.get(value, len(arguments)) for value in values_of(nest)]
        of_layout = {i: k for k, i in enumerate(whole)} | {len(arguments): len(whole)}
        self._places = tuple([of_layout.get(i, -1) for i in self._takes])

    def __call__(self, arguments: Sequence[Any]) -> np.ndarray:
        self.used = _state.clock()
        self.uses += 1
        first = arguments[self._first]
        out = first if first.dtype is self._dtype and take_target(first) else np.empty(first.shape, self._dtype)
        if poison.on and out is not first:
            poison.fill(out)
        arrays = [*arguments, out]
        for i, dtype in self._numbers:
            arrays[i] = np.array(arrays[i], dtype)
        self._flat.run(out.size, [address(arrays[i]) for i in self._takes])
        return out

    def over(self, arguments: Sequence[Any], layout: Layout) -> np.ndarray | None:
        """The same over arrays that are not alike. None where the result has another type than what it is written to."""
        if layout.is_written and self._dtype is not arguments[self._first].dtype:
            return None
        self.used = _state.clock()
        self.uses += 1
        whole = [i for i, a in enumerate(arguments) if type(a) is np.ndarray and a.ndim]
        own = layout.moved([arguments[i] for i in whole])
        if layout.is_written and take_target(arguments[0]):
            out = own[0]
        else:
            out = np.empty(layout.shape, self._dtype)
            if poison.on:
                poison.fill(out)
        arrays = [*arguments, out]
        for i, a in zip(whole, own, strict=True):
            arrays[i] = a
        for i, dtype in self._numbers:
            arrays[i] = np.array(arrays[i], dtype)
        words = layout.words(self._places, out.itemsize)
        assert layout.rows is not None
        self._flat.strided().run(layout.rows, words, [address(arrays[i]) for i in self._takes])
        return arguments[0] if out is own[0] else layout.restored(out)


def _nest(
    record: Op,
    operands: Sequence[Any],
    metadata: tuple,
    dtype: np.dtype,
    shape: tuple[int, ...],
    number: np.dtype | None,
    repeated: Sequence[int] = (),
) -> tuple[Nest, dict[Value, int]]:
    """The one nest of an operator over a shape, and which operand each of its values is, but for the result.

    number: the type of operands that are numbers; None: there are none. repeated: which operands are one element. Raises Refused where it is something else.
    """
    graph = Graph()
    graph.as_eager = True
    values = list(operands)
    places: dict[Value, int] = {}
    for i, a in enumerate(operands):
        if type(a) is np.ndarray:
            value = Value((1,) * len(shape) if i in repeated else shape if a.ndim else (), a.dtype)
        elif a is None:
            continue
        elif number is None:
            raise Refused("a number for an array")
        else:
            value = Value((), number)
        values[i] = value.ref()
        graph.inputs[value] = Argument(i)
        places[value] = i
    out = Value(shape, dtype)
    graph.nodes.append(Call(record, tuple(values), metadata, None, (out.ref(),)))
    graph.outputs.append((out.ref(), Fresh(0)))
    return _map(optimise(graph), out), places


def _map(graph: Graph, out: Value) -> Nest:
    """Raises Refused where a graph is not one nest whose elements are each made from the elements at their own places."""
    if graph.checks or len(graph.nodes) != 1 or not isinstance(graph.nodes[0], Nest):
        raise Refused(str(graph.reasons) or "the kernel is not one loop")
    if any(value.shape for value in graph.constants):
        raise Refused("the kernel makes an array of its own")
    nest = graph.nodes[0]
    for stage in nest.stages:
        if not isinstance(stage, Loop) or stage.space != out.shape:
            raise Refused("the kernel reduces")
        for store in stage.stores:
            refs = [store.ref, *(e.data for e in store.expr.walk() if e.op == "load")]
            if any(e.op in ("gather", "index") for e in store.expr.walk()) or not all(map(_is_own_place, refs)):
                raise Refused("an element depends on others, or on its place")
    if nest.local:
        raise Refused("the kernel keeps intermediate values")
    return nest


def _halved(size: int, ndim: int) -> tuple[int, ...]:
    """A shape of so many elements and axes."""
    return (2,) * (ndim - 1) + (size >> (ndim - 1),)


def _is_own_place(ref: Ref) -> bool:
    return not ref.offset and (ref.is_whole() or not any(ref.strides))
