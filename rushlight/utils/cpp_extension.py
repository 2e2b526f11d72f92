"""torch.utils.cpp_extension: extensions in C++ are written against torch's own library, which is not here.

Each function raises NotImplementedError when it is called.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "check_compiler_abi_compatibility",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "verify_ninja_availability",
]

CUDA_HOME = None
ROCM_HOME = None


def _absent(name: str, doc: str) -> Any:
    def f(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.utils.cpp_extension.{name}: an extension in C++ or CUDA is compiled against torch's library, which "
            "Rushlight does not have. Use the program's Python implementation, or write the function with "
            "torch.autograd.Function."
        )

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{doc} Raises NotImplementedError."
    return f


load = _absent("load", "Compile source files and import the result.")
load_inline = _absent("load_inline", "Compile source text and import the result.")
CppExtension = _absent("CppExtension", "An extension in C++ for setuptools.")
CUDAExtension = _absent("CUDAExtension", "An extension in CUDA for setuptools.")
include_paths = _absent("include_paths", "Where torch's headers are.")
library_paths = _absent("library_paths", "Where torch's libraries are.")
check_compiler_abi_compatibility = _absent("check_compiler_abi_compatibility", "Whether a compiler fits.")
verify_ninja_availability = _absent("verify_ninja_availability", "Check that ninja is installed.")


def is_ninja_available() -> bool:
    """Whether ninja could build an extension: False, none can be built."""
    return False


class BuildExtension:
    """The setuptools command that builds extensions. Raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any):
        _absent("BuildExtension", "")()

    with_options = classmethod(lambda cls, **options: _absent("BuildExtension", "")())
