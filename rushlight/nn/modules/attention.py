"""Attention with several heads."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.functional.attention import _canonical_mask, _type_of
from rushlight.nn.parameter import Parameter

from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention of `num_heads` heads, each with its projections of query, key and value.

    `in_proj_weight` (3 E, E), or `q_proj_weight` (E, E), `k_proj_weight` (E, kdim) and `v_proj_weight` (E, vdim) where the
    features differ: Xavier-uniform; `in_proj_bias` (3 E): zeros. Source: Vaswani et al., Attention Is All You Need, 2017.

    Args:
        embed_dim: E, a multiple of `num_heads`.
        add_bias_kv: one more key and value, which are learned.
        add_zero_attn: one more key and value of zeros.
        kdim, vdim: features of key and value; E by default.
        batch_first: the batch comes before the sequence.
    Shape: query (L, N, E), key (S, N, kdim), value (S, N, vdim) -> (L, N, E), and the weights (N, L, S); without N for
        inputs of two dimensions
    Raises:
        AssertionError: E is no multiple of `num_heads`, as in `MultiheadAttention(5, 2)`.

    >>> x = ones(3, 1, 4)
    >>> output, weights = MultiheadAttention(4, 2)(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([3, 1, 4]), torch.Size([1, 3, 3]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._register("in_proj_weight", self._qkv_same_embed_dim, (3 * embed_dim, embed_dim), device, dtype)
        for name, features in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            wanted = not self._qkv_same_embed_dim
            self._register(f"{name}_proj_weight", wanted, (embed_dim, features), device, dtype)
        self._register("in_proj_bias", bias, (3 * embed_dim,), device, dtype)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k = Parameter(ops.empty((1, 1, embed_dim), device=device, dtype=dtype))
            self.bias_v = Parameter(ops.empty((1, 1, embed_dim), device=device, dtype=dtype))
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _register(self, name: str, wanted: bool, shape: tuple[int, ...], device: Any, dtype: Any) -> None:
        self.register_parameter(name, Parameter(ops.empty(shape, device=device, dtype=dtype)) if wanted else None)

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The result, and the weights if they are needed: their mean over the heads, or (N, num_heads, L, S).

        A mask is True where a key is hidden, or numbers to add. ``key_padding_mask`` (N, S), ``attn_mask`` (L, S) or
        (N * num_heads, L, S). ``is_causal`` says that ``attn_mask`` is the causal one.
        """
        key_padding_mask = _canonical_mask(
            key_padding_mask, "key_padding_mask", _type_of(attn_mask), "attn_mask", query.dtype
        )
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)
        turn = self.batch_first and query.dim() == 3
        if turn:
            query, key, value = _batch_second(query, key, value)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return out.transpose(1, 0) if turn else out, weights


def _batch_second(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """The inputs with the batch as second dimension; what was the same tensor stays the same."""
    turned: dict[int, Tensor] = {}
    return [turned.setdefault(id(x), x.transpose(1, 0)) for x in (query, key, value)]
