"""Checkpointing: forget what a part of the forward pass saved, and run that part again in backward.

Two forms, as in torch. The *reentrant* one is a `Function` whose backward runs the part again and calls backward on it.
The other one packs what the part saves into empty slots (`saved_tensors_hooks`); the first slot that a backward opens
runs the part again, which fills the slots in the same order.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from typing import Any

from ..core.dispatch.autocast import Remembered
from ..core.dispatch.mode import NothingLeftToSave, enable_grad, is_grad_enabled, no_grad
from ..core.random import continue_from, states
from ..core.tensor.tensor import Tensor
from .backward import backward
from .engine import running
from .function import Function
from .graph import saved_tensors_hooks

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed part did not save what the first one saved."""


def noop_context_fn() -> tuple:
    """Two contexts that do nothing: the default `context_fn`."""
    return nullcontext(), nullcontext()


_UNSPECIFIED = (
    "torch.utils.{}: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling checkpoint "
    "without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve the "
    "current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between "
    "the two variants."
)


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, run again in backward instead of keeping what it saves.

    use_reentrant: which form (see the module's text); the reentrant one takes no keyword arguments for `function` and
    does not work with `autograd.grad`. preserve_rng_state=True: the second run draws the same random numbers.
    context_fn: two contexts, for the first and the second run. determinism_check: "default" compares the shapes and
    types that both runs save, "none" does not. early_stop: end the second run when all is there that backward needs.
    """
    if use_reentrant is None:
        warnings.warn(_UNSPECIFIED.format("checkpoint"), stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if debug if _debug is None else _debug:
        raise NotImplementedError("checkpoint: debug=True, which logs the operators of both runs, is not implemented")
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    first, second = context_fn()
    if not is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    stop = early_stop if _early_stop is None else _early_stop
    part = _Part(function, args, kwargs, second, preserve, determinism_check == "default", stop)
    with saved_tensors_hooks(part.pack, _Slot.unpack), first:
        result = function(*args, **kwargs)
    part.complete = True
    return result


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run `functions` (a Sequential or a list) one after the other, all but the last of `segments` parts checkpointed."""
    if use_reentrant is None:
        warnings.warn(_UNSPECIFIED.format("checkpoint.checkpoint_sequential"), stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    length = len(functions) // segments
    start = 0
    for start in range(length, length * segments, length):
        part = _in_order(functions[start - length : start])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _in_order(functions[start:])(input)


def _in_order(functions: list) -> Callable:
    def run(x: Any) -> Any:
        for f in functions:
            x = f(x)
        return x

    return run


@contextmanager
def _random_state(earlier: Any):
    """Draw random numbers as after `earlier` within the block, and then go on as before it. None changes nothing."""
    if earlier is None:
        yield
        return
    before = states()
    continue_from(earlier)
    try:
        yield
    finally:
        continue_from(before)


# ---------------------------------------------------------------------------------------------- the reentrant form


def _is_checkpoint_valid() -> bool:
    """Whether a reentrant checkpoint may run backward now: not amid `autograd.grad` or `backward(inputs=...)`."""
    return running.task is None or running.task.wanted is None


class CheckpointFunction(Function):
    """The part as one operator whose backward runs the part again."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state = states() if preserve_rng_state else None
        ctx.autocast = Remembered()
        ctx.plain = [None if isinstance(a, Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if not _is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.plain)
        for i, t in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[i] = t
        inputs = detach_variable(tuple(inputs))
        with _random_state(ctx.random_state), enable_grad(), ctx.autocast:
            outputs = ctx.run_function(*inputs)
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[t.grad if isinstance(t, Tensor) else None for t in inputs])


def detach_variable(inputs: tuple) -> tuple:
    """The tensors among `inputs` as leaves of their own that require grad as before; the rest unchanged."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Any) -> None:
    """Warn where no input requires grad: the reentrant form then gives no gradient at all."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


# ---------------------------------------------------------------------------------------------- the other form

_early_stop: bool | None = None
_debug: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool):
    """Whether checkpoints made within the block end their second run early."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None):
    """Override the `debug` argument of the checkpoints made within the block."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


class _Slot:
    """The place of a saved tensor: its value exists only while a backward runs."""

    __slots__ = ("__weakref__", "part", "values")

    def __init__(self, part: _Part):
        self.part = part
        self.values: weakref.WeakKeyDictionary[Any, Tensor] = weakref.WeakKeyDictionary()  # by backward pass

    def unpack(self) -> Tensor:
        task = running.task if running.task is not None else _Outside()
        if task not in self.part.recomputed:
            self.part.run_again(task)
        if task not in self.values:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are "
                "calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with "
                "details on your use case."
            )
        return self.values.pop(task)


class _Outside:
    """Stand-in for the backward pass where a saved tensor is read outside of any."""


class _Part:
    """One checkpointed call: how to run it again, and the slots for what it saves."""

    def __init__(self, function, args, kwargs, context, preserve: bool, check: bool, early_stop: bool):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.context, self.check, self.early_stop = context, check, early_stop
        self.random_state = states() if preserve else None
        self.autocast = Remembered()
        self.slots: list[weakref.ref[_Slot]] = []
        self.kinds: list[dict] = []
        self.recomputed: weakref.WeakSet = weakref.WeakSet()
        self.complete = False

    def pack(self, t: Tensor) -> _Slot:
        slot = _Slot(self)
        self.slots.append(weakref.ref(slot))
        self.kinds.append(_kind(t))
        return slot

    def run_again(self, task: Any) -> None:
        """Run the part and fill the slots for `task`."""
        count = 0

        def fill(t: Tensor) -> Tensor:
            nonlocal count
            if count >= len(self.slots):
                if self.complete:
                    raise CheckpointError(
                        "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                        "forward pass."
                    )
                return t
            slot = self.slots[count]()
            if slot is not None:
                slot.values[task] = t = t.detach() if t.requires_grad else t
            count += 1
            if self.early_stop and count == len(self.slots):
                raise NothingLeftToSave
            return t

        try:
            saved = saved_tensors_hooks(fill, _as_it_is)
            with saved, _random_state(self.random_state), self.autocast, enable_grad(), self.context:
                self.function(*self.args, **self.kwargs)
        except NothingLeftToSave:
            pass
        self.recomputed.add(task)
        self._compare(task, count)

    def _compare(self, task: Any, count: int) -> None:
        if count != len(self.slots):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.slots)}\n"
                f"Number of tensors saved during recomputation: {count}."
            )
        if not self.check:
            return
        different = ""
        for i, (ref, kind) in enumerate(zip(self.slots, self.kinds, strict=True)):
            slot = ref()
            if slot is not None and kind != _kind(slot.values[task]):
                now = _kind(slot.values[task])
                different += f"tensor at position {i}:\nsaved metadata: {kind}\nrecomputed metadata: {now}\n"
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                f"the forward pass.\n{different}."
            )


def _as_it_is(t: Tensor) -> Tensor:
    return t


def _kind(t: Tensor) -> dict:
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}
