"""What a captured step is: memory that is written once, windows onto it, and what computes it, in order.

A **value** is a dense piece of memory with one type that exactly one node writes. A **ref** is a strided window onto a
value, so that views cost nothing. An in-place write makes a new value; where it goes (on top of the old one, if
nothing reads that any more) is decided when memory is planned, not before.

A graph starts as a list of `Call`, one for each operator that ran, and `Write`, one for each in-place write. Expanding
turns them into `Loop`, `Reduce` and `Extern`, fusing gathers loops in `Nest`; a `Call` that no rule lowers stays and is run by its reference kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...core.dispatch.slow_path import operand_type
from .expression import Expr

_number = count().__next__


class HasKernel(Protocol):
    """What a call is of: an operator, or a step of the recorder's own, such as a draw or a test of values."""

    name: str
    kind: str
    kernel: Callable[..., Any]
    reference: Callable[..., Any]
    view: bool
    draws: str

    def invoke(self, f: Callable, arrays: Sequence, metadata: tuple) -> Any: ...


class Value:
    """Memory that one node writes: `shape`, `strides` (in elements, dense: some order of the axes without gaps), `dtype`."""

    __slots__ = ("id", "shape", "strides", "dtype", "name")

    def __init__(self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None, name: str = ""):
        self.id = _number()
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.strides = row_major(self.shape) if strides is None else tuple(strides)
        self.name = name

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def ref(self) -> Ref:
        """The window onto all of it."""
        return Ref(self, self.shape, self.strides, 0)

    def __repr__(self) -> str:
        return f"%{self.id}{':' + self.name if self.name else ''} {self.dtype}{list(self.shape)}"


class Ref(NamedTuple):
    """A strided window onto a value; strides and offset count elements. Stride 0 broadcasts."""

    value: Value
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @property
    def dtype(self) -> np.dtype:
        return self.value.dtype

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def is_whole(self) -> bool:
        """Whether it shows exactly its value: same shape and strides (axes of length 1 aside)."""
        v = self.value
        return self.offset == 0 and self.shape == v.shape and same_strides(self.shape, self.strides, v.strides)

    def is_row_major(self) -> bool:
        """Whether its elements are contiguous in row-major order."""
        return same_strides(self.shape, self.strides, row_major(self.shape))

    def covers(self) -> bool:
        """Whether every element of the value is shown exactly once, in whatever order."""
        return self.offset == 0 and self.size == self.value.size and is_dense(self.shape, self.strides)

    def broadcast(self, shape: tuple[int, ...]) -> Ref:
        """The window repeated to `shape` (NumPy's rules)."""
        skipped = len(shape) - len(self.shape)
        strides = [0] * skipped
        for n, s, m in zip(self.shape, self.strides, shape[skipped:], strict=True):
            if n != m and n != 1:
                raise ValueError(f"cannot broadcast {self.shape} to {shape}")
            strides.append(s if n == m else 0)
        return Ref(self.value, tuple(shape), tuple(strides), self.offset)

    def permute(self, order: tuple[int, ...]) -> Ref:
        """The window with its axes in another order."""
        return Ref(self.value, tuple(self.shape[i] for i in order), tuple(self.strides[i] for i in order), self.offset)

    def reshape(self, shape: tuple[int, ...]) -> Ref | None:
        """The same elements in row-major order as another shape, or None where that needs a copy."""
        strides = reshaped_strides(self.shape, self.strides, tuple(shape))
        return None if strides is None else Ref(self.value, tuple(shape), strides, self.offset)

    def extent(self) -> tuple[int, int]:
        """First and last element of the value that it touches."""
        low = high = self.offset
        for n, s in zip(self.shape, self.strides, strict=True):
            if not n:
                return self.offset, self.offset
            if s > 0:
                high += (n - 1) * s
            else:
                low += (n - 1) * s
        return low, high

    def __repr__(self) -> str:
        if self.is_whole():
            return f"%{self.value.id}"
        return f"%{self.value.id}[{self.shape}, strides {self.strides}, offset {self.offset}]"


# ------------------------------------------------------------------------------------------------------ nodes


class Call:
    """One operator as it was called.

    operands: refs, numbers (of a promoting operator) or None, in the kernel's order; metadata: its other arguments in
    the signature's order; cast: the type that operands are brought to, or None; results: a ref for each array that the
    kernel returns, onto a new value, or onto an operand's where it returned a view of that. line: the user's line.
    """

    __slots__ = ("record", "operands", "metadata", "cast", "results", "line")

    def __init__(
        self, record: HasKernel, operands: tuple, metadata: tuple, cast: Any, results: tuple, line: Any = None
    ):
        self.record, self.operands, self.metadata = record, operands, metadata
        self.cast, self.results, self.line = cast, results, line

    def types(self) -> list:
        """The type that each operand is brought to, or None."""
        if self.cast is None:
            return [None] * len(self.operands)
        dims = [o.ndim if isinstance(o, Ref) else None for o in self.operands]
        return [operand_type(self.record, i, n, self.cast) for i, n in enumerate(dims)]  # type: ignore[arg-type]

    def kernel(self) -> Callable:
        """The kernel for the operands' type."""
        is_complex = self.cast is not None and self.cast.is_complex
        special = getattr(self.record, "of_complex", None) if is_complex else None
        return special or self.record.kernel

    def reads(self) -> Iterator[Ref]:
        return (o for o in self.operands if isinstance(o, Ref))

    def writes(self) -> Iterator[Value]:
        known = {o.value for o in self.reads()}
        return (v for v in dict.fromkeys(r.value for r in self.results if r is not None) if v not in known)

    def __repr__(self) -> str:
        results = ", ".join(map(repr, self.results))
        operands = ", ".join(map(repr, (*self.operands, *self.metadata)))
        return f"{results} = {self.record.name}({operands})"


class Write:
    """An in-place write: `result` is `target.value` with the part that `target` shows replaced by `source`.

    `source` is broadcast and cast. `target.value` keeps its old content.
    """

    __slots__ = ("target", "source", "result", "line")

    def __init__(self, target: Ref, source: Ref, result: Value, line: Any = None):
        self.target, self.source, self.result, self.line = target, source, result, line

    def reads(self) -> Iterator[Ref]:
        yield self.source
        if not self.target.covers():
            yield self.target.value.ref()

    def writes(self) -> Iterator[Value]:
        yield self.result

    def __repr__(self) -> str:
        return f"%{self.result.id} = {self.target!r} := {self.source!r}"


class Update:
    """One call of an optimizer's update over lists of tensors (`optim/dense.py`).

    update: the algorithm's function; apply: what runs it over lists of arrays, `apply(update, lists, options)`.
    lists: for each of its parameters a list of refs (or None for an absent entry), or None: parameters, gradients, state.
    options: its keyword arguments, numbers or, for one that changes from step to step, a ref onto a 0-d float64.
    results: the new values, in the places of what `lists` holds; all lists are written but the second, the gradients.
    as_eager: to the bits of eager steps, in place of the quickest way.
    """

    __slots__ = ("update", "apply", "lists", "options", "results", "line", "as_eager")

    def __init__(
        self,
        update: Any,
        apply: Any,
        lists: list,
        options: dict[str, Any],
        results: list,
        line: Any = None,
        as_eager: bool = False,
    ):
        self.update, self.apply, self.lists = update, apply, lists
        self.options, self.results, self.line, self.as_eager = options, results, line, as_eager

    def reads(self) -> Iterator[Ref]:
        yield from (r for refs in self.lists for r in refs or () if r is not None)
        yield from (o for o in self.options.values() if isinstance(o, Ref))

    def writes(self) -> Iterator[Value]:
        return (v for values in self.results for v in values or () if v is not None)

    def __repr__(self) -> str:
        lists = ", ".join(map(repr, self.lists))
        options = "".join(f", {k}={v!r}" for k, v in self.options.items())
        return f"{self.results!r} = update {self.update.__qualname__}({lists}{options})"


class Store(NamedTuple):
    """What a loop writes: `expr` into the window `ref` of a new value.

    onto: the value whose content the rest of the new value has (None: `ref` covers it).
    """

    ref: Ref
    expr: Expr
    onto: Value | None = None


class Loop:
    """For every point of `space`, evaluate and store. All windows that its expressions load have the shape `space`.

    Points are independent: no store is seen by a load, whose values are older. A store may continue the value of one
    before it in the list.
    """

    __slots__ = ("space", "stores")

    def __init__(self, space: tuple[int, ...], stores: list[Store]):
        self.space, self.stores = tuple(space), stores

    def reads(self) -> Iterator[Ref]:
        made: set[Value] = set()
        for s in self.stores:
            yield from s.expr.loads()
            if s.onto is not None and s.onto not in made:
                yield s.onto.ref()
            made.add(s.ref.value)

    def writes(self) -> Iterator[Value]:
        return (s.ref.value for s in self.stores)

    def __repr__(self) -> str:
        return f"loop {list(self.space)}: " + "; ".join(f"{s.ref!r} = {s.expr!r}" for s in self.stores)


class Reduce:
    """`expr` over `space`, combined along `axes` by `kind`: sum, prod, max, min, any, all, argmax or argmin.

    result: a value whose shape is `space` without `axes`. max and min propagate nan; arg... give the first position in
    row-major order of the reduced axes (int64). strides: those of the result along the kept axes, while passes change
    the space; `settle` makes them the value's own.
    """

    __slots__ = ("space", "axes", "kind", "expr", "result", "strides")

    def __init__(
        self,
        space: tuple[int, ...],
        axes: tuple[int, ...],
        kind: str,
        expr: Expr,
        result: Value,
        strides: tuple[int, ...] | None = None,
    ):
        self.space, self.axes, self.kind = tuple(space), tuple(sorted(axes)), kind
        self.expr, self.result = expr, result
        self.strides = result.strides if strides is None else strides

    def kept(self) -> tuple[int, ...]:
        """The axes that are not reduced."""
        return tuple(i for i in range(len(self.space)) if i not in self.axes)

    def settle(self) -> None:
        """Describe the result's memory by the kept axes as they now are."""
        self.result.shape, self.result.strides = tuple(self.space[i] for i in self.kept()), self.strides

    def reads(self) -> Iterator[Ref]:
        return iter(self.expr.loads())

    def writes(self) -> Iterator[Value]:
        yield self.result

    def __repr__(self) -> str:
        return f"%{self.result.id} = {self.kind} over {list(self.axes)} of {list(self.space)}: {self.expr!r}"


class Nest:
    """A fused kernel: for every point of `outer`, the `stages` in order, each at one point or over all of `inner`.

    stages: `Loop` over the space outer + inner or over outer alone, and `Reduce` over outer + inner along all inner axes.
    A stage may load what an earlier stage wrote, at the same point of `outer` (and, of an outer + inner value, at any
    point of `inner`). Points of `outer` are independent and may run in parallel.
    local: values that nothing outside reads: they need room for one point of `outer` only.
    """

    __slots__ = ("outer", "inner", "stages", "local")

    def __init__(self, outer: tuple[int, ...], inner: tuple[int, ...], stages: list[Loop | Reduce], local: set[Value]):
        self.outer, self.inner, self.stages, self.local = tuple(outer), tuple(inner), stages, local

    def reads(self) -> Iterator[Ref]:
        made: set[Value] = set()
        for stage in self.stages:
            yield from (r for r in stage.reads() if r.value not in made)
            made.update(stage.writes())

    def writes(self) -> Iterator[Value]:
        return (v for stage in self.stages for v in stage.writes() if v not in self.local)

    def __repr__(self) -> str:
        stages = "".join(f"\n    {'(local) ' * any(v in self.local for v in s.writes())}{s!r}" for s in self.stages)
        return f"nest {list(self.outer)} x {list(self.inner)}:{stages}"


class Extern:
    """A kernel that is no loop: a matrix product, a convolution, a pool, a scatter. See `lower/`.

    operands and results are refs (None for an optional operand that is absent); options: its fixed arguments.
    onto: for each result, the value whose content it continues (an accumulation), or None.
    """

    __slots__ = ("kind", "operands", "results", "options", "onto")

    def __init__(self, kind: str, operands: tuple, results: tuple, onto: tuple = (), **options: Any):
        self.kind, self.operands, self.results, self.options = kind, tuple(operands), tuple(results), options
        self.onto = tuple(onto) or (None,) * len(self.results)

    def reads(self) -> Iterator[Ref]:
        yield from (o for o in self.operands if o is not None)
        yield from (v.ref() for v in self.onto if v is not None)

    def writes(self) -> Iterator[Value]:
        return (r.value for r in self.results if r is not None)

    def __repr__(self) -> str:
        options = "".join(f", {k}={v}" for k, v in self.options.items())
        return f"{', '.join(map(repr, self.results))} = {self.kind}({', '.join(map(repr, self.operands))}{options})"


Node = Call | Write | Update | Loop | Reduce | Nest | Extern


class Graph:
    """Nodes in an order in which they can run, the values that come from outside, and those that go there.

    inputs: value -> where it comes from; outputs: (ref, where it goes) pairs. Both "wheres" are capture's own objects.
    constants: value -> the array that it always is. checks: (0-d bool value, error, text): where the value is true, the
    program stops before anything outside is written. reasons: operator's name -> why its calls stay calls. as_eager: the
    program takes turns with eager calls that were not asked to compile, so nothing is computed by another algorithm.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: dict[Value, Any] = {}
        self.constants: dict[Value, np.ndarray] = {}
        self.outputs: list[tuple[Ref, Any]] = []
        self.checks: list[tuple[Value, type[Exception], str]] = []
        self.reasons: dict[str, str] = {}
        self.as_eager = False

    def __repr__(self) -> str:
        inputs = "\n".join(f"  input {v!r} from {s!r}" for v, s in self.inputs.items())
        nodes = "\n".join(f"  {n!r}" for n in self.nodes)
        outputs = "\n".join(f"  output {r!r} to {t!r}" for r, t in self.outputs)
        return f"graph of {len(self.nodes)} nodes\n{inputs}\n{nodes}\n{outputs}"


# ------------------------------------------------------------------------------------------------ strides


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides, in elements, of row-major memory."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def same_strides(shape: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two strides mean the same for `shape`: axes of length 1 do not count."""
    return all(n == 1 or x == y for n, x, y in zip(shape, a, b, strict=True)) or 0 in shape


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the elements fill their memory without gaps or repetitions, in some order of the axes."""
    step = 1
    for s, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if s != step:
            return False
        step *= n
    return True


def reshaped_strides(shape: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides that show the same elements, in the same order, as shape `new`; None where no strides do."""
    if prod(shape) != prod(new):
        raise ValueError(f"cannot reshape {shape} to {new}")
    if 0 in shape:
        return row_major(new)
    groups: list[list[int]] = []  # [length, stride] of runs that are one axis in memory, outermost first
    for n, s in zip(shape, strides, strict=True):
        if n == 1:
            continue
        if groups and groups[-1][1] == n * s:
            groups[-1] = [groups[-1][0] * n, s]
        else:
            groups.append([n, s])
    out: list[int] = []
    left, step = groups.pop() if groups else [1, 1]
    for n in reversed(new):
        if n == 1:
            out.append(step)
            continue
        while left == 1 and groups:
            left, step = groups.pop()
        if left % n:
            return None
        out.append(step)
        left //= n
        step *= n
    return tuple(reversed(out))
