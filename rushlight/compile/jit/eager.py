"""Programs of single operators, for eager kernels of many NumPy calls (`jit_min_elements` in their records).

They are made only in loops whose backward is compiled (`backward.py`): the compiler is loaded by then. A program is made
once calls with arrays of the same shapes, and the same other arguments, have worked on `jit_warmup` elements: for about
as long as making it takes. Its results differ from the kernel's by rounding. It belongs to the thread in which it was
made. Decision 24.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from ...autograd import engine
from ...backend.onednn.precision import fpmath
from ...core.determinism import mode
from ...core.dispatch.op import JIT_CANDIDATES, Record
from ...core.locks import made_once
from ..capture.sources import Argument, Fresh
from ..ir.graph import Call, Graph, Value
from ..log import show

__all__ = ["install"]

PROGRAMS = 32  # of a thread
_MOST_BYTES = 1 << 28  # of memory that they keep, in a thread
_IDLE = 1000  # uses of other programs after which one may be replaced
_COUNTED = 4096  # kinds of calls whose elements are counted
_AT_LEAST = 1 << 15  # elements that a call counts for


class _State(threading.local):
    """What is known in a thread, by an operator's name, how products are rounded, arrays' shapes, and other arguments.

    Threads do not see each other's counts and clocks: a thread's results do not depend on what others do.
    """

    def __init__(self):
        self.is_on = False
        self.clock = count().__next__
        self.elements: dict[tuple, int] = {}
        self.programs: dict[tuple, _Program] = {}
        self.refused: set[tuple] = set()


_state = _State()


def install() -> None:
    """Let this thread's calls of these operators be programs, once they have come with the same shapes often enough."""
    _override()
    _state.is_on = True


@made_once
def _override() -> None:
    """Have the kernels ask, in threads that do."""
    for record in JIT_CANDIDATES:
        _prefer_programs(record)


def _prefer_programs(record: Record) -> None:
    """Have an operator's kernel try a program where its first array is large enough."""
    kernel, least = record.kernel, record.jit_min_elements
    assert least is not None

    def preferred(first: Any, *rest: Any, **keywords: Any) -> Any:
        if type(first) is np.ndarray and first.size >= least and _state.is_on and engine._on and not mode.on:
            return _run(record, kernel, (first, *rest), keywords)
        return kernel(first, *rest, **keywords)

    record.override(preferred)


def _run(record: Any, kernel: Callable, arguments: tuple, keywords: dict[str, Any]) -> Any:
    try:
        key = record.name, fpmath(), *map(_outline, arguments), *map(_outline, keywords.values())
        program = _state.programs.get(key)
    except TypeError:  # a list among the arguments
        return kernel(*arguments, **keywords)
    if program is not None:
        return program(arguments)
    results = kernel(*arguments, **keywords)
    if key not in _state.refused and _is_due(key, arguments[0].size, record.jit_warmup):
        _make(key, record, arguments, keywords, results)
    return results


def _outline(argument: Any) -> Any:
    """What of an argument a program is made for: -0.0 is not 0.0, nor is True 1."""
    if type(argument) is np.ndarray:
        return argument.shape, argument.dtype, argument.flags.c_contiguous
    return type(argument), argument.hex() if type(argument) is float else argument


def _is_due(key: tuple, size: int, after: int) -> bool:
    """Count the call's elements; whether it is time for a program, and there may be one more."""
    elements = _state.elements
    if len(elements) >= _COUNTED:
        elements.clear()
    seen = elements[key] = elements.get(key, 0) + max(size, _AT_LEAST)
    if seen < after:
        return False
    programs = _state.programs
    if len(programs) >= PROGRAMS:
        idle = min(programs, key=lambda k: programs[k].used)
        if _state.clock() - programs[idle].used < _IDLE:
            return False
        del programs[idle]
    return True


def _make(key: tuple, record: Any, arguments: tuple, keywords: dict[str, Any], results: Any) -> None:
    try:
        program = _Program(record, arguments, keywords, results)
        if program.bytes + sum(p.bytes for p in _state.programs.values()) > _MOST_BYTES:
            raise _Refused("compiled programs would exceed their memory limit")
        _state.programs[key] = program
    except Exception as why:  # whatever the compiler cannot do, the kernel can
        if os.environ.get("RUSHLIGHT_CHECK") == "1" and not isinstance(why, _Refused):
            raise
        show("graph", f"{record.name} is not compiled: {why}")
        if len(_state.refused) >= _COUNTED:
            _state.refused.clear()
        _state.refused.add(key)
    _state.elements.pop(key, None)


class _Refused(Exception):
    """The kernel is the better way."""


class _Program:
    """Native code for a call of an operator with arrays of these shapes. It gives what the kernel gave."""

    def __init__(self, record: Any, arguments: tuple, keywords: dict[str, Any], results: Any):
        from ..runtime.native import Native

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
            raise _Refused("a result is not C-contiguous")
        outs = [Value(r.shape, r.dtype) for r in (results if self.several else (results,))]
        metadata = (*arguments[n:], *keywords.values())
        graph.nodes.append(Call(record, tuple(operands), metadata, None, tuple(v.ref() for v in outs)))
        graph.outputs += [(v.ref(), Fresh(i)) for i, v in enumerate(outs)]
        self.native = Native(graph, among_eager=True)
        made = self.native.graph
        if made.checks or any(isinstance(node, Call) for node in made.nodes):
            raise _Refused(str(made.reasons) or "the kernel reads tensor values")
        self.bytes = self.native.memory.arena_bytes
        self.nothing: list[np.ndarray | None] = [None] * len(outs)
        self.used = _state.clock()

    def __call__(self, arguments: tuple) -> Any:
        self.used = _state.clock()
        arrays = [np.ascontiguousarray(arguments[place]) for place in self.places]
        results = self.native.run(arrays, self.nothing)
        return tuple(results) if self.several else results[0]
