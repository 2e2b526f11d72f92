"""Attention by scaled dot products.

Without dropout, and where the mask wants no gradient, a primitive computes it block by block (`attention_blocks`).
Everything else, and any backward that is itself recorded, takes the formula in the tensor language.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, prod, sqrt
from typing import Any

import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import may_branch_on_data, thread
from ...core.dispatch.op import OPS, composite, primitive
from ...core.tensor.casting import dense_like
from ...core.tensor.dtype import bool_, c_word
from ...core.tensor.tensor import Tensor, constant, type_word
from ..random.dropout import dropout
from . import attention_blocks

# ---------------------------------------------------------------------------------------------- in the tensor language


def _weights(query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float) -> Tensor:
    """softmax(query key^T scale + mask): how much each query takes of each value. Shape: (*, L, S)"""
    root = sqrt(abs(scale))
    scores = OPS["matmul"](query * copysign(root, scale), (key * root).transpose(-2, -1))
    if is_causal:
        mask = constant(on_device_of(scores._array, np.tri, *scores._array.shape[-2:], 0, bool))
    if mask is not None:
        if mask._array.dtype.kind == "b":
            mask = scores.new_zeros(mask._array.shape).masked_fill(mask.logical_not(), float("-inf"))
        scores = scores + mask
    return _softmax_or_nothing(scores)


def _softmax_or_nothing(scores: Any) -> Tensor:
    """softmax, but zeros instead of nan for a query that may see no key, as in torch."""
    blind = (scores.detach() == float("-inf")).all(-1, keepdim=True)
    if may_branch_on_data(blind) and not blind._array.any():
        return scores.softmax(-1)
    return scores.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)


def _by_formula(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, p: float, is_causal: bool, scale: float
) -> Tensor:
    kind = query.dtype
    if kind.itemsize == 2:  # torch keeps intermediate values in float
        query, key, value = query.float(), key.float(), value.float()  # type: ignore[attr-defined]
    out = OPS["matmul"](dropout(_weights(query, key, mask, is_causal, scale), p), value)
    return out.to(kind) if out.dtype is not kind else out


def _gradients_by_formula(
    g: Tensor, query: Any, key: Any, value: Any, mask: Tensor | None, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    weights = _weights(query, key, mask, is_causal, scale)
    slopes = OPS["matmul"](g, value.transpose(-2, -1))
    slopes = weights * (slopes - (slopes * weights).sum(-1, keepdim=True)) * scale  # type: ignore[attr-defined]
    turned = slopes.transpose(-2, -1), weights.transpose(-2, -1)  # type: ignore[attr-defined]
    return OPS["matmul"](slopes, key), OPS["matmul"](turned[0], query), OPS["matmul"](turned[1], g)


# ---------------------------------------------------------------------------------------------- block by block


def _matrices(a: np.ndarray) -> np.ndarray:
    """All leading dimensions as one, and at least single precision. Shape: (*, L, E) -> (N, L, E)"""
    a = a.astype(np.float32) if a.dtype.itemsize == 2 else a
    return a.reshape(prod(a.shape[:-2]), *a.shape[-2:])


def _mask(array: np.ndarray | None, query: np.ndarray, key: np.ndarray, kind: Any) -> attention_blocks.Mask | None:
    if array is None:
        return None
    return attention_blocks.Mask(array, query.shape[:-2], query.shape[-2], key.shape[-2], kind)


def _laid_out(matrices: np.ndarray, like: np.ndarray) -> np.ndarray:
    """`matrices` with the leading dimensions, the type and, as in torch, the order of memory of `like`."""
    shape = (*like.shape[:-1], matrices.shape[-1])
    if shape != like.shape or like.flags.c_contiguous or like.strides[-1] != like.itemsize:
        return matrices.reshape(shape).astype(like.dtype, copy=False)
    r = dense_like(like)
    r[...] = matrices.reshape(shape)
    return r


def _attend(query, key, value, attn_mask=None, /, is_causal=False, scale=1.0):
    """In 16 bits with rounded weights, as in torch's kernel."""
    return _attended(query, key, value, attn_mask, is_causal, scale, query.dtype if query.dtype.itemsize == 2 else None)


def _attended(query, key, value, attn_mask, is_causal, scale, rounded):
    q = _matrices(query)
    mask = _mask(attn_mask, query, key, q.dtype)
    out, shift, share = attention_blocks.forward(q, _matrices(key), _matrices(value), mask, is_causal, scale, rounded)
    return _laid_out(out, query), shift, share


def _attend_by_formula(query, key, value, attn_mask=None, /, is_causal=False, scale=1.0):
    """As torch's products of matrices, which are of float32, and whose result is C-contiguous."""
    out, shift, share = _attended(query, key, value, attn_mask, is_causal, scale, None)
    return np.ascontiguousarray(out, like=out), shift, share


def _rule(by_formula, g, query, key, value, attn_mask, out, shift, share, is_causal, scale):
    if thread.state.grad:
        return (*_gradients_by_formula(g, query, key, value, attn_mask, is_causal, scale), None)
    return (*_backward(g, query, key, value, out, shift, share, attn_mask, is_causal, scale, by_formula), None)


@primitive(public=False, name="scaled_dot_product_attention_backward", outputs=3, differentiable=False)
def _backward(
    grad, query, key, value, out, shift, share, attn_mask=None, /, is_causal=False, scale=1.0, by_formula=True
):
    """The gradients of query, key and value; `shift` and `share` as the forward primitive kept them.

    by_formula: with the memory order that torch's products leave, rather than its kernel's, which takes heads last but one.
    """
    inputs = _matrices(query), _matrices(key), _matrices(value)
    mask = _mask(attn_mask, query, key, inputs[0].dtype)
    results = _matrices(out), shift, share
    gradients = attention_blocks.backward(_matrices(grad), inputs, results, mask, is_causal, scale)
    arrays = (query, key, value)
    gradients = [g.reshape(a.shape).astype(a.dtype, copy=False) for g, a in zip(gradients, arrays, strict=True)]
    swapped: list[Any] = [None, (-1, -2), None] if by_formula else [(1, 2)] * 3
    if query.ndim == 2:  # torch's gradients of a product of two matrices follow those
        swapped = [(0, 1) if a.flags.f_contiguous and not a.flags.c_contiguous else None for a in arrays]
    return tuple(g if axes is None else _in_order_of(g, axes) for g, axes in zip(gradients, swapped, strict=True))


def _in_order_of(a: np.ndarray, axes: tuple[int, int]) -> np.ndarray:
    """The same numbers, in memory in the order that they have with two axes exchanged."""
    return np.ascontiguousarray(a.swapaxes(*axes), like=a).swapaxes(*axes)


def _is_not_whole(a: Any) -> bool:
    """Of what torch computes by formulas, on views of it: of a batch of heads it saves the tensors themselves."""
    return a.ndim != 4


def _primitive(node: str, kernel: Callable = _attend_by_formula) -> Callable[..., Tensor]:
    """The primitive, under the name of the node that torch records."""
    kept = dict.fromkeys(("query", "key", "value"), _is_not_whole)
    options: dict[str, Any] = {"extras": ("shift", "share"), "node": node, "keeps": kept}
    attend = primitive(public=False, name="scaled_dot_product_attention", **options)(kernel)
    by_formula = kernel is _attend_by_formula

    @attend.vjp
    def _(g, query, key, value, attn_mask, out, shift, share, is_causal, scale):
        return _rule(by_formula, g, query, key, value, attn_mask, out, shift, share, is_causal, scale)

    return attend


_matrix, _batch, _copied = map(_primitive, ("MmBackward0", "UnsafeViewBackward0", "ToCopyBackward0"))
_flash = _primitive("ScaledDotProductFlashAttentionForCpuBackward0", _attend)


def _primitive_for(query: np.ndarray, flash: bool) -> Callable[..., Tensor]:
    if flash:
        return _flash
    if query.dtype.itemsize == 2:
        return _copied
    return _matrix if query.ndim == 2 else _batch


# ---------------------------------------------------------------------------------------------- the function

_enabled = {"MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "OVERRIDEABLE"}


def choose_from(kernels: set[str]) -> set[str]:
    """Leave these kernels, by torch's names, to choose from; returns those of before. Here all of them are the same one."""
    global _enabled
    before, _enabled = _enabled, kernels
    return before


@composite(functional=True)
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    """softmax(query key^T scale + mask) value: each query's mean of the values, weighted by how well the keys fit.

    Source: Vaswani et al., Attention Is All You Need, 2017.

    Args:
        attn_mask: true where a key may be seen (bools), or numbers to add. A query that sees no key gets zeros.
        dropout_p: the probability with which a weight is set to zero.
        is_causal: query i sees the keys up to i.
        scale: 1 / sqrt(E) by default.
        enable_gqa: key and value have fewer heads, each of which serves several of the query's.
    Shape: query (*, L, E), key (*, S, E), value (*, S, Ev) -> (*, L, Ev)
    Raises:
        RuntimeError: a mask is given with is_causal, and the tensors have not four dimensions, as in
            `scaled_dot_product_attention(*[ones(1, 2, 3)] * 3, ones(2, 2), is_causal=True)`.

    >>> scaled_dot_product_attention(zeros(1, 1, 2), ones(1, 2, 2), tensor([[[1.0, 2.0], [3.0, 4.0]]]))
    tensor([[[2., 3.]]])
    """
    _check(query, key, value, attn_mask)
    if enable_gqa:
        key, value = _for_every_head(query, key, value)
    if scale is None:
        scale = 1 / sqrt(query._array.shape[-1] or 1)
    blocks = dropout_p == 0.0 and _fits_blocks(query, key, value, attn_mask)
    flash = blocks and query._array.ndim == 4 and query._array.shape[-1] == value._array.shape[-1]
    flash = flash and "FLASH_ATTENTION" in _enabled and all(map(_has_dense_rows, (query, key, value)))
    if not flash and "MATH" not in _enabled:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the "
            "math kernel and the fused kernels."
        )
    if is_causal and attn_mask is not None:
        if not flash:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        attn_mask, is_causal = _causal(attn_mask, query._array.shape[-2], key._array.shape[-2]), False
    if blocks:
        return _primitive_for(query._array, flash)(query, key, value, attn_mask, is_causal, scale)
    return _by_formula(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _causal(mask: Tensor, queries: int, keys: int) -> Tensor:
    """A mask in which query i sees no key after i."""
    seen = constant(on_device_of(mask._array, lambda: np.tri(queries, keys, dtype=bool)))
    return mask & seen if mask.dtype is bool_ else OPS["where"](seen, mask, float("-inf"))


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    for i, (name, t) in enumerate((("query", query), ("key", key), ("value", value))):
        if not isinstance(t, Tensor):
            raise type_error(
                f"scaled_dot_product_attention(): argument '{name}' (position {i + 1}) must be Tensor, not "
                f"{type(t).__name__}"
            )
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{c_word(query.dtype)} key.dtype: {c_word(key.dtype)} and value.dtype: {c_word(value.dtype)} instead."
        )
    if min(query._array.ndim, key._array.ndim, value._array.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query._array.ndim}, key.dim: {key._array.ndim} and value.dim: {value._array.ndim} instead."
        )
    if not query.dtype.is_floating_point:
        raise RuntimeError(f"expected scalar type Float but found {type_word(query.dtype)}")
    if mask is not None:
        _check_mask(query, mask)


def _check_mask(query: Tensor, mask: Tensor) -> None:
    kind = mask._array.dtype
    if kind.kind != "b" and kind != np.float32 and mask.dtype is not query.dtype:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{c_word(mask.dtype)} and  query.dtype: {c_word(query.dtype)} instead."
        )


def _for_every_head(query: Tensor, key: Any, value: Any) -> tuple[Tensor, Tensor]:
    """Keys and values repeated until there are as many heads as the query has."""
    if min(query._array.ndim, key._array.ndim, value._array.ndim) < 3:
        raise IndexError("Dimension out of range: enable_gqa needs the heads as dimension -3 of query, key and value")
    heads = query._array.shape[-3]
    if any(heads % (t._array.shape[-3] or 1) for t in (key, value)):
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query")
    return tuple(
        t if t._array.shape[-3] == heads else t.repeat_interleave(heads // t._array.shape[-3], -3) for t in (key, value)
    )


def _has_dense_rows(t: Tensor) -> bool:
    """Whether neighbours along the last dimension are neighbours in memory, as torch's kernel needs them."""
    a = t._array
    return type(a) is not np.ndarray or a.strides[-1] == a.itemsize or a.shape[-1] == 1


def _fits_blocks(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Whether nothing is broadcast but the mask, nothing is empty, and the mask wants no gradient."""
    q, k, v = query._array.shape, key._array.shape, value._array.shape
    if q[:-2] != k[:-2] or k[:-1] != v[:-1] or q[-1] != k[-1] or not prod(q) * prod(v):
        return False
    if mask is None:
        return True
    m, scores = mask._array.shape, (*q[:-1], k[-2])
    fits = len(m) <= len(scores) and all(a in (1, b) for a, b in zip(reversed(m), reversed(scores), strict=False))
    return fits and not mask.requires_grad
