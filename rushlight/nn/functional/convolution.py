"""Affine maps, convolutions and attention: products of inputs with weights."""

from __future__ import annotations

from .operators import ops

__all__ = [
    "bilinear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "linear",
    "multi_head_attention_forward",
    "scaled_dot_product_attention",
    "unfold",
]

linear = ops.linear
bilinear = ops.bilinear
conv1d = ops.conv1d
conv2d = ops.conv2d
conv3d = ops.conv3d
conv_tbc = ops.conv_tbc
conv_transpose1d = ops.conv_transpose1d
conv_transpose2d = ops.conv_transpose2d
conv_transpose3d = ops.conv_transpose3d
unfold = ops.unfold
fold = ops.fold
scaled_dot_product_attention = ops.scaled_dot_product_attention
multi_head_attention_forward = ops.multi_head_attention_forward
