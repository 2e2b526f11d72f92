"""The graphs of a trace while it grows: one for each call of a module, and which value each tensor is.

A value of another call's graph is handed over as torch does: down as a further argument of the call, up as a further
result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import ref

from ....core.live_objects import tensors_and_modules
from ....core.tensor.storage import storage_of
from ....core.tensor.tensor import Tensor
from ....nn.modules.module import Module
from ..ir.binding import Call, plain_number
from ..ir.class_names import ClassNames, has_graphs
from ..ir.graph import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STRING,
    TENSOR,
    Block,
    Graph,
    Node,
    Type,
    Value,
    list_of,
    list_with,
)
from ..ir.literals import code_of, exact_number_tensor
from ..ir.packed import class_of_packed
from ..ir.python_function import PythonFunction
from ..ir.schemas import element_of, is_list, kind_of, named
from .data_flow import is_of_data
from .describe import caller_place, name_in_python, program_place, type_of_tensor

__all__ = ["Builder", "Frame"]


# nodes for which torch names no line
_WITHOUT_LINE = (
    "prim::ListConstruct", "prim::TupleConstruct", "prim::ListUnpack", "prim::TupleUnpack", "prim::NumToTensor", "aten::Int",
)  # fmt: skip


class Frame:
    """One call of a module, or the traced function.

    imports: values of outer graphs and the arguments that they are here; exports: the other way; call: the node of
    the outer graph; head: the nodes that read attributes, which come first; nodes: where the next node goes, the graph's or
    those of a block inside.
    """

    def __init__(self, module: Module | None, parent: Frame | None, call: Node | None, name: str, kind: Type | None):
        self.module, self.parent, self.call = module, parent, call
        self.scope = name if parent is None or not parent.scope else f"{parent.scope}/{name}"
        self.graph = Graph()
        self.nodes = self.graph.nodes
        self.head: list[Node] = []
        self.imports: dict[Value, Value] = {}
        self.exports: dict[Value, Value] = {}
        self.attributes: dict[str, Value] = {}
        self.depth = 0 if parent is None else parent.depth + 1
        self.children: list[Frame] = []
        if kind is not None:
            self.attributes[""] = self.argument(kind, "self")
        self.paths = {id(t): path for path, t in reversed(_tensors_of(module))}
        self.modules = {id(m): path for path, m in reversed(_modules_of(module))}

    def argument(self, type: Type, hint: str = "") -> Value:
        value = Value(type, hint, self)
        self.graph.inputs.append(value)
        return value

    def is_within(self, other: Frame) -> bool:
        """Whether `other` is this call or one around it."""
        frame: Frame | None = self
        while frame is not None and frame.depth > other.depth:
            frame = frame.parent
        return frame is other


def _modules_of(module: Module | None) -> list[tuple[str, Module]]:
    return [] if module is None else list(module.named_modules(remove_duplicate=False))


def _tensors_of(module: Module | None) -> list[tuple[str, Any]]:
    """The tensors and packed weights of a module by their paths."""
    if module is None:
        return []
    packed = [
        (f"{path}.{name}".lstrip("."), value)
        for path, m in _modules_of(module)
        for name, value in vars(m).items()
        if class_of_packed(value)
    ]
    return [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False), *packed]


class Builder:
    """Makes the graphs. frame: of the call that runs now."""

    def __init__(self, root: Module | None, names: ClassNames):
        self.names = names
        self.root = self.frame = Frame(root, None, None, "", None if root is None else self._class(root))
        self.calls: list[Node] = []  # of programs, that run now
        self.scopes: list[str] = []  # that hooks of the program have pushed
        self.stack: list[bool] = []  # for each module that runs, whether it has a frame
        self.values: dict[int, tuple[Tensor, Value]] = {}
        self.data: dict[int, Node] = {}  # by storage, the node that could copy a constant
        self.constants: dict[int, Tensor] = {}  # tensors that became constants
        found = [t for t in tensors_and_modules() if isinstance(t, Tensor)]
        self.existing = {id(t): ref(t) for t in found}  # what was there before the trace, and not frozen
        self.witness = Tensor([])  # of whether the collector shows what was made since

    # ------------------------------------------------------------------------------------------ modules

    def _class(self, module: Module) -> Type:
        return Type("Class", detail=self.names.of(module))

    @property
    def scope(self) -> str:
        """Of a node that is added now: the modules that run, and what hooks have pushed."""
        return "/".join([self.frame.scope, *self.scopes] if self.frame.scope else self.scopes)

    def enter(self, module: Module) -> None:
        """A module is called. It has a graph of its own where it is below the module that runs."""
        frame = self.frame
        path = "" if has_graphs(module) else frame.modules.get(id(module), "")  # a program is called as it is
        self.stack.append(bool(path))
        if path:
            me = self._attribute(frame, path)
            call = Node("prim::CallMethod", [me], [], {"name": "forward"})
            around = frame.scope.rpartition("/")[2] or "__module"  # each part is a whole path, from the root
            self.frame = Frame(module, frame, call, f"{around}.{path}", self._class(module))
            frame.children.append(self.frame)
            frame.nodes.append(call)

    def leave(self) -> None:
        """The call has ended."""
        if self.stack.pop():
            assert self.frame.parent is not None
            self.frame = self.frame.parent

    def has_path(self, module: Module) -> bool:
        """Whether a module is below the one that runs."""
        return bool(self.frame.modules.get(id(module), ""))

    def begin_call(self, graph: Graph, given: tuple, name: str, callee: Any) -> None:
        """Add the call of a program: of a function, or of the method of a module."""
        is_method = isinstance(callee, Module)
        named = not is_method  # torch looks for names where the call of a module is, in Module.__call__
        inputs = [self._given(p.type, v, named) for p, v in zip(graph.inputs[is_method:], given, strict=True)]
        if is_method:
            head, attributes = self._attribute(self.frame, self.frame.modules[id(callee)]), {"name": name}
        else:
            head, attributes = Value(Type("Function", detail=name), "", self.frame), {}
            self.frame.nodes.append(Node("prim::Constant", [], [head], {"name": name, "function": callee}))
        kind = "prim::CallMethod" if is_method else "prim::CallFunction"
        self.calls.append(Node(kind, [head, *inputs], [], attributes, scope=self.frame.scope))
        self.frame.nodes.append(self.calls[-1])

    def end_call(self, graph: Graph, result: Any) -> None:
        """The call gave this."""
        node = self.calls.pop()
        try:
            kind = _structure(result)
        except TypeError:
            raise NotImplementedError(
                f"torch.jit.trace: {graph.name}() gives a {type(result).__name__}; of scripts that give tensors, or tuples, "
                "lists and dicts of them, the calls can be recorded"
            ) from None
        node.outputs = [Value(kind if isinstance(result, Tensor) else kind.without_details(), "", self.frame)]
        self._unpack(node.outputs[0], result)

    def _given(self, kind: Type, value: Any, named: bool) -> Value:
        """The value that an argument of a program's call is."""
        if isinstance(value, Tensor) and kind.kind == "Tensor":
            return self.value(value, named)
        return self.result(value) if isinstance(value, (tuple, dict)) else self.input(str(kind), value)

    def _attribute(self, frame: Frame, path: str) -> Value:
        """The value of an attribute of the frame's module."""
        known = frame.attributes.get(path)
        if known is not None:
            return known
        nodes: list[Node] = []
        me = frame.attributes[""]
        module: Any = frame.module
        for part in path.split("."):
            module = getattr(module, part)
            packed = class_of_packed(module)
            if isinstance(module, Tensor):
                kind = TENSOR
            else:
                kind = self._class(module) if packed is None else Type("Class", detail=packed)
            result = Value(kind, part if part.isidentifier() else f"_{part}", frame)
            nodes.append(Node("prim::GetAttr", [me], [result], {"name": part}))
            me = result
        frame.head[:0] = nodes
        frame.attributes[path] = me
        return me

    # ------------------------------------------------------------------------------------------ values of tensors

    def knows(self, t: Tensor) -> bool:
        """Whether the program has a tensor: as a result, an argument or an attribute."""
        return id(t) in self.values or id(t) in self.constants or self._owner(t) is not None

    def computed(self, t: Tensor) -> bool:
        """Whether a tensor depends on the program's arguments or attributes."""
        return id(t) in self.values or self._owner(t) is not None

    def _owner(self, t: Any) -> Frame | None:
        frame: Frame | None = self.frame
        while frame is not None and id(t) not in frame.paths:
            frame = frame.parent
        return frame

    def assign(self, t: Tensor, value: Value) -> None:
        """Say which value a tensor is from now on."""
        if self._owner(t) is None:
            self.values[id(t)] = (t, value)

    def value(self, t: Tensor, named: bool = True) -> Value:
        """The value of a tensor, in the graph of the call that runs. named: it gets its name in Python."""
        entry = self.values.get(id(t))
        owner = None if entry else self._owner(t)
        if entry is not None:
            found = entry[1]
        elif owner is not None:
            found = self._attribute(owner, owner.paths[id(t)])
        else:
            return self._tensor_constant(t)
        if named and not found.hint:
            found.hint = name_in_python(t)
        return self._bring(found, self.frame)

    def _packed(self, value: Any) -> Value:
        """The value of a packed weight, which is an attribute of a module."""
        owner = self._owner(value)
        if owner is None:
            raise NotImplementedError(
                "torch.jit.trace: a packed weight that is no attribute of the module cannot be recorded"
            )
        return self._bring(self._attribute(owner, owner.paths[id(value)]), self.frame)

    def _bring(self, value: Value, frame: Frame) -> Value:
        if value.owner is frame:
            return value
        known = frame.imports.get(value)
        if known is not None:
            return known
        if not frame.is_within(value.owner):
            return self._bring(self._hand_up(value), frame)
        assert frame.parent is not None and frame.call is not None
        outer = self._bring(value, frame.parent)
        known = frame.imports.get(outer)
        if known is None:
            frame.call.inputs.append(outer)
            known = frame.imports[outer] = frame.argument(value.type)
        frame.imports[value] = known
        return known

    @staticmethod
    def _hand_up(value: Value) -> Value:
        frame: Frame = value.owner
        known = frame.exports.get(value)
        if known is None:
            assert frame.call is not None
            known = frame.exports[value] = Value(value.type, "", frame.parent)
            frame.call.outputs.append(known)
        return known

    def is_of_data(self, t: Tensor) -> bool:
        """Whether a tensor was computed from the elements of the inputs."""
        entry = self.values.get(id(t))
        return entry is not None and is_of_data(entry[1], self.root)

    # ------------------------------------------------------------------------------------------ nodes

    def primitive(self, kind: str, inputs: list[Value], type: Type = TENSOR, **attributes: Any) -> Value:
        """Add a `prim::` node."""
        result = Value(type, "", self.frame)
        self.add(Node(kind, inputs, [result], attributes))
        return result

    def add(self, node: Node) -> None:
        node.scope = node.scope or self.scope
        if node.kind not in _WITHOUT_LINE and not (node.is_constant and node.value is None):
            node.place = node.place or caller_place()
            node.program_place = program_place()
        self.frame.nodes.append(node)

    def constant(self, value: Any, type: Type) -> Value:
        """A number, a text, a type or None."""
        return self.primitive("prim::Constant", [], type, value=value)

    def made(self, t: Tensor) -> Tensor:
        """A tensor of Python's numbers: it may be a constant."""
        self.constants[id(t)] = t
        return t

    def _existed(self, t: Tensor) -> bool:
        """Whether a tensor was there before the trace: it was seen, or `gc.freeze()` had hidden it."""
        known = self.existing.get(id(t))
        if known is not None and known() is t:
            return True
        found = tensors_and_modules()
        return all(o is not t for o in found) and any(o is self.witness for o in found)

    def _tensor_constant(self, t: Tensor) -> Value:
        if t.requires_grad:
            raise RuntimeError(
                "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or "
                "input, or "
                f"detaching the gradient\nTensor:\n{t.detach()}"
            )
        if id(t) not in self.constants and not self._existed(t):
            raise NotImplementedError(
                f"torch.jit.trace: a tensor of shape {list(t._array.shape)} was computed or made by a function "
                "that cannot be "
                "recorded; make constants by torch.tensor or outside the traced function"
            )
        self.constants[id(t)] = t
        return self.constant(t, type_of_tensor(t))

    def _wrapped_number(self, value: Any) -> Value:
        result = self.value(self.made(exact_number_tensor(value)))
        self.frame.nodes[-1].attributes["is_number"] = True
        return result

    def node(self, call: Call, *types: Type) -> Value:
        """Add a node of an operator with one result."""
        inputs = self._inputs(call)
        results = [Value(kind, "", self.frame) for kind in types]
        self.add(Node(kind_of(call.schema), inputs, results, schema=call.schema))
        return results[0]

    def record(self, call: Call, result: Any) -> None:
        """Add the node of an operator that gave `result`: a tensor, tensors in a tuple, or None."""
        if result is not None and not isinstance(result, (Tensor, tuple, list)):
            shown = f"{call.schema.returns}, from operator: {kind_of(call.schema)}"
            raise RuntimeError(f"unsupported output type: {shown}")
        self._own_data(call)
        inputs = self._inputs(call)
        node = Node(kind_of(call.schema), inputs, [], schema=call.schema)
        if isinstance(result, Tensor):
            result = (result,)
        result = () if result is None else result
        gives_list = call.schema.returns.strip("()").partition(" ")[0].endswith("[]")
        results = [Value(type_of_tensor(t), "", self.frame) for t in result]
        if gives_list:
            several = Value(list_of(TENSOR), "", self.frame)
            node.outputs = [several]
            self.add(node)
            self.add(Node("prim::ListUnpack", [several], results))
        else:
            node.outputs = results
            self.add(node)
        for t, value in zip(result, results, strict=True):
            self.assign(t, value)

    def branch(self, condition: Tensor, parts: Sequence[Callable[[], list[Tensor]]], taken: int) -> list[Tensor]:
        """Add a `prim::If` of two parts, which are run for their nodes; the results of the part `taken`."""
        node = Node("prim::If", [self.node(Call(named("Bool", "Tensor"), [condition]), BOOL)], [])
        self.add(node)
        before = dict(self.values)
        results = [self._in_block(node, part) for part in parts]
        for chosen, other in zip(results[taken], results[1 - taken], strict=True):
            alike = chosen.shape == other.shape and chosen.dtype == other.dtype
            node.outputs.append(Value(type_of_tensor(chosen) if alike else TENSOR, "", self.frame))
        own = [t.view_as(t) if id(t) in before or self._owner(t) else t for t in results[taken]]
        for t, value in zip(own, node.outputs, strict=True):
            self.assign(t, value)
        return own

    def _in_block(self, node: Node, part: Callable[[], list[Tensor]]) -> list[Tensor]:
        """What a part gives, whose nodes go to a block of `node`."""
        frame, block, before = self.frame, Block(), dict(self.values)
        node.blocks.append(block)
        outer, frame.nodes = frame.nodes, block.nodes
        try:
            results = part()
            block.outputs = [self.value(t, named=False) for t in results]
        finally:
            frame.nodes = outer
            self.values |= before  # what a block wrote to is outside what it was: the same memory
        return results

    def record_function(self, function: Any, args: tuple, result: Any) -> None:
        """Add the node of a call of an `autograd.Function`."""
        inputs = [self.value(a) for a in args if isinstance(a, Tensor)]
        tensors = [t for t in (result if isinstance(result, tuple) else (result,)) if isinstance(t, Tensor)]
        results = [Value(type_of_tensor(t), "", self.frame) for t in tensors]
        self.add(Node(f"^{function.__name__}", inputs, results, {"function": PythonFunction(function, args)}))
        for t, value in zip(tensors, results, strict=True):
            self.assign(t, value)

    def record_data(self, t: Tensor) -> None:
        """A tensor that Python made of its own numbers: a constant, which is copied where the program writes to
        it.
        """
        source = self.constant(t.detach().clone(), type_of_tensor(t))
        options = [
            self.constant(t.device, DEVICE), self.constant(code_of(t.dtype), INT), self.constant(False, BOOL),
            self.constant(False, BOOL), self.constant(None, NONE),
        ]  # fmt: skip
        node = Node(
            "aten::to", [source, *options], [Value(type_of_tensor(t), "", self.frame)], schema=named("to", "device")
        )
        self.add(node)
        self.data[id(storage_of(t))] = node
        after = self.node(Call(named("detach"), [node.outputs[0]]), type_of_tensor(t))
        self.assign(t, after)

    def _own_data(self, call: Call) -> None:
        """Copy a constant that is about to be written to: each run of the program starts with the same."""
        name = call.schema.name
        first = call.arguments[0] if call.arguments else None
        if not name.endswith("_") or name.endswith("__") or not isinstance(first, Tensor):
            return
        node = self.data.get(id(storage_of(first)))
        if node is not None:
            node.inputs[4] = Value(BOOL, "", node.outputs[0].owner)
            owner: Frame = node.outputs[0].owner
            nodes = list_with(owner.graph, node)
            nodes.insert(nodes.index(node), Node("prim::Constant", [], [node.inputs[4]], {"value": True}))

    # ------------------------------------------------------------------------------------------ arguments

    def _inputs(self, call: Call) -> list[Value]:
        pairs = zip(call.schema.parameters, call.arguments, strict=True)
        return [self.input(p.type, value) for p, value in pairs]

    def input(self, kind: str, value: Any) -> Value:
        """The value that an argument of a type is."""
        if isinstance(value, Value):
            return value
        if value is None:
            return self.constant(None, NONE)
        if is_list(kind):
            return self._list(kind.rstrip("?"), value)
        kind = kind.rstrip("?")
        if class_of_packed(value):
            return self._packed(value)
        if kind == "Tensor":
            return self.value(value) if isinstance(value, Tensor) else self._wrapped_number(value)
        if isinstance(value, Tensor):
            return self._number(kind, value)
        value = plain_number(value)
        if kind in ("float", "int", "SymInt", "bool", "str", "complex"):
            make, type = _MADE_OF[kind]
            return self.constant(make(value), type)
        if kind == "Scalar":
            return self.constant(value, _TYPE_OF_NUMBER[type_name(value)])
        if kind == "Device":
            return self.constant(value, DEVICE)
        return self.constant(code_of(value), INT)

    def _list(self, kind: str, value: Any) -> Value:
        element = element_of(kind)
        if not isinstance(value, (list, tuple)):
            length = kind[kind.index("[") + 1 : -1]
            value = [value] * int(length or 1)
        parts = [self.input(element, v) for v in value]
        type = {"Tensor": TENSOR, "float": FLOAT, "bool": BOOL, "Scalar": NUMBER}.get(element.rstrip("?"), INT)
        if kind.startswith("Tensor?"):
            type = Type("Optional", (TENSOR,))
        return self.primitive("prim::ListConstruct", parts, list_of(type))

    def _number(self, kind: str, t: Tensor) -> Value:
        name, type = {"Scalar": ("ScalarImplicit", NUMBER), "float": ("Float", FLOAT)}.get(kind, ("Int", INT))
        result = Value(type, "", self.frame)
        schema = named(name, "" if kind == "Scalar" else "Tensor")
        source = self.value(t)
        node = Node(f"aten::{name}", [source], [result], schema=schema, place=caller_place(), scope=self.scope)
        nodes = self.frame.nodes
        made = next((i for i in reversed(range(len(nodes))) if source in nodes[i].outputs), len(nodes) - 1)
        nodes.insert(made + 1, node)  # where torch has it: right after the number
        return result

    # ------------------------------------------------------------------------------------------ arguments and results

    def argument(self, value: Any, name: str) -> None:
        """Add an argument of the program: a tensor, or containers of them."""
        kind = _structure(value)
        whole = self.root.argument(kind, name)
        if isinstance(value, Tensor):
            self.values[id(value)] = (value, whole)
        else:
            self._unpack(whole, value)

    def _unpack(self, whole: Value, value: Any) -> None:
        if isinstance(value, Tensor):
            self.assign(value, whole)
        elif isinstance(value, dict):
            for key, part in value.items():
                inputs = [whole, self.constant(key, STRING if isinstance(key, str) else INT)]
                result = Value(_structure(part), "", self.frame)
                self.add(Node("aten::__getitem__", inputs, [result], schema=named("__getitem__", "Dict_str")))
                self._unpack(result, part)
        else:
            parts = [Value(_structure(part), "", self.frame) for part in value]
            self.add(Node("prim::TupleUnpack" if isinstance(value, tuple) else "prim::ListUnpack", [whole], parts))
            for part, v in zip(parts, value, strict=True):
                self._unpack(part, v)

    def result(self, value: Any) -> Value:
        """The value of what the function returned."""
        if isinstance(value, Tensor):
            return self.value(value, named=False)
        if isinstance(value, dict):
            parts = [
                v
                for k, x in value.items()
                for v in (self.constant(k, STRING if isinstance(k, str) else INT), self.result(x))
            ]
            types = (parts[0].type, parts[1].type._replace(detail="")) if parts else (STRING, TENSOR)
            return self.primitive("prim::DictConstruct", parts, Type("Dict", types))
        parts = [self.result(v) for v in value]
        if isinstance(value, tuple):
            return self.primitive("prim::TupleConstruct", parts, Type("Tuple", tuple(p.type for p in parts)))
        element = parts[0].type._replace(detail="") if parts else TENSOR
        return self.primitive("prim::ListConstruct", parts, list_of(element))

    def frames(self, frame: Frame | None = None) -> Iterator[Frame]:
        """All calls, the outer ones first."""
        frame = frame or self.root
        yield frame
        for child in frame.children:
            yield from self.frames(child)


def type_name(value: Any) -> str:
    return type(value).__name__


_TYPE_OF_NUMBER = {"int": INT, "float": FLOAT, "bool": BOOL, "complex": COMPLEX}
_MADE_OF: dict[str, Any] = {
    "float": (float, FLOAT), "int": (int, INT), "SymInt": (int, INT), "bool": (bool, BOOL), "str": (str, STRING),
    "complex": (complex, COMPLEX),
}  # fmt: skip


def _structure(value: Any) -> Type:
    """The type of an argument. Raises RuntimeError for what cannot be traced."""
    if isinstance(value, Tensor):
        return type_of_tensor(value)
    if isinstance(value, tuple):
        return Type("Tuple", tuple(map(_structure, value)))
    if isinstance(value, list) and value:
        return list_of(_structure(value[0])._replace(detail=""))
    if isinstance(value, dict) and value:
        key, first = next(iter(value.items()))
        return Type("Dict", (STRING if isinstance(key, str) else INT, _structure(first)._replace(detail="")))
    raise TypeError(_kind_of(value))


def _kind_of(value: Any) -> str:
    if value is None:
        return "NoneType"
    return "List[Tensor]" if isinstance(value, list) else type_name(value)
