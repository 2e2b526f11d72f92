"""Instance normalization (Ulyanov et al., 2016): each channel of each sample to mean 0 and variance 1."""

from __future__ import annotations

import warnings
from typing import Any

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F

from .batchnorm import _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.dim() == max(self._ranks)
        self._check_channels(input, 1 if batched else 0)
        return self._normalize(input) if batched else self._normalize(input.unsqueeze(0)).squeeze(0)

    def _check_channels(self, input: Tensor, dim: int) -> None:
        channels = input.size(dim)
        if channels == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {channels}."
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in "
            "num_features, which is not used because affine=False",
            stacklevel=4,
        )

    def _normalize(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            # before versions were written, statistics were always tracked
            stale = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if stale:
                names, kind = " and ".join(f'"{key}"' for key in stale), type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {kind} with track_running_stats=False. If "
                    f"state_dict is a checkpoint saved before 0.4.0, this may be expected because {kind} does not "
                    "track running stats by default since 0.4.0. Please remove these keys from state_dict. If the "
                    f"running stats are actually needed, instead set track_running_stats=True in {kind} to enable "
                    f"them. See the documentation of {kind} for details."
                )
            for key in stale:
                del state_dict[key]
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """(x - mean) / sqrt(var + eps) per sample and channel.

    With running averages these are kept in training and used in evaluation, as in `BatchNorm1d`.
    Source: Ulyanov et al., Instance Normalization, 2016.

    Args:
        affine: with weight and bias.
        track_running_stats: with running averages.
    Shape: (N, C, L) or (C, L) -> the same; weight and bias (C)
    Raises:
        ValueError: the input has other dimensions, as in `InstanceNorm1d(2)(ones(2))`.

    >>> InstanceNorm1d(1)(tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """

    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` for images.

    Args:
        affine: with weight and bias.
        track_running_stats: with running averages.
    Shape: (N, C, H, W) or (C, H, W) -> the same; weight and bias (C)
    Raises:
        ValueError: the input has other dimensions, as in `InstanceNorm2d(2)(ones(2))`.

    >>> InstanceNorm2d(3)(ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` for volumes.

    Args:
        affine: with weight and bias.
        track_running_stats: with running averages.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> the same; weight and bias (C)
    Raises:
        ValueError: the input has other dimensions, as in `InstanceNorm3d(2)(ones(2))`.

    >>> InstanceNorm3d(3)(ones(2, 3, 2, 2, 2)).shape
    torch.Size([2, 3, 2, 2, 2])
    """

    _ranks = (4, 5)
