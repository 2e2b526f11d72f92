"""`torch.backends.cpu`: the processor."""

from ...backend import isa

_TORCHS = {"avx2": "AVX2", "avx512": "AVX512", "amx": "AVX512"}


def get_cpu_capability() -> str:
    """The widest vector instructions in use, by torch's name: 'DEFAULT', 'AVX2' or 'AVX512'."""
    return _TORCHS.get(isa.effective(), "DEFAULT")
