"""Discrete Fourier transforms: the names of `torch.fft`."""

from ..ops.signal.fft import *  # noqa: F403  (__all__ lists them)
from ..ops.signal.fft import __all__ as __all__
