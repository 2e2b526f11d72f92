"""`HistogramObserver`: the range whose levels are nearest to the values seen, in the mean of squares."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import ops
from ...core.tensor import dtype as dtypes
from ...core.tensor import layout
from ...core.tensor.tensor import Tensor, wrap
from ...ops.quantized.tensor import LEVELS
from .observers import _EPS, UniformQuantizationObserverBase

__all__ = ["HistogramObserver", "default_histogram_observer"]

_STEP = 1e-5  # of the values, by which the search leaves out more of them
_UPSAMPLE = 16  # parts of a bin when its values move to other bins


class HistogramObserver(UniformQuantizationObserverBase):
    """A histogram of the values of all tensors that it was called with, which chooses the range.

    The search starts with the range of all values and leaves out quantiles, in turn at the end that has more bins to them,
    for as long as the squared error of rounding to levels falls: within a level of width w around c, values of
    density d from a to b add d ((b - c)^3 - (a - c)^3) / 3.

    Args:
        bins: of the histogram.
        quant_min, quant_max: the levels to use (default: all of the dtype's). eps: the smallest scale.
    """

    histogram: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(
        self, bins: int = 2048, dtype: Any = dtypes.quint8, qscheme: Any = layout.per_tensor_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None, eps: float = _EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if qscheme not in (layout.per_tensor_affine, layout.per_tensor_symmetric):
            raise NotImplementedError(
                "HistogramObserver's qscheme only support torch.per_tensor_symmetric                     and "
                "torch.per_tensor_affine."
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.bins = bins
        self.register_buffer("histogram", ops.zeros(bins, **(factory_kwargs or {})))
        self.register_buffer("min_val", ops.tensor(float("inf"), **(factory_kwargs or {})))
        self.register_buffer("max_val", ops.tensor(float("-inf"), **(factory_kwargs or {})))
        self.dst_nbins = 2 ** (8 * LEVELS[dtype].itemsize)
        self.upsample_rate = _UPSAMPLE

    def forward(self, x_orig: Tensor) -> Tensor:
        """Look at a tensor. Returns it."""
        x: Any = x_orig.detach()
        if not x.numel():
            return x_orig
        low, high = ops.aminmax(x)
        if low == -float("inf") or high == float("inf"):
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            x = x[x.abs() != float("inf")]
            if not x.numel():
                return x_orig
            low, high = ops.aminmax(x)
        if self.min_val == float("inf") or self.max_val == float("-inf"):
            self.reset_histogram(x, low, high)
            return x_orig
        low, high = ops.minimum(self.min_val, low), ops.maximum(self.max_val, high)
        seen = ops.histc(x, self.bins, min=low.item(), max=high.item())
        self.histogram.copy_(self._joined(seen, low, high))  # type: ignore[attr-defined]
        self.min_val.copy_(low)  # type: ignore[attr-defined]
        self.max_val.copy_(high)  # type: ignore[attr-defined]
        return x_orig

    def reset_histogram(self, x: Tensor, min_val: Tensor, max_val: Tensor) -> None:
        """Forget what was seen, and begin with a tensor whose least and greatest values are given."""
        if min_val.numel() != 1 or max_val.numel() != 1:
            raise AssertionError("histogram min/max values must be scalar.")
        self.min_val.resize_(min_val.shape).copy_(min_val)  # type: ignore[attr-defined]
        self.max_val.resize_(max_val.shape).copy_(max_val)  # type: ignore[attr-defined]
        seen = ops.histc(x, self.bins, min=min_val.item(), max=max_val.item())
        self.histogram.resize_(seen.shape).copy_(seen)  # type: ignore[attr-defined]

    def _joined(self, seen: Tensor, low: Tensor, high: Tensor) -> Any:
        """The histogram so far and one of more values, in the bins of the latter."""
        if low == self.min_val and high == self.max_val:
            return self.histogram + seen
        if self.min_val == self.max_val:
            where = ops.histc(self.min_val, self.bins, min=low.item(), max=high.item())
            return where * self.histogram.sum() + seen  # type: ignore[attr-defined]
        return seen + self._in_bins_of(low, high)

    def _in_bins_of(self, low: Tensor, high: Tensor) -> Any:
        """The histogram so far in other bins: each bin is 16 equal parts, which move as a whole, by their middles."""
        parts: Any = self.histogram.repeat_interleave(self.upsample_rate) / self.upsample_rate  # type: ignore[attr-defined]
        count = self.bins * self.upsample_rate
        width = (self.max_val - self.min_val) / count
        middles = ops.linspace(self.min_val, self.max_val, count + 1)[:-1] + 0.5 * width
        limits = ops.linspace(low, high, self.bins + 1)
        where = ops.bucketize(middles, limits, right=True) - 1
        return ops.bincount(where.clamp(0, self.bins - 1), weights=parts, minlength=self.bins)

    # ---------------------------------------------------------------- the search

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """(scale (1,) float32, zero point (1,)) of the best range; 1 and 0, with a warning, before values were seen."""
        if self.min_val == float("inf") and self.max_val == float("-inf"):
            return self._of_range(self.min_val, self.max_val)
        if self.bins != len(self.histogram):
            raise AssertionError(
                "The number of bins in histogram should be equal to the number of bins supplied while making this observer"
            )
        return self._of_range(*self._non_linear_param_search())

    def _non_linear_param_search(self) -> tuple[Tensor, Tensor]:
        """The least and the greatest value of the best range."""
        counts = np.asarray(self.histogram._array, np.float32)
        total = float(self.histogram.sum())  # type: ignore[attr-defined]
        sums = np.asarray(ops.cumsum(self.histogram, 0)._array, np.float32)
        first, last, lower, upper = 0, self.bins - 1, 0.0, 1.0
        least = np.inf
        while lower < upper:
            next_lower, next_upper = lower + _STEP, upper - _STEP
            left, right = self._at(sums, first, last, next_lower * total, next_upper * total)
            next_first, next_last = first, last
            if left - first > last - right:
                next_first, lower = left, next_lower
            else:
                next_last, upper = right, next_upper
            if (next_first, next_last) == (first, last):
                continue
            error = self._error(counts, next_first, next_last)
            if error > least:
                break
            least, first, last = error, next_first, next_last
        width = (self.max_val - self.min_val) / self.bins
        return self.min_val + width * first, self.min_val + width * (last + 1)

    @staticmethod
    def _at(sums: np.ndarray, first: int, last: int, below: float, above: float) -> tuple[int, int]:
        """The bins at which the sums reach `below` and, from the other end, no longer exceed `above`."""
        left = first + int(np.searchsorted(sums[first:last], np.float32(below), "left"))
        right = first + int(np.searchsorted(sums[first + 1 : last + 1], np.float32(above), "right"))
        return left, right

    def _error(self, counts: np.ndarray, first: int, last: int) -> float:
        """The sum of squared distances from the values to levels that fill the bins from `first` to `last`."""
        f32 = np.float32
        bin_width = (float(self.max_val) - float(self.min_val)) / self.bins
        width = bin_width * (last - first + 1) / self.dst_nbins
        if width == 0.0:
            return 0.0
        begin = np.arange(-first, self.bins - first).astype(f32) * f32(bin_width)
        end = begin + f32(bin_width)
        begin_level, end_level = (
            np.clip(np.floor_divide(x, f32(width)), f32(0), f32(self.dst_nbins - 1)) for x in (begin, end)
        )
        density, half = counts / f32(bin_width), f32(width / 2)
        error = _norm(begin - (begin_level + f32(0.5)) * f32(width), half, density)
        error += (end_level - begin_level - f32(1)) * _norm(-half, half, density)
        error += _norm(-half, end - (end_level * f32(width) + half), density)
        return float(wrap(error).sum())  # type: ignore[attr-defined]

    # ---------------------------------------------------------------- state and printed form

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name in ("min_val", "max_val", "histogram"):
            value = state_dict.get(prefix + name)
            if value is not None and value.shape != getattr(self, name).shape:
                getattr(self, name).resize_(value.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _norm(begin: Any, end: Any, density: np.ndarray) -> np.ndarray:
    """density (end^3 - begin^3) / 3"""
    return density * ((end * end * end - begin * begin * begin) / np.float32(3))


default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
