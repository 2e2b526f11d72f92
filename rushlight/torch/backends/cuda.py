"""`torch.backends.cuda`: switches for a CUDA device. They hold what they are set to."""

from __future__ import annotations

from typing import Any


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


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Any:
    """Deprecated: context manager `torch.nn.attention.sdpa_kernel` over the kernels that are enabled."""
    import warnings

    from ...nn.attention import SDPBackend, sdpa_kernel

    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please "
        "see `torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
        stacklevel=2,
    )
    wanted = {
        SDPBackend.FLASH_ATTENTION: enable_flash,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
        SDPBackend.MATH: enable_math,
        SDPBackend.CUDNN_ATTENTION: enable_cudnn,
    }
    return sdpa_kernel([kernel for kernel, enabled in wanted.items() if enabled])


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Allow plain attention of half precision to sum in half precision on a CUDA device."""
    _attention["reduced"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether plain attention may sum in half precision on a CUDA device."""
    return _attention.get("reduced", False)


def is_flash_attention_available() -> bool:
    """Whether flash attention for CUDA was built: False."""
    return False


def is_ck_sdpa_available() -> bool:
    """Whether attention for ROCm was built: False."""
    return False


_preferred = {"linalg": "default", "blas": "default"}


def preferred_linalg_library(backend: str | None = None) -> str:
    """The library for linear algebra on a CUDA device: 'default', 'cusolver' or 'magma'. Holds what it is set to."""
    return _prefer("linalg", backend, ("default", "cusolver", "magma"))


def preferred_blas_library(backend: str | None = None) -> str:
    """The library for products on a CUDA device: 'default', 'cublas', 'cublaslt' or 'ck'. Holds what it is set to."""
    return _prefer("blas", backend, ("default", "cublas", "cublaslt", "hipblaslt", "ck"))


def _prefer(kind: str, backend: str | None, known: tuple[str, ...]) -> str:
    if backend is not None:
        if backend not in known:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(known)}.")
        _preferred[kind] = backend
    return _preferred[kind]


class _PlanCache:
    """cuFFT's plans, which need a CUDA device."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"Torch not compiled with CUDA enabled: cufft_plan_cache.{name} needs a CUDA device")

    def __getitem__(self, device: Any) -> Any:
        index = getattr(device, "index", device)
        raise RuntimeError(f"cufft_plan_cache: expected 0 <= device index < 0, but got device with index {index}")


cufft_plan_cache = _PlanCache()
