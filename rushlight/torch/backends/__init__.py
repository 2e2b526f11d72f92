"""`torch.backends`: which libraries compute, and their switches."""

from . import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized
from .absent import cusparselt, kleidiai, miopen

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "kleidiai",
    "mha",
    "miopen",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
]
