"""`torch._C._nn`: the functions there whose arguments are those of `torch.nn.functional`, and how `to` reads its own."""

from rushlight.nn.functional import gelu, linear, one_hot, pad, scaled_dot_product_attention
from rushlight.nn.modules.conversion import _parse_to

__all__ = [
    "_parse_to",
    "gelu",
    "linear",
    "one_hot",
    "pad",
    "scaled_dot_product_attention",
]
