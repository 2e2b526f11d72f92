"""An exported program's graph as torch shows it: an `fx.Graph` of `torch.ops.aten`, and its signature.

The nodes of the trace become calls of torch's overloads. Parameters, buffers and constants become inputs of the graph, before
those of the user. Each node runs for the example, so that it has its shape in `meta["val"]`.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import cache, partial
from typing import Any, NamedTuple

from ...core.dispatch.aten.operators import OpOverload, register
from ...core.dispatch.aten.run import default_of
from ...core.dispatch.extension_points import namespace
from ...core.dispatch.mode import no_grad
from ...core.tensor.tensor import Tensor
from ...fx import Graph, GraphModule, Node
from ...fx.graph import CodeGen
from ...fx.node import map_arg
from ...nn.modules.module import Module
from ...ops import arange
from ...utils import _pytree as pytree
from .._functorch.proxy_tensor import kept_stream
from .._subclasses.fake_tensor import FakeTensorMode
from ..jit.ir.graph import Node as Step
from ..jit.ir.graph import Value
from ..jit.ir.interpreter import _CONTAINERS
from ..jit.ir.literals import number_of, object_of
from ..jit.ir.running import is_default, runner
from ..jit.ir.schemas import Schema, accepts, element_of, is_list, named, overloads
from .capture import Captured
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from .symbols import Symbol, changes, formula, symbols

__all__ = ["as_module", "inputs_named", "shown", "size_symbols", "with_state"]

_PREFIX = "model."
_READS = {"aten::Int", "aten::Float", "aten::Bool", "aten::ScalarImplicit", "aten::IntImplicit", "aten::FloatImplicit"}
_NUMBERS = {"prim::NumToTensor", *_READS}
_OF_SIZES = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floor_divide": operator.floordiv,
    "div": operator.truediv, "remainder": operator.mod, "neg": operator.neg,
}  # fmt: skip
_SYM_SIZE = named("sym_size", "int")
_END = 2**63 - 1  # of a slice without an end
_CUDNN = ("cudnn_enable", "cudnn_enabled")  # torch's exporter runs without cuDNN


def shown(captured: Captured, free: dict[int, dict[int, str]]) -> tuple[GraphModule, ExportGraphSignature]:
    """The graph's module, called with parameters, buffers, constants and inputs in the signature's order, and that.

    free: {place of the input: {dimension: name}} of the sizes that may change. Raises NotImplementedError for what the trace
    has and no such graph, as the branches of `torch.cond`.
    """
    with no_grad(), kept_stream():
        module, signature = _Translator(captured, free).run()
        if free:
            _name_sizes(module, captured, free)
            module.recompile()
    return module, signature


def size_symbols(captured: Captured, free: dict[int, dict[int, str]]) -> dict[str, Symbol]:
    """{name of a size that may change: its symbol}"""
    sources = _sources(captured)
    places = [(name, i, d) for i, row in free.items() for d, name in row.items()]
    hinted = {
        name for name, i, d in places if name == f"{captured.names[i]}_dim_{d}"
    }  # by `Dim.AUTO`: each place has a number
    numbered = symbols(
        [(f"{name}.{i}.{d}" if name in hinted else name, f"{sources[i]}.size()[{d}]") for name, i, d in places]
    )
    found: dict[str, Symbol] = {}
    for name, i, d in places:
        symbol = numbered[f"{name}.{i}.{d}" if name in hinted else name]
        found[name] = min(found.get(name, symbol), symbol)
    return found


def _name_sizes(module: GraphModule, captured: Captured, free: dict[int, dict[int, str]]) -> None:
    """Write the sizes that may change by their symbols, those of other tensors by formulas; one that none gives as `?`.

    The graph is made for other sizes too, and its nodes are compared. A number that is the same for all is written as it is.
    """
    named_sizes = size_symbols(captured, free)
    rows = [_values_of_symbols(captured, free, named_sizes, {})]
    graphs = [module.graph]
    for change in changes(list(named_sizes)):
        inputs = [
            _stretched(t, {d: change[n] for d, n in free.get(i, {}).items() if n in change})
            for i, t in enumerate(captured.inputs)
        ]
        try:
            graphs.append(_Translator(captured._replace(inputs=inputs), free).run()[0].graph)
        except (RuntimeError, ValueError, IndexError, TypeError, AssertionError):
            continue  # the module does not take these sizes
        rows.append(_values_of_symbols(captured, free, named_sizes, change))
    first_of: dict[str, Node] = {}
    for nodes in zip(*[list(g.nodes) for g in graphs], strict=True):
        node = nodes[0]
        if "size" in node.meta:
            _name_number(node, formula(rows, [n.meta["size"] for n in nodes]), first_of)
        elif (value := node.meta.get("val")) is not None:
            shapes = zip(*[n.meta["val"].shape for n in nodes], strict=True)
            node.meta["shape_text"] = [formula(rows, sizes) or "?" for sizes in shapes]
            assert len(node.meta["shape_text"]) == value.ndim
    for node in [n for n in module.graph.nodes if "size" in n.meta and not n.users]:
        node.graph.erase_node(node)


def _name_number(node: Node, text: str | None, first_of: dict[str, Node]) -> None:
    """A number of the graph: one that never changes is written as it is, and one that was read before is that."""
    if text is not None and text.lstrip("-").isdigit():
        instead: Any = node.meta["size"]
    elif text is not None and text in first_of:
        instead = first_of[text]
    else:
        node.meta["shape_text"] = text or "?"
        if text is not None:
            first_of[text] = node
        return
    for user in list(node.users):
        user.args = map_arg(user.args, lambda n: instead if n is node else n)
    node.graph.erase_node(node)


def _values_of_symbols(
    captured: Captured, free: dict[int, dict[int, str]], names: dict[str, Symbol], change: dict[str, tuple[int, int]]
) -> dict[Symbol, int]:
    found = {}
    for i, row in free.items():
        for d, name in row.items():
            factor, added = change.get(name, (1, 0))
            found[names[name]] = captured.inputs[i].shape[d] * factor + added
    return found


def _stretched(t: Tensor, by: dict[int, tuple[int, int]]) -> Tensor:
    """A tensor with its elements again and again, a times and b more, along dimensions."""
    for d, (factor, added) in by.items():
        size = t.shape[d]
        t = t.index_select(d, arange(factor * size + added) % max(size, 1))
    return t


def _sources(captured: Captured) -> list[str]:
    """How torch names the tensors among the arguments: L['x'], L['pair'][0]."""
    args, kwargs = pytree.tree_unflatten(*captured.arguments)
    pairs = [*zip(captured.parameters, args, strict=True), *kwargs.items()]
    return [source for name, value in pairs for source in _sources_in(f"L['{name}']", value)]


def _sources_in(source: str, value: Any) -> Iterator[str]:
    if isinstance(value, Tensor):
        yield source
    elif isinstance(value, (Mapping, list, tuple)):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, part in items:
            yield from _sources_in(f"{source}[{key!r}]", part)
    else:
        yield from (source for leaf in pytree.tree_leaves(value) if isinstance(leaf, Tensor))


class _Translator:
    """Adds a node to `graph` for each step of the trace; a value is a node, a number, or a list of those.

    free: the sizes that may change; where there are any, a size of a tensor is a node that reads it, not a number.
    """

    def __init__(self, captured: Captured, free: dict[int, dict[int, str]]):
        self.captured, self.free, self.graph = captured, free, Graph()
        self.values: dict[Value, Any] = {}
        self.examples: dict[Value, Any] = {}
        self.paths: dict[Value, tuple[Any, str]] = {}
        self.sizes: set[Value] = set()  # numbers, and tensors that are numbers of the trace
        self.of_tensor: dict[int, Node] = {}  # inputs by the identity of the parameter, buffer or constant
        self.copies: dict[int, Tensor] = {}  # what runs for the example: writes do not reach the module
        self.fake = FakeTensorMode(allow_non_fake_inputs=True)
        self.written: dict[Node, Node] = {}  # after a write in place, what returned the tensor
        self.attributes = dict(_attributes(captured.target))
        self.specs: dict[InputKind, list[InputSpec]] = {kind: [] for kind in InputKind}

    def run(self) -> tuple[GraphModule, ExportGraphSignature]:
        captured, trace = self.captured, self.captured.graph
        self.paths[trace.inputs[0]] = (captured.traced, "")
        self._state()
        tensors = iter(zip(trace.inputs[1:], captured.inputs, strict=True))
        for name, leaf in zip(_leaf_names(captured), captured.arguments[0], strict=True):
            value, t = next(tensors) if isinstance(leaf, Tensor) else (None, leaf)
            node = self._input(InputKind.USER_INPUT, name, t, None)
            if value is not None:
                self.values[value], self.examples[value] = node, t.clone()
        self._sizes_of_inputs()
        for step in trace.nodes:
            self._step(step)
        outputs = self._results(self._value(trace.outputs[0]))
        self.graph.output(tuple(outputs))
        of_inputs = [spec for kind in _ORDER for spec in self.specs[kind]]
        of_outputs = [OutputSpec(OutputKind.USER_OUTPUT, _argument(o), None) for o in outputs]
        return inputs_named(GraphModule(Module(), self.graph)), ExportGraphSignature(of_inputs, of_outputs)

    def _sizes_of_inputs(self) -> None:
        """A node for each size that may change; torch's numbers go on from those of nodes that its exporter has erased."""
        given = self.captured.graph.inputs[1:]
        places = [(given[i], d) for i, row in sorted(self.free.items()) for d in sorted(row)]
        for k, (value, d) in enumerate(places):
            node, size = self.values[value], self.examples[value].shape[d]
            node.meta.setdefault("sizes", {})[d] = self._number(
                _SYM_SIZE, (node, d), size, f"sym_size_int_{len(places) + k}"
            )

    # ------------------------------------------------------------------------------------------ inputs

    def _state(self) -> None:
        """The parameters and buffers, each path an input; a tensor with several paths is read by the last."""
        traced = self.captured.traced
        model = getattr(traced, "model", None)
        if not isinstance(model, Module):
            return
        for path, p in model.named_parameters(remove_duplicate=False):
            self.of_tensor[id(p)] = self._input(InputKind.PARAMETER, f"p_{path.removeprefix('self_')}", p, path)
        kept = {path for path, _ in _persistent(self.captured)}
        for path, b in model.named_buffers(remove_duplicate=False):
            self.of_tensor[id(b)] = self._input(
                InputKind.BUFFER, f"b_{path.removeprefix('self_')}", b, path, path in kept
            )

    def _input(self, kind: InputKind, name: str, t: Any, target: str | None, persistent: bool | None = None) -> Node:
        """A placeholder, after those of its kind."""
        before = [s for k in _ORDER[: _ORDER.index(kind) + 1] for s in self.specs[k]]
        after = list(self.graph.nodes)[len(before) :]
        with self.graph.inserting_before(after[0]) if after else nullcontext():
            node = self.graph.placeholder(name.replace(".", "_"))
        known = TensorArgument if isinstance(t, Tensor) else partial(ConstantArgument, value=t)
        self.specs[kind].append(InputSpec(kind, known(node.target), target, persistent))
        self._note(node, t)
        return node

    def _constant(self, t: Tensor, path: str) -> Node:
        """The input of a tensor that is neither parameter nor buffer, but an attribute or made by Python."""
        if id(t) not in self.of_tensor:
            lifted = sum(str(s.target).startswith("lifted_tensor_") for s in self.specs[InputKind.CONSTANT_TENSOR])
            target = path or f"lifted_tensor_{lifted}"
            self.of_tensor[id(t)] = self._input(InputKind.CONSTANT_TENSOR, f"c_{target}", t, target)
        return self.of_tensor[id(t)]

    def _copy(self, t: Tensor) -> Tensor:
        """A copy of a tensor of the module, on which the example runs."""
        return self.copies.setdefault(id(t), t.detach().clone())

    # ------------------------------------------------------------------------------------------ steps

    def _step(self, step: Step) -> None:
        if step.kind == "prim::GetAttr":
            self._attribute(step)
        elif step.is_constant:
            self._literal(step)
        elif step.kind in ("prim::ListConstruct", "prim::TupleConstruct"):
            kind = tuple if "Tuple" in step.kind else list
            self._set(step, kind(map(self._value, step.inputs)), kind(self.examples[v] for v in step.inputs))
        elif step.kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            for found in (self.values, self.examples):
                found |= dict(zip(step.outputs, found[step.inputs[0]], strict=True))
        elif step.kind in _NUMBERS:
            read: Any = runner(step.schema) if step.schema else _CONTAINERS[step.kind]
            self.sizes.update(step.outputs)
            self._set(step, self._value(step.inputs[0]), read(self.examples[step.inputs[0]]))
        elif step.schema is None or step.blocks:
            place = step.program_place or step.place
            raise NotImplementedError(f"{place}: {step.kind} has no form in the graph of an ExportedProgram")
        else:
            self._operator(step)

    def _set(self, step: Step, value: Any, example: Any) -> None:
        self.values[step.outputs[0]], self.examples[step.outputs[0]] = value, example

    def _attribute(self, step: Step) -> None:
        owner, path = self.paths[step.inputs[0]]
        name = step.attributes["name"]
        path, found = f"{path}.{name}" if path else name, getattr(owner, name)
        if isinstance(found, Tensor):
            self._set(step, self._constant(found, path.removeprefix(_PREFIX)), self._copy(found))
        else:
            self.paths[step.outputs[0]] = (found, path)

    def _literal(self, step: Step) -> None:
        """A constant of the trace: a number, an attribute of a module, or a tensor that Python made."""
        value = step.value
        if step.attributes.get("is_number"):
            self.sizes.update(step.outputs)
            self._set(step, value.item(), number_of(value))
        elif not isinstance(value, Tensor):
            self._set(step, value, value)
        elif path := self.attributes.get(id(value)):
            self._set(step, self._constant(value, path), self._copy(value))
        else:
            self._set(step, _Lifted(step), self._copy(value))

    def _value(self, value: Value) -> Any:
        """A value of the trace in the graph: after a write, the node that wrote."""
        found = self.values[value]
        if isinstance(found, _Lifted):
            found = self.values[value] = self._lifted(found.step)
        return _replaced(found, self.written)

    def _lifted(self, step: Step) -> Node:
        """A copy of a tensor that Python made, detached but where it only fills another."""
        copy = self._call(step, named("lift_fresh_copy"), [self._constant(step.value, "")], step.value)
        readers = [s for s in self.captured.graph.nodes if step.outputs[0] in s.inputs]
        if all(s.kind == "aten::fill_" for s in readers):
            return copy
        return self._call(step, named("detach_"), [copy], step.value)

    def _operator(self, step: Step) -> None:
        """A call of torch's overload, or of Python's operator where it is arithmetic on sizes."""
        schema = step.schema
        if schema.name in ("to", "detach") and self._is_made(step.inputs[0]):  # the rest of `torch.tensor`, in a trace
            self.values[step.outputs[0]] = self.values[step.inputs[0]]
            self.examples[step.outputs[0]] = self.examples[step.inputs[0]]
            return
        values, examples = [self._value(v) for v in step.inputs], [self.examples[v] for v in step.inputs]
        result = runner(schema)(*examples)
        if schema.name == "size" and not isinstance(result, (list, tuple)):
            self.sizes.update(step.outputs)
            self._set(step, self._size(values[0], values[1], result), result)
        elif schema.name in _OF_SIZES and not any(map(self._is_tensor, step.inputs)):
            self.sizes.update(step.outputs)
            found = self._arithmetic(schema.name, values, result)
            if isinstance(found, Node):
                found.meta["stack_trace"] = _stack_trace(step.place)
            self._set(step, found, result)
        elif schema.name == "slice" and tuple(values[2:]) in ((0, _END, 1), (None, None, 1)):
            self._set(step, values[0], result)  # all of a dimension: torch makes no slice of it
        else:
            self._bind(step, self._call(step, *_as_exported(schema, values), result), result)

    def _is_made(self, value: Value) -> bool:
        """Whether a value is a tensor that Python made, which nothing has read."""
        return isinstance(self.values.get(value), _Lifted)

    def _is_tensor(self, value: Value) -> bool:
        return value not in self.sizes and isinstance(self.examples[value], Tensor)

    def _size(self, tensor: Any, dim: int, size: Any) -> Any:
        """A size: a number of the program, or read where it may change."""
        if not self.free:
            return int(size)
        known = tensor.meta.setdefault("sizes", {})
        dim %= tensor.meta["val"].ndim
        if dim not in known:
            known[dim] = self._number(_SYM_SIZE, (tensor, dim), int(size))
        return known[dim]

    def _arithmetic(self, name: str, values: list[Any], result: Any) -> Any:
        result = result.item() if isinstance(result, Tensor) else result
        if not any(isinstance(v, Node) for v in values):
            return result
        return self._number(_OF_SIZES[name], tuple(values[: 1 if name == "neg" else 2]), result)

    def _number(self, function: Any, args: tuple, result: Any, name: str | None = None) -> Node:
        node = self.graph.call_function(_overload(function) if function is _SYM_SIZE else function, args, {}, name=name)
        node.meta["size"] = result
        return node

    def _call(self, step: Step, schema: Schema, values: list[Any], example: Any) -> Node:
        pairs = list(zip(schema.parameters, values, strict=True))
        pairs = [(p, False if p.name in _CUDNN else _plain(p.type, v)) for p, v in pairs]
        positional = [(p, v) for p, v in pairs if not p.keyword]
        while positional and not isinstance(positional[-1][1], Node) and _is_default(*positional[-1]):
            positional.pop()
        options = {p.name: v for p, v in pairs if p.keyword and (isinstance(v, Node) or not _is_default(p, v))}
        target = _overload(schema)
        name = schema.name.rpartition("::")[2].lower()
        name = f"{name}_1" if hasattr(builtins, name) else name
        node = self.graph.call_function(target, tuple(v for _, v in positional), options, name=name)
        node.meta["stack_trace"] = _stack_trace(step.place)
        if isinstance(example, Tensor):
            self._note(node, example)
        if step.writes and positional and isinstance(positional[0][1], Node):
            self.written[positional[0][1]] = node
        return node

    def _bind(self, step: Step, node: Node, result: Any) -> None:
        """Let the step's values be the node, or, where it has several results, its items."""
        if not isinstance(result, (list, tuple)):
            self._set(step, node, result)
            return
        items = []
        for i, part in enumerate(result):
            item = self.graph.call_function(operator.getitem, (node, i), {})
            item.meta["stack_trace"] = node.meta["stack_trace"]
            self._note(item, part)
            items.append(item)
        if len(step.outputs) == 1:
            self._set(step, items, list(result))
        else:
            self.values |= dict(zip(step.outputs, items, strict=True))
            self.examples |= dict(zip(step.outputs, result, strict=True))

    def _note(self, node: Node, example: Any) -> None:
        if isinstance(example, Tensor):
            node.meta["val"] = self.fake.from_tensor(example.detach())

    def _results(self, found: Any) -> list[Any]:
        """The module's flat results: those that are tensors from the trace, others as they were."""
        tensors = iter(found if isinstance(found, (list, tuple)) else [found])
        return [next(tensors) if isinstance(r, Tensor) else r for r in self.captured.results[0]]


_ORDER = [InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR, InputKind.USER_INPUT]


class _Lifted(NamedTuple):
    """A tensor that Python made, which becomes an input of the graph where it is first read."""

    step: Step


def _replaced(value: Any, written: dict[Node, Node]) -> Any:
    """A value with the nodes that its tensors have after the writes so far."""
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(part, written) for part in value)
    while isinstance(value, Node) and value in written:
        value = written[value]
    return value


def _attributes(target: Any) -> Iterator[tuple[int, str]]:
    """The tensors that are plain attributes of a module, with their paths."""
    for path, module in target.named_modules() if isinstance(target, Module) else ():
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                yield id(value), f"{path}.{name}" if path else name


def _is_default(p: Any, value: Any) -> bool:
    """Whether an argument is its parameter's default, as a number or as the list of it."""
    if isinstance(value, list) and value and p.default is not None and not p.default.startswith("["):
        return all(str(v) == p.default for v in value)
    if type(value) is float and p.type.startswith("Scalar") and p.default not in (None, "None"):
        return value == float(p.default)
    return is_default(p, value)


def _leaf_names(captured: Captured) -> Iterator[str]:
    """A name for each leaf of the arguments: the parameter's, and the keys and places in it."""
    args, kwargs = pytree.tree_unflatten(*captured.arguments)
    for name, value in [*zip(captured.parameters, args, strict=True), *kwargs.items()]:
        yield from _names_in(name, value)


def _names_in(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        items: Any = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    elif isinstance(value, Tensor) or len(leaves := pytree.tree_leaves(value)) == 1:
        yield name
        return
    else:
        items = enumerate(leaves)
    for key, part in items:
        yield from _names_in(f"{name}_{key}", part)


def _argument(result: Any) -> TensorArgument | ConstantArgument:
    return TensorArgument(result.name) if isinstance(result, Node) else ConstantArgument("", result)


def _persistent(captured: Captured) -> list[tuple[str, Any]]:
    """The buffers that the module's state_dict has; all of them in a program from a file, which has no others."""
    target = captured.target if isinstance(captured.target, Module) else captured.traced.model
    state = target.state_dict(keep_vars=True)
    return [(path, b) for path, b in target.named_buffers(remove_duplicate=False) if path in state]


@cache
def _overload(schema: Schema) -> OpOverload:
    space, _, name = schema.name.rpartition("::")
    torch: Any = namespace.value
    packet = getattr(getattr(torch.ops, space or "aten"), name)
    if not space and packet.implementation is None:
        register(name, partial(_run_by_schema, name))
    return getattr(packet, schema.overload or "default")


def _run_by_schema(name: str, *args: Any, **kwargs: Any) -> Any:
    """A call of an operator that only programs of TorchScript have, by the first of its schemas that takes the arguments."""
    for schema in overloads(name):
        given = dict(zip([p.name for p in schema.parameters], args, strict=False)) | kwargs
        if len(args) > len(schema.parameters) or given.keys() - {p.name for p in schema.parameters}:
            continue
        if any(p.name not in given and p.default is None for p in schema.parameters):
            continue
        values = [given[p.name] if p.name in given else default_of(p) for p in schema.parameters]
        if all(accepts(p, v, False, True) for p, v in zip(schema.parameters, values, strict=True)):
            return runner(schema)(*values)
    raise TypeError(f"aten::{name}() has no overload for these arguments")


def _as_exported(schema: Schema, values: list[Any]) -> tuple[Schema, list[Any]]:
    """The overload that torch's exporter records for one of the trace: a convolution's own, not the one below it."""
    by_name = dict(zip([p.name for p in schema.parameters], values, strict=True))
    if schema.name not in ("_convolution", "_convolution_mode"):
        return schema, values
    n = len(by_name["stride"])
    if by_name.get("transposed"):
        own = named(f"conv_transpose{n}d", "default" if n == 1 else "input")
    else:
        own = named(f"conv{n}d", "padding" if schema.name == "_convolution_mode" else "default")
    return own, [by_name[p.name] for p in own.parameters]


def _plain(kind: str, value: Any) -> Any:
    """A value of the trace as a call of Python has it: a dtype for its number, a list where one is asked for."""
    if isinstance(value, Node) or value is None:
        return value
    if is_list(kind):
        length = kind.rstrip("?")[:-1].partition("[")[2]
        values = list(value) if isinstance(value, (list, tuple)) else [value] * int(length or 1)
        return [v if isinstance(v, Node) else _plain(element_of(kind), v) for v in values]
    return object_of(kind.rstrip("?"), value)


# ------------------------------------------------------------------------------------------ called as the module


class _NestedCode(CodeGen):
    """The head and the return of `module()`: arguments and results are nested there."""

    def __init__(self, parameters: list[str], keywords: list[str], leaves: list[str]):
        self.parameters, self.keywords, self.leaves = parameters, keywords, leaves

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str = "") -> str:
        named = ", ".join(f"'{k}':{k}" for k in self.keywords)
        head = super().gen_fn_def(self.parameters + self.keywords, maybe_return_annotation)
        given = f"([{', '.join(self.parameters)}], {{{named}}})"
        return f"{head}\n    {', '.join(self.leaves)}, = fx_pytree.tree_flatten_spec({given}, self._in_spec)"

    def generate_output(self, output_args: str) -> str:
        return f"return pytree.tree_unflatten({output_args}, self._out_spec)"


def as_module(
    captured: Captured, graph: Graph, signature: ExportGraphSignature, check_guards: bool
) -> tuple[Graph, _NestedCode]:
    """The graph of `module()`, which reads parameters and buffers as attributes, and what writes its code."""
    made, copies = Graph(), {}
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    inputs = []
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        if spec.kind is not InputKind.USER_INPUT:
            copies[node] = made.get_attr(str(spec.target))
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        if spec.kind is InputKind.USER_INPUT:
            copies[node] = made.node_copy(node)
            inputs.append(copies[node])
    if check_guards:
        made.call_module("_guards_fn", tuple(inputs))
    for node in graph.nodes:
        if node.op != "placeholder":
            copies[node] = made.node_copy(node, copies.__getitem__)
    return made, _NestedCode(
        captured.parameters, list(pytree.tree_unflatten(*captured.arguments)[1]), [n.target for n in inputs]
    )


def with_state(captured: Captured, module: Module) -> None:
    """Give a module the parameters and buffers of the exported one, at the same paths."""
    model = getattr(captured.traced, "model", None)
    if not isinstance(model, Module):
        return
    kept = {path for path, _ in _persistent(captured)}
    for path, p in model.named_parameters(remove_duplicate=False):
        holder, name = _holder(module, path)
        holder.register_parameter(name, p)
    for path, b in model.named_buffers(remove_duplicate=False):
        holder, name = _holder(module, path)
        holder.register_buffer(name, b, persistent=path in kept)


def _holder(module: Module, path: str) -> tuple[Module, str]:
    *parts, name = path.split(".")
    for part in parts:
        if part not in module._modules:
            module.add_module(part, Module())
        module = module._modules[part]  # type: ignore[assignment]
    return module, name


# ------------------------------------------------------------------------------------------ lines of the program


def inputs_named(module: GraphModule) -> GraphModule:
    """The module, its inputs' nodes named as the inputs, `input` and `sum` too, which are no variables of its source."""
    for node in module.graph.nodes:
        if node.op == "placeholder":
            node.name = node.target
    return module


def _stack_trace(place: str) -> str:
    """A line of the program, `file:line` or `file:line:column`, as a traceback shows it; empty where it is unknown."""
    parts = place.rsplit(":", 2)
    file, line = (parts[0], parts[1]) if len(parts) == 3 else (parts[0], parts[-1])
    if len(parts) < 2 or not line.isdigit():
        return ""
    text = linecache.getline(file, int(line)).strip()
    return f'File "{file}", line {line}, in {_functions(file)(int(line))}\n    {text}'


@cache
def _functions(file: str) -> Callable[[int], str]:
    """From a line of a file to the name of the function around it."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return lambda line: "<module>"
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    found = [
        (n.lineno, n.end_lineno or n.lineno, getattr(n, "name", "<lambda>"))
        for n in ast.walk(tree)
        if isinstance(n, kinds)
    ]

    def name(line: int) -> str:
        around = [(start, text) for start, end, text in found if start <= line <= end]
        return max(around)[1] if around else "<module>"

    return name
