"""`torch.nn.attention`: which kernels scaled_dot_product_attention may choose from."""

from . import bias
from .backends import SDPBackend, sdpa_kernel

__all__ = ["SDPBackend", "bias", "sdpa_kernel"]
