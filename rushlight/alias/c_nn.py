"""`torch._C._nn` as a module that can be imported."""

from rushlight.torch import _C

__all__ = [*vars(_C._nn)]  # pyright: ignore[reportUnsupportedDunderAll]: the functions there
globals().update(vars(_C._nn))
