"""Linear algebra: the names of `torch.linalg`."""

from ..ops.linalg import *
from ..ops.linalg import __all__ as __all__
