"""Linear algebra: the names of `torch.linalg`."""

from ..ops.linalg.linalg import *
from ..ops.linalg.linalg import __all__ as __all__
