"""A function's calls of torch as graphs for a backend that the user wrote: what `torch.compile(backend=f)` runs.

In each call the function runs as Python. Its calls of torch are not carried out: they become the nodes of a graph, and
their results are `Deferred` (`deferred.py`). Where the function ends, or needs elements before (a graph break), the graph is
given to the backend, or what the backend made of an equal graph before is taken, and that runs. So what a function
depends on besides its arguments needs no guards: other Python code makes another graph.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ...compile.capture.sources import GraphBreakError
from ...compile.jit.region import region
from ...core.dispatch import torch_function
from ...core.dispatch.aten.wrapper import own
from ...core.dispatch.mode import no_grad, thread
from ...core.dispatch.op import OPS, Op
from ...core.tensor.storage import storage_of
from ...core.tensor.tensor import Tensor, version_of
from ...fx import Graph, Node
from ...nn.parameter import Buffer, Parameter
from ...utils._pytree import tree_flatten, tree_map, tree_unflatten
from .._C import _set_grad_enabled
from .._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from .deferred import Deferred, become, hold, make_deferred, release

__all__ = ["Recorded", "Recorder"]

# what tells a shape, a type or a place: it becomes no node
_TOLD = frozenset(
    [
        "size",
        "dim",
        "ndimension",
        "numel",
        "nelement",
        "stride",
        "storage_offset",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "element_size",
        "get_device",
        "is_contiguous",
        "is_same_size",
        "is_conj",
        "is_neg",
        "is_inference",
        "type",
        "__len__",
        "result_type",
        "can_cast",
        "promote_types",
    ]
)
# what changes a tensor itself, or how it takes part in backward, rather than its elements: the graph ends before it
_BREAKS = frozenset(
    [
        "requires_grad_",
        "retain_grad",
        "detach_",
        "set_",
        "resize_",
        "resize_as_",
        "share_memory_",
        "backward",
        "register_hook",
        "apply_",
        "map_",
        "map2_",
        "register_post_accumulate_grad_hook",
        "tensor",
        "as_tensor",
        "asarray",
        "from_numpy",
        "frombuffer",
        "from_dlpack",
        "_make_subclass",
    ]
)
_WITHOUT_HISTORY = frozenset(
    ["detach", "zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like"]
)
_RANDOM = ("rand", "normal", "bernoulli", "dropout", "multinomial", "uniform_", "exponential_", "poisson", "geometric_")
_ARITHMETIC = {"add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "true_divide": "truediv", "matmul": "matmul"}
_KINDS = (Tensor, Parameter, Buffer, Deferred)


class Recorded:
    """What is recorded until the graph runs: its nodes, the tensors that go in, and those that come out.

    taken: the tensors that go in, in the order of their first use; numbers: (node, argument's place) of the numbers.
    """

    def __init__(self, started: tuple) -> None:
        self.graph, self.fake_mode = Graph(), FakeTensorMode(allow_non_fake_inputs=True)
        self.taken: list[tuple[Tensor, Node]] = []
        self.shadows: dict[int, FakeTensor] = {}  # of the tensors that go in, by identity
        self.nodes: dict[int, Node] = {}  # by the identity of the shadow
        self.outer: dict[int, Any] = {}  # of shadows: the tensor that goes in, or a weak reference to a deferred one
        self.made: list[tuple[weakref.ref[Deferred], Node]] = []
        self.alive: list[FakeTensor] = []  # shadows are known by identity
        self.written: list[Tensor] = []
        self.memories: set[int] = set()  # of what is written
        self.is_random = False
        self.started = self.modes = started

    @property
    def first_call(self) -> Node | None:
        """The first node that is no input."""
        return next((n for n in self.graph.nodes if n.op != "placeholder"), None)


class _Listener:
    """Hears what a function does besides calls that become nodes: the graph may have to run before."""

    @contextmanager
    def plainly(self) -> Iterator[None]:
        """Calls become no nodes meanwhile: an optimizer makes its state, which torch's graphs have as inputs."""
        self.recorder.is_plain = True
        try:
            yield
        finally:
            self.recorder.is_plain = False

    def __init__(self, recorder: Recorder):
        self.recorder = recorder

    def __call__(self, record: Op, tensors: tuple, metadata: tuple, result: Any) -> None:
        """An operator has run for itself. Raises RuntimeError where it saw memory that the graph is yet to write."""
        memories = self.recorder.now.memories
        if memories and any(id(storage_of(t).root) in memories for t in tensors if isinstance(t, Tensor)):
            raise RuntimeError(
                f"torch.compile(backend=...): {record.name} was called inside Rushlight on an alias of a tensor that the "
                "recorded graph writes; call torch._dynamo.graph_break() before"
            )

    def read(self, t: Any, how: str) -> None:
        self.recorder.run(how)

    def left(self, why: str) -> None:
        self.recorder.run(why)

    def reseeded(self, *values: Any) -> None:
        self.recorder.run("the random stream is set")

    def drew(self, *values: Any) -> None:
        if self.recorder.now.is_random:
            raise RuntimeError(
                "torch.compile(backend=...): random numbers are drawn inside Rushlight before the graph's"
            )


def modes() -> tuple:
    """What decides how operators run in this thread: (gradients, inference mode, autocast)."""
    state = thread.state
    return state.grad, state.inference, state.autocast


class Recorder:
    """Runs a function and makes graphs of its calls. compiled(recorded, values): what runs a graph on tensors."""

    def __init__(self, compiled: Callable[[Recorded, list], Any], fullgraph: bool, names: dict[int, str]):
        self.compiled, self.fullgraph, self.names = compiled, fullgraph, names
        self.listener = _Listener(self)
        self.now = Recorded(modes())
        self.is_running = self.is_plain = False

    def call(self, function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The function's result."""
        torch_function.activate()
        state, stack = thread.state, torch_function.modes()
        stack.append(self)
        state.listener = self.listener
        state.refresh()
        try:
            result = region.run(True, function, args, kwargs)
            self.run(None)
            return result
        except GraphBreakError:
            raise
        except BaseException:
            self.run(None)  # what came before the error has happened
            raise
        finally:
            self._forget()
            stack.remove(self)
            state.listener = None
            state.refresh()

    # ------------------------------------------------------------------------------------------ recording

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """A call of the function's: a node, if it is one of tensors that only their shapes and types decide."""
        kwargs = dict(kwargs or {})
        leaves, structure = tree_flatten((args, kwargs))
        tensors = [a for a in leaves if isinstance(a, Tensor)]
        if self.is_running or self.is_plain or any(isinstance(t, FakeTensor) for t in tensors):
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if any("_recorder" not in t.__dict__ and type(t) not in _KINDS for t in tensors):
            return self._plainly(func, args, kwargs, f"{name} of {type(tensors[0]).__name__}")
        if name in _TOLD:
            shown = [self._shape_of(a) if isinstance(a, Deferred) else a for a in leaves]
            given: Any = tree_unflatten(shown, structure)
            return func(*given[0], **given[1])
        if name in _BREAKS or any(_is_code(a) for a in leaves):
            return self._plainly(func, args, kwargs, name)
        if self.now.modes[1:] != modes()[1:]:
            self.run("another inference or autocast mode")
        return self._record(func, args, kwargs, leaves, structure, name)

    def _record(self, func: Callable, args: tuple, kwargs: dict, leaves: list, structure: Any, name: str) -> Any:
        now = self.now
        before = [version_of(s.elem) for s in now.shadows.values()]
        try:
            shadows = [self._shadow(a) if isinstance(a, Tensor) else a for a in leaves]
            given, options = tree_unflatten(shadows, structure)
            with _unheard(), no_grad(), now.fake_mode:
                result = tree_map(own, func(*given, **options))
        except Exception:  # the call itself says what is wrong, if anything is
            return self._plainly(func, args, kwargs, f"{name}, whose result is not known from shapes alone")
        before += [0] * (len(now.shadows) - len(before))  # those of the call's own
        written = [i for i, s in enumerate(now.shadows.values()) if version_of(s.elem) != before[i]]
        results = tree_flatten(result)[0]
        made = [r for r in results if isinstance(r, Tensor)]
        if not (made or (result is None and name.endswith("_"))) or not all(isinstance(r, FakeTensor) for r in made):
            return self._plainly(func, args, kwargs, name)
        self._follow_grad_mode()
        parts = [now.nodes[id(s)] if isinstance(s, FakeTensor) else s for s in shadows]
        node_args, node_kwargs = tree_unflatten(parts, structure)
        node = _call(now.graph, func, name, node_args, node_kwargs)
        now.is_random |= any(word in name for word in _RANDOM)
        grads = thread.state.grad and any(a.requires_grad for a in leaves if isinstance(a, Tensor))
        result = self._outer(result, node, grads and name not in _WITHOUT_HISTORY)
        for i in written:
            self._hold(now.taken[i][0], [*now.shadows.values()][i])
        if grads and name.endswith("_") and isinstance(result, Deferred):
            result.__dict__["_requires_grad"] = True
        return result

    def _shape_of(self, t: Deferred) -> Any:
        return t.__dict__["_shadow"]

    def _shadow(self, t: Tensor) -> FakeTensor:
        """The fake tensor of an argument; the first time, a tensor that is there becomes the graph's input."""
        if isinstance(t, Deferred):
            return t.__dict__["_shadow"]
        now = self.now
        if id(t) not in now.shadows:
            with _unheard(), no_grad():
                shadow = now.fake_mode.from_tensor(t.detach())
            source = self.names.get(id(t)) or f"L_other_{len(now.taken)}_"
            kind = Parameter if isinstance(t, Parameter) else Tensor
            first = now.first_call
            with nullcontext() if first is None else now.graph.inserting_before(first):
                node = now.graph.create_node("placeholder", source, (), {}, _lower(source), kind)
            node.meta["example_value"] = t
            now.taken.append((t, node))
            now.shadows[id(t)], now.outer[id(shadow)], now.nodes[id(shadow)] = shadow, t, node
        return now.shadows[id(t)]

    def _outer(self, result: Any, node: Node, requires_grad: bool) -> Any:
        """What a call returns, with deferred tensors for the shadows."""
        now = self.now
        if isinstance(result, FakeTensor):
            known = now.outer.get(id(result))
            if known is not None:
                return known() if isinstance(known, weakref.ref) else known
            differentiable = result.dtype.is_floating_point or result.dtype.is_complex
            made = make_deferred(self, result, requires_grad and differentiable)
            reference = weakref.ref(made)
            now.nodes[id(result)], now.outer[id(result)] = node, reference
            now.alive.append(result)
            now.made.append((reference, node))
            node.meta["example_value"] = result
            return made
        if isinstance(result, (tuple, list)):
            graph = now.graph
            parts = [
                self._outer(r, graph.call_function(operator.getitem, (node, i)), requires_grad)
                if isinstance(r, (Tensor, tuple, list))
                else r
                for i, r in enumerate(result)
            ]
            return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
        return result

    def _hold(self, t: Tensor, shadow: FakeTensor) -> None:
        """The graph writes a tensor that goes in."""
        now = self.now
        if not any(t is w for w in now.written):
            now.written.append(t)
            now.memories.add(id(storage_of(t).root))
            hold(t, self, shadow)

    def _follow_grad_mode(self) -> None:
        now, grad = self.now, thread.state.grad
        if now.modes[0] != grad:
            now.graph.call_function(_set_grad_enabled, (grad,))
            now.modes = (grad, *now.modes[1:])

    def _plainly(self, func: Callable, args: tuple, kwargs: dict, why: str) -> Any:
        """A call that no graph has."""
        if self.now.taken or self.now.made:
            self.run(why)
        return func(*args, **kwargs)

    # ------------------------------------------------------------------------------------------ running

    def run(self, why: str | None) -> None:
        """Run what was recorded; its deferred tensors become ordinary ones. why: None at the end of the function."""
        now = self.now
        if self.is_running:
            raise RuntimeError("torch.compile(backend=...): a result of the graph was needed while the graph runs")
        if not any(n.op.startswith("call") for n in now.graph.nodes):
            self._forget()
            return
        if why is not None and self.fullgraph:
            self._forget()
            raise GraphBreakError(f"torch.compile(fullgraph=True): the graph breaks at {why}")
        kept = [(t, node) for reference, node in now.made if (t := reference()) is not None]
        if now.modes[0] != now.started[0]:
            now.graph.call_function(_set_grad_enabled, (now.started[0],))
        now.graph.output(tuple(node for _, node in kept))
        values = [t for t, _ in now.taken]
        self.is_running = True
        try:
            self._forget()
            with _as_recorded(now.started):
                results = self.compiled(now, values)
            become([t for t, _ in kept], results)
        finally:
            self.is_running = False

    def _forget(self) -> None:
        for t in self.now.written:
            release(t)
        self.now = Recorded(modes())


class _unheard:
    """Without the listener and the modes of the recorder: its own calls are none of the function's."""

    def __enter__(self) -> None:
        state = thread.state
        self.before, state.listener = state.listener, None
        state.refresh()

    def __exit__(self, *error: object) -> None:
        thread.state.listener = self.before
        thread.state.refresh()


class _as_recorded(_unheard):
    """In the modes in which a graph was recorded, and not heard."""

    def __init__(self, recorded: tuple):
        self.recorded = recorded

    def __enter__(self) -> None:
        super().__enter__()
        self.modes = modes()
        self._set(self.recorded)

    def __exit__(self, *error: object) -> None:
        self._set(self.modes)
        super().__exit__(*error)

    def _set(self, values: tuple) -> None:
        state = thread.state
        state.autocast = values[2]
        state.set(*values[:2])


def _is_code(value: Any) -> bool:
    """Whether an argument is a function or a module, which would be called with the graph's own tensors."""
    return callable(value) and not isinstance(value, (type, Tensor))


def _lower(source: str) -> str:
    return "l" + source[1:]


def _call(graph: Graph, func: Any, name: str, args: tuple, kwargs: dict) -> Node:
    """The node of a call: an operator of Python's where it was one, a method of Tensor's or a function."""
    if name == "__get__":
        member = next(n for n, f in vars(Tensor).items() if f is func.__self__)
        return graph.call_function(getattr, (args[0], member))
    if name.startswith("__r") and hasattr(operator, name.replace("__r", "__", 1)):
        return graph.call_function(getattr(operator, name.replace("__r", "__", 1)), args[::-1])
    if name.startswith("__") and hasattr(operator, name):
        return graph.call_function(getattr(operator, name.strip("_"), getattr(operator, name)), args)
    known = vars(Tensor).get(name)
    if name in _ARITHMETIC and known is func and len(args) == 2 and not kwargs:
        return graph.call_function(getattr(operator, _ARITHMETIC[name]), args)
    if known is func and OPS.get(name) is not func:
        return graph.call_method(name, args, kwargs)
    return graph.call_function(func, args, kwargs)
