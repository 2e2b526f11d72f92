"""The graph: nodes in the order in which they run, and the Python code that they generate."""

from __future__ import annotations

import builtins
import keyword
import math
import operator
import re
import typing
from collections.abc import Callable, Iterator
from types import GenericAlias, UnionType
from typing import Any, NamedTuple, get_args

from ..core.device.devices import device
from ..core.dispatch.extension_points import namespace
from ..core.tensor.dtype import dtype
from ..core.tensor.size import Size
from .node import Argument, Node, Target, map_arg, qualified_name, type_repr

__all__ = ["CodeGen", "Graph", "PythonCode"]

_NUMBERED = re.compile(r"(.*)_(\d+)$")
_ILLEGAL = re.compile(r"\W+")
_OF_TYPING = {list: "List", dict: "Dict", set: "Set", frozenset: "FrozenSet", tuple: "Tuple"}
_OPERATORS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "truediv": "{} / {}", "floordiv": "{} // {}", "mod": "{} % {}",
    "pow": "{} ** {}", "matmul": "{} @ {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "lshift": "{} << {}",
    "rshift": "{} >> {}", "lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}", "eq": "{} == {}",
    "ne": "{} != {}", "getitem": "{}[{}]", "neg": "-{}", "pos": "+{}", "invert": "~{}",
}  # fmt: skip


class _Namespace:
    """Names that are free: no keyword, no builtin, none given out already."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._next: dict[str, int] = {}

    def create_name(self, candidate: str, obj: object | None = None) -> str:
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = _NUMBERED.match(candidate)
        base = match[1] if match else candidate
        number = int(match[2]) if match else 0
        taken = candidate in self._used or keyword.iskeyword(candidate) or hasattr(builtins, candidate)
        if taken:
            number = self._next.get(base, number)
        while taken:
            number += 1
            candidate = f"{base}_{number}"
            taken = candidate in self._used
        self._used.add(candidate)
        self._next[base] = number
        return candidate


class PythonCode(NamedTuple):
    """A graph's source text and the objects that it refers to by name."""

    src: str
    globals: dict[str, Any]


class CodeGen:
    """Writes the function that a graph represents."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str = "") -> str:
        """The line `def forward(...)`."""
        first = [] if free_vars and free_vars[0].split(":")[0] == "self" else ["self"]
        return f"def forward({', '.join(first + free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: str) -> str:
        """The line that returns."""
        return f"return {output_args}"

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Objects that the code needs besides those of its nodes."""
        return []

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of a call as the graph's placeholders take them."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What a call returns, from the graph's output."""
        return outputs


class _Source:
    """The text of a graph's nodes; notes the objects that it names."""

    def __init__(self, root: str, generator: CodeGen):
        self.root, self.globals, self.wrapped = root, dict(generator.additional_globals()), []
        self._names, self._namespace = {}, _Namespace()

    def local(self, node: Node) -> str:
        """The variable of a node: its name, unless that is a builtin's, as an input's of an exported program may be."""
        if node not in self._names:
            self._names[node] = self._namespace.create_name(node.name)
        return self._names[node]

    def name(self, obj: Any) -> str:
        """An expression for a function, class or other object that code can find."""
        qualified = qualified_name(obj)
        module, _, last = qualified.rpartition(".")
        if module == "builtins":
            return last
        if module == "operator" or module.startswith("torch"):
            head = module.split(".")[0]
            self.globals[head] = operator if head == "operator" else namespace.value
            if _found(qualified, self.globals[head]) is obj:
                return qualified
        name = _ILLEGAL.sub("_", qualified)
        while self.globals.setdefault(name, obj) is not obj:
            name += "_"
        return name

    def annotation(self, kind: Any) -> str:
        """The text of an annotation: parts of a generic one are named one by one."""
        origin = getattr(kind, "__origin__", None)
        if kind == ():
            return "()"
        if origin is None and not isinstance(kind, UnionType):
            return self.named(type_repr(kind), kind)
        parts = [self.annotation(part) for part in get_args(kind)]
        if isinstance(kind, UnionType):
            return "|".join(parts)
        if type(kind) is not GenericAlias:  # of typing: List[int], not list[int]
            origin = getattr(typing, _OF_TYPING.get(origin, ""), origin)
        head = self.named(type_repr(origin), origin)
        return f"{head}[{','.join(parts)}]" if parts else head

    def named(self, text: str, obj: Any) -> str:
        """A name for an object that prints itself as `text`."""
        if text.startswith("torch.") and _found(text, namespace.value) is obj:
            self.globals["torch"] = namespace.value
            return text
        name = _ILLEGAL.sub("_", text)
        while self.globals.setdefault(name, obj) is not obj:
            name += "_"
        return name

    def value(self, a: Argument) -> str:
        """The text of an argument."""
        if isinstance(a, Node):
            return self.local(a)
        if type(a) is Size:
            return f"{self.name(Size)}({list(a)!r})"
        if isinstance(a, tuple):
            inside = ", ".join(map(self.value, a))
            return f"({inside},)" if len(a) == 1 else f"({inside})"
        if isinstance(a, list):
            return f"[{', '.join(map(self.value, a))}]"
        if isinstance(a, dict):
            return "{" + ", ".join(f"{k!r}: {self.value(v)}" for k, v in a.items()) + "}"
        if isinstance(a, slice):
            return f"slice({', '.join(self.value(x) for x in (a.start, a.stop, a.step))})"
        if isinstance(a, float) and not math.isfinite(a):
            self.globals.update(inf=math.inf, nan=math.nan)
            return repr(a)
        if isinstance(a, dtype):
            self.globals["torch"] = namespace.value
            return repr(a)
        if isinstance(a, device):
            self.globals["device"] = device
            return repr(a)
        return self.name(a) if callable(a) and hasattr(a, "__module__") else repr(a)

    def arguments(self, node: Node, skip: int = 0) -> str:
        parts = [self.value(a) for a in node.args[skip:]]
        return ", ".join(parts + [f"{k} = {self.value(v)}" for k, v in node.kwargs.items()])

    def expression(self, node: Node) -> str:
        """What comes after `name =`."""
        if node.op == "get_attr":
            return _path(self.root, node.target)
        if node.op == "call_module":
            return f"{_path(self.root, node.target)}({self.arguments(node)})"
        if node.op == "call_method":
            return f"{_bracketed(self.value(node.args[0]))}.{node.target}({self.arguments(node, 1)})"
        name = getattr(node.target, "__name__", "")
        pattern = _OPERATORS.get(name) if getattr(operator, name, None) is node.target else None
        if pattern is not None and pattern.count("{}") == len(node.args) and not node.kwargs:
            return pattern.format(*map(self.value, node.args))
        if node.target is getattr and len(node.args) == 2 and str(node.args[1]).isidentifier():
            return f"{self.value(node.args[0])}.{node.args[1]}"
        if node.meta.get("is_wrapped"):
            self.wrapped.append(self.name(node.target))
        return f"{self.name(node.target)}({self.arguments(node)})"


def _found(path: str, root: Any) -> Any:
    for part in path.split(".")[1:]:
        root = getattr(root, part, None)
    return root


def _bracketed(text: str) -> str:
    return f"({text})" if text.lstrip("-").isdigit() else text


def _path(root: str, target: str) -> str:
    """`self.layer.weight`, with getattr where a part is no identifier, as in Sequential."""
    text = root
    for part in target.split("."):
        text = f"{text}.{part}" if part.isidentifier() and not keyword.iskeyword(part) else f'getattr({text}, "{part}")'
    return text


class _Place:
    """A context in which new nodes go elsewhere."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]):
        self.graph, self.old = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self.graph._insert = self.old


class Graph:
    """Nodes in the order in which they run.

    >>> graph = Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_method("relu", (x,)))
    >>> print(graph.python_code("self").src.strip().splitlines()[1].strip())
    relu = x.relu();  x = None
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None):
        self._root = Node(self, "", "call_function", print, (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._graph_namespace = _Namespace()
        self._owning_module, self._tracer_cls, self._tracer_extras = owning_module, tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._len = 0

    @property
    def owning_module(self) -> Any:
        """The GraphModule that runs the graph."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _Nodes:
        """All nodes, in order."""
        return _Nodes(self)

    def find_nodes(self, *, op: str, target: Target = None, sort: bool = True) -> list[Node]:
        """The nodes of an operation, and of a target if one is given."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # ------------------------------------------------------------------------------------------ adding

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple | None = None,
        kwargs: dict | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node at the current place."""
        if args is not None and not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if kwargs is not None and not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        name = self._graph_namespace.create_name(name or _name_of(target))
        node = Node(self, name, op, target, args or (), kwargs or {}, type_expr)
        self._insert(node)
        self._len += 1
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add a parameter."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add an attribute of the module, by its path."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(self, the_function: Callable, args: tuple | None = None, kwargs: dict | None = None,
                      type_expr: Any = None, name: str | None = None) -> Node:  # fmt: skip
        """Add a function's call."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(
        self, method_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None
    ) -> Node:
        """Add the call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None
    ) -> Node:
        """Add the call of a module, by its path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Add what the graph returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def output_node(self) -> Node:
        """The node of what the graph returns."""
        return next(n for n in reversed(self.nodes) if n.op == "output")

    def inserting_before(self, n: Node | None = None) -> _Place:
        """A context in which new nodes go before `n` (None: the beginning)."""
        if n is None:
            return self.inserting_after(self._root)
        return _Place(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _Place:
        """A context in which new nodes go after `n` (None: the end)."""
        if n is None:
            return self.inserting_before(self._root)
        last = [n]

        def insert(node: Node) -> None:
            last[0].append(node)
            last[0] = node

        return _Place(self, insert)

    # ------------------------------------------------------------------------------------------ changing

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out. Raises RuntimeError if it is still used."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._set_arguments((), {})
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """A copy of a node of another graph, its arguments translated."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copy = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copy.meta = dict(node.meta)
        return copy

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy all nodes of `g` here, filling `val_map`; the copied output's argument."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict | None = None) -> Graph:
        copy, known = Graph(tracer_cls=self._tracer_cls), {}
        result = copy.graph_copy(self, known, return_output_node=True)
        if result is not None:
            old = result[1]
            node = copy.output(result[0], old.type)
            node.meta = dict(old.meta)
        return copy

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out what is unused; whether there was anything."""
        self.lint()
        impure, changed = is_impure_node or Node.is_impure, False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Raise RuntimeError if a node comes before one that it uses, or names a module or attribute that is not there."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined!")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                _check_path(self.owning_module, node)

    # ------------------------------------------------------------------------------------------ text

    def python_code(self, root_module: str, *, verbose: bool = False, **options: Any) -> PythonCode:
        """The function that the graph represents, with the module as `root_module`.

        verbose: with the type and shape of each value (of `meta["val"]`) and the line of the program that it is from
        (`meta["stack_trace"]`).
        """
        source = _Source(root_module, self._codegen)
        last: dict[Node, list[Node]] = {}
        used: set[Node] = set()
        for node in reversed(self.nodes):
            for n in node.all_input_nodes:
                if n not in used:
                    used.add(n)
                    last.setdefault(node, []).append(n)
        parameters, lines, returned, place = [], [], "", ""
        for node in self.nodes:
            if node.op == "placeholder":
                default = f" = {source.value(node.args[0])}" if node.args else ""
                kind = f" : {source.annotation(node.type)}" if node.type is not None else ""
                kind = (verbose and _shown_type(node)) or kind
                parameters.append(f"{node.target}{kind}{default}")
                if (variable := source.local(node)) != node.target.lstrip("*"):
                    lines.append(f"{variable} = {node.target.lstrip('*')}")
            elif node.op == "output":
                returned = f" -> {source.annotation(node.type)}" if node.type is not None else ""
                lines.append(self._codegen.generate_output(source.value(node.args[0])))
            else:
                if verbose and place != (place := _line_of(node)):
                    lines += ["", f"# {place}"]
                kind = _shown_type(node) if verbose else ""
                done = _forget(list(map(source.local, last.get(node, []))), source.local(node), not node.users)
                lines.append(f"{source.local(node)}{kind} = {source.expression(node)}{done}")
        body = "".join(f"    {line}\n" if line else "\n" for line in lines or ["pass"]).lstrip("\n")
        wrapped = "".join(f'torch.fx._symbolic_trace.wrap("{name}")\n' for name in dict.fromkeys(source.wrapped))
        if wrapped:
            source.globals["torch"] = namespace.value
        text = f"\n{wrapped or chr(10)}\n{self._codegen.gen_fn_def(parameters, returned)}\n{body}    "
        return PythonCode(text, source.globals)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Write the function's head and return otherwise."""
        self._codegen = codegen

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max(len(r[i]) for r in rows) for i in range(5)]
        rows.insert(1, tuple("-" * w for w in widths))  # type: ignore[arg-type]
        print("\n".join("  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows))

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)


_TYPES = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2", "complex32": "c32", "complex64": "c64", "complex128": "c128", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "bool": "b8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip


def _shown_type(node: Node) -> str:
    """`: "f32[2, 3]"`, where the node knows its type and shape; `shape_text` has sizes that may change by their names."""
    value: Any = node.meta.get("val")
    text = node.meta.get("shape_text")
    if isinstance(text, str):
        return f': "Sym({text})"'
    shape = getattr(value, "shape", None)
    if shape is None:
        return ""
    kind = str(value.dtype).removeprefix("torch.")
    return f': "{_TYPES.get(kind, kind)}[{", ".join(map(str, text or shape))}]"'


_FRAME = re.compile(r'^\s*File "(.+)", line (\d+), in (.+)\n\s*(.*)', re.MULTILINE)


def _line_of(node: Node) -> str:
    """The innermost line of the program that a node is from."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    if not frames:
        return "No stacktrace found for following nodes"
    file, line, function, code = frames[-1]
    return f"File: {file}:{line} in {function}, code: {code}"


def _forget(last: list[str], own: str, is_unused: bool) -> str:
    """`;  x = y = None`: what is used for the last time lets go of its memory, as does the line's own value if unused."""
    names = last + [own] * is_unused
    return f";  {' = '.join(names)} = None" if names else ""


def _name_of(target: Target) -> str:
    name = target if isinstance(target, str) else getattr(target, "__name__", None) or type(target).__name__
    name = name.replace(".", "_")
    if not isinstance(target, str):
        name = name.strip("_") if name.startswith("__") else name
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower() if not isinstance(target, str) else name


def _check_path(module: Any, node: Node) -> None:
    for part in node.target.split("."):
        if not hasattr(module, part):
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute {part} of {module!r}"
            )
        module = getattr(module, part)


class _Nodes:
    """A graph's nodes as a sequence; a node that is met may be erased."""

    def __init__(self, graph: Graph, backwards: bool = False):
        self.graph, self.backwards = graph, backwards

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = root.prev if self.backwards else root.next
        while node is not root:
            if not node._erased:
                yield node
            node = node.prev if self.backwards else node.next

    def __reversed__(self) -> Any:
        return _Nodes(self.graph, not self.backwards)
