"""The transformer of Vaswani et al. (2017), "Attention is all you need": layers, stacks of them, and both stacks."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight import ops
from rushlight.core.dispatch.mode import emit_event, is_grad_enabled, thread
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.functional.attention import _canonical_mask, _type_of

from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


class TransformerEncoderLayer(Module):
    """Self-attention and two affine maps, each with a residual connection and a layer norm.

    Source: Vaswani et al., Attention Is All You Need, 2017.

    Args:
        activation: "relu", "gelu" or a function of one tensor.
        batch_first: the batch comes before the sequence.
        norm_first: the norms come before attention and affine maps instead of after the sums.
    Shape: (S, N, d_model), with `batch_first` (N, S, d_model), without batch (S, d_model) -> the same
    Raises:
        RuntimeError: `activation` is another text, as in `TransformerEncoderLayer(4, 2, activation="x")`.

    >>> TransformerEncoderLayer(4, 2, dim_feedforward=8)(ones(3, 1, 4)).shape
    torch.Size([3, 1, 4])
    """

    activation_relu_or_gelu: int

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)
        relu = self.activation is F.relu or isinstance(self.activation, ReLU)
        gelu = self.activation is F.gelu or isinstance(self.activation, GELU)
        self.activation_relu_or_gelu = 1 if relu else 2 if gelu else 0

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """A mask is True where a key is hidden, or numbers to add. ``is_causal`` says that ``src_mask`` is causal."""
        src_mask, padding = _masks(src_mask, "src_mask", src_key_padding_mask, src)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, padding, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        return self.dropout1(self.self_attn(x, x, x, key_padding_mask, False, attn_mask, is_causal=is_causal)[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's result, and two affine maps, each with a residual and a layer norm.

    Arguments as for `TransformerEncoderLayer`. Source: Vaswani et al., Attention Is All You Need, 2017.

    Shape: tgt (T, N, d_model), memory (S, N, d_model), with `batch_first` N first, or both without N -> the same as tgt
    Raises:
        RuntimeError: `activation` is another text, as in `TransformerDecoderLayer(4, 2, activation="x")`.

    >>> TransformerDecoderLayer(4, 2, dim_feedforward=8)(ones(3, 1, 4), ones(5, 1, 4)).shape
    torch.Size([3, 1, 4])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **made)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """A mask is True where a key is hidden, or numbers to add; ``..._is_causal`` says that it is the causal one."""
        seen = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        remembered = memory_mask, memory_key_padding_mask, memory_is_causal
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *seen)
            x = x + self._mha_block(self.norm2(x), memory, *remembered)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *seen))
        x = self.norm2(x + self._mha_block(x, memory, *remembered))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        return self.dropout1(self.self_attn(x, x, x, key_padding_mask, False, attn_mask, is_causal=is_causal)[0])

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended = self.multihead_attn(x, mem, mem, key_padding_mask, False, attn_mask, is_causal=is_causal)[0]
        return self.dropout2(attended)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """`num_layers` copies of `encoder_layer`, one after the other, then `norm`. The copies start out equal.

    `enable_nested_tensor`: where torch computes without the padding (evaluation, no gradients, the padding at the
    end; `mask_check=False` does not look where it is), its places are zeros after the last layer. A warning tells
    why a layer does not allow that.

    Shape: (S, N, d_model), as the layer takes it -> the same

    >>> layer = nn.TransformerEncoderLayer(4, 2, dim_feedforward=8, batch_first=True)
    >>> TransformerEncoder(layer, 2)(ones(1, 3, 4)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        obstacle = _obstacle(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not obstacle
        self.mask_check = mask_check
        if enable_nested_tensor and obstacle:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {obstacle}", stacklevel=2
            )

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """``is_causal=None``: find out whether ``mask`` is the causal one."""
        mask, padding = _masks(mask, "mask", src_key_padding_mask, src)
        causal = _is_causal(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first))
        x: Any = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if padding is not None and mask is None and self._drops(src, padding):
            x = x.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return x if self.norm is None else self.norm(x)

    def _drops(self, src: Tensor, padding: Tensor) -> bool:
        """Whether torch would compute without the padding."""
        first = self.layers[0]
        if not self.use_nested_tensor or first.training or src.dim() != 3:
            return False
        if thread.state.level > 1:
            emit_event("branched", padding)
        if self.mask_check and not _is_at_the_end(padding._array != 0):
            return False
        return not (is_grad_enabled() and any(t.requires_grad for t in (src, *first.parameters())))


class TransformerDecoder(Module):
    """`num_layers` copies of `decoder_layer`, one after the other, then `norm`. The copies start out equal.

    Shape: tgt (T, N, d_model), memory (S, N, d_model) -> the same as tgt

    >>> layer = nn.TransformerDecoderLayer(4, 2, dim_feedforward=8)
    >>> TransformerDecoder(layer, 2)(ones(3, 1, 4), ones(5, 1, 4)).shape
    torch.Size([3, 1, 4])
    """

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """``tgt_is_causal=None``: find out whether ``tgt_mask`` is the causal one."""
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first))
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder of the source and a decoder of the target that attends to it, both with a norm at the end.

    Arguments as for `TransformerEncoderLayer`. Source: Vaswani et al., Attention Is All You Need, 2017.

    Args:
        custom_encoder, custom_decoder: take the place of the stacks.
    Shape: src (S, N, d_model), tgt (T, N, d_model), with `batch_first` N first, or both without N -> the same as tgt
    Raises:
        RuntimeError: the features are not d_model, as in `Transformer(4, 2, 1, 1, 8)(ones(3, 1, 5), ones(2, 1, 4))`.

    >>> model = Transformer(4, 2, 1, 1, 8, batch_first=True)
    >>> model(ones(1, 3, 4), ones(1, 2, 4)).shape
    torch.Size([1, 2, 4])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            layer = TransformerEncoderLayer(*sizes, device=device, dtype=dtype)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        else:
            self.encoder = custom_encoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*sizes, device=device, dtype=dtype)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        else:
            self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """A mask is True where a key is hidden, or numbers to add.

        RuntimeError where batch or features of src and tgt do not fit.
        """
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask: 0 up to the diagonal, -inf above it. Shape: (sz, sz)"""
        return ops.full((sz, sz), -math.inf, dtype=dtype, device=device).triu(diagonal=1)


# ---------------------------------------------------------------------------------------------- layers and masks


def _get_activation_fn(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _obstacle(layer: Any) -> str:
    """Why torch does not compute without the padding in such a layer, in its words, or ''."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = (
        (layer.norm_first, "norm_first was True"),
        (
            not attention.batch_first,
            "self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (not attention._qkv_same_embed_dim, "self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, "activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, "norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, "self_attn.num_heads is odd"),
    )
    return next((f"encoder_layer.{reason}" for applies, reason in reasons if applies), "")


def _masks(mask: Tensor | None, name: str, padding: Tensor | None, src: Tensor) -> tuple[Any, Any]:
    """Both masks as numbers to add."""
    padding = _canonical_mask(padding, "src_key_padding_mask", _type_of(mask), name, src.dtype, stacklevel=4)
    return _canonical_mask(mask, name, None, "", src.dtype), padding


def _length(x: Tensor, batch_first: bool) -> int:
    return x.size(1 if batch_first and x.dim() == 3 else 0)


def _is_causal(mask: Any, said: bool | None, size: int) -> bool:
    """Whether the mask is the causal one; `said` if the caller says."""
    if said is not None or mask is None:
        return said is True
    if mask.shape != (size, size):
        return False
    return bool((mask == Transformer.generate_square_subsequent_mask(size, dtype=mask.dtype)).all())


def _is_at_the_end(padding: np.ndarray) -> bool:
    return not (padding[:, :-1] & ~padding[:, 1:]).any()
