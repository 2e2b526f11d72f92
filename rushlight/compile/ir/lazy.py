"""Arrays that are expressions: running a kernel's own NumPy code on them gives the loops that it describes.

`Lazy` answers NumPy's protocols (`__array_ufunc__`, `__array_function__`) and the methods of arrays that kernels use.
Nothing is computed: an elementwise call makes a larger expression, a reduction adds a node to the builder, a view
changes the windows that are loaded. What cannot be expressed raises `Untraceable`, and the operator is then run by its
kernel as it is. So an operator's kernel is its only definition, compiled or not; `rules/` holds what is better said in
other words (a product as a call of a library) or what a kernel hides (an index, a table lookup).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .expression import BOOL, Expr, apply, cast, const, index, load
from .graph import Extern, Loop, Node, Reduce, Ref, Store, Value
from .scalar_ops import BY_UFUNC, LOGICAL, REDUCTIONS, SCALAR_OPS, cost


class Untraceable(Exception):
    """A kernel did what expressions cannot represent."""


class Builder:
    """Where loops are put while calls are expanded. as_eager: see `Graph`."""

    def __init__(self, nodes: list[Node], checks: list[tuple[Value, type[Exception], str]], as_eager: bool = False):
        self.nodes, self.checks, self.as_eager = nodes, checks, as_eager

    def lazy(self, ref: Ref) -> Lazy:
        """A window as an array."""
        return Lazy(self, ref.shape, load(ref))

    def constant(self, value: Any, dtype: Any, shape: tuple[int, ...] = ()) -> Lazy:
        """A number, as an array of `shape`."""
        return Lazy(self, tuple(shape), const(value, dtype))

    def positions(self, shape: tuple[int, ...], axis: int) -> Lazy:
        """Each element's position along an axis, int32: half as many lanes hold int64."""
        return Lazy(self, tuple(shape), cast(index(axis % len(shape)), np.int32))

    def store(self, x: Lazy, dtype: Any = None, strides: tuple[int, ...] | None = None) -> Ref:
        """`x` in memory of its own."""
        value = Value(x.shape, dtype or x.dtype, strides)
        self.nodes.append(Loop(x.shape, [Store(value.ref(), cast(x.expr, value.dtype))]))
        return value.ref()

    def lines(self, x: Lazy, axis: int) -> Ref:
        """A window onto `x` of which the axes before `axis` are one in memory, and those after it; stored if need be."""
        ref = x.ref()
        lines = ref.reshape((prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])))
        return self.store(self.lazy(ref)) if lines is None else ref

    def reduce(self, kind: str, x: Lazy, axes: tuple[int, ...], keepdims: bool = False, dtype: Any = None) -> Lazy:
        """`x`, converted to `dtype`, combined along `axes`."""
        if dtype is not None:
            x = x.astype(dtype)
        kept = tuple(n for i, n in enumerate(x.shape) if i not in axes)
        if not axes:
            return x
        if all(x.shape[i] == 1 for i in axes):
            if kind.startswith("arg"):
                return self.constant(0, np.int64, x.shape if keepdims else kept)
            x = x.astype(BOOL) if kind in ("any", "all") else x
            return x if keepdims else x.reshape(kept)
        if any(cost(e.op) >= _EXPENSIVE for e in x.expr.walk()):
            x.expr = load(self.store(x))  # whoever reads it again need not compute it again
        value = Value(kept, np.int64 if kind.startswith("arg") else BOOL if kind in ("any", "all") else x.dtype)
        self.nodes.append(Reduce(x.shape, axes, kind, x.expr, value))
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape)) if keepdims else kept
        return self.lazy(value.ref().reshape(shape))  # type: ignore[arg-type]

    def check(self, wrong: Lazy, error: type[Exception], text: str) -> None:
        """Have the program stop with an error where any element of `wrong` is true."""
        self.checks.append((self.reduce("any", wrong, tuple(range(wrong.ndim))).ref().value, error, text))

    def undefined(self, shape: tuple[int, ...], dtype: Any) -> Value:
        """Memory of which every element is still to be written."""
        return self.extern("blank", (), (shape, dtype))[0].value

    def extern(self, kind: str, operands: tuple, *shapes: tuple[tuple[int, ...], Any], **options: Any) -> list[Ref]:
        """Add a kernel that is no loop; a ref for each (shape, dtype) of its results."""
        results = tuple(Value(s, d).ref() for s, d in shapes)
        self.nodes.append(Extern(kind, operands, results, **options))
        return list(results)


if TYPE_CHECKING:

    def _unary(self: Lazy) -> Lazy: ...

    def _binary(self: Lazy, other: Any, /) -> Lazy: ...


class Lazy:
    """An array whose elements are an expression over the space of its shape."""

    __slots__ = ("builder", "shape", "expr")
    __array_priority__ = 1000

    def __init__(self, builder: Builder, shape: tuple[int, ...], expr: Expr):
        if expr.dtype.kind == "c":
            raise Untraceable("complex numbers")
        self.builder, self.shape, self.expr = builder, tuple(shape), expr

    if TYPE_CHECKING:  # the operators, which are set below
        __neg__ = __abs__ = __invert__ = _unary
        __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __mul__ = __rmul__ = __imul__ = _binary
        __truediv__ = __rtruediv__ = __itruediv__ = __floordiv__ = __rfloordiv__ = __ifloordiv__ = _binary
        __mod__ = __rmod__ = __imod__ = __pow__ = __rpow__ = __ipow__ = _binary
        __and__ = __rand__ = __iand__ = __or__ = __ror__ = __ior__ = __xor__ = __rxor__ = __ixor__ = _binary
        __lshift__ = __rlshift__ = __ilshift__ = __rshift__ = __rrshift__ = __irshift__ = _binary
        __lt__ = __le__ = __gt__ = __ge__ = _binary
        __eq__: Any
        __ne__: Any

    # -------------------------------------------------------------------------------------- what arrays tell

    @property
    def dtype(self) -> np.dtype:
        return self.expr.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def T(self) -> Lazy:
        return self.transpose()

    @property
    def flags(self) -> type[_Flags]:
        return _Flags

    def view(self, dtype: Any) -> Lazy:
        if np.dtype(dtype) != self.dtype:
            raise Untraceable("a view as another dtype")
        return self

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        raise Untraceable("the kernel branches on a value")

    __float__ = __int__ = __index__ = __iter__ = item = tolist = __bool__  # type: ignore[assignment]

    def ref(self) -> Ref:
        """A window that shows it, stored first where it is computed."""
        return self.expr.data if self.expr.op == "load" else self.builder.store(self)

    # ---------------------------------------------------------------------------------------------- views

    def _viewed(self, shape: tuple[int, ...], window: Callable[[Ref], Ref | None], axis: Callable[[int], Any]) -> Lazy:
        """The expression with every window changed; axis(i) gives the expression of a position along an old axis."""

        def change(e: Expr) -> Expr | None:
            if e.op == "load":
                ref = window(e.data)
                if ref is None:
                    raise _NeedsCopy
                return load(ref)
            return axis(e.data) if e.op == "index" else None

        return Lazy(self.builder, shape, self.expr.rebuild(change))

    def broadcast_to(self, shape: tuple[int, ...]) -> Lazy:
        """Repeated to a shape."""
        shape = tuple(shape)
        if shape == self.shape:
            return self
        skipped = len(shape) - len(self.shape)

        def position(i: int) -> Expr:
            return index(i + skipped) if self.shape[i] == shape[i + skipped] else const(0, np.int64)

        return self._viewed(shape, lambda r: r.broadcast(shape), position)

    def transpose(self, *order: Any) -> Lazy:
        """The axes in another order."""
        axes = order[0] if len(order) == 1 and isinstance(order[0], tuple | list) else order
        axes = tuple(a % self.ndim for a in axes) if axes else tuple(reversed(range(self.ndim)))
        shape = tuple(self.shape[a] for a in axes)
        return self._viewed(shape, lambda r: r.permute(axes), lambda i: index(axes.index(i)))

    def swapaxes(self, a: int, b: int) -> Lazy:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        order[a], order[b] = order[b], order[a]
        return self.transpose(order)

    def reshape(self, *shape: Any, order: str = "C") -> Lazy:
        """The elements in row-major order as another shape."""
        if order != "C":
            raise Untraceable("reshape in an order other than C")
        new = list(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape)
        if -1 in new:
            new[new.index(-1)] = self.size // max(1, -prod(new))
        if tuple(new) == self.shape:
            return self

        def position(_: int) -> Expr:
            raise _NeedsCopy

        try:
            return self._viewed(tuple(new), lambda r: r.reshape(tuple(new)), position)
        except _NeedsCopy:
            self.expr = load(self.builder.store(self))
            return self._viewed(tuple(new), lambda r: r.reshape(tuple(new)), position)

    def ravel(self, order: str = "C") -> Lazy:
        return self.reshape(-1, order=order)

    flatten = ravel

    def squeeze(self, axis: Any = None) -> Lazy:
        axes = range(self.ndim) if axis is None else [a % self.ndim for a in _tuple(axis)]
        return self.reshape(tuple(n for i, n in enumerate(self.shape) if not (i in axes and n == 1)))

    def __getitem__(self, key: Any) -> Lazy:
        steps = _basic(key, self.shape)
        shape = tuple(n for n, *_ in (s for s in steps if s[3] != "drop"))

        def window(ref: Ref) -> Ref:
            strides, offset, axis = [], ref.offset, 0
            for _, start, step, what in steps:
                if what == "new":
                    strides.append(0)
                    continue
                offset += start * ref.strides[axis]
                if what == "keep":
                    strides.append(step * ref.strides[axis])
                axis += 1
            return Ref(ref.value, shape, tuple(strides), offset)

        places: list[Any] = []
        kept = 0
        for _, start, step, what in steps:
            if what != "new":
                places.append((kept if what == "keep" else None, start, step))
            kept += what != "drop"

        def position(i: int) -> Expr:
            axis, start, step = places[i]
            if axis is None:
                return const(start, np.int64)
            return apply("add", apply("mul", index(axis), const(step, np.int64)), const(start, np.int64))

        return self._viewed(shape, window, position)

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is Ellipsis or key == () or (isinstance(key, slice) and key == slice(None)):
            self.assign(_lift(self.builder, value, self.dtype))
            return
        raise Untraceable("an assignment to a slice")

    def assign(self, x: Lazy) -> None:
        """Become the values of `x`, in this array's type."""
        self.expr = cast(x.broadcast_to(self.shape).expr, self.dtype)

    # -------------------------------------------------------------------------------------------- elements

    def astype(self, dtype: Any, *_: Any, copy: bool = True, **__: Any) -> Lazy:
        dtype = np.dtype(dtype)
        if dtype.kind == "u" and dtype.itemsize > 1:
            raise Untraceable(f"a scalar of type {dtype.name}")
        return Lazy(self.builder, self.shape, cast(self.expr, dtype))

    def copy(self, order: str = "C") -> Lazy:
        return Lazy(self.builder, self.shape, self.expr)

    def fill(self, value: Any) -> None:
        self.assign(_lift(self.builder, value, self.dtype))

    def conj(self) -> Lazy:
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if method == "reduce":
            result = _reduce_call(self.builder, ufunc, *inputs, **options)
        elif ufunc is np.vecdot and method == "__call__" and not options:
            result = (inputs[0] * inputs[1]).sum(-1)
        elif method == "__call__" and not set(options) - {"dtype", "casting", "subok"}:
            result = _elementwise(self.builder, ufunc, inputs, options.get("dtype"))
        else:
            raise Untraceable(f"{ufunc.__name__}.{method}")
        return result if out is None else _into(out, result)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        handler = FUNCTIONS.get(function)
        if handler is None:
            raise Untraceable(function.__name__)
        return handler(self.builder, *args, **kwargs)

    if not TYPE_CHECKING:  # NumPy's stubs say that a function of what has it gives an array

        def __array__(self, *_: Any, **__: Any) -> Any:
            raise Untraceable("the kernel reads tensor values")

    # ------------------------------------------------------------------------------------------ reductions

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Lazy:
        return _reduced(np.add, self, axis, dtype, out, keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Lazy:
        return _reduced(np.multiply, self, axis, dtype, out, keepdims)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Lazy:
        return _reduced(np.maximum, self, axis, None, out, keepdims)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Lazy:
        return _reduced(np.minimum, self, axis, None, out, keepdims)

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Lazy:
        return _reduced(np.logical_or, self, axis, None, out, keepdims)

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Lazy:
        return _reduced(np.logical_and, self, axis, None, out, keepdims)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Lazy:
        total = self.sum(axis, dtype, out, keepdims)
        return total / total.dtype.type(self.size // max(1, total.size))

    def clip(self, low: Any = None, high: Any = None) -> Lazy:
        x = self if low is None else maximum(self, low)
        return x if high is None else minimum(x, high)


class _Flags:
    """Always False: kernels then choose the method that is correct for any memory layout."""

    c_contiguous = f_contiguous = contiguous = owndata = False
    writeable = True


class _NeedsCopy(Exception):
    """A view that strides cannot describe."""


# --------------------------------------------------------------------------------------------- operators


def _operator(ufunc: Callable[..., Any], reflected: bool = False) -> Callable:
    if reflected:
        return lambda self, other: ufunc(other, self)
    return lambda self, *other: ufunc(self, *other)


def _reduced(ufunc: np.ufunc, x: Any, axis: Any, dtype: Any, out: Any, keepdims: bool) -> Lazy:
    return ufunc.reduce(x, axis, dtype, out, keepdims=keepdims)


def _augmented(ufunc: Callable[..., Any]) -> Callable:
    def method(self: Lazy, other: Any) -> Lazy:
        self.assign(ufunc(self, other))
        return self

    return method


for _row in SCALAR_OPS.values():
    if _row.python:
        _name = _row.python.rstrip("_")
        setattr(Lazy, f"__{_name}__", _operator(_row.numpy))
        if _row.arity == 2 and not _row.gives_bool:
            setattr(Lazy, f"__r{_name}__", _operator(_row.numpy, reflected=True))
            setattr(Lazy, f"__i{_name}__", _augmented(_row.numpy))


_of_numpy: Any = np  # whose stubs say that such a function takes and gives arrays
where: Callable[[Any, Any, Any], Lazy] = _of_numpy.where
maximum: Callable[[Any, Any], Lazy] = _of_numpy.maximum
minimum: Callable[[Any, Any], Lazy] = _of_numpy.minimum


_EXPENSIVE = 14  # from this cost on an element is computed once and stored, where a reduction reads it


def _elementwise(builder: Builder, ufunc: np.ufunc, inputs: tuple, dtype: Any = None) -> Lazy:
    name = ufunc.__name__
    if name == "positive":
        return inputs[0].copy()
    if ufunc in LOGICAL:
        args = [_lift(builder, x, BOOL) for x in inputs]
        return _applied(builder, LOGICAL[ufunc].name, [a.astype(BOOL) for a in args])
    row = BY_UFUNC.get(ufunc)
    if row is None:
        raise Untraceable(f"np.{name}")
    kinds = ufunc.resolve_dtypes(tuple(map(_kind_of, inputs)) + (None,), signature=(*[None] * ufunc.nin, dtype))
    if any(k.kind in "cOmMSU" for k in kinds):
        raise Untraceable(f"np.{name} of {kinds[0]}")
    args = [_lift(builder, x, k).astype(k) for x, k in zip(inputs, kinds, strict=False)]
    op = row.name
    if args[0].dtype == BOOL:
        if op in ("sub", "neg"):
            raise TypeError(f"numpy boolean {name} is not supported")
        op = row.on_bool or op
    return _applied(builder, op, args).astype(kinds[-1])


def _kind_of(x: Any) -> Any:
    if isinstance(x, bool | np.bool_):
        return BOOL
    if isinstance(x, int | float | complex) and not isinstance(x, np.generic):
        return type(x)
    return x.dtype


def _lift(builder: Builder, x: Any, dtype: Any) -> Lazy:
    """A number or a small constant array as a Lazy; a Lazy itself."""
    if isinstance(x, Lazy):
        return x
    if isinstance(x, np.ndarray) and x.size == 1:
        return builder.constant(x.reshape(-1)[0], x.dtype, x.shape)
    if isinstance(x, np.generic):
        return builder.constant(x, x.dtype)
    if isinstance(x, bool | int | float):
        return builder.constant(x, dtype)
    raise Untraceable(f"an operand of type {type(x).__name__}")


def _applied(builder: Builder, op: str, args: list[Lazy]) -> Lazy:
    shape = np.broadcast_shapes(*(a.shape for a in args))
    return Lazy(builder, shape, apply(op, *(a.broadcast_to(shape).expr for a in args)))


def _into(out: Any, result: Lazy) -> Lazy:
    target = out[0] if isinstance(out, tuple) else out
    if not isinstance(target, Lazy):
        raise Untraceable("out= an array that the kernel allocates")
    target.assign(result)
    return target


def _tuple(x: Any) -> tuple:
    return (x,) if isinstance(x, int | np.integer) else tuple(x)


def _reduce_call(builder, ufunc, x, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True) -> Lazy:
    name = ufunc.__name__
    if ufunc not in REDUCTIONS or where is not True or initial not in (None, np._NoValue):
        raise Untraceable(f"{name}.reduce")
    axes = tuple(range(x.ndim)) if axis is None else tuple(a % x.ndim for a in _tuple(axis))
    kind = REDUCTIONS[ufunc]
    if kind in ("any", "all") and x.dtype != BOOL:
        if name.startswith("bitwise"):
            raise Untraceable(f"{name}.reduce of Python scalars")
        x = x.astype(BOOL)
    if kind in ("sum", "prod") and dtype is None and x.dtype.kind in "biu":
        dtype = np.uint64 if x.dtype.kind == "u" and x.dtype.itemsize == 8 else np.int64
    if kind in ("max", "min") and x.dtype == BOOL:
        kind = "any" if kind == "max" else "all"
    if x.dtype.kind == "f" and x.dtype.itemsize == 2 and kind in ("sum", "prod") or x.dtype.kind in "cV":
        raise Untraceable(f"{name}.reduce of {x.dtype}")
    if kind in ("max", "min") and any(x.shape[a] == 0 for a in axes):
        raise Untraceable("max or min over an empty axis")
    result = builder.reduce(kind, x, axes, bool(keepdims), dtype)
    return result if out is None else _into(out, result)


def _basic(key: Any, shape: tuple[int, ...]) -> list[tuple[int, int, int, str]]:
    """(length, start, step, what) for each entry of a basic index; what: keep, drop or new."""
    keys = key if isinstance(key, tuple) else (key,)
    used = sum(k is not None and k is not Ellipsis for k in keys)
    steps: list[tuple[int, int, int, str]] = []
    axis = 0
    for k in (*keys, *(() if Ellipsis in keys else (Ellipsis,))):
        if k is Ellipsis:
            for _ in range(len(shape) - used):
                steps.append((shape[axis], 0, 1, "keep"))
                axis += 1
        elif k is None:
            steps.append((1, 0, 1, "new"))
        elif isinstance(k, slice):
            start, stop, step = k.indices(shape[axis])
            steps.append((len(range(start, stop, step)), start, step, "keep"))
            axis += 1
        elif isinstance(k, int | np.integer) and not isinstance(k, bool):
            i = operator.index(k)
            steps.append((1, i + shape[axis] if i < 0 else i, 1, "drop"))
            axis += 1
        else:
            raise Untraceable(f"an index of type {type(k).__name__}")
    return steps


# --------------------------------------------------------------------------------------- NumPy's functions


def _where(builder: Builder, condition: Any, x: Any = None, y: Any = None) -> Lazy:
    if x is None or y is None:
        raise Untraceable("where with one argument")
    kinds = [_kind_of(v) for v in (x, y)]
    d = np.result_type(*[k if isinstance(k, np.dtype) else k(0) for k in kinds])
    c = _lift(builder, condition, BOOL).astype(BOOL)
    a, b = (_lift(builder, v, d).astype(d) for v in (x, y))
    shape = np.broadcast_shapes(c.shape, a.shape, b.shape)
    return Lazy(builder, shape, apply("where", *(v.broadcast_to(shape).expr for v in (c, a, b))))


def _filled(value: Any) -> Callable:
    def like(builder: Builder, x: Lazy, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None):
        return builder.constant(value, dtype or x.dtype, x.shape if shape is None else shape)

    return like


def _copyto(builder: Builder, out: Any, x: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(out, Lazy) or where is not True:
        raise Untraceable("copyto")
    out.assign(_lift(builder, x, out.dtype))


def _method(name: str) -> Callable:
    def call(_: Builder, x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, Lazy):
            raise Untraceable(name)
        return getattr(x, name)(*args, **kwargs)

    return call


FUNCTIONS: dict[Any, Callable] = {
    np.where: _where,
    np.zeros_like: _filled(0),
    np.ones_like: _filled(1),
    np.empty_like: _filled(0),
    np.full_like: lambda b, x, value, dtype=None, **_: b.constant(value, dtype or x.dtype, x.shape),
    np.copyto: _copyto,
    np.broadcast_to: lambda b, x, shape, subok=False: x.broadcast_to(shape if isinstance(shape, tuple) else (shape,)),
    np.expand_dims: lambda b, x, axis: x.reshape(_expanded(x.shape, axis)),
    np.moveaxis: lambda b, x, source, to: x.transpose(_moved(x.ndim, source, to)),
    np.ndim: lambda b, x: x.ndim,
    np.shape: lambda b, x: x.shape,
    np.round: lambda b, x, decimals=0, out=None: np.rint(x) if decimals == 0 and out is None else _refuse("round"),
    np.clip: lambda b, x, low=None, high=None: x.clip(low, high),
    np.amax: _method("max"),
    np.amin: _method("min"),
    **{
        getattr(np, n): _method(n)
        for n in ("sum", "prod", "max", "min", "any", "all", "mean", "transpose", "reshape", "squeeze", "swapaxes")
    },
    np.ravel: _method("ravel"),
    np.copy: _method("copy"),
}


def _refuse(name: str) -> Any:
    raise Untraceable(name)


def _expanded(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    ndim = len(shape) + len(_tuple(axis))
    axes = {a % ndim for a in _tuple(axis)}
    rest = iter(shape)
    return tuple(1 if i in axes else next(rest) for i in range(ndim))


def _moved(ndim: int, source: Any, to: Any) -> tuple[int, ...]:
    pairs = sorted((t % ndim, s % ndim) for s, t in zip(_tuple(source), _tuple(to), strict=True))
    order = [i for i in range(ndim) if i not in {s for _, s in pairs}]
    for t, s in pairs:
        order.insert(t, s)
    return tuple(order)


__all__ = ["Builder", "Lazy", "Untraceable"]
