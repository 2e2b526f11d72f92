"""`torch.backends.mkl`: Intel's MKL, which is not used."""


def is_available() -> bool:
    """Whether MKL computes: False; NumPy's BLAS or oneDNN does."""
    return False
