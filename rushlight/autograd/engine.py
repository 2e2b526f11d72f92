"""The backward pass: gradients flow from the latest node to the earliest and accumulate in the leaves.

A node's inputs are always older than the node, so visiting the reachable nodes by falling `seq` means that a node's
gradient is complete when its turn comes: no dependency counts. A leaf is accumulated as soon as the last node that feeds
it has run, as in torch, so that hooks on parameters run early.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

import numpy as np

from ..core.determinism import mode
from ..core.device.buffer import Buffer
from ..core.dispatch.aten.operators import operator
from ..core.dispatch.aten.torch_dispatch import ask_mode, without_modes
from ..core.dispatch.aten.wrapper import wrapped_by
from ..core.dispatch.entry import is_result
from ..core.dispatch.extension_points import call_node, profiled_pass
from ..core.dispatch.inplace import CopySlices
from ..core.dispatch.mode import emit_event, no_grad, thread
from ..core.dispatch.slow_path import plain
from ..core.jit_switch import jit
from ..core.tensor.casting import add_into, dense_like
from ..core.tensor.dtype import from_numpy
from ..core.tensor.layout import contiguous_format, strided
from ..core.tensor.node import Freed, Leaf, Node, Output, no_tensor, show_as
from ..core.tensor.placeholder import NoArray
from ..core.tensor.size import sum_to_axes
from ..core.tensor.storage import describe, user_line
from ..core.tensor.strides import dense_order
from ..core.tensor.tensor import Tensor, type_word, wrap
from .repeats import repeats

_by_seq = attrgetter("seq")


class _Running(threading.local):
    task: Any = None  # the innermost backward pass of the thread

    def __init__(self) -> None:
        self.after_program: list[Callable[[bool], None]] = []  # called when the hooks of a pass by a program are over

    def call_after_program(self, call: Callable[[bool], None]) -> None:
        self.after_program.append(call)


running = _Running()


def run(
    roots: list[tuple[Any, Tensor]],
    keep_graph: bool,
    create_graph: bool,
    wanted: list[Any] | None = None,
    accumulate: bool = True,
    by_program: bool = True,
) -> list[Tensor | None]:
    """Send the gradients of `roots` (edge, gradient) through the graph; `by_program` where there is one for it.

    wanted: edges whose gradients are returned (`autograd.grad`); None accumulates into every leaf. With `wanted` and
    accumulate=True only the wanted leaves accumulate (`backward(inputs=...)`).
    """
    state = thread.state
    profiled = profiled_pass.value
    plain = by_program and not create_graph and state.level <= 1 and not mode.on and profiled is None
    plain = plain and (len(roots) == 1 and not keep_graph if wanted is None else bool(roots) and not accumulate)
    if plain:
        kind = repeats.kind(roots, wanted, keep_graph)
        programs = repeats.programs.get(kind, [])
        for program in programs:
            results = program(roots, wanted)
            if results is not None:
                if program is not programs[0]:
                    repeats.try_first(kind, program)
                return results
    before, outer = state.recording(), running.task
    task = (profiled or Pass)(keep_graph, create_graph, wanted, accumulate)
    task.repeats, task.outer = plain and jit.on, outer
    succeeded = False
    try:
        state.set(create_graph, False)
        running.task = task
        results = task.run(roots)
        succeeded = True
        return results
    finally:
        try:
            for call in task.over:
                call(succeeded)
        finally:
            running.task = outer
            state.grad, state.inference, state.level = before
            state.refresh()


class Pass:
    """One call of backward."""

    def __init__(self, keep_graph: bool, create_graph: bool, wanted: list | None, accumulate: bool):
        self.keep_graph, self.create_graph = keep_graph, create_graph
        self.wanted, self.accumulate = wanted, accumulate
        self.captured_edges = set(wanted or ())
        self.captured: dict[Any, Tensor] = {}
        self.needed: set[Any] | None = None  # the nodes on the way to what is wanted; None: all of them
        self.grads: dict[Any, Any] = {}
        self.summed: set[Any] = set()  # edges whose waiting gradient this pass made by adding: it may add into it
        self.uses: dict[Leaf, int] = {}
        self.watched = thread.state.level > 1  # a listener must see every sum
        self.repeats = False  # whether a program may do what this pass does
        self.freed: Freed | None = None
        self.order: list[Node] = []
        self.over: list[Callable[[bool], None]] = []  # called when the pass is over
        self.outer: Pass | None = None  # the pass in which this one was begun
        self.parts: set[Node] = set()  # nodes that another one runs, too: what they saved stays until that one is gone

    def run(self, roots: list[tuple[Any, Tensor]]) -> list[Tensor | None]:
        self.order = order = self._order([edge for edge, _ in roots])
        if self.repeats:
            results = repeats.results(order, self.uses, roots, self.wanted, self.keep_graph)
            if results is not None:
                return results
        for edge, g in roots:
            self._deliver(edge, g)
        for edge, _ in roots:
            if type(edge) is Leaf:
                self._release_leaf(edge)
        needed = self.needed = None if self.wanted is None else self._needed(order)
        grads = self.grads
        for node in order:
            g = grads.pop(node, None)
            if needed is not None and node not in needed:
                if g is not None and node in self.captured_edges:
                    self._capture(node, self._before(node, g, False))
                self._skip(node)
                continue
            if g is None:
                self._skip(node)
                continue
            self._visit(node, g)
        if self.wanted is None or self.accumulate:
            return []
        return [self.captured.get(e) for e in self.wanted]

    # ------------------------------------------------------------------------------------------ which nodes

    def executes(self, edge: Any) -> bool:
        """Whether this pass brings a gradient to an edge."""
        if self.wanted is not None:
            return edge in self.captured_edges or edge in self._needed(self.order)
        return edge in self.order or any(edge in node.edges for node in self.order)

    def _order(self, edges: list[Any]) -> list[Node]:
        """The nodes that the edges reach, latest first; counts how often each leaf is fed."""
        uses = self.uses
        seen: set[Any] = set()
        order: list[Any] = []
        stack: list[Any] = []
        for e in edges:
            if type(e) is Leaf:
                uses[e] = uses.get(e, 0) + 1
            elif e not in seen:
                seen.add(e)
                stack.append(e)
        while stack:
            node = stack.pop()
            order.append(node)
            if node.parts is not None:
                self.parts.update(node.parts())
            for e in node.edges:
                if e is None:
                    continue
                if type(e) is Leaf:
                    uses[e] = uses.get(e, 0) + 1
                elif e not in seen:
                    seen.add(e)
                    stack.append(e)
        order.sort(key=_by_seq, reverse=True)
        return order

    def _needed(self, order: list[Node]) -> set[Any]:
        """The nodes from which a wanted edge can be reached (a wanted one only if another is reached through it)."""
        wanted = self.captured_edges
        needed: set[Any] = set()
        if self.accumulate:  # what `backward(inputs=...)` names is computed too, although nothing takes what it gives
            for e in wanted:
                needed.add(e.edges[0] if type(e) is Output else e)
        for node in reversed(order):
            if any(e in wanted or e in needed for e in node.edges if e is not None):
                needed.add(node)
        return needed

    def _skip(self, node: Node) -> None:
        """A node without a gradient: the leaves that it would feed wait for one use less."""
        for e in node.edges:
            if type(e) is Leaf:
                self._release_leaf(e)

    # ------------------------------------------------------------------------------------------ one node

    def _visit(self, node: Node, g: Any) -> None:
        if self.wanted is not None and node in self.captured_edges:
            self._capture(node, g)  # as it comes, in torch too: hooks change what is wanted of nodes that do not run
        if node.hooks is not None:
            g = self._before(node, g)
        if type(node) is Output:
            self._deliver_output(node, g)
            return
        try:
            grads = self._gradients(node, g)
        except Exception as error:
            _note_forward(node, error)
            raise
        if thread.state.anomaly:
            _check_nan(node, grads)
        if node.hooks is not None and node.hooks.post:
            grads = _run_post_hooks(node, grads, g)
        turns = node.turns or range(len(node.edges))  # may depend on what is freed next
        if not self.keep_graph and node not in self.parts:
            self._free(node)
        waiting = [*grads]
        del grads
        if node.op is None:  # a Function's: all are checked before one of them is added to a leaf's
            for i, edge in enumerate(node.edges):
                gi = waiting[i]
                if edge is not None and gi is not None and gi._array.shape != edge.shape:
                    try:
                        waiting[i] = fit(gi, edge)
                    except _Unfit as unfit:
                        raise unfit.error(node, i) from None
            gi = None
        for i in turns:
            edge = node.edges[i]
            if edge is not None:
                gi, waiting[i] = waiting[i], None
                if gi is not None:
                    try:
                        self._deliver(edge, gi)
                    except _Unfit as unfit:
                        raise unfit.error(node, i) from None
                    del gi  # the engine holds no reference of its own: see _is_private
                if type(edge) is Leaf:
                    self._release_leaf(edge)

    def _gradients(self, node: Node, g: Any) -> Any:
        """Those of a node's inputs, or None; of an operator's those that are wanted, as in torch."""
        _check_saved(node)
        if self.needed is None and node.hooks is None:  # nearly always
            return node.backward(g)
        edges = () if self.needed is None or not node.chooses else self._leading(node.edges)
        if node.hooks is not None and node.hooks.packed:
            return _unpacked_backward(node, g, *edges)
        return node.backward(g, *edges)

    def _leading(self, edges: tuple) -> tuple:
        """(The edges with None for each that leads to nothing wanted), or () where all lead there."""
        wanted, needed = self.captured_edges, self.needed or ()
        found = tuple([e if e in wanted or e in needed else None for e in edges])
        return () if found == edges else (found,)

    def _before(self, node: Node, g: Any, executes: bool = True) -> Any:
        """Run the hooks on the gradient of the node's result; those of the node itself only if the node runs."""
        hooks = node.hooks
        if hooks is None:
            return g
        if hooks.of_results:
            _tell_other_results(hooks.of_results, g)
        if hooks.tensor:
            g = _run_tensor_hooks(hooks.tensor, g)
        if hooks.retain is not None:
            t = hooks.retain()
            if t is not None:
                t._grad = _own(g) if t._grad is None else t._grad + g
                _tell_graded(t)
        if hooks.pre and executes:
            g = _run_pre_hooks(hooks.pre, g)
        return g

    def _deliver(self, edge: Any, g: Tensor) -> None:
        """Add `g` to the gradient that waits at `edge`."""
        a = g._array
        if a.shape != edge.shape or a.dtype is not edge.dtype:
            g = fit(g, edge)
        waiting = self.grads.get(edge)
        if waiting is None:
            self.grads[edge] = g
        elif (
            edge in self.summed
            and not (self.create_graph or self.watched)
            and waiting._array.shape == g._array.shape
            and type(waiting._array) is type(g._array) is np.ndarray  # neither is sparse
        ):
            add_into(waiting._array, g._array)
        else:
            total = waiting + g if waiting.layout is strided else g + waiting  # a sparse one is the second term
            self.summed.add(edge)
            self.grads[edge] = total

    def _deliver_output(self, node: Output, g: Tensor) -> None:
        """Put the gradient of one result into its place among those of the node."""
        parent = node.edges[0]
        waiting: list[Any] | None = self.grads.get(parent)
        if waiting is None:
            waiting = self.grads[parent] = [None] * len(parent.shape)
        index = node.index
        waiting[index] = g if waiting[index] is None else waiting[index] + g

    def _capture(self, edge: Any, g: Any) -> None:
        known = self.captured.get(edge)
        g = plain(g)
        self.captured[edge] = g if known is None else known + g

    def _free(self, node: Any) -> None:
        target = node.inner if type(node) is CopySlices else node
        cls = type(target)
        keeps = _KEEPS.get(cls)
        if keeps is None:
            keeps = _KEEPS[cls] = keeps_tensors(cls)
        if keeps:
            if self.freed is None:
                self.freed = Freed(user_line(4))
            target.saved = self.freed
            target.storage = None  # a saved result lives on in its tensor only

    # ------------------------------------------------------------------------------------------ leaves

    def _release_leaf(self, leaf: Leaf) -> None:
        """One of the nodes that feed `leaf` is done; after the last one its gradient is accumulated."""
        left = self.uses[leaf] - 1
        self.uses[leaf] = left
        if left:
            return
        g = self.grads.pop(leaf, None)
        if g is None or (self.wanted is not None and (leaf not in self.captured_edges or leaf.ref is no_tensor)):
            return
        if leaf.hooks is not None:
            if leaf.hooks.grad_dtype and leaf.hooks.grad_dtype is not g.dtype:
                g = g.to(leaf.hooks.grad_dtype)  # type: ignore[attr-defined]
            if leaf.hooks.tensor:
                g = _run_tensor_hooks(leaf.hooks.tensor, g)
        if self.wanted is not None and not self.accumulate:
            self._capture(leaf, g)
            return
        t = leaf.ref()
        if t is not None and (t._edge is leaf or leaf.is_of(t)):
            if leaf.hooks is not None and leaf.hooks.pre:
                g = _run_pre_hooks(leaf.hooks.pre, g)
            try:
                accumulate(t, g, self.create_graph)
            except NoArray:
                _accumulate_sparse(t, g)
            if leaf.hooks is not None:
                _run_leaf_hooks(leaf, t, g)


def _tell_graded(t: Tensor) -> None:
    if thread.state.level > 1:
        emit_event("graded", t)


def _own(g: Tensor) -> Any:
    """A gradient whose elements each have their own place: that of a sum has one for all."""
    a = g._array
    return g.clone() if type(a) is np.ndarray and 0 in a.strides and a.size > 1 else g  # type: ignore[attr-defined]


def accumulate(t: Tensor, g: Tensor, create_graph: bool) -> None:
    """`t.grad += g`. The first gradient becomes `.grad` itself where nothing else can see its memory."""
    old = t._grad
    if old is None:
        if create_graph:
            t._grad = g.clone() if g._edge is not None or thread.state.level > 1 else wrap(g._array.copy())
            if t._grad._edge is not None:
                show_as(t._grad._edge, "CopyBackwards")
        elif thread.state.dispatching:
            t._grad = _by_mode(t, g, _is_private(g, t))
        elif thread.state.level > 1:
            t._grad = _watched_copy(g, t._array)
        elif _is_private(g, t):
            g._edge = None
            t._grad = g
        else:
            t._grad = wrap(_copy_like(g._array, t._array))
        _tell_graded(t)
    elif create_graph:
        t._grad = old + g
        _tell_graded(t)
    elif thread.state.level > 1:
        state = thread.state
        before, state.writer = state.writer, "backward()"
        try:
            old.add_(g)  # type: ignore[attr-defined]
        finally:
            state.writer = before
    else:
        add_into(old._array, g._array)
        s = old._storage
        if s is not None:
            s.wrote("backward()")


def _by_mode(t: Tensor, g: Tensor, private: bool) -> Any:
    """The first `.grad` by the calls that torch makes, for the mode that is asked for operators."""
    a = t._array
    if g._array.strides == a.strides:
        kept = ask_mode(operator("detach").default, (g,), {})
        if not private:
            with without_modes():
                kept = kept.clone()
    elif dense_order(a) is not None:
        options = {"dtype": g.dtype, "layout": g.layout, "device": g.device}
        kept = ask_mode(operator("new_empty_strided").default, (g, list(t.shape), list(t.stride())), options)
        ask_mode(operator("copy_").default, (kept, g), {})
    else:
        kept = _plain_copy(g)
    kept._edge = kept._view = None
    return kept


def _accumulate_sparse(t: Tensor, g: Tensor) -> None:
    """`t.grad += g` where one of the two is sparse, a new tensor, dense if one of the terms is; or wraps another."""
    old = t._grad
    if old is None:
        t._grad = g.detach() if wrapped_by(g) else g.clone()  # type: ignore[attr-defined]
    elif wrapped_by(old):
        with no_grad():
            old.add_(g)  # type: ignore[attr-defined]
    else:
        t._grad = old + g if old.layout is strided else g + old
    _tell_graded(t)


def _count_held() -> int:
    """What getrefcount says in `_is_private` of a gradient that only `_release_leaf` holds (it differs among Pythons)."""

    def is_private(g: object) -> int:
        return sys.getrefcount(g)

    def accumulates(g: object) -> int:
        return is_private(g)

    def release() -> int:
        g = object()
        return accumulates(g)

    return release()


_HELD = _count_held()


def _count_slot() -> int:
    """What getrefcount says in `_is_private` of an array that only its tensor holds."""
    t = wrap(np.empty(0))
    a = t._array
    return sys.getrefcount(a)


_HELD_ARRAY = _count_slot()


def _is_private(g: Tensor, t: Tensor) -> bool:
    """Whether `.grad` may take over the memory of `g`: no alias, no other owner, laid out like the leaf."""
    a = g._array
    if g._storage is not None or a.base is not None or type(g) is not Tensor or not a.flags.writeable:
        return False
    if a.strides != t._array.strides:
        return False
    return sys.getrefcount(g) <= _HELD and sys.getrefcount(a) <= _HELD_ARRAY


def _copy_like(a: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A copy of `a` with the memory layout of `like` where that is dense, else C-contiguous."""
    if isinstance(a, Buffer):
        return a.backend.apply(_copy_like, (a, like), {})
    if dense_order(like) is None:
        return a.copy()
    out = dense_like(like, a.dtype)
    out[...] = a
    return out


def _watched_copy(g: Tensor, like: np.ndarray) -> Any:
    """`_copy_like` in operators, for a listener."""
    order = dense_order(like)
    if order is None:
        g = _plain_copy(g)
    else:
        back = sorted(range(len(order)), key=order.__getitem__)
        g = _plain_copy(g.permute(order)).permute(back)  # type: ignore[attr-defined]
    g._edge = g._view = None
    return g


def _plain_copy(g: Tensor) -> Any:
    return g.clone(memory_format=contiguous_format)  # type: ignore[attr-defined]


class _Unfit(Exception):
    """A gradient whose shape cannot be that of the value it belongs to."""

    def __init__(self, g: Tensor, edge: Any):
        self.got, self.expected = g._array.shape, edge.shape

    def error(self, node: Any, index: int) -> RuntimeError:
        return RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index {index} - got {list(self.got)} but expected "
            f"shape compatible with {list(self.expected)}"
        )


def _was_broadcast(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether a value of `shape` can have been broadcast to the shape `to`."""
    skipped = len(to) - len(shape)
    return skipped >= 0 and all(n in (1, m) for n, m in zip(shape, to[skipped:], strict=True))


def fit(g: Tensor, edge: Any) -> Tensor:
    """The gradient summed and cast to the shape and type of the value that it belongs to."""
    shape = g._array.shape
    if shape != edge.shape:
        if type(edge.shape) is not tuple or not _was_broadcast(edge.shape, shape):
            raise _Unfit(g, edge)
        g = sum_to(g, edge.shape)
    if g._array.dtype != edge.dtype:
        if g._array.dtype.kind == "c" and edge.dtype.kind != "c":
            g = g.real  # type: ignore[attr-defined]
        if g._array.dtype != edge.dtype:
            g = g.to(from_numpy(edge.dtype))  # type: ignore[attr-defined]
    return g


def sum_to(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`g` summed over the axes along which a value of `shape` was broadcast to it."""
    axes = sum_to_axes(g._array.shape, shape)
    if axes:
        g = g.sum(axes, keepdim=True)  # type: ignore[attr-defined]
    return g if g._array.shape == shape else g.reshape(shape)  # type: ignore[attr-defined]


def nodes_leading(roots: list[Any], wanted: list[Any]) -> set[Any]:
    """The nodes below `roots` that run in a pass for the gradients of `wanted` (`autograd.grad`)."""
    task = Pass(True, False, wanted, False)
    return task._needed(task._order(roots))


# ---------------------------------------------------------------------------------------------- saved values

_KEEPS: dict[type, bool] = {}  # by node class: whether there is something to free after backward


def keeps_tensors(cls: Any) -> bool:
    return bool(cls.tensor_slots) or cls.op is None or bool(cls.op.extras) or any(is_result(n) for n in cls.saved_names)


def _check_saved(node: Any) -> None:
    target = node.inner if type(node) is CopySlices else node
    saved = target.saved
    if type(saved) is Freed:
        raise saved.error(target.name())
    seq = target.seq
    for i in target.tensor_slots:
        t = saved[i]
        for one in t if type(t) is tuple else (t,):
            s = getattr(one, "_storage", None)
            if s is not None and (s.stamp > seq or s.former_record is not None):
                written = s.written_after(seq)
                if written is not None:
                    stale(target, one._array, written, "of its input")
    s = target.storage
    if s is not None and s.stamp > seq:
        stale(target, s.root, s, "of its result")


def _unpacked_backward(node: Any, g: Any, *edges: tuple) -> tuple:
    """The node's backward with what its saved-tensor hooks packed unpacked for the time of the call."""
    from .graph import opened

    packed = node.saved
    node.saved = opened(packed)
    try:
        return node.backward(g, *edges)
    finally:
        node.saved = packed


def stale(node: Node, a: np.ndarray, s: Any, what: str) -> None:
    """Raise for a saved array that was written since, by its storage. what: it is, of the node: "of its input"."""
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{type_word(from_numpy(a.dtype))}Tensor {list(a.shape)}], which {_where_from(node, what)}, is at version "
        f"{s.version}; expected version {s.version_at(node.seq)} instead. It was saved by {node.name()} and changed by "
        f"{describe(s.first_write_after(node.seq))}. Hint: write the change out of place (x = x + 1 instead of x += 1), "
        "or clone() the tensor before it is changed; with torch.autograd.set_detect_anomaly(True) the forward call is "
        "shown too."
    )


def _where_from(node: Node, what: str) -> str:
    return (
        f"is output 0 of {node.name().removesuffix('Backward0')}"
        if what == "of its result"
        else f"{node.name()} kept {what}"
    )


# ---------------------------------------------------------------------------------------------- hooks


def _run_tensor_hooks(table: Any, g: Tensor) -> Tensor:
    for hook in list(table.values()):
        new = hook(g)
        if new is not None:
            g = _checked(new, g, getattr(hook, "__name__", type(hook).__name__))
    return g


def _tell_other_results(of_results: dict[int, Any], grads: list[Any]) -> None:
    """Call the hooks of a node's results that no gradient reaches, where it runs for other ones."""
    for i, hooks in of_results.items():
        for hook in list(hooks.tensor.values()) if grads[i] is None and hooks.tensor else ():
            if hook(None) is not None:
                raise RuntimeError("can't replace a None gradient with a non-None value")


def _checked(new: Any, old: Tensor, name: str) -> Tensor:
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if new._array.shape != old._array.shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value: {list(old._array.shape)} became {list(new._array.shape)}"
        )
    if new._array.dtype != old._array.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {old.dtype} got {new.dtype})")
    return new


def _run_pre_hooks(table: Any, g: Any) -> Any:
    many = isinstance(g, list)
    for hook in list(table.values()):
        new = hook(tuple(g) if many else (g,))
        if new is not None:
            new = new if isinstance(new, tuple) else (new,)
            g = list(new) if many else new[0]
    return g


def _run_post_hooks(node: Node, grads: tuple, g: Any) -> tuple:
    outputs, places = tuple(g) if isinstance(g, list) else (g,), node.differentiable()
    found = [*grads]
    for hook in list(node.hooks.post.values()):
        new = hook(tuple([found[i] for i in places]), outputs)
        if new is not None:
            new = new if isinstance(new, tuple) else (new,)
            if len(new) != len(places):
                raise RuntimeError(f"hook returned {len(new)} gradients, expected {len(places)}")
            for i, gradient in zip(places, new, strict=True):
                found[i] = gradient
    return tuple(found)


def _called(node: Node, grads: tuple) -> Any:
    """The gradients of a node's inputs for those of its results, as torch's nodes give them when a program calls one."""
    _check_saved(node)
    shape = node.shape
    several = isinstance(shape, tuple) and any(isinstance(part, tuple) for part in shape)
    found = node.backward(list(grads) if several else grads[0])
    return found[0] if len(found) == 1 else tuple(found)


call_node.register(_called)


def _run_leaf_hooks(leaf: Leaf, t: Tensor, g: Tensor) -> None:
    if leaf.hooks.accumulated:
        for hook in list(leaf.hooks.accumulated.values()):
            result = hook(t)
            if result is not None and result is not t:
                _checked(result, t, getattr(hook, "__name__", type(hook).__name__))
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if leaf.hooks.post:
        for hook in list(leaf.hooks.post.values()):
            hook((), (g,))


def call_waiting_hooks(leaves: Iterable[Tensor]) -> None:
    """Call the hooks of leaves that a pass without calls of hooks has given gradients."""
    succeeded = False
    try:
        with no_grad():
            for t in leaves:
                hooks = t._edge.hooks  # type: ignore[union-attr]
                for hook in list(hooks.accumulated.values()) if hooks is not None and hooks.accumulated else ():
                    hook(t)
        succeeded = True
    finally:
        if running.task is None:
            calls, running.after_program = running.after_program, []
            for call in calls:
                call(succeeded)


# ---------------------------------------------------------------------------------------------- anomaly mode


def _note_forward(node: Node, error: Exception) -> None:
    trace = getattr(node, "trace", None)
    if trace is not None:
        error.add_note(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{trace}")


def _check_nan(node: Node, grads: tuple) -> None:
    if not thread.state.check_nan:
        return
    for i, g in enumerate(grads):
        if g is not None and g._array.dtype.kind in "fcV" and np.isnan(g._array).any():
            trace = getattr(node, "trace", None)
            if trace is not None:
                import warnings

                warnings.warn(
                    f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{trace}",
                    stacklevel=2,
                )
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
