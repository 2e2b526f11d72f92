"""NumPy, looked at before anything else: an older one, or another module of that name, such as a program's own numpy.py,
fails in many places, with messages that do not say why.
"""

import numpy

__all__ = ["check_numpy"]

_LEAST = (2, 3)


def check_numpy(version: str | None = getattr(numpy, "__version__", None)) -> None:
    """Raise ImportError, with what to do, where NumPy is older than Rushlight needs, or `numpy` is another module."""
    if version is None or not hasattr(numpy, "ndarray"):
        raise ImportError(
            f"`import numpy` finds {getattr(numpy, '__file__', None) or list(numpy.__path__)}, which is not NumPy: "
            "a file or folder of this name comes before the installed package. Rename it."
        )
    if tuple(map(int, version.split(".")[:2])) < _LEAST:
        least = ".".join(map(str, _LEAST))
        raise ImportError(
            f"Rushlight needs numpy>={least}, and numpy {version} is installed (in {numpy.__path__[0]}): "
            f"pip install 'numpy>={least}'. Where another package asks for an older NumPy, give it an environment of its own."
        )


check_numpy()
