"""`torch.ao.quantization.fuse_modules`: layers one after the other become one."""

from rushlight.nn.quantization.fuse import (
    fuse_conv_bn,
    fuse_conv_bn_relu,
    fuse_known_modules,
    fuse_modules,
    fuse_modules_qat,
    get_fuser_method,
)

__all__ = [
    "fuse_conv_bn",
    "fuse_conv_bn_relu",
    "fuse_known_modules",
    "fuse_modules",
    "fuse_modules_qat",
    "get_fuser_method",
]
