"""Stand-ins for values while a function is traced: what is done with them becomes nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from ..core.device.devices import device
from ..core.dispatch.op import OPS
from ..core.dispatch.torch_function import activate
from ..core.tensor.dtype import dtype
from ..core.tensor.layout import layout, memory_format
from ..core.tensor.size import Size
from ..core.tensor.tensor import Tensor
from .graph import Graph
from .node import Node, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """What a function did cannot be said by a graph."""


class TracerBase:
    """Makes nodes and proxies; `Tracer` also knows modules."""

    graph: Graph
    trace_asserts = False
    proxy_buffer_attributes = False

    def create_node(
        self, kind: str, target: Any, args: tuple, kwargs: dict, name: str | None = None, type_expr: Any = None
    ) -> Node:
        """Add a node to the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict,
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Add a node whose arguments may hold proxies; its proxy."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """A value as an argument of a node. Raises NotImplementedError for what code cannot name."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(map(self.create_arg, a)), {})
        if isinstance(a, tuple):
            return tuple(map(self.create_arg, a))
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            if any(isinstance(k, Proxy) for k in a):
                raise RuntimeError("Keys for dictionaries used as an argument cannot contain a Node.")
            return {self.create_arg(k): self.create_arg(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if a is None or a is ... or isinstance(a, (str, int, float, complex, bool, Node)) or _has_a_name(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """A proxy decides a branch: TraceError."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator:
        """A proxy is iterated over: TraceError, unless the number of names to unpack to can be seen."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """What `**proxy` unpacks."""
        return Attribute(obj, "keys")()


def _has_a_name(a: Any) -> bool:
    """Whether a graph's code can refer to an object: types of numbers, devices, functions and classes."""
    return isinstance(a, (dtype, device, layout, memory_format, type, Size)) or callable(a) and hasattr(a, "__module__")


class GraphAppendingTracer(TracerBase):
    """Adds nodes to a graph that is there."""

    def __init__(self, graph: Graph):
        self.graph = graph


class Proxy:
    """Stand-in for the value of a node."""

    def __init__(self, node: Node, tracer: TracerBase | None = None):
        activate()  # operators ask from now on
        self.tracer = tracer if tracer is not None else GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator:
        count = _names_to_unpack()
        return iter([self[i] for i in range(count)]) if count is not None else self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def __getitem__(self, index: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.getitem, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("'Proxy' object does not support item assignment")

    @classmethod
    def __torch_function__(cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Proxy:
        tracers: dict[Any, None] = {}
        map_aggregate((args, kwargs or {}), lambda a: tracers.setdefault(a.tracer) if isinstance(a, Proxy) else None)
        if len(tracers) != 1:
            raise RuntimeError(f"Found multiple different tracers {[*tracers]} while trying to trace operations {func}")
        (tracer,) = tracers
        name = func.__name__
        if vars(Tensor).get(name) is func and OPS.get(name) is not func:
            return tracer.create_proxy("call_method", name, args, kwargs or {})
        return tracer.create_proxy("call_function", func, args, kwargs or {})


class Attribute(Proxy):
    """`proxy.attribute`: a node if it is used as a value, a method's call if it is called."""

    def __init__(self, root: Proxy, attr: str):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _names_to_unpack() -> int | None:
    """How many names the statement that iterates over a proxy unpacks it to; None if it does something else."""
    import dis
    import sys

    frame = sys._getframe(2)
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == frame.f_lasti:
            return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else None
    return None


_BINARY = "add and eq floordiv ge gt le lshift lt matmul mod mul ne or pow rshift sub truediv xor"
_REFLECTED = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor"
_UNARY = "abs invert neg pos"


def _operator_method(target: Callable, reflected: bool = False) -> Callable:
    def method(self: Proxy, *args: Any) -> Proxy:
        operands = (args[0], self) if reflected else (self, *args)
        return self.tracer.create_proxy("call_function", target, operands, {})

    return method


def _operator_of(word: str) -> Callable:
    return getattr(operator, f"{word}_" if word in ("and", "or") else word)


for _word in (_BINARY + " " + _UNARY).split():
    setattr(Proxy, f"__{_word}__", _operator_method(_operator_of(_word)))
for _word in _REFLECTED.split():
    setattr(Proxy, f"__r{_word}__", _operator_method(_operator_of(_word), reflected=True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
