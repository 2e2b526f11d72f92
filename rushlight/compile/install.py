"""What the compiler puts into eager code: the only place that fills its extension points.

`install` runs with `import rushlight` and loads nothing: what it installs loads the compiler when it is first called.
`install_native` runs when a program is made, or after many draws or writes to repeated places, `install_in_thread` and
`prefer_programs` when a thread has its first compiled backward.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from ..core.determinism import mode
from ..core.dispatch import extension_points
from ..core.dispatch.mode import thread
from ..core.dispatch.op import JIT_CANDIDATES
from ..core.garbage import collection_paused
from ..core.jit_switch import jit
from ..core.locks import made_once
from ..core.random.continuous import normals_by_numpy
from ..core.random.mersenne import WORDS, blocks_by_numpy
from ..core.tensor.placeholder import Placeholder
from ..core.tensor.tensor import Tensor
from ..ops.nn.softmax import _log_softmax, _softmax
from ..ops.pointwise.building_blocks import LEAST_COUNTED
from ..ops.pointwise.fused_loops import FUSED_LOOPS
from ..ops.reduce import selection
from ..ops.reduce.sums import LANES
from ..ops.spatial.adaptive_pool import _adaptive_avg_2d
from ..ops.spatial.avg_pool import avg_pool_2d
from ..ops.spatial.interpolate import upsample_backward, upsample_bilinear2d
from ..ops.spatial.pool import max_pool_2d, max_pool_values
from .runtime import heap

if TYPE_CHECKING:
    from ..core.dispatch.op import Op
    from ..ops.pointwise.fused_loops import FusedLoop

_blocks_left = 10_000_000 // WORDS
_summed_left = 40_000_000
_OF_CALL = 1_600  # elements that a sum of few counts for: native code saves as much time in 25,000 of them
_elements_left = 4_000_000
_copied_left = 40_000_000
_selected_left = 200_000
_SELECTED_IN_PYTHON = 1 << 15  # elements of one call: 50 ms
_POOLS = {"maxima": max_pool_2d, "largest": max_pool_values, "means": avg_pool_2d, "even_means": _adaptive_avg_2d}
_SUMS = {"sum", "sum.dim", "mean", "mean.dim"}
_RESAMPLED = {"upsampled": upsample_bilinear2d, "spread": upsample_backward}
_PIXEL = 8  # elements that one of an image to be resampled counts for
_SOFTMAXES = {False: _softmax, True: _log_softmax}  # by whether it is the logarithm
_STEP = 3000  # elements that one step of a recurrent layer counts for
_WINDOWED = 4  # a pool's kernel takes an element as long as others take so many


class _Work(threading.local):
    """Of each thread: elements that kernels of many calls have left to work on before programs may take their place, and
    whether freed memory is kept: the pages of a result of 4 MB take the system as long to clear as its kernel takes.
    """

    left = 20_000_000
    keeps_freed = False


_work = _Work()

__all__ = ["install", "install_in_thread", "install_native", "prefer_programs"]


def install() -> None:
    """Let tapes that come again, and large elementwise work, reach the compiler; keep some freed memory."""
    heap.keep_some()
    extension_points.try_compiled.register(_first_tape)
    extension_points.random_blocks.register(_first_blocks)
    extension_points.random_normals.register(_first_normals)
    extension_points.combine_repeated.register(_first_combine)
    extension_points.module_evaluated.register(_evaluated)
    extension_points.select_places.register(_select)
    extension_points.recurrent_steps.register(_steps)
    extension_points.native_sums.register(_FirstSums)
    extension_points.copy_elements.register(_first_copy)
    for loop in FUSED_LOOPS.values():
        loop.override(partial(_first_loop, loop))
    for record in JIT_CANDIDATES:
        record.override_large(partial(_run_sum if record.name in _SUMS else _run_large, record))
    for name, operator in _POOLS.items():
        operator.record.replace(partial(_first_pool, name, operator.record.kernel))
    for name, operator in _RESAMPLED.items():
        operator.record.replace(partial(_resampled, name, operator.record.kernel))
    for is_log, operator in _SOFTMAXES.items():
        operator.record.replace(partial(_rows, is_log, operator.record.kernel))


def install_native() -> tuple[Callable[[Any, int], Any], Callable[..., bool]]:
    """Let generated code draw random numbers, decide trials, write to repeated places, and pool images; keep freed memory.

    Returns what makes the words, and what does such writes.
    """
    from .lower.eager import combine, copies, draws, trials, twister, windows

    heap.keep_freed()

    extension_points.random_blocks.register(twister.words)
    if draws.available():
        extension_points.random_order.register(draws.shuffle)
        extension_points.random_uniforms.register(draws.uniforms)
        extension_points.random_normals.register(draws.normals)
    else:
        extension_points.random_normals.register(normals_by_numpy)
    extension_points.random_trials.register(trials.decide)
    extension_points.combine_repeated.register(combine.combine if combine.available() else None)
    extension_points.native_sums.register(_native_sums())
    extension_points.copy_elements.register(copies.copy if copies.available() else None)
    for name, operator in _POOLS.items():
        kernel = operator.record.kernel
        if getattr(kernel, "func", None) is _first_pool:
            operator.record.replace(partial(_pool, getattr(windows, name), kernel.args[1]))
    return twister.words, combine.combine


def install_in_thread(make_convolution: extension_points.MakeConvolution) -> None:
    """Let this thread's eager convolutions be made by generated code where it serves them. Those made already stay."""
    extension_points.make_convolution.register(make_convolution)


class _Evaluated:
    """Takes the place in `module_programs` of a module that evaluates, and counts its calls until a program of them may pay."""

    def __init__(self, module: Any):
        key, programs = id(module), extension_points.module_programs
        self.gone = weakref.ref(module, lambda _: programs.held(key) is self and programs.register(key, None))
        self.left: int | None = None
        self.thread = threading.get_ident()

    def __call__(self, module: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if module.training or threading.get_ident() != self.thread:
            return module._call_impl(*args, **kwargs)
        if self.left is None:
            self.left = _calls_to_wait(module, (*args, *kwargs.values()))
        self.left -= 1
        if self.left >= 0 or not jit.on:
            return module._call_impl(*args, **kwargs)
        from .jit import module_calls

        extension_points.module_programs.register(id(module), None)
        calls = module_calls.note(module)
        return module._call_impl(*args, **kwargs) if calls is None else calls(module, args, kwargs)


def _calls_to_wait(module: Any, arguments: tuple) -> int:
    """The calls that take, by their operators, twice as long as making a program of them.

    The results of modules are taken to be as large as the arguments, at 0.25 ns an element: seen are 0.4 to 4.
    """
    nodes = 2 * sum(1 for _ in module.modules())
    elements = sum(prod(a.shape) for a in arguments if isinstance(a, Tensor))
    arrays = [p._array for p in module.parameters()]
    kept_bytes = sum(a.nbytes for a in arrays if not isinstance(a, Placeholder))  # lazy ones have no memory yet
    make_ms = 100 + 5 * nodes
    return int(2 * make_ms / (0.01 * nodes + 1e-6 * kept_bytes + 0.25e-6 * elements * nodes / 2))


def may_have_programs() -> bool:
    """Whether calls of modules may become programs in this thread: in the main one of a process that was not forked.

    What is captured depends on what other threads do meanwhile, and a thread's digits must not.
    """
    return threading.current_thread() is threading.main_thread() and os.getpid() == _PROCESS


_PROCESS = os.getpid()


def _evaluated(module: Any) -> None:
    """Count the calls of a module with others in it, unless it is counted already."""
    programs, key = extension_points.module_programs, id(module)
    if jit.on and may_have_programs() and programs.held(key) is None and any(module._modules.values()):
        programs.register(key, _Evaluated(module))


def _first_tape(*tape: Any) -> Any:
    with collection_paused():  # two collections would take a sixth of the time
        from .jit.backward import try_compiled

    extension_points.try_compiled.register(try_compiled)
    return try_compiled(*tape)


def _first_blocks(stream: Any, blocks: int) -> Any:
    """NumPy's words, counted: after as many as take it longer to turn into normal numbers than loading LLVM takes."""
    global _blocks_left
    _blocks_left -= blocks
    if _blocks_left < 0 and jit.on:
        return install_native()[0](stream, blocks)
    return blocks_by_numpy(stream, blocks)


def _first_normals(words: Any, out: Any, mean: float, std: float) -> None:
    """NumPy's normal numbers, counted: a thousand calls, for few of them, take as long as loading LLVM."""
    global _blocks_left
    _blocks_left -= 16
    if _blocks_left >= 0 or not jit.on:
        normals_by_numpy(words, out, mean, std)
        return
    install_native()
    normals = extension_points.random_normals.value
    assert normals is not None
    normals(words, out, mean, std)


def _first_combine(how: str, out: Any, where: tuple, values: Any) -> bool:
    """Nothing, but counted: four million elements take NumPy as long as loading LLVM takes."""
    global _elements_left
    _elements_left -= values.size
    return _elements_left < 0 and jit.on and install_native()[1](how, out, where, values)


def _first_copy(out: ndarray, a: ndarray) -> bool:
    """Nothing, but counted: 40 million elements in another order take NumPy as long as loading LLVM takes."""
    global _copied_left
    if not a.flags.c_contiguous:
        _copied_left -= a.size
    if _copied_left >= 0 or not jit.on:
        return False
    return _eager_code().copies.available() and _eager_code().copies.copy(out, a)


def _native_sums() -> Any:
    of_eager = _eager_modules().eager_sums
    return of_eager if of_eager.available() else None


class _FirstSums:
    """Makes no sums, but counts them: LLVM is loaded in the time that NumPy's passes over 40 million elements take longer."""

    @staticmethod
    def rows(a: ndarray, count: int, n: int) -> Any:
        native = _FirstSums._next(a.size)
        return None if native is None else native.rows(a, count, n)

    @staticmethod
    def columns(a: ndarray, count: int, m: int, n: int, in_blocks: bool) -> Any:
        native = _FirstSums._next(a.size)
        return None if native is None else native.columns(a, count, m, n, in_blocks)

    @staticmethod
    def mean_of_picked(x: ndarray, target: ndarray) -> Any:
        native = _FirstSums._next(0)
        return None if native is None else native.mean_of_picked(x, target)

    @staticmethod
    def _next(size: int) -> extension_points.NativeSums | None:
        """What sums from now on; None while that is NumPy."""
        global _summed_left
        _summed_left -= max(size, _OF_CALL)
        if _summed_left >= 0 or not jit.on:
            return None
        install_native()
        return _native_sums()


def _select(keys: Any, places: Any, rows: int, n: int, k: int, how: int) -> bool:
    """By Python, counted: 200,000 elements take it as long as loading LLVM takes. Then by generated code."""
    global _selected_left
    _selected_left -= keys.size
    if jit.on and (_selected_left < 0 or keys.size > _SELECTED_IN_PYTHON) and _eager_code().selection.available():
        _eager_code().selection.select(keys, places, rows, n, k, how)
        return True
    if keys.size > _SELECTED_IN_PYTHON:
        return False
    elements, found = keys.ravel().tolist(), places.ravel().tolist()
    selection.select(elements, found, rows, n, k, how)
    places[...] = np.reshape(found, places.shape)
    return True


def _first_pool(name: str, kernel: Callable, x: ndarray, *options: Any) -> Any:
    """By the kernel, counted as in `_run_large`."""
    _work.left -= x.size * _WINDOWED
    if _work.left <= 0 and jit.on:
        install_native()
        return _POOLS[name].record.kernel(x, *options)
    return kernel(x, *options)


def _pool(serve: Callable, kernel: Callable, x: ndarray, *options: Any) -> Any:
    """By generated code, where there is some for such windows of an array; at a placeholder the kernel itself stops."""
    result = serve(x, *options) if isinstance(x, ndarray) else None
    return kernel(x, *options) if result is None else result


def _resampled(name: str, kernel: Callable, x: Any, size: Any, *options: Any) -> Any:
    """By generated code, once programs may take the place of this thread's kernels; counted until then."""
    if type(x) is ndarray and not mode.on:
        if _work.left > 0 or not jit.on:
            _work.left -= x.size * _PIXEL
        elif (found := getattr(_eager_code().bilinear, name)(x, size, *options)) is not None:
            return found
    return kernel(x, size, *options)


def _rows(is_log: bool, kernel: Callable, x: Any, dim: int, dtype: Any) -> Any:
    """The softmax of few rows by generated code, once programs may take the place of this thread's kernels; counted until then."""
    if dtype is None and type(x) is ndarray and x.ndim and (dim == -1 or dim == x.ndim - 1):
        if _work.left > 0 or not jit.on:
            _work.left -= LEAST_COUNTED
        elif not mode.on and (found := _eager_code().rows.softmax(x, is_log)) is not None:
            return found
    return kernel(x, dim, dtype)


def _steps(cell: str, spans: Any, weight: ndarray, *arrays: ndarray | None) -> bool:
    """The steps of a recurrent layer by generated code, once programs may take the place of this thread's kernels. Counted until
    then: a step starts a dozen passes, which take as long as 3,000 elements.
    """
    if _work.left > 0 or not jit.on:
        _work.left -= _STEP * len(spans) + (0 if arrays[0] is None else arrays[0].size)
        return False
    if mode.on or (mode.shared and not thread.state.grad and not cell.endswith(".backward")):
        return False
    return _eager_code().recurrent.run(cell, spans, weight, *arrays)


def _run_large(record: Op, *arguments: Any, **keywords: Any) -> Any:
    """By the kernel, counted: 20 million elements take NumPy twice as long as loading LLVM takes. Then by a program.

    Those of an operator that waits longer for a program count for less, and the other way round.
    """
    if _work.left > 0 or not jit.on:
        result = record.compute(arguments, keywords)
        size = max([a.size for a in (*arguments, result) if type(a) is ndarray])
        if not _work.keeps_freed and size > LEAST_COUNTED:
            _work.keeps_freed = True
            heap.keep_freed()
        _work.left -= max(LEAST_COUNTED, size) * 10_000_000 // record.jit_warmup
        return result
    return _eager_code().run(record, arguments, keywords)


def _run_sum(record: Op, *arguments: Any, **keywords: Any) -> Any:
    """By the kernel where it sums in torch's order, which a program would not, and as fast."""
    a = arguments[0]
    if a.dtype in LANES and a.flags.c_contiguous:
        return record.kernel(*arguments, **keywords)
    return _run_large(record, *arguments, **keywords)


@made_once
def _eager_code() -> Any:
    """LLVM is loaded with it: what else waits until that pays has it from now on, too."""
    install_native()
    return _eager_modules()


@made_once
def _eager_modules() -> Any:
    """An import in each call would take a microsecond of it."""
    from .jit import eager

    return eager


def prefer_programs() -> None:
    """Let this thread's calls of such kernels be programs from now on, once they have come with the same shapes often enough."""
    _work.left = 0


def _first_loop(loop: FusedLoop, *arguments: Any, out: Any = None) -> Any:
    from .jit import loops

    loops.install()
    return loop.kernel(*arguments, out=out)
