"""The history of a value: one `Node` for each recorded call, one `Leaf` for each tensor that accumulates `.grad`.

A node holds data, not closures: the operator's record, what its gradient rule needs, and the edges to where the
inputs came from. `tensor._edge` is the Node that made it, a Leaf, an Output of a node with several results, or None
where no gradient is wanted.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from functools import cache
from typing import Any

from ..dispatch.extension_points import call_node, list_saved, read_saved
from .hooks import RemovableHandle
from .storage import describe

_renumbered: weakref.WeakKeyDictionary[Any, int] = (
    weakref.WeakKeyDictionary()
)  # nodes, and their numbers as they were set


class Freed:
    """What a node's `saved` becomes when a backward has used it up; `where` is the line that called that backward."""

    __slots__ = ("where",)

    def __init__(self, where: Any):
        self.where = where

    def error(self, name: str) -> RuntimeError:
        """What to raise where the saved values of the node `name` are asked for again."""
        return RuntimeError(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have "
            "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
            "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
            "you need to access saved tensors after calling backward. "
            f"(The values saved by {name} were freed by the backward called at {describe(self.where)}.)"
        )


class Node:
    """One recorded call. Each operator has a subclass of its own, named as torch names it ('AddBackward0').

    op: the operator's record (of the class).
    tensor_slots: the positions in `saved` that hold tensors (of the class).
    backward(g): one gradient, or None, for each edge (of the class, generated from the operator's rules).

    seq: the time of the call; backward visits nodes from the latest to the earliest.
    edges: where each input came from, None for an input that needs no gradient.
    saved: what the rules need, in the rules' order; a Freed once a backward has used it up.
    storage: the storage record of a saved result.
    shape, dtype: of the result; a gradient is summed and cast to them before the rule sees it.
    hooks: None or a Hooks.
    outer: of the write to a view, a weak reference to the node of its base, by which the written view has its history.
    """

    __slots__ = (
        "seq",
        "edges",
        "saved",
        "storage",
        "shape",
        "dtype",
        "hooks",
        "trace",
        "outer",
        "_metadata",
        "__weakref__",
    )

    op: Any = None
    tensor_slots: tuple[int, ...] = ()
    saved_names: tuple[str, ...] = ()
    number: int | None = (
        None  # of a class for calls with a number among the inputs: its position, which has no edge in torch
    )
    shown: Any = None  # of a class whose operator is several of torch's: what `next_functions` is
    turns: tuple[int, ...] | None = None  # of a class whose inputs get their gradients in another order than their own
    parts: Any = None  # of a class whose nodes represent several each: what gives those that there are already
    chooses = (
        False  # of a class whose `backward(g, edges)` computes the gradients of those edges alone that are not None
    )

    seq: int
    edges: tuple
    saved: Any
    storage: Any
    shape: tuple  # of a call of a Function with several results: theirs
    dtype: Any
    hooks: Any

    def backward(self, g: Any) -> tuple:
        if type(self).__name__ == _WITHOUT:  # in torch neither
            raise RuntimeError(f"derivative for aten::{self.op.name.split('.')[0]} is not implemented")
        raise NotImplementedError(f"the derivative for {self.name()!r} is not implemented")

    def name(self) -> str:
        """torch's name of the node, such as 'AddBackward0'."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in ("CopySlices", "CopyBackwards", _WITHOUT) else name

    def _sequence_nr(self) -> int:
        """The time of the call, or what was set: later nodes have larger numbers."""
        return _renumbered.get(self, self.seq)

    def _set_sequence_nr(self, number: int) -> None:
        """Set what `_sequence_nr` tells, as profiles and graph passes do. Backward visits nodes by the time of their calls."""
        _renumbered[self] = number

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def __call__(self, *grads: Any) -> Any:
        """The gradients of the inputs for those of the results."""
        assert call_node.value is not None
        return call_node.value(self, grads)

    def __getattr__(self, name: str) -> Any:
        read = read_saved.value
        if read is not None and name.startswith(("_saved_", "_raw_saved_")):
            return read(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(() if list_saved.value is None else list_saved.value(self))]

    @property
    def next_functions(self) -> tuple:
        """For each input that has a gradient, (the node that made it, which of its results it is); (None, 0) without."""
        if self.shown is not None:
            return self.shown(self)
        return tuple(function_of(self.edges[i]) for i in self.differentiable())

    def function(self, index: int) -> tuple:
        """The node that the user sees behind result number `index`, and which of that one's results it is."""
        return self, index

    def differentiable(self) -> list[int]:
        """The places among the edges of those inputs for which the operator has a rule."""
        op, every = self.op, [*range(len(self.edges))]
        if type(self).__name__ == _WITHOUT:
            return [i for i in every if self.edges[i] is not None]
        if op is not None and op.host_indices and op.signature.variadic:
            return every[: op.rest]
        if op is None or op.signature.variadic or not op.rules:
            return every
        if self.number is not None:
            every.remove(self.number)
        if op.kind == "binary":
            return every
        joint, names = None in op.rules, op.signature.arrays
        return [i for i in every if (names[i] not in _NEVER if joint else names[i] in op.rules)]

    @property
    def metadata(self) -> dict:
        """A dictionary that travels with the node, for the user."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata: dict = {}
            return self._metadata

    def register_hook(self, hook):
        """Call `hook(grad_inputs, grad_outputs)` after the node's backward; it may return other grad_inputs."""
        return hooks_of(self).add("post", hook)

    def register_prehook(self, hook):
        """Call `hook(grad_outputs)` before the node's backward; it may return other grad_outputs."""
        return hooks_of(self).add("pre", hook)


_WITHOUT = "NotImplemented"  # what torch calls the nodes of operators without a gradient
_NEVER = {"condition", "index", "mask", "pivots", "running_mean", "running_var", "samples"}  # inputs of joint rules


def function_of(edge: Any) -> tuple:
    """An edge as `next_functions` shows it."""
    if edge is None or is_detached(edge):
        return None, 0
    return edge.edges[0].function(edge.index) if type(edge) is Output else (edge, 0)


def show_as(node: Node, name: str) -> None:
    """Give a node the name that torch has for its operator in this place; its rules stay."""
    node.__class__ = _named(type(node), name)


def shown_as(result: Any, name: str, without: int | None = None) -> Any:
    """A result of several operators that are one of torch's: its node has torch's name.

    without: the position of an input that is an option of torch's operator, so that it has no edge.
    """
    edge = result._edge
    if isinstance(edge, Node) and type(edge) is not Output and edge.op is not None:
        if without is None:
            show_as(edge, name)
        else:
            edge.__class__ = of_number(type(edge), name, without)
    return result


def written_as(target: Any, op: Any, name: str, without: int | None = None) -> Any:
    """A tensor into which operator `op` has been written, as `shown_as`; the node of a write into a view keeps its name."""
    return shown_as(target, name, without) if getattr(target._edge, "op", None) is op else target


@cache
def _named(kind: type[Node], name: str) -> type[Node]:
    return type(name, (kind,), {"__slots__": ()})


@cache
def of_number(kind: type[Node], name: str, position: int) -> type[Node]:
    """The class of an operator's nodes, by torch's name, where the input at `position` is a number: it has no edge there."""

    members: dict[str, Any] = {"__slots__": (), "number": position}
    if name == _WITHOUT:
        members["backward"] = Node.backward
    return type(name, (kind,), members)


class Output(Node):
    """Result number `index` of a node with several results; its only edge is that node."""

    __slots__ = ("index",)
    index: int


def no_tensor() -> None:
    return None


class Leaf:
    """Where backward accumulates: torch's AccumulateGrad. The tensor owns the leaf, the leaf knows the tensor weakly.

    A view without a history of its own (made under `no_grad`, or before its base required grad) says, as in torch, that it
    requires grad while its base does, but nothing is accumulated in it: it has a detached leaf.
    """

    __slots__ = ("ref", "shape", "dtype", "hooks", "successor", "_metadata", "__weakref__")
    edges = ()
    next_functions = ()
    seq = 1 << 62

    def __init__(self, tensor: Any, array: Any = None):
        """The leaf of `tensor`; of nothing (None) where a view was made of `array` without recording."""
        array = array if tensor is None else tensor._array
        self.ref = no_tensor if tensor is None else weakref.ref(tensor)
        self.shape = array.shape
        self.dtype = array.dtype
        self.hooks: Any = None
        self.successor: Leaf | None = None

    def shown(self, array: Any) -> Leaf:
        """The leaf of a tensor that shows another array from now on (`t.data = ...`).

        Of another type it is a new one: what was recorded before leads here, and gives gradients of the type of before.
        """
        if self.dtype == array.dtype:
            self.shape = array.shape
            return self
        self.successor = leaf = Leaf(None, array)
        leaf.ref, leaf.hooks = self.ref, self.hooks
        return leaf

    def is_of(self, tensor: Any) -> bool:
        """Whether the tensor accumulates here, or did before it showed numbers of another type."""
        leaf: Leaf | None = self
        while leaf is not None and leaf is not tensor._edge:
            leaf = leaf.successor
        return leaf is not None

    @property
    def variable(self):
        return self.ref()

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"

    metadata = Node.metadata
    register_hook = Node.register_hook
    register_prehook = Node.register_prehook


_left: dict[int, tuple[weakref.ref, Leaf]] = {}  # by the id of a tensor that does not require grad any more, or not now


def leave_leaf(tensor: Any, leaf: Leaf) -> None:
    """Remember the leaf of a tensor that stops requiring grad: graphs that lead there, and hooks, are its own as before."""
    key = id(tensor)
    _left[key] = weakref.ref(tensor, lambda _: _left.pop(key, None)), leaf


def leaf_before(tensor: Any) -> Leaf | None:
    """The leaf that a tensor without grad will have again when it requires grad."""
    ref, leaf = _left.get(id(tensor), (None, None))
    return leaf if ref is not None and ref() is tensor else None


def leaf_of(tensor: Any) -> Leaf:
    """The leaf of a tensor that begins to require grad: the one that it had before, or a new one."""
    ref, leaf = _left.pop(id(tensor), (None, None))
    if ref is None or leaf is None or ref() is not tensor:
        return Leaf(tensor)
    return leaf.shown(tensor._array)


def is_detached(edge: Any) -> bool:
    """Whether an edge is the leaf of a view that requires grad only because its base does: nothing is accumulated there."""
    return type(edge) is Leaf and edge.ref is no_tensor


def follow_base(base: Any) -> None:
    """Let the views of a leaf require grad while it does, also those made before: torch asks the base each time."""
    storage = base._storage
    for ref in () if storage is None else storage.views or ():
        view = ref()
        if view is None or view._base is not base:
            continue
        if base._edge is None:
            view._edge = None if is_detached(view._edge) else view._edge
        elif view._edge is None and view._array.dtype.kind not in "biu":
            view._edge = Leaf(None, view._array)


Leaf.__name__ = Leaf.__qualname__ = "AccumulateGrad"  # what programs that draw graphs print


class Inner(Node):
    """A node that torch has and Rushlight has not, since the operator behind it is part of a larger one here.

    `next_functions` shows it; gradients never pass through it.
    """

    __slots__ = ()

    def register_hook(self, hook):
        """Not implemented: no gradient passes here."""
        raise NotImplementedError(f"{type(self).__name__}.register_hook: its gradient is not computed separately here")

    register_prehook = register_hook


def inner(name: str, *edges: Any) -> Inner:
    """An `Inner` of torch's name that leads to these edges."""
    node = object.__new__(type(name, (Inner,), {"__slots__": ()}))
    node.seq, node.edges, node.saved, node.hooks = 0, edges, (), None
    return node


class Hooks:
    """The hooks of one node or leaf: on the tensor's gradient, before and after the node, after accumulation."""

    __slots__ = ("tensor", "pre", "post", "accumulated", "retain", "packed", "grad_dtype", "of_results", "__weakref__")

    def __init__(self):
        self.tensor: Any = None
        self.pre: Any = None
        self.post: Any = None
        self.accumulated: Any = None
        self.retain: Any = None  # weak reference to the tensor whose .grad is kept
        self.of_results: dict[int, Hooks] | None = None  # of a node with several results: those of its results
        self.packed = False  # whether saved-tensor hooks packed what the node saved
        self.grad_dtype: Any = ()  # of a leaf: the dtype that its gradient takes, None for any; (): the tensor's

    def add(self, kind: str, hook: Any):
        table = getattr(self, kind)
        if table is None:
            table = OrderedDict()
            setattr(self, kind, table)
        handle = RemovableHandle(table)
        table[handle.id] = hook
        if kind == "accumulated":
            for key, other in list(table.items()):
                if getattr(other, "comes_last", False):
                    table.move_to_end(key)
        return handle


def may_wait(hooks: Any) -> bool:
    """Whether a leaf has no hooks but such as may be called when all gradients of a pass are there: `may_wait` says so."""
    if hooks is None:
        return True
    if hooks.tensor or hooks.pre or hooks.post or hooks.retain or hooks.packed or hooks.grad_dtype != ():
        return False
    return all(getattr(hook, "may_wait", False) for hook in (hooks.accumulated or {}).values())


def hooks_of(edge: Any) -> Hooks:
    """The hooks of a node or leaf, made on first need. A node knows those of its results, which it may get no gradient of."""
    if edge.hooks is None:
        edge.hooks = Hooks()
        if type(edge) is Output:
            parent = hooks_of(edge.edges[0])
            parent.of_results = {**(parent.of_results or {}), edge.index: edge.hooks}
    return edge.hooks
