"""`torch.backends.mps`: Apple's GPUs, which are not supported."""


def is_available() -> bool:
    """Whether an Apple GPU can be used: False."""
    return False


def is_built() -> bool:
    """Whether this build can use Apple GPUs at all: False."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is that macOS or a later one. Raises RuntimeError: there is no Apple GPU."""
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")


def is_macos13_or_newer(minor: int = 0) -> bool:
    """`is_macos_or_newer(13, minor)`."""
    return is_macos_or_newer(13, minor)


def get_name() -> str:
    """The GPU's name. Raises RuntimeError: there is no Apple GPU."""
    raise RuntimeError("torch.backends.mps.get_name() needs an Apple GPU: there is no MPS backend.")


def get_core_count() -> int:
    """The number of the GPU's cores. Raises RuntimeError: there is no Apple GPU."""
    raise RuntimeError("torch.backends.mps.get_core_count() needs an Apple GPU: there is no MPS backend.")
