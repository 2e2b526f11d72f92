"""What functions of torch do with nested tensors.

Functions of single elements, and of dimensions inside the parts, run once on all elements; others on one part after the
other. What torch refuses in a layout is refused here in its words; what is missing here raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from ...core.tensor.layout import jagged, strided
from ...core.tensor.node import shown_as
from ...core.tensor.tensor import Tensor, wrap
from .tensor import NestedInt, NestedTensor, like, of_parts

__all__ = ["call"]

_PLAIN = frozenset(
    {
        "add",
        "sub",
        "mul",
        "div",
        "true_divide",
        "neg",
        "relu",
        "gelu",
        "silu",
        "tanh",
        "cos",
        "sin",
        "abs",
        "sqrt",
        "eq",
        "ne",
        "gt",
        "ge",
        "lt",
        "le",
        "masked_fill",
        "fill",
        "zero",
        "copy",
        "ones_like",
        "zeros_like",
        "empty_like",
        "clone",
        "detach",
        "dropout",
        "to",
        "float",
        "double",
        "half",
        "bfloat16",
        "long",
        "int",
        "bool",
        "cpu",
        "sgn",
        "logical_not",
        "requires_grad",
        "isnan",
        "isinf",
        "rsub",
        "type_as",
    }
)  # of single elements, in both layouts
_JAGGED = frozenset(
    {
        "exp",
        "log",
        "log1p",
        "log2",
        "expm1",
        "sigmoid",
        "pow",
        "square",
        "reciprocal",
        "rsqrt",
        "clamp",
        "clamp_min",
        "clamp_max",
        "where",
        "maximum",
        "minimum",
        "rand_like",
        "randn_like",
        "full_like",
        "leaky_relu",
        "elu",
        "softplus",
        "logsigmoid",
        "hardtanh",
        "relu6",
        "mish",
        "selu",
        "erf",
        "floor",
        "ceil",
        "round",
        "trunc",
        "sign",
        "lerp",
        "addcmul",
        "addcdiv",
        "fmod",
        "remainder",
        "floor_divide",
        "logical_and",
        "logical_or",
        "logical_xor",
        "bitwise_and",
        "bitwise_or",
        "bitwise_not",
        "isfinite",
        "nan_to_num",
        "sinh",
        "cosh",
        "tan",
        "atan",
        "asin",
        "acos",
        "atan2",
        "hypot",
        "sub",
        "linear",
        "rdiv",
        "rtruediv",
        "rpow",
        "rfloordiv",
        "rmod",
        "threshold",
        "hardswish",
        "hardsigmoid",
        "hardshrink",
        "softshrink",
        "tanhshrink",
        "celu",
    }
)  # in the jagged layout
_REDUCTIONS = frozenset({
    "sum", "mean", "amax", "amin", "prod", "all", "any", "logsumexp", "argmax", "argmin", "var", "std", "nansum", "norm",
})  # fmt: skip
_NAMES = {"matmul": "matmul", "bmm": "matmul", "mm": "matmul", "concat": "cat", "concatenate": "cat", "contiguous": "clone",
          "multiply": "mul", "divide": "div", "subtract": "sub", "negative": "neg", "absolute": "abs", "greater": "gt",
          "less": "lt", "invert": "bitwise_not", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
          "and": "logical_and", "or": "logical_or"}  # fmt: skip


_ATEN = {"mean": "mean.dim", "pow": "pow.Tensor_Scalar", "norm": "linalg_vector_norm"}


def call(func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """A function of torch, with nested tensors among its arguments."""
    full = getattr(func, "__name__", str(func)).strip("_") if func else ""
    in_place = getattr(func, "__name__", "").endswith("_") and not func.__name__.startswith("__")
    if getattr(func, "__name__", "").startswith("__i") and full[1:] in _PLAIN:
        full, in_place = full[1:], True
    name = _NAMES.get(full, full)
    nested = [a for a in _flat(args, kwargs) if isinstance(a, NestedTensor)]
    first = nested[0]
    rules = _OF_JAGGED if first._layout is jagged else _OF_STRIDED
    if name in rules:
        return rules[name](func, *args, **kwargs)
    if name in _PLAIN or (first._layout is jagged and name in _JAGGED):
        return _by_element(name, func, first, args, kwargs, in_place)
    if name in _REDUCTIONS and first._layout is jagged:
        return _reduced(name, func, *args, **kwargs)
    if name in ("shape", "dtype", "device", "get", "is_floating_point", "is_complex", "size", "dim", "numel"):
        return func(*args, **kwargs)
    raise _missing(name, first)


def _flat(args: Any, kwargs: dict[str, Any]) -> list:
    found: list = []
    for a in (*args, *kwargs.values()):
        found.extend(a if isinstance(a, (list, tuple)) else [a])
    return found


def _missing(name: str, t: Any) -> Exception:
    if t._layout is strided:
        if name in ("unflatten", "flatten", "mse_loss"):
            return RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")
        return NotImplementedError(
            f"Could not run 'aten::{_ATEN.get(name, name)}' with arguments from the 'NestedTensorCPU' backend. This could be "
            "because the operator doesn't exist for this backend, or was omitted during the selective/custom build process "
            "(if using custom build)."
        )
    return NotImplementedError(f"{name}(): nested tensors of layout torch.jagged are not implemented")


# ---------------------------------------------------------------------------------------------- of single elements


def _by_element(name: str, func: Callable, t: Any, args: tuple, kwargs: dict[str, Any], in_place: bool) -> Any:
    plain = [_operand(name, a, t) for a in args]
    options = {k: _operand(name, v, t) for k, v in kwargs.items()}
    result = func(*plain, **options)
    if in_place or result is t._entries:
        return t
    return shown_as(like(t, result), "LinearBackward0") if name == "linear" else like(t, result)


def _operand(name: str, a: Any, t: Any) -> Any:
    if isinstance(a, NestedTensor):
        _check_lengths(name, a, t)
        return a._entries
    if not isinstance(a, Tensor) or not a.dim() or name == "linear":
        return a
    if t._layout is strided:
        if a.numel() == 1:
            return a.reshape(())  # type: ignore[attr-defined]
        raise RuntimeError("Expected both self and other to be nested, but got a nested self and non-nested other")
    return _aligned(name, a, t)


def _check_lengths(name: str, a: Any, t: Any) -> None:
    if a._layout is not t._layout:
        raise RuntimeError(f"{name}(): nested tensors of different layouts")
    if a is t:
        return
    if t._layout is strided:
        if a._shapes != t._shapes:
            raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
    elif name == "copy" and np.array_equal(a._offsets._array, t._offsets._array):
        return
    elif a._symbol is not t._symbol or a._ragged_idx != t._ragged_idx:
        raise RuntimeError(
            f"cannot call binary pointwise function {name} with inputs of shapes {tuple(t.shape)} and {tuple(a.shape)}"
        )


def _aligned(name: str, a: Tensor, t: Any) -> Tensor:
    """A dense operand as the elements need it: one row for each of theirs, where it has one for each part."""
    rank, ragged = t.dim(), t._ragged_idx
    if a.dim() < rank - ragged + 1 or (a.dim() < rank and a.shape[a.dim() - (rank - ragged)] == 1):
        return a
    if a.dim() < rank:
        raise RuntimeError(f"{name}(): a tensor of shape {tuple(a.shape)} does not fit lengths that differ")
    lengths = np.diff(t._offsets._array)
    if a.shape[ragged] == 1:
        if a.shape[0] == 1:
            return a.squeeze(0)  # type: ignore[attr-defined]
        if ragged != 1:
            raise NotImplementedError(f"{name}(): a dense operand of a transposed nested tensor")
        return a.squeeze(1)[wrap(np.repeat(np.arange(len(lengths)), lengths))]  # type: ignore[attr-defined]
    if ragged == 1 and a.shape[0] == len(lengths) and a.shape[1] >= lengths.max(initial=0):
        return ops.cat([a[i, :n] for i, n in enumerate(lengths.tolist())])
    raise RuntimeError(f"{name}(): cannot broadcast a tensor of shape {tuple(a.shape)} to {tuple(t.shape)}")


# ---------------------------------------------------------------------------------------------- of parts


def _each(func: Callable, t: Any, *others: Any, layout: Any = None, **options: Any) -> Any:
    """The function of each part."""
    rows = zip(*(x.unbind() for x in (t, *others)), strict=True)
    return of_parts([func(*row, **options) for row in rows], layout or t._layout)


def _inside(name: str, t: Any, dim: int) -> int:
    """A dimension as one of the elements of a jagged tensor, after that of the lengths."""
    rank = t.dim()
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    d = dim % rank
    if d == 0 or d == t._ragged_idx:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim={d}")
    return d - 1


def _reduced(
    name: str, func: Callable, t: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, **rest: Any
) -> Any:
    options = {**rest, **({} if dtype is None else {"dtype": dtype})}
    if name == "norm":
        raise _missing(name, t)
    if dim is None:
        return func(t._entries, **options)
    rank = t.dim()
    dims = sorted(d % rank for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    if 0 in dims:
        if dims[:2] == [0, 1] and t._ragged_idx == 1 and not keepdim:
            return func(t._entries, dim=[0, *(d - 1 for d in dims[2:])], **options)
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    inside: Any = [d - 1 for d in dims]
    inside = inside if isinstance(dim, (tuple, list)) else inside[0]
    if t._ragged_idx in dims:
        parts = [func(p, dim=inside, keepdim=keepdim, **options) for p in t.unbind()]
        return ops.stack(parts)
    ragged = t._ragged_idx if keepdim else t._ragged_idx - sum(d < t._ragged_idx for d in dims)
    return like(t, func(t._entries, dim=inside, keepdim=keepdim, **options), ragged)


def _softmax(func: Callable, t: Any, dim: int = -1, *args: Any, **kwargs: Any) -> Any:
    rank, kwargs = t.dim(), {k: v for k, v in kwargs.items() if k != "_stacklevel"}
    d = dim % rank
    if d == 0:
        raise RuntimeError("softmax(): not supported for NestedTensor on dim=0")
    if t._layout is jagged and d != t._ragged_idx:
        return like(t, func(t._entries, d - 1, **kwargs))
    if t._layout is jagged:
        return like(t, ops.cat([func(p, d - 1, **kwargs) for p in t.unbind()], d - 1))
    return _each(lambda p: func(p, d - 1, **kwargs), t)


def _linear(func: Callable, t: Any, weight: Tensor, bias: Any = None) -> Any:
    if t._layout is jagged:
        return like(t, shown_as(func(t._entries, weight, bias), "LinearBackward0"))
    width = _width(t)
    rows = func(t._entries.view(-1, width), weight, bias)
    made = like(t, shown_as(rows.reshape(-1), "LinearBackward0"))
    made._shapes = [(*s[:-1], weight.shape[0]) for s in t._shapes]
    return made


def _width(t: Any) -> int:
    width = t.size(-1)
    if isinstance(width, NestedInt):
        raise RuntimeError("Expected the last dimension of a nested tensor to have one size")
    return width


def _layer_norm(func: Callable, t: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    if t._layout is jagged:
        return like(t, func(t._entries, shape, weight, bias, eps))
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    rows = func(t._entries.view(-1, *shape), shape, weight, bias, eps)
    return like(t, shown_as(rows.reshape(-1), "NativeLayerNormBackward0"))


def _rms_norm(func: Callable, t: Any, shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    return like(t, func(t._entries, shape, weight, eps))


def _embedding(func: Callable, t: Any, weight: Tensor, *args: Any, **kwargs: Any) -> Any:
    if t._layout is jagged:
        return like(t, func(t._entries, weight, *args, **kwargs))
    return _each(lambda p: func(p, weight, *args, **kwargs), t)


def _matmul(func: Callable, t: Any, other: Any) -> Any:
    both = isinstance(t, NestedTensor) and isinstance(other, NestedTensor)
    if (t if isinstance(t, NestedTensor) else other)._layout is strided:
        if not both:
            which = ("a nested", "non-nested") if isinstance(t, NestedTensor) else ("non-nested", "a nested")
            raise RuntimeError(f"Expected both to be nested, but got {which[0]} self and {which[1]} other")
        return _each(ops.matmul, t, other)
    if not both and isinstance(t, NestedTensor) and t._ragged_idx < t.dim() - 1:
        if other.dim() == 2:
            return like(t, ops.matmul(t._entries, other))
        if other.dim() == t.dim():
            return like(t, ops.cat([p @ w for p, w in zip(t.unbind(), other.unbind(), strict=True)], t._ragged_idx - 1))
    shapes = [tuple(x.shape) if isinstance(x, NestedTensor) else x.shape for x in (t, other)]
    raise RuntimeError(f"matmul(): not supported between inputs of shapes {shapes[0]} and {shapes[1]}")


def _attention(func: Callable, query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **kw: Any) -> Any:
    if attn_mask is not None:
        raise NotImplementedError("scaled_dot_product_attention: attn_mask with nested tensors is not implemented")
    if not all(isinstance(t, NestedTensor) for t in (query, key, value)):
        raise RuntimeError(
            "scaled_dot_product_attention: query, key and value have to be nested tensors, or none of them"
        )
    parts = [func(*(p[None] for p in row), None, *args, **kw)[0] for row in _rows(query, key, value)]
    if query._layout is strided:
        return of_parts(parts, strided)
    return like(query, ops.cat(parts, query._ragged_idx - 1))


def _rows(*tensors: Any) -> Any:
    return zip(*(t.unbind() for t in tensors), strict=True)


# ---------------------------------------------------------------------------------------------- shapes


def _transpose(func: Callable, t: Any, dim0: int, dim1: int) -> Any:
    rank = t.dim()
    a, b = dim0 % rank, dim1 % rank
    if a == b:
        return t
    if 0 in (a, b):
        raise RuntimeError("Transpose is not supported on dimension 0 for NestedTensor.")
    if t._layout is strided:
        return _each(lambda p: p.transpose(a - 1, b - 1), t)
    moved = {a: b, b: a}
    return like(t, t._entries.transpose(a - 1, b - 1), moved.get(t._ragged_idx, t._ragged_idx))


def _permute(func: Callable, t: Any, *given: Any) -> Any:
    dims: Any = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    order = [d % t.dim() for d in dims]
    if order[0] != 0:
        raise RuntimeError("permute(): not supported for NestedTensor on dim=0")
    return like(t, t._entries.permute([d - 1 for d in order[1:]]), order.index(t._ragged_idx))


def _view(func: Callable, t: Any, *given: Any) -> Any:
    sizes: Any = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    if not sizes or sizes[0] not in (-1, t._count()):
        raise RuntimeError(f"view(): the first size of a nested tensor of {t._count()} parts has to be {t._count()}")
    if t._layout is strided:
        shaped = [
            p.reshape([p.shape[i] if k == -1 and i < p.dim() else k for i, k in enumerate(sizes[1:])])
            for p in t.unbind()
        ]
        return of_parts(shaped, strided)
    ragged = t._ragged_idx
    if sizes[ragged] is not t._symbol and sizes[ragged] != -1:
        raise RuntimeError(f"view(): cannot view shape {tuple(t.shape)} as {tuple(sizes)}")
    before = sizes[1:ragged]
    return like(t, t._entries.reshape(*before, t._entries.shape[ragged - 1], *sizes[ragged + 1 :]))


def _unflatten(func: Callable, t: Any, dim: int, sizes: Any) -> Any:
    return like(t, t._entries.unflatten(_inside("unflatten", t, dim), sizes))


def _flatten(func: Callable, t: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    return like(t, t._entries.flatten(_inside("flatten", t, start_dim), _inside("flatten", t, end_dim)))


def _unsqueeze(func: Callable, t: Any, dim: int) -> Any:
    d = dim % (t.dim() + 1)
    if d == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    if t._layout is strided:
        return _each(lambda p: p.unsqueeze(d - 1), t)
    return like(t, t._entries.unsqueeze(d - 1), t._ragged_idx + (d <= t._ragged_idx))


def _squeeze(func: Callable, t: Any, dim: int) -> Any:
    d = dim % t.dim()
    if t._layout is strided:
        return _each(lambda p: p.squeeze(d - 1), t)
    inside = _inside("squeeze", t, dim)
    ragged = t._ragged_idx - (d < t._ragged_idx and t._entries.shape[inside] == 1)
    return like(t, t._entries.squeeze(inside), ragged)


def _select(func: Callable, t: Any, dim: int, index: int) -> Any:
    if dim % t.dim() == 0:
        return t.unbind()[index]
    if t._layout is strided:
        return _each(lambda p: p.select(dim % t.dim() - 1, index), t)
    inside = _inside("select", t, dim)
    return like(t, t._entries.select(inside, index), t._ragged_idx - (inside < t._ragged_idx - 1))


def _getitem(func: Callable, t: Any, index: Any) -> Any:
    items = index if isinstance(index, tuple) else (index,)
    if isinstance(items[0], int):
        part = t.unbind()[items[0]]
        return part[items[1:]] if len(items) > 1 else part
    if items[0] is Ellipsis and t._layout is jagged and len(items) <= t.dim() - t._ragged_idx:
        return like(t, t._entries[index])
    if t._layout is strided:
        raise _missing("slice.Tensor", t)
    raise RuntimeError("slice(): not supported for NestedTensor on dim=0")


def _several(func: Callable, t: Any, size: Any, dim: int = 0) -> tuple:
    name = getattr(func, "__name__", "split")
    if t._layout is jagged:
        return tuple([like(t, v) for v in func(t._entries, size, _inside(name, t, dim))])
    if name != "chunk":
        raise _missing("split.Tensor", t)
    if dim % t.dim() != t.dim() - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    rows = [func(p, size, -1) for p in t.unbind()]
    return tuple([of_parts(list(parts), strided) for parts in zip(*rows, strict=True)])


def _cat(func: Callable, tensors: Any, dim: int = 0) -> Any:
    t = next(x for x in tensors if isinstance(x, NestedTensor))
    if not all(isinstance(x, NestedTensor) and x._layout is t._layout for x in tensors):
        raise RuntimeError("cat(): all tensors have to be nested tensors of one layout")
    if t._layout is strided:
        if dim % t.dim() == 0:
            return of_parts([p for x in tensors for p in x.unbind()], strided)
        return of_parts([ops.cat(row, dim % t.dim() - 1) for row in _rows(*tensors)], strided)
    for x in tensors:
        _check_lengths("cat", x, t)
    return like(t, ops.cat([x._entries for x in tensors], _inside("cat", t, dim)))


def _last_sum(func: Callable, t: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dim is None:
        raise _missing("sum", t)
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    if dims[0] % t.dim() != t.dim() - 1:
        raise RuntimeError(
            f"NestedTensor can only be reduced across the last dimension for now got dimension {dims[0]} instead."
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return _each(lambda p: p.sum(-1, keepdim=True, dtype=dtype), t)


def _where(func: Callable, condition: Any, *args: Any) -> Any:
    t = next(a for a in (condition, *args) if isinstance(a, NestedTensor))
    if t._layout is strided:
        raise RuntimeError("self must not be nested")
    return _by_element("where", func, t, (condition, *args), {}, False)


def _dropout(
    func: Callable, t: Any, p: float = 0.5, train: bool = True, inplace: bool = False, *, training: bool = True
) -> Any:
    """As `native_dropout`, which draws whatever `p` is; torch's dense one does not where `p` is 0."""
    if inplace or getattr(func, "__name__", "").endswith("_"):
        raise _missing("bernoulli_", t)
    train = train and training  # torch.dropout's name of it, and nn.functional's
    func(t._entries[:0], p, train)  # raises what is wrong with `p`, in the function's own words
    return like(t, shown_as(ops.native_dropout(t._entries, p, train)[0], "NativeDropoutBackward0"))


def _same_size(func: Callable, a: Any, b: Any) -> bool:
    if a._layout is strided:
        return b._layout is strided and a._shapes == b._shapes
    return b._layout is jagged and tuple(a.shape) == tuple(b.shape)


def _contiguous_clone(func: Callable, t: Any, **kwargs: Any) -> Any:
    return like(t, t._entries.clone())


_BOTH: dict[str, Callable] = {
    "softmax": _softmax, "linear": _linear, "layer_norm": _layer_norm, "embedding": _embedding, "matmul": _matmul,
    "scaled_dot_product_attention": _attention, "transpose": _transpose, "view": _view, "reshape": _view,
    "unsqueeze": _unsqueeze, "squeeze": _squeeze, "select": _select, "getitem": _getitem, "chunk": _several,
    "split": _several, "cat": _cat, "where": _where, "is_same_size": _same_size, "clone": _contiguous_clone,
    "unbind": lambda func, t, dim=0: t.unbind(dim), "swapaxes": _transpose, "swapdims": _transpose,
    "log_softmax": _softmax,
}  # fmt: skip
_OF_JAGGED = {
    **_BOTH, "permute": _permute, "unflatten": _unflatten, "flatten": _flatten, "rms_norm": _rms_norm, "dropout": _dropout,
}  # fmt: skip
_OF_STRIDED = {**_BOTH, "sum": _last_sum}
