"""torch's inner operators in terms of ours, and ours in terms of torch's: for programs that use `torch.ops.aten`.

`functions` are what `torch.ops.aten.<name>` runs where the arguments are others than those of our function of that name, or
where there is none. `decomposed` are our operators that torch makes of several: a `__torch_dispatch__` sees those.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.dispatch.aten.operators import functions
from ..core.dispatch.aten.torch_dispatch import decomposed, decomposed_wrappers
from ..core.dispatch.op import OPS
from ..core.tensor.tensor import Tensor, constant
from . import core_forms
from .nn.activation import hardsigmoid_, hardswish_
from .nn.normalize import native_batch_norm_backward
from .nn.smooth import mish_, silu_
from .product.addmm import addmm
from .product.matmul import bmm, mm
from .shape.slicing import slice_
from .spatial.conv import convolution_backward

__all__ = ["convolution"]


# ------------------------------------------------------------------------------------------ torch's by ours


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """`conv1d` to `conv3d`, or `conv_transpose1d` to `conv_transpose3d`, by the number of the weight's dimensions.

    Args:
        output_padding: for transposed ones.
    Shape: (N, C, *), (K, C/groups, *), (K) -> (N, K, *).
    Raises:
        RuntimeError: another number of dimensions than the weight's, as in
            `convolution(ones(2, 5), ones(1, 2, 3), None, [1], [0], [1], False, [0], 1)`.

    >>> convolution(ones(1, 1, 4), ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2., 2.]]])
    """
    n = weight.dim()
    if input.dim() != n:
        raise RuntimeError(
            f"Expected {n}-dimensional input for {n}-dimensional weight {list(weight.shape)}, but got {input.dim()}-dimensional "
            f"input of size {list(input.shape)} instead"
        )
    if transposed:
        run = OPS[f"conv_transpose{n - 2}d"]
        return run(input, weight, bias, tuple(stride), tuple(padding), tuple(output_padding), groups, tuple(dilation))
    return OPS[f"conv{n - 2}d"](input, weight, bias, tuple(stride), tuple(padding), tuple(dilation), groups)


def _sliced(self, dim=0, start=None, end=None, step=1):
    return self[(slice(None),) * (dim % self.dim()) + (slice(start, end, step),)]


def _indexed(self, indices):
    return self[tuple([slice(None) if i is None else i for i in indices])]


def _softmax_backward_data(grad_output, output, dim, input_dtype):
    return (output * (grad_output - (grad_output * output).sum(dim, keepdim=True))).to(input_dtype)


def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def _shape_as_tensor(self):
    return constant(np.array(self.shape, np.int64))


def _copied(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    return self.to(dtype=dtype or self.dtype, device=device, copy=True, memory_format=memory_format)


def _select_gradient(g, shape, dim, index):
    result = g.new_zeros(shape)
    result.select(dim, index).copy_(g)
    return result


def _slice_gradient(g, shape, dim, start, end, step):
    result = g.new_zeros(shape)
    _sliced(result, dim, start, end, step).copy_(g)
    return result


functions.update(
    {
        **{name: getattr(core_forms, name) for name in ("adaptive_max_pool1d", "embedding", "embedding_bag")},
        "convolution": convolution,
        "convolution_backward": convolution_backward,
        "native_batch_norm_backward": native_batch_norm_backward,
        "slice": _sliced,
        "index": _indexed,
        "threshold_backward": lambda g, x, threshold: OPS["where"](x > threshold, g, g.new_zeros(())),
        "_softmax": lambda self, dim, half_to_float=False: OPS["softmax"](self, dim),
        "_log_softmax": lambda self, dim, half_to_float=False: OPS["log_softmax"](self, dim),
        "_softmax_backward_data": _softmax_backward_data,
        "_log_softmax_backward_data": _log_softmax_backward_data,
        "_local_scalar_dense": Tensor.item,
        "_to_copy": _copied,
        "_unsafe_view": lambda self, size: self.reshape(size),
        "alias": lambda self: self[...],
        "lift_fresh": lambda self: self,
        "lift_fresh_copy": lambda self: self.clone(),
        "select_backward": _select_gradient,
        "slice_backward": _slice_gradient,
    }
)


# ------------------------------------------------------------------------------------------ ours by torch's


def _linear(input, weight, bias=None):
    if input.dim() == 2:
        return mm(input, weight.t()) if bias is None else addmm(bias, input, weight.t())
    rows = _linear(input.reshape(-1, input.shape[-1]), weight, bias)
    return rows.view(*input.shape[:-1], weight.shape[0])


def _matmul(input, other):
    if input.dim() == 1 or other.dim() == 1:
        return _of_vectors(input, other)
    if other.dim() == 2:
        rows = mm(input.reshape(-1, input.shape[-1]), other)
        return rows.view(*input.shape[:-1], other.shape[-1])
    batch = OPS["broadcast_shapes"](input.shape[:-2], other.shape[:-2])
    a, b = (t.expand(*batch, *t.shape[-2:]).reshape(-1, *t.shape[-2:]) for t in (input, other))
    return bmm(a, b).view(*batch, input.shape[-2], other.shape[-1])


def _of_vectors(input, other):
    if other.dim() == 1:
        return _matmul(input, other.unsqueeze(-1)).squeeze(-1)
    return _matmul(input.unsqueeze(0), other).squeeze(-2)


def _spread(g, shape, dim=None, keepdim=False):
    dims = [] if keepdim or dim is None else [dim] if isinstance(dim, int) else list(dim)
    for d in sorted(d % len(shape) for d in dims):
        g = g.unsqueeze(d)
    return g.expand(shape)


def _part(input, index):
    """x[index] of numbers, slices, None and an ellipsis, one after another from the left."""
    places = sum(i is not None and i is not Ellipsis for i in index)
    dim = 0
    for i in index:
        if i is Ellipsis:
            dim += input.dim() - dim - places
        elif i is None:
            input, dim = input.unsqueeze(dim), dim + 1
        elif isinstance(i, slice):
            start, stop, step = i.indices(input.shape[dim])
            if (start, stop, step) != (0, input.shape[dim], 1):
                input = slice_(input, dim, start, stop, step)
            dim, places = dim + 1, places - 1
        else:
            input, places = input.select(dim, i), places - 1
    return input


def _attention(query, key, value, attn_mask=None, is_causal=False, scale=1.0):
    scores = OPS["matmul"](query, key.transpose(-2, -1)) * scale
    if is_causal:
        kept = OPS["ones"](query.shape[-2], key.shape[-2], dtype=OPS["tensor"](True).dtype).tril()
        scores = scores.masked_fill(~kept, float("-inf"))
    if attn_mask is not None:
        masks = attn_mask.dtype.is_floating_point or attn_mask.dtype.is_complex
        scores = scores + attn_mask if masks else scores.masked_fill(~attn_mask, float("-inf"))
    return OPS["matmul"](OPS["softmax"](scores, -1), value)


def _group_norm(input, weight=None, bias=None, num_groups=1, eps=1e-5):
    groups = input.reshape(input.shape[0], num_groups, -1)
    centred = groups - groups.mean(-1, keepdim=True)
    result = (centred * (centred.square().mean(-1, keepdim=True) + eps).rsqrt()).reshape(input.shape)
    sizes = (1, -1, *[1] * (input.dim() - 2))
    result = result if weight is None else result * weight.reshape(sizes)
    return result if bias is None else result + bias.reshape(sizes)


functions.update({f.__name__: f for f in (hardsigmoid_, hardswish_, mish_, silu_)})
decomposed_wrappers.update({"scaled_dot_product_attention": _attention, "native_group_norm": _group_norm})
decomposed.update(
    {
        **dict.fromkeys(("linear", "linear.nd", "linear.plain", "linear.nd_plain", "linear.vector"), _linear),
        "matmul": _matmul,
        "matmul.vector_matrix": _matmul,
        "gram": lambda a, b: mm(a.t(), b),
        "column_sums": lambda x: x.sum(0),
        "spread": _spread,
        "zero_where": lambda g, dropped: g.masked_fill(dropped, 0),
        **dict.fromkeys(("part", "part.select", "part.unsqueeze"), _part),
    }
)
