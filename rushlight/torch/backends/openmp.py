"""`torch.backends.openmp`: the thread pool, which comes with oneDNN."""

from . import mkldnn


def is_available() -> bool:
    """Whether kernels run on an OpenMP pool: where oneDNN is installed."""
    return mkldnn.is_available()
