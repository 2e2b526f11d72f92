"""From a graph of torch's operators to one of ONNX's: each node runs for the example and is translated by its row.

What depends on no input is computed here and becomes a constant. A write into a tensor is the operator without the
write, whose result takes the tensor's place; one into a view takes its place in the tensor that it is a view of.
"""

from __future__ import annotations

from typing import Any

from ...core.tensor.tensor import Tensor
from ...ops import full_like, select_scatter, slice_scatter
from ..jit.ir.graph import Graph, Node, Value
from ..jit.ir.interpreter import _CONTAINERS
from ..jit.ir.running import runner
from ..jit.ir.schemas import named
from .graph import Builder, CannotExport, Item, plain
from .rows import ROWS, ROWS_OF_NUMBERS

__all__ = ["Walker"]

_VIEWS = {"slice": slice_scatter, "select": select_scatter}
_READS = {"aten::Int", "aten::Float", "aten::Bool", "aten::ScalarImplicit", "aten::IntImplicit", "aten::FloatImplicit"}
DRAWS = {
    "bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "randperm", "rrelu",
}  # fmt: skip
_CONTAINER_KINDS = ("prim::ListConstruct", "prim::TupleConstruct")


class Walker:
    """Translates the nodes of a graph into `builder`."""

    def __init__(self, builder: Builder, graph: Graph, module: Any):
        self.builder, self.graph = builder, graph
        self.items: dict[Value, Item] = {}
        self.modules: dict[Value, tuple[Any, str]] = {graph.inputs[0]: (module, "")}
        self.views: dict[Value, tuple[Value, Node]] = {}
        self.last_use = {v: i for i, node in enumerate(graph.nodes) for v in node.inputs}
        self.last_use |= dict.fromkeys(graph.outputs, len(graph.nodes))

    def run(self, inputs: list[Item]) -> list[Item]:
        """The items of the graph's results."""
        self.items |= dict(zip(self.graph.inputs[1:], inputs, strict=True))
        for i, node in enumerate(self.graph.nodes):
            try:
                self.builder.place = node.place
                self._node(node, i)
            except CannotExport as error:
                name = node.kind.removeprefix("aten::")
                raise CannotExport(f"{node.place}: {name}() has no ONNX form here: {error}") from None
        result = self.items[self.graph.outputs[0]]
        return list(result.value) if isinstance(result.value, (tuple, list)) else [result]

    # ------------------------------------------------------------------------------------------ nodes

    def _node(self, node: Node, place: int) -> None:
        if node.kind == "prim::GetAttr":
            self._attribute(node)
        elif node.is_constant:
            self._set(node, Item(node.value))
        elif node.kind in _CONTAINER_KINDS:
            parts = [self.items[v] for v in node.inputs]
            self._set(node, Item(tuple(parts) if "Tuple" in node.kind else parts))
        elif node.kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            whole = self.items[node.inputs[0]].value
            parts = [part if isinstance(part, Item) else Item(part) for part in whole]
            for value, part in zip(node.outputs, parts, strict=True):
                self.items[value] = part
        elif node.kind == "prim::NumToTensor" or node.kind in _READS:
            self._number(node)
        elif node.schema is None:
            raise CannotExport("it is no operator of torch")
        elif node.writes:
            self._write(node, place)
        else:
            self._set(node, self._operator(node, node.schema, [self.items[v] for v in node.inputs]))
            if node.schema.name in _VIEWS:
                self.views[node.outputs[0]] = (node.inputs[0], node)

    def _set(self, node: Node, item: Item) -> None:
        parts = [item] if len(node.outputs) == 1 else item.value
        self.items |= dict(zip(node.outputs, parts, strict=True))

    def _attribute(self, node: Node) -> None:
        owner, path = self.modules[node.inputs[0]]
        name = node.attributes["name"]
        found = getattr(owner, name)
        path = f"{path}.{name}" if path else name
        if isinstance(found, Tensor):
            self._set(node, Item(found, label=path.removeprefix("model.")))
        else:
            self.modules[node.outputs[0]] = (found, path)

    def _number(self, node: Node) -> None:
        item = self.items[node.inputs[0]]
        value = runner(node.schema)(item.value) if node.schema else _CONTAINERS[node.kind](item.value)
        self._set(node, Item(value, item.name))

    def _operator(self, node: Node, schema: Any, items: list[Item]) -> Item:
        if schema.name in DRAWS:
            raise CannotExport("it draws random numbers, which a model would repeat")
        value = runner(schema)(*map(plain, items))
        if all(item.is_constant for item in items):
            return _unfolded(value)
        name = schema.name
        row = ROWS_OF_NUMBERS.get(name) if not isinstance(value, (Tensor, list, tuple)) else ROWS.get(name)
        if row is None and name.startswith("special_"):
            row = ROWS.get(name.removeprefix("special_"))
        if row is None:
            raise CannotExport("the operator is not in the table")
        made = row(self.builder, value, *items)
        if made is None:
            return _unfolded(value)
        if isinstance(made, Item):
            return made
        if isinstance(made, list):
            return Item([Item(v, n) for v, n in zip(value, made, strict=True)])
        return Item(value, made)

    # ------------------------------------------------------------------------------------------ writes

    def _write(self, node: Node, place: int) -> None:
        target, schema = node.inputs[0], node.schema
        items = [self.items[v] for v in node.inputs]
        if schema.name == "copy_":
            made = self._copied(items[0], items[1])
        elif schema.name in ("zero_", "fill_"):
            made = self._filled(items[0], items[1] if len(items) > 1 else Item(0))
        else:
            try:
                plain_schema = named(schema.name.removesuffix("_"), schema.overload)
            except (KeyError, LookupError):
                raise CannotExport("it writes in place, and there is no operator without the write") from None
            made = self._operator(node, plain_schema, items)
            if made.value.dtype is not items[0].value.dtype:
                made = self._copied(items[0], made)
        self._refuse_other_views(target, items[0].value, place)
        self._set(node, made)
        self._replace(target, made)

    def _copied(self, target: Item, source: Item) -> Item:
        """What a tensor holds after `source` was written into it."""
        value = source.value if isinstance(source.value, Tensor) else plain(source)
        if not isinstance(value, Tensor):
            raise CannotExport("a number is written into a tensor")
        fresh = value.to(target.value.dtype).expand(target.value.shape)
        if source.is_constant and (target.is_constant or not self.builder.dynamic):
            return Item(fresh)
        name = self.builder.name(source, target.value.dtype)
        if self.builder.dynamic or value.shape != target.value.shape:
            name = self.builder.emit("Expand", name, self.builder.shape_of(target))
        return Item(fresh, name)

    def _filled(self, target: Item, number: Item) -> Item:
        """A tensor of one number, of the shape and type of another."""
        value = full_like(target.value, plain(number))
        if number.is_constant and (target.is_constant or not self.builder.dynamic):
            return Item(value)
        return Item(value, ROWS["full_like"](self.builder, value, target, number))

    def _replace(self, target: Value, made: Item) -> None:
        """Let `made` be what the value holds, and what it is a view of."""
        self.items[target] = made
        if target not in self.views:
            return
        parent, node = self.views[target]
        whole, options = self.items[parent], [self.items[v] for v in node.inputs[1:]]
        if not all(option.is_constant for option in options):
            raise CannotExport("it writes into a slice whose place depends on the inputs")
        dim, *place = map(plain, options)
        value = _VIEWS[node.schema.name](whole.value, made.value, dim, *place)
        if whole.is_constant and made.is_constant:
            return self._replace(parent, Item(value))
        g, single = self.builder, node.schema.name == "select"
        first, rest = self._bounds(whole, dim, slice(place[0], place[0] + 1 or None) if single else slice(*place))
        middle, source, axis = g.name(made, whole.value.dtype), g.name(whole), g.constant([dim])
        parts = [g.emit("Unsqueeze", middle, axis) if single else middle]
        if first:
            parts.insert(0, g.emit("Slice", source, g.constant([0]), g.constant([first]), axis))
        if rest is not None:
            parts.append(g.emit("Slice", source, rest, g.constant([2**62]), axis))
        return self._replace(parent, Item(value, g.emit("Concat", *parts, axis=dim)))

    def _bounds(self, whole: Item, dim: int, part: slice) -> tuple[int, str | None]:
        """Where a written slice begins, and the name of where the rest begins (None: no rest), for every size of `dim`."""
        if part.step not in (None, 1):
            raise CannotExport("it writes into a slice with a step")
        g, start, end = self.builder, part.start or 0, part.stop
        if whole.is_constant or not g.dynamic:
            size = whole.value.shape[dim]
            start, end, _ = slice(start, end).indices(size)
            end = None if max(start, end) >= size else end
        if end is None or end >= 2**62:
            return start, None
        if (start < 0) == (end < 0):
            return start, g.constant([max(start, end)])
        below, above = sorted((start, end))
        return start, g.emit("Max", g.emit("Add", g.size_of(whole, dim), g.constant([below])), g.constant([above]))

    def _refuse_other_views(self, target: Value, memory: Tensor, place: int) -> None:
        """Raise where another value that is read later shows the memory that is written."""
        through = {target}
        while target in self.views:
            target = self.views[target][0]
            through.add(target)
        address = memory.untyped_storage().data_ptr()
        for value, item in self.items.items():
            if (
                value not in through
                and self.last_use.get(value, -1) > place
                and isinstance(item.value, Tensor)
                and item.value.numel()
                and item.value.untyped_storage().data_ptr() == address
                and item is not self.items[target]
            ):
                raise CannotExport("it writes into memory that another tensor, which is used later, shows")


def _unfolded(value: Any) -> Item:
    """A constant; a list has items."""
    if isinstance(value, (list, tuple)) and any(isinstance(part, Tensor) for part in value):
        return Item(list(map(Item, value)))
    return Item(value)
