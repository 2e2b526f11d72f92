"""`torch.utils.cpp_extension`: extensions in C++ are written against torch's own library, which is not here.

Each function (`unavailable.py`) raises NotImplementedError when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._stand_ins import lookup
from ..unavailable import exported

CUDA_HOME = None
ROCM_HOME = None


def is_ninja_available() -> bool:
    """Whether ninja could build an extension: False, none can be built."""
    return False


__all__ = ["is_ninja_available"]
__all__ += exported("utils.cpp_extension")
if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)
