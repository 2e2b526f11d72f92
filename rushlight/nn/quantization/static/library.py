"""The operators of `torch.ops.quantized`."""

from __future__ import annotations

from functools import partial
from typing import Any

from ....core.dispatch.extension_points import operators_of_levels
from ....core.tensor.tensor import Tensor
from ....ops import quantized
from ....ops.quantized import functions
from ..products import PackedLinear, linear_dynamic
from .embedding import PackedEmbedding
from .products import PackedConv, conv, linear

__all__ = ["OPERATORS"]


def _linear(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    return linear(X, W_prepack, Y_scale_i, Y_zero_point_i)


def _linear_relu(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    return linear(X, W_prepack, Y_scale_i, Y_zero_point_i, True)


def _linear_dynamic(X: Any, W_prepack: Any, reduce_range: bool = False) -> Any:
    return linear_dynamic(X, W_prepack, reduce_range)


def _linear_relu_dynamic(X: Any, W_prepack: Any, reduce_range: bool = False) -> Any:
    return linear_dynamic(X, W_prepack, reduce_range).relu()


def _linear_prepack(W: Any, B: Any = None) -> Any:
    return PackedLinear(W, B)


def _embedding(weight: Any, indices: Any, pruned_weights: bool = False) -> Any:
    _refuse_pruned(pruned_weights)
    return weight.look_up(indices)


def _embedding_bag(
    weight: Any, indices: Any, offsets: Any = None, scale_grad_by_freq: bool = False, mode: int = 0,
    pruned_weights: bool = False, per_sample_weights: Any = None, compressed_indices_mapping: Any = None,
    include_last_offset: bool = False,
) -> Any:  # fmt: skip
    _refuse_pruned(pruned_weights or compressed_indices_mapping is not None)
    return weight.sums(indices, offsets, per_sample_weights, include_last_offset)


def _refuse_pruned(is_pruned: bool) -> None:
    if is_pruned:
        raise NotImplementedError("embeddings with pruned weights are not implemented")


def _no_float16(*args: Any) -> Any:
    raise NotImplementedError("dynamic quantization to float16 is not implemented, only to qint8")


def _conv(qx: Any, packed_weight: Any, output_scale: float, output_zero_point: int) -> Any:
    return conv(qx, packed_weight, output_scale, output_zero_point)


def _conv_transpose(qx: Any, packed_weight: Any, output_scale: float, output_zero_point: int) -> Any:
    return conv(qx, packed_weight, output_scale, output_zero_point)


def _conv_relu(qx: Any, packed_weight: Any, output_scale: float, output_zero_point: int) -> Any:
    return conv(qx, packed_weight, output_scale, output_zero_point, True)


def _of_dimensions(run: Any, n: int) -> Any:
    """`run`, as a function of its own for `n` dimensions, by which graphs print the operator's name."""

    def named(qx: Any, packed_weight: Any, output_scale: float, output_zero_point: int) -> Any:
        return run(qx, packed_weight, output_scale, output_zero_point)

    named.__name__ = named.__qualname__ = f"{run.__name__.removesuffix('_relu')}{n}d" + (
        "_relu" if run.__name__.endswith("_relu") else ""
    )
    return named


_conv1d, _conv2d, _conv3d = (_of_dimensions(_conv, n) for n in (1, 2, 3))
_conv1d_relu, _conv2d_relu, _conv3d_relu = (_of_dimensions(_conv_relu, n) for n in (1, 2, 3))
_conv_transpose1d, _conv_transpose2d, _conv_transpose3d = (_of_dimensions(_conv_transpose, n) for n in (1, 2, 3))


def _conv_prepack(
    weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, *, dims: int, output_padding: Any = None
) -> Any:  # fmt: skip
    if weight.dim() != dims + 2:
        raise RuntimeError(f"Weights are expected to have {dims + 2} dimensions")
    return PackedConv(weight, bias, stride, padding, dilation, groups, output_padding)


def _transposed_prepack(
    weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int, *, dims: int
) -> Any:  # fmt: skip
    return _conv_prepack(weight, bias, stride, padding, dilation, groups, dims=dims, output_padding=output_padding)


def _unpack(packed: Any) -> Any:
    return packed.unpack()


def _unpack_1d(packed: Any) -> Any:
    return packed.in_one_dimension().unpack()


def _with_scalar(pair: Any, scalar: Any) -> Any:
    """An operator of two tensors of levels, with the result's scale and zero point, or of one and a number."""

    def run(qa: Any, qb: Any, *numbers: Any) -> Any:
        if not numbers and not isinstance(qb, Tensor):
            return scalar(qa, qb)
        scale, zero_point = numbers
        return pair(qa, qb, float(scale), int(zero_point))

    run.__name__ = run.__qualname__ = pair.__name__
    run.__module__ = quantized.__name__  # where pickles find it
    return run


OPERATORS: dict[str, Any] = {
    **{
        name: getattr(functions, name)
        for name in (
            "matmul", "add_scalar", "add_scalar_relu", "mul_scalar", "mul_scalar_relu",
            "cat", "cat_relu", "relu6", "leaky_relu", "hardswish", "elu", "sigmoid", "tanh", "softmax", "prelu", "batch_norm",
            "batch_norm_relu", "layer_norm", "group_norm", "instance_norm",
        )
    },
    **{
        name: _with_scalar(getattr(functions, name), getattr(functions, name.replace("add", "add_scalar").replace("mul", "mul_scalar")))
        for name in ("add", "add_relu", "mul", "mul_relu")
    },
    "batch_norm2d": functions.batch_norm,
    "batch_norm3d": functions.batch_norm,
    "batch_norm2d_relu": functions.batch_norm_relu,
    "batch_norm3d_relu": functions.batch_norm_relu,
    "linear": _linear,
    "linear_relu": _linear_relu,
    "linear_dynamic": _linear_dynamic,
    "linear_relu_dynamic": _linear_relu_dynamic,
    **dict.fromkeys(
        ("linear_prepack_fp16", "linear_unpack_fp16", "linear_dynamic_fp16", "linear_relu_dynamic_fp16"), _no_float16
    ),
    "linear_prepack": _linear_prepack,
    "linear_unpack": _unpack,
    "embedding_byte": _embedding,
    "embedding_4bit": _embedding,
    "embedding_bag_byte": _embedding_bag,
    "embedding_bag_4bit": _embedding_bag,
    "embedding_bag_prepack": PackedEmbedding,
    "embedding_bag_unpack": _unpack,
    **{f"conv{n}d": f for n, f in enumerate((_conv1d, _conv2d, _conv3d), 1)},
    **{f"conv{n}d_relu": f for n, f in enumerate((_conv1d_relu, _conv2d_relu, _conv3d_relu), 1)},
    **{f"conv{n}d_prepack": partial(_conv_prepack, dims=n) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": f for n, f in enumerate((_conv_transpose1d, _conv_transpose2d, _conv_transpose3d), 1)},
    **{f"conv_transpose{n}d_prepack": partial(_transposed_prepack, dims=n) for n in (1, 2, 3)},
    **{f"conv{kind}{n}d_unpack": _unpack if n > 1 else _unpack_1d for n in (1, 2, 3) for kind in ("", "_transpose")},
}  # fmt: skip

operators_of_levels.register(OPERATORS)
