"""Batch normalization (Ioffe & Szegedy, 2015): each channel of a batch to mean 0 and variance 1."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.dispatch.extension_points import distributed, training_observer
from rushlight.core.tensor.dtype import int64
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from .linear import register_bias
from .module import Module

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]


class _NormBase(Module):
    """Scale, shift and running statistics per channel, as batch and instance normalization have them."""

    _version = 2
    _ranks: tuple[int, ...]  # the numbers of dimensions that an input may have

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        register_scale_and_shift(self, num_features, affine, affine and bias, device, dtype)
        self._register_running_stats(device, dtype)
        self.reset_parameters()

    def _register_running_stats(self, device: Any, dtype: Any) -> None:
        mean = var = count = None
        if self.track_running_stats:
            mean = ops.zeros(self.num_features, device=device, dtype=dtype)
            var = ops.ones(self.num_features, device=device, dtype=dtype)
            count = ops.zeros((), device=device, dtype=int64)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", var)
        self.register_buffer("num_batches_tracked", count)

    def reset_running_stats(self) -> None:
        """Forget the statistics: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the statistics; scale 1, shift 0."""
        self.reset_running_stats()
        if self.affine:
            reset_scale_and_shift(self)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._ranks:
            expected = " or ".join(f"{rank}D" for rank in self._ranks)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
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
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            # the first version kept no count of batches
            count = self.num_batches_tracked
            state_dict.setdefault(
                prefix + "num_batches_tracked", ops.zeros((), dtype=int64) if count is None else count
            )
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


def register_scale_and_shift(module: Module, shape: Any, scale: bool, shift: bool, device: Any, dtype: Any) -> None:
    """Give the module an uninitialised weight and bias of this shape, or the places of them."""
    weight = Parameter(ops.empty(shape, device=device, dtype=dtype)) if scale else None
    module.register_parameter("weight", weight)
    register_bias(module, shape if shift else None, device, dtype)


def reset_scale_and_shift(module: Any) -> None:
    """Scale 1, shift 0."""
    init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if self.training and (observer := training_observer.value) is not None:
            observer.acts_by_mode(self)
        counting = self.training and self.track_running_stats
        momentum = self.momentum
        if counting and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if momentum is None:  # the plain average over all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        mean, var = self.running_mean, self.running_var
        by_batch = self.training or (mean is None and var is None)
        if self.training and not counting:
            mean = var = None  # statistics loaded earlier, which are not to change
        factor = 0.0 if momentum is None else momentum
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """(x - mean) / sqrt(var + eps) * weight + bias per channel.

    Mean and variance are the batch's in training, and the running averages in evaluation. After each training batch
    running = (1 - momentum) * running + momentum * batch, with the unbiased variance.
    Source: Ioffe and Szegedy, Batch Normalization, 2015.

    Args:
        momentum: None averages all batches alike.
        affine: with weight and bias.
        track_running_stats: False uses always the batch's statistics.
    Shape: (N, C) or (N, C, L) -> the same; weight and bias (C)
    Raises:
        ValueError: the input has other dimensions, as in `BatchNorm1d(2)(ones(2))`.
        ValueError: there is one value for each channel in training, as in `BatchNorm1d(2)(ones(1, 2))`.

    >>> BatchNorm1d(1)(tensor([[1.0], [3.0]])).detach()
    tensor([[-1.0000],
            [ 1.0000]])
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` for images.

    Args:
        momentum: None averages all batches alike.
        affine: with weight and bias.
        track_running_stats: False uses always the batch's statistics.
    Shape: (N, C, H, W) -> the same; weight and bias (C)
    Raises:
        ValueError: the input has other dimensions, as in `BatchNorm2d(2)(ones(2, 2))`.

    >>> BatchNorm2d(3)(ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` for volumes.

    Args:
        momentum: None averages all batches alike.
        affine: with weight and bias.
        track_running_stats: False uses always the batch's statistics.
    Shape: (N, C, D, H, W) -> the same; weight and bias (C)
    Raises:
        ValueError: the input has other dimensions, as in `BatchNorm3d(2)(ones(2, 2))`.

    >>> BatchNorm3d(3)(ones(2, 3, 2, 2, 2)).shape
    torch.Size([2, 3, 2, 2, 2])
    """

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """`BatchNorm1d` over the batches of all processes; in a single process, that.

    As in torch, batches of several processes are not joined on the CPU: in training, once a process group exists, a call
    raises ValueError. Shape: (N, C, *) -> the same
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")
        if self.training and distributed.value is not None and distributed.value.is_initialized():
            raise ValueError("SyncBatchNorm expected input tensor to be on GPU or XPU or privateuseone")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every batch normalization in it a SyncBatchNorm that has its parameters and statistics."""
        made = _synchronised(module, process_group) if isinstance(module, _BatchNorm) else module
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


def _synchronised(module: _BatchNorm, process_group: Any) -> SyncBatchNorm:
    sizes = module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats
    made = SyncBatchNorm(*sizes, process_group, bias=module.bias is not None)
    if module.affine:
        made.weight, made.bias = module.weight, module.bias
    made.running_mean, made.running_var = module.running_mean, module.running_var
    made.num_batches_tracked, made.training = module.num_batches_tracked, module.training
    return made
