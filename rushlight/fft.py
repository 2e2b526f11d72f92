"""Discrete Fourier transforms: the names of `torch.fft`."""

from .ops.fft import *
from .ops.fft import __all__ as __all__
