"""Batch, group and layer normalisation of float32 arrays: forward and backward, with the arguments of the operators.

rstd is 1 / sqrt(variance + eps), with the biased variance. Each backward gives the gradients of the input, the weight
and the bias. Batch and group norm are put together from the pieces in channels.py, layer norm is oneDNN's.

As in convolution.py, NotImplemented asks the caller for the reference kernel; here also for few elements, for wrong
shapes, and for arrays that are not contiguous.
"""

import math

import numpy as np

from . import calls
from .calls import BFLOAT16, FLOAT32, Call
from .channels import ADD, MULTIPLY, channelwise, column_sums, row_moments, row_products, row_sums
from .library import available
from .primitives import (
    BACKWARD,
    DIFF_DST,
    DIFF_SCALE,
    DIFF_SHIFT,
    DIFF_SRC,
    DST,
    FORWARD_TRAINING,
    MEAN,
    SCALE,
    SHIFT,
    SRC,
    VARIANCE,
    plain,
    primitive_desc,
)

__all__ = [
    "batch_norm",
    "batch_norm_backward",
    "group_norm",
    "group_norm_backward",
    "layer_norm",
    "layer_norm_backward",
]

# Measured on one thread, forward and backward in us: layer norm of 64 x 64 12 and 12 (NumPy 14 and 23); batch norm, which
# takes six calls, of 16 x 16 x 8 x 8 35 and 33 (NumPy 40 and 50).
WORTHWHILE_ELEMENTS = 4096
_WORTHWHILE_ELEMENTS_OF_IMAGES = 16384
_WORTHWHILE_LENGTH = 8  # contiguous elements of a channel
# Of a mean to its standard deviation: beyond, the rounding of sums in single precision counts.
_LARGEST_RATIO = 32
_LARGEST_RATIO_BACKWARD = 1  # the sum of g (x - mean) is taken as the difference of two
_PIECE = 65536  # elements of bfloat16 whose copies in float32 stay in the cache
_add = np.add.reduce


def _served(x, *others, size=None):
    """Whether x (or `size`) is large enough, all are contiguous and float32, and oneDNN is here."""
    if (x.size if size is None else size) < WORTHWHILE_ELEMENTS or not available():
        return False
    return all(a is None or (a.dtype == FLOAT32 and a.flags.c_contiguous) for a in (x, *others))


def _images(x):
    """x (N, C, *) as (N, C, L), or None where oneDNN does not pay."""
    if x.ndim < 3 or x.size < _WORTHWHILE_ELEMENTS_OF_IMAGES:
        return None
    x = x.reshape(*x.shape[:2], -1)
    return x if x.shape[2] >= _WORTHWHILE_LENGTH else None


def _exact(mean, rstd, most=_LARGEST_RATIO):
    """Whether sums in single precision are good enough; nan passes."""
    return not np.maximum.reduce(np.abs(mean * rstd), None) > most


def _inverse_root(var, eps):
    root = var + np.float32(eps)
    np.sqrt(root, root)
    return np.reciprocal(root, root)


# -- batch norm --------------------------------------------------------------------------------------------------------
def batch_norm(x, weight, bias, running_mean, running_var, training, eps):
    """(out, mean, rstd, var), the last three with dimensions kept. Shape: x (N, C, *), the others (C,)

    x may also be bfloat16, the others being float32; then `out` is bfloat16 too.
    """
    if not _served(None if x.dtype is BFLOAT16 else x, weight, bias, running_mean, running_var, size=x.size):
        return NotImplemented
    if not x.flags.c_contiguous:
        return NotImplemented
    images = _images(x)
    if images is None or any(
        p is not None and p.shape != x.shape[1:2] for p in (weight, bias, running_mean, running_var)
    ):
        return NotImplemented
    moments = _batch_moments(images) if training else (running_mean, running_var)
    if moments is NotImplemented:
        return moments
    mean, var = moments
    rstd = _inverse_root(var, eps)
    if training and not _exact(mean, rstd):
        return NotImplemented
    scale = rstd if weight is None else rstd * weight
    out = channelwise(images, (ADD, -mean), (MULTIPLY, scale), *([] if bias is None else [(ADD, bias)]))
    if out is NotImplemented:
        return out
    kept = (1, -1, *(1,) * (x.ndim - 2))
    return out.reshape(x.shape), mean.reshape(kept), rstd.reshape(kept), var.reshape(kept)


def _centred(x, mean, rstd):
    """(x - mean, 0) for channels far from 0, else x and mean as they are; x - mean is NotImplemented where oneDNN refuses.

    Shape: x (N, C, L), mean and rstd (C,)
    """
    if _exact(mean, rstd, _LARGEST_RATIO_BACKWARD):
        return x, mean
    return channelwise(x, (ADD, -mean)), np.zeros_like(mean)


def _batch_moments(x):
    """(mean, biased variance) of each channel of x (N, C, L), from those of the rows."""
    n, c, length = x.shape
    moments = row_moments(x.reshape(n * c, length))
    if moments is NotImplemented:
        return moments
    means, variances = (a.reshape(n, c) for a in moments)
    mean = column_sums(means) / np.float32(n)
    spread = means - mean
    spread *= spread
    spread += variances
    return mean, column_sums(spread) / np.float32(n)


def batch_norm_backward(g, x, mean, rstd, weight, training):
    """The gradients for the gradient g of `out`, with mean and rstd as `batch_norm` gives them.

    Where x and g are bfloat16, so is the first gradient.
    """
    wide = (x, g)
    if x.dtype is BFLOAT16 and g.dtype is BFLOAT16:  # a compiled backward has them channels-last
        wide, x, g = (None, None), np.ascontiguousarray(x), np.ascontiguousarray(g)
    if not _served(*wide, mean, rstd, weight, size=x.size) or g.shape != x.shape:
        return NotImplemented
    images = _images(x) if x.flags.c_contiguous and g.flags.c_contiguous else None
    slopes = _images(g)
    if images is None or slopes is None:
        return NotImplemented
    mean, rstd = mean.reshape(-1), rstd.reshape(-1)
    if x.dtype is BFLOAT16 and not _exact(mean, rstd, _LARGEST_RATIO_BACKWARD):
        return NotImplemented  # x - mean rounded to bfloat16 moved the weight's gradient by 2 of 2,000
    images, mean = _centred(images, mean, rstd)
    if images is NotImplemented:
        return images
    n, c, length = images.shape
    sums, products = _sums(slopes.reshape(n * c, length), images.reshape(n * c, length))
    for_bias = column_sums(sums.reshape(n, c))
    for_weight = (column_sums(products.reshape(n, c)) - mean * for_bias) * rstd
    scale = rstd if weight is None else rstd * weight
    if training:
        # scale (g - xhat mean(g xhat) - mean(g)), as ((x * factor + offset) + g) * scale
        share = np.float32(-1 / (n * length))
        factor = for_weight * rstd * share
        offset = for_bias * share - mean * factor
        steps = ((MULTIPLY, factor), (ADD, offset), (ADD, slopes), (MULTIPLY, scale))
        out = channelwise(images, *steps)
    else:
        out = channelwise(slopes, (MULTIPLY, scale))
    if out is NotImplemented:
        return out
    return out.reshape(x.shape), for_weight, for_bias


def _sums(g, x):
    """(sums of the rows of g, sums of the products of the rows of g and x). Shape: (n, L) twice -> (n,) twice"""
    if x.dtype is FLOAT32:
        return row_sums(g), row_products(g, x)
    sums, products = np.empty(len(x), np.float32), np.empty(len(x), np.float32)
    step = max(1, _PIECE // x.shape[1])
    for i in range(0, len(x), step):
        at = slice(i, i + step)
        piece = g[at].astype(FLOAT32)
        sums[at], products[at] = row_sums(piece), row_products(piece, x[at].astype(FLOAT32))
    return sums, products


# -- group norm --------------------------------------------------------------------------------------------------------
def group_norm(x, weight, bias, groups, eps):
    """(out, mean, rstd). Shape: x (N, C, *), weight and bias (C,) -> (N, C, *), (N, groups, 1) twice"""
    if not _served(x, weight, bias) or _images(x) is None or groups < 1 or x.shape[1] % groups:
        return NotImplemented
    n, c = x.shape[:2]
    if any(p is not None and p.shape != (c,) for p in (weight, bias)):
        return NotImplemented
    moments = row_moments(x.reshape(n * groups, -1))
    if moments is NotImplemented:
        return moments
    mean, var = (a.reshape(n, groups, 1) for a in moments)
    rstd = _inverse_root(var, eps)
    if not _exact(mean, rstd):
        return NotImplemented
    scale = rstd if weight is None else rstd * weight.reshape(groups, -1)
    steps = [(ADD, -mean), (MULTIPLY, scale)]
    if bias is not None:
        steps.append((ADD, np.broadcast_to(bias.reshape(groups, -1), (n, groups, c // groups))))
    out = channelwise(x.reshape(1, n * c, -1), *[(step, _of_each_channel(a, c, groups)) for step, a in steps])
    return out if out is NotImplemented else (out.reshape(x.shape), mean, rstd)


def group_norm_backward(g, x, mean, rstd, weight, groups):
    """The gradients for the gradient g of `out`, with mean and rstd as `group_norm` gives them."""
    if not _served(x, g, mean, rstd, weight) or g.shape != x.shape or _images(x) is None:
        return NotImplemented
    n, c = x.shape[:2]
    size = x.size // (n * groups)
    rows = x.reshape(1, n * c, -1)
    centred, _ = _centred(rows, *(_of_each_channel(a, c, groups) for a in (mean, rstd)))
    if centred is NotImplemented:
        return centred
    mean = mean if centred is rows else np.zeros_like(mean)
    images, slopes = centred[0], g.reshape(n * c, -1)
    sums = row_sums(slopes).reshape(n, groups, -1)
    products = (row_products(slopes, images).reshape(n, groups, -1) - mean * sums) * rstd
    for_weight, for_bias = (column_sums(a.reshape(n, c)) for a in (products, sums))
    scale = rstd
    if weight is not None:
        w = weight.reshape(groups, -1)
        scale, sums, products = rstd * w, sums * w, products * w
    factor = _add(products, 2, keepdims=True) * rstd * rstd / np.float32(-size)
    offset = _add(sums, 2, keepdims=True) * rstd / np.float32(-size) - mean * factor
    scaled = channelwise(slopes[None], (MULTIPLY, _of_each_channel(scale, c, groups)))
    if scaled is NotImplemented:
        return scaled
    factor, offset = (_of_each_channel(a, c, groups) for a in (factor, offset))
    out = channelwise(images[None], (MULTIPLY, factor), (ADD, offset), (ADD, scaled))
    return out if out is NotImplemented else (out.reshape(x.shape), for_weight, for_bias)


def _of_each_channel(a, c, groups):
    """a (N, groups, 1) or (N, groups, C/groups) as one number for each of the N C channels."""
    return np.ascontiguousarray(np.broadcast_to(a, (len(a), groups, c // groups)), np.float32).reshape(-1)


# -- layer norm --------------------------------------------------------------------------------------------------------
def layer_norm(x, weight, bias, normalized_shape, eps):
    """(out, mean, rstd), the last two with dimensions kept. Shape: x (*, normalized_shape), weight and bias alike"""
    k = len(normalized_shape)
    if not k or x.shape[x.ndim - k :] != normalized_shape or not _served(x, weight, bias):
        return NotImplemented
    if any(p is not None and p.shape != normalized_shape for p in (weight, bias)):
        return NotImplemented
    signature = ("layer_norm", x.shape, k, eps, weight is not None, bias is not None)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _layer_forward)
    if not call:
        return NotImplemented
    out, mean, var = call(*[a for a in (x, weight, bias) if a is not None])
    rstd = _inverse_root(var, eps)
    return (out, mean, rstd) if _exact(mean, rstd) else NotImplemented


def layer_norm_backward(g, x, mean, rstd, weight, normalized_shape, eps):
    """The gradients for the gradient g of `out`, with mean and rstd as `layer_norm` gives them."""
    if not _served(x, g, mean, rstd, weight) or g.shape != x.shape:
        return NotImplemented
    signature = ("layer_norm_backward", x.shape, len(normalized_shape), eps)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _layer_backward)
    if not call:
        return NotImplemented
    if weight is None:
        weight = np.ones(normalized_shape, np.float32)
    return call(g, x, mean, rstd**-2 - np.float32(eps), weight, weight)


_WITH_SCALE, _WITH_SHIFT = 2, 4


def _layer_forward(shape, k, eps, with_weight, with_bias):
    x, rows, row = _rows(shape, k)
    kept = (*shape[: len(shape) - k], *(1,) * k)
    inputs = [(SRC, x), *(((SCALE, row),) if with_weight else ()), *(((SHIFT, row),) if with_bias else ())]
    results = [(DST, x, shape, FLOAT32), (MEAN, rows, kept, FLOAT32), (VARIANCE, rows, kept, FLOAT32)]
    flags = with_weight * _WITH_SCALE | with_bias * _WITH_SHIFT
    with calls.thread.sized_for(_WORK * math.prod(shape)):
        desc = primitive_desc("layer_normalization_forward", FORWARD_TRAINING, x, x, rows, eps, flags)
        return desc and Call(desc, inputs, results)


def _layer_backward(shape, k, eps):
    x, rows, row = _rows(shape, k)
    flags = _WITH_SCALE | _WITH_SHIFT
    # oneDNN 3.2 counts the shift among the inputs, though it does not read it.
    inputs = [(DIFF_DST, x), (SRC, x), (MEAN, rows), (VARIANCE, rows), (SCALE, row), (SHIFT, row)]
    last = shape[len(shape) - k :]
    results = [(DIFF_SRC, x, shape, FLOAT32), (DIFF_SCALE, row, last, FLOAT32), (DIFF_SHIFT, row, last, FLOAT32)]
    with calls.thread.sized_for(_WORK * math.prod(shape)):
        hint = primitive_desc("layer_normalization_forward", FORWARD_TRAINING, x, x, rows, eps, flags)
        desc = hint and primitive_desc("layer_normalization_backward", BACKWARD, x, x, x, rows, eps, flags, hint)
        return desc and Call(desc, inputs, results)


_WORK = 16  # for an element, in a convolution's multiply-adds


def _rows(shape, k):
    """Descriptors of x as a matrix of rows, of a number for each row, and of one row."""
    n, count = math.prod(shape[len(shape) - k :]), math.prod(shape[: len(shape) - k])
    return plain((count, n)), plain((count,)), plain((n,))
