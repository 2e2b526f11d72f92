"""Tools for tests: random tensors, comparison with tolerances, and the suite that checks every operator."""

from .comparison import assert_allclose, assert_close
from .creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
