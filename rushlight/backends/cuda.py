"""`torch.backends.cuda`: switches for a CUDA device. They hold what they are set to."""

from __future__ import annotations


class _Matmul:
    """How a CUDA device multiplies matrices."""

    __slots__ = ("allow_bf16_reduced_precision_reduction", "allow_fp16_accumulation",
                 "allow_fp16_reduced_precision_reduction", "allow_tf32", "fp32_precision")  # fmt: skip

    def __init__(self):
        self.allow_tf32 = self.allow_fp16_accumulation = False
        self.allow_fp16_reduced_precision_reduction = self.allow_bf16_reduced_precision_reduction = True
        self.fp32_precision = "none"


matmul = _Matmul()
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """Whether this build can use CUDA at all: False."""
    return False


def enable_flash_sdp(enabled: bool) -> None:
    """Allow flash attention on a CUDA device."""
    _attention["flash"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allow memory-efficient attention on a CUDA device."""
    _attention["mem_efficient"] = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Allow plain attention on a CUDA device."""
    _attention["math"] = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allow cuDNN's attention on a CUDA device."""
    _attention["cudnn"] = bool(enabled)


def flash_sdp_enabled() -> bool:
    """Whether flash attention is allowed on a CUDA device."""
    return _attention["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """Whether memory-efficient attention is allowed on a CUDA device."""
    return _attention["mem_efficient"]


def math_sdp_enabled() -> bool:
    """Whether plain attention is allowed on a CUDA device."""
    return _attention["math"]


def cudnn_sdp_enabled() -> bool:
    """Whether cuDNN's attention is allowed on a CUDA device."""
    return _attention["cudnn"]
