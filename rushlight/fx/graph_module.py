"""A module whose forward is a graph's code."""

from __future__ import annotations

import copy
import linecache
from itertools import count
from typing import Any

from ..core.tensor.tensor import Tensor
from ..nn.modules.container import Sequential  # noqa: F401  (submodules along a path are plain modules)
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .graph import Graph
from .node import map_aggregate, map_arg

__all__ = ["GraphModule"]

_numbers = count(1)


class GraphModule(Module):
    """Runs a graph over the parameters, buffers and modules of `root` that it names.

    root: a module, or a dict from paths to modules and tensors. After changing `graph`, call `recompile()`.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """Each instance has a class of its own, which holds its forward."""
        base = next(c for c in cls.__mro__ if "_forward_of" not in vars(c))
        own: Any = type(cls.__name__, (base,), {"_forward_of": None, "__module__": cls.__module__})
        return super().__new__(own)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = root.training
            found = {n.target: _attribute(root, n.target) for n in graph.nodes if n.op in ("get_attr", "call_module")}
        else:
            named = dict.fromkeys(n.target for n in graph.nodes if n.op in ("get_attr", "call_module"))
            missing = set(named) - set(root)
            if missing:
                raise RuntimeError(
                    f"Node referenced target {min(missing)} but that target was not provided in ``root``!"
                )
            found = {name: root[name] for name in sorted(named, key=lambda p: p.count("."))}
        for path in found:
            _place(self, path, found[path])
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {}))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; assigning one recompiles."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        object.__setattr__(self, "_graph", g)
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python code of the graph."""
        return self._code

    def recompile(self) -> Any:
        """Make `forward` again from the graph."""
        made = self._graph.python_code("self")
        object.__setattr__(self, "_code", made.src)
        file = f"<rushlight graph {next(_numbers)}>"
        linecache.cache[file] = (len(made.src), None, made.src.splitlines(True), file)
        scope = dict(made.globals)
        exec(compile(made.src, file, "exec"), scope)
        type(self).forward = scope["forward"]  # type: ignore[method-assign]
        return made

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The class with the graph's code, types, shapes and lines of the program, as text."""
        code = self._graph.python_code("self", verbose=True).src.lstrip("\n")
        lines = f"class {self._get_name()}(torch.nn.Module):\n{code}".split("\n")
        text = "\n".join([lines[0]] + [f"    {line}" if line.strip() else "" for line in lines[1:]])
        if print_output:
            print(text)
        return text

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path; False if something else is in the way."""
        *path, last = target.split(".")
        holder: Module = self
        for part in path:
            if not hasattr(holder, part):
                setattr(holder, part, Module())
            holder = getattr(holder, part)
            if not isinstance(holder, Module):
                return False
        holder.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at a path away; False if there is none."""
        path, _, last = target.rpartition(".")
        try:
            holder = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(holder, last, None), Module):
            return False
        delattr(holder, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the modules that the graph does not name."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used |= {".".join(parts[: i + 1]) for i in range(len(parts))}
                if node.op == "call_module":
                    used |= {f"{node.target}.{name}" for name, _ in self.get_submodule(node.target).named_modules()}
        for name in [n for n, _ in self.named_modules(remove_duplicate=False) if n]:
            if name not in used:
                self.delete_submodule(name)

    def __str__(self) -> str:
        return (
            f"{super().__str__()}\n{self._code}\n# To see more debug info, please use `graph_module.print_readable()`"
        )

    def __deepcopy__(self, memo: dict) -> GraphModule:
        root = Module()
        for path, value in _leaves(self).items():
            _place(root, path, copy.deepcopy(value, memo))
        made = GraphModule(root, copy.deepcopy(self.graph))
        made.training = self.training
        made.meta.update(self.meta)
        return made

    def __copy__(self) -> GraphModule:
        return GraphModule(self, copy.deepcopy(self.graph), type(self).__name__)

    def __reduce__(self) -> tuple:
        nodes = [(n.op, n.target, n.args, n.kwargs, n.name, n.type) for n in self.graph.nodes]
        return _rebuild, (_leaves(self), _without_nodes(nodes), type(self).__name__, self.training)


def _leaves(module: GraphModule) -> dict[str, Any]:
    paths = dict.fromkeys(n.target for n in module.graph.nodes if n.op in ("get_attr", "call_module"))
    return {p: _attribute(module, p) for p in paths}


def _without_nodes(rows: list[tuple]) -> list[tuple]:
    """The rows with each node as the tuple ('node', its name): pickling nodes would recurse through the whole graph."""
    return [(op, t, map_arg(a, _Named), map_arg(k, _Named), name, kind) for op, t, a, k, name, kind in rows]


class _Named:
    """Stand-in for the node of a name in a pickle."""

    def __init__(self, node: Any):
        self.name = node.name


def _rebuild(root: dict[str, Any], rows: list[tuple], class_name: str, training: bool) -> GraphModule:
    graph, known = Graph(), {}

    def node_of(a: Any) -> Any:
        return known[a.name] if isinstance(a, _Named) else a

    for op, target, args, kwargs, name, kind in rows:
        known[name] = graph.create_node(
            op, target, map_aggregate(args, node_of), map_aggregate(kwargs, node_of), name, kind
        )
    made = GraphModule(root, graph, class_name)
    made.training = training
    return made


def _attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        if not hasattr(module, part):
            raise RuntimeError(f"Node target {path} references nonexistent attribute {part}")
        module = getattr(module, part)
    return module


def _place(holder: Module, path: str, value: Any) -> None:
    *way, last = path.split(".")
    for part in way:
        if not hasattr(holder, part):
            setattr(holder, part, Module())
        holder = getattr(holder, part)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        holder.register_buffer(last, value)
    else:
        setattr(holder, last, value)
