"""`ctypes`, or a stand-in for it in a Python that was built without libffi.

The stand-in can be named where a module is loaded (types, structures, pointers to them); a call of anything in it raises.
Who wants to call C functions or read memory asks `HAS_CTYPES` before, and does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["HAS_CTYPES", "ctypes", "loaded_functions"]


class _Missing:
    """A stand-in for the module and for everything in it."""

    Structure = type("Structure", (), {})
    _TYPES = ("POINTER", "CFUNCTYPE", "PYFUNCTYPE")

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(f"{self._name}.{name}")

    def __mul__(self, count: int) -> _Missing:
        return self

    __rmul__ = __mul__

    def __call__(self, *args: Any) -> Any:
        if self._name.rpartition(".")[2] in self._TYPES:
            return self
        raise ImportError(f"this Python has no ctypes, which {self._name}() needs", name="ctypes")


if TYPE_CHECKING:
    import ctypes
else:
    try:
        import ctypes
    except ImportError:
        ctypes = _Missing("ctypes")
HAS_CTYPES = not isinstance(ctypes, _Missing)


def loaded_functions() -> Any:
    """The C library's functions, and what else this process has loaded, by `getattr`; without any where that is unknown."""
    try:
        return ctypes.CDLL(None)
    except (ImportError, TypeError, OSError):  # no ctypes; Windows, which needs a library's name
        return None
