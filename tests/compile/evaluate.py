"""Runs graphs with NumPy, point for point as `compile/ir/graph.py` defines them: what generated code is compared with."""

from __future__ import annotations

import numpy as np

from rushlight.compile.ir.expression import Expr
from rushlight.compile.ir.graph import Call, Extern, Graph, Loop, Nest, Reduce, Ref, Update, Value, Write
from rushlight.compile.ir.scalar_ops import SCALAR_OPS
from rushlight.ops.spatial import conv

_REDUCE = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


class Memory(dict):
    """The arrays of values: flat, in the order of memory."""

    def view(self, ref: Ref) -> np.ndarray:
        """The array that a window shows."""
        flat = self[ref.value]
        size = flat.dtype.itemsize
        strides = tuple(s * size for s in ref.strides)
        return np.lib.stride_tricks.as_strided(flat[ref.offset :], ref.shape, strides)

    def make(self, value: Value, onto: Value | None = None) -> None:
        """Memory for a value, with the content that it continues."""
        if value not in self:
            self[value] = np.zeros(max(1, value.size), value.dtype) if onto is None else self[onto].copy()

    def put(self, value: Value, array: np.ndarray) -> None:
        """Give a value its content, in its own layout."""
        self[value] = np.zeros(max(1, value.size), value.dtype)
        self.view(value.ref())[...] = array


def evaluate(e: Expr, space: tuple[int, ...], memory: Memory) -> np.ndarray:
    """An expression at every point of a space."""
    done: dict[int, np.ndarray] = {}
    with np.errstate(all="ignore"):
        for x in e.walk():
            args = [done[id(a)] for a in x.args]
            done[id(x)] = np.asarray(_value(x, args, space, memory)).astype(x.dtype, copy=False)
    return np.broadcast_to(done[id(e)], space)


def _value(x: Expr, args: list, space: tuple[int, ...], memory: Memory):
    if x.op == "const":
        return np.asarray(x.data)
    if x.op == "load":
        return memory.view(x.data)
    if x.op == "gather":
        return memory.view(x.data)[tuple(np.broadcast_to(a, space) for a in args)]
    if x.op == "index":
        shape = [1] * len(space)
        shape[x.data] = space[x.data]
        return np.arange(space[x.data]).reshape(shape)
    if x.op == "cast":
        return args[0].astype(x.dtype)
    return SCALAR_OPS[x.op].numpy(*args)


def run(graph: Graph, inputs: dict[Value, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a graph. Raises the error of a check that fails."""
    memory = Memory()
    for value, array in (*inputs.items(), *graph.constants.items()):
        memory.put(value, array)
    for node in graph.nodes:
        run_node(node, memory)
    for value, error, text in graph.checks:
        if memory[value][0]:
            raise error(text)
    return [memory.view(ref).copy() for ref, _ in graph.outputs]


def run_node(node, memory: Memory) -> None:
    """One node of any kind."""
    if isinstance(node, Nest):
        for stage in node.stages:
            run_node(stage, memory)
    elif isinstance(node, Loop):
        results = [evaluate(s.expr, node.space, memory) for s in node.stores]
        for s, r in zip(node.stores, results, strict=True):
            memory.make(s.ref.value, s.onto)
            memory.view(s.ref)[...] = r
    elif isinstance(node, Reduce):
        memory.put(node.result, _reduced(node, evaluate(node.expr, node.space, memory)))
    elif isinstance(node, Write):
        memory.make(node.result, node.target.value)
        memory.view(node.target._replace(value=node.result))[...] = memory.view(node.source)
    elif isinstance(node, Call):
        _call(node, memory)
    elif isinstance(node, Extern):
        _extern(node, memory)
    elif isinstance(node, Update):
        _update(node, memory)
    else:
        raise TypeError(type(node).__name__)


def _reduced(node: Reduce, x: np.ndarray) -> np.ndarray:
    if node.kind in ("any", "all"):
        return getattr(np, node.kind)(x, node.axes)
    if node.kind.startswith("arg"):
        kept = [i for i in range(x.ndim) if i not in node.axes]
        x = x.transpose(*kept, *node.axes).reshape(*(x.shape[i] for i in kept), -1)
        return getattr(np, node.kind)(x, -1)
    return _REDUCE[node.kind].reduce(x, node.axes, x.dtype)


def _call(node: Call, memory: Memory) -> None:
    arrays = []
    for o, to in zip(node.operands, node.types(), strict=True):
        a = memory.view(o).copy() if isinstance(o, Ref) else o
        arrays.append(a if a is None or to is None else np.asarray(a).astype(to.numpy))
    out = node.record.invoke(node.record.reference, arrays, node.metadata)
    for ref, r in zip(node.results, out if isinstance(out, tuple | list) else [out], strict=False):
        if ref is not None:
            memory.put(ref.value, r)


def _update(node: Update, memory: Memory) -> None:
    lists = [refs and [r and memory.view(r).copy(order="K") for r in refs] for refs in node.lists]
    options = {k: memory.view(o).item() if isinstance(o, Ref) else o for k, o in node.options.items()}
    node.apply(node.update, lists, options)
    for values, refs, arrays in zip(node.results, node.lists, lists, strict=True):
        for value, ref, array in zip(values or (), refs or (), arrays or (), strict=False):
            if value is not None:
                memory.make(value, ref.value)
                memory.view(ref._replace(value=value))[...] = array


def _extern(node: Extern, memory: Memory) -> None:
    for ref in node.results:
        memory.make(ref.value)
    if node.kind == "blank":
        return
    out = EXTERN[node.kind](node, *(None if o is None else memory.view(o) for o in node.operands))
    for ref, r in zip(node.results, out if isinstance(out, tuple) else (out,), strict=True):
        memory.view(ref)[...] = r


def _matmul(node, x, y, bias=None):
    return x @ y if bias is None else x @ y + bias


def _convolution(name: str):
    def run(node, first, second, bias=None):
        kernel = getattr(conv, name + "_and_bias" * (len(node.results) == 2)).record.reference
        extra = {"shape": node.results[0].shape} if name != "convolution" else {}
        if name != "convolution_weight":
            extra["bias"] = bias
        first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
        return kernel(first, second, *([extra.pop("bias")] if "bias" in extra else []), **extra, **node.options)

    return run


def _index_add(node, source, index):
    out = np.zeros(node.results[0].shape, source.dtype)
    keep = index != node.options.get("skip", -1)
    np.add.at(out, index[keep], source[keep])
    return out


EXTERN = {
    "matmul": _matmul,
    "convolution_forward": _convolution("convolution"),
    "convolution_backward_data": _convolution("convolution_input"),
    "convolution_backward_weights": _convolution("convolution_weight"),
    "index_add": _index_add,
}
