"""`torch.backends.cpu`: the processor."""


def get_cpu_capability() -> str:
    """The widest vector instructions of the processor, in torch's words: 'DEFAULT', 'AVX2' or 'AVX512'."""
    from numpy._core._multiarray_umath import __cpu_features__ as features  # the dictionary behind np.show_runtime()

    if features.get("AVX512_SKX") or features.get("X86_V4"):
        return "AVX512"
    return "AVX2" if features.get("AVX2") or features.get("X86_V3") else "DEFAULT"
