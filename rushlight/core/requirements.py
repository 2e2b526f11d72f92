"""NumPy's version, looked at before anything else: an older one fails in many places, with messages that do not say why."""

import numpy

__all__ = ["check_numpy"]

_LEAST = (2, 3)


def check_numpy(version: str = numpy.__version__) -> None:
    """Raise ImportError, with what to do, where NumPy is older than Rushlight needs."""
    if tuple(map(int, version.split(".")[:2])) < _LEAST:
        least = ".".join(map(str, _LEAST))
        raise ImportError(
            f"Rushlight needs numpy>={least}, and numpy {version} is installed (in {numpy.__path__[0]}): "
            f"pip install 'numpy>={least}'. Where another package asks for an older NumPy, give it an environment of its own."
        )


check_numpy()
