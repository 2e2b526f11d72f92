"""Runs nests as generated code, on arrays of NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from evaluate import Memory, run_node
from random_nests import disagreement

from rushlight.compile.ir.expression import Expr, load
from rushlight.compile.ir.graph import Loop, Nest, Reduce, Store, Value
from rushlight.compile.lower.llvm.program import Program

Node = Loop | Nest | Reduce


def address(array: np.ndarray) -> tuple[str, int]:
    return "address", array.ctypes.data


def run_native(nodes: Sequence[Node], memory: dict[Value, np.ndarray], check: bool = False) -> None:
    """Run the nodes in order, as one program; what they write is added to `memory` (flat arrays, see `evaluate`)."""
    program = Program(check=check)
    for node in nodes:
        for value in node.writes():
            if value not in memory:
                memory[value] = np.full(max(1, value.size), 77).astype(value.dtype)
        places = {v: address(memory[v]) for v in (*(r.value for r in node.reads()), *node.writes())}
        program.launch(node, places)
    program.finish()(0)


def compare(nodes: Sequence[Node], memory: Memory, loose: bool = True, check: bool = False) -> None:
    """Run nodes both ways and compare what they write outside; what is after it must stay."""
    mine = {v: a.copy() for v, a in memory.items()}
    for v in (v for node in nodes for v in node.writes()):
        old = mine.get(v, np.full(v.size, 77).astype(v.dtype))
        mine[v] = np.concatenate([old, np.full(16, 77).astype(v.dtype)])
    run_native(nodes, mine, check)
    with np.errstate(all="ignore"):
        for node in nodes:
            run_node(node, memory)
    for node in nodes:
        for v in node.writes():
            size = max(v.size, len(memory[v]))
            assert (mine[v][size:] == np.full(1, 77).astype(v.dtype)).all(), f"written beyond {v!r}\n{node!r}"
            if v.size:
                wrong = disagreement(mine[v][:size], memory[v], loose)
                assert not wrong, f"{v!r}: {wrong}\n{node!r}"


def map_native(cases: Sequence[tuple], *arrays: np.ndarray) -> list[np.ndarray]:
    """Elementwise functions of whole arrays: each case makes an expression of one load for each array."""
    n = arrays[0].size
    values = [Value((n,), a.dtype) for a in arrays]
    loads = [load(v.ref()) for v in values]
    memory = dict(zip(values, (np.ascontiguousarray(a).reshape(-1) for a in arrays), strict=True))
    nodes, results = [], []
    for make in cases:
        e: Expr = make(*loads)  # type: ignore[operator]
        results.append(Value((n,), e.dtype))
        nodes.append(Loop((n,), [Store(results[-1].ref(), e)]))
    run_native(nodes, memory)
    return [memory[r].reshape(arrays[0].shape) for r in results]
