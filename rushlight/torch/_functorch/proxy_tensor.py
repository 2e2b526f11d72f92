"""`make_fx`: a function's operators, those of its backward too, as a graph of torch's (`torch.ops.aten`).

The function runs once on copies of its arguments under a mode that sees every operator (`torch_dispatch.py`). A tensor is
the node that made it: known by the object, or by its memory, since gradient rules are given the saved memory in new tensors.
What is computed where no mode sees it would be a constant of the graph. So function and graph then both run once
more, on other elements, and must give the same.
"""

from __future__ import annotations

import builtins
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from ...core.dispatch.mode import enable_grad
from ...core.random.mersenne import Generator
from ...core.tensor.node import Output
from ...core.tensor.tensor import Tensor, wrap
from ...fx import Graph, GraphModule, Node
from ...fx.passes.shape_prop import TensorMetadata
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...ops.random.sample import get_rng_state, set_rng_state
from ...utils._python_dispatch import TorchDispatchMode
from ...utils._pytree import tree_flatten, tree_map, tree_unflatten
from .._subclasses.fake_tensor import FakeTensorMode

__all__ = ["GraphTracer", "checked", "copied", "kept_stream", "make_fx"]

BACKWARD = "is_backward"  # what a node of the backward pass has as its "partitioner_tag"
_DRAWS = ("rand", "bernoulli", "dropout", "normal", "multinomial", "uniform", "exponential", "poisson", "geometric")


class GraphTracer(TorchDispatchMode):
    """While active, it adds a node for each operator. decompositions: what to call instead of some of them."""

    def __init__(self, decompositions: Mapping[Any, Callable] | None = None):
        self.graph, self.decompositions = Graph(), dict(decompositions or {})
        self.tag = ""
        self._of_object: dict[int, Node] = {}
        self._of_memory: dict[tuple, Node] = {}
        self._alive: list[Tensor] = []  # so that neither objects nor memory are used again
        self._values: list[tuple[Node, Tensor]] = []
        self._constants: dict[str, Tensor] = {}

    def placeholder(self, name: str, value: Any) -> Any:
        """An input of the graph: the value itself, which is known from then on."""
        first = next((n for n in self.graph.nodes if n.op != "placeholder"), None)
        with nullcontext() if first is None else self.graph.inserting_before(first):
            node = self.graph.placeholder(name)
        self._bind(value, node)
        return value

    def node_of(self, value: Any) -> Any:
        """The node of a tensor; any other value as it is. What was there before is a constant of the graph."""
        if not isinstance(value, Tensor):
            return value
        node = self._known(value)
        if node is None:
            kind = "_param_constant" if isinstance(value, Parameter) else "_tensor_constant"
            name = f"{kind}{sum(n.startswith(kind) for n in self._constants)}"
            self._constants[name] = value.detach() if type(value) is Tensor else value
            node = self.graph.get_attr(name)
            self._bind(value, node)
        return node

    def finish(self, outputs: Any) -> GraphModule:
        """The module of the graph that returns these tensors and numbers, without nodes of no use."""
        self.graph.output(tree_map(self.node_of, outputs))
        self.graph.eliminate_dead_code(has_effect)
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        for node, value in self._values:
            node.meta["val"] = mode.from_tensor(value.detach())
            node.meta["tensor_meta"] = TensorMetadata.of(value)
        root = Module()
        for name, value in self._constants.items():
            setattr(root, name, value)
        return GraphModule(root, self.graph)

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """An operator's result, and a node for it."""
        kwargs = kwargs or {}
        instead = self.decompositions.get(func)
        if instead is not None:
            with self:
                result = instead(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if writes(func) and self._known(args[0]) is None:
            raise NotImplementedError(
                f"{func} writes a tensor that is neither an input of the traced function nor made in it: give it as an argument"
            )
        given = tree_map(self.node_of, list(args)), tree_map(self.node_of, kwargs)
        result = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        kept = _kept(result)
        target = WithKept(func) if kept else func
        name = f"{name}_1" if hasattr(builtins, name) else name
        node = self.graph.call_function(target, tuple(given[0]), given[1], name=name)
        if self.tag:
            node.meta["partitioner_tag"] = self.tag
        self._bind((*_several(result), *kept) if kept else result, node)
        return result

    def chosen_by(self, t: Tensor) -> None:
        """A tensor's value chooses what runs next (`torch.cond`), which the graph could only repeat. Raises NotImplementedError."""
        raise NotImplementedError("torch.cond and while_loop inside make_fx are not implemented")

    def _known(self, t: Tensor) -> Node | None:
        return self._of_object.get(id(t)) or self._of_memory.get(_memory(t))

    def _bind(self, value: Any, node: Node) -> None:
        if isinstance(value, Tensor):
            self._alive.append(value)
            self._values.append((node, value))
            self._of_object[id(value)] = self._of_memory[_memory(value)] = node
        elif isinstance(value, (tuple, list)):
            for i, part in enumerate(value):
                item = self.graph.call_function(operator.getitem, (node, i))
                item.meta.update(node.meta)
                self._bind(part, item)


class WithKept:
    """An overload that also returns what its kernel leaves for the gradient rule besides its results."""

    def __init__(self, func: Any):
        self.func, self.__name__, self.__qualname__ = func, func.__name__, func.__name__
        self.__module__ = func.__module__

    def __call__(self, *args: Any, **kwargs: Any) -> tuple:
        with enable_grad():
            args, kwargs = tree_map(_recorded, args), tree_map(_recorded, kwargs)
            result = self.func(*args, **kwargs)
        return *(r.detach() for r in _several(result)), *_kept(result)


def _recorded(a: Any) -> Any:
    if not isinstance(a, Tensor):
        return a
    a = a.detach()
    return a.requires_grad_() if a.is_floating_point() or a.is_complex() else a


def _several(result: Any) -> tuple:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _kept(result: Any) -> tuple[Tensor, ...]:
    """What the node of a result keeps that only its operator's kernel knows: statistics, places of maxima."""
    edge = next((t._edge for t in _several(result) if isinstance(t, Tensor)), None)
    node: Any = edge.edges[0] if isinstance(edge, Output) else edge
    op = getattr(node, "op", None)
    if op is None or not op.extras or not isinstance(node.saved, tuple):
        return ()
    pairs = zip(type(node).saved_names, node.saved, strict=False)
    return tuple(wrap(value) for name, value in pairs if name in op.extras and value is not None)


def _memory(t: Tensor) -> tuple:
    strides = tuple(step for step, size in zip(t.stride(), t.shape, strict=True) if size > 1)
    return t.data_ptr(), tuple(t.shape), strides, t.dtype, t.is_conj(), t.is_neg()


def writes(func: Any) -> bool:
    """Whether an overload writes its first argument."""
    name = func.overloadpacket.__name__
    return name.endswith("_") and not name.endswith("__")


def has_effect(node: Node) -> bool:
    """Whether a node stays though nothing uses it: it writes, or draws random numbers."""
    name = getattr(node.target, "__name__", "")
    return node.is_impure() or name.split(".")[0].endswith("_") or any(word in name for word in _DRAWS)


def copied(value: Any) -> Any:
    """A leaf of the same elements that requires grad where the tensor does; any other value as it is."""
    if not isinstance(value, Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


@contextmanager
def kept_stream() -> Iterator[None]:
    """The random stream is afterwards where it was before."""
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def make_fx(
    f: Callable,
    decomposition_table: Mapping[Any, Callable] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    **options: Any,
) -> Callable[..., GraphModule]:
    """A function that runs `f` on copies of its arguments and returns the graph of the operators that ran.

    Args:
        decomposition_table: functions to call instead of overloads such as `torch.ops.aten.addmm.default`.
        tracing_mode: "real"; "fake" and "symbolic" do the same here, with the arguments' sizes as constants.
        record_module_stack: accepted without effect, as are the names that begin with an underscore.

    Raises:
        NotImplementedError: the graph would not compute what `f` does, such as where `f` reads a number from a tensor.

    >>> from rushlight import ones
    >>> print(make_fx(lambda x: x.sin() + 1)(ones(2)).code.strip())
    def forward(self, x_1):
        sin = torch.ops.aten.sin.default(x_1);  x_1 = None
        add = torch.ops.aten.add.Tensor(sin, 1);  sin = None
        return add
    """
    if pre_dispatch:
        raise NotImplementedError("make_fx(pre_dispatch=True) is not implemented")
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"Unexpected tracing type: {tracing_mode}")

    def traced(*args: Any) -> GraphModule:
        leaves, structure = tree_flatten(args)
        names = _names(f, args, len(leaves))
        tracer = GraphTracer(decomposition_table)
        with kept_stream():
            given = [copied(a) for a in leaves]
            for name, value in zip(names, given, strict=True):
                tracer.placeholder(name, value)
            with tracer:
                result = f(*tree_unflatten(given, structure))
            module = tracer.finish(result)
            checked(lambda *flat: f(*tree_unflatten(list(flat), structure)), module, leaves)
        return module

    return traced


def _names(f: Callable, args: tuple, count: int) -> list[str]:
    """torch's names of the inputs: the function's own where each argument is one."""
    try:
        named = list(inspect.signature(f).bind(*args).arguments)
        single = len(named) == count == len(args)
    except (TypeError, ValueError):
        named, single = [], False
    return [f"{name}_1" for name in named] if single else [f"arg{i}_1" for i in range(count)]


def checked(f: Callable, module: GraphModule, values: Sequence[Any]) -> None:
    """Run both on other elements; NotImplementedError where the graph's results are not the function's."""
    for flip in (True, False):
        others = [_other(v, i, flip) for i, v in enumerate(values)]
        state = get_rng_state()
        try:
            expected = tree_flatten(f(*map(copied, others)))[0]
        except Exception:  # indices that are none there, numbers outside of a function's domain
            continue
        finally:
            set_rng_state(state)
        found = tree_flatten(module(*map(copied, others)))[0]
        set_rng_state(state)
        if len(found) != len(expected) or not all(map(_same, expected, found)):
            raise NotImplementedError(
                "the traced graph does not compute what the function does for other elements: something was computed, or "
                "decided, by numbers read from tensors"
            )
        return


def _other(value: Any, seed: int, flip: bool) -> Any:
    """Other elements of the same sign, no larger; integers in another order."""
    if not isinstance(value, Tensor):
        return value
    t = value.detach()
    if t.is_floating_point() or t.is_complex():
        generator = Generator().manual_seed(seed)
        factor = 0.5 + 0.5 * t.new_ones(t.shape).float().abs().uniform_(generator=generator)
        t = t * factor.to(t.dtype)
    elif flip and t.ndim:
        t = t.flip(0)
    return t.requires_grad_(value.requires_grad)


def _same(a: Any, b: Any) -> bool:
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return a is b or a == b
    a, b = a.detach(), b.detach()
    return a.shape == b.shape and a.dtype == b.dtype and a.allclose(b, rtol=1e-3, atol=1e-5, equal_nan=True)
