"""Attention: scaled dot products, and several heads of them between learned projections."""

from __future__ import annotations

import math
import warnings
from typing import Any

from rushlight.core.tensor.dtype import bool_, dtype
from rushlight.core.tensor.tensor import Tensor

from .operators import ops


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of `num_heads` heads between projections of the inputs.

    Source: Vaswani et al., Attention Is All You Need, 2017.

    AssertionError for ranks, extents and projections that do not fit; RuntimeError for masks that do not, and for
    `is_causal` without `attn_mask`.

    Args:
        bias_k, bias_v: one more key and value.
        add_zero_attn: whether a key and value of zeros are added.
        dropout_p: the probability with which a weight is set to zero in training.
        key_padding_mask: true where a key is hidden, or numbers to add to the scores.
        need_weights: also give the weights; their mean over the heads with `average_attn_weights`.
        attn_mask: true where a query does not see a key, or numbers to add to the scores.
        static_k, static_v: replace the projected keys and values: (N * heads, S, E / heads).
        is_causal: says that `attn_mask` is the causal one.
    Shape: query (L, N, E), key (S, N, Ek), value (S, N, Ev) -> (L, N, E), and the weights (N, L, S), or
        (N, heads, L, S) if they are not averaged; without N for inputs of two dimensions. attn_mask (L, S) or
        (N * heads, L, S), key_padding_mask (N, S)
    """
    batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    rows, n, embed_dim = query.shape
    masks = _masks_of(attn_mask, key_padding_mask, is_causal, need_weights, query.dtype)
    attn_mask, key_padding_mask, is_causal = masks
    _check_extents(key, value, embed_dim, embed_dim_to_check, num_heads, use_separate_proj_weight)
    attn_mask = _checked_mask(attn_mask, n, num_heads, rows, key.size(0))
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else (in_proj_weight,)
    q, k, v = _project((query, key, value), weights, in_proj_bias)
    k, v, added = _add_bias(k, v, bias_k, bias_v, static_k, static_v)
    q = _split_heads(q, num_heads)
    k = _split_heads(k, num_heads) if static_k is None else _static("static_k", static_k, n, num_heads, q.shape[-1])
    v = _split_heads(v, num_heads) if static_v is None else _static("static_v", static_v, n, num_heads, q.shape[-1])
    if add_zero_attn:
        k, v, added = _add_zeros(k), _add_zeros(v), added + 1
    mask = _merged_mask(attn_mask, key_padding_mask, added, n, k.shape[2])
    p = dropout_p if training else 0.0
    if need_weights:
        out, shares = _attend_with_weights(q, k, v, mask, p)
    else:
        out, shares = ops.scaled_dot_product_attention(q, k, v, mask, p, is_causal), None
    out = ops.linear(out.permute(2, 0, 1, 3).reshape(rows * n, embed_dim), out_proj_weight, out_proj_bias)
    return _results(out.view(rows, n, out.shape[-1]), shares, batched, average_attn_weights)


def _results(out: Tensor, shares: Tensor | None, batched: bool, average: bool) -> tuple[Tensor, Tensor | None]:
    """The outputs and the weights as the caller gets them."""
    if shares is not None and average:
        shares = shares.mean(dim=1)
    if batched:
        return out, shares
    return out.squeeze(1), None if shares is None else shares.squeeze(0)


# ---------------------------------------------------------------------------------------------- masks


def _masks_of(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool, need_weights: bool, kind: dtype
) -> tuple[Tensor | None, Tensor | None, bool]:
    """Both masks in the type of the scores, without the causal one where the product applies it by itself."""
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _type_of(attn_mask), "attn_mask", kind, stacklevel=4
    )
    if is_causal and key_padding_mask is None and not need_weights:
        return None, None, True
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", kind)
    return attn_mask, key_padding_mask, is_causal and key_padding_mask is None


def _type_of(mask: Tensor | None) -> dtype | None:
    """The type of a mask, if there is one."""
    return None if mask is None else mask.dtype


def _canonical_mask(
    mask: Any, name: str, other_type: dtype | None, other_name: str, target_type: dtype, stacklevel: int = 3
) -> Any:
    """The mask as numbers to add: a bool one becomes -inf where it is True. Warns where the other mask's type differs.

    AssertionError for a mask of integers.
    """
    if mask is None:
        return None
    if mask.dtype is not bool_ and not mask.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=stacklevel,
        )
    if mask.dtype is not bool_:
        return mask
    return ops.zeros(mask.shape, dtype=target_type).masked_fill_(mask, -math.inf)


def _checked_mask(mask: Any, n: int, heads: int, rows: int, columns: int) -> Any:
    """attn_mask with four dimensions. Shape: (L, S) -> (1, 1, L, S), (N * heads, L, S) -> (N, heads, L, S)"""
    if mask is None:
        return None
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    expected = (rows, columns) if mask.dim() == 2 else (n * heads, rows, columns)
    if mask.shape != expected:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}.")
    return mask.view(1, 1, rows, columns) if mask.dim() == 2 else mask.view(n, heads, rows, columns)


def _merged_mask(attn_mask: Any, key_padding_mask: Any, added: int, n: int, columns: int) -> Any:
    """The sum of both masks, which hide nothing of the `added` keys. Shape: broadcastable to (N, heads, L, S)"""
    if added and attn_mask is not None:
        attn_mask = ops.pad(attn_mask, (0, added))
    if key_padding_mask is None:
        return attn_mask
    if added:
        key_padding_mask = ops.pad(key_padding_mask, (0, added))
    for i, extent in enumerate((n, columns)):
        if key_padding_mask.shape[i] != extent:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{i}] to be {extent}, but got {key_padding_mask.shape[i]}"
            )
    key_padding_mask = key_padding_mask.view(n, 1, 1, columns)
    return key_padding_mask if attn_mask is None else attn_mask + key_padding_mask


# ---------------------------------------------------------------------------------------------- keys and values


def _project(inputs: tuple, weights: tuple, bias: Any) -> tuple:
    """Query, key and value, each times its weights. One product serves where the same tensor comes in."""
    query, key, value = inputs
    biases = (None, None, None) if bias is None else bias.chunk(3)
    if len(weights) == 3:
        return _project_separately(inputs, weights, biases)
    packed = weights[0]
    if packed is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    e = query.shape[-1]
    if key is value and query is key:
        return ops.linear(query, packed, bias).unflatten(-1, (3, e)).unbind(-2)
    if key is value:
        w_q, w_kv = packed.split([e, 2 * e])
        b_q, b_kv = (None, None) if bias is None else bias.split([e, 2 * e])
        return ops.linear(query, w_q, b_q), *ops.linear(key, w_kv, b_kv).unflatten(-1, (2, e)).unbind(-2)
    return tuple(ops.linear(x, w, b) for x, w, b in zip(inputs, packed.chunk(3), biases, strict=True))


def _project_separately(inputs: tuple, weights: tuple, biases: tuple) -> tuple:
    e = inputs[0].shape[-1]
    for name, x, w, b in zip(("query", "key", "value"), inputs, weights, biases, strict=True):
        if w is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name[0]}_proj_weight is None")
        if w.shape != (e, x.shape[-1]):
            raise AssertionError(f"expecting {name} weights shape of {(e, x.shape[-1])}, but got {w.shape}")
        if b is not None and b.shape != (e,):
            raise AssertionError(f"expecting {name} bias shape of {(e,)}, but got {b.shape}")
    return tuple(ops.linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True))


def _add_bias(k: Any, v: Any, bias_k: Any, bias_v: Any, static_k: Any, static_v: Any) -> tuple[Any, Any, int]:
    """Keys and values with one more, and how many were added."""
    if bias_k is None and bias_v is None:
        return k, v, 0
    if bias_v is None:
        raise AssertionError("bias_k is set but bias_v is None")
    if bias_k is None:
        raise AssertionError("bias_v is set but bias_k is None")
    for name, static in (("key", static_k), ("value", static_v)):
        if static is not None:
            raise AssertionError(f"bias cannot be added to static {name}.")
    n = k.shape[1]
    return ops.cat([k, bias_k.repeat(1, n, 1)]), ops.cat([v, bias_v.repeat(1, n, 1)]), 1


def _split_heads(x: Any, heads: int) -> Any:
    """Shape: (L, N, E) -> (N, heads, L, E / heads)"""
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).permute(1, 2, 0, 3)


def _static(name: str, given: Any, n: int, heads: int, head_dim: int) -> Any:
    """Shape: (N * heads, S, E / heads) -> (N, heads, S, E / heads)"""
    if given.shape[0] != n * heads:
        raise AssertionError(f"expecting {name}.size(0) of {n * heads}, but got {given.shape[0]}")
    if given.shape[2] != head_dim:
        raise AssertionError(f"expecting {name}.size(2) of {head_dim}, but got {given.shape[2]}")
    return given.view(n, heads, given.shape[1], head_dim)


def _add_zeros(x: Any) -> Any:
    n, heads, _, head_dim = x.shape
    return ops.cat([x, ops.zeros((n, heads, 1, head_dim), dtype=x.dtype)], dim=2)


def _attend_with_weights(q: Any, k: Any, v: Any, mask: Any, p: float) -> tuple[Any, Any]:
    """The result and the weights, both for every head. Shape: (N, heads, L, E / heads), (N, heads, L, S)"""
    n, heads, rows, head_dim = q.shape
    columns = k.shape[2]
    q, k, v = (x.reshape(n * heads, x.shape[2], head_dim) for x in (q * math.sqrt(1.0 / head_dim), k, v))
    if mask is None:
        scores = ops.bmm(q, k.transpose(-2, -1))
    else:
        mask = mask.expand(n, heads, rows, columns).reshape(n * heads, rows, columns)
        scores = ops.baddbmm(mask, q, k.transpose(-2, -1))
    weights = ops.softmax(scores, dim=-1)
    if p > 0.0:
        weights = ops.dropout(weights, p)
    return ops.bmm(weights, v).view(n, heads, rows, head_dim), weights.view(n, heads, rows, columns)


# ---------------------------------------------------------------------------------------------- checks


def _check_ranks(query: Tensor, key: Tensor, value: Tensor, padding: Any, mask: Any, heads: int) -> bool:
    """Whether the inputs have a batch dimension."""
    rank = query.dim()
    if rank not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    kind = "batched (3-D)" if rank == 3 else "unbatched (2-D)"
    if key.dim() != rank or value.dim() != rank:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {rank}-D but found {key.dim()}-D and {value.dim()}-D "
            "tensors respectively"
        )
    if padding is not None and padding.dim() != rank - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {rank - 1}-D but found {padding.dim()}-D "
            "tensor instead"
        )
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead"
        )
    expected = (heads, query.shape[0], key.shape[0])
    if mask is not None and rank == 2 and mask.dim() == 3 and mask.shape != expected:
        raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {mask.shape}")
    return rank == 3


def _check_extents(key: Tensor, value: Tensor, e: int, expected: int, heads: int, separate: bool) -> None:
    if e != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {e}")
    if e // heads * heads != e:
        raise AssertionError(f"embed_dim {e} not divisible by num_heads {heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
