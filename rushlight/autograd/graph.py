"""Looking into graphs: nodes, and hooks on what a call saves for backward."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from ..core.dispatch.entry import KEPT, is_result
from ..core.dispatch.extension_points import pack_saved
from ..core.dispatch.mode import no_grad, thread
from ..core.tensor.hooks import RemovableHandle
from ..core.tensor.node import Leaf, Node, Output, hooks_of
from ..core.tensor.storage import storage_of, user_line
from ..core.tensor.tensor import Tensor, alias, version_of, wrap
from .engine import running
from .saved_names import place_among_saved

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class GradientEdge(NamedTuple):
    """A place in a graph: a node and which of its results.

    ownership_token: of a node with several results, the edge of this one.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of `tensor` arrives."""
    edge = tensor._edge
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients.")
    return GradientEdge(edge.edges[0], edge.index, edge) if type(edge) is Output else GradientEdge(edge, 0)


class Packed:
    """A saved value as a hook packed it; unpacked each time backward asks for it."""

    __slots__ = ("edge", "is_tensor", "packed", "unpack")

    def __init__(self, value: Any, hooks: tuple[Callable, Callable], result_of: Any = None):
        self.is_tensor = isinstance(value, Tensor)
        t = value if self.is_tensor else wrap(value)
        self.edge = t._edge
        pack, self.unpack = hooks
        version = version_of(t)
        if result_of is not None:
            t._edge = result_of  # a hook sees a result with its history
        with no_grad():
            self.packed = pack(t)
        if self.packed is t and result_of is not None:
            t._edge = None  # its node keeps it: with the history it would keep itself
        if version_of(t) != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
                "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you "
                "need to perform in-place operations on the input to a pack hook."
            )

    def open(self) -> Any:
        with no_grad():
            t = self.unpack(self.packed)
        if not isinstance(t, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(t).__name__}"
            )
        if not self.is_tensor:
            return t._array
        if t._edge is not self.edge:
            t = alias(t, Tensor)
            t._edge = self.edge
        return t


def pack_result(result: Any) -> None:
    """Pass what the nodes of a call's results saved through the innermost hooks."""
    hooks = thread.state.hooks_saved[-1]
    if isinstance(hooks, str):
        return
    for t in result if isinstance(result, (tuple, list)) else (result,):
        edge = getattr(t, "_edge", None)
        node = edge.edges[0] if type(edge) is Output else edge
        if node is None or type(node) is Leaf:
            continue
        if node.hooks is None or not node.hooks.packed:
            _pack_node(node, hooks, edge)


def _pack_node(node: Any, hooks: tuple, edge: Any) -> None:
    names = type(node).saved_names
    slots = [i for i, v in enumerate(node.saved) if isinstance(v, Tensor)]
    slots += [i for i, n in enumerate(names) if is_result(n) and isinstance(node.saved[i], np.ndarray)]
    if slots:
        values = [None if n.endswith(KEPT) else v for n, v in zip(names, node.saved, strict=True)]
        slots.sort(key=lambda i: place_among_saved(type(node).op, names[i]))
        op = type(node).op
        packed = {i: Packed(values[i], hooks, edge if _has_history(op, names[i]) else None) for i in slots}
        node.saved = tuple(packed.get(i, v) for i, v in enumerate(values))
        node.storage = None  # the result belongs to the hooks now: keep no memory, check no version (as torch)
        hooks_of(node).packed = True


def _has_history(op: Any, name: str) -> bool:
    """Whether a saved value is a result that gradients flow through, not a statistic that the kernel returns besides."""
    return is_result(name) and (name == "out" or op.outputs < 0 or int(name[3:]) < op.outputs)


def opened(saved: tuple) -> tuple:
    """What a node saved, unpacked."""
    return tuple(v.open() if type(v) is Packed else v for v in saved)


class saved_tensors_hooks:
    """Within the block, what calls save goes through `pack_hook(tensor)`, and back through `unpack_hook` in backward."""

    def __init__(self, pack_hook: Callable, unpack_hook: Callable):
        self.hooks = pack_hook, unpack_hook

    def __enter__(self) -> None:
        state = thread.state
        if isinstance((state.hooks_saved or [None])[-1], str):
            raise RuntimeError(state.hooks_saved[-1])
        state.hooks_saved = [*(state.hooks_saved or ()), self.hooks]
        state.refresh()

    def __exit__(self, *exc: object) -> None:
        state = thread.state
        state.hooks_saved = state.hooks_saved[:-1]
        state.refresh()


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved in host memory: here it is there already, whatever the arguments, which concern GPUs, say."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda t: t, lambda t: t)


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Within the block, what calls save may be overwritten before backward, which uses the values of the call.

    torch copies a saved tensor when it is overwritten, Rushlight when it is saved: the block takes the memory of all that
    is saved. A graph that was made within it can be differentiated within it only.
    """

    _open = threading.local()  # .block: the one that is open in this thread

    def __init__(self) -> None:
        super().__init__(lambda t: t.clone(), self._give_back)  # type: ignore[attr-defined]
        self.is_open = False

    def _give_back(self, t: Tensor) -> Tensor:
        if not self.is_open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return t

    def __enter__(self) -> allow_mutation_on_saved_tensors:  # type: ignore[override]
        if getattr(self._open, "block", None) is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        self.is_open, self._open.block = True, self
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self.is_open, self._open.block = False, None

    def clear(self) -> None:
        """Nothing: torch's lets go of the copies that it has made, which the graph holds here."""


class disable_saved_tensors_hooks(saved_tensors_hooks):
    """Within the block, entering `saved_tensors_hooks` raises RuntimeError with `error_message`."""

    def __init__(self, error_message: str):
        self.hooks = error_message  # type: ignore[assignment]


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to memory that the engine could not see: what was saved of it is then known to be overwritten."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        storage_of(t).wrote(user_line(1))


class _Handles(RemovableHandle):
    """Several handles as one."""

    def __init__(self, handles: tuple[RemovableHandle, ...]):
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple:
        return self.handles

    def __setstate__(self, state: tuple) -> None:
        self.handles = state


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable, *, mode: str = "all") -> RemovableHandle:
    """Have `fn` called in backward with the gradients of several tensors.

    mode="all": once all have come that the pass computes, with a list that has None for the others. mode="any": with the
    first gradient alone. ValueError for another mode. `remove()` of the handle ends it.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    watched = _All(tensors, fn) if mode == "all" else _Any(fn)
    hooks = [(t, watched.hook(i)) for i, t in enumerate(tensors) if mode == "all" or t.requires_grad]
    return _Handles(tuple(t.register_hook(hook) for t, hook in hooks))  # type: ignore[attr-defined]


class _All:
    """The gradients that have come, for each pass that is under way."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable):
        self.fn, self.edges = fn, [get_gradient_edge(t) for t in tensors]
        self.found: WeakKeyDictionary = WeakKeyDictionary()  # pass -> [how many are still to come, gradients]

    def hook(self, i: int) -> Callable:
        def take(grad: Tensor) -> None:
            task = running.task
            if task not in self.found:
                self.found[task] = [sum(_executes(task, edge) for edge in self.edges), [None] * len(self.edges)]
            entry = self.found[task]
            entry[0] -= 1
            entry[1][i] = grad
            if entry[0] == 0:
                del self.found[task]
                self.fn(entry[1])

        return take


def _executes(task: Any, edge: GradientEdge) -> bool:
    return task.executes(edge.node)


class _Any:
    """The pass whose first gradient has come."""

    def __init__(self, fn: Callable):
        self.fn = fn
        self.seen: WeakSet = WeakSet()

    def hook(self, i: int) -> Callable:
        def take(grad: Tensor) -> None:
            if running.task not in self.seen:
                self.seen.add(running.task)
                self.fn(grad)

        return take


pack_saved.register(pack_result)
