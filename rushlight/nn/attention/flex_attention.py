"""`flex_attention`: attention whose scores pass through a function, and whose matrix has a mask made of another one.

Source: J. Dong and others, "Flex Attention: A Programming Model for Generating Optimized Attention Kernels" (2024).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from rushlight import ops
from rushlight.core.tensor.dtype import float32, float64
from rushlight.core.tensor.tensor import Tensor

from .block_mask import (
    _DEFAULT_SPARSE_BLOCK_SIZE,  # noqa: F401  (programs read it here)
    _LARGE_SPARSE_BLOCK_SIZE,
    BlockMask,
    _sliced_mask_mod_error,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
)
from .positions import at_positions

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_BACKENDS = ("AUTO", "TRITON", "FLASH", "TRITON_DECODE")


class AuxRequest(NamedTuple):
    """Which further results `flex_attention` should return."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """Those results; None for what was not asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def _identity(score: Tensor, batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    return score


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(score_mod(scale Q K^T), masked by block_mask) V; rows with nothing left are zero.

    score_mod(score, b, h, q_idx, kv_idx): the new score at a position; it may use tensors of its own, which get
    gradients. block_mask: from `create_block_mask`; its mask_mod decides for every place. scale: 1/sqrt(E) by default.
    enable_gqa: fewer heads in key and value, each for several of query. return_aux: also an `AuxOutput` with the
    logarithm of the sum of exponentials (B, H, L) and the largest scores (return_lse: the former alone).
    kernel_options choose between a GPU's kernels; they change no number.

    Shape: query (B, Hq, L, E), key (B, Hkv, S, E), value (B, Hkv, S, Ev) -> (B, Hq, L, Ev)
    """
    _check(query, key, value, block_mask, enable_gqa)
    _check_options(kernel_options or {})
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    if return_lse:
        warnings.warn(
            "return_lse is deprecated and will be removed in v2.10. Please use return_aux=AuxRequest(lse=True) instead.",
            FutureWarning,
            stacklevel=2,
        )
    if key.size(1) != query.size(1):
        key, value = (t.repeat_interleave(query.size(1) // t.size(1), dim=1) for t in (key, value))
    scores = _scores(query, key, score_mod or _identity, block_mask, scale)
    out = ops.softmax(scores, -1)
    if block_mask is not None:
        out = ops.where((scores == -math.inf).all(dim=-1, keepdim=True), ops.zeros_like(out), out)
    out = out.to(query.dtype) @ value.to(query.dtype).expand(query.size(0), -1, -1, -1)
    if return_aux is None and not return_lse:
        return out
    if return_aux is None:
        return out, _log_sum(scores)
    most = scores.detach().amax(dim=-1) if return_aux.max_scores else None
    return out, AuxOutput(_log_sum(scores) if return_aux.lse else None, most)


def _scores(query: Tensor, key: Tensor, score_mod: Callable, block_mask: BlockMask | None, scale: float | None):
    """The scores after modification and mask, in float32 (float64 for such a query)."""
    precision = float64 if query.dtype is float64 else float32
    scale = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = (query.to(precision) @ key.to(precision).transpose(-2, -1)) * scale
    sizes = tuple(scores.shape)
    if score_mod is not _identity:
        scores = at_positions(score_mod, sizes, scores).to(precision)
    if block_mask is None or block_mask.mask_mod is noop_mask:
        return scores
    return scores.masked_fill(~at_positions(block_mask.mask_mod, sizes), -math.inf)


def _log_sum(scores: Tensor) -> Tensor:
    empty = (scores == -math.inf).all(dim=-1)
    safe = ops.where(empty.unsqueeze(-1), ops.zeros_like(scores), scores)
    return safe.logsumexp(dim=-1).masked_fill(empty, -math.inf)


def _check_options(options: dict[str, Any]) -> None:
    if "BACKEND" in options and options["BACKEND"] not in _BACKENDS:
        raise ValueError(f"Invalid BACKEND value '{options['BACKEND']}'. Must be one of {_BACKENDS}")


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, enable_gqa: bool) -> None:
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension "
            f"but got E={query.size(-1)} and E={key.size(-1)}."
        )
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads, shared = query.size(1), key.size(1)
    if not enable_gqa and heads != shared:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={shared}. "
            "Try setting enable_gqa=True for GQA."
        )
    if heads % shared:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={shared}."
        )
    _check_batches(query, key, block_mask)
    if block_mask is not None:
        _check_mask(query.size(-2), key.size(-2), block_mask)


def _check_batches(query: Tensor, key: Tensor, block_mask: BlockMask | None) -> None:
    several, one = query.size(0), key.size(0)
    if several == one:
        return
    if block_mask is None:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, "
            f"but got block_mask=None, Bq={several}, and Bkv={one}."
        )
    if block_mask.kv_num_blocks.size(0) != several:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or block_mask and query to have the same batch size, "
            f"but got Bq={several}, Bkv={one}, B_block_mask={block_mask.kv_num_blocks.size(0)}."
        )
    if one != 1:
        raise RuntimeError(f"Bq and Bkv must broadcast. Got Bq={several} and Bkv={one}")


def _check_mask(q_len: int, kv_len: int, block_mask: BlockMask) -> None:
    if block_mask.mask_mod is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    if tuple(block_mask.BLOCK_SIZE) == (_LARGE_SPARSE_BLOCK_SIZE, _LARGE_SPARSE_BLOCK_SIZE):
        return
    rows, columns = block_mask.shape[-2:]
    text = f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={q_len} and kv_len={kv_len}. "
    if q_len > rows or kv_len > columns:
        raise ValueError(
            f"{text}As the block mask was created for a smaller length than you're using it for, you likely need to create "
            "a new block mask."
        )
    if q_len < rows or kv_len < columns:
        raise ValueError(
            f"{text}As the block mask was created for a larger length than you're using it for, you can either 1. create a "
            "new block mask with the correct length, or 2. 'adjust' the existing block mask to the correct length by "
            "calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the upper left corner, "
            "which does not work for all mask_mods!"
        )
