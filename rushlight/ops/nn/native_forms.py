"""torch's native forms of normalisation and dropout, which also return what backward would use: statistics, a mask.

The results are those of the public functions; the statistics are computed in the tensor language, so that they compile, run
on `meta`, and have gradients where torch gives them some (`native_group_norm` only).
"""

from __future__ import annotations

from math import prod

from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import no_grad
from ...core.dispatch.op import OPS, composite
from ...core.tensor.dtype import bool_, float32, type_word
from ...core.tensor.tensor import Tensor
from ..pointwise.checks import not_implemented
from .normalize import group_norm, layer_norm, normalise_batch

__all__ = [
    "_native_batch_norm_legit_no_training",
    "native_batch_norm",
    "native_dropout",
    "native_group_norm",
    "native_layer_norm",
    "native_norm",
]


def _check_float(kernel: str, input: Tensor) -> None:
    if input._array.dtype.kind in "biu":
        raise not_implemented(kernel, input._array.dtype)


def _statistics(x: Tensor, axes: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """Mean and 1 / sqrt(var + eps), dimensions kept, of at least float32; of nothing they are 0 and NaN, as in torch."""
    x = x.float() if x.dtype.itemsize == 2 else x
    n = prod([x.shape[a] for a in axes])
    mean = x.sum(axes, keepdim=True) / max(n, 1)
    d = x - mean
    return mean, ((d * d).sum(axes, keepdim=True) / n + eps).rsqrt()


def _statistics_type(input: Tensor, *parameters: Tensor | None):
    """float32 where one of the parameters has it, else the input's type."""
    return float32 if any(p is not None and p.dtype is float32 for p in parameters) else input.dtype


@composite()
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """`layer_norm` with the mean and 1 / sqrt(var + eps) that it uses; these two have no gradient.

    Args:
        normalized_shape: the sizes of the last dimensions, a tuple.
        weight, bias: of that shape, or None.
    Shape: (*, normalized_shape) -> (*, normalized_shape), and two of (*, 1...) with a 1 for each normalised dimension
    Raises:
        RuntimeError: the last sizes are others, as in `native_layer_norm(ones(2, 3), (2,), None, None, 1e-5)`.

    >>> native_layer_norm(tensor([1.0, 2.0, 3.0]), (3,), None, None, 0.0)[1:]
    (tensor([2.]), tensor([1.2247]))
    """
    if not isinstance(normalized_shape, (tuple, list)):
        raise type_error(
            "native_layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not "
            f"{type(normalized_shape).__name__}"
        )
    _check_float("LayerNormKernelImpl", input)
    out = layer_norm(input, normalized_shape, weight, bias, eps)
    dims, dtype = tuple(range(-len(normalized_shape), 0)), _statistics_type(input, weight, bias)
    with no_grad():
        mean, rstd = _statistics(input, dims, eps)
        return out, mean.to(dtype), rstd.to(dtype)


@composite()
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """`group_norm` with the mean and 1 / sqrt(var + eps) of each group.

    Args:
        weight, bias: one for each channel, or None.
        N, C, HxW: the sizes of the batch, the channels, and the product of all others.
        group: the number of groups.
    Shape: (N, C, *) -> (N, C, *), and two of (N, group)
    Raises:
        RuntimeError: the sizes are not the input's, as in `native_group_norm(ones(1, 2), None, None, 1, 2, 3, 1, 1e-5)`.

    >>> native_group_norm(tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    if input.numel() != N * C * HxW:
        raise RuntimeError("Expected X.numel() == N * C * HxW to be true, but got false.")
    _check_float("GroupNormKernelImpl", input)
    out = group_norm(input, group, weight, bias, eps)
    mean, rstd = _statistics(input.reshape(N, group, C // group * HxW), (2,), eps)
    dtype = _statistics_type(input, weight, bias)
    return out, mean.reshape(N, group).to(dtype), rstd.reshape(N, group).to(dtype)


@composite(out=True)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """`batch_norm` with the batch's mean and 1 / sqrt(var + eps), which have no gradient; without training they are empty.

    Shape: (N, C, *), the others (C) -> (N, C, *), and two of (C), or of (0) without training
    Raises:
        RuntimeError: no statistics to use, as in
            `native_batch_norm(ones(2, 3), None, None, None, None, False, 0.1, 1e-5)`.

    >>> native_batch_norm(tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)[1:]
    (tensor([2.]), tensor([1.]))
    """
    if input.dim() < 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(input.dim(), 1)}, {max(input.dim(), 1) - 1}], but got 1)"
        )
    if training and not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    out, mean, rstd = normalise_batch(input, running_mean, running_var, weight, bias, training, momentum, eps)
    dtype = _statistics_type(input, weight, bias, running_mean, running_var)
    if not training:
        return out, OPS["empty"](0, dtype=dtype, device=input.device), OPS["empty"](0, dtype=dtype, device=input.device)
    return out, mean.detach().reshape(-1).to(dtype), rstd.detach().reshape(-1).to(dtype)


@composite()
def _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps):
    """`native_batch_norm` without training: the form of `batch_norm` among torch's core ATen operators.

    Shape: (N, C, *), the others (C) -> (N, C, *), and two of (0)
    Raises:
        IndexError: `input` has too few dimensions, as in
            `_native_batch_norm_legit_no_training(ones(2), None, None, zeros(1), ones(1), 0.1, 1e-5)`.

    >>> _native_batch_norm_legit_no_training(tensor([[1.0], [3.0]]), None, None, zeros(1), ones(1), 0.1, 0.0)[0]
    tensor([[1.],
            [3.]])
    """
    return native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)


@composite()
def native_dropout(input, p, train):
    """Zero each element with probability `p` and scale the others by 1 / (1 - p); with the mask of those that were kept.

    Args:
        train: False leaves the input as it is; None is True.
    Shape: (*) -> (*) and a mask of (*)
    Raises:
        RuntimeError: `p` is outside [0, 1], as in `native_dropout(ones(2), 1.5, True)`.

    >>> _ = manual_seed(0)
    >>> native_dropout(ones(4), 0.5, True)
    (tensor([0., 0., 2., 0.]), tensor([False, False,  True, False]))
    """
    if not input.numel():
        return input, OPS["empty_like"](input)
    if train is False:
        return input.clone(), OPS["ones_like"](input, dtype=bool_)
    mask = OPS["empty_like"](input, dtype=bool_).bernoulli_(1 - p)
    if input._array.dtype.kind in "biu":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {type_word(input.dtype)}")
    return input * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


_NO_NORM = (
    "Could not run 'aten::native_norm' with arguments from the '{}' backend: only sparse COO tensors have it. "
    "`torch.linalg.vector_norm` is for the others."
)


@composite()
def native_norm(input, p=2, dim=None, keepdim=False, dtype=None):
    """(sum |x|^p)^(1/p) over all values of a sparse tensor.

    Args:
        p: the order; None is 2.
        dim: all dimensions of the input, or none.
    Raises:
        NotImplementedError: the input is dense, as in `native_norm(ones(2))`.

    >>> native_norm(tensor([3.0, 0.0, 4.0]).to_sparse())
    tensor(5.)
    """
    if not input.is_sparse:
        raise NotImplementedError(_NO_NORM.format("Meta" if input.is_meta else "CPU"))
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    dims = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if dims and len({d % input.dim() for d in dims}) != input.dim():
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of "
            "the input"
        )
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    return OPS["norm"](input, 2 if p is None else p)
