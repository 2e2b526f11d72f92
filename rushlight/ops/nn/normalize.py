"""Normalisation by mean and variance: over the batch, over the last dimensions, over groups of channels.

The primitives return the result with the mean and 1 / sqrt(variance + eps) that they used, which backward needs. While a
backward is itself recorded, these are recomputed from the input, so that second derivatives see them.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...core.dispatch.aten.operators import operator
from ...core.dispatch.aten.torch_dispatch import ask_mode, without_modes
from ...core.dispatch.errors import type_error
from ...core.dispatch.inplace import uncounted_writes
from ...core.dispatch.mode import NothingLeftToSave, no_grad, thread
from ...core.dispatch.op import OPS, composite, primitive
from ...core.tensor.casting import copy_in_rows
from ...core.tensor.channels_last import in_format_of, in_suggested_format, is_channels_last
from ...core.tensor.dtype import bfloat16, float16
from ...core.tensor.placeholder import Placeholder
from ...core.tensor.storage import storage_of
from ...core.tensor.tensor import Tensor
from ..pointwise.building_blocks import add_reduce, in_single
from ..pointwise.checks import not_implemented, refuse_history, still_of_type


def _wide(a: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) if a.dtype.itemsize == 2 else a


def _moments(x: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x - mean, mean, variance) over `axes`, dimensions kept."""
    n = prod([x.shape[a] for a in axes])
    mean = add_reduce(x, axes, None, None, True)
    mean /= n
    d = x - mean
    var = add_reduce(d * d, axes, None, None, True)
    var /= n
    return d, mean, var


def _check_one_type(input: np.ndarray, *parameters: np.ndarray | None) -> None:
    """Raise where the parameters' type is not the input's, nor the float32 that goes with halves."""
    d = input.dtype
    for p in parameters:
        if p is not None and p.dtype is not d and p.dtype != d and (d.itemsize > 2 or p.dtype != np.float32):
            raise RuntimeError(
                f"mixed dtype (CPU): all inputs must share same datatype. Got an input of {d} and a parameter of {p.dtype}."
            )


def _inverse_root(var: np.ndarray, eps: float) -> np.ndarray:
    root = np.sqrt(var + eps)
    return np.true_divide(1.0, root, root)


def _statistics(x: Tensor, axes: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """Mean and 1 / sqrt(var + eps) in the tensor language."""
    mean = x.mean(axes, keepdim=True)
    d = x - mean
    return mean, ((d * d).mean(axes, keepdim=True) + eps).rsqrt()


def _input_gradient(gy: Tensor, xhat: Tensor, rstd: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The gradient of (x - mean) rstd, whose mean and rstd depend on x, for the gradient `gy` of the result."""
    return (gy - gy.mean(axes, keepdim=True) - xhat * (gy * xhat).mean(axes, keepdim=True)) * rstd


def _standardised_slope(gy: np.ndarray, xhat: np.ndarray, rstd: np.ndarray) -> np.ndarray:
    """`_input_gradient` over the last axis, on arrays; overwrites xhat."""
    n = max(gy.shape[-1], 1)
    along = np.vecdot(gy, xhat)[..., None]
    along /= -n
    xhat *= along
    xhat += gy
    xhat -= add_reduce(gy, -1, keepdims=True) / n
    xhat *= rstd
    return xhat


def _wanted(gradients: tuple, needs: tuple) -> tuple:
    """The gradients of input, weight and bias, with None for those that are not wanted."""
    return tuple([g if wanted else None for g, wanted in zip(gradients, needs, strict=False)])


_NO_SHAPE = "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []"

_SHORT = 4096
_CONSTANTS: dict = {}  # (n, dtype, eps) -> n times 1/n, and eps


def _rows_standardised(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """((x - mean) rstd, mean, rstd) of each row: sums as products with a vector, half the time of reductions."""
    n = x.shape[-1]
    constants = _CONSTANTS.get((n, x.dtype, eps))
    if constants is None:
        constants = _CONSTANTS[n, x.dtype, eps] = np.full(n, 1 / n, x.dtype), np.array(eps, x.dtype)
    share, eps_array = constants
    rows = x.reshape(-1, n)
    mean = rows.dot(share)[:, None]
    d = rows - mean
    rest = d.dot(share)[:, None]  # what rounding left: rstd would multiply it by up to 1 / sqrt(eps) on constant rows
    d -= rest
    mean += rest
    rstd = (d * d).dot(share)[:, None]
    rstd += eps_array  # 0.3 us sooner than a number
    np.sqrt(rstd, rstd)
    np.reciprocal(rstd, rstd)
    d *= rstd
    if x.ndim == 2:
        return d, mean, rstd
    kept = (*x.shape[:-1], 1)
    return d.reshape(x.shape), mean.reshape(kept), rstd.reshape(kept)


# ---------------------------------------------------------------------------------------------- layer norm


@primitive(public=False, name="native_layer_norm", extras=("mean", "rstd"), node="NativeLayerNormBackward0")
def _layer_norm(input, weight=None, bias=None, /, normalized_shape=(), eps=1e-5):
    k = len(normalized_shape)
    if not k:
        raise RuntimeError(_NO_SHAPE)
    if weight is not None or bias is not None:
        _check_one_type(input, weight, bias)
    if input.shape[input.ndim - k :] != normalized_shape:
        for i, n in enumerate(normalized_shape):
            if not hasattr(n, "__index__"):
                words = f"must be tuple of ints, but found element of type {type(n).__name__} at pos {i}"
                raise type_error(f"layer_norm(): argument 'normalized_shape' (position 2) {words}")
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [*, "
            f"{', '.join(map(str, normalized_shape))}], but got input of size{list(input.shape)}"
        )
    if weight is not None or bias is not None:
        _check_parameters(input, weight, bias, normalized_shape)
    if k == 1 and 0 < input.shape[-1] <= _SHORT and input.dtype.itemsize > 2:
        d, mean, rstd = _rows_standardised(input if input.flags.c_contiguous else copy_in_rows(input), eps)
    else:
        d, mean, var = _moments(
            np.asarray(_wide(input), order="C", like=input), tuple(range(input.ndim - k, input.ndim))
        )
        rstd = _inverse_root(var, eps)
        d *= rstd
    if weight is not None:
        d *= weight
    if bias is not None:
        d += bias
    return d if d.dtype is input.dtype else d.astype(input.dtype), mean, rstd


def _check_parameters(
    input: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, normalized_shape: tuple[int, ...]
) -> None:
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and p.shape != normalized_shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(p.shape)} and "
                f"normalized_shape = {list(normalized_shape)}"
            )


@_layer_norm.vjp
def _(g, input, weight, mean, rstd, normalized_shape, eps, needs):
    still_of_type(g, input, weight)
    if not thread.state.grad:
        return _wanted(_layer_norm_backward(g, input, mean, rstd, weight, normalized_shape, eps), needs)
    k, n = len(normalized_shape), input._array.ndim
    axes, lead = tuple(range(n - k, n)), tuple(range(n - k))
    mean, rstd = _statistics(input, axes, eps)
    xhat = (input - mean) * rstd
    gx = gw = gb = None
    if needs[0]:
        gx = _input_gradient(g if weight is None else g * weight, xhat, rstd, axes)
    if needs[1]:
        gw = (g * xhat).sum(lead) if lead else g * xhat
    if needs[2]:
        gb = g.sum(lead) if lead else g
    return gx, gw, gb


@primitive(public=False, name="native_layer_norm_backward", outputs=3, differentiable=False)
def _layer_norm_backward(grad, input, mean, rstd, weight=None, /, normalized_shape=(), eps=1e-5):
    """The gradients of input, weight and bias, where they need no gradients themselves."""
    k = len(normalized_shape)
    lead = input.shape[: input.ndim - k]
    rows = (prod(lead), prod(normalized_shape))
    g, x = _wide(grad).reshape(rows), _wide(input).reshape(rows)
    xhat = x - mean.reshape(-1, 1)
    xhat *= rstd.reshape(-1, 1)
    gw, gb = add_reduce(g * xhat, 0), add_reduce(g, 0)
    gy = g if weight is None else g * _wide(weight).reshape(-1)
    gx = _standardised_slope(gy, xhat, rstd.reshape(-1, 1))
    return np.ascontiguousarray(gx.reshape(input.shape)), gw.reshape(normalized_shape), gb.reshape(normalized_shape)


@composite()
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions; torch's core form of `nn.functional.layer_norm`.

    Args:
        normalized_shape: the sizes of these dimensions, a tuple.
        weight, bias: of that shape, or None.
    Shape: (*, normalized_shape) -> (*, normalized_shape)
    Raises:
        RuntimeError: the last sizes are others, as in `layer_norm(ones(2, 3), (2,))`.

    >>> layer_norm(tensor([1.0, 2.0, 3.0]), (3,))
    tensor([-1.2247,  0.0000,  1.2247])
    """
    if isinstance(normalized_shape, int):
        raise type_error("layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    return _layer_norm(input, weight, bias, tuple(normalized_shape), eps)


@composite(functional=True)
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions.

    Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

    Args:
        normalized_shape: the sizes of these dimensions, a tuple.
        weight: of that shape, or None.
        eps: the type's machine epsilon by default.
    Shape: (*, normalized_shape) -> (*, normalized_shape)
    Raises:
        RuntimeError: the last sizes are others, as in `rms_norm(ones(2, 3), (2,))`.

    >>> rms_norm(tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    k, n = len(shape), input._array.ndim
    if not k:
        raise RuntimeError(_NO_SHAPE)
    if n < k:
        raise ValueError(f"Input tensor must have at least {k} dimensions, but got {n}")
    if input._array.shape[n - k :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{', '.join(map(str, shape))}], but got "
            f"input of size{list(input.shape)}"
        )
    if weight is not None and weight._array.shape != shape:
        raise RuntimeError(
            f"Expected weight to be of same shape as normalized_shape, but got weight of shape {list(weight.shape)} and "
            f"normalized_shape = {list(shape)}"
        )
    if input.dtype.category < 2:
        raise not_implemented("rms_norm", input._array.dtype)
    axes = tuple(range(n - k, n))
    small = input.dtype in _SIXTEEN
    x = input.float() if small else input
    x = x if is_channels_last(x._array) else x.contiguous()
    eps = float(np.finfo(x._array.dtype).eps) if eps is None else eps
    out = x * ((x * x).mean(axes, keepdim=True) + eps).rsqrt()
    out = out if weight is None else out * weight
    return out.to(input.dtype) if small else out


_SIXTEEN = float16, bfloat16

# ---------------------------------------------------------------------------------------------- batch norm


def _per_channel(p: np.ndarray, ndim: int) -> np.ndarray:
    return p.reshape((1, -1) + (1,) * (ndim - 2))


def _channel_axes(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


@primitive(public=False, name="native_batch_norm", outputs=1, node="NativeBatchNormBackward0")
def _batch_norm(
    input, weight=None, bias=None, running_mean: Any = None, running_var: Any = None, /, training=True, eps=1e-5
):
    """The result, and mean, 1 / sqrt(var + eps) and the biased variance of the batch (kept dimensions)."""
    if input.ndim < 2:
        if input.size:
            raise RuntimeError(f"batch_norm: expected at least 2 dimensions, got {input.ndim}")
        return input.copy(), *(np.empty(0, input.dtype),) * 3
    c = input.shape[1]
    for name, p in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if p is not None and p.size != c:
            raise RuntimeError(f"{name} should contain {c} elements not {p.size}")
    if input.dtype.kind in "biu":
        raise not_implemented("batch_norm", input.dtype)
    _check_one_type(input, running_mean, running_var, weight, bias)
    x = _wide(input)
    if training:
        d, mean, var = _moments(x, _channel_axes(x.ndim))
    else:
        mean, var = _per_channel(_wide(running_mean), x.ndim), _per_channel(_wide(running_var), x.ndim)
        d = x - mean
    rstd = _inverse_root(var, eps)
    scale = rstd if weight is None else rstd * _per_channel(weight, x.ndim)
    out = np.multiply(d, scale, out=d if d.dtype == scale.dtype else None)
    if bias is not None:
        out = np.add(out, _per_channel(bias, x.ndim), out=out)
    return in_format_of(out.astype(input.dtype, copy=False), input), mean, rstd, var


@_batch_norm.vjp
def _(g, input, weight, running_mean, running_var, out1, out2, training, eps, needs):
    g = g[0]
    n = input._array.ndim
    if n < 2:
        return g, None, None, None, None
    still_of_type(g, input, weight, words="mixed dtype (CPU): expect parameter to have scalar type of {}")
    if thread.state.dispatching and not thread.state.grad:
        with without_modes():
            numbers = (out1.reshape(-1), out2.reshape(-1)) if training else (None, None)
        given = (g, input, weight, running_mean, running_var, *numbers, training, eps, list(needs[:3]))
        return (*ask_mode(operator("native_batch_norm_backward").default, given, {}), None, None)
    if not training:  # as they are now
        channels = (1, -1) + (1,) * (n - 2)
        out1 = in_single(running_mean.detach()).reshape(channels)
        out2 = (in_single(running_var.detach()) + eps).rsqrt().reshape(channels)
    if not thread.state.grad:
        return (*_wanted(_batch_norm_backward(g, input, out1, out2, weight, training), needs), None, None)
    axes = _channel_axes(n)
    mean, rstd = _statistics(input, axes, eps) if training else (out1, out2)
    xhat = (input - mean) * rstd
    gx = gw = gb = None
    if needs[0]:
        gy = g if weight is None else g * weight.reshape((1, -1) + (1,) * (n - 2))
        gx = _input_gradient(gy, xhat, rstd, axes) if training else gy * rstd
    if needs[1]:
        gw = (g * xhat).sum(axes)
    if needs[2]:
        gb = g.sum(axes)
    return gx, gw, gb, None, None


@primitive(public=False, name="native_batch_norm_backward", outputs=3, differentiable=False, follows=(1,))
def _batch_norm_backward(grad, input, mean, rstd, weight=None, /, training=True):
    """The gradients of input, weight and bias, where they need no gradients themselves."""
    g, xhat = _wide(grad), _wide(input) - mean
    axes = _channel_axes(xhat.ndim)
    xhat *= rstd
    gw, gb = add_reduce(g * xhat, axes), add_reduce(g, axes)
    scale = rstd if weight is None else rstd * _per_channel(_wide(weight), xhat.ndim)
    if not training:
        return in_suggested_format(g * scale), gw, gb
    n = xhat.size // max(xhat.shape[1], 1) or 1
    xhat *= _per_channel(gw / -n, xhat.ndim)
    xhat += g
    xhat -= _per_channel(gb / n, xhat.ndim)
    xhat *= scale
    return in_suggested_format(xhat), gw, gb


def native_batch_norm_backward(
    grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask
):
    """The gradients of `native_batch_norm` with respect to input, weight and bias; None where `output_mask` is False.

    Shape: (N, C, *), (N, C, *), the others (C) -> (N, C, *), (C), (C)
    """
    channels = (1, -1) + (1,) * (input.dim() - 2)
    if train:
        mean, rstd = save_mean, save_invstd
    else:
        mean, rstd = in_single(running_mean), (in_single(running_var) + eps).rsqrt()
    found = _batch_norm_backward(grad_out, input, mean.reshape(channels), rstd.reshape(channels), weight, train)
    return _wanted(found, output_mask)


MOVES_STATISTICS = "batch_norm(training=True)"  # who writes the running statistics


def _update(running: Tensor, new: Tensor, momentum: float) -> None:
    """running moves towards new by the share `momentum`; a listener sees it as operators.

    In torch this write counts no version: the backward of a call in evaluation reads what the statistics are by then.
    """
    a, s = running._array, storage_of(running)
    wraps = isinstance(new._array, Placeholder) and new._array.write_operator is not None  # its class writes
    if thread.state.level > 1 or wraps or isinstance(a, Placeholder):
        with no_grad(), uncounted_writes(running, MOVES_STATISTICS):
            running.mul_(1 - momentum).add_(new.reshape(a.shape) * momentum)
        return
    if isinstance(new._array, Placeholder):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
            "were not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be "
            "False; replace_all_batch_norm_modules_ does so."
        )
    kind = a.dtype.type
    with np.errstate(all="ignore"):
        a[...] = a * kind(1 - momentum) + new._array.reshape(a.shape) * kind(momentum)
    s.wrote_unseen(MOVES_STATISTICS)


@composite()
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel; torch's core form of `nn.functional.batch_norm`, with the
    arguments in another order.

    In training mean and (biased) variance are the batch's, and the running ones move towards them (with the unbiased
    variance) by the share `momentum`, in place; otherwise the running ones are used.

    Shape: (N, C, *), the others (C) -> (N, C, *)
    Raises:
        RuntimeError: the running statistics have another size, as in
            `batch_norm(ones(2, 3), None, None, ones(2), ones(2), False, 0.1, 1e-5, False)`.

    >>> batch_norm(tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if not input._array.size:  # as torch, which looks at no sizes and leaves the running statistics as they are
        out = input.clone()
        out = out if weight is None else out * weight[0]
        return out if bias is None else out + bias[0]
    if thread.state.dispatching:
        given = (input, weight, bias, running_mean, running_var, training, momentum, eps)
        return ask_mode(operator("native_batch_norm").default, given, {})[0]
    return normalise_batch(input, running_mean, running_var, weight, bias, training, momentum, eps)[0]


def normalise_batch(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None, bias: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The result of `batch_norm`, and mean and 1 / sqrt(var + eps) that it used; the running statistics move on."""
    if input._array.ndim < 2 and training:
        raise RuntimeError(f"batch_norm: expected at least 2 dimensions, got {input._array.ndim}")
    if not training and (running_mean is None or running_var is None):
        name = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"{name} must be defined in evaluation mode")
    refuse_history("native_batch_norm", running_mean=running_mean, running_var=running_var)
    saves = not training or thread.state.level == 1  # in training only for torch's error of a write before backward
    used = (running_mean, running_var) if saves else (None, None)
    if training and running_mean is not None and running_mean.numel() != input._array.shape[1]:
        raise RuntimeError(f"running_mean should contain {input._array.shape[1]} elements not {running_mean.numel()}")
    running = (running_mean, running_var) if training else (None, None)
    try:
        out, mean, rstd, var = _batch_norm(input, weight, bias, *used, training, eps)
    except NothingLeftToSave:  # the second run of a checkpoint ends here, and moves the statistics, too, as in torch
        with no_grad():
            _, mean, _, var = _batch_norm(input, weight, bias, *used, training, eps)
        _move(*running, input, mean, var, momentum)
        raise
    _move(*running, input, mean, var, momentum)
    return out, mean, rstd


def _move(
    running_mean: Tensor | None, running_var: Tensor | None, input: Tensor, mean: Tensor, var: Tensor, momentum: float
) -> None:
    """The running statistics, where there are any, move towards those of the batch."""
    if running_mean is not None:
        _update(running_mean, mean, momentum)
    if running_var is not None:
        n = input._array.size // max(input._array.shape[1], 1)
        with no_grad():
            unbiased = var * (n / max(n - 1, 1))
        _update(running_var, unbiased, momentum)


# ---------------------------------------------------------------------------------------------- groups


@primitive(
    public=False, name="native_group_norm", extras=("mean", "rstd"), follows=(0,), node="NativeGroupNormBackward0"
)
def _group_norm(input, weight=None, bias=None, /, num_groups=1, eps=1e-5):
    n, c = input.shape[:2]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if c % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and p.shape != (c,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(p.shape)} and input of shape {list(input.shape)}"
            )
    _check_one_type(input, weight, bias)
    rows = _wide(input)
    rows = np.ascontiguousarray(rows) if type(rows) is np.ndarray else rows  # in which order the result is then
    rows = rows.reshape(n, num_groups, input.size // (n * num_groups) if n else c // num_groups * prod(input.shape[2:]))
    d, mean, var = _moments(rows, (2,))
    rstd = _inverse_root(var, eps)
    out = np.multiply(d, rstd, out=d).reshape(input.shape)
    if weight is not None:
        out = out * _per_channel(weight, input.ndim)
    if bias is not None:
        out = out + _per_channel(bias, input.ndim)
    return out.astype(input.dtype, copy=False), mean, rstd


@_group_norm.vjp
def _(g, input, weight, mean, rstd, num_groups, eps, needs):
    still_of_type(g, input, weight)
    if not thread.state.grad:
        return _wanted(_group_norm_backward(g, input, mean, rstd, weight, num_groups), needs)
    shape = input._array.shape
    axes = _channel_axes(len(shape))
    rows = input.reshape(shape[0], num_groups, prod(shape[1:]) // num_groups)
    mean, rstd = _statistics(rows, (2,), eps)
    xhat = (rows - mean) * rstd
    gx = gw = gb = None
    if needs[0]:
        gy = g if weight is None else g * weight.reshape((1, -1) + (1,) * (len(shape) - 2))
        gx = _input_gradient(gy.reshape(rows._array.shape), xhat, rstd, (2,)).reshape(shape)
    if needs[1]:
        gw = (g * xhat.reshape(shape)).sum(axes)
    if needs[2]:
        gb = g.sum(axes)
    return gx, gw, gb


@primitive(public=False, name="native_group_norm_backward", outputs=3, differentiable=False, follows=(1,))
def _group_norm_backward(grad, input, mean, rstd, weight=None, /, num_groups=1):
    """The gradients of input, weight and bias, where they need no gradients themselves."""
    shape = input.shape
    rows = (shape[0], num_groups, prod(shape[1:]) // num_groups)
    g, xhat = _wide(grad), _wide(input).reshape(rows) - mean
    xhat *= rstd
    axes = _channel_axes(len(shape))
    gw, gb = add_reduce(g * xhat.reshape(shape), axes), add_reduce(g, axes)
    gy = g if weight is None else g * _per_channel(_wide(weight), len(shape))
    return _standardised_slope(gy.reshape(rows), xhat, rstd).reshape(shape), gw, gb


@composite()
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """(x - mean) / sqrt(var + eps) * weight + bias over groups of channels; torch's core form of `nn.functional.group_norm`.

    Args:
        weight, bias: one for each channel, or None.
    Shape: (N, C, *), weight and bias (C) -> (N, C, *)
    Raises:
        RuntimeError: C is no multiple of `num_groups`, as in `group_norm(ones(2, 3, 4), 2)`.

    >>> group_norm(tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    if input._array.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input._array.ndim}")
    return _group_norm(input, weight, bias, num_groups, eps)


@composite()
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of each sample; torch's core form, with the arguments in
    another order than `nn.functional.instance_norm`.

    Args:
        use_input_stats: whether to use the sample's statistics rather than the running ones.
        momentum: the share by which running statistics, if given, move towards the batch's.
    Shape: (N, C, *), the others (C) -> (N, C, *)

    >>> instance_norm(tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats is False and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    shape = input._array.shape
    n, c = shape[:2]
    repeated = [None if p is None else p.repeat(n) for p in (weight, bias, running_mean, running_var)]
    x = input.contiguous().view(1, n * c, *shape[2:])
    out = batch_norm(x, *repeated, use_input_stats, momentum, eps, cudnn_enabled)
    if use_input_stats:
        for running, new in zip((running_mean, running_var), repeated[2:], strict=True):
            if running is not None and new is not None:
                with no_grad():
                    running.copy_(new.view(n, c).mean(0))
    return out.view(shape)


@composite(functional=True)
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """x / (k + alpha mean of x^2 over `size` neighbouring channels)^beta.

    Source: Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks, 2012.

    Shape: (N, C, *) -> (N, C, *)
    Raises:
        ValueError: `input` has less than three dimensions, as in `local_response_norm(ones(2, 2), 2)`.

    >>> local_response_norm(ones(1, 2, 1), 2, alpha=1.0, beta=1.0).flatten()
    tensor([0.6667, 0.5000])
    """
    shape = input.shape
    if len(shape) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {len(shape)} dimensions)"
        )
    if not input._array.size:
        return input
    if len(shape) > 3 and input.is_floating_point() and input.dtype.itemsize == 2:
        raise not_implemented("avg_pool3d_out_frame", input._array.dtype)  # torch's pools in three dimensions
    squares = (input * input).reshape(shape[0], 1, shape[1], -1)
    padded = OPS["pad"](squares, (0, 0, size // 2, (size - 1) // 2))
    windows = padded.unfold(2, size, 1)  # a view: (N, 1, C, rest, size)
    mean = (windows.sum(-1) / size if input.is_floating_point() else windows.sum(-1) // size).reshape(shape)
    return input / (mean * alpha + k) ** beta


# ---------------------------------------------------------------------------------------------- weights


def _others(ndim: int, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(ndim) if d != dim)


@primitive(name="_weight_norm_interface", public=False, extras=("norms",), node="WeightNormInterfaceBackward0")
def weight_norm_interface(v, length, /, dim):
    """length v / |v|. Shape: (*), length with size 1 but for `dim` -> (*)"""
    norms = np.sqrt(add_reduce(v * v, _others(v.ndim, dim), None, None, True))
    return v * (length / norms), norms


@weight_norm_interface.vjp
def _(g, v, length, norms, dim):
    others = _others(v.ndim, dim)
    if thread.state.grad:  # the saved norms have no history
        norms = (v * v).sum(others, True).sqrt() if others else v.abs()
    along = (g * v).sum(others, True) if others else g * v
    return length / norms * (g - v * (along / (norms * norms))), along / norms
