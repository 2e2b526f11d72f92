"""`torch.backends.openmp`: the thread pool, which comes with oneDNN."""


def is_available() -> bool:
    """Whether kernels run on an OpenMP pool: where oneDNN is installed."""
    from . import mkldnn

    return mkldnn.is_available()
