"""`torch.backends.mps`: Apple's GPUs, which are not supported."""


def is_available() -> bool:
    """Whether an Apple GPU can be used: False."""
    return False


def is_built() -> bool:
    """Whether this build can use Apple GPUs at all: False."""
    return False
