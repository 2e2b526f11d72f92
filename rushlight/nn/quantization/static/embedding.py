"""Embeddings whose rows are levels of 8 or 4 bits, each with a scale and a zero point of its own, both float32.

A row is scale level + bias with bias = -zero_point scale, rounded once; a bag adds its rows in order, rounding once for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.tensor import dtype as dtypes
from ....core.tensor.layout import per_channel_affine_float_qparams
from ....core.tensor.tensor import Tensor, wrap
from ....ops.quantized.channels import ChannelQuantizedTensor, of_channels, quantize_per_channel
from ....ops.quantized.tensor import LEVELS
from ... import modules as nn
from ...modules.module import Module

__all__ = ["Embedding", "EmbeddingBag", "EmbeddingPackedParams", "PackedEmbedding"]


class PackedEmbedding:
    """A weight of levels, quint8 or quint4x2 (N, E), as look-ups take it."""

    def __init__(self, weight: Any):
        if not isinstance(weight, ChannelQuantizedTensor) or weight.qscheme() is not per_channel_affine_float_qparams:
            raise NotImplementedError(
                "Could not run 'quantized::embedding_bag_prepack': its weight must be quantized by rows, with float zero points"
            )
        self.weight = weight
        self._scales = weight._scales.astype(np.float32)
        self._biases = -weight._zero_points.astype(np.float32) * self._scales
        if weight.dtype is dtypes.quint4x2:  # torch packs them as 16 bits each
            self._scales, self._biases = (a.astype(np.float16).astype(np.float32) for a in (self._scales, self._biases))

    def unpack(self) -> Any:
        """The weight."""
        return self.weight

    def __reduce__(self) -> Any:
        return PackedEmbedding, (self.weight,)

    def rows(self, indices: np.ndarray, weights: np.ndarray | None, before: np.ndarray) -> np.ndarray:
        """weight (scale level + bias) + before, float32. Shape: indices (n,), weights (n,), before (n, E) -> (n, E)"""
        scales, biases = self._scales[indices][:, None], self._biases[indices][:, None]
        if weights is not None:
            scales, biases = scales * weights[:, None], biases * weights[:, None]
        levels = self.weight._levels[indices].astype(np.float64)
        return (levels * scales.astype(np.float64) + (before + biases)).astype(np.float32)

    def checked(self, indices: Tensor) -> np.ndarray:
        """Indices (n,). Raises RuntimeError where one is outside."""
        if indices.dtype not in (dtypes.int32, dtypes.int64):
            raise RuntimeError(f"Expected 32 or 64 bit indices, but found {indices.dtype}")
        places, n = indices._array.reshape(-1), len(self._scales)
        outside = ((places < 0) | (places >= n)).nonzero()[0]
        if outside.size:
            raise RuntimeError(f"Index {outside[0]} is out of bounds: {places[outside[0]]}, range 0 to {n}")
        return places

    def look_up(self, indices: Tensor) -> Tensor:
        """The rows of a tensor of indices. Shape: (*) -> (*, E)"""
        places = self.checked(indices)
        width = self.weight._levels.shape[1]
        out = self.rows(places, None, np.zeros((1, 1), np.float32))
        return wrap(out.reshape(*indices.shape, width))

    def sums(self, indices: Tensor, offsets: Tensor | None, weights: Tensor | None, include_last: bool) -> Tensor:
        """The sum of the rows of each bag. Shape: indices (B, n), or (n,) with offsets -> (B, E)"""
        if indices.dim() == 2:
            if offsets is not None:
                raise RuntimeError("embedding_bag_byte operator: input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences.")  # fmt: skip
            starts = np.arange(0, indices.numel(), max(1, indices.size(1)))
        elif offsets is None:
            raise RuntimeError("embedding_bag_byte expects offsets to be set for 1D indices.")
        else:
            starts = offsets._array
        starts = starts if include_last else np.append(starts, indices.numel())
        places = self.checked(indices)
        factors = None if weights is None else weights._array.reshape(-1).astype(np.float32)
        out = np.zeros((len(starts) - 1, self.weight._levels.shape[1]), np.float32)
        counts = np.diff(starts)
        for step in range(int(counts.max(initial=0))):  # the rows of all bags that have so many
            bags = (counts > step).nonzero()[0]
            at = starts[bags] + step
            out[bags] = self.rows(places[at], None if factors is None else factors[at], out[bags])
        return wrap(out)


class EmbeddingPackedParams(Module):
    """A weight in the form that look-ups take. Its state is the weight and the dtype."""

    _version = 1

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: Any = dtypes.quint8) -> None:
        super().__init__()
        if dtype not in (dtypes.quint8, dtypes.quint4x2):
            raise NotImplementedError(
                f"Unsupported dtype on quantized embedding! Supports quint8 and quint4x2. Got dtype: {dtype}"
            )
        self.dtype = dtype
        scales, zero_points = np.ones(num_embeddings, np.float32), np.zeros(num_embeddings, np.float32)
        levels = wrap(np.zeros((num_embeddings, embedding_dim), LEVELS[dtype]))
        self.set_weight(of_channels(levels, dtype, wrap(scales), wrap(zero_points), 0))

    def set_weight(self, weight: Any) -> None:
        """Take a weight of levels."""
        self._packed_weight = PackedEmbedding(weight)

    def _weight(self) -> Any:
        return self._packed_weight.weight

    def forward(self, x: Any) -> Any:
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_weight"] = self._weight()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *messages):
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight(state_dict.pop(prefix + "_packed_weight"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *messages)

    def __repr__(self) -> str:
        return repr(self._weight())


class Embedding(Module):
    """`nn.Embedding` with a weight of levels, a scale and zero point for each row.

    Shape: indices (*) -> (*, embedding_dim)

    >>> Embedding(10, 12)(tensor([9, 6, 5])).shape
    torch.Size([3, 12])
    """

    _FLOAT_MODULE: Any = nn.Embedding

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
        dtype: Any = dtypes.quint8,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.dtype = dtype
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        if _weight is not None:
            self._packed_params.set_weight(_weight)

    def forward(self, indices: Tensor) -> Tensor:
        return self._packed_params._packed_weight.look_up(indices)

    def set_weight(self, w: Any) -> None:
        """Take another weight of levels."""
        self._packed_params.set_weight(w)

    def weight(self) -> Any:
        """The quantized weight (num_embeddings, embedding_dim)."""
        return self._packed_params._weight()

    @classmethod
    def _of(cls, mod: Any, dtype: Any) -> Any:
        return cls(mod.num_embeddings, mod.embedding_dim, dtype=dtype)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized layer of a float one, whose attribute `qconfig` says what observes the weight."""
        name = cls.__name__
        if hasattr(mod, "weight_fake_quant"):
            observer = mod.weight_fake_quant
        else:
            if type(mod) is not cls._FLOAT_MODULE:
                raise AssertionError(f"nnq.{name}.from_float only works for {cls._FLOAT_MODULE.__name__}")
            if not hasattr(mod, "qconfig"):
                raise AssertionError(f"{name} input float module must have qconfig defined")
            observer = mod.qconfig.weight()
        if getattr(observer, "qscheme", None) is not per_channel_affine_float_qparams:
            raise AssertionError(f"{name} quantization is only supported with float_qparams_weight_only_qconfig.")
        if observer.dtype not in (dtypes.quint8, dtypes.quint4x2):
            raise AssertionError(
                f"The only supported dtype for nnq.{name} is torch.quint8 and torch.quint4x2, got {observer.dtype}"
            )
        observer(mod.weight)
        scales, zero_points = observer.calculate_qparams()
        made = cls._of(mod, observer.dtype)
        weight = mod.weight.detach().float()
        made.set_weight(quantize_per_channel(weight, scales, zero_points.float(), observer.ch_axis, observer.dtype))
        return made

    def _get_name(self) -> str:
        return "Quantized" + type(self).__name__

    def extra_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, dtype={self.dtype}, "
            f"qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"


class EmbeddingBag(Embedding):
    """`nn.EmbeddingBag` with a weight of levels. As torch's it adds the rows of a bag, whatever `mode` says.

    Shape: indices (B, n), or (n,) with offsets (B,) -> (B, embedding_dim)
    """

    _FLOAT_MODULE = nn.EmbeddingBag

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "sum", sparse: bool = False, _weight: Any = None,
        include_last_offset: bool = False, dtype: Any = dtypes.quint8,
    ) -> None:  # fmt: skip
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode = mode
        self.include_last_offset = include_last_offset

    def forward(
        self, indices: Tensor, offsets: Any = None, per_sample_weights: Any = None, compressed_indices_mapping: Any = None
    ) -> Tensor:  # fmt: skip
        if compressed_indices_mapping is not None:
            raise NotImplementedError("embeddings with pruned weights are not implemented")
        packed = self._packed_params._packed_weight
        return packed.sums(indices, offsets, per_sample_weights, self.include_last_offset)

    @classmethod
    def _of(cls, mod: Any, dtype: Any) -> Any:
        return cls(mod.num_embeddings, mod.embedding_dim, dtype=dtype, include_last_offset=mod.include_last_offset)
