"""What `torch.compile(function, backend=f)` returns: the function, whose graphs run by what `f` made of them.

`f(graph_module, example_inputs)` returns a callable of the graph's inputs that returns the graph's outputs. It is asked
once for each graph; a number that differs between graphs which are else equal is an input from then on.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from ...compile.capture.listener import Listener
from ...compile.errors import BackendCompilerFailed
from ...compile.jit.step import CompiledStep, settings
from ...core.dispatch import torch_function
from ...core.dispatch.mode import thread
from ...core.tensor.tensor import Tensor
from ...fx import GraphModule, Node
from ...fx.node import map_aggregate
from ...nn.modules.module import Module
from ...utils._pytree import tree_flatten_with_path
from .graph_recorder import Recorded, Recorder

__all__ = ["CompiledByBackend"]


class _Made:
    """What the backend made of graphs of one outline. varying: the places of numbers that are inputs."""

    def __init__(self, numbers: list):
        self.numbers, self.varying = numbers, frozenset()
        self.programs: dict[tuple, Callable] = {}  # by the tensors' descriptions and the numbers that are no inputs


class CompiledByBackend(CompiledStep):
    """A function whose calls of torch become graphs for the backend."""

    def __init__(self, function: Callable, backend: Callable, fullgraph: bool = False):
        self.backend = backend
        super().__init__(function, fullgraph)
        update_wrapper(self, function)

    def reset(self) -> None:
        """Forget every graph."""
        super().reset()
        self.made: dict[Any, _Made] = {}
        self.count = 0

    def _run(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        if thread.state.is_watched() or isinstance(thread.state.listener, Listener) or torch_function.modes():
            return self._plainly(args, kwargs)
        recorder = Recorder(self._compiled, not self.fallback, _names(self.function, args, kwargs))
        return recorder.call(self.function, args, kwargs)

    def _compiled(self, recorded: Recorded, values: list) -> Any:
        """The graph's results."""
        numbers: list = []
        outline = _outline(recorded.graph.nodes, numbers)
        made = self.made.setdefault(outline, _Made(numbers))
        if list(map(type, numbers)) == list(map(type, made.numbers)):
            made.varying |= {
                i for i, (a, b) in enumerate(zip(numbers, made.numbers, strict=True)) if repr(a) != repr(b)
            }
        free = [n for i, n in enumerate(numbers) if i in made.varying]
        fixed = tuple((type(n), repr(n)) for i, n in enumerate(numbers) if i not in made.varying)
        key = (fixed, made.varying, *map(_description, values))
        program = made.programs.get(key)
        if program is None:
            if self.count >= settings.limit:
                return self._beyond_limit(recorded, values)
            self.count += 1
            _make_inputs(recorded.graph, made.varying)
            module = GraphModule(Module(), recorded.graph)
            try:
                program = made.programs[key] = self.backend(module, [*values, *free])
            except Exception as error:
                raise BackendCompilerFailed(self.backend, error) from error
            if not callable(program):
                raise TypeError(f"the backend returned {type(program).__name__}, which is not callable")
        return program(*values, *free)

    def _beyond_limit(self, recorded: Recorded, values: list) -> Any:
        if not self.given_up:
            self.given_up = True
            name = getattr(self.function, "__qualname__", repr(self.function))
            warnings.warn(
                f"{name}: the backend has compiled {settings.limit} graphs (the limit); others run eagerly",
                stacklevel=2,
            )
        return GraphModule(Module(), recorded.graph)(*values)


def _outline(nodes: Any, numbers: list) -> Any:
    """A graph as a value: nodes by their places, with a mark in place of each number, which is added to `numbers`."""
    places: dict[Node, int] = {}

    def of(a: Any) -> Any:
        if isinstance(a, Node):
            return "node", places[a]
        if isinstance(a, (tuple, list)):
            return type(a).__name__, *map(of, a)
        if isinstance(a, dict):
            return "dict", *((k, of(v)) for k, v in a.items())
        if isinstance(a, slice):
            return "slice", of(a.start), of(a.stop), of(a.step)
        if type(a) in (int, float):
            numbers.append(a)
            return "number", type(a)
        try:
            hash(a)
        except TypeError:
            return "object", id(a), repr(a)
        return type(a), a

    rows = []
    for i, node in enumerate(nodes):
        target = node.target if node.op != "placeholder" else None
        rows.append((node.op, target, of(node.args), of(node.kwargs)))
        places[node] = i
    return tuple(rows)


def _make_inputs(graph: Any, varying: frozenset[int]) -> None:
    """Let the numbers at these places be inputs of the graph, after its tensors."""
    if not varying:
        return
    nodes = list(graph.nodes)
    last = [n for n in nodes if n.op == "placeholder"]
    place = iter(range(1 << 30))
    after = last[-1] if last else None

    def input_of(a: Any) -> Any:
        nonlocal after
        if type(a) not in (int, float):
            return a
        i = next(place)
        if i not in varying:
            return a
        with graph.inserting_after(after) if after is not None else graph.inserting_before(nodes[0]):
            after = graph.create_node("placeholder", f"s{i}", (), {}, f"s{i}", type(a))
        return after

    for node in nodes:
        args = map_aggregate(node.args, input_of)
        kwargs = map_aggregate(node.kwargs, input_of)
        node.args, node.kwargs = args, kwargs


def _description(t: Tensor) -> tuple:
    return type(t), tuple(t.shape), t.stride(), t.dtype, t.device, t.requires_grad


def _names(function: Callable, args: tuple, kwargs: dict[str, Any]) -> dict[int, str]:
    """Where the tensors among the arguments come from, in torch's spelling: L_x_, L_self_modules_fc_parameters_weight_."""
    found: dict[int, str] = {}
    owner = getattr(function, "__self__", None)
    try:
        called = getattr(owner, "forward", function) if isinstance(owner, Module) else function
        given = dict(inspect.signature(called).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        given = {"args": args, **kwargs}
    if owner is not None:
        given = {**given, "self": owner}
    for name, value in given.items():
        if isinstance(value, Module):
            for kind, tensors in (("parameters", value.named_parameters()), ("buffers", value.named_buffers())):
                for path, t in tensors:
                    *way, last = path.split(".")
                    source = "".join(f"modules_{part}_" for part in way)
                    found.setdefault(id(t), f"L_{name}_{source}{kind}_{last}_")
        else:
            for path, t in tree_flatten_with_path(value)[0]:
                if isinstance(t, Tensor):
                    found.setdefault(id(t), f"L_{name}_{''.join(f'{_key(k)}_' for k in path)}")
    return found


def _key(key: Any) -> Any:
    return getattr(key, "idx", getattr(key, "key", getattr(key, "name", key)))
