"""Discrete Fourier transforms: the names of `torch.fft`."""

from ..ops.fft import *  # noqa: F403  (__all__ lists them)
from ..ops.fft import __all__ as __all__
