"""`ExportedProgram.run_decompositions`: an exported program's graph in torch's core ATen operators.

A rule of `_RULES` writes the calls that torch's own decomposition of an operator gives; `_CORE` are operators that are among
the core ones already. Any other operator is refused by name.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from math import prod
from typing import Any

from ...core.dispatch.aten.operators import OpOverload
from ...core.dispatch.extension_points import namespace
from ...core.dispatch.mode import no_grad
from ...core.tensor.dtype import uint8
from ...core.tensor.layout import contiguous_format
from ...core.tensor.tensor import Tensor
from ...fx import Graph, GraphModule, Node
from ...fx.node import map_arg
from ...nn.modules.module import Module
from ...ops import empty_strided
from .._subclasses.fake_tensor import FakeTensorMode
from .formulas import FORMULAS
from .fx_graph import inputs_named

__all__ = ["decomposed"]

_CORE = frozenset(
    """abs.default acos.default add.Tensor addmm.default amax.default amin.default any.default any.dim argmax.default
    asin.default atan.default atan2.default avg_pool2d.default bitwise_not.default bmm.default cat.default
    ceil.default clamp.default clone.default cos.default cosh.default cumprod.default cumsum.default div.Tensor
    elu.default embedding.default eq.Scalar eq.Tensor erf.default erfc.default exp.default exp2.default
    expand.default expm1.default flip.default floor.default fmod.Scalar full_like.default gather.default ge.Scalar
    gelu.default gt.Scalar gt.Tensor index_select.default isinf.default isnan.default le.Scalar le.Tensor
    leaky_relu.default linalg_vector_norm.default log.default log10.default log1p.default log2.default
    logical_and.default logical_not.default logical_or.default logical_xor.default lt.Scalar lt.Tensor max.default
    max.dim maximum.default mean.default mean.dim median.default min.default min.dim minimum.default mm.default
    mul.Tensor ne.Scalar neg.default permute.default pow.Tensor_Scalar pow.Tensor_Tensor prod.default
    reciprocal.default relu.default remainder.Scalar repeat.default round.default rsqrt.default select.int
    sigmoid.default sign.default sin.default sinh.default slice.Tensor sort.default sqrt.default squeeze.dims
    sub.Tensor sum.dim_IntList tan.default tanh.default topk.default trunc.default unsqueeze.default var.correction
    view.default where.self""".split()  # noqa: SIM905
)


class _Emit:
    """Adds calls to a graph; each runs for the shapes of its arguments, so that rules can ask for theirs."""

    def __init__(self):
        self.graph, self.fake, self.trace = Graph(), FakeTensorMode(allow_non_fake_inputs=True), ""

    def __call__(self, name: str, *args: Any, **options: Any) -> Node:
        """A call of `name.overload`; the default overload need not be written."""
        packet, _, overload = name.partition(".")
        torch: Any = namespace.value
        return self.call(getattr(getattr(torch.ops.aten, packet), overload or "default"), args, options)

    def call(self, target: Any, args: tuple, options: dict[str, Any]) -> Node:
        """A call of an overload, or of `operator.getitem`."""
        name = target.overloadpacket.__name__ if isinstance(target, OpOverload) else "getitem"
        node = self.graph.call_function(target, args, options, name=f"{name}_1" if hasattr(builtins, name) else name)
        result = target(*map_arg(args, _value), **map_arg(options, _value))
        node.meta |= {"stack_trace": self.trace, "val": result}
        return node

    def item(self, node: Node, i: int) -> Node:
        """One of the results of a call that has several."""
        return self.call(operator.getitem, (node, i), {})


def _value(node: Node) -> Any:
    return node.meta["val"]


def _shape(node: Node) -> list[int]:
    return list(node.meta["val"].shape)


# ------------------------------------------------------------------------------------------ views


def _reshape(e: _Emit, x: Node, shape: Any) -> Node:
    """A view where the strides allow one, else one of a copy."""
    known, sizes = prod(s for s in shape if s >= 0), list(shape)
    sizes = [s if s >= 0 else prod(_shape(x)) // known for s in sizes]
    return e("view", x if _is_view(x, sizes) else e("clone", x, memory_format=contiguous_format), sizes)


def _is_view(x: Node, sizes: list[int]) -> bool:
    """Whether a tensor's strides allow a view of another shape, by elements that nothing reads."""
    try:
        empty_strided(_shape(x), _value(x).stride(), dtype=uint8).view(sizes)
    except RuntimeError:
        return False
    return True


def _flatten(e: _Emit, x: Node, start_dim: int = 0, end_dim: int = -1) -> Node:
    shape = _shape(x)
    first, last = start_dim % len(shape), end_dim % len(shape)
    return _reshape(e, x, [*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]])


def _transpose(e: _Emit, x: Node, dim0: int, dim1: int) -> Node:
    dims = list(range(len(_shape(x))))
    dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return e("permute", x, dims)


def _t(e: _Emit, x: Node) -> Node:
    return x if len(_shape(x)) < 2 else e("permute", x, [1, 0])


def _contiguous(e: _Emit, x: Node) -> Node:
    return x if _value(x).is_contiguous() else e("clone", x, memory_format=contiguous_format)


def _unbind(e: _Emit, x: Node, dim: int = 0) -> list[Node]:
    dim %= len(_shape(x))
    parts = [e("slice.Tensor", x, dim, i, i + 1) for i in range(_shape(x)[dim])]
    return [e("squeeze.dims", part, [dim]) for part in parts]


def _chunk(e: _Emit, x: Node, chunks: int, dim: int = 0) -> list[Node]:
    size = _shape(x)[dim]
    most = -(-size // chunks)
    sizes = [min(most, size - i) for i in range(0, size, most)]
    split = e("split_with_sizes", x, sizes, dim)
    return [e.item(split, i) for i in range(len(sizes))]


# ------------------------------------------------------------------------------------------ products


def _matmul(e: _Emit, a: Node, b: Node) -> Node:
    """A product of matrices, of a batch with one matrix (as one product of all rows where they follow each other), or of
    batches.
    """
    m, n = _shape(a), _shape(b)
    if len(m) < 2 or len(n) < 2 or len(m) < len(n):
        raise NotImplementedError(f"run_decompositions: aten.matmul of {len(m)} and {len(n)} dimensions")
    if len(m) == 2:
        return e("mm", a, b)
    strides = _value(a).stride()
    if len(n) == 2 and all(strides[i] == strides[i + 1] * m[i + 1] for i in range(len(m) - 2)):
        return e("view", e("mm", e("view", a, [prod(m[:-1]), m[-1]]), b), [*m[:-1], n[-1]])
    batch = list((_value(a)[..., 0, 0] + _value(b)[..., 0, 0]).shape)
    rows = [_reshape(e, e("expand", x, [*batch, *s[-2:]]), [prod(batch), *s[-2:]]) for x, s in ((a, m), (b, n))]
    return e("view", e("bmm", *rows), [*batch, m[-2], n[-1]])


def _linear(e: _Emit, x: Node, weight: Node, bias: Node | None = None) -> Node:
    shape = _shape(x)
    if bias is None or len(shape) < 2:
        if len(shape) < 2:
            raise NotImplementedError("run_decompositions: aten.linear of one dimension")
        return _matmul(e, x, _t(e, weight))
    if len(shape) == 2:
        return e("addmm", bias, x, _t(e, weight))
    if not _value(x).is_contiguous():
        return e("add.Tensor", _matmul(e, x, _t(e, weight)), bias)
    rows = e("view", x, [prod(shape[:-1]), shape[-1]])
    return e("view", e("addmm", bias, rows, _t(e, weight)), [*shape[:-1], _shape(weight)[0]])


def _convolution(n: int) -> Callable:
    def rule(e, x, weight, bias=None, stride=(1,), padding=(0,), dilation=(1,), groups=1):
        if len(_shape(x)) != n + 2:
            raise NotImplementedError(f"run_decompositions: aten.conv{n}d without a batch dimension")
        options = [list(v) * (n if len(v) == 1 else 1) for v in (stride, padding, dilation)]
        return e("convolution", x, weight, bias, *options, False, [0] * n, groups)

    return rule


# ------------------------------------------------------------------------------------------ layers


def _batch_norm(e, x, weight, bias, mean, var, training, momentum, eps, cudnn_enabled):
    if training or mean is None:
        raise NotImplementedError("run_decompositions: aten.batch_norm of a module in training")
    return e.item(e("_native_batch_norm_legit_no_training", x, weight, bias, mean, var, momentum, eps), 0)


def _layer_norm(e, x, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    return e.item(e("native_layer_norm", x, normalized_shape, weight, bias, eps), 0)


def _softmax(name: str) -> Callable:
    def rule(e, x, dim, dtype=None):
        if dtype is not None:
            raise NotImplementedError(f"run_decompositions: aten.{name[1:]} with a dtype")
        return e(name, x, dim, False)

    return rule


def _dropout(e: _Emit, x: Node, p: float, train: bool) -> Node:
    if train:
        raise NotImplementedError("run_decompositions: aten.dropout of a module in training")
    return e("clone", x)


def _silu(e: _Emit, x: Node) -> Node:
    return e("mul.Tensor", x, e("sigmoid", x))


def _squeeze(e: _Emit, x: Node, dim: int | None = None) -> Node:
    return e("squeeze.dims", x, list(range(len(_shape(x)))) if dim is None else [dim])


_RULES: dict[str, Callable] = FORMULAS | {
    "batch_norm.default": _batch_norm,
    "chunk.default": _chunk,
    "contiguous.default": _contiguous,
    "conv1d.default": _convolution(1),
    "conv2d.default": _convolution(2),
    "conv3d.default": _convolution(3),
    "dropout.default": _dropout,
    "flatten.using_ints": _flatten,
    "layer_norm.default": _layer_norm,
    "linear.default": _linear,
    "log_softmax.int": _softmax("_log_softmax"),
    "matmul.default": _matmul,
    "reshape.default": _reshape,
    "silu.default": _silu,
    "softmax.int": _softmax("_softmax"),
    "square.default": lambda e, x: e("pow.Tensor_Scalar", x, 2),
    "squeeze.default": _squeeze,
    "squeeze.dim": _squeeze,
    "sum.default": lambda e, x: e("sum.dim_IntList", x, []),
    "t.default": _t,
    "transpose.int": _transpose,
    "unbind.int": _unbind,
}


def decomposed(graph: Graph) -> GraphModule:
    """A graph of an exported program in core operators, with the same inputs and results.

    Raises NotImplementedError, with its name, for an operator without a rule, among them all that write in place.
    """
    e, values = _Emit(), {}
    with no_grad():
        for node in graph.nodes:
            values[node] = _translate(e, node, values)
    e.graph.eliminate_dead_code()
    return inputs_named(GraphModule(Module(), e.graph))


def _translate(e: _Emit, node: Node, values: dict[Node, Any]) -> Any:
    if node.op != "call_function":
        copy = e.graph.node_copy(node, values.__getitem__)
        if isinstance(value := node.meta.get("val"), Tensor):
            copy.meta["val"] = value
        return copy
    e.trace = node.meta.get("stack_trace", "")
    args, options = [_replaced(a, values) for a in node.args], {k: _replaced(v, values) for k, v in node.kwargs.items()}
    if node.target is operator.getitem:
        return args[0][args[1]] if isinstance(args[0], list) else e.item(args[0], args[1])
    overload = node.target
    name = str(overload).removeprefix("aten.") if isinstance(overload, OpOverload) else ""
    if name in _RULES:
        return _RULES[name](e, *args, **options)
    if name not in _CORE:
        raise NotImplementedError(f"run_decompositions: {overload} has no decomposition here")
    return e.call(overload, tuple(args), options)


def _replaced(value: Any, values: dict[Node, Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(v, values) for v in value)
    return values[value] if isinstance(value, Node) else value
