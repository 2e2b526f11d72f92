"""`torch.masked.MaskedTensor`: a tensor that carries its mask; where that is False, there is no element.

Operators run on the elements behind the mask as well, and results carry the mask on. Two operands must have the same mask.
Reductions leave out what is masked; a result has no element where nothing was left. Gradients are masked tensors, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import ops
from ..autograd.backward import grad
from ..autograd.function import Function
from ..core.dispatch.aten.operators import operator
from ..core.dispatch.aten.wrapper import make_wrapper_subclass
from ..core.dispatch.mode import enable_grad, no_grad
from ..core.dispatch.torch_function import DisableTorchFunctionSubclass, convert
from ..core.tensor import dtype as dtypes
from ..core.tensor.layout import sparse_coo, sparse_csr, strided
from ..core.tensor.tensor import Tensor
from ..core.warn import warn
from ..sparse.create import sparse_coo_tensor, sparse_csr_tensor
from . import _masked_functions

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

_PROTOTYPE = (
    "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github issue for "
    "features requests and see our documentation on the torch.masked module for further information about the project."
)
_KINDS = {
    dtypes.float16,
    dtypes.float32,
    dtypes.float64,
    dtypes.bool_,
    dtypes.int8,
    dtypes.int16,
    dtypes.int32,
    dtypes.int64,
}


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether an object is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A masked tensor, always a leaf. data and mask: of one shape and layout, mask of bools."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A masked tensor with the history of `data`, whose gradient is a masked tensor as well."""
    return MaskedTensor._from_values(data, mask)


class MaskedTensor(Tensor):
    """`data` where `mask` is True.

    data: dense or sparse (COO, CSR), floating point, int or bool; it is copied. mask: bools of the same shape and layout.

    Raises:
        TypeError: `data` or `mask` is no plain tensor, of another type than these, or of another layout than the other.
        ValueError: the shapes differ.
    """

    _masked_data: Tensor
    _masked_mask: Tensor

    @staticmethod
    def __new__(cls: type, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        for name, value in (("data", data), ("mask", mask)):
            if is_masked_tensor(value) or not isinstance(value, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        warn(_PROTOTYPE)
        if data.requires_grad:
            warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
                "data.detach().clone()"
            )
        steps = data.stride() if data.layout is strided else None
        return make_wrapper_subclass(cls, data.size(), strides=steps, dtype=data.dtype, requires_grad=requires_grad)

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False):
        if data.layout is not mask.layout:
            raise TypeError("data and mask must have the same layout.")
        if data.layout is sparse_coo:
            data, mask = data.coalesce(), mask.coalesce()  # type: ignore[attr-defined]
        if data.layout is not strided and data._nnz() != mask._nnz():  # type: ignore[attr-defined]
            data = _at_places_of(mask, data)
        self._set_data_mask(data.clone(), mask.clone())

    @staticmethod
    def _from_values(data: Tensor, mask: Tensor) -> MaskedTensor:
        return Constructor.apply(data, mask)

    def _set_data_mask(self, data: Tensor, mask: Tensor) -> None:
        self._masked_data, self._masked_mask = data, mask
        if type(data) is not type(mask):
            raise TypeError(f"data and mask must have the same type. Got {type(data)} and {type(mask)}")
        if data.layout is not strided and not _same_places(data, mask):
            which = (
                "COO tensors but do not have the same indices"
                if data.layout is sparse_coo
                else "CSR tensors but do not share either crow or col indices"
            )
            raise ValueError(f"data and mask are both sparse {which}.")
        if mask.dtype is not dtypes.bool_:
            raise TypeError("mask must have dtype bool.")
        if data.dtype not in _KINDS:
            raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
        if data.dim() != mask.dim():
            raise ValueError("data.dim() must equal mask.dim()")
        if data.size() != mask.size():
            raise ValueError("data.size() must equal mask.size()")

    # ------------------------------------------------------------------------------------------ what is in it

    def get_data(self) -> Tensor:
        """The elements, also those behind the mask; gradients flow through."""
        return GetData.apply(self)

    def get_mask(self) -> Tensor:
        """The mask itself."""
        return self._masked_mask

    def to_tensor(self, value: float) -> Tensor:
        """A plain tensor with `value` where the mask is False."""
        return self.get_data().masked_fill(~self.get_mask(), value)  # type: ignore[attr-defined]

    @property
    def layout(self) -> Any:  # type: ignore[override]
        return self._masked_data.layout

    def is_sparse_coo(self) -> bool:
        """Whether the elements are in a sparse COO tensor."""
        return self.layout is sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether the elements are in a sparse CSR tensor."""
        return self.layout is sparse_csr

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        return self.layout is not strided

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        """Whether the elements are contiguous in memory. Raises ValueError for sparse ones."""
        if self.is_sparse:
            raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
        return self._masked_data.is_contiguous(*args, **kwargs)

    def to_dense(self, *args: Any, **kwargs: Any) -> MaskedTensor:
        """The same with dense elements."""
        return _in_layout(self, strided)

    def to_sparse(self, *args: Any, **kwargs: Any) -> MaskedTensor:
        """The same with the kept elements in a sparse COO tensor."""
        return _in_layout(self, sparse_coo)

    to_sparse_coo = to_sparse

    def to_sparse_csr(self, *args: Any, **kwargs: Any) -> MaskedTensor:
        """The same with the kept elements in a sparse CSR tensor. Raises ValueError where there are not two dimensions."""
        return _in_layout(self, sparse_csr)

    def __lt__(self, other: Any) -> MaskedTensor:  # type: ignore[override]
        return MaskedTensor(self.get_data() < _data(other), self.get_mask())

    def __repr__(self, **kwargs: Any) -> str:
        data, mask = self._masked_data.detach(), self._masked_mask
        if not self.dim():
            shown = _number(data.item()) if mask.item() else "--"
            return f"MaskedTensor({shown}, {mask.item()})"
        if self.is_sparse:
            data, mask = data.to_dense(), mask.to_dense()  # type: ignore[attr-defined]
        return "MaskedTensor(\n" + _indented(_shown(data, mask)) + "\n)"

    # ------------------------------------------------------------------------------------------ operators

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        own = _FUNCTIONS.get(getattr(func, "__name__", ""))
        if own is not None and any(is_masked_tensor(a) for a in args):
            result = own(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            result = func(*args, **kwargs)
        return result if getattr(func, "__name__", "") in _PLAIN else convert(result, cls)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = func.overloadpacket.__name__
        own = _OPERATORS.get(name)
        if own is not None:
            return own(func, *args, **(kwargs or {}))
        warn(
            f"{name} is not implemented in __torch_dispatch__ for MaskedTensor.\nIf you would like this operator to be supported, "
            "please file an issue for a feature request at https://github.com/pytorch/maskedtensor/issues with a minimal "
            "reproducible code snippet.\nIn the case that the semantics for the operator are not trivial, it would be "
            "appreciated to also include a proposal for the semantics."
        )
        return NotImplemented


def _data(a: Any) -> Any:
    return a._masked_data if is_masked_tensor(a) else a


def _each(values: Any, of: Callable[[MaskedTensor], Any]) -> Any:
    if isinstance(values, (tuple, list)):
        return type(values)([_each(v, of) for v in values])
    return of(values) if is_masked_tensor(values) else values


def _wrap(data: Any, mask: Any) -> Any:
    if isinstance(data, (tuple, list)):
        return type(data)([_wrap(d, m) for d, m in zip(data, mask, strict=True)])
    return MaskedTensor(data, mask)


class Constructor(Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor) -> MaskedTensor:
        return MaskedTensor(data.detach(), mask)

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        return g, None


class GetData(Function):
    @staticmethod
    def forward(ctx: Any, t: MaskedTensor) -> Tensor:
        ctx.mask = t._masked_mask
        return t._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g if is_masked_tensor(g) else MaskedTensor(g, ctx.mask)


# ------------------------------------------------------------------------------------------ printing


def _number(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))


def _shown(data: Tensor, mask: Tensor) -> str:
    if data.dim() > 1:
        parts = [_indented(_shown(d, m)) for d, m in zip(data, mask, strict=True)]
        return "[\n" + ",\n".join(parts) + "\n]"
    shown, kept = [_number(v) for v in data.tolist()], mask.tolist()
    width = max((8 if not k else len(s) for s, k in zip(shown, kept, strict=True)), default=0)
    return "[" + ", ".join(s if k else "--".rjust(width) for s, k in zip(shown, kept, strict=True)) + "]"


# ------------------------------------------------------------------------------------------ sparse elements


def _parts(t: Any) -> tuple[tuple, Any]:
    """Where the elements of a sparse tensor are, and what they are."""
    if t.layout is sparse_coo:
        return (t.indices(),), t.values()
    return (t.crow_indices(), t.col_indices()), t.values()


def _with_values(t: Any, values: Tensor) -> Any:
    places, _ = _parts(t)
    if t.layout is sparse_coo:
        return sparse_coo_tensor(places[0], values, t.size(), is_coalesced=True)
    return sparse_csr_tensor(places[0], places[1], values, t.size())


def _same_places(a: Any, b: Any) -> bool:
    if a.layout is not b.layout:
        return False
    return all(x.shape == y.shape and bool((x == y).all()) for x, y in zip(_parts(a)[0], _parts(b)[0], strict=True))


def _at_places_of(mask: Any, data: Any) -> Any:
    """The elements of `data` where `mask` has one, zero where only the mask has."""
    dense = data.to_dense()
    if mask.layout is sparse_coo:
        return _with_values(mask, dense[tuple(mask.indices())])
    counts = mask.crow_indices().diff()
    rows = ops.arange(counts.numel()).repeat_interleave(counts)
    return _with_values(mask, dense[rows, mask.col_indices()])


# ------------------------------------------------------------------------------------------ element by element


def _masks_match(a: Any, b: Any) -> bool:
    if not (is_masked_tensor(a) and is_masked_tensor(b)):
        return True
    x, y = a._masked_mask, b._masked_mask
    if x.layout is not y.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {x.layout} and {y.layout}")
    if x.layout is not strided:
        return _same_places(x, y) and bool((_parts(x)[1] == _parts(y)[1]).all())
    return x.dim() == y.dim() and bool((x == y).all())


def _unary(func: Any, *args: Any, **kwargs: Any) -> Any:
    return _elements(func, args, kwargs, "unary ops do not support additional Tensor arguments", args[1:])


def _binary(func: Any, *args: Any, **kwargs: Any) -> Any:
    if not _masks_match(*args[:2]):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    return _elements(
        func, args, kwargs, "binary ops do not support Tensor arguments aside from the lhs and rhs", args[2:]
    )


def _elements(func: Any, args: tuple, kwargs: dict, refused: str, numbers: tuple) -> Any:
    if any(isinstance(a, Tensor) for a in numbers):
        raise TypeError(f"MaskedTensor {refused}")
    first = next(a for a in args if is_masked_tensor(a))
    data = [_data(a) for a in args]
    pattern = data[0] if isinstance(data[0], Tensor) else first._masked_data
    if pattern.layout is not strided:
        for i, t in enumerate(data[1:], 1):
            if isinstance(t, Tensor) and t.layout is not strided:
                if not _same_places(pattern, t):
                    kind = "sparse_coo" if pattern.layout is sparse_coo else "sparse_csr"
                    raise ValueError(
                        f"{kind} indices must match. If you need support for this, please open an issue on Github."
                    )
                data[i] = _parts(t)[1]
        data[0] = _parts(pattern)[1]
    name = func.overloadpacket.__name__
    result = func(*data, **kwargs)
    if pattern.layout is not strided:
        result = _with_values(pattern, result)
    if name.endswith("_"):
        args[0]._set_data_mask(result, args[0]._masked_mask)
        return args[0]
    mask = first._masked_mask
    return _wrap(result, mask.expand_as(result) if mask.layout is strided else mask)


def _passed(func: Any, *args: Any, **kwargs: Any) -> Any:
    """What moves elements moves the mask in the same way."""
    data = func(*_each(args, lambda t: t._masked_data), **kwargs)
    return _wrap(data, func(*_each(args, lambda t: t._masked_mask), **kwargs))


# ------------------------------------------------------------------------------------------ other operators


def _on_data(func: Any, t: MaskedTensor, *args: Any, **kwargs: Any) -> MaskedTensor:
    return MaskedTensor(func(t._masked_data, *args, **kwargs), t._masked_mask)


def _made_like(
    func: Any, t: MaskedTensor, *args: Any, pin_memory: Any = None, memory_format: Any = None, **kwargs: Any
) -> Any:
    if t.is_sparse:
        return MaskedTensor(
            _with_values(t._masked_data, func(_parts(t._masked_data)[1], *args, **kwargs)), t._masked_mask
        )
    return MaskedTensor(func(t._masked_data, *args, **kwargs), t._masked_mask)


def _new(func: Any, t: MaskedTensor, shape: Any, *args: Any, **kwargs: Any) -> MaskedTensor:
    data = func(t._masked_data, shape, *args, **kwargs)
    return MaskedTensor(data, ops.ones(data.shape, dtype=dtypes.bool_))


def _softmax(func: Any, t: MaskedTensor, dim: int, half_to_float: bool = False) -> MaskedTensor:
    kept = t._masked_data.masked_fill(~t._masked_mask, -math.inf)  # type: ignore[attr-defined]
    return MaskedTensor(ops.softmax(kept, dim).masked_fill(~t._masked_mask.any(dim, keepdim=True), 0), t._masked_mask)  # type: ignore[attr-defined]


def _softmax_gradient(func: Any, g: Any, output: Any, dim: int, kind: Any) -> MaskedTensor:
    if not (is_masked_tensor(g) and is_masked_tensor(output)):
        raise ValueError(f"__torch_dispatch__, {func}: grad and output must both be MaskedTensors")
    if not _masks_match(g, output):
        raise ValueError(f"__torch_dispatch__, {func}: expected the masks of grad and output to match")
    kept = g._masked_data.masked_fill(~g._masked_mask, 0)  # type: ignore[attr-defined]
    return MaskedTensor(func(kept, output._masked_data, dim, kind), g._masked_mask)


def _where(func: Any, condition: Tensor, x: Any, y: Any) -> MaskedTensor:
    x, y = (v if is_masked_tensor(v) else MaskedTensor(v, ops.ones_like(v, dtype=dtypes.bool_)) for v in (x, y))
    return MaskedTensor(
        func(condition, x._masked_data, y._masked_data), func(condition, x._masked_mask, y._masked_mask)
    )


def _copy(func: Any, target: Any, source: Any, *args: Any) -> Any:
    if not _masks_match(target, source):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    func(_data(target), _data(source))
    return target


def _item(func: Any, t: MaskedTensor) -> Any:
    if not t._masked_mask:
        raise ValueError(f"__torch_dispatch__, {func}: expected a mask tensor")
    return t._masked_data.item()


class _MaskedWhere(Function):
    @staticmethod
    def forward(ctx: Any, condition: Tensor, x: Any, y: Any) -> Any:
        ctx.save_for_backward(condition)
        return _where(operator("where").self, condition, x, y)

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        (condition,) = ctx.saved_tensors
        none = MaskedTensor(g._masked_data, ops.zeros_like(g._masked_mask))
        where = operator("where").self
        return None, _where(where, condition, g, none), _where(where, condition, none, g)


class _InLayout(Function):
    """Elements in another layout; the gradient comes back in the input's."""

    @staticmethod
    def forward(ctx: Any, t: MaskedTensor, layout: Any) -> Any:
        ctx.layout = t.layout
        data, mask = t._masked_data.detach(), t._masked_mask
        if layout is strided:
            return MaskedTensor(data.to_dense(), mask.to_dense())  # type: ignore[attr-defined]
        if layout is sparse_csr and data.dim() != 2:
            raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {data.size()}")
        sparse = mask.to_sparse().coalesce() if layout is sparse_coo else mask.to_sparse_csr()  # type: ignore[attr-defined]
        dense = data if data.layout is strided else data.to_dense()  # type: ignore[attr-defined]
        return MaskedTensor(_at_places_of(sparse, _Dense(dense)), sparse)

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        return g if g.layout is ctx.layout else _in_layout(g, ctx.layout), None


class _Dense:
    """A dense tensor where the code asks for one by `to_dense()`."""

    def __init__(self, t: Tensor):
        self._t = t

    def to_dense(self) -> Tensor:
        return self._t


def _in_layout(t: MaskedTensor, layout: Any) -> MaskedTensor:
    return t if t.layout is layout else _InLayout.apply(t, layout)


# ------------------------------------------------------------------------------------------ reductions


def _reduction(name: str) -> Callable:
    def reduce(t: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        if t.is_sparse and dim is not None:
            warn(f"The sparse version of {name} is not implemented in reductions.")
            return NotImplemented
        return _Reduce.apply(t, name, dim, keepdim, dtype)

    return reduce


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, t: MaskedTensor, name: str, dim: Any, keepdim: bool, dtype: Any) -> Any:
        data, mask = t._masked_data.detach(), t._masked_mask
        ctx.pattern = mask
        if t.is_sparse:
            places = _parts(data)
            data, mask = places[1], _parts(mask)[1]
        floating = data.is_floating_point()
        with enable_grad():
            leaf = data.requires_grad_() if floating and t.requires_grad else data
            result = _reduced(name, leaf, dim, keepdim, dtype, mask)
        ctx.result, ctx.leaf = result, leaf
        kept = mask.any() if dim is None else _any_over(mask, dim, keepdim)
        if not t.is_sparse or name not in ("argmin", "argmax"):
            return MaskedTensor(result.detach(), kept)
        at = tuple(p[..., int(result)] for p in places[0][0]) if t._masked_data.layout is sparse_coo else (int(result),)
        flat = sum(int(i) * math.prod(t.shape[d + 1 :]) for d, i in enumerate(at))
        return MaskedTensor(ops.tensor(flat), kept)

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        with no_grad():
            g = _data(g)
        (found,) = grad(ctx.result, ctx.leaf, g, retain_graph=True)
        found = found if ctx.pattern.layout is strided else _with_values(ctx.pattern, found)
        return MaskedTensor(found, ctx.pattern), None, None, None, None


def _any_over(mask: Tensor, dim: Any, keepdim: bool) -> Tensor:
    for d in sorted([dim] if isinstance(dim, int) else [d % mask.dim() for d in dim], reverse=True):
        mask = mask.any(d, keepdim=keepdim)  # type: ignore[attr-defined]
    return mask


def _reduced(name: str, data: Tensor, dim: Any, keepdim: bool, dtype: Any, mask: Tensor) -> Tensor:
    if name == "all":
        kept = data.masked_fill(~mask, True)  # type: ignore[attr-defined]
        return kept.all() if dim is None else kept.all(dim, keepdim=keepdim)
    return getattr(_masked_functions, name)(data, dim=dim, keepdim=keepdim, dtype=dtype, mask=mask)


# ------------------------------------------------------------------------------------------ tables

_UNARY = [
    "abs",
    "absolute",
    "acos",
    "arccos",
    "acosh",
    "arccosh",
    "angle",
    "asin",
    "arcsin",
    "asinh",
    "arcsinh",
    "atan",
    "arctan",
    "atanh",
    "arctanh",
    "bitwise_not",
    "ceil",
    "clamp",
    "clip",
    "conj_physical",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "floor",
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logit",
    "i0",
    "isnan",
    "nan_to_num",
    "neg",
    "negative",
    "positive",
    "pow",
    "rad2deg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sgn",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "relu",
    "threshold_backward",
]
_BINARY = [
    "add",
    "atan2",
    "arctan2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "div",
    "divide",
    "floor_divide",
    "fmod",
    "logaddexp",
    "logaddexp2",
    "mul",
    "multiply",
    "nextafter",
    "remainder",
    "sub",
    "subtract",
    "true_divide",
    "eq",
    "ne",
    "le",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "less_equal",
    "lt",
    "less",
    "rsub",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "not_equal",
    "xlogy",
]
_MOVES = [
    "select",
    "transpose",
    "split",
    "t",
    "slice",
    "slice_backward",
    "select_backward",
    "index",
    "expand",
    "view",
    "_unsafe_view",
    "cat",
    "unsqueeze",
    "unfold",
    "stack",
    "permute",
    "squeeze",
    "alias",
]
_REDUCES = ["sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "norm", "var", "std"]
_PLAIN = {"size", "stride", "dim", "numel", "item", "get_data", "get_mask", "requires_grad", "grad", "is_contiguous"}

_OPERATORS: dict[str, Callable] = {
    **{name + end: _unary for name in _UNARY for end in ("", "_")},
    **{name + end: _binary for name in _BINARY for end in ("", "_")},
    **dict.fromkeys((*_MOVES, "_rushlight__embed"), _passed),
    **dict.fromkeys(("ones_like", "zeros_like", "empty_like", "full_like", "rand_like", "randn_like"), _made_like),
    **dict.fromkeys(("new_zeros", "new_ones", "new_full", "new_empty"), _new),
    "detach": _on_data,
    "clone": _on_data,
    "_to_copy": _on_data,
    "_softmax": _softmax,
    "_softmax_backward_data": _softmax_gradient,
    "where": _where,
    "masked_fill": _on_data,
    "copy_": _copy,
    "_local_scalar_dense": _item,
    **{name: (lambda func, t, *args, _name=name, **kwargs: _reduction(_name)(t, *args, **kwargs)) for name in _REDUCES},
}
_OPERATORS["pow"] = lambda func, *args, **kwargs: (_binary if isinstance(args[1], Tensor) else _unary)(
    func, *args, **kwargs
)

_FUNCTIONS: dict[str, Callable] = {
    **{name: _reduction(name) for name in _REDUCES},
    "where": lambda condition, x, y: _MaskedWhere.apply(condition, x, y),
    "contiguous": lambda t, **kwargs: t if t.is_contiguous() else _passed(operator("contiguous").default, t),
}
