"""From a graph of torch's operators to one of ONNX's: each node runs for the example and is translated by its row.

What depends on no input is computed here and becomes a constant. A write into a tensor is the operator without the
write, whose result takes the tensor's place; one into a view takes its place in the tensor that it is a view of, and
other views of that are read again.
"""

from __future__ import annotations

from typing import Any

from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor
from ...ops import cat, full_like
from ..jit.ir.graph import Graph, Node, Value
from ..jit.ir.interpreter import _CONTAINERS
from ..jit.ir.literals import number_of
from ..jit.ir.running import runner
from ..jit.ir.schemas import named
from .graph import UNKNOWN, Builder, CannotExport, Item, example, plain_other
from .rows import COMPLEX_ROWS, DRAWS, ROWS, ROWS_OF_NUMBERS
from .rows.complex_numbers import has_complex
from .writes import VIEWS, View, share_memory, viewed

__all__ = ["Walker"]

_READS = {"aten::Int", "aten::Float", "aten::Bool", "aten::ScalarImplicit", "aten::IntImplicit", "aten::FloatImplicit"}
_SIZES = {"size", "numel", "dim"}
_COUNTING = {
    "nonzero",
    "nonzero_numpy",
    "masked_select",
    "bincount",
    "torchvision::nms",
}  # elements decide how long the result is
_COPYING = {
    "reshape",
    "reshape_as",
    "flatten",
    "contiguous",
}  # where they have to: with a size of 1 they may not have to
_PUTTING = {"index_put", "masked_scatter", "put"}  # elements decide how many values are taken
_CONTAINER_KINDS = ("prim::ListConstruct", "prim::TupleConstruct")


class Walker:
    """Translates the nodes of a graph into `builder`."""

    def __init__(self, builder: Builder, graph: Graph, module: Any):
        self.builder, self.graph = builder, graph
        self.items: dict[Value, Item] = {}
        self.modules: dict[Value, tuple[Any, str]] = {graph.inputs[0]: (module, "")}
        self.views: dict[Value, View] = {}
        self.stale: set[Value] = set()  # views of what was written since they were read
        self.tensors: dict[int, Value] = {}  # parameters and buffers by their identity
        self.last_use = {v: i for i, node in enumerate(graph.nodes) for v in node.inputs}
        self.last_use |= dict.fromkeys(graph.outputs, len(graph.nodes))

    def run(self, inputs: list[Item]) -> list[Item]:
        """The items of the graph's results."""
        self.items |= dict(zip(self.graph.inputs[1:], inputs, strict=True))
        for i, node in enumerate(self.graph.nodes):
            try:
                self.builder.place = node.place
                for value in node.inputs:
                    self._refresh(value)
                self._node(node, i)
            except (CannotExport, NotImplementedError) as error:
                name = node.kind.removeprefix("aten::")
                place = node.program_place or node.place
                raise CannotExport(f"{place}: {name}() has no ONNX form here: {error}") from None
        self._refresh(self.graph.outputs[0])
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
            cut = self.views.get(node.inputs[0])
            for i, (value, part) in enumerate(zip(node.outputs, parts, strict=True)):
                self.items[value] = part
                if cut is not None:
                    self.views[value] = cut._replace(one=i)
        elif node.kind == "prim::NumToTensor" or node.kind in _READS:
            self._number(node)
        elif node.schema is None:
            raise CannotExport("it is no operator of torch")
        elif node.writes:
            self._write(node, place)
        else:
            held = [self.modules[v][0] for v in node.inputs if v in self.modules]
            if held:
                raise CannotExport(f"it takes an object that ONNX does not have: {type(held[0]).__name__}")
            self._set(node, self._operator(node, node.schema, [self.items[v] for v in node.inputs]))
            if node.schema.name in VIEWS and len(node.outputs) == 1:
                self._note_view(node)

    def _note_view(self, node: Node) -> None:
        """Note a result that shows the memory of the first input; some operators copy, for some sizes or always."""
        whole, part = self.items[node.inputs[0]], self.items[node.outputs[0]]
        of_example = _shows(example(part), whole.value)
        other = plain_other(part)
        of_other = of_example if UNKNOWN in (whole.other, other) else _shows(other, whole.other)
        sometimes = of_example != of_other or (
            not of_example and node.schema.name in _COPYING and not whole.fixes_shape
        )
        if of_example or sometimes:
            self.views[node.outputs[0]] = View(node.inputs[0], node, always=not sometimes)

    def _set(self, node: Node, item: Item) -> None:
        parts = [item] if len(node.outputs) == 1 else item.value
        self.items |= dict(zip(node.outputs, parts, strict=True))

    def _attribute(self, node: Node) -> None:
        owner, path = self.modules[node.inputs[0]]
        name = node.attributes["name"]
        found = getattr(owner, name)
        path = f"{path}.{name}" if path else name
        if isinstance(found, Tensor):
            known = self.tensors.setdefault(id(found), node.outputs[0])
            if known is node.outputs[0]:
                self._set(node, Item(found, label=path.removeprefix("model.")))
            else:
                self._refresh(known)
                self._set(node, self.items[known])
                self.views[node.outputs[0]] = View(known, node)
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
        value = runner(schema)(*map(example, items))
        if all(item.is_constant for item in items) and not _draws(schema, items):
            return _unfolded(value)
        made = self._translated(schema, value, items)
        other = _for_other_sizes(schema, value, items)
        _complete(made, other, items)
        if schema.name in _SIZES:
            _of_sizes_alone(made)
        elif schema.name == "slice":
            made.loose |= _may_be_cut(made, items)
        made.of_data |= _draws(schema, items)
        return made

    def _translated(self, schema: Any, value: Any, items: list[Item]) -> Item:
        name = schema.name
        row = ROWS_OF_NUMBERS.get(name) if not isinstance(value, (Tensor, list, tuple)) else ROWS.get(name)
        if has_complex(value) or any(map(has_complex, items)):
            row = COMPLEX_ROWS.get(name) if isinstance(value, Tensor) else row
            if row is None:
                raise CannotExport("the operator is not in the table of complex numbers")
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
        if any(map(has_complex, items)):
            raise CannotExport("complex numbers are written in place")
        if "::" in schema.name:
            raise CannotExport("the operator is not in the table")
        if schema.name.removesuffix("_") in DRAWS:
            raise CannotExport("random numbers are written in place")
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
        self._refuse_unknown_views(target, place)
        if made.value.shape != items[0].value.shape:
            self._reshape(target, made, place)
        else:
            self._replace(target, made)
        self._set(node, self.items[target])
        self.views[node.outputs[0]] = View(target, node)

    def _reshape(self, target: Value, made: Item, place: int) -> None:
        """A tensor gets another shape, which no other value sees."""
        later = [v for v in self.views if self.last_use.get(v, -1) > place and target in self._chain(v)[1:]]
        if target in self.views or later:
            raise CannotExport("it changes the shape of a tensor of which there are views")
        self.items[target] = made

    def _copied(self, target: Item, source: Item) -> Item:
        """What a tensor holds after `source` was written into it."""
        value = source.value if isinstance(source.value, Tensor) else example(source)
        if not isinstance(value, Tensor):
            raise CannotExport("a number is written into a tensor")
        fresh = value.to(target.value.dtype).expand(target.value.shape).clone()
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
        """Let `made` be what the value holds, and what it is a view of; other views of that are read again when used."""
        chain = self._chain(target)
        self.stale |= {v for v in self.views if v not in chain and self._chain(v)[-1] is chain[-1]}
        for value in chain[:-1]:
            self.items[value] = made
            made = self._whole_with(self.views[value], made)
        self.items[chain[-1]] = made
        for value in reversed(chain[:-1]):  # the same memory, which a later write is told by
            view = self.views[value]
            self.items[value].value = view.read(*map(example, self._inputs_of(view)))

    def _chain(self, value: Value) -> list[Value]:
        """A value, what it is a view of, and so on."""
        chain = [value]
        while chain[-1] in self.views:
            chain.append(self.views[chain[-1]].parent)
        return chain

    def _inputs_of(self, view: View) -> list[Item]:
        """The tensor that it is a view of, and the options."""
        options = [] if view.is_alias else view.node.inputs[1:]
        return [self.items[v] for v in (view.parent, *options)]

    def _whole_with(self, view: View, part: Item) -> Item:
        """What a tensor holds after `part` was written into a view of it."""
        given = whole, *options = self._inputs_of(view)
        value = viewed(view.read, part.value, *map(example, given))
        if part.is_constant and all(item.is_constant for item in given):
            return Item(value)
        others = [plain_other(item) for item in (part, *given)]
        other = UNKNOWN if any(o is UNKNOWN for o in others) else viewed(view.read, *others)
        name = VIEWS[view.name](self.builder, whole, part, options, view.one)
        return Item(value, name).follows(part, *given, other=other)

    def _refuse_unknown_views(self, target: Value, place: int) -> None:
        """Raise where a value that is read later shows the memory that is written, and it is not known how."""
        root, memory = self._chain(target)[-1], self.items[target].value
        family = [v for v in self.items if self._chain(v)[-1] is root]
        for value in [v for v in family if v in self.views and not self.views[v].always]:
            written = value in self._chain(target)
            others = [v for v in family if (value in self._chain(v)) != written]
            if any(self.last_use.get(v, -1) > place for v in others):
                name = self.views[value].name
                raise CannotExport(f"{name}() gives a view for some sizes and a copy for others, and it is written")
        for value, item in self.items.items():
            if (
                self.last_use.get(value, -1) > place
                and isinstance(item.value, Tensor)
                and self._chain(value)[-1] is not root
                and item.value.numel()
                and share_memory(item.value, memory)
            ):
                raise CannotExport("it writes into memory that another tensor, which is used later, shows")

    def _refresh(self, value: Value) -> None:
        """Read a view again where what it shows was written."""
        if value not in self.stale:
            return
        self.stale.discard(value)
        view = self.views[value]
        self._refresh(view.parent)
        if view.is_alias:
            self.items[value] = self.items[view.parent]
            return
        item = self._operator(view.node, view.node.schema, self._inputs_of(view))
        self.items[value] = item if view.one is None else item.value[view.one]


def _draws(schema: Any, items: list[Item]) -> bool:
    """Whether an operator gives other results in each run."""
    return schema.name in DRAWS or ("dropout" in schema.name and bool(example(items[-1])))


def _shows(found: Any, whole: Any) -> bool:
    """Whether a view, or the first of several, shows the memory of a tensor."""
    first = found[0] if isinstance(found, (list, tuple)) and found else found
    return isinstance(whole, Tensor) and isinstance(first, Tensor) and share_memory(first, whole)


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
            if schema.name in _PUTTING and any(item.depends_on_data for item in items[1:]):
                return others[0].clone()  # as many values as places, where one more is assumed of each
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
    if schema.name == "where":
        return len(items) == 1 and items[0].depends_on_data
    return schema.name in _COUNTING and any(item.depends_on_data for item in items)


def _longer(found: Any) -> Any:
    """A tensor with one more row, or a list of those."""
    if isinstance(found, (list, tuple)):
        return type(found)(map(_longer, found))
    return cat([found, found[:1] if found.shape[0] else found.new_zeros((1, *found.shape[1:]))])


def _unfolded(value: Any) -> Item:
    """A constant; a list has items."""
    if isinstance(value, (list, tuple)) and any(isinstance(part, Tensor) for part in value):
        return Item(list(map(Item, value)))
    return Item(value)
