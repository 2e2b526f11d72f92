"""Recording: one eager run of a function becomes a graph.

The recorder is the thread's listener (`core/dispatch/mode.py`). Operators tell it of their calls, and the few places that work
below the operators tell it of what they do. What a tensor is, it knows from the memory that the tensor shows
(`memory.py`); what it cannot place is an error that names the line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.dispatch.extension_points import module_class
from ...core.dispatch.slow_path import common_type
from ...core.live_objects import tensors_and_modules
from ...core.tensor.storage import describe, user_line
from ...core.tensor.strides import element_strides
from ...core.tensor.tensor import Tensor
from ...ops.shape.copying import _clone
from ..guards.python_state import MOST_BYTES, PythonState
from ..guards.python_trace import Reads
from ..ir.graph import Call, Graph, Ref, Update, Value, Write, same_strides
from ..ir.overlapping_writes import Ordered, is_ordered
from .exchanges import record_exchange
from .memory import Existing, Memory, Region, add_source, value_of
from .scalars_read import Read, is_read, marked, plain
from .sources import Argument, CaptureError, GraphBreakError, Option
from .splice import Splice
from .structure import rebuild
from .tail_position import is_last
from .watched_array import watched

if TYPE_CHECKING:
    from ...core.dispatch.op import Op


class Draw:
    """Stand-in for an operator's record where random numbers are drawn by shape: `kernel(*metadata)` draws them."""

    kind, promote, view = "draw", None, False

    def __init__(self, name: str, kernel: Callable, draws: str = "shape"):
        self.name, self.draws = name, draws
        self.kernel = self.reference = kernel

    def invoke(self, f: Callable, arrays: Sequence, metadata: tuple) -> Any:
        return f(*arrays, *metadata)


class Demand:
    """Stand-in for the record of a test that eager calls make of their values: the kernel raises where it fails."""

    name, kind, promote, view, draws = "assert_all", "assert_all", None, False, ""

    def __init__(self) -> None:
        self.kernel = self.reference = _demand

    def invoke(self, f: Callable, arrays: Sequence, metadata: tuple) -> Any:
        return f(*arrays)


def _demand(holds: np.ndarray) -> tuple:
    if not holds.all():
        raise ValueError("a value is not allowed")  # the function runs again, and says which
    return ()


def _set_state(state: np.ndarray, generator: Any) -> None:
    generator.set_state_bytes(state)


class Recorder:
    """The listener of one capture. Its public methods are the events that `core.dispatch.mode.emit_event` names."""

    def __init__(
        self,
        leaves: list,
        varying: set,
        function: Any = None,
        reads: Any = None,
        modules: tuple = (),
        classes: tuple = (),
    ):
        """reads, modules: of an earlier capture of the function. classes: of arguments that are opened, which are no leaves."""
        self.function, self.classes = function, classes
        self.state = None if reads is None else PythonState(function, leaves, reads, (*classes, *modules))
        self.reads = Reads()  # what this call reads
        self.graph = Graph()
        self.memory = Memory()
        self.leaves = leaves
        self.varying = varying
        kind = module_class.value or ()
        objects = tensors_and_modules()
        self.existing = Existing(
            [o for o in objects if issubclass(type(o), Tensor) and type(o._array) is np.ndarray], leaves
        )
        self.changed_grads: set[int] = set()  # ids of tensors that existed
        self.training = [(o, o.__dict__.get("training")) for o in objects if issubclass(type(o), kind)]
        self.attributes = list(_tensor_attributes([m for m, _ in self.training]))
        del objects
        self.wanting = {id(t): t._edge for t in self.existing.tensors if t._edge is not None}
        self._claim()
        self.result: Any = None
        self.modules: dict[int, Any] = {}
        self.optimizers: dict[int, Any] = {}
        self.groups: dict[int, Any] = {}
        self.group: Any = None
        self.options: dict[tuple, Ref] = {}
        self.schedules: list[tuple] = []
        self.conditions: dict[Any, Callable[[], bool]] = {}  # what exchanges with other processes need
        self.begun: dict[int, Ref] = {}  # by the identity of an exchange in two halves, what the first one gives
        self.shaped: set[Value] = set()  # what depends on shapes alone
        self.arrays_read: set[int] = set()  # arguments that are arrays of NumPy whose values Python has seen
        self.looked: list[tuple[Region, Ref, np.ndarray]] = []  # integers from outside that Python has seen
        self.handed_out: list = []  # weak references to the tokens of the numbers that were read
        self.floats: dict[int, tuple[float, Read, Any]] = {}
        self.closed: Any = None  # the line of a float(): nothing may be computed after it

    def _claim(self) -> None:
        """Give the arguments their regions before anything else."""
        for i, leaf in enumerate(self.leaves):
            a = leaf._array if isinstance(leaf, Tensor) else leaf
            if isinstance(a, np.ndarray) and a.size and self.memory.find(a) is None:
                self._input(add_source(self.memory, a, Argument(i)))

    def before(self, attribute: Any) -> Tensor:
        """The tensor that a module's attribute held when the call began."""
        return next(t for d, k, t in self.attributes if d is attribute.scope and k == attribute.name)

    def _input(self, region: Region) -> Region:
        self.graph.inputs[region.first] = region.source
        return region

    # ------------------------------------------------------------------------------------------ operators

    def cut(self, t: Tensor, alias: Tensor, how: str) -> None:
        """An alias without history was made of a tensor, which may be a part of another one."""
        if id(t) in self.existing.known:
            self.existing.aliased.append(t)

    def graded(self, t: Tensor) -> None:
        """A tensor is given another gradient, or none. What other threads do to theirs is not told here."""
        self.changed_grads.add(id(t))

    def returned(self, r: Any) -> None:
        """What the kernel of the call that is about to be told returned."""
        self.result = r

    def __call__(self, record: Op, tensors: tuple, metadata: tuple, result: Any) -> None:
        r, self.result = self.result, None
        line = self._line()
        self._check_open(line, record.name)
        operands = tuple(self._operand(t, record.name, line) for t in tensors)
        if any(isinstance(v, Tensor) or self._is_mine(v) for v in _flat(metadata)):
            raise CaptureError(
                f"{describe(line)}: {record.name}() takes a tensor, or .item() of one computed inside the compiled function, "
                "as an option; its value is only known when the program runs. Pass a number from outside"
            )
        _check_shape_is_fixed(record, operands, line)
        promoting = record.kind != "general" or record.promote is not None
        cast = common_type(record, tensors) if promoting else None
        if len(tensors) and result is tensors[0]:
            if not result._array.size:
                return
            if is_ordered(tensors[0], tensors[1:]):
                self._write_in_order(record.name, record.kernel_of(tensors[0]._array), tensors[0], operands, cast, line)
            else:
                self._call_in_place(record, tensors[0], operands, metadata, cast, r, line)
            return
        arrays = _arrays(record, result, r)
        if record.name == "clone" and record.promote is None and self._alias_copy(operands[0], arrays[0], line):
            return
        if not getattr(record, "draws", "") and all(
            a is None or not a.size or self.memory.find(a) is not None for a in arrays
        ):
            return  # views of what is there
        before = [None if a is None or not a.size else self.memory.find(a) for a in arrays]
        shown = {o.value for o in operands if isinstance(o, Ref)}
        results = tuple(
            self._result(a, line)
            if region is None or region.value in shown
            else None  # else: memory that a kernel keeps
            for a, region in zip(arrays, before, strict=True)
        )
        if record.view:
            self.shaped.update(r.value for r in results[1:] if r is not None)
        self.graph.nodes.append(Call(record, operands, metadata, cast, results, line))

    def _call_in_place(self, record, target, operands, metadata, cast, r, line) -> None:
        a = target._array
        if r is a:
            value = Value(a.shape, a.dtype, element_strides(a) if operands[0].covers() else None)
        else:
            r = np.asarray(r)
            known = self.memory.find(r) if r.size else None
            if known is not None:
                self.write(operands[0], self.region(target, line), known.ref(r), line)
                return
            value = value_of(r)
        source = value.ref() if r is a else _shown(value, r)
        self.graph.nodes.append(Call(record, operands, metadata, cast, (source,), line))
        self.write(operands[0], self.region(target, line), source, line)

    def _write_in_order(self, name: str, function: Callable, target: Tensor, sources: tuple, cast, line) -> None:
        region = self.region(target, line)
        self._check_write(region, line)
        record = Ordered(name, function, region.ref(target._array), sources, cast)
        result = region.renew().ref()
        self.graph.nodes.append(Call(record, record.operands, record.metadata, None, (result,), line))

    def _result(self, a: np.ndarray | None, line: Any) -> Ref | None:
        if a is None or not a.size:
            return None
        region = self.memory.find(a)
        if region is None:
            region = self.memory.add(a, None, line)
        return region.ref(a)

    def _alias_copy(self, source: Ref, a: np.ndarray, line: Any) -> bool:
        """A copy in the same layout is the same value: what changes later is another value."""
        if not a.size or not source.is_whole() or not same_strides(a.shape, element_strides(a), source.strides):
            return False
        self.memory.add(a, None, line).value = source.value
        return True

    # ------------------------------------------------------------------------------------------ operands

    def _operand(self, t: Any, name: str, line: Any) -> Any:
        if isinstance(t, Tensor):
            return self.ref(t, line, name)
        if self._is_mine(t):
            raise CaptureError(
                f"{describe(line)}: {name}() takes .item() of a tensor computed inside the compiled function; pass the tensor "
                "itself"
            )
        return plain(t)

    def _is_mine(self, number: Any) -> bool:
        """Whether a number was read in this capture."""
        return is_read(number) and number.recorder is self

    def ref(self, t: Tensor, line: Any, what: str = "the call") -> Ref:
        """The window that a tensor is."""
        if not t._array.size:
            return self._empty(t._array)
        return self.region(t, line, what).ref(t._array)

    def region(self, t: Tensor, line: Any, what: str = "the call") -> Region:
        """The memory in which a tensor is."""
        try:
            region = self.memory.find(t._array)
            if region is not None:
                self.existing.note_use(t, region)
                return region
            region = self.existing.region_for(t, self.memory)
        except CaptureError as error:
            raise CaptureError(f"{describe(line)}: {error}") from None
        if region is not None:
            return self._input(region)
        if not t.is_cpu:
            raise CaptureError(f"{describe(line)}: {what} uses a tensor on {t.device}; only the CPU's are compiled")
        raise CaptureError(
            f"{describe(line)}: {what} uses a tensor {list(t._array.shape)} that no traced operator computed (it "
            "comes from a NumPy array, or from an operator that reads its input's values); create it outside the compiled "
            "function and pass it as an argument"
        )

    def _empty(self, a: np.ndarray) -> Ref:
        """An array without elements: a constant."""
        value = Value(a.shape, a.dtype)
        self.graph.constants[value] = a
        return value.ref()

    def constant(self, a: np.ndarray) -> Ref:
        """A new constant."""
        value = Value(a.shape, a.dtype, element_strides(a))
        self.graph.constants[value] = a
        return value.ref()

    # ------------------------------------------------------------------------------------------ writes

    def wrote(self, target: Tensor, a: Any, sources: tuple) -> None:
        """`target` was overwritten with `a`: an array, that of one of `sources` or made from it, or a number."""
        line = self._line()
        self._check_open(line, "a write")
        if not target._array.size:
            return
        onto = self.ref(target, line, "a write")
        if len(sources) == 1 and is_ordered(target, sources):
            self._write_in_order("copy", np.asarray, target, (self.ref(sources[0], line),), None, line)
            return
        if isinstance(a, np.ndarray):
            region = self.memory.find(a) if a.size else None
            if region is not None:
                source = region.ref(a)
            elif len(sources) == 1:
                source = self.ref(sources[0], line, "a write")
            else:
                raise CaptureError(
                    f"{describe(line)}: in-place write of values that no traced operator computed (such as a NumPy array); "
                    "make a tensor of them outside the compiled function and pass it as an argument"
                )
        elif self._is_mine(a):
            raise CaptureError(
                f"{describe(line)}: in-place write of .item() of a tensor computed inside the compiled function; write the "
                "tensor itself"
            )
        else:
            with np.errstate(all="ignore"):
                source = self.constant(np.asarray(plain(a)).astype(target._array.dtype))
        self.write(onto, self.region(target, line), source, line)

    def _check_write(self, region: Region, line: Any) -> None:
        try:
            self.memory.check_write(region)
        except CaptureError as error:
            raise CaptureError(f"{describe(line)}: {error}") from None

    def write(self, target: Ref, region: Region, source: Ref, line: Any) -> None:
        """What `source` shows goes to the window `target` of a region."""
        self._check_write(region, line)
        if _is_same_window(target, source):
            region.value = source.value
            region.writes += 1
            return
        self.graph.nodes.append(Write(target, source, region.renew(), line))

    def unseen(self, t: Tensor, writes: int) -> None:
        """The last writes to `t` count no version."""
        region = self.memory.find(t._array) if t._array.size else None
        if region is not None:
            region.unseen += writes

    def copied(self, copy: Tensor, t: Tensor) -> None:
        """`copy` is a copy of `t` as it is before a write."""
        line = self._line()
        source = self.ref(t, line)
        if not copy._array.size or self._alias_copy(source, copy._array, line):
            return
        result = self._result(copy._array, line)
        self.graph.nodes.append(Call(_clone.record, (source,), ("C",), None, (result,), line))

    def resized(self, t: Tensor) -> None:
        """A tensor's memory was replaced by a longer or shorter one."""
        raise CaptureError(
            f"{describe(self._line())}: resize_() cannot be compiled; do it outside the compiled function"
        )

    # ------------------------------------------------------------------------------------------ new tensors

    def created(self, t: Tensor, defined: bool = True) -> None:
        """A tensor was made from Python's values, the same in each call. Not defined: `empty`."""
        a = t._array
        if not a.size or self.memory.find(a) is not None:
            return
        region = self.memory.add(a, None, self._line())
        value = region.first
        dense = np.lib.stride_tricks.as_strided(a, value.shape, [s * a.itemsize for s in value.strides])
        self.graph.constants[value] = dense.copy(order="K") if defined else np.zeros_like(dense)

    def drew(self, values: Any, name: str, draw: Callable, arguments: tuple) -> None:
        """Random numbers were drawn by `draw(*arguments)`."""
        line = self._line()
        self._check_open(line, name)
        if any(isinstance(v, Tensor) for v in _flat(arguments)):
            raise CaptureError(
                f"{describe(line)}: {name}() with tensor parameters cannot be compiled; draw outside and pass the result"
            )
        arrays = values if isinstance(values, tuple) else (values,)
        results = tuple(self._result(a, line) for a in arrays)
        self.graph.nodes.append(Call(Draw(name, draw), (), arguments, None, results, line))

    def reseeded(self, generator: Any = None, state: Any = None) -> None:
        """A random stream was set to `state`, which the call itself may have taken before (None: restarted)."""
        known = self.memory.find(state) if isinstance(state, np.ndarray) else None
        if known is not None:
            record = Draw("set_state", _set_state, "data")
            self.graph.nodes.append(Call(record, (known.ref(state),), (generator,), None, (), self._line()))
            return
        raise CaptureError(
            f"{describe(self._line())}: the state of a random generator is set inside the compiled function; set it outside"
        )

    def ran(self, graph: Graph, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
        """A program of `graph` ran on these arrays and returned those: its nodes are part of this call's."""
        line = self._line()
        splice = Splice()
        for value, a in zip(graph.inputs, inputs, strict=True):
            region = self.memory.find(a)
            if region is None:
                raise CaptureError(f"{describe(line)}: a compiled function reads memory from outside of the capture")
            splice.place(value, region.ref(a))
        for value, array in graph.constants.items():
            self.graph.constants[splice.value(value)] = array
        self.graph.nodes += map(splice.node, graph.nodes)
        for ref, fresh in graph.outputs:
            self._made(splice.ref(ref), outputs[fresh.index], line)

    def _made(self, ref: Ref, a: np.ndarray, line: Any) -> None:
        """The window `ref` is what a new array shows."""
        region = self.memory.add(a, None, line)
        shown = region.ref(a)
        if ref.covers() and same_strides(a.shape, ref.strides, shown.strides):
            region.value = ref.value
        else:
            self.graph.nodes.append(Call(_clone.record, (ref,), ("C",), None, (shown,), line))

    def demanded(self, holds: Tensor) -> None:
        """The call raises unless all of `holds` is true, which eager calls look at at once."""
        line = self._line()
        ref = self.ref(holds, line)
        if ref.value not in self.graph.constants:
            self.graph.nodes.append(Call(Demand(), (ref,), (), None, (), line))

    # ------------------------------------------------------------------------------------------ values for Python

    def read(self, t: Tensor, how: str) -> Any:
        """A value leaves for Python. Returns the number to give, None for the plain one."""
        line = self._line()
        a = t._array
        ref = self.ref(t, line, how)
        if ref.value in self.graph.constants or ref.value in self.shaped:
            return None
        if how != "numpy()" and how != "item()" and self._may_be_guarded(t, ref):
            self.looked.append((self.region(t, line), ref, a.copy()))
            return None
        if how == "item()" and a.dtype.kind in "fiu":
            return marked(a.item(), Read(ref, type(a.item())), self)
        if how == "float()" and is_last(sys._getframe(2), getattr(self.function, "__code__", None)):
            number = float(a.item())
            self.floats[id(number)] = number, Read(ref, float), line
            self.closed = line
            return number
        if how == "float()":
            raise GraphBreakError(
                f"{describe(line)}: float() of a tensor must be the last operation before a compiled function returns "
                "the number. Move it to the end of the function, or use .item()"
            )
        kind = CaptureError if how == "numpy()" else GraphBreakError  # torch traces NumPy
        raise kind(
            f"{describe(line)}: {how} of a tensor computed inside the compiled function; its value is only known when the "
            "program runs. Use torch.where or a mask instead of a branch, return the tensor and inspect it outside, or use "
            ".item() for a number that is only returned"
        )

    def _may_be_guarded(self, t: Tensor, ref: Ref) -> bool:
        """Whether a tensor's values are few integers that were there before: lengths, which may decide a shape."""
        return ref.value in self.graph.inputs and ref.dtype.kind in "iub" and 0 < t._array.size <= _MOST_LOOKED_AT

    def watch_arrays(self, template: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments, with arrays of NumPy that tell when their values are read."""
        if not any(type(leaf) is np.ndarray for leaf in self.leaves):
            return args, kwargs

        def leaf(i: int) -> Any:
            value = self.leaves[i]
            return watched(value, lambda: self.arrays_read.add(i)) if type(value) is np.ndarray else value

        return rebuild(template, leaf)

    def check_looked(self) -> None:
        """Raise where what Python has seen is written in the same call, or too large to be compared in each call."""
        for i in self.arrays_read:
            if self.leaves[i].nbytes > MOST_BYTES:
                raise CaptureError(
                    f"the function reads the values of argument {i}, a NumPy array of {self.leaves[i].nbytes} bytes, too large to "
                    "guard on. Make a tensor of it (torch.from_numpy), or read it outside the compiled function"
                )
        if any(region.writes for region, _, _ in self.looked):
            raise CaptureError(
                "Python branches on the values of a tensor that the compiled function also writes in place; clone() it "
                "before the call, or branch outside"
            )

    def check_state(self) -> None:
        """Raise where the function depends on something that cannot be checked before a replay.

        Of a first capture, what it read is known only now; as it is now, the second one will find it.
        """
        if self.state is None:
            self.state = PythonState(self.function, self.leaves, self.reads, (*self.classes, *self.modules.values()))
            self.state.note_training({id(m): flag for m, flag in self.training})
        if self.state.unguarded is not None:
            raise CaptureError(self.state.unguarded)

    def check_floats(self, leaves: list) -> None:
        """Raise where the number of a float() is not returned: what else was done with it is not known."""
        returned = set(map(id, leaves))
        for number, _, line in self.floats.values():
            if id(number) not in returned:
                raise CaptureError(
                    f"{describe(line)}: float() of a tensor is used for something other than the function's result, which "
                    "the program would not repeat. Return the number (or the tensor) and use it outside, or use .item()"
                )

    def _check_open(self, line: Any, what: str) -> None:
        if self.closed is not None:
            raise CaptureError(
                f"{describe(self.closed)}: float() of a tensor is followed by {what} ({describe(line)}). "
                "Move the float() to the end of the function, or use .item()"
            )

    # ------------------------------------------------------------------------------------------ modules, optimizers

    def entered(self, module: Any) -> None:
        """A module is called."""
        if id(module) not in self.modules and "training" in module.__dict__:  # else the wrapper of a compiled one
            self.modules[id(module)] = module
            if self.state is not None:
                self.state.enter(module)

    def updating(self, optimizer: Any, group: dict[str, Any]) -> None:
        """An optimizer is about to update a group."""
        if any(scheduler.optimizer is optimizer for _, scheduler, _, _ in self.schedules):
            raise CaptureError(
                f"{describe(self._line())}: optimizer.step() comes after its scheduler's step() in one compiled call; "
                "call the scheduler's step() last"
            )
        self.optimizers[id(optimizer)] = optimizer
        if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
            raise CaptureError(
                f"{describe(self._line())}: the optimizer has step hooks, which the program would not call; call step() "
                "outside the compiled function"
            )
        self.group = group
        self.groups.setdefault(id(group), (group, {**group, "params": group["params"]}))

    def updated(self, update: Callable, apply: Callable, lists: tuple, options: dict[str, Any]) -> None:
        """An optimizer's update ran over lists of tensors: parameters, gradients, state."""
        line = self._line()
        self._check_open(line, "an optimizer's step")
        refs = [None if ts is None else [None if t is None else self.ref(t, line) for t in ts] for ts in lists]
        node = Update(update, apply, refs, {k: self._option(k, v) for k, v in options.items()}, [], line)
        after: list[tuple] = []
        for i, (tensors, row) in enumerate(zip(lists, refs, strict=True)):
            written = None if row is None or i == 1 else [None if r is None else _like(r) for r in row]
            node.results.append(written)
            after += [(t, v) for t, v in zip(tensors or (), written or (), strict=False) if v]
        self.graph.nodes.append(node)
        for t, value in after:  # each into what those before have left: parameters may be parts of one tensor
            self.write(self.ref(t, line), self.region(t, line), value.ref(), line)

    def _option(self, name: str, value: Any) -> Any:
        """An option as it is, or an input where it may change from step to step."""
        if type(value) not in (float, int) or self.group is None:
            return value
        for key, entry in self.group.items():
            position = _position(key, entry, name, value)
            if position is False:
                continue
            option = Option(self.group, key, position)
            if name != "lr" and option.key() not in self.varying:
                continue
            known = self.options.get(option.key())
            if known is None:
                number = Value((), np.float64, (), name)
                self.graph.inputs[number] = option
                known = self.options[option.key()] = number.ref()
            return known
        return value

    def exchanged(self, kind: str, t: Any, step: Any, out: Any = None) -> bool:
        """A collective on `t` is about to be made in place, or into `out`. Returns True: each replay makes it, too."""
        line = self._line()
        self._check_open(line, step.name)
        record_exchange(self, kind, t, step, line, out)
        return True

    def left(self, what: str) -> None:
        """Something is called that is to stay out of compiling."""
        raise CaptureError(f"{describe(self._line())}: {what}; do it outside the compiled function")

    def note_math(self, function: Any) -> None:
        """A function of `math` is called, which takes a number's value without asking it."""
        if any(number() is not None for number in self.handed_out):
            self.used(f"math.{function.__name__}() may use")

    def used(self, what: str) -> None:
        """Python uses a number that was read from a tensor; what: "an f-string uses"."""
        raise GraphBreakError(
            f"{describe(self._line())}: {what} .item() of a tensor computed inside the compiled function; its value is only "
            "known when the program runs. Return the number (or the tensor) and do this outside"
        )

    def _line(self) -> Any:
        return user_line(2)


# ---------------------------------------------------------------------------------------------- small pieces


def _tensor_attributes(modules: list) -> Iterator[tuple[dict[str, Any], str, Tensor]]:
    """(dict, key, tensor) of what modules hold besides their parameters."""
    for m in modules:
        state = m.__dict__
        for scope in (state, state.get("_buffers", {})):
            for key, value in scope.items():
                if isinstance(value, Tensor):
                    yield scope, key, value


def _is_same_window(a: Ref, b: Ref) -> bool:
    """Whether both show all of their values, of one geometry and type."""
    whole = a.is_whole() and b.is_whole() and a.shape == b.shape and a.dtype == b.dtype
    return whole and same_strides(a.shape, a.strides, b.strides)


def _like(ref: Ref) -> Value:
    if ref.covers():
        return Value(ref.shape, ref.dtype, ref.strides)
    return Value(ref.shape, ref.dtype)


def _position(key: str, entry: Any, name: str, value: Any) -> Any:
    """Where an option is found in an entry of a group: None for the entry itself, an index in it, False for nowhere."""
    if key == name:
        return None if entry is value or (type(entry) is type(value) and entry == value) else False
    if isinstance(entry, (tuple, list)) and key != "params":
        return next((i for i, e in enumerate(entry) if e is value), False)
    return False


def _shown(value: Value, a: np.ndarray) -> Ref:
    """The window onto a value made by `value_of(a)` that `a` is."""
    return Ref(value, a.shape, element_strides(a), 0)


def _arrays(record: Op, result: Any, r: Any) -> list:
    """The arrays of a call's results as the kernel gave them, those for backward's use only after them."""
    if isinstance(r, (tuple, list)):
        return [a if isinstance(a, np.ndarray) else None for a in r]
    tensors = [result] if isinstance(result, Tensor) else list(result)
    return [None if t is None else t._array for t in tensors]


def _flat(value: Any) -> list:
    if isinstance(value, (tuple, list)):
        return [v for item in value for v in _flat(item)]
    if isinstance(value, dict):
        return _flat(list(value.values()))
    return [value]


def _check_shape_is_fixed(record: Op, operands: tuple, line: Any) -> None:
    masked = record.name == "index" and any(isinstance(o, Ref) and o.dtype == np.bool_ for o in operands[1:])
    if masked or record.name in _COUNTING:
        raise GraphBreakError(
            f"{describe(line)}: the result shape of {record.name}() depends on its input's values, which cannot be compiled. "
            "Use where() or a product with the mask, or do this outside the compiled function"
        )


_MOST_LOOKED_AT = 4096  # elements
_COUNTING = frozenset(("masked_select", "nonzero", "unique2", "unique_dim", "unique_consecutive", "bincount"))
