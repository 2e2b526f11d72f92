"""`Batched`, a tensor that hides its first dimension, and `Level`, one use of `vmap`, which all that it hides belongs to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.dispatch.mode import thread
from ...core.dispatch.torch_function import disabled_impl
from ...core.random import default_generator
from ...core.tensor.dtype import from_numpy
from ...core.tensor.layout import contiguous_format
from ...core.tensor.placeholder import NoArray, Placeholder
from ...core.tensor.size import shape_from
from ...core.tensor.strides import element_strides
from ...core.tensor.tensor import Tensor
from ...ops.shape.copying import copied_over, filled

if TYPE_CHECKING:
    from ...core.dispatch.op import Op


__all__ = ["Batched", "Level", "active", "bare", "drawing", "drew_in_error_mode", "entered", "hide", "reveal"]

_new = object.__new__


class Level:
    """One use of `vmap`: how many examples there are, and how draws of random numbers treat them.

    number: 1 for the outermost. randomness: "error", "same" or "different". wrote: whether a tensor that may be the
    caller's was written to, after which the function cannot be run again.
    """

    def __init__(self, number: int, size: int, randomness: str = "error"):
        self.number, self.size, self.randomness = number, size, randomness
        self.wrote = False
        self._position = default_generator.position()  # where the stream was after the last draw that a rule made
        self._drew_elsewhere = False
        self._start = default_generator.snapshot() if randomness == "error" else None

    def check_draws(self) -> None:
        """Remember whether random numbers were drawn that no rule shaped."""
        self._drew_elsewhere = self.drew_elsewhere()

    def count_draw(self) -> None:
        """Take what was drawn since `check_draws` for a rule's."""
        self._position = default_generator.position()

    def refuse_draw(self) -> RuntimeError:
        """The error of a draw where `randomness` is "error": the stream is again where it was before the function."""
        if self._start is not None:
            default_generator.restore(self._start)
        return drew_in_error_mode()

    def drew_elsewhere(self) -> bool:
        """Whether random numbers were drawn that no rule shaped, such as those of `randperm(3)`."""
        return self._drew_elsewhere or default_generator.position() != self._position


class _Active(threading.local):
    def __init__(self) -> None:
        self.levels: list[Level] = []


_active = _Active()


def active() -> list[Level]:
    """The uses of `vmap` inside which this thread runs, the outermost first."""
    return _active.levels


@contextmanager
def entered(size: int, randomness: str = "error") -> Iterator[Level]:
    """A new innermost level."""
    level = Level(len(_active.levels) + 1, size, randomness)
    _active.levels.append(level)
    state = thread.state
    outer, state.batching = state.batching, _new_in_batches
    try:
        yield level
    finally:
        _active.levels.remove(level)
        state.batching = outer


def drawing(make: Callable[[], Any]) -> Any:
    """`make()`, whose draws of random numbers are as `randomness` says. Raises RuntimeError where it says "error"."""
    for level in _active.levels:
        if level.randomness == "error":
            raise level.refuse_draw()
    for level in _active.levels:
        level.check_draws()
    result = make()
    for level in _active.levels:
        level.count_draw()
    return result


def _new_in_batches(make: Callable[[tuple], Any]) -> Any:
    """A new tensor of random numbers, `make(leading dimensions)`: with different ones for the examples if so asked."""
    different = [level for level in _active.levels if level.randomness == "different"]
    t = drawing(lambda: make(tuple([level.size for level in different])))
    for level in different:
        t = hide(t, level)
    return t


def drew_in_error_mode() -> RuntimeError:
    """The error of a draw that says nothing of how it treats the examples."""
    return RuntimeError(
        "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
        "randomness flags on vmap or perform the randomness operation out of vmap"
    )


class _Outline(Placeholder):
    """The shape and type of one example."""

    __slots__ = ()
    is_batched = True  # one integer of it is another one in each example: an index as a tensor, and no number

    def __len__(self) -> int:
        return self.shape[0]

    def _error(self) -> NoArray:
        return NoArray("vmap: the elements of a batched tensor were asked for below the operators")


@cache
def _calls() -> ModuleType:
    """How operators are called on batched tensors: a file above this one, as it makes them."""
    from . import calls

    return calls


class Batched(Tensor):
    """A tensor (size, *shape) that appears as one of `shape`. Its history is that of the tensor behind it."""

    __slots__ = ()
    __torch_function__: Any = staticmethod(disabled_impl)
    _inner: Any
    _level: Level

    # ------------------------------------------------------------------------------------------ operators

    def _call_operator(self, record: Op, tensors: tuple, metadata: tuple) -> Any:
        return _calls().call(record, tensors, metadata)

    def _write_operator(self, record: Op, target: Tensor, others: tuple, metadata: tuple) -> Any:
        return _calls().write(record, target, others, metadata)

    def _apply_function(self, run: Callable, own: Callable | None, args: Sequence[Any]) -> Any:
        return _calls().apply(run, own, args)

    def _filled_like(self, name: str, dtype: Any, requires_grad: bool) -> Any:
        return self._like(getattr(ops, name)(self._inner, dtype=dtype, requires_grad=requires_grad))

    def _like(self, inner: Any) -> Any:
        return hide(inner, self._level)

    def _drawn_like(self, make: Callable[[Any], Any]) -> Any:
        if self._level.randomness == "different":
            return self._like(drawing(lambda: make(self._inner)))
        return drawing(lambda: make(self._inner.select(0, 0)))

    # ------------------------------------------------------------------------------------------ history

    @property
    def requires_grad(self) -> bool:
        return self._inner.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Raises RuntimeError: inside of `vmap` only transforms such as `grad` differentiate."""
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of "
            "a function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
            "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
            "transformed instead."
        )

    @property
    def is_leaf(self) -> bool:
        return self._inner.is_leaf

    @property
    def grad_fn(self) -> Any:
        return self._inner.grad_fn

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """Raises RuntimeError: inside of `vmap` only transforms such as `grad` differentiate."""
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )

    def detach(self) -> Any:
        """The tensor without history; it shares memory."""
        return self._like(self._inner.detach())

    @property
    def data(self) -> Any:
        return self._like(self._inner.data)

    @data.setter
    def data(self, value: Any) -> None:
        raise _no_storage()

    # ------------------------------------------------------------------------------------------ writing

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """Overwrite the tensor with the values of `src`, which is broadcast and cast."""
        return (
            self._write_operator(copied_over.record, self, (src,), ()) if isinstance(src, Tensor) else self.fill_(src)
        )

    def fill_(self, value: Any) -> Any:
        """Overwrite every element with `value`, a number or a 0-d tensor."""
        if isinstance(value, Tensor):
            return self._write_operator(filled.record, self, (value,), ())
        self._inner.fill_(value)
        self._level.wrote = True
        return self

    def zero_(self) -> Any:
        """Overwrite every element with zero."""
        return self.fill_(0)

    # ------------------------------------------------------------------------------------------ memory

    def stride(self, dim: int | None = None) -> Any:
        """The steps in memory, in elements, from entry to entry of each dimension of one example."""
        strides = self._inner.stride()[1:]
        return strides if dim is None else strides[dim]

    def storage_offset(self) -> int:
        """Where the memory of the batch begins, in elements."""
        return self._inner.storage_offset()

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements of one example, and the examples, are contiguous in memory."""
        if memory_format not in (None, contiguous_format):
            return False
        plain = np.broadcast_to(np.empty((), np.int8), self._array.shape)
        return self._inner.is_contiguous() or self.stride() == element_strides(np.empty_like(plain, order="C"))

    def contiguous(self, memory_format: Any = None) -> Any:
        """The tensor itself, or a contiguous copy."""
        if memory_format is not None:
            raise NotImplementedError(f"vmap: contiguous(memory_format={memory_format}) is not implemented for a batch")
        return self._like(self._inner.contiguous())

    def data_ptr(self) -> int:
        """Raises RuntimeError: a batched tensor has no memory of its own."""
        raise _no_storage()

    def untyped_storage(self) -> Any:
        """Raises RuntimeError: a batched tensor has no memory of its own."""
        raise _no_storage()

    # ------------------------------------------------------------------------------------------ values

    def item(self) -> Any:
        """Raises RuntimeError: there is one number for each example."""
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
            "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
            "internals, please file a bug report."
        )

    def _one_value(self, how: str) -> Any:
        return self.item()

    __index__ = item  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
            "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
        )

    def numpy(self, *, force: bool = False) -> Any:
        """Raises RuntimeError: a batched tensor has no memory of its own."""
        raise _no_storage()

    def tolist(self) -> Any:
        """Raises RuntimeError: a batched tensor has no memory of its own."""
        raise _no_storage()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise _no_storage()

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        value = "\n".join("    " + line for line in repr(self._inner).split("\n"))
        return f"BatchedTensor(lvl={self._level.number}, bdim=0, value=\n{value}\n)"

    # ------------------------------------------------------------------------------------------ tensors like it

    def new_zeros(self, *size: Any, **options: Any) -> Any:
        """Zeros of the given shape for each example."""
        return self._like(self._inner.new_zeros(self._sizes(size, options), **options))

    def new_ones(self, *size: Any, **options: Any) -> Any:
        """Ones of the given shape for each example."""
        return self._like(self._inner.new_ones(self._sizes(size, options), **options))

    def new_empty(self, *size: Any, **options: Any) -> Any:
        """Undefined values of the given shape for each example."""
        return self._like(self._inner.new_empty(self._sizes(size, options), **options))

    def new_full(self, size: Any, fill_value: Any, **options: Any) -> Any:
        """A number in the given shape for each example."""
        return self._like(self._inner.new_full(self._sizes((size,), {}), fill_value, **options))

    def _sizes(self, args: tuple, options: dict[str, Any]) -> tuple[int, ...]:
        return (self._level.size, *shape_from(args or (options.pop("size"),)))


def _filler(name: str) -> Any:
    def fill(self: Batched, *args: Any, **kwargs: Any) -> Any:
        new = self._drawn_like(lambda t: getattr(t.clone(), name)(*args, **kwargs))
        return self.copy_(new)

    fill.__name__, fill.__doc__ = name, f"`Tensor.{name}` for each example, as the randomness of `vmap` says."
    return fill


for _name in ("normal_", "uniform_", "random_", "bernoulli_", "exponential_", "geometric_", "cauchy_", "log_normal_"):
    setattr(Batched, _name, _filler(_name))


def _no_storage() -> RuntimeError:
    return RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


# ---------------------------------------------------------------------------------------------- hiding and revealing


def hide(inner: Any, level: Level) -> Any:
    """The tensor (size, *) as one of the shape (*) of an example.

    A dimension of an outer level can be hidden below inner ones: what is batched at an inner level stays so.
    """
    if isinstance(inner, Batched) and inner._level.number > level.number:
        return hide(hide(inner._inner.transpose(0, 1), level), inner._level)
    t = _new(Batched)
    array = inner._array
    t._array = _Outline(array.shape[1:], from_numpy(array.dtype).numpy)  # type: ignore[assignment]
    t._edge = t._grad = t._storage = t._view = None
    t._inner, t._level = inner, level
    return t


def reveal(t: Any, level: Level) -> Any:
    """The tensor (size, *) of `t`, with the dimension of `level` in front: repeated where `t` has none."""
    if isinstance(t, Batched):
        if t._level is level:
            return t._inner
        if t._level.number > level.number:
            return hide(reveal(t._inner, level).transpose(0, 1), t._level)
    return t.unsqueeze(0).expand(level.size, *[-1] * t.dim())


def bare(t: Any) -> Any:
    """The tensor under all levels."""
    while isinstance(t, Batched):
        t = t._inner
    return t
