"""An ONNX graph that is being made: nodes, constants and names, and the values of the operators' rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import ops
from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor

__all__ = ["UNKNOWN", "Builder", "CannotExport", "Item", "example", "onnx_type", "plain", "plain_other"]

_TYPES = {
    dtypes.float32: "FLOAT",
    dtypes.float64: "DOUBLE",
    dtypes.float16: "FLOAT16",
    dtypes.bfloat16: "BFLOAT16",
    dtypes.int8: "INT8",
    dtypes.int16: "INT16",
    dtypes.int32: "INT32",
    dtypes.int64: "INT64",
    dtypes.uint8: "UINT8",
    dtypes.bool_: "BOOL",
    dtypes.complex64: "COMPLEX64",
}


class CannotExport(Exception):
    """An operator, or one of its options, has no ONNX form; the message says what."""


class Item:
    """A value of the traced graph. value: what it is for the example; name: in the ONNX graph, None for a constant.

    other: what it is for other sizes of the inputs (the same object where nothing can differ), UNKNOWN if that was not
    computed. loose: whether sizes that are the same for both may differ for a third. of_data: whether it depends on
    elements of the inputs. label: the path of a parameter or buffer in the module. A list's value has items.
    """

    __slots__ = ("label", "loose", "name", "of_data", "other", "value")

    def __init__(self, value: Any, name: str | None = None, label: str = "", other: Any = None):
        self.value, self.name, self.label = value, name, label
        self.loose = self.of_data = False
        self.other: Any = value if name is None else UNKNOWN if other is None else other

    @property
    def is_constant(self) -> bool:
        """Whether it is the same for every input."""
        if self.has_items:
            return all(part.is_constant for part in self.value)
        return self.name is None

    @property
    def has_items(self) -> bool:
        """Whether it is a list of items."""
        return isinstance(self.value, (list, tuple)) and any(isinstance(part, Item) for part in self.value)

    @property
    def depends_on_data(self) -> bool:
        """Whether it, or a part of it, depends on elements of the inputs."""
        return any(part.depends_on_data for part in self.value) if self.has_items else self.of_data

    @property
    def is_loose(self) -> bool:
        """Whether it, or a part of it, is loose."""
        return any(part.is_loose for part in self.value) if self.has_items else self.loose

    def follows(self, *items: Item, other: Any = None) -> Item:
        """Note that it was computed from other items, and what it is for other sizes (UNKNOWN by default)."""
        if self.name is not None:
            self.other = UNKNOWN if other is None else other
            self.loose = any(item.is_loose for item in items)
            self.of_data = any(item.depends_on_data for item in items)
        return self

    def agrees(self, dim: int) -> bool:
        """Whether a tensor's size in a dimension is the same for both sizes of the inputs."""
        return self.other is not UNKNOWN and self.value.shape[dim] == self.other.shape[dim]

    def fixes(self, dim: int) -> bool:
        """Whether a tensor's size in a dimension is the same for all inputs."""
        return self.agrees(dim) and not self.loose

    @property
    def fixes_shape(self) -> bool:
        """Whether a tensor's shape is the same for all inputs."""
        return self.other is not UNKNOWN and self.value.shape == self.other.shape and not self.loose

    def fixed_size(self, dim: int) -> int:
        """A tensor's size in a dimension, which the model is made for; CannotExport where it may change."""
        if not self.agrees(dim):
            raise CannotExport(f"dimension {dim} of a tensor of shape {tuple(self.value.shape)} may change")
        return self.value.shape[dim]


UNKNOWN: Any = object()


def example(item: Item) -> Any:
    """The example's value, without items inside."""
    return type(item.value)(example(part) for part in item.value) if item.has_items else item.value


def plain(item: Item) -> Any:
    """The value of an option, the same for every input. CannotExport for one that is not."""
    if not item.is_constant:
        raise CannotExport("an option that depends on the inputs")
    return example(item)


def plain_other(item: Item) -> Any:
    """The same for the other sizes."""
    if not item.has_items:
        return item.other
    parts = [plain_other(part) for part in item.value]
    return UNKNOWN if any(part is UNKNOWN for part in parts) else type(item.value)(parts)


def onnx_type(kind: dtypes.dtype) -> int:
    """ONNX's number of a dtype."""
    import onnx

    if kind not in _TYPES:
        raise CannotExport(f"tensors of {kind}")
    return onnx.TensorProto.DataType.Value(_TYPES[kind])


class Builder:
    """The graph."""

    def __init__(self, opset: int):
        self.opset = opset
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}  # name -> TensorProto
        self.labels: dict[str, Tensor] = {}
        self._known: dict[Any, str] = {}
        self._used: set[str] = set()
        self.place = ""

    def unique(self, name: str) -> str:
        """The name, with a number where it is taken."""
        found, count = name, 0
        while found in self._used:
            count += 1
            found = f"{name}_{count}"
        self._used.add(found)
        return found

    # ---------------------------------------------------------------------------------------- nodes

    def several(self, kind: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """Add a node with `count` results; their names. An input "" is one that is left out."""
        import onnx

        stem = kind.lower()
        outputs = [self.unique(stem) for _ in range(count)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        node = onnx.helper.make_node(kind, list(inputs), outputs, name=self.unique(f"node_{stem}"), **attributes)
        if self.place:
            node.doc_string = self.place
        self.nodes.append(node)
        return outputs

    def emit(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one result; its name."""
        return self.several(kind, inputs, 1, **attributes)[0]

    def body(
        self,
        values: Sequence[tuple[str, dtypes.dtype]],
        make: Callable,
        kinds: Sequence[dtypes.dtype],
        shape: Sequence[int] | None = None,
    ) -> Any:
        """A graph of its own for a node such as Scan: `make(*names)` adds its nodes for values of the given names and
        dtypes (and of one `shape`, if it is known), and gives its results, of the dtypes `kinds`. Constants that it needs
        are those of the whole graph.
        """
        from onnx import helper

        outer, self.nodes = self.nodes, []
        try:
            inputs = [self.unique(name) for name, _ in values]
            results = [self.emit("Identity", name) for name in make(*inputs)]
            taken = [
                helper.make_tensor_value_info(n, onnx_type(kind), shape)
                for n, (_, kind) in zip(inputs, values, strict=True)
            ]
            given = [
                helper.make_tensor_value_info(n, onnx_type(kind), None) for n, kind in zip(results, kinds, strict=True)
            ]
            return helper.make_graph(self.nodes, self.unique("body"), taken, given)
        finally:
            self.nodes = outer

    def used_names(self) -> set[str]:
        """The names that nodes read, those inside of nodes among them."""
        found: set[str] = set()
        graphs = [self.nodes]
        while graphs:
            for node in graphs.pop():
                found.update(node.input)
                graphs += [a.g.node for a in node.attribute if a.HasField("g")]
        return found

    # ---------------------------------------------------------------------------------------- constants

    def constant(self, value: Any, kind: dtypes.dtype | None = None) -> str:
        """The name of a constant: a tensor, a number or a list of numbers (int64 unless `kind` is given)."""
        if not isinstance(value, Tensor):
            value = ops.tensor(value, dtype=kind or dtypes.int64)
        value = value.detach()
        if kind is not None and value.dtype is not kind:
            value = value.to(kind)
        key = (value.dtype, tuple(value.shape), raw_bytes(value))
        if key not in self._known:
            self._known[key] = name = self.unique("constant")
            self.constants[name] = tensor_proto(name, value)
        return self._known[key]

    def parameter(self, label: str, value: Tensor) -> str:
        """The name of a parameter or buffer: its path; one for each tensor, however many paths it has."""
        key = id(value)
        if key not in self._known:
            self._known[key] = name = self.unique(label)
            self.labels[name] = value
            self.constants[name] = tensor_proto(name, value.detach())
        return self._known[key]

    # ---------------------------------------------------------------------------------------- items as names

    def name(self, item: Item, kind: dtypes.dtype | None = None) -> str:
        """The name of a tensor or number, as a tensor of type `kind` (its own by default)."""
        if item.name == "":
            raise CannotExport("the places of the maxima of a pooling layer")
        if item.name is not None:
            own = item.value.dtype if isinstance(item.value, Tensor) else dtypes.int64
            return item.name if kind in (None, own) else self.cast(item.name, kind)
        if not isinstance(item.value, Tensor):
            return self.constant(item.value, kind or dtypes.of_number(item.value))
        if kind in (None, item.value.dtype) and item.label:
            return self.parameter(item.label, item.value)
        return self.constant(item.value, kind)

    def optional(self, item: Item, kind: dtypes.dtype | None = None) -> str:
        """The same, or "" for None."""
        return "" if item.value is None else self.name(item, kind)

    def cast(self, name: str, kind: dtypes.dtype) -> str:
        """A name as another type."""
        return self.emit("Cast", name, to=onnx_type(kind))

    def sizes(self, item: Item) -> str:
        """The name of a list of integers, a 1-d tensor."""
        if item.is_constant:
            return self.constant([int(n) for n in plain(item)])
        parts = [self._vector(part) for part in item.value]
        return parts[0] if len(parts) == 1 else self.emit("Concat", *parts, axis=0)

    def _vector(self, part: Item) -> str:
        if part.is_constant:
            return self.constant([int(part.value)])
        return self.emit("Reshape", self.name(part, dtypes.int64), self.constant([1]))

    def vector(self, item: Item) -> str:
        """The name of an integer, as a 1-d tensor of one element."""
        return self._vector(item)

    def shape_of(self, item: Item) -> str:
        """The name of a tensor's shape."""
        if item.fixes_shape:
            return self.constant(list(item.value.shape))
        return self.emit("Shape", self.name(item))

    def size_of(self, item: Item, dim: int) -> str:
        """The name of one size, a 1-d tensor."""
        dim %= item.value.ndim
        if item.fixes(dim):
            return self.constant([item.value.shape[dim]])
        return self.emit("Shape", self.name(item), start=dim, end=dim + 1)


def raw_bytes(value: Tensor) -> bytes:
    """A tensor's elements in their order, as bytes."""
    value = value.contiguous()
    if value.dtype is dtypes.bfloat16:
        value = value.view(dtypes.int16)
    return value.numpy().tobytes()


def tensor_proto(name: str, value: Tensor) -> Any:
    """A tensor as ONNX writes it."""
    import onnx

    return onnx.helper.make_tensor(name, onnx_type(value.dtype), list(value.shape), raw_bytes(value), raw=True)
