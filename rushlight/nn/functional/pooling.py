"""Pooling."""

from __future__ import annotations

from .operators import ops

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

max_pool1d = ops.max_pool1d
max_pool2d = ops.max_pool2d
max_pool3d = ops.max_pool3d
max_unpool1d = ops.max_unpool1d
max_unpool2d = ops.max_unpool2d
max_unpool3d = ops.max_unpool3d
fractional_max_pool2d = ops.fractional_max_pool2d
fractional_max_pool3d = ops.fractional_max_pool3d
avg_pool1d = ops.avg_pool1d
avg_pool2d = ops.avg_pool2d
avg_pool3d = ops.avg_pool3d
lp_pool1d = ops.lp_pool1d
lp_pool2d = ops.lp_pool2d
lp_pool3d = ops.lp_pool3d
adaptive_max_pool1d = ops.adaptive_max_pool1d
adaptive_max_pool2d = ops.adaptive_max_pool2d
adaptive_max_pool3d = ops.adaptive_max_pool3d
adaptive_avg_pool1d = ops.adaptive_avg_pool1d
adaptive_avg_pool2d = ops.adaptive_avg_pool2d
adaptive_avg_pool3d = ops.adaptive_avg_pool3d
