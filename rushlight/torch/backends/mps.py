"""`torch.backends.mps`: Apple's GPUs, which are not supported."""

from typing import TYPE_CHECKING

from .._stand_ins import lookup, stand_in


def is_available() -> bool:
    """Whether an Apple GPU can be used: False."""
    return False


def is_built() -> bool:
    """Whether this build can use Apple GPUs at all: False."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """`is_macos_or_newer(13, minor)`."""
    return stand_in("backends.mps.is_macos_or_newer")(13, minor)


if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)
