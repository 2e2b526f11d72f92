"""Packed weights of quantized layers as objects of a program: their classes, and what a file keeps of them.

torch's classes are `LinearPackedParamsBase`, `Conv2dPackedParamsBase` (of one dimension too, whose weight has a height of
1 there) and `Conv3dPackedParamsBase`.
"""

from __future__ import annotations

from typing import Any

from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ....nn.quantization.products import PackedLinear
from ....nn.quantization.static.products import PackedConv
from ....ops.creation.from_data import tensor
from .graph import TENSOR, Type

__all__ = ["RETURNS", "class_of_packed", "is_packed_class", "packed_of", "state_of_packed"]

_CLASSES = "__torch__.torch.classes.quantized."
RETURNS = {"unpack": Type("Tuple", (TENSOR, Type("Optional", (TENSOR,))))}  # what methods of such objects return


def is_packed_class(name: str) -> bool:
    """Whether a class of a program is that of a packed weight."""
    return name.startswith(_CLASSES)


def class_of_packed(value: Any) -> str | None:
    """torch's class for a packed weight, None for all else."""
    if isinstance(value, PackedLinear):
        return _CLASSES + "LinearPackedParamsBase"
    if isinstance(value, PackedConv):
        return _CLASSES + ("Conv3dPackedParamsBase" if len(value.stride) == 3 else "Conv2dPackedParamsBase")
    return None


def state_of_packed(packed: Any) -> tuple:
    """What a file keeps: the weight and the bias, of a convolution also where its kernel moves."""
    if isinstance(packed, PackedLinear):
        return packed.weight, packed.bias
    packed = packed.in_two_dimensions()
    dims = len(packed.stride)
    around = packed.output_padding or (0,) * dims
    numbers = (dims, *packed.stride, *packed.padding, *packed.dilation, *around, packed.groups)
    config = tensor((*numbers, int(packed.output_padding is not None)), dtype=dtypes.int16)
    return "2", [config, packed.weight], [packed.bias]


def packed_of(name: str, state: Any) -> Any:
    """The packed weight of a file. Raises RuntimeError for what is none, NotImplementedError for another class."""
    kind = name.removeprefix(_CLASSES)
    try:
        if kind == "LinearPackedParamsBase":
            weight, bias = state
            return PackedLinear(weight, bias)
        if kind in ("Conv2dPackedParamsBase", "Conv3dPackedParamsBase"):
            return _conv_of(state)
    except (TypeError, ValueError, IndexError, AttributeError):
        raise RuntimeError(f"torch.jit.load: the archive's state of {name} cannot be read") from None
    raise NotImplementedError(f"torch.jit.load: class {name} is not implemented in Rushlight")


def _conv_of(state: Any) -> PackedConv:
    version, tensors, biases = state
    if version != "2" or not isinstance(tensors[0], Tensor):
        raise NotImplementedError(f"torch.jit.load: version {version!r} of packed convolutions is not implemented")
    dims, *numbers = map(int, tensors[0].tolist())
    stride, padding, dilation, around = (numbers[i * dims : (i + 1) * dims] for i in range(4))
    groups, is_transposed = numbers[4 * dims :]
    return PackedConv(tensors[1], biases[0], stride, padding, dilation, groups, around if is_transposed else None)
