"""`torch.ao.quantization.fuser_method_mappings`: how layers become one, by their classes."""

from rushlight.nn.quantization.fuse import (
    fuse_conv_bn,
    fuse_conv_bn_relu,
    fuse_convtranspose_bn,
    fuse_linear_bn,
    get_fuser_method,
)

__all__ = [
    "fuse_conv_bn",
    "fuse_conv_bn_relu",
    "fuse_convtranspose_bn",
    "fuse_linear_bn",
    "get_fuser_method",
]
