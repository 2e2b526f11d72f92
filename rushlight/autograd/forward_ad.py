"""Forward-mode names, `make_dual` and `unpack_dual`, by differentiating backward twice.

There is one engine, and it goes backward. A dual tensor is a point of the graph with its tangent; `unpack_dual`
of what was computed from it gives the product of the Jacobian with the tangents, as the derivative of a vector-Jacobian
product by its vector. So operators need second derivatives, and a dual tensor requires grad while its level lasts.
"""

from __future__ import annotations

import contextvars
import weakref
from collections import namedtuple
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import ops
from ..core.dispatch.mode import enable_grad, is_grad_enabled, thread
from ..core.dispatch.op import Op
from ..core.tensor.node import Leaf
from ..core.tensor.tensor import Tensor
from .backward import grad as gradients
from .batched.tensor import bare

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

UnpackedDualTensor = namedtuple("UnpackedDualTensor", ("primal", "tangent"))
_levels: list[list[tuple[Tensor, Tensor]]] = []  # for each level its (point, tangent) pairs
_vectors: weakref.WeakSet[Leaf] = weakref.WeakSet()  # of the vectors that `push_forward` differentiates by
_pushing: contextvars.ContextVar[bool] = contextvars.ContextVar("pushing", default=False)


class Untracked:
    """The context in which a function is differentiated forward: it notes what is computed under `no_grad` from its points.

    torch's forward mode does not mind `no_grad`. Here nothing is recorded there, so a tangent that depends on such a value
    would be wrong: `check` raises instead.
    """

    def __init__(self) -> None:
        self.edges: set[Any] = set()
        self.found: dict[int, tuple[weakref.ref[Tensor], bool]] = {}  # by identity: (the tensor, whether it had a node)

    def follow(self, points: Iterable[Any]) -> None:
        """Look out for what is computed from these, too."""
        for t in points:
            self.edges.update((t._edge, bare(t)._edge))

    def __enter__(self) -> Untracked:
        state = thread.state
        self.outer, state.witness = state.witness, self
        state.refresh()
        return self

    def __exit__(self, *error: object) -> None:
        state = thread.state
        state.witness = self.outer
        state.refresh()

    def __call__(self, record: Op, tensors: tuple, metadata: tuple, result: Any) -> None:
        if self.outer is not None:
            self.outer(record, tensors, metadata, result)
        if record.name == "detach":
            return
        given = [t for t in tensors if isinstance(t, Tensor)]
        if any(map(self.has, given)) or (not thread.state.grad and any(self.depends(t._edge) for t in given)):
            for r in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(r, Tensor) and (r.is_floating_point() or r.is_complex()):
                    self.found[id(r)] = weakref.ref(r), r._edge is not None

    def has(self, t: Any) -> bool:
        """Whether a tensor was computed under `no_grad` from the points, or from what was.

        A custom Function's results are computed so, and get their node afterwards.
        """
        ref, had_node = self.found.get(id(t), (None, False))
        return ref is not None and ref() is t and (t._edge is not None) == had_node

    def check(self, outputs: Iterable[Any]) -> None:
        """Raise NotImplementedError where an output depends on a value that was not recorded."""
        if any(self.has(o) or self.has(bare(o)) for o in outputs):
            raise NotImplementedError(
                "forward-mode differentiation through torch.no_grad(): what is computed there from a dual tensor has no "
                "tangent in Rushlight (torch gives it one). Leave no_grad() out: jvp, jacfwd and unpack_dual keep no graph"
            )

    def depends(self, edge: Any) -> bool:
        """Whether the graph behind an edge has one of the points."""
        seen, waiting = {None, edge}, [edge]
        while waiting:
            e = waiting.pop()
            if e is None:
                continue
            if e in self.edges:
                return True
            nearer = [n for n in e.edges if n not in seen] if hasattr(e, "edges") else []
            seen.update(nearer)
            waiting += nearer
        return False


_untracked: list[Untracked] = []  # of each level


def _contexts() -> Iterator[Untracked]:
    """The contexts of forward differentiation that this thread is in."""
    witness = thread.state.witness
    while witness is not None:
        if isinstance(witness, Untracked):
            yield witness
        witness = getattr(witness, "outer", None)


class dual_level:
    """The context in which dual tensors exist. Levels do not nest, as in torch."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()

    def __call__(self, f: Any) -> Any:
        from functools import wraps

        @wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            with dual_level():
                return f(*args, **kwargs)

        return call


def enter_dual_level() -> int:
    """Begin a level and return its number."""
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels.append([])
    _untracked.append(Untracked().__enter__())
    return len(_levels) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level; tangents of its dual tensors are gone."""
    if not _levels:
        raise RuntimeError("Trying to exit a forward AD level but no level is active.")
    if level not in (None, len(_levels) - 1):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created.")
    _levels.pop()
    _untracked.pop().__exit__()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """`tensor` with a tangent: the direction in which what is computed from it is differentiated."""
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for what, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {t.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            f"Expected tangent of the size of the primal {list(tensor.shape)}, got {list(tangent.shape)}"
        )
    if tensor._edge is None:
        point = tensor.detach().requires_grad_()
    else:
        with enable_grad():
            point = tensor.view_as(tensor)
    _levels[-1].append((point, tangent))
    _untracked[-1].follow((point,))
    return point


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """(primal, tangent) of a tensor; the tangent is None where it depends on no dual tensor."""
    if not _levels:
        return UnpackedDualTensor(tensor, None)
    for point, tangent in _levels[-1]:
        if tensor is point:
            return UnpackedDualTensor(_released(tensor, {tensor._edge}), tangent)
    _untracked[-1].check((tensor,))
    if not _levels[-1] or not tensor.requires_grad:
        return UnpackedDualTensor(tensor, None)
    points, tangents = zip(*_levels[-1], strict=True)
    (product,) = push_forward(points, [tensor], list(tangents))
    own = {e for t in points if type(e := bare(t)._edge) is Leaf}
    return UnpackedDualTensor(_released(tensor, own), None if product is None else _released(product, own))


def _released(t: Tensor, own: set[Any]) -> Tensor:
    """A view of what has another history than that from the dual tensors, for backward over forward; else an alias without."""
    edge = bare(t)._edge
    return t.view_as(t) if edge is not None and is_grad_enabled() and reaches_other(edge, own) else t.detach()


def push_forward(points: tuple, outputs: list[Any], tangents: list[Any]) -> list[Any]:
    """For each output the Jacobian by the points times the tangents, or None where it depends on no point."""
    products: list[Any] = [None] * len(outputs)
    live = [i for i, o in enumerate(outputs) if o.requires_grad]
    if not live:
        return products
    with enable_grad():
        weights = [ops.zeros_like(outputs[i]).requires_grad_() for i in live]
        _vectors.update(bare(w)._edge for w in weights)
        with pushing():
            rows = gradients([outputs[i] for i in live], points, weights, create_graph=True, allow_unused=True)
        pairs = [(r, v) for r, v in zip(rows, tangents, strict=True) if r is not None and r.requires_grad]
        if not pairs:
            if len(live) == 1 and any(r is not None for r in rows):  # it depends on a point, and is flat
                products[live[0]] = ops.zeros_like(outputs[live[0]])
            return products
        r, v = map(list, zip(*pairs, strict=True))
        found = gradients(r, weights, v, create_graph=True, allow_unused=True)
    for i, product in zip(live, found, strict=True):
        products[i] = product
    return products


def reaches_other(edge: Any, own: set[Any]) -> bool:
    """Whether the graph behind `edge` ends in a leaf that is not among `own`."""
    seen, waiting = {edge}, [edge]
    while waiting:
        e = waiting.pop()
        if type(e) is Leaf:
            if e not in own and e not in _vectors:
                return True
            continue
        for nearer in e.edges:
            if nearer is not None and nearer not in seen:
                seen.add(nearer)
                waiting.append(nearer)
    return False


@contextmanager
def pushing() -> Iterator[None]:
    """The context of a backward pass that works out tangents, or rows of what forward differentiation gives."""
    before = _pushing.set(True)
    try:
        yield
    finally:
        _pushing.reset(before)


def is_pushing() -> bool:
    """Whether the backward pass that runs works out tangents: a Function's `jvp` counts then, where it has one."""
    return _pushing.get()


def transposed(cls: Any, ctx: Any, args: tuple, needed: tuple[bool, ...]) -> Any:
    """What takes gradients of a Function's outputs to those of its inputs, worked out from its `jvp`; None where no input
    depends on a dual tensor, or on an argument of a function that is differentiated forward.

    `jvp` is called here once, as torch calls it, on tangents that are variables; the rest is its derivative by them.
    """
    edges = [a._edge for a in args if isinstance(a, Tensor)]
    if not any(context.depends(edge) for context in _contexts() for edge in edges):
        return None
    with enable_grad():
        tangents = [ops.zeros_like(a).requires_grad_() if need else None for a, need in zip(args, needed, strict=True)]
        products = cls.jvp(ctx, *tangents)
    products = products if isinstance(products, tuple) else (products,)
    variables = [t for t in tangents if t is not None]

    def backward(grads: list[Any]) -> tuple:
        pairs = [(p, g) for p, g in zip(products, grads, strict=True) if isinstance(p, Tensor) and p.requires_grad]
        outputs, weights = map(list, zip(*pairs, strict=True))
        found = iter(gradients(outputs, variables, weights, create_graph=True, retain_graph=True, allow_unused=True))
        return tuple(next(found) if t is not None else None for t, a in zip(tangents, args) if isinstance(a, Tensor))

    return backward
