"""torch.utils._pytree: nested containers as a list of leaves and a description of the nesting.

Lists, tuples, named tuples, dictionaries (in the order of their keys), deques and registered classes are nodes; all
else is a leaf.

>>> leaves, spec = tree_flatten({"a": 1, "b": [2, 3]})
>>> leaves
[1, 2, 3]
>>> tree_unflatten([x * 10 for x in leaves], spec)
{'a': 10, 'b': [20, 30]}
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..core.tensor.size import Size, size_of

__all__ = [
    "Context",
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "TreeSpec",
    "arg_tree_leaves",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "map_only",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_pprint",
]

PyTree = Any
Context = Any


# ---------------------------------------------------------------------------------------------- what kinds of nodes


class SequenceKey(NamedTuple):
    """The way from a sequence to an element."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """The way from a dictionary to a value."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """The way from an object to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """How values of a class are flattened and unflattened."""

    type: Any
    flatten_fn: Callable[[Any], tuple[Any, Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[Any, Any]] | None = None


def namedtuple(*fields: Any) -> Any:
    """Stand-in for every class of named tuples: the class itself is the context."""
    raise TypeError("this name represents named tuples; make one with collections.namedtuple")


def _dict_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], keys: Any) -> dict[Any, Any]:
    return dict(zip(keys, values, strict=True))


def _list_flatten(values: Any) -> tuple[list[Any], None]:
    return list(values), None


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    return list(values)


def _list_flatten_with_keys(values: Any) -> tuple[list[tuple[Any, Any]], None]:
    return [(SequenceKey(i), value) for i, value in enumerate(values)], None


_tuple_flatten, _tuple_flatten_with_keys = _list_flatten, _list_flatten_with_keys


def _tuple_unflatten(values: Iterable[Any], context: Any) -> tuple[Any, ...]:
    return tuple(values)


def _dict_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Any]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


SUPPORTED_NODES: dict[Any, NodeDef] = {
    node.type: node
    for node in (
        NodeDef(tuple, _tuple_flatten, _tuple_unflatten),
        NodeDef(list, _list_flatten, _list_unflatten),
        NodeDef(Size, _list_flatten, lambda values, context: size_of(values)),
        NodeDef(dict, _dict_flatten, _dict_unflatten),
        NodeDef(OrderedDict, _dict_flatten, lambda values, keys: OrderedDict(zip(keys, values, strict=True))),
        NodeDef(
            defaultdict,
            lambda d: (list(d.values()), [d.default_factory, list(d)]),
            lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
        ),
        NodeDef(deque, lambda d: (list(d), d.maxlen), lambda values, maxlen: deque(values, maxlen=maxlen)),
        NodeDef(namedtuple, lambda t: (list(t), type(t)), lambda values, cls: cls(*values)),
    )
}
BUILTIN_TYPES = frozenset(SUPPORTED_NODES)
_DICTIONARIES = frozenset({dict, OrderedDict, defaultdict})


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Any, Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Callable[[Any], tuple[Any, Any]] | None = None,
) -> None:
    """Let values of `cls` be nodes: `flatten_fn(value)` gives (children, context), `unflatten_fn` the value back.

    The arguments about dumping serve `treespec_dumps`, which is not implemented. Raises ValueError for a class that is
    registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = _private_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls: type) -> None:
    SUPPORTED_NODES.pop(cls, None)


def is_namedtuple_class(cls: type) -> bool:
    """Whether `cls` was made by `namedtuple`."""
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple) and hasattr(cls, "_make")


def is_namedtuple_instance(obj: object) -> bool:
    """Whether `obj` is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether `obj` is a named tuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether `cls` is a sequence with named fields that is no named tuple, such as those that operators return."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "n_fields", None), int)


def is_structseq_instance(obj: object) -> bool:
    """Whether `obj` is a sequence with named fields that is no named tuple."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """`is_structseq_class` of a class, `is_structseq_instance` of anything else."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _node_type(tree: Any) -> Any:
    """The registered kind of a node, or None for a leaf. The result of `x.max(0)` counts as a named tuple."""
    cls = type(tree)
    if cls in SUPPORTED_NODES:
        return cls
    return namedtuple if is_namedtuple_class(cls) or is_structseq_class(cls) else None


_get_node_type = _node_type


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether `tree` is a leaf."""
    return _node_type(tree) is None or (is_leaf is not None and is_leaf(tree))


_is_leaf = tree_is_leaf


# ---------------------------------------------------------------------------------------------- the description


class TreeSpec:
    """The nesting of a tree: the kind of its root (None for a leaf), the root's context, its children's specs."""

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]):
        self.type, self._context, self._children = type, context, children_specs
        self.num_nodes = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in children_specs)
        self.num_children = len(children_specs)

    @property
    def context(self) -> Any:
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        return self._children

    def children(self) -> list[TreeSpec]:
        """The specs of the children."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The spec of one child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether this describes a single leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this nesting with these leaves. Raises ValueError for another number of leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([c._build(leaves) for c in self._children], self._context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of `tree` where this nesting has leaves. Raises ValueError where the two differ above them."""
        if self.type is None:
            return [tree]
        parts = _matching_children(self, tree)
        return [x for spec, part in zip(self._children, parts, strict=True) for x in spec.flatten_up_to(part)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        mine = (self.type, self._context, self._children)
        return mine == (other.type, other._context, other._children)

    def __hash__(self) -> int:
        context = tuple(self._context) if self.type in (dict, OrderedDict) else None
        return hash((self.type, context, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inner = indent + 2
        children = [child.__repr__(inner) for child in self._children]
        lines = (",\n" + " " * inner).join(children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{lines}])"


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The description of a single leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def _matching_children(spec: TreeSpec, tree: Any) -> list[Any]:
    kind = _node_type(tree)
    if spec.type in _DICTIONARIES and kind in _DICTIONARIES:
        keys = spec._context[1] if spec.type is defaultdict else spec._context
        missing, extra = set(keys) - set(tree), set(tree) - set(keys)
        if missing or extra:
            words = [f"missing key(s): {missing}"] * bool(missing) + [f"extra key(s): {extra}"] * bool(extra)
            raise ValueError(f"Node keys mismatch; {'; '.join(words)}.")
        return [tree[key] for key in keys]
    if kind is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {kind or type(tree)!r}.")
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    children = list(children)
    if len(children) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}.")
    if kind is not deque and context != spec._context:
        raise ValueError(
            f"Node context mismatch for node type {kind!r}; expected {spec._context!r}, but got {context!r}."
        )
    return children


# ---------------------------------------------------------------------------------------------- flattening

_IsLeaf = Callable[[Any], bool] | None


def tree_flatten(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, from left to right, and its nesting. `is_leaf(node)` may end the descent earlier."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Any], is_leaf: _IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = _node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree with this nesting and these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: _IsLeaf = None) -> Iterator[Any]:
    """The leaves, one by one."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    children, _ = SUPPORTED_NODES[_node_type(tree)].flatten_fn(tree)
    for child in children:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: Any, is_leaf: _IsLeaf = None) -> list[Any]:
    """The leaves."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: _IsLeaf = None) -> TreeSpec:
    """The nesting."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of a call's arguments."""
    return tree_leaves((args, kwargs))


# ---------------------------------------------------------------------------------------------- mapping


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """The tree with `func(leaf, *parts of rests)` in the place of each leaf.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
    {'a': 11, 'b': (22, 33)}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """Call `func` for each leaf; returns the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for arguments in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests), strict=True):
        func(*arguments)
    return tree


def _is_among(kinds: Any) -> Callable[[Any], Any]:
    import types

    if isinstance(kinds, (type, tuple, types.UnionType)):
        return lambda x: isinstance(x, kinds)
    if callable(kinds):
        return kinds
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable], Callable]:
    """Decorator: call the function for these types only and return other values as they are."""
    chosen = _is_among(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if chosen(x) else x


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable, tree: Any, is_leaf: _IsLeaf = None) -> Any:
    """`tree_map` over the leaves of these types; the others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable, tree: Any, is_leaf: _IsLeaf = None) -> Any:
    """`tree_map_` over the leaves of these types."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Whether `pred` holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Whether `pred` holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable, tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Whether `pred` holds for every leaf of these types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable, tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Whether `pred` holds for a leaf of these types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


# ---------------------------------------------------------------------------------------------- paths


def _children_with_keys(tree: Any) -> list[tuple[Any, Any]]:
    kind = _node_type(tree)
    node = SUPPORTED_NODES[kind]
    if node.flatten_with_keys_fn is not None:
        return list(node.flatten_with_keys_fn(tree)[0])
    if kind in _DICTIONARIES:
        return [(MappingKey(key), value) for key, value in tree.items()]
    if kind is namedtuple:
        return [(GetAttrKey(field), getattr(tree, field)) for field in type(tree)._fields]
    if kind in BUILTIN_TYPES:
        return [(SequenceKey(i), value) for i, value in enumerate(tree)]
    raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass it to register_pytree_node.")


def _with_path(path: tuple, tree: Any, is_leaf: _IsLeaf) -> Iterator[tuple[tuple, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    for key, child in _children_with_keys(tree):
        yield from _with_path((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: _IsLeaf = None) -> list[tuple[tuple, Any]]:
    """(path, leaf) of each leaf; a path is a tuple of keys."""
    return list(_with_path((), tree, is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[tuple[tuple, Any]], TreeSpec]:
    """(path, leaf) of each leaf, and the nesting."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """`tree_map` with each leaf's path as the function's first argument."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    paths, values = [path for path, _ in leaves], [leaf for _, leaf in leaves]
    return spec.unflatten(map(func, paths, values, *(spec.flatten_up_to(rest) for rest in rests)))


def keystr(kp: tuple) -> str:
    """A path as text: "['a'][0].weight"."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: tuple) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


def treespec_pprint(treespec: TreeSpec) -> str:
    """The nesting as it would print with '*' for each leaf."""

    class Star:
        def __repr__(self) -> str:
            return "*"

    return repr(treespec.unflatten([Star()] * treespec.num_leaves))
