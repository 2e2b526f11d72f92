"""torch.backends: the switches hold what they are set to, and what is absent says so."""

import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as torch
from rushlight.backend import onednn


def test_cudnn_flags():
    cudnn = torch.backends.cudnn
    assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32) == (True, False, False, True)
    assert (cudnn.is_available(), cudnn.version(), cudnn.is_acceptable(torch.ones(1))) == (False, None, False)
    cudnn.deterministic, cudnn.benchmark = True, False
    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == (False, True, False)
    assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.benchmark_limit) == (True, False, True, None)
    cudnn.deterministic = False


def test_absent_libraries():
    backends = torch.backends
    assert not backends.mps.is_available() and not backends.mps.is_built()
    assert not backends.cuda.is_built() and not backends.mkl.is_available() and not backends.opt_einsum.is_available()
    assert backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")


def test_cuda_switches():
    cuda = torch.backends.cuda
    assert cuda.matmul.allow_tf32 is False
    cuda.matmul.allow_tf32 = True
    assert cuda.matmul.allow_tf32 is True
    cuda.matmul.allow_tf32 = False
    with pytest.raises(AttributeError):
        cuda.matmul.allow_anything = True
    for name in ("flash", "mem_efficient", "math", "cudnn"):
        enabled, enable = getattr(cuda, f"{name}_sdp_enabled"), getattr(cuda, f"enable_{name}_sdp")
        assert enabled()
        enable(False)
        assert not enabled()
        enable(True)


def test_mkldnn_is_onednn():
    mkldnn = torch.backends.mkldnn
    assert mkldnn.is_available() is mkldnn.enabled is torch.backends.openmp.is_available() is onednn.available()
    mkldnn.enabled = onednn.available()
    with mkldnn.flags(enabled=onednn.available()):
        pass
    with pytest.raises(NotImplementedError, match=r"oneDNN|RUSHLIGHT_ONEDNN"):
        mkldnn.enabled = not onednn.available()


def test_usual_imports():
    text = """
import torch.backends.cudnn as cudnn
import torch.cuda, torch
from torch.backends import mps
cudnn.benchmark = True
print(torch.backends.cudnn is cudnn, torch.backends.cudnn.benchmark, torch.cuda.is_available(), mps.is_available())
"""
    code = f"from rushlight.alias import install\ninstall(){text}"
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.stdout == "True True False False\n", done.stderr
