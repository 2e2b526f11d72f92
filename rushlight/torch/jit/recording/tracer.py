"""Recording what a function does to tensors: each call of a public function becomes a node of torch's operators.

The tracer is a mode that public functions ask (`core/dispatch/torch_function.py`). What it cannot write as an
operator of torch it lets run while it goes on listening, down to single operators (`core/dispatch/mode.py`), which
`core/dispatch/aten` writes as torch's; where that fails too, the trace raises and names the operator. Sizes are
tensors while a trace runs, as in torch: what is computed from them is computed again in each call of the program.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ....core import own_code
from ....core.dispatch import torch_function
from ....core.dispatch.aten.calls import as_aten
from ....core.dispatch.extension_points import size_observer, tracer_of_programs
from ....core.dispatch.mode import thread
from ....core.locks import lock
from ....core.tensor.size import size_of, wrap_dim
from ....core.tensor.tensor import Tensor
from ....nn.modules.module import Module
from ....utils._pytree import tree_leaves
from ..ir import binding
from ..ir.binding import Call
from ..ir.class_names import ClassNames
from ..ir.graph import INT, Type
from ..ir.literals import number_tensor
from ..ir.running import runner
from ..ir.schemas import named, overloads
from . import special
from .builder import Builder
from .calls import CallScope
from .describe import TensorFacts, caller, warn_user
from .public_calls import WRITTEN_IN_PYTHON, call_of, name_of
from .trace_check import TracerWarning

if TYPE_CHECKING:
    from ....core.dispatch.op import Op

__all__ = ["Tracer", "current"]

_CONSTANT = (
    "We can't record the data flow of Python values, so this value will be treated as a constant in the future. "
    "This means "
    "that the trace might not generalize to other inputs!"
)
_READS = {
    "bool()": "Python boolean", "item()": "Python number", "int()": "Python integer", "float()": "Python float",
    "complex()": "Python complex", "an index": "Python index", "tolist()": "Python list", "numpy()": "NumPy array",
    "in": "Python boolean",
}  # fmt: skip
_ITERATED = (
    "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't "
    "change the "
    "number of iterations executed (and might lead to errors or silently give incorrect results)."
)
_LENGTH = (
    "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be "
    "tensor.shape[0]. "
    "Passing a tensor of different shape might lead to errors or silently give incorrect results."
)
_MAKES = (
    "torch.{} results are registered as constants in the trace. You can safely ignore this warning if you use "
    "this function "
    "to create tensors out of constant variables that would be the same every time you call this function. In "
    "any other "
    "case, this might cause the trace to be incorrect."
)
_CONSTANTS_OF = {"tensor", "from_numpy", "as_tensor", "asarray", "frombuffer", "new_tensor"}
_local = threading.local()


def current() -> Tracer | None:
    """The tracer that runs in this thread."""
    return getattr(_local, "tracer", None)


_IN_PROGRAMS = {"_weight_norm_interface": "_weight_norm"}  # operators that torch traces as those that call them


class Tracer:
    """Records one run. root: the module that runs, None for a function; names: of the classes of modules."""

    is_jit_tracer = True

    def __init__(self, root: Module | None, names: ClassNames):
        self.build = Builder(root, names)
        self.thread = threading.get_ident()
        self.listening = False

    # ------------------------------------------------------------------------------------------ on and off

    @contextmanager
    def running(self) -> Iterator[None]:
        """Record what happens inside."""
        torch_function.activate()
        before, _local.tracer = current(), self
        try:
            with _observed_sizes(), CallScope(self), self.on():
                yield
        finally:
            _local.tracer = before

    @contextmanager
    def on(self) -> Iterator[None]:
        """Ask this tracer of each call inside."""
        torch_function.modes().append(self)
        try:
            with self._listen(self):
                yield
        finally:
            torch_function.modes().remove(self)

    def off(self) -> Any:
        """Calls inside run as outside of a trace."""
        return self._listen(None)

    @contextmanager
    def _listen(self, listener: Any) -> Iterator[None]:
        state = thread.state
        before, was = state.listener, self.listening
        state.listener, self.listening = listener, listener is not None
        state.refresh()
        try:
            yield
        finally:
            state.listener, self.listening = before, was
            state.refresh()

    def push_scope(self, name: str) -> None:
        """Let the nodes that follow be in a scope of this name: for hooks of modules."""
        self.build.scopes.append(name)

    def pop_scope(self) -> None:
        """End the scope that was pushed last."""
        self.build.scopes.pop()

    # ------------------------------------------------------------------------------------------ public functions

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if not self.listening:
            return func(*args, **kwargs)
        name = name_of(func)
        if thread.state.autocast is not None:
            raise NotImplementedError(f"torch.jit.trace: {name}() inside torch.autocast cannot be recorded")
        way = special.WAYS.get(name)
        if way is not None:
            with self.on():
                result = way(self, func, args, kwargs)
            if result is not NotImplemented:
                return result
        if name in _CONSTANTS_OF:
            return self._made_of_data(name, func, args, kwargs)
        with self.off():
            call = call_of(func, name, args, kwargs)
        return self._descend(name, func, args, kwargs) if call is None else self.perform(func, call, args, kwargs)

    def perform(self, func: Callable, call: Call, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run a call and record it."""
        ids = binding.as_numbers(call)
        with self.off():
            if ids:
                args, kwargs = binding.without_tensors(args, ids), binding.without_tensors(kwargs, ids)
            result = func(*args, **kwargs)
            self.build.record(call, result)
        return result

    def operator(self, name: str, *arguments: Any, overload: str = "") -> Any:
        """Run and record an operator of torch, given all of its arguments."""
        schema = named(name, overload)
        call = binding.complete(schema, dict(zip([p.name for p in schema.parameters], arguments, strict=False)))
        assert call is not None
        ids = binding.as_numbers(call)
        with self.off():
            result = runner(schema)(*binding.without_tensors(call.arguments, ids))
            self.build.record(call, result)
        return result

    def quantized(self, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run and record an operator of quantized tensors."""
        if name.startswith("batch_norm"):
            name = name.replace("norm", f"norm{args[0].dim() - 2}d")
        with self.off():
            call = binding.bind(f"quantized::{name}" if overloads(f"quantized::{name}") else name, args, kwargs)
        if call is None:
            raise NotImplementedError(f"torch.jit.trace: {name}() of quantized tensors cannot be recorded")
        return self.operator(call.schema.name, *call.arguments, overload=call.schema.overload)

    def _descend(self, name: str, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run a function that is no operator of torch, and record what it calls."""
        with self.on():
            result = self.plain(func)(*args, **kwargs)
        given = {id(t) for t in _tensors((args, kwargs))}
        if name not in WRITTEN_IN_PYTHON and any(id(t) not in given for t in _tensors(result)):
            raise NotImplementedError(f"torch.jit.trace: {name}() cannot be recorded")
        return result

    @staticmethod
    def plain(func: Callable) -> Callable:
        """A public function without the question that this tracer answers."""
        owner = getattr(func, "__self__", None)
        if isinstance(owner, property):
            getter: Any = owner.fget
            return getter.__dict__.get("__torch_function_plain__", getter)
        return getattr(func, "__dict__", {}).get("__torch_function_plain__", func)

    def _made_of_data(self, name: str, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        data = args[0] if args else next(iter(kwargs.values()), None)
        with self.off():
            result = func(*args, **kwargs)
        if result is data:
            return result
        if name != "asarray":
            self.warn(_MAKES.format(name), data)
        with self.off():
            self.build.record_data(result)
        return result

    # ------------------------------------------------------------------------------------ operators, sizes, reads

    def __call__(self, record: Op, tensors: tuple, metadata: tuple, result: Any) -> None:
        """An operator ran that no public function above it has recorded."""
        if threading.get_ident() != self.thread:
            return
        writes = bool(tensors) and result is tensors[0]
        with self.off():
            overload, args, kwargs = as_aten(record, tensors, metadata, writes)
            name = _IN_PROGRAMS.get(record.name) or overload.overloadpacket.__name__
            if name.startswith("_rushlight_") or any(
                t is not None and not isinstance(t, Tensor) and not _is_number(t) for t in tensors
            ):
                raise NotImplementedError(f"torch.jit.trace: the operator {record.name}() cannot be recorded")
            call = binding.bind(name, args, kwargs)
            if call is None:
                raise NotImplementedError(f"torch.jit.trace: the operator {record.name}() cannot be recorded")
            self.build.record(call, result)

    def size(self, t: Tensor, dim: Any) -> Any:
        """The shape of a tensor, or one size, as tensors that the program computes again."""
        if dim is not None:
            return self._one_size(t, dim)
        return size_of(self._one_size(t, i) for i in range(t._array.ndim))

    def _one_size(self, t: Tensor, dim: Any) -> Tensor:
        dim = int(dim)
        n = t._array.shape[wrap_dim(dim, t._array.ndim)]
        return self._number(n, Call(named("size", "int"), [t, dim]))

    def _number(self, n: int, call: Call) -> Tensor:
        with self.off():
            result = number_tensor(n)
            number = self.build.node(call, INT)
            self.build.assign(
                result,
                self.build.primitive(
                    "prim::NumToTensor", [number], Type("Tensor", detail=TensorFacts("Long", str(result.device)))
                ),
            )
        return result

    def numel(self, t: Tensor) -> Tensor:
        """The number of elements, in the same way."""
        return self._number(t._array.size, Call(named("numel"), [t]))

    def read(self, t: Any, how: str) -> None:
        """A value leaves for Python."""
        if how in _READS and not _asked_by_own_code():
            self.warn(f"Converting a tensor to a {_READS[how]} might cause the trace to be incorrect. {_CONSTANT}", t)

    def branched(self, t: Tensor) -> None:
        """What a layer does depends on a tensor's values."""
        self.warn(f"Converting a tensor to a Python boolean might cause the trace to be incorrect. {_CONSTANT}", t)

    def created(self, t: Tensor, *made: Any) -> None:
        """A tensor is made of Python's numbers, by a constructor that the user calls."""
        if not _asked_by_own_code():
            self.build.made(t)

    def drew(self, *drawn: Any) -> None:
        """Random numbers are drawn below the operators: a program could only repeat them."""
        raise NotImplementedError("torch.jit.trace: random numbers that a function draws itself cannot be recorded")

    def iterated(self, t: Tensor) -> None:
        """A loop runs over a tensor."""
        if not _asked_by_own_code():
            self.warn(_ITERATED)

    def measured(self, t: Tensor) -> None:
        """len() of a tensor."""
        if not _asked_by_own_code():
            self.warn(_LENGTH)

    def applying(self, function: Any, args: tuple) -> tuple[Any]:
        """A custom `autograd.Function` is called: one node, which calls it again with the backward that it
        defines.
        """
        with self.off():
            result = function.apply(*args)
            self.build.record_function(function, args, result)
        return (result,)

    def branch(self, condition: Tensor, parts: Sequence[Callable[[], list[Tensor]]]) -> list[Tensor]:
        """A tensor's value chooses between two parts (`torch.cond`): both are recorded, as the blocks of a `prim::If`."""
        with self.off():
            taken = 0 if condition else 1
            return self.build.branch(condition, [lambda part=part: self._recorded(part) for part in parts], taken)

    def _recorded(self, part: Callable[[], Any]) -> Any:
        with self.on():
            return part()

    def calls_program(self, program: Any, args: tuple, kwargs: dict[str, Any], run: Callable, name: str) -> Any:
        """A script or program that is a function is called: its graph stays what it is."""
        return self._called(program.graph, program.arguments(args, kwargs), lambda: run(*args, **kwargs), name, program)

    def calls_method(self, module: Module, program: Any, args: tuple, kwargs: dict[str, Any], run: Callable) -> Any:
        """A method of a script below the module that runs is called: its graph stays what it is."""
        given = program.arguments(args, kwargs)
        return self._called(program.graph, given, lambda: run(*args, **kwargs), program.graph.name, module)

    def _called(self, graph: Any, given: tuple, run: Callable, name: str, callee: Any) -> Any:
        with self.off():
            self.build.begin_call(graph, given, name, callee)
            result = run()
            self.build.end_call(graph, result)
        return result

    def records(self, module: Module) -> bool:
        """Whether a module's call is recorded as one: it is below the module that runs."""
        return self.listens_here() and self.build.has_path(module)

    def listens_here(self) -> bool:
        """Whether the tracer records what this thread does now."""
        return self.listening and threading.get_ident() == self.thread

    def is_of_data(self, seen: Any) -> bool:
        """Whether tensors were computed from the elements of the inputs, not from their sizes alone."""
        with self.off():
            return any(self.build.is_of_data(t) for t in tree_leaves(seen) if isinstance(t, Tensor))

    def warn(self, text: str, seen: Any = None) -> None:
        """Give a TracerWarning at the user's line. seen: what Python read."""
        warning = TracerWarning(text)
        warning.of_data = self.is_of_data(seen)
        warn_user(warning, TracerWarning)


_count = lock()
_tracing: list[None] = []  # one for each trace that runs, in any thread


@contextmanager
def _observed_sizes() -> Iterator[None]:
    with _count:
        _tracing.append(None)
        size_observer.register(_observe_size)
    try:
        yield
    finally:
        with _count:
            _tracing.pop()
            if not _tracing:
                size_observer.register(None)


def _observe_size(t: Tensor, dim: Any) -> Any:
    tracer = current()
    if tracer is None or not tracer.listening or threading.get_ident() != tracer.thread:
        return None
    return tracer.size(t, dim)


def _recording() -> Tracer | None:
    tracer = current()
    return tracer if tracer is not None and tracer.listens_here() else None


tracer_of_programs.register(_recording)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex))


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _tensors(v)]
    return _tensors(list(value.values())) if isinstance(value, dict) else []


def _asked_by_own_code() -> bool:
    frame = caller()
    return frame is not None and frame.f_code.co_filename.startswith(own_code.FILES)
