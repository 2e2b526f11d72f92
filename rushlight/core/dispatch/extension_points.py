"""Extension points: what a layer calls although a layer above it defines it.

Imports go down only. Where a module has to call something above it, it reads a slot of this file, and the module above
fills the slot when it is loaded:

    compiled = try_compiled.value                    # below: a Slot is None until it is filled
    if compiled is not None and compiled(outline, root, g):
        return []

    try_compiled.register(my_function)               # above; `register(None)` empties it

There is no other way to put something into a module from outside: `tests/core/test_extension_points.py` reads every file
for assignments to names of other modules. The compiler fills its slots in `compile/install.py`. What replaces a kernel is
no extension point but an override (`Op.override`, `FusedLoop.override`).

To read a slot costs one attribute more than to read a global, 2 to 5 ns; a slot that is read in each eager call is kept in a
local variable, tested with `is not None`, and called only then. An observer is declared like any other slot, its type a
Protocol with a method for each event: an event costs one test while the slot is empty.

Below each slot: who reads it and when, who fills it, and what that costs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from ..tensor.node import Node
    from ..tensor.tensor import Tensor

T = TypeVar("T")


class Slot(Generic[T]):
    """A place for one object of type `T`. value: the object, or None."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: T | None = None

    def register(self, value: T | None) -> None:
        """Fill the slot, also where it is full; with None, empty it."""
        self.value = value


class ThreadSlot(threading.local, Generic[T]):
    """A place for one object of type `T` in each thread, empty in a new one. value: this thread's object, or None."""

    value: T | None = None

    def register(self, value: T | None) -> None:
        """Fill this thread's slot, also where it is full; with None, empty it."""
        self.value = value


class Several(Generic[T]):
    """A place for objects of type `T` from several modules. values: all of them, in the order in which they came."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: list[T] = []

    def register(self, *values: T) -> None:
        """Add objects."""
        self.values += values


K = TypeVar("K")


class Table(Generic[K, T]):
    """Places for objects of type `T` by key. value: the dict of those that are filled."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: dict[K, T] = {}

    def register(self, key: K, value: T | None) -> None:
        """Fill a place, also where it is full; with None, empty it."""
        if value is None:
            self.value.pop(key, None)
        else:
            self.value[key] = value

    def held(self, key: K) -> T | None:
        """What is in a place."""
        return self.value.get(key)


# ------------------------------------------------------------------------------------------------- the compiler


class TryCompiled(Protocol):
    """Does a backward pass by a program, or records it to make one. None: nothing was done, the engine has to.

    roots: edges with their gradients. wanted: edges whose gradients are the results (`autograd.grad`); None: all leaves accumulate, and there are none.
    """

    def __call__(
        self, outline: int, roots: list[tuple[Any, Tensor]], wanted: list | None, keep_graph: bool, /
    ) -> list[Tensor] | None: ...


class MakeConvolution(Protocol):
    """The call of a forward convolution of one geometry (`backend/onednn/convolution.py`), None where there is none."""

    def __call__(self, geometry: Any, bias_shape: tuple[int, ...] | None, /) -> Any: ...


try_compiled: Slot[TryCompiled] = Slot()
"""Read by `autograd/repeats.py`: in each backward pass over a tape that was seen twice before, unless a program did it.
Filled by `compile/install.py`, from the start, with a function that loads the compiler and puts its own in place.
Costs: no more than a count per pass until the third pass over a tape; then what recording costs."""

make_convolution: ThreadSlot[MakeConvolution] = ThreadSlot()
"""Read by `backend/onednn/convolution.py`: once for each shape of a convolution that a thread calls eagerly.
Filled by `compile/install.py`, in threads whose backward is compiled.
Costs: nothing in calls of a shape seen before."""

random_blocks: Slot[Callable[[Any, int], np.ndarray]] = Slot()
"""The next blocks of random words of a `RandomState` whose position is a block's end.
Read by `core/random/mersenne.py`: for each draw of more words than are left of the last block of 624.
Filled by `compile/install.py`: with generated code when the first program is made, or after ten million words; until then
with a function there that counts them. Costs: 0.2 us for 624 words."""

random_uniforms: Slot[Callable[[np.ndarray, np.ndarray, float, float], None]] = Slot()
"""Writes a float32 number between two bounds for each word to its second argument.
Read by `core/random/continuous.py`: for each draw of float32 numbers. Filled by `compile/install.py`, as `random_blocks`.
Costs: 1 us a call."""

random_normals: Slot[Callable[[np.ndarray, np.ndarray, float, float], None]] = Slot()
"""The same for normal numbers of a mean and a deviation, in whole blocks of sixteen.
Read by `core/random/continuous.py`: for each draw of at least sixteen, and by `compile/install.py`.
Filled by `compile/install.py`, as `random_blocks`: until then with a function that counts calls, too.
Costs: 1 us a call."""

random_order: Slot[Callable[[np.ndarray, np.ndarray], None]] = Slot()
"""Shuffles its second argument from the front, a word for each swap.
Read by `core/random/integers.py`: in `randperm`, for fewer than 2**32 / 20 elements.
Filled by `compile/install.py`, as `random_blocks`. Costs: 1 us a call."""

random_trials: Slot[Callable[[np.ndarray, np.ndarray, np.ndarray, int], None]] = Slot()
"""Writes to its second argument whether each trial succeeds, as `discrete.decide_by_numpy`.
Read by `core/random/discrete.py`: for each strip of trials (dropout, bernoulli).
Filled by `compile/install.py`, as `random_blocks`. Costs: 2 ns for up to 32760 trials."""

combine_repeated: Slot[Callable[[str, np.ndarray, tuple, np.ndarray], bool]] = Slot()
"""Does `out[where] = how(out[where], values)` for the name of a ufunc, one place after the other. False: nothing was done.
Read by `ops/index/duplicate_index.py`: in each such write by index arrays (scatter_add, index_add, gradients of lookups).
Filled by `compile/install.py`: as `random_blocks`, after four million elements. Costs: 5 us a call."""


class NativeSums(Protocol):
    """Sums in torch's order of C-contiguous float32 and float64; None while NumPy's passes are to be taken."""

    def rows(self, a: np.ndarray, count: int, n: int, /) -> Any:
        """Of `count` rows of n elements; the last one may have fewer. An array of all, or without axes for one."""

    def columns(self, a: np.ndarray, count: int, m: int, n: int, in_blocks: bool, /) -> Any:
        """Of the columns of `count` matrices (m, n); in_blocks: those of full blocks row after row, not by every fourth row."""

    def mean_of_picked(self, x: np.ndarray, target: np.ndarray, /) -> Any:
        """Minus the mean of the element of each row of x (n, c) that `target` (n,) names; None also where it names none."""


native_sums: Slot[NativeSums] = Slot()
"""Read by `ops/reduce/sums.py`: in each sum of such numbers.
Filled by `compile/install.py`: from the start with what counts, then, and when the first program is made, with generated code.
Costs: 2 us a call."""

thread_count: Slot[Callable[[], int]] = Slot()
"""How many threads kernels may use.
Read by `ops/reduce/sums.py`: in sums of 32,768 elements and more. Filled by `backend/onednn/threads.py`.
Costs: 0.2 us a call; the first one loads oneDNN, 4 ms, where nothing has yet."""

copy_elements: Slot[Callable[[np.ndarray, np.ndarray], bool]] = Slot()
"""Writes the elements of the second array into the first one, of the same type and shape. False: nothing was done.
Read by `core/tensor/casting.py`: in copies of 16,384 elements and more. Filled by `compile/install.py`: from the start with a
function that counts, then, and when the first program is made, with generated code. Costs: 8 us a call."""

recurrent_steps: Slot[Callable[..., bool]] = Slot()
"""Takes the steps of a recurrent layer, forward or backward: `(cell, spans, weight, *arrays)`. False: nothing was done.
Read by `ops/recurrent/layers.py`: once a layer. Filled by `compile/install.py`: from the start with a function that counts, then
with generated code. Costs: 10 us a call and 1 to 3 us a step, and the products."""

one_lstm_in_bfloat16: Slot[Callable[[], bool]] = Slot()
"""Whether torch would leave an LSTM in bfloat16 to one operator of oneDNN's on this processor, as it does with AVX-512.
Read by `ops/recurrent/recurrent.py`: once a layer. Filled by `backend/__init__.py`. Costs: nothing measurable."""

select_places: Slot[Callable[[np.ndarray, np.ndarray, int, int, int, int], bool]] = Slot()
"""Does `ops/reduce/selection.py`'s `select`: rows of keys and their places, sorted or selected from as torch does it.
False: nothing was done. Read by `ops/reduce/equal_elements.py`: where there are equal elements, or no order is asked for.
Filled by `compile/install.py`: from the start with Python, as `random_blocks` with generated code, after 200,000 elements.
Costs: 25 ns an element in generated code, 1 us in Python.
"""

# ------------------------------------------------------------------------------------------------- autograd

trace_results: Slot[Callable[[Any], None]] = Slot()
"""Stores the stack of the running call on the nodes of its results.
Read by `core/dispatch/slow_path.py`: after each call in anomaly mode. Filled by `autograd/anomaly.py`.
Costs: nothing outside this mode, where no call takes the slow path for it."""

pack_saved: Slot[Callable[[Any], None]] = Slot()
"""Passes what the nodes of a call's results saved through the innermost saved-tensor hooks.
Read by `core/dispatch/slow_path.py`: after each call within `saved_tensors_hooks`. Filled by `autograd/graph.py`.
Costs: nothing outside, as `trace_results`."""

read_saved: Slot[Callable[[Node, str], Any]] = Slot()
"""The value of a node's attribute `_saved_...` or `_raw_saved_...`; AttributeError for what the node does not keep.
Read by `core/tensor/node.py`: where such an attribute is looked up. Filled by `autograd/saved_values.py`.
Costs: nothing in calls and backward passes."""

list_saved: Slot[Callable[[Node], list[str]]] = Slot()
"""The names of these attributes.
Read by `core/tensor/node.py`: in `dir(node)`. Filled by `autograd/saved_values.py`. Costs: as `read_saved`."""

call_node: Slot[Callable[[Node, tuple], Any]] = Slot()
"""The gradients of a node's inputs for those of its results.
Read by `core/tensor/node.py`: where a program calls a node. Filled by `autograd/engine.py`.
Costs: nothing in calls and backward passes."""

# ------------------------------------------------------------------------------------------------- modules

script_of_module: Slot[Callable[[Any], Any]] = Slot()
"""The script of a `torch.jit.ScriptModule`: a module with its parameters, whose source has graphs.
Read by `torch/jit/scripting.py` and `torch/jit/programs.py`: for `.graph`, `.code`, `.save` and in traces.
Filled by `torch/jit/compiling/modules.py`. Costs: nothing in calls."""

module_class: Slot[type] = Slot()
"""`nn.Module`, of which there can be no instance while the slot is empty.
Read by `core/live_objects.py`, `compile/capture/recorder.py`, `compile/capture/results.py` and
`compile/guards/python_state.py`: while a function is recorded. Filled by `nn/modules/module.py`. Costs: nothing in replays."""

watch_modules: Slot[Callable[[], AbstractContextManager[None]]] = Slot()
"""A context in which every call of a module is told to the thread's listener.
Read by `compile/capture/listening.py`: around each function that is recorded. Filled by `nn/modules/hooks.py`.
Costs: nothing in replays; in eager calls of modules one test of an empty list, which global hooks need anyway."""

function_tables: Several[dict[str, Any]] = Several()
"""Namespaces whose functions modules call, and that programs may replace.
Read by `compile/guards/guards.py`: when a program is made, which watches the tables. Filled by
`nn/functional/__init__.py`. Costs: what the guards of a compiled function cost."""

hook_tables: Several[dict[int, Any]] = Several()
"""The hooks of all modules, and of all optimizers.
Read by `compile/guards/guards.py`: as `function_tables`. Filled by `nn/modules/hooks.py` and `optim/optimizer.py`.
Costs: as `function_tables`."""

# ------------------------------------------------------------------------------------------------- training


class TrainingObserver(Protocol):
    """Who follows the rare events of a training loop. What returns a context surrounds the event: it sees its
    error too."""

    def backward(
        self, roots: Any, grads: Any, inputs: Any, retain: bool, create: bool, /, *, accumulates: bool
    ) -> AbstractContextManager[Any] | None:
        """`backward()` (accumulates) or `grad()` of these roots; grads: theirs, None for ones; inputs: None for all."""
        ...

    def step(self, optimizer: Any, args: tuple, kwargs: dict[str, Any], /) -> AbstractContextManager[Any] | None:
        """A step of an optimizer, hooks included."""
        ...

    def optimizer_made(self, optimizer: Any, /) -> None:
        """An optimizer has its parameters."""
        ...

    def clearing(self, params: Iterable[Tensor], to_none: bool, /) -> None:
        """`zero_grad` is about to clear the gradients of these."""
        ...

    def assigned(self, tensor: Any, value: Any, /) -> None:
        """`tensor.grad = value`, or `del tensor.grad`."""
        ...

    def grad_of_non_leaf(self, tensor: Any, /) -> None:
        """`.grad` of a tensor was read in which none is kept."""
        ...

    def clipping(self, params: list[Tensor], what: str, limit: float, /) -> None:
        """`what` is about to limit the gradients of these."""
        ...

    def scaled(self, scaler: Any, result: Any, /) -> None:
        """`scaler.scale(loss)` gave this."""
        ...

    def unscaling(self, scaler: Any, optimizer: Any, /) -> None:
        """`scaler.unscale_(optimizer)`, by the user or by `scaler.step`."""
        ...

    def scaler_step(self, scaler: Any, optimizer: Any, /) -> AbstractContextManager[Any]:
        """`scaler.step(optimizer)`, which leaves out the optimizer's step after an overflow."""
        ...

    def scaler_updated(self, scaler: Any, /) -> None:
        """`scaler.update()`."""
        ...

    def scheduler_made(self, scheduler: Any, /) -> None:
        """A learning-rate scheduler was made."""
        ...

    def scheduled(self, scheduler: Any, /) -> None:
        """`scheduler.step()`; not the one that its construction makes."""
        ...

    def epoch_begins(self, loader: Any, iterator: Any, /) -> None:
        """An iteration over a DataLoader begins."""
        ...

    def batch(self, iterator: Any, data: Any, /) -> None:
        """A loader's iterator hands out a batch."""
        ...

    def epoch_ends(self, iterator: Any, /) -> None:
        """A loader's iterator is exhausted."""
        ...

    def mode_set(self, module: Any, training: bool, /) -> None:
        """`module.train(...)` or `module.eval()`, also of each module below it."""
        ...

    def attribute_set(self, module: Any, name: str, value: Any, /) -> None:
        """`module.requires_grad = ...`, which does nothing to the parameters."""
        ...

    def acts_by_mode(self, module: Any, /) -> None:
        """The forward of a layer in training mode that would act differently in evaluation (batch norm, recurrent layers with
        dropout); None for a call of a dropout function."""
        ...

    def frozen(self, tensor: Any, /) -> None:
        """`requires_grad_(False)` of a leaf that required grad."""
        ...

    def grad_mode_set(self, mode: bool, /) -> None:
        """`set_grad_enabled(mode)`, called as a function or at the beginning of a `with`."""
        ...

    def refused(self, tensor: Any, error: Exception, /) -> None:
        """An optimizer is about to raise this, since it was given a tensor that is no leaf."""
        ...

    def differentiated(self, results: tuple, /) -> None:
        """What `grad()` returns."""
        ...

    def function_applied(self, function: Any, inputs: tuple, result: Any, /) -> None:
        """A custom `autograd.Function` was called."""
        ...

    def calls_plainly(self) -> bool:
        """Whether compiled functions run as they are written, so that their lines are seen."""
        ...


module_caller: Slot[Callable[[Any, Callable, Any, tuple, dict[str, Any]], Any]] = Slot()
"""`(module, call, hooked, args, kwargs)`: returns what `call(module, hooked, args, kwargs)` does, around which it may look.
Read by `nn/modules/module.py`: at each call of a module, by `doctor/observer.py`, `utils/display/copies.py` and `compile/jit/module_calls.py`.
Filled by `doctor/doctor.py` and `doctor/observer.py`, while a program is watched, by `utils/display/copies.py`, while `summary` runs a model, and by
`compile/jit/module_calls.py`, for some calls once the backward of a loop is a program. Costs: 2 to 5 ns for each call."""

module_programs: Table[int, Callable[[Any, tuple, dict[str, Any]], Any]] = Table()
"""`(module, args, kwargs)` by the identity of a module: what calls it, by a program where it can.
Read by `nn/modules/module.py`: at each call of a module. Filled by `compile/jit/module_calls.py`, for the outermost modules of
loops whose backward is compiled, and by `compile/install.py`, for modules that evaluate. Costs: 20 ns for each call; 50 once
there is one."""

module_evaluated: Slot[Callable[[Any], None]] = Slot()
"""Told of a module that is set to evaluate, whose calls without gradients may be worth a program.
Read by `nn/modules/module.py`: in `eval()`. Filled by `compile/install.py`, from the start. Costs: 1 us for each `eval()`."""

training_observer: Slot[TrainingObserver] = Slot()
"""Read at each of these events, none of which is a call of an operator.
Read by `autograd/backward.py`, `autograd/function.py`, `core/tensor/tensor.py` (`.grad` is set, or read where there is none),
`nn/parameter.py` (gradients are cleared), `nn/utils/clip_grad.py`, `nn/modules/module.py` (modes), `nn/modules/batchnorm.py`,
`nn/modules/rnn.py`, `ops/random/dropout.py`, `core/dispatch/mode.py`, `optim/optimizer.py`, `optim/lr_scheduler/base.py`, `amp/grad_scaler.py`, `utils/data/dataloader.py`,
`utils/data/iterator.py` and `compile/jit/step.py`; by `doctor/doctor.py`, `doctor/observer.py`, `doctor/session.py` and `doctor/hints.py`, since there is one at a time, and by `utils/display/copies.py`.
Filled by `doctor/doctor.py`, `doctor/observer.py`, `doctor/session.py` and `doctor/hints.py`, and set aside by `utils/display/copies.py`, while a program is watched. Costs: 2 to 5 ns for each event.
"""

# torch's numbers of what a profile shows: a call of an operator, a function that consists of others, a block of a program
CALL, FUNCTION, BLOCK = 0, 2, 7


class ProfiledBlock(Protocol):
    """A context around a block that torch's profiler shows under this name."""

    def __call__(self, name: str, scope: int = BLOCK, /) -> AbstractContextManager[Any]: ...


profiled_block: Slot[ProfiledBlock] = Slot()
"""Read by `optim/optimizer.py` (steps, cleared gradients), `utils/data/iterator.py` (batches), `compile/jit/step.py` (replays), `compile/jit/module_calls.py` (which replays nothing meanwhile),
`ops/random/sample.py` (draws), `ops/shape/copying.py` (what is written without a kernel), `distributions/constraints.py`, `nn/utils/rnn.py`, `ops/recurrent/by_operators.py`, `autograd/function.py`, `autograd/__init__.py` (whether one is open) and `autograd/backward.py` (the gradient that it begins with).
Filled by `autograd/profiler.py`, while a profile is open. Costs: 2 to 5 ns for each of them."""

profiled_call: Slot[Callable[[str, Callable, tuple, dict], Any]] = Slot()
"""Calls a composite of this name with arguments, as an event around the operators that it consists of.
Read by `core/dispatch/wrong_arguments.py`: in each call of a composite that has a frame there. Filled by `autograd/profiler.py`,
while a profile is open. Costs: 2 to 5 ns a call."""

profiled_pass: Slot[type] = Slot()
"""A backward pass that is profiled, in the place of the engine's own. No program does a pass while the slot is full.
Read by `autograd/engine.py`: in each backward pass, and by `core/dispatch/inplace.py`: then writes call kernels. Filled by `autograd/profiler.py`, while a profile is open.
Costs: 2 to 5 ns a pass."""

# ------------------------------------------------------------------------------------------------- wrapped tensors

class_dispatch: Slot[ModuleType] = Slot()
"""How the classes of tensors that wrap others are asked by `__torch_dispatch__`.
Read by `core/dispatch/aten/wrapper.py`, where an operator meets such a tensor. Filled by
`core/dispatch/aten/torch_dispatch.py`, which is above it. Costs: nothing in eager calls of other tensors."""

# ------------------------------------------------------------------------------------------------- tracing

tracer_of_programs: Slot[Callable[[], Any]] = Slot()
"""The tracer of `torch.jit.trace` that records this thread's calls, or None. Read by `ops/quantized/recorded.py`, whose
operators are not dispatched, `torch/library.py`, `torch/_checks.py` and `torch/_higher_order_ops/recorders.py`. Filled by
`torch/jit/recording/tracer.py` when it is loaded. Costs: nothing in other operators."""

size_observer: Slot[Callable[[Any, Any], Any]] = Slot()
"""What `t.shape` (with None) or `t.size(dim)` gives instead of numbers; None from it means the numbers.
Read by `core/tensor/tensor.py`: where a shape or a size is read. Filled by `torch/jit/recording/tracer.py`, while `torch.jit.trace`
runs. Costs: 2 to 5 ns for each read."""

# ------------------------------------------------------------------------------------------------- the package

operators_of_levels: Slot[dict[str, Any]] = Slot()
"""The operators of `torch.ops.quantized` by their names. Read by `ops/quantized/__init__.py` (generated code and pickles say
torch.ops.quantized.add), `fx/node.py`, `torch/jit/ir/running.py` and `torch/jit/compiling/quantized_library.py` (programs call them). Filled by `nn/quantization/static/library.py`.
Costs: nothing but where such a name is looked up.
"""
registered_operators: Slot[Callable[[str], Any]] = Slot()
"""The namespace of the operators that programs have registered under a name, or None. Read by `ops/__init__.py`
(`torch.ops.<namespace>`). Filled by `torch/library.py` when it is loaded. Costs: nothing but where such a name is looked up.
"""
namespace: Slot[ModuleType] = Slot()
"""The package itself, which shows the public names of all layers: what programs know as `torch`.
Read by `compile/guards/readings.py` (settings, by the names of their public functions), `fx/graph.py` and `fx/node.py`
(generated code says torch.add), `serialization/full_unpickler.py` (names in pickles are public ones),
`serialization/loading.py` (archives of programs are torch.jit's), `torch/export/decompositions.py` and `torch/export/fx_graph.py` (`torch.ops`), `compile/api.py` (backends, by name), `compile/jit/step.py` (those that the stance sets), `core/tensor/pickling.py` (torch's form of memory in pickles) and `utils/benchmark/timer.py` (timed statements know it as torch). Filled by `rushlight/__init__.py`.
Costs: nothing in eager calls."""

distributed: Slot[ModuleType] = Slot()
"""`rushlight.distributed`: empty as long as the program has not loaded it, and so has made no process group.
Read by `nn/modules/batchnorm.py` (each forward of SyncBatchNorm), `nn/parallel/join.py` (for all of nn/parallel: where an
object is made, and in compiled steps), `utils/data/distributed.py` (where they are made), and by `doctor/doctor.py` and `doctor/observer.py` (each step, while a program is watched). Filled by `distributed/__init__.py`. Costs: nothing in eager calls."""
