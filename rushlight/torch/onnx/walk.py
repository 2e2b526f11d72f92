"""From a graph of torch's operators to one of ONNX's: each node runs for the example and is translated by its row.

What depends on no input is computed here and becomes a constant. A write into a tensor is the operator without the
write, whose result takes the tensor's place; one into a view takes its place in the tensor that it is a view of.
"""

from __future__ import annotations

from typing import Any

from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor
from ...ops import cat, full_like, select_scatter, slice_scatter
from ..jit.ir.graph import Graph, Node, Value
from ..jit.ir.interpreter import _CONTAINERS
from ..jit.ir.literals import number_of
from ..jit.ir.running import runner
from ..jit.ir.schemas import named
from .graph import UNKNOWN, Builder, CannotExport, Item, example, plain, plain_other
from .rows import ROWS, ROWS_OF_NUMBERS

__all__ = ["Walker"]

_VIEWS = {"slice": slice_scatter, "select": select_scatter}
_READS = {"aten::Int", "aten::Float", "aten::Bool", "aten::ScalarImplicit", "aten::IntImplicit", "aten::FloatImplicit"}
_SIZES = {"size", "numel", "dim"}
_COUNTING = {"nonzero", "masked_select"}  # elements decide how long the result is
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
            self._set(node, Item(number_of(node.value) if node.attributes.get("is_number") else node.value))
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
        read = runner(node.schema) if node.schema else _CONTAINERS[node.kind]
        value = read(item.value)
        other = UNKNOWN if item.other is UNKNOWN else value if item.other is item.value else read(item.other)
        if item.of_data and not isinstance(value, Tensor) and other is not UNKNOWN and other == value:
            other = value + 1  # no elements of the example say that all inputs have this number
        made = Item(value, item.name).follows(item, other=other)
        made.loose |= item.name is not None and not isinstance(value, Tensor) and value == other
        self._set(node, made)

    def _operator(self, node: Node, schema: Any, items: list[Item]) -> Item:
        if schema.name in DRAWS:
            raise CannotExport("it draws random numbers, which a model would repeat")
        value = runner(schema)(*map(example, items))
        if all(item.is_constant for item in items):
            return _unfolded(value)
        made = self._translated(schema, value, items)
        other = _for_other_sizes(schema, value, items)
        _complete(made, other, items)
        if schema.name in _SIZES:
            _of_sizes_alone(made)
        elif schema.name == "slice":
            made.loose |= _may_be_cut(made, items)
        return made

    def _translated(self, schema: Any, value: Any, items: list[Item]) -> Item:
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
        value = source.value if isinstance(source.value, Tensor) else example(source)
        if not isinstance(value, Tensor):
            raise CannotExport("a number is written into a tensor")
        fresh = value.to(target.value.dtype).expand(target.value.shape)
        if source.is_constant and target.fixes_shape:
            return Item(fresh)
        name = self.builder.name(source, target.value.dtype)
        if value.shape != target.value.shape or not (source.fixes_shape and target.fixes_shape):
            name = self.builder.emit("Expand", name, self.builder.shape_of(target))
        other = UNKNOWN
        if target.other is not UNKNOWN and source.other is not UNKNOWN:
            written = source.other if isinstance(source.other, Tensor) else plain_other(source)
            other = written.to(target.value.dtype).expand(target.other.shape)
        return Item(fresh, name).follows(target, source, other=other)

    def _filled(self, target: Item, number: Item) -> Item:
        """A tensor of one number, of the shape and type of another."""
        value = full_like(target.value, example(number))
        if number.is_constant and target.fixes_shape:
            return Item(value)
        unknown = target.other is UNKNOWN or number.other is UNKNOWN
        other = UNKNOWN if unknown else full_like(target.other, number.other)
        name = ROWS["full_like"](self.builder, value, target, number)
        return Item(value, name).follows(target, number, other=other)

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
        other = UNKNOWN
        if whole.other is not UNKNOWN and made.other is not UNKNOWN:
            other = _VIEWS[node.schema.name](whole.other, made.other, dim, *place)
        g, single = self.builder, node.schema.name == "select"
        first, rest = self._bounds(whole, dim, slice(place[0], place[0] + 1 or None) if single else slice(*place))
        middle, source, axis = g.name(made, whole.value.dtype), g.name(whole), g.constant([dim])
        parts = [g.emit("Unsqueeze", middle, axis) if single else middle]
        if first:
            parts.insert(0, g.emit("Slice", source, g.constant([0]), g.constant([first]), axis))
        if rest is not None:
            parts.append(g.emit("Slice", source, rest, g.constant([2**62]), axis))
        name = g.emit("Concat", *parts, axis=dim)
        return self._replace(parent, Item(value, name).follows(whole, made, other=other))

    def _bounds(self, whole: Item, dim: int, part: slice) -> tuple[int, str | None]:
        """Where a written slice begins, and the name of where the rest begins (None: no rest), for every size of `dim`."""
        if part.step not in (None, 1):
            raise CannotExport("it writes into a slice with a step")
        g, start, end = self.builder, part.start or 0, part.stop
        if whole.fixes(dim):
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


def _complete(made: Item, other: Any, items: list[Item]) -> None:
    """Note in a result, or in each of a list, what it is for other sizes."""
    if made.has_items:
        for i, part in enumerate(made.value):
            _complete(part, UNKNOWN if other is UNKNOWN else other[i], items)
    else:
        made.follows(*items, other=other)


def _of_sizes_alone(made: Item) -> None:
    for part in made.value if made.has_items else [made]:
        part.of_data = False


def _may_be_cut(made: Item, items: list[Item]) -> bool:
    """Whether a slice of a dimension that changes has the same size by its bounds: shorter inputs may have less."""
    whole, dim, start, end = items[0], *map(example, items[1:4])
    first = (start or 0, end) in ((0, 1), (-1, None), (-1, 2**63 - 1))  # one place, which every input has
    return made.name is not None and not whole.fixes(dim) and made.agrees(dim) and not first


def _for_other_sizes(schema: Any, value: Any, items: list[Item]) -> Any:
    """What an operator gives for other sizes; where elements decide the size of the result, it is another one."""
    others = [plain_other(item) for item in items]
    if any(other is UNKNOWN for other in others):
        return UNKNOWN
    if all(_is_same(example(item), other) for item, other in zip(items, others, strict=True)):
        found = value
    else:
        try:
            found = runner(schema)(*others)
        except Exception as error:
            raise CannotExport(f"it holds for the sizes of the example alone: {error}") from None
    return _longer(found) if _counts_elements(schema, items) else found


def _is_same(value: Any, other: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) == len(other) and all(map(_is_same, value, other))
    return value is other or (not isinstance(value, Tensor) and not isinstance(other, Tensor) and value == other)


def _counts_elements(schema: Any, items: list[Item]) -> bool:
    """Whether the size of the result depends on elements of the inputs."""
    if schema.name == "index":
        masks = [i for i in items[1].value if isinstance(i, Item) and isinstance(i.value, Tensor)]
        return any(i.of_data and i.value.dtype in (dtypes.bool_, dtypes.uint8) for i in masks)
    return schema.name in _COUNTING and any(item.depends_on_data for item in items)


def _longer(found: Tensor) -> Tensor:
    """A tensor with one more row."""
    return cat([found, found[:1] if found.shape[0] else found.new_zeros((1, *found.shape[1:]))])


def _unfolded(value: Any) -> Item:
    """A constant; a list has items."""
    if isinstance(value, (list, tuple)) and any(isinstance(part, Tensor) for part in value):
        return Item(list(map(Item, value)))
    return Item(value)
