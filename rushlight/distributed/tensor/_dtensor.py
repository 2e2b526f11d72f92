"""A tensor that is spread over the processes of a mesh: what `fully_shard` gives as parameters.

Its shape is that of the whole. Each dimension of the mesh, one after the other, cuts what this process has along a dimension of
the tensor, as `chunk` does, or leaves it whole. Operators
that work element by element (optimizers are made of these) run on the parts. Sums, means and norms of all elements, `all()`
and `any()` are reduced over the processes. Every other operator raises NotImplementedError: `full_tensor()` gives the whole for it.
"""

from __future__ import annotations

from typing import Any

from ...autograd.function import Function
from ...core.dispatch.aten.wrapper import make_wrapper_subclass
from ...core.dispatch.mode import is_grad_enabled, no_grad
from ...core.dispatch.torch_function import disabled_impl
from ...core.tensor.dtype import int64
from ...core.tensor.layout import contiguous_format, strided
from ...core.tensor.tensor import Tensor
from ...ops import zeros
from ..collectives import all_gather, all_reduce, scatter
from ..collectives import broadcast as broadcast_
from ..device_mesh import DeviceMesh
from ..reduce_op import ReduceOp
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "distribute_tensor", "rows_of"]

# what works element by element, so that it may be done with the parts
_ELEMENTWISE = frozenset(
    [
        "_to_copy",
        "abs",
        "add",
        "addcdiv",
        "addcmul",
        "alias",
        "bitwise_not",
        "ceil",
        "clamp",
        "clamp_max",
        "clamp_min",
        "clone",
        "copy_",
        "cos",
        "detach",
        "div",
        "empty_like",
        "eq",
        "erf",
        "exp",
        "fill_",
        "floor",
        "full_like",
        "ge",
        "gt",
        "isfinite",
        "isinf",
        "isnan",
        "le",
        "lerp",
        "log",
        "log1p",
        "logical_and",
        "logical_not",
        "logical_or",
        "lt",
        "maximum",
        "minimum",
        "mul",
        "ne",
        "neg",
        "ones_like",
        "positive",
        "pow",
        "reciprocal",
        "relu",
        "rsqrt",
        "rsub",
        "sgn",
        "sigmoid",
        "sign",
        "sin",
        "sqrt",
        "square",
        "sub",
        "tanh",
        "true_divide",
        "where",
        "zero_",
        "zeros_like",
    ]
)
_OPS = {"sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "product": ReduceOp.PRODUCT, "min": ReduceOp.MIN, "max": ReduceOp.MAX}
_MIXED = (
    "{} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed "
    "operators!"
)


def rows_of(rows: int, size: int, rank: int) -> tuple[int, int]:
    """The (first, number) of the rows of a dimension that a process has: as `chunk` cuts it."""
    each = -(-rows // size)
    first = min(rank * each, rows)
    return first, min(each, rows - first)


class _NormPartial(Partial):
    """Each process has the norm of its part."""

    __slots__ = ()

    def __init__(self, norm_type: float) -> None:
        super().__init__("sum")
        self._values = (norm_type,)

    @property
    def norm_type(self) -> float:
        """The order."""
        return self._values[0]

    def __repr__(self) -> str:
        return f"_NormPartial({self.norm_type})"


class DTensor(Tensor):
    """A part of a tensor that is spread over processes. `fully_shard`, `from_local` and `distribute_tensor` make them."""

    _local_tensor: Tensor
    _total: tuple[Tensor, int, Tensor] | None = None  # of terms: this process's, its version, their reduction
    device_mesh: DeviceMesh
    placements: tuple[Placement, ...]
    data = property(lambda self: self.detach(), Tensor.data.fset)

    @property
    def _part(self) -> tuple[Tensor, Any]:
        """What an optimizer's rule by elements updates, and what gives such a part of its state the whole's shape."""
        return self._local_tensor, self._like

    @staticmethod
    def _make(
        local: Tensor, mesh: DeviceMesh, placements: tuple[Placement, ...], shape: Any, requires_grad: bool = False
    ) -> DTensor:
        with no_grad():
            local = local.detach()
        t = make_wrapper_subclass(DTensor, tuple(shape), dtype=local.dtype)
        t._local_tensor, t.device_mesh, t.placements = local, mesh, placements
        return t.requires_grad_(True) if requires_grad else t

    @staticmethod
    def from_local(
        local_tensor: Tensor, device_mesh: DeviceMesh, placements: Any = None, *, run_check: bool = False,
        shape: Any = None, stride: Any = None,
    ) -> DTensor:  # fmt: skip
        """The tensor of which each process gives its part. It is not recorded for backward.

        With `Partial` each gives a term of it: the processes reduce the terms where the tensor is used, each time that it is used
        after they have changed. Raises NotImplementedError for layouts other than `Shard`, `Replicate` and `Partial`, for parts
        that require gradients.
        """
        layout = _checked(device_mesh, placements, local_tensor.ndim, of_terms=True)
        if local_tensor.requires_grad:
            raise NotImplementedError("DTensor.from_local: parts that require gradients are not implemented")
        if shape is None:
            shape = list(local_tensor.shape)
            for i, placement in _cuts(layout)[::-1]:
                rows = zeros(1, dtype=int64) + shape[placement.dim]
                all_reduce(rows, group=device_mesh.get_group(i))
                shape[placement.dim] = int(rows.item())
        return DTensor._make(local_tensor, device_mesh, layout, shape)

    def _like(self, local: Tensor) -> DTensor:
        return DTensor._make(local, self.device_mesh, self.placements, self.shape)

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """This process's part; its gradient is the part of this tensor's gradient."""
        if grad_placements is not None:
            raise NotImplementedError("DTensor.to_local(grad_placements=...) is not implemented")
        if is_grad_enabled() and self.requires_grad:
            return _ToLocal.apply(self)
        return self._local_tensor

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole, in every process, each of which has to call this."""
        if grad_placements is not None:
            raise NotImplementedError("DTensor.full_tensor(grad_placements=...) is not implemented")
        if is_grad_enabled() and self.requires_grad:
            return _Full.apply(self)
        return _whole(self)

    @property
    def _spec(self) -> Any:
        raise NotImplementedError("DTensor._spec is torch's own; use placements and device_mesh")

    def redistribute(
        self, device_mesh: DeviceMesh | None = None, placements: Any = None, *, async_op: bool = False, **kwargs: Any
    ) -> DTensor:
        """The tensor in another layout; every process has to call this. It is not recorded for backward.

        Raises NotImplementedError for another mesh, a tensor that requires gradients; RuntimeError for `Partial`; ValueError for
        more or fewer layouts than the mesh has dimensions.
        """
        if any(value is not None for value in kwargs.values()) or device_mesh not in (None, self.device_mesh):
            raise NotImplementedError(
                "DTensor.redistribute to another mesh, or with types of elements, is not implemented"
            )
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if is_grad_enabled() and self.requires_grad:
            raise NotImplementedError("DTensor.redistribute of a tensor that requires gradients is not implemented")
        if any(isinstance(placement, Partial) for placement in placements):
            raise RuntimeError(
                f"Can not redistribute from {self.placements} to {placements}, redistributing to Partial is for internal use only!"
            )
        target = _checked(self.device_mesh, placements, self.ndim)
        known = _settled(self)
        if known.placements == target:
            return known._like(known._local_tensor)
        kept = 0  # dimensions of the mesh up to the first one that changes, whose cuts stay
        while known.placements[kept] == target[kept]:
            kept += 1
        part, lengths = _gathered(known, kept), _lengths(self.device_mesh, target, self.shape)
        return DTensor._make(_cut(part, self.device_mesh, target, lengths, kept), self.device_mesh, target, self.shape)

    def __repr__(self, **kwargs: Any) -> str:
        local: Any = self._local_tensor
        if not self.ndim:
            local = local.item()
        return f"DTensor(local_tensor={local}, device_mesh={self.device_mesh}, placements={_listed(self.placements)})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotImplementedError(
            "a DTensor, of which this process has a part, cannot be pickled: save it with torch.distributed.checkpoint, or "
            "its full_tensor()"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> DTensor:
        if id(self) not in memo:
            copy = self._like(self._local_tensor.clone())
            copy.requires_grad_(self.requires_grad)
            if getattr(self, "_is_param", False):
                copy.__dict__["_is_param"] = True
            memo[id(self)] = copy
        return memo[id(self)]

    # ------------------------------------------------------------------------------------------ checkpoints

    def _place(self) -> tuple[list[int], list[int]] | None:
        """(offsets, sizes) of the part in the whole; None of one without elements. Raises NotImplementedError for terms."""
        if any(isinstance(placement, Partial) for placement in self.placements):
            raise NotImplementedError(
                f"a DTensor with placements {self.placements}, of which each process has a term, is not put into a checkpoint: "
                "redistribute() it first"
            )
        offsets, sizes = [0] * self.ndim, list(self.shape)
        for i, placement in _cuts(self.placements):
            group, dim = self.device_mesh.get_group(i), placement.dim
            first, sizes[dim] = rows_of(sizes[dim], group.size(), group.rank())
            offsets[dim] += first
        return (offsets, sizes) if all(sizes) else None

    def __get_tensor_shard__(self, index: Any) -> Tensor:
        return self._local_tensor

    def _of_whole(self, whole: Tensor) -> DTensor:
        """A tensor of this one's layout, of which every process has the whole."""
        return distribute_tensor(whole, self.device_mesh, self.placements, src_data_rank=None)

    # ------------------------------------------------------------------------------------------ operators

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return disabled_impl(func, types, args, kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """What an operator gives: see the file's first lines."""
        kwargs, name = kwargs or {}, func.overloadpacket.__name__
        if name in _REDUCTIONS:
            return _REDUCTIONS[name](func, *args, **kwargs)
        written = name.endswith("_") and not name.startswith("_")
        if name not in _ELEMENTWISE and not (written and name[:-1] in _ELEMENTWISE):
            raise NotImplementedError(
                f"torch.{name} of a DTensor, of which this process has a part, is not implemented: full_tensor() gives the "
                "whole, to_local() the part"
            )
        return _by_elements(func, name, args, kwargs, written)


DTensor.__module__ = "torch.distributed.tensor"


def _by_elements(func: Any, name: str, args: tuple, kwargs: dict[str, Any], written: bool) -> Any:
    if name in ("detach", "alias"):
        return args[0]._like(args[0]._local_tensor)
    given, args = args, tuple(_settled(a) if isinstance(a, DTensor) else a for a in args)
    spread = [a for a in args if isinstance(a, DTensor)]
    like = next((t for t in spread if t.ndim), spread[0])
    for a in (*args, *kwargs.values()):
        if isinstance(a, DTensor):
            if a.ndim and (a.placements != like.placements or a.shape != like.shape):
                raise NotImplementedError(
                    f"torch.{name} of DTensors with shapes {list(like.shape)} and {list(a.shape)}, placements "
                    f"{like.placements} and {a.placements} is not implemented: they have to be the same"
                )
        elif isinstance(a, Tensor) and a.ndim:
            raise RuntimeError(_MIXED.format(func))
    parts = [a._local_tensor if isinstance(a, DTensor) else a for a in args]
    kwargs = {k: v for k, v in kwargs.items() if not (k == "layout" and v in (None, strided))}
    if name.startswith(("addcmul", "addcdiv")) and len(parts) > 3:
        kwargs["value"] = parts.pop()
    result = func(*parts, **kwargs)
    if not written:
        return like._like(result)
    given[0]._local_tensor, given[0].placements = parts[0], args[0].placements
    return given[0]


def _settled(t: DTensor) -> DTensor:
    """The tensor; of the processes' terms, their reduction, which is kept as long as this process's term is not written."""
    terms = [(i, placement) for i, placement in enumerate(t.placements) if isinstance(placement, Partial)]
    if not terms:
        return t
    if t._total is None or t._total[0] is not t._local_tensor or t._total[1] != t._local_tensor._version:
        total = t._local_tensor.clone()
        for i, placement in terms:
            total = _reduced(total, placement, t.device_mesh.get_group(i))
        t._total = t._local_tensor, t._local_tensor._version, total
    layout = tuple(Replicate() if isinstance(placement, Partial) else placement for placement in t.placements)
    return DTensor._make(t._total[2].clone(), t.device_mesh, layout, t.shape)  # a copy: programs may write into it


def _reduced(total: Tensor, placement: Partial, group: Any) -> Tensor:
    """The reduction of a group's terms, which may be in the memory of this process's."""
    if not isinstance(placement, _NormPartial):
        all_reduce(total, _OPS[placement.reduce_op], group)
        return total
    p = placement.norm_type
    if abs(p) == float("inf"):
        all_reduce(total, ReduceOp.MAX if p > 0 else ReduceOp.MIN, group)
        return total
    total = total.pow_(p)  # type: ignore[attr-defined]
    all_reduce(total, ReduceOp.SUM, group)
    return total.pow_(1 / p)


def _with_terms(placements: tuple[Placement, ...], term: Partial) -> tuple[Placement, ...]:
    """The layout of what is reduced over all elements: terms where the tensor is cut."""
    return tuple(term if isinstance(placement, Shard) else placement for placement in placements)


def _norm(func: Any, x: DTensor, ord: float = 2, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> DTensor:
    """The norm of all elements, which the processes add up when it is used."""
    p = float(ord)
    if dim is not None or keepdim or (p == 0):
        raise NotImplementedError("norms of DTensors are implemented of all elements, of an order other than 0")
    if any(isinstance(known, Partial) and getattr(known, "norm_type", None) != p for known in x.placements):
        x = _settled(x)  # terms of a sum, or of another norm
    local = x._local_tensor
    if local.numel() or p not in (float("inf"), -float("inf")):
        local = func(local, ord, **kwargs)
    else:
        local = zeros((), dtype=local.dtype) + (0.0 if p > 0 else float("inf"))
    layout = tuple(known if isinstance(known, Replicate) else _NormPartial(p) for known in x.placements)
    return DTensor._make(local, x.device_mesh, layout, ())


def _norm_of_scalar_order(func: Any, x: DTensor, p: Any = 2, *args: Any, **kwargs: Any) -> DTensor:
    if args or kwargs:
        raise NotImplementedError("norms of DTensors are implemented of all elements alone")
    return _norm(func, x, 2 if p is None else p)


def _stack(func: Any, tensors: list[Any], dim: int = 0) -> DTensor:
    """Norms one after another: still to be added up where all are."""
    if not all(isinstance(t, DTensor) and not t.ndim for t in tensors):
        raise RuntimeError(_MIXED.format(func))
    if len({t.placements for t in tensors}) > 1:
        tensors = [_settled(t) for t in tensors]
    first = tensors[0]
    local = func([t._local_tensor for t in tensors], dim)
    return DTensor._make(local, first.device_mesh, first.placements, local.shape)


def _sum(func: Any, x: DTensor, *args: Any, **kwargs: Any) -> DTensor:
    if args or kwargs:
        raise NotImplementedError("sums of DTensors are implemented of all elements alone")
    x = _settled(x)
    return DTensor._make(func(x._local_tensor), x.device_mesh, _with_terms(x.placements, Partial()), ())


def _mean(func: Any, x: DTensor, *args: Any, **kwargs: Any) -> DTensor:
    if args or kwargs:
        raise NotImplementedError("means of DTensors are implemented of all elements alone")
    x = _settled(x)
    if not _cuts(x.placements):
        return DTensor._make(func(x._local_tensor), x.device_mesh, x.placements, ())
    return DTensor._make(x._local_tensor.sum() / x.numel(), x.device_mesh, _with_terms(x.placements, Partial()), ())


def _all_or_any(func: Any, x: DTensor, *args: Any, **kwargs: Any) -> DTensor:
    name = func.overloadpacket.__name__
    if args or kwargs:
        raise NotImplementedError(f"{name}() of DTensors is implemented of all elements alone")
    x = _settled(x)
    layout = _with_terms(x.placements, Partial("min" if name == "all" else "max"))
    return DTensor._make(func(x._local_tensor), x.device_mesh, layout, ())


def _item(func: Any, x: DTensor) -> Any:
    if x.numel() != 1:
        raise RuntimeError(f"a Tensor with {x.numel()} elements cannot be converted to Scalar")
    return _whole(x).item()


_REDUCTIONS: dict[str, Any] = {
    "linalg_vector_norm": _norm,
    "norm": _norm_of_scalar_order,
    "stack": _stack,
    "all": _all_or_any,
    "any": _all_or_any,
    "mean": _mean,
    "sum": _sum,
    "_local_scalar_dense": _item,
}


def _cuts(placements: tuple[Placement, ...]) -> list[tuple[int, Shard]]:
    """The dimensions of the mesh that cut the tensor, with their layouts."""
    return [(i, placement) for i, placement in enumerate(placements) if isinstance(placement, Shard)]


def _lengths(mesh: DeviceMesh, placements: tuple[Placement, ...], shape: Any) -> list[int]:
    """For each dimension of the mesh, how long what it cuts is; 0 where it cuts nothing."""
    sizes, lengths = list(shape), [0] * len(placements)
    for i, placement in _cuts(placements):
        group, lengths[i] = mesh.get_group(i), sizes[placement.dim]
        sizes[placement.dim] = rows_of(lengths[i], group.size(), group.rank())[1]
    return lengths


def _whole(t: DTensor) -> Tensor:
    return _gathered(_settled(t), 0)


def _gathered(t: DTensor, first: int) -> Tensor:
    """What the mesh's dimensions before number `first` have left to this process."""
    local, lengths = t._local_tensor, _lengths(t.device_mesh, t.placements, t.shape)
    for i, placement in _cuts(t.placements)[::-1]:
        if i >= first:
            local = _gathered_along(local, placement.dim, lengths[i], t.device_mesh.get_group(i))
    return local


def _gathered_along(local: Tensor, dim: int, rows: int, group: Any) -> Tensor:
    local = local.detach().movedim(dim, 0)
    rest = local.shape[1:]
    each = rows_of(rows, group.size(), 0)[1]
    padded = zeros((each, *rest), dtype=local.dtype)
    padded[: local.shape[0]] = local
    whole = zeros((group.size() * each, *rest), dtype=local.dtype)
    all_gather(list(whole.chunk(group.size())) if each else [whole] * group.size(), padded, group)
    if dim:
        return whole[:rows].movedim(0, dim).clone(memory_format=contiguous_format)
    return whole[:rows].clone() if whole.shape[0] != rows else whole


class _ToLocal(Function):
    @staticmethod
    def forward(ctx: Any, t: DTensor) -> Tensor:
        ctx.like = (t.device_mesh, t.placements, t.shape)
        return t._local_tensor.detach()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return DTensor._make(g, *ctx.like)


class _Full(Function):
    @staticmethod
    def forward(ctx: Any, t: DTensor) -> Tensor:
        ctx.like = (t.device_mesh, t.placements, t.shape)
        return _whole(t)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        mesh, placements, shape = ctx.like
        return DTensor._make(_cut(g, mesh, placements, _lengths(mesh, placements, shape)), mesh, placements, shape)


def _cut(
    part: Tensor, mesh: DeviceMesh, placements: tuple[Placement, ...], lengths: list[int], first: int = 0
) -> Tensor:
    """This process's part of what the mesh's dimensions before number `first` have left to it."""
    cuts = [(i, placement.dim) for i, placement in _cuts(placements) if i >= first]
    for i, dim in cuts:
        group = mesh.get_group(i)
        part = part.narrow(dim, *rows_of(lengths[i], group.size(), group.rank()))
    return part.clone(memory_format=contiguous_format) if cuts else part


def _checked(mesh: DeviceMesh, placements: Any, ndim: int, of_terms: bool = False) -> tuple[Placement, ...]:
    """The layouts for each dimension of the mesh; by default whole. of_terms: whether `Partial` is one."""
    placements = placements or [Replicate()] * mesh.ndim
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(placements)}, "
            f"and device_mesh.ndim: {mesh.ndim}."
        )
    return tuple(_checked_one(placement, ndim, of_terms) for placement in placements)


def _checked_one(placement: Placement, ndim: int, of_terms: bool) -> Placement:
    if isinstance(placement, Shard):
        if not -ndim <= placement.dim < ndim:
            raise IndexError(f"DTensor: a tensor of {ndim} dimensions has no dimension {placement.dim} to be cut along")
        return Shard(placement.dim % ndim)
    if type(placement) is Partial and of_terms:
        if placement.reduce_op not in _OPS:
            raise NotImplementedError(
                f"DTensor: of reductions {', '.join(_OPS)} are implemented, not {placement.reduce_op!r}"
            )
        return placement
    if not isinstance(placement, Replicate):
        raise NotImplementedError(f"DTensor: of layouts Shard and Replicate are implemented here, not {placement!r}")
    return placement


def distribute_tensor(
    tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Any = None, *, src_data_rank: int | None = 0
) -> DTensor:
    """Process `src_data_rank`'s tensor, spread over the mesh. None: each process's own, which have to be the same.

    placements: for each dimension of the mesh, in turn, how it cuts what those before it have left. Raises NotImplementedError for layouts
    other than `Shard` and `Replicate`, IndexError for a dimension that is not there, ValueError for more or fewer layouts than the mesh has
    dimensions.
    """
    if device_mesh is None:
        raise NotImplementedError("distribute_tensor needs its device_mesh")
    layout, whole = _checked(device_mesh, placements, tensor.ndim), tensor.detach().contiguous()
    if src_data_rank is None:
        local = _cut(whole, device_mesh, layout, _lengths(device_mesh, layout, whole.shape))
        local = local.clone() if local is whole else local
    else:
        local = whole
        for i, placement in enumerate(layout):
            local = _spread(local, placement, device_mesh.get_group(i), src_data_rank)
    return DTensor._make(local, device_mesh, layout, whole.shape, tensor.requires_grad)


def _spread(part: Tensor, placement: Placement, group: Any, src: int) -> Tensor:
    """The part of this process of that of the group's process `src`."""
    if isinstance(placement, Shard):
        local = _scattered(part.movedim(placement.dim, 0), group, src)
        return local.movedim(0, placement.dim).clone(memory_format=contiguous_format)
    local = part.clone()
    broadcast_(local, group_src=src, group=group)
    return local


def _scattered(whole: Tensor, group: Any, src: int) -> Tensor:
    n, rank = group.size(), group.rank()
    each = rows_of(whole.shape[0], n, 0)[1]
    mine = zeros((each, *whole.shape[1:]), dtype=whole.dtype)
    parts = None
    if rank == src:
        padded = zeros((n * each, *whole.shape[1:]), dtype=whole.dtype)
        padded[: whole.shape[0]] = whole
        parts = [part.contiguous() for part in padded.split(each)] if each else [mine] * n
    if each:
        scatter(mine, parts, group_src=src, group=group)
    return mine[: rows_of(whole.shape[0], n, rank)[1]].clone()


def _listed(placements: tuple[Placement, ...]) -> str:
    return f"({', '.join(map(repr, placements))},)" if len(placements) == 1 else repr(placements)
