"""Devices that are absent: what torch's CPU build answers, and what raises."""

import warnings

import pytest

import rushlight as torch

ANSWERS = {
    "accelerator.is_available()": False,
    "accelerator.current_accelerator()": None,
    "accelerator.current_accelerator(check_available=True)": None,
    "accelerator.device_count()": 0,
    "accelerator.device_index(None).__enter__()": None,
    "mps.is_available()": False,
    "mps.device_count()": 0,
    "mps.manual_seed(1)": None,
    "xpu.is_available()": False,
    "xpu.device_count()": 0,
    "xpu.memory_stats()": {},
    "xpu.get_rng_state_all()": [],
    "xpu.manual_seed_all(1)": None,
    "mtia.is_available()": False,
    "mtia.is_bf16_supported()": True,
    "mtia.memory_stats()": {},
    "cuda.is_tf32_supported()": False,
    "cuda.memory_stats_as_nested_dict()": {},
    "cuda.cudaStatus.SUCCESS": 0,
    "backends.mha.get_fastpath_enabled()": True,
    "backends.cusparselt.is_available()": False,
    "backends.opt_einsum.get_opt_einsum()": None,
    "backends.cuda.is_flash_attention_available()": False,
    "backends.mkl.VERBOSE_ON": 1,
}


@pytest.mark.parametrize("call", ANSWERS)
def test_answers(call):
    assert eval(f"torch.{call}") == ANSWERS[call]


NONE_AVAILABLE = "Cannot access accelerator device when none is available"
ERRORS = {
    "accelerator.set_device_index(0)": (RuntimeError, NONE_AVAILABLE),
    "accelerator.current_device_index()": (RuntimeError, NONE_AVAILABLE),
    "accelerator.synchronize()": (RuntimeError, NONE_AVAILABLE),
    "accelerator.memory_allocated()": (RuntimeError, NONE_AVAILABLE),
    "accelerator.device_index(0).__enter__()": (RuntimeError, NONE_AVAILABLE),
    "device(0)": (RuntimeError, NONE_AVAILABLE),  # a number alone is the accelerator's, "cuda:0" is CUDA's
    "zeros(1, device=0)": (RuntimeError, NONE_AVAILABLE),
    "zeros(1).to(1)": (RuntimeError, NONE_AVAILABLE),
    "zeros(1).cuda(1)": (RuntimeError, NONE_AVAILABLE),
    "zeros(1).cuda('cuda:1')": (AssertionError, "Torch not compiled with CUDA enabled"),
    "nn.Linear(2, 2).cuda(1)": (RuntimeError, NONE_AVAILABLE),
    "zeros(1).to(-1)": (RuntimeError, "Device index must not be negative"),
    "Generator(device='cuda')": (RuntimeError, "Cannot get CUDA generator without ATen_cuda library"),
    "mps.synchronize()": (RuntimeError, "Cannot execute deviceSynchronize.* without MPS backend"),
    "mps.seed()": (RuntimeError, "without MPS backend"),
    "mps.Event()": (RuntimeError, "without MPS backend"),
    "mps.profiler.start()": (RuntimeError, "without MPS backend"),
    "xpu.synchronize()": (AssertionError, "Torch not compiled with XPU enabled"),
    "xpu.set_device(0)": (AssertionError, "Torch not compiled with XPU enabled"),
    "xpu.Stream()": (RuntimeError, "dummy base class Stream"),
    "mtia.init()": (AssertionError, "Torch not compiled with MTIA enabled"),
    "mtia.synchronize()": (RuntimeError, "torch.mtia.synchronize"),
    "cuda.nvtx.range_push('a')": (RuntimeError, "NVTX functions not installed"),
    "cuda.nvtx.range('a').__enter__()": (RuntimeError, "NVTX functions not installed"),
    "cuda.CUDAGraph()": (RuntimeError, "torch.cuda.CUDAGraph"),
    "cuda.cudart()": (AssertionError, "Torch not compiled with CUDA enabled"),
    "cuda.FloatTensor(3)": (TypeError, "torch.cuda.FloatTensor not available"),
    "backends.mps.is_macos13_or_newer()": (RuntimeError, "without MPS backend"),
    "backends.cuda.cufft_plan_cache.size": (AssertionError, "CUDA"),
    "backends.mkl.verbose(1).__enter__()": (NotImplementedError, "MKL is not used"),
}


@pytest.mark.parametrize("call", ERRORS)
def test_errors(call):
    error, words = ERRORS[call]
    with pytest.raises(error, match=words):
        eval(f"torch.{call}")


def test_old_names_warn():
    with pytest.warns(FutureWarning, match="current_device_index"), pytest.raises(RuntimeError):
        torch.accelerator.current_device_idx()
    q = torch.ones(1, 1, 2, 2)
    with pytest.warns(FutureWarning, match="sdpa_kernel"):
        context = torch.backends.cuda.sdp_kernel(enable_math=True, enable_flash=False)
    with context:
        torch.nn.functional.scaled_dot_product_attention(q, q, q)


def test_errors_of_devices_are_classes():
    assert torch.OutOfMemoryError is torch.cuda.OutOfMemoryError
    assert issubclass(torch.AcceleratorError, RuntimeError)
    with warnings.catch_warnings():
        try:
            raise torch.cuda.OutOfMemoryError("full")
        except RuntimeError as error:
            assert "full" in str(error)


def test_switches_hold():
    torch.backends.mha.set_fastpath_enabled(False)
    assert not torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(True)
    assert torch.backends.cuda.preferred_linalg_library("magma") == "magma"
    torch.backends.cuda.preferred_linalg_library("default")
    with pytest.raises(RuntimeError, match="Unknown input value"):
        torch.backends.cuda.preferred_blas_library("abacus")
