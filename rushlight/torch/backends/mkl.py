"""`torch.backends.mkl`: Intel's MKL, which is not used."""


def is_available() -> bool:
    """Whether MKL computes: False; NumPy's BLAS or oneDNN does."""
    return False


VERBOSE_OFF = 0
VERBOSE_ON = 1


class verbose:
    """Context manager that lets MKL report its calls. Raises NotImplementedError: MKL is not used."""

    def __init__(self, enable: int):
        self.enable = enable

    def __enter__(self) -> "verbose":
        if self.enable != VERBOSE_OFF:
            raise NotImplementedError("torch.backends.mkl.verbose: MKL is not used here, so it has nothing to report")
        return self

    def __exit__(self, *error: object) -> None:
        pass
